/* SPDX-License-Identifier: MIT */
/* Out of memory or a damaged store in the middle of a run. */
#include "executor/give_up.h"

#include "process/spawner.h"

#include <poll.h>
#include <signal.h>

static void end_job(struct engine *e, struct job *job)
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
        (void)keeper_reap(&job->keeper, &e->jobs.slots.slots->slot[job - e->jobs.at],
                          NULL);
    else
        process_reap(job->pid, job->pidfd, &e->jobs.slots.slots->slot[job - e->jobs.at],
                     &unused, NULL);
    jobs_abandon(e, job);
}

static void take_requests(struct engine *e)
{
    struct spawn_request *request =
        e->jobs.spawner ? spawner_collect(e->jobs.spawner) : NULL;
    for (; request; request = request->next) {
        struct job *job = request->context;
        if (job->state != JOB_SPAWNING)
            continue; /* its end, which is looked at below */
        jobs_take_process(e, job, request);
        if (job->state == JOB_SPAWNING)
            jobs_abandon(e, job);
    }
}

static void forget_calls(struct engine *e)
{
    struct cairn_attempt *attempt = calls_take(e);
    while (attempt) {
        struct cairn_attempt *next = attempt->next;
        jobs_abandon(e, &e->jobs.at[attempt->slot]);
        call_release(attempt);
        attempt = next;
    }
}

void engine_give_up(struct engine *e)
{
    enum { PAUSE_MS = 10 };
    struct pollfd pause = {.fd = -1};
    halt_run(e, HALT_KILL, "ending running tasks: the run cannot go on");
    while (e->jobs.running) {
        take_requests(e);
        for (uint32_t i = 0; i < e->jobs.n; i++)
            if (e->jobs.at[i].state == JOB_RUNNING)
                end_job(e, &e->jobs.at[i]);
        forget_calls(e);
        poll(&pause, 0, e->jobs.running ? PAUSE_MS : 0);
    }
}
