/* SPDX-License-Identifier: MIT */
/* Labels and notes of a checkpoint, shown with it. Return an exit status, after
 * printing what is wrong. */
#ifndef CLI_SESSIONS_ANNOTATIONS_H
#define CLI_SESSIONS_ANNOTATIONS_H

#include "cairn.h"
#include "cli/json.h"

int annotations_print(struct cairn_store *store, const char *id);
/* The members `labels` and `notes`. */
int annotations_document(struct doc *doc, struct cairn_store *store, const char *id);

/* In lists: "  label: broken, keep  2 notes" or nothing; the members `labels` and
 * `note_count`. What cannot be read is reported on stderr, and the list goes on. */
void labels_print(struct cairn_store *store, const struct cairn_checkpoint_info *info);
void labels_document(struct doc *doc, struct cairn_store *store,
                     const struct cairn_checkpoint_info *info);
bool checkpoint_is_labelled(struct cairn_store *store,
                            const struct cairn_checkpoint_info *info,
                            const char *label);

#endif
