/* SPDX-License-Identifier: MIT */
/* Between the files of a restore. */
#ifndef SNAPSHOT_RESTORE_INT_H
#define SNAPSHOT_RESTORE_INT_H

#include "snapshot/restore.h"

/* A directory in which its owner cannot make names or remove them. */
static inline bool tree_is_locked(const struct tree_entry *entry)
{
    return entry->kind == TREE_DIRECTORY && (entry->mode & 0300) != 0300;
}

/* Of one side only the name is known: nothing is done. */
static inline bool restore_is_left(const struct restore_change *change)
{
    return change->before.kind == TREE_LEFT_OUT || change->after.kind == TREE_LEFT_OUT;
}

/* It is one of those that are counted: a directory that is on both sides is not. */
static inline bool restore_counts(const struct restore_change *change)
{
    bool both =
        change->before.kind == TREE_DIRECTORY && change->after.kind == TREE_DIRECTORY;
    return !restore_is_left(change) && !both;
}

/* A file or link comes in the place of a directory. */
static inline bool restore_replaces(const struct restore_change *change)
{
    const struct tree_entry *after = &change->after;
    return change->before.kind == TREE_DIRECTORY &&
           (tree_is_file(after) || after->kind == TREE_LINK);
}

/* ---- restore_find.c: what differs ---- */

/* Lists the changes. As restore_open. */
int restore_find(struct restore *restore, const struct digest *before,
                 const struct digest *after, struct paths *only);

/* CAIRN_EUSAGE: something that is in no snapshot lies in a directory in whose place a
 * file or link is to come. */
int restore_check_replaced(struct restore *restore);

/* ---- restore_clone.c: blocks of files that are there ---- */

/* Where the file system can, the empty file `fd` becomes a clone of the file of that
 * path in restore->like, if that has the very content of the entry, which is compared.
 * *cloned: it is one; else it is empty still. */
int clone_like(struct restore *restore, const struct tree_entry *entry, struct str path,
               int fd, bool *cloned);
void clone_end(struct restore *restore);

/* ---- restore_place.c: names in directories ---- */

/* The directory that a path lies in, opened from the root down without following a
 * link, and the last name of the path. -1 and errno. It is closed by the next call.
 * What was found, also that it is not there, counts until place_forget or another path.
 */
int place_parent(struct restore *restore, struct str path, const char **name);
void place_forget(struct restore *restore);
int place_error(struct restore *restore, int sys, struct str path, const char *what);
/* What is staged under that name, and what is at the path, change places; where nothing
 * is there, it goes there. 0 or an errno. */
int place_exchange(struct restore *restore, const char *staged, int parent,
                   const char *name);
/* Moves it to a name under which nothing is; EEXIST. */
int place_move(int from, const char *name, int to, const char *new_name);

/* ---- restore_old.c: what was in the place ---- */

/* The staged name of a change. */
const char *staged_name(char out[24], size_t change);
/* What the name in the staging directory has is one of the two that the change says:
 * deleted, unless what was there is to be kept. Anything else is kept beside the path.
 */
int old_dispose(struct restore *restore, size_t change);
/* Empties the staging directory. `begun`: of what this very restore had begun, so that
 * something else than what was staged may be there. */
int old_dispose_all(struct restore *restore, bool begun);
/* What was kept beside the path and is what comes there now is deleted, once. */
void old_forget_kept(struct restore *restore, const struct restore_change *change);
/* Moves what is at the path to a free name with .before-restore behind it. */
int old_keep(struct restore *restore, int from, const char *name, struct str path);

#endif
