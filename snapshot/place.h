/* SPDX-License-Identifier: MIT */
/* Names in directories, for whoever puts files into them: each directory is opened from
 * a root down without following a link, and what is in the way is never overwritten. */
#ifndef SNAPSHOT_PLACE_H
#define SNAPSHOT_PLACE_H

#include "base/str.h"

/* The directory that was opened last. PLACE_INIT; place_close. */
struct place_directory {
    struct buf path; /* "" is the root */
    int fd, sys;     /* sys: the errno of one that could not be opened */
    uint64_t opened; /* how many were, so that a caller knows it again */
};
#define PLACE_INIT ((struct place_directory){.path = BUF_INIT, .fd = -1})

/* The directory that the path below `root` lies in, and the last name of the path. -1 and
 * errno. It is closed by the next call. What was found, also that it is not there, with
 * all that would lie in it, counts until place_forget or another directory. */
int place_open(struct place_directory *place, int root, struct str path,
               const char **name);
void place_forget(struct place_directory *place);
void place_close(struct place_directory *place);

/* Moves a name to one under which nothing is. 0 or an errno; EEXIST. */
int place_move(int from, const char *name, int to, const char *new_name);
/* What is under the two names changes places; where nothing is at `name`, what is staged
 * goes there. 0 or an errno. */
int place_exchange(int stage, const char *staged, int parent, const char *name);
/* Deletes a directory of ours with all that is in it, but not what is on another file
 * system. 0, also where it is not there, or an errno. */
int place_delete(int directory, const char *name);

#endif
