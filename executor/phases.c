/* SPDX-License-Identifier: MIT */
/* Makes intents of ready tasks: checks their conditions, offers external ones, and
 * keeps to the number of jobs. */
#include "executor/phases.h"

#include "executor/attempt/adopt.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/service.h"
#include "executor/attempt/spared.h"
#include "executor/attempt/undo.h"

#include "base/os.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "storage/rows_event.h"
#include "storage/store.h"

#include <fcntl.h>
#include <stdlib.h>

/* With the values that it was decided by. */
static void append_condition(struct engine *e, uint32_t task, struct buf *text)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = task,
                          .attempt = e->turn.attempts[task] + 1};
    struct scope scope = lookup_scope(&asker);
    struct buf values = BUF_INIT;
    if (!scope.def->condition.len) {
        buf_text(text, "nothing that needs it runs"); /* a service */
        return;
    }
    if (condition_values(&scope, scope.def->condition, &values, NULL))
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
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = task,
                          .attempt = e->turn.attempts[task] + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = true;
    if (!scope.def->condition.len)
        return 1;
    int rc = condition_holds(&scope, scope.def->condition, &holds, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc)
        return fail_before_start(e, task, "its condition cannot be evaluated", why.text,
                                 error);
    if (!holds)
        return exclude_task(e, task, error);
    /* MODE_SETTLE starts nothing: the owner that starts the task evaluates it again. */
    bool starts =
        e->request.mode != MODE_SETTLE && sched_is_served(&e->progress.sched, task);
    if (starts || scope.def->kind == TASK_EXTERNAL)
        audit_event(e, EVENT_CONDITION, 1, task, scope.def->condition);
    return 1;
}

static int offer_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = task,
                          .attempt = e->turn.attempts[task] + 1};
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

/* What makes the list has ended, and there is none. Its services come first all the same:
 * one that cannot run skips the group, whichever is known first. */
static int fail_unlisted(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    struct str why = STR("");
    for (uint32_t k = 0; k < def->n_foreach; k++)
        if (def->foreach[k].source == FOREACH_FROM)
            why = def->foreach[k].why;
    if (e->request.mode == MODE_SETTLE)
        return 0; /* it stays taken: the next run may have the list */
    if (!sched_is_served(&e->progress.sched, task)) {
        sched_await(&e->progress.sched, task);
        return 0;
    }
    return fail_before_start(e, task, "its list is not known",
                             why.len ? why.ptr : "what makes it has passed on nothing",
                             error);
}

static int plan_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    if (task_def_is_unlisted(def))
        return fail_unlisted(e, task, error);
    if (progress_must_wait(e, task))
        return 0;
    int rc = check_condition(e, task, error);
    if (rc <= 0)
        return rc;
    if (state_is_put_back(&e->progress.states, task)) {
        rc = spared_settle(e, task, error);
        return rc > 0 ? ask_about(e, task, error) : rc;
    }
    if (def->kind == TASK_EXTERNAL)
        return offer_task(e, task, error);
    if (e->request.mode == MODE_SETTLE)
        return 0; /* it stays taken: nothing is started */
    rc = spared_settle(e, task, error);
    if (rc <= 0)
        return rc;
    if (!sched_is_served(&e->progress.sched, task) && !task_is_put_back(e, task)) {
        sched_await(&e->progress.sched, task); /* and comes again */
        return 0;
    }
    if (!shares_has(e, task)) { /* it was to be settled, and has to run after all */
        sched_return(&e->progress.sched, task);
        return 0;
    }
    return turn_add_intent(e, task, ROLE_TASK) ? error_nomem(error) : 0;
}

/* Intents are made for `ahead` more tasks than may run at once. */
static bool has_room(const struct engine *e, uint32_t ahead)
{
    uint32_t queued = e->turn.unacted_intents + starts_count(&e->starts);
    return queued + jobs_counted(&e->jobs) < e->jobs.limit + ahead &&
           (!e->jobs.weighted ||
            e->progress.sched.taken_slots < (uint64_t)e->jobs.limit + ahead);
}

/* The task has just been taken: can it start before any other one ends? */
static bool can_start_now(const struct engine *e, uint32_t task)
{
    uint64_t slots = task_def_slots(graph_def(e->request.graph, task));
    uint64_t others = e->progress.sched.taken_slots - slots;
    slots = slots < e->jobs.limit ? slots : e->jobs.limit;
    return has_room(e, 0) || (e->jobs.weighted && others + slots <= e->jobs.limit);
}

static bool can_plan(const struct engine *e)
{
    if (e->halting.level == HALT_KILL || e->phase == PHASE_UNDO || awaits_list(e))
        return false;
    return e->phase == PHASE_FINALLY || e->halting.level < HALT_STOP;
}

static int plan_intents(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    while (can_plan(e) && has_room(e, e->saving.ahead) && !rc) {
        uint32_t task = sched_take(&e->progress.sched);
        if (task == NODE_NONE)
            break;
        /* No intents ahead for `once`: after a crash it would be unknown whether the
         * task had started. Nor for what other runs could start meanwhile. */
        bool ahead = graph_def(e->request.graph, task)->once || !shares_has(e, task);
        if (e->request.mode != MODE_SETTLE && ahead && !can_start_now(e, task)) {
            sched_return(&e->progress.sched, task);
            break;
        }
        int taken = shares_take(e, task, error);
        rc = taken > 0 ? plan_task(e, task, error) : taken;
    }
    return rc;
}

static int take_and_plan(struct engine *e, const uint32_t *tasks, uint32_t n,
                         struct cairn_error *error)
{
    int rc = 0;
    sched_take_tasks(&e->progress.sched, tasks, n);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = plan_task(e, tasks[i], error);
    return rc;
}

/* What is known to be done is settled first, whatever there is room for, so that
 * nothing has run since its files were looked at. */
static int plan_spared(struct engine *e, struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    const struct sched *s = &e->progress.sched;
    uint32_t *batch = malloc(g->n_tasks * sizeof *batch), n = 0;
    int rc = batch ? 0 : error_nomem(error);
    for (uint32_t i = 0; i < g->n_nodes && !rc && can_plan(e); i++) {
        uint32_t task = g->order[i];
        const struct reused *reused = graph_is_barrier(g, task)
                                          ? NULL
                                          : situation_reused(&e->run.situation, task);
        if (!reused || reused->put_back)
            continue;
        if (s->state[task] != READY && n) { /* it may need one of them */
            rc = take_and_plan(e, batch, n, error);
            n = 0;
        }
        if (!rc && s->state[task] == READY)
            batch[n++] = task;
    }
    if (!rc && n)
        rc = take_and_plan(e, batch, n, error);
    free(batch);
    return rc;
}

/* What has done tasks before is looked up in one transaction. */
int engine_plan_intents(struct engine *e, struct cairn_error *error)
{
    bool reading = e->spared && e->progress.sched.ready.n &&
                   store_begin_read(e->request.store, NULL) == 0;
    bool first = e->spared && !e->spared_planned && e->run.situation.decisions.spared;
    e->spared_planned = true;
    shares_settle(e);
    int rc = first ? plan_spared(e, error) : 0;
    if (!rc)
        rc = plan_intents(e, error);
    shares_leave(e, can_plan(e) && has_room(e, 0));
    if (reading)
        store_end_read(e->request.store);
    return rc;
}

/* Out of memory or a damaged store in the middle of a run. */

/* The runner notes its end before it tells us, and cannot once it is reaped. */
static bool awaits_note(const struct job *job)
{
    return job->noted && job->request.watched && !job->request.ended;
}

/* What has ended by itself is for the next run, which finds the note of its end. */
static void end_job(struct engine *e, struct job *job)
{
    struct runner *runner = e->request.runner;
    struct process_end unused;
    if (!runner->ops->has_ended(runner, &job->process)) {
        atomic_fetch_or(&job->request.note_flags, NOTE_STOPPED);
        runner->ops->stop(runner, &job->process, RUNNER_KILL);
    }
    if (runner->ops->has_ended(runner, &job->process) && !awaits_note(job))
        (void)jobs_reap(e, job, &unused, NULL);
}

static void take_requests(struct engine *e)
{
    struct runner *runner = e->request.runner;
    struct spawn_request *request = NULL;
    if (e->jobs.runner_open)
        (void)runner->ops->collect(runner, &request, NULL);
    for (; request; request = request->next) {
        struct job *job = request->context;
        if (job->state == JOB_SPAWNING) /* else its end, which is looked at below */
            jobs_take_process(e, job, request);
    }
}

/* Callbacks have what is left of their grace. */
static void end_calls(struct engine *e, int64_t since_ns)
{
    struct cairn_attempt *call =
        e->calls.threads ? call_threads_collect(e->calls.threads) : NULL;
    while (call) {
        struct cairn_attempt *next = call_next(call);
        jobs_end_call(&e->jobs.at[call_slot(call)]);
        call_release(call);
        call = next;
    }
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_CALLED)
            continue;
        int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
        if (loop_now_ns(e) - since_ns < grace_ms * 1000000)
            continue;
        calls_leave(e, job);
        jobs_end_call(job);
    }
}

static void end_jobs(struct engine *e)
{
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state == JOB_RUNNING)
            end_job(e, job);
        looks_stop(e, job); /* what it finds is dropped with the threads */
        if (job->state == JOB_OVER || job->state == JOB_LOOKING)
            jobs_abandon(e, job);
    }
}

/* Checks, too: the seats of what is ended here stay taken, so what waits in the runner
 * would never start. */
static void recall_all(struct engine *e)
{
    struct runner *runner = e->request.runner;
    for (uint32_t i = 0; i < e->jobs.n; i++)
        if (e->jobs.at[i].state == JOB_SPAWNING)
            e->jobs.at[i].request.may_recall = true;
    if (e->jobs.runner_open)
        runner->ops->recall(runner);
}

void engine_give_up(struct engine *e)
{
    enum { PAUSE_NS = 10000000 };
    int64_t since_ns = loop_now_ns(e);
    halt_run(e, HALT_KILL, "ending running tasks: the run cannot continue");
    recall_all(e);
    while (e->jobs.running) {
        take_requests(e);
        end_calls(e, since_ns);
        end_jobs(e);
        if (e->jobs.running)
            loop_pause(e, PAUSE_NS);
    }
}

/* The phases of a run: tasks, undoing, `finally`; and its final state. */

/* ---- Failures ---- */

static uint32_t count_unhandled(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        n += e->progress.states.outcome[task] == CAIRN_FAILED &&
             !failed_before(e, task) && failure_unhandled(e, task, false);
    return n;
}

static uint32_t count_failed_before(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t task = 0; is_partial(e) && task < e->request.graph->n_tasks; task++)
        n += failed_before(e, task);
    return n;
}

/* ---- Phases ---- */

/* Nothing but services runs, and nothing can start. Under best effort, or when asked to
 * stop, a phase ends with outcomes that cannot be saved, but not with an intent that
 * must be saved first. */
static bool is_idle(const struct engine *e)
{
    const struct sched *s = &e->progress.sched;
    bool unsaved =
        e->saving.degraded && (e->request.options->saving == CAIRN_BEST_EFFORT ||
                               e->halting.level >= HALT_STOP);
    if (jobs_counted(&e->jobs))
        return false;
    if (e->halting.level == HALT_KILL)
        return true;
    if (e->request.mode == MODE_SETTLE && e->saving.degraded)
        return true;
    if (starts_count(&e->starts) || e->turn.unacted_intents ||
        (!unsaved && (e->turn.n_endings || e->turn.intents.n)))
        return false;
    if (e->request.mode == MODE_SETTLE)
        return !s->ready.n && e->turn.last_command == e->turn.stored_command;
    if (e->phase == PHASE_UNDO)
        return true;
    if (e->phase == PHASE_MAIN && (e->halting.level >= HALT_STOP || awaits_list(e)))
        return true;
    if (e->phase == PHASE_MAIN && e->run.n_waiting && !e->halting.level)
        return false;
    if (s->ready.n || s->taken || s->held || sched_waits_for_others(s))
        return false;
    return !s->offered || e->halting.level || e->request.options->no_wait ||
           e->phase != PHASE_MAIN;
}

static uint32_t count_finally(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        n += graph_def(e->request.graph, task)->finally &&
             e->progress.sched.state[task] != ENDED;
    return n;
}

/* For a decision on an unknown task, or for an external one. An unknown task of
 * `finally` holds nothing up. */
static bool is_waiting(const struct engine *e)
{
    struct tally tally = states_tally(&e->progress.states);
    bool unknown = false;
    for (uint32_t task = 0;
         tally.unknown && !unknown && task < e->request.graph->n_tasks; task++)
        unknown = e->progress.states.outcome[task] == CAIRN_UNKNOWN &&
                  !graph_def(e->request.graph, task)->finally;
    return unknown || (e->progress.sched.offered && !e->halting.level);
}

static const char *status_so_far(const struct engine *e)
{
    if (e->halting.level >= HALT_STOP)
        return "cancelled";
    return count_unhandled(e) || e->undoing.failed ? "failed" : "completed";
}

static int begin_finally(struct engine *e, bool *over, struct cairn_error *error)
{
    if (e->request.mode != MODE_RUN || is_partial(e) || !count_finally(e)) {
        *over = true;
        return 0;
    }
    e->phase = PHASE_FINALLY;
    progress_set_status(e, status_so_far(e));
    audit_event(e, EVENT_PHASE, PHASE_FINALLY, UINT32_MAX,
                str_of(e->progress.lookup.run_status));
    sched_allow(&e->progress.sched, SCHED_FINALLY);
    return adopt_finally(e, error);
}

static bool wants_undo(const struct engine *e)
{
    return failure_policy(e) == ON_FAILURE_UNDO && e->halting.level < HALT_STOP &&
           count_unhandled(e);
}

void phases_begin_undo(struct engine *e)
{
    e->phase = PHASE_UNDO;
    sched_allow(&e->progress.sched, 0);
}

static int end_main(struct engine *e, bool *over, struct cairn_error *error)
{
    if (awaits_list(e)) {
        *over = true;
        return 0;
    }
    bool waits = is_waiting(e);
    /* What an unknown task becomes decides about what comes after it. */
    if (e->request.mode == MODE_RUN && e->halting.level == HALT_FAILURE && !waits &&
        sched_release_handlers(&e->progress.sched))
        return 0;
    if (e->request.mode == MODE_SETTLE || waits) {
        *over = true;
        return 0;
    }
    if (wants_undo(e)) {
        int rc = undo_collect(e, e->request.graph->definition->undo_scope, error);
        if (rc)
            return rc;
        if (e->undoing.n) {
            phases_begin_undo(e);
            audit_event(e, EVENT_PHASE, PHASE_UNDO, UINT32_MAX, STR(""));
            return undo_next(e, error);
        }
    }
    return begin_finally(e, over, error);
}

int phases_advance(struct engine *e, bool *over, struct cairn_error *error)
{
    *over = false;
    if (!is_idle(e))
        return 0;
    if (e->jobs.running) { /* nothing that needs a service can run any more */
        services_dismiss(e);
        return 0;
    }
    if (e->halting.level == HALT_KILL) {
        *over = true;
        return 0;
    }
    switch (e->phase) {
    case PHASE_MAIN:
        return end_main(e, over, error);
    case PHASE_UNDO:
        if (e->undoing.next < e->undoing.n)
            return undo_next(e, error);
        return begin_finally(e, over, error);
    case PHASE_FINALLY:
        break;
    }
    *over = true;
    return 0;
}

/* ---- The result ---- */

static enum cairn_run_state state_after_settling(const struct engine *e,
                                                 uint32_t failures)
{
    if (e->progress.sched.open || states_tally(&e->progress.states).unknown)
        return CAIRN_RUN_UNFINISHED;
    if (failures)
        return failure_policy(e) == ON_FAILURE_UNDO ? CAIRN_RUN_UNFINISHED
                                                    : CAIRN_RUN_FAILED;
    return CAIRN_RUN_COMPLETED;
}

enum cairn_run_state phases_final_state(const struct engine *e)
{
    struct tally tally = states_tally(&e->progress.states);
    uint32_t failures = count_unhandled(e);
    bool left = tally_done(&tally) < tally.total || tally.cancelled;
    if (e->request.mode == MODE_SETTLE)
        return state_after_settling(e, failures);
    if (e->request.mode == MODE_UNDO)
        return tally.undone ? CAIRN_RUN_UNDONE : e->run.situation.recorded.row.state;
    if (tally.unknown && e->halting.level < HALT_STOP)
        return CAIRN_RUN_UNFINISHED;
    if (e->halting.level >= HALT_STOP && left)
        return CAIRN_RUN_CANCELLED;
    if (e->progress.sched.offered && !e->halting.level)
        return CAIRN_RUN_UNFINISHED;
    if (failures || e->undoing.failed || count_failed_before(e))
        return CAIRN_RUN_FAILED;
    return left ? CAIRN_RUN_UNFINISHED : CAIRN_RUN_COMPLETED;
}

static uint32_t count_aside(const struct engine *e)
{
    const uint8_t *aside = e->run.situation.decisions.aside;
    const uint8_t *state = e->progress.sched.state; /* none where nothing is to do */
    uint32_t n = 0;
    for (uint32_t task = 0; is_partial(e) && task < e->request.graph->n_tasks; task++)
        n += aside[task] && !(state && state[task] == ENDED);
    return n;
}

/* Failed members that stand for a file which is gone. */
static uint32_t count_gone(const struct engine *e)
{
    const struct graph *g = e->request.graph;
    struct str root = g->definition->root;
    uint32_t n = 0;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        const struct task_def *def = graph_def(g, task);
        bool gone = false;
        if (e->progress.states.outcome[task] != CAIRN_FAILED)
            continue;
        for (uint32_t k = 0; k < def->n_foreach; k++) {
            const struct foreach_key *key = &def->foreach[k];
            struct str value = key->values[member_value(def, graph_member(g, task), k)];
            struct buf path = BUF_INIT;
            if (key->source != FOREACH_GLOB)
                continue;
            if (root.len && value.len && value.ptr[0] != '/')
                buf_format(&path, "%.*s/", (int)root.len, root.ptr);
            buf_str(&path, value);
            gone |= !path.failed && path.data && !os_is_there(AT_FDCWD, path.data);
            buf_release(&path);
        }
        n += gone;
    }
    return n;
}

/* All that was chosen has ended. */
static bool choice_is_done(const struct engine *e, const struct cairn_run_result *r)
{
    return is_partial(e) && !e->halting.level && !r->cancelled &&
           e->progress.sched.open == count_aside(e);
}

static int exit_status(const struct engine *e, const struct cairn_run_result *r,
                       uint32_t failures)
{
    bool unsaved = r->unsaved || r->end_unsaved || r->lost_outputs;
    if (e->request.mode == MODE_UNDO)
        return unsaved ? 9 : e->undoing.failed ? 1 : 0;
    if (r->unknown)
        return 8;
    if (unsaved)
        return 9;
    if (failures || e->undoing.failed)
        return 1;
    return r->state == CAIRN_RUN_COMPLETED || choice_is_done(e, r) ? 0 : 7;
}

void phases_fill_result(const struct engine *e, enum cairn_run_state state,
                        struct cairn_run_result *r)
{
    const struct recorded *recorded = &e->run.situation.recorded;
    struct tally tally = states_tally(&e->progress.states);
    r->run = e->request.store ? e->run.row.run : 0;
    r->state = state;
    r->damaged = recorded->recovered && recorded->recovery.n_damaged > 0;
    r->attempts = e->jobs.started;
    r->left_behind = e->calls.left_behind;
    r->unsaved = e->saving.unsaved;
    r->end_unsaved = e->saving.end_unsaved;
    r->lost_outputs = e->jobs.lost_outputs;
    r->total = tally.total;
    TALLY_COPY(r, tally);
    r->pending = tally.total - tally_done(&tally) - tally.undone;
    r->waiting = e->progress.sched.offered;
    r->failed_undos = e->undoing.failed;
    r->not_chosen = count_aside(e) + count_failed_before(e);
    r->gone = tally.failed && state == CAIRN_RUN_FAILED ? count_gone(e) : 0;
    r->exit_status = exit_status(e, r, count_unhandled(e));
}
