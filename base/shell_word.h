/* SPDX-License-Identifier: MIT */
/* Words as a POSIX shell reads them (POSIX.1-2017, XCU 2.2.2). */
#ifndef BASE_SHELL_WORD_H
#define BASE_SHELL_WORD_H

#include "base/str.h"

/* Appends text so that a shell reads it as one word: in single quotes, but for texts
 * that never need them. */
void buf_shell_word(struct buf *buf, struct str text);

/* The same in an array of SHELL_WORD_ROOM(bytes of the text, with a NUL) bytes, which
 * it returns; where it does not fit, "NAME", which stands for one. */
#define SHELL_WORD_ROOM(n) (4 * (n) + 3)
const char *shell_word_in(char *out, size_t size, struct str text);

#endif
