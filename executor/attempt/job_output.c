/* SPDX-License-Identifier: MIT */
/* What a process or a call that has ended leaves. */
#include "executor/attempt/job_output.h"

#include "executor/state/job_disk.h"
#include "executor/state/pipes.h"
#include "executor/state/report.h"

#include "base/os.h"
#include "storage/rows_attempt.h"

void job_describe_signal(int signal, struct buf *text)
{
    const char *name = sigabbrev_np(signal);
    buf_format(text, "killed by signal %d (SIG%s)", signal, name ? name : "?");
}

void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    if (job->timed_out)
        buf_format(&ending->text, "timed out after %g s",
                   (double)def->timeout_ms / 1000);
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else if (ending->row.signal)
        job_describe_signal(ending->row.signal, &ending->text);
    else if (ending->row.exit_code == 127 && job->request.argv)
        spawn_describe_not_found(&job->request, &ending->text);
}

/* Where its end is noted, its output is there until the outcome is committed. The check
 * of a task writes to the same slot, and must not be taken for the task. */
static int reset_slot(struct engine *e, struct job *job, struct ending *ending,
                      struct cairn_error *error)
{
    bool checked = graph_def(e->request.graph, job->intent.task)->check.len > 0;
    uint32_t slot = job_index(&e->jobs, job);
    if (job->noted && job->role == ROLE_TASK) {
        ending->has_files |=
            capture_set_aside(&job->capture, e->run.live_dir, e->run.row.run, slot,
                              &job->order.id, checked);
    }
    return capture_reset(&job->capture, e->run.live_dir, e->run.row.run, slot, error);
}

void job_capture(struct engine *e, struct job *job, struct ending *ending)
{
    struct cairn_error error = {0};
    int rc = 0;
    job_pipes_finish(e, job);
    if (!job->capture_open)
        return;
    for (int i = 0; i < job_streams(job) && !rc; i++)
        if (job->capture.fd[i] >= 0)
            rc = capture_read(job->capture.fd[i], output_limit(e), &ending->captured[i],
                              &error);
    bool lost = rc != 0;
    for (int i = 0; job->kept && i < 2; i++)
        redact_captured(e, &ending->captured[i]);
    if (job->merged)
        log_times_encode(&job->log_times, job->started_ns, &ending->times);
    memcpy(ending->told, job->told, sizeof ending->told);
    ending->row.out_bytes = ending->captured[0].bytes;
    ending->row.err_bytes = ending->captured[1].bytes;
    ending->row.out_head = ending->captured[0].head;
    ending->row.err_head = ending->captured[1].head;
    if (!rc && !job->kept)
        rc = reset_slot(e, job, ending, &error);
    if (!rc)
        return;
    /* Output that cannot be read, or files that cannot be reset, must not lose the
     * outcome. The slot's files are made again for the next attempt. */
    if (lost)
        job_lose_output(e, job->intent.task, error.text);
    capture_close(&job->capture);
    job->capture_open = false;
}

struct ending *ending_of_job(struct engine *e, struct job *job,
                             const struct process_end *end, struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return NULL;
    ending->row.started_ns = job->started_ns;
    if (job->ended_ns)
        ending->row.ended_ns = job->ended_ns;
    ending->note = job->note;
    job->note = NOTE_NONE;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->reading_ms = job->reading_ns / 1000000;
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
