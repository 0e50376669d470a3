/* SPDX-License-Identifier: MIT */
/* How certain a board is of its hypotheses, and the gaps that close because of it. */
#include "session/board/board_int.h"

#include "session/board/confidence.h"
#include "session/board/gaps.h"
#include "session/board/status.h"

#include <assert.h>
#include <stdlib.h>

static bool is_about(const struct item *evidence, struct item_ref hypothesis)
{
    return evidence->values[EVIDENCE_HYPOTHESIS].ref.n == hypothesis.n;
}

int board_confidence(const struct board *board, struct item_ref hypothesis,
                     double *confidence, struct cairn_error *error)
{
    const struct item *item = board_find(board, hypothesis);
    const struct board_list *all = &board->lists[ITEM_EVIDENCE];
    assert(hypothesis.kind == ITEM_HYPOTHESIS);
    if (!item)
        return board_refuse_lost(hypothesis, error);
    struct evidence *list = calloc((size_t)all->n + 1, sizeof *list);
    size_t n = 0;
    if (!list)
        return error_nomem(error);
    for (uint32_t i = 0; i < all->n; i++) {
        const struct item_value *values = all->items[i].values;
        if (is_about(&all->items[i], hypothesis))
            list[n++] =
                (struct evidence){(enum evidence_kind)values[EVIDENCE_KIND].count,
                                  values[EVIDENCE_STRENGTH].number};
    }
    int rc = confidence_of(item->values[HYPOTHESIS_PRIOR].number, list, n, confidence,
                           error);
    free(list);
    return rc;
}

/* ---- Gaps that it closes ---- */

static int close_gap(struct board_list *gaps, uint32_t at, int64_t now_ns,
                     struct board_changes *changes, struct cairn_error *error)
{
    struct item *gap = &gaps->items[at];
    struct board_change *change = board_add_change(changes, gap->id);
    if (!change)
        return error_nomem(error);
    change->had = change->has = true;
    change->before = *gap;
    gap->values[GAP_STATUS].count = GAP_CLOSED;
    gap->values[GAP_ENDED] = (struct item_value){.present = true, .time_ns = now_ns};
    change->after = *gap;
    return 0;
}

int board_close_gaps_of(struct board *board, struct item_ref hypothesis, int64_t now_ns,
                        struct board_changes *changes, struct cairn_error *error)
{
    struct board_list *gaps = &board->lists[ITEM_GAP];
    double confidence;
    int rc = board_confidence(board, hypothesis, &confidence, error);
    for (uint32_t i = 0; i < gaps->n && !rc; i++) {
        const struct item_value *values = gaps->items[i].values;
        struct gap gap = {.status = (enum gap_status)values[GAP_STATUS].count,
                          .has_hypothesis = values[GAP_HYPOTHESIS].present,
                          .confidence = confidence};
        if (values[GAP_HYPOTHESIS].ref.n == hypothesis.n && gap_closes(&gap))
            rc = close_gap(gaps, i, now_ns, changes, error);
    }
    return rc;
}

static int is_certain(const struct board *board, struct item_ref hypothesis,
                      bool *certain, struct cairn_error *error)
{
    double confidence = 0;
    int rc = board_find(board, hypothesis)
                 ? board_confidence(board, hypothesis, &confidence, error)
                 : 0;
    *certain = confidence_above(confidence, CONFIDENCE_CERTAIN);
    return rc;
}

int board_find_uncertain(const struct board *board, const struct item *item,
                         struct item_ref *hypothesis, struct cairn_error *error)
{
    struct item_ref id = item->id;
    bool certain;
    *hypothesis = (struct item_ref){0};
    if (id.kind == ITEM_EVIDENCE)
        id = item->values[EVIDENCE_HYPOTHESIS].ref;
    if (id.kind != ITEM_HYPOTHESIS || !board_find(board, id))
        return 0;
    int rc = is_certain(board, id, &certain, error);
    if (!rc && !certain)
        *hypothesis = id;
    return rc;
}

/* Whether a board has the gap and is certain of the hypothesis already. */
static int was_certain(const struct board *board, struct item_ref gap,
                       struct item_ref hypothesis, bool *certain,
                       struct cairn_error *error)
{
    *certain = false;
    return board_find(board, gap) ? is_certain(board, hypothesis, certain, error) : 0;
}

int board_close_gaps(struct board *merged, const struct board *ours,
                     const struct board *theirs, int64_t now_ns, uint32_t *closed,
                     struct cairn_error *error)
{
    struct board_list *gaps = &merged->lists[ITEM_GAP];
    struct board_changes changes = {0};
    int rc = 0;
    for (uint32_t i = 0; i < gaps->n && !rc; i++) {
        const struct item_value *values = gaps->items[i].values;
        struct item_ref gap = gaps->items[i].id, about = values[GAP_HYPOTHESIS].ref;
        bool now = false, before[2] = {false};
        if (values[GAP_STATUS].count != GAP_OPEN || !values[GAP_HYPOTHESIS].present)
            continue;
        rc = is_certain(merged, about, &now, error);
        if (!rc && now)
            rc = was_certain(ours, gap, about, &before[0], error);
        if (!rc && now)
            rc = was_certain(theirs, gap, about, &before[1], error);
        if (!rc && now && !before[0] && !before[1])
            rc = close_gap(gaps, i, now_ns, &changes, error);
    }
    *closed = changes.n;
    free(changes.at);
    return rc;
}
