/* SPDX-License-Identifier: MIT */
/* The attempt of a task, from its start to its outcome or its check. */
#include "executor/attempt/task.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/check.h"
#include "executor/attempt/job_output.h"
#include "executor/state/report.h"

#include "storage/rows_attempt.h"

/* A `once` task that we ended half-way, by a stop or at its time limit, is unknown, as
 * after a crash; so is one whose end nobody saw, and one that was edited while it ran:
 * what it did is not what it is to do now. */
static uint8_t outcome_of(const struct engine *e, const struct job *job,
                          const struct process_end *end)
{
    bool once = graph_def(e->request.graph, job->intent.task)->once;
    if (once && (end->unknown || job->cancelled || job->timed_out || job->edited))
        return CAIRN_UNKNOWN;
    return job->cancelled                           ? CAIRN_CANCELLED
           : end->exit_code == 0 && !job->timed_out ? CAIRN_COMPLETED
                                                    : CAIRN_FAILED;
}

/* It says so itself (exit code 7): a run that it had begun was cancelled. */
static bool was_cancelled_inside(struct engine *e, const struct job *job,
                                 struct ending *ending)
{
    enum { EXIT_STOPPED = 7 };
    uint64_t run = 0;
    struct run_parent here = {.run = e->run.row.run,
                              .gen = ending->row.gen,
                              .task = job->intent.task,
                              .attempt = job->intent.attempt};
    if (!e->request.store || ending->row.exit_code != EXIT_STOPPED ||
        run_cancelled_inside(e->request.store, &here, &run, NULL) || !run)
        return false;
    if (!ending->text.size)
        buf_format(&ending->text, "run %llu, which it had begun, was cancelled",
                   (unsigned long long)run);
    return true;
}

void task_started(struct engine *e, const struct job *job)
{
    report_start(e, job);
}

int task_not_started(struct engine *e, const struct intent *intent,
                     const struct result *read, const char *why,
                     struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, intent, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->row.started_ns = loop_utc_ns(e);
    ending->row.outcome = CAIRN_FAILED;
    buf_text(&ending->text, why);
    if (read)
        ending_keep_inputs(e, read, ending);
    settle_ending(e, ending);
    return 0;
}

static void check_or_settle(struct engine *e, struct job *job, struct ending *ending)
{
    if (ending->row.outcome == CAIRN_COMPLETED &&
        graph_def(e->request.graph, job->intent.task)->check.len &&
        check_start(e, job, ending))
        return;
    if (ending->row.outcome == CAIRN_FAILED)
        ending_keep_inputs(e, &job->result, ending);
    jobs_free(e, job);
    settle_ending(e, ending);
}

int task_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, end, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending_add_usage(ending, job, end);
    ending->row.flags |= job->adopted ? ATTEMPT_ADOPTED : 0;
    ending->kept = job->kept;
    ending->id = job->order.id;
    ending->row.outcome = outcome_of(e, job, end);
    buf_str(&ending->text, buf_view(text));
    if (job->edited)
        buf_format(&ending->text, "%sit was edited since it began",
                   ending->text.size ? "; " : "");
    if (ending->row.outcome == CAIRN_FAILED && !job->timed_out &&
        was_cancelled_inside(e, job, ending))
        ending->row.outcome = CAIRN_CANCELLED;
    if (!ending->text.size)
        job_describe_end(e, job, ending);
    job_capture(e, job, ending);
    int rc = result_begin(e, job, ending, error);
    if (!rc)
        check_or_settle(e, job, ending);
    return rc == LOOK_WAITS ? 0 : rc;
}

int task_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                struct cairn_error *why)
{
    rc = result_finish(e, job, ending, rc, why);
    if (!rc)
        check_or_settle(e, job, ending);
    return rc;
}
