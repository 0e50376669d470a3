/* SPDX-License-Identifier: MIT */
/* Between the files that show checkpoints (list.c, get.c). */
#ifndef CHECKPOINT_FIND_INT_H
#define CHECKPOINT_FIND_INT_H

#include "checkpoint/find.h"

/* The range of what a filter asks for, without a limit. CAIRN_EUSAGE, CAIRN_ENOTFOUND:
 * it can select nothing. */
int range_of_filter(const struct catalog *catalog,
                    const struct cairn_checkpoint_filter *filter,
                    struct checkpoint_range *range, struct cairn_error *error);
/* Puts the namespace there, and the stream as that of a run or of a branch. */
void info_stream(struct cairn_checkpoint_info *info, uint8_t namespace_id,
                 uint64_t stream);
/* Adds what other rows say. CAIRN_EDAMAGED: such a row failed verification. */
int info_finish(const struct catalog *catalog, struct cairn_checkpoint_info *info,
                struct cairn_error *error);

#endif
