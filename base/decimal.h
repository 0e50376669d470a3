/* SPDX-License-Identifier: MIT */
/* Numbers in decimal and durations, from and to text. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/str.h"

/* A whole decimal number without sign or leading blanks. False on anything else. */
bool str_to_u64(struct str text, uint64_t *out);
/* Decimal text of a number, as printf would make it; `out` has room for it. */
struct str str_decimal(int64_t number, char out[24]);
/* The same with a NUL; returns `out`. */
const char *u64_text(uint64_t number, char out[24]);
/* `500ms`, `10s`, `1m30s`, `0.5s`: units d h m s ms, each at most once, larger ones
 * first; a whole number of milliseconds, at most 100 years. */
bool str_to_duration_ms(struct str text, int64_t *out);

#endif
