/* SPDX-License-Identifier: MIT */
/* Whether the row of a run may be relied on. */
#ifndef CHECKPOINT_TRUST_H
#define CHECKPOINT_TRUST_H

#include "storage/rows_run.h"

/* What a run resumes with (file, params, definition) and how it stands is taken only
 * from rows that pass. CAIRN_EUSAGE: with a key, and the run was recorded without one.
 * CAIRN_EDAMAGED. */
int run_trust(struct cairn_store *store, const struct run_row *row,
              struct cairn_error *error);
/* The same for what is only shown: 0 without a key, and for a run recorded without one.
 */
int run_check_forged(struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error);
/* A run is keyed or not as a whole: whether the row has no HMAC, but its records do. */
int run_stripped(struct cairn_store *store, const struct run_row *row, bool *stripped,
                 struct cairn_error *error);

#endif
