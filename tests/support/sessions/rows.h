/* SPDX-License-Identifier: MIT */
/* Rows of debugging sessions, enough to fill several pages of each table; and where
 * they stand in the file of the database. */
#ifndef TESTS_SUPPORT_SESSIONS_ROWS_H
#define TESTS_SUPPORT_SESSIONS_ROWS_H

#include "storage/sessions/rows_session.h"

/* Items and turns of each session, and its branches. */
enum { SESSION_ITEMS = 14, SESSION_LOGS = 14, SESSION_BRANCHES = 2 };
/* Puts the next session, which gets that number; the transaction is open. Each row has
 * the text MARK in it. */
void session_rows_put(struct cairn_store *store, uint64_t session);
void session_row_name(uint64_t session, char name[80]);

/* Add a line with all of the row to a struct buf. */
session_row_fn session_line;
branch_row_fn branch_line;
item_row_fn item_line;
session_log_row_fn session_log_line;

/* A row of a table or of an index, on whose page all of it stands: its length, its
 * number if the table has numbers of rows, and the row itself. */
enum { DB_PAGE = 2048, DB_CELLS_MOST = 1000 };
struct db_cell {
    size_t page, at, size; /* offsets in the file */
    size_t types;          /* where the types of its columns begin */
    bool numbered;
};
/* Those that have one of the texts in them (the list ends with NULL). */
size_t db_cells(const unsigned char *file, size_t size, const char *const *texts,
                struct db_cell cells[DB_CELLS_MOST]);
/* Moves all of the write-ahead log into the database file; nobody has it open. */
void db_settle(const char *path);

#endif
