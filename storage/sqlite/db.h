/* SPDX-License-Identifier: MIT */
/* A connection to SQLite, its transactions, and the transfer of its write-ahead log
 * (WAL). Statements are run through statement.h.
 *
 * Inside a write transaction every failed write is remembered: db_failed. Such a
 * transaction can only be rolled back, as SQLite may have done so already. */
#ifndef STORAGE_SQLITE_DB_H
#define STORAGE_SQLITE_DB_H

#include "cairn/store.h"

#include <pthread.h>

struct db;

enum db_journal { DB_WAL, DB_ROLLBACK };

/* While a run uses a connection, callbacks of its tasks are on other threads: they must
 * not use it, too. */
struct db_thread {
    bool bound;
    pthread_t id; /* the only one that may use it */
};
/* CAIRN_EUSAGE on another thread. */
int db_thread_check(const struct db_thread *thread, struct cairn_error *error);

struct db_options {
    const char *dir;  /* the store, for messages; borrowed while open */
    const char *path; /* of the database file */
    bool read_only;
    bool immutable; /* nobody can write: takes no locks, ignores the WAL */
    const struct db_thread *thread; /* borrowed; NULL: any */
};

/* How many bytes the path of a database may have, its symbolic links resolved. */
int db_path_limit(size_t *out, struct cairn_error *error);
/* The file must exist. Reads nothing of it yet. */
int db_open(struct db **out, const struct db_options *options,
            struct cairn_error *error);
/* No query may be running. Transfers nothing. */
void db_close(struct db *db);
/* Switches to the journal mode and sync level; a journal mode that is set already costs
 * nothing. Outside of transactions only. */
int db_set_journal(struct db *db, enum db_journal journal, enum cairn_sync sync,
                   struct cairn_error *error);

struct db_header {
    int64_t application_id, user_version;
};
int db_header(struct db *db, struct db_header *header, struct cairn_error *error);
/* The same from the database file alone: touches no other file, takes no lock, and
 * misses what is only in the WAL. CAIRN_EDAMAGED: not a database. 1: cannot be read
 * this way, for example while a transfer is under way. */
int db_probe(const struct db_options *options, struct db_header *header,
             struct cairn_error *error);

/* `n` bytes from `at` on of the database file as it is, without its log: for
 * comparisons while nobody writes. False if they are not there or cannot be read. */
bool db_read_file(struct db *db, uint64_t at, void *out, size_t n);

/* Runs constant SQL of several statements. */
int db_script(struct db *db, const char *sql, struct cairn_error *error);

int db_begin_write(struct db *db, struct cairn_error *error);
/* Not after db_failed. After a failure the caller must roll back. */
int db_commit(struct db *db, struct cairn_error *error);
/* False if the connection can no longer be trusted. */
bool db_rollback(struct db *db);
/* A write of the open transaction has failed. */
bool db_failed(const struct db *db);
/* It failed because of an I/O error, a full disk or the like: reopen. */
bool db_broken(const struct db *db);
/* Between db_begin_write and the end of that transaction. */
bool db_writing(const struct db *db);
/* Rows that this connection has changed so far. */
uint64_t db_changes(const struct db *db);
/* Number of running queries. */
size_t db_running(const struct db *db);
/* Changes with every commit, own or foreign, that this connection has noticed. Valid
 * inside transactions and just after them. */
uint32_t db_version(struct db *db);

/* Pages in the WAL at this connection's last commit. */
unsigned db_wal_pages(const struct db *db);
/* Extends the WAL file with zeros ahead of need. A synced commit that makes the file
 * longer costs nearly twice one that overwrites (the file system must sync its own
 * journal, too). SQLite ignores what follows the last frame. */
void db_reserve_wal(struct db *db);
/* Copies pages from the WAL into the database file, up to the first one that a reader
 * still needs there, and syncs both. *complete: all pages were copied, so that the WAL
 * is no longer needed. The caller holds the write lock. */
int db_transfer(struct db *db, bool *complete, struct cairn_error *error);
/* The same, and then empties the WAL file. False: not all was copied, or a reader uses
 * it. */
bool db_empty_wal(struct db *db);

/* ---- What SQLite's errors say beyond the code that a function returned ---- */

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
