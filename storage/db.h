/* SPDX-License-Identifier: MIT */
/* SQLite behind a small typed door. One `struct db` is one connection; its statements
 * (sql.h) are prepared at first use and kept.
 *
 *   struct query q;
 *   int rc = query_start(&q, db, SQL_GET_RUN, VALUES(value_u64(run)), error);
 *   while (rc >= 0 && (rc = query_step(&q, error)) > 0)
 *       use(query_u64(&q, 0));
 *   query_end(&q);                      (always, also after a failed start)
 *
 * Values given to query_start are borrowed until query_end; views of columns live until
 * the next step. A statement that is already running (a callback came back) is prepared
 * a second time for the inner use.
 *
 * Inside a write transaction every failed write is remembered: db_failed. Such a
 * transaction can only be rolled back, as SQLite may have done so already. */
#ifndef STORAGE_DB_H
#define STORAGE_DB_H

#include "base/str.h"
#include "cairn/store.h"
#include "storage/sql.h"

struct db;
struct sqlite3_stmt;

enum db_journal { DB_WAL, DB_ROLLBACK };

struct db_options {
    const char *dir;  /* the store, for messages; borrowed while open */
    const char *path; /* of the database file */
    bool read_only;
    bool immutable; /* nobody can write: neither locks nor WAL are looked at */
};

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
/* The same by the database file alone: touches no other file and takes no lock; what
 * only stands in the WAL is not seen. CAIRN_EDAMAGED: not a database. 1: cannot be told
 * so, as when a transfer is under way. */
int db_probe(const struct db_options *options, struct db_header *header,
             struct cairn_error *error);

/* Runs constant SQL of several statements. */
int db_script(struct db *db, const char *sql, struct cairn_error *error);

int db_begin_write(struct db *db, struct cairn_error *error);
/* On failure the transaction is still to be rolled back. */
int db_commit(struct db *db, struct cairn_error *error);
/* SQLite has found damage: what it did not give is no answer. */
bool db_malformed(const struct db *db);
/* The commit that failed took place all the same: the rollback journal is removed, only
 * the directory could not be synced. */
bool db_commit_unsynced(const struct db *db);
/* False if the connection can no longer be trusted. */
bool db_rollback(struct db *db);
bool db_failed(const struct db *db);
/* The transaction met an I/O error, a full disk or the like: reopen. */
bool db_broken(const struct db *db);
/* The errno (EIO, ENXIO) if the system could not read one of the files; else 0. */
int db_read_error(struct db *db);
/* Whether SQLite's findings about pages (NULL: none came) tell of a lack of memory. */
bool db_lacked_memory(const char *findings);
/* Number of running queries. */
size_t db_running(const struct db *db);
/* Grows with every change of the database, own or foreign, that this connection has
 * met. Valid inside transactions and just after them. */
uint32_t db_version(struct db *db);

/* Pages in the WAL at this connection's last commit. */
unsigned db_wal_pages(const struct db *db);
/* Lengthens the WAL file by zeros ahead of need. A synced commit that makes the file
 * longer costs nearly twice one that overwrites (the file system must sync its own
 * journal, too). What lies behind the last frame has no meaning in a WAL. */
void db_reserve_wal(struct db *db);
/* Copies the WAL's pages into the database file as far as readers let it and syncs
 * both. `truncate` also empties the WAL file if no reader is in it. *complete: all
 * pages were copied, so the WAL may be lost. The caller holds the write lock. */
int db_transfer(struct db *db, bool truncate, bool *complete,
                struct cairn_error *error);

/* ---- Statements ---- */

enum sql_value_kind { SQL_VALUE_NULL, SQL_VALUE_INT, SQL_VALUE_BLOB, SQL_VALUE_TEXT };
struct sql_value {
    enum sql_value_kind kind;
    int64_t integer;
    struct str bytes;
};
static inline struct sql_value value_int(int64_t integer)
{
    return (struct sql_value){SQL_VALUE_INT, integer, {NULL, 0}};
}
static inline struct sql_value value_u64(uint64_t integer)
{
    return value_int((int64_t)integer);
}
static inline struct sql_value value_blob(struct str bytes)
{
    return (struct sql_value){SQL_VALUE_BLOB, 0, bytes};
}
static inline struct sql_value value_text(struct str bytes)
{
    return (struct sql_value){SQL_VALUE_TEXT, 0, bytes};
}
/* NULL instead of `absent` or of no bytes: one byte in the file. */
static inline struct sql_value value_unless(int64_t integer, int64_t absent)
{
    struct sql_value value = value_int(integer);
    value.kind = integer == absent ? SQL_VALUE_NULL : SQL_VALUE_INT;
    return value;
}
static inline struct sql_value value_some(enum sql_value_kind kind, struct str bytes)
{
    return (struct sql_value){bytes.len ? kind : SQL_VALUE_NULL, 0, bytes};
}
#define VALUES(...)                          \
    (const struct sql_value[]){__VA_ARGS__}, \
        sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)
#define NO_VALUES NULL, 0

struct query {
    struct db *db;
    struct sqlite3_stmt *statement; /* NULL: not started */
    enum sql_id id;
    bool temporary;
};
int query_start(struct query *query, struct db *db, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error);
/* 1 a row, 0 the end, <0 error. */
int query_step(struct query *query, struct cairn_error *error);
void query_end(struct query *query);
int64_t query_int(const struct query *query, int column);
uint64_t query_u64(const struct query *query, int column);
/* A small number; one that does not fit comes out as 255, which no such column holds,
 * so that a damaged column is seen and not cut to a good value. */
uint8_t query_u8(const struct query *query, int column);
bool query_null(const struct query *query, int column);
/* `absent` for NULL. */
int64_t query_int_or(const struct query *query, int column, int64_t absent);
/* As it is stored; a number with a fraction, which nothing here writes, is cut. */
struct sql_value query_value(const struct query *query, int column);
/* Empty for NULL. */
struct str query_blob(const struct query *query, int column);
struct str query_text(const struct query *query, int column);

/* A statement without rows. */
int db_run(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
           struct cairn_error *error);
/* A statement with one row of one integer; CAIRN_ENOTFOUND (no text) without a row. */
int db_get_int(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
               int64_t *out, struct cairn_error *error);
/* The same for an integer that says whether. */
int db_is(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
          bool *is, struct cairn_error *error);
/* Calls `each` with the one integer, or the two, of every row of a statement without
 * values. What it returns other than 0 ends that; an error is returned. */
int db_each_number(struct db *db, enum sql_id id, int (*each)(void *, uint64_t),
                   void *context, struct cairn_error *error);
int db_each_pair(struct db *db, enum sql_id id, int (*each)(void *, uint64_t, uint64_t),
                 void *context, struct cairn_error *error);

#endif
