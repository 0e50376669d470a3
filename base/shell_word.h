/* SPDX-License-Identifier: MIT */
/* Words as a POSIX shell reads them (POSIX.1-2017, XCU 2.2.2). */
#ifndef BASE_SHELL_WORD_H
#define BASE_SHELL_WORD_H

#include "base/str.h"

/* Appends text so that a shell reads it as one word: in single quotes, but for texts
 * that never need them. */
void buf_shell_word(struct buf *buf, struct str text);

#endif
