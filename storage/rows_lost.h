/* SPDX-License-Identifier: MIT */
/* Losses: what rows refer to and is missing. */
#ifndef STORAGE_ROWS_LOST_H
#define STORAGE_ROWS_LOST_H

#include "base/error.h"
#include "cairn/store.h"

/* Checkpoints that attempts refer to, and content that attempts and runs refer to, that
 * are missing, and neither deleted nor known to be lost. */
int store_each_lost_checkpoint(struct cairn_store *store,
                               int (*each)(void *, uint64_t run, uint64_t seq),
                               void *context, struct cairn_error *error);
int store_each_lost_object(struct cairn_store *store,
                           int (*each)(void *, const char *hex), void *context,
                           struct cairn_error *error);
/* Ranges of numbers of checkpoints that were given out and of which nothing is left. */
int store_each_gap(struct cairn_store *store,
                   int (*each)(void *, uint64_t first, uint64_t last), void *context,
                   struct cairn_error *error);
/* Content, by the hex digits of its digest, that a repair could not save. */
int store_put_known_loss(struct cairn_store *store, const char *hex,
                         struct cairn_error *error);
int store_is_known_loss(struct cairn_store *store, const char *hex, bool *known,
                        struct cairn_error *error);
/* Whether that checkpoint was found damaged before. */
int store_was_quarantined(struct cairn_store *store, uint64_t seq, bool *was,
                          struct cairn_error *error);

#endif
