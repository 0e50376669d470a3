/* SPDX-License-Identifier: MIT */
/* The files of a snapshot in a new directory, all of them or none:
 *
 *     unpack_open     looks at the place
 *     unpack_write    puts them into another directory beside it
 *     (the caller makes durable that they are to be there)
 *     unpack_place    gives that directory its name
 *     unpack_close
 *
 * unpack_clear deletes what was written and never placed. A snapshot does not take such
 * a directory beside the place. One at a time in a store: the caller has its lock. */
#ifndef SNAPSHOT_UNPACK_H
#define SNAPSHOT_UNPACK_H

#include "snapshot/restore.h"

struct unpack {
    struct cairn_store *store;
    const char *path; /* absolute, of the place; of the caller */
    const char *name; /* the last one of it */
    struct buf above; /* the directory that it is in */
    char work[64];    /* the name of the other directory */
    int fd;           /* `above`, -1: not open */
    struct restore_counts counts;
    struct cairn_error *error;
};
/* unpack_close in any case. CAIRN_ENOTFOUND: the directory above is not there. */
int unpack_open(struct unpack *unpack, struct cairn_store *store, const char *path,
                struct cairn_error *error);
/* CAIRN_EUSAGE: what is there is no empty directory, or one that cannot be replaced. */
int unpack_check(struct unpack *unpack);
/* A tree. `like`: a directory whose files may be cloned, or NULL. CAIRN_EDAMAGED. */
int unpack_write(struct unpack *unpack, const struct digest *tree, const char *like);
/* With a file of that name and content in it. Again, it is finished, or it is done
 * already: that file tells. CAIRN_ENOTFOUND: neither the place nor what was written is
 * there. */
int unpack_place(struct unpack *unpack, const char *file, struct str content);
int unpack_clear(struct unpack *unpack);
void unpack_close(struct unpack *unpack);

/* Without all that: a tree in an empty directory that is thrown away later. Nothing is
 * synced, and after an error some of it may be there. CAIRN_EUSAGE: it is not empty;
 * CAIRN_EDAMAGED. */
int unpack_scratch(struct cairn_store *store, const char *directory,
                   const struct digest *tree, struct cairn_error *error);

#endif
