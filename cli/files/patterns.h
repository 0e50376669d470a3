/* SPDX-License-Identifier: MIT */
/* The patterns of --paths, and files that are operands. */
#ifndef CLI_FILES_PATTERNS_H
#define CLI_FILES_PATTERNS_H

#include <stddef.h>

struct patterns {
    char *text;        /* heap */
    const char **list; /* heap, into the text */
    size_t n;
};
/* "src,*.conf": divided at commas, but not at one with a backslash before it, which
 * stays for the pattern. NULL: none. Each of the `n` operands is one more. Returns an
 * exit status, after printing what is wrong. patterns_release in any case. */
int patterns_take(struct patterns *patterns, const char *given,
                  const char *const *operands, int n);
void patterns_release(struct patterns *patterns);

#endif
