/* SPDX-License-Identifier: MIT */
/* Rows that are counted, by what they have in common, for stats/: one statement each,
 * which groups and adds. */
#ifndef STORAGE_ROWS_STATS_H
#define STORAGE_ROWS_STATS_H

#include "base/str.h"
#include "cairn/store.h"

/* What each row has: text and key; then the numbers. The histograms begin with count
 * and sum. */
enum store_stat {
    STAT_CONTENTS,      /* count, bytes, bytes as stored */
    STAT_RUNS,          /* workflow, state; count */
    STAT_RUN_STARTS,    /* "new", "goes" or "forks"; count */
    STAT_RUN_TIMES,     /* workflow; of those that have ended: count, ns, by times */
    STAT_ATTEMPTS,      /* workflow, outcome or enum attempt_end; count, ns, by times,
                           then us of processor, bytes of output, or of what was put
                           back */
    STAT_WAITS,         /* workflow; of attempts that have begun: count, ns, by times */
    STAT_CHECKPOINTS,   /* namespace; count, bytes of records, by sizes */
    STAT_DELETED,       /* namespace; checkpoints */
    STAT_QUARANTINED,   /* checkpoints that were found damaged */
    STAT_EVENTS,        /* enum event_kind; count */
    STAT_SESSIONS,      /* 1 if it has ended; count */
    STAT_SESSION_TIMES, /* of those that have ended: count, ns, by times */
    STAT_ITEMS,         /* kind; count */
    STAT_COMMANDS,      /* of each command and check: its body, kind; number */
    STAT_SESSION_LOG,   /* text of a checkpoint's trigger, verb; count */
    STAT_MESSAGES,      /* role; count, tokens in, tokens out, bytes */
    STORE_STATS
};
/* Instead of an outcome. */
enum attempt_end {
    END_OPEN = -1,
    END_TIMED_OUT = -2,
    END_INTERRUPTED = -3,
    END_REUSED = -4,
    END_PUT_BACK = -5
};

/* The bounds of the histograms. */
enum { STAT_TIMES = 10, STAT_SIZES = 7 };
extern const double stat_times[STAT_TIMES]; /* seconds */
extern const double stat_sizes[STAT_SIZES]; /* bytes */

enum { STAT_NUMBERS = 2 + STAT_TIMES + 2 };
struct stat_row {
    struct str text;
    int64_t key;
    uint64_t numbers[STAT_NUMBERS]; /* 0 where it has fewer */
};
/* By text and key. Rows are counted as they are, without their checksums. A non-zero
 * return of `each` stops. */
int store_each_stat(struct cairn_store *store, enum store_stat stat,
                    int (*each)(void *, const struct stat_row *), void *context,
                    struct cairn_error *error);

#endif
