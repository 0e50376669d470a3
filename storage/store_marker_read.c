/* SPDX-License-Identifier: MIT */
/* What the marker of a store says (store_marker.c has its text), and whether the
 * database, by itself or with its log, has the last commit that it names. */
#include "base/os.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

/* A copy of a store that was in use may have a marker that is newer than its log, and
 * after a power cut the marker may have any bytes. */
void store_marker_here(const struct store_paths *paths, char line[STORE_MARKER_HERE])
{
    char boot[37];
    struct stat st;
    line[0] = 0;
    os_boot_id(boot);
    if (boot[0] && stat(paths->db, &st) == 0)
        snprintf(line, STORE_MARKER_HERE, "at %" PRIu64 " %" PRIu64 " %s\n",
                 (uint64_t)st.st_dev, (uint64_t)st.st_ino, boot);
}

static bool made_here(const struct store_paths *paths)
{
    char line[STORE_MARKER_HERE];
    store_marker_here(paths, line);
    return line[0] && marker_says(paths, line);
}

/* ---- Whether a database has that commit: 1 yes, 0 no, <0 it cannot be read ---- */

static int reaches(struct db *db, enum sql_id id, const struct sql_value *values,
                   size_t n, uint64_t number)
{
    int64_t found = 0;
    int rc = db_get_int(db, id, values, n, &found, NULL);
    return rc ? rc : found >= 0 && (uint64_t)found >= number;
}

static int reaches_count(struct db *db, uint64_t number)
{
    struct query query;
    char text[32] = "";
    int rc = query_start(&query, db, SQL_GET_META,
                         VALUES(value_text(str_of(STORE_COMMITS))), NULL);
    if (!rc)
        rc = query_step(&query, NULL);
    if (rc > 0)
        snprintf(text, sizeof text, "%.*s", (int)query_text(&query, 0).len,
                 query_text(&query, 0).ptr);
    query_end(&query);
    return rc < 0 ? rc : strtoull(text, NULL, 10) >= number;
}

/* The rows of a run that was removed since then went with it. */
static int reaches_turn(struct db *db, const struct last_commit *last)
{
    static const enum sql_id ids[] = {SQL_EVENT_TURN, SQL_ATTEMPT_TURN};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = reaches(db, ids[i], VALUES(value_u64(last->run)), last->number);
    return rc ? rc : reaches(db, SQL_WAS_REMOVED, VALUES(value_u64(last->run)), 1);
}

static int holds(struct db *db, const struct last_commit *last)
{
    switch (last->kind) {
    case LAST_CHECKPOINT:
        return last->number == UINT64_MAX
                   ? 0
                   : reaches(db, SQL_NEXT_SEQ, NO_VALUES, last->number + 1);
    case LAST_TURN:
        return reaches_turn(db, last);
    case LAST_COUNT:
        return reaches_count(db, last->number);
    case LAST_NONE: /* its writer was killed before its first one */
        return 1;
    }
    return 0;
}

static int look_for(const struct store_paths *paths, bool with_log)
{
    struct db_options options = {.dir = paths->dir,
                                 .path = paths->db,
                                 .immutable = !with_log,
                                 .read_only = true};
    struct last_commit last;
    struct db *db;
    /* The marker is read first: the database may only become newer meanwhile. */
    if (!read_last(paths, &last))
        return CAIRN_ENOTFOUND;
    int rc = db_open(&db, &options, NULL);
    if (rc)
        return rc;
    rc = holds(db, &last);
    db_close(db);
    return rc;
}

bool store_holds_last_commit(const struct store_paths *paths)
{
    return look_for(paths, false) > 0;
}

bool store_lost_last_commit(const struct store_paths *paths)
{
    return store_was_synced(paths) && made_here(paths) && look_for(paths, true) == 0;
}
