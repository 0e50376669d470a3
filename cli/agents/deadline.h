/* SPDX-License-Identifier: MIT */
/* Ends the process, with status 0, if it takes too long: at any moment, as a kill does,
 * which everything that cairn writes outlives. */
#ifndef CLI_AGENTS_DEADLINE_H
#define CLI_AGENTS_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* False: there is no thread for it. Call it once. */
bool deadline_start(uint64_t limit_ms);
/* What is being done, for the line that says that it took too long: the name of the
 * event, and the store (may be NULL) in which that is noted. */
void deadline_tell(const char *event, const char *store);

#endif
