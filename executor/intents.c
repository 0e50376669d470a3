/* SPDX-License-Identifier: MIT */
/* Makes intents of ready tasks: checks their conditions, offers external ones, and
 * keeps to the number of jobs. */
#include "executor/intents.h"

#include "executor/attempt/ending.h"
#include "executor/attempt/failure.h"

#include "storage/rows_event.h"

/* With the values that it was decided by. */
static void append_condition(struct engine *e, uint32_t task, struct buf *text)
{
    struct asker asker = {&e->progress.lookup, task, e->turn.attempts[task] + 1};
    struct scope scope = lookup_scope(&asker);
    struct buf values = BUF_INIT;
    if (condition_values(&scope, &values, NULL))
        values.failed = true;
    buf_format(text,
               values.size ? "its condition is not met: %.*s (%.*s)"
                           : "its condition is not met: %.*s",
               (int)scope.def->condition.len, scope.def->condition.ptr,
               (int)values.size, values.data ? values.data : "");
    text->failed |= values.failed;
    buf_release(&values);
}

/* A task whose condition does not hold ends here. The scheduler skips its users. */
static int exclude_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct intent none = {.task = task};
    struct ending *ending = turn_draft_ending(e, &none, error);
    if (!ending)
        return CAIRN_ENOMEM;
    audit_event(e, EVENT_CONDITION, 0, task,
                graph_def(e->request.graph, task)->condition);
    ending->row.outcome = CAIRN_EXCLUDED;
    append_condition(e, task, &ending->text);
    settle_ending(e, ending);
    failure_check_settled(e);
    return 0;
}

/* A text that cannot be evaluated fails its task. */
static int fail_before_start(struct engine *e, uint32_t task, const char *what,
                             const char *why, struct cairn_error *error)
{
    char text[1200];
    struct intent intent = {.task = task,
                            .attempt = turn_next_attempt(e, task),
                            .intent_ns = loop_utc_ns(e)};
    snprintf(text, sizeof text, "%s: %s", what, why);
    progress_no_retry(e, task);
    return engine_not_started(e, &intent, NULL, text, error);
}

/* 1: it may go on, 0: it has ended, <0 error. */
static int check_condition(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, task, e->turn.attempts[task] + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = true;
    if (!scope.def->condition.len)
        return 1;
    int rc = condition_holds(&scope, &holds, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc)
        return fail_before_start(e, task, "its condition cannot be evaluated", why.text,
                                 error);
    if (!holds)
        return exclude_task(e, task, error);
    /* MODE_SETTLE starts nothing: the owner that starts the task evaluates it again. */
    if (e->request.mode != MODE_SETTLE || scope.def->kind == TASK_EXTERNAL)
        audit_event(e, EVENT_CONDITION, 1, task, scope.def->condition);
    return 1;
}

static int offer_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, task, e->turn.attempts[task] + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    struct buf text = BUF_INIT;
    int rc = text_expand(&scope, scope.def->external, &text, &why);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(error);
    else if (rc)
        rc = fail_before_start(e, task, "its text cannot be made", why.text, error);
    else
        rc = turn_add_offer(e, task, buf_view(&text), error);
    buf_release(&text);
    return rc;
}

/* It has done its work, before an edit skipped it or what it needs ran again: somebody
 * decides, or its check. */
static int ask_about(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct intent none = {.task = task};
    struct ending *ending = turn_draft_ending(e, &none, error);
    if (!ending)
        return CAIRN_ENOMEM;
    buf_text(&ending->text, "it has completed before, and must not run twice");
    settle_unknown(e, ending);
    if (!graph_def(e->request.graph, task)->check.len || e->request.mode == MODE_SETTLE)
        return 0;
    return turn_add_intent(e, task, ROLE_DECIDE) ? error_nomem(error) : 0;
}

static int plan_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    int rc = check_condition(e, task, error);
    if (rc <= 0)
        return rc;
    if (state_is_put_back(&e->progress.states, task))
        return ask_about(e, task, error);
    if (def->kind == TASK_EXTERNAL)
        return offer_task(e, task, error);
    if (e->request.mode == MODE_SETTLE)
        return 0; /* it stays taken: nothing is started */
    return turn_add_intent(e, task, ROLE_TASK) ? error_nomem(error) : 0;
}

/* Intents are made for `ahead` more tasks than may run at once. */
static bool has_room(const struct engine *e, uint32_t ahead)
{
    uint32_t queued = e->turn.unacted_intents + starts_count(&e->starts);
    return queued + e->jobs.running < e->jobs.limit + ahead;
}

static bool can_plan(const struct engine *e)
{
    if (e->halting.level == HALT_KILL || e->phase == PHASE_UNDO)
        return false;
    return e->phase == PHASE_FINALLY || e->halting.level < HALT_STOP;
}

int engine_plan_intents(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    while (can_plan(e) && has_room(e, e->saving.ahead) && !rc) {
        uint32_t task = sched_take(&e->progress.sched);
        if (task == NODE_NONE)
            break;
        /* No intents ahead for `once`: after a crash it would be unknown whether the
         * task had started. */
        if (e->request.mode != MODE_SETTLE && graph_def(e->request.graph, task)->once &&
            !has_room(e, 0)) {
            sched_return(&e->progress.sched, task);
            break;
        }
        rc = plan_task(e, task, error);
    }
    return rc;
}
