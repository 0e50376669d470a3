/* SPDX-License-Identifier: MIT */
/* The database of the index: opened, made, removed. */
#include "storage/search/searchdb_int.h"

#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "search.db"
/* How long others are waited for that use it, before it is removed, or are removing it.
 */
enum { WAIT_MS = 5000 };
enum { APPLICATION_ID = 0x63736561 };

static const char settings[] = "PRAGMA page_size = 8192;"
                               "PRAGMA secure_delete = ON;"
                               "PRAGMA cache_size = -64000;";
static const char tables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE project(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE unit(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " stamp BLOB NOT NULL, open INTEGER NOT NULL) STRICT;"
    "CREATE TABLE doc(id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, key BLOB NOT NULL,"
    " section INTEGER NOT NULL, project INTEGER NOT NULL, time_ns INTEGER NOT NULL,"
    " hash BLOB NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX doc_key ON doc(unit, key);"
    "CREATE TABLE tag(tag BLOB NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY(tag, doc))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX tag_doc ON tag(doc);"
    "CREATE VIRTUAL TABLE words USING fts5(title, body, content='', columnsize=0,"
    " tokenize='porter unicode61 remove_diacritics 2');"
    "CREATE VIRTUAL TABLE grams USING fts5(text, content='', columnsize=0,"
    " tokenize='trigram');"
    "CREATE TABLE embedding(text BLOB PRIMARY KEY, data BLOB NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE embedded(doc INTEGER PRIMARY KEY, text BLOB NOT NULL) STRICT;"
    "CREATE INDEX embedded_text ON embedded(text);"
    "CREATE TABLE vectors(block INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "PRAGMA application_id = 0x63736561;"
    "PRAGMA user_version = 2;";
_Static_assert(SEARCHDB_VERSION == 2, "the version that the script sets");

/* ---- What lies in its place ---- */

/* It begins as SQLite does, or was cut before, or lost its beginning with the power. */
static bool may_be_ours(int fd)
{
    static const char magic[16] = "SQLite format 3", nothing[sizeof magic];
    char head[sizeof magic];
    ssize_t n = pread(fd, head, sizeof head, 0);
    return n < 0 || memcmp(head, magic, (size_t)n) == 0 ||
           memcmp(head, nothing, (size_t)n) == 0;
}

static const char *name_of_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISLNK(mode)  ? "a symbolic link"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* NULL: nothing, or an index, damaged or not. */
static const char *find_stranger(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return NULL;
    if (!S_ISREG(st.st_mode))
        return name_of_kind(st.st_mode);
    if (st.st_nlink > 1)
        return "a file that has other names (hard links)";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ours = fd < 0 || may_be_ours(fd);
    if (fd >= 0)
        close(fd);
    return ours ? NULL : "a file of something else, no database";
}

/* What somebody has put there is not removed for him. */
static int check_place(const char *path, struct cairn_error *error)
{
    const char *what = find_stranger(path);
    return what ? error_set(error, CAIRN_EIO,
                            "%s, where the index of `cairn search` is to be, is %s: "
                            "remove it",
                            path, what)
                : 0;
}

/* ---- Its locks ---- */

static int wait_for(struct searchdb *index, enum lock_mode mode,
                    struct cairn_error *error)
{
    int rc = lock_wait(&index->lock, LOCK_SEARCH, mode, WAIT_MS, error);
    return rc == CAIRN_EBUSY ? searchdb_busy(index, error) : rc;
}

int searchdb_busy(const struct searchdb *index, struct cairn_error *error)
{
    return error_set(error, CAIRN_EBUSY,
                     "another command holds the index, and did not let go of it within "
                     "%d s (%s): try again once it has ended; is it stopped?",
                     WAIT_MS / 1000, index->path ? index->path : "in memory");
}

/* ---- Opening ---- */

/* An empty file, readable only by us, in which SQLite begins. */
static int make_file(const char *path, struct cairn_error *error)
{
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST)
        return error_sys(error, errno, "cannot make %s", path);
    if (fd >= 0)
        close(fd);
    return 0;
}

static int make_tables(struct db *db, struct cairn_error *error)
{
    struct db_header header;
    int rc = db_begin_write(db, error);
    if (!rc)
        rc = db_header(db, &header, error);
    if (!rc && header.user_version == 0)
        rc = db_script(db, tables, error);
    if (!rc)
        rc = db_commit(db, error);
    if (rc)
        db_rollback(db);
    return rc;
}

/* 1: it is one of another version, or somebody else's. */
static int check_header(struct searchdb *index, struct cairn_error *error)
{
    struct db_header header;
    int rc = db_header(index->db, &header, error);
    if (!rc && header.application_id == 0 && header.user_version == 0 && index->write) {
        rc = make_tables(index->db, error);
        if (!rc)
            rc = db_header(index->db, &header, error);
    }
    if (rc)
        return rc;
    if (header.application_id == APPLICATION_ID &&
        header.user_version == SEARCHDB_VERSION)
        return 0;
    return error_set(error, CAIRN_EDAMAGED, "%s is not an index of this release",
                     index->path ? index->path : ":memory:");
}

static void drop_database(struct searchdb *index)
{
    db_close(index->db);
    index->db = NULL;
    index->at.loaded = index->at.changed = false;
}

static int open_database(struct searchdb *index, struct cairn_error *error)
{
    struct db_options options = {.dir = index->path ? index->path : ":memory:",
                                 .path = index->path ? index->path : ":memory:",
                                 .read_only = !index->write};
    assert(!index->db);
    int rc = index->path && index->write ? make_file(index->path, error) : 0;
    if (!rc)
        rc = db_open(&index->db, &options, error);
    if (!rc)
        rc = db_script(index->db, settings, error);
    if (!rc && index->path && index->write)
        rc = db_set_journal(index->db, DB_ROLLBACK, CAIRN_SYNC_OFF, error);
    if (!rc)
        rc = db_script(index->db, sql_sync_off, error);
    if (!rc)
        rc = check_header(index, error);
    if (rc && index->db)
        drop_database(index);
    return rc;
}

static char *join(const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/%s", dir, name);
    if (!path.failed)
        return path.data;
    buf_release(&path);
    return NULL;
}

static int open_lock(struct searchdb *index, struct cairn_error *error)
{
    int rc = index->write ? lock_open(&index->lock, index->lock_path, error)
                          : lock_open_read(&index->lock, index->lock_path, error);
    if (rc || index->lock.fd < 0)
        return rc;
    return wait_for(index, LOCK_SHARED, error);
}

static int open_files(struct searchdb *index, const char *dir,
                      struct cairn_error *error)
{
    index->dir = strdup(dir);
    index->path = join(dir, FILE_NAME);
    index->lock_path = join(dir, "search.lock");
    if (!index->dir || !index->path || !index->lock_path)
        return error_nomem(error);
    int rc = check_place(index->path, error);
    if (rc)
        return rc;
    if (!index->write && access(index->path, F_OK) < 0)
        return error_set(error, CAIRN_ENOTFOUND, "there is no index in %s", dir);
    return open_lock(index, error);
}

int searchdb_open(struct searchdb **out, const char *dir, bool write,
                  struct cairn_error *error)
{
    struct searchdb *index = calloc(1, sizeof *index);
    if (!index)
        return error_nomem(error);
    index->lock.fd = -1;
    index->write = write || !dir;
    int rc = dir ? open_files(index, dir, error) : 0;
    if (!rc)
        rc = open_database(index, error);
    if (rc == CAIRN_EDAMAGED && index->write)
        rc = searchdb_renew(index, error);
    if (rc == CAIRN_EBUSY)
        searchdb_busy(index, error);
    if (rc) {
        searchdb_close(index);
        return rc;
    }
    *out = index;
    return 0;
}

void searchdb_close(struct searchdb *index)
{
    if (!index)
        return;
    if (index->db)
        drop_database(index);
    if (index->lock.fd >= 0)
        lock_close(&index->lock);
    free(index->dir);
    free(index->path);
    free(index->lock_path);
    free(index);
}

/* ---- Removing ---- */

static int remove_file(const char *path, struct cairn_error *error)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    return error_sys(error, errno, "cannot remove %s", path);
}

static int remove_files(const char *path, struct cairn_error *error)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    int rc = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && !rc; i++) {
        struct buf file = BUF_INIT;
        buf_format(&file, "%s%s", path, ends[i]);
        rc = buf_check(&file, error);
        if (!rc)
            rc = remove_file(file.data, error);
        buf_release(&file);
    }
    return rc;
}

int searchdb_renew(struct searchdb *index, struct cairn_error *error)
{
    assert(index->write);
    if (index->db)
        drop_database(index);
    if (!index->path)
        return open_database(index, error);
    lock_drop(&index->lock, LOCK_SEARCH);
    int rc = wait_for(index, LOCK_EXCLUSIVE, error);
    if (!rc)
        rc = remove_files(index->path, error);
    if (!rc)
        rc = open_database(index, error);
    int again = wait_for(index, LOCK_SHARED, error);
    return rc ? rc : again;
}

int searchdb_remove(const char *dir, struct cairn_error *error)
{
    struct searchdb index = {.lock = {.fd = -1}, .write = true};
    int rc = open_files(&index, dir, error);
    if (!rc)
        rc = wait_for(&index, LOCK_EXCLUSIVE, error);
    if (!rc)
        rc = remove_files(index.path, error);
    if (index.lock.fd >= 0)
        lock_close(&index.lock);
    free(index.dir);
    free(index.path);
    free(index.lock_path);
    return rc;
}

/* ---- Transactions ---- */

int searchdb_begin(struct searchdb *index, struct cairn_error *error)
{
    assert(index->db && index->write);
    index->at.loaded = index->at.changed = false; /* others may have changed it */
    return db_begin_write(index->db, error);
}

int searchdb_commit(struct searchdb *index, struct cairn_error *error)
{
    int rc = searchdb_flush(index, error);
    if (!rc && db_failed(index->db))
        rc = error_set(error, CAIRN_EIO, "the index could not be written");
    if (!rc)
        rc = db_commit(index->db, error);
    if (rc)
        searchdb_abort(index);
    return rc;
}

void searchdb_abort(struct searchdb *index)
{
    index->at.loaded = index->at.changed = false;
    if (index->db)
        db_rollback(index->db);
}

int searchdb_begin_read(struct searchdb *index, struct cairn_error *error)
{
    if (!index->db) /* others did not let it be made anew */
        return searchdb_busy(index, error);
    return db_run(index->db, SQL_BEGIN_READ, NO_VALUES, error);
}

void searchdb_end_read(struct searchdb *index)
{
    db_rollback(index->db);
}
