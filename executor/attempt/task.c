/* SPDX-License-Identifier: MIT */
/* The attempt of a task, from its start to its outcome or its check. */
#include "executor/attempt/task.h"

#include "executor/attempt/artifacts.h"
#include "executor/attempt/attempt_result.h"
#include "executor/attempt/call_order.h"
#include "executor/attempt/launch.h"
#include "executor/attempt/round.h"
#include "executor/attempt/service.h"
#include "executor/state/command_line.h"
#include "executor/state/report.h"

#include "base/limits.h"
#include "runs/outputs.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"

/* A `once` task that we ended half-way, by a stop or at its time limit, is unknown, as
 * after a crash; so is one whose end nobody saw, and one that was edited while it ran:
 * what it did is not what it is to do now. */
static uint8_t outcome_of(const struct engine *e, const struct job *job,
                          const struct process_end *end)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    if (def->once && (end->unknown || job_was_asked(job) || job->edited))
        return CAIRN_UNKNOWN;
    if (job->cancelled)
        return CAIRN_CANCELLED;
    if (job->timed_out || job->bereft)
        return CAIRN_FAILED;
    if (end->exit_code == 0)
        return CAIRN_COMPLETED;
    return end->exit_code == def->skip_exit ? CAIRN_EXCLUDED : CAIRN_FAILED;
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

void task_started(struct engine *e, struct job *job)
{
    report_start(e, job);
    if (job->beside)
        service_started(e, job);
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
    if (task_def_is_service(graph_def(e->request.graph, intent->task)))
        service_settled(e, intent->task);
    return 0;
}

static bool check_start(struct engine *e, struct job *job, struct ending *ending);

static void check_or_settle(struct engine *e, struct job *job, struct ending *ending)
{
    if (ending->row.outcome == CAIRN_COMPLETED &&
        graph_def(e->request.graph, job->intent.task)->check.len &&
        check_start(e, job, ending))
        return;
    end_or_repeat(e, job, ending);
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
    if (job->beside)
        return service_ended(e, job, end, ending);
    ending->row.outcome = outcome_of(e, job, end);
    buf_str(&ending->text, buf_view(text));
    if (job->edited)
        buf_format(&ending->text, "%sit was edited since it began",
                   ending->text.size ? "; " : "");
    if (ending->row.outcome == CAIRN_FAILED && !job->timed_out &&
        was_cancelled_inside(e, job, ending))
        ending->row.outcome = CAIRN_CANCELLED;
    if (ending->row.outcome == CAIRN_EXCLUDED)
        buf_format(&ending->text,
                   "%sexit code %d says that there was nothing to do (`skip_exit`)",
                   ending->text.size ? "; " : "", end->exit_code);
    if (!ending->text.size)
        job_describe_end(e, job, ending);
    job_capture(e, job, ending);
    int rc = result_begin(e, job, ending, error);
    if (!rc)
        check_or_settle(e, job, ending);
    return rc == LOOK_WAITS ? 0 : rc;
}

/* ---- The end of a callback ---- */

static void describe_answer(struct ending *ending, enum cairn_outcome outcome,
                            const char *text)
{
    if (outcome == CAIRN_COMPLETED || outcome == CAIRN_CANCELLED)
        ending->row.outcome = (uint8_t)outcome;
    else
        ending->row.outcome = CAIRN_FAILED;
    if (text)
        buf_text(&ending->text, text);
    else if (ending->row.outcome == CAIRN_FAILED && outcome != CAIRN_FAILED)
        buf_format(&ending->text,
                   "its callback answered %d (%s); it can be completed, failed or "
                   "cancelled",
                   (int)outcome, cairn_outcome_name(outcome));
}

static void describe_time_limit(const struct engine *e, struct ending *ending,
                                const char *more)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    ending->row.outcome = def->once ? CAIRN_UNKNOWN : CAIRN_FAILED;
    ending->row.flags |= ATTEMPT_TIMED_OUT;
    buf_clear(&ending->text);
    buf_format(&ending->text, "timed out after %g s%s", (double)def->timeout_ms / 1000,
               more);
}

static void describe_call(const struct engine *e, const struct job *job,
                          const struct call_end *end, struct ending *ending)
{
    static const char left[] = "; its callback has not ended and was left behind";
    bool once = graph_def(e->request.graph, job->intent.task)->once;
    if (job->timed_out)
        describe_time_limit(e, ending, end->left ? left : "");
    else if (end->left) {
        ending->row.outcome = once ? CAIRN_UNKNOWN : CAIRN_CANCELLED;
        buf_format(&ending->text, "cancelled%s", left);
    } else
        describe_answer(ending, end->outcome, end->text);
    if (!end->left && job->bereft && ending->row.outcome == CAIRN_COMPLETED) {
        ending->row.outcome = CAIRN_FAILED;
        buf_clear(&ending->text);
        job_describe_end(e, job, ending);
    }
}

/* Its values, and what undoes it. */
static int take_answer(struct engine *e, struct job *job,
                       const struct cairn_attempt *call, struct cairn_error *error)
{
    struct asker asker = job_asker(e, job);
    struct result *result = &job->result;
    int rc =
        call ? call_values(call, &job->arena, &result->values, &result->n_values, error)
             : 0;
    if (!rc && graph_def(e->request.graph, job->intent.task)->undo.len)
        rc = call_describe_undo(&asker, &job->arena, &result->undo, error);
    return rc;
}

int task_answered(struct engine *e, struct job *job, const struct call_end *end,
                  struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, NULL, error);
    if (!ending)
        return CAIRN_ENOMEM;
    describe_call(e, job, end, ending);
    job->result = (struct result){0};
    job->reading_ns = 0;
    arena_release(&job->arena);
    int rc = ending->row.outcome == CAIRN_COMPLETED
                 ? take_answer(e, job, end->call, error)
                 : 0;
    if (!rc)
        rc = result_begin(e, job, ending, error);
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

/* Checks: after a task has ended well, and to decide what became of an interrupted
 * `once` task. A check runs in the task's slot, under its time limit. */

static int start_check(struct engine *e, struct job *job, struct buf *why)
{
    struct undo_action action;
    struct cairn_error error = {0};
    struct asker asker = job_asker(e, job);
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    if (def->kind == TASK_CALL)
        return call_beside_task(e, job, &def->side->check, NULL, why);
    int rc = launch_describe(&asker, def->check, &job->arena, &action, &error)
                 ?: inputs_open(e, job, &error);
    if (rc) {
        buf_text(why, error.text);
        return rc;
    }
    return launch_action(e, job, &action, why);
}

/* The task itself has ended well. Without its check nobody knows what became of it:
 * what must not run twice does not run again for that. */
static uint8_t outcome_without_answer(const struct engine *e, const struct job *job)
{
    return graph_def(e->request.graph, job->intent.task)->once ? CAIRN_UNKNOWN
           : job->cancelled                                    ? CAIRN_CANCELLED
                                                               : CAIRN_FAILED;
}

static bool check_start(struct engine *e, struct job *job, struct ending *ending)
{
    struct buf why = BUF_INIT;
    if (job->kept) { /* its output is in the ending; the check runs in the plain slot */
        capture_close(&job->capture);
        job->capture_open = job->kept = job->values_ready = false;
    }
    job->role = ROLE_CHECK;
    job->merged = false; /* it answers on stdout */
    job->timed_out = false;
    job->ended_ns = 0;
    bool started = !start_check(e, job, &why);
    if (started) {
        job->held = *ending;
        job->has_held = true;
    } else {
        ending->row.outcome = outcome_without_answer(e, job);
        ending->row.flags |= ATTEMPT_CHECK;
        buf_format(&ending->text, "its check could not be started: %s",
                   why.data ? why.data : "");
    }
    buf_release(&why);
    return started;
}

/* Of what the check wrote to stderr: it explains more than the exit code. */
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

/* It was ended before it could answer, by us, or by a signal from elsewhere; or nobody
 * saw its answer. */
static bool is_unanswered(const struct job *job, const struct process_end *end)
{
    return job->cancelled || job->timed_out || end->signal || end->unknown;
}

static void add_verdict(const struct engine *e, const struct job *job,
                        const struct process_end *end, const struct verdict *verdict,
                        const struct ending *output, struct ending *ending)
{
    struct str line = last_line(&output->captured[1]);
    ending->row.flags |= ATTEMPT_CHECK;
    if (verdict->passed) {
        if (verdict->warned)
            buf_format(&ending->text, "its check warns: %s", verdict->text);
        return;
    }
    ending->row.outcome =
        is_unanswered(job, end) ? outcome_without_answer(e, job) : CAIRN_FAILED;
    if (job->timed_out)
        buf_text(&ending->text, "its check timed out");
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else if (end->unknown)
        buf_text(&ending->text, "the end of its check could not be learned");
    else if (end->signal) {
        buf_text(&ending->text, "its check was ");
        job_describe_signal(end->signal, &ending->text);
    } else
        buf_format(&ending->text, "its check failed: %s%s%.*s", verdict->text,
                   line.len ? ": " : "", (int)line.len, line.ptr);
}

/* `text`: the message of a callback, which answers as a command does on stdout. */
static void read_check_answer(struct engine *e, struct job *job,
                              const struct process_end *end, const struct buf *text,
                              struct ending *output, struct verdict *verdict)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    static const char none[] = "it gave no reason";
    bool bad = job->timed_out || job->cancelled;
    const struct buf *answer = job->called ? text : &output->captured[0].content;
    if (!job->called)
        job_capture(e, job, output);
    verdict_of(bad ? -1 : end->exit_code, buf_view(answer), def->check_min_permille,
               def->check_warn_permille, verdict);
    if (job->called && end->exit_code)
        snprintf(verdict->text, sizeof verdict->text, "%.*s",
                 text->size ? (int)text->size : (int)sizeof none - 1,
                 text->size ? text->data : none);
}

/* At most so much of each stream, from its end. */
enum { CHECK_BYTES = 64 << 10 };

static struct str end_of(const struct captured *captured)
{
    struct str text = buf_view(&captured->content);
    if (text.len > CHECK_BYTES)
        text = (struct str){text.ptr + text.len - CHECK_BYTES, CHECK_BYTES};
    return text;
}

/* What the check wrote, behind what the task wrote: in its log, or where the streams
 * are apart in its stderr, since stdout is the task's alone. */
static void keep_check_output(struct ending *ending, const struct ending *check)
{
    bool merged = ending->row.flags & ATTEMPT_MERGED;
    struct captured *log = &ending->captured[merged ? 0 : 1];
    size_t before = log->content.size;
    if (!check->captured[0].content.size && !check->captured[1].content.size)
        return;
    if (before > LIMIT_OBJECT_BYTES - 3 * CHECK_BYTES)
        return; /* it is stored as one object */
    if (before && log->content.data[before - 1] != '\n')
        buf_byte(&log->content, '\n');
    buf_text(&log->content, "--- its check:\n");
    buf_str(&log->content, end_of(&check->captured[0]));
    buf_str(&log->content, end_of(&check->captured[1]));
    log->bytes += log->content.size - before;
    *(merged ? &ending->row.out_bytes : &ending->row.err_bytes) = log->bytes;
}

static void note_verdict(struct job *job, const struct verdict *verdict)
{
    job->result.checked = true;
    job->result.warned = verdict->warned;
    job->result.confidence = verdict->confidence;
}

/* A check counts only if the declared outputs are there. */
static int judge_outputs(struct engine *e, struct job *job, struct ending *ending,
                         int rc, struct cairn_error *why)
{
    if (rc != CAIRN_ESTOPPED && ending->row.outcome != CAIRN_COMPLETED)
        return 0;
    struct asker asker = job_asker(e, job);
    if (!rc)
        rc = result_add_earlier(e, &asker, &job->arena, &job->result, why);
    if (rc == CAIRN_ESTOPPED) {
        ending_stop_look(e, ending, why->text);
        return 0;
    }
    if (!rc)
        rc = ending_keep_result(e, ending, &job->result, why);
    if (!rc)
        return 0;
    if (is_our_want(why)) {
        ending_release(ending);
        return rc;
    }
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "its check passed, but %s", why->text);
    return 0;
}

/* The result is of what the check has left. */
static bool outputs_are_as_seen(struct engine *e, struct job *job)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    return job->result.n_outputs == 0 ||
           outputs_untouched(&scope, job->result.outputs, job->result.n_outputs);
}

int check_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                 struct cairn_error *why)
{
    rc = judge_outputs(e, job, ending, rc, why);
    if (rc)
        return rc;
    if (ending->row.outcome != CAIRN_COMPLETED)
        ending_drop_result(ending);
    end_or_repeat(e, job, ending);
    return 0;
}

static int finish_check(struct engine *e, struct job *job,
                        const struct process_end *end, const struct verdict *verdict,
                        const struct ending *output, struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, NULL, error);
    if (!ending)
        return CAIRN_ENOMEM;
    int64_t ended_ns = ending->row.ended_ns;
    *ending = job->held;
    job->has_held = false;
    ending->row.ended_ns = ended_ns;
    ending->duration_ms = (ended_ns - ending->row.started_ns) / 1000000;
    keep_check_output(ending, output);
    note_verdict(job, verdict);
    add_verdict(e, job, end, verdict, output, ending);
    struct cairn_error why = {0};
    int rc = 0;
    if (ending->row.outcome == CAIRN_COMPLETED && !outputs_are_as_seen(e, job))
        rc = result_look(e, job, ending, &why);
    if (rc == LOOK_WAITS)
        return 0;
    rc = check_looked(e, job, ending, rc, &why);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

int check_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error)
{
    struct ending output = {0};
    struct verdict verdict = {0};
    read_check_answer(e, job, end, text, &output, &verdict);
    int rc = finish_check(e, job, end, &verdict, &output, error);
    ending_release(&output);
    return rc;
}

/* ---- Unknown tasks ---- */

static void end_decision(struct engine *e, struct job *job, struct ending *ending)
{
    struct cairn_error why = {0};
    struct asker asker = job_asker(e, job);
    if (ending->row.outcome == CAIRN_FAILED &&
        ending_keep_inputs_now(e, &asker, ending, &why)) {
        ending->row.outcome = CAIRN_UNKNOWN;
        buf_format(&ending->text, "; but %s", why.text);
    }
    jobs_free(e, job);
    progress_no_retry(e, ending->row.task);
    if (ending->row.outcome == CAIRN_UNKNOWN) { /* it stays so */
        ending->row.outcome = CAIRN_CANCELLED;
        turn_add_ending(e, ending);
    } else
        settle_ending(e, ending);
}

static void take_output(struct ending *ending, struct ending *check)
{
    for (int i = 0; i < 2; i++) {
        ending->captured[i] = check->captured[i];
        check->captured[i] = (struct captured){0};
    }
    ending->row.out_bytes = check->row.out_bytes;
    ending->row.err_bytes = check->row.err_bytes;
    ending->row.out_head = check->row.out_head;
    ending->row.err_head = check->row.err_head;
}

int decide_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                  struct cairn_error *why)
{
    rc = judge_outputs(e, job, ending, rc, why);
    if (!rc)
        artifacts_then(e, job, ending, end_decision);
    return rc;
}

static int finish_deciding(struct engine *e, struct job *job,
                           const struct process_end *end, const struct verdict *verdict,
                           struct ending *output, struct cairn_error *error)
{
    struct ending *ending = ending_of_job(e, job, job->called ? NULL : end, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->row.outcome = CAIRN_COMPLETED;
    note_verdict(job, verdict);
    add_verdict(e, job, end, verdict, output, ending);
    take_output(ending, output);
    if (ending->row.outcome != CAIRN_COMPLETED) {
        artifacts_then(e, job, ending, end_decision);
        return 0;
    }
    struct cairn_error why = {0};
    int rc = result_look(e, job, ending, &why);
    if (rc == LOOK_WAITS)
        return 0;
    rc = decide_looked(e, job, ending, rc, &why);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

int decide_ended(struct engine *e, struct job *job, const struct process_end *end,
                 const struct buf *text, struct cairn_error *error)
{
    struct ending output = {0};
    struct verdict verdict = {0};
    read_check_answer(e, job, end, text, &output, &verdict);
    int rc = finish_deciding(e, job, end, &verdict, &output, error);
    ending_release(&output);
    return rc;
}

int decide_launch(struct engine *e, struct job *job, struct buf *why)
{
    arena_release(&job->arena);
    job->result = (struct result){0};
    job->reading_ns = 0;
    return start_check(e, job, why);
}

int decide_not_started(struct engine *e, const struct intent *intent,
                       const struct result *read, const char *why,
                       struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, intent, error);
    (void)read;
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
