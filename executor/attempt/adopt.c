/* SPDX-License-Identifier: MIT */
/* Attempts that outlived the cairn that started them (on_crash: adopt), and those of
 * our own that run under a keeper. keeper.h tells the rules. */
#include "executor/attempt/adopt.h"

#include "executor/attempt/ending.h"
#include "executor/attempt/job_output.h"
#include "executor/attempt/launch.h"
#include "executor/parts/report.h"

#include "base/clock.h"
#include "cairn/plan.h"
#include "runs/outputs.h"
#include "storage/rows_attempt.h"

#include <poll.h>
#include <unistd.h>

struct orphan {
    struct attempt_row row;
    struct orphan *next;
};
struct orphans {
    struct engine *e;
    struct orphan *first;
    struct cairn_error *error;
};

static int note_orphan(void *context, const struct attempt_row *row)
{
    struct orphans *o = context;
    const struct recorded *r = &o->e->tenure.situation.recorded;
    if (row->task >= r->states.n || !(r->marks[row->task] & MARK_OUTLIVED))
        return 0;
    struct orphan *orphan = arena_take(&o->e->tenure.arena, 1, sizeof *orphan);
    if (!orphan)
        return error_nomem(o->error);
    *orphan = (struct orphan){.row = {.gen = row->gen,
                                      .task = row->task,
                                      .number = row->number,
                                      .intent_ns = row->intent_ns,
                                      .start_turn = row->start_turn},
                              .next = o->first};
    o->first = orphan;
    return 0;
}

static uint32_t task_now(const struct engine *e, uint32_t old)
{
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->tenure.situation.present.old_task[task] == old)
            return task;
    return NODE_NONE;
}

/* What the attempt read is what is there now, unless that is younger than the attempt;
 * then nobody knows, and a digest of zeros is equal to none. */
static int recall_inputs(const struct asker *asker, struct job *job,
                         struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct result *r = &job->result;
    int rc = files_look(asker, true, &job->arena, &r->inputs, &r->n_inputs, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc)
        r->n_inputs = 0; /* gone: it is found missing at its next decision */
    for (uint32_t i = 0; i < r->n_inputs; i++)
        if (r->inputs[i].ctime_ns >= job->started_ns) {
            r->inputs[i].digest = (struct digest){{0}};
            r->inputs[i].mtime_ns = r->inputs[i].ctime_ns = 0;
        }
    return 0;
}

static int recall(struct engine *e, struct job *job, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    struct asker asker = {&e->progress.lookup, job->intent.task, job->intent.attempt};
    int rc = 0;
    arena_release(&job->arena);
    job->result = (struct result){0};
    if (def->n_inputs)
        rc = recall_inputs(&asker, job, error);
    if (!rc && def->undo.len)
        rc = launch_describe(&asker, def->undo, &job->arena, &job->result.undo, error);
    return rc;
}

static struct intent intent_of(const struct orphan *orphan, uint32_t task)
{
    return (struct intent){.task = task,
                           .attempt = orphan->row.number,
                           .intent_ns = orphan->row.intent_ns,
                           .turn = orphan->row.start_turn};
}

/* A new generation has rows of its own; the old one is not left open for ever. */
static int close_old_row(struct engine *e, const struct orphan *orphan,
                         const char *text, struct cairn_error *error)
{
    struct intent intent = intent_of(orphan, orphan->row.task);
    struct ending *ending = turn_draft_ending(e, &intent, error);
    if (!ending)
        return error_nomem(error);
    ending->row.gen = orphan->row.gen;
    ending->row.flags = ATTEMPT_INTERRUPTED;
    ending->acted = true; /* nothing to report */
    buf_text(&ending->text, text);
    turn_add_ending(e, ending);
    return 0;
}

static int take_over(struct engine *e, const struct orphan *orphan, uint32_t task,
                     struct keeper *keeper, struct cairn_error *error)
{
    struct intent intent = intent_of(orphan, task);
    sched_take_task(&e->progress.sched, task);
    struct job *job = jobs_take(e, &intent);
    if (job->capture_open)
        capture_close(&job->capture);
    job->started_ns = keeper->started_ns ? keeper->started_ns : clock_utc_ns();
    job->capture_open = !capture_attempt_open(&job->capture, &keeper->id, NULL);
    jobs_adopt(e, job, keeper);
    int rc = recall(e, job, error);
    if (!rc && orphan->row.gen != e->tenure.row.gen)
        rc = close_old_row(e, orphan, "taken over", error);
    if (rc)
        return rc;
    if (keeper->fate == KEEPER_LIVE)
        return loop_watch_job(e, job, error);
    return engine_exited(e, job, error);
}

/* Its row was left open at the beginning, because it looked as if it could be kept. */
static int close_orphan(struct engine *e, const struct orphan *orphan, uint32_t task,
                        const struct keeper *keeper, struct cairn_error *error)
{
    struct intent intent = intent_of(orphan, task);
    struct ending *ending = turn_draft_ending(e, &intent, error);
    bool lost = keeper->fate == KEEPER_LOST;
    if (!ending)
        return error_nomem(error);
    ending->row.flags = lost ? ATTEMPT_INTERRUPTED : 0;
    ending->kept = true;
    ending->id = keeper->id;
    buf_text(&ending->text, lost ? "interrupted" : "it had not started");
    if (!lost || !graph_def(e->request.graph, task)->once) {
        turn_add_ending(e, ending);
        return 0;
    }
    sched_take_task(&e->progress.sched, task);
    settle_unknown(e, ending);
    return 0;
}

/* Nobody will ask for its end. */
static void end_stranger(struct engine *e, struct keeper *keeper)
{
    struct ending ending = {.kept = true, .id = keeper->id};
    struct cairn_error trouble = {0};
    struct pollfd end = {.fd = keeper->pidfd, .events = POLLIN};
    enum { PATIENCE_MS = 5000 };
    if (keeper->fate == KEEPER_LIVE) {
        keeper_signal(keeper, KEEPER_KILL);
        if (poll(&end, 1, PATIENCE_MS) > 0 && keeper_reap(keeper, NULL, &trouble))
            report(e, CAIRN_EVENT_NOTICE, trouble.text);
    }
    if (keeper->pidfd >= 0)
        close(keeper->pidfd);
    keeper->pidfd = -1;
    ending_remove_files(&ending);
}

static int adopt_one(struct engine *e, const struct orphan *orphan,
                     struct cairn_error *error)
{
    struct keeper keeper;
    struct attempt_id id = {e->tenure.live_dir, e->tenure.row.run, orphan->row.gen,
                            orphan->row.task, orphan->row.number};
    uint32_t task = task_now(e, orphan->row.task);
    int rc = keeper_look(&keeper, &id, e->tenure.identity, error);
    if (rc)
        return rc;
    /* Edited or dropped since, or not wanted any more: its end would count for nothing.
     */
    if (task == NODE_NONE || e->progress.sched.state[task] != READY ||
        e->tenure.situation.decisions.reason[task] != CAIRN_REASON_ADOPTED) {
        end_stranger(e, &keeper);
        return close_old_row(e, orphan, "ended: its task is not as it was", error);
    }
    /* Stopped before us: for this owner it was interrupted. */
    if (keeper.fate == KEEPER_ENDED && keeper.record.stopped)
        keeper.fate = KEEPER_LOST;
    if (keeper.fate == KEEPER_LIVE || keeper.fate == KEEPER_ENDED)
        return take_over(e, orphan, task, &keeper, error);
    return close_orphan(e, orphan, task, &keeper, error);
}

/* Attempts that the store does not know as open: started while it could not be written,
 * or of an earlier generation. */
static int visit_stranger(void *context, struct keeper *keeper)
{
    struct engine *e = context;
    const struct recorded *r = &e->tenure.situation.recorded;
    uint32_t task = keeper->id.task;
    bool known = keeper->id.gen == r->row.gen && task < r->states.n &&
                 r->marks[task] & MARK_OUTLIVED &&
                 keeper->id.attempt == r->last_attempt[task];
    if (!known)
        end_stranger(e, keeper);
    return 0;
}

int adopt_all(struct engine *e, struct cairn_error *error)
{
    struct orphans orphans = {.e = e, .error = error};
    if (!e->tenure.situation.recorded.recovered || e->request.mode == MODE_TURN ||
        situation_old(&e->tenure.situation, e->request.workflow)
                ->definition->on_crash != ON_CRASH_ADOPT)
        return 0;
    int rc = keepers_each(e->tenure.live_dir, e->tenure.identity, e->tenure.row.run,
                          visit_stranger, e, error);
    if (rc || !e->tenure.situation.recorded.n_outlived)
        return rc;
    rc = store_each_run_attempt(e->request.store, e->tenure.row.run,
                                e->tenure.situation.recorded.row.gen, true, note_orphan,
                                &orphans, error);
    for (const struct orphan *o = orphans.first; o && !rc; o = o->next)
        rc = adopt_one(e, o, error);
    return rc;
}
