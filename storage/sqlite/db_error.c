/* SPDX-License-Identifier: MIT */
/* What SQLite's errors mean: for the open transaction, and in words for the user. */
#include "storage/sqlite/db_error.h"

#include "storage/sqlite/db_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_full(int rc, int sys)
{
    return (rc & 0xff) == SQLITE_FULL ||
           ((rc & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT));
}

/* The WAL's or rollback journal's file, as SQLite has it open; NULL if it has not. */
sqlite3_file *db_journal_file(struct db *db)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) ||
        !file || !file->pMethods)
        return NULL;
    return file;
}

/* The newest errno that one of the files keeps. */
static int file_error(struct db *db)
{
    int sys = 0;
    sqlite3_file *file = db_journal_file(db);
    if (file)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &sys);
    if (!sys)
        sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
    return sys;
}

int db_read_error(struct db *db)
{
    int sys = file_error(db);
    return sys == EIO || sys == ENXIO ? sys : 0;
}

/* Damage never keeps SQLite from getting a page of a list (it checks the number first),
 * and at a page of a tree it has a code of its own. */
bool db_lacked_memory(const char *findings)
{
    static const char of_list[] = "failed to get page",
                      of_tree[] = "unable to get the page. error code=";
    if (!findings || strstr(findings, of_list))
        return true;
    while ((findings = strstr(findings, of_tree))) {
        findings += sizeof of_tree - 1;
        long code = strtol(findings, NULL, 10);
        if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
            return true;
    }
    return false;
}

/* The errno behind an input/output error. SQLite passes it on for some statements only;
 * for a commit the file keeps it. */
static int system_error(struct db *db, int rc)
{
    int sys = sqlite3_system_errno(db->handle);
    return sys || (rc & 0xff) != SQLITE_IOERR ? sys : file_error(db);
}

/* Where the system could not read a page, SQLite says that the database is malformed
 * (SQLITE_IOERR_CORRUPTFS becomes SQLITE_CORRUPT). But then the disk is at fault, not
 * the store, and the next try may well succeed. */
static int find_read_error(struct db *db, int rc)
{
    if ((rc & 0xff) != SQLITE_CORRUPT || !db->handle)
        return rc;
    return db_read_error(db) ? SQLITE_IOERR_READ : rc;
}

/* ": " and the text of a system error, for a message; "" for none. */
static const char *system_reason(int sys, char *out, size_t size)
{
    char text[128];
    out[0] = 0;
    if (sys)
        snprintf(out, size, ": %s", strerror_r(sys, text, sizeof text));
    return out;
}

/* Nothing that SQLite refuses to read for its size was ever written by it. */
static bool is_damage(int rc, bool write)
{
    int kind = rc & 0xff;
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ||
           (kind == SQLITE_TOOBIG && !write);
}

static int describe_error(struct db *db, int rc, bool write, struct cairn_error *error)
{
    assert(db->dir);
    bool replaced = rc == SQLITE_IOERR_READ; /* SQLite's message is about damage */
    const char *text =
        db->handle && !replaced ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    int sys = db->handle ? system_error(db, rc) : 0;
    char why[160];
    if (is_full(rc, sys)) {
        error_set(error, CAIRN_EIO,
                  "the disk that holds %s is full: free some space there and go on",
                  db->dir);
        if (error)
            error->sys = ENOSPC;
        return CAIRN_EIO;
    }
    if (rc == SQLITE_READONLY_ROLLBACK)
        return error_set(
            error, CAIRN_EIO,
            "a process was interrupted while it wrote to the store %s: the "
            "next command that writes, such as `cairn resume`, puts it "
            "right",
            db->dir);
    switch (is_damage(rc, write) ? SQLITE_CORRUPT : rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* a table or column of the schema is missing */
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return error_set(error, CAIRN_EDAMAGED,
                         "the store %s is damaged (%s): run `cairn doctor`", db->dir,
                         text);
    case SQLITE_NOMEM:
        return error_nomem(error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return error_set(error, CAIRN_EBUSY,
                         "the store %s is in use by another process (%s): try again",
                         db->dir, text);
    case SQLITE_TOOBIG:
        return error_set(error, CAIRN_ELIMIT, "too large for the store %s (%s)",
                         db->dir, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        error_set(
            error, CAIRN_EIO,
            "cannot open or write the store %s (%s%s): make its directory and files "
            "writable, or give another with --store",
            db->dir, text, system_reason(sys, why, sizeof why));
        break;
    default:
        error_set(error, CAIRN_EIO,
                  "input/output error on the store %s (%s%s): look at the disk and the "
                  "system's log",
                  db->dir, text, system_reason(sys, why, sizeof why));
    }
    if (error)
        error->sys = sys;
    return CAIRN_EIO;
}

int db_fail(struct db *db, int rc, bool write, struct cairn_error *error)
{
    assert(rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE);
    assert(!db->failed || db->writing);
    rc = find_read_error(db, rc);
    int kind = rc & 0xff;
    db->result = rc;
    db->malformed = db->malformed || is_damage(rc, write);
    if (db->writing && (write || sqlite3_get_autocommit(db->handle))) {
        db->failed = true;
        if (kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_CANTOPEN)
            db->broken = true;
    }
    int code = describe_error(db, rc, write, error);
    assert(code < 0);
    return code;
}

bool db_malformed(const struct db *db)
{
    return db->malformed;
}

bool db_commit_unsynced(const struct db *db)
{
    return db->result == SQLITE_IOERR_DIR_FSYNC;
}
