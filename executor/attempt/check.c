/* SPDX-License-Identifier: MIT */
/* Checks: after a task has ended well, and to decide what became of an interrupted
 * `once` task. A check runs in the task's slot, under its time limit. */
#include "executor/attempt/check.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/job_output.h"
#include "executor/attempt/launch.h"
#include "executor/parts/report.h"

#include "runs/outputs.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"

static int start_check(struct engine *e, struct job *job, struct buf *why)
{
    struct undo_action action;
    struct cairn_error error = {0};
    struct asker asker = {&e->progress.lookup, job->intent.task, job->intent.attempt};
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    int rc = launch_describe(&asker, def->check, &job->arena, &action, &error);
    if (rc) {
        buf_text(why, error.text);
        return rc;
    }
    return launch_action(e, job, &action, why);
}

bool check_start(struct engine *e, struct job *job, struct ending *ending)
{
    struct buf why = BUF_INIT;
    if (job->kept) { /* its output is in the ending; the check runs in the plain slot */
        capture_close(&job->capture);
        job->capture_open = job->kept = job->values_ready = false;
    }
    job->role = ROLE_CHECK;
    job->timed_out = false;
    job->ended_ns = 0;
    bool started = !start_check(e, job, &why);
    if (started) {
        job->held = *ending;
        job->has_held = true;
    } else {
        ending->row.outcome = CAIRN_FAILED;
        ending->row.flags |= ATTEMPT_CHECK;
        buf_format(&ending->text, "its check could not be started: %s",
                   why.data ? why.data : "");
    }
    buf_release(&why);
    return started;
}

/* The last line that the check wrote to stderr says more than its exit code. */
static struct str last_line(const struct captured *captured)
{
    struct str text = buf_view(&captured->content);
    while (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    size_t start = text.len;
    while (start && text.ptr[start - 1] != '\n' && text.len - start < 400)
        start--;
    return text.len ? (struct str){text.ptr + start, text.len - start} : STR("");
}

static void add_verdict(const struct job *job, const struct verdict *verdict,
                        const struct ending *heard, struct ending *ending)
{
    struct str line = last_line(&heard->captured[1]);
    ending->row.flags |= ATTEMPT_CHECK;
    if (verdict->passed) {
        if (verdict->warned)
            buf_format(&ending->text, "its check warns: %s", verdict->text);
        return;
    }
    ending->row.outcome = job->cancelled ? CAIRN_CANCELLED : CAIRN_FAILED;
    if (job->timed_out)
        buf_text(&ending->text, "its check timed out");
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else
        buf_format(&ending->text, "its check failed: %s%s%.*s", verdict->text,
                   line.len ? ": " : "", (int)line.len, line.ptr);
}

static void read_check_answer(struct engine *e, struct job *job,
                              const struct process_end *end, struct ending *heard,
                              struct verdict *verdict)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    bool bad = job->timed_out || job->cancelled;
    job_capture(e, job, heard);
    verdict_of(bad ? -1 : end->exit_code, buf_view(&heard->captured[0].content),
               def->check_min_permille, def->check_warn_permille, verdict);
}

static void note_verdict(struct job *job, const struct verdict *verdict)
{
    job->result.checked = true;
    job->result.warned = verdict->warned;
    job->result.confidence = verdict->confidence;
}

static int finish_check(struct engine *e, struct job *job,
                        const struct verdict *verdict, const struct ending *heard,
                        struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, NULL, error);
    if (!ending)
        return CAIRN_ENOMEM;
    int64_t ended_ns = ending->row.ended_ns;
    *ending = job->held;
    job->has_held = false;
    ending->row.ended_ns = ended_ns;
    ending->duration_ms = (ended_ns - ending->row.started_ns) / 1000000;
    note_verdict(job, verdict);
    add_verdict(job, verdict, heard, ending);
    int rc = ending->row.outcome == CAIRN_COMPLETED
                 ? ending_keep_result(e, ending, &job->result, error)
                 : 0;
    if (ending->row.outcome != CAIRN_COMPLETED) {
        buf_clear(&ending->result);
        ending->change.outputs = (struct digest){{0}};
    }
    jobs_free(e, job);
    settle_ending(e, ending);
    return rc;
}

int check_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error)
{
    struct ending heard = {0};
    struct verdict verdict = {0};
    (void)text;
    read_check_answer(e, job, end, &heard, &verdict);
    int rc = finish_check(e, job, &verdict, &heard, error);
    ending_release(&heard);
    return rc;
}

/* ---- Unknown tasks ---- */

/* What an interrupted attempt declared must be there for its check to be believed. */
static void look_for_outputs(struct engine *e, struct job *job, struct ending *ending)
{
    struct cairn_error why = {0};
    struct asker asker = {&e->progress.lookup, job->intent.task, job->intent.attempt};
    struct scope scope = lookup_scope(&asker);
    int rc = 0;
    if (scope.def->n_outputs)
        rc = files_look(&asker, false, &job->arena, &job->result.outputs,
                        &job->result.n_outputs, &why);
    if (!rc)
        rc = ending_keep_result(e, ending, &job->result, &why);
    if (!rc)
        return;
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "its check passed, but %s", why.text);
}

static int finish_deciding(struct engine *e, struct job *job,
                           const struct process_end *end, const struct verdict *verdict,
                           const struct ending *heard, struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, end, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->row.outcome = CAIRN_COMPLETED;
    note_verdict(job, verdict);
    add_verdict(job, verdict, heard, ending);
    if (ending->row.outcome == CAIRN_COMPLETED)
        look_for_outputs(e, job, ending);
    bool cancelled = job->cancelled;
    jobs_free(e, job);
    progress_no_retry(e, ending->row.task); /* what is `once` has none here */
    if (cancelled) {
        ending->row.outcome = CAIRN_CANCELLED; /* it stays unknown */
        turn_add_ending(e, ending);
        return 0;
    }
    settle_ending(e, ending);
    return 0;
}

int decide_ended(struct engine *e, struct job *job, const struct process_end *end,
                 const struct buf *text, struct cairn_error *error)
{
    struct ending heard = {0};
    struct verdict verdict = {0};
    (void)text;
    read_check_answer(e, job, end, &heard, &verdict);
    int rc = finish_deciding(e, job, end, &verdict, &heard, error);
    ending_release(&heard);
    return rc;
}

int decide_launch(struct engine *e, struct job *job, struct buf *why)
{
    arena_release(&job->arena);
    job->result = (struct result){0};
    return start_check(e, job, why);
}

int decide_not_started(struct engine *e, const struct intent *intent, const char *why,
                       struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, intent, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->row.flags |= ATTEMPT_CHECK;
    buf_format(&ending->text, "its check could not be started: %s", why);
    turn_add_ending(e, ending);
    return 0;
}

int decide_unknown(struct engine *e, struct cairn_error *error)
{
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->progress.states.outcome[task] == CAIRN_UNKNOWN &&
            graph_def(e->request.graph, task)->check.len &&
            turn_add_intent(e, task, ROLE_DECIDE))
            return error_nomem(error);
    return 0;
}
