/* SPDX-License-Identifier: MIT */
/* Rows of a store out of the pages of its database, read without SQLite, so that damage
 * to one page costs what stood on that page and nothing else.
 *
 * Rows are told apart by the tree that leads to their page, and, on pages to which no
 * tree leads any more, by their shape. Nothing here is believed: whoever takes a row
 * checks it (checksums of rows, digests of records and objects). */
#ifndef STORAGE_RESCUE_SALVAGE_H
#define STORAGE_RESCUE_SALVAGE_H

#include "storage/db.h"
#include "storage/pages.h"

enum salvage_table { /* in the order in which rows may refer to earlier ones */
                     SALVAGE_META,
                     SALVAGE_WORKFLOW,
                     SALVAGE_RUN,
                     SALVAGE_RUN_GRAPH,
                     SALVAGE_OBJECT,
                     SALVAGE_CHECKPOINT,
                     SALVAGE_TOMBSTONE,
                     SALVAGE_QUARANTINE,
                     SALVAGE_ATTEMPT,
                     SALVAGE_COMMAND,
                     SALVAGE_CLAIM,
                     SALVAGE_EVENT,
                     SALVAGE_TABLES
};
enum { SALVAGE_COLUMNS = 26 };

struct salvage_row {
    enum salvage_table table;
    struct sql_value values[SALVAGE_COLUMNS]; /* views; all columns, NULL where short */
    int n;                                    /* columns of the table */
    bool scanned; /* nothing says that there is a row: it only looks like one */
};

struct salvage {
    const struct pages *pages;
    uint8_t *owner; /* per page: table + 1, OTHER, FREE, or 0: not reached */
    uint32_t roots[SALVAGE_TABLES];
    size_t bad_pages;   /* that a tree leads to, and that are none */
    size_t bad_tables;  /* of these the ones of tables */
    struct buf payload; /* scratch */
};
/* Finds the trees and what pages they have. `pages` stays borrowed. */
int salvage_open(struct salvage *salvage, const struct pages *pages,
                 struct cairn_error *error);
void salvage_close(struct salvage *salvage);
/* Rows of a table: those that its tree leads to; or those on pages that no tree leads
 * to, or that of another table, and that are not known to be free, and then whatever
 * looks like such a row at any byte of these pages and of the table's own (where the
 * list of a page's rows may be damaged). A callback's non-zero return stops. */
typedef int salvage_fn(void *context, const struct salvage_row *row);
int salvage_reached(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                    void *context, struct cairn_error *error);
int salvage_stray(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                  void *context, struct cairn_error *error);
/* Blobs that begin with `mark` and state their own length, with `tail` bytes behind
 * them, wherever they are on pages of the table or that nothing leads to: where even
 * the row around them is damaged. `size` tells the length from the first `head` bytes;
 * 0: it is none. What is found may be anything. */
struct salvage_blob {
    enum salvage_table table;
    struct str mark;
    size_t head, tail;
    size_t (*size)(void *context, const char *head);
    int (*each)(void *context, struct str blob, struct str tail);
    void *context;
};
int salvage_blobs(struct salvage *salvage, const struct salvage_blob *wanted,
                  struct cairn_error *error);
const char *salvage_name(enum salvage_table table);

#endif
