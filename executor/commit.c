/* SPDX-License-Identifier: MIT */
/* The commit of a turn: endings, checkpoints and intents in one transaction, and what
 * may happen once it is durable. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "checkpoint/retain.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

enum { DEFAULT_KEEP = 50, COMMIT_RETRY_NS = 2000000, DEGRADED_RETRY_NS = 1000000000 };

/* ---- Writing one turn ---- */

static int put_captured(struct engine *e, const struct captured *captured,
                        struct digest *digest, struct str *field,
                        struct cairn_error *error)
{
    *field = (struct str){NULL, 0};
    if (captured->content.size == 0)
        return 0;
    int rc = store_put_object(e->store, buf_view(&captured->content), digest, error);
    *field = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    return rc;
}

/* A row that was never an intent in the store, because saving failed meanwhile, begins
 * where it ends. */
int engine_put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                       struct cairn_error *error)
{
    struct attempt_row *row = &ending->row;
    struct digest out, err, result_digest;
    int rc = put_captured(e, &ending->captured[0], &out, &row->out, error);
    if (!rc)
        rc = put_captured(e, &ending->captured[1], &err, &row->err, error);
    row->outputs = (struct str){NULL, 0};
    if (!rc && ending->result.size) {
        rc = store_put_object(e->store, buf_view(&ending->result), &result_digest,
                              error);
        row->outputs = (struct str){(const char *)result_digest.bytes, DIGEST_SIZE};
    }
    row->text = buf_view(&ending->text);
    row->end_turn = turn;
    if (!row->start_turn)
        row->start_turn = turn;
    return rc ? rc : store_put_attempt(e->store, row, error);
}

static int by_task(const void *a, const void *b)
{
    uint32_t x = ((const struct change *)a)->task, y = ((const struct change *)b)->task;
    return (x > y) - (x < y);
}

/* What could not run because of this one shares a record. */
static int put_skips(struct engine *e, struct ending *ending, struct cairn_error *error)
{
    if (!ending->n_skipped)
        return 0;
    struct change *changes = calloc(ending->n_skipped, sizeof *changes);
    if (!changes)
        return error_nomem(error);
    for (uint32_t i = 0; i < ending->n_skipped; i++)
        changes[i] = (struct change){.task = ending->skipped[i].task,
                                     .outcome = ending->skipped[i].outcome};
    qsort(changes, ending->n_skipped, sizeof *changes, by_task);
    int rc = run_stream_delta(&e->stream, changes, ending->n_skipped,
                              ending->row.ended_ns, NULL, error);
    free(changes);
    return rc;
}

/* The checkpoint first: the attempt's row names it. */
static int put_ending(struct engine *e, struct ending *ending, uint64_t turn,
                      struct cairn_error *error)
{
    struct checkpoint_ref ref = {0};
    int rc = ending->final ? run_stream_delta(&e->stream, &ending->change, 1,
                                              ending->row.ended_ns, &ref, error)
                           : 0;
    ending->seq = ending->row.checkpoint = ref.seq;
    if (!rc && ending->row.number)
        rc = engine_put_attempt(e, ending, turn, error);
    return rc ? rc : put_skips(e, ending, error);
}

static uint8_t flags_of(enum job_role role)
{
    return role == ROLE_UNDO ? ATTEMPT_UNDO : role == ROLE_DECIDE ? ATTEMPT_CHECK : 0;
}

static int put_intent(struct engine *e, struct intent *intent, uint64_t turn,
                      struct cairn_error *error)
{
    struct attempt_row row = {.run = e->row.run,
                              .gen = e->row.gen,
                              .task = intent->task,
                              .number = intent->attempt,
                              .intent_ns = intent->intent_ns,
                              .exit_code = -1,
                              .flags = flags_of(intent->role),
                              .start_turn = turn};
    intent->turn = turn;
    return store_put_intent(e->store, &row, error);
}

/* Intents first: while saving failed, an attempt may have started and ended unsaved,
 * and then its ending replaces the row of its intent. */
static int put_turn(struct engine *e, struct cairn_error *error)
{
    uint64_t turn;
    int rc = store_next_turn(e->store, e->row.run, &turn, error);
    for (uint32_t i = 0; i < e->n_intents && !rc; i++)
        rc = put_intent(e, &e->intents[i], turn, error);
    for (uint32_t i = 0; i < e->n_endings && !rc; i++)
        rc = put_ending(e, &e->endings[i], turn, error);
    if (!rc)
        rc = audit_put(e, turn, error);
    if (!rc)
        rc = turn_mark_commands(e, error);
    if (!rc && chain_wants_full(&e->stream.chain))
        rc = run_stream_full(&e->stream, &e->states, clock_utc_ns(), NULL, error);
    return rc;
}

/* ---- Acting on it ---- */

static void tell_offers(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_offers; i++)
        report_waiting(e, e->offers[i].task, e->offers[i].text);
    turn_forget_offers(e);
}

static void say_withheld(struct engine *e, struct intent *intent)
{
    char text[LIMIT_ID_BYTES + 96];
    if (intent->withheld)
        return;
    intent->withheld = true;
    snprintf(text, sizeof text,
             "%s must not run twice, so it waits until checkpoints can be saved",
             e->graph->id[intent->task]);
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* Reports endings and queues starts, each once. What must not run twice waits until its
 * intent is saved. */
static void act(struct engine *e, bool saved)
{
    e->unacted = e->unacted_intents = 0;
    e->unacted_ns = 0;
    for (uint32_t i = 0; i < e->n_endings; i++) {
        if (e->endings[i].acted)
            continue;
        e->endings[i].acted = true;
        report_ending(e, &e->endings[i]);
    }
    for (uint32_t i = 0; i < e->n_intents; i++) {
        struct intent *intent = &e->intents[i];
        if (intent->acted)
            continue;
        if (!saved && graph_def(e->graph, intent->task)->once) {
            e->unacted_intents++;
            say_withheld(e, intent);
            continue;
        }
        intent->acted = true;
        e->broken |= starts_add(e, intent) != 0;
    }
    tell_offers(e);
}

/* For `cairn status`. */
static void tell_unsaved(struct engine *e, uint32_t n)
{
    if (!e->slots.slots || e->slots.slots->unsaved == n)
        return;
    e->slots.slots->unsaved = n;
    slots_tell_head(&e->slots);
}

static void forget(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++) {
        ending_remove_files(&e->endings[i]);
        ending_release(&e->endings[i]);
    }
    e->n_endings = e->n_intents = e->followed = 0;
    audit_forget(e);
    e->stored_command = e->last_command;
    tell_unsaved(e, 0);
}

static void drop_sequence_numbers(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++)
        e->endings[i].seq = 0;
}

static uint32_t unsaved(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_endings; i++)
        n += e->endings[i].final;
    return n;
}

static void try_again(struct engine *e, int64_t delay_ns)
{
    struct timer timer = {clock_mono_ns() + delay_ns, TIMER_COMMIT, 0, 0};
    e->commit_waits = true;
    e->broken |= timers_add(&e->timers, timer, NULL) != 0;
}

static void degrade(struct engine *e, const struct cairn_error *why)
{
    if (!e->degraded) {
        e->degraded = true;
        report(e, CAIRN_EVENT_DEGRADED, why->text);
    }
    if (e->options->saving == CAIRN_BEST_EFFORT)
        act(e, false);
    tell_unsaved(e, unsaved(e));
    try_again(e, DEGRADED_RETRY_NS);
}

int engine_transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error)
{
    struct run_stream before = e->stream;
    int rc = store_begin(e->store, wait_ms, error);
    if (rc)
        return rc;
    rc = store_end(e->store, put(e, error), error);
    if (rc) {
        e->stream = before;
        drop_sequence_numbers(e);
    }
    return rc;
}

/* While the spawner has enough to do, ends that come soon after each other share one
 * commit: a sync costs as much as a small task. */
int64_t engine_lingers_ns(struct engine *e)
{
    enum { LINGER_NS = 4000000 };
    if (!e->unacted || 2 * e->waiting < e->ahead || e->halt || e->phase != PHASE_MAIN ||
        e->commit_waits || e->degraded || e->n_offers ||
        e->last_command != e->stored_command)
        return 0;
    int64_t now = clock_mono_ns();
    if (!e->unacted_ns)
        e->unacted_ns = now;
    int64_t left = e->unacted_ns + LINGER_NS - now;
    return left > 0 ? left : 0;
}

/* Intents ahead for what ends within a few milliseconds, as far as can be told. */
static void adapt_ahead(struct engine *e)
{
    enum { WINDOW_NS = 12000000 };
    uint32_t least = e->limit < AHEAD_MOST ? e->limit : AHEAD_MOST;
    int64_t now = clock_mono_ns(), took = now - e->acted_ns;
    e->acted_ns = now;
    if (!e->spawner || !e->n_endings)
        return;
    int64_t wanted = (int64_t)e->n_endings * WINDOW_NS / (took > 0 ? took : 1);
    uint32_t next = wanted < AHEAD_MOST ? (uint32_t)wanted : AHEAD_MOST;
    next = (e->ahead + next + 1) / 2;
    e->ahead = next > least ? next : least;
}

int engine_commit(struct engine *e, struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->n_endings && !e->n_intents && e->last_command == e->stored_command) {
        tell_offers(e);
        return 0;
    }
    if (e->commit_waits) {
        if (e->degraded && e->options->saving == CAIRN_BEST_EFFORT)
            act(e, false);
        return 0;
    }
    if (!e->store) {
        act(e, true);
        forget(e);
        return 0;
    }
    int rc = engine_transact(e, 0, put_turn, &why);
    if (rc == CAIRN_EBUSY) {
        /* Another command writes at this moment; a lock kept for long is trouble. */
        enum { PATIENCE_S = 30 };
        int64_t now = clock_mono_ns();
        if (!e->commit_since_ns)
            e->commit_since_ns = now;
        if (now - e->commit_since_ns < PATIENCE_S * 1000000000ll) {
            try_again(e, COMMIT_RETRY_NS);
            return 0;
        }
    }
    e->commit_since_ns = 0;
    if (rc == CAIRN_ENOMEM || rc == CAIRN_EDAMAGED) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        degrade(e, &why);
        return 0;
    }
    if (e->degraded) {
        e->degraded = false;
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    }
    adapt_ahead(e);
    act(e, true);
    forget(e);
    return 0;
}

/* ---- The end ---- */

/* Intents whose attempt never started are closed, so that nobody takes them for
 * interrupted ones. */
static int close_intent(struct engine *e, const struct intent *intent,
                        struct cairn_error *error)
{
    struct attempt_row row = {.run = e->row.run,
                              .gen = e->row.gen,
                              .task = intent->task,
                              .number = intent->attempt,
                              .intent_ns = intent->intent_ns,
                              .ended_ns = clock_utc_ns(),
                              .exit_code = -1,
                              .flags = flags_of(intent->role),
                              .start_turn = intent->turn};
    return store_put_attempt(e->store, &row, error);
}

static int close_intents(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = e->starts_head; i < e->n_starts && !rc; i++)
        rc = close_intent(e, &e->starts[i], error);
    for (uint32_t i = 0; i < e->n_dropped && !rc; i++)
        rc = close_intent(e, &e->dropped[i], error);
    return rc;
}

static int put_end(struct engine *e, struct cairn_error *error)
{
    /* Intents that were never acted on need no row at all. Those that were, while
     * saving failed, have an ending, which brings the row. */
    e->n_intents = e->unacted_intents = 0;
    int rc = put_turn(e, error);
    if (!rc)
        rc = close_intents(e, error);
    if (!rc && e->stream.chain.tail_bytes)
        rc = run_stream_full(&e->stream, &e->states, clock_utc_ns(), NULL, error);
    e->row.ended_ns = clock_utc_ns();
    if (!rc)
        rc = store_set_run(e->store, &e->row, error);
    if (!rc && !e->options->keep_all)
        rc =
            run_stream_prune(e->store, e->sha, e->row.run,
                             e->options->keep ? e->options->keep : DEFAULT_KEEP, error);
    return rc;
}

int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->store)
        return engine_commit(e, error);
    e->row.state = (uint8_t)state;
    audit_event(e, EVENT_ENDED, (uint8_t)state, UINT32_MAX, STR(""));
    int rc = engine_transact(e, -1, put_end, &why);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOMEM) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        degrade(e, &why);
        e->result->unsaved = unsaved(e);
        e->result->end_unsaved = true;
        return 0;
    }
    if (e->degraded)
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    e->degraded = false;
    act(e, true);
    forget(e);
    return 0;
}
