/* SPDX-License-Identifier: MIT */
#include "executor/engine.h"

#include "executor/attempt/ending.h"
#include "executor/attempt/start.h"
#include "executor/attempt/task.h"
#include "executor/attempt/undo.h"
#include "executor/collect.h"
#include "executor/command_apply.h"
#include "executor/open_run.h"
#include "executor/phases.h"
#include "executor/state/engine.h"
#include "executor/state/report.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/struct_take.h"
#include "plan/stale.h"
#include "storage/store.h"

#include <stdlib.h>

/* The declared outputs of each completed task: as seen by its attempt in this run, else
 * when it was decided to keep it. */
static void collect_seen(const struct engine *e, struct output_index *all)
{
    const struct states *states = &e->progress.states;
    const struct output_index *before = &e->run.situation.present.index;
    for (uint32_t task = 0; states->outputs && task < states->n; task++) {
        if (states->outcome[task] != CAIRN_COMPLETED ||
            !graph_def(e->request.graph, task)->n_outputs)
            continue;
        const struct digest *result = &states->outputs[task];
        output_index_copy(all, before, result);
        output_index_copy(all, &e->progress.seen, result);
    }
}

/* Once the outcomes are stored. Writes only what the file has not yet. */
static void outputs_seen_save(struct engine *e)
{
    struct output_index all = {0};
    if (!e->progress.seen.grown && !e->run.situation.present.index.grown)
        return;
    char *path = output_index_path(e->request.store, e->run.row.workflow);
    if (path) {
        collect_seen(e, &all);
        output_index_save(&all, path);
    }
    output_index_release(&all);
    free(path);
}

/* cairn_run: the loop. See engine.h for the order of a turn and its invariants. */

static int run_turn(struct engine *e, struct cairn_error *error)
{
    int rc = engine_start_ready(e, error) ?: engine_plan_intents(e, error);
    if (!rc && !turn_commit_delay_ns(e))
        rc = engine_commit(e, error);
    if (!rc)
        rc = engine_start_ready(e, error);
    return !rc && e->broken ? error_nomem(error) : rc;
}

static int begin_loop(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    loop_set_timer(e, TIMER_TICK, 0, 0, 0);
    if (e->request.mode == MODE_RUN) {
        failure_check_recorded(e);
        rc = decide_unknown(e, error);
    }
    if (!rc)
        rc = run_turn(e, error); /* what is external is offered now */
    if (!rc)
        commands_apply(e);
    return rc;
}

/* What was still to start. */
static void drop_unstarted(struct engine *e)
{
    struct job *job;
    while ((job = looks_take_ready(e)))
        jobs_free(e, job);
    for (uint32_t i = 0; i < e->jobs.n; i++)
        if (e->jobs.at[i].awaits_inputs)
            looks_stop(e, &e->jobs.at[i]);
}

/* Tasks end as at a stop. Nothing can be recorded any more, and nothing starts. */
static int stop_lost(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    halt_run(e, HALT_STOP, "the store was removed or replaced");
    drop_unstarted(e);
    while (e->jobs.running && !rc) {
        rc = engine_collect(e, error);
        drop_unstarted(e);
    }
    return rc ? rc
              : error_set(
                    error, CAIRN_EDAMAGED,
                    "the store %s was removed or replaced while run %llu was using "
                    "it: the run was stopped, and what ended after its last commit "
                    "is not recorded. If the project was moved, go on there with "
                    "`cairn resume`",
                    cairn_store_path(e->request.store),
                    (unsigned long long)e->run.row.run);
}

static int run_loop(struct engine *e, struct cairn_error *error)
{
    bool over = false;
    int rc = begin_loop(e, error);
    while (!rc) {
        enum phase phase = e->phase;
        rc = phases_advance(e, &over, error);
        if (rc || over)
            break;
        if (e->phase == phase)
            rc = engine_collect(e, error);
        if (!rc)
            rc = e->run.lost ? stop_lost(e, error) : run_turn(e, error);
    }
    return rc;
}

/* ---- The whole ---- */

static void report_notices(struct engine *e)
{
    for (size_t i = 0; situation_notice(&e->run.situation, i); i++)
        report(e, CAIRN_EVENT_NOTICE, situation_notice(&e->run.situation, i));
}

static void tell_stale(void *context, const char *text)
{
    struct engine *e = context;
    audit_event(e, EVENT_NOTICE, 0, UINT32_MAX, str_of(text));
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* What this run had made of tasks that are skipped now, since that was not known when it
 * began. In a run that did not complete they may run yet. */
static int report_stale(struct engine *e, struct cairn_error *error)
{
    const struct situation *s = &e->run.situation;
    const struct graph *g = e->request.graph;
    struct cairn_error why = {0};
    bool any = false;
    if (e->request.mode != MODE_RUN || !e->request.store || !s->recorded.exists ||
        e->saving.degraded)
        return 0;
    bool *skipped = stale_decided_skips(s);
    if (!skipped)
        return error_nomem(error);
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        bool now = outcome_is_skipped(e->progress.states.outcome[task]);
        skipped[task] = now && !skipped[task];
        any |= skipped[task];
    }
    const struct stale_scene scene = {.workflow = e->request.workflow,
                                      .store = e->request.store,
                                      .situation = s,
                                      .lookup = &e->progress.lookup,
                                      .skipped = skipped,
                                      .run = e->run.row.run,
                                      .only_skipped = true};
    int rc = any ? stale_tell(&scene, tell_stale, e, &why) : 0;
    free(skipped);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : 0; /* it is only a notice */
}

/* How many tasks run; a range where it depends on what happens. */
static const char *count_to_run(const struct decisions *d, char text[96])
{
    uint32_t will = d->will - d->adopted, most = will + d->may;
    size_t n;
    const char *s = d->n == 1 ? "" : "s";
    if (!d->may)
        snprintf(text, 64, "%u of %u task%s to run", will, d->n, s);
    else if (!will)
        snprintf(text, 64, "up to %u of %u task%s to run", most, d->n, s);
    else
        snprintf(text, 64, "%u to %u of %u task%s to run", will, most, d->n, s);
    n = strlen(text);
    if (d->adopted)
        snprintf(text + n, 96 - n, ", %u taken over", d->adopted);
    return text;
}

static void report_begin(struct engine *e)
{
    char text[256], count[96];
    const struct recorded *r = &e->run.situation.recorded;
    const struct decisions *d = &e->run.situation.decisions;
    if (!e->request.store)
        snprintf(text, sizeof text,
                 "running without a store: this run cannot be resumed");
    else if (e->request.mode == MODE_UNDO)
        snprintf(text, sizeof text, "undoing %u task%s of run %llu", e->undoing.n,
                 e->undoing.n == 1 ? "" : "s", (unsigned long long)e->run.row.run);
    else if (r->recovered && e->request.workflow->going_on)
        snprintf(text, sizeof text, "%s: run %llu continues with %s",
                 e->request.workflow->grows ? "tasks were added" : "the list is made",
                 (unsigned long long)e->run.row.run, count_to_run(d, count));
    else if (r->recovered)
        snprintf(text, sizeof text, "continuing run %llu: %s",
                 (unsigned long long)e->run.row.run, count_to_run(d, count));
    else if (r->from_seq)
        snprintf(text, sizeof text,
                 "run %llu forks from checkpoint workflow:%llu of run %llu: %s",
                 (unsigned long long)e->run.row.run, (unsigned long long)r->from_seq,
                 (unsigned long long)r->from_run, count_to_run(d, count));
    else if (d->n_aside)
        snprintf(text, sizeof text, "run %llu of %s: %s",
                 (unsigned long long)e->run.row.run,
                 e->request.graph->definition->name.ptr, count_to_run(d, count));
    else
        snprintf(text, sizeof text, "run %llu of %s: %u task%s",
                 (unsigned long long)e->run.row.run,
                 e->request.graph->definition->name.ptr, d->n, d->n == 1 ? "" : "s");
    report(e, CAIRN_EVENT_RUN_STARTED, text);
    if (e->jobs.limit < e->jobs.wanted) {
        snprintf(text, sizeof text,
                 "at most %u of %u jobs run at once: there are not enough descriptors "
                 "for more (ulimit -n)",
                 e->jobs.limit, e->jobs.wanted);
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    const char *network = e->request.store ? store_network_fs(e->request.store) : NULL;
    if (network) {
        snprintf(text, sizeof text,
                 "the store is on %s: the rollback journal is used instead of the WAL, "
                 "which is slower; a local directory is better (--store DIR)",
                 network);
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    report_notices(e);
}

/* Nothing runs: no need to touch anything, unless the run was never marked finished. */
static bool nothing_to_do(struct engine *e)
{
    const struct situation *s = &e->run.situation;
    return s->recorded.recovered &&
           s->decisions.will + s->decisions.may + s->decisions.spared == 0 &&
           s->recorded.same_graph && s->recorded.row.state == CAIRN_RUN_COMPLETED;
}

/* 1: a list was made, so the run is to be opened again. */
static int run_all(struct engine *e, struct cairn_run_result *result,
                   struct cairn_error *error)
{
    int rc = engine_open(e, error) ?: engine_remove_stale(e, error);
    if (rc)
        return rc;
    report_begin(e);
    e->request.workflow->grows = false;
    if (e->request.mode == MODE_UNDO)
        phases_begin_undo(e);
    rc = run_loop(e, error);
    if (rc) {
        engine_give_up(e);
        return rc;
    }
    bool again = awaits_list(e);
    enum cairn_run_state state = again ? CAIRN_RUN_UNFINISHED : phases_final_state(e);
    if (state == CAIRN_RUN_COMPLETED)
        rc = report_stale(e, error);
    if (!rc)
        rc = engine_commit_end(e, state, error);
    if (rc)
        return rc;
    again = again && !e->saving.degraded; /* by now all may be saved after all */
    /* What was noted, and looked at by nothing but an undo, is for the next run. */
    bool keeps_notes =
        e->request.mode == MODE_UNDO && e->run.situation.recorded.n_noted;
    owned_run_note_orderly(e, e->request.store && e->request.mode != MODE_SETTLE &&
                                  !e->turn.n_endings && !keeps_notes);
    outputs_seen_save(e);
    phases_fill_result(e, state, result);
    if (!again)
        report(e, CAIRN_EVENT_RUN_FINISHED, NULL);
    else
        rc = progress_keep_retries(e, e->request.retries, error);
    return rc ? rc : again;
}

static int report_as_it_is(struct engine *e, struct cairn_run_result *result,
                           struct cairn_error *error)
{
    owned_run_keep_recorded_row(e);
    engine_clean_live(e, e->run.row.run);
    int rc = engine_remove_stale(e, error);
    if (rc)
        return rc;
    report_notices(e);
    rc = progress_copy_recorded(e, error);
    /* The next call of this attempt begins anew; not after one for a part, which was
     * another call when the run was done. */
    if (!rc && e->run.situation.begun_before && !e->request.options->n_tasks)
        rc = engine_transact(e, -1, owned_run_put_parent, error);
    if (rc)
        return rc;
    outputs_seen_save(e);
    phases_fill_result(e, CAIRN_RUN_COMPLETED, result);
    result->nothing_to_do = true;
    return 0;
}

static int run_or_report_as_is(struct engine *e, struct cairn_run_result *result,
                               struct cairn_error *error)
{
    int rc = owned_run_lock(e, error);
    if (!rc && e->request.mode == MODE_RUN && e->request.store)
        rc = engine_close_epochs(e, error);
    if (!rc)
        rc = owned_run_load(e, error);
    if (rc)
        return rc;
    if (e->request.mode != MODE_RUN && !e->run.situation.recorded.same_graph)
        return error_set(error, CAIRN_EBUSY,
                         "run %llu went on with an edited workflow at this moment; try "
                         "again",
                         (unsigned long long)e->request.run);
    return e->request.mode == MODE_RUN && nothing_to_do(e)
               ? report_as_it_is(e, result, error)
               : run_all(e, result, error);
}

/* Frees the engine. */
static int run_engine(struct engine *e, struct cairn_run_result *result,
                      struct cairn_error *error)
{
    static const struct cairn_run_options defaults;
    struct cairn_run_result local = {0};
    struct runner *own = NULL;
    if (!e->request.runner)
        e->request.runner = own = local_runner_new();
    if (!e->request.options)
        e->request.options = &defaults;
    loop_init(e);
    noting_init(e);
    int rc = e->request.runner ? cairn_workflow_compile(e->request.workflow, error)
                               : error_nomem(error);
    e->request.graph = &e->request.workflow->graph;
    if (!rc)
        rc = run_or_report_as_is(e, &local, error);
    if (rc < 0)
        (void)owned_run_lost(e); /* before anything is tidied up by its path */
    engine_close(e);
    if (own)
        own->ops->free(own);
    free(e);
    if (rc >= 0 && result)
        *result = local;
    return rc;
}

/* An engine with nothing but what it is asked to do. */
static struct engine *engine_new(enum engine_mode mode, struct cairn_workflow *workflow,
                                 struct cairn_store *store, uint64_t run,
                                 const struct cairn_run_options *options)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->request.mode = mode;
    e->request.run = run;
    e->request.workflow = workflow;
    e->request.store = store;
    e->request.options = options;
    return e;
}

/* What a call did before a list was made, and after that. */
static void add_part(struct cairn_run_result *all, const struct cairn_run_result *part)
{
    struct cairn_run_result sum = *part;
    sum.attempts += all->attempts;
    sum.left_behind += all->left_behind;
    sum.lost_outputs += all->lost_outputs;
    sum.damaged |= all->damaged;
    if (all->lost_outputs && (sum.exit_status <= 1 || sum.exit_status == 7))
        sum.exit_status = 9;
    *all = sum;
}

int engine_run(struct cairn_workflow *workflow, struct cairn_store *store,
               const struct cairn_run_options *options, struct runner *runner,
               struct cairn_run_result *result, struct cairn_error *error)
{
    struct cairn_run_options next = {0};
    struct cairn_run_result all = {0};
    struct retries retries = {.arena = ARENA_INIT};
    struct past_attempts past = {0};
    int64_t began_ns = clock_boot_ns();
    int rc;
    if (options)
        next = *options;
    do {
        struct cairn_run_result part = {0};
        struct engine *e = engine_new(MODE_RUN, workflow, store, 0, &next);
        if (e) {
            e->request.runner = runner;
            e->request.retries = &retries;
            e->request.past = &past;
            e->request.spent_ns =
                workflow->going_on ? ns_between(began_ns, clock_boot_ns()) : 0;
        }
        rc = e ? run_engine(e, &part, error) : error_nomem(error);
        add_part(&all, &part);
        /* Nothing that was made is lost if this fails: a resume does the same. */
        next.start = CAIRN_START_RESUME;
        next.run = part.run;
        next.from = NULL;
        workflow->going_on = rc == 1;
    } while (rc == 1);
    arena_release(&retries.arena);
    past_attempts_release(&past);
    if (!rc && result)
        *result = all;
    return rc;
}

int cairn_run(struct cairn_workflow *workflow, struct cairn_store *store,
              const struct cairn_run_options *options, struct cairn_run_result *result,
              struct cairn_error *error)
{
    STRUCT_TAKE(cairn_run_options, options, error);
    if (options && options->output_limit > LIMIT_OUTPUT_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "output_limit is %llu bytes; at most %d can be stored",
                         (unsigned long long)options->output_limit, LIMIT_OUTPUT_MOST);
    const char *dir;
    if (store && store_fork(store, &dir))
        return error_set(error, CAIRN_EUSAGE,
                         "%s has the files of a session of the store %s, where the "
                         "runs are those of another directory: give a store of its own "
                         "for runs from here, with --store",
                         dir, cairn_store_path(store));
    return engine_run(workflow, store, options, NULL, result, error);
}

int engine_settle(struct cairn_workflow *workflow, struct cairn_store *store,
                  uint64_t run, struct cairn_run_result *result,
                  struct cairn_error *error)
{
    struct engine *e = engine_new(MODE_SETTLE, workflow, store, run, NULL);
    return e ? run_engine(e, result, error) : error_nomem(error);
}

int engine_undo(struct cairn_workflow *workflow, struct cairn_store *store,
                uint64_t run, const struct cairn_run_options *options,
                const uint32_t *tasks, uint32_t n, struct cairn_run_result *result,
                struct cairn_error *error)
{
    struct engine *e = engine_new(MODE_UNDO, workflow, store, run, options);
    uint32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    if (!e || !list) {
        free(e);
        free(list);
        return error_nomem(error);
    }
    if (n)
        memcpy(list, tasks, n * sizeof *list);
    undo_open(e, list, n);
    return run_engine(e, result, error);
}
