/* SPDX-License-Identifier: MIT */
/* What the marker of a store says (store_marker.c has its text), and whether the
 * database by itself has the last commit that it names. */
#include "base/os.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const last_commit_names[] = {"none", "checkpoint", "turn", "count"};

static bool marker_says(const struct store_paths *paths, const char *what)
{
    assert(what[0]);
    struct buf text = BUF_INIT;
    bool says = os_read_plain(paths->marker, STORE_MARKER_MOST, &text, NULL) == 0 &&
                strstr(text.data ? text.data : "", what) != NULL;
    buf_release(&text);
    return says;
}

/* Whether the marker's writer synced each commit. Only then is a transaction on the
 * disk before the next one. */
bool store_was_synced(const struct store_paths *paths)
{
    return marker_says(paths, "sync full");
}

/* From the first commit on, the log is not empty as long as the marker exists. The
 * marker of an older release does not say whether there was one; that its writer was
 * killed just before its first commit is too unlikely to matter. */
bool store_log_begun(const struct store_paths *paths)
{
    return store_was_synced(paths) && (marker_says(paths, STORE_LOG_BEGUN) ||
                                       !marker_says(paths, STORE_LOG_EMPTY));
}

/* False: it does not say. */
static bool read_last(const struct store_paths *paths, struct last_commit *last)
{
    struct buf marker = BUF_INIT;
    char kind[16] = "";
    const char *at = NULL;
    last->kind = LAST_NONE;
    if (os_read_plain(paths->marker, STORE_MARKER_MOST, &marker, NULL) == 0)
        at = marker.data ? strstr(marker.data, STORE_LAST_COMMIT) : NULL;
    int n = !at ? 0
                : sscanf(at, STORE_LAST_COMMIT "%15s %" SCNu64 " %" SCNu64, kind,
                         &last->number, &last->run);
    buf_release(&marker);
    for (int i = LAST_NONE; n == 3 && i <= LAST_COUNT; i++)
        if (strcmp(kind, last_commit_names[i]) == 0) {
            last->kind = (enum last_kind)i;
            return true;
        }
    return false;
}

/* The largest number of a query; 0 if it cannot be told. */
static uint64_t ask(struct db *db, enum sql_id id, const struct sql_value *values,
                    size_t n)
{
    int64_t found = 0;
    return db_get_int(db, id, values, n, &found, NULL) || found < 0 ? 0
                                                                    : (uint64_t)found;
}

static uint64_t ask_count(struct db *db)
{
    struct query query;
    char text[32] = "";
    int rc = query_start(&query, db, SQL_GET_META,
                         VALUES(value_text(str_of(STORE_COMMITS))), NULL);
    if (!rc && query_step(&query, NULL) > 0)
        snprintf(text, sizeof text, "%.*s", (int)query_text(&query, 0).len,
                 query_text(&query, 0).ptr);
    query_end(&query);
    return strtoull(text, NULL, 10);
}

static bool holds(struct db *db, const struct last_commit *last)
{
    switch (last->kind) {
    case LAST_CHECKPOINT:
        return ask(db, SQL_NEXT_SEQ, NO_VALUES) > last->number;
    case LAST_TURN:
        return ask(db, SQL_EVENT_TURN, VALUES(value_u64(last->run))) >= last->number ||
               ask(db, SQL_ATTEMPT_TURN, VALUES(value_u64(last->run))) >= last->number;
    case LAST_COUNT:
        return ask_count(db) >= last->number;
    case LAST_NONE: /* its writer was killed before its first one */
        return true;
    }
    return false;
}

bool store_holds_last_commit(const struct store_paths *paths)
{
    struct db_options alone = {
        .dir = paths->dir, .path = paths->db, .immutable = true, .read_only = true};
    struct last_commit last;
    struct db *db;
    if (!read_last(paths, &last) || db_open(&db, &alone, NULL))
        return false;
    bool held = holds(db, &last);
    db_close(db);
    return held;
}
