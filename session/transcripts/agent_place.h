/* SPDX-License-Identifier: MIT */
/* Whose files the session of an agent has. */
#ifndef SESSION_TRANSCRIPTS_AGENT_PLACE_H
#define SESSION_TRANSCRIPTS_AGENT_PLACE_H

#include "base/str.h"

/* Those of the project, unless the agent works (`cwd`; NULL: not known) in a work tree
 * of git that is not part of it: one below it that its rules ignore, or one elsewhere
 * that belongs to the same repository. Then *own is the root of that; else it is empty.
 */
int agent_place(const char *project, const char *cwd, struct buf *own,
                struct cairn_error *error);

#endif
