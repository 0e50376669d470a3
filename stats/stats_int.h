/* SPDX-License-Identifier: MIT */
/* Between the files of the room. */
#ifndef STATS_STATS_INT_H
#define STATS_STATS_INT_H

#include "base/memory.h"
#include "cairn/maintenance.h"
#include "storage/rows_stats.h"

struct counting {
    struct cairn_store *store;
    int (*each)(void *, const struct cairn_stat *);
    void *context;
    const struct family *family; /* of stats.c, that is told now */
    enum store_stat rows_of;     /* what `rows` are */
    struct stat_row *rows;       /* their texts end with a NUL */
    size_t n, room;
    struct arena texts;
    struct cairn_error *error;
};

static inline int stats_tell(struct counting *c, const struct cairn_stat *stat)
{
    return c->each(c->context, stat) != 0;
}

/* commands.c: how long the commands and checks of sessions took, which their bodies
 * say. */
int stats_tell_commands(struct counting *c);

#endif
