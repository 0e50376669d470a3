/* SPDX-License-Identifier: MIT */
/* Commands that other processes stored for the run. They are applied here, and marked
 * as taken in the transaction that stores their effects. */
#include "executor/command_apply.h"

#include "executor/attempt/artifacts.h"
#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/launch.h"
#include "executor/state/report.h"

#include "runs/additions.h"
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

/* Who settles a run of nobody has nothing else to do meanwhile. */
static int look_at_outputs(struct engine *e, uint64_t command,
                           const struct asker *asker, struct arena *arena,
                           struct result *result, struct cairn_error *error)
{
    return e->request.mode == MODE_SETTLE
               ? read_outputs(asker, arena, result, error)
               : looks_for_command(e, command, asker, arena, result, error);
}

/* Values, declared outputs, undo: as after a process of ours. LOOK_WAITS: the command
 * is to be applied again. */
static int complete_externally(struct engine *e, const struct command_row *row,
                               struct ending *ending, struct str data,
                               struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    int rc = values_unpack(&arena, data, &result.values, &result.n_values, error)
             ?: result_add_earlier(e, &asker, &arena, &result, error)
             ?: look_at_outputs(e, row->id, &asker, &arena, &result, error);
    if (!rc && scope.def->undo.len)
        rc = launch_describe(&asker, scope.def->undo, &arena, &result.undo, error);
    if (!rc)
        rc = ending_keep_result(e, ending, &result, error);
    arena_release(&arena);
    return rc;
}

struct claim_time {
    uint32_t task;
    int64_t time_ns;
    bool found;
};

static int take_claim_time(void *context, const struct claim_row *row)
{
    struct claim_time *claim = context;
    claim->found |= row->task == claim->task;
    if (row->task == claim->task && row->sum_ok && row->spent)
        claim->time_ns = row->time_ns;
    return 0;
}

/* When somebody began to do it: when it was claimed. Else nothing is known but when it
 * was reported. What cannot be read is no reason not to take the report; without any
 * claim it is void (open_run.c): 0. */
static int64_t begun_externally(const struct engine *e, const struct command_row *row)
{
    struct claim_time claim = {row->task, 0, false};
    int rc = store_each_claim(e->request.store, e->run.row.run, row->gen,
                              take_claim_time, &claim, NULL);
    if (!rc && !claim.found)
        return 0;
    return claim.time_ns > 0 && claim.time_ns < row->time_ns ? claim.time_ns
                                                             : row->time_ns;
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
    int64_t begun_ns = begun_externally(e, row);
    ending->row.started_ns = begun_ns ? begun_ns : row->time_ns;
    ending->row.flags |= ATTEMPT_EXTERNAL;
    return ending;
}

/* Out of memory, or it waits: the command stays queued. */
static bool abandon_ending(struct engine *e, struct ending *ending, int rc)
{
    turn_take_back_attempt(e, ending->row.task);
    ending_release(ending);
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
    return false;
}

/* Those that know nothing about the outputs. */
static bool is_undecided(int rc)
{
    return rc == LOOK_WAITS || rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED;
}

/* Somebody has done a task that is ready and was not chosen: it is offered now, as it
 * is between runs. */
static bool choose_done(struct engine *e, uint32_t task)
{
    uint8_t *aside = e->run.situation.decisions.aside;
    struct sched *sched = &e->progress.sched;
    if (!is_partial(e) || e->halting.level || !aside[task] ||
        sched->state[task] != SHELVED)
        return false;
    aside[task] = false;
    sched_allow(sched, sched->allowed);
    return true;
}

/* False: it stays queued. */
static bool end_external(struct engine *e, const struct command_row *row, uint32_t task)
{
    struct cairn_error why = {0};
    if (task != NODE_NONE && choose_done(e, task))
        return false;
    if (task == NODE_NONE || e->progress.sched.state[task] != OFFERED) {
        log_command(e, row, task, "refused: the task cannot be done now");
        return true;
    }
    if (begun_externally(e, row) == 0) {
        log_command(e, row, task, "refused: it was another question (edited)");
        return true;
    }
    struct ending *ending = draft_external(e, row, task);
    if (!ending)
        return false;
    ending->row.outcome =
        row->verb == COMMAND_COMPLETE ? CAIRN_COMPLETED : CAIRN_FAILED;
    if (row->verb == COMMAND_FAIL)
        buf_str(&ending->text, row->data);
    int rc = row->verb == COMMAND_COMPLETE
                 ? complete_externally(e, row, ending, row->data, &why)
                 : 0;
    if (is_undecided(rc))
        return abandon_ending(e, ending, rc);
    if (rc) {
        ending->row.outcome = CAIRN_FAILED;
        buf_format(&ending->text, "it was completed, but %s", why.text);
    }
    log_command(e, row, task, row->verb == COMMAND_FAIL ? "failed" : "completed");
    settle_ending(e, ending);
    return true;
}

/* ---- Unknown tasks ---- */

/* What it read tells later whether it would fail again. */
static int accept_as_failed(struct engine *e, struct ending *ending)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    ending->row.outcome = CAIRN_FAILED;
    return ending_keep_inputs_now(e, &asker, ending, NULL);
}

/* Reported as done, so its declared outputs must be there. As complete_externally. */
static int accept_as_done(struct engine *e, const struct command_row *row,
                          struct ending *ending)
{
    struct cairn_error why = {0};
    ending->row.outcome = CAIRN_COMPLETED;
    int rc = complete_externally(e, row, ending, STR(""), &why);
    if (!rc || is_undecided(rc))
        return rc;
    buf_format(&ending->text, "resolved as done, but %s", why.text);
    return accept_as_failed(e, ending);
}

/* False: it stays queued. */
static bool resolve_unknown(struct engine *e, const struct command_row *row,
                            uint32_t task)
{
    static const char *const texts[] = {"", "done", "failed", "to run again"};
    if (task == NODE_NONE || e->progress.states.outcome[task] != CAIRN_UNKNOWN ||
        row->argument < CAIRN_RESOLVED_DONE || row->argument > CAIRN_RESOLVED_RERUN) {
        log_command(e, row, task, "refused: the task is not unknown");
        return true;
    }
    struct ending *ending = draft_external(e, row, task);
    if (!ending)
        return false;
    buf_format(&ending->text, "resolved: %s", texts[row->argument]);
    int rc = row->argument == CAIRN_RESOLVED_DONE     ? accept_as_done(e, row, ending)
             : row->argument == CAIRN_RESOLVED_FAILED ? accept_as_failed(e, ending)
                                                      : 0;
    if (rc)
        return abandon_ending(e, ending, rc);
    log_command(e, row, task, texts[row->argument]);
    if (row->argument == CAIRN_RESOLVED_RERUN) {
        settle_rerun(e, ending);
        return true;
    }
    progress_no_retry(e, task);
    artifacts_store(e, ending);
    settle_ending(e, ending);
    return true;
}

/* ---- Added tasks ---- */

/* They belong to the run already. Its owner opens it again to have them, unless it did
 * so for a later command. */
static void take_addition(struct engine *e, const struct command_row *row)
{
    struct cairn_workflow *w = e->request.workflow;
    struct str by, text;
    struct buf said = BUF_INIT;
    bool good = addition_decode(row->data, &by, &text);
    buf_format(&said, "by %.*s", good ? (int)by.len : 0, good ? by.ptr : "");
    if (said.failed)
        engine_break(e);
    else
        log_command(e, row, UINT32_MAX, said.data);
    buf_release(&said);
    if (e->request.mode != MODE_RUN || row->id <= additions_up_to(w, e->run.row.run))
        return;
    w->grows = e->progress.list_made = true;
    if (!awaits_list(e))
        report(e, CAIRN_EVENT_NOTICE,
               "tasks were added, but the run ends: they run when it is resumed");
}

/* They were withdrawn while nobody owned the run. */
static void log_withdrawal(struct engine *e, const struct command_row *row)
{
    struct reader reader = reader_of(row->data.ptr, row->data.len);
    struct str by = read_lstr(&reader), name;
    struct buf said = BUF_INIT;
    uint64_t addition;
    buf_format(&said, "by %.*s:", (int)by.len, by.len ? by.ptr : "");
    while (withdrawal_next(&reader, &addition, &name))
        buf_format(&said, " %.*s", (int)name.len, name.ptr);
    if (said.failed)
        engine_break(e);
    else
        log_command(e, row, UINT32_MAX, said.data);
    buf_release(&said);
}

/* ---- All of them ---- */

/* False: it stays queued, because it waits for a look at outputs, or for the next
 * owner. */
static bool apply_command(struct engine *e, const struct command_row *row)
{
    uint32_t task = row->task == UINT32_MAX ? NODE_NONE : find_task(e, row);
    bool taken = true;
    switch ((enum command_verb)row->verb) {
    case COMMAND_CANCEL:
        log_command(e, row, UINT32_MAX, "cancel");
        halt_cancelled(e);
        break;
    case COMMAND_COMPLETE:
    case COMMAND_FAIL:
        taken = end_external(e, row, task);
        break;
    case COMMAND_RESOLVE:
        taken = resolve_unknown(e, row, task);
        break;
    case COMMAND_ADD:
        take_addition(e, row);
        break;
    case COMMAND_WITHDRAW:
        log_withdrawal(e, row);
        break;
    }
    failure_check_settled(e);
    return taken;
}

/* Commands are taken in their order, but the wish to stop need not wait for those
 * before it. */
static void look_for_cancel(struct engine *e, uint64_t after)
{
    struct buf data = BUF_INIT;
    struct command_row row = {.id = after};
    struct cairn_error error;
    for (;;) {
        buf_clear(&data);
        int rc = store_next_command(e->request.store, e->run.row.run, row.id, &row,
                                    &data, &error);
        if ((rc && rc != CAIRN_EDAMAGED) || !row.id)
            break;
        if (!rc && row.verb == COMMAND_CANCEL)
            halt_cancelled(e);
    }
    buf_release(&data);
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
        else if (!apply_command(e, &row)) {
            look_for_cancel(e, row.id);
            break;
        }
        if (e->broken)
            break; /* the command stays queued for the next owner */
        turn_note_command(e, row.id);
    }
    buf_release(&data);
}
