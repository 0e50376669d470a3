/* SPDX-License-Identifier: MIT */
/* The directories of a tree that are watched, by their places and by the numbers of
 * their watches; and those of them that have yet to be looked into. Pure. */
#ifndef SNAPSHOT_WATCH_DIRS_H
#define SNAPSHOT_WATCH_DIRS_H

#include "snapshot/ignore.h"

struct watched_dir {
    struct watched_dir *above, *first, *last, *next, *before; /* NULL: none */
    struct watched_dir *queued_next, *queued_before;
    const struct ignore_level *rules; /* that hold in it; NULL: none */
    struct arena *own; /* of its rules, where it has some of its own, or NULL */
    int watch;         /* -1: none yet */
    uint16_t depth;    /* of the root: 1 */
    uint16_t length;
    bool queued;
    char name[]; /* ends with a NUL; of the root: "" */
};
struct watched_dirs {
    struct watched_dir *root;
    struct watched_dir **slots; /* by number of the watch; NULL: free */
    size_t n_slots, n_watched;
    size_t n; /* directories */
    size_t rules_bytes;
    struct watched_dir *queue_first, *queue_last;
};
#define WATCHED_DIRS_INIT ((struct watched_dirs){0})

/* `above` NULL: the root. It is in the queue then. NULL: out of memory. */
struct watched_dir *dirs_add(struct watched_dirs *dirs, struct watched_dir *above,
                             struct str name);
/* The first of the queue, which is taken out of it; NULL: it is empty. */
struct watched_dir *dirs_take_queued(struct watched_dirs *dirs);
/* CAIRN_ENOMEM. No other one may have the number. */
int dirs_set_watch(struct watched_dirs *dirs, struct watched_dir *dir, int watch);
/* NULL: none has the number. */
struct watched_dir *dirs_find(const struct watched_dirs *dirs, int watch);
/* NULL: there is none of this name. */
struct watched_dir *dirs_child(const struct watched_dir *dir, struct str name);
bool dirs_is_at_or_below(const struct watched_dir *dir,
                         const struct watched_dir *above);
/* With all below it. `ended` (may be NULL) is told the watches. */
void dirs_remove(struct watched_dirs *dirs, struct watched_dir *dir,
                 void (*ended)(void *, int watch), void *context);
void dirs_release(struct watched_dirs *dirs);
/* Appends its path from the root, "" for the root itself, and with a slash behind it
 * otherwise. */
void dirs_path(const struct watched_dir *dir, struct buf *out);
/* The arena becomes the directory's. CAIRN_ENOMEM. */
int dirs_own_rules(struct watched_dirs *dirs, struct watched_dir *dir,
                   const struct arena *arena);

#endif
