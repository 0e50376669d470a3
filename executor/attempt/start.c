/* SPDX-License-Identifier: MIT */
/* Starting what has a durable intent. */
#include "executor/attempt/start.h"

#include "executor/attempt/ending.h"
#include "executor/attempt/launch.h"
#include "executor/attempt/roles.h"
#include "executor/parts/report.h"

#include "base/clock.h"

#include <stdlib.h>

static int start_process(struct engine *e, const struct intent *intent,
                         struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    struct job *job = jobs_take(e, intent);
    int rc = role_ops[intent->role].launch(e, job, &why);
    if (rc) {
        jobs_free(e, job);
        rc = engine_not_started(e, intent, why.data ? why.data : "", error);
    }
    buf_release(&why);
    return rc;
}

static int start_call(struct engine *e, const struct intent *intent,
                      struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    uint32_t slot = e->jobs.free[e->jobs.n_free - 1];
    struct cairn_attempt *attempt = calloc(1, sizeof *attempt);
    if (!attempt || !def->call) {
        free(attempt);
        return engine_not_started(
            e, intent,
            def->call ? "out of memory" : "its callback is not in this program", error);
    }
    *attempt = (struct cairn_attempt){
        .engine = e, .task = intent->task, .number = intent->attempt, .slot = slot};
    struct job *job = jobs_take(e, intent);
    jobs_begin_call(e, job);
    job->started_ns = clock_utc_ns();
    report_start(e, job);
    enum cairn_outcome outcome = def->call(def->context, attempt);
    if (outcome == CAIRN_LATER)
        return 0; /* the handle comes back through cairn_attempt_finish */
    free(attempt);
    return engine_called(e, job, outcome, NULL, error);
}

/* May this intent still be acted on? */
static bool wanted(const struct engine *e, const struct intent *intent)
{
    if (e->halting.level == HALT_KILL)
        return false;
    if (intent->role != ROLE_TASK)
        return intent->role == ROLE_UNDO ? e->phase == PHASE_UNDO : !e->halting.level;
    return e->progress.sched.allowed &
           sched_kind_of(graph_def(e->request.graph, intent->task));
}

/* Saving is required and fails: nothing starts, not even what has a stored intent. */
static bool holds_back(const struct engine *e)
{
    return e->saving.degraded && e->request.options->saving == CAIRN_REQUIRED;
}

/* While as many are alive as may be: can it wait in the spawner, which starts it as
 * soon as one of them ends? Not what must not run twice, and not what we have to look
 * at just before it starts, and nothing if nothing may start once a commit has failed.
 * Callbacks and adopted tasks live outside of the spawner. */
static bool may_wait(const struct engine *e, const struct intent *intent)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    return e->request.options->saving == CAIRN_BEST_EFFORT &&
           intent->role == ROLE_TASK && !e->jobs.outsiders && def->kind != TASK_CALL &&
           !def->once && !def->n_inputs && !task_was_interrupted(e, intent->task) &&
           !task_wants_keeper(e, def);
}

bool launch_possible(const struct engine *e)
{
    if (!starts_count(&e->starts) || !e->jobs.n_free || holds_back(e))
        return false;
    return e->jobs.running < e->jobs.limit || may_wait(e, starts_first(&e->starts));
}

static int start_one(struct engine *e, const struct intent *intent,
                     struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    return intent->role == ROLE_TASK && def->kind == TASK_CALL
               ? start_call(e, intent, error)
               : start_process(e, intent, error);
}

/* Starts what has a durable intent while slots are free. Calls run right here, so after
 * some milliseconds of them the turn must go on to commit what they did. */
int engine_start_ready(struct engine *e, struct cairn_error *error)
{
    enum { CALL_BUDGET_NS = 5000000 };
    int64_t start_ns = 0;
    int rc = 0;
    while (!rc && starts_count(&e->starts)) {
        struct intent intent = *starts_first(&e->starts);
        bool call = graph_def(e->request.graph, intent.task)->kind == TASK_CALL;
        if (!wanted(e, &intent)) {
            starts_take(&e->starts);
            if (intent.role == ROLE_TASK)
                sched_return(&e->progress.sched, intent.task);
            rc = starts_drop(&e->starts, &intent) ? error_nomem(error) : 0;
            continue;
        }
        if (!launch_possible(e))
            break;
        if (call && !start_ns)
            start_ns = loop_now_ns(e);
        starts_take(&e->starts);
        rc = start_one(e, &intent, error);
        if (call && loop_now_ns(e) - start_ns > CALL_BUDGET_NS)
            break;
    }
    starts_shift(&e->starts);
    return rc;
}
