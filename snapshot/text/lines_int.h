/* SPDX-License-Identifier: MIT */
/* The lines in which two texts differ: those that begin both and those that end both
 * are cut off first. Equal lines have equal numbers. */
#ifndef SNAPSHOT_TEXT_LINES_INT_H
#define SNAPSHOT_TEXT_LINES_INT_H

#include "base/arena.h"

struct lines {
    struct str text; /* the part between what is cut off */
    size_t at, line; /* where that begins, in bytes and lines of the whole */
    size_t n;        /* lines in it */
    /* Made by lines_number: */
    size_t *start; /* of each line in `text`, and the end of the last */
    uint32_t *number;
};

/* Cuts off what both have in common, and counts. */
void lines_cut(struct str a, struct str b, struct lines *in_a, struct lines *in_b);
/* Splits and numbers them, *numbers in all. CAIRN_ENOMEM. */
int lines_number(struct arena *arena, struct lines *a, struct lines *b,
                 uint32_t *numbers, struct cairn_error *error);

#endif
