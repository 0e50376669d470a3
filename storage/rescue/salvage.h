/* SPDX-License-Identifier: MIT */
/* Rows of a store out of the pages of its database, read without SQLite, so that damage
 * to one page costs what stood on that page and nothing else.
 *
 * The table of a row is known from the tree that leads to its page or, on pages to
 * which no tree leads any more, guessed from its shape. Nothing here is verified: the
 * caller checks each row (checksums of rows, digests of records and objects). */
#ifndef STORAGE_RESCUE_SALVAGE_H
#define STORAGE_RESCUE_SALVAGE_H

#include "cairn/error.h"
#include "storage/pages.h"
#include "storage/sqlite/sql_value.h"

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
                     SALVAGE_SESSION,
                     SALVAGE_BRANCH,
                     SALVAGE_ITEM,
                     SALVAGE_SESSION_LOG,
                     SALVAGE_ANNOTATION,
                     SALVAGE_MESSAGE,
                     SALVAGE_TABLES
};
enum { SALVAGE_COLUMNS = 26 };

struct salvage_row {
    enum salvage_table table;
    struct sql_value values[SALVAGE_COLUMNS]; /* views; all columns, NULL where short */
    int n;                                    /* columns of the table */
    bool scanned; /* found by its shape alone: these bytes may not be a row */
};

struct salvage {
    const struct pages *pages;
    uint8_t *owner; /* per page: table + 1, OTHER, FREE, or 0: not reached */
    uint32_t roots[SALVAGE_TABLES];
    size_t bad_pages;  /* that a tree leads to, and that are not pages of a tree */
    size_t bad_tables; /* of these, those of tables */
    /* Cells of pages to which the table's tree leads and that have no row of it. */
    size_t misplaced[SALVAGE_TABLES];
    size_t unread;      /* cells without a row, of the table that was reached last */
    struct buf payload; /* scratch */
    size_t left;        /* bytes that may be joined for the page that is read */
};
/* Finds the trees and what pages they have. `pages` stays borrowed. */
int salvage_open(struct salvage *salvage, const struct pages *pages,
                 struct cairn_error *error);
void salvage_close(struct salvage *salvage);
/* Rows of a table. salvage_reached: those that its tree leads to. salvage_stray: first
 * those on pages that no tree leads to, or only that of another table, and that are not
 * known to be free; then whatever looks like such a row at any byte of these pages and
 * of the table's own, whose lists of rows may be damaged. A callback's non-zero return
 * stops. */
typedef int salvage_fn(void *context, const struct salvage_row *row);
int salvage_reached(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                    void *context, struct cairn_error *error);
int salvage_stray(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                  void *context, struct cairn_error *error);
/* Blobs that begin with `mark` and state their own length, followed by `tail` bytes,
 * anywhere on pages of the table or on pages that no tree leads to: for blobs whose
 * rows are damaged. `size` gets the length from the first `head` bytes; 0: not such a
 * blob. What is found may be anything. */
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
/* The version of the store that first has the table. */
int salvage_since(enum salvage_table table);

/* From bytes to rows: what salvage.c shows its test. */

/* Joins `start` and `left` bytes more, from the chain of pages that begins with `page`,
 * in the scratch. False if the chain ends early, and always once memory has run out. */
bool salvage_join(struct salvage *s, struct str start, uint32_t page, size_t left);

#endif
