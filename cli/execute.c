/* SPDX-License-Identifier: MIT */
/* Carrying out a run: signals, display, result. */
#include "cli/execute.h"

#include "cli/describe.h"
#include "cli/display.h"
#include "cli/failure_watch.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
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
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
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
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
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
    options->on_change = (enum cairn_on_change)number[OPT_ON_CHANGE];
    options->check_outputs = (enum cairn_check_outputs)number[OPT_CHECK_OUTPUTS];
    options->saving = (enum cairn_saving)number[OPT_CHECKPOINT];
    options->output_limit = number[OPT_OUTPUT_LIMIT];
    options->keep = (uint32_t)number[OPT_KEEP];
    options->keep_all = settings->given[OPT_KEEP] && number[OPT_KEEP] == 0;
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

static void print_plan(const struct cairn_plan *plan)
{
    uint32_t shown = 0, may = cairn_plan_may(plan);
    uint32_t listed = cairn_plan_will(plan) + may;
    struct cairn_decision decision = {0};
    char more[48] = "";
    if (may > 0)
        snprintf(more, sizeof more, ", and %u more may run", may);
    say("%u of %u task%s will run%s:", cairn_plan_will(plan), cairn_plan_tasks(plan),
        plural(cairn_plan_tasks(plan)), more);
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
        say("cairn: run %llu is one of %s, and goes on there",
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
            display.fresh = fresh_words(work->store, result.run, store_hint(settings));
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
