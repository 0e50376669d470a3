/* SPDX-License-Identifier: MIT */
/* Signals while a command runs. If that has our terminal, keys such as Ctrl-C send them
 * to both, and they are for the command alone; one that another process has sent to us
 * is passed on. */
#ifndef CLI_SESSIONS_SIGNALS_H
#define CLI_SESSIONS_SIGNALS_H

#include "cairn.h"

/* What was ignored when we were started stays ignored. `shared`: the command has our
 * terminal. Otherwise keys are meant for us, and Ctrl-Z is not caught. */
void signals_catch(struct cairn_command_host *host, bool shared);
void signals_release(void);

#endif
