/* SPDX-License-Identifier: MIT */
/* Commands that other processes stored for the run. They are applied here, and marked
 * as taken in the transaction that stores their effects. */
#include "executor/command_apply.h"

#include "executor/attempt/artifacts.h"
#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/launch.h"
#include "executor/attempt/made.h"
#include "executor/state/before.h"
#include "executor/state/report.h"

#include "base/clock.h"
#include "graph/lists.h"
#include "plan/reuse.h"
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

/* They belong to the run already. Its owner takes them behind the tasks that it has: what
 * runs runs on, and everything keeps its number. Where that is not enough, because what
 * is there depends on them in more ways than that, it opens the run again to have them. */

/* Nothing but tasks of their own, whose state is in what extend_run extends. */
static bool is_plain(const struct engine *e, const struct definition *with,
                     const struct task_def *def)
{
    bool plain = !task_def_is_service(def) && !task_wants_reuse(def) &&
                 def->memory <= e->progress.sched.memory &&
                 (e->shares.open || !task_def_shares_pools(with, def)) &&
                 (e->jobs.weighted || def->slots <= 1) &&
                 (e->jobs.runner_open || def->kind == TASK_EXTERNAL);
    for (uint32_t k = 0; k < def->n_foreach && plain; k++)
        plain = !foreach_is_made(&def->foreach[k]);
    return plain;
}

static bool can_extend(const struct engine *e)
{
    const struct cairn_workflow *w = e->request.workflow;
    return e->phase == PHASE_MAIN && !e->halting.level && !e->saving.degraded &&
           !e->progress.list_made && !e->progress.makes_list && !is_partial(e) &&
           !e->spared && w->name && !w->graph.n_services &&
           (!w->n_additions || w->added_run == e->run.row.run);
}

/* 0; 1: one of them is not, or the run had a task of that name; or an error. */
static int are_plain(struct engine *e, const struct definition *with, uint32_t first)
{
    int rc = 0;
    for (uint32_t i = first; i < with->n_defs && !rc; i++) {
        rc = !is_plain(e, with, &with->defs[i]);
        if (!rc)
            rc = owned_run_had_task(e, with->defs[i].id, NULL);
    }
    return rc;
}

/* 1: nothing has changed. An error cannot be undone. */
static int extend_run(struct engine *e, const struct definition *with, uint32_t first,
                      struct cairn_error *error)
{
    struct cairn_workflow *w = e->request.workflow;
    uint32_t tasks = w->graph.n_tasks, defs = w->definition.n_defs;
    int rc = workflow_append(w, with, first, error);
    if (rc)
        return rc != CAIRN_ENOMEM && w->definition.n_defs == defs ? 1 : rc;
    if (turn_extend(e, tasks) || before_extend(e, tasks) ||
        environments_extend(&e->environments, defs))
        return error_nomem(error);
    made_extend(e);
    rc = owned_run_extend(e, defs, error);
    return rc ? rc : progress_extend(e, tasks, defs, error);
}

/* How many tasks and groups they have. */
static int count_names(const struct addition *all, size_t n, uint32_t *count,
                       struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct name_list names = {0};
    int rc = 0;
    *count = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = addition_tasks(&all[i], &arena, &names, error);
        *count += (uint32_t)names.n;
        arena_release(&arena);
    }
    return rc;
}

/* `all`: those that the last `fresh` ones name, and these. 1: nothing has changed. */
static int extend_with(struct engine *e, struct addition *all, size_t n, size_t fresh,
                       struct cairn_error *error)
{
    struct definition with;
    struct cairn_error why = {0};
    uint32_t count;
    int rc =
        count_names(&all[n - fresh], fresh, &count, &why)
            ?: workflow_parse_with(e->request.workflow, all, n, fresh, &with, &why);
    if (rc)
        return rc == CAIRN_ENOMEM ? rc : 1;
    uint32_t first = with.n_defs - count;
    rc = are_plain(e, &with, first) ? 1 : 0;
    if (!rc)
        rc = extend_run(e, &with, first, error);
    definition_release(&with);
    return rc;
}

/* Those that are named by what waits, behind them room for that. */
static int load_named(struct engine *e, struct addition **all, size_t *n,
                      struct cairn_error *error)
{
    struct owned_run *run = &e->run;
    struct buf texts = BUF_INIT;
    for (size_t i = 0; i < run->n_waiting; i++) {
        buf_add(&texts, run->waiting[i].text, run->waiting[i].length);
        buf_byte(&texts, '\n');
    }
    int rc = buf_check(&texts, error)
                 ?: additions_named(e->request.store, run->row.run, buf_view(&texts),
                                    run->waiting[0].id, all, n, error);
    buf_release(&texts);
    if (rc)
        return rc;
    struct addition *room = realloc(*all, (*n + run->n_waiting) * sizeof *room);
    if (!room)
        additions_free(*all, *n);
    *all = room;
    return room ? 0 : error_nomem(error);
}

/* 1: nothing has changed. */
static int take_in_place(struct engine *e, struct cairn_error *error)
{
    struct owned_run *run = &e->run;
    struct cairn_workflow *w = e->request.workflow;
    struct addition *all = NULL;
    struct cairn_error why = {0};
    size_t named = 0, fresh = run->n_waiting;
    if (!can_extend(e))
        return 1;
    int rc = load_named(e, &all, &named, &why);
    if (rc)
        return rc == CAIRN_ENOMEM ? rc : 1;
    memcpy(&all[named], run->waiting, fresh * sizeof *all);
    rc = extend_with(e, all, named + fresh, fresh, error);
    for (size_t i = 0; i < fresh && !rc; i++) {
        rc = workflow_take_addition(w, run->row.run, &all[named + i]);
        run->waiting[i] = all[named + i]; /* taken: it is empty */
    }
    additions_free(all, named);
    return rc;
}

static void open_again(struct engine *e)
{
    e->request.workflow->grows = e->progress.list_made = true;
    if (!awaits_list(e))
        report(e, CAIRN_EVENT_NOTICE,
               "tasks were added, but the run ends: they run when it is resumed");
}

void commands_take_waiting(struct engine *e)
{
    struct owned_run *run = &e->run;
    uint32_t before = e->request.graph->n_tasks;
    char said[96];
    if (!run->n_waiting)
        return;
    int64_t began_ns = clock_thread_ns();
    int rc = take_in_place(e, NULL);
    run->took_ns = clock_thread_ns() - began_ns;
    run->grew_ns = loop_now_ns(e);
    owned_run_drop_waiting(e);
    if (rc < 0)
        engine_break(e);
    else if (rc == 0) {
        snprintf(said, sizeof said, "tasks were added: run %llu continues with %u more",
                 (unsigned long long)run->row.run, e->request.graph->n_tasks - before);
        report(e, CAIRN_EVENT_NOTICE, said);
    } else
        open_again(e);
}

/* To be taken with others that come soon, so that one after the other costs no more than
 * all at once: to make the run longer takes time that grows with it, so a multiple of
 * that passes in between. The first one after a pause is taken at once. */
static void let_wait(struct engine *e, const struct command_row *row, struct str text)
{
    enum { PAUSE = 8 };
    struct owned_run *run = &e->run;
    char name[64];
    snprintf(name, sizeof name, "addition %zu to run %llu",
             e->request.workflow->n_additions + run->n_waiting + 1,
             (unsigned long long)run->row.run);
    if (owned_run_let_wait(e, name, text, row->id)) {
        engine_break(e);
        return;
    }
    int64_t left_ns =
        run->grew_ns ? run->grew_ns + PAUSE * run->took_ns - loop_now_ns(e) : 0;
    if (left_ns <= 0)
        commands_take_waiting(e);
    else if (run->n_waiting == 1)
        loop_set_timer(e, TIMER_ADDITIONS, left_ns, 0, 0);
}

static void log_addition(struct engine *e, const struct command_row *row, struct str by)
{
    struct buf said = BUF_INIT;
    buf_format(&said, "by %.*s", (int)by.len, by.len ? by.ptr : "");
    if (said.failed)
        engine_break(e);
    else
        log_command(e, row, UINT32_MAX, said.data);
    buf_release(&said);
}

static void refuse_addition(struct engine *e, const struct command_row *row)
{
    log_command(e, row, UINT32_MAX, "refused: the value of a secret is in the text");
    report(e, CAIRN_EVENT_NOTICE,
           "the value of a secret is in tasks that were added: they are refused, and "
           "their text is taken out of the store");
    if (owned_run_refuse(e, row->id))
        engine_break(e);
}

static void take_addition(struct engine *e, const struct command_row *row)
{
    struct cairn_workflow *w = e->request.workflow;
    struct str by = STR(""), text = STR("");
    bool good = addition_decode(row->data, &by, &text);
    log_addition(e, row, good ? by : STR(""));
    if (good && redactor_finds(e->run.situation.secrets.redactor, text)) {
        refuse_addition(e, row);
        return;
    }
    if (e->request.mode != MODE_RUN || row->id <= additions_up_to(w, e->run.row.run))
        return;
    if (good && can_extend(e))
        let_wait(e, row, text);
    else
        open_again(e);
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
    case COMMAND_TAKE_BACK:
        commands_take_waiting(e);
        taken = owned_run_take_back(e, row);
        break;
    case COMMAND_REFUSED:
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
