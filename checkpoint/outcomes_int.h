/* SPDX-License-Identifier: MIT */
/* A part of the payload kind of runs, for its table in outcomes.c. */
#ifndef CHECKPOINT_OUTCOMES_INT_H
#define CHECKPOINT_OUTCOMES_INT_H

#include "checkpoint/payload.h"
#include "checkpoint/payload_kind.h"

/* ---- outcomes_fold.c: see struct payload_kind ---- */

struct folded_change;
struct outcome_fold {
    uint64_t base;            /* 0: nothing yet */
    bool full;                /* `whole` counts, else the changes */
    struct states whole;      /* with all changes */
    struct digest graph;      /* of them */
    uint64_t tag;             /* of the changes' graph */
    struct folded_change *at; /* in the order of the records */
    size_t n, room;
};
int outcome_fold(void *fold, const struct sound_record *record,
                 struct cairn_error *error);
int outcome_fold_put(const void *fold, struct folded *folded, struct buf *payload,
                     struct cairn_error *error);
void outcome_fold_release(void *fold);

#endif
