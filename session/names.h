/* SPDX-License-Identifier: MIT */
/* The names of numbers that rows of sessions have, as texts and JSON show them;
 * "unknown" for one that is none. (Kinds of items: session/board/item.h.) */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* enum session_verb; `was`: an item that was put had been there. */
const char *session_verb_name(uint8_t verb, bool was);
const char *message_role_name(uint8_t role);

#endif
