/* SPDX-License-Identifier: MIT */
/* What follows a failure, what comes after the tasks, and what the whole came to. */
#include "executor/engine.h"
#include "storage/rows_event.h"

/* ---- Failures ---- */

static uint32_t count_unhandled(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t task = 0; task < e->graph->n_tasks; task++)
        n += e->states.outcome[task] == CAIRN_FAILED &&
             failure_unhandled(e, task, false);
    return n;
}

/* ---- Phases ---- */

/* Nothing runs and nothing can start. Best effort, or asked to stop: outcomes that
 * cannot be saved do not keep a phase from ending, but an intent that must be saved
 * first does. */
static bool idle(const struct engine *e)
{
    const struct sched *s = &e->sched;
    bool unsaved = e->degraded &&
                   (e->options->saving == CAIRN_BEST_EFFORT || e->halt >= HALT_STOP);
    if (e->running)
        return false;
    if (e->halt == HALT_KILL)
        return true;
    if (e->mode == MODE_TURN && e->degraded)
        return true;
    if (e->starts_head != e->n_starts || e->unacted_intents ||
        (!unsaved && (e->n_endings || e->n_intents)))
        return false;
    if (e->mode == MODE_TURN)
        return !s->ready.n && e->last_command == e->stored_command;
    if (e->phase == PHASE_UNDO)
        return true;
    if (e->phase == PHASE_MAIN && e->halt >= HALT_STOP)
        return true;
    if (s->ready.n || s->taken || s->held)
        return false;
    return !s->offered || e->halt || e->options->no_wait || e->phase != PHASE_MAIN;
}

static uint32_t count_finally(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t task = 0; task < e->graph->n_tasks; task++)
        n += graph_def(e->graph, task)->finally && e->sched.state[task] != ENDED;
    return n;
}

/* For a decision or for somebody outside. What is unknown of `finally` keeps nothing
 * from running. */
static bool is_waiting(const struct engine *e)
{
    struct tally tally = states_tally(&e->states);
    bool unknown = false;
    for (uint32_t task = 0; tally.unknown && !unknown && task < e->graph->n_tasks;
         task++)
        unknown = e->states.outcome[task] == CAIRN_UNKNOWN &&
                  !graph_def(e->graph, task)->finally;
    return unknown || (e->sched.offered && !e->halt);
}

static const char *status_so_far(const struct engine *e)
{
    if (e->halt >= HALT_STOP)
        return "cancelled";
    return count_unhandled(e) || e->failed_undos ? "failed" : "completed";
}

static void begin_finally(struct engine *e, bool *over)
{
    if (e->mode != MODE_RUN || !count_finally(e)) {
        *over = true;
        return;
    }
    e->phase = PHASE_FINALLY;
    e->lookup.run_status = status_so_far(e);
    audit_event(e, EVENT_PHASE, PHASE_FINALLY, UINT32_MAX,
                str_of(e->lookup.run_status));
    sched_allow(&e->sched, SCHED_FINALLY);
}

static bool wants_undo(const struct engine *e)
{
    return e->graph->definition->on_failure == ON_FAILURE_UNDO && e->halt < HALT_STOP &&
           count_unhandled(e);
}

static int end_main(struct engine *e, bool *over, struct cairn_error *error)
{
    if (e->mode == MODE_TURN || is_waiting(e)) {
        *over = true;
        return 0;
    }
    if (wants_undo(e)) {
        int rc = undo_collect(e, e->graph->definition->undo_scope, error);
        if (rc)
            return rc;
        if (e->undo.n) {
            e->phase = PHASE_UNDO;
            sched_allow(&e->sched, 0);
            audit_event(e, EVENT_PHASE, PHASE_UNDO, UINT32_MAX, STR(""));
            return undo_next(e, error);
        }
    }
    begin_finally(e, over);
    return 0;
}

int engine_advance(struct engine *e, bool *over, struct cairn_error *error)
{
    *over = false;
    if (!idle(e))
        return 0;
    if (e->halt == HALT_KILL) {
        *over = true;
        return 0;
    }
    switch (e->phase) {
    case PHASE_MAIN:
        return end_main(e, over, error);
    case PHASE_UNDO:
        if (e->undo.next < e->undo.n)
            return undo_next(e, error);
        begin_finally(e, over);
        return 0;
    case PHASE_FINALLY:
        break;
    }
    *over = true;
    return 0;
}

/* ---- The result ---- */

static enum cairn_run_state turn_state(const struct engine *e, uint32_t failures)
{
    if (e->sched.open || states_tally(&e->states).unknown)
        return CAIRN_RUN_UNFINISHED;
    if (failures)
        return e->graph->definition->on_failure == ON_FAILURE_UNDO
                   ? CAIRN_RUN_UNFINISHED
                   : CAIRN_RUN_FAILED;
    return CAIRN_RUN_COMPLETED;
}

enum cairn_run_state engine_final_state(const struct engine *e)
{
    struct tally tally = states_tally(&e->states);
    uint32_t failures = count_unhandled(e);
    bool left = tally_done(&tally) < tally.total || tally.cancelled;
    if (e->mode == MODE_TURN)
        return turn_state(e, failures);
    if (e->mode == MODE_UNDO)
        return tally.undone ? CAIRN_RUN_UNDONE : e->situation.recorded.row.state;
    if (tally.unknown && e->halt < HALT_STOP)
        return CAIRN_RUN_UNFINISHED;
    if (e->halt >= HALT_STOP && left)
        return CAIRN_RUN_CANCELLED;
    if (e->sched.offered && !e->halt)
        return CAIRN_RUN_UNFINISHED;
    if (failures || e->failed_undos)
        return CAIRN_RUN_FAILED;
    return left ? CAIRN_RUN_UNFINISHED : CAIRN_RUN_COMPLETED;
}

static int exit_status(const struct engine *e, enum cairn_run_state state,
                       uint32_t failures)
{
    const struct cairn_run_result *r = e->result;
    if (e->mode == MODE_UNDO)
        return r->unsaved || r->end_unsaved ? 9 : e->failed_undos ? 1 : 0;
    if (r->unknown)
        return 8;
    if (r->unsaved || r->end_unsaved)
        return 9;
    if (state == CAIRN_RUN_FAILED || failures || e->failed_undos)
        return 1;
    return state == CAIRN_RUN_COMPLETED ? 0 : 7;
}

void engine_fill_result(struct engine *e, enum cairn_run_state state)
{
    struct cairn_run_result *r = e->result;
    struct tally tally = states_tally(&e->states);
    r->run = e->store ? e->row.run : 0;
    r->state = state;
    r->total = tally.total;
    r->completed = tally.completed;
    r->failed = tally.failed;
    r->skipped = tally.skipped;
    r->excluded = tally.excluded;
    r->cancelled = tally.cancelled;
    r->undone = tally.undone;
    r->unknown = tally.unknown;
    r->pending = tally.total - tally_done(&tally) - tally.undone;
    r->waiting = e->sched.offered;
    r->failed_undos = e->failed_undos;
    r->exit_status = exit_status(e, state, count_unhandled(e));
}
