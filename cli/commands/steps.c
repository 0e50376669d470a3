/* SPDX-License-Identifier: MIT */
/* Commands that name tasks of a run: complete, fail, resolve, undo, cancel, rerun,
 * next. */
#include "cli/commands/steps.h"

#include "cli/commands/commands.h"
#include "cli/commands/run.h"
#include "cli/commands/tasks.h"
#include "cli/describe.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <string.h>

/* What the commands that name a task of a run have in common. */

int run_and_store(struct settings *settings, struct cairn_store **store, uint64_t *run)
{
    if (!operand_is_file(settings, 0) && !number_operand(settings, 0, run))
        return EXIT_USAGE;
    int status = store_for_writing(settings, store, false);
    return status == 0 ? run_number(settings, 0, *store, run) : status;
}

struct prospects {
    bool any;    /* some task is open */
    bool resume; /* one of them waits for no person or program */
};

static int add_prospect(void *context, const struct cairn_waiting_info *info)
{
    struct prospects *prospects = context;
    bool decision = info->waits_for == CAIRN_WAITS_DECISION && !info->check;
    prospects->any = true;
    prospects->resume |= info->waits_for != CAIRN_WAITS_EXTERNAL && !decision;
    return prospects->resume;
}

/* If no task is open, what is left is undoing, or recording the end of the run. */
int resume_needed(struct cairn_store *store, const struct cairn_run_info *run,
                  bool *needed)
{
    struct prospects prospects = {.any = false};
    struct cairn_error error = {0};
    *needed = !run->live && run->state == CAIRN_RUN_CANCELLED;
    if (run->live || run->state != CAIRN_RUN_UNFINISHED)
        return 0;
    if (cairn_waiting(store, run->run, add_prospect, &prospects, &error) != 0)
        return report_error(&error);
    *needed = prospects.resume || !prospects.any;
    return 0;
}

const char *steps_resume_words(const struct settings *settings,
                               struct cairn_store *store,
                               const struct cairn_run_info *run)
{
    char hint[PATH_MAX];
    snprintf(hint, sizeof hint, " --no-wait%s", run_hint(settings, run));
    return resume_words(store, run, hint);
}

/* Prints how a step ended (`what` is completed, failed, ...), and what to do next. */
static int step_report(const struct settings *settings, struct cairn_store *store,
                       uint64_t run, const char *what)
{
    const char *task = settings->operands[1], *hint = store_hint(settings);
    struct cairn_run_info info = {0};
    struct cairn_error error = {0};
    struct doc doc;
    bool resume;
    int status;
    if (cairn_run_get(store, run, &info, &error) != 0)
        return report_error(&error);
    status = resume_needed(store, &info, &resume);
    if (status != 0)
        return status;
    if (!ui_json()) {
        bool failed = strcmp(what, "failed") == 0;
        say("run %llu: %s %s %s", (unsigned long long)run, task, failed ? "has" : "is",
            what);
        if (resume)
            say("continue with: %s", resume_words(store, &info, hint));
        else if (!info.live && info.state == CAIRN_RUN_FAILED && failed)
            say("the run has failed; what runs %s again: %s", task,
                resume_words(store, &info, hint));
        else if (!info.live && info.state == CAIRN_RUN_FAILED)
            say("the run has failed; continue it: %s",
                resume_words(store, &info, hint));
        else if (!info.live && failed)
            say("what else waits can still be done: `cairn next %llu`; %s is done "
                "again once the run has ended: %s",
                (unsigned long long)run, task, resume_words(store, &info, hint));
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", task);
    doc_text(&doc, "state", what);
    doc_bool(&doc, "resume", resume);
    return doc_print(&doc);
}

/* cairn complete: an external task is done. */

int command_complete(struct settings *settings)
{
    struct cairn_error error = {0};
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status = run_and_store(settings, &settings->store, &run);
    if (status == 0 &&
        cairn_complete(settings->store, run, task, settings->text[OPT_TOKEN],
                       settings->params, settings->n_params, &error) != 0)
        status = missing_task(settings->store, run, task, &error);
    else if (status == 0)
        status = step_report(settings, settings->store, run, "completed");
    return status;
}

/* cairn fail: an external task has failed. */

int command_fail(struct settings *settings)
{
    struct cairn_error error = {0};
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status = run_and_store(settings, &settings->store, &run);
    if (status == 0 && cairn_fail(settings->store, run, task, settings->text[OPT_TOKEN],
                                  settings->text[OPT_MESSAGE], &error) != 0)
        status = missing_task(settings->store, run, task, &error);
    else if (status == 0)
        status = step_report(settings, settings->store, run, "failed");
    return status;
}

/* cairn resolve: decides the outcome of a task that is unknown. */

static enum cairn_resolution resolution_of(const char *word)
{
    static const char *const words[] = {
        [CAIRN_RESOLVED_DONE] = "done",
        [CAIRN_RESOLVED_FAILED] = "failed",
        [CAIRN_RESOLVED_RERUN] = "rerun",
    };
    for (int i = CAIRN_RESOLVED_DONE; i <= CAIRN_RESOLVED_RERUN; i++) {
        if (strcmp(words[i], word) == 0)
            return (enum cairn_resolution)i;
    }
    return (enum cairn_resolution)0;
}

int command_resolve(struct settings *settings)
{
    static const char *const results[] = {
        [CAIRN_RESOLVED_DONE] = "completed",
        [CAIRN_RESOLVED_FAILED] = "failed",
        [CAIRN_RESOLVED_RERUN] = "pending",
    };
    struct cairn_error error = {0};
    const char *task = settings->operands[1], *word = settings->operands[2];
    enum cairn_resolution resolution = resolution_of(word);
    uint64_t run = 0;
    int status;
    if ((int)resolution == 0)
        return report_usage("resolve",
                            "'%s' is not a decision: use done, failed or rerun", word);
    status = run_and_store(settings, &settings->store, &run);
    if (status == 0 &&
        cairn_resolve(settings->store, run, task, resolution, &error) != 0)
        status = missing_task(settings->store, run, task, &error);
    else if (status == 0)
        status = step_report(settings, settings->store, run, results[resolution]);
    return status;
}

/* cairn add: adds tasks to a run. */

enum { ADDED_BYTES = 17 << 20 }; /* more than a run takes, which says so */

static int report_added(const struct settings *settings,
                        const struct cairn_added *added)
{
    struct doc doc;
    unsigned long long run = added->run;
    if (!ui_json() && added->same) {
        say("nothing to add: they are in run %llu", run);
        return 0;
    }
    if (!ui_json()) {
        say("%u task%s added to run %llu%s", added->tasks, plural(added->tasks), run,
            added->taken ? ", which goes on with them" : "");
        if (!added->taken)
            say("run them with: cairn resume %llu%s", run, store_hint(settings));
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", added->run);
    doc_count(&doc, "tasks", added->tasks);
    doc_bool(&doc, "live", added->live);
    doc_bool(&doc, "taken", added->taken);
    doc_bool(&doc, "same", added->same);
    return doc_print(&doc);
}

static int report_withdrawn(const struct settings *settings, uint64_t run, size_t n)
{
    struct doc doc;
    if (!ui_json()) {
        say("%zu withdrawn from run %llu", n, (unsigned long long)run);
        say("see what runs now with: cairn plan --run %llu%s", (unsigned long long)run,
            store_hint(settings));
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_count(&doc, "withdrawn", n);
    return doc_print(&doc);
}

/* Each name counts once. */
static size_t count_names(const char *const *names, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (strcmp(names[k], names[i]) != 0)
            k++;
        count += k == i;
    }
    return count;
}

static int withdraw_added(struct settings *settings)
{
    struct cairn_error error = {0};
    uint64_t run = 0;
    size_t n = (size_t)settings->n_operands - 1;
    int status = run_and_store(settings, &settings->store, &run);
    if (status == 0)
        status = cairn_withdraw(settings->store, run, settings->operands + 1, n,
                                settings->text[OPT_BY], &error) != 0
                     ? report_error(&error)
                     : report_withdrawn(settings, run,
                                        count_names(settings->operands + 1, n));
    return status;
}

int command_add(struct settings *settings)
{
    struct cairn_error error = {0};
    struct cairn_added added;
    struct cairn_run_options options = {0};
    struct secrets_given secrets;
    struct buf text = BUF_INIT;
    const char *path = settings->operands[1];
    uint64_t run = 0;
    if (settings->given[OPT_WITHDRAW])
        return withdraw_added(settings);
    if (settings->n_operands > 2)
        return report_usage("add", "takes one FILE; with --withdraw, tasks");
    int status = secrets_given_read(settings, &secrets, &options)
                 ?: run_and_store(settings, &settings->store, &run)
                 ?: read_given(path, ADDED_BYTES, &text);
    const struct cairn_addition addition = {.text = text.data,
                                            .length = text.size,
                                            .name = strcmp(path, "-") ? path : "stdin",
                                            .by = settings->text[OPT_BY],
                                            .secrets = options.secrets,
                                            .n_secrets = options.n_secrets};
    if (status == 0)
        status = cairn_add(settings->store, run, &addition, &added, &error) != 0
                     ? report_error(&error)
                     : report_added(settings, &added);
    buf_release(&text);
    secrets_given_release(&secrets);
    return status;
}

/* cairn undo: undoes completed tasks of a run. */

int command_undo(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_store *store = NULL;
    struct secrets_given secrets;
    uint64_t run = 0;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = run_and_store(settings, &store, &run);
    if (status == 0)
        status = execute_undo(settings, store, run, &options);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}

/* cairn cancel: asks the owner of a run to stop. */

/* A stop lets the undoing and `finally` go on to their end: whether it is at them. */
static int note_phase(void *context, const struct cairn_log_event *event)
{
    const char **goes_on = context;
    if (strcmp(event->kind, "run_started") == 0)
        *goes_on = NULL;
    else if (strcmp(event->kind, "phase") == 0)
        *goes_on = strcmp(event->reason, "undo") == 0
                       ? "undo commands and `finally` tasks"
                       : "`finally` tasks";
    else if (strcmp(event->kind, "undo_intended") == 0 && !*goes_on)
        *goes_on = "undo commands";
    return 0;
}

static void say_requested(const struct settings *settings, struct cairn_store *store,
                          const struct cairn_run_info *run)
{
    const char *goes_on = NULL;
    unsigned long long number = run->run;
    if (!run->live) { /* it has not said who it is */
        say("asked the process that is just continuing run %llu to stop it; see: "
            "cairn watch %llu%s",
            number, number, store_hint(settings));
        return;
    }
    if (cairn_events(store, run->run, 0, note_phase, &goes_on, NULL, NULL) != 0)
        goes_on = NULL; /* only the message depends on it */
    say("asked process %lld to stop run %llu%s%s%s; see: cairn watch %llu%s",
        (long long)run->owner_pid, number, goes_on ? " when its " : "",
        goes_on ? goes_on : "", goes_on ? " have run" : "", number,
        store_hint(settings));
}

static int report_cancelled(const struct settings *settings, struct cairn_store *store,
                            const struct cairn_run_info *run, const char *action)
{
    unsigned long long number = run->run;
    struct doc doc;
    if (ui_json()) {
        doc_begin(&doc);
        doc_count(&doc, "run", run->run);
        doc_text(&doc, "action", action);
        return doc_print(&doc);
    }
    if (action[0] == 'r')
        say_requested(settings, store, run);
    else if (action[0] == 'm')
        say("run %llu is cancelled; resume with: %s", number,
            resume_words(store, run, store_hint(settings)));
    else
        say("run %llu %s %s already: nothing to cancel", number,
            run->state == CAIRN_RUN_FAILED ? "has" : "is",
            cairn_run_state_name(run->state));
    return 0;
}

int command_cancel(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    enum cairn_cancelling how = CAIRN_CANCEL_MARKED;
    int status = store_for_writing(settings, &store, false);
    if (status == 0)
        status = run_operand(settings, 0, store, &run);
    if (status == 0 && !run.live && run.state != CAIRN_RUN_UNFINISHED)
        status = report_cancelled(settings, store, &run, "none");
    else if (status == 0 && cairn_cancel(store, run.run, &how, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_cancelled(settings, store, &run,
                                  how == CAIRN_CANCEL_ASKED ? "requested" : "marked");
    store_close(store);
    return status;
}

/* cairn rerun: finished tasks of a run again, with what comes after them. */

static int load_workflow(struct cairn_store *store, const struct cairn_run_info *run,
                         struct cairn_workflow **workflow)
{
    struct cairn_error error = {0};
    bool from_file = true;
    if (cairn_workflow_of_run(workflow, store, run->run, &from_file, &error) != 0)
        return report_error(&error);
    print_warnings(*workflow);
    say_elsewhere(store, run);
    if (!from_file && run->file[0])
        say("cairn: %s is gone; using the definition stored with run %llu", run->file,
            (unsigned long long)run->run);
    return 0;
}

/* The live run may do next what is wanted. */
static int refuse_live(const struct cairn_run_info *run)
{
    unsigned long long number = run->run;
    return report_failure(EXIT_OWNED, cairn_code_name(CAIRN_EOWNED),
                          "run %llu is running (process %lld on %s): its tasks can run "
                          "again when it has ended; watch it with `cairn watch %llu`, "
                          "or end it with `cairn cancel %llu`",
                          number, (long long)run->owner_pid, run->owner_host, number,
                          number);
}

int command_rerun(struct settings *settings)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME,
                                        .again = true,
                                        .only = settings->given[OPT_ONLY],
                                        .tasks = settings->operands,
                                        .n_tasks = (size_t)settings->n_operands};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    struct secrets_given secrets;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = choose_check_options(settings);
    if (status == 0)
        status = store_for_writing(settings, &store, false);
    tuning_options(settings, &options);
    if (status == 0 && settings->n_operands > 1)
        run_among_tasks(settings, store);
    options.n_tasks = (size_t)settings->n_operands;
    if (status == 0)
        status = run_option(settings, store, &run);
    if (status == 0 && run.live)
        status = refuse_live(&run);
    options.run = run.run;
    if (status == 0)
        status = load_workflow(store, &run, &workflow);
    if (status == 0)
        status = choose_check(workflow, &options);
    if (status == 0) {
        announce_plan(settings, workflow, store, &options);
        status = execute(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}

/* cairn next: the external tasks that can be done now. */

struct next_listing {
    struct doc *doc; /* with --json */
    bool every;      /* also those that are claimed */
    uint32_t free, claimed;
    char *only; /* the first that is free; heap */
};

static int add_step(void *context, const struct cairn_next_info *info)
{
    struct next_listing *listing = context;
    struct doc *doc = listing->doc;
    doc_object(doc, NULL);
    doc_count(doc, "run", info->run);
    doc_text(doc, "task", info->task);
    doc_text(doc, "text", info->text);
    doc_bool(doc, "claimed", info->claimed);
    doc_text(doc, "holder", info->holder);
    doc_some(doc, "lease_left_ms", (uint64_t)info->lease_left_ms);
    doc_time(doc, "since", info->claimed_ns);
    doc_count(doc, "leases_lost", info->leases_lost);
    doc_end(doc);
    return 0;
}

/* Instructions may have many lines: all but the first are indented. */
static void print_instructions(const char *text)
{
    size_t n = strcspn(text, "\n");
    out("%.*s", (int)n, text);
    for (text += n; *text == '\n'; text += n) {
        text += strspn(text, "\n");
        n = strcspn(text, "\n");
        if (n > 0)
            out("\n    %.*s", (int)n, text);
    }
}

static int print_step(void *context, const struct cairn_next_info *info)
{
    struct next_listing *listing = context;
    char words[LEASE_WORDS_MAX];
    if (!info->claimed && listing->free++ == 0)
        listing->only = shell_word(info->task);
    listing->claimed += info->claimed;
    if (info->claimed && !listing->every)
        return 0;
    out("%s  ", info->task);
    print_instructions(info->text);
    lease_words(words, info->holder, info->lease_left_ms, info->claimed_ns,
                info->leases_lost);
    if (words[0])
        out("  (%s%s)", info->claimed ? "claimed " : "", words);
    out("\n");
    return ui_output_lost();
}

static int print_document(struct cairn_store *store, const struct cairn_run_info *run,
                          bool claimed)
{
    struct doc doc;
    struct next_listing listing = {.doc = &doc};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    doc_begin(&doc);
    doc_count(&doc, "run", run->run);
    doc_bool(&doc, "resume", resume);
    doc_array(&doc, "next");
    int rc = run->settled
                 ? 0
                 : cairn_next(store, run->run, claimed, add_step, &listing, &error);
    return doc_close(&doc, report_code(rc, &error));
}

/* What to do if nothing can be claimed. */
static void print_advice(const struct settings *settings, struct cairn_store *store,
                         const struct cairn_run_info *run,
                         const struct next_listing *listing, bool resume)
{
    unsigned long long number = run->run;
    const char *hint = run_hint(settings, run);
    if (run->state == CAIRN_RUN_COMPLETED)
        say("run %llu is completed: there is nothing to do in it", number);
    else if (run->state != CAIRN_RUN_UNFINISHED)
        say("run %llu is %s; continue it first: %s", number,
            cairn_run_state_name(run->state), steps_resume_words(settings, store, run));
    else if (resume)
        say("run %llu waits for no external task; continue with: %s", number,
            resume_words(store, run, hint));
    else if (listing->claimed > 0 && !listing->every)
        say("all that can be done in run %llu now is claimed: cairn next %llu "
            "--claimed%s",
            number, number, hint);
    else if (listing->claimed == 0)
        say("there is nothing to do in run %llu now", number);
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      const struct cairn_run_info *run)
{
    struct next_listing listing = {.every = settings->given[OPT_CLAIMED]};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    if (!run->settled &&
        cairn_next(store, run->run, true, print_step, &listing, &error) != 0) {
        free(listing.only);
        return report_error(&error);
    }
    out_flush();
    if (listing.free > 0)
        say("claim %s with: cairn claim %llu %s%s", listing.free == 1 ? "it" : "one",
            (unsigned long long)run->run,
            listing.free == 1 && listing.only ? listing.only : "TASK",
            run_hint(settings, run));
    else
        print_advice(settings, store, run, &listing, resume);
    free(listing.only);
    return 0;
}

int command_next(struct settings *settings)
{
    struct cairn_run_info run = {0};
    int status = open_run(settings, &settings->store, &run);
    if (status == 0)
        status = ui_json() ? print_document(settings->store, &run,
                                            settings->given[OPT_CLAIMED])
                           : print_text(settings, settings->store, &run);
    return status;
}
