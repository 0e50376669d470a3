/* SPDX-License-Identifier: MIT */
/* The entry of one path in many snapshots. Directories that two lookups have in common
 * are not read twice. */
#ifndef SNAPSHOT_TRAIL_H
#define SNAPSHOT_TRAIL_H

#include "snapshot/snapshot.h"

struct trail {
    struct arena arena;
    struct str path;
    struct digest *trees; /* [room] of the last lookup, from the root down */
    size_t n, room;
    const struct tree_entry *found; /* by it; NULL: there was none */
};
/* The path is borrowed. trail_end in any case. */
struct trail trail_begin(struct str path);
/* *out is in the trail; NULL: the snapshot has no such path. */
int trail_look(struct trail *trail, struct cairn_store *store,
               const struct digest *root, const struct tree_entry **out,
               struct cairn_error *error);
void trail_end(struct trail *trail);

#endif
