/* SPDX-License-Identifier: MIT */
/* What a checkpoint of a session says: its columns, its board, its environment. */
#ifndef CLI_SESSIONS_CHECKPOINT_STATE_H
#define CLI_SESSIONS_CHECKPOINT_STATE_H

#include "cairn.h"
#include "cli/json.h"

/* Is it the whole id of a checkpoint of a session: "debug:..."? */
bool is_session_checkpoint(const char *id);
/* Prints trigger, message, tags and counts of items of a checkpoint, or adds them as
 * members to `doc`. Both return an exit status, after printing what is wrong. */
int checkpoint_state_print(struct cairn_store *store, const char *id);
int checkpoint_state_document(struct doc *doc, struct cairn_store *store,
                              const char *id);
/* Its items (`id` NULL: those of the board of `session` as it is) of one kind (the
 * number of that, as item_kind_at has it), or of all (-1), by kind and number: as
 * tables, or (with `doc`) as members of an open array. */
int checkpoint_items(struct cairn_store *store, const char *session, const char *id,
                     int section, struct doc *doc);

#endif
