/* SPDX-License-Identifier: MIT */
/* What running commands and checks share. */
#ifndef SESSION_COMMANDS_COMMANDS_INT_H
#define SESSION_COMMANDS_COMMANDS_INT_H

#include "session/commands/command_run.h"
#include "session/session_int.h"

/* A text as a field; an empty one is not there. */
struct item_value text_value(const struct buf *text);
struct item_value count_value(uint64_t count);
struct item_value time_value(int64_t time_ns);

#endif
