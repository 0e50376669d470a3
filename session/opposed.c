/* SPDX-License-Identifier: MIT */
/* The contradictions of a board, by the numbers of its beliefs, and in the log. */
#include "session/session_int.h"

#include <stdlib.h>

struct copy {
    struct belief *beliefs;
    struct dependency *edges;
};

static struct belief belief_of(const struct item *item)
{
    const struct item_value *values = item->values;
    return (struct belief){values[BELIEF_SUBJECT].text, values[BELIEF_CLAIM].text,
                           values[BELIEF_DENIED].present,
                           values[BELIEF_CONFIDENCE].number};
}

static bool copy_beliefs(const struct section *beliefs, const struct section *edges,
                         struct copy *copy)
{
    copy->beliefs = calloc((size_t)beliefs->n + 1, sizeof *copy->beliefs);
    copy->edges = calloc((size_t)edges->n + 1, sizeof *copy->edges);
    for (uint32_t i = 0; i < beliefs->n && copy->beliefs; i++)
        copy->beliefs[i] = belief_of(&beliefs->items[i]);
    for (uint32_t i = 0; i < edges->n && copy->edges; i++) {
        const struct item_value *values = edges->items[i].values;
        copy->edges[i] =
            (struct dependency){section_place(beliefs, values[DEPENDENCY_FROM].ref.n),
                                section_place(beliefs, values[DEPENDENCY_TO].ref.n),
                                (enum dependency_kind)values[DEPENDENCY_KIND].count};
    }
    return copy->beliefs && copy->edges;
}

int board_contradictions(const struct board *board, uint32_t belief,
                         struct contradictions *out, struct cairn_error *error)
{
    struct section beliefs = board_section(board, ITEM_BELIEF),
                   edges = board_section(board, ITEM_DEPENDENCY);
    struct copy copy = {0};
    struct contradictions found = {0};
    uint32_t at = belief ? section_place(&beliefs, belief) : BELIEF_ANY;
    if (belief && (at == beliefs.n || beliefs.items[at].id.n != belief))
        return 0;
    int rc = copy_beliefs(&beliefs, &edges, &copy) ? 0 : error_nomem(error);
    struct belief_board all = {copy.beliefs, beliefs.n, copy.edges, edges.n};
    if (!rc)
        rc = belief_contradictions(&all, at, &found, error);
    for (uint32_t i = 0; i < found.n && !rc; i++) {
        found.at[i].a = beliefs.items[found.at[i].a].id.n;
        found.at[i].b = beliefs.items[found.at[i].b].id.n;
    }
    if (!rc)
        *out = found;
    free(copy.beliefs);
    free(copy.edges);
    return rc;
}

static bool is_before(const struct contradiction *x, const struct contradiction *y)
{
    return x->a < y->a || (x->a == y->a && x->b < y->b);
}

/* Both are in order. */
const struct contradiction *new_contradiction(const struct contradictions *before,
                                              const struct contradictions *after)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < after->n; i++) {
        while (at < before->n && is_before(&before->at[at], &after->at[i]))
            at++;
        if (at == before->n || is_before(&after->at[i], &before->at[at]))
            return &after->at[i];
    }
    return NULL;
}

int live_log_contradiction(struct live *live, uint32_t belief, uint32_t other,
                           struct cairn_error *error)
{
    char id[ITEM_ID_MAX];
    item_id((struct item_ref){ITEM_BELIEF, other}, id);
    struct log_entry entry = {.verb = VERB_CONTRADICTION,
                              .kind = ITEM_BELIEF,
                              .number = belief,
                              .after = str_of(id)};
    return live_log(live, &entry, error);
}
