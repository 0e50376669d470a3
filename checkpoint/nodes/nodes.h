/* SPDX-License-Identifier: MIT */
/* Objects that refer to others: nodes of a graph without circles, whose leaves are
 * plain content. A collector and a verification follow them without knowing what they
 * stand for (directories of files, lists of chunks).
 *
 *   content  byte version: 1, varint number of nodes, varint number of leaves,
 *            32 bytes digest of each node, then of each leaf, then the body: what its
 *            owner makes of it
 *
 * Whoever names an object says whether it is a node: the same bytes may be a plain
 * object, too. */
#ifndef CHECKPOINT_NODES_NODES_H
#define CHECKPOINT_NODES_NODES_H

#include "base/memory.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

struct node {
    struct str nodes, leaves; /* DIGEST_SIZE bytes each */
    struct str body;
};

static inline size_t node_count(struct str digests)
{
    return digests.len / DIGEST_SIZE;
}

struct digest node_digest(struct str digests, size_t i);
/* `nodes` and `leaves`: the bytes of their digests, one behind the other. */
void node_encode(struct str nodes, struct str leaves, struct str body, struct buf *out);
/* Untrusted bytes: CAIRN_EDAMAGED. Views into them. */
int node_decode(struct str content, struct node *out, struct cairn_error *error);

/* Those that were seen. The same bytes as a node and as plain content are two. */
struct node_set {
    struct map map;
    struct arena keys;
};

/* 1 if it was not there yet, 0 if it was, or CAIRN_ENOMEM. */
int node_set_add(struct node_set *set, const struct digest *digest, bool is_node,
                 struct cairn_error *error);
bool node_set_has(const struct node_set *set, const struct digest *digest,
                  bool is_node);
void node_set_release(struct node_set *set);

struct node_visitor {
    /* 1: it was seen before, and is not followed again; 0: go on; negative: stops. */
    int (*see)(void *context, const struct digest *digest, bool is_node);
    /* A node that cannot be read: 0 goes on, anything else stops. NULL: stops with the
     * error. */
    int (*bad)(void *context, const struct digest *digest, int rc, const char *why);
    void *context;
};

/* Calls visitor->see for the node and for all that can be reached from it, each before
 * what it refers to; the bytes of leaves are not read. CAIRN_ENOTFOUND, CAIRN_EDAMAGED,
 * or what a callback has returned. */
int nodes_each(struct cairn_store *store, const struct digest *root,
               const struct node_visitor *visitor, struct cairn_error *error);

/* What a repair could not save, and what leads to it: nodes are followed once, and what
 * was found of each is remembered. Content that has come back since is not lost. */
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
