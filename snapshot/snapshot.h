/* SPDX-License-Identifier: MIT */
/* The files below a directory as objects of the pool.
 *
 *     snapshot_take; then, in a transaction, snapshot_put and something that refers to
 *     snapshot->digest;
 *     snapshot_save_index; snapshot_end
 *
 * The object of a snapshot is a node whose only child is the tree of the root (tree.h);
 *
 *   body  byte version: 1, lstr name of the root, varint number of files, directories,
 *         links, entries that were left out, bytes of the files
 *
 * A time of change alone is not a change: where content and mode are those of the
 * snapshot before, so is the time. */
#ifndef SNAPSHOT_SNAPSHOT_H
#define SNAPSHOT_SNAPSHOT_H

#include "base/memory.h"
#include "snapshot/content.h"
#include "snapshot/tree.h"

/* Of one snapshot (docs/limits.md). What takes, checks or walks one keeps to these. */
enum {
    SNAPSHOT_DEPTH_MOST = 400,         /* directories, one below the other */
    SNAPSHOT_PATHS_MOST = 2000000,     /* files, directories, links, what is left out */
    SNAPSHOT_PATH_BYTES_MOST = 1 << 28 /* of all their paths */
};

struct snapshot_counts {
    uint64_t files, directories, links, left_out;
    uint64_t bytes;
};

static inline uint64_t snapshot_paths(const struct snapshot_counts *counts)
{
    return counts->files + counts->directories + counts->links + counts->left_out;
}

struct snapshot_request {
    struct cairn_store *store;
    const char *root;            /* a directory */
    struct str root_name;        /* what the snapshot says of where it is */
    const struct digest *before; /* the snapshot before this one, or NULL */
    const char *index;           /* path of the index of an earlier one, or NULL */
    const struct digest *keep;   /* a snapshot, or NULL: what is in it is taken, even if
                                    it is to be ignored */
    bool in_transaction;         /* what is little waits for snapshot_put */
    /* Sorted paths below the root, none of them below another, or NULL. With them only
     * these are taken, directories with all that is below them, and no rules of what is
     * to be ignored count. What is gone, or lies behind a link, is not taken: `taken`
     * says which are. */
    const struct str *only;
    size_t n_only;
    bool *taken;                  /* [n_only] */
    const _Atomic uint32_t *stop; /* not 0: CAIRN_ESTOPPED, within one piece of a file;
                                     NULL: never */
    enum stage_wait wait;         /* while garbage is collected */
    /* Whether what the index names is still referred to: 1, 0 or an error. */
    int (*anchored)(void *context, struct str anchor, struct cairn_error *error);
    /* What has a name and no content; NULL: not told. `path` is a view. */
    void (*left_out)(void *context, struct str path, uint8_t why);
    void *context;
};

struct snapshot {
    struct digest digest; /* its object */
    struct digest root;   /* the tree */
    struct snapshot_counts counts;
    uint64_t n_read; /* files whose content was read */
    int64_t began_ns;
    struct buf index; /* the block of the root; see index.h */
    bool changed;     /* the index is not what it was */
    struct stage stage;
};

/* Puts everything that is not in the pool yet, outside of any transaction of the
 * caller. snapshot_end is called in any case. CAIRN_EUSAGE: the root is not a directory
 * that can be read. */
int snapshot_take(const struct snapshot_request *request, struct snapshot *out,
                  struct cairn_error *error);
/* In the transaction in which something comes to refer to it: puts what waits, if
 * anything does. Before that its objects may not be there. */
int snapshot_put(struct snapshot *snapshot, struct cairn_error *error);
int snapshot_save_index(const struct snapshot *snapshot, const char *path,
                        struct str anchor, struct cairn_error *error);
void snapshot_end(struct snapshot *snapshot);

/* What an object of a snapshot says. CAIRN_EDAMAGED. */
struct snapshot_head {
    struct digest root;
    struct str root_name; /* in the arena */
    struct snapshot_counts counts;
};

/* The content of such an object. */
void snapshot_head_encode(const struct snapshot_head *head, struct buf *out);
int snapshot_read(struct cairn_store *store, const struct digest *digest,
                  struct arena *arena, struct snapshot_head *out,
                  struct cairn_error *error);
/* A directory of it, in the arena. */
int snapshot_read_tree(struct cairn_store *store, const struct digest *digest,
                       struct arena *arena, struct tree *out,
                       struct cairn_error *error);
int snapshot_read_chunks(struct cairn_store *store, const struct digest *digest,
                         struct arena *arena, struct chunk_list *out,
                         struct cairn_error *error);

/* ---- Checking ---- */

/* Of a directory and of all that is below it, or of what was seen so far. */
struct snapshot_sums {
    struct snapshot_counts counts;
    uint64_t path_bytes; /* of paths that begin in that directory */
    uint32_t height;     /* directories, one below the other */
};

/* An entry whose path has so many bytes. */
void snapshot_count(struct snapshot_sums *sums, const struct tree_entry *entry,
                    size_t path);
/* CAIRN_ELIMIT, with `where`: a path. */
int snapshot_within(const struct snapshot_sums *sums, struct str where,
                    struct cairn_error *error);

/* Directories that were checked; zero: none. The objects they refer to must stay. */
struct snapshot_checked {
    struct map trees; /* digest to index */
    struct arena keys;
    struct snapshot_sums *sums;
    size_t n, room;
};

/* All of a snapshot that comes from outside: every directory can be read, each file has
 * its content and size, no limit is passed. Costs what is stored, however often it is
 * found in the tree. CAIRN_EDAMAGED, CAIRN_ELIMIT, each with the path. */
int snapshot_check(struct cairn_store *store, const struct digest *snapshot,
                   struct snapshot_checked *checked, struct cairn_error *error);
void snapshot_checked_release(struct snapshot_checked *checked);

/* ---- Looking ---- */

/* Each entry, a directory before what is in it, by ascending bytes of the names; `path`
 * is a view that ends with a NUL. Non-zero stops, and is returned. CAIRN_ELIMIT: at the
 * path it names more than a snapshot can have were given. */
typedef int snapshot_entry_fn(void *context, struct str path,
                              const struct tree_entry *entry);

int snapshot_each(struct cairn_store *store, const struct digest *root,
                  snapshot_entry_fn *each, void *context, struct cairn_error *error);
/* The entry of a path, in the arena. 1: it is there, 0: it is not. */
int snapshot_find(struct cairn_store *store, const struct digest *root, struct str path,
                  struct arena *arena, struct tree_entry *out,
                  struct cairn_error *error);

/* The content of a file, in parts, each verified before it is given. A non-zero return
 * of `part` stops, and is returned. */
typedef int snapshot_part_fn(void *context, struct str part);

int snapshot_content(struct cairn_store *store, const struct tree_entry *file,
                     snapshot_part_fn *part, void *context, struct cairn_error *error);

/* One chunk of a list, verified, in place of what *content has. */
int snapshot_chunk(struct cairn_store *store, const struct chunk_list *list, size_t i,
                   struct buf *content, struct cairn_error *error);

/* ---- Comparing ---- */

/* What differs between two trees, a directory before what is in it, by ascending bytes
 * of the names: `before` or `after` may be NULL, not both. Where a directory became
 * something else, or the other way round, what was in it follows. `path` ends with a
 * NUL. `times`: an entry whose time alone differs counts, too. A non-zero return stops,
 * and is returned. The first digest may be NULL: nothing is on that side. CAIRN_ELIMIT:
 * as snapshot_each, of both sides. */
typedef int snapshot_change_fn(void *context, struct str path,
                               const struct tree_entry *before,
                               const struct tree_entry *after);

int snapshot_compare(struct cairn_store *store, const struct digest *before,
                     const struct digest *after, bool times, snapshot_change_fn *each,
                     void *context, struct cairn_error *error);

/* The entry of one path in many snapshots. Directories that two lookups have in common
 * are not read twice. */

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
