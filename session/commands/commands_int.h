/* SPDX-License-Identifier: MIT */
/* What running commands and checks share. */
#ifndef SESSION_COMMANDS_COMMANDS_INT_H
#define SESSION_COMMANDS_COMMANDS_INT_H

#include "session/commands/command_run.h"
#include "session/session_int.h"

#endif
