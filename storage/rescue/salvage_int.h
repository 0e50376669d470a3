/* SPDX-License-Identifier: MIT */
/* From bytes to rows: what salvage.c shows its test. */
#ifndef STORAGE_RESCUE_SALVAGE_INT_H
#define STORAGE_RESCUE_SALVAGE_INT_H

#include "storage/rescue/salvage.h"

/* Joins `start` and `left` bytes more, from the chain of pages that begins with `page`,
 * in the scratch. False if the chain ends early, and always once memory has run out. */
bool salvage_join(struct salvage *s, struct str start, uint32_t page, size_t left);

#endif
