/* SPDX-License-Identifier: MIT */
#include "cli/tasks/task_rows.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/tasks/state_list.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

const char *task_state_word(const struct cairn_task_info *task)
{
    return task->running       ? "running"
           : task->interrupted ? "interrupted"
                               : cairn_outcome_name(task->outcome);
}

int64_t task_row_duration(const struct cairn_task_info *task)
{
    int64_t end = task->running ? wall_ns() : task->ended_ns;
    return task->started_ns != 0 && end != 0 ? (end - task->started_ns) / 1000000 : -1;
}

struct task_row task_row_of(const struct cairn_task_info *task)
{
    struct task_row row = {.task = *task,
                           .all_ms = task->attempts_ms,
                           .latest = task->latest,
                           .latest_ms = task->latest_ms,
                           .first_started_ns = task->latest_started_ns};
    if (!task->running || task->started_ns == 0)
        return row;
    int64_t took = task_row_duration(task);
    row.all_ms = (row.all_ms > 0 ? row.all_ms : 0) + took;
    if (row.latest++ == 0)
        row.first_started_ns = task->started_ns;
    row.latest_ms += took;
    return row;
}

/* ---- Which ---- */

static bool is_wanted(const struct settings *settings,
                      const struct cairn_task_info *task)
{
    const char *list = settings->text[OPT_ONLY_STATES];
    if (!settings->given[OPT_ONLY_STATES])
        return true;
    return state_list_has(list, task_state_word(task)) ||
           (task->outcome == CAIRN_EXCLUDED && state_list_has(list, "skipped"));
}

bool task_rows_add(struct task_rows *rows, const struct cairn_task_info *task)
{
    if (rows->n == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
        struct task_row *at = realloc(rows->at, capacity * sizeof *at);
        if (!at) {
            rows->failed = true;
            return false;
        }
        rows->at = at;
        rows->capacity = capacity;
    }
    rows->at[rows->n] = task_row_of(task);
    struct cairn_task_info *row = &rows->at[rows->n++].task;
    row->id = strdup(task->id);
    row->text = task->text ? strdup(task->text) : NULL;
    row->cause = task->cause ? strdup(task->cause) : NULL;
    rows->failed |=
        !row->id || (task->text && !row->text) || (task->cause && !row->cause);
    return !rows->failed;
}

struct row_reader {
    struct task_rows *rows;
    const struct settings *settings;
};

static int add_row(void *context, const struct cairn_task_info *task)
{
    const struct row_reader *reader = context;
    return is_wanted(reader->settings, task) && !task_rows_add(reader->rows, task);
}

/* ---- In which order ---- */

static int by_node(const struct cairn_task_info *a, const struct cairn_task_info *b)
{
    return (a->node > b->node) - (a->node < b->node);
}

static int by_duration(const void *x, const void *y)
{
    const struct task_row *a = x, *b = y;
    return a->all_ms != b->all_ms ? (a->all_ms < b->all_ms) - (a->all_ms > b->all_ms)
                                  : by_node(&a->task, &b->task);
}

/* What has not started comes last. */
static int by_start(const void *x, const void *y)
{
    const struct cairn_task_info *a = &((const struct task_row *)x)->task;
    const struct cairn_task_info *b = &((const struct task_row *)y)->task;
    if ((a->started_ns == 0) != (b->started_ns == 0))
        return a->started_ns == 0 ? 1 : -1;
    return a->started_ns != b->started_ns
               ? (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns)
               : by_node(a, b);
}

static int by_name(const void *x, const void *y)
{
    const struct task_row *a = x, *b = y;
    return strcmp(a->task.id, b->task.id);
}

static void sort_rows(struct task_rows *rows, uint64_t order)
{
    static int (*const orders[])(const void *, const void *) = {NULL, by_duration,
                                                                by_start, by_name};
    if (orders[order] && rows->n > 0)
        qsort(rows->at, rows->n, sizeof *rows->at, orders[order]);
}

int task_rows_read(struct task_rows *rows, const struct settings *settings,
                   struct cairn_store *store, uint64_t run)
{
    struct row_reader reader = {rows, settings};
    struct cairn_error error = {0};
    *rows = (struct task_rows){.at = NULL};
    if (cairn_run_tasks(store, run, add_row, &reader, &error) != 0)
        return report_error(&error);
    if (rows->failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    sort_rows(rows, settings->number[OPT_SORT_TASKS]);
    return 0;
}

void task_rows_release(struct task_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free((void *)(uintptr_t)rows->at[i].task.id);
        free((void *)(uintptr_t)rows->at[i].task.text);
        free((void *)(uintptr_t)rows->at[i].task.cause);
    }
    free(rows->at);
    *rows = (struct task_rows){.at = NULL};
}

/* ---- Groups ---- */

size_t task_rows_group(const struct task_rows *rows, size_t i)
{
    const char *id = rows->at[i].task.id;
    size_t n = strcspn(id, "["), end = i + 1;
    while (id[n] == '[' && end < rows->n &&
           strncmp(rows->at[end].task.id, id, n + 1) == 0)
        end++;
    return end - i;
}

int task_rows_width(const struct task_rows *rows, bool folded)
{
    int width = 0;
    for (size_t i = 0, n; i < rows->n; i += n) {
        n = folded ? task_rows_group(rows, i) : 1;
        if (n > FOLDED_MEMBERS)
            continue;
        n = 1;
        width = name_column(width, rows->at[i].task.id, strlen(rows->at[i].task.id));
    }
    return width;
}

static void print_counts(const struct task_rows *rows, size_t i, size_t n)
{
    enum { MOST = 16 };
    const char *words[MOST], *between = "";
    uint32_t counts[MOST] = {0};
    size_t used = 0;
    for (size_t k = i; k < i + n; k++) {
        const char *word = task_state_word(&rows->at[k].task);
        size_t at = 0;
        while (at < used && strcmp(words[at], word) != 0)
            at++;
        if (at == used && used < MOST)
            words[used++] = word;
        counts[at < MOST ? at : MOST - 1]++;
    }
    for (size_t at = 0; at < used; at++) {
        bool pending = strcmp(words[at], "pending") == 0;
        out("%s%u %s", between, counts[at], pending ? "not run" : words[at]);
        between = ", ";
    }
}

void task_rows_print_group(const struct task_rows *rows, size_t i, size_t n)
{
    char least_text[FORMAT_MAX], most_text[FORMAT_MAX];
    int64_t least = -1, most = -1;
    for (size_t k = i; k < i + n; k++) {
        int64_t took = rows->at[k].all_ms;
        if (took < 0)
            continue;
        least = least < 0 || took < least ? took : least;
        most = took > most ? took : most;
    }
    out("  %5zu tasks  %.*s  ", n, (int)strcspn(rows->at[i].task.id, "["),
        rows->at[i].task.id);
    print_counts(rows, i, n);
    if (most >= 0)
        out("  %s to %s", format_duration(least_text, least),
            format_duration(most_text, most));
    out("\n");
}
