/* SPDX-License-Identifier: MIT */
/* Directories as objects of the pool: nodes (checkpoint/nodes/nodes.h), whose children
 * are directories and lists of chunks, and whose leaves are the contents of files.
 *
 *   body   varint number of entries, by ascending bytes of the name:
 *          lstr name, byte kind, and then by kind
 *            file       varint mode, varint time, varint size; content: a leaf
 *            chunked    the same; its list of chunks: a node
 *            link       lstr target
 *            directory  varint mode, varint time; its entries: a node
 *            left out   byte why
 *
 * A mode is the lower 12 bits of st_mode. A time is the last modification in ns since
 * 1970, with the sign in the lowest bit. Digests are those of the node, in the order of
 * the entries. Each tree has one encoding.
 *
 * A list of chunks is a node whose leaves are the contents, in order; body: varint size
 * of each. */
#ifndef SNAPSHOT_TREE_H
#define SNAPSHOT_TREE_H

#include "base/memory.h"
#include "base/sha256.h"

enum {
    TREE_NAME_BYTES = 255,
    TREE_TARGET_BYTES = 4095,
    TREE_MODE_BITS = 07777,
    /* Of a file without those that let others act as its owner or group: who owns it is
     * not kept, so a restore would give that to whoever restores. */
    TREE_FILE_BITS = 01777,
    TREE_CHUNK_MOST = 4 << 20 /* of a chunk, and of a file that is not a list of them */
};
enum tree_kind {
    TREE_FILE = 1,
    TREE_CHUNKED = 2,
    TREE_LINK = 3,
    TREE_DIRECTORY = 4,
    TREE_LEFT_OUT = 5,
    TREE_KINDS_END = 6
};
/* Why something has a name in the tree and nothing else. */
enum tree_left_out {
    LEFT_SPECIAL = 1,    /* a socket, device or pipe */
    LEFT_UNREADABLE = 2, /* no permission, or an error of the disk */
    LEFT_CHANGING = 3,   /* it was changed whenever it was read */
    LEFT_DEEP = 4,       /* a directory below too many others */
    LEFT_OUT_END = 5
};
/* "is a socket, device or pipe" */
const char *tree_left_out_text(uint8_t why);

struct tree_entry {
    struct str name;
    uint8_t kind, why;
    uint32_t mode;
    int64_t mtime_ns;
    uint64_t size;
    struct digest digest; /* none for a link, and for what is left out */
    struct str target;
};
struct tree {
    struct tree_entry *entries;
    uint32_t n;
};
static inline bool tree_is_file(const struct tree_entry *entry)
{
    return entry->kind == TREE_FILE || entry->kind == TREE_CHUNKED;
}
/* The same content, mode and kind: times are left out of account. */
bool tree_same(const struct tree_entry *a, const struct tree_entry *b);
/* Without its name; the target of a link is in the arena. NULL: kind 0. */
struct tree_entry tree_entry_copy(struct arena *arena, const struct tree_entry *entry);

/* How the name of a directory begins in which a restore works. */
#define TREE_STAGE ".cairn-restore-"
/* How the name of something ends that a restore has kept beside its place; further ones
 * have a number behind that ("-2"). They are not taken. */
#define TREE_KEPT ".before-restore"
bool tree_is_kept_beside(struct str name);
/* Names that no tree has: they are not taken, and must not be put anywhere. */
bool tree_is_never_taken(struct str name);

/* The content of the object. The entries are in order. */
void tree_encode(const struct tree *tree, struct buf *out);
/* Untrusted bytes: CAIRN_EDAMAGED. Texts are views into the content, entries in the
 * arena. No name leads out of its directory. */
int tree_decode(struct arena *arena, struct str content, struct tree *out,
                struct cairn_error *error);
/* NULL: there is none. */
const struct tree_entry *tree_find(const struct tree *tree, struct str name);

struct chunk_list {
    struct str digests;    /* DIGEST_SIZE bytes each */
    const uint64_t *sizes; /* [n] */
    size_t n;
    uint64_t size; /* of all */
};
void chunk_list_encode(const struct chunk_list *list, struct buf *out);
/* As tree_decode. */
int chunk_list_decode(struct arena *arena, struct str content, struct chunk_list *out,
                      struct cairn_error *error);

#endif
