/* SPDX-License-Identifier: MIT */
/* The board of a session at a glance, and what belongs to one item: a few lines of
 * each, and how many more there are. */
#ifndef CLI_SESSIONS_BOARD_PAGE_H
#define CLI_SESSIONS_BOARD_PAGE_H

#include "cairn.h"
#include "cli/json.h"

/* As members of `doc`, or without one (NULL) as text. They return an exit status, after
 * printing what is wrong. */

/* Hypotheses, open gaps, contradictions and the last checkpoint. */
int board_page(struct cairn_store *store, const char *session, struct doc *doc);
/* What belongs to a hypothesis (evidence, gaps) or a belief (contradictions), as it is
 * now or was at `checkpoint`; nothing for other kinds. Ids alone in a document. */
int item_belongings(struct cairn_store *store, const char *session, const char *kind,
                    const char *id, const char *checkpoint, struct doc *doc);

#endif
