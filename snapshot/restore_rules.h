/* SPDX-License-Identifier: MIT */
/* What the rules of a snapshot ignore: that it is not in the snapshot does not mean
 * that it was not there. */
#ifndef SNAPSHOT_RESTORE_RULES_H
#define SNAPSHOT_RESTORE_RULES_H

#include "snapshot/ignore.h"
#include "snapshot/snapshot.h"

/* A directory of the snapshot, and the rules that hold in it. */
struct rules_level {
    struct arena arena;
    struct tree tree; /* n 0: it is not there */
    const struct ignore_level *rules;
    size_t path; /* length of its path, with the slash behind it */
};
struct tree_rules {
    struct cairn_store *store;
    struct rules_level *levels; /* [SNAPSHOT_DEPTH_MOST + 1] */
    uint32_t depth;
    struct buf path;   /* of the deepest one */
    struct buf passed; /* a directory that is ignored, with a slash behind it */
    struct cairn_error *error;
};
int tree_rules_open(struct tree_rules *rules, struct cairn_store *store,
                    const struct digest *root, struct cairn_error *error);
void tree_rules_close(struct tree_rules *rules);
/* Whether they ignore the path, or a directory that it lies in: 1 or 0. Paths come in
 * the order of a comparison. */
int tree_rules_ignore(struct tree_rules *rules, struct str path, bool is_dir);

#endif
