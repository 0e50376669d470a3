/* SPDX-License-Identifier: MIT */
/* Between the files of the room. */
#ifndef FEED_FEED_INT_H
#define FEED_FEED_INT_H

#include "base/str.h"
#include "cairn/events.h"

/* A run or a session, as far as it was told. */
struct told {
    uint64_t number, turn;
    bool due; /* there is more, or a process owns the run */
};
/* By number. */
struct told_list {
    struct told *at;
    size_t n, capacity;
};
/* NULL: out of memory. A new one is told up to `turn`. */
struct told *told_get(struct told_list *list, uint64_t number, uint64_t turn);

/* Up to where the store was read. */
struct feed_place {
    uint64_t turn;    /* of the store */
    uint64_t session; /* of this one alone; 0: of all that happened */
};
/* STORE-TURN, -sSESSION where it is of that alone, and -RUN.TURN for each run that is
 * due. */
void position_write(struct buf *out, const char *store, const struct feed_place *place,
                    const struct told_list *runs);
/* False: it is none. CAIRN_ENOMEM in *rc. */
bool position_read(const char *text, const char *store, struct feed_place *place,
                   struct told_list *runs, int *rc);

#endif
