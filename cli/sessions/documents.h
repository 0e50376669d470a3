/* SPDX-License-Identifier: MIT */
/* The members of a session and of a branch in JSON, and both as parts of the tree of
 * `cairn checkpoint timeline`. */
#ifndef CLI_SESSIONS_DOCUMENTS_H
#define CLI_SESSIONS_DOCUMENTS_H

#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"

void session_document(struct doc *doc, const struct cairn_session_info *info);
void branch_document(struct doc *doc, const struct cairn_branch_info *info);

/* Goes on on another branch, with the options that were given, and reports it. Returns
 * an exit status. */
typedef int branch_move_fn(void *context, struct cairn_store *store,
                           const struct cairn_restore_options *options,
                           struct cairn_branch_info *info, struct cairn_error *error);

int branch_go_on(const struct settings *settings, branch_move_fn *move, void *context);
/* Every session with its branches, each with at most `limit` of its newest checkpoints;
 * a branch is below the one that it starts from. Into an array of the document, or
 * without one (NULL) for people. `*any`: there is a session. Returns an exit status,
 * after printing what is wrong; what is damaged is left out, and the first of it is
 * `damage`, which begins empty. */
int sessions_tree(struct cairn_store *store, struct doc *doc, uint32_t limit, bool *any,
                  struct cairn_error *damage);

#endif
