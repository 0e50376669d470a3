/* SPDX-License-Identifier: MIT */
/* cairn_run: the loop. See engine.h for the order of a turn and its invariants. */
#include "executor/engine.h"

#include "base/clock.h"
#include "storage/store.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>

static int turn(struct engine *e, struct cairn_error *error)
{
    int rc = engine_start_ready(e, error);
    if (!rc)
        rc = engine_plan_intents(e, error);
    if (!rc && !engine_lingers_ns(e))
        rc = engine_commit(e, error);
    if (!rc)
        rc = engine_start_ready(e, error);
    return !rc && e->broken ? error_nomem(error) : rc;
}

static int begin_loop(struct engine *e, struct cairn_error *error)
{
    struct timer first = {clock_mono_ns(), TIMER_TICK, 0, 0};
    int rc = timers_add(&e->timers, first, error);
    if (!rc && e->mode == MODE_RUN) {
        failure_recall(e);
        rc = decide_unknown(e, error);
    }
    if (!rc)
        rc = turn(e, error); /* what is external is offered now */
    if (!rc)
        commands_apply(e);
    return rc;
}

static int loop(struct engine *e, struct cairn_error *error)
{
    bool over = false;
    int rc = begin_loop(e, error);
    while (!rc) {
        enum phase phase = e->phase;
        rc = engine_advance(e, &over, error);
        if (rc || over)
            break;
        if (e->phase == phase)
            rc = engine_collect(e, error);
        if (!rc)
            rc = turn(e, error);
    }
    return rc;
}

static void give_up_job(struct engine *e, struct job *job)
{
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    struct process_end unused;
    if (job->kept)
        keeper_signal(&job->keeper, KEEPER_KILL);
    else
        process_signal(job->pid, SIGKILL);
    if (poll(&end, 1, 0) <= 0)
        return;
    if (job->kept)
        (void)keeper_reap(&job->keeper, &e->slots.slots->slot[job - e->jobs], NULL);
    else
        process_reap(job->pid, job->pidfd, &e->slots.slots->slot[job - e->jobs],
                     &unused, NULL);
    job->state = JOB_FREE;
    e->running--;
}

static void forget_calls(struct engine *e)
{
    pthread_mutex_lock(&e->later_lock);
    struct cairn_attempt *attempt = e->later;
    e->later = NULL;
    pthread_mutex_unlock(&e->later_lock);
    while (attempt) {
        struct cairn_attempt *next = attempt->next;
        e->jobs[attempt->slot].state = JOB_FREE;
        e->running--;
        free(attempt->text);
        free(attempt);
        attempt = next;
    }
}

/* Out of memory or a damaged store in the middle of it: end what runs. Nothing is
 * decided or written any more; the run stays unfinished and can be resumed. Calls that
 * will finish later are waited for: they hold a handle into the engine. */
static void give_up(struct engine *e)
{
    enum { PAUSE_MS = 10 };
    halt_run(e, HALT_KILL, "ending running tasks: the run cannot go on");
    while (e->running) {
        struct pollfd pause = {.fd = -1};
        struct spawn_request *request = e->spawner ? spawner_collect(e->spawner) : NULL;
        e->waiting = 0;
        for (; request; request = request->next) {
            struct job *job = request->context;
            if (job->state != JOB_SPAWNING)
                continue; /* its end, which is looked at below */
            job->pid = request->pid;
            job->pidfd = request->pidfd;
            job->state = request->pidfd >= 0 ? JOB_RUNNING : JOB_FREE;
            e->running -= job->state == JOB_FREE;
        }
        for (uint32_t i = 0; i < e->n_jobs; i++)
            if (e->jobs[i].state == JOB_RUNNING)
                give_up_job(e, &e->jobs[i]);
        forget_calls(e);
        poll(&pause, 0, e->running ? PAUSE_MS : 0);
    }
}

/* ---- The whole ---- */

static void report_notices(struct engine *e)
{
    for (size_t i = 0; situation_notice(&e->situation, i); i++)
        report(e, CAIRN_EVENT_NOTICE, situation_notice(&e->situation, i));
}

/* How many tasks run; a range where it depends on what happens. */
static const char *count_to_run(const struct decisions *d, char text[64])
{
    uint32_t most = d->will + d->may;
    if (!d->may)
        snprintf(text, 64, "%u of %u tasks to run", d->will, d->n);
    else if (!d->will)
        snprintf(text, 64, "up to %u of %u tasks to run", most, d->n);
    else
        snprintf(text, 64, "%u to %u of %u tasks to run", d->will, most, d->n);
    return text;
}

static void announce(struct engine *e)
{
    char text[256], count[64];
    const struct recorded *r = &e->situation.recorded;
    const struct decisions *d = &e->situation.decisions;
    if (!e->store)
        snprintf(text, sizeof text,
                 "running without a store: this run cannot be resumed");
    else if (e->mode == MODE_UNDO)
        snprintf(text, sizeof text, "undoing %u task%s of run %llu", e->undo.n,
                 e->undo.n == 1 ? "" : "s", (unsigned long long)e->row.run);
    else if (r->recovered)
        snprintf(text, sizeof text, "going on with run %llu: %s",
                 (unsigned long long)e->row.run, count_to_run(d, count));
    else if (r->from_seq)
        snprintf(text, sizeof text,
                 "run %llu forks from checkpoint workflow:%llu of run %llu: %s",
                 (unsigned long long)e->row.run, (unsigned long long)r->from_seq,
                 (unsigned long long)r->from_run, count_to_run(d, count));
    else
        snprintf(text, sizeof text, "run %llu of %s: %u task%s",
                 (unsigned long long)e->row.run, e->graph->definition->name.ptr, d->n,
                 d->n == 1 ? "" : "s");
    report(e, CAIRN_EVENT_RUN_STARTED, text);
    const char *network = e->store ? store_network_fs(e->store) : NULL;
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
    const struct situation *s = &e->situation;
    return s->recorded.recovered && s->decisions.will == 0 && s->decisions.may == 0 &&
           s->recorded.same_graph && s->recorded.row.state == CAIRN_RUN_COMPLETED;
}

static int run_all(struct engine *e, struct cairn_error *error)
{
    int rc = engine_open(e, error);
    if (rc)
        return rc;
    announce(e);
    if (e->mode == MODE_UNDO) {
        e->phase = PHASE_UNDO;
        sched_allow(&e->sched, 0);
    }
    rc = loop(e, error);
    if (rc) {
        give_up(e);
        return rc;
    }
    enum cairn_run_state state = engine_final_state(e);
    rc = engine_commit_end(e, state, error);
    if (rc)
        return rc;
    e->orderly = e->store && e->mode != MODE_TURN && !e->n_endings;
    engine_fill_result(e, state);
    report(e, CAIRN_EVENT_RUN_FINISHED, NULL);
    return 0;
}

static int rest(struct engine *e, struct cairn_error *error)
{
    e->row = e->situation.recorded.row;
    e->result->nothing_to_do = true;
    engine_clean_live(e, e->row.run);
    report_notices(e);
    int rc = states_copy(&e->states, &e->situation.present.states, error);
    if (!rc)
        engine_fill_result(e, CAIRN_RUN_COMPLETED);
    return rc;
}

static int run(struct engine *e, struct cairn_error *error)
{
    int rc = engine_own(e, error);
    if (!rc && e->mode == MODE_RUN && e->store)
        rc = engine_close_rooms(e, error);
    if (!rc)
        rc = e->mode == MODE_RUN
                 ? situation_load(&e->situation, e->workflow, e->store, e->options,
                                  error)
                 : situation_load_as_is(&e->situation, e->workflow, e->store, e->run,
                                        e->options, error);
    if (!rc && e->situation.present.root_gone)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "the directory of the workflow is gone: %s\nPut it back, or "
                       "name the file where it is now: `cairn run FILE`",
                       e->workflow->definition.root.ptr);
    if (rc)
        return rc;
    e->graph = &e->workflow->graph;
    if (e->mode != MODE_RUN && !e->situation.recorded.same_graph)
        return error_set(error, CAIRN_EBUSY,
                         "run %llu went on with an edited workflow at this moment; try "
                         "again",
                         (unsigned long long)e->run);
    e->result->damaged =
        e->situation.recorded.recovered && e->situation.recorded.recovery.n_damaged > 0;
    return e->mode == MODE_RUN && nothing_to_do(e) ? rest(e, error) : run_all(e, error);
}

/* Frees the engine. */
static int run_engine(struct engine *e, struct cairn_run_result *result,
                      struct cairn_error *error)
{
    static const struct cairn_run_options defaults;
    struct cairn_run_result local = {0};
    if (!e->options)
        e->options = &defaults;
    e->result = &local; /* cppcheck-suppress autoVariables; nobody has e afterwards */
    e->epoll_fd = e->wake_fd = e->later_fd = -1;
    pthread_mutex_init(&e->later_lock, NULL);
    int rc = cairn_workflow_compile(e->workflow, error);
    e->graph = &e->workflow->graph;
    if (!rc)
        rc = run(e, error);
    engine_close(e);
    pthread_mutex_destroy(&e->later_lock);
    free(e);
    if (!rc && result)
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
    e->mode = mode;
    e->run = run;
    e->workflow = workflow;
    e->store = store;
    e->options = options;
    return e;
}

int cairn_run(struct cairn_workflow *workflow, struct cairn_store *store,
              const struct cairn_run_options *options, struct cairn_run_result *result,
              struct cairn_error *error)
{
    struct engine *e = engine_new(MODE_RUN, workflow, store, 0, options);
    return e ? run_engine(e, result, error) : error_nomem(error);
}

int engine_turn(struct cairn_workflow *workflow, struct cairn_store *store,
                uint64_t run, struct cairn_run_result *result,
                struct cairn_error *error)
{
    struct engine *e = engine_new(MODE_TURN, workflow, store, run, NULL);
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
    e->undo = (struct undo_list){.tasks = list, .n = n};
    return run_engine(e, result, error);
}
