/* SPDX-License-Identifier: MIT */
/* Figures: forge-reasoning, impact/propagation.rs. */
#include "session/board/cascade.h"

#include "session/board/confidence.h"

#include <stdlib.h>

static int check_confidences(const struct belief_graph *graph, const double *confidence,
                             struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < graph->n && !rc; i++)
        rc = confidence_check("a stored confidence", confidence[i], error);
    return rc;
}

static void fill_steps(const double *confidence, double changed,
                       const struct belief_list *reached, const uint32_t *depth,
                       struct cascade_step *steps)
{
    double value = changed;
    uint32_t level = 0;
    for (uint32_t i = 0; i < reached->n; i++) {
        for (; level < depth[i]; level++)
            value *= CASCADE_FACTOR;
        steps[i] = (struct cascade_step){
            .node = reached->at[i],
            .depth = depth[i],
            .before = confidence[reached->at[i]],
            .after = value > CASCADE_FLOOR ? value : CASCADE_FLOOR,
        };
    }
}

int belief_cascade(const struct belief_graph *graph, const double *confidence,
                   uint32_t node, double changed, struct cascade *cascade,
                   struct cairn_error *error)
{
    struct belief_list reached;
    uint32_t *depth;
    if (node >= graph->n)
        return error_set(error, CAIRN_ENOTFOUND, "there is no such belief");
    int rc = confidence_check("confidence", changed, error);
    if (!rc)
        rc = check_confidences(graph, confidence, error);
    if (!rc)
        rc = belief_reach(graph, node, BELIEF_DEPENDENTS, &reached, &depth, error);
    if (rc)
        return rc;
    if (reached.n >= CASCADE_MOST) {
        rc = error_set(error, CAIRN_ELIMIT,
                       "this would change %u beliefs, and %d at once are the limit; "
                       "remove dependencies between some of them first",
                       reached.n + 1, CASCADE_MOST);
        free(reached.at);
        free(depth);
        return rc;
    }
    struct cascade_step *steps = malloc(((size_t)reached.n + 1) * sizeof *steps);
    if (!steps) {
        free(reached.at);
        free(depth);
        return error_nomem(error);
    }
    steps[0] = (struct cascade_step){node, 0, confidence[node], changed};
    fill_steps(confidence, changed, &reached, depth, steps + 1);
    cascade->steps = steps;
    cascade->n = reached.n + 1;
    free(reached.at);
    free(depth);
    return 0;
}

void cascade_release(struct cascade *cascade)
{
    free(cascade->steps);
    *cascade = (struct cascade){0};
}

bool cascade_equal(const struct cascade *a, const struct cascade *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct cascade_step *x = &a->steps[i], *y = &b->steps[i];
        if (x->node != y->node || x->depth != y->depth || x->before != y->before ||
            x->after != y->after)
            return false;
    }
    return true;
}

int cascade_page(const struct cascade *cascade, uint32_t page, struct cascade_page *out,
                 struct cairn_error *error)
{
    uint32_t pages = (cascade->n + CASCADE_PAGE - 1) / CASCADE_PAGE;
    if (page < 1 || page > pages)
        return error_set(error, CAIRN_EUSAGE,
                         "there is no page %u; the pages are 1 to %u", page, pages);
    uint32_t first = (page - 1) * CASCADE_PAGE, left = cascade->n - first;
    *out = (struct cascade_page){
        .steps = cascade->steps + first,
        .n = left < CASCADE_PAGE ? left : CASCADE_PAGE,
        .page = page,
        .pages = pages,
    };
    return 0;
}
