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

/* A directory comes where none is. */
static inline bool restore_makes(const struct restore_change *change)
{
    return change->after.kind == TREE_DIRECTORY &&
           change->before.kind != TREE_DIRECTORY && !restore_is_left(change);
}

static inline bool path_lies_in(struct str path, struct str dir)
{
    return dir.len && path.len > dir.len && path.ptr[dir.len] == '/' &&
           memcmp(path.ptr, dir.ptr, dir.len) == 0;
}

/* ---- What differs ---- */

/* Lists the changes. As restore_open. */
int restore_find(struct restore *restore, const struct digest *before,
                 const struct digest *after, struct paths *only);
/* CAIRN_EUSAGE: something that is in no snapshot lies in a directory in whose place a
 * file or link is to come. */
int restore_check_replaced(struct restore *restore);

/* ---- Names in directories ---- */

/* As place_open, of a path below the directory. */
static inline int place_parent(struct restore *restore, struct str path,
                               const char **name)
{
    return place_open(&restore->parent, restore->fd, path, name);
}
int place_error(struct restore *restore, int sys, struct str path, const char *what);

/* ---- Contents (restore_stage.c) ---- */

/* The name in the stage of a change: of a file "12"; of a new directory "12.tree", and
 * what comes into that one is in it. Nothing else ever comes into it. */
enum { RESTORE_NAME = 32 };
#define RESTORE_TREE ".tree"
const char *restore_staged_name(char out[RESTORE_NAME], size_t change);
const char *restore_tree_name(char out[RESTORE_NAME], size_t change);
/* The new directories that are staged as a whole: not of one that was begun. */
void restore_choose_trees(struct restore *restore);
/* The directory in which a change is written, and its name there, which counts until the
 * next call. -1 and errno. */
int restore_written(struct restore *restore, size_t change, const char **name);
/* Makes the directories that restore_stage_all writes into, */
int restore_make_directories(struct restore *restore);
/* and when all is written, gives them their modes and times, but for the new directories
 * themselves, which are to be moved. */
int restore_finish_directories(struct restore *restore);
struct timespec restore_time(int64_t ns);
/* Writes what is `staged`: in the stage, or where `direct` in its place. */
int restore_stage_all(struct restore *restore);
/* Nothing is cloned any more. */
void restore_forget_like(struct restore *restore);
void restore_forget_places(struct restore *restore);

#endif
