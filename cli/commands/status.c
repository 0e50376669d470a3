/* SPDX-License-Identifier: MIT */
/* cairn status: the state of a run; --can-resume: whether it can be resumed. */
#include "cli/commands/status.h"
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/tasks/state_list.h"
#include "cli/tasks/task_rows.h"
#include "cli/tasks/timing.h"
#include "cli/ui.h"

#include <string.h>

/* Counts that need a look at every task. */
struct open_ends {
    uint32_t interrupted, unknown, failed_undos;
    uint32_t completed, failed; /* as they are listed, so without unknown ones */
    struct open_steps steps;    /* only for people; released by open_steps_release */
};

static void print_count(uint32_t count, const char *name)
{
    if (count > 0)
        out(", %u %s", count, name);
}

/* `unknown` tasks are counted apart, whether they are recorded as unknown or not. */
static uint32_t not_run(const struct cairn_run_info *run, uint32_t unknown)
{
    uint32_t others =
        run_done(run) + run->cancelled + run->running + run->undone + unknown;
    return run->total > others ? run->total - others : 0;
}

/* A completed run has work, too, if the checkpoints of its end are lost. */
static bool has_work(const struct cairn_run_info *run, uint32_t unknown)
{
    return run->state != CAIRN_RUN_COMPLETED || unknown + not_run(run, unknown) > 0;
}

static void print_times(const struct cairn_run_info *run)
{
    char when[FORMAT_MAX];
    out("started     %s\n", format_local(when, run->started_ns));
    if (!run->live && run->ended_ns != 0)
        out("ended       %s\n", format_local(when, run->ended_ns));
}

/* Tasks that were running when the run's owner died. */
static int count_open_end(void *context, const struct cairn_task_info *task)
{
    struct open_ends *ends = context;
    ends->interrupted += task->interrupted;
    ends->unknown += task->outcome == CAIRN_UNKNOWN;
    ends->completed += task->outcome == CAIRN_COMPLETED;
    ends->failed += task->outcome == CAIRN_FAILED;
    ends->failed_undos += task->failed_undo > 0;
    return 0;
}

/* A task whose undo was cut off is recorded as completed or failed, and unknown: it
 * counts once. */
static int find_open_ends(struct cairn_store *store, struct cairn_run_info *run,
                          struct open_ends *ends)
{
    struct cairn_error error = {0};
    *ends = (struct open_ends){.unknown = run->unknown};
    if (run->live)
        return 0;
    ends->unknown = 0;
    if (cairn_run_tasks(store, run->run, count_open_end, ends, &error) != 0)
        return report_error(&error);
    run->completed = ends->completed;
    run->failed = ends->failed;
    return 0;
}

static void print_run(const struct settings *settings, const struct cairn_run_info *run,
                      const char *params, const struct open_ends *ends)
{
    out("run %llu  %s  %s\n", (unsigned long long)run->run, run->workflow,
        run_state_text(run));
    if (run->file[0] != '\0')
        out("file        %s\n", run->file);
    if (params)
        out("params      %s\n", params);
    print_times(run);
    if (run->live)
        out("owner       process %lld on %s\n", (long long)run->owner_pid,
            run->owner_host);
    if (run->from_run != 0)
        out("from        workflow:%llu of run %llu\n",
            (unsigned long long)run->from_seq, (unsigned long long)run->from_run);
    if (run->parent_run != 0)
        out("inside      task %s of run %llu\n", run->parent_task,
            (unsigned long long)run->parent_run);
    if (run->checkpoint != 0)
        out("checkpoint  workflow:%llu\n", (unsigned long long)run->checkpoint);
    if (run->damaged > 0)
        out("DAMAGED     %u checkpoint%s do%s not count: cairn checkpoint verify%s\n",
            run->damaged, plural(run->damaged), run->damaged == 1 ? "es" : "",
            store_hint(settings));
    out("tasks       %u: %u completed", run->total, run->completed);
    print_count(run->failed, failed_text(run->state == CAIRN_RUN_COMPLETED));
    print_count(run->skipped, "skipped");
    if (run->excluded > 0)
        out(" (%u because of a condition)", run->excluded);
    print_count(run->cancelled, "cancelled");
    print_count(run->undone, "undone");
    print_count(ends->unknown, "unknown");
    print_count(run->running, "running");
    uint32_t open = not_run(run, ends->unknown), steps = ends->steps.n;
    print_count(ends->steps.claimed, "claimed");
    print_count(steps - ends->steps.claimed, "waiting");
    print_count(open > steps ? open - steps : 0, "not run");
    if (ends->interrupted > 0)
        out(" (%u interrupted)", ends->interrupted);
    out("\n");
    if (run->unsaved > 0)
        out("DEGRADED    %u outcome%s could not be stored yet\n", run->unsaved,
            plural(run->unsaved));
}

/* Which command to use next. */
static void print_advice(const struct settings *settings, struct cairn_store *store,
                         const struct cairn_run_info *run, const struct open_ends *ends)
{
    unsigned long long number = run->run;
    const char *hint = run_hint(settings, run);
    uint32_t claimed = ends->steps.claimed, steps = ends->steps.n - claimed;
    if (steps > 0)
        out("%u external task%s can be done: cairn next %llu%s\n", steps, plural(steps),
            number, hint);
    else if (claimed > 0)
        out("%u external task%s claimed: cairn next %llu --claimed%s\n", claimed,
            plural(claimed), number, hint);
    if (!run->live && has_work(run, ends->unknown))
        out("resume with: %s\n", resume_words(store, run, hint));
}

static void print_line(void *context, const char *text)
{
    (void)context;
    out("%s\n", text);
}

static void add_line(void *context, const char *text)
{
    doc_text(context, NULL, text);
}

/* Large groups are one row each, unless the tasks were selected or sorted. */
static int list_rows(struct settings *settings, struct task_listing *listing)
{
    bool all = settings->given[OPT_ALL_TASKS] || settings->given[OPT_ONLY_STATES] ||
               settings->given[OPT_SORT_TASKS] || listing->doc;
    struct task_rows rows = {.at = NULL};
    bool folded = false;
    int status = task_rows_read(&rows, settings, listing->store, listing->run);
    listing->width = task_rows_width(&rows, !all);
    for (size_t i = 0, n; status == 0 && i < rows.n && !ui_output_lost(); i += n) {
        n = all ? 1 : task_rows_group(&rows, i);
        if (n > FOLDED_MEMBERS) {
            folded = true;
            task_rows_print_group(&rows, i, n);
            continue;
        }
        n = 1;
        if (listing->doc)
            list_row_document(listing, &rows.at[i]);
        else
            list_row_text(listing, &rows.at[i]);
    }
    if (folded)
        out("  every task: cairn status %llu --tasks --all%s\n",
            (unsigned long long)listing->run, store_hint(settings));
    task_rows_release(&rows);
    return status;
}

static int print_found(struct settings *settings, struct cairn_store *store,
                       const struct cairn_run_info *run, const struct open_ends *ends)
{
    struct task_listing listing = {.settings = settings,
                                   .store = store,
                                   .run = run->run,
                                   .hint = run_hint(settings, run),
                                   .live = run->live,
                                   .handled = run->state == CAIRN_RUN_COMPLETED,
                                   .steps = &ends->steps};
    struct cairn_error error = {0};
    int status;
    listing.every = settings->given[OPT_TASKS];
    char *params = params_text(store, run->run);
    print_run(settings, run, params, ends);
    free(params);
    if (listing.every && (status = list_rows(settings, &listing)) != 0)
        return status;
    if (!listing.every && (run->failed > 0 || ends->unknown > 0) &&
        cairn_run_tasks(store, run->run, list_task_text, &listing, &error) != 0)
        return report_error(&error);
    if (listing.failed > FAILED_SHOWN)
        out("  ... and %u more: cairn status %llu --tasks%s\n",
            listing.failed - FAILED_SHOWN, (unsigned long long)run->run,
            store_hint(settings));
    if (ends->failed_undos > 0 &&
        (cairn_run_tasks(store, run->run, list_failed_undo, &listing, &error) != 0 ||
         listing.error.code != 0))
        return report_error(error.code != 0 ? &error : &listing.error);
    if (listing.failed_undos > FAILED_SHOWN)
        out("  ... and %u more: cairn status %llu --json%s\n",
            listing.failed_undos - FAILED_SHOWN, (unsigned long long)run->run,
            store_hint(settings));
    print_advice(settings, store, run, ends);
    return settings->n_operands > 0 ? 0
                                    : each_unfinished(store, store_hint(settings),
                                                      run->run, print_line, NULL);
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      struct cairn_run_info *run)
{
    struct open_ends ends;
    int status = find_open_ends(store, run, &ends);
    /* Of a live run only its tasks show them: it says itself what waits. */
    if (status == 0 &&
        (run->live ? settings->given[OPT_TASKS] : run->state == CAIRN_RUN_UNFINISHED))
        status = open_steps_read(&ends.steps, store, run->run);
    if (status == 0)
        status = print_found(settings, store, run, &ends);
    open_steps_release(&ends.steps);
    return status;
}

static int add_tasks(struct task_listing *listing, struct cairn_store *store,
                     const char *key, bool any)
{
    struct cairn_error error = {0};
    doc_array(listing->doc, key);
    if (any &&
        cairn_run_tasks(store, listing->run, list_task_document, listing, &error) != 0)
        return report_error(&error);
    doc_end(listing->doc);
    return 0;
}

static int print_document(struct settings *settings, struct cairn_store *store,
                          const struct cairn_run_info *run)
{
    struct doc doc;
    struct task_listing listing = {.settings = settings,
                                   .store = store,
                                   .doc = &doc,
                                   .run = run->run,
                                   .live = run->live};
    struct cairn_run_info shown = *run;
    struct open_ends ends;
    int status;
    listing.every = settings->given[OPT_TASKS];
    status = find_open_ends(store, &shown, &ends);
    if (status != 0)
        return status;
    shown.unknown = ends.unknown;
    doc_begin(&doc);
    run_document(&doc, store, &shown);
    doc_count(&doc, "interrupted", ends.interrupted);
    if (listing.every) {
        status = told_values_read(&listing.values, store, run->run, NULL);
        doc_array(&doc, "tasks");
        if (status == 0)
            status = list_rows(settings, &listing);
        doc_end(&doc);
        told_values_release(&listing.values);
    } else {
        listing.only = CAIRN_FAILED;
        status = add_tasks(&listing, store, "failed_tasks", run->failed > 0);
        listing.only = CAIRN_UNKNOWN;
        if (status == 0)
            status = add_tasks(&listing, store, "unknown_tasks", ends.unknown > 0);
        listing.undos = true;
        if (status == 0)
            status = add_tasks(&listing, store, "failed_undos", ends.failed_undos > 0);
    }
    if (status == 0 && settings->n_operands == 0) {
        doc_array(&doc, "unfinished");
        status = each_unfinished(store, store_hint(settings), run->run, add_line, &doc);
        doc_end(&doc);
    }
    if (status == 0)
        return doc_print(&doc);
    doc_discard(&doc);
    return status;
}

/* The answer is data, whatever it is; only the exit status differs. */
static int answer_can_resume(uint64_t run, int rc, const char *text)
{
    struct doc doc;
    if (!ui_json()) {
        out("%s\n", text);
        return rc == 0 ? 0 : cairn_exit_status(rc);
    }
    doc_begin(&doc);
    doc_some(&doc, "run", run);
    doc_bool(&doc, "can_resume", rc == 0);
    doc_text(&doc, "code", cairn_code_name(rc));
    doc_text(&doc, "text", text);
    doc_print(&doc);
    return rc == 0 ? 0 : cairn_exit_status(rc);
}

/* With the other codes the question could not be answered. */
static bool is_answer(int rc)
{
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED || rc == CAIRN_EOWNED ||
           rc == CAIRN_EUSAGE;
}

static int can_resume(struct settings *settings, struct cairn_store *store)
{
    struct cairn_run_info run = {0};
    struct cairn_error error = {0};
    const char *more = "";
    char text[160];
    uint64_t number = 0;
    int rc;
    bool file = operand_is_file(settings, 0);
    if (settings->n_operands > 0 && !file && !number_operand(settings, 0, &number))
        return EXIT_USAGE;
    if (!store)
        return answer_can_resume(number, CAIRN_ENOTFOUND,
                                 "no: there is no store here or above");
    int status = file ? newest_run_of(store, settings->operands[0], &number) : 0;
    if (status != 0)
        return status;
    if (file && number == 0)
        return answer_can_resume(0, CAIRN_ENOTFOUND, "no: the workflow has no run yet");
    if ((rc = cairn_run_get(store, number, &run, &error)) != 0 ||
        (rc = cairn_can_resume(store, run.run, &error)) != 0)
        return is_answer(rc)
                   ? answer_can_resume(run.run != 0 ? run.run : number, rc, error.text)
                   : report_error(&error);
    if (run_needs_program(store, &run)) {
        snprintf(text, sizeof text,
                 "no: run %llu has functions of a program: start that program",
                 (unsigned long long)run.run);
        return answer_can_resume(run.run, CAIRN_EUSAGE, text);
    }
    if (run.state == CAIRN_RUN_COMPLETED)
        more = has_work(&run, run.unknown)
                   ? "; it had completed, but the end of some tasks is lost"
                   : "; it is completed: nothing to do";
    snprintf(text, sizeof text, "run %llu can be resumed%s",
             (unsigned long long)run.run, more);
    return answer_can_resume(run.run, 0, text);
}

int command_status(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status;
    /* Each of them lists tasks. */
    static const enum option_id of_tasks[] = {OPT_ONLY_STATES, OPT_SORT_TASKS,
                                              OPT_ALL_TASKS};
    for (size_t i = 0; i < sizeof of_tasks / sizeof of_tasks[0]; i++)
        settings->given[OPT_TASKS] |= settings->given[of_tasks[i]];
    if (settings->given[OPT_ONLY_STATES] &&
        state_list_check(settings->text[OPT_ONLY_STATES], TASK_STATES) != 0)
        return EXIT_USAGE;
    if (settings->given[OPT_TASKS] + settings->given[OPT_WAITING] +
            settings->given[OPT_CAN_RESUME] + settings->given[OPT_TIMING] >
        1)
        return report_usage("status",
                            "give only one of --tasks (which --state, --sort and --all "
                            "stand for, too), --timing, --waiting and --can-resume");
    if (settings->given[OPT_CAN_RESUME]) {
        status = store_if_any(settings, 0, &store);
        if (status == 0)
            status = can_resume(settings, store);
    } else {
        status = open_run(settings, &store, &run);
        if (status == 0 && settings->given[OPT_WAITING])
            status = show_waiting(settings, store, &run);
        else if (status == 0 && settings->given[OPT_TIMING])
            status = show_timing(settings, store, &run);
        else if (status == 0)
            status = ui_json() ? print_document(settings, store, &run)
                               : print_text(settings, store, &run);
    }
    cairn_store_close(store);
    return status;
}
