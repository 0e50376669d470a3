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
#ifndef SNAPSHOT_TEXT_DIFF_H
#define SNAPSHOT_TEXT_DIFF_H

#include "base/str.h"

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

#endif
