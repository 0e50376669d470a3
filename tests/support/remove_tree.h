/* SPDX-License-Identifier: MIT */
/* rm -r, for tests. */
#ifndef TESTS_SUPPORT_REMOVE_TREE_H
#define TESTS_SUPPORT_REMOVE_TREE_H

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>

static inline int remove_tree_entry(const char *path, const struct stat *st, int type,
                                    struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

/* Neither through symbolic links nor into other file systems. Whether nothing is there
 * any more. */
static inline bool remove_tree(const char *path)
{
    return nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0 ||
           errno == ENOENT;
}

#endif
