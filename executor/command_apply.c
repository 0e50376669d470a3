/* SPDX-License-Identifier: MIT */
/* What other processes want of a run: their stored commands are applied here, and
 * marked as taken in the transaction that stores what came of them. */
#include "executor/command_apply.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/failure.h"
#include "executor/attempt/launch.h"
#include "executor/parts/report.h"

#include "runs/outputs.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"

/* ---- Which task is meant ---- */

/* Commands name tasks by generation and number. One of the generation before this owner
 * came is found again if the task is still there. */
static uint32_t find_task(const struct engine *e, const struct command_row *row)
{
    const struct recorded *r = &e->tenure.situation.recorded;
    if (row->gen == e->tenure.row.gen)
        return row->task < e->request.graph->n_tasks ? row->task : NODE_NONE;
    /* old_task counts by the definition of the records that were found. */
    if (row->gen == r->row.gen && digest_equal(&r->row.graph, &r->recovery.graph))
        for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
            if (e->tenure.situation.present.old_task[task] == row->task)
                return task;
    return NODE_NONE;
}

static void log_command(struct engine *e, const struct command_row *row, uint32_t task,
                        const char *text)
{
    audit_event(e, EVENT_COMMAND, row->verb, task, str_of(text));
}

/* ---- External tasks ---- */

/* Values, declared outputs, undo: as if a process of ours had completed. */
static int complete_externally(struct engine *e, struct ending *ending, struct str data,
                               struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, ending->row.task, ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    int rc = values_unpack(&arena, data, &result.values, &result.n_values, error);
    if (!rc && scope.def->n_outputs)
        rc = files_look(&asker, false, &arena, &result.outputs, &result.n_outputs,
                        error);
    if (!rc && scope.def->undo.len)
        rc = launch_describe(&asker, scope.def->undo, &arena, &result.undo, error);
    if (!rc)
        rc = ending_keep_result(e, ending, &result, error);
    arena_release(&arena);
    return rc;
}

/* The attempt that a command stands for. NULL: out of memory. */
static struct ending *draft_external(struct engine *e, const struct command_row *row,
                                     uint32_t task)
{
    struct intent intent = {
        .task = task, .attempt = turn_next_attempt(e, task), .intent_ns = row->time_ns};
    struct ending *ending = turn_draft_ending(e, &intent, NULL);
    if (!ending) {
        engine_break(e);
        return NULL;
    }
    ending->row.started_ns = row->time_ns;
    ending->row.flags |= ATTEMPT_EXTERNAL;
    return ending;
}

/* There is no memory to look at what was reported: the command stays queued for the
 * next owner. */
static void abandon(struct engine *e, struct ending *ending)
{
    turn_take_back_attempt(e, ending->row.task);
    ending_release(ending);
    engine_break(e);
}

static void end_external(struct engine *e, const struct command_row *row, uint32_t task)
{
    struct cairn_error why = {0};
    if (task == NODE_NONE || e->progress.sched.state[task] != OFFERED) {
        log_command(e, row, task, "refused: the task cannot be done now");
        return;
    }
    struct ending *ending = draft_external(e, row, task);
    if (!ending)
        return;
    ending->row.outcome =
        row->verb == COMMAND_COMPLETE ? CAIRN_COMPLETED : CAIRN_FAILED;
    if (row->verb == COMMAND_FAIL)
        buf_str(&ending->text, row->data);
    else if (complete_externally(e, ending, row->data, &why)) {
        if (why.code == CAIRN_ENOMEM) {
            abandon(e, ending);
            return;
        }
        ending->row.outcome = CAIRN_FAILED;
        buf_format(&ending->text, "it was completed, but %s", why.text);
    }
    log_command(e, row, task, row->verb == COMMAND_FAIL ? "failed" : "completed");
    settle_ending(e, ending);
}

/* ---- Unknown tasks ---- */

/* Somebody says that it is done: then what it declares must be there. False: there is
 * no memory to look. */
static bool accept_as_done(struct engine *e, struct ending *ending)
{
    struct cairn_error why = {0};
    ending->row.outcome = CAIRN_COMPLETED;
    if (!complete_externally(e, ending, STR(""), &why))
        return true;
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "resolved as done, but %s", why.text);
    return why.code != CAIRN_ENOMEM;
}

static void resolve(struct engine *e, const struct command_row *row, uint32_t task)
{
    static const char *const texts[] = {"", "done", "failed", "to run again"};
    if (task == NODE_NONE || e->progress.states.outcome[task] != CAIRN_UNKNOWN ||
        row->argument < CAIRN_RESOLVED_DONE || row->argument > CAIRN_RESOLVED_RERUN) {
        log_command(e, row, task, "refused: the task is not unknown");
        return;
    }
    struct ending *ending = draft_external(e, row, task);
    if (!ending)
        return;
    buf_format(&ending->text, "resolved: %s", texts[row->argument]);
    ending->row.outcome = CAIRN_FAILED;
    if (row->argument == CAIRN_RESOLVED_DONE && !accept_as_done(e, ending)) {
        abandon(e, ending);
        return;
    }
    log_command(e, row, task, texts[row->argument]);
    if (row->argument == CAIRN_RESOLVED_RERUN) {
        settle_rerun(e, ending);
        return;
    }
    progress_no_retry(e, task);
    settle_ending(e, ending);
}

/* ---- All of them ---- */

static void apply(struct engine *e, const struct command_row *row)
{
    uint32_t task = row->verb == COMMAND_CANCEL ? NODE_NONE : find_task(e, row);
    switch ((enum command_verb)row->verb) {
    case COMMAND_CANCEL:
        log_command(e, row, UINT32_MAX, "cancel");
        halt_run(e, HALT_STOP, "cancelled by `cairn cancel`");
        break;
    case COMMAND_COMPLETE:
    case COMMAND_FAIL:
        end_external(e, row, task);
        break;
    case COMMAND_RESOLVE:
        resolve(e, row, task);
        break;
    }
    failure_follow(e);
}

void commands_apply(struct engine *e)
{
    struct buf data = BUF_INIT;
    struct command_row row;
    struct cairn_error error = {0};
    bool has = false;
    if (!e->request.store ||
        store_has_command(e->request.store, e->tenure.row.run, &has, NULL, NULL) ||
        !has)
        return;
    for (;;) {
        buf_clear(&data);
        int rc = store_next_command(e->request.store, e->tenure.row.run,
                                    e->turn.last_command, &row, &data, &error);
        if (rc == CAIRN_EDAMAGED && row.id)
            report(e, CAIRN_EVENT_NOTICE, error.text);
        else if (rc || !row.id)
            break;
        else
            apply(e, &row);
        if (e->broken)
            break; /* the command stays for whoever goes on */
        turn_note_command(e, row.id);
    }
    buf_release(&data);
}
