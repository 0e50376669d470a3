/* SPDX-License-Identifier: MIT */
/* Lists of names of environment variables, or of other texts, with commas between them,
 * as settings have them. Pure. */
#ifndef SESSION_OUTSIDE_NAME_LIST_H
#define SESSION_OUTSIDE_NAME_LIST_H

#include "base/str.h"

/* The first name of a list, taken off the list; len 0: there is none. */
struct str next_name(struct str *list);
/* No name or several, each once, of at most 4096 bytes together. */
bool is_name_list(struct str list);
/* The same where NAME* is one, too: all that begin with NAME. */
bool is_pattern_list(struct str list);
bool is_pattern(struct str name);
/* No text or several, each once, of `most` bytes at most and without control
 * characters. */
bool is_text_list(struct str list, size_t most);

#endif
