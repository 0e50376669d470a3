/* SPDX-License-Identifier: MIT */
/* Where a store is, and who it is to its processes. The setting `place` of the table
 * meta: IDENTITY DEVICE INODE PATH, of the store's directory when it was last opened
 * for writing.
 *
 * The identity is in the token of every process of a run and in every file in `live/`
 * that names processes. A copy of a store has the same id, the same records and the
 * same note; were it to keep the identity, it would end the tasks of the store that it
 * was copied from. So before anything else is done with a store that is not where the
 * note says, it is looked whether a store of this identity is still there. If there is,
 * ours is the copy (whichever of the two was made first) and takes a new one: what
 * lives, or is noted in `live/`, is then the other one's. If there is none, the store
 * was moved, or a backup was put in another place, and goes on as it is; so does a
 * backup that was put back in its old place. */
#include "base/os.h"
#include "storage/rows_meta.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum verdict {
    PLACE_SAME,
    PLACE_MOVED,  /* it is to be noted where it is now */
    PLACE_UNKNOWN /* never noted, or a copy: a new identity */
};

/* ---- What is noted, and what is there ---- */

/* 1: it is in *out. 0: there is none that can be read. */
static int read_place(struct cairn_store *store, struct place *out,
                      struct cairn_error *error)
{
    char text[STORE_PLACE_TEXT] = "";
    int rc = store_setting(store, STORE_PLACE, text, sizeof text, error);
    return rc <= 0 ? rc : place_parse(text, out);
}

static bool is_at(const struct place *place, const struct stat *st)
{
    return place->device == st->st_dev && place->inode == st->st_ino;
}

enum other { OTHER_NONE, OTHER_SAME, OTHER_UNKNOWN };

/* The setting of another store, by a connection of its own. */
static bool read_other(const struct store_paths *paths, struct place *out)
{
    struct db_options options = {
        .dir = paths->dir, .path = paths->db, .read_only = true};
    struct query query;
    struct db *db;
    char text[STORE_PLACE_TEXT] = "";
    if (store_check_files(paths, DB_WAL, NULL) || db_open(&db, &options, NULL))
        return false;
    query_start(&query, db, SQL_GET_META, VALUES(value_text(STR(STORE_PLACE))), NULL);
    if (query_step(&query))
        snprintf(text, sizeof text, "%.*s", (int)query_text(&query, 0).len,
                 query_text(&query, 0).ptr);
    query_end(&query);
    db_close(db);
    return place_parse(text, out);
}

static enum other compare_other(const struct place *noted)
{
    struct cairn_store_options options = {.path = noted->path, .read_only = true};
    struct store_paths paths = {0};
    struct place place;
    enum other other = OTHER_UNKNOWN;
    if (store_paths_find(&paths, &options, NULL))
        return OTHER_UNKNOWN;
    int there = store_file(paths.db, NULL, NULL, NULL);
    if (there == 0)
        other = OTHER_NONE;
    else if (there > 0 && read_other(&paths, &place))
        other = strcmp(place.identity, noted->identity) == 0 ? OTHER_SAME : OTHER_NONE;
    store_paths_release(&paths);
    return other;
}

/* Is there a store of the noted identity at the noted path? Ours is known by `here`. */
static enum other look_there(const struct place *noted, const struct stat *here)
{
    struct stat st;
    if (stat(noted->path, &st) < 0)
        return os_is_missing(errno) ? OTHER_NONE : OTHER_UNKNOWN;
    if (st.st_dev == here->st_dev && st.st_ino == here->st_ino)
        return OTHER_NONE; /* ours, by another path */
    return st.st_uid == geteuid() ? compare_other(noted) : OTHER_UNKNOWN;
}

static int judge_place(struct cairn_store *store, struct place *noted,
                       struct stat *here, enum verdict *verdict,
                       struct cairn_error *error)
{
    if (stat(store->paths.dir, here) < 0)
        return error_sys(error, errno, "cannot look at %s", store->paths.dir);
    int rc = read_place(store, noted, error);
    if (rc <= 0) {
        *verdict = PLACE_UNKNOWN;
        return rc;
    }
    if (strcmp(noted->path, store->paths.dir) == 0) {
        *verdict = is_at(noted, here) ? PLACE_SAME : PLACE_MOVED;
        return 0;
    }
    enum other other = look_there(noted, here);
    bool ours = other == OTHER_NONE || (other == OTHER_UNKNOWN && is_at(noted, here));
    *verdict = ours ? PLACE_MOVED : PLACE_UNKNOWN;
    return 0;
}

/* ---- Acting on it ---- */

/* It is looked at again now that no other process can note anything. */
static int note_place(struct cairn_store *store, struct place *place,
                      struct cairn_error *error)
{
    char text[STORE_PLACE_TEXT];
    struct stat here;
    enum verdict verdict;
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = judge_place(store, place, &here, &verdict, error);
    if (!rc && verdict == PLACE_UNKNOWN)
        rc = place_make_identity(place->identity, error);
    if (!rc && verdict != PLACE_SAME)
        rc = place_format(text, place->identity, store->paths.dir, &here, error);
    if (!rc && verdict != PLACE_SAME)
        rc = store_set_setting(store, STORE_PLACE, text, error);
    return store_end(store, rc, error);
}

int store_settle_place(struct cairn_store *store, struct cairn_error *error)
{
    struct place place;
    struct stat here;
    struct cairn_error why = {0};
    enum verdict verdict;
    assert(!store->read_only && !store->writing);
    int rc = judge_place(store, &place, &here, &verdict, error);
    if (rc)
        return rc;
    if (verdict != PLACE_SAME)
        rc = note_place(store, &place, &why);
    /* Without the note a copy that is made now may be taken for the store itself; that
     * is not a reason to refuse a store on a full disk. A new identity must be
     * stored. */
    if (rc && (verdict == PLACE_UNKNOWN || rc == CAIRN_ENOMEM)) {
        if (error)
            *error = why;
        return rc;
    }
    memcpy(store->identity, place.identity, sizeof store->identity);
    return 0;
}

/* What a writer would do: a copy has an identity that nothing else has. */
int store_look_at_place(struct cairn_store *store, struct cairn_error *error)
{
    struct place place;
    struct stat here;
    enum verdict verdict = PLACE_UNKNOWN;
    assert(store->read_only);
    int rc = judge_place(store, &place, &here, &verdict, NULL);
    rc =
        rc || verdict == PLACE_UNKNOWN ? place_make_identity(place.identity, error) : 0;
    if (!rc)
        memcpy(store->identity, place.identity, sizeof store->identity);
    return rc;
}
