/* SPDX-License-Identifier: MIT */
/* The members of a session and of a branch in JSON, and both as parts of the tree of
 * `cairn checkpoint timeline`. */
#ifndef CLI_SESSIONS_DOCUMENTS_H
#define CLI_SESSIONS_DOCUMENTS_H

#include "cairn.h"
#include "cli/json.h"

void session_document(struct doc *doc, const struct cairn_session_info *info);
void branch_document(struct doc *doc, const struct cairn_branch_info *info);

/* Says where work goes on; --json: a document. Returns an exit status. */
int branch_report(const struct cairn_branch_info *info);

/* Every session with its branches, each with at most `limit` of its newest checkpoints;
 * a branch is below the one that it starts from. Into an array of the document, or
 * without one (NULL) for people. `*any`: there is a session. Returns an exit status,
 * after printing what is wrong. */
int sessions_tree(struct cairn_store *store, struct doc *doc, uint32_t limit,
                  bool *any);

#endif
