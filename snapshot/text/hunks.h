/* SPDX-License-Identifier: MIT */
/* Edits with lines around them, as unified diffs show them. Pure. */
#ifndef SNAPSHOT_TEXT_HUNKS_H
#define SNAPSHOT_TEXT_HUNKS_H

#include "snapshot/text/diff.h"

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

#endif
