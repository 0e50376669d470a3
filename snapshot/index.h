/* SPDX-License-Identifier: MIT */
/* What a snapshot has found, in a file beside the store: so that the next one need not
 * read what has not changed since. It is only believed as long as something is
 * there that refers to all that it names (`anchor`), and its checksum is right;
 * without it every file is read.
 *
 *   8 bytes "cairnidx", byte version 1, lstr anchor, u64 time at which the snapshot
 *   began (UTC, ns), 32 bytes digest of the snapshot, 32 bytes digest of the root's
 *   directory, a block for the root, 32 bytes SHA-256 of all before
 *
 *   block    u32 number of entries, by ascending bytes of the name:
 *            lstr name, byte kind, then by kind of tree.h
 *              file, chunked  sign, u64 time of the tree, 32 bytes digest
 *              link           sign, lstr target
 *              directory      u64 bytes of its block, its block, u32 mode, u64 time of
 *                             the tree, 32 bytes digest
 *              left out       byte why
 *   sign     u64 device, inode, size, time of modification, time of change, u32 st_mode
 */
#ifndef SNAPSHOT_INDEX_H
#define SNAPSHOT_INDEX_H

#include "base/str.h"
#include "snapshot/tree.h"

#include <sys/stat.h>

/* What tells that a file is the one that was read, and as it was. */
struct stat_sign {
    uint64_t device, inode, size, mtime_ns, ctime_ns;
    uint32_t mode;
};
struct stat_sign stat_sign_of(const struct stat *st);
static inline bool stat_sign_equal(const struct stat_sign *a, const struct stat_sign *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           a->mode == b->mode;
}

struct index_entry {
    struct tree_entry entry;
    bool has_sign;
    struct stat_sign sign;
    struct str block;   /* of a directory */
    struct str as_read; /* all of it, as it is in the index; empty: it is from none */
};

/* ---- Reading ---- */

struct index {
    struct buf bytes; /* of the file; empty: there is none that can be believed */
    struct str anchor;
    int64_t began_ns;
    struct digest snapshot, root;
    struct str block;
};
/* A file that is not there or damaged is none. */
int index_load(const char *path, struct index *out, struct cairn_error *error);
void index_release(struct index *index);
/* The entries of a block, as views, in the arena. False: it is not one, or there is no
 * memory. */
bool index_entries(struct arena *arena, struct str block, struct index_entry **entries,
                   uint32_t *n);

/* ---- Writing ---- */

/* Where the number of entries of a block goes when it is known. */
struct index_place {
    size_t at;
    uint32_t n;
};
struct index_place index_begin_block(struct buf *out);
void index_end_block(struct buf *out, const struct index_place *place);
/* Of anything but a directory. */
void index_put(struct buf *out, struct index_place *place,
               const struct index_entry *entry);
/* Of one that was read, and is as it was. */
void index_put_again(struct buf *out, struct index_place *place,
                     const struct index_entry *entry);
/* Around the block of a directory: where its length goes, and what it has become. */
size_t index_begin_directory(struct buf *out, struct index_place *place,
                             struct str name);
void index_end_directory(struct buf *out, size_t at, const struct tree_entry *entry);

/* Replaces the file; `block` is that of the root. Not durable: what is lost is made
 * again. */
int index_save(const char *path, const struct index *index, struct cairn_error *error);

#endif
