/* SPDX-License-Identifier: MIT */
/* cairn status: a run, its tasks, what it waits for, and its critical path (--timing).
 */
#include "cli/commands/commands.h"
#include "cli/commands/steps.h"
#include "cli/commands/tasks.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/picture.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include "cairn.h"

#include <stdlib.h>
#include <string.h>

/* cairn status --waiting: what a run waits for. */

#define FAILED_SHOWN 20

struct task_listing {
    const struct settings *settings;
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    uint64_t run;
    const char *hint; /* of commands that write to it */
    bool live;
    bool handled; /* what failed in it: it completed all the same */
    int width;    /* columns of the names of tasks */
    const struct open_steps *steps;
    uint32_t failed, unknown, failed_undos;
    struct told_values values; /* with --json and `every` */
    struct cairn_error error;  /* of a listing inside the listing */
    enum cairn_outcome only;   /* with --json, unless `every` */
    bool every;
    bool undos;      /* those whose undo failed, whatever `only` is */
    size_t matching; /* tasks that --state selects */
};

static const char *const waits_for_names[] = {
    [CAIRN_WAITS_RUNNING] = "running",   [CAIRN_WAITS_SLOT] = "slot",
    [CAIRN_WAITS_POOL] = "pool",         [CAIRN_WAITS_EXTERNAL] = "external",
    [CAIRN_WAITS_DECISION] = "decision", [CAIRN_WAITS_MEMORY] = "memory",
};

struct waiting_list {
    struct doc *doc; /* with --json */
    uint64_t run;
    bool live;
    const char *hint; /* " --store DIR" or "" */
};

static int add_waiting(void *context, const struct cairn_waiting_info *info)
{
    struct doc *doc = ((struct waiting_list *)context)->doc;
    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_text(doc, "waits_for", waits_for_names[info->waits_for]);
    doc_text(doc, "text", info->text);
    doc_text(doc, "held_by", info->held_by);
    doc_time(doc, "since", info->since_ns);
    doc_count(doc, "behind", info->behind);
    doc_text(doc, "holder", info->holder);
    doc_some(doc, "lease_left_ms", (uint64_t)info->lease_left_ms);
    doc_count(doc, "leases_lost", info->leases_lost);
    doc_bool(doc, "check", info->check);
    doc_end(doc);
    return 0;
}

static const char *waiting_words(const struct cairn_waiting_info *info, bool live)
{
    switch (info->waits_for) {
    case CAIRN_WAITS_RUNNING:
        return live ? "runs" : "was running when cairn died; it will be adopted";
    case CAIRN_WAITS_SLOT:
        return "is ready";
    case CAIRN_WAITS_POOL:
        return "waits for a place in pool";
    case CAIRN_WAITS_MEMORY:
        return "waits for memory that other tasks have";
    case CAIRN_WAITS_EXTERNAL:
        return "waits for somebody to do it";
    case CAIRN_WAITS_DECISION:
        return info->check ? "is unknown: its check decides" : "is unknown: decide";
    }
    return "";
}

static void print_resolve(uint64_t run, const char *task, const char *hint)
{
    char *word = shell_word(task);
    out(": cairn resolve %llu %s done|failed|rerun%s", (unsigned long long)run,
        word ? word : "TASK", hint);
    free(word);
}

static int print_waiting(void *context, const struct cairn_waiting_info *info)
{
    const struct waiting_list *waiting = context;
    char since[FORMAT_MAX] = "", words[LEASE_WORDS_MAX], behind[48] = "";
    const char *text = info->text ? info->text : "";
    bool step = info->waits_for == CAIRN_WAITS_EXTERNAL;
    if (info->since_ns != 0 && !info->holder)
        format_duration(since, (wall_ns() - info->since_ns) / 1000000);
    if (info->behind > 0)
        snprintf(behind, sizeof behind, "  (%u behind it)", info->behind);
    lease_words(words, info->holder, info->lease_left_ms, info->since_ns,
                info->leases_lost);
    if (info->holder)
        out("  %s  is claimed %s", info->task, words);
    else
        out("  %s  %s%s%s", info->task, waiting_words(info, waiting->live),
            words[0] ? "; " : "", words);
    if (info->waits_for == CAIRN_WAITS_DECISION && !info->check)
        print_resolve(waiting->run, info->task, waiting->hint);
    out("%s%.*s%s%s%s%s%s\n",
        !info->text ? ""
        : step      ? ": "
                    : " ",
        length_trimmed(text), text, info->held_by ? ": held by " : "",
        info->held_by ? info->held_by : "", since[0] ? "  " : "", since, behind);
    return ui_output_lost();
}

static int print_all(struct settings *settings, struct cairn_store *store,
                     const struct cairn_run_info *run)
{
    struct waiting_list waiting = {
        .run = run->run, .live = run->live, .hint = run_hint(settings, run)};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    out("run %llu  %s  %s\n", (unsigned long long)run->run, run->workflow,
        run_state_text(run));
    if (cairn_waiting(store, run->run, print_waiting, &waiting, &error) != 0)
        return report_error(&error);
    if (resume)
        out("continue with: %s\n", resume_words(store, run, run_hint(settings, run)));
    return 0;
}

/* status --waiting */
static int show_waiting(struct settings *settings, struct cairn_store *store,
                        const struct cairn_run_info *run)
{
    struct doc doc;
    struct waiting_list waiting = {.doc = &doc};
    struct cairn_error error = {0};
    bool resume;
    int status;
    if (!ui_json())
        return print_all(settings, store, run);
    status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    doc_begin(&doc);
    doc_count(&doc, "run", run->run);
    doc_text(&doc, "state", run_state_text(run));
    doc_bool(&doc, "resume", resume);
    doc_array(&doc, "waiting");
    int rc = cairn_waiting(store, run->run, add_waiting, &waiting, &error);
    return doc_close(&doc, report_code(rc, &error));
}

/* Tasks in `cairn status`: all of them, or those that have failed, are unknown, or
 * could not be undone. */

#define TIME_MAX (FORMAT_MAX + 32)

/* For people (docs/commands.md, Words): the line says why a task was skipped. */
static const char *task_word(const struct cairn_task_info *task)
{
    bool open = task->running || task->interrupted;
    return task->outcome == CAIRN_EXCLUDED           ? "skipped"
           : task->outcome == CAIRN_PENDING && !open ? "not run"
                                                     : NULL;
}

/* "1.50s in 3 attempts", or what of it there is. */
static const char *task_time(char text[TIME_MAX], const struct task_row *row)
{
    char took[FORMAT_MAX] = "", attempts[32] = "";
    if (task_has_own_times(&row->task) && row->all_ms >= 0)
        format_duration(took, row->all_ms);
    if (row->task.attempts > 1)
        snprintf(attempts, sizeof attempts, "%s%u attempts", took[0] ? " in " : "",
                 row->task.attempts);
    snprintf(text, TIME_MAX, "%s%s", took, attempts);
    return text;
}

static void print_failed(struct task_listing *listing, const struct task_row *row)
{
    const struct cairn_task_info *task = &row->task;
    char how[FORMAT_MAX], took[TIME_MAX];
    char *word = shell_word(task->id);
    const char *text = task->text ? task->text : "";
    /* A task that was reported from outside has no output. */
    bool has_log = task->exit_code >= 0 || task->signal != 0 || task->timed_out;
    if (listing->failed++ == 0)
        out("%s:\n", failed_text(listing->handled));
    format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    task_time(took, row);
    if (listing->failed <= FAILED_SHOWN) {
        out("  %s%s%s%s%s%s%s\n", task->id, how[0] ? "  " : "", how,
            took[0] ? "  " : "", took, text[0] ? "  " : "", text);
        if (has_log)
            out("    see: cairn log %s --run %llu%s\n", word ? word : task->id,
                (unsigned long long)listing->run, store_hint(listing->settings));
    }
    free(word);
}

/* Of an external task that nobody has reported: who does it. NULL: it is none. */
static const char *step_word(const struct task_listing *listing,
                             const struct cairn_task_info *task)
{
    const struct open_step *step = task->outcome == CAIRN_PENDING
                                       ? open_steps_find(listing->steps, task->node)
                                       : NULL;
    return !step ? NULL : step->claimed ? "claimed" : "waiting";
}

static void print_step(const struct task_listing *listing,
                       const struct cairn_task_info *task)
{
    const struct open_step *step = open_steps_find(listing->steps, task->node);
    char words[LEASE_WORDS_MAX];
    const char *holder = !step->claimed ? NULL
                         : step->holder ? step->holder
                                        : "somebody";
    lease_words(words, holder, step->left_ms, step->claimed_ns, step->lost);
    out("  (%s%s%s)", holder ? "" : "for somebody to do it",
        !holder && words[0] ? "; " : "", words);
}

static void print_task(const struct task_listing *listing, const struct task_row *row)
{
    const struct cairn_task_info *task = &row->task;
    const char *step = step_word(listing, task);
    char how[FORMAT_MAX] = "", took[TIME_MAX];
    const char *word = task_word(task), *text = NULL;
    if (task->outcome == CAIRN_FAILED)
        format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    task_time(took, row);
    if (task_has_own_times(task))
        text = task->text;
    else if (task->outcome == CAIRN_EXCLUDED)
        text = task->service ? "(nothing that needs it ran)"
                             : "(its condition was not met)";
    bool more = took[0] || how[0] || text || task->cause || step ||
                task->outcome == CAIRN_UNKNOWN;
    out("  %-11s  %s%*s%s%s%s%s%s%s",
        step   ? step
        : word ? word
               : task_state_word(task),
        task->id, more ? name_gap(listing->width, task->id, strlen(task->id)) : 0, "",
        took[0] ? "  " : "", took, how[0] ? "  " : "", how, text ? "  " : "",
        text ? text : "");
    if (task->cause)
        out("  (because of %s)", task->cause);
    if (step)
        print_step(listing, task);
    if (task->outcome == CAIRN_UNKNOWN) {
        out("  (must not run twice: %s", task->check ? "its check decides" : "decide");
        if (!task->check)
            print_resolve(listing->run, task->id, listing->hint);
        out(")");
    }
    out("\n");
}

static void print_unknown(struct task_listing *listing,
                          const struct cairn_task_info *task)
{
    if (listing->unknown++ == 0)
        out("unknown (must not run twice):\n");
    if (listing->unknown > FAILED_SHOWN)
        return;
    out("  %s\n    ", task->id);
    if (task->check && listing->live)
        out("its check decides\n");
    else if (task->check)
        out("its check decides: cairn resume %llu%s\n",
            (unsigned long long)listing->run, listing->hint);
    else {
        out("decide");
        print_resolve(listing->run, task->id, listing->hint);
        out("\n");
    }
}

struct undo_line {
    uint32_t attempt;
    const char *task;
};

static int print_undo_end(void *context, const struct cairn_attempt_info *attempt)
{
    const struct undo_line *line = context;
    char how[FORMAT_MAX];
    if (attempt->attempt != line->attempt || !attempt->undo)
        return 0;
    format_end(how, attempt->exit_code, attempt->signal, attempt->timed_out,
               attempt->text);
    out("  undo of %s%s%s%s%s\n", line->task, how[0] ? "  " : "", how,
        attempt->text ? "  " : "", attempt->text ? attempt->text : "");
    return 1;
}

static int print_failed_undo(struct task_listing *listing,
                             const struct cairn_task_info *task)
{
    struct undo_line line = {task->failed_undo, task->id};
    char *word = shell_word(task->id);
    int rc = 0;
    if (listing->failed_undos++ == 0)
        out("undo failed:\n");
    if (listing->failed_undos <= FAILED_SHOWN)
        rc = cairn_attempts(listing->store, listing->run, task->id, print_undo_end,
                            &line, &listing->error);
    if (listing->failed_undos <= FAILED_SHOWN && word && rc == 0)
        out("    see: cairn log %s --attempt %u --run %llu%s\n", word,
            task->failed_undo, (unsigned long long)listing->run,
            store_hint(listing->settings));
    free(word);
    return rc;
}

static int list_failed_undo(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    if (task->failed_undo > 0 && print_failed_undo(listing, task) != 0)
        return 1;
    return ui_output_lost();
}

/* The same of one that is to be listed. */
static int list_row_text(struct task_listing *listing, const struct task_row *row)
{
    if (listing->every)
        print_task(listing, row);
    else if (row->task.outcome == CAIRN_FAILED)
        print_failed(listing, row);
    else if (row->task.outcome == CAIRN_UNKNOWN)
        print_unknown(listing, &row->task);
    return ui_output_lost();
}

/* True: this task is listed. */
static bool is_listed(const struct task_listing *listing,
                      const struct cairn_task_info *task)
{
    if (!listing->doc)
        return task->outcome == CAIRN_FAILED || task->outcome == CAIRN_UNKNOWN;
    return listing->undos ? task->failed_undo > 0
                          : listing->every || task->outcome == listing->only;
}

/* Callbacks of cairn_run_tasks; the context is the listing. */
static int list_task_text(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    struct task_row row = task_row_of(task);
    return is_listed(listing, task) ? list_row_text(listing, &row) : 0;
}

static int list_row_document(struct task_listing *listing, const struct task_row *row)
{
    const struct cairn_task_info *task = &row->task;
    struct doc *doc = listing->doc;
    doc_object(doc, NULL);
    doc_text(doc, "task", task->id);
    doc_text(doc, "state", task_state_word(task));
    doc_count(doc, "attempts", task->attempts);
    doc_time(doc, "started", task->started_ns);
    doc_time(doc, "ended", task->ended_ns);
    if (row->all_ms >= 0)
        doc_number(doc, "attempts_ms", row->all_ms);
    else
        doc_null(doc, "attempts_ms");
    process_end_document(doc, task->exit_code, task->signal);
    doc_bool(doc, "timed_out", task->timed_out);
    doc_number(doc, "cpu_ms", task->cpu_ms);
    doc_some(doc, "peak_kib", (uint64_t)task->peak_kib);
    doc_text(doc, "text", task->text);
    doc_text(doc, "cause", task->cause);
    doc_bool(doc, "check", task->check);
    doc_some(doc, "failed_undo", task->failed_undo);
    if (listing->every) {
        doc_object(doc, "foreach");
        for (size_t i = 0; i < task->n_foreach; i++)
            doc_text(doc, task->foreach[i].name, task->foreach[i].value);
        doc_end(doc);
        told_values_document(&listing->values, doc, task->id);
    }
    doc_end(doc);
    return 0;
}

static int list_task_document(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    struct task_row row = task_row_of(task);
    return is_listed(listing, task) ? list_row_document(listing, &row) : 0;
}

/* An attempt counts with those that failed right before it. */

enum { SLOWEST_SHOWN = 10 };

struct timing {
    struct task_rows rows;
    struct cairn_workflow *workflow;
    const struct task_row **by_node; /* [tasks of workflow] or NULL */
    uint32_t *path;                  /* nodes, the last one first */
    uint32_t n_path;
};

static bool has_times(const struct task_row *row)
{
    return row && row->latest > 0 && row->task.ended_ns != 0;
}

static int64_t ended_at(const void *context, uint32_t node)
{
    const struct timing *t = context;
    const struct task_row *row =
        node < cairn_workflow_tasks(t->workflow) ? t->by_node[node] : NULL;
    return has_times(row) ? row->task.ended_ns : 0;
}

static int find_path(struct timing *t, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    bool from_file;
    struct task_ends ends = {.ended = ended_at, .context = t};
    if (cairn_workflow_of_run(&t->workflow, store, run, &from_file, &error) != 0 ||
        cairn_workflow_compile(t->workflow, &error) != 0)
        return report_error(&error);
    uint32_t tasks = cairn_workflow_tasks(t->workflow);
    t->by_node = calloc((size_t)tasks + 1, sizeof(struct task_row *));
    t->path = calloc((size_t)tasks + 1, sizeof *t->path);
    if (!t->by_node || !t->path)
        return report_nomem();
    for (size_t i = 0; i < t->rows.n; i++) {
        uint32_t node = cairn_workflow_find(t->workflow, t->rows.at[i].task.id);
        if (node < tasks)
            t->by_node[node] = &t->rows.at[i];
    }
    ends.workflow = t->workflow;
    if (task_ends_begin(&ends, &error) != 0)
        return report_nomem();
    t->n_path = task_ends_path(&ends, t->path);
    task_ends_release(&ends);
    return 0;
}

static const struct task_row *path_at(const struct timing *t, uint32_t i)
{
    return t->by_node[t->path[t->n_path - 1 - i]];
}

/* "0.50s  name (3 attempts)" */
static void print_row(const struct task_row *row)
{
    char took[FORMAT_MAX];
    out("  %9s  %s", format_duration(took, row->latest_ms), row->task.id);
    if (row->latest > 1)
        out(" (%u attempts)", row->latest);
    out("\n");
}

static void print_path(const struct timing *t)
{
    char took[FORMAT_MAX], at[FORMAT_MAX];
    int64_t sum = 0, begin = path_at(t, 0)->first_started_ns;
    int64_t end = path_at(t, t->n_path - 1)->task.ended_ns;
    for (uint32_t i = 0; i < t->n_path; i++)
        sum += path_at(t, i)->latest_ms;
    out("critical path: %s of work in %s\n", format_duration(took, sum),
        format_duration(at, (end - begin) / 1000000));
    for (uint32_t i = 0; i < t->n_path; i++) {
        int64_t start = path_at(t, i)->first_started_ns;
        /* One that ran again later does not count before the beginning. */
        out("  after %9s",
            format_duration(at, start > begin ? (start - begin) / 1000000 : 0));
        print_row(path_at(t, i));
    }
}

static void print_timing(const struct timing *t)
{
    if (t->n_path == 0) {
        say("no task has ended yet");
        return;
    }
    out("slowest:\n");
    for (size_t i = 0; i < t->rows.n && i < SLOWEST_SHOWN; i++)
        if (has_times(&t->rows.at[i]))
            print_row(&t->rows.at[i]);
    print_path(t);
}

static void add_task(struct doc *doc, const struct task_row *row)
{
    doc_object(doc, NULL);
    doc_text(doc, "task", row->task.id);
    doc_time(doc, "started", row->task.started_ns);
    doc_time(doc, "ended", row->task.ended_ns);
    doc_number(doc, "duration_ms", task_row_duration(&row->task));
    doc_count(doc, "attempts", row->latest);
    doc_time(doc, "first_started", row->first_started_ns);
    doc_number(doc, "attempts_ms", row->latest_ms);
    doc_end(doc);
}

/* The slowest first. */
static int by_latest(const void *x, const void *y)
{
    const struct task_row *a = x, *b = y;
    if (a->latest_ms != b->latest_ms)
        return (a->latest_ms < b->latest_ms) - (a->latest_ms > b->latest_ms);
    return (a->task.node > b->task.node) - (a->task.node < b->task.node);
}

static int timing_document(const struct timing *t, uint64_t run)
{
    struct doc doc;
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_array(&doc, "slowest");
    for (size_t i = 0; i < t->rows.n && i < SLOWEST_SHOWN; i++)
        if (has_times(&t->rows.at[i]))
            add_task(&doc, &t->rows.at[i]);
    doc_end(&doc);
    doc_array(&doc, "critical_path");
    for (uint32_t i = 0; i < t->n_path; i++)
        add_task(&doc, path_at(t, i));
    return doc_print(&doc);
}

/* The slowest tasks, and the chain of tasks that each waited for the one before it.
 * Returns an exit status. */
static int show_timing(const struct settings *settings, struct cairn_store *store,
                       const struct cairn_run_info *run)
{
    struct timing t = {.workflow = NULL};
    int status = task_rows_read(&t.rows, settings, store, run->run);
    if (status == 0 && t.rows.n > 0)
        qsort(t.rows.at, t.rows.n, sizeof *t.rows.at, by_latest);
    if (status == 0)
        status = find_path(&t, store, run->run);
    if (status == 0 && ui_json())
        status = timing_document(&t, run->run);
    else if (status == 0)
        print_timing(&t);
    free(t.by_node);
    free(t.path);
    cairn_workflow_free(t.workflow);
    task_rows_release(&t.rows);
    return status;
}

/* cairn status: the state of a run; --can-resume: whether it can be resumed. */

/* Counts that need a look at every task. */
struct open_ends {
    uint32_t interrupted, unknown, failed_undos;
    uint32_t added;             /* tasks that wait until the run goes on */
    uint32_t unneeded;          /* services that nothing needed; not of a live run */
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
    ends->unneeded += task->outcome == CAIRN_EXCLUDED && task->service;
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
    if (run->settled)
        return cairn_added_waiting(store, run->run, &ends->added, &error) == 0
                   ? 0
                   : report_error(&error);
    ends->unknown = 0;
    if (cairn_run_tasks(store, run->run, count_open_end, ends, &error) != 0 ||
        cairn_added_waiting(store, run->run, &ends->added, &error) != 0)
        return report_error(&error);
    run->completed = ends->completed;
    run->failed = ends->failed;
    return 0;
}

/* Why some of those that are skipped were left out. */
static void print_excluded(const struct cairn_run_info *run, uint32_t services)
{
    uint32_t conditions = run->excluded - services;
    if (run->excluded == 0)
        return;
    out(" (");
    if (conditions > 0)
        out("%u because of a condition%s", conditions, services > 0 ? ", " : "");
    if (services > 0)
        out("%u service%s that nothing needed", services, plural(services));
    out(")");
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
    print_excluded(run, ends->unneeded);
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
    if (ends->added > 0)
        out("%u added task%s: %s\n", ends->added,
            ends->added == 1 ? " waits" : "s wait", resume_words(store, run, hint));
    else if (!run->live && has_work(run, ends->unknown))
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
    const bool *given = settings->given;
    bool paged = given[OPT_LIMIT_TASKS] || given[OPT_OFFSET];
    bool all = given[OPT_ALL_TASKS] || given[OPT_ONLY_STATES] ||
               given[OPT_SORT_TASKS] || paged || listing->doc;
    struct task_rows rows = {.at = NULL};
    bool folded = false;
    int status = task_rows_read(&rows, settings, listing->store, listing->run);
    uint64_t limit = settings->number[OPT_LIMIT_TASKS];
    size_t begin = settings->number[OPT_OFFSET] < rows.n
                       ? (size_t)settings->number[OPT_OFFSET]
                       : rows.n;
    size_t end = limit < rows.n - begin ? begin + (size_t)limit : rows.n;
    listing->width = task_rows_width(&rows, !all);
    for (size_t i = begin, n; status == 0 && i < end && !ui_output_lost(); i += n) {
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
    listing->matching = rows.n;
    if (status == 0 && paged && !listing->doc)
        out("  %zu of %zu task%s\n", end - begin, rows.n, plural(rows.n));
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
    doc_count(&doc, "added_waiting", ends.added);
    if (listing.every) {
        status = told_values_read(&listing.values, store, run->run, NULL);
        doc_array(&doc, "tasks");
        if (status == 0)
            status = list_rows(settings, &listing);
        doc_end(&doc);
        if (settings->given[OPT_LIMIT_TASKS] || settings->given[OPT_OFFSET]) {
            doc_count(&doc, "matching", listing.matching);
            if (settings->given[OPT_LIMIT_TASKS])
                doc_count(&doc, "limit", settings->number[OPT_LIMIT_TASKS]);
            else
                doc_null(&doc, "limit");
            doc_count(&doc, "offset", settings->number[OPT_OFFSET]);
        }
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
    return doc_close(&doc, status);
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
    char text[160], waits[64];
    uint64_t number = 0;
    uint32_t added = 0;
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
        (rc = cairn_can_resume(store, run.run, &error)) != 0 ||
        (rc = cairn_added_waiting(store, run.run, &added, &error)) != 0)
        return is_answer(rc)
                   ? answer_can_resume(run.run != 0 ? run.run : number, rc, error.text)
                   : report_error(&error);
    if (run_needs_program(store, &run)) {
        snprintf(text, sizeof text,
                 "no: run %llu has functions of a program: start that program",
                 (unsigned long long)run.run);
        return answer_can_resume(run.run, CAIRN_EUSAGE, text);
    }
    snprintf(waits, sizeof waits, "; %u added task%s", added,
             added == 1 ? " waits" : "s wait");
    if (added > 0)
        more = waits;
    else if (run.state == CAIRN_RUN_COMPLETED)
        more = has_work(&run, run.unknown)
                   ? "; it had completed, but the end of some tasks is lost"
                   : "; it is completed: nothing to do";
    snprintf(text, sizeof text, "run %llu can be resumed%s",
             (unsigned long long)run.run, more);
    return answer_can_resume(run.run, 0, text);
}

/* ---- For a prompt ---- */

static void add_count(struct buf *line, uint32_t n, const char *what)
{
    if (n > 0)
        buf_format(line, ", %u %s", n, what);
}

static void add_run(struct buf *line, const struct cairn_run_info *run)
{
    buf_format(line, "%s %s %u/%u", run->workflow, cairn_run_state_name(run->state),
               run->completed, run->total);
    add_count(line, run->running, "running");
    add_count(line, run->failed, "failed");
    add_count(line, run->unknown, "unknown");
}

/* Of this run, or (number 0) of the newest: what is not there is left out then. */
static int print_prompt(struct cairn_store *store, struct cairn_run_info *run)
{
    struct cairn_session_info session = {0};
    struct cairn_error error = {0};
    struct buf line = BUF_INIT;
    int rc = run->run != 0 ? 0 : cairn_run_look(store, 0, run, &error);
    if (rc == 0)
        add_run(&line, run);
    if (rc == 0 || rc == CAIRN_ENOTFOUND)
        rc = cairn_session_get(store, NULL, &session, &error);
    if (session.session != 0)
        buf_format(&line, "%s%s/%s", line.size > 0 ? "; " : "", session.name,
                   session.branch);
    if (line.size > 0 && !line.failed)
        out("%s\n", line.data);
    int status = line.failed                        ? report_nomem()
                 : rc == 0 || rc == CAIRN_ENOTFOUND ? 0
                                                    : report_error(&error);
    buf_release(&line);
    return status;
}

int command_status(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status;
    /* Each of them lists tasks. */
    static const enum option_id of_tasks[] = {
        OPT_ONLY_STATES, OPT_SORT_TASKS, OPT_ALL_TASKS, OPT_LIMIT_TASKS, OPT_OFFSET};
    for (size_t i = 0; i < COUNT_OF(of_tasks); i++)
        settings->given[OPT_TASKS] |= settings->given[of_tasks[i]];
    if (settings->given[OPT_ONLY_STATES] &&
        state_list_check(settings->text[OPT_ONLY_STATES], TASK_STATES) != 0)
        return EXIT_USAGE;
    if (settings->given[OPT_TASKS] + settings->given[OPT_WAITING] +
            settings->given[OPT_CAN_RESUME] + settings->given[OPT_TIMING] +
            settings->given[OPT_LINE] + (settings->given[OPT_LINE] && ui_json()) >
        1)
        return report_usage(
            "status", "give only one of --tasks (which --state, --sort, --all, "
                      "--limit and --offset stand for, too), --timing, --waiting, "
                      "--can-resume and --line, and --line without --json");
    if (settings->given[OPT_LINE]) {
        status = settings->given[OPT_RUN] || settings->n_operands > 0
                     ? open_run(settings, &store, &run)
                     : store_if_any(settings, 0, &store);
        if (status == 0 && store)
            status = print_prompt(store, &run);
    } else if (settings->given[OPT_CAN_RESUME]) {
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
    store_close(store);
    return status;
}
