/* SPDX-License-Identifier: MIT */
/* The critical path is found backwards: from the task that ended last to what it needs
 * that ended last, and so on. Only newest attempts count. */
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
    const struct cairn_task_info **by_node; /* [tasks of workflow] or NULL */
    size_t *path;                           /* nodes, the last one first */
    size_t n_path;
};

static bool has_times(const struct cairn_task_info *task)
{
    return task && task->started_ns != 0 && task->ended_ns != 0;
}

static const struct cairn_task_info *task_at(const struct timing *t, uint32_t node)
{
    return node < cairn_workflow_tasks(t->workflow) ? t->by_node[node] : NULL;
}

static void take_later(const struct timing *t, uint32_t node, uint32_t *best)
{
    const struct cairn_task_info *task = task_at(t, node), *other = NULL;
    if (*best != UINT32_MAX)
        other = task_at(t, *best);
    if (has_times(task) && (!other || task->ended_ns > other->ended_ns))
        *best = node;
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
    t->by_node = calloc((size_t)tasks + 1, sizeof(struct cairn_task_info *));
    t->path = calloc((size_t)tasks + 1, sizeof *t->path);
    if (!t->by_node || !t->path)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    for (size_t i = 0; i < t->rows.n; i++) {
        uint32_t node = cairn_workflow_find(t->workflow, t->rows.at[i].id);
        if (node < tasks)
            t->by_node[node] = &t->rows.at[i];
    }
    for (uint32_t node = 0; node < tasks; node++)
        take_later(t, node, &last);
    for (; last != UINT32_MAX && t->n_path < tasks; last = last_need(t, last))
        t->path[t->n_path++] = last;
    return 0;
}

static const struct cairn_task_info *path_at(const struct timing *t, size_t i)
{
    return t->by_node[t->path[t->n_path - 1 - i]];
}

static void print_text(const struct timing *t)
{
    char took[FORMAT_MAX], at[FORMAT_MAX];
    int64_t sum = 0;
    if (t->n_path == 0) {
        say("no task has ended yet");
        return;
    }
    out("slowest:\n");
    for (size_t i = 0; i < t->rows.n && i < SLOWEST_SHOWN; i++)
        if (has_times(&t->rows.at[i]))
            out("  %9s  %s\n", format_duration(took, task_row_duration(&t->rows.at[i])),
                t->rows.at[i].id);
    int64_t begin = path_at(t, 0)->started_ns;
    int64_t end = path_at(t, t->n_path - 1)->ended_ns;
    for (size_t i = 0; i < t->n_path; i++)
        sum += task_row_duration(path_at(t, i));
    out("critical path: %s of work in %s\n", format_duration(took, sum),
        format_duration(at, (end - begin) / 1000000));
    for (size_t i = 0; i < t->n_path; i++) {
        const struct cairn_task_info *task = path_at(t, i);
        /* One that ran again later does not count before the beginning. */
        int64_t after = task->started_ns > begin ? task->started_ns - begin : 0;
        out("  after %9s  %9s  %s\n", format_duration(at, after / 1000000),
            format_duration(took, task_row_duration(task)), task->id);
    }
}

static void add_task(struct doc *doc, const struct cairn_task_info *task)
{
    doc_object(doc, NULL);
    doc_text(doc, "task", task->id);
    doc_time(doc, "started", task->started_ns);
    doc_time(doc, "ended", task->ended_ns);
    doc_number(doc, "duration_ms", task_row_duration(task));
    doc_end(doc);
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

int show_timing(struct settings *settings, struct cairn_store *store,
                const struct cairn_run_info *run)
{
    struct timing t = {.workflow = NULL};
    settings->number[OPT_SORT_TASKS] = 1; /* by duration */
    int status = task_rows_read(&t.rows, settings, store, run->run);
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
