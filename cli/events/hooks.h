/* SPDX-License-Identifier: MIT */
/* The hooks of what a command has done in sessions. */
#ifndef CLI_EVENTS_HOOKS_H
#define CLI_EVENTS_HOOKS_H

#include "cairn.h"

/* Runs them, with their output on stderr, and tells which have failed: it changes no
 * exit status. `store` may be NULL. */
void hooks_run(struct cairn_store *store);
/* The same; says which restores of the session are not finished; closes the store. */
void hooks_run_and_close(struct cairn_store *store);

#endif
