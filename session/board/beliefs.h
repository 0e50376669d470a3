/* SPDX-License-Identifier: MIT */
/* The graph of beliefs: what rests on what, what a change reaches, and what cannot both
 * be true. Beliefs are numbered from 0; the caller has their ids.
 *
 *     belief_graph_init, then any of the questions, then belief_graph_release
 *
 * The edges that are stored never close a circle, since belief_cycle is asked before
 * one is added. The questions end, and answer, with circles as well. */
#ifndef SESSION_BOARD_BELIEFS_H
#define SESSION_BOARD_BELIEFS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why `from` depends on `to`. Stored: never renumbered. */
enum dependency_kind {
    DEPENDENCY_IMPLICATION = 1, /* it follows from it */
    DEPENDENCY_CAUSE = 2,       /* it is caused by it */
    DEPENDENCY_EVIDENCE = 3,    /* it is evidence for it */
    DEPENDENCY_DERIVATION = 4,  /* it was computed from it */
    DEPENDENCY_ASSUMPTION = 5,  /* it takes it for granted */
    DEPENDENCY_MEASUREMENT = 6, /* it was measured with it */
    /* No dependency: both cannot be true. Direction does not matter. */
    DEPENDENCY_CONTRADICTS = 7,
};

/* "implication"; NULL for a number that is not a kind. */
const char *dependency_kind_name(enum dependency_kind kind);
int dependency_kind_parse(struct str name, enum dependency_kind *kind,
                          struct cairn_error *error);

struct dependency {
    uint32_t from, to; /* from depends on to */
    enum dependency_kind kind;
};

/* needs[need_start[i]] up to needs[need_start[i + 1]] is what i depends on, each once
 * and ascending; dependents mirrors it. Edges that contradict are in neither. */
struct belief_graph {
    uint32_t n;
    uint32_t *need_start, *needs;
    uint32_t *dependent_start, *dependents;
};

/* CAIRN_EUSAGE for an edge of a belief that is not there; CAIRN_ELIMIT, CAIRN_ENOMEM.
 */
int belief_graph_init(struct belief_graph *graph, uint32_t n,
                      const struct dependency *edges, size_t n_edges,
                      struct cairn_error *error);
void belief_graph_release(struct belief_graph *graph);

/* A list that the caller frees. */
struct belief_list {
    uint32_t *at;
    uint32_t n;
};

/* May this edge be added? 0, or CAIRN_EUSAGE if it would close a circle, which then is
 * in *cycle: from, to, ..., and back to `from`, which is not repeated. The text names
 * it by `ids`, in whole or as far as it holds. An edge to itself is a circle of one;
 * two beliefs may contradict in a circle, but none itself. */
int belief_cycle(const struct belief_graph *graph, const struct str *ids,
                 struct dependency edge, struct belief_list *cycle,
                 struct cairn_error *error);

enum belief_direction {
    BELIEF_NEEDS,      /* what it depends on */
    BELIEF_DEPENDENTS, /* what depends on it */
};

/* Directly: borrowed from the graph. */
struct belief_span {
    const uint32_t *at;
    uint32_t n;
};

struct belief_span belief_direct(const struct belief_graph *graph, uint32_t node,
                                 enum belief_direction direction);
/* Also through others: the nearest first, without `node` itself. depth[i], if wanted,
 * is freed by the caller: how many edges away at[i] is, at least 1. */
int belief_reach(const struct belief_graph *graph, uint32_t node,
                 enum belief_direction direction, struct belief_list *reached,
                 uint32_t **depth, struct cairn_error *error);

/* What a new confidence of one belief does to those that depend on it: each gets the
 * new confidence times 0.95 for every step that it is away, and not less than 0.1.
 *
 * A cascade is computed, shown, and then applied: belief_cascade again, and only if
 * cascade_equal says that it is what was shown are its new values stored. The old ones
 * are in it, so it can be undone. */

#define CASCADE_FLOOR 0.1 /* of dependents; what is set by hand may be lower */

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

/* Pairs of beliefs of which at most one can be true, though both are believed: each
 * confidence is above 0.7, and either one says of a subject what the other denies, or
 * an edge says that they contradict. */

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
