/* SPDX-License-Identifier: MIT */
/* The slots: which are free, whose attempt has each of the others, and the processes
 * around them: spawner, guard, slot file. */
#include "executor/parts/pipes.h"
#include "executor/parts/report.h"
#include "executor/parts/values_file.h"

#include "base/limits.h"
#include "base/os.h"
#include "process/spawner.h"
#include "storage/rows_attempt.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- The beginning ---- */

bool jobs_need_processes(const struct engine *e)
{
    const struct definition *d = e->request.graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].kind != TASK_CALL && d->defs[i].kind != TASK_EXTERNAL)
            return true;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].undo.len)
            return true;
    return false;
}

static uint32_t count_jobs(const struct engine *e)
{
    uint32_t jobs = e->request.options->jobs ? e->request.options->jobs
                                             : e->request.graph->definition->jobs;
    if (!jobs) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = processors > 0 ? (uint32_t)processors : 1;
    }
    return jobs < LIMIT_JOBS ? jobs : LIMIT_JOBS;
}

int jobs_open(struct engine *e, struct cairn_error *error)
{
    struct jobs *jobs = &e->jobs;
    uint32_t outlived = e->tenure.situation.recorded.n_outlived;
    jobs->limit = count_jobs(e);
    if (jobs->limit < outlived)
        jobs->limit = outlived;
    jobs->n = jobs->limit + (jobs_need_processes(e) ? AHEAD_MOST : 0);
    jobs->at = calloc(jobs->n, sizeof *jobs->at);
    jobs->free = calloc(jobs->n, sizeof *jobs->free);
    if (!jobs->at || !jobs->free)
        return error_nomem(error);
    for (uint32_t i = jobs->n; i-- > 0;) {
        struct job *job = &jobs->at[i];
        job->pidfd = job->pipe[0].fd = job->pipe[1].fd = -1;
        job->capture.fd[0] = job->capture.fd[1] = -1;
        jobs->free[jobs->n_free++] = i;
    }
    return 0;
}

int jobs_start_guard(struct engine *e, struct cairn_error *error)
{
    struct jobs *jobs = &e->jobs;
    if (jobs->guarded) {
        loop_unwatch(e, jobs->guard.pidfd);
        guard_stop(&jobs->guard);
    }
    int rc = guard_start(&jobs->guard, &jobs->slots, error);
    jobs->guarded = !rc;
    return rc ? rc : loop_watch(e, jobs->guard.pidfd, WATCH_GUARD, error);
}

int jobs_open_processes(struct engine *e, struct cairn_error *error)
{
    struct jobs *jobs = &e->jobs;
    int rc = slots_create(&jobs->slots, e->tenure.live_dir, e->tenure.identity,
                          e->tenure.row.run, jobs->n, error);
    if (rc || !jobs_need_processes(e))
        return rc;
    rc = jobs_start_guard(e, error);
    if (!rc)
        rc = spawner_start(&jobs->spawner, jobs->limit, error);
    return rc ? rc : loop_watch(e, spawner_fd(jobs->spawner), WATCH_SPAWNER, error);
}

/* ---- The end ---- */

void jobs_stop_processes(struct engine *e)
{
    if (e->jobs.spawner)
        spawner_stop(e->jobs.spawner);
    if (e->jobs.guarded)
        guard_stop(&e->jobs.guard);
}

static void close_job(struct engine *e, struct job *job)
{
    char path[4200];
    job_pipes_close(job);
    if (job->capture_open)
        capture_close(&job->capture);
    if (e->tenure.live_dir) {
        job->kept = false;
        capture_remove(e->tenure.live_dir, e->tenure.row.run, job_index(&e->jobs, job));
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

void jobs_close(struct engine *e)
{
    for (uint32_t i = 0; e->jobs.at && i < e->jobs.n; i++)
        close_job(e, &e->jobs.at[i]);
    free(e->jobs.at);
    free(e->jobs.free);
    if (e->jobs.slots.slots)
        slots_close(&e->jobs.slots, true);
}

/* ---- Slots ---- */

static struct attempt_id id_of(const struct engine *e, const struct job *job)
{
    return (struct attempt_id){e->tenure.live_dir, e->tenure.row.run, e->tenure.row.gen,
                               job->intent.task, job->intent.attempt};
}

bool task_wants_keeper(const struct engine *e, const struct task_def *def)
{
    return e->request.graph->definition->on_crash == ON_CRASH_ADOPT &&
           e->request.store && !def->n_secrets;
}

struct job *jobs_take(struct engine *e, const struct intent *intent)
{
    assert(e->jobs.n_free);
    struct job *job = &e->jobs.at[e->jobs.free[--e->jobs.n_free]];
    assert(job->state == JOB_FREE);
    e->jobs.running++;
    job->intent = *intent;
    job->role = intent->role;
    job->kept = job->role == ROLE_TASK &&
                task_wants_keeper(e, graph_def(e->request.graph, intent->task));
    job->adopted = job->outsider = false;
    job->ended_ns = 0;
    job->order.id = id_of(e, job);
    job->timed_out = job->cancelled = job->killed = false;
    job->has_held = false;
    job->pid = 0;
    job->pidfd = -1;
    if (job->kept && job->capture_open) {
        /* The slot's own files are for attempts that end with us. */
        capture_close(&job->capture);
        job->capture_open = false;
    }
    return job;
}

void jobs_free(struct engine *e, struct job *job)
{
    uint32_t index = job_index(&e->jobs, job);
    if (e->jobs.slots.slots && e->jobs.slots.slots->slot[index].used) {
        e->jobs.slots.slots->slot[index].used = 0;
        slots_tell(&e->jobs.slots, &e->jobs.slots.slots->slot[index]);
    }
    job_pipes_close(job);
    if (job->kept) {
        capture_close(&job->capture);
        job->capture_open = job->kept = job->values_ready = false;
    }
    assert(e->jobs.running + e->jobs.n_free == e->jobs.n);
    job->state = JOB_FREE;
    e->jobs.outsiders -= job->outsider;
    job->outsider = false;
    e->jobs.free[e->jobs.n_free++] = index;
    e->jobs.running--;
}

struct ending *ending_of_job(struct engine *e, const struct job *job,
                             const struct process_end *end, struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return NULL;
    ending->row.started_ns = job->started_ns;
    if (job->ended_ns)
        ending->row.ended_ns = job->ended_ns;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    if (end) {
        ending->row.exit_code = end->exit_code;
        ending->row.signal = end->signal;
    }
    return ending;
}

void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end)
{
    ending->row.cpu_us = end->cpu_us;
    ending->row.peak_kib = end->peak_kib;
    ending->row.flags |= job->timed_out ? ATTEMPT_TIMED_OUT : 0;
}

void jobs_set_unsaved(struct engine *e, uint32_t n)
{
    struct slot_map *map = &e->jobs.slots;
    if (!map->slots || map->slots->unsaved == n)
        return;
    map->slots->unsaved = n;
    slots_tell_head(map);
}

/* What a process writes goes into files of ours: where there is no room for it, it
 * fails of that, and often cannot say so. To be asked before the files are given back.
 */
void job_check_disk(struct engine *e, const struct job *job)
{
    struct buf text = BUF_INIT;
    if (e->jobs.disk_told || job->cancelled || !os_is_full(e->tenure.live_dir))
        return;
    e->jobs.disk_told = true;
    buf_format(&text,
               "what tasks write is kept in %s, where no room is left; tasks may fail "
               "of that: free space, then %s",
               e->tenure.live_dir,
               e->request.store ? "`cairn resume`" : "run it again");
    report(e, CAIRN_EVENT_DISK_FULL, text.failed ? "out of memory" : text.data);
    buf_release(&text);
}

/* ---- Processes and calls ---- */

void jobs_submit(struct engine *e, struct job *job)
{
    job->state = JOB_SPAWNING;
    e->jobs.waiting++;
    e->jobs.submitted = true;
    e->jobs.started += job->role == ROLE_TASK;
    spawner_submit(e->jobs.spawner, &job->request);
}

uint64_t jobs_stamp(struct engine *e, struct job *job)
{
    job->stamp = ++e->jobs.next_stamp;
    return job->stamp;
}

void jobs_clear_submitted(struct engine *e)
{
    e->jobs.submitted = false;
}

void jobs_take_process(struct engine *e, struct job *job,
                       const struct spawn_request *request)
{
    assert(job->state == JOB_SPAWNING && e->jobs.waiting);
    e->jobs.waiting--;
    job->started_ns = request->started_ns;
    if (request->pidfd < 0)
        return;
    job->state = JOB_RUNNING;
    job->pid = request->pid;
    job->pidfd = request->pidfd;
    if (job->kept)
        job->keeper = keeper_of(request);
}

void jobs_free_recalled(struct engine *e, struct job *job)
{
    e->jobs.started--;
    jobs_free(e, job);
}

void jobs_begin_call(struct engine *e, struct job *job)
{
    job->state = JOB_CALLED;
    job->outsider = true;
    e->jobs.outsiders++;
    e->jobs.started++;
}

void jobs_adopt(struct engine *e, struct job *job, const struct keeper *keeper)
{
    struct slot *slot = &e->jobs.slots.slots->slot[job_index(&e->jobs, job)];
    job->kept = job->adopted = job->outsider = true;
    e->jobs.outsiders++;
    job->state = JOB_RUNNING;
    jobs_stamp(e, job);
    job->keeper = *keeper;
    job->order.id = keeper->id;
    job->pid = keeper->pid;
    job->pidfd = keeper->pidfd;
    keeper_to_slot(keeper, slot);
    slots_tell(&e->jobs.slots, slot);
}

void jobs_abandon(struct engine *e, struct job *job)
{
    job->state = JOB_FREE;
    e->jobs.running--;
}
