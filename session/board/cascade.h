/* SPDX-License-Identifier: MIT */
/* What a new confidence of one belief does to those that depend on it: each gets the
 * new confidence times 0.95 for every step that it is away, and not less than 0.1.
 *
 * A cascade is computed, shown, and then applied: belief_cascade again, and only if
 * cascade_equal says that it is what was shown are its new values stored. The old ones
 * are in it, so it can be undone. */
#ifndef SESSION_BOARD_CASCADE_H
#define SESSION_BOARD_CASCADE_H

#include "session/board/beliefs.h"

#define CASCADE_FACTOR 0.95 /* a level */
#define CASCADE_FLOOR 0.1   /* of dependents; what is set by hand may be lower */
enum { CASCADE_MOST = 10000, CASCADE_PAGE = 50 };

struct cascade_step {
    uint32_t node;
    uint32_t depth; /* 0: the belief that was changed; else the shortest way to it */
    double before, after;
};

/* steps[0] is the changed belief; the nearest come first, then those with the lower
 * number of the belief that they were found from, and then their own. */
struct cascade {
    struct cascade_step *steps; /* freed by cascade_release */
    uint32_t n;
};

/* confidence[i] of all beliefs. CAIRN_ELIMIT if more than CASCADE_MOST would change:
 * applying a part would leave the rest wrong. */
int belief_cascade(const struct belief_graph *graph, const double *confidence,
                   uint32_t node, double changed, struct cascade *cascade,
                   struct cairn_error *error);
void cascade_release(struct cascade *cascade);

/* The same steps, bit by bit. */
bool cascade_equal(const struct cascade *a, const struct cascade *b);

/* Pages of CASCADE_PAGE steps, from 1; there is always a first. CAIRN_EUSAGE says how
 * many there are. The steps are borrowed. */
struct cascade_page {
    const struct cascade_step *steps;
    uint32_t n, page, pages;
};
int cascade_page(const struct cascade *cascade, uint32_t page, struct cascade_page *out,
                 struct cairn_error *error);

#endif
