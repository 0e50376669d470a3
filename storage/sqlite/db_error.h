/* SPDX-License-Identifier: MIT */
/* What SQLite's errors say beyond the code that a function returned. */
#ifndef STORAGE_SQLITE_DB_ERROR_H
#define STORAGE_SQLITE_DB_ERROR_H

#include <stdbool.h>

struct db;

/* SQLite has found damage: that it returned no row does not mean that there is none. */
bool db_malformed(const struct db *db);
/* The failed commit took effect all the same: the rollback journal was removed, only
 * the directory could not be synced. */
bool db_commit_unsynced(const struct db *db);
/* The errno (EIO, ENXIO) if the system could not read one of the files, else 0. */
int db_read_error(struct db *db);
/* Whether SQLite's findings about pages (NULL: none came) come from a lack of memory,
 * not from damage. */
bool db_lacked_memory(const char *findings);

#endif
