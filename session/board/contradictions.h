/* SPDX-License-Identifier: MIT */
/* Pairs of beliefs of which at most one can be true, though both are believed: each
 * confidence is above 0.7, and either one says of a subject what the other denies, or
 * an edge says that they contradict. */
#ifndef SESSION_BOARD_CONTRADICTIONS_H
#define SESSION_BOARD_CONTRADICTIONS_H

#include "session/board/beliefs.h"

/* "layer 2" "has bad weights", or denied: "layer 2" not "has bad weights". A belief
 * without a subject is opposed to none. Texts are compared byte by byte. */
struct belief {
    struct str subject, claim;
    bool denied;
    double confidence;
};

struct contradiction {
    uint32_t a, b; /* a < b */
    bool opposite; /* of one subject; else only an edge says so */
};

/* Ascending by a, then b, each pair once. Of many the first CONTRADICTIONS_MOST are in
 * the list; `total` counts all. */
enum { CONTRADICTIONS_MOST = 10000 };
struct contradictions {
    struct contradiction *at; /* freed by the caller */
    uint32_t n;
    uint64_t total;
};

/* All of them, or those of one belief. Other edges than those that contradict may be
 * among `edges`. */
#define BELIEF_ANY UINT32_MAX
struct belief_board {
    const struct belief *beliefs;
    uint32_t n;
    const struct dependency *edges;
    size_t n_edges;
};
int belief_contradictions(const struct belief_board *board, uint32_t only,
                          struct contradictions *out, struct cairn_error *error);

#endif
