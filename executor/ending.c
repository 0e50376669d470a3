/* From the end of an attempt to what it means: an outcome, or a retry. Nothing here
 * writes; the ending waits in the engine's list for the commit. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "executor/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct ending *engine_add_ending(struct engine *e, uint32_t task, uint32_t attempt)
{
    if (e->n_endings == e->endings_capacity) {
        uint32_t capacity = e->endings_capacity ? 2 * e->endings_capacity : 16;
        struct ending *endings = realloc(e->endings, capacity * sizeof *endings);
        if (!endings)
            return NULL;
        e->endings = endings;
        e->endings_capacity = capacity;
    }
    struct ending *ending = &e->endings[e->n_endings++];
    e->unacted++;
    *ending = (struct ending){.row = {.run = e->row.run,
                                      .gen = e->row.gen,
                                      .task = task,
                                      .number = attempt,
                                      .exit_code = -1,
                                      .ended_ns = clock_utc_ns()}};
    return ending;
}

void ending_release(struct ending *ending)
{
    buf_release(&ending->captured[0].content);
    buf_release(&ending->captured[1].content);
    buf_release(&ending->outputs);
    buf_release(&ending->text);
    free(ending->skipped);
}

static void note_skip(void *context, uint32_t task)
{
    struct engine *e = context;
    struct ending *ending = &e->endings[e->n_endings - 1];
    if (ending->n_skipped == ending->skipped_capacity) {
        uint32_t capacity =
            ending->skipped_capacity ? 2 * ending->skipped_capacity : 16;
        uint32_t *skipped = realloc(ending->skipped, capacity * sizeof *skipped);
        if (!skipped) {
            e->broken = true;
            return;
        }
        ending->skipped = skipped;
        ending->skipped_capacity = capacity;
    }
    ending->skipped[ending->n_skipped++] = task;
    e->states.outcome[task] = CAIRN_SKIPPED;
    e->states.attempts[task] = 0;
}

/* ---- Retries ---- */

static bool retry_applies(const struct engine *e, const struct ending *ending)
{
    const struct retry_policy *retry = &graph_def(e->graph, ending->row.task)->retry;
    if (e->halt || e->failures[ending->row.task] > retry->max)
        return false;
    for (uint32_t i = 0; i < retry->n_on_exit; i++)
        if (ending->row.exit_code == retry->on_exit[i])
            return true;
    return retry->n_on_exit == 0;
}

/* delay * factor^(n-1), with jitter of one half to one and a half, capped at a day. */
static int64_t retry_delay_ms(const struct retry_policy *retry, uint32_t failures)
{
    enum { DAY_MS = 86400000 };
    double delay = (double)retry->delay_ms;
    for (uint32_t i = 1; i < failures && delay < DAY_MS; i++)
        delay *= retry->factor_permille / 1000.0;
    if (retry->jitter)
        delay *= 0.5 + (double)(random_u64() >> 11) / (double)(1ull << 53);
    return delay < DAY_MS ? (int64_t)delay : DAY_MS;
}

/* ---- Outcomes ---- */

static void settle(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    enum cairn_outcome outcome = ending->row.outcome;
    const struct graph *g = e->graph;
    if (outcome == CAIRN_FAILED) {
        e->failures[task]++;
        if (retry_applies(e, ending)) {
            ending->next_ms =
                retry_delay_ms(&graph_def(g, task)->retry, e->failures[task]);
            struct timer timer = {clock_mono_ns() + ending->next_ms * 1000000,
                                  TIMER_RETRY, task, 0};
            sched_hold(&e->sched, task);
            e->broken |= timers_add(&e->timers, timer, NULL) != 0;
            return;
        }
    }
    struct change change = {.task = task,
                            .outcome = (uint8_t)outcome,
                            .attempts = ending->row.number,
                            .outputs = ending->outputs_digest};
    ending->final = true;
    e->broken |= states_apply(&e->states, &change, NULL) != 0;
    sched_end(&e->sched, task, outcome, note_skip, e);
    if (outcome == CAIRN_FAILED && g->definition->on_failure == ON_FAILURE_STOP)
        engine_halt(e, HALT_FAILURE);
}

/* A completed attempt must have made what it declared. */
static void check_outputs(struct engine *e, struct ending *ending)
{
    struct cairn_error why = {0};
    if (ending->row.outcome != CAIRN_COMPLETED ||
        !graph_def(e->graph, ending->row.task)->n_outputs)
        return;
    if (!outputs_list(e->graph, ending->row.task, &ending->outputs,
                      &ending->outputs_digest, &why))
        return;
    buf_release(&ending->outputs);
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "it ended well, but %s", why.text);
}

static void free_job(struct engine *e, struct job *job)
{
    uint32_t index = (uint32_t)(job - e->jobs);
    if (e->slots.slots)
        e->slots.slots->slot[index].used = 0;
    job->state = JOB_FREE;
    e->free_jobs[e->n_free++] = index;
    e->running--;
}

/* ---- Processes ---- */

static void describe_end(const struct engine *e, const struct job *job,
                         struct ending *ending)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    if (job->timed_out)
        buf_format(&ending->text, "timed out after %g s",
                   (double)def->timeout_ms / 1000);
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else if (ending->row.signal)
        buf_format(&ending->text, "killed by signal %d (SIG%s)", ending->row.signal,
                   sigabbrev_np(ending->row.signal) ? sigabbrev_np(ending->row.signal)
                                                    : "?");
}

static int capture_output(struct engine *e, struct job *job, struct ending *ending,
                          struct cairn_error *error)
{
    uint64_t limit =
        e->options->output_limit ? e->options->output_limit : LIMIT_OUTPUT_BYTES;
    int result = 0;
    if (!job->capture_open)
        return 0;
    for (int i = 0; i < 2 && !result; i++)
        result = capture_read(job->capture.fd[i], limit, &ending->captured[i], error);
    ending->row.out_bytes = ending->captured[0].bytes;
    ending->row.err_bytes = ending->captured[1].bytes;
    ending->row.out_head = ending->captured[0].head;
    ending->row.err_head = ending->captured[1].head;
    if (!result)
        result = capture_reset(&job->capture, e->live_dir, e->row.run,
                               (uint32_t)(job - e->jobs), error);
    if (!result)
        return 0;
    /* Output that cannot be read or a slot that cannot be cleaned is no reason to lose
     * the outcome; the slot's files are made anew for the next attempt. */
    report(e, CAIRN_EVENT_NOTICE, error ? error->text : "output could not be kept");
    capture_close(&job->capture);
    job->capture_open = false;
    return 0;
}

int engine_exited(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct cairn_error local = {0};
    struct process_end end = {.exit_code = -1};
    uint32_t index = (uint32_t)(job - e->jobs);
    struct ending *ending = engine_add_ending(e, job->task, job->attempt);
    if (!ending)
        return error_nomem(error);
    /* Closing would not end the watch while a child that is just being made, or the
     * spawner, holds a copy; its event would then be taken for the slot's next job. */
    (void)epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, job->pidfd, NULL);
    if (process_reap(job->pid, job->pidfd, &e->slots.slots->slot[index], &end, &local))
        buf_format(&ending->text, "its end could not be learned: %s", local.text);
    ending->row.intent_ns = job->intent_ns;
    ending->row.started_ns = job->started_ns;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->row.exit_code = end.exit_code;
    ending->row.signal = end.signal;
    ending->row.cpu_us = end.cpu_us;
    ending->row.peak_kib = end.peak_kib;
    ending->row.flags = job->timed_out ? ATTEMPT_TIMED_OUT : 0;
    ending->row.outcome = job->cancelled                          ? CAIRN_CANCELLED
                          : end.exit_code == 0 && !job->timed_out ? CAIRN_COMPLETED
                                                                  : CAIRN_FAILED;
    describe_end(e, job, ending);
    capture_output(e, job, ending, &local);
    check_outputs(e, ending);
    free_job(e, job);
    settle(e, ending);
    return 0;
}

static void describe_failure(const struct spawn_request *request, struct ending *ending)
{
    const char *name = request->argv[0];
    if (request->exit_code == 127)
        buf_format(&ending->text,
                   "command not found: %s; install it, or correct the name or PATH",
                   name);
    else if (request->error == E2BIG)
        buf_format(
            &ending->text,
            "cannot execute %s: its arguments and environment together are longer "
            "than the kernel takes (getconf ARG_MAX)",
            name);
    else if (request->exit_code == 126)
        buf_format(&ending->text, "cannot execute %s: %s; is it executable (chmod +x)?",
                   name, strerrordesc_np(request->error));
    else if (request->stage && strcmp(request->stage, "chdir") == 0)
        buf_format(&ending->text, "cannot change to its directory %s: %s",
                   request->cwd ? request->cwd : ".", strerrordesc_np(request->error));
    else
        buf_format(&ending->text, "cannot start a process (%s): %s",
                   request->stage ? request->stage : "spawn",
                   strerrordesc_np(request->error));
}

static int start_timers(struct engine *e, struct job *job, struct cairn_error *error)
{
    int64_t timeout_ms = graph_def(e->graph, job->task)->timeout_ms;
    if (!timeout_ms)
        return 0;
    struct timer timer = {clock_mono_ns() + timeout_ms * 1000000, TIMER_TIMEOUT,
                          (uint32_t)(job - e->jobs), job->stamp};
    return timers_add(&e->timers, timer, error);
}

int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error)
{
    struct job *job = request->context;
    job->started_ns = request->started_ns;
    if (request->pidfd >= 0) {
        job->state = JOB_RUNNING;
        job->pid = request->pid;
        job->pidfd = request->pidfd;
        report_start(e, job);
        if (e->halt >= HALT_STOP)
            job_terminate(e, job);
        return start_timers(e, job, error);
    }
    struct ending *ending = engine_add_ending(e, job->task, job->attempt);
    if (!ending)
        return error_nomem(error);
    ending->row.intent_ns = job->intent_ns;
    ending->row.started_ns = job->started_ns ? job->started_ns : clock_utc_ns();
    ending->row.exit_code = request->exit_code;
    ending->row.outcome = CAIRN_FAILED;
    describe_failure(request, ending);
    free_job(e, job);
    settle(e, ending);
    return 0;
}

int engine_not_started(struct engine *e, const struct intent *intent, int exit_code,
                       const char *text, struct cairn_error *error)
{
    struct ending *ending = engine_add_ending(e, intent->task, intent->attempt);
    if (!ending)
        return error_nomem(error);
    ending->row.intent_ns = intent->intent_ns;
    ending->row.started_ns = clock_utc_ns();
    ending->row.exit_code = exit_code;
    ending->row.outcome = CAIRN_FAILED;
    buf_text(&ending->text, text);
    settle(e, ending);
    return 0;
}

int engine_called(struct engine *e, struct job *job, enum cairn_outcome outcome,
                  const char *text, struct cairn_error *error)
{
    struct ending *ending = engine_add_ending(e, job->task, job->attempt);
    if (!ending)
        return error_nomem(error);
    ending->row.intent_ns = job->intent_ns;
    ending->row.started_ns = job->started_ns;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->row.outcome = outcome == CAIRN_COMPLETED || outcome == CAIRN_CANCELLED
                              ? (uint8_t)outcome
                              : CAIRN_FAILED;
    if (text)
        buf_text(&ending->text, text);
    check_outputs(e, ending);
    free_job(e, job);
    settle(e, ending);
    return 0;
}
