/* SPDX-License-Identifier: MIT */
/* UTF-8, for texts of which nothing is known. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* Length of the character at `at`, its code point in *code; 0 if the bytes are not
 * UTF-8 (overlong forms and surrogates are not), or at == end. */
size_t utf8_next(const char *at, const char *end, uint32_t *code);
/* True for what a reader sees as it is: no control, no blank, nothing invisible,
 * nothing that changes the direction or the shape of what stands around it. */
bool utf8_is_visible(uint32_t code);
/* The longest start of `text` of at most `max` bytes that cuts no character. */
size_t utf8_fit(struct str text, size_t max);
/* A text that was cut out of a longer one, without the rest of a character that it may
 * begin with. */
struct str utf8_skip_rest(struct str text);

/* UTF-8 without NUL. */
bool utf8_is_text(struct str text);
/* UTF-8 without control characters, of one line. */
bool utf8_is_printable(struct str text);

#endif
