/* SPDX-License-Identifier: MIT */
/* The environment that is stored with a checkpoint of a session. */
#ifndef CLI_SESSIONS_ENVIRONMENT_H
#define CLI_SESSIONS_ENVIRONMENT_H

#include "cairn.h"
#include "cli/json.h"

/* Prints it, or adds it as the member "environment" (null: none is stored). Both return
 * an exit status, after printing what is wrong. */
int environment_print(struct cairn_store *store, const char *id);
int environment_document(struct doc *doc, struct cairn_store *store, const char *id);

/* What differs between those of two checkpoints (`to` NULL: that of this process, as a
 * checkpoint of the session would store it now); nothing where one has none. `doc`
 * (NULL: text) gets an array "environment". An exit status, as above. */
int environment_compare(struct doc *doc, struct cairn_store *store, const char *session,
                        const char *from, const char *to);

#endif
