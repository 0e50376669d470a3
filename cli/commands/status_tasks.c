/* SPDX-License-Identifier: MIT */
/* Tasks in `cairn status`: all of them, or those that have failed, are unknown, or
 * could not be undone. */
#include "cli/commands/status.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/suggest.h"
#include "cli/tasks/task_rows.h"
#include "cli/ui.h"

#define TIME_MAX (FORMAT_MAX + 32)

/* For people (docs/commands.md, Words): the line says why a task was skipped. */
static const char *task_word(const struct cairn_task_info *task)
{
    bool open = task->running || task->interrupted;
    return task->outcome == CAIRN_EXCLUDED           ? "skipped"
           : task->outcome == CAIRN_PENDING && !open ? "not run"
                                                     : NULL;
}

/* Whether the times are those of the state that is shown: a task that is pending or
 * skipped now may have run before it was reset. */
static bool has_own_times(const struct cairn_task_info *task)
{
    return task->running || task->interrupted ||
           (task->outcome != CAIRN_PENDING && task->outcome != CAIRN_SKIPPED &&
            task->outcome != CAIRN_EXCLUDED);
}

/* "1.50s in 3 attempts", or what of it there is. */
static const char *task_time(char text[TIME_MAX], const struct task_row *row)
{
    char took[FORMAT_MAX] = "", attempts[32] = "";
    if (has_own_times(&row->task) && row->all_ms >= 0)
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
    if (has_own_times(task))
        text = task->text;
    else if (task->outcome == CAIRN_EXCLUDED)
        text = "(its condition was not met)";
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
    if (task->outcome == CAIRN_UNKNOWN)
        out("  (must not run twice: %s)",
            task->check ? "its check decides" : "waits for cairn resolve");
    out("\n");
}

static void print_unknown(struct task_listing *listing,
                          const struct cairn_task_info *task)
{
    char *word = shell_word(task->id);
    if (listing->unknown++ == 0)
        out("unknown (must not run twice):\n");
    if (listing->unknown <= FAILED_SHOWN && task->check && listing->live)
        out("  %s\n    its check decides\n", task->id);
    else if (listing->unknown <= FAILED_SHOWN && task->check)
        out("  %s\n    its check decides: cairn resume %llu%s\n", task->id,
            (unsigned long long)listing->run, listing->hint);
    else if (listing->unknown <= FAILED_SHOWN && word)
        out("  %s\n    decide: cairn resolve %llu %s done|failed|rerun%s\n", task->id,
            (unsigned long long)listing->run, word, listing->hint);
    free(word);
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

int list_failed_undo(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    if (task->failed_undo > 0 && print_failed_undo(listing, task) != 0)
        return 1;
    return ui_output_lost();
}

int list_row_text(struct task_listing *listing, const struct task_row *row)
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

int list_task_text(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    struct task_row row = task_row_of(task);
    return is_listed(listing, task) ? list_row_text(listing, &row) : 0;
}

int list_row_document(struct task_listing *listing, const struct task_row *row)
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
    if (listing->every)
        told_values_document(&listing->values, doc, task->id);
    doc_end(doc);
    return 0;
}

int list_task_document(void *context, const struct cairn_task_info *task)
{
    struct task_listing *listing = context;
    struct task_row row = task_row_of(task);
    return is_listed(listing, task) ? list_row_document(listing, &row) : 0;
}
