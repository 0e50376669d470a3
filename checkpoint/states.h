/* SPDX-License-Identifier: MIT */
/* The state of a workflow as checkpoints see it: one outcome per task. Pure. */
#ifndef CHECKPOINT_STATES_H
#define CHECKPOINT_STATES_H

#include "base/sha256.h"

struct states {
    uint32_t n;
    uint8_t *outcome;       /* [n] enum cairn_outcome */
    uint32_t *attempts;     /* [n] attempts started when the outcome was recorded */
    struct digest *outputs; /* [n] digest of the result (runs/result.h), zeros:
                               none; NULL until the first one is set */
};
struct change {
    uint32_t task;
    uint8_t outcome;
    uint32_t attempts;
    struct digest outputs; /* zeros: none */
};
struct tally {
    uint32_t total, completed, failed, skipped, cancelled;
    uint32_t undone, unknown; /* no final outcomes */
    uint32_t excluded;        /* among the skipped */
};

/* Both arrays are there, and no more tasks than a graph can have. */
void assert_states(const struct states *states);

int states_init(struct states *states, uint32_t n, struct cairn_error *error);
void states_release(struct states *states);
int states_copy(struct states *to, const struct states *from,
                struct cairn_error *error);
int states_apply(struct states *states, const struct change *change,
                 struct cairn_error *error);
/* The same state for `n` tasks from change->task on. */
int states_fill(struct states *states, const struct change *change, uint32_t n,
                struct cairn_error *error);
struct tally states_tally(const struct states *states);
static inline uint32_t tally_done(const struct tally *t)
{
    return t->completed + t->failed + t->skipped + t->cancelled;
}
/* The counts by outcome, into a public struct that has them under the same names. */
#define TALLY_COPY(to, tally)                \
    do {                                     \
        (to)->completed = (tally).completed; \
        (to)->failed = (tally).failed;       \
        (to)->skipped = (tally).skipped;     \
        (to)->excluded = (tally).excluded;   \
        (to)->cancelled = (tally).cancelled; \
        (to)->undone = (tally).undone;       \
        (to)->unknown = (tally).unknown;     \
    } while (0)

#endif
