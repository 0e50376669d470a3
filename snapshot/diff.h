/* SPDX-License-Identifier: MIT */
/* What must be done to the lines of one text to get another. Pure.
 *
 * A line ends with its "\n", which belongs to it, so a last line without one differs
 * from the same line with one; a "\r" is a byte like others. Texts may hold any bytes.
 *
 * The edits are as few lines as possible where both texts have at most 15,000 lines
 * each between the lines that begin both and those that end both. Beyond that the work
 * is bounded, and the edits are right, but may be more than are needed: 100,000 lines
 * against 100,000 others take about a second. If there are more than TEXT_LINES_MOST
 * lines in between, they are one edit. Memory: about 100 bytes for each of these. */
#ifndef SNAPSHOT_DIFF_H
#define SNAPSHOT_DIFF_H

#include "base/str.h"

#include <sys/types.h>

enum { TEXT_LINES_MOST = 1 << 21 };

/* Lines of one text that follow each other. */
struct text_span {
    size_t line, lines; /* the first, from 0; how many */
    size_t at, end;     /* the same in bytes */
};

/* The lines `a` of the one text have become the lines `b` of the other. Not both are
 * empty. */
struct text_edit {
    struct text_span a, b;
};

struct text_diff {
    struct text_edit *edits; /* in order; two of them have lines between that stay */
    size_t n;
    size_t removed, added; /* lines in all edits */
};

/* 0, or CAIRN_ENOMEM, with *diff as it was. The caller releases it. */
int text_diff(struct str a, struct str b, struct text_diff *diff,
              struct cairn_error *error);
void text_diff_release(struct text_diff *diff);
/* Has a NUL among its first 8,000 bytes: what git takes for binary. */
bool text_is_binary(struct str text);
/* The length of the line at the beginning of `text`, its "\n" with it; 0: no text. */
size_t text_line_length(struct str text);

/* Edits with lines around them, as unified diffs show them. Pure. */

struct text_hunk {
    size_t a_first, a_lines; /* from 1; without lines: the line before, 0: none */
    size_t b_first, b_lines;
};

enum text_line { TEXT_SAME = ' ', TEXT_REMOVED = '-', TEXT_ADDED = '+' };

/* Each returns 0 or an error, which ends the visit. A line comes with its "\n"; only
 * the last of a text may have none. */
struct text_visitor {
    void *context;
    int (*hunk)(void *context, const struct text_hunk *hunk, struct cairn_error *error);
    int (*line)(void *context, enum text_line kind, struct str line,
                struct cairn_error *error);
};

/* Calls hunk, then line for each line of it, and so on; nothing for equal texts. `diff`
 * is of these texts, `around` how many lines that stay are shown before and after an
 * edit (3 is usual); edits with no more than twice as many between share a hunk. */
int text_hunks(struct str a, struct str b, const struct text_diff *diff, size_t around,
               const struct text_visitor *visitor, struct cairn_error *error);

/* Patches in git's form, which `git apply` and `patch -p1` take. Pure. */

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

/* Appends what makes `old` to `new`: NULL is not a file, so that the other is new or
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

/* Lines of a text in the text that it was made of. Pure. */

/* `lines`: numbers of lines (from 0, ascending) of the text `b` of the diff. Each
 * becomes its number in `a`, or TEXT_LINE_NEW where the diff adds it. */
#define TEXT_LINE_NEW SIZE_MAX

void text_trace(const struct text_diff *diff, size_t *lines, size_t n);

#endif
