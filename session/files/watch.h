/* SPDX-License-Identifier: MIT */
/* When files that change are to be stored: once nothing has changed for a while, at the
 * latest so many times that while since the first change, and not too often nor for too
 * large a part of the time. Pure:
 * times are nanoseconds on one clock. */
#ifndef SESSION_FILES_WATCH_H
#define SESSION_FILES_WATCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SETTLE_LATEST_TIMES = 10, /* after so many times settle_ns, though edits go on */
    SETTLE_A_MINUTE = 20,     /* checkpoints at most */
    SETTLE_PAUSE_TIMES = 10,  /* as long as one took, before the next */
    SETTLE_STEADY = 4,        /* in a row for a file that only grows: then less often */
    SETTLE_GAPS = 4,          /* as long as between its last steps: it has stopped */
    SETTLE_ECHOES = 10        /* a minute, doubled so often at most: 17 hours */
};

struct settle {
    int64_t settle_ns; /* 0: never */
    bool changed;      /* since what was stored last: */
    int64_t first_ns, last_ns;
    int64_t
        made_ns[SETTLE_A_MINUTE]; /* when the last ones were made, the oldest first */
    unsigned n_made;
    unsigned failures; /* in a row */
    int64_t not_before_ns;
    unsigned steady; /* in a row that were made since one file alone had grown */
    int64_t steady_until_ns; /* before which such a file waits, unless it has stopped */
    int64_t gap_ns;          /* between the last two changes that were apart */
    bool echo;       /* all that has changed was changed by the caller's hooks */
    unsigned echoes; /* checkpoints in a row that were made for that alone */
};

void settle_note(struct settle *settle, int64_t now_ns);
/* What changed while hooks of a checkpoint ran. Alone it is stored after a minute, then
 * two, four, ...: else each checkpoint would make the next one, by what its hook
 * writes. It may be an edit of somebody else, so it is not passed over. */
void settle_note_echo(struct settle *settle, int64_t now_ns);
/* How long until it is to be stored; 0: now, INT64_MAX: never. */
int64_t settle_wait(const struct settle *settle, int64_t now_ns);
/* Around storing it: what changes in between has changed since. */
void settle_begin(struct settle *settle);

enum settle_end { SETTLE_MADE, SETTLE_UNCHANGED, SETTLE_FAILED };

/* The next one comes after a pause, of a minute at most. After a failure it is tried
 * again: later each time, in 5 minutes at most. */
void settle_end(struct settle *settle, enum settle_end how, int64_t began_ns,
                int64_t now_ns);
/* Behind settle_end: whether it was made since the same file as the last time, and no
 * other, has grown a little again, soon after that. After SETTLE_STEADY of these in a
 * row the next one comes after twice the time `settle`, then four times, ... up to 5
 * minutes: something writes a log. If the file has stopped growing (for 30 seconds, and
 * SETTLE_GAPS times as long as between its last steps) it is stored at once, so what a
 * person typed last does not wait. True: they become fewer from now on. */
bool settle_note_steady(struct settle *settle, bool steady, int64_t now_ns);
/* Something else has changed: that is stored as ever. */
void settle_end_steady(struct settle *settle);

/* The directories in which a store and the files of a session lie: whether something
 * was committed to the store, and whether one of the directories that lead to them has
 * become another one. */

struct places {
    int notify;  /* a descriptor to poll; -1: none */
    bool blind;  /* the store is not watched: it has to be asked */
    int sys;     /* errno: why */
    bool stored; /* something was written to the store, or the store is another one */
    bool moved;  /* look whether the paths lead where they did */
};

#endif
