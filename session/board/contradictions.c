/* SPDX-License-Identifier: MIT */
/* Claims are sorted by subject and claim, so that what affirms one stands before what
 * denies it; pairs that edges name are sorted, too. Then each belief in turn merges the
 * two ascending rows of its opponents. */
#include "session/board/contradictions.h"

#include "base/array.h"
#include "session/board/confidence.h"

#include <stdlib.h>

struct claim {
    const struct belief *belief;
    uint32_t node;
};
struct pair {
    uint32_t a, b;
};

/* Sorted claims of beliefs that are believed; opponents[i] of a belief is a row in it.
 */
struct row {
    uint32_t start, end;
};
struct finding {
    const struct belief_board *board;
    uint32_t only;
    struct claim *claims;
    uint32_t n_claims;
    struct row *opponents; /* by belief */
    struct pair *pairs;
    size_t n_pairs;
};

static bool is_believed(const struct belief_board *board, uint32_t node)
{
    return confidence_above(board->beliefs[node].confidence, CONFIDENCE_BELIEVED);
}

static int by_claim(const void *left, const void *right)
{
    const struct claim *x = left, *y = right;
    int order = str_compare(x->belief->subject, y->belief->subject);
    if (!order)
        order = str_compare(x->belief->claim, y->belief->claim);
    if (!order)
        order = x->belief->denied - y->belief->denied;
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int by_pair(const void *left, const void *right)
{
    const struct pair *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool same_claim(const struct belief *x, const struct belief *y)
{
    return str_equal(x->subject, y->subject) && str_equal(x->claim, y->claim);
}

static void sort_claims(struct finding *f)
{
    for (uint32_t i = 0; i < f->board->n; i++)
        if (is_believed(f->board, i) && f->board->beliefs[i].subject.len)
            f->claims[f->n_claims++] = (struct claim){&f->board->beliefs[i], i};
    if (f->n_claims)
        qsort(f->claims, f->n_claims, sizeof *f->claims, by_claim);
    for (uint32_t start = 0, end; start < f->n_claims; start = end) {
        uint32_t denied = start;
        for (end = start; end < f->n_claims &&
                          same_claim(f->claims[end].belief, f->claims[start].belief);
             end++)
            denied += !f->claims[end].belief->denied;
        for (uint32_t i = start; i < end; i++)
            f->opponents[f->claims[i].node] =
                i < denied ? (struct row){denied, end} : (struct row){start, denied};
    }
}

static void sort_pairs(struct finding *f)
{
    const struct belief_board *board = f->board;
    size_t kept = 0;
    for (size_t i = 0; i < board->n_edges; i++) {
        const struct dependency *edge = &board->edges[i];
        bool ordered = edge->from < edge->to;
        if (edge->kind == DEPENDENCY_CONTRADICTS && edge->from != edge->to &&
            is_believed(board, edge->from) && is_believed(board, edge->to))
            f->pairs[f->n_pairs++] = (struct pair){ordered ? edge->from : edge->to,
                                                   ordered ? edge->to : edge->from};
    }
    if (f->n_pairs)
        qsort(f->pairs, f->n_pairs, sizeof *f->pairs, by_pair);
    for (size_t i = 0; i < f->n_pairs; i++)
        if (kept == 0 || by_pair(&f->pairs[kept - 1], &f->pairs[i]) != 0)
            f->pairs[kept++] = f->pairs[i];
    f->n_pairs = kept;
}

static int add_pair(struct finding *f, struct contradiction found, size_t *capacity,
                    struct contradictions *out)
{
    if (f->only != BELIEF_ANY && found.a != f->only && found.b != f->only)
        return 0;
    out->total++;
    if (out->n == CONTRADICTIONS_MOST)
        return 0;
    struct contradiction *at = array_room(out->at, out->n, capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    out->at = at;
    out->at[out->n++] = found;
    return 0;
}

/* The opponents of each belief that have higher numbers. */
static int merge_rows(struct finding *f, struct contradictions *out)
{
    size_t capacity = 0, pair = 0;
    int rc = 0;
    for (uint32_t a = 0; a < f->board->n && !rc; a++) {
        struct row row = f->opponents[a];
        while (row.start < row.end && f->claims[row.start].node <= a)
            row.start++;
        for (;;) {
            bool has_claim = row.start < row.end;
            bool has_pair = pair < f->n_pairs && f->pairs[pair].a == a;
            if (rc || (!has_claim && !has_pair))
                break;
            uint32_t claim = has_claim ? f->claims[row.start].node : UINT32_MAX;
            uint32_t named = has_pair ? f->pairs[pair].b : UINT32_MAX;
            struct contradiction found = {a, claim < named ? claim : named,
                                          claim <= named};
            row.start += claim == found.b;
            pair += named == found.b;
            rc = add_pair(f, found, &capacity, out);
        }
    }
    return rc;
}

static int check_board(const struct belief_board *board, uint32_t only,
                       struct cairn_error *error)
{
    int rc = 0;
    if (only != BELIEF_ANY && only >= board->n)
        return error_set(error, CAIRN_ENOTFOUND, "there is no such belief");
    for (uint32_t i = 0; i < board->n && !rc; i++)
        rc = confidence_check("a stored confidence", board->beliefs[i].confidence,
                              error);
    for (size_t i = 0; i < board->n_edges && !rc; i++)
        if (board->edges[i].from >= board->n || board->edges[i].to >= board->n)
            rc = error_set(error, CAIRN_EUSAGE,
                           "dependency %zu is of a belief that is not there", i);
    return rc;
}

int belief_contradictions(const struct belief_board *board, uint32_t only,
                          struct contradictions *out, struct cairn_error *error)
{
    struct finding f = {.board = board, .only = only};
    struct contradictions made = {0};
    int rc = check_board(board, only, error);
    if (rc)
        return rc;
    f.claims = malloc(((size_t)board->n + 1) * sizeof *f.claims);
    f.opponents = calloc((size_t)board->n + 1, sizeof *f.opponents);
    f.pairs = malloc((board->n_edges + 1) * sizeof *f.pairs);
    rc = CAIRN_ENOMEM;
    if (f.claims && f.opponents && f.pairs) {
        sort_claims(&f);
        sort_pairs(&f);
        rc = merge_rows(&f, &made);
    }
    free(f.claims);
    free(f.opponents);
    free(f.pairs);
    if (rc) {
        free(made.at);
        return error_nomem(error);
    }
    *out = made;
    return 0;
}
