/* SPDX-License-Identifier: MIT */
/* Between the files of the payload kind of debug. */
#ifndef CHECKPOINT_SECTIONS_INT_H
#define CHECKPOINT_SECTIONS_INT_H

#include "checkpoint/sections.h"

/* sections_decode of a record of the namespace: CAIRN_EDAMAGED also if it is no full
 * one. */
int sections_of_record(struct arena *arena, const struct sound_record *record,
                       struct sections *out, struct cairn_error *error);

#endif
