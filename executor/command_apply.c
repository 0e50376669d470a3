/* SPDX-License-Identifier: MIT */
/* Commands that other processes stored for the run. They are applied here, and marked
 * as taken in the transaction that stores their effects. */
#include "executor/command_apply.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/failure.h"
#include "executor/attempt/launch.h"
#include "executor/state/report.h"

#include "runs/outputs.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"

/* ---- The task of a command ---- */

/* Commands name tasks by generation and number. One from the generation before this
 * owner is mapped to the present one if the task is still there. */
static uint32_t find_task(const struct engine *e, const struct command_row *row)
{
    const struct recorded *r = &e->run.situation.recorded;
    if (row->gen == e->run.row.gen)
        return row->task < e->request.graph->n_tasks ? row->task : NODE_NONE;
    /* The situation counts by the definition of the records that were found. */
    if (row->gen == r->row.gen && digest_equal(&r->row.graph, &r->recovery.graph))
        return situation_task_now(&e->run.situation, e->request.workflow, row->task);
    return NODE_NONE;
}

static void log_command(struct engine *e, const struct command_row *row, uint32_t task,
                        const char *text)
{
    audit_event(e, EVENT_COMMAND, row->verb, task, str_of(text));
}

/* ---- External tasks ---- */

/* Values, declared outputs, undo: as after a process of ours. */
static int complete_externally(struct engine *e, struct ending *ending, struct str data,
                               struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, ending->row.task, ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    int rc = values_unpack(&arena, data, &result.values, &result.n_values, error);
    if (!rc)
        rc = read_outputs(&asker, &arena, &result, error);
    if (!rc && scope.def->undo.len)
        rc = launch_describe(&asker, scope.def->undo, &arena, &result.undo, error);
    if (!rc)
        rc = ending_keep_result(e, ending, &result, error);
    arena_release(&arena);
    return rc;
}

/* A draft of the attempt that the command ends. NULL: out of memory. */
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

/* Out of memory: the command stays queued for the next owner. */
static void abandon_ending(struct engine *e, struct ending *ending)
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
            abandon_ending(e, ending);
            return;
        }
        ending->row.outcome = CAIRN_FAILED;
        buf_format(&ending->text, "it was completed, but %s", why.text);
    }
    log_command(e, row, task, row->verb == COMMAND_FAIL ? "failed" : "completed");
    settle_ending(e, ending);
}

/* ---- Unknown tasks ---- */

/* Reported as done, so its declared outputs must be there. False: out of memory. */
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

static void resolve_unknown(struct engine *e, const struct command_row *row,
                            uint32_t task)
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
        abandon_ending(e, ending);
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

static void apply_command(struct engine *e, const struct command_row *row)
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
        resolve_unknown(e, row, task);
        break;
    }
    failure_check_settled(e);
}

void commands_apply(struct engine *e)
{
    struct buf data = BUF_INIT;
    struct command_row row;
    struct cairn_error error = {0};
    bool has = false;
    if (!e->request.store ||
        store_has_command(e->request.store, e->run.row.run, &has, NULL, NULL) || !has)
        return;
    for (;;) {
        buf_clear(&data);
        int rc = store_next_command(e->request.store, e->run.row.run,
                                    e->turn.last_command, &row, &data, &error);
        if (rc == CAIRN_EDAMAGED && row.id)
            report(e, CAIRN_EVENT_NOTICE, error.text);
        else if (rc || !row.id)
            break;
        else
            apply_command(e, &row);
        if (e->broken)
            break; /* the command stays queued for the next owner */
        turn_note_command(e, row.id);
    }
    buf_release(&data);
}
