/* SPDX-License-Identifier: MIT */
/* Some of the paths of a tree, by patterns that people give: each is one as a line of a
 * .gitignore at the root has it, but that `!` and `#` in front are those bytes. It
 * means what it matches, and all that is below a directory that it matches. */
#ifndef SNAPSHOT_PATHS_H
#define SNAPSHOT_PATHS_H

#include "snapshot/ignore.h"

enum { PATHS_MOST = 1000, PATHS_BYTES_MOST = 64 << 10 };

struct paths {
    struct arena arena;
    struct ignore_level *levels; /* [n], one for each pattern */
    const struct str *texts;     /* as they were given */
    bool *found;                 /* matched something */
    size_t n;
};
/* Of at least one; `texts` must outlive it. paths_close in any case. CAIRN_EUSAGE: one
 * is empty, or can match nothing. */
int paths_open(struct paths *paths, const struct str *texts, size_t n,
               struct cairn_error *error);
void paths_close(struct paths *paths);
/* Is it one of them? Each pattern that matches it is noted as found. */
bool paths_match(struct paths *paths, struct str path, bool is_dir);
/* The first that has matched nothing; NULL: none. */
const struct str *paths_missing(const struct paths *paths);

#endif
