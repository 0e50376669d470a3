/* SPDX-License-Identifier: MIT */
/* The shortest way from one row of numbers to another: E. Myers, "An O(ND) difference
 * algorithm and its variations" (1986), in linear space, from both ends at once. */
#ifndef SNAPSHOT_TEXT_SCRIPT_INT_H
#define SNAPSHOT_TEXT_SCRIPT_INT_H

#include "base/arena.h"

/* One of the two rows. An item that goes (or comes) is noted in changed[index of it].
 */
struct script_row {
    const uint32_t *items;
    const uint32_t *index;
    bool *changed;
    uint32_t n;
};

/* Notes in both what has to change. It is the least if that is found with some `effort`
 * steps; otherwise the work is about 8 * effort steps, and more may be noted than is
 * needed. Takes 8 bytes an item of the arena. CAIRN_ENOMEM. */
int script_find(struct arena *arena, const struct script_row *a,
                const struct script_row *b, uint64_t effort, struct cairn_error *error);

#endif
