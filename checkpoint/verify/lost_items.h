/* SPDX-License-Identifier: MIT */
/* Items of a session's board that must be there, by the tally of their rows
 * (storage/rows_lost.h), and are not. What they were is found in the log of the
 * session and in its newest checkpoints, and is proved by the tally: all of them, or
 * none. */
#ifndef CHECKPOINT_VERIFY_LOST_ITEMS_H
#define CHECKPOINT_VERIFY_LOST_ITEMS_H

#include "base/memory.h"
#include "base/sha256.h"
#include "cairn/store.h"
#include "storage/sessions/rows_session.h"

struct lost_items {
    struct arena arena;
    struct item_row *at; /* [n], in no order; in the arena */
    size_t n;            /* 0: none is missing, or which is not known */
};

/* lost_items_release in any case. A damaged log or checkpoint is not an error: what
 * stands in it is not found. Rows of items whose checksum does not hold must be away,
 * or none is found. */
int lost_items_find(struct cairn_store *store, struct sha256 *sha, uint64_t session,
                    struct lost_items *out, struct cairn_error *error);
void lost_items_release(struct lost_items *items);

#endif
