/* SPDX-License-Identifier: MIT */
/* The engine's side of callbacks. */
#include "executor/state/engine.h"

static bool has_callbacks(const struct engine *e)
{
    const struct definition *d = e->request.graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].kind == TASK_CALL)
            return true;
    return false;
}

int calls_open(struct engine *e, struct cairn_error *error)
{
    if (e->request.mode == MODE_SETTLE || !has_callbacks(e))
        return 0;
    int rc = call_threads_open(&e->calls.threads, error);
    return rc ? rc
              : loop_watch(e, call_threads_fd(e->calls.threads), WATCH_CALLS, error);
}

void calls_close(struct engine *e)
{
    call_threads_close(e->calls.threads);
}

void calls_ask_to_stop(struct engine *e, struct job *job)
{
    if (job->asked)
        return;
    job->asked = true;
    call_stop(job->call);
    int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
    loop_set_timer(e, TIMER_KILL, grace_ms * 1000000, job_index(&e->jobs, job),
                   job->stamp);
}

void calls_leave(struct engine *e, struct job *job)
{
    call_leave(job->call);
    e->calls.left_behind++;
}
