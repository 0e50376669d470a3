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

/* ---- What differs ---- */

/* Lists the changes. As restore_open. */
int restore_find(struct restore *restore, const struct digest *before,
                 const struct digest *after, struct paths *only);
/* CAIRN_EUSAGE: something that is in no snapshot lies in a directory in whose place a
 * file or link is to come. */
int restore_check_replaced(struct restore *restore);

/* ---- Names in directories ---- */

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

/* ---- Contents (restore_stage.c) ---- */

/* The staged name of a change. */
const char *restore_staged_name(char out[24], size_t change);
struct timespec restore_time(int64_t ns);
/* Writes what is `staged`: in the stage, or where `direct` in its place. */
int restore_stage_all(struct restore *restore);
/* Nothing is cloned any more. */
void restore_forget_like(struct restore *restore);

#endif
