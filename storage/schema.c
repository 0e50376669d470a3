/* SPDX-License-Identifier: MIT */
/* The tables, as a list of migrations: migrations[v] makes version v + 1 from version
 * v, the first one from nothing. A process of an older cairn may still be running while
 * a newer one migrates its store, so migrations only add: its statements stay valid.
 *
 * - `seq` is the row id: one counter for the store. The index of streams ends with it.
 * - Columns that repeat a record's header must equal it; verify compares.
 * - attempt keeps times as differences and absent values as NULL: a row of a small task
 *   takes about 60 bytes. wait_ns is from intent to start, duration_ns from there (from
 *   the intent if it never started) to the end; no duration: the attempt is open.
 * - run.sum, command.sum and claim.sum guard their rows: see row_hmac.c. A command
 *   without one is of version 1. The sums of version 3 guard rows that are only shown
 *   (row_checksum.c): a row without one is older, or an older cairn wrote it; in a
 * store with the setting `sums` every row has one.
 * - event.n counts within the turn.
 * - spared: objects that were used again while garbage is collected (rows_gc.c).
 * - session, branch, item, session_log, annotation and message: see sessions/. Every
 *   row of them has a sum (row_checksum.c), since they say what was known.
 * - item.about and item.also follow from the body, item.named from those of the items
 *   that name this one; NULL: nobody has written them yet, since the row is of an older
 *   cairn or of a repair.
 * - thread_state follows from the records of threads, and has no sum: who reads a record
 *   by it compares the key, and a verification makes all of it again.
 * - object.base: the object whose content is the prefix of this one's frame (object.c).
 *   The reference also keeps a collector of an older cairn, which knows nothing of it,
 *   from deleting that object: it gets an error. */
#include "storage/schema.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "storage/rows_int.h"

#include <assert.h>
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

static const char version_2[] =
    "ALTER TABLE attempt ADD COLUMN start_turn INTEGER;"
    "ALTER TABLE attempt ADD COLUMN end_turn INTEGER;"
    "ALTER TABLE attempt ADD COLUMN checkpoint INTEGER;"
    "ALTER TABLE command ADD COLUMN argument INTEGER;"
    "ALTER TABLE command ADD COLUMN gen INTEGER;"
    "ALTER TABLE command ADD COLUMN task INTEGER;"
    "ALTER TABLE command ADD COLUMN data BLOB;"
    "ALTER TABLE command ADD COLUMN sum BLOB;"
    "CREATE TABLE claim("
    " run INTEGER NOT NULL, gen INTEGER NOT NULL, task INTEGER NOT NULL,"
    " token TEXT NOT NULL, holder TEXT NOT NULL, boot TEXT NOT NULL,"
    " until_boot_ns INTEGER NOT NULL, time_ns INTEGER NOT NULL,"
    " spent INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(run, gen, task))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE event("
    " run INTEGER NOT NULL, turn INTEGER NOT NULL, n INTEGER NOT NULL,"
    " time_ns INTEGER NOT NULL, kind INTEGER NOT NULL, argument INTEGER, gen INTEGER,"
    " task INTEGER, data BLOB, PRIMARY KEY(run, turn, n)) STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 2;";

static const char version_3[] = "ALTER TABLE attempt ADD COLUMN sum BLOB;"
                                "ALTER TABLE event ADD COLUMN sum BLOB;"
                                "ALTER TABLE tombstone ADD COLUMN sum BLOB;"
                                "ALTER TABLE run_graph ADD COLUMN sum BLOB;"
                                "ALTER TABLE meta ADD COLUMN sum BLOB;"
                                "CREATE TABLE spared("
                                " object INTEGER PRIMARY KEY) STRICT;"
                                "PRAGMA user_version = 3;";

/* Nothing but new kinds of events, and those of the store, whose `run` is 0. */
static const char version_4[] = "PRAGMA user_version = 4;";

static const char version_5[] =
    "ALTER TABLE object ADD COLUMN base INTEGER REFERENCES object(id);"
    "CREATE INDEX object_base ON object(base) WHERE base IS NOT NULL;"
    "ALTER TABLE tombstone ADD COLUMN change BLOB;"
    "CREATE INDEX tombstone_stream ON tombstone(namespace, stream, first);"
    "PRAGMA user_version = 5;";

/* Rows of these can be larger than a page. WITHOUT ROWID a table keeps at most a quarter
 * of a page of each row where the row is looked up, and the rest on pages of the row's
 * own: until version 7 a message of 450 bytes took 2,341. The name is in quotes as
 * SQLite has it after a renaming. */
#define SMALL_ROWS(table, columns, key) \
    "CREATE TABLE " table "(" columns " PRIMARY KEY(" key ")) STRICT, WITHOUT ROWID;"
#define LARGE_ROWS(table, columns, key) \
    "CREATE TABLE \"" table "\"(" columns " UNIQUE(" key ")) STRICT;"
/* The columns and rows are the same, so a process of an older cairn works on. */
#define MOVE_ROWS(table, columns, key)                            \
    LARGE_ROWS("moved", columns, key)                             \
    "INSERT INTO moved SELECT * FROM " table " ORDER BY " key ";" \
    "DROP TABLE " table ";ALTER TABLE moved RENAME TO " table ";"

#define TABLE_ITEM(rows)                                                    \
    rows("item",                                                            \
         " session INTEGER NOT NULL, kind INTEGER NOT NULL, n INTEGER NOT " \
         "NULL, body BLOB NOT NULL, sum BLOB NOT NULL,",                    \
         "session, kind, n")
#define TABLE_SESSION_LOG(rows)                                                     \
    rows("session_log",                                                             \
         " session INTEGER NOT NULL, turn INTEGER NOT NULL, n INTEGER NOT NULL,"    \
         " time_ns INTEGER NOT NULL, verb INTEGER NOT NULL, kind INTEGER NOT NULL," \
         " number INTEGER NOT NULL, before BLOB NOT NULL, after BLOB NOT NULL,"     \
         " sum BLOB NOT NULL,",                                                     \
         "session, turn, n")
/* What is looked up, and what garbage collection reads, stands before the body. */
#define TABLE_MESSAGE(rows)                                                            \
    rows("message",                                                                    \
         " session INTEGER NOT NULL, n INTEGER NOT NULL, parent INTEGER NOT NULL,"     \
         " position INTEGER NOT NULL, time_ns INTEGER NOT NULL, role INTEGER NOT "     \
         "NULL, form INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out "        \
         "INTEGER NOT NULL, total_in INTEGER NOT NULL, total_out INTEGER NOT NULL,"    \
         " prompt INTEGER NOT NULL, reply INTEGER NOT NULL, size INTEGER NOT NULL,"    \
         " model TEXT NOT NULL, file TEXT NOT NULL, origin BLOB NOT NULL, object "     \
         "BLOB NOT NULL, body BLOB NOT NULL, chain BLOB NOT NULL, sum BLOB NOT NULL,", \
         "session, n") "CREATE INDEX message_origin ON message(session, origin) "      \
                       "WHERE length(origin) > 0;"

#define VERSION_6(rows)                                                                \
    "CREATE TABLE session("                                                            \
    " session INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"                         \
    " started_ns INTEGER NOT NULL, started_boot_ns INTEGER NOT NULL,"                  \
    " boot TEXT NOT NULL, ended_ns INTEGER NOT NULL, branch INTEGER NOT NULL,"         \
    " numbers BLOB NOT NULL, settings BLOB NOT NULL, sum BLOB NOT NULL) STRICT;"       \
    "CREATE TABLE branch("                                                             \
    " branch INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL,"       \
    " status INTEGER NOT NULL, from_seq INTEGER NOT NULL,"                             \
    " started_ns INTEGER NOT NULL, reason TEXT NOT NULL, sum BLOB NOT NULL,"           \
    " UNIQUE(session, name)) STRICT;" TABLE_ITEM(rows) TABLE_SESSION_LOG(              \
        rows) "CREATE TABLE annotation("                                               \
              " seq INTEGER NOT NULL, n INTEGER NOT NULL, time_ns INTEGER NOT NULL,"   \
              " kind INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL," \
              " sum BLOB NOT NULL, PRIMARY KEY(seq, n)) STRICT, WITHOUT ROWID;"

static const char version_6[] = VERSION_6(SMALL_ROWS) "PRAGMA user_version = 6;";
static const char version_7[] = TABLE_MESSAGE(SMALL_ROWS) "PRAGMA user_version = 7;";
/* What the body of an item names, so that an item is found by it: rows_session.h. Most
 * items name nothing, and are in no index. */
#define ITEM_LINKS                                                          \
    "ALTER TABLE item ADD COLUMN about INTEGER;"                            \
    "ALTER TABLE item ADD COLUMN also INTEGER;"                             \
    "ALTER TABLE item ADD COLUMN named INTEGER;"                            \
    "CREATE INDEX item_about ON item(session, about) WHERE about IS NOT 0;" \
    "CREATE INDEX item_also ON item(session, also) WHERE also <> 0;"

static const char version_8[] = TABLE_ITEM(MOVE_ROWS) TABLE_SESSION_LOG(MOVE_ROWS)
    TABLE_MESSAGE(MOVE_ROWS) ITEM_LINKS "PRAGMA user_version = 8;";

/* States of threads by key: rows_thread.h. */
#define TABLE_THREAD_STATE                                                        \
    "CREATE TABLE thread_state("                                                  \
    " branch INTEGER NOT NULL, space BLOB NOT NULL, id BLOB NOT NULL,"            \
    " seq INTEGER NOT NULL, writes BLOB NOT NULL, PRIMARY KEY(branch, space, id)" \
    ") STRICT, WITHOUT ROWID;"

static const char version_9[] = TABLE_THREAD_STATE "PRAGMA user_version = 9;";

static const char *const migrations[] = {version_1, version_2, version_3,
                                         version_4, version_5, version_6,
                                         version_7, version_8, version_9};
_Static_assert(COUNT_OF(migrations) == SCHEMA_VERSION,
               "each version has its migration");
/* A new store gets there without moving tables, and without altering them (new_script).
 */
static const char sessions_at_once[] = VERSION_6(LARGE_ROWS) TABLE_MESSAGE(LARGE_ROWS)
    ITEM_LINKS TABLE_THREAD_STATE "PRAGMA user_version = 9;";
static const char *const at_once[] = {version_1, version_2, version_3,
                                      version_4, version_5, sessions_at_once};

/* Temporary objects of the same names come before those of the file. Each is for stores
 * of some versions. */
static const struct stand_in {
    int64_t from, up_to;
    const char *make, *end;
} stand_ins[] = {
    {1, 1,
     "CREATE TEMP VIEW attempt AS SELECT *, NULL AS start_turn, NULL AS end_turn,"
     " NULL AS checkpoint FROM main.attempt;"
     "CREATE TEMP TABLE claim(run, gen, task, token, holder, boot, until_boot_ns,"
     " time_ns, spent, sum);"
     "CREATE TEMP TABLE event(run, turn, n, time_ns, kind, argument, gen, task, data);",
     "DROP VIEW temp.attempt;"
     "DROP TABLE temp.claim;"
     "DROP TABLE temp.event;"},
    {1, 4,
     "CREATE TEMP VIEW object AS SELECT *, NULL AS base FROM main.object;"
     "CREATE TEMP VIEW tombstone AS SELECT *, NULL AS change FROM main.tombstone;",
     "DROP VIEW temp.object;"
     "DROP VIEW temp.tombstone;"},
    {1, 5,
     "CREATE TEMP TABLE session(session, name, started_ns, started_boot_ns, boot,"
     " ended_ns, branch, numbers, settings, sum);"
     "CREATE TEMP TABLE branch(branch, session, name, status, from_seq, started_ns,"
     " reason, sum);"
     "CREATE TEMP TABLE item(session, kind, n, body, sum, about, also, named);"
     "CREATE TEMP TABLE session_log(session, turn, n, time_ns, verb, kind, number,"
     " before, after, sum);"
     "CREATE TEMP TABLE annotation(seq, n, time_ns, kind, severity, text, sum);",
     "DROP TABLE temp.session;"
     "DROP TABLE temp.branch;"
     "DROP TABLE temp.item;"
     "DROP TABLE temp.session_log;"
     "DROP TABLE temp.annotation;"},
    {1, 6,
     "CREATE TEMP TABLE message(session, n, parent, position, time_ns, role, form,"
     " tokens_in, tokens_out, total_in, total_out, prompt, reply, size, model, file,"
     " origin, object, body, chain, sum);",
     "DROP TABLE temp.message;"},
    {6, 7,
     "CREATE TEMP VIEW item AS SELECT *, NULL AS about, NULL AS also, NULL AS named"
     " FROM main.item;",
     "DROP VIEW temp.item;"},
    {1, 8, "CREATE TEMP TABLE thread_state(branch, space, id, seq, writes);",
     "DROP TABLE temp.thread_state;"},
};
enum { STAND_INS = COUNT_OF(stand_ins) };

static bool is_for(const struct stand_in *stand_in, int64_t version)
{
    return version >= stand_in->from && version <= stand_in->up_to;
}

int schema_check(const struct db_header *header, const char *dir,
                 struct cairn_error *error)
{
    assert(dir);
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

static int put_meta(struct db *db, struct str key, struct str text,
                    struct cairn_error *error)
{
    assert(key.len > 0);
    struct sql_value values[] = {value_text(key), value_text(text), {0}};
    struct value_sum sum;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    values_sum(sha, values, 2, &sum);
    sha256_free(sha);
    values[2] = value_blob(value_sum_view(&sum));
    return db_run(db, SQL_PUT_META, values, 3, error);
}

/* The id stays with the store when its directory is copied or moved. `gc`: see
 * rows_gc.c. `sums` says that no row of this store was ever written without a checksum.
 */
static int put_first_meta(struct db *db, const char *dir, struct cairn_error *error)
{
    char id[33], place[STORE_PLACE_TEXT];
    return random_hex(id, 16, error)
           ?: put_meta(db, STR("id"), str_of(id), error)
           ?: put_meta(db, STR("gc"), STR("0 0"), error)
           ?: put_meta(db, STR("sums"), STR("all"), error)
           ?: place_first(dir, place, error)
           ?: put_meta(db, STR(STORE_PLACE), str_of(place), error);
}

/* Puts a column where SQLite's ALTER TABLE puts it, so that the text is the same. */
static void put_column(struct buf *script, const char *table, struct str column)
{
    char name[40];
    snprintf(name, sizeof name, "TABLE %s(", table);
    const char *at = strstr(script->data, name);
    if (!at) {
        snprintf(name, sizeof name, "TABLE \"%s\"(", table);
        at = strstr(script->data, name);
    }
    assert(at);
    static const char *const ends[] = {", PRIMARY KEY(", ", UNIQUE(", ") STRICT"};
    const char *end = NULL, *next = strchr(at, ';');
    for (size_t i = 0; i < COUNT_OF(ends) && (!end || end > next); i++)
        end = strstr(at, ends[i]);
    assert(end && end < next);
    size_t offset = (size_t)(end - script->data), n = column.len + 2;
    size_t rest = script->size - offset;
    if (!buf_grow(script, n))
        return;
    memmove(script->data + offset + n, script->data + offset, rest);
    memcpy(script->data + offset, ", ", 2);
    memcpy(script->data + offset + 2, column.ptr, column.len);
}

/* What makes a new store: the statements of all versions, with each column in its table
 * from the start. After each ALTER TABLE SQLite reads the whole schema again, which took
 * two thirds of the making. */
static int new_script(struct buf *out, struct cairn_error *error)
{
    char table[20];
    for (size_t i = 0; i < COUNT_OF(at_once); i++)
        for (const char *at = at_once[i]; *at && !out->failed;) {
            size_t n = strcspn(at, ";") + 1;
            int column = 0; /* where it begins */
            if (sscanf(at, "ALTER TABLE %19s ADD COLUMN %n", table, &column) == 1 &&
                column)
                put_column(out, table,
                           (struct str){at + column, n - 1 - (size_t)column});
            else
                buf_add(out, at, n);
            at += n;
        }
    return buf_check(out, error);
}

static int make_tables(struct db *db, const char *dir, struct cairn_error *error)
{
    struct buf script = BUF_INIT;
    int rc = new_script(&script, error)
                 ?: db_script(db, script.data, error)
                 ?: put_first_meta(db, dir, error);
    buf_release(&script);
    return rc;
}

/* Stores of this version and later have the setting `gc`, or get it from the first
 * collection (rows_gc.c). */
enum { GC_SETTING_SINCE = 3 };

static int migrate_tables(struct db *db, const char *dir, int64_t from, bool alone,
                          struct cairn_error *error)
{
    assert(from >= 0 && from < SCHEMA_VERSION);
    /* A commit writes two or three whole pages to the WAL: with less than SQLite's 4096
     * bytes each it is cheaper. Much smaller pages waste space in the tables. */
    int rc = from == 0 ? db_script(db, "PRAGMA page_size = 2048", error) : 0;
    if (!rc)
        rc = db_begin_write(db, error);
    if (rc)
        return rc;
    if (from == 0)
        rc = make_tables(db, dir, error);
    for (int64_t v = from; !rc && v > 0 && v < SCHEMA_VERSION; v++)
        rc = db_script(db, migrations[v], error);
    if (!rc && from > 0 && from < GC_SETTING_SINCE && alone)
        rc = put_meta(db, STR("gc"), STR("0"), error);
    if (!rc)
        rc = db_commit(db, error);
    if (rc)
        db_rollback(db);
    return rc;
}

int schema_prepare(struct db *db, const char *dir, bool alone,
                   struct cairn_error *error)
{
    struct db_header header;
    int64_t tables;
    assert(dir);
    int rc = db_header(db, &header, error)
                 ?: db_get_int(db, SQL_COUNT_TABLES, NO_VALUES, &tables, error);
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
    return migrate_tables(db, dir, header.user_version, alone, error);
}

int schema_stand_in(struct db *db, const struct db_header *header,
                    struct cairn_error *error)
{
    assert(header->user_version >= 1 && header->user_version <= SCHEMA_VERSION);
    int rc = 0;
    for (int i = 0; i < STAND_INS && !rc; i++)
        if (is_for(&stand_ins[i], header->user_version))
            rc = db_script(db, stand_ins[i].make, error);
    return rc;
}

int schema_stand_in_end(struct db *db, int64_t version, struct cairn_error *error)
{
    assert(version < SCHEMA_VERSION);
    int rc = 0;
    for (int i = 0; i < STAND_INS && !rc; i++)
        if (is_for(&stand_ins[i], version))
            rc = db_script(db, stand_ins[i].end, error);
    return rc;
}

/* ---- Comparing the schema with the one that was made ---- */

/* The statement has two columns: what it is, and the text that made it. */
static int next_object(struct query *query, struct str *name, struct str *text)
{
    bool found = query_step(query);
    *name = found ? query_text(query, 0) : STR("");
    *text = found ? query_text(query, 1) : STR("");
    return query->rc;
}

static int report_object(struct str name, const char *what,
                         int (*each)(void *, const char *line), void *context)
{
    char line[200];
    snprintf(line, sizeof line, "the %.*s %s", (int)(name.len < 100 ? name.len : 100),
             name.ptr, what);
    return each(context, line);
}

/* SQLite's own tables, such as for statistics, and indexes that a table implies. */
static bool is_of_sqlite(struct str name)
{
    static const char start[] = "sqlite_";
    const char *space = memchr(name.ptr, ' ', name.len);
    size_t n = space ? (size_t)(space + 1 - name.ptr) : 0;
    return name.len - n >= sizeof start - 1 &&
           memcmp(name.ptr + n, start, sizeof start - 1) == 0;
}

/* Both lists are sorted by name. */
static int compare_lists(struct query *is, struct query *should,
                         int (*each)(void *, const char *line), void *context)
{
    struct str name, text, wanted = STR(""), made = STR("");
    int rc = next_object(is, &name, &text) ?: next_object(should, &wanted, &made);
    while (!rc && (name.len || wanted.len)) {
        int order = !name.len ? 1 : !wanted.len ? -1 : str_compare(name, wanted);
        if (order > 0)
            rc = report_object(wanted, "is missing", each, context);
        else if (order < 0 && !is_of_sqlite(name))
            rc = report_object(name, "was added, and not by cairn", each, context);
        else if (order == 0 && !str_equal(text, made))
            rc = report_object(name, "is not as it was made", each, context);
        if (!rc && order <= 0)
            rc = next_object(is, &name, &text);
        if (!rc && order >= 0)
            rc = next_object(should, &wanted, &made);
    }
    return rc < 0 ? rc : 0;
}

static int compare_with(struct db *db, struct db *made,
                        int (*each)(void *, const char *line), void *context,
                        struct cairn_error *error)
{
    struct query is, should;
    query_start(&is, db, SQL_EACH_SCHEMA, NO_VALUES, error);
    query_start(&should, made, SQL_EACH_SCHEMA, NO_VALUES, error);
    int rc = compare_lists(&is, &should, each, context);
    query_end(&is);
    query_end(&should);
    return rc;
}

int schema_compare(struct db *db, int (*each)(void *, const char *line), void *context,
                   struct cairn_error *error)
{
    assert(each);
    const struct db_options memory = {.dir = ":memory:", .path = ":memory:"};
    struct db_header header;
    struct db *made;
    int rc = db_header(db, &header, error) ?: db_open(&made, &memory, error);
    if (rc)
        return rc;
    /* For the newest version the text of both ways is the same. */
    struct buf script = BUF_INIT;
    if (header.user_version >= SCHEMA_VERSION)
        rc = new_script(&script, error) ?: db_script(made, script.data, error);
    else
        for (int64_t v = 0; !rc && v < header.user_version; v++)
            rc = db_script(made, migrations[v], error);
    if (!rc)
        rc = compare_with(db, made, each, context, error);
    buf_release(&script);
    db_close(made);
    return rc;
}
