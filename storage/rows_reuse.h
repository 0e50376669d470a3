/* SPDX-License-Identifier: MIT */
/* Which attempt was given what: the newest completed one by a key, which is a hash of
 * everything that the task depends on (plan/reuse.h). A row only nominates an attempt:
 * whether what it made is still there is looked at. */
#ifndef STORAGE_ROWS_REUSE_H
#define STORAGE_ROWS_REUSE_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

struct reuse_row {
    uint64_t workflow;
    struct digest key;
    uint64_t run;
    uint32_t gen, task, attempt;
    struct digest result; /* zeros: it has none */
};
/* In place of what there is under the key. Needs a write transaction. */
int store_put_reuse(struct cairn_store *store, const struct reuse_row *row,
                    struct cairn_error *error);
/* The same was tried again, and failed: nobody has done it. */
int store_drop_reuse(struct cairn_store *store, const struct reuse_row *row,
                     struct cairn_error *error);
/* Of row->workflow and row->key: fills in the rest. 1 there is one, 0 there is none
 * that holds, <0 error. */
int store_get_reuse(struct cairn_store *store, struct reuse_row *row,
                    struct cairn_error *error);
/* Whether the workflow has any. */
int store_has_reuse(struct cairn_store *store, uint64_t workflow, bool *has,
                    struct cairn_error *error);
/* Removes at most `limit` of those whose attempt is gone, in the order of their keys
 * behind `from` (empty at first), which is moved on. *left: there may be more. Needs a
 * write transaction. */
int store_drop_lost_reuse(struct cairn_store *store, uint32_t limit, struct buf *from,
                          bool *left, struct cairn_error *error);

#endif
