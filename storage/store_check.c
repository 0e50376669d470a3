/* SPDX-License-Identifier: MIT */
/* Checks of a store's files before SQLite opens any: some may be missing or replaced,
 * or show that commits were lost.
 *
 * The database is examined by stat() only: opening and closing it here would drop the
 * locks that SQLite holds on it in this process. SQLite does not lock its logs. */
#include "base/lock.h"
#include "base/os.h"
#include "storage/health.h"
#include "storage/pages.h"
#include "storage/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files ---- */

static int commits_lost(const struct store_paths *paths, const char *what,
                        struct cairn_error *error)
{
    return error_set(
        error, CAIRN_EDAMAGED,
        "commits were lost: %s\n"
        "The store %s was not closed by its last writer, so what it had "
        "committed stood there. Put the file back from where it went; or "
        "remove %s to continue with what is left, and run `cairn checkpoint "
        "verify`; or let `cairn doctor --repair` save all that can be "
        "read",
        what, paths->dir, paths->marker);
}

/* What is written in place would be written under the other name, too; and SQLite would
 * look for the logs of a database beside the name that it was opened by. */
static int check_names(const char *path, const struct stat *st,
                       struct cairn_error *error)
{
    if (st->st_nlink < 2)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "%s has %lu names (hard links), so that it would be changed under "
                     "the others, too: remove those, or put a copy in its place",
                     path, (unsigned long)st->st_nlink);
}

/* A pipe in the place of a file would block whoever opens it, and a symbolic link would
 * lead somewhere else. */
static int check_kinds(const struct store_paths *paths, struct cairn_error *error)
{
    char shm[PATH_MAX + 8];
    assert(paths->db && paths->wal && paths->journal);
    const char *const files[] = {paths->wal, paths->journal, shm, paths->lock,
                                 paths->marker};
    enum { LOGS = 2 }; /* the first two hold what is nowhere else */
    struct stat st;
    snprintf(shm, sizeof shm, "%s-shm", paths->db);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (lstat(files[i], &st) < 0)
            continue;
        if (!S_ISREG(st.st_mode))
            return error_set(
                error, CAIRN_EDAMAGED,
                i < LOGS ? "%s is not a file\n"
                           "Put the file itself there if you have it; else `cairn "
                           "doctor --repair` puts this aside, and saves what can be "
                           "read without it"
                         : "%s is not a file\n"
                           "`cairn doctor --repair` puts it aside; nothing is lost "
                           "with it",
                files[i]);
        int rc = check_names(files[i], &st, error);
        if (rc)
            return rc;
    }
    return 0;
}

/* Otherwise the message would name whichever file is checked first. */
static int check_entry(const struct store_paths *paths, struct cairn_error *error)
{
    struct stat st;
    if (stat(paths->dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(error, CAIRN_EUSAGE,
                         "%s is not a directory: a store is one, such as .cairn",
                         paths->dir);
    if (access(paths->dir, X_OK) == 0 || errno != EACCES)
        return 0;
    bool known = stat(paths->dir, &st) == 0 && st.st_uid != geteuid();
    char whose[96] = "Let yourself in (chmod 0700 the directory)";
    if (known)
        snprintf(whose, sizeof whose,
                 "It belongs to another user (uid %ld): ask for access",
                 (long)st.st_uid);
    return error_set(error, CAIRN_EIO,
                     "cannot look into the store %s: %s\n%s, or name another store "
                     "with --store",
                     paths->dir, strerror(EACCES), whose);
}

static int check_note(const struct store_paths *paths, struct cairn_error *error)
{
    char *note = store_path_join(paths->dir, STORE_NOTE);
    int rc = note ? store_file(note, NULL, NULL, error) : error_nomem(error);
    free(note);
    if (rc <= 0)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the repair of the store %s was interrupted: `cairn doctor "
                     "--repair` finishes it",
                     paths->dir);
}

static bool is_empty(const struct store_paths *paths)
{
    int64_t size = 1;
    return store_file(paths->db, NULL, &size, NULL) > 0 && size == 0;
}

/* While a store is made its database is empty for a moment; then the note `making` or
 * the journal of the first transaction is beside it. If its maker has just finished,
 * it is no longer empty. */
static int check_emptied(const struct store_paths *paths, struct cairn_error *error)
{
    if (!is_empty(paths) || store_file(paths->making, NULL, NULL, NULL) != 0 ||
        store_file(paths->journal, NULL, NULL, NULL) != 0 || !is_empty(paths))
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the database %s is empty: what stood in it is lost\n"
                     "Put a copy of the file there if you have one; else `cairn doctor "
                     "--repair` puts this aside and a new store in its place",
                     paths->db);
}

int store_check_files(const struct store_paths *paths, enum db_journal journal,
                      struct cairn_error *error)
{
    assert(paths->dir);
    /* In this order: a writer that opens the store at the same time makes the database
     * before the WAL, and the WAL before the marker. */
    int64_t db_size = 0, wal_size = 0;
    struct stat st;
    int rc = check_entry(paths, error);
    if (rc)
        return rc;
    bool there = lstat(paths->db, &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return error_set(
            error, CAIRN_EDAMAGED,
            "the database %s is not a file\n"
            "Put the file itself there if you have it, or name another store with "
            "--store; else `cairn doctor --repair` puts this aside, and saves what can "
            "be read without it",
            paths->db);
    rc = there ? check_names(paths->db, &st, error) : 0;
    if (!rc)
        rc = check_kinds(paths, error) ?: check_note(paths, error);
    if (rc)
        return rc;
    int marker = store_file(paths->marker, NULL, NULL, error);
    int wal = marker < 0 ? marker : store_file(paths->wal, NULL, &wal_size, error);
    int db = wal < 0 ? wal : store_file(paths->db, NULL, &db_size, error);
    if (db < 0)
        return db;
    /* SQLite would delete the WAL of an empty database. */
    if (db_size == 0 && (marker || wal_size > 0))
        return commits_lost(paths, "the database cairn.db is gone.", error);
    if (marker && !wal && journal == DB_WAL && !store_holds_last_commit(paths))
        return commits_lost(paths, "the write-ahead log is gone (cairn.db-wal).",
                            error);
    return check_emptied(paths, error);
}

/* ---- The write-ahead log ---- */

/* The last writer has closed the store, or one has it open now. */
static bool is_closed_or_used(const struct store_paths *paths, struct lock_file *lock)
{
    return store_file(paths->marker, NULL, NULL, NULL) <= 0 ||
           lock_held(lock, LOCK_WRITERS, NULL) != 0;
}

/* The pages that the log ends with are those of the database. */
static bool has_pages(struct db *db, const struct wal *wal, uint8_t *seen, void *page)
{
    uint32_t pages = wal->frames[wal->committed - 1].commit;
    for (size_t i = wal->committed; i-- > 0;) {
        const struct wal_frame *frame = &wal->frames[i];
        if ((i > 0 && !frame->whole) || frame->page == 0)
            return false;
        if (frame->page > pages || seen[frame->page - 1])
            continue;
        seen[frame->page - 1] = 1;
        uint64_t at = (uint64_t)(frame->page - 1) * wal->page_size;
        if (!db_read_file(db, at, page, wal->page_size) ||
            memcmp(page, wal->file.data + frame->offset, wal->page_size) != 0)
            return false;
    }
    return true;
}

/* A log is begun anew only when all of it is in the database and synced. If power fails
 * while its new header is written, that may be torn, before frames that are not needed
 * any more. */
static bool was_begun_anew(const struct store_paths *paths, const struct wal *wal)
{
    struct db_options options = {
        .dir = paths->dir, .path = paths->db, .immutable = true, .read_only = true};
    struct db *db;
    int64_t size = 0;
    if (wal->header || wal->committed == 0 ||
        store_file(paths->db, NULL, &size, NULL) <= 0)
        return false;
    uint64_t pages = wal->frames[wal->committed - 1].commit;
    if (pages * wal->page_size > (uint64_t)size || db_open(&db, &options, NULL))
        return false;
    uint8_t *seen = calloc(pages, 1);
    void *page = malloc(wal->page_size);
    bool has = seen && page && has_pages(db, wal, seen, page);
    free(page);
    free(seen);
    db_close(db);
    return has;
}

/* The log is extended after each synced commit (db_reserve_wal), so that one that ends
 * right after its last commit was probably longer; and so was one that ends with frames
 * that have no commit, however many there are. */
enum log_health store_judge_log(const struct store_paths *paths)
{
    enum { SPARE = 8 }; /* frames */
    enum log_health health = LOG_WHOLE;
    struct wal wal;
    if (store_file(paths->marker, NULL, NULL, NULL) <= 0 || !store_was_synced(paths) ||
        wal_load(&wal, paths->wal, NULL))
        return health;
    size_t step = FRAME_HEADER + wal.page_size;
    size_t needed = WAL_HEADER + (wal.committed + SPARE) * step;
    if (wal.n > wal.committed && needed < WAL_HEADER + (wal.n + 1) * step)
        needed = WAL_HEADER + (wal.n + 1) * step;
    bool emptied = wal_is_blank(&wal) && store_log_begun(paths);
    bool transferred =
        (emptied && store_holds_last_commit(paths)) || was_begun_anew(paths, &wal);
    /* A read error is left to SQLite, which will not report it as damage. */
    if (!wal.unreadable && !transferred && (wal.state == WAL_DAMAGED || emptied))
        health = LOG_LOST;
    else if (transferred)
        health = LOG_WHOLE;
    else if (wal.state == WAL_TORN || wal.state == WAL_NONE || wal.file.size < needed)
        health = LOG_ENDS_EARLY;
    /* SQLite reads whole transactions only, and ends at the first that is not. */
    if (!wal.unreadable && health != LOG_LOST && store_lost_last_commit(paths))
        health = LOG_LOST;
    wal_release(&wal);
    return health;
}

/* LOG_WHOLE if there is a writer, even one that came while the log was read. */
static enum log_health judge_log(const struct store_paths *paths,
                                 struct lock_file *lock)
{
    enum log_health health = LOG_WHOLE;
    if (!is_closed_or_used(paths, lock))
        health = store_judge_log(paths);
    return is_closed_or_used(paths, lock) ? LOG_WHOLE : health;
}

enum log_health store_log_health(struct cairn_store *store)
{
    store_assert_open(store);
    return store->journal == DB_WAL ? judge_log(&store->paths, &store->lock)
                                    : LOG_WHOLE;
}

int store_check_log(const struct store_paths *paths, struct lock_file *lock,
                    struct cairn_error *error)
{
    if (judge_log(paths, lock) != LOG_LOST)
        return 0;
    return commits_lost(
        paths, "the write-ahead log is damaged, cut off or empty (cairn.db-wal).",
        error);
}

/* ---- The rollback journal ---- */

/* SQLite's file format, section 3: the header of a rollback journal begins with 8 bytes
 * that are written when the journal is good. From 8 on it has the number of saved
 * pages, from 16 on the pages of the database as it was, big endian. SQLite locks the
 * database only, so that this file may be opened and closed. */
bool store_journal_read(const struct store_paths *paths, struct store_journal *journal)
{
    static const uint8_t good[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t header[20];
    int fd = os_open_plain(paths->journal, O_RDONLY);
    if (fd < 0)
        return false;
    bool got = pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header;
    close(fd);
    if (!got || memcmp(header, good, sizeof good) != 0)
        return false;
    journal->saved = big32(header + 8);
    journal->before = big32(header + 16);
    return true;
}
