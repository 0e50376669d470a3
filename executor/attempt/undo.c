/* SPDX-License-Identifier: MIT */
/* Compensation: the `undo` of tasks, one at a time, in reverse topological order, with
 * a checkpoint after each. The command is the one that was stored when the task
 * completed; of a task that failed, the one of the workflow. */
#include "executor/attempt/undo.h"
#include "executor/attempt/attempt_result.h"
#include "executor/attempt/call_order.h"
#include "executor/attempt/launch.h"
#include "executor/state/report.h"

#include "runs/stored.h"
#include "storage/rows_attempt.h"

#include <stdlib.h>

/* ---- Which ---- */

/* bits: marked tasks. A need of a marked task is marked, through barriers. */
static void mark_ancestors(const struct engine *e, uint8_t *marked)
{
    const struct graph *g = e->request.graph;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        if (!marked[node])
            continue;
        for (uint32_t k = g->need_start[node]; k < g->need_start[node + 1]; k++)
            marked[g->needs[k]] = 1;
    }
}

static bool may_undo(const struct engine *e, uint32_t task, bool marked)
{
    uint8_t outcome = e->progress.states.outcome[task];
    if (!marked || graph_def(e->request.graph, task)->finally)
        return false;
    /* Whether a completed task has one is read from its result later. */
    return outcome == CAIRN_COMPLETED ||
           (outcome == CAIRN_FAILED && graph_def(e->request.graph, task)->undo.len);
}

static int has_undo(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct result *result;
    if (e->progress.states.outcome[task] == CAIRN_FAILED)
        return 1;
    int rc = lookup_result(&e->progress.lookup, task, &result, error);
    return rc ? rc : result->undo.text.len > 0;
}

static int add_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int has = has_undo(e, task, &why);
    if (has < 0) {
        char text[1200];
        snprintf(text, sizeof text, "%s cannot be undone: %s",
                 e->request.graph->id[task], why.text);
        report(e, CAIRN_EVENT_NOTICE, text);
        e->undoing.failed++;
        return has == CAIRN_ENOMEM ? error_nomem(error) : 0;
    }
    if (has)
        e->undoing.tasks[e->undoing.n++] = task;
    return 0;
}

void undo_open(struct engine *e, uint32_t *tasks, uint32_t n)
{
    e->undoing = (struct undoing){.n = n};
    e->undoing.tasks = tasks;
}

void undo_release(struct engine *e)
{
    free(e->undoing.tasks);
}

int undo_collect(struct engine *e, enum undo_scope scope, struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    uint8_t *marked = calloc(g->n_nodes, 1);
    int rc = 0;
    e->undoing.tasks = calloc((size_t)g->n_tasks + 1, sizeof *e->undoing.tasks);
    if (!marked || !e->undoing.tasks) {
        free(marked);
        return error_nomem(error);
    }
    for (uint32_t task = 0; task < g->n_tasks; task++)
        marked[task] =
            scope == UNDO_ALL || e->progress.states.outcome[task] == CAIRN_FAILED;
    if (scope == UNDO_ANCESTORS)
        mark_ancestors(e, marked);
    for (uint32_t i = g->n_nodes; i-- > 0 && !rc;) {
        uint32_t node = g->order[i];
        if (!graph_is_barrier(g, node) && may_undo(e, node, marked[node]))
            rc = add_task(e, node, error);
    }
    free(marked);
    return rc;
}

/* ---- One after the other ---- */

int undo_next(struct engine *e, struct cairn_error *error)
{
    return turn_add_intent(e, e->undoing.tasks[e->undoing.next++], ROLE_UNDO)
               ? error_nomem(error)
               : 0;
}

/* It was stored with the directory as it was then. */
static int follow_project(struct engine *e, struct job *job, struct undo_action *action,
                          struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    if (!e->request.store || undo_is_call(action))
        return 0;
    int rc =
        moved_store_directory(e->request.store, &e->run.row, action->cwd, &path, error);
    if (!rc)
        action->cwd = arena_str(&job->arena, buf_view(&path));
    buf_release(&path);
    return !rc && job->arena.failed ? error_nomem(error) : rc;
}

static int find_action(struct engine *e, struct job *job, struct undo_action *action,
                       struct cairn_error *error)
{
    const struct result *result;
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    struct asker asker = job_asker(e, job);
    uint8_t outcome = e->progress.states.outcome[job->intent.task];
    if (outcome != CAIRN_COMPLETED && outcome != CAIRN_FAILED)
        return error_set(error, CAIRN_EUSAGE, "it is not completed any more");
    if (outcome == CAIRN_FAILED)
        return def->kind == TASK_CALL
                   ? call_describe_undo(&asker, &job->arena, action, error)
                   : launch_describe(&asker, def->undo, &job->arena, action, error);
    int rc = lookup_result(&e->progress.lookup, job->intent.task, &result, error);
    if (!rc)
        *action = result->undo;
    return rc;
}

static void settle_undo(struct engine *e, struct ending *ending, bool done)
{
    ending->row.flags |= ATTEMPT_UNDO;
    ending->row.outcome = done ? CAIRN_COMPLETED : CAIRN_FAILED;
    redact_buf(e, &ending->text);
    e->undoing.failed += !done;
    /* a failed task stays failed */
    if (done && e->progress.states.outcome[ending->row.task] == CAIRN_COMPLETED)
        settle_undone(e, ending);
    else
        turn_add_ending(e, ending);
}

static int launch_call(struct engine *e, struct job *job,
                       const struct undo_action *action, struct buf *why)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    bool same = def->kind == TASK_CALL && str_equal(def->undo, action->text);
    if (same && def->side && def->side->undo.call)
        return call_beside_task(e, job, &def->side->undo, action, why);
    buf_format(why, "the callback `%.*s`, which undoes it, is not %s",
               (int)action->text.len, action->text.ptr,
               same ? "in this program" : "its `undo` any more");
    return CAIRN_ENOTFOUND;
}

int undo_launch(struct engine *e, struct job *job, struct buf *why)
{
    struct undo_action action = {0};
    struct cairn_error trouble = {0};
    arena_release(&job->arena);
    int rc = find_action(e, job, &action, &trouble)
                 ?: follow_project(e, job, &action, &trouble);
    if (rc) {
        buf_text(why, trouble.text);
        return rc;
    }
    return undo_is_call(&action) ? launch_call(e, job, &action, why)
                                 : launch_action(e, job, &action, why);
}

int undo_not_started(struct engine *e, const struct intent *intent,
                     const struct result *read, const char *why,
                     struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, intent, error);
    (void)read;
    if (!ending)
        return CAIRN_ENOMEM;
    buf_text(&ending->text, why);
    settle_undo(e, ending, false);
    return 0;
}

int undo_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, job->called ? NULL : end, error);
    if (!ending)
        return CAIRN_ENOMEM;
    job_describe_end(e, job, ending);
    if (!job->called) {
        ending_add_usage(ending, job, end);
        job_capture(e, job, ending);
    } else if (text->size)
        buf_format(&ending->text, "%s%.*s", ending->text.size ? "; " : "",
                   (int)text->size, text->data);
    bool done = end->exit_code == 0 && !job->timed_out && !job->cancelled;
    jobs_free(e, job);
    settle_undo(e, ending, done);
    return 0;
}
