/* SPDX-License-Identifier: MIT */
/* Compensation: the `undo` of tasks, one at a time, in reverse topological order, with
 * a checkpoint after each. The command is the one that was stored when the task
 * completed; of a task that failed, the one of the workflow. */
#include "executor/engine.h"

#include "base/clock.h"
#include "storage/rows_attempt.h"

#include <stdlib.h>

/* ---- Which ---- */

/* bits: marked tasks. A need of a marked task is marked, through barriers. */
static void mark_ancestors(const struct engine *e, uint8_t *marked)
{
    const struct graph *g = e->graph;
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
    uint8_t outcome = e->states.outcome[task];
    if (!marked || graph_def(e->graph, task)->finally)
        return false;
    /* What a completed task stored is looked at when its turn comes. */
    return outcome == CAIRN_COMPLETED ||
           (outcome == CAIRN_FAILED && graph_def(e->graph, task)->undo.len);
}

static int has_undo(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct result *result;
    if (e->states.outcome[task] == CAIRN_FAILED)
        return 1;
    int rc = lookup_result(&e->lookup, task, &result, error);
    return rc ? rc : result->undo.text.len > 0;
}

static int add_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int has = has_undo(e, task, &why);
    if (has < 0) {
        char text[1200];
        snprintf(text, sizeof text, "%s cannot be undone: %s", e->graph->id[task],
                 why.text);
        report(e, CAIRN_EVENT_NOTICE, text);
        e->failed_undos++;
        return has == CAIRN_ENOMEM ? error_nomem(error) : 0;
    }
    if (has)
        e->undo.tasks[e->undo.n++] = task;
    return 0;
}

int undo_collect(struct engine *e, enum undo_scope scope, struct cairn_error *error)
{
    const struct graph *g = e->graph;
    uint8_t *marked = calloc(g->n_nodes, 1);
    int rc = 0;
    e->undo.tasks = calloc((size_t)g->n_tasks + 1, sizeof *e->undo.tasks);
    if (!marked || !e->undo.tasks) {
        free(marked);
        return error_nomem(error);
    }
    for (uint32_t task = 0; task < g->n_tasks; task++)
        marked[task] = scope == UNDO_ALL || e->states.outcome[task] == CAIRN_FAILED;
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
    return engine_add_intent(e, e->undo.tasks[e->undo.next++], ROLE_UNDO)
               ? error_nomem(error)
               : 0;
}

static int find_action(struct engine *e, struct job *job, struct undo_action *action,
                       struct cairn_error *error)
{
    const struct result *result;
    const struct task_def *def = graph_def(e->graph, job->task);
    uint8_t outcome = e->states.outcome[job->task];
    if (outcome != CAIRN_COMPLETED && outcome != CAIRN_FAILED)
        return error_set(error, CAIRN_EUSAGE, "it is not completed any more");
    if (outcome == CAIRN_FAILED)
        return launch_describe(e, job, def->undo, &job->arena, action, error);
    int rc = lookup_result(&e->lookup, job->task, &result, error);
    if (!rc)
        *action = result->undo;
    return rc;
}

static void add_undo_ending(struct engine *e, struct ending *ending, bool done)
{
    ending->row.flags |= ATTEMPT_UNDO;
    ending->row.outcome = done ? CAIRN_COMPLETED : CAIRN_FAILED;
    engine_redact(e, &ending->text);
    if (!done) {
        e->failed_undos++;
        return;
    }
    if (e->states.outcome[ending->row.task] != CAIRN_COMPLETED)
        return; /* a failed task stays failed */
    ending->final = true;
    ending->change = (struct change){.task = ending->row.task,
                                     .outcome = CAIRN_UNDONE,
                                     .attempts = ending->row.number};
    e->broken |= states_apply(&e->states, &ending->change, NULL) != 0;
}

int undo_start(struct engine *e, const struct intent *intent, struct cairn_error *error)
{
    struct undo_action action = {0};
    struct cairn_error trouble = {0};
    struct buf why = BUF_INIT;
    struct job *job = launch_slot(e, intent, ROLE_UNDO);
    arena_release(&job->arena);
    int rc = find_action(e, job, &action, &trouble);
    if (rc)
        buf_text(&why, trouble.text);
    else
        rc = launch_action(e, job, &action, &why);
    if (rc) {
        struct ending *ending = engine_add_ending(e, intent->task, intent->attempt);
        engine_free_job(e, job);
        if (!ending) {
            buf_release(&why);
            return error_nomem(error);
        }
        ending->row.intent_ns = intent->intent_ns;
        ending->row.start_turn = intent->turn;
        buf_str(&ending->text, buf_view(&why));
        add_undo_ending(e, ending, false);
    }
    buf_release(&why);
    return 0;
}

int undo_ended(struct engine *e, struct job *job, const struct process_end *end,
               struct cairn_error *error)
{
    struct ending *ending = engine_add_ending(e, job->task, job->attempt);
    if (!ending)
        return error_nomem(error);
    ending->row.intent_ns = job->intent_ns;
    ending->row.started_ns = job->started_ns;
    ending->row.start_turn = job->start_turn;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->row.exit_code = end->exit_code;
    ending->row.signal = end->signal;
    ending->row.cpu_us = end->cpu_us;
    ending->row.peak_kib = end->peak_kib;
    ending->row.flags |= job->timed_out ? ATTEMPT_TIMED_OUT : 0;
    describe_end(e, job, ending);
    job_capture(e, job, ending);
    bool done = end->exit_code == 0 && !job->timed_out && !job->cancelled;
    engine_free_job(e, job);
    add_undo_ending(e, ending, done);
    return 0;
}
