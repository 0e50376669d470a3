/* SPDX-License-Identifier: MIT */
/* Rows of events: what happens to a run, or to the store as a whole, and is in no other
 * row.
 *
 * Events are ordered by turn, a number per run that grows by one with every transaction
 * that records something about it. Rows of attempts have their own turns. */
#ifndef STORAGE_ROWS_EVENT_H
#define STORAGE_ROWS_EVENT_H

#include "base/str.h"
#include "cairn/store.h"

enum event_kind {
    EVENT_BEGUN = 1, /* data: "new", "goes on", "forks from 42"; argument: 2 to undo */
    EVENT_RESET, /* tasks (data: packed list) run again; argument: enum cairn_reason */
    EVENT_UNKNOWN, /* tasks (packed) are unknown */
    EVENT_SKIPPED, /* tasks (packed): `task` is the cause; argument: 1 because of their
                      own condition, 2 because they were withdrawn */
    EVENT_CONDITION, /* of `task`; argument: 1 it holds, 0 not */
    EVENT_CLAIMED,   /* `task`; data: holder */
    EVENT_COMMAND,   /* taken by the owner; argument: verb; `task`; data: for people */
    EVENT_HALTED,    /* nothing more is started; data: why */
    EVENT_PHASE,     /* argument: 1 undo, 2 finally */
    EVENT_NOTICE,    /* data */
    EVENT_ENDED,     /* argument: enum cairn_run_state */
    EVENT_DEGRADED,  /* nothing can be stored any more (stored later); data: why */
    EVENT_RECOVERED, /* it can be stored again, with what was left unstored */
    /* By a user's command; data: what, for people */
    EVENT_DELETED,   /* a checkpoint of the run */
    EVENT_PRUNED,    /* checkpoints of the run */
    EVENT_COLLECTED, /* of the store: old runs and unused content */
    EVENT_REPAIRED,  /* of the store */
    /* Of the store: where there are new events. data: varint number, varint turn */
    EVENT_RUN_ACTIVE,   /* of a run, from that turn on */
    EVENT_SESSION_TURN, /* in the log of a session */
    EVENT_SPARED, /* `task` stays done: what it needs ran again, and came out the same */
    EVENT_READY   /* the service `task` can be used; data: after how long */
};
/* Arguments: of EVENT_BEGUN, and of EVENT_PHASE. */
enum { EVENT_BEGUN_UNDO = 2, EVENT_PHASE_UNDO = 1 };
enum { EVENTS_OF_STORE = 0 }; /* the `run` of events that are of no run */
struct event_row {
    uint64_t id; /* set on read: counts from 1 within the turn */
    uint64_t run, turn;
    int64_t time_ns;
    uint8_t kind, argument;
    uint32_t gen, task; /* UINT32_MAX: none */
    struct str data;
};
int store_put_event(struct cairn_store *store, const struct event_row *row,
                    struct cairn_error *error);
/* One event that happens now, in a turn of its own, at the end of a transaction. */
int store_note_event(struct cairn_store *store, uint64_t run, enum event_kind kind,
                     struct str data, struct cairn_error *error);
/* That there is something new in a run or session (EVENT_RUN_ACTIVE is noted by
 * store_next_turn). Needs a write transaction. */
int store_note_activity(struct cairn_store *store, enum event_kind kind,
                        uint64_t number, uint64_t turn, struct cairn_error *error);
/* The newest turn of which a run, or the store, has an event; 0: none. */
int store_event_turn(struct cairn_store *store, uint64_t run, uint64_t *turn,
                     struct cairn_error *error);
typedef int event_row_fn(void *context, const struct event_row *row);
/* Of a run with turn > after, by turn and id. */
int store_each_event(struct cairn_store *store, uint64_t run, uint64_t after,
                     event_row_fn *each, void *context, struct cairn_error *error);
int store_get_event(struct cairn_store *store, uint64_t run, uint64_t turn, uint64_t id,
                    event_row_fn *got, void *context, struct cairn_error *error);
/* The next turn of a run. Needs a write transaction, in which it stays the same;
 * nothing is reserved until rows are put. Cheap after the first call: the rows are read
 * again only if another connection has committed, and all attempts only if this handle
 * does not own the workflow (only owners write attempts). The first call of an owner,
 * and each of a handle that is none, notes EVENT_RUN_ACTIVE. */
int store_next_turn(struct cairn_store *store, uint64_t run, uint64_t *turn,
                    struct cairn_error *error);
/* A list of ascending task numbers as varints of the differences. */
void tasks_pack(const uint32_t *tasks, uint32_t n, struct buf *out);
/* False, without any call, if the bytes are not a list of numbers below `limit`. A
 * non-zero return of `each` stops. */
bool tasks_unpack(struct str packed, uint32_t limit, int (*each)(void *, uint32_t task),
                  void *context);

#endif
