/* SPDX-License-Identifier: MIT */
/* Durations of tasks in the newest run, for the critical path. */
#include "executor/state/progress.h"

#include "executor/state/report.h"

#include "base/clock.h"
#include "base/memory.h"
#include "graph/lists.h"
#include "graph/text_expand.h"
#include "plan/reuse.h"
#include "plan/stop.h"
#include "runs/marks.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

struct durations {
    uint32_t n, *ms;
};

/* Measured times vary from run to run. In steps of four times, tasks that take about as
 * long as each other stay in the order of the file. */
static uint32_t round_duration(int64_t ms)
{
    enum { LEAST_MS = 32, STEP = 4, LARGEST_MS = 1 << 29 };
    uint32_t rounded = LEAST_MS;
    while (rounded < LARGEST_MS && ms >= (int64_t)rounded * STEP)
        rounded *= STEP;
    return rounded;
}

static int note_duration(void *context, const struct attempt_row *row)
{
    struct durations *d = context;
    int64_t ms = (row->ended_ns - row->started_ns) / 1000000;
    if (row->task < d->n && row->outcome == CAIRN_COMPLETED && row->started_ns)
        d->ms[row->task] = round_duration(ms);
    return 0;
}

struct predecessor {
    uint64_t run;
    uint32_t gen, tasks;
    struct digest graph;
};

static int note_predecessor(void *context, const struct run_row *row)
{
    struct predecessor *p = context;
    *p = (struct predecessor){row->run, row->gen, row->tasks, row->graph};
    return 0;
}

/* Those of the newest earlier run, if it has the same definition. */
static int use_past_durations(struct engine *e, struct cairn_error *error)
{
    struct predecessor p = {0};
    int rc = e->run.situation.recorded.latest_run &&
                     e->run.situation.recorded.latest_run != e->run.row.run
                 ? store_get_run(e->request.store, e->run.situation.recorded.latest_run,
                                 note_predecessor, &p, error)
                 : 0;
    if (rc || !p.run || !digest_equal(&p.graph, &e->run.situation.present.digest) ||
        p.tasks != e->request.graph->n_tasks)
        return rc;
    struct durations d = {p.tasks, calloc(p.tasks, sizeof *d.ms)};
    if (!d.ms)
        return error_nomem(error);
    rc = store_each_run_attempt(e->request.store, p.run, p.gen, false, note_duration,
                                &d, error)
             ?: graph_weigh(&e->request.workflow->graph, d.ms, error);
    free(d.ms);
    return rc;
}

/* Makes an outcome or a retry of the end of an attempt. */

/* ---- Skips ---- */

struct skipping { /* the tasks that cannot run, and because of what */
    struct engine *e;
    struct skip_list *list;
};

/* A service that has run before, and is over since nothing needs it any more. */
static bool has_served(const struct engine *e, uint32_t task)
{
    return task_def_is_service(graph_def(e->request.graph, task)) &&
           (situation_attempts(&e->run.situation, task) ||
            (e->turn.attempts && e->turn.attempts[task]));
}

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    const struct skipping *s = context;
    struct progress *p = &s->e->progress;
    struct skip_list *list = s->list;
    if (outcome == CAIRN_EXCLUDED && has_served(s->e, task))
        outcome = CAIRN_COMPLETED;
    struct change change = {.task = task, .outcome = (uint8_t)outcome};
    if (states_apply(&p->states, &change, NULL))
        engine_break(s->e);
    struct skip *grown = array_room(list->at, list->n, &list->capacity, sizeof *grown);
    if (!grown) {
        engine_break(s->e);
        return;
    }
    list->at = grown;
    /* Before sched_init is over there is nobody to ask: open_scheduling fills it in. */
    uint32_t cause = outcome == CAIRN_SKIPPED && p->sched.state
                         ? sched_cause(&p->sched, task)
                         : NODE_NONE;
    list->at[list->n++] = (struct skip){task, cause, (uint8_t)outcome};
}

void progress_saw_outputs(struct engine *e, const struct digest *digest,
                          const struct result *result)
{
    if (e->request.store)
        output_index_add(&e->progress.seen, digest, result->outputs, result->n_outputs);
}

/* ---- The beginning and the end ---- */

static int note_makers(struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    if (!definition_has_lists(d))
        return 0;
    e->progress.makes_list = calloc(d->n_defs, sizeof *e->progress.makes_list);
    if (!e->progress.makes_list)
        return error_nomem(error);
    definition_mark_makers(d, e->progress.makes_list, NULL);
    return 0;
}

/* Which tasks' results are asked for by others: by the task_defs from `first` on. */
static int note_referred(struct engine *e, uint32_t first, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    struct arena scratch = ARENA_INIT;
    int rc = 0;
    for (uint32_t i = first; i < d->n_defs && !rc; i++) {
        uint32_t *defs;
        if (!may_ask_for_values(d, &d->defs[i]))
            continue;
        int n = definition_values_of(d, &d->defs[i], &scratch, &defs);
        if (n > 0 && !e->progress.referred)
            e->progress.referred = calloc(d->n_defs, sizeof *e->progress.referred);
        if (n < 0 || (n > 0 && !e->progress.referred))
            rc = error_nomem(error);
        for (int k = 0; k < n && !rc; k++)
            e->progress.referred[defs[k]] = true;
    }
    arena_release(&scratch);
    return rc;
}

/* Where the rounds of tasks with `repeat` go on. */
static int note_rounds(struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    const uint32_t *done = e->run.situation.present.rounds;
    uint32_t n = e->request.graph->n_tasks, i = 0;
    while (i < d->n_defs && !d->defs[i].repeat.max)
        i++;
    if (i == d->n_defs)
        return 0;
    e->progress.rounds = calloc(n, sizeof *done);
    if (!e->progress.rounds)
        return error_nomem(error);
    if (done)
        memcpy(e->progress.rounds, done, n * sizeof *done);
    return 0;
}

static int open_scheduling(struct engine *e, struct skip_list *early,
                           struct cairn_error *error)
{
    struct skipping skipping = {e, early};
    struct sched *sched = &e->progress.sched;
    int rc = sched_init(sched, e->request.graph, e->progress.states.outcome, note_skip,
                        &skipping, error);
    const struct decisions *d = &e->run.situation.decisions;
    sched->memory =
        memory_of(e->request.graph->definition, e->request.options->memory_mib);
    if (!rc && e->request.mode == MODE_RUN && d->n_aside)
        sched_set_aside(sched, d->aside);
    for (uint32_t i = 0; !rc && i < early->n; i++)
        if (early->at[i].outcome == CAIRN_SKIPPED)
            early->at[i].cause = sched_cause(sched, early->at[i].task);
    return rc;
}

/* It failed in this call, or waits for its next attempt or round. */
static bool is_to_be_kept(const struct progress *p, uint32_t task)
{
    return p->states.outcome[task] == CAIRN_PENDING &&
           (p->failures[task] || p->sched.state[task] == HELD);
}

int progress_keep_retries(const struct engine *e, struct retries *out,
                          struct cairn_error *error)
{
    const struct progress *p = &e->progress;
    const struct timers *timers = &e->loop.timers;
    uint32_t n = 0;
    arena_release(&out->arena);
    *out = (struct retries){.arena = ARENA_INIT};
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        n += is_to_be_kept(p, task);
    out->at = arena_take(&out->arena, n, sizeof *out->at);
    for (uint32_t task = 0; task < e->request.graph->n_tasks && out->at; task++) {
        if (!is_to_be_kept(p, task))
            continue;
        struct retry_left *left = &out->at[out->n++];
        left->id = arena_str(&out->arena, str_of(e->request.graph->id[task]));
        left->failures = p->failures[task];
        for (uint32_t i = 0; i < timers->n; i++)
            if (timers->at[i].kind == TIMER_RETRY && timers->at[i].index == task)
                left->due_ns = timers->at[i].when_ns;
    }
    return out->arena.failed ? error_nomem(error) : 0;
}

static int take_retries(struct engine *e, const struct retries *retries,
                        struct cairn_error *error)
{
    struct progress *p = &e->progress;
    if (retries->n)
        p->due_ns = calloc(e->request.graph->n_tasks, sizeof *p->due_ns);
    for (uint32_t i = 0; i < retries->n && p->due_ns; i++) {
        uint32_t task = graph_find(e->request.graph, retries->at[i].id);
        if (task == NODE_NONE)
            continue;
        p->failures[task] = retries->at[i].failures;
        p->due_ns[task] = retries->at[i].due_ns;
    }
    return retries->n && !p->due_ns ? error_nomem(error) : 0;
}

bool progress_must_wait(struct engine *e, uint32_t task)
{
    struct progress *p = &e->progress;
    int64_t left_ns = p->due_ns ? p->due_ns[task] - loop_now_ns(e) : 0;
    if (left_ns <= 0)
        return false;
    sched_hold(&p->sched, task);
    loop_set_timer(e, TIMER_RETRY, left_ns, task, 0);
    return true;
}

int progress_open(struct engine *e, struct skip_list *early, struct cairn_error *error)
{
    struct progress *p = &e->progress;
    const struct cairn_stop *stop = e->request.options->stop;
    p->failures = calloc(e->request.graph->n_tasks, sizeof *p->failures);
    if (!p->failures)
        return error_nomem(error);
    int rc =
        situation_states(&e->run.situation, e->request.workflow, &p->states, error);
    if (!rc && e->request.store && e->jobs.limit > 1)
        rc = use_past_durations(e, error);
    if (!rc)
        rc = open_scheduling(e, early, error)
             ?: note_referred(e, 0, error)
             ?: note_makers(e, error);
    if (!rc && e->request.retries)
        rc = take_retries(e, e->request.retries, error);
    if (!rc)
        rc = note_rounds(e, error);
    p->lookup = (struct lookup){.graph = e->request.graph,
                                .states = &p->states,
                                .store = e->request.store,
                                .digests = FILE_DIGESTS_INIT,
                                .stop = stop ? &stop->count : NULL};
    return !rc && e->broken ? error_nomem(error) : rc;
}

/* Those that will not run, because of what has ended, are one ending. */
static int settle_early(struct engine *e, const struct skip_list *early,
                        struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    const struct skip *first = early->at;
    const struct intent none = {.task = early->n ? first->task : 0,
                                .intent_ns = loop_utc_ns(e)};
    struct ending *ending = early->n ? turn_draft_ending(e, &none, error) : NULL;
    if (!early->n || !ending)
        return early->n ? CAIRN_ENOMEM : 0;
    ending->row.outcome = first->outcome;
    ending->row.ended_ns = none.intent_ns;
    ending->final = ending->settled = true;
    ending->change = (struct change){.task = first->task, .outcome = first->outcome};
    ending->skipped.withdrawn = early->withdrawn;
    if (early->withdrawn)
        buf_text(&ending->text, "it was withdrawn");
    if (first->cause != NODE_NONE)
        buf_format(&ending->text, "%s did not complete", g->id[first->cause]);
    for (uint32_t i = 1; i < early->n; i++) {
        struct skip *at = array_room(ending->skipped.at, ending->skipped.n,
                                     &ending->skipped.capacity, sizeof *at);
        if (!at) {
            ending_release(ending);
            return error_nomem(error);
        }
        ending->skipped.at = at;
        at[ending->skipped.n++] = early->at[i];
    }
    turn_add_ending(e, ending);
    return 0;
}

/* Where rounds are counted, those of the new ones are, too. */
static bool extend_rounds(struct progress *p, const struct graph *g, uint32_t before,
                          uint32_t defs)
{
    bool any = p->rounds;
    for (uint32_t i = defs; i < g->definition->n_defs && !any; i++)
        any = g->definition->defs[i].repeat.max;
    if (any && !p->rounds)
        p->rounds = calloc(before + 1, sizeof *p->rounds);
    return !any || (p->rounds &&
                    array_extend(&p->rounds, before, g->n_tasks, sizeof *p->rounds));
}

int progress_extend(struct engine *e, uint32_t before, uint32_t defs,
                    struct cairn_error *error)
{
    struct progress *p = &e->progress;
    const struct graph *g = e->request.graph;
    struct skip_list early = {0};
    struct skipping skipping = {e, &early};
    if (!array_extend(&p->failures, before, g->n_tasks, sizeof *p->failures) ||
        !array_extend(&p->due_ns, before, g->n_tasks, sizeof *p->due_ns) ||
        !array_extend(&p->referred, defs, g->definition->n_defs, sizeof(bool)) ||
        !extend_rounds(p, g, before, defs) || lookup_extend(&p->lookup, before))
        return error_nomem(error);
    int rc =
        states_extend(&p->states, g->n_tasks, error) ?: note_referred(e, defs, error);
    if (rc)
        return rc;
    rc = sched_extend(&p->sched, p->states.outcome, note_skip, &skipping, error);
    if (!rc && early.n)
        audit_skips(e, &early);
    if (!rc)
        rc = settle_early(e, &early, error);
    free(early.at);
    return rc;
}

int progress_drop(struct engine *e, const uint32_t *tasks, uint32_t n,
                  struct cairn_error *error)
{
    struct skip_list dropped = {.withdrawn = true};
    struct skipping skipping = {e, &dropped};
    sched_drop(&e->progress.sched, tasks, n, note_skip, &skipping);
    audit_skips(e, &dropped);
    int rc = settle_early(e, &dropped, error);
    free(dropped.at);
    return rc;
}

int progress_copy_recorded(struct engine *e, struct cairn_error *error)
{
    return states_copy(&e->progress.states, &e->run.situation.present.states, error);
}

void progress_release(struct engine *e)
{
    struct progress *p = &e->progress;
    free(p->referred);
    free(p->makes_list);
    free(p->rounds);
    output_index_release(&p->seen);
    lookup_release(&p->lookup);
    free(p->failures);
    free(p->due_ns);
    sched_release(&p->sched);
    states_release(&p->states);
}

void progress_set_run(struct engine *e, uint64_t run)
{
    e->progress.lookup.run = run;
}

void progress_set_status(struct engine *e, const char *status)
{
    e->progress.lookup.run_status = status;
}

/* ---- Attempts ---- */

void progress_no_retry(struct engine *e, uint32_t task)
{
    e->progress.failures[task] = graph_def(e->request.graph, task)->retry.max + 1;
}

void progress_no_more_tries(struct engine *e, uint32_t task)
{
    e->progress.failures[task] = graph_def(e->request.graph, task)->retry.max;
}

/* ---- Settling ---- */

/* Nothing of it starts any more: the run stops, or a service that it needs is over. */
static bool is_cut_short(const struct engine *e, uint32_t task)
{
    enum sched_kind kind = sched_kind_of(graph_def(e->request.graph, task));
    return !(e->progress.sched.allowed & kind) ||
           sched_lost_service(&e->progress.sched, task) != NODE_NONE;
}

static bool retry_applies(const struct engine *e, struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    if (e->progress.failures[ending->row.task] > def->retry.max)
        return false;
    const struct failure failure = {
        .exit_code = ending->row.exit_code,
        .signal = ending->row.signal,
        .timed_out = ending->row.flags & ATTEMPT_TIMED_OUT,
        .checked = ending->row.flags & ATTEMPT_CHECK,
        .unseen = ending->unseen,
    };
    bool worth = retry_is_for(&def->retry, &failure);
    if (!worth)
        buf_format(&ending->text, "%snot tried again: `retries` lists other failures",
                   ending->text.size ? "; " : "");
    return worth;
}

/* Until the next attempt may start. What may not start now waits as if it had never
 * begun: for the next run. */
static void hold_for(struct engine *e, struct ending *ending, int64_t delay_ms)
{
    uint32_t task = ending->row.task;
    enum sched_kind kind = sched_kind_of(graph_def(e->request.graph, task));
    ending->row.flags |= ATTEMPT_RETRY;
    if (!(e->progress.sched.allowed & kind)) {
        sched_return(&e->progress.sched, task);
        return;
    }
    ending->next_ms = delay_ms;
    sched_hold(&e->progress.sched, task);
    loop_set_timer(e, TIMER_RETRY, delay_ms * 1000000, task, 0);
}

static void hold_for_retry(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    const struct retry_policy *retry = &graph_def(e->request.graph, task)->retry;
    struct backoff backoff = {retry->delay_ms, retry->factor_permille, retry->jitter,
                              retry->cap_ms};
    hold_for(e, ending, backoff_delay_ms(&backoff, e->progress.failures[task]));
}

/* Once, when the last try has failed. */
static bool fallback_applies(struct engine *e, const struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    uint32_t *failures = &e->progress.failures[ending->row.task];
    if (!def->fallback.len || *failures > def->retry.max + 1)
        return false;
    *failures = def->retry.max + 1;
    return true;
}

static void apply_change(struct engine *e, struct ending *ending)
{
    ending->final = true;
    if (states_apply(&e->progress.states, &ending->change, NULL))
        engine_break(e);
}

/* A list is whole when all that make it have ended; members of a group that were left
 * out make none. */
static void note_list(struct engine *e, uint32_t task, uint8_t outcome)
{
    struct progress *p = &e->progress;
    uint32_t def = e->request.graph->def_of[task];
    if (!p->makes_list || !p->makes_list[def])
        return;
    uint32_t barrier = e->request.graph->barrier[def];
    bool left_out =
        outcome == CAIRN_EXCLUDED && graph_def(e->request.graph, task)->n_foreach;
    if ((outcome == CAIRN_COMPLETED || left_out) &&
        (barrier == NODE_NONE || p->sched.state[barrier] == ENDED))
        p->list_made = true;
}

/* An attempt that was taken over was started by another process, which knew its key: it
 * is found again. If what it read has changed since, nobody will take it for the same. */
static void note_what_it_did(struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->change.task;
    if (!e->spared || ending->change.outcome != CAIRN_COMPLETED)
        return;
    int rc = ending->same ? reuse_saw_result(e->spared, task, ending->same, NULL)
                          : reuse_saw(e->spared, task, buf_view(&ending->result), NULL);
    if (!rc && digest_is_none(&e->keys[task]) && reuse_has_key(e->spared, task))
        rc = reuse_key(e->spared, task, ending->row.number, &e->keys[task], NULL);
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
}

static void settle_for_good(struct engine *e, struct ending *ending)
{
    struct skipping skipping = {e, &ending->skipped};
    if (ending->row.flags & ATTEMPT_FALLBACK)
        buf_format(&ending->text, "%s%s its fallback", ending->text.size ? "; " : "",
                   ending->row.outcome == CAIRN_COMPLETED ? "by" : "that was");
    ending->change.task = ending->row.task;
    ending->change.outcome = ending->row.outcome;
    if (ending->row.number)
        ending->change.attempts = ending->row.number;
    ending->settled = true;
    apply_change(e, ending);
    if (e->spared && ending->row.number && !ending->spared)
        reuse_ran(e->spared, ending->change.task);
    note_what_it_did(e, ending);
    sched_end(&e->progress.sched, ending->change.task, ending->change.outcome,
              note_skip, &skipping);
    if (ending->skipped.n)
        audit_skips(e, &ending->skipped);
    note_list(e, ending->change.task, ending->change.outcome);
    for (uint32_t i = 0; i < ending->skipped.n; i++)
        note_list(e, ending->skipped.at[i].task, ending->skipped.at[i].outcome);
}

void settle_ending(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    redact_buf(e, &ending->text);
    if (ending->row.outcome == CAIRN_FAILED) {
        uint32_t task = ending->row.task;
        bool over = ending->row.flags & ATTEMPT_FALLBACK || is_cut_short(e, task);
        e->progress.failures[task]++;
        if (!over && retry_applies(e, ending)) {
            hold_for_retry(e, ending);
            return;
        }
        if (!over && fallback_applies(e, ending)) {
            buf_format(&ending->text, "%sits fallback follows",
                       ending->text.size ? "; " : "");
            hold_for(e, ending, 0);
            return;
        }
        if (graph_def(e->request.graph, ending->row.task)->may_fail)
            buf_format(&ending->text, "%sit may fail: the run goes on",
                       ending->text.size ? "; " : "");
    }
    settle_for_good(e, ending);
}

void settle_round(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    turn_add_ending(e, ending);
    redact_buf(e, &ending->text);
    e->progress.failures[task] = 0;
    e->progress.rounds[task]++;
    hold_for(e, ending, graph_def(e->request.graph, task)->repeat.delay_ms);
}

void settle_unknown(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    const struct states *states = &e->progress.states;
    turn_add_ending(e, ending);
    ending->change = (struct change){
        .task = task, .outcome = CAIRN_UNKNOWN, .attempts = ending->row.number};
    if (state_is_put_back(states, task) && states->outputs)
        ending->change.outputs = states->outputs[task];
    apply_change(e, ending);
    sched_end(&e->progress.sched, task, CAIRN_UNKNOWN, NULL, NULL);
}

void settle_undone(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    ending->change = (struct change){.task = ending->row.task,
                                     .outcome = CAIRN_UNDONE,
                                     .attempts = ending->row.number};
    apply_change(e, ending);
}

void settle_rerun(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    ending->change =
        (struct change){.task = ending->row.task, .outcome = CAIRN_PENDING};
    apply_change(e, ending);
    e->progress.failures[ending->row.task] = 0; /* else its fallback might follow */
    sched_rerun(&e->progress.sched, ending->row.task);
}
