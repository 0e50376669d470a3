/* SPDX-License-Identifier: MIT */
/* Who changed what since a checkpoint of a session: where several sessions have files
 * in one directory, a restore leaves what others have changed.
 *
 * Every checkpoint of any of these sessions shows the same files, at its time. A change
 * belongs to the session between whose successive checkpoints it came about; where that
 * holds for several, to the one whose checkpoint showed it first. What a checkpoint
 * before an agent's tool, a prompt or a restore shows first is nobody's, as nothing
 * says that the agent did it, unless it came within a tool of another one; so is what
 * no checkpoint has shown yet. Where the session that restores is an agent's, that is
 * of others; otherwise it is its own. What a session's own restores have put into place
 * is its own; what they have left is what it was.
 *
 * Of a path that only the session has changed since everything goes back; what only
 * others have changed stays; what both have changed goes back, and what was there is
 * kept beside it. Where no other session has made a checkpoint in that directory since,
 * all is the session's own. */
#ifndef SESSION_OTHERS_H
#define SESSION_OTHERS_H

#include "session/files.h"

/* Between restore_open and restore_prepare of files->restore: sets the choices, and
 * makes them. Begins a transaction of its own. */
int others_spare(struct files_taken *files, struct cairn_store *store,
                 struct cairn_error *error);

#endif
