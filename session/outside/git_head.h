/* SPDX-License-Identifier: MIT */
/* Where git is: the branch and the commit of the repository that a directory lies in,
 * by reading its files (gitrepository-layout(5)). No process is started, nothing is
 * written, and how much is read is bounded. What cannot be read is not told: that git
 * is damaged, or is of a kind that is not known (reftable), is no error. */
#ifndef SESSION_OUTSIDE_GIT_HEAD_H
#define SESSION_OUTSIDE_GIT_HEAD_H

#include "base/str.h"

enum { GIT_NAME_BYTES = 1024, GIT_COMMIT_BYTES = 64 };

struct git_head {
    char branch[GIT_NAME_BYTES + 1]; /* "main"; empty: HEAD is on none, no repository */
    char commit[GIT_COMMIT_BYTES + 1]; /* hex; empty: the branch has none yet */
};
/* Of the repository in `directory` or the nearest one above. CAIRN_ENOMEM alone. */
int git_head_read(const char *directory, struct git_head *out,
                  struct cairn_error *error);
/* The work tree that `directory` lies in: its root, and the directory of git that all
 * work trees of the repository share (perhaps with `..` in it). 1: there is one, 0:
 * none, CAIRN_ENOMEM. */
int git_work_tree(const char *directory, struct buf *root, struct buf *common,
                  struct cairn_error *error);

#endif
