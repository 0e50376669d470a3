/* SPDX-License-Identifier: MIT */
/* Places in pools that all runs of a store share, in the file `live/pools`.
 *
 * The file is a table of entries. Who has places, or waits for some, holds a lock on the
 * byte with the number of its entry (base/lock.h): an entry without a lock is nobody's,
 * so that places are free as soon as nobody is left who could give them back. A lock
 * belongs to an open file of its own, which a keeper inherits: a task that outlives
 * cairn keeps its places until it ends. Entries are written under one more lock, for a
 * moment, and mean nothing after a crash of the machine.
 *
 * Runs that wait are served in the order in which they began to, each as a whole: while
 * one that waits for a pool could have what it wants, nobody overtakes it there. One
 * that does not take what it could have for PLACES_PATIENCE_NS is passed over (it was
 * stopped). Nobody holds places while it waits, so that runs never wait for each other.
 * Each keeps to the limit in its own definition.
 *
 * A run that was begun inside a task which has places of a pool would wait for what is
 * only given back when it has ended. So what that task has is lent to it: of this pool
 * the tasks inside have their places together out of those of the task, in turn as
 * above, and none out of the pool. */
#ifndef RUNS_PLACES_H
#define RUNS_PLACES_H

#include "base/lock.h"
#include "base/str.h"
#include "storage/rows_parent.h"

enum { PLACES_TEXT = 256 };
#define PLACES_PATIENCE_NS INT64_C(5000000000)

struct places {           /* of one run */
    const char *live_dir; /* borrowed */
    uint64_t run;
    struct lock_file table;
    struct lock_file waiting; /* has the locks of our entries that wait; -1: none */
    const struct run_parent
        *around;       /* [n_around] attempts that the run is inside of, */
    uint32_t n_around; /* innermost first; borrowed */
};

struct places_wish { /* of a task */
    struct str pool;
    uint32_t places, limit;
};

/* An entry of somebody who lives. */
struct places_entry {
    bool waits;
    uint64_t ticket; /* of one that waits: a lower one came before */
    uint64_t run;
    uint32_t places, limit;
    uint32_t lender; /* the task around it out of whose places it has them; 0: none */
    char pool[PLACES_TEXT], task[PLACES_TEXT];
};

/* `live_dir` must outlive it. `around` may be set then. */
int places_open(struct places *places, const char *live_dir, uint64_t run,
                struct cairn_error *error);
/* What it waits for is given up. */
void places_close(struct places *places);
/* All wishes of a task, or none. 1: it has them, until places_give_back, or until the
 * last copy of held->fd is closed. 0: others have them; the run waits for them now, and
 * its fifo is written to (live_wake) when it should ask again. When one that has places
 * was killed nobody tells: ask now and then. `other` gets somebody who has another limit
 * for one of the pools; its `places` is 0 if there is none. */
int places_take(struct places *places, const struct places_wish *wishes, uint32_t n,
                struct str task, struct lock_file *held, struct places_entry *other,
                struct cairn_error *error);
/* An error if a task around the run, which has places of one of the pools, has too few
 * for the wishes; places_take would have it, too. Needs no places_open. */
int places_check(const struct places *places, const struct places_wish *wishes,
                 uint32_t n, struct str task, struct cairn_error *error);
void places_give_back(struct places *places, struct lock_file *held);
/* It waits for nothing any more. */
void places_withdraw(struct places *places);
/* Each entry of somebody who lives, by who only looks. `each` returns not 0 to end it. */
int places_each(const char *live_dir, int (*each)(void *, const struct places_entry *),
                void *context, struct cairn_error *error);

#endif
