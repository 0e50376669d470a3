/* SPDX-License-Identifier: MIT */
/* Carrying out a run in the foreground: signals, checkpoints of a session after
 * failures, and what is said at the end. */
#include "cli/execute.h"

#include "cli/describe.h"
#include "cli/display.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include "cairn.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct failure_watch {
    struct cairn_store *store; /* of the run; NULL: none is made */
    cairn_observe_fn *next;    /* gets every event first */
    void *next_context;
    const struct cairn_param *secrets; /* that the run was given */
    size_t n_secrets;
    bool off;                 /* there is no session, or it cannot be written */
    uint32_t made;            /* checkpoints */
    uint64_t pruned;          /* older ones that went, by the settings */
    char last[CAIRN_ID_MAX];  /* the newest of them */
    struct cairn_error error; /* why no more could be made, code 0: nothing is wrong */
};

static const char *session_name(void)
{
    const char *name = getenv("CAIRN_SESSION");
    return name && *name ? name : NULL;
}

static void note_failure(struct failure_watch *watch, const struct cairn_event *event)
{
    struct cairn_task_failure failure = {.run = event->run,
                                         .checkpoint = event->checkpoint,
                                         .task = event->task,
                                         .attempt = event->attempt,
                                         .exit_code = event->exit_code,
                                         .signal = event->signal,
                                         .tail = event->tail,
                                         .tail_bytes = event->tail_bytes,
                                         .secrets = watch->secrets,
                                         .n_secrets = watch->n_secrets};
    struct cairn_captured captured = {0};
    struct cairn_error error = {0};
    int rc = cairn_session_task_failed(watch->store, session_name(), &failure,
                                       &captured, &error);
    if (rc) {
        /* Without a session, and with a key, there is none to be made. */
        watch->off = true;
        if (rc != CAIRN_EUSAGE && (rc != CAIRN_ENOTFOUND || session_name()))
            watch->error = error;
    } else if (captured.made) {
        watch->made++;
        watch->pruned += captured.pruned;
        snprintf(watch->last, sizeof watch->last, "%s", captured.id);
    }
}

/* The observer; context is the watch. */
static void failure_watch_event(void *context, const struct cairn_event *event)
{
    struct failure_watch *watch = context;
    watch->next(watch->next_context, event);
    if (watch->store && !watch->off && event->kind == CAIRN_EVENT_TASK_FINISHED &&
        event->outcome == CAIRN_FAILED && event->attempt)
        note_failure(watch, event);
}

/* Says at the end of a run what was made, or could not be. */
static void failure_watch_end(const struct failure_watch *watch)
{
    if (watch->error.code)
        ui_warn("no checkpoint of the session was made: %s", watch->error.text);
    if (watch->made > 1)
        say("%u failed tasks are noted in the session, the last one in checkpoint %s",
            watch->made, watch->last);
    else if (watch->made)
        say("the failed task is noted in the session, in checkpoint %s", watch->last);
    say_pruned(watch->pruned);
}

/* What is said at the end of a run. */

/* ", 12 completed" for what is not zero. */
static void add_count(char *text, size_t size, uint32_t count, const char *name)
{
    size_t used = strlen(text);
    if (count > 0)
        snprintf(text + used, size - used, "%s%u %s", used > 0 ? ", " : "", count,
                 name);
}

static const char *state_text(const struct cairn_run_result *result)
{
    return result->state == CAIRN_RUN_COMPLETED ? "completed"
           : result->state == CAIRN_RUN_FAILED  ? "failed"
           : result->state == CAIRN_RUN_UNDONE  ? "undone"
                                                : "stopped";
}

/* What has to be done before the run can continue, and the command for it. */
static void print_advice(const struct display *display,
                         const struct cairn_run_result *result)
{
    unsigned long long run = result->run;
    uint32_t unknown = result->unknown;
    unknown -= display->checked < unknown ? display->checked : unknown;
    if (!display->stored)
        return;
    if (display->checked > 0)
        say_always("%u task%s must not run twice; %s check decides: cairn resume "
                   "%llu%s",
                   display->checked, plural(display->checked),
                   display->checked == 1 ? "its" : "their", run, display->again);
    if (unknown > 0)
        say_always("%u task%s must not run twice; decide: cairn resolve %llu %s "
                   "done|failed|rerun%s  (cairn status %llu%s)",
                   unknown, plural(unknown), run,
                   unknown == 1 && display->undecided ? display->undecided : "TASK",
                   display->hint, run, display->hint);
    if (result->state == CAIRN_RUN_FAILED && result->attempts == 0 &&
        display->n_failed == 0 && result->failed > 0 && !result->nothing_to_do &&
        !display->undo && result->exit_status != 0)
        say_always("nothing was run: a failure that was reported before has ended the "
                   "run; `cairn resume %llu%s` runs what failed again",
                   run, display->again);
    if (result->waiting > 0 && result->state == CAIRN_RUN_UNFINISHED)
        say("%u external task%s can be done now: cairn next %llu%s", result->waiting,
            plural(result->waiting), run, display->hint);
}

static void count_outcomes(char *counts, size_t size,
                           const struct cairn_run_result *result)
{
    uint32_t open = result->unknown + result->waiting;
    add_count(counts, size, result->completed, "completed");
    add_count(counts, size, result->failed,
              failed_text(result->state == CAIRN_RUN_COMPLETED));
    add_count(counts, size, result->skipped, "skipped");
    add_count(counts, size, result->cancelled, "cancelled");
    add_count(counts, size, result->undone, "undone");
    add_count(counts, size, result->unknown, "unknown");
    add_count(counts, size, result->waiting, "waiting");
    add_count(counts, size, result->pending > open ? result->pending - open : 0,
              "not run");
}

static void print_summary(struct display *display,
                          const struct cairn_run_result *result)
{
    char counts[240] = "", number[32] = "", took[FORMAT_MAX];
    count_outcomes(counts, sizeof counts, result);
    format_duration(took, now_ms() - display->started_ms);
    if (display->stored)
        snprintf(number, sizeof number, " %llu", (unsigned long long)result->run);
    if (display->quiet && result->state != CAIRN_RUN_FAILED)
        return;
    if (result->nothing_to_do)
        say_always("run%s: nothing to do (%s)", number, counts);
    else if (result->state == CAIRN_RUN_COMPLETED)
        say_always("run%s completed: %s in %s", number, counts, took);
    else if (result->not_chosen > 0 && result->exit_status == 0 && display->stored)
        say_always("run%s: what was chosen is done: %s in %s; the rest with: cairn "
                   "resume%s%s",
                   number, counts, took, number, display->again);
    else if (result->not_chosen > 0 && result->exit_status == 0)
        say_always("run: what was chosen is done: %s in %s", counts, took);
    else if (display->stored && display->fresh)
        say_always(
            "run%s %s: %s in %s; %s gone: put %s back and resume with: cairn "
            "resume%s%s, or begin a new run with: %s",
            number, state_text(result), counts, took,
            result->gone == 1 ? "the file of a member is" : "files of members are",
            result->gone == 1 ? "it" : "them", number, display->again, display->fresh);
    else if (display->stored)
        say_always("run%s %s: %s in %s; resume with: cairn resume%s%s", number,
                   state_text(result), counts, took, number, display->again);
    else
        say_always("run %s: %s in %s; it cannot be resumed, nothing was recorded",
                   state_text(result), counts, took);
}

/* Of this call: what has failed, and how to see it. */
static void print_failed(const struct display *display,
                         const struct cairn_run_result *result)
{
    char names[FAILED_NAMES * (LIVE_TEXT + 2) + 1] = "", more[48] = "", see[64] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < display->n_failed && i < FAILED_NAMES; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 i > 0 ? ", " : "", display->failed[i]);
    if (display->n_failed == 0)
        return;
    if (display->n_failed > FAILED_NAMES)
        snprintf(more, sizeof more, " and %u more", display->n_failed - FAILED_NAMES);
    if (display->stored)
        snprintf(see, sizeof see, "; see: cairn log --failed --run %llu",
                 (unsigned long long)result->run);
    say("%s: %s%s%s%s", failed_text(result->state == CAIRN_RUN_COMPLETED), names, more,
        see, display->stored ? display->hint : "");
}

/* Prints the result, after removing the block. */
static void display_result(struct display *display,
                           const struct cairn_run_result *result)
{
    if (display->json) {
        result_print(++display->sequence, result);
        return;
    }
    if (display->live)
        block_clear(&display->block);
    if (result->damaged)
        ui_warn("damaged checkpoints were skipped; `cairn checkpoint verify` names "
                "them");
    if (result->unsaved > 0)
        ui_warn(
            "%u outcome%s could not be saved: the next run takes over what is noted "
            "of them beside the database, and runs the other tasks again",
            result->unsaved, plural(result->unsaved));
    if (result->lost_outputs > 0)
        ui_warn("the output of %u attempt%s could not be kept", result->lost_outputs,
                plural(result->lost_outputs));
    if (result->failed_undos > 0)
        ui_warn("%u undo command%s failed; see: cairn status %llu%s",
                result->failed_undos, plural(result->failed_undos),
                (unsigned long long)result->run, display->hint);
    print_failed(display, result);
    print_summary(display, result);
    print_advice(display, result);
}

/* Carrying out a run: signals, display, result. */

#define CHANGES_SHOWN 20

/* What is carried out: a run, or the undoing of one. */
struct work {
    int (*call)(struct work *, struct cairn_run_result *, struct cairn_error *);
    struct cairn_store *store;
    struct cairn_workflow *workflow;
    uint64_t run;
    const char *const *tasks;
    size_t n_tasks;
    struct cairn_run_options options;
};

/* A signal handler gets no context, so its stop is global. */
static struct cairn_stop *volatile stop_request_stop;

static void request_stop(int signal)
{
    (void)signal;
    cairn_stop_request(stop_request_stop);
}

static void ignore_signal(int signal)
{
    (void)signal;
}

/* Other programs answer them with a report of their progress, so somebody may send
 * them: they do nothing. Not SIG_IGN, which tasks would inherit. */
static void ignore_user_signals(void)
{
    static const int signals[] = {SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART},
                     old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

/* A signal that was ignored when we were started (nohup, a shell's background job)
 * stays ignored. */
static void catch_signals(struct cairn_stop *stop)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    stop_request_stop = stop;
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    ignore_user_signals();
}

/* Signals go back to what they do by default: the run has ended, and if nobody reads
 * the rest of the output they end the command. */
static void release_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == request_stop)
            signal(signals[i], SIG_DFL);
    }
}

/* A job needs some descriptors, and the usual soft limit is low for the sake of
 * programs that use select(). Tasks get it back. Returns what it was, or 0 if it stays.
 */
static uint32_t raise_file_limit(void)
{
    enum { ENOUGH = 65536 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ENOUGH ||
        limit.rlim_cur >= limit.rlim_max)
        return 0;
    uint32_t before = (uint32_t)limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < ENOUGH ? limit.rlim_max : ENOUGH;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? before : 0;
}

void tuning_options(const struct settings *settings, struct cairn_run_options *options)
{
    const uint64_t *number = settings->number;
    options->jobs = (uint32_t)number[OPT_JOBS];
    options->memory_mib = (uint32_t)(number[OPT_MEMORY] >> 20);
    options->on_change = (enum cairn_on_change)number[OPT_ON_CHANGE];
    options->check_outputs = (enum cairn_check_outputs)number[OPT_CHECK_OUTPUTS];
    options->saving = (enum cairn_saving)number[OPT_CHECKPOINT];
    options->output_limit = number[OPT_OUTPUT_LIMIT];
    options->keep = (uint32_t)number[OPT_KEEP];
    options->keep_all = settings->given[OPT_KEEP] && number[OPT_KEEP] == 0;
    options->no_reuse = settings->given[OPT_NO_REUSE];
    options->no_wait = settings->given[OPT_NO_WAIT];
    options->force = settings->given[OPT_FORCE];
    options->on_failure = settings->given[OPT_KEEP_GOING] ? CAIRN_FAILURE_GOES_ON
                          : settings->given[OPT_STOP]     ? CAIRN_FAILURE_STOPS
                                                          : CAIRN_FAILURE_AS_WRITTEN;
}

/* The inode's change time also moves when another file is renamed to this name. */
static bool touched_since(const char *file, int64_t time_ns)
{
    struct stat st;
    int64_t changed;
    if (file[0] == '\0' || stat(file, &st) != 0)
        return false;
    changed = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    return changed >= time_ns;
}

bool is_taken_over(const struct cairn_decision *decision)
{
    return decision->will == CAIRN_WILL && decision->reason == CAIRN_REASON_ADOPTED;
}

static void print_plan(const struct cairn_plan *plan)
{
    uint32_t shown = 0, may = cairn_plan_may(plan);
    uint32_t will = cairn_plan_will(plan), listed = will + may, taken = 0;
    struct cairn_decision decision = {0};
    char more[48] = "", over[48] = "";
    for (uint32_t i = 0; i < cairn_plan_tasks(plan); i++) {
        cairn_plan_get(plan, i, &decision);
        taken += is_taken_over(&decision);
    }
    if (taken > 0)
        snprintf(over, sizeof over, ", %u %s taken over", taken,
                 taken == 1 ? "is" : "are");
    if (may > 0)
        snprintf(more, sizeof more, ", and %u more may run", may);
    say("%u of %u task%s will run%s%s:", will - taken, cairn_plan_tasks(plan),
        plural(cairn_plan_tasks(plan)), over, more);
    for (uint32_t i = 0; i < cairn_plan_tasks(plan) && shown < CHANGES_SHOWN; i++) {
        cairn_plan_get(plan, i, &decision);
        if (decision.will == CAIRN_WILL_NOT)
            continue;
        say("  %s: %s%s", decision.task, decision.will == CAIRN_MAY ? "may run, " : "",
            decision.detail);
        shown++;
    }
    if (listed > shown)
        say("  ... and %u more", listed - shown);
}

void say_elsewhere(const struct cairn_store *store, const struct cairn_run_info *run)
{
    const char *project = cairn_store_project(store), *slash = strrchr(run->file, '/');
    size_t n = project ? strlen(project) : 0;
    if (!slash || n <= 1 ||
        (strncmp(run->file, project, n) == 0 && run->file[n] == '/'))
        return;
    char *directory =
        strndup(run->file, slash == run->file ? 1 : (size_t)(slash - run->file));
    if (directory && access(directory, F_OK) == 0)
        say("cairn: run %llu is one of %s, and continues there",
            (unsigned long long)run->run, directory);
    free(directory);
}

/* Comparing times only saves making the plan, which costs as much as the run's own;
 * what has really changed, the plan says. */
void announce_changes(struct settings *settings, struct cairn_workflow *workflow,
                      struct cairn_store *store,
                      const struct cairn_run_options *options,
                      const struct cairn_run_info *run)
{
    struct cairn_plan *plan;
    if (settings->given[OPT_QUIET] || settings->given[OPT_JSON] || run->live ||
        !touched_since(run->file, run->started_ns))
        return;
    /* The run itself will report what is wrong. */
    if (cairn_plan(&plan, workflow, store, options, NULL) != 0)
        return;
    if (cairn_plan_will(plan) + cairn_plan_may(plan) > 0 &&
        (options->start == CAIRN_START_FROM || cairn_plan_run(plan) == run->run))
        print_plan(plan);
    cairn_plan_free(plan);
}

void announce_plan(struct settings *settings, struct cairn_workflow *workflow,
                   struct cairn_store *store, const struct cairn_run_options *options)
{
    struct cairn_plan *plan;
    if (settings->given[OPT_QUIET] || settings->given[OPT_JSON] ||
        cairn_plan(&plan, workflow, store, options, NULL) != 0)
        return; /* the run itself will report what is wrong */
    print_plan(plan);
    cairn_plan_free(plan);
}

static int note_unknown(void *context, const struct cairn_task_info *task)
{
    struct display *display = context;
    bool unknown = task->outcome == CAIRN_UNKNOWN;
    display->checked += unknown && task->check;
    if (unknown && !task->check && !display->undecided)
        display->undecided = shell_word(task->id);
    return 0;
}

/* What "nothing to do" must not hide. */
static void show_notice(void *context, const char *text)
{
    struct cairn_event event = {.kind = CAIRN_EVENT_NOTICE,
                                .time_ns = wall_ns(),
                                .exit_code = -1,
                                .text = text};
    display_event(context, &event);
}

static enum show_output wanted_output(const struct settings *settings)
{
    uint64_t verbose = settings->number[OPT_VERBOSE];
    if (settings->given[OPT_SHOW_OUTPUT])
        return (enum show_output)settings->number[OPT_SHOW_OUTPUT];
    return verbose > 1 ? SHOW_STREAM : verbose == 1 ? SHOW_GROUP : SHOW_FAILED;
}

static int call_undo(struct work *work, struct cairn_run_result *result,
                     struct cairn_error *error)
{
    return cairn_undo(work->store, work->run, work->tasks, work->n_tasks,
                      &work->options, result, error);
}

/* What a command that goes on needs behind the run: the store, and what this call was
 * asked for that a run does not record; not how its output is shown. */
static const char *again_words(const struct settings *settings)
{
    static const enum option_id kept[] = {
        OPT_JOBS,      OPT_MEMORY,     OPT_ON_CHANGE, OPT_CHECK_OUTPUTS,
        OPT_NO_REUSE,  OPT_CHECKPOINT, OPT_SYNC,      OPT_OUTPUT_LIMIT,
        OPT_KEEP,      OPT_KEEP_GOING, OPT_STOP,      OPT_NO_WAIT,
        OPT_SECRETS_FD};
    static char words[PATH_MAX + 512];
    size_t used = (size_t)snprintf(words, sizeof words, "%s", store_hint(settings));
    for (size_t i = 0; i < COUNT_OF(kept) && used < sizeof words; i++) {
        const struct option *option = option_get(kept[i]);
        bool flag = option->kind == OPTION_FLAG;
        if (settings->given[kept[i]])
            used += (size_t)snprintf(words + used, sizeof words - used, " --%s%s%s",
                                     option->name, flag ? "" : " ",
                                     flag ? "" : settings->text[kept[i]]);
    }
    return words;
}

/* Calls with signals caught and the display on; options.stop and observe are set. */
static int carry_out(struct settings *settings, struct work *work)
{
    struct cairn_run_result result = {0};
    struct cairn_error error = {0};
    struct display display;
    int status, rc;
    if (cairn_stop_new(&work->options.stop, &error) != 0)
        return report_error(&error);
    ui_output_optional();
    catch_signals(work->options.stop);
    display_init(&display, store_hint(settings), work->store);
    display.again = again_words(settings);
    display.starts = settings->given[OPT_VERBOSE] && !display.json;
    display.told_how = settings->given[OPT_NO_WAIT]; /* the end says it */
    display.undo = work->call == call_undo;
    display.output = wanted_output(settings);
    work->options.stream_output = display.output == SHOW_STREAM && !display.json;
    work->options.last_lines = !display.json && !display.quiet;
    display.heartbeat_ms = (int64_t)settings->number[OPT_HEARTBEAT];
    work->options.task_files = raise_file_limit();
    struct failure_watch watch = {.store = work->store,
                                  .next = display_event,
                                  .next_context = &display,
                                  .secrets = work->options.secrets,
                                  .n_secrets = work->options.n_secrets};
    work->options.observe = failure_watch_event;
    work->options.observe_context = &watch;
    ui_queue_start();
    rc = work->call(work, &result, &error);
    release_signals();
    ui_queue_end();
    display_dropped(&display);
    if (rc == 0) {
        if (result.unknown > 0 && work->store)
            (void)cairn_run_tasks(work->store, result.run, note_unknown, &display,
                                  NULL);
        if (result.nothing_to_do && work->store)
            (void)each_unfinished(work->store, store_hint(settings), result.run,
                                  show_notice, &display);
        else if (work->workflow && work->store)
            say_left_behind(work->store, store_hint(settings), result.run, show_notice,
                            &display);
        if (result.gone > 0 && work->store)
            display.fresh = fresh_words(work->store, result.run, display.again);
        display_result(&display, &result);
        free(display.fresh);
        free(display.undecided);
        failure_watch_end(&watch);
        status = result.exit_status;
    } else {
        block_clear(&display.block);
        status = report_error(&error);
    }
    display_release(&display);
    cairn_stop_free(work->options.stop);
    return status;
}

static int call_run(struct work *work, struct cairn_run_result *result,
                    struct cairn_error *error)
{
    return cairn_run(work->workflow, work->store, &work->options, result, error);
}

int execute(struct settings *settings, struct cairn_workflow *workflow,
            struct cairn_store *store, const struct cairn_run_options *options)
{
    struct work work = {
        .call = call_run, .store = store, .workflow = workflow, .options = *options};
    return carry_out(settings, &work);
}

int execute_undo(struct settings *settings, struct cairn_store *store, uint64_t run,
                 const struct cairn_run_options *options)
{
    struct work work = {.call = call_undo,
                        .store = store,
                        .run = run,
                        .tasks = settings->operands + 1,
                        .n_tasks = (size_t)settings->n_operands - 1,
                        .options = *options};
    return carry_out(settings, &work);
}
