/* SPDX-License-Identifier: MIT */
/* The commands for agents' hooks. Each returns the exit status; that of the hook is
 * always 0, since any other one may keep an agent from working. */
#ifndef CLI_AGENTS_COMMANDS_H
#define CLI_AGENTS_COMMANDS_H

#include "cli/options.h"

int command_session_hook(struct settings *settings);
int command_install_hooks(struct settings *settings);

#endif
