/* Version 1 of the tables, and the list of migrations: migrations[v] makes version v +
 * 1 of version v, the first one out of nothing.
 *
 * - `seq` is the row id: one counter for the store. The index of streams ends with it.
 * - Columns that repeat a record's header must equal it; verify compares.
 * - attempt keeps times as differences and absent values as NULL: a row of a small task
 *   takes about 60 bytes. wait_ns is from intent to start, duration_ns from there (from
 *   the intent if it never started) to the end; no duration: the attempt is open.
 * - run.sum guards its row: see rows_run.c. */
#include "storage/schema.h"

#include "base/clock.h"
#include "base/sha256.h"

#include <stdio.h>

static const char version_1[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE workflow(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE run("
    " run INTEGER PRIMARY KEY, workflow INTEGER NOT NULL REFERENCES workflow(id),"
    " params BLOB NOT NULL, params_text BLOB NOT NULL, file TEXT NOT NULL,"
    " gen INTEGER NOT NULL, graph BLOB NOT NULL, tasks INTEGER NOT NULL,"
    " state INTEGER NOT NULL, started_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL,"
    " from_run INTEGER NOT NULL, from_seq INTEGER NOT NULL,"
    " owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL,"
    " owner_host TEXT NOT NULL, owner_boot TEXT NOT NULL,"
    " owner_since_ns INTEGER NOT NULL, unsaved INTEGER NOT NULL, sum BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX run_workflow ON run(workflow);"
    "CREATE TABLE run_graph("
    " run INTEGER NOT NULL REFERENCES run(run), gen INTEGER NOT NULL,"
    " graph BLOB NOT NULL, PRIMARY KEY(run, gen)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE attempt("
    " run INTEGER NOT NULL, gen INTEGER NOT NULL, task INTEGER NOT NULL,"
    " n INTEGER NOT NULL, intent_ns INTEGER NOT NULL, wait_ns INTEGER,"
    " duration_ns INTEGER, outcome INTEGER, flags INTEGER, exit_code INTEGER,"
    " signal INTEGER, cpu_us INTEGER, peak_kib INTEGER, out_bytes INTEGER,"
    " err_bytes INTEGER, out_head INTEGER, err_head INTEGER, out BLOB, err BLOB,"
    " outputs BLOB, text TEXT, PRIMARY KEY(run, gen, task, n)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE checkpoint("
    " seq INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, stream INTEGER NOT NULL,"
    " parent INTEGER, time_ns INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " record BLOB NOT NULL, digest BLOB NOT NULL) STRICT;"
    "CREATE INDEX checkpoint_stream ON checkpoint(namespace, stream);"
    "CREATE TABLE tombstone("
    " id INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, stream INTEGER NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,"
    " before BLOB, after BLOB NOT NULL, time_ns INTEGER NOT NULL) STRICT;"
    "CREATE INDEX tombstone_last ON tombstone(last);"
    "CREATE TABLE quarantine("
    " seq INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;"
    "CREATE TABLE command("
    " id INTEGER PRIMARY KEY, run INTEGER NOT NULL, verb INTEGER NOT NULL,"
    " time_ns INTEGER NOT NULL, taken INTEGER NOT NULL) STRICT;"
    "CREATE INDEX command_waiting ON command(run) WHERE taken = 0;"
    "CREATE TABLE object("
    " id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " codec INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "PRAGMA application_id = 0x6361726e;"
    "PRAGMA user_version = 1;";

static const char *const migrations[SCHEMA_VERSION] = {version_1};

int schema_check(const struct db_header *header, const char *dir,
                 struct cairn_error *error)
{
    if (header->application_id == 0 && header->user_version == 0)
        return error_set(error, CAIRN_ENOTFOUND, "there is no store in %s yet", dir);
    if (header->application_id != SCHEMA_APPLICATION_ID)
        return error_set(error, CAIRN_EDAMAGED,
                         "%s/cairn.db is not a cairn store (application id %08llx): "
                         "move it away, or give another store with --store",
                         dir, (unsigned long long)header->application_id & 0xffffffff);
    if (header->user_version > SCHEMA_VERSION)
        return error_set(error, CAIRN_ENEWER,
                         "the store %s is from a newer cairn (format %lld, this one "
                         "knows %d): it was left as it is; use that cairn",
                         dir, (long long)header->user_version, SCHEMA_VERSION);
    if (header->user_version < 1)
        return error_set(error, CAIRN_EDAMAGED,
                         "the store %s is damaged (format number %lld): run `cairn "
                         "doctor`",
                         dir, (long long)header->user_version);
    return 0;
}

/* The id names the store for good, also when its directory is copied or moved. */
static int put_id(struct db *db, struct cairn_error *error)
{
    uint8_t bytes[16];
    char hex[2 * sizeof bytes + 1];
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return db_run(db, SQL_PUT_META,
                  VALUES(value_text(STR("id")), value_text(str_of(hex))), error);
}

static int migrate(struct db *db, int64_t from, struct cairn_error *error)
{
    /* A commit writes whole pages to the WAL, two or three of them: smaller ones than
     * SQLite's 4096 bytes make it cheaper. Much smaller ones waste room in the tables.
     */
    int rc = from == 0 ? db_script(db, "PRAGMA page_size = 2048", error) : 0;
    if (!rc)
        rc = db_begin_write(db, error);
    if (rc)
        return rc;
    for (int64_t v = from; !rc && v < SCHEMA_VERSION; v++)
        rc = db_script(db, migrations[v], error);
    if (!rc && from == 0)
        rc = put_id(db, error);
    if (!rc)
        rc = db_commit(db, error);
    if (rc)
        db_rollback(db);
    return rc;
}

int schema_prepare(struct db *db, const char *dir, struct cairn_error *error)
{
    struct db_header header;
    int64_t tables;
    int rc = db_header(db, &header, error);
    if (!rc)
        rc = db_get_int(db, SQL_COUNT_TABLES, NO_VALUES, &tables, error);
    if (rc)
        return rc;
    rc = schema_check(&header, dir, error);
    if (rc == CAIRN_ENOTFOUND && tables > 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "%s/cairn.db is somebody else's database: move it away, or "
                         "give another store with --store",
                         dir);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    if (header.user_version == SCHEMA_VERSION)
        return 0;
    return migrate(db, header.user_version, error);
}
