/* SPDX-License-Identifier: MIT */
/* The marker of a store that is open for writing (`open`), and the place of its WAL.
 *
 * The marker exists while a writer lives, or after one was killed, until the
 * log has been transferred. Lines of text:
 *
 *   pid 4711 on host      who made it
 *   log empty             followed by `log begun` once something was committed
 *   sync full             normal, off; `sync less` once somebody joined who syncs less
 *   at 2049 131 BOOT      device and inode of the database, the kernel's boot id
 *   last checkpoint 42    what the last commit was (store_int.h): 64 bytes with blanks
 *
 * It is durable before the first commit. The last line is written after each commit and
 * not synced: after a power cut it may tell of an earlier commit, never of a later one
 * than the disk has. If the log is missing, or empty, the database is asked for that
 * commit. Where the log is there and the marker was made in this place and boot, the
 * database is asked with its log: without that commit the end of the log is lost. */
#include "storage/store_files_int.h"

#include "storage/health.h"
#include "storage/rows_meta.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include "base/lock.h"
#include "base/os.h"
#include "base/words.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the marker says about the log: nothing was committed yet; something was. */
#define STORE_LOG_EMPTY "log empty"
#define STORE_LOG_BEGUN "log begun"

/* The line of a marker that is made now; "" where that cannot be told. */
enum { STORE_MARKER_HERE = 96 };

static const char synced[] = "sync full", synced_less[] = "sync less";

enum { LAST_LINE = 64 };

/* ---- Making and joining ---- */

static void store_marker_here(const struct store_paths *paths,
                              char line[STORE_MARKER_HERE]);

static char *put(char *at, struct str text)
{
    memcpy(at, text.ptr, text.len);
    return at + text.len;
}

/* Written after each commit, so without the C library's formats. */
static void format_last(char line[LAST_LINE + 1], const struct last_commit *last)
{
    char number[24];
    assert(last->number <= INT64_MAX && last->run <= INT64_MAX);
    memset(line, ' ', LAST_LINE - 1);
    char *at = put(line, str_of(STORE_LAST_COMMIT));
    at = put(at, str_of(last_commit_names[last->kind]));
    at = put(at + 1, str_decimal((int64_t)last->number, number));
    at = put(at + 1, str_decimal((int64_t)last->run, number));
    assert(at < line + LAST_LINE);
    line[LAST_LINE - 1] = '\n';
    line[LAST_LINE] = 0;
}

static int make_marker(struct cairn_store *store, struct cairn_error *error)
{
    static const struct last_commit none;
    char host[64], here[STORE_MARKER_HERE], line[LAST_LINE + 1];
    assert(store->journal == DB_WAL);
    os_host_name(host);
    store_marker_here(&store->paths, here);
    format_last(line, &none);
    struct buf text = BUF_INIT;
    buf_format(&text, "pid %ld on %s\n" STORE_LOG_EMPTY "\nsync %s\n%s%s",
               (long)getpid(), host,
               store->sync == CAIRN_SYNC_FULL     ? "full"
               : store->sync == CAIRN_SYNC_NORMAL ? "normal"
                                                  : "off",
               here, line);
    int rc = buf_check(&text, error);
    /* The name of the WAL first: directories keep no order, and after a power cut the
     * marker without the WAL would be taken for lost commits. */
    if (!rc)
        rc = os_sync_dir(store->paths.dir, error)
                 ?: os_write_file(store->paths.marker, 0600, buf_view(&text), error);
    buf_release(&text);
    return rc;
}

/* Where the text stands in the marker, or -1. */
static int64_t find_text(const struct buf *marker, const char *text)
{
    const char *at = marker->data ? strstr(marker->data, text) : NULL;
    return at ? at - marker->data : -1;
}

/* Who syncs less than others says so: see store_check_log. */
static int weaken(const struct cairn_store *store, const struct buf *marker,
                  struct cairn_error *error)
{
    int64_t at = find_text(marker, synced);
    if (at < 0 || store->sync == CAIRN_SYNC_FULL)
        return 0;
    size_t n = sizeof synced_less - 1;
    if (pwrite(store->marker_fd, synced_less, n, at) == (ssize_t)n &&
        fsync(store->marker_fd) == 0)
        return 0;
    return error_sys(error, errno, "cannot write %s", store->paths.marker);
}

/* A marker of an older release has no note of the last commit: it gets one. */
static int open_marker(struct cairn_store *store, struct cairn_error *error)
{
    struct buf marker = BUF_INIT;
    store->marker_fd = os_open_plain(store->paths.marker, O_RDWR);
    if (store->marker_fd < 0)
        return error_sys(error, errno, "cannot open %s", store->paths.marker);
    int rc = os_read_plain(store->paths.marker, STORE_MARKER_MOST, &marker, error)
                 ?: weaken(store, &marker, error);
    int64_t at = find_text(&marker, STORE_LAST_COMMIT);
    store->last_at = at < 0 ? (int64_t)marker.size : at;
    buf_release(&marker);
    return rc;
}

int store_ensure_marker(struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->marked && !store->writing);
    store_leave_marker(store);
    int rc =
        store_file(store->paths.marker, NULL, NULL, error) ?: make_marker(store, error);
    if (rc >= 0)
        rc = open_marker(store, error);
    store->marked = rc >= 0;
    return rc < 0 ? rc : 0;
}

void store_leave_marker(struct cairn_store *store)
{
    if (store->marker_fd >= 0)
        close(store->marker_fd);
    store->marker_fd = -1;
}

/* From now on the log is not empty while the marker stands: see store_log_begun. What
 * is cut off of this by a power cut makes it tell less, nothing false. A commit that
 * changed nothing wrote nothing. */
void store_note_log(struct cairn_store *store)
{
    assert(store->journal == DB_WAL && !store->writing);
    static const char line[] = STORE_LOG_BEGUN "\n";
    if (db_wal_pages(store->db) == 0)
        return;
    store->log_noted = true;
    if (store->sync != CAIRN_SYNC_FULL || store_log_begun(&store->paths))
        return;
    int fd = os_open_plain(store->paths.marker, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    if (write(fd, line, sizeof line - 1) != (ssize_t)sizeof line - 1)
        store->log_noted = false;
    close(fd);
}

/* Our WAL must still be in its place: commits into a deleted file would be lost. */
int store_check_wal(const struct cairn_store *store, struct cairn_error *error)
{
    assert(store->journal == DB_WAL);
    uint64_t inode = 0;
    int rc = store_file(store->paths.wal, &inode, NULL, error);
    if (rc < 0 || (rc > 0 && inode == store->wal_inode))
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "commits were lost: %s was removed or replaced while the store "
                     "was in use",
                     store->paths.wal);
}

/* ---- The last commit ---- */

static int count_commit(struct cairn_store *store, uint64_t *count,
                        struct cairn_error *error)
{
    char text[32] = "";
    int rc = store_setting(store, STORE_COMMITS, text, sizeof text, error);
    if (rc < 0)
        return rc;
    uint64_t stored = strtoull(text, NULL, 10);
    *count = stored < INT64_MAX ? stored + 1 : INT64_MAX;
    snprintf(text, sizeof text, "%" PRIu64, *count);
    return store_set_setting(store, STORE_COMMITS, text, error);
}

int store_number_commit(struct cairn_store *store, struct cairn_error *error)
{
    struct last_commit last = {.kind = LAST_NONE};
    int rc = 0;
    store_assert_writing(store);
    if (store->pending.seq > store->committed.seq)
        last = (struct last_commit){LAST_CHECKPOINT, store->pending.seq, 0};
    else if (store->turns.put > store->turns.newest)
        last = (struct last_commit){LAST_TURN, store->turns.put, store->turns.run};
    else if (store->journal == DB_WAL && !db_failed(store->db) &&
             db_changes(store->db) != store->changes) {
        last.kind = LAST_COUNT;
        rc = count_commit(store, &last.number, error);
    }
    store->last = last;
    return rc;
}

/* If it cannot be written, the note stays behind: it then proves less. */
void store_note_commit(struct cairn_store *store)
{
    char line[LAST_LINE + 1];
    if (store->marker_fd < 0 || store->last.kind == LAST_NONE)
        return;
    format_last(line, &store->last);
    (void)!pwrite(store->marker_fd, line, LAST_LINE, store->last_at);
}

/* What the marker of a store says (store_marker.c has its text), and whether the
 * database, by itself or with its log, has the last commit that it names. */

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
static void store_marker_here(const struct store_paths *paths,
                              char line[STORE_MARKER_HERE])
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
    query_start(&query, db, SQL_GET_META, VALUES(value_text(str_of(STORE_COMMITS))),
                NULL);
    if (query_step(&query))
        snprintf(text, sizeof text, "%.*s", (int)query_text(&query, 0).len,
                 query_text(&query, 0).ptr);
    int rc = query_end(&query);
    return rc ? rc : strtoull(text, NULL, 10) >= number;
}

/* The rows of a run that was removed since then went with it. */
static int reaches_turn(struct db *db, const struct last_commit *last)
{
    static const enum sql_id ids[] = {SQL_EVENT_TURN, SQL_ATTEMPT_TURN};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = reaches(db, ids[i], VALUES(value_u64(last->run)), last->number);
    return rc ?: reaches(db, SQL_WAS_REMOVED, VALUES(value_u64(last->run)), 1);
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
