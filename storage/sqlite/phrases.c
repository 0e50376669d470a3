/* SPDX-License-Identifier: MIT */
/* The function cairn_phrases of a connection, by which FTS5 gives its lists: for the
 * first row that fits, it reads them all. */
#include "storage/sqlite/phrases.h"

#include "storage/sqlite/db_int.h"

struct phrase_reading {
    int (*each)(void *, const struct phrase_row *);
    void *context;
    struct phrase_row row;
    int rc; /* the first negative return of `each` */
};

static int read_row(const Fts5ExtensionApi *api, Fts5Context *fts, void *user)
{
    struct phrase_reading *reading = user;
    struct phrase_row *row = &reading->row;
    Fts5PhraseIter place;
    int column, offset;
    row->row = api->xRowid(fts);
    memset(row->often, 0, sizeof row->often);
    int rc = api->xPhraseFirst(fts, 0, &place, &column, &offset);
    for (; rc == SQLITE_OK && column >= 0;
         api->xPhraseNext(fts, &place, &column, &offset))
        if (column < PHRASE_COLUMNS)
            row->often[column]++;
    if (rc != SQLITE_OK)
        return rc;
    int given = reading->each(reading->context, row);
    if (given < 0)
        reading->rc = given;
    return given ? SQLITE_DONE : SQLITE_OK;
}

static void read_phrases(const Fts5ExtensionApi *api, Fts5Context *fts,
                         sqlite3_context *result, int n, sqlite3_value **values)
{
    struct db *db = api->xUserData(fts);
    struct phrase_reading *reading = db->phrases;
    int phrases = api->xPhraseCount(fts), rc = SQLITE_OK;
    (void)n;
    (void)values;
    for (int i = 0; reading && i < phrases && rc == SQLITE_OK && !reading->rc; i++) {
        reading->row.phrase = i;
        rc = api->xQueryPhrase(fts, i, reading, read_row);
    }
    if (rc != SQLITE_OK)
        sqlite3_result_error_code(result, rc);
    else
        sqlite3_result_int(result, phrases);
}

static int add_function(struct db *db, struct cairn_error *error)
{
    fts5_api *api = NULL;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db->handle, "SELECT fts5(?1)", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) != SQLITE_ROW)
        rc = sqlite3_errcode(db->handle);
    sqlite3_finalize(statement);
    if (rc == SQLITE_OK && !api)
        rc = SQLITE_ERROR;
    if (rc == SQLITE_OK)
        rc = api->xCreateFunction(api, "cairn_phrases", db, read_phrases, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(db, rc, false, error);
}

/* Whom the function is called for: NULL, nobody. */
static void serve(struct db *db, struct phrase_reading *reading)
{
    db->phrases = reading;
}

int db_each_phrase(struct db *db, enum sql_id id, struct str expression,
                   int (*each)(void *, const struct phrase_row *), void *context,
                   struct cairn_error *error)
{
    struct phrase_reading reading = {.each = each, .context = context};
    struct query query;
    int rc = db->has_phrases ? 0 : add_function(db, error);
    if (rc)
        return rc;
    db->has_phrases = true;
    serve(db, &reading);
    rc = query_start(&query, db, id, VALUES(value_text(expression)), error);
    if (!rc)
        rc = query_step(&query, error);
    query_end(&query);
    serve(db, NULL);
    return reading.rc ? reading.rc : rc < 0 ? rc : 0;
}
