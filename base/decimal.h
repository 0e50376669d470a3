/* SPDX-License-Identifier: MIT */
/* Whole numbers in decimal, from and to text. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/str.h"

/* A whole decimal number without sign or leading blanks. False on anything else. */
bool str_to_u64(struct str text, uint64_t *out);
/* Decimal text of a number, as printf would make it; `out` has room for it. */
struct str str_decimal(int64_t number, char out[24]);

#endif
