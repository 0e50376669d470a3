/* SPDX-License-Identifier: MIT */
/* A store in a directory of its own with one run, a stream of checkpoints and the model
 * of what each of them should say; and SQL to damage it. */
#ifndef TESTS_SUPPORT_CHECKPOINT_H
#define TESTS_SUPPORT_CHECKPOINT_H

#include "base/clock.h"
#include "cairn.h"
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "storage/object.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/suite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAB_MAX = 400, LAB_TASKS = 40 };

struct lab {
    char dir[256], path[300];
    struct cairn_store *store;
    struct sha256 *sha;
    struct cairn_error error;
    struct run_stream stream;
    struct states now;
    uint64_t seqs[LAB_MAX]; /* of every checkpoint put down, in order */
    struct states model[LAB_MAX];
    bool full[LAB_MAX];
    int n;
    uint64_t seed;
};

#define MUST(lab, call)                                                   \
    do {                                                                  \
        int rc_ = (call);                                                 \
        ck_assert_msg(rc_ == 0, #call ": %d %s", rc_, (lab)->error.text); \
    } while (0)

uint32_t lab_below(struct lab *lab, uint32_t n);
void lab_store(struct lab *lab);
/* Adds a run of `workflow`, which may fork from another, and its (made up) graph. */
uint64_t lab_run(struct lab *lab, const char *workflow, uint64_t from_run,
                 uint64_t from_seq, struct digest *graph);
int lab_copy_run(void *context, const struct run_row *row);
int lab_finish_row(void *context, const struct run_row *row);
void lab_finish(struct lab *lab, uint64_t run);
struct lab *lab_open(uint64_t seed);
void lab_close(struct lab *lab);
void lab_note(struct lab *lab, uint64_t seq, bool full);
uint64_t lab_full(struct lab *lab);
/* One to three random changes. */
uint64_t lab_delta(struct lab *lab);
/* A record that says only that there are one to three more tasks, with a graph of its
 * own; the deltas after it change such, too. */
uint64_t lab_grow(struct lab *lab);
/* "FDDFDDGD": full and delta records, and such. */
void lab_put(struct lab *lab, const char *kinds);
bool lab_same(const struct states *a, const struct states *b);
/* Rebuilds the i-th checkpoint; its code, and that it equals the model if it is 0. */
int lab_rebuild(struct lab *lab, int i);
/* ---- Behind the store's back ---- */

/* Runs SQL through a connection of its own; %llu is `seq`. */
void lab_sql(struct lab *lab, const char *format, uint64_t seq);
/* Flips one bit of a blob column of checkpoint `seq`. Counts bytes from 0; from the end
 * if negative. Returns false if there is no such byte. */
bool lab_flip(struct lab *lab, uint64_t seq, const char *column, int at, int bit);
void lab_damage(struct lab *lab, int i);
int lab_run_suite(const char *name, void (*add)(TCase *));
#endif
