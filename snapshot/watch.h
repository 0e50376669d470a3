/* SPDX-License-Identifier: MIT */
/* Whether the files below a directory have changed, as the kernel reports it, without
 * looking at them. */
#ifndef SNAPSHOT_WATCH_H
#define SNAPSHOT_WATCH_H

#include "base/notify.h"
#include "base/str.h"
#include "snapshot/ignore.h"

#include <sys/stat.h>

/* ==== The directories ==== */

/* The directories of a tree that are watched, by their places and by the numbers of
 * their watches; and those of them that have yet to be looked into. Pure. */

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

/* ==== The tree ==== */

/* Whether something of the files below a directory has changed, told by the kernel and
 * not by looking: each directory of which a snapshot takes the entries is watched, and
 * none that is ignored. Links are not followed. What is told may be a change that a
 * snapshot does not see, but none that it would see is missed: whatever is not certain
 * (a full queue, a directory that came in between) counts as one.
 *
 * Where that many directories cannot be watched the tree is `blind`: the caller looks
 * at it by other means, every so often. */

/* What of a tree is kept in memory, at most: some 130 bytes and its name for each. */
enum { TREE_WATCH_DIRECTORIES_MOST = 500000, TREE_WATCH_RULES_MOST = 64 << 20 };

enum tree_watch_note {
    TREE_WATCH_LIMIT,      /* the system allows no more watches: blind */
    TREE_WATCH_TOO_LARGE,  /* more than TREE_WATCH_...: blind */
    TREE_WATCH_REFUSED,    /* there is no inotify, or no instance left: blind */
    TREE_WATCH_OVERFLOW,   /* events were lost: all of it is looked through again */
    TREE_WATCH_UNREADABLE, /* what changes in the directory `path` is not seen */
};

typedef void tree_watch_told(void *context, enum tree_watch_note note, const char *path,
                             int sys);

struct tree_watch {
    const char *root;    /* of the caller: a path without links */
    struct stat root_st; /* the directory that is watched */
    struct stat store;   /* a directory that is none of the tree */
    tree_watch_told *told;
    void *context;

    int notify; /* a descriptor to poll; -1: blind */
    bool blind;
    bool changed;    /* something has: the caller sets it back, with these two: */
    bool several;    /* not the content of one file alone */
    struct buf only; /* the path of that, or of the first that changed, if known */
    const struct stat *own; /* [n_own] files that the caller writes: no change */
    size_t n_own;
    bool root_lost; /* what is at the path is something else, or nothing */
    bool stale;     /* to be begun anew, at `again_ns` */
    int64_t again_ns, began_ns, took_ns;

    struct watched_dirs dirs;
    const struct watched_dir *near; /* whose descriptor is `near_fd` */
    int near_fd;
    struct buf path; /* room */
    struct cairn_error *error;
};

/* Begins, with a walk through the directories. The caller has set `root`, `store`,
 * `told` and `context`, all else is zero; tree_watch_close in any case. CAIRN_ENOMEM.
 */
int tree_watch_begin(struct tree_watch *tree, struct cairn_error *error);
/* Takes notice of what has happened. Where it is stale and it is time, begins anew. */
int tree_watch_step(struct tree_watch *tree, struct cairn_error *error);
void tree_watch_close(struct tree_watch *tree);

#endif
