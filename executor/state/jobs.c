/* SPDX-License-Identifier: MIT */
/* The slots: which are free, whose attempt has each of the others, and the processes
 * around them: spawner, guard, slot file. */
#include "executor/state/command_line.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/limits.h"
#include "base/os.h"

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
        if (d->defs[i].undo.len && d->defs[i].kind != TASK_CALL)
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

/* A job has two files for its output and a pidfd; with secrets also two pipes. What
 * waits in the runner, in `ahead` slots, has all of that but the pidfd. `beside`: slots
 * that do not count as jobs. */
static void bound_by_descriptors(struct engine *e, uint32_t beside, uint32_t *ahead)
{
    enum { OTHERS = 64, OF_OUTPUT = 2, OF_PIPES = 4, OF_PROCESS = 1, OF_KEEPER = 2 };
    const unsigned OF_SHARE = e->shares.open ? 1 : 0;
    struct jobs *jobs = &e->jobs;
    bool keeps = e->request.graph->definition->on_crash == ON_CRASH_ADOPT;
    uint64_t waiting = OF_OUTPUT + (e->run.situation.secrets.redactor ? OF_PIPES : 0);
    uint64_t each = waiting + OF_PROCESS + (keeps ? OF_KEEPER : 0) + OF_SHARE;
    uint64_t left = os_free_descriptors();
    left = left > OTHERS + beside * each ? left - OTHERS - beside * each : 0;
    uint64_t most_ahead = left / 4 / waiting;
    *ahead = most_ahead < AHEAD_MOST ? (uint32_t)most_ahead : AHEAD_MOST;
    uint64_t most = (left - *ahead * waiting) / each;
    if (most < jobs->limit)
        jobs->limit = most ? (uint32_t)most : 1;
}

/* Services, and for each what asks whether it is ready. */
static uint32_t count_beside(const struct engine *e)
{
    return 2 * e->request.graph->n_services;
}

static int pick_port(const struct engine *e, uint16_t *picked)
{
    enum { TRIES = 100 };
    size_t n = (size_t)e->request.graph->n_tasks * e->jobs.ports_each;
    bool taken = true;
    int sys = 0;
    /* One that was picked for another service may not be in use yet. */
    for (int i = 0; taken && i < TRIES && !sys; i++) {
        sys = os_free_port(picked);
        taken = false;
        for (size_t k = 0; k < n && !taken; k++)
            taken = e->jobs.port[k] == *picked;
    }
    return sys;
}

int jobs_pick_ports(struct engine *e, uint32_t service)
{
    uint32_t n = task_def_ports(graph_def(e->request.graph, service));
    int sys = 0;
    for (uint32_t i = 0; i < n && !sys; i++) {
        uint16_t *port = &e->jobs.port[service * e->jobs.ports_each + i], picked = 0;
        if (*port)
            continue;
        sys = pick_port(e, &picked);
        *port = picked;
    }
    return sys;
}

void jobs_forget_ports(struct engine *e, uint32_t service)
{
    uint32_t each = e->jobs.ports_each;
    if (e->jobs.port)
        memset(e->jobs.port + (size_t)service * each, 0, each * sizeof *e->jobs.port);
}

int jobs_open(struct engine *e, struct cairn_error *error)
{
    struct jobs *jobs = &e->jobs;
    uint32_t outlived = e->run.situation.recorded.n_outlived;
    uint32_t noted = e->run.situation.recorded.n_noted;
    assert(noted <= outlived);
    uint32_t ahead = 0, beside = count_beside(e);
    const struct definition *d = e->request.graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        jobs->weighted |= d->defs[i].slots > 1;
        if (task_def_ports(&d->defs[i]) > jobs->ports_each)
            jobs->ports_each = task_def_ports(&d->defs[i]);
    }
    jobs->wanted = jobs->limit = count_jobs(e);
    if (jobs_need_processes(e))
        bound_by_descriptors(e, beside, &ahead);
    if (jobs->limit < outlived - noted)
        jobs->limit = outlived - noted;
    jobs->n = jobs->limit + ahead + beside + (jobs_need_processes(e) ? noted : 0);
    jobs->at = calloc(jobs->n, sizeof *jobs->at);
    jobs->free = calloc(jobs->n, sizeof *jobs->free);
    if (jobs->ports_each)
        jobs->port = calloc((size_t)e->request.graph->n_tasks * jobs->ports_each,
                            sizeof *jobs->port);
    if (!jobs->at || !jobs->free || (jobs->ports_each && !jobs->port))
        return error_nomem(error);
    for (uint32_t i = jobs->n; i-- > 0;) {
        struct job *job = &jobs->at[i];
        job->process.pidfd = job->pipe[0].fd = job->pipe[1].fd = -1;
        job->capture.fd[0] = job->capture.fd[1] = -1;
        jobs->free[jobs->n_free++] = i;
    }
    return 0;
}

int jobs_open_runner(struct engine *e, struct cairn_error *error)
{
    struct jobs *jobs = &e->jobs;
    int rc = slots_create(&jobs->slots, e->run.live_dir, e->run.identity,
                          e->run.row.run, jobs->n, error);
    if (rc || !jobs_need_processes(e))
        return rc;
    if (e->request.store)
        noting_open(e);
    struct runner *runner = e->request.runner;
    rc = runner->ops->open(runner, &jobs->slots, &e->noting.file,
                           jobs->limit + count_beside(e), error);
    jobs->runner_open = !rc;
    if (!rc && runner->news_fd >= 0)
        rc = loop_watch(e, runner->news_fd, WATCH_NEWS, error);
    if (!rc && runner->tend_fd >= 0)
        rc = loop_watch(e, runner->tend_fd, WATCH_TEND, error);
    return rc;
}

/* ---- The end ---- */

void jobs_close_runner(struct engine *e)
{
    if (e->request.runner)
        e->request.runner->ops->close(e->request.runner);
    e->jobs.runner_open = false;
}

static void close_job(struct engine *e, struct job *job)
{
    char path[4200];
    if (!job->used)
        return;
    job_pipes_close(job);
    if (job->capture_open)
        capture_close(&job->capture);
    if (e->run.live_dir) {
        if (job->listed && !job->kept)
            inputs_remove(&job->order.id);
        job->kept = false;
        capture_remove(e->run.live_dir, e->run.row.run, job_index(&e->jobs, job));
        values_path(e, job, path, sizeof path);
        unlink(path);
    }
    if (job->has_held)
        ending_release(&job->held);
    invocation_release(&job->given);
    buf_release(&job->cwd);
    buf_release(&job->outputs);
    buf_release(&job->said);
    free(job->values);
    log_times_release(&job->log_times);
    arena_release(&job->arena);
}

void jobs_close(struct engine *e)
{
    for (uint32_t i = 0; e->jobs.at && i < e->jobs.n; i++)
        close_job(e, &e->jobs.at[i]);
    free(e->jobs.at);
    free(e->jobs.free);
    free(e->jobs.port);
    if (e->jobs.slots.slots)
        slots_close(&e->jobs.slots, !e->run.lost);
}

/* ---- Slots ---- */

static struct attempt_id id_of(const struct engine *e, const struct job *job)
{
    return (struct attempt_id){e->run.live_dir,     e->run.row.run,
                               e->run.row.gen,      job->intent.task,
                               job->intent.attempt, live_store(e->run.identity)};
}

bool task_wants_keeper(const struct engine *e, const struct task_def *def)
{
    const struct definition *d = e->request.graph->definition;
    return d->on_crash == ON_CRASH_ADOPT && e->request.store && !def->n_secrets &&
           !task_def_is_service(def) && !task_def_uses_services(d, def);
}

/* Services live as long as others need them, and must not keep these from running. */
static void note_beside(struct engine *e, struct job *job)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    job->beside = task_def_is_service(def);
    e->jobs.n_beside += job->beside;
    if (job->beside && job->role == ROLE_TASK) {
        assert(e->jobs.n_services < LIMIT_SERVICES);
        e->jobs.service[e->jobs.n_services++] = job_index(&e->jobs, job);
    }
}

static void forget_beside(struct engine *e, struct job *job)
{
    uint32_t i = 0;
    if (!job->beside)
        return;
    e->jobs.n_beside--;
    job->beside = false;
    while (i < e->jobs.n_services && e->jobs.service[i] != job_index(&e->jobs, job))
        i++;
    if (i < e->jobs.n_services)
        e->jobs.service[i] = e->jobs.service[--e->jobs.n_services];
}

/* Of a task that wants more than there are: all. */
static uint32_t slots_of(const struct engine *e, uint32_t task)
{
    uint32_t slots = task_def_slots(graph_def(e->request.graph, task));
    return slots < e->jobs.limit ? slots : e->jobs.limit;
}

bool jobs_have_room(const struct engine *e, uint32_t task)
{
    return e->jobs.used + slots_of(e, task) <= e->jobs.limit || !e->jobs.used;
}

struct job *jobs_take(struct engine *e, const struct intent *intent)
{
    assert(e->jobs.n_free);
    struct job *job = &e->jobs.at[e->jobs.free[--e->jobs.n_free]];
    assert(job->state == JOB_FREE);
    e->jobs.running++;
    job->used = true;
    job->intent = *intent;
    job->role = intent->role;
    job->merged = intent->merged;
    job->kept = job->role == ROLE_TASK &&
                task_wants_keeper(e, graph_def(e->request.graph, intent->task));
    job->adopted = job->edited = job->outside = job->called = false;
    job->ended_ns = 0;
    job->order.id = id_of(e, job);
    job->timed_out = job->cancelled = job->killed = job->dismissed = false;
    job->probe = job->bereft = 0;
    buf_clear(&job->said);
    note_beside(e, job);
    job->slots = job->beside ? 0 : slots_of(e, intent->task);
    e->jobs.used += job->slots;
    job->told[0] = job->told[1] = 0;
    job->seen[0] = job->seen[1] = 0;
    log_times_clear(&job->log_times);
    job->has_held = job->noted = false;
    job->note = NOTE_NONE;
    job->process = (struct runner_process){.pidfd = -1};
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
    noting_return(e, job->note);
    job->note = NOTE_NONE;
    if (e->jobs.slots.slots && e->jobs.slots.slots->slot[index].used) {
        e->jobs.slots.slots->slot[index].used = 0;
        slots_tell(&e->jobs.slots, &e->jobs.slots.slots->slot[index]);
    }
    job_pipes_close(job);
    if (job->listed)
        inputs_remove(&job->order.id);
    job->listed = false;
    if (job->kept) {
        capture_close(&job->capture);
        job->capture_open = job->kept = job->values_ready = false;
    }
    assert(e->jobs.running + e->jobs.n_free == e->jobs.n);
    job->state = JOB_FREE;
    e->jobs.n_outside -= job->outside;
    job->outside = false;
    forget_beside(e, job);
    e->jobs.free[e->jobs.n_free++] = index;
    e->jobs.running--;
    e->jobs.used -= job->slots;
}

void jobs_told_leftovers(struct engine *e)
{
    e->jobs.leftovers_told++;
}

void jobs_set_unsaved(struct engine *e, uint32_t n)
{
    struct slot_map *map = &e->jobs.slots;
    if (!map->slots || map->slots->unsaved == n)
        return;
    map->slots->unsaved = n;
    slots_tell_head(map);
}

/* ---- Processes and calls ---- */

void jobs_submit(struct engine *e, struct job *job)
{
    job->state = JOB_SPAWNING;
    e->jobs.waiting++;
    e->jobs.submitted = true;
    e->jobs.started += job->role == ROLE_TASK;
    e->request.runner->ops->submit(e->request.runner, &job->request);
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
    job->state = request->error ? JOB_OVER : JOB_RUNNING;
    if (!request->error)
        job->process = runner_process_of(request);
}

int jobs_reap(struct engine *e, struct job *job, struct process_end *end,
              struct cairn_error *error)
{
    struct runner *runner = e->request.runner;
    int rc = runner->ops->reap(runner, &job->process, end, error);
    if (!job->process.pid)
        job->state = JOB_OVER;
    return rc;
}

void jobs_free_recalled(struct engine *e, struct job *job)
{
    e->jobs.started--;
    jobs_free(e, job);
}

void jobs_set_call(struct job *job, struct cairn_attempt *call)
{
    job->call = call;
}

void jobs_begin_call(struct engine *e, struct job *job)
{
    job->state = JOB_CALLED;
    job->called = true;
    job->call = NULL;
    job->asked = job->grace_over = false;
    jobs_stamp(e, job);
    e->jobs.n_outside += !job->outside; /* a check follows in the place of its task */
    job->outside = true;
    e->jobs.started += job->role == ROLE_TASK;
}

void jobs_not_called(struct job *job, enum job_state before)
{
    assert(job->state == JOB_CALLED);
    job->state = before;
}

void jobs_end_call(struct job *job)
{
    assert(job->state == JOB_CALLED);
    job->state = JOB_OVER;
    job->call = NULL;
}

void jobs_begin_look(struct job *job, struct look *look, bool inputs)
{
    assert(job->state == (inputs ? JOB_FREE : JOB_OVER));
    job->state = JOB_LOOKING;
    job->look = look;
    job->awaits_inputs = inputs;
}

void jobs_end_look(struct job *job)
{
    assert(job->state == JOB_LOOKING);
    job->look = NULL;
    if (!job->awaits_inputs)
        job->state = JOB_OVER;
}

void jobs_not_begun(struct job *job)
{
    assert(job->state == JOB_LOOKING && job->awaits_inputs && !job->look);
    job->state = JOB_FREE;
}

int jobs_adopt(struct engine *e, struct job *job, const struct keeper *keeper,
               bool edited, struct cairn_error *error)
{
    struct runner *runner = e->request.runner;
    struct slot *slot = &e->jobs.slots.slots->slot[job_index(&e->jobs, job)];
    job->kept = job->adopted = job->outside = job->listed = true;
    job->edited = edited;
    e->jobs.n_outside++;
    job->state = keeper->fate == KEEPER_LIVE ? JOB_RUNNING : JOB_OVER;
    jobs_stamp(e, job);
    job->process =
        (struct runner_process){keeper->pid, keeper->pidfd, slot, true, *keeper};
    job->order.id = keeper->id;
    job->request.context = job;
    if (keeper->pid > 1) { /* else only its end is known */
        keeper_to_slot(keeper, slot);
        slots_tell(&e->jobs.slots, slot);
    }
    return job->state == JOB_RUNNING
               ? runner->ops->adopt(runner, &job->process, &job->request, error)
               : 0;
}

/* The next run takes over an end that is noted, with what the attempt left in the files
 * of its slot, which are removed. A check's are its own. */
static void set_files_aside(struct engine *e, struct job *job)
{
    bool ours = atomic_load(&job->request.note_flags) & NOTE_STOPPED;
    if (!job->noted || job->role != ROLE_TASK || ours || e->run.lost)
        return;
    job_pipes_finish(e, job);
    (void)capture_set_aside(&job->capture, e->run.live_dir, e->run.row.run,
                            job_index(&e->jobs, job), &job->order.id, false);
    values_set_aside(e, job);
}

void jobs_abandon(struct engine *e, struct job *job)
{
    set_files_aside(e, job);
    forget_beside(e, job);
    job->state = JOB_FREE;
    e->jobs.running--;
    e->jobs.used -= job->slots;
}
