/* SPDX-License-Identifier: MIT */
/* An attempt that runs under a keeper: its end, and what it was begun by. */
#include "executor/attempt/kept.h"

#include "executor/attempt/attempt_result.h"
#include "executor/state/report.h"

#include "cairn/plan.h"
#include "graph/fingerprint.h"
#include "storage/rows_attempt.h"

/* A keeper looks whether its task has ended before it does what it is asked to: so a
 * task that ended by itself was not cancelled, though we had asked for it. */
static bool was_cancelled(const struct job *job, const struct keeper_record *record)
{
    bool by_itself = record->pid && !record->stopped && !record->timed_out;
    return !by_itself && (job->cancelled || record->stopped);
}

static void read_record(struct job *job, const struct keeper_record *record,
                        struct process_end *end, struct buf *text)
{
    *end = (struct process_end){.exit_code = record->exit_code,
                                .signal = record->signal,
                                .cpu_us = record->cpu_us,
                                .peak_kib = record->peak_kib};
    job->timed_out = record->timed_out;
    job->cancelled = was_cancelled(job, record);
    if (record->started_ns)
        job->started_ns = record->started_ns;
    job->ended_ns = record->ended_ns;
    if (record->error) {
        struct spawn_request failed = {.argv = job->given.vector,
                                       .error = record->error,
                                       .exit_code = record->exit_code,
                                       .stage = record->stage,
                                       .cwd = job->cwd.size ? job->cwd.data : NULL};
        spawn_describe_failure(&failed, text);
    }
}

/* Its keeper was killed, and the task with it: nobody knows how far it came. */
static int settle_lost(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return error_nomem(error);
    ending->row.started_ns = job->started_ns;
    ending->row.flags |= ATTEMPT_INTERRUPTED;
    ending->kept = true;
    ending->id = job->order.id;
    buf_text(&ending->text, "its keeper was killed, and the task with it");
    job_capture(e, job, ending);
    ending->row.outcome = job->cancelled ? CAIRN_CANCELLED : CAIRN_FAILED;
    bool once = graph_def(e->request.graph, job->intent.task)->once;
    if (ending->row.outcome == CAIRN_FAILED && !once)
        ending_keep_inputs(e, &job->result, ending);
    jobs_free(e, job);
    if (!once) {
        settle_ending(e, ending);
        return 0;
    }
    ending->row.outcome = CAIRN_PENDING;
    settle_unknown(e, ending);
    return 0;
}

/* 0: *end is how the task ended; 1: all is settled here. */
int kept_ended(struct engine *e, struct job *job, struct process_end *end,
               struct buf *text, struct cairn_error *error)
{
    struct cairn_error trouble = {0};
    const struct keeper *keeper = &job->process.keeper;
    int rc = keeper->fate == KEEPER_LIVE ? jobs_reap(e, job, end, &trouble) : 0;
    if (rc == CAIRN_EIO && job->process.pid) {
        if (error)
            *error = trouble;
        return rc;
    }
    if (rc)
        report(e, CAIRN_EVENT_NOTICE, trouble.text);
    if (keeper->fate == KEEPER_ENDED) {
        read_record(job, &keeper->record, end, text);
        return 0;
    }
    if (keeper->fate == KEEPER_NEVER) {
        *end = (struct process_end){.exit_code = -1};
        buf_format(text, "it could not be started: %s", strerrordesc_np(keeper->error));
        return 0;
    }
    rc = settle_lost(e, job, error);
    return rc ? rc : 1;
}

/* ---- What it was begun by ---- */

int kept_is_edited(struct engine *e, struct past_definition *past,
                   const struct attempt_id *id, uint32_t task, bool *edited,
                   struct cairn_error *error)
{
    const struct graph *now = e->request.graph;
    struct cairn_error why = {0};
    *edited = false;
    if (id->gen == e->run.row.gen || !graph_def(now, task)->once ||
        e->request.options->on_change == CAIRN_KEEP)
        return 0;
    int rc = past_definition_load(past, e->request.store, &e->run.row, id->gen, &why);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ||
        (!rc && id->task >= past->graph.n_tasks)) {
        *edited = true;
        return 0;
    }
    if (rc)
        return error_set(error, rc, "%s", why.text);
    return task_is_changed(&past->graph, id->task, now, task, edited, error);
}
