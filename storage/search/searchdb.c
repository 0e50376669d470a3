/* SPDX-License-Identifier: MIT */
/* The database of the index: opened, made, removed. */
#include "storage/search/searchdb.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/statement.h"

#include "base/lock.h"
#include "base/os.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A slot of a block: byte section (0: none), u24 square, u32 project, u64 time_ns,
 * u32 words, u32 grams (how many it has of them), the vector. */
enum {
    SEARCHDB_SLOT_HEAD = 24,
    SEARCHDB_SLOT = SEARCHDB_SLOT_HEAD + SEARCHDB_DIMENSIONS
};

struct searchdb {
    struct db *db; /* NULL: it was removed, and could not be made again */
    struct lock_file lock;
    char *dir, *path, *lock_path; /* all NULL: in memory */
    bool write;
    /* The block that was put last: with many docs each is written once. */
    struct {
        int64_t block;
        bool loaded, changed;
        uint8_t data[(size_t)SEARCHDB_BLOCK * SEARCHDB_SLOT];
    } at;
};

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

static int searchdb_flush(struct searchdb *index, struct cairn_error *error);

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
                     "another command holds the index, and did not release it within "
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
    int rc = db_begin_write(db, error) ?: db_header(db, &header, error);
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
    if (!rc && header.application_id == 0 && header.user_version == 0 && index->write)
        rc = make_tables(index->db, error) ?: db_header(index->db, &header, error);
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
        rc = db_open(&index->db, &options, error)
                 ?: db_script(index->db, settings, error);
    if (!rc && index->path && index->write)
        rc = db_set_journal(index->db, DB_ROLLBACK, CAIRN_SYNC_OFF, error);
    if (!rc)
        rc = db_script(index->db, sql_sync_off, error) ?: check_header(index, error);
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
    for (size_t i = 0; i < COUNT_OF(ends) && !rc; i++) {
        struct buf file = BUF_INIT;
        buf_format(&file, "%s%s", path, ends[i]);
        rc = buf_check(&file, error) ?: remove_file(file.data, error);
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
    int rc = wait_for(index, LOCK_EXCLUSIVE, error)
             ?: remove_files(index->path, error)
             ?: open_database(index, error);
    int again = wait_for(index, LOCK_SHARED, error);
    return rc ? rc : again;
}

int searchdb_remove(const char *dir, struct cairn_error *error)
{
    struct searchdb index = {.lock = {.fd = -1}, .write = true};
    int rc = open_files(&index, dir, error)
             ?: wait_for(&index, LOCK_EXCLUSIVE, error)
             ?: remove_files(index.path, error);
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

/* What was indexed: units, entries, their words and vectors. */

/* ---- What it was made of ---- */

int searchdb_meta(struct searchdb *index, const char *key, struct buf *value,
                  struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_GET_META, VALUES(value_text(str_of(key))),
                error);
    if (query_step(&query))
        buf_str(value, query_blob(&query, 0));
    return query_end(&query) ?: buf_check(value, error);
}

int searchdb_set_meta(struct searchdb *index, const char *key, struct str value,
                      struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_META,
                  VALUES(value_text(str_of(key)), value_blob(value)), error);
}

int searchdb_project(struct searchdb *index, struct str path, uint32_t *id,
                     struct cairn_error *error)
{
    int64_t found = 0;
    int rc = db_run(index->db, SQL_INDEX_ADD_PROJECT, VALUES(value_blob(path)), error)
                 ?: db_get_int(index->db, SQL_INDEX_GET_PROJECT,
                               VALUES(value_blob(path)), &found, error);
    *id = (uint32_t)found;
    return rc;
}

int searchdb_each_project(struct searchdb *index,
                          int (*each)(void *, uint32_t id, struct str path),
                          void *context, struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_PROJECT, NO_VALUES, error);
    while (query_step(&query))
        query.rc = each(context, (uint32_t)query_u64(&query, 0), query_blob(&query, 1));
    return query_end(&query);
}

/* ---- Units ---- */

int searchdb_get_unit(struct searchdb *index, struct str name,
                      struct searchdb_unit *unit, struct buf *stamp,
                      struct cairn_error *error)
{
    struct query query;
    buf_clear(stamp);
    int rc = db_run(index->db, SQL_INDEX_ADD_UNIT, VALUES(value_text(name)), error);
    if (rc)
        return rc;
    query_start(&query, index->db, SQL_INDEX_GET_UNIT, VALUES(value_text(name)), error);
    if (query_step(&query)) {
        unit->id = query_int(&query, 0);
        unit->open = query_int(&query, 2) != 0;
        buf_str(stamp, query_blob(&query, 1));
    } else if (!query.rc) {
        query.rc = error_set(error, CAIRN_EDAMAGED, "the index has lost a unit");
    }
    return query_end(&query) ?: buf_check(stamp, error);
}

int searchdb_set_unit(struct searchdb *index, const struct searchdb_unit *unit,
                      struct cairn_error *error)
{
    return db_run(
        index->db, SQL_INDEX_SET_UNIT,
        VALUES(value_int(unit->id), value_blob(unit->stamp), value_int(unit->open)),
        error);
}

int searchdb_drop_unit(struct searchdb *index, int64_t id, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_DROP_UNIT, VALUES(value_int(id)), error);
}

int searchdb_each_unit(struct searchdb *index,
                       int (*each)(void *, const struct searchdb_unit *), void *context,
                       struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_UNIT, NO_VALUES, error);
    while (query_step(&query)) {
        struct searchdb_unit unit = {.id = query_int(&query, 0),
                                     .name = query_text(&query, 1),
                                     .stamp = query_blob(&query, 2),
                                     .open = query_int(&query, 3) != 0};
        query.rc = each(context, &unit);
    }
    return query_end(&query);
}

int searchdb_each_key(struct searchdb *index, int64_t unit,
                      int (*each)(void *, int64_t doc, struct str key, struct str hash),
                      void *context, struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_KEY, VALUES(value_int(unit)), error);
    while (query_step(&query))
        query.rc = each(context, query_int(&query, 0), query_blob(&query, 1),
                        query_blob(&query, 2));
    return query_end(&query);
}

/* ---- Vectors ---- */

/* Writes the block that waits, before a commit and before vectors are read. */
static int searchdb_flush(struct searchdb *index, struct cairn_error *error)
{
    struct str data = {(const char *)index->at.data, sizeof index->at.data};
    if (!index->at.changed)
        return 0;
    index->at.changed = false;
    return db_run(index->db, SQL_INDEX_PUT_VECTORS,
                  VALUES(value_int(index->at.block), value_blob(data)), error);
}

/* The place of a doc, in its block, which waits then. */
static int slot_of(struct searchdb *index, int64_t doc, uint8_t **slot,
                   struct cairn_error *error)
{
    struct query query;
    int64_t block = doc / SEARCHDB_BLOCK;
    int rc = 0;
    if (!index->at.loaded || index->at.block != block) {
        rc = searchdb_flush(index, error);
        index->at.loaded = false;
        if (rc)
            return rc;
        memset(index->at.data, 0, sizeof index->at.data);
        query_start(&query, index->db, SQL_INDEX_GET_VECTORS, VALUES(value_int(block)),
                    error);
        struct str data = query_step(&query) ? query_blob(&query, 0) : STR("");
        if (data.len == sizeof index->at.data)
            memcpy(index->at.data, data.ptr, data.len);
        rc = query_end(&query);
        index->at.loaded = !rc;
        index->at.block = block;
    }
    *slot = index->at.data + (size_t)(doc % SEARCHDB_BLOCK) * SEARCHDB_SLOT;
    index->at.changed = !rc;
    return rc;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* Of what grams has of it. A letter is a byte or a little more, which is exact enough
 * for how long a text is. */
static uint32_t gram_bytes(const struct searchdb_doc *doc)
{
    size_t body =
        doc->body.len < SEARCHDB_GRAM_BYTES ? doc->body.len : SEARCHDB_GRAM_BYTES;
    return (uint32_t)(doc->title.len + 1 + body);
}

static int put_vector(struct searchdb *index, int64_t id,
                      const struct searchdb_doc *doc, struct cairn_error *error)
{
    uint8_t *slot;
    int rc = slot_of(index, id, &slot, error);
    if (rc)
        return rc;
    memset(slot, 0, SEARCHDB_SLOT);
    put_u32(slot, doc->section | doc->vector->square << 8);
    put_u32(slot + 4, doc->project);
    put_u32(slot + 8, (uint32_t)((uint64_t)doc->time_ns));
    put_u32(slot + 12, (uint32_t)((uint64_t)doc->time_ns >> 32));
    put_u32(slot + 16, doc->n_words);
    put_u32(slot + 20, gram_bytes(doc));
    memcpy(slot + SEARCHDB_SLOT_HEAD, doc->vector->at, SEARCHDB_DIMENSIONS);
    return 0;
}

/* ---- Entries ---- */

/* What grams has of an entry: the same each time, since it is also what is taken out.
 */
static int gram_text(struct str title, struct str body, struct buf *out,
                     struct cairn_error *error)
{
    buf_clear(out);
    buf_str(out, title);
    buf_byte(out, '\n');
    buf_add(out, body.ptr,
            body.len < SEARCHDB_GRAM_BYTES ? body.len : SEARCHDB_GRAM_BYTES);
    return buf_check(out, error);
}

static int put_texts(struct searchdb *index, int64_t id, const struct searchdb_doc *doc,
                     struct cairn_error *error)
{
    struct buf grams = BUF_INIT;
    int rc = db_run(index->db, SQL_INDEX_PUT_WORDS,
                    VALUES(value_int(id), value_text(doc->title),
                           value_text(doc->body)), error)
             ?: gram_text(doc->title, doc->body, &grams, error)
             ?: db_run(index->db, SQL_INDEX_PUT_GRAMS,
                       VALUES(value_int(id), value_text(buf_view(&grams))), error);
    for (size_t i = 0; i < doc->n_tags && !rc; i++)
        rc = db_run(index->db, SQL_INDEX_PUT_TAG,
                    VALUES(value_blob(doc->tags[i]), value_int(id)), error);
    buf_release(&grams);
    return rc;
}

int searchdb_put(struct searchdb *index, const struct searchdb_doc *doc,
                 struct cairn_error *error)
{
    int64_t id = 0;
    assert(doc->section > 0 && doc->hash.len == SEARCHDB_HASH);
    return db_get_int(index->db, SQL_INDEX_PUT_DOC,
                      VALUES(value_int(doc->unit), value_blob(doc->key),
                             value_int(doc->section), value_int(doc->project),
                             value_int(doc->time_ns), value_blob(doc->hash),
                             value_text(doc->title), value_text(doc->body)), &id, error)
           ?: put_texts(index, id, doc, error)
           ?: put_vector(index, id, doc, error);
}

int searchdb_get(struct searchdb *index, int64_t id,
                 int (*got)(void *, const struct searchdb_doc *), void *context,
                 struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_GET_DOC, VALUES(value_int(id)), error);
    if (query_step(&query)) {
        struct searchdb_doc doc = {.key = query_blob(&query, 0),
                                   .section = query_u8(&query, 1),
                                   .project = (uint32_t)query_u64(&query, 2),
                                   .time_ns = query_int(&query, 3),
                                   .hash = query_blob(&query, 4),
                                   .title = query_text(&query, 5),
                                   .body = query_text(&query, 6)};
        query.rc = got(context, &doc);
    } else if (!query.rc) {
        query.rc = error_set(error, CAIRN_ENOTFOUND, "the index has no such entry");
    }
    return query_end(&query);
}

struct dropping {
    struct searchdb *index;
    int64_t id;
    struct cairn_error *error;
};

static int drop_texts(void *context, const struct searchdb_doc *doc)
{
    struct dropping *d = context;
    struct buf grams = BUF_INIT;
    int rc = db_run(d->index->db, SQL_INDEX_DROP_WORDS,
                    VALUES(value_int(d->id), value_text(doc->title),
                           value_text(doc->body)), d->error)
             ?: gram_text(doc->title, doc->body, &grams, d->error)
             ?: db_run(d->index->db, SQL_INDEX_DROP_GRAMS,
                       VALUES(value_int(d->id), value_text(buf_view(&grams))),
                       d->error);
    buf_release(&grams);
    return rc;
}

/* The vector goes with the last entry that has the text. */
static int drop_embedded(struct searchdb *index, int64_t doc, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_DROP_EMBEDDING, VALUES(value_int(doc)), error)
               ?: db_run(index->db, SQL_INDEX_DROP_EMBEDDED, VALUES(value_int(doc)),
                         error);
}

int searchdb_drop(struct searchdb *index, int64_t id, struct cairn_error *error)
{
    struct dropping d = {index, id, error};
    uint8_t *slot;
    int rc = searchdb_get(index, id, drop_texts, &d, error)
             ?: db_run(index->db, SQL_INDEX_DROP_TAGS, VALUES(value_int(id)), error)
             ?: drop_embedded(index, id, error)
             ?: db_run(index->db, SQL_INDEX_DROP_DOC, VALUES(value_int(id)), error)
             ?: slot_of(index, id, &slot, error);
    if (!rc)
        memset(slot, 0, SEARCHDB_SLOT);
    return rc;
}

int searchdb_count(struct searchdb *index, uint64_t *docs, struct cairn_error *error)
{
    int64_t n = 0;
    int rc = db_get_int(index->db, SQL_INDEX_COUNT_DOCS, NO_VALUES, &n, error);
    *docs = (uint64_t)n;
    return rc;
}

int searchdb_merge(struct searchdb *index, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_MERGE_WORDS, NO_VALUES, error)
               ?: db_run(index->db, SQL_INDEX_MERGE_GRAMS, NO_VALUES, error);
}

/* Vectors of a service: one for each text that it was asked, by the digest of that
 * text, and which entries have it. */

#define MODEL_KEY "embeddings"

int searchdb_use_model(struct searchdb *index, struct str model,
                       struct cairn_error *error)
{
    struct buf old = BUF_INIT;
    int rc = searchdb_meta(index, MODEL_KEY, &old, error);
    bool same = !rc && str_equal(old.size ? buf_view(&old) : STR(""), model);
    buf_release(&old);
    if (rc || same)
        return rc;
    return db_run(index->db, SQL_INDEX_CLEAR_EMBEDDED, NO_VALUES, error)
           ?: db_run(index->db, SQL_INDEX_CLEAR_EMBEDDINGS, NO_VALUES, error)
           ?: searchdb_set_meta(index, MODEL_KEY, model, error);
}

int searchdb_has_embedding(struct searchdb *index, const struct digest *text, bool *has,
                           struct cairn_error *error)
{
    return db_is(index->db, SQL_INDEX_HAS_EMBEDDING,
                 VALUES(value_blob(digest_view(text))), has, error);
}

int searchdb_put_embedding(struct searchdb *index, const struct digest *text,
                           struct str data, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_EMBEDDING,
                  VALUES(value_blob(digest_view(text)), value_blob(data)), error);
}

int searchdb_set_embedded(struct searchdb *index, int64_t doc,
                          const struct digest *text, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_EMBEDDED,
                  VALUES(value_int(doc), value_blob(digest_view(text))), error);
}

int searchdb_each_embedded(struct searchdb *index,
                           int (*each)(void *, int64_t doc, struct str data),
                           void *context, struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_EMBEDDED, NO_VALUES, error);
    while (query_step(&query))
        query.rc = each(context, query_int(&query, 0), query_blob(&query, 1));
    return query_end(&query);
}

/* What the index finds. */

struct finding_rows {
    int (*each)(void *, const struct searchdb_match *);
    void *context;
};

static int give_match(void *context, const struct phrase_row *row)
{
    struct finding_rows *rows = context;
    struct searchdb_match match = {row->phrase, row->row, row->often[0], row->often[1]};
    return rows->each(rows->context, &match);
}

int searchdb_find_words(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error)
{
    struct finding_rows rows = {each, context};
    return db_each_phrase(index->db, SQL_INDEX_FIND_WORDS, expression, give_match,
                          &rows, error);
}

int searchdb_find_grams(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error)
{
    struct finding_rows rows = {each, context};
    return db_each_phrase(index->db, SQL_INDEX_FIND_GRAMS, expression, give_match,
                          &rows, error);
}

int searchdb_each_tagged(struct searchdb *index, struct str tag,
                         int (*each)(void *, int64_t doc), void *context,
                         struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_TAGGED, VALUES(value_blob(tag)),
                error);
    while (query_step(&query))
        query.rc = each(context, query_int(&query, 0));
    return query_end(&query);
}

static int look_at_block(int64_t block, struct str data,
                         int (*each)(void *, const struct searchdb_seen *),
                         void *context)
{
    int rc = 0;
    for (size_t i = 0; i + 1 <= data.len / SEARCHDB_SLOT && !rc; i++) {
        const uint8_t *slot = (const uint8_t *)data.ptr + i * SEARCHDB_SLOT;
        struct reader in = reader_of(slot + 4, SEARCHDB_SLOT_HEAD - 4);
        if (slot[0] == 0)
            continue;
        struct searchdb_seen seen = {.doc = block * SEARCHDB_BLOCK + (int64_t)i,
                                     .section = slot[0],
                                     .vector =
                                         (const int8_t *)slot + SEARCHDB_SLOT_HEAD};
        seen.square =
            (uint32_t)slot[1] | (uint32_t)slot[2] << 8 | (uint32_t)slot[3] << 16;
        seen.project = read_u32(&in);
        seen.time_ns = (int64_t)read_u64(&in);
        seen.n_words = read_u32(&in);
        seen.n_grams = read_u32(&in);
        rc = each(context, &seen);
    }
    return rc;
}

int searchdb_each_vector(struct searchdb *index,
                         int (*each)(void *, const struct searchdb_seen *),
                         void *context, struct cairn_error *error)
{
    struct query query;
    query_start(&query, index->db, SQL_INDEX_EACH_VECTORS, NO_VALUES, error);
    while (query_step(&query)) {
        struct str data = query_blob(&query, 1);
        int64_t block = query_int(&query, 0);
        if (block < 0 || block > INT64_MAX / (2 * SEARCHDB_BLOCK))
            query.rc = error_set(error, CAIRN_EDAMAGED, "the index is damaged");
        else
            query.rc = look_at_block(block, data, each, context);
    }
    return query_end(&query);
}
