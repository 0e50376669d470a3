/* SPDX-License-Identifier: MIT */
/* The kinds of events for which a session can have a hook. Pure. */
#ifndef SESSION_OUTSIDE_HOOK_KINDS_H
#define SESSION_OUTSIDE_HOOK_KINDS_H

#include "base/str.h"

/* Stored in settings: never renumbered. */
enum { HOOK_KINDS = 16, HOOK_BYTES = 4096 };

/* "checkpoint"; of a number below HOOK_KINDS. */
const char *hook_kind_name(unsigned kind);
/* HOOK_KINDS: there is none of that name. */
unsigned hook_kind_parse(struct str name);
/* May it be a command: text of at most HOOK_BYTES without NUL, and not empty? */
bool hook_is_command(struct str command);

#endif
