/* SPDX-License-Identifier: MIT */
/* Between the files about rows of checkpoints. */
#ifndef STORAGE_ROWS_CHECKPOINT_INT_H
#define STORAGE_ROWS_CHECKPOINT_INT_H

#include "storage/rows_checkpoint.h"
#include "storage/rows_int.h"

/* The row that the query stands on: views. */
void checkpoint_from(const struct cairn_store *store, const struct query *query,
                     struct checkpoint_row *row);

#endif
