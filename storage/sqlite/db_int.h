/* SPDX-License-Identifier: MIT */
/* Shared by db.c and statement.c, the only files that know SQLite. */
#ifndef STORAGE_SQLITE_DB_INT_H
#define STORAGE_SQLITE_DB_INT_H

#include "storage/sqlite/db.h"
#include "storage/sqlite/statement.h"

#include <sqlite3.h>

struct phrase_reading;

struct db {
    sqlite3 *handle;
    const char *dir; /* borrowed */
    const struct db_thread *thread;
    sqlite3_stmt *statements[SQL_COUNT];
    bool busy[SQL_COUNT]; /* a query is running on it */
    size_t running;
    unsigned wal_pages;
    int result;     /* SQLite's code of the newest failure */
    bool malformed; /* SQLite has found damage */
    bool writing, failed, broken;
    bool has_phrases;               /* the function cairn_phrases */
    struct phrase_reading *phrases; /* that it is called for; or NULL */
};

/* Fills `error` from an SQLite result code and the connection's message, notes what a
 * failure means for the open transaction, and returns the CAIRN_E* code. */
int db_fail(struct db *db, int result, bool write, struct cairn_error *error);
/* The WAL's or rollback journal's file, as SQLite has it open; NULL if it has not. */
sqlite3_file *db_journal_file(struct db *db);

#endif
