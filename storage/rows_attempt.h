/* SPDX-License-Identifier: MIT */
/* Rows of attempts, of which a task has any number: a row without an end is an intent
 * to start one. */
#ifndef STORAGE_ROWS_ATTEMPT_H
#define STORAGE_ROWS_ATTEMPT_H

#include "base/str.h"
#include "cairn/store.h"

/* UNDO: the attempt ran the task's `undo`. EXTERNAL: somebody else did it. CHECK: the
 * task itself had ended well, its check decided. ADOPTED: its end was recorded by a
 * later process than the one that started it. RETRY: another was to follow, since it
 * failed, or completed as a round of a task with `repeat`. MERGED: `out` is both
 * streams, in the order in which they were written, and `err`, if it is there, when it
 * grew (base/log_times.h). FALLBACK: the attempt ran the task's `fallback`. UNDO,
 * EXTERNAL, CHECK, MERGED and FALLBACK are known with the intent; the others are not.
 * OUT_LIST, ERR_LIST: what `out`, or `err`, names is no content but a list of chunks
 * (runs/output.h). */
enum attempt_flag {
    ATTEMPT_TIMED_OUT = 1,
    ATTEMPT_INTERRUPTED = 2,
    ATTEMPT_UNDO = 4,
    ATTEMPT_EXTERNAL = 8,
    ATTEMPT_CHECK = 16,
    ATTEMPT_ADOPTED = 32,
    ATTEMPT_RETRY = 64,
    ATTEMPT_MERGED = 128,
    ATTEMPT_FALLBACK = 256,
    ATTEMPT_OUT_LIST = 512,
    ATTEMPT_ERR_LIST = 1024
};
struct attempt_row {
    uint64_t run;
    uint32_t gen, task, number;
    int64_t intent_ns, started_ns, ended_ns; /* ended 0: open */
    uint8_t outcome;
    uint16_t flags;    /* of enum attempt_flag */
    int32_t exit_code; /* -1: none */
    int32_t signal;
    int64_t cpu_us, peak_kib;
    uint64_t out_bytes, err_bytes; /* as written by the task */
    uint64_t out_head,
        err_head;        /* bytes before the dropped middle; 0: nothing dropped */
    struct str out, err; /* object digests (32 bytes), or empty */
    struct str outputs;  /* of its result (runs/result.h), the same */
    struct str text;
    uint64_t start_turn, end_turn; /* in which it was written; 0: an old row */
    uint64_t checkpoint;           /* seq of the record of its outcome, 0: none */
};
/* An attempt that is about to start: a key, its intent_ns, flags and start_turn. */
int store_put_intent(struct cairn_store *store, const struct attempt_row *row,
                     struct cairn_error *error);
/* Inserts or replaces the whole row. */
int store_put_attempt(struct cairn_store *store, const struct attempt_row *row,
                      struct cairn_error *error);
typedef int attempt_row_fn(void *context, const struct attempt_row *row);
int store_get_attempt(struct cairn_store *store, const struct attempt_row *key,
                      attempt_row_fn *got, void *context, struct cairn_error *error);
/* All of a task (in a generation), by number. */
int store_each_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                       uint32_t task, attempt_row_fn *each, void *context,
                       struct cairn_error *error);
/* All of a run and generation by task and number; open_only: without an end. */
int store_each_run_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                           bool open_only, attempt_row_fn *each, void *context,
                           struct cairn_error *error);
/* Attempts of a run with start_turn or end_turn > after, in all generations; by
 * generation, task, number. */
int store_each_new_attempt(struct cairn_store *store, uint64_t run, uint64_t after,
                           attempt_row_fn *each, void *context,
                           struct cairn_error *error);

#endif
