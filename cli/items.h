/* SPDX-License-Identifier: MIT */
/* The items of a board in words, the same in text and in pages. What differs between
 * kinds is one table here. */
#ifndef CLI_ITEMS_H
#define CLI_ITEMS_H

#include "cairn.h"

#include <stdbool.h>
#include <stddef.h>

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
/* It is of milliseconds: "duration_ms". */
bool field_is_duration(const char *name);
/* A cell of a table; numbers have two decimals there. Heap, NULL: out of memory. */
char *item_cell(const struct cairn_item *item, const char *name);
/* The first line of a text, cut to 60 characters with "..." at its end. Takes the text
 * and returns heap; NULL: out of memory. */
char *title_of(char *text);
/* The first line of its text, cut where it is long; heap, NULL: out of memory. */
char *item_title(const struct cairn_item *item);

#endif
