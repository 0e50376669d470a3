/* SPDX-License-Identifier: MIT */
/* Rows of sessions, and the setting that says which one is the current. */
#include "storage/sessions/rows_session.h"

#include "storage/rows_meta.h"
#include "storage/sessions/rows_checked_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Writing ---- */

static int check_name(struct cairn_store *store, const struct session_row *row,
                      struct cairn_error *error)
{
    int64_t other = 0;
    int rc = db_get_int(store->db, SQL_FIND_SESSION,
                        VALUES(value_text(clean_str(row->name))), &other, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && (uint64_t)other == row->session))
        return 0;
    return rc ? rc
              : error_set(error, CAIRN_EUSAGE,
                          "there is a session %.*s already: take another name",
                          (int)row->name.len, row->name.ptr);
}

static int no_session(uint64_t session, struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND, "there is no session %llu",
                     (unsigned long long)session);
}

static int put_row(struct cairn_store *store, enum sql_id id, uint64_t session,
                   const struct session_row *row, struct cairn_error *error)
{
    return checked_put(store, id,
                       VALUES(value_number(session), value_text(clean_str(row->name)),
                              value_int(row->started_ns),
                              value_int(row->started_boot_ns), value_text(row->boot),
                              value_int(row->ended_ns), value_number(row->branch),
                              value_blob(row->numbers), value_blob(row->settings)),
                       error);
}

int store_put_session(struct cairn_store *store, struct session_row *row,
                      struct cairn_error *error)
{
    uint64_t session = row->session;
    enum sql_id id = session ? SQL_SET_SESSION : SQL_ADD_SESSION;
    store_assert_writing(store);
    assert(row->name.len);
    int rc = check_name(store, row, error);
    if (!rc && !session)
        rc = checked_next_number(store, SQL_LAST_SESSION, "session", &session, error);
    if (rc)
        return rc;
    rc = put_row(store, id, session, row, error);
    if (!rc)
        row->session = session;
    return rc == CAIRN_ENOTFOUND ? no_session(session, error) : rc;
}

int store_restore_session(struct cairn_store *store, const struct session_row *row,
                          struct cairn_error *error)
{
    store_assert_writing(store);
    assert(row->session && row->name.len);
    int rc = check_name(store, row, error);
    return rc ? rc : put_row(store, SQL_ADD_SESSION, row->session, row, error);
}

/* ---- Reading ---- */

static void session_from(const struct checked *rows, struct session_row *row)
{
    const struct sql_value *v = rows->values;
    *row =
        (struct session_row){.session = (uint64_t)v[SESSION_SESSION_AT].integer,
                             .name = clean_stored(v[SESSION_NAME_AT].bytes),
                             .started_ns = v[SESSION_STARTED_NS_AT].integer,
                             .started_boot_ns = v[SESSION_STARTED_BOOT_NS_AT].integer,
                             .boot = v[SESSION_BOOT_AT].bytes,
                             .ended_ns = v[SESSION_ENDED_NS_AT].integer,
                             .branch = (uint64_t)v[SESSION_BRANCH_AT].integer,
                             .numbers = v[SESSION_NUMBERS_AT].bytes,
                             .settings = v[SESSION_SETTINGS_AT].bytes};
}

/* All of them, to see whether one is damaged. */
static int look_at_all(struct checked *rows, struct cairn_error *error)
{
    return checked_look(rows, SQL_EACH_SESSION_ASC, VALUES(value_int(-1), value_int(0)),
                        error);
}

/* Where it is not found, it may be one whose number is damaged. */
int store_get_session(struct cairn_store *store, uint64_t session, session_row_fn *got,
                      void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_sessions};
    assert(got);
    int rc =
        checked_start(&rows, SQL_GET_SESSION, VALUES(value_number(session)), error);
    if (!rc)
        rc = checked_step(&rows, error);
    if (rc > 0) {
        struct session_row row;
        session_from(&rows, &row);
        rc = got(context, &row);
        checked_stop(&rows);
        return rc < 0 ? rc : 0;
    }
    checked_stop(&rows);
    if (!rc)
        rc = look_at_all(&rows, error);
    rc = checked_result(&rows, rc, error);
    return rc ? rc : no_session(session, error);
}

struct named {
    struct str name;
    uint64_t session; /* 0: not found */
};

static int note_named(void *context, const struct session_row *row)
{
    struct named *named = context;
    if (str_equal(clean_str(row->name), named->name))
        named->session = row->session;
    return named->session != 0;
}

/* The index is quick, and has no checksums: what it says must be so in the row, and
 * where it says nothing, all rows are read. */
int store_find_session(struct cairn_store *store, struct str name, uint64_t *session,
                       struct cairn_error *error)
{
    struct named named = {.name = name};
    int64_t found = 0;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_FIND_SESSION, VALUES(value_text(name)), &found,
                        error);
    if (!rc)
        rc = store_get_session(store, (uint64_t)found, note_named, &named, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && !named.session)) {
        const struct cairn_page all = {.all = true};
        rc = store_each_session(store, &all, note_named, &named, NULL, error);
    }
    if (!rc && !named.session)
        return error_set(error, CAIRN_ENOTFOUND, "there is no session %.*s",
                         (int)name.len, name.ptr);
    if (!rc)
        *session = named.session;
    return rc;
}

static int count_sessions(struct cairn_store *store, uint64_t *total,
                          struct cairn_error *error)
{
    int64_t n = 0;
    int rc = db_get_int(store->db, SQL_COUNT_SESSIONS, NO_VALUES, &n, error);
    *total = (uint64_t)n;
    return rc;
}

int store_each_session(struct cairn_store *store, const struct cairn_page *page,
                       session_row_fn *each, void *context, uint64_t *total,
                       struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_sessions};
    store_assert_open(store);
    assert(each);
    int rc = total ? count_sessions(store, total, error) : 0;
    if (rc)
        return rc;
    rc = checked_start(
        &rows, page->oldest_first ? SQL_EACH_SESSION_ASC : SQL_EACH_SESSION_DESC,
        VALUES(value_int(page->all ? -1 : sql_limit(page->limit)),
               value_int(sql_offset(page->offset))),
        error);
    while (rc >= 0 && (rc = checked_step(&rows, error)) > 0) {
        struct session_row row;
        session_from(&rows, &row);
        rc = each(context, &row);
        if (rc)
            break;
    }
    checked_stop(&rows);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}

int store_each_lost_session(struct cairn_store *store,
                            int (*each)(void *, uint64_t session), void *context,
                            struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_number(store->db, SQL_EACH_LOST_SESSION, each, context, error);
}

/* ---- Deleting ---- */

#define DELETED_SESSIONS "sessions" /* the setting: the highest number of them */

static int note_number(struct cairn_store *store, uint64_t session,
                       struct cairn_error *error)
{
    char text[32] = "";
    int rc = store_setting(store, DELETED_SESSIONS, text, sizeof text, error);
    if (rc < 0 || strtoull(text, NULL, 10) >= session)
        return rc < 0 ? rc : 0;
    snprintf(text, sizeof text, "%" PRIu64, session);
    return store_set_setting(store, DELETED_SESSIONS, text, error);
}

int store_delete_session(struct cairn_store *store, uint64_t session,
                         struct cairn_error *error)
{
    static const enum sql_id rows[] = {SQL_DELETE_ITEMS, SQL_DELETE_SESSION_LOG,
                                       SQL_DELETE_MESSAGES, SQL_DELETE_BRANCHES,
                                       SQL_DELETE_SESSION};
    static const enum tally_of tallies[] = {TALLY_ITEMS, TALLY_LOG, TALLY_MESSAGES};
    const struct sql_value key = value_number(session);
    store_assert_writing(store);
    assert(session);
    int rc = note_number(store, session, error);
    if (!rc)
        rc = tally_drop_rows(store, TALLY_BRANCHES, 0, SQL_BRANCH_SUMS_OF, &key, 1,
                             error);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !rc; i++)
        rc = store_write(store, rows[i], &key, 1, error);
    for (size_t i = 0; i < sizeof tallies / sizeof tallies[0] && !rc; i++)
        rc = tally_forget(store, tallies[i], session, error);
    return rc;
}

/* ---- The current one ---- */

#define CURRENT_SESSION "session" /* the setting: its number */

int store_set_current_session(struct cairn_store *store, uint64_t session,
                              struct cairn_error *error)
{
    char text[32];
    if (!session)
        return store_drop_setting(store, CURRENT_SESSION, error);
    snprintf(text, sizeof text, "%" PRIu64, session);
    return store_set_setting(store, CURRENT_SESSION, text, error);
}

int store_current_session(struct cairn_store *store, uint64_t *session,
                          struct cairn_error *error)
{
    char text[32], *end = text;
    *session = 0;
    int rc = store_sound_setting(store, CURRENT_SESSION, text, sizeof text, error);
    if (rc <= 0)
        return rc;
    if (text[0] >= '1' && text[0] <= '9')
        *session = strtoull(text, &end, 10);
    if (end > text && !*end && *session <= INT64_MAX)
        return 0;
    *session = 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the setting " CURRENT_SESSION " of the store is damaged: it is "
                     "no number of a session; `cairn doctor` tells more");
}
