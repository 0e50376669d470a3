/* SPDX-License-Identifier: MIT */
/* cairn: what happens in a store: the audit log of a run and of the store, and all of
 * it with what is done in debugging sessions, to be followed. */
#ifndef CAIRN_EVENTS_H
#define CAIRN_EVENTS_H

#include "board.h"
#include "error.h"
#include "outcome.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_log_event {
    uint64_t run, turn; /* events of one turn became durable together */
    int64_t time_ns;
    const char *kind;           /* "task_finished", ...: docs/json.md */
    const char *task;           /* id, or NULL */
    uint32_t attempt;           /* 0: none */
    enum cairn_outcome outcome; /* PENDING: none */
    int exit_code, signal;      /* -1 and 0: none */
    uint64_t checkpoint;        /* seq, 0: none or pruned */
    const char *reason;         /* a short word, or NULL */
    const char *text;           /* for people, or NULL */
};

/* The audit log of a run (0: as for cairn_run_get): every decision in turns after `after`, in
 * order. The order of reported events never changes, and none is reported before it is
 * durable; so passing the last turn seen follows a live run. `last` (may be NULL): the
 * newest turn. */
CAIRN_API int cairn_events(struct cairn_store *store, uint64_t run, uint64_t after,
                           int (*each)(void *, const struct cairn_log_event *),
                           void *context, uint64_t *last, struct cairn_error *error);
/* The same of one task, from the beginning; nothing if the run has no such task. The
 * events of other tasks are not read. */
CAIRN_API int cairn_task_events(struct cairn_store *store, uint64_t run,
                                const char *task,
                                int (*each)(void *, const struct cairn_log_event *),
                                void *context, struct cairn_error *error);
/* The same of what was done to the store as a whole (event.run 0): content and old runs
 * that were collected, repairs. */
CAIRN_API int cairn_store_events(struct cairn_store *store, uint64_t after,
                                 int (*each)(void *, const struct cairn_log_event *),
                                 void *context, uint64_t *last,
                                 struct cairn_error *error);

/* Reads a moment in the past as people write it: "2 hours ago", "yesterday 14:30",
 * "2025-01-20 14:30" (local time, as $TZ says), "2025-01-20T14:30:05Z" (RFC 3339). UTC, in
 * nanoseconds since 1970. CAIRN_EUSAGE: the error names the position in the text. */
CAIRN_API int cairn_time_parse(const char *text, int64_t *utc_ns,
                               struct cairn_error *error);

/* ---- All of it, as it happens ----
 *
 * What happens in a store, whichever process does it: events of runs, of the store
 * as a whole and of debugging sessions, from a position on, each once. */

struct cairn_feed;

/* One of the two is not NULL. Views during the callback. */
struct cairn_feed_event {
    const struct cairn_log_event *log;      /* of a run, or (run 0) of the store */
    const struct cairn_session_event *done; /* in a session: */
    uint64_t session;
    const char *session_name;
};

/* Begins to read. `position`: of cairn_feed_position, perhaps in another process;
 * "now": only what comes; NULL: from the beginning. `session` (may be NULL): only what
 * is done in this one. The store must outlive the feed. CAIRN_EUSAGE: it is no
 * position, or one of another store, or of one that has lost since what was told then,
 * or of a feed of another session alone, which has passed over what others did. */
CAIRN_API int cairn_feed_open(struct cairn_feed **feed, struct cairn_store *store,
                              const char *position, const char *session,
                              struct cairn_error *error);
/* Tells all that has become durable since, and returns. The order within a run, within
 * a session and of the store is that in which it was done; a turn is told as a whole.
 * A non-zero return of `each` stops; what was told then is told again. The callback
 * must not use the store. Only the runs and sessions of which there is something new
 * are read. `told` (may be NULL): how many, also where it fails. CAIRN_EDAMAGED, once
 * all is told: the store was removed, replaced or repaired since it was opened; a feed
 * of the new one goes on from the position. */
CAIRN_API int cairn_feed_next(struct cairn_feed *feed,
                              int (*each)(void *, const struct cairn_feed_event *),
                              void *context, uint64_t *told, struct cairn_error *error);
/* Has another process, or another handle, committed since cairn_feed_next began, or was
 * the store replaced? Cheap: to be asked before the next one, at least 50 ms apart. */
CAIRN_API bool cairn_feed_changed(struct cairn_feed *feed);
/* Behind what cairn_feed_next has told: text without white space, valid until the next
 * call. NULL: out of memory. */
CAIRN_API const char *cairn_feed_position(struct cairn_feed *feed);
CAIRN_API void cairn_feed_close(struct cairn_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
