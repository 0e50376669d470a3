/* SPDX-License-Identifier: MIT */
/* The commit of a turn: endings, checkpoints and intents in one transaction; and what
 * happens while it fails. */
#include "executor/state/report.h"
#include "executor/state/turn_rows.h"

#include "checkpoint/retain/retain.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

enum { DEFAULT_KEEP = 50, COMMIT_RETRY_NS = 2000000, DEGRADED_RETRY_NS = 1000000000 };

/* ---- The chain ---- */

int saving_open(struct engine *e, uint32_t ahead, struct cairn_error *error)
{
    e->saving.ahead = ahead;
    e->saving.sha = sha256_new();
    return e->saving.sha ? 0 : error_nomem(error);
}

void saving_release(struct engine *e)
{
    sha256_free(e->saving.sha);
}

void saving_begin_chain(struct engine *e, const struct run_stream *head)
{
    e->saving.stream = *head;
    e->saving.since = head->chain.parent;
    e->saving.stream.chain.in.store = e->request.store;
    e->saving.stream.chain.in.sha = e->saving.sha;
    e->saving.stream.graph = e->run.situation.present.digest;
}

int saving_put_full(struct engine *e, struct cairn_error *error)
{
    return run_stream_full(&e->saving.stream, &e->progress.states, loop_utc_ns(e), NULL,
                           error);
}

void saving_try_now(struct engine *e)
{
    e->saving.waits = false;
}

/* ---- A turn ---- */

static int mark_commands(struct engine *e, struct cairn_error *error)
{
    const struct turn *turn = &e->turn;
    return turn->last_command == turn->stored_command
               ? 0
               : store_mark_commands(e->request.store, e->run.row.run,
                                     turn->last_command, error);
}

/* Intents first: while saving failed, an attempt may have started and ended unsaved,
 * and then its ending replaces the row of its intent. */
static int put_turn(struct engine *e, struct cairn_error *error)
{
    uint64_t turn;
    int rc = store_next_turn(e->request.store, e->run.row.run, &turn, error);
    for (uint32_t i = 0; i < e->turn.intents.n && !rc; i++)
        rc = put_intent(e, &e->turn.intents.at[i], turn, error);
    for (uint32_t i = 0; i < e->turn.n_endings && !rc; i++)
        rc = put_ending(e, &e->turn.endings[i], turn, error);
    if (!rc)
        rc = audit_put(e, turn, error);
    if (!rc && e->saving.degraded)
        rc = audit_put_now(e, turn, EVENT_RECOVERED, error);
    if (!rc)
        rc = mark_commands(e, error);
    if (!rc && chain_wants_full(&e->saving.stream.chain))
        rc = saving_put_full(e, error);
    return rc;
}

/* All of it is stored, or nothing is kept. */
static void finish_turn(struct engine *e)
{
    turn_act(e, true);
    turn_forget(e);
    jobs_set_unsaved(e, 0);
}

static void retry_commit_in(struct engine *e, int64_t delay_ns)
{
    e->saving.waits = true;
    loop_set_timer(e, TIMER_COMMIT, delay_ns, 0, 0);
}

static void note_save_failure(struct engine *e, const struct cairn_error *why)
{
    if (!e->saving.degraded) {
        e->saving.degraded = true;
        audit_event(e, EVENT_DEGRADED, 0, UINT32_MAX, str_of(why->text));
        report(e, CAIRN_EVENT_DEGRADED, why->text);
    }
    if (e->request.options->saving == CAIRN_BEST_EFFORT)
        turn_act(e, false);
    jobs_set_unsaved(e, turn_count_unsaved(e));
    retry_commit_in(e, DEGRADED_RETRY_NS);
}

int engine_transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error)
{
    struct run_stream before = e->saving.stream;
    int rc = store_begin(e->request.store, wait_ms, error);
    if (rc)
        return rc;
    rc = store_end(e->request.store, put(e, error), error);
    if (rc) {
        e->saving.stream = before;
        turn_drop_sequence_numbers(e);
    }
    return rc;
}

/* As many intents ahead as tasks are likely to end within the window, by the rate since
 * the last commit. */
static void adapt_intents_ahead(struct engine *e)
{
    enum { WINDOW_NS = 12000000 };
    uint32_t least = e->jobs.limit < AHEAD_MOST ? e->jobs.limit : AHEAD_MOST;
    int64_t now = loop_now_ns(e), took = now - e->saving.acted_ns;
    e->saving.acted_ns = now;
    if (!e->jobs.runner_open || !e->turn.n_endings)
        return;
    int64_t wanted = (int64_t)e->turn.n_endings * WINDOW_NS / (took > 0 ? took : 1);
    uint32_t next = wanted < AHEAD_MOST ? (uint32_t)wanted : AHEAD_MOST;
    next = (e->saving.ahead + next + 1) / 2;
    e->saving.ahead = next > least ? next : least;
}

int engine_commit(struct engine *e, struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->turn.n_endings && !e->turn.intents.n &&
        e->turn.last_command == e->turn.stored_command) {
        turn_act(e, true); /* offers */
        return 0;
    }
    if (e->saving.waits) {
        if (e->saving.degraded && e->request.options->saving == CAIRN_BEST_EFFORT)
            turn_act(e, false);
        return 0;
    }
    if (!e->request.store) {
        finish_turn(e);
        return 0;
    }
    int rc = engine_transact(e, 0, put_turn, &why);
    if (rc == CAIRN_EBUSY) {
        /* Another command writes at this moment; a lock kept for long is trouble. */
        enum { PATIENCE_S = 30 };
        int64_t now = loop_now_ns(e);
        if (!e->saving.busy_since_ns)
            e->saving.busy_since_ns = now;
        if (now - e->saving.busy_since_ns < PATIENCE_S * 1000000000ll) {
            retry_commit_in(e, COMMIT_RETRY_NS);
            return 0;
        }
    }
    e->saving.busy_since_ns = 0;
    if (rc == CAIRN_ENOMEM || rc == CAIRN_EDAMAGED) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        note_save_failure(e, &why);
        return 0;
    }
    if (e->saving.degraded) {
        e->saving.degraded = false;
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    }
    adapt_intents_ahead(e);
    finish_turn(e);
    return 0;
}

/* ---- The end ---- */

static int put_end(struct engine *e, struct cairn_error *error)
{
    turn_discard_intents(e);
    int rc = put_turn(e, error);
    if (!rc)
        rc = close_intents(e, error);
    if (!rc && e->saving.stream.chain.tail_bytes)
        rc = saving_put_full(e, error);
    if (!rc)
        rc = owned_run_put_end(e, error);
    if (!rc && !e->request.options->keep_all)
        rc = run_stream_prune(
            e->request.store, e->saving.sha, e->run.row.run,
            e->request.options->keep ? e->request.options->keep : DEFAULT_KEEP, error);
    return rc;
}

/* What tasks wrote may be what there is no room for. Outcomes count more: first without
 * what is large, then without any of it. */
static int put_end_without_output(struct engine *e, struct cairn_error *why)
{
    static const size_t larger_than[] = {64 << 10, 0};
    int rc = CAIRN_EIO;
    for (int i = 0; i < 2 && rc == CAIRN_EIO; i++)
        if (endings_lose_output(e, larger_than[i], why->text))
            rc = engine_transact(e, -1, put_end, why);
    return rc;
}

int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->request.store)
        return engine_commit(e, error);
    owned_run_end(e, state);
    audit_event(e, EVENT_ENDED, (uint8_t)state, UINT32_MAX, STR(""));
    int rc = engine_transact(e, -1, put_end, &why);
    if (rc == CAIRN_EIO)
        rc = put_end_without_output(e, &why);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOMEM) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        note_save_failure(e, &why);
        e->saving.unsaved = turn_count_unsaved(e);
        e->saving.end_unsaved = true;
        return 0;
    }
    if (e->saving.degraded)
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    e->saving.degraded = false;
    finish_turn(e);
    return 0;
}
