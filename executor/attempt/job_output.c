/* SPDX-License-Identifier: MIT */
/* What a process leaves when it ends: its output, and its end in words. */
#include "executor/attempt/job_output.h"

#include "executor/parts/pipes.h"
#include "executor/parts/report.h"

#include "base/limits.h"
#include "base/os.h"

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
}

/* Where a keeper's task wrote to a file of its own, no pipe was in between. */
static void redact_captured(const struct engine *e, struct captured *captured)
{
    struct buf head = BUF_INIT, tail = BUF_INIT;
    size_t split = captured->head < captured->content.size ? (size_t)captured->head : 0;
    if (!e->tenure.situation.secrets.redactor || !captured->content.size)
        return;
    buf_add(&head, captured->content.data, split);
    buf_add(&tail, captured->content.data + split, captured->content.size - split);
    redact_buf(e, &head);
    redact_buf(e, &tail);
    captured->head = head.size;
    buf_str(&head, buf_view(&tail));
    head.failed |= tail.failed;
    buf_release(&tail);
    buf_release(&captured->content);
    captured->content = head;
}

void job_capture(struct engine *e, struct job *job, struct ending *ending)
{
    uint64_t limit = e->request.options->output_limit ? e->request.options->output_limit
                                                      : LIMIT_OUTPUT_BYTES;
    struct cairn_error error = {0};
    int rc = 0;
    job_pipes_finish(e, job);
    if (!job->capture_open)
        return;
    for (int i = 0; i < 2 && !rc; i++)
        if (job->capture.fd[i] >= 0)
            rc = capture_read(job->capture.fd[i], limit, &ending->captured[i], &error);
    for (int i = 0; job->kept && i < 2; i++)
        redact_captured(e, &ending->captured[i]);
    ending->row.out_bytes = ending->captured[0].bytes;
    ending->row.err_bytes = ending->captured[1].bytes;
    ending->row.out_head = ending->captured[0].head;
    ending->row.err_head = ending->captured[1].head;
    if (!rc && !job->kept)
        rc = capture_reset(&job->capture, e->tenure.live_dir, e->tenure.row.run,
                           job_index(&e->jobs, job), &error);
    if (!rc)
        return;
    /* Output that cannot be read or a slot that cannot be cleaned is no reason to lose
     * the outcome; the slot's files are made anew for the next attempt. */
    report(e, CAIRN_EVENT_NOTICE, error.text);
    capture_close(&job->capture);
    job->capture_open = false;
}
