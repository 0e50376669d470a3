/* SPDX-License-Identifier: MIT */
/* The first part of a turn: what has happened since the last one. */
#include "executor/collect.h"

#include "executor/attempt/ending.h"
#include "executor/attempt/start.h"
#include "executor/command_apply.h"
#include "executor/due.h"
#include "executor/parts/pipes.h"
#include "executor/parts/report.h"
#include "executor/parts/stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

static void drain(int fd)
{
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

static int collect_exit(struct engine *e, uint64_t what, struct cairn_error *error)
{
    struct job *job = &e->jobs.at[(what & 0xffff) - WATCH_JOB];
    if (job->state != JOB_RUNNING || job_watch(e, job) != what)
        return 0;
    return engine_exited(e, job, error);
}

/* What a task with secrets wrote. */
static void collect_pipe(struct engine *e, uint64_t what)
{
    uint64_t index = (what & 0xffff) - WATCH_PIPE;
    struct job *job = &e->jobs.at[index / 2];
    if (job->state == JOB_RUNNING && job->stamp == what >> 16)
        job_pipe_read(e, job, (int)(index % 2));
}

static int spawned_or_ended(struct engine *e, struct spawn_request *request,
                            struct cairn_error *error)
{
    struct job *job = request->context;
    int rc = 0;
    if (job->state == JOB_SPAWNING) {
        rc = engine_spawned(e, request, error);
        if (!rc && job->state == JOB_RUNNING && !request->watched)
            rc = loop_watch_job(e, job, error);
    }
    if (rc || !request->ended)
        return rc;
    job->ended_ns = request->ended_ns;
    return engine_exited(e, job, error);
}

/* All of them, also after an error: what runs must be known to give_up. */
static int collect_spawned(struct engine *e, struct cairn_error *error)
{
    struct spawn_request *request =
        e->jobs.spawner ? spawner_collect(e->jobs.spawner) : NULL;
    int first = 0;
    while (request) {
        struct spawn_request *next = request->next;
        int rc = spawned_or_ended(e, request, first ? NULL : error);
        if (!first)
            first = rc;
        request = next;
    }
    return first;
}

static int collect_later(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    drain(e->calls.fd);
    struct cairn_attempt *attempt = calls_take(e);
    while (attempt) {
        struct cairn_attempt *next = attempt->next;
        if (!rc)
            rc = engine_called(e, &e->jobs.at[attempt->slot], attempt->outcome,
                               attempt->text, error);
        call_release(attempt);
        attempt = next;
    }
    return rc;
}

/* Somebody killed the guard: without one, a crash of ours could leave orphans. */
static int replace_guard(struct engine *e, struct cairn_error *error)
{
    report(e, CAIRN_EVENT_NOTICE, "the guard process has died; starting another one");
    return jobs_start_guard(e, error);
}

static int handle(struct engine *e, uint64_t what, struct cairn_error *error)
{
    switch (what & 0xffff) {
    case WATCH_LATER:
        return collect_later(e, error);
    case WATCH_WAKE:
        drain(e->loop.wake_fd);
        commands_apply(e);
        return 0;
    case WATCH_STOP:
        drain(e->request.options->stop->fd);
        halt_asked(e);
        return 0;
    case WATCH_GUARD:
        return replace_guard(e, error);
    case WATCH_SPAWNER: /* collect has looked */
        return 0;
    default:
        if ((what & 0xffff) < WATCH_PIPE)
            return collect_exit(e, what, error);
        collect_pipe(e, what);
        return 0;
    }
}

static int next_wait_ms(struct engine *e, enum spawner_rest *rest)
{
    enum { LONGEST_MS = 60000, REST_MS = 4, MS_NS = 1000000 };
    *rest = REST_NOT;
    if (launch_possible(e))
        return 0;
    int64_t lingers_ns = turn_lingers_ns(e);
    /* A call that ended in this turn's second start waits for the next turn's commit.
     */
    bool more = e->turn.unacted &&
                (!e->saving.waits || (e->saving.degraded &&
                                      e->request.options->saving == CAIRN_BEST_EFFORT));
    if (more && !lingers_ns)
        return 0;
    /* What was handed to the spawner starts at once, or when another one ends: no
     * reason to wake us, if we hear of it soon. */
    *rest = lingers_ns ? REST_ENDS : e->jobs.submitted ? REST_STARTS : REST_NOT;
    jobs_clear_submitted(e);
    return timers_wait_ms(&e->loop.timers, loop_now_ns(e),
                          lingers_ns ? (int)((lingers_ns + MS_NS - 1) / MS_NS)
                          : *rest    ? REST_MS
                                     : LONGEST_MS);
}

/* Every end of a child is also a SIGCHLD, which wakes us even where it is ignored: not
 * while we rest. */
static int wait_for_events(struct engine *e, struct epoll_event *events, int most)
{
    sigset_t mask;
    enum spawner_rest rest;
    int wait_ms = next_wait_ms(e, &rest);
    if (!rest)
        return epoll_wait(e->loop.epoll_fd, events, most, wait_ms);
    spawner_rest(e->jobs.spawner, rest,
                 rest == REST_ENDS ? (e->saving.ahead + 1) / 2 : 0);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigaddset(&mask, SIGCHLD);
    return epoll_pwait(e->loop.epoll_fd, events, most, wait_ms, &mask);
}

int engine_collect(struct engine *e, struct cairn_error *error)
{
    enum { AT_ONCE = 64 };
    struct epoll_event events[AT_ONCE];
    int n = wait_for_events(e, events, AT_ONCE);
    if (n < 0 && errno != EINTR)
        return error_sys(error, errno, "cannot wait for events");
    /* Ends before the wish to stop: what had ended by itself was not cancelled. */
    int rc = collect_spawned(e, error);
    for (int i = 0; i < n && !rc; i++)
        if ((events[i].data.u64 & 0xffff) >= WATCH_JOB)
            rc = handle(e, events[i].data.u64, error);
    for (int i = 0; i < n && !rc; i++)
        if ((events[i].data.u64 & 0xffff) < WATCH_JOB)
            rc = handle(e, events[i].data.u64, error);
    return rc ? rc : engine_timers(e, error);
}
