/* SPDX-License-Identifier: MIT */
/* Restores of files that were interrupted, in words. */
#ifndef CLI_UNFINISHED_RESTORE_H
#define CLI_UNFINISHED_RESTORE_H

#include "cli/json.h"

#include "cairn.h"

/* Calls `line` with a sentence for each of the store, and with a command. Returns an
 * exit status, after printing what is wrong. */
typedef void unfinished_restore_fn(void *context, const char *text, const char *remedy);
int each_unfinished_restore(struct cairn_store *store, unfinished_restore_fn *line,
                            void *context);
/* The session of which say_own_unfinished_restores says them (NULL: the current one);
 * it must outlive that. */
void unfinished_restores_of(const char *session);
void say_own_unfinished_restores(struct cairn_store *store);
/* Says them on stderr, as cairn_restore_unfinished finds them; what cannot be known is
 * not said. */
void say_unfinished_restores(struct cairn_store *store, const char *session, bool all);
/* An array "unfinished_restores". */
int unfinished_restores_document(struct doc *doc, struct cairn_store *store,
                                 const char *session);
/* Finishes those of the session; a document has what was to be finished. Returns an
 * exit status. */
int finish_restores(struct cairn_store *store, const char *session);

#endif
