/* SPDX-License-Identifier: MIT */
/* The items of a board as lines of a table, as a page, as JSON and at a glance. What
 * differs between kinds is one table here. */
#ifndef CLI_SESSIONS_ITEM_H
#define CLI_SESSIONS_ITEM_H

#include "cairn.h"
#include "cli/json.h"

enum { ITEM_COLUMNS = 6, ITEM_FIELDS = 12 };

struct item_column {
    const char *heading;
    const char *field; /* or "evidence" and "score", which are computed */
    int width;
};

struct item_kind {
    const char *name, *plural;
    const char *prefix;                       /* of ids */
    struct item_column columns[ITEM_COLUMNS]; /* behind the id; the last is a text */
    struct {
        const char *name;
        enum cairn_field_type type;
    } fields[ITEM_FIELDS]; /* as in cairn/board.h; ended by a NULL name */
};

/* All kinds in the order of cairn/board.h; NULL past the end. */
const struct item_kind *item_kind_at(size_t i);
/* By its name; NULL: there is none. */
const struct item_kind *item_kind_named(const char *name);
/* Does the id look like one of this kind: its letter, then digits? */
bool item_kind_has(const struct item_kind *kind, const char *id);
/* NULL: it has no such field. */
const struct cairn_field *item_field(const struct cairn_item *item, const char *name);
/* A field in one line; heap, NULL: out of memory. */
char *field_text(const struct cairn_field *field);
/* A table: the headings, and the line of an item. */
void item_headings(const struct item_kind *kind);
void item_line(const struct item_kind *kind, const struct cairn_item *item);
/* Every field of an item, with the whole text. */
void item_page(const struct cairn_item *item);
/* The first line of its text, cut where it is long; heap, NULL: out of memory. */
char *item_title(const struct cairn_item *item);
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
