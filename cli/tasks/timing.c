/* SPDX-License-Identifier: MIT */
/* The critical path is found backwards: from the task that ended last to what it needs
 * that ended last, and so on; a task of `finally` needs all ordinary ones. An attempt
 * counts with those that failed right before it. */
#include "cli/tasks/timing.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/tasks/task_rows.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

enum { SLOWEST_SHOWN = 10 };

struct timing {
    struct task_rows rows;
    struct cairn_workflow *workflow;
    const struct task_row **by_node; /* [tasks of workflow] or NULL */
    size_t *path;                    /* nodes, the last one first */
    size_t n_path;
};

static bool has_times(const struct task_row *row)
{
    return row && row->latest > 0 && row->task.ended_ns != 0;
}

static const struct task_row *task_at(const struct timing *t, uint32_t node)
{
    return node < cairn_workflow_tasks(t->workflow) ? t->by_node[node] : NULL;
}

static void take_later(const struct timing *t, uint32_t node, uint32_t *best)
{
    const struct task_row *row = task_at(t, node), *other = NULL;
    if (*best != UINT32_MAX)
        other = task_at(t, *best);
    if (has_times(row) && (!other || row->task.ended_ns > other->task.ended_ns))
        *best = node;
}

/* One of `finally` follows on all ordinary tasks, without naming them. */
static void take_ordinary(const struct timing *t, uint32_t *best)
{
    struct cairn_node_info info = {0};
    for (uint32_t node = 0; node < cairn_workflow_tasks(t->workflow); node++)
        if (cairn_workflow_node(t->workflow, node, &info) == 0 && !info.finally)
            take_later(t, node, best);
}

/* What it needs that ended last; of a group the member. UINT32_MAX: nothing. */
static uint32_t last_need(const struct timing *t, uint32_t node)
{
    struct cairn_node_info info = {0}, group = {0};
    uint32_t best = UINT32_MAX;
    if (cairn_workflow_node(t->workflow, node, &info) != 0)
        return best;
    for (uint32_t i = 0; i < info.needs; i++) {
        uint32_t need = cairn_workflow_need(t->workflow, node, i);
        if (need < cairn_workflow_tasks(t->workflow)) {
            take_later(t, need, &best);
            continue;
        }
        if (cairn_workflow_node(t->workflow, need, &group) != 0)
            continue;
        for (uint32_t k = 0; k < group.needs; k++)
            take_later(t, cairn_workflow_need(t->workflow, need, k), &best);
    }
    if (info.finally && best == UINT32_MAX)
        take_ordinary(t, &best);
    return best;
}

static int find_path(struct timing *t, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    bool from_file;
    uint32_t last = UINT32_MAX;
    if (cairn_workflow_of_run(&t->workflow, store, run, &from_file, &error) != 0 ||
        cairn_workflow_compile(t->workflow, &error) != 0)
        return report_error(&error);
    uint32_t tasks = cairn_workflow_tasks(t->workflow);
    t->by_node = calloc((size_t)tasks + 1, sizeof(struct task_row *));
    t->path = calloc((size_t)tasks + 1, sizeof *t->path);
    if (!t->by_node || !t->path)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    for (size_t i = 0; i < t->rows.n; i++) {
        uint32_t node = cairn_workflow_find(t->workflow, t->rows.at[i].task.id);
        if (node < tasks)
            t->by_node[node] = &t->rows.at[i];
    }
    for (uint32_t node = 0; node < tasks; node++)
        take_later(t, node, &last);
    for (; last != UINT32_MAX && t->n_path < tasks; last = last_need(t, last))
        t->path[t->n_path++] = last;
    return 0;
}

static const struct task_row *path_at(const struct timing *t, size_t i)
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
    for (size_t i = 0; i < t->n_path; i++)
        sum += path_at(t, i)->latest_ms;
    out("critical path: %s of work in %s\n", format_duration(took, sum),
        format_duration(at, (end - begin) / 1000000));
    for (size_t i = 0; i < t->n_path; i++) {
        int64_t start = path_at(t, i)->first_started_ns;
        /* One that ran again later does not count before the beginning. */
        out("  after %9s",
            format_duration(at, start > begin ? (start - begin) / 1000000 : 0));
        print_row(path_at(t, i));
    }
}

static void print_text(const struct timing *t)
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

static int print_document(const struct timing *t, uint64_t run)
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
    for (size_t i = 0; i < t->n_path; i++)
        add_task(&doc, path_at(t, i));
    return doc_print(&doc);
}

int show_timing(const struct settings *settings, struct cairn_store *store,
                const struct cairn_run_info *run)
{
    struct timing t = {.workflow = NULL};
    int status = task_rows_read(&t.rows, settings, store, run->run);
    if (status == 0 && t.rows.n > 0)
        qsort(t.rows.at, t.rows.n, sizeof *t.rows.at, by_latest);
    if (status == 0)
        status = find_path(&t, store, run->run);
    if (status == 0 && ui_json())
        status = print_document(&t, run->run);
    else if (status == 0)
        print_text(&t);
    free(t.by_node);
    free(t.path);
    cairn_workflow_free(t.workflow);
    task_rows_release(&t.rows);
    return status;
}
