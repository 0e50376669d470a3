/* SPDX-License-Identifier: MIT */
/* Patches in git's form, which `git apply` and `patch -p1` take. Pure. */
#ifndef SNAPSHOT_TEXT_PATCH_H
#define SNAPSHOT_TEXT_PATCH_H

#include "base/str.h"

#include <sys/types.h>

/* One side of a change. Of the mode, git keeps whether it is a link and whether its
 * owner may execute it; the content of a link is what it points to. */
struct text_file {
    struct str path; /* relative, without a NUL */
    mode_t mode;     /* as stat has it */
    struct str content;
    bool is_large; /* as binary: `content` only says whether two are the same */
};

struct text_stat {
    size_t added, removed; /* lines; 0 where is_binary */
    bool is_binary;        /* the contents differ, and one of them is binary */
};

struct text_patch_options {
    size_t around;  /* lines around each edit; with 0, git apply wants --unidiff-zero */
    bool is_copy;   /* with two paths: the old one is still there */
    bool is_barred; /* something binary stays that is in the way of it: only named */
};

/* Appends what makes `old` to `new`: NULL is no file, so that the other is new or
 * deleted; two paths are a rename, or a copy. Links, which `patch` does not change, are
 * deleted and made anew. Nothing is appended where git sees no difference. What
 * is binary on one side is only named, behind an empty line, and stays as it is. *stat
 * may be NULL. CAIRN_ENOMEM. */
int text_patch(const struct text_file *old, const struct text_file *new,
               const struct text_patch_options *options, struct buf *out,
               struct text_stat *stat, struct cairn_error *error);

/* Appends a path as git prints it, `before` ("a/") in front: in double quotes with the
 * escapes of C if there are control bytes, quotes, backslashes, or bytes that are no
 * ASCII in it. A path with a space is in quotes, too (git leaves it without them): of
 * those `patch` does not see where they end. */
void text_quote(struct buf *out, const char *before, struct str path);

#endif
