/* SPDX-License-Identifier: MIT */
/* Everything that must exist before the loop, in order, and its orderly end. What was
 * never made is NULL, 0 or -1, so engine_close works from any point of engine_open. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "graph/definition_text.h"
#include "process/live.h"
#include "runs/owner.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Memory ---- */

static int allocate(struct engine *e, struct cairn_error *error)
{
    uint32_t n = e->graph->n_tasks;
    e->attempts = calloc(n, sizeof *e->attempts);
    e->failures = calloc(n, sizeof *e->failures);
    e->jobs = calloc(e->n_jobs, sizeof *e->jobs);
    e->free_jobs = calloc(e->n_jobs, sizeof *e->free_jobs);
    e->sha = sha256_new();
    if (!e->attempts || !e->failures || !e->jobs || !e->free_jobs || !e->sha)
        return error_nomem(error);
    for (uint32_t i = e->n_jobs; i-- > 0;) {
        e->jobs[i].pidfd = e->jobs[i].pipe[0].fd = e->jobs[i].pipe[1].fd = -1;
        e->jobs[i].capture.fd[0] = e->jobs[i].capture.fd[1] = -1;
        e->free_jobs[e->n_free++] = i;
    }
    return 0;
}

static void number_attempts(struct engine *e)
{
    const struct recorded *r = &e->situation.recorded;
    for (uint32_t task = 0; task < e->graph->n_tasks; task++) {
        uint32_t old = e->situation.present.old_task[task];
        if (old != NODE_NONE && r->last_attempt && r->recovered)
            e->attempts[task] = r->last_attempt[old];
    }
}

static uint32_t count_jobs(const struct engine *e)
{
    uint32_t jobs = e->options->jobs ? e->options->jobs : e->graph->definition->jobs;
    if (!jobs) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = processors > 0 ? (uint32_t)processors : 1;
    }
    return jobs < LIMIT_JOBS ? jobs : LIMIT_JOBS;
}

/* ---- Descriptors ---- */

/* Other processes write to this fifo after they have stored a command. */
static int open_wake(struct engine *e, struct cairn_error *error)
{
    live_path(e->wake_path, sizeof e->wake_path, e->live_dir,
              live_of_run(LIVE_WAKE, e->row.run));
    if (unlink(e->wake_path) < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot remove %s", e->wake_path);
    if (mkfifo(e->wake_path, 0600) < 0)
        return error_sys(error, errno, "cannot make %s", e->wake_path);
    /* Read and write: so it never reads as ended when a writer has gone. */
    e->wake_fd = open(e->wake_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return e->wake_fd < 0 ? error_sys(error, errno, "cannot open %s", e->wake_path) : 0;
}

static int open_descriptors(struct engine *e, struct cairn_error *error)
{
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->later_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->epoll_fd < 0 || e->later_fd < 0)
        return error_sys(error, errno, "cannot make a descriptor");
    int rc = loop_watch(e, e->later_fd, WATCH_LATER, error);
    if (!rc && e->store)
        rc = open_wake(e, error);
    if (!rc && e->store)
        rc = loop_watch(e, e->wake_fd, WATCH_WAKE, error);
    if (!rc && e->options->stop)
        rc = loop_watch(e, e->options->stop->fd, WATCH_STOP, error);
    return rc;
}

/* ---- Processes ---- */

static bool has_processes(const struct engine *e)
{
    const struct definition *d = e->graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].kind != TASK_CALL && d->defs[i].kind != TASK_EXTERNAL)
            return true;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].undo.len)
            return true;
    return false;
}

int engine_guard(struct engine *e, struct cairn_error *error)
{
    int rc = guard_start(&e->guard, &e->slots, error);
    e->guarded = !rc;
    return rc ? rc : loop_watch(e, e->guard.pidfd, WATCH_GUARD, error);
}

static int open_processes(struct engine *e, struct cairn_error *error)
{
    if (e->mode == MODE_TURN)
        return 0;
    int rc =
        slots_create(&e->slots, e->live_dir, e->identity, e->row.run, e->n_jobs, error);
    if (rc || !has_processes(e))
        return rc;
    rc = engine_guard(e, error);
    if (!rc)
        rc = spawner_start(&e->spawner, e->limit, error);
    if (!rc)
        rc = loop_watch(e, spawner_fd(e->spawner), WATCH_SPAWNER, error);
    return rc ? rc : environments_open(e, error);
}

/* A run without a store still needs a place for output. */
static int make_temporary(struct engine *e, struct cairn_error *error)
{
    const char *base = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.XXXXXX", base && *base ? base : "/tmp");
    if (path.failed)
        return error_nomem(error);
    if (!mkdtemp(path.data)) {
        int saved = errno;
        buf_release(&path);
        return error_sys(error, saved, "cannot make a temporary directory");
    }
    e->temporary = path.data;
    e->live_dir = e->temporary;
    snprintf(e->identity, sizeof e->identity, "%016llx",
             (unsigned long long)random_u64());
    return 0;
}

/* ---- The store ---- */

static int open_store(struct engine *e, struct cairn_error *error)
{
    e->live_dir = store_live_dir(e->store);
    snprintf(e->identity, sizeof e->identity, "%s", store_id(e->store));
    if (store_read_only(e->store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    return owner_acquire(e->store, e->graph->definition->name, &e->row.workflow,
                         &e->lock_offset, error);
}

/* Durations that the newest run of this very definition measured, for the critical
 * path. */
struct durations {
    uint32_t n, *ms;
};

static int note_duration(void *context, const struct attempt_row *row)
{
    struct durations *d = context;
    int64_t ms = (row->ended_ns - row->started_ns) / 1000000;
    if (row->task < d->n && row->outcome == CAIRN_COMPLETED && row->started_ns &&
        ms > 0)
        d->ms[row->task] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
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

static int weigh(struct engine *e, struct cairn_error *error)
{
    struct predecessor p = {0};
    int rc = e->situation.recorded.latest_run &&
                     e->situation.recorded.latest_run != e->row.run
                 ? store_get_run(e->store, e->situation.recorded.latest_run,
                                 note_predecessor, &p, error)
                 : 0;
    if (rc || !p.run || !digest_equal(&p.graph, &e->situation.present.digest) ||
        p.tasks != e->graph->n_tasks)
        return rc;
    struct durations d = {p.tasks, calloc(p.tasks, sizeof *d.ms)};
    if (!d.ms)
        return error_nomem(error);
    rc =
        store_each_run_attempt(e->store, p.run, p.gen, false, note_duration, &d, error);
    if (!rc)
        rc = graph_weigh(&e->workflow->graph, d.ms, error);
    free(d.ms);
    return rc;
}

/* A task that cannot run because of what was there before. */
static void note_early(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct engine *e = context;
    skip_add(e, &e->early, &e->n_early, &e->early_capacity, task, outcome);
}

/* Which tasks' results are asked for by others. */
static int note_referred(struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->graph->definition;
    struct arena scratch = ARENA_INIT;
    int rc = 0;
    /* No text refers to anything: the usual case of very large workflows. */
    for (uint32_t i = 0; d->by_text.count && i < d->n_defs && !rc; i++) {
        uint32_t *defs;
        int n = definition_referred(d, &d->defs[i], &scratch, &defs);
        if (n > 0 && !e->referred)
            e->referred = calloc(d->n_defs, sizeof *e->referred);
        if (n < 0 || (n > 0 && !e->referred))
            rc = error_nomem(error);
        for (int k = 0; k < n && !rc; k++)
            e->referred[defs[k]] = true;
    }
    arena_release(&scratch);
    return rc;
}

static int check_store(const struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->graph->definition;
    const struct recorded *r = &e->situation.recorded;
    if (e->store && r->recovered) {
        int rc = store_check_keyed(e->store, r->row.run, r->row.keyed, error);
        return e->mode == MODE_RUN ? situation_advise_fresh(rc, error) : rc;
    }
    for (uint32_t i = 0; !e->store && i < d->n_defs; i++)
        if (d->defs[i].kind == TASK_EXTERNAL)
            return error_set(error, CAIRN_EUSAGE,
                             "task %.*s is external: without a store nobody could ever "
                             "complete it",
                             (int)d->defs[i].id.len, d->defs[i].id.ptr);
    return 0;
}

/* Not for a turn, which starts nothing. */
static int check_secrets(const struct engine *e, struct cairn_error *error)
{
    struct str name = secrets_missing(&e->situation.secrets);
    if (!name.len || e->mode == MODE_TURN)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "the secret %.*s is not given: set it in the environment, or pass "
                     "it with --secrets-fd",
                     (int)name.len, name.ptr);
}

static int start_deadline(struct engine *e, struct cairn_error *error)
{
    int64_t deadline_ms = e->graph->definition->deadline_ms;
    if (!deadline_ms || e->mode != MODE_RUN)
        return 0;
    struct timer timer = {clock_mono_ns() + deadline_ms * 1000000, TIMER_DEADLINE, 0,
                          0};
    return timers_add(&e->timers, timer, error);
}

static int open_scheduling(struct engine *e, struct cairn_error *error)
{
    int rc = situation_states(&e->situation, e->workflow, &e->states, error);
    if (!rc && e->store)
        rc = weigh(e, error);
    if (!rc)
        rc = sched_init(&e->sched, e->graph, e->states.outcome, note_early, e, error);
    for (uint32_t i = 0; !rc && i < e->n_early; i++)
        if (e->early[i].outcome == CAIRN_SKIPPED)
            e->early[i].cause = sched_culprit(&e->sched, e->early[i].task);
    if (!rc)
        rc = note_referred(e, error);
    if (!rc && e->broken)
        rc = error_nomem(error);
    return rc;
}

int engine_open(struct engine *e, struct cairn_error *error)
{
    e->limit = count_jobs(e);
    if (e->limit < e->situation.recorded.n_outlived)
        e->limit = e->situation.recorded.n_outlived;
    e->ahead = has_processes(e) ? e->limit : 64;
    e->n_jobs = e->limit + (has_processes(e) ? AHEAD_MOST : 0);
    int rc = check_store(e, error);
    if (!rc)
        rc = check_secrets(e, error);
    if (!rc)
        rc = allocate(e, error);
    if (!rc)
        rc = open_scheduling(e, error);
    if (rc)
        return rc;
    number_attempts(e);
    e->reported = states_tally(&e->states);
    e->lookup =
        (struct lookup){.graph = e->graph, .states = &e->states, .store = e->store};
    rc = e->store ? engine_open_run(e, error) : make_temporary(e, error);
    e->lookup.run = e->row.run;
    if (!rc)
        rc = open_descriptors(e, error);
    if (!rc)
        rc = open_processes(e, error);
    if (!rc && e->mode == MODE_RUN)
        rc = adopt_all(e, error);
    return rc ? rc : start_deadline(e, error);
}

int engine_own(struct engine *e, struct cairn_error *error)
{
    return e->store ? open_store(e, error) : 0;
}

/* ---- The end ---- */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_job(struct engine *e, struct job *job)
{
    char path[4200];
    job_pipes_close(job);
    if (job->capture_open)
        capture_close(&job->capture);
    if (e->live_dir) {
        job->kept = false;
        capture_remove(e->live_dir, e->row.run, (uint32_t)(job - e->jobs));
        values_path(e, job, path, sizeof path);
        unlink(path);
    }
    if (job->has_held)
        ending_release(&job->held);
    buf_release(&job->text);
    buf_release(&job->cwd);
    buf_release(&job->outputs);
    free(job->vector);
    free(job->values);
    arena_release(&job->arena);
}

static void close_jobs(struct engine *e)
{
    for (uint32_t i = 0; e->jobs && i < e->n_jobs; i++)
        close_job(e, &e->jobs[i]);
    free(e->jobs);
    free(e->free_jobs);
}

static void close_lists(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++)
        ending_release(&e->endings[i]);
    free(e->endings);
    free(e->intents);
    free(e->starts);
    free(e->dropped);
    free(e->early);
    turn_forget_offers(e);
    free(e->offers);
    free(e->undo.tasks);
    free(e->referred);
    free(e->events.at);
    buf_release(&e->events.data);
    lookup_release(&e->lookup);
    free(e->attempts);
    free(e->failures);
}

void engine_close(struct engine *e)
{
    if (e->spawner)
        spawner_stop(e->spawner);
    if (e->guarded)
        guard_stop(&e->guard);
    close_jobs(e);
    if (e->slots.slots)
        slots_close(&e->slots, true);
    close_fd(e->epoll_fd);
    close_fd(e->later_fd);
    close_fd(e->wake_fd);
    if (e->wake_path[0])
        unlink(e->wake_path);
    if (e->orderly)
        engine_clean_live(e, e->row.run);
    if (e->temporary)
        rmdir(e->temporary);
    free(e->temporary);
    close_lists(e);
    sched_release(&e->sched);
    states_release(&e->states);
    timers_release(&e->timers);
    sha256_free(e->sha);
    situation_release(&e->situation);
    if (e->lock_offset)
        owner_release(e->store, e->lock_offset);
    arena_release(&e->arena);
}
