/* SPDX-License-Identifier: MIT */
/* One pattern with wildcards, as git has them in .gitignore, compiled once and held
 * against many texts:
 *
 *     ?        one byte, but no slash
 *     *        bytes without a slash, or none
 *     [...]    one byte of a set, but no slash; [!...] and [^...] one that is not in it
 *     \x       the byte x itself
 *
 * Two stars or more are one star, except in front or behind a slash: there they stand
 * for all bytes, slashes too, if they are last; and if a slash follows, together with
 * it for nothing, or for bytes up to and with a slash. Bytes are bytes: nothing is
 * taken for UTF-8, and letters of both cases differ.
 *
 * Matching is no recursion and keeps two places to go back to. Its time is at most
 * (bytes of the text) * (bytes of the pattern) for each directory in the text. */
#ifndef SNAPSHOT_PATTERN_INT_H
#define SNAPSHOT_PATTERN_INT_H

#include "base/arena.h"

struct pattern_middle;

struct pattern {
    struct str head, tail;               /* what each text begins and ends with */
    const struct pattern_middle *middle; /* of what is between; NULL: nothing is */
};

/* Compiles `text` (without a NUL) into the arena: 1, or 0 if it can match nothing
 * because a set is not closed or names an unknown class, or because a backslash is its
 * last byte. CAIRN_ENOMEM. */
int pattern_compile(struct arena *arena, struct str text, struct pattern *pattern,
                    struct cairn_error *error);
bool pattern_matches(const struct pattern *pattern, struct str text);

#endif
