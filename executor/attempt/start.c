/* SPDX-License-Identifier: MIT */
/* Starting what has a durable intent. */
#include "executor/attempt/start.h"

#include "executor/attempt/call.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/launch.h"
#include "executor/attempt/roles.h"
#include "executor/attempt/service.h"
#include "executor/attempt/spared.h"
#include "executor/state/report.h"

#include <stdlib.h>

/* A taken intent that is not started after all. */
static int drop_intent(struct engine *e, const struct intent *intent,
                       struct cairn_error *error)
{
    bool lost = intent->role == ROLE_TASK && service_is_lost(e, intent->task);
    if (lost && service_skip_task(e, intent->task, error))
        return CAIRN_ENOMEM;
    if (intent->role == ROLE_TASK && !lost)
        sched_return(&e->progress.sched, intent->task);
    return starts_drop(&e->starts, intent) ? error_nomem(error) : 0;
}

/* `rc`: of its launch. */
static int settle_start(struct engine *e, struct job *job, int rc, const char *why,
                        struct cairn_error *error)
{
    struct intent intent = job->intent;
    struct result read = job->result; /* the slot keeps it until it is taken again */
    if (!rc || rc == LOOK_WAITS)
        return 0;
    jobs_free(e, job);
    return rc == CAIRN_ESTOPPED ? drop_intent(e, &intent, error)
                                : engine_not_started(e, &intent, &read, why, error);
}

static int start_process(struct engine *e, const struct intent *intent,
                         struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    struct job *job = jobs_take(e, intent);
    int rc = service_pick_ports(e, intent->task, &why);
    if (!rc && intent->role == ROLE_TASK && task_is_put_back(e, intent->task))
        rc = spared_put_back(e, job);
    if (!rc)
        rc = role_ops[intent->role].launch(e, job, &why);
    rc = settle_start(e, job, rc, why.data ? why.data : "", error);
    buf_release(&why);
    return rc;
}

/* The look at its inputs has come to `rc`: then it is ready, or cannot start. */
static int start_after_look(struct engine *e, struct job *job, int rc, const char *why,
                            struct cairn_error *error)
{
    if (rc)
        return settle_start(e, job, rc, why, error);
    looks_add_ready(e, job);
    return 0;
}

/* May this intent still be acted on? */
static bool may_still_start(const struct engine *e, const struct intent *intent)
{
    if (e->halting.level == HALT_KILL)
        return false;
    if (intent->role != ROLE_TASK)
        return intent->role == ROLE_UNDO ? e->phase == PHASE_UNDO : !e->halting.level;
    return e->progress.sched.allowed &
               sched_kind_of(graph_def(e->request.graph, intent->task)) &&
           (sched_is_served(&e->progress.sched, intent->task) ||
            task_is_put_back(e, intent->task));
}

/* Saving is required and fails: nothing starts, not even what has a stored intent. */
static bool waits_for_saving(const struct engine *e)
{
    return e->saving.degraded && e->request.options->saving == CAIRN_REQUIRED;
}

/* While as many are alive as may be: can it wait in the runner, which starts it as
 * soon as one of them ends? Not what must not run twice, and not what we have to look
 * at just before it starts, and nothing if nothing may start once a commit has failed.
 * The runner's limit does not count callbacks and adopted tasks, nor what tasks weigh. */
static bool may_wait(const struct engine *e, const struct intent *intent)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    return e->request.options->saving == CAIRN_BEST_EFFORT && !e->jobs.weighted &&
           intent->role == ROLE_TASK && !e->jobs.n_outside && def->kind != TASK_CALL &&
           !def->once && !def->n_inputs && !e->progress.sched.left &&
           !task_was_interrupted(e, intent->task) && !task_wants_keeper(e, def) &&
           !task_is_put_back(e, intent->task);
}

/* Where the next one to be started stands; NULL: none can be. */
static struct start_queue *next_start(struct engine *e)
{
    bool busy = e->calls.threads && call_threads_busy(e->calls.threads);
    struct start_queue *queue = starts_next(&e->starts, busy);
    if (!queue || !e->jobs.n_free || waits_for_saving(e))
        return NULL;
    bool may = jobs_have_room(e, start_queue_first(queue)->task) ||
               may_wait(e, start_queue_first(queue));
    return may ? queue : NULL;
}

bool launch_possible(struct engine *e)
{
    return (e->looks.ready && !waits_for_saving(e)) || next_start(e);
}

static int start_looked_at(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    int rc = may_still_start(e, &job->intent) ? launch_looked_at(e, job, &why)
                                              : CAIRN_ESTOPPED;
    rc = settle_start(e, job, rc, why.data ? why.data : "", error);
    buf_release(&why);
    return rc;
}

/* Those whose inputs were looked at; of what may not start any more only the slot is
 * freed, which need not wait. */
static int start_all_looked_at(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && e->looks.ready &&
           (!waits_for_saving(e) || !may_still_start(e, &e->looks.ready->intent)))
        rc = start_looked_at(e, looks_take_ready(e), error);
    return rc;
}

static int drop_first(struct engine *e, struct start_queue *queue,
                      struct cairn_error *error)
{
    struct intent intent = start_queue_take(queue);
    return drop_intent(e, &intent, error);
}

static int drop_unwanted_of(struct engine *e, struct start_queue *queue,
                            struct cairn_error *error)
{
    int rc = 0;
    while (!rc && start_queue_count(queue) &&
           !may_still_start(e, start_queue_first(queue)))
        rc = drop_first(e, queue, error);
    return rc;
}

static int drop_unwanted(struct engine *e, struct cairn_error *error)
{
    int rc = drop_unwanted_of(e, &e->starts.queue, error);
    return rc ? rc : drop_unwanted_of(e, &e->starts.calls, error);
}

/* Starts what has a durable intent while slots are free. Quick callbacks run right
 * here, so after some milliseconds of them the turn must go on to commit what they did.
 */
int engine_start_ready(struct engine *e, struct cairn_error *error)
{
    enum { CALL_BUDGET_NS = 5000000 };
    int64_t start_ns = 0;
    struct start_queue *queue;
    int rc = start_all_looked_at(e, error) ?: drop_unwanted(e, error);
    while (!rc && (queue = next_start(e))) {
        struct intent intent = start_queue_take(queue);
        bool call = intent_is_call(e, &intent);
        if (call && !start_ns)
            start_ns = loop_now_ns(e);
        rc = call ? call_launch(e, &intent, error) : start_process(e, &intent, error);
        if (!rc)
            rc = drop_unwanted(e, error);
        if (call && loop_now_ns(e) - start_ns > CALL_BUDGET_NS)
            break;
    }
    starts_compact(&e->starts);
    return rc;
}

/* What the slot was taken for could not be done: its task is started, or, if that may not
 * be or `stopped`, its intent is dropped. */
static int start_instead(struct engine *e, struct job *job, bool stopped,
                         struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    jobs_not_begun(job);
    int rc = stopped || waits_for_saving(e) || !may_still_start(e, &job->intent)
                 ? CAIRN_ESTOPPED
                 : role_ops[job->role].launch(e, job, &why);
    rc = settle_start(e, job, rc, why.data ? why.data : "", error);
    buf_release(&why);
    return rc;
}

static int outputs_looked(struct engine *e, struct job *job, int rc,
                          struct cairn_error *why, struct cairn_error *error)
{
    uint64_t ticket = job->stamp; /* the job may have another process afterwards */
    bool call = job->called;
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return CAIRN_ENOMEM;
    *ending = job->held;
    ending->reading_ms = job->reading_ns / 1000000;
    job->has_held = false;
    rc = role_ops[job->role].looked(e, job, ending, rc, why);
    failure_check_settled(e);
    if (!call && job->state != JOB_LOOKING)
        let_next_start(e, ticket);
    return rc ? error_set(error, rc, "%s", why->text) : 0;
}

static int errand_ended(struct engine *e, struct job *job, struct look *look,
                        int failed, struct cairn_error *error)
{
    uint64_t ticket = job->stamp; /* the job may have another process afterwards */
    bool over = !job->awaits_inputs && !job->called;
    int rc = looks_end_errand(e, job, look, failed, error);
    if (rc > 0)
        rc = start_instead(e, job, rc == ERRAND_DROP, error);
    failure_check_settled(e);
    if (!failed && over && job->state != JOB_LOOKING)
        let_next_start(e, ticket);
    return rc;
}

/* `failed`: the run is given up. */
static int job_looked(struct engine *e, struct look *look, int failed,
                      struct cairn_error *error)
{
    struct job *job = &e->jobs.at[look->slot];
    struct cairn_error why;
    if (look->errand)
        return errand_ended(e, job, look, failed, error);
    bool inputs = job->awaits_inputs;
    int rc = looks_finish(e, job, look, &why);
    if (failed)
        return failed;
    return inputs ? start_after_look(e, job, rc, why.text, error)
                  : outputs_looked(e, job, rc, &why, error);
}

int looks_settle(struct engine *e, struct cairn_error *error)
{
    struct look *look = looks_collect(e);
    int rc = 0;
    while (look) {
        struct look *next = look->next;
        if (look->slot == LOOK_OF_COMMAND)
            looks_command_ready(e); /* commands_apply asks for it */
        else
            rc = job_looked(e, look, rc, error);
        look = next;
    }
    return rc;
}
