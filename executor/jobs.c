/* SPDX-License-Identifier: MIT */
/* The slots: which are free, and whose attempt has each of the others. */
#include "executor/engine.h"
#include "storage/rows_attempt.h"

static struct attempt_id id_of(const struct engine *e, const struct job *job)
{
    return (struct attempt_id){e->live_dir, e->row.run, e->row.gen, job->intent.task,
                               job->intent.attempt};
}

/* A task with secrets needs us to redact what it writes, so it cannot outlive us. */
bool task_wants_keeper(const struct engine *e, const struct task_def *def)
{
    return e->graph->definition->on_crash == ON_CRASH_ADOPT && e->store &&
           !def->n_secrets;
}

struct job *jobs_take(struct engine *e, const struct intent *intent)
{
    struct job *job = &e->jobs[e->free_jobs[--e->n_free]];
    e->running++;
    job->intent = *intent;
    job->role = intent->role;
    job->kept = job->role == ROLE_TASK &&
                task_wants_keeper(e, graph_def(e->graph, intent->task));
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
    uint32_t index = (uint32_t)(job - e->jobs);
    if (e->slots.slots && e->slots.slots->slot[index].used) {
        e->slots.slots->slot[index].used = 0;
        slots_tell(&e->slots, &e->slots.slots->slot[index]);
    }
    job_pipes_close(job);
    if (job->kept) {
        capture_close(&job->capture);
        job->capture_open = job->kept = job->values_ready = false;
    }
    job->state = JOB_FREE;
    e->outsiders -= job->outsider;
    job->outsider = false;
    e->free_jobs[e->n_free++] = index;
    e->running--;
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
