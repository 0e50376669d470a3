/* SPDX-License-Identifier: MIT */
/* From the end of an attempt to what it means: an outcome, or a retry. Nothing here
 * writes; the ending waits in the engine's list for the commit. */
#include "executor/engine.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "storage/rows_attempt.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct ending *engine_add_ending(struct engine *e, uint32_t task, uint32_t attempt)
{
    struct ending *endings =
        array_room(e->endings, e->n_endings, &e->endings_capacity, sizeof *endings);
    if (!endings)
        return NULL;
    e->endings = endings;
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
    buf_release(&ending->result);
    buf_release(&ending->text);
    free(ending->skipped);
}

/* ---- Skips ---- */

void skip_add(struct engine *e, struct skip **list, uint32_t *n, size_t *capacity,
              uint32_t task, enum cairn_outcome outcome)
{
    e->states.outcome[task] = (uint8_t)outcome;
    e->states.attempts[task] = 0;
    struct skip *grown = array_room(*list, *n, capacity, sizeof *grown);
    if (!grown) {
        e->broken = true;
        return;
    }
    *list = grown;
    /* Before sched_init is over there is nobody to ask: engine_open fills it in. */
    uint32_t cause = outcome == CAIRN_SKIPPED && e->sched.state
                         ? sched_culprit(&e->sched, task)
                         : NODE_NONE;
    (*list)[(*n)++] = (struct skip){task, cause, (uint8_t)outcome};
}

void engine_note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct engine *e = context;
    struct ending *ending = &e->endings[e->n_endings - 1];
    skip_add(e, &ending->skipped, &ending->n_skipped, &ending->skipped_capacity, task,
             outcome);
}

/* ---- Retries ---- */

static bool retry_applies(const struct engine *e, const struct ending *ending)
{
    const struct retry_policy *retry = &graph_def(e->graph, ending->row.task)->retry;
    enum sched_kind kind = sched_kind_of(graph_def(e->graph, ending->row.task));
    if (!(e->sched.allowed & kind) || e->failures[ending->row.task] > retry->max)
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

static void hold_for_retry(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    ending->next_ms =
        retry_delay_ms(&graph_def(e->graph, task)->retry, e->failures[task]);
    ending->row.flags |= ATTEMPT_RETRY;
    struct timer timer = {clock_mono_ns() + ending->next_ms * 1000000, TIMER_RETRY,
                          task, 0};
    sched_hold(&e->sched, task);
    e->broken |= timers_add(&e->timers, timer, NULL) != 0;
}

static void settle_for_good(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->change.task;
    uint8_t outcome = ending->change.outcome;
    ending->final = true;
    e->broken |= states_apply(&e->states, &ending->change, NULL) != 0;
    sched_end(&e->sched, task, outcome, engine_note_skip, e);
    if (ending->n_skipped)
        engine_log_skips(e, ending->skipped, ending->n_skipped);
    if (outcome == CAIRN_FAILED)
        engine_failed(e, task);
    if (outcome != CAIRN_COMPLETED && graph_def(e->graph, task)->when == WHEN_FAILED)
        engine_handler_ended(e, task);
    for (uint32_t i = 0; i < ending->n_skipped; i++)
        if (graph_def(e->graph, ending->skipped[i].task)->when == WHEN_FAILED)
            engine_handler_ended(e, ending->skipped[i].task);
}

void engine_settle(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    engine_redact(e, &ending->text);
    if (ending->row.outcome == CAIRN_FAILED) {
        e->failures[task]++;
        if (retry_applies(e, ending)) {
            hold_for_retry(e, ending);
            return;
        }
    }
    ending->change.task = task;
    ending->change.outcome = ending->row.outcome;
    ending->change.attempts = ending->row.number;
    settle_for_good(e, ending);
}

/* ---- Processes ---- */

void engine_free_job(struct engine *e, struct job *job)
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

static void describe_signal(int signal, struct buf *text)
{
    const char *name = sigabbrev_np(signal);
    buf_format(text, "killed by signal %d (SIG%s)", signal, name ? name : "?");
}

void describe_end(const struct engine *e, const struct job *job, struct ending *ending)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    if (job->timed_out)
        buf_format(&ending->text, "timed out after %g s",
                   (double)def->timeout_ms / 1000);
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else if (ending->row.signal)
        describe_signal(ending->row.signal, &ending->text);
}

/* Where a keeper's task wrote to a file of its own, no pipe was in between. */
void captured_redact(const struct engine *e, struct captured *captured)
{
    struct buf head = BUF_INIT, tail = BUF_INIT;
    size_t split = captured->head < captured->content.size ? (size_t)captured->head : 0;
    if (!e->situation.secrets.redactor || !captured->content.size)
        return;
    buf_add(&head, captured->content.data, split);
    buf_add(&tail, captured->content.data + split, captured->content.size - split);
    engine_redact(e, &head);
    engine_redact(e, &tail);
    captured->head = head.size;
    buf_str(&head, buf_view(&tail));
    head.failed |= tail.failed;
    buf_release(&tail);
    buf_release(&captured->content);
    captured->content = head;
}

void job_capture(struct engine *e, struct job *job, struct ending *ending)
{
    uint64_t limit =
        e->options->output_limit ? e->options->output_limit : LIMIT_OUTPUT_BYTES;
    struct cairn_error error = {0};
    int rc = 0;
    job_pipes_finish(e, job);
    if (!job->capture_open)
        return;
    for (int i = 0; i < 2 && !rc; i++)
        if (job->capture.fd[i] >= 0)
            rc = capture_read(job->capture.fd[i], limit, &ending->captured[i], &error);
    for (int i = 0; job->kept && i < 2; i++)
        captured_redact(e, &ending->captured[i]);
    ending->row.out_bytes = ending->captured[0].bytes;
    ending->row.err_bytes = ending->captured[1].bytes;
    ending->row.out_head = ending->captured[0].head;
    ending->row.err_head = ending->captured[1].head;
    if (!rc && !job->kept)
        rc = capture_reset(&job->capture, e->live_dir, e->row.run,
                           (uint32_t)(job - e->jobs), &error);
    if (!rc)
        return;
    /* Output that cannot be read or a slot that cannot be cleaned is no reason to lose
     * the outcome; the slot's files are made anew for the next attempt. */
    report(e, CAIRN_EVENT_NOTICE, error.text);
    capture_close(&job->capture);
    job->capture_open = false;
}

/* What must not run twice and was ended by us in the middle is as unknown as after a
 * crash. */
static uint8_t outcome_of(const struct engine *e, const struct job *job,
                          const struct process_end *end)
{
    bool once = graph_def(e->graph, job->task)->once;
    return job->cancelled ? once ? CAIRN_UNKNOWN : CAIRN_CANCELLED
           : end->exit_code == 0 && !job->timed_out ? CAIRN_COMPLETED
                                                    : CAIRN_FAILED;
}

static void fill_row(const struct job *job, const struct process_end *end,
                     struct ending *ending)
{
    ending->row.intent_ns = job->intent_ns;
    ending->row.started_ns = job->started_ns;
    ending->row.start_turn = job->start_turn;
    if (job->ended_ns)
        ending->row.ended_ns = job->ended_ns;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->row.exit_code = end->exit_code;
    ending->row.signal = end->signal;
    ending->row.cpu_us = end->cpu_us;
    ending->row.peak_kib = end->peak_kib;
    ending->row.flags |= job->timed_out ? ATTEMPT_TIMED_OUT : 0;
    ending->row.flags |= job->adopted ? ATTEMPT_ADOPTED : 0;
}

static int task_ended(struct engine *e, struct job *job, const struct process_end *end,
                      struct buf *text, struct cairn_error *error)
{
    struct ending *ending = engine_add_ending(e, job->task, job->attempt);
    if (!ending)
        return error_nomem(error);
    fill_row(job, end, ending);
    ending->kept = job->kept;
    ending->id = job->order.id;
    ending->row.outcome = outcome_of(e, job, end);
    buf_str(&ending->text, buf_view(text));
    if (!ending->text.size)
        describe_end(e, job, ending);
    job_capture(e, job, ending);
    engine_check_result(e, job, ending);
    if (ending->row.outcome == CAIRN_COMPLETED &&
        graph_def(e->graph, job->task)->check.len && gate_start(e, job, ending))
        return 0;
    engine_free_job(e, job);
    engine_settle(e, ending);
    return 0;
}

/* What a shell would have made of it, with the signal told in words. Unless the whole
 * group was signalled by us: that ends the shell, too. */
static void end_as_of_shell(const struct job *job, struct process_end *end,
                            struct buf *text)
{
    const struct spawn_request *request = &job->request;
    if (!end->signal || !request->otherwise || request->other || job->cancelled ||
        job->timed_out)
        return;
    describe_signal(end->signal, text);
    end->exit_code = 128 + end->signal;
    end->signal = 0;
}

/* What a process writes goes into files of ours: where there is no room for it, it
 * fails of that, and often cannot say so. To be asked before the files are given back.
 */
static void look_for_room(struct engine *e, const struct job *job)
{
    struct buf text = BUF_INIT;
    if (e->disk_told || job->cancelled || !os_is_full(e->live_dir))
        return;
    e->disk_told = true;
    buf_format(&text,
               "what tasks write is kept in %s, where no room is left; tasks may fail "
               "of that: free space, then %s",
               e->live_dir, e->store ? "`cairn resume`" : "run it again");
    report(e, CAIRN_EVENT_DISK_FULL, text.failed ? "out of memory" : text.data);
    buf_release(&text);
}

static int settle_end(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct process_end end = {.exit_code = -1};
    struct cairn_error local = {0};
    struct buf text = BUF_INIT;
    int rc = 0;
    if (job->kept)
        rc = adopt_ended(e, job, &end, &text, error);
    else if (process_reap(job->pid, job->pidfd, &e->slots.slots->slot[job - e->jobs],
                          &end, &local))
        buf_format(&text, "its end could not be learned: %s", local.text);
    else
        end_as_of_shell(job, &end, &text);
    if (!rc && end.exit_code != 0)
        look_for_room(e, job);
    if (rc)
        rc = rc < 0 ? rc : 0;
    else if (job->role == ROLE_TASK)
        rc = task_ended(e, job, &end, &text, error);
    else if (job->role == ROLE_UNDO)
        rc = undo_ended(e, job, &end, error);
    else
        rc = gate_ended(e, job, &end, error);
    buf_release(&text);
    return rc;
}

int engine_exited(struct engine *e, struct job *job, struct cairn_error *error)
{
    uint64_t ticket = job->stamp; /* the job may have another process afterwards */
    /* Closing would not end the watch while a child that is just being made holds a
     * copy; its event would then be taken for the slot's next job. */
    if (job->watching)
        (void)epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, job->pidfd, NULL);
    job->watching = false;
    int rc = settle_end(e, job, error);
    spawner_go_on(e->spawner, ticket);
    return rc;
}

static int start_timers(struct engine *e, struct job *job, struct cairn_error *error)
{
    int64_t timeout_ms = graph_def(e->graph, job->task)->timeout_ms;
    if (!timeout_ms || job->kept)
        return 0;
    struct timer timer = {clock_mono_ns() + timeout_ms * 1000000, TIMER_TIMEOUT,
                          (uint32_t)(job - e->jobs), job->stamp};
    return timers_add(&e->timers, timer, error);
}

/* There is no process after all. */
static int not_spawned(struct engine *e, struct job *job,
                       const struct spawn_request *request, struct cairn_error *error)
{
    struct process_end end = {.exit_code = request->exit_code};
    struct buf text = BUF_INIT;
    int rc;
    spawn_describe_failure(request, &text);
    job->started_ns = job->started_ns ? job->started_ns : clock_utc_ns();
    if (end.exit_code == 0)
        end.exit_code = -1;
    if (job->role == ROLE_UNDO)
        rc = undo_ended(e, job, &end, error);
    else if (job->role != ROLE_TASK)
        rc = gate_ended(e, job, &end, error);
    else
        rc = task_ended(e, job, &end, &text, error);
    buf_release(&text);
    return rc;
}

/* It was taken back before it had started. */
static int recalled(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct intent intent = {.task = job->task,
                            .attempt = job->attempt,
                            .intent_ns = job->intent_ns,
                            .turn = job->start_turn,
                            .role = job->role};
    e->result->attempts--;
    engine_free_job(e, job);
    return launch_drop(e, &intent) ? error_nomem(error) : 0;
}

int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error)
{
    struct job *job = request->context;
    uint64_t ticket = job->stamp;
    e->waiting--;
    job->started_ns = request->started_ns;
    job_pipes_spawned(job);
    if (request->error == ECANCELED)
        return recalled(e, job, error);
    if (request->pidfd < 0) {
        int rc = not_spawned(e, job, request, error);
        spawner_go_on(e->spawner, ticket);
        return rc;
    }
    job->state = JOB_RUNNING;
    job->pid = request->pid;
    job->pidfd = request->pidfd;
    if (job->kept)
        job->keeper = keeper_of(request);
    if (job->role == ROLE_TASK)
        report_start(e, job);
    int rc = job_pipes_watch(e, job, error);
    if (e->halt >= HALT_STOP && (e->phase == PHASE_MAIN || e->halt == HALT_KILL))
        job_terminate(e, job);
    return rc ? rc : start_timers(e, job, error);
}

int engine_not_started(struct engine *e, const struct intent *intent, int exit_code,
                       const char *text, struct cairn_error *error)
{
    struct ending *ending = engine_add_ending(e, intent->task, intent->attempt);
    if (!ending)
        return error_nomem(error);
    ending->row.intent_ns = intent->intent_ns;
    ending->row.started_ns = clock_utc_ns();
    ending->row.start_turn = intent->turn;
    ending->row.exit_code = exit_code;
    ending->row.outcome = CAIRN_FAILED;
    buf_text(&ending->text, text);
    engine_settle(e, ending);
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
    ending->row.start_turn = job->start_turn;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->row.outcome = outcome == CAIRN_COMPLETED || outcome == CAIRN_CANCELLED
                              ? (uint8_t)outcome
                              : CAIRN_FAILED;
    if (text)
        buf_text(&ending->text, text);
    job->result = (struct result){0};
    arena_release(&job->arena);
    engine_check_result(e, job, ending);
    engine_free_job(e, job);
    engine_settle(e, ending);
    return 0;
}
