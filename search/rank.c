/* SPDX-License-Identifier: MIT */
#include "search/search_int.h"

#include <stdlib.h>

/* How much less a place further down counts. The paper has 60, with which the middle of
 * two weak lists outweighs the first place of the good one. This and the weights were
 * chosen on two sets of queries in tests/data/search: docs/performance.md. */
#define FUSE_K 2.0
static const double list_weights[RANK_LISTS] = {1.0, 0.3, 0.3, 0};

/* The worst one is at[0]: a heap. */
static bool is_worse(const struct ranked *a, const struct ranked *b)
{
    return a->score != b->score ? a->score > b->score : a->doc < b->doc;
}

static void sink(struct rank_list *list)
{
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child >= list->n)
            return;
        if (child + 1 < list->n && is_worse(&list->at[child + 1], &list->at[child]))
            child++;
        if (!is_worse(&list->at[child], &list->at[at]))
            return;
        struct ranked kept = list->at[at];
        list->at[at] = list->at[child];
        list->at[child] = kept;
        at = child;
    }
}

void rank_offer(struct rank_list *list, int64_t doc, int64_t score)
{
    struct ranked new_one = {doc, score};
    if (list->n == RANK_DEPTH) {
        if (!is_worse(&list->at[0], &new_one))
            return;
        list->at[0] = new_one;
        sink(list);
        return;
    }
    size_t at = list->n++;
    for (; at > 0 && is_worse(&new_one, &list->at[(at - 1) / 2]); at = (at - 1) / 2)
        list->at[at] = list->at[(at - 1) / 2];
    list->at[at] = new_one;
}

static int by_score(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

void rank_sort(struct rank_list *list)
{
    qsort(list->at, list->n, sizeof list->at[0], by_score);
}

static int by_doc(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

static int by_fused(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (x->doc < y->doc) - (x->doc > y->doc);
}

void rank_order(struct fused *fused, size_t n)
{
    if (n)
        qsort(fused, n, sizeof *fused, by_fused);
}

void rank_fuse(const struct rank_list lists[RANK_LISTS],
               const double weights[RANK_LISTS], struct fused *out, size_t *n)
{
    double all = 0;
    size_t found = 0, kept = 0;
    if (!weights)
        weights = list_weights;
    for (size_t i = 0; i < RANK_LISTS; i++) {
        size_t rank = 0;
        all += weights[i] / (FUSE_K + 1);
        for (size_t j = 0; j < lists[i].n; j++) {
            if (j == 0 || lists[i].at[j].score != lists[i].at[j - 1].score)
                rank = j + 1;
            out[found++] =
                (struct fused){.doc = lists[i].at[j].doc,
                               .score = weights[i] / (FUSE_K + (double)rank)};
        }
    }
    if (found)
        qsort(out, found, sizeof *out, by_doc);
    for (size_t i = 0; i < found; i++) {
        if (kept && out[kept - 1].doc == out[i].doc)
            out[kept - 1].score += out[i].score;
        else
            out[kept++] = out[i];
    }
    for (size_t i = 0; i < kept; i++)
        out[i].score /= all;
    *n = kept;
}
