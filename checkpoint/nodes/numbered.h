/* SPDX-License-Identifier: MIT */
/* Items that have numbers, as a tree of objects: a change writes the path to it, and two
 * trees are compared by what differs. A place is a range of numbers, so the same items
 * are always the same tree, whatever was changed in which order.
 *
 *   leaf   plain content: varint number of items, for each varint number, lstr body;
 *          those of 32 numbers, number / 32 being the same
 *   node   of level 1 to 6: nodes.h, where the body is byte level, u32 which of its 32
 *          places there are (the lowest bit: the first), for each varint number of items
 *          below. Those of level 1 refer to leaves, the others to nodes of the level
 *          below. A place at level L covers 32^L numbers.
 *
 * The root has the lowest level that the highest number allows. There is no tree of no
 * items. */
#ifndef CHECKPOINT_NODES_NUMBERED_H
#define CHECKPOINT_NODES_NUMBERED_H

#include "base/memory.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

struct numbered {
    struct digest root;
    uint32_t n; /* items; 0: there is no tree */
};

struct numbered_item {
    uint32_t n; /* not 0 */
    bool has;   /* false: it is removed */
    struct str body;
};

/* An object that a change has made, and the one in whose place it is, if any. */
struct numbered_object {
    struct digest digest, before;
    struct str content;
};
struct numbered_objects {
    struct arena arena;
    struct numbered_object *at;
    size_t n, capacity;
};
/* Stores them. Needs a write transaction. */
int numbered_put(struct cairn_store *store, const struct numbered_objects *objects,
                 struct cairn_error *error);
void numbered_objects_release(struct numbered_objects *objects);

/* The body is there in the call alone. */
typedef int numbered_fn(void *context, uint32_t n, struct str body);

/* The tree with the items changed, which are ascending by number: what is new is added
 * to `made`, and nothing is stored. Reads the path to each of them. `was` (may be NULL)
 * is told of each item that is replaced or removed. CAIRN_EDAMAGED, CAIRN_ENOTFOUND, or
 * what `was` returned; `made` then has objects that nobody needs. */
int numbered_change(struct cairn_store *store, const struct numbered *before,
                    const struct numbered_item *changes, size_t n, numbered_fn *was,
                    void *context, struct numbered_objects *made,
                    struct numbered *after, struct cairn_error *error);
/* Calls `each` for all, ascending by number; a return that is not 0 stops and is
 * returned. CAIRN_EDAMAGED, also where an object is missing. */
int numbered_each(struct cairn_store *store, const struct numbered *tree,
                  numbered_fn *each, void *context, struct cairn_error *error);
/* Appends all of them as a leaf has them. */
int numbered_read(struct cairn_store *store, const struct numbered *tree,
                  struct buf *out, struct cairn_error *error);
/* Calls `each` for every item that is in one alone or has another body in the other, for
 * both of them, `of` 0 or 1; what both refer to is not read. As numbered_each; *bad is
 * the one of the two that is damaged. */
int numbered_apart(struct cairn_store *store, const struct numbered trees[2],
                   int (*each)(void *context, int of, uint32_t n, struct str body),
                   void *context, int *bad, struct cairn_error *error);

#endif
