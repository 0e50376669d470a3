/* SPDX-License-Identifier: MIT */
/* What a repair could not save, and what leads to it: nodes are followed once, and what
 * was found of each is remembered. Content that has come back since is not lost. */
#ifndef CHECKPOINT_NODES_LOSSES_H
#define CHECKPOINT_NODES_LOSSES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/sha256.h"
#include "cairn/store.h"

struct losses {
    struct cairn_store *store;
    struct map lost;  /* digests of what is lost; values are of no meaning */
    struct map below; /* of nodes: 1 if something that they lead to is lost, else 0 */
    struct arena keys;
};

/* losses_release also after an error. */
int losses_load(struct losses *losses, struct cairn_store *store,
                struct cairn_error *error);
static inline bool losses_any(const struct losses *losses)
{
    return losses->lost.count > 0;
}
/* Sets *lost if the object is lost or, being a node, leads to what is; otherwise leaves
 * it alone. Nodes that are damaged or missing without being a known loss lead nowhere:
 * a verification reports them. */
int losses_look(struct losses *losses, const struct digest *object, bool is_node,
                bool *lost, struct cairn_error *error);
void losses_release(struct losses *losses);

#endif
