/* SPDX-License-Identifier: MIT */
/* What other sessions have changed since the checkpoint that a command goes back to. */
#ifndef CLI_SESSIONS_OTHERS_CHANGED_H
#define CLI_SESSIONS_OTHERS_CHANGED_H

#include "cli/json.h"

#include "cairn.h"

struct others_changed {
    struct other_changed *at; /* heap */
    size_t n;
    bool failed; /* out of memory */
};
/* For struct cairn_restore_options: the context is a struct others_changed. */
void others_note(void *context, const struct cairn_restore_other *other);
/* The array "others". */
void others_document(struct doc *doc, const struct others_changed *others);
/* On stderr, not with --json. */
void others_say(const struct others_changed *others);
void others_release(struct others_changed *others);

#endif
