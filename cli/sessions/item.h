/* SPDX-License-Identifier: MIT */
/* The items of a board as lines of a table, as a page, as JSON and at a glance. */
#ifndef CLI_SESSIONS_ITEM_H
#define CLI_SESSIONS_ITEM_H

#include "cairn.h"
#include "cli/items.h"
#include "cli/json.h"

/* A table: the headings, and the line of an item. */
void item_headings(const struct item_kind *kind);
void item_line(const struct item_kind *kind, const struct cairn_item *item);
/* Every field of an item, with the whole text. */
void item_page(const struct cairn_item *item);
/* The members of an item, in an object that is already open. */
void item_document(struct doc *doc, const struct cairn_item *item);
/* A field as a member; NULL: null. */
void field_document(struct doc *doc, const char *key, const struct cairn_field *field);

/* As members of `doc`, or without one (NULL) as text. They return an exit status, after
 * printing what is wrong. */

/* Hypotheses, open gaps, contradictions and the last checkpoint. */
int board_page(struct cairn_store *store, const char *session, struct doc *doc);
/* What belongs to a hypothesis (evidence, gaps) or a belief (contradictions), as it is
 * now or was at `checkpoint`; nothing for other kinds. Ids alone in a document. */
int item_belongings(struct cairn_store *store, const char *session, const char *kind,
                    const char *id, const char *checkpoint, struct doc *doc);

#endif
