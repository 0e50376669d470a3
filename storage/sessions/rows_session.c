/* SPDX-License-Identifier: MIT */
/* Rows of sessions, and the setting that says which one is the current. */
#include "storage/sessions/rows_session.h"

#include "base/words.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_checked_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Writing ---- */

static int check_session_name(struct cairn_store *store, const struct session_row *row,
                              struct cairn_error *error)
{
    int64_t other = 0;
    int rc = db_get_int(store->db, SQL_FIND_SESSION,
                        VALUES(value_text(clean_str(row->name))), &other, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && (uint64_t)other == row->session))
        return 0;
    return rc
               ?: error_set(error, CAIRN_EUSAGE,
                            "there is a session %.*s already: take another name",
                            (int)row->name.len, row->name.ptr);
}

static int no_session(uint64_t session, struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND, "there is no session %llu",
                     (unsigned long long)session);
}

static int put_session(struct cairn_store *store, enum sql_id id, uint64_t session,
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
    int rc = check_session_name(store, row, error);
    if (!rc && !session)
        rc = checked_next_number(store, SQL_LAST_SESSION, "session", &session, error);
    if (rc)
        return rc;
    rc = put_session(store, id, session, row, error);
    if (!rc)
        row->session = session;
    return rc == CAIRN_ENOTFOUND ? no_session(session, error) : rc;
}

int store_restore_session(struct cairn_store *store, const struct session_row *row,
                          struct cairn_error *error)
{
    store_assert_writing(store);
    assert(row->session && row->name.len);
    return check_session_name(store, row, error)
               ?: put_session(store, SQL_ADD_SESSION, row->session, row, error);
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
static int check_sessions(struct checked *rows, struct cairn_error *error)
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
    checked_start(&rows, SQL_GET_SESSION, VALUES(value_number(session)), error);
    if (checked_step(&rows)) {
        struct session_row row;
        session_from(&rows, &row);
        rows.query.rc = got(context, &row);
        return query_end(&rows.query);
    }
    int rc = checked_stop(&rows) ?: check_sessions(&rows, error);
    rc = checked_result(&rows, rc, error);
    return rc ?: no_session(session, error);
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
    int rc =
        db_get_int(store->db, SQL_FIND_SESSION, VALUES(value_text(name)), &found, error)
            ?: store_get_session(store, (uint64_t)found, note_named, &named, error);
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
    checked_start(&rows,
                  page->oldest_first ? SQL_EACH_SESSION_ASC : SQL_EACH_SESSION_DESC,
                  VALUES(value_int(page->all ? -1 : sql_limit(page->limit)),
                         value_int(sql_offset(page->offset))),
                  error);
    while (checked_step(&rows)) {
        struct session_row row;
        session_from(&rows, &row);
        rows.query.rc = each(context, &row);
    }
    rc = checked_stop(&rows);
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
    u64_text(session, text);
    return store_set_setting(store, DELETED_SESSIONS, text, error);
}

enum { CAPTURED_BYTES = 80, MARKS_BYTES = 160 };

static void captured_key(uint64_t session, char key[CAPTURED_BYTES])
{
    snprintf(key, CAPTURED_BYTES, "captured.%" PRIu64, session);
}

static void marks_key(uint64_t session, char key[MARKS_BYTES])
{
    snprintf(key, MARKS_BYTES, "log.%" PRIu64, session);
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
    int rc = note_number(store, session, error)
                 ?: tally_drop_rows(store, TALLY_BRANCHES, 0, SQL_BRANCH_SUMS_OF, &key,
                                    1, error);
    for (size_t i = 0; i < COUNT_OF(rows) && !rc; i++)
        rc = store_write(store, rows[i], &key, 1, error);
    for (size_t i = 0; i < COUNT_OF(tallies) && !rc; i++)
        rc = tally_forget(store, tallies[i], session, error);
    char noted[CAPTURED_BYTES], marks[MARKS_BYTES];
    captured_key(session, noted);
    marks_key(session, marks);
    return rc
               ?: store_drop_setting(store, noted, error)
               ?: store_drop_setting(store, marks, error);
}

/* ---- The current one ---- */

#define CURRENT_SESSION "session" /* the setting: its number */

int store_set_current_session(struct cairn_store *store, uint64_t session,
                              struct cairn_error *error)
{
    char text[32];
    if (!session)
        return store_drop_setting(store, CURRENT_SESSION, error);
    u64_text(session, text);
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
                     "not the number of a session; see `cairn doctor`");
}

/* Rows of branches. The table is read whole where branches of one session are asked
 * for: see rows_checked_int.h. */

/* ---- Writing ---- */

static int check_branch_name(struct cairn_store *store, const struct branch_row *row,
                             struct cairn_error *error)
{
    int64_t other = 0;
    int rc =
        db_get_int(store->db, SQL_FIND_BRANCH,
                   VALUES(value_number(row->session), value_text(clean_str(row->name))),
                   &other, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && (uint64_t)other == row->branch))
        return 0;
    return rc
               ?: error_set(error, CAIRN_EUSAGE,
                            "session %llu has a branch %.*s already: take another name",
                            (unsigned long long)row->session, (int)row->name.len,
                            row->name.ptr);
}

static int no_branch(uint64_t branch, struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND, "there is no branch %llu",
                     (unsigned long long)branch);
}

static int put_branch(struct cairn_store *store, enum sql_id id, uint64_t branch,
                      const struct branch_row *row, struct cairn_error *error)
{
    const struct sql_value values[] = {value_number(branch),
                                       value_number(row->session),
                                       value_text(clean_str(row->name)),
                                       value_int(row->status),
                                       value_number(row->from_seq),
                                       value_int(row->started_ns),
                                       value_text(clean_str(row->reason))};
    enum { ALL = COUNT_OF(values) };
    return tally_drop_rows(store, TALLY_BRANCHES, 0, SQL_BRANCH_SUM, values, 1, error)
           ?: checked_put(store, id, values, ALL, error)
           ?: tally_put_row(store, TALLY_BRANCHES, 0, values, ALL, error);
}

int store_put_branch(struct cairn_store *store, struct branch_row *row,
                     struct cairn_error *error)
{
    uint64_t branch = row->branch;
    enum sql_id id = branch ? SQL_SET_BRANCH : SQL_ADD_BRANCH;
    store_assert_writing(store);
    assert(row->session && row->name.len);
    int rc = check_branch_name(store, row, error);
    if (!rc && !branch)
        rc = checked_next_number(store, SQL_LAST_BRANCH, "branch", &branch, error);
    if (rc)
        return rc;
    rc = put_branch(store, id, branch, row, error);
    if (!rc)
        row->branch = branch;
    return rc == CAIRN_ENOTFOUND ? no_branch(branch, error) : rc;
}

int store_restore_branch(struct cairn_store *store, const struct branch_row *row,
                         struct cairn_error *error)
{
    store_assert_writing(store);
    assert(row->branch && row->session && row->name.len);
    return check_branch_name(store, row, error)
               ?: put_branch(store, SQL_ADD_BRANCH, row->branch, row, error);
}

int store_each_lost_branch(struct cairn_store *store,
                           int (*each)(void *, uint64_t branch, uint64_t session),
                           void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_pair(store->db, SQL_EACH_LOST_BRANCH, each, context, error);
}

/* ---- Reading ---- */

static void branch_from(const struct checked *rows, struct branch_row *row)
{
    const struct sql_value *v = rows->values;
    *row = (struct branch_row){.branch = (uint64_t)v[BRANCH_BRANCH_AT].integer,
                               .session = (uint64_t)v[BRANCH_SESSION_AT].integer,
                               .name = clean_stored(v[BRANCH_NAME_AT].bytes),
                               .status = (uint8_t)v[BRANCH_STATUS_AT].integer,
                               .from_seq = (uint64_t)v[BRANCH_FROM_SEQ_AT].integer,
                               .started_ns = v[BRANCH_STARTED_NS_AT].integer,
                               .reason = clean_stored(v[BRANCH_REASON_AT].bytes)};
}

/* All of them, to see whether one is damaged or missing. */
static int check_branches(struct checked *rows, struct cairn_error *error)
{
    struct row_tally found;
    int rc = store_begin_read(rows->store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(rows, SQL_EACH_BRANCH, NO_VALUES, error)
             ?: store_tally_rows(rows->store, TALLY_BRANCHES, 0, &found, error);
    if (!rc && !rows->damaged[0])
        rc = store_tally_compare(rows->store, TALLY_BRANCHES, 0, &found, error);
    store_end_read(rows->store);
    return checked_result(rows, rc, error);
}

/* Where it is not found, it may be one whose number is damaged. */
int store_get_branch(struct cairn_store *store, uint64_t branch, branch_row_fn *got,
                     void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_branches};
    assert(got);
    checked_start(&rows, SQL_GET_BRANCH, VALUES(value_number(branch)), error);
    if (checked_step(&rows)) {
        struct branch_row row;
        branch_from(&rows, &row);
        rows.query.rc = got(context, &row);
        return query_end(&rows.query);
    }
    return checked_stop(&rows)
           ?: check_branches(&rows, error)
           ?: no_branch(branch, error);
}

int store_each_branch(struct cairn_store *store, uint64_t session, branch_row_fn *each,
                      void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_branches};
    struct row_tally found = {0};
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    checked_start(&rows, SQL_EACH_BRANCH, NO_VALUES, error);
    while (checked_step(&rows)) {
        struct branch_row row;
        branch_from(&rows, &row);
        tally_add(&found, rows.values[BRANCH_SUM_AT].bytes);
        if (!session || row.session == session)
            rows.query.rc = each(context, &row);
    }
    rc = checked_stop(&rows);
    if (!rc && !rows.damaged[0])
        rc = store_tally_compare(store, TALLY_BRANCHES, 0, &found, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}

/* Rows of items. */

/* ---- What names an item ---- */

/* Another item that names it comes or goes. */
static int name_item(struct cairn_store *store, uint64_t session, int64_t link,
                     int64_t sum, struct cairn_error *error)
{
    if (link <= 0 || link >= ITEM_LINK_OTHER)
        return 0;
    return store_write(store, SQL_NAME_ITEM,
                       VALUES(value_number(session), value_int(link >> 32),
                              value_int(link & UINT32_MAX), value_int(sum)),
                       error);
}

static int64_t sum_as_number(struct str sum)
{
    struct row_tally one = {0};
    tally_add(&one, sum);
    return (int64_t)one.sum;
}

static int name_both(struct cairn_store *store, uint64_t session, int64_t about,
                     int64_t also, int64_t sum, struct cairn_error *error)
{
    return name_item(store, session, about, sum, error)
               ?: name_item(store, session, also, sum, error);
}

/* Before a row is written over or removed. */
static int unname(struct cairn_store *store, const struct sql_value key[3],
                  struct cairn_error *error)
{
    struct query query;
    int64_t about = 0, also = 0, sum = 0;
    query_start(&query, store->db, SQL_ITEM_LINKS, key, 3, error);
    if (query_step(&query)) {
        struct sql_value links[] = {query_value(&query, 0), query_value(&query, 1)};
        about = links[0].kind == SQL_VALUE_INT ? links[0].integer : 0;
        also = links[1].kind == SQL_VALUE_INT ? links[1].integer : 0;
        sum = sum_as_number(query_blob(&query, 2));
    }
    return query_end(&query)
               ?: name_both(store, (uint64_t)key[0].integer, about, also, sum, error);
}

int store_check_naming(struct cairn_store *store, uint64_t session, uint8_t kind,
                       uint32_t n, struct cairn_error *error)
{
    struct query query;
    struct row_tally found = {0};
    int64_t due = 0;
    const struct sql_value key[] = {value_number(session), value_int(kind),
                                    value_int(n)};
    const struct sql_value link[] = {key[0], value_int((int64_t)kind << 32 | n)};
    int rc = db_get_int(store->db, SQL_ITEM_NAMED, key, 3, &due, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc)
        return rc;
    query_start(&query, store->db, SQL_EACH_NAMING_SUM, link, 2, error);
    while (query_step(&query))
        tally_add(&found, query_blob(&query, 0));
    rc = query_end(&query);
    if (rc || (int64_t)found.sum == due)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "items of session %llu are missing that name the one of kind %u, "
                     "number %u: the store was damaged, or changed by something else "
                     "than cairn; `cairn doctor --repair` saves what is left",
                     (unsigned long long)session, kind, n);
}

int store_put_item(struct cairn_store *store, const struct item_row *row,
                   struct cairn_error *error)
{
    struct sql_value values[] = {value_number(row->session),
                                 value_int(row->kind),
                                 value_int(row->n),
                                 value_blob(row->body),
                                 {0},
                                 {0},
                                 {0}};
    struct value_sum sum;
    enum { KEY = 3, SUMMED = 4, ALL = COUNT_OF(values) };
    assert(row->session);
    values_sum(store->sha, values, SUMMED, &sum);
    values[SUMMED] = value_blob(value_sum_view(&sum));
    if (row->linked) {
        values[SUMMED + 1] = value_int(row->about);
        values[SUMMED + 2] = value_int(row->also);
    }
    return tally_drop_rows(store, TALLY_ITEMS, row->session, SQL_ITEM_SUM, values, KEY,
                           error)
           ?: unname(store, values, error)
           ?: store_write(store, SQL_PUT_ITEM, values, ALL, error)
           ?: tally_put_sum(store, TALLY_ITEMS, row->session, values[SUMMED].bytes,
                            error)
           ?: name_both(store, row->session, row->about, row->also,
                        sum_as_number(values[SUMMED].bytes), error);
}

void store_item_tally(struct cairn_store *store, const struct item_row *row,
                      struct row_tally *tally)
{
    struct value_sum sum;
    values_sum(store->sha,
               VALUES(value_number(row->session), value_int(row->kind),
                      value_int(row->n), value_blob(row->body)),
               &sum);
    tally_add(tally, value_sum_view(&sum));
}

int store_drop_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    uint32_t n, struct cairn_error *error)
{
    const struct sql_value key[] = {value_number(session), value_int(kind),
                                    value_int(n)};
    return tally_drop_rows(store, TALLY_ITEMS, session, SQL_ITEM_SUM, key, 3, error)
               ?: unname(store, key, error)
               ?: store_write(store, SQL_DROP_ITEM, key, 3, error);
}

static struct item_row item_from(const struct checked *rows)
{
    const struct sql_value *v = rows->values;
    return (struct item_row){.session = (uint64_t)v[ITEM_SESSION_AT].integer,
                             .kind = (uint8_t)v[ITEM_KIND_AT].integer,
                             .n = (uint32_t)v[ITEM_N_AT].integer,
                             .body = v[ITEM_BODY_AT].bytes,
                             .linked = v[ITEM_ABOUT_AT].kind == SQL_VALUE_INT,
                             .about = v[ITEM_ABOUT_AT].integer,
                             .also = v[ITEM_ALSO_AT].integer};
}

int store_each_item(struct cairn_store *store, uint64_t session, item_row_fn *each,
                    void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_items};
    const struct sql_value bound[] = {value_number(session)};
    struct row_tally found = {0};
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(&rows, SQL_ITEM_BEFORE, bound, 1, error);
    if (!rc) {
        checked_start(&rows, SQL_EACH_ITEM, bound, 1, error);
        while (checked_step(&rows)) {
            struct item_row row = item_from(&rows);
            if (row.session != session)
                break;
            tally_add(&found, rows.values[ITEM_SUM_AT].bytes);
            rows.query.rc = each(context, &row);
        }
        rc = checked_stop(&rows);
    }
    if (!rc && !rows.damaged[0])
        rc = store_tally_compare(store, TALLY_ITEMS, session, &found, error);
    if (!rc && !rows.damaged[0]) {
        store->items_fit = session;
        store->items_version = db_version(store->db);
    }
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}

bool store_items_fit(const struct cairn_store *store, uint64_t session)
{
    return store->items_fit == session && store->items_version == db_version(store->db);
}

/* ---- Some of the items ---- */

static int some_items(struct cairn_store *store, enum sql_id id,
                      const struct sql_value *bound, size_t n, item_row_fn *each,
                      void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_items};
    assert(each);
    checked_start(&rows, id, bound, n, error);
    while (checked_step(&rows)) {
        struct item_row row = item_from(&rows);
        rows.query.rc = each(context, &row);
    }
    int rc = checked_stop(&rows);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}

int store_get_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                   uint32_t n, item_row_fn *got, void *context,
                   struct cairn_error *error)
{
    return some_items(store, SQL_GET_ITEM,
                      VALUES(value_number(session), value_int(kind), value_int(n)), got,
                      context, error);
}

int store_each_item_of_kind(struct cairn_store *store, uint64_t session, uint8_t kind,
                            item_row_fn *each, void *context, struct cairn_error *error)
{
    return some_items(store, SQL_EACH_ITEM_OF_KIND,
                      VALUES(value_number(session), value_int(kind)), each, context,
                      error);
}

int store_last_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    item_row_fn *got, void *context, struct cairn_error *error)
{
    return some_items(store, SQL_LAST_ITEM,
                      VALUES(value_number(session), value_int(kind)), got, context,
                      error);
}

int store_each_item_about(struct cairn_store *store, uint64_t session, int64_t about,
                          item_row_fn *each, void *context, struct cairn_error *error)
{
    assert(about);
    return some_items(store, SQL_EACH_ITEM_ABOUT,
                      VALUES(value_number(session), value_int(about)), each, context,
                      error);
}

int store_each_item_also(struct cairn_store *store, uint64_t session, int64_t also,
                         item_row_fn *each, void *context, struct cairn_error *error)
{
    assert(also);
    return some_items(store, SQL_EACH_ITEM_ALSO,
                      VALUES(value_number(session), value_int(also)), each, context,
                      error);
}

int store_items_linked(struct cairn_store *store, uint64_t session, bool *linked,
                       struct cairn_error *error)
{
    enum { LINKS_SINCE = 8 };
    bool unlinked = store->stands_in && store->stands_in < LINKS_SINCE;
    int rc = unlinked ? 0
                      : db_is(store->db, SQL_HAS_UNLINKED_ITEM,
                              VALUES(value_number(session)), &unlinked, error);
    *linked = !unlinked;
    return rc;
}

int store_unlink_items(struct cairn_store *store, uint64_t session,
                       struct cairn_error *error)
{
    return store_write(store, SQL_UNNAME_ITEMS, VALUES(value_number(session)), error);
}

int store_link_item(struct cairn_store *store, const struct item_row *row,
                    struct cairn_error *error)
{
    struct query query;
    int64_t sum = 0;
    const struct sql_value values[] = {value_number(row->session), value_int(row->kind),
                                       value_int(row->n), value_int(row->about),
                                       value_int(row->also)};
    assert(row->linked);
    query_start(&query, store->db, SQL_ITEM_SUM, values, 3, error);
    if (query_step(&query))
        sum = sum_as_number(query_blob(&query, 0));
    return query_end(&query)
           ?: store_write(store, SQL_LINK_ITEM, values, COUNT_OF(values), error)
           ?: name_both(store, row->session, row->about, row->also, sum, error);
}

int store_verify_naming(struct cairn_store *store,
                        int (*bad)(void *context, const char *text), void *context,
                        struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_EACH_LINKED_ITEM, NO_VALUES, error);
    while (query_step(&query)) {
        struct cairn_error why = {0};
        query.rc = store_check_naming(store, query_u64(&query, 0),
                                      (uint8_t)query_u64(&query, 1),
                                      (uint32_t)query_u64(&query, 2), &why);
        if (query.rc == CAIRN_EDAMAGED)
            query.rc = bad(context, why.text);
        else if (query.rc)
            error_set(error, query.rc, "%s", why.text);
    }
    int rc = query_end(&query);
    return rc < 0 ? rc : 0;
}

/* ---- Items as a checkpoint has them ---- */

static int captured_text(struct cairn_store *store, uint64_t session, uint64_t seq,
                         char text[CAPTURED_BYTES], struct cairn_error *error)
{
    struct row_tally due;
    int rc = store_tally(store, TALLY_ITEMS, session, &due, error);
    if (!rc)
        snprintf(text, CAPTURED_BYTES, "%" PRIu64 " %" PRIu64 " %016" PRIx64, seq,
                 due.n, due.sum);
    return rc;
}

int store_note_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                        struct cairn_error *error)
{
    char key[CAPTURED_BYTES], text[CAPTURED_BYTES];
    captured_key(session, key);
    return captured_text(store, session, seq, text, error)
               ?: store_set_setting(store, key, text, error);
}

int store_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                   struct row_tally *tally, bool *noted, struct cairn_error *error)
{
    char key[CAPTURED_BYTES], text[CAPTURED_BYTES];
    struct cairn_error why = {0};
    uint64_t of = 0;
    *noted = false;
    captured_key(session, key);
    int found = store_sound_setting(store, key, text, sizeof text, &why);
    if (found == CAIRN_EDAMAGED || !found)
        return 0; /* then they are read */
    if (found < 0)
        return error_set(error, found, "%s", why.text);
    *noted = sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNx64, &of, &tally->n,
                    &tally->sum) == 3 &&
             of == seq;
    return 0;
}

int store_is_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                      bool *captured, struct cairn_error *error)
{
    struct row_tally then, now;
    int rc = store_captured(store, session, seq, &then, captured, error);
    if (rc || !*captured)
        return rc;
    rc = store_tally(store, TALLY_ITEMS, session, &now, error);
    *captured = !rc && tally_same(&then, &now);
    return rc;
}

/* Rows of the logs of sessions. */

/* ---- How far back a log was counted ---- */

/* The tally of all rows up to a turn, noted when the next turn began: who reads the log
 * back from its end counts only the rows behind it. Two of them, so that the last
 * EACH_TURNS turns are always behind the older one. */
struct log_mark {
    uint64_t turn; /* 0: none, and so no rows */
    struct row_tally tally;
};
enum { EACH_TURNS = 64 };

static bool read_mark(const char **text, struct log_mark *mark)
{
    char *end;
    mark->turn = strtoull(*text, &end, 10);
    bool good = end > *text && *end == ' ';
    if (good)
        mark->tally.n = strtoull(end + 1, &end, 10);
    good = good && *end == ' ';
    if (good)
        mark->tally.sum = strtoull(end + 1, &end, 16);
    *text = end;
    return good;
}

/* Without them, or where they are damaged, everything is counted. */
static int read_marks(struct cairn_store *store, uint64_t session,
                      struct log_mark marks[2], struct cairn_error *error)
{
    char key[MARKS_BYTES], text[MARKS_BYTES];
    struct cairn_error why = {0};
    marks[0] = marks[1] = (struct log_mark){0};
    marks_key(session, key);
    int found = store_sound_setting(store, key, text, sizeof text, &why);
    if (found < 0 && found != CAIRN_EDAMAGED)
        return error_set(error, found, "%s", why.text);
    const char *at = text;
    if (found != 1 || !read_mark(&at, &marks[0]) || *at++ != ' ' ||
        !read_mark(&at, &marks[1]) || *at)
        marks[0] = marks[1] = (struct log_mark){0};
    return 0;
}

/* Before the first row of a turn is put. */
static int mark_log(struct cairn_store *store, uint64_t session, uint64_t turn,
                    struct cairn_error *error)
{
    char key[MARKS_BYTES], text[MARKS_BYTES];
    struct log_mark marks[2], now = {.turn = turn - 1};
    int rc = read_marks(store, session, marks, error)
                 ?: store_tally(store, TALLY_LOG, session, &now.tally, error);
    if (rc)
        return rc;
    marks_key(session, key);
    snprintf(text, sizeof text,
             "%" PRIu64 " %" PRIu64 " %016" PRIx64 " %" PRIu64 " %" PRIu64
             " %016" PRIx64,
             marks[1].turn, marks[1].tally.n, marks[1].tally.sum, now.turn, now.tally.n,
             now.tally.sum);
    return store_set_setting(store, key, text, error);
}

/* Counts the rows that came behind the older mark. *from: all that are behind this turn
 * are there; UINT64_MAX: that is not known. */
static int count_since_mark(struct cairn_store *store, uint64_t session, uint64_t *from,
                            struct cairn_error *error)
{
    struct log_mark marks[2];
    struct row_tally due, found;
    struct query query;
    *from = UINT64_MAX;
    int rc = read_marks(store, session, marks, error)
                 ?: store_tally(store, TALLY_LOG, session, &due, error);
    if (rc || !marks[0].turn)
        return rc;
    found = marks[0].tally;
    query_start(&query, store->db, SQL_SESSION_LOG_SUMS_SINCE,
                VALUES(value_number(session), value_number(marks[0].turn)), error);
    while (query_step(&query))
        tally_add(&found, query_blob(&query, 0));
    rc = query_end(&query);
    if (!rc && tally_same(&found, &due))
        *from = marks[0].turn;
    return rc;
}

/* ---- Writing ---- */

int store_put_session_log(struct cairn_store *store, const struct session_log_row *row,
                          struct cairn_error *error)
{
    const struct sql_value values[] = {
        value_number(row->session), value_number(row->turn), value_int(row->n),
        value_int(row->time_ns),    value_int(row->verb),    value_int(row->kind),
        value_number(row->number),  value_blob(row->before), value_blob(row->after)};
    enum { ALL = COUNT_OF(values) };
    assert(row->session && row->turn);
    int rc = row->n == 1 && row->turn % EACH_TURNS == 0
                 ? mark_log(store, row->session, row->turn, error)
                 : 0;
    return rc
               ?: store_write_summed(store, SQL_PUT_SESSION_LOG, values, ALL, error)
               ?: tally_put_row(store, TALLY_LOG, row->session, values, ALL, error);
}

/* ---- Reading ---- */

/* No bytes stand for none. They are not NULL, so that no row of an event has the shape
 * of one of a log: a rescue tells tables apart by shapes where nothing else is left. */
static struct str bytes_or_none(struct str bytes)
{
    return bytes.len ? bytes : (struct str){NULL, 0};
}

static void log_from(const struct checked *rows, struct session_log_row *row)
{
    const struct sql_value *v = rows->values;
    *row = (struct session_log_row){
        .session = (uint64_t)v[SESSION_LOG_SESSION_AT].integer,
        .turn = (uint64_t)v[SESSION_LOG_TURN_AT].integer,
        .n = (uint32_t)v[SESSION_LOG_N_AT].integer,
        .time_ns = v[SESSION_LOG_TIME_NS_AT].integer,
        .verb = (uint8_t)v[SESSION_LOG_VERB_AT].integer,
        .kind = (uint8_t)v[SESSION_LOG_KIND_AT].integer,
        .number = (uint64_t)v[SESSION_LOG_NUMBER_AT].integer,
        .before = bytes_or_none(v[SESSION_LOG_BEFORE_AT].bytes),
        .after = bytes_or_none(v[SESSION_LOG_AFTER_AT].bytes)};
}

/* ---- Single rows, to compare keys ---- */

struct log_key {
    uint64_t turn; /* 0: there is no such row of the session */
    uint32_t n;
};

static bool same_key(struct log_key a, struct log_key b)
{
    return a.turn == b.turn && (a.turn == 0 || a.n == b.n);
}

/* The key of the one row that a statement finds, if it is of this session. */
static int find_key(struct checked *rows, enum sql_id id, const struct sql_value *bound,
                    size_t n, uint64_t session, struct log_key *key,
                    struct cairn_error *error)
{
    *key = (struct log_key){0};
    checked_start(rows, id, bound, n, error);
    if (checked_step(rows)) {
        struct session_log_row row;
        log_from(rows, &row);
        if (row.session == session)
            *key = (struct log_key){row.turn, row.n};
    }
    return checked_stop(rows);
}

/* The first or last row of a session, once the row beside it was looked at. */
static int find_end(struct checked *rows, bool last, uint64_t session,
                    struct log_key *key, struct cairn_error *error)
{
    const struct sql_value bound[] = {value_number(session)};
    const struct sql_value beside[] = {value_int(bound[0].integer + (last ? 1 : -1))};
    enum sql_id id = last ? SQL_LAST_SESSION_LOG : SQL_FIRST_SESSION_LOG;
    enum sql_id other = last ? SQL_FIRST_SESSION_LOG : SQL_LAST_SESSION_LOG;
    int rc =
        bound[0].integer == INT64_MAX ? 0 : checked_look(rows, other, beside, 1, error);
    return rc ?: find_key(rows, id, bound, 1, session, key, error);
}

/* ---- A list ---- */

/* From behind a turn on, or back from it. */
struct log_list {
    struct checked rows;
    uint64_t session, from;
    bool back;
    uint64_t counted;    /* no row behind this turn is missing */
    struct log_key edge; /* the highest that was handed out; going back, the lowest */
};

static int is_cut(const struct log_list *list, uint64_t turn, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "the log of session %llu is damaged beside turn %llu: run `cairn "
                     "doctor`",
                     (unsigned long long)list->session, (unsigned long long)turn);
}

/* Where the place of the bound has no row of the session on one side, it must be at
 * that end of the session. */
static int check_start(struct log_list *list, struct cairn_error *error)
{
    struct checked *rows = &list->rows;
    const struct sql_value bound[] = {value_number(list->session),
                                      value_number(list->from)};
    struct log_key below, above, end;
    int rc =
        find_key(rows, SQL_SESSION_LOG_BELOW, bound, 2, list->session, &below, error)
            ?: find_key(rows, SQL_SESSION_LOG_ABOVE, bound, 2, list->session, &above,
                        error);
    for (int last = 0; last <= 1 && !rc; last++) {
        struct log_key beyond = last ? above : below, inside = last ? below : above;
        if (beyond.turn)
            continue;
        rc = find_end(rows, last, list->session, &end, error);
        if (!rc && !rows->damaged[0] && !same_key(end, inside))
            rc = is_cut(list, list->from, error);
    }
    return rc;
}

static int count_all(struct log_list *list, struct cairn_error *error)
{
    struct row_tally found;
    list->counted = 0;
    return store_tally_rows(list->rows.store, TALLY_LOG, list->session, &found, error)
               ?: store_tally_compare(list->rows.store, TALLY_LOG, list->session,
                                      &found, error);
}

static void each_row(struct log_list *list, session_log_row_fn *each, void *context,
                     struct cairn_error *error)
{
    while (checked_step(&list->rows)) {
        struct session_log_row row;
        log_from(&list->rows, &row);
        if (!list->back || row.turn != list->edge.turn) /* within a turn n grows */
            list->edge.n = row.n;
        list->edge.turn = row.turn;
        if (row.turn <= list->counted && !list->rows.damaged[0])
            list->rows.query.rc = count_all(list, error);
        if (!list->rows.query.rc)
            list->rows.query.rc = each(context, &row);
    }
}

/* A list ends at a row that says that it is of another session. */
static int check_end(struct log_list *list, struct cairn_error *error)
{
    struct log_key end = {0};
    int rc = find_end(&list->rows, !list->back, list->session, &end, error);
    bool within =
        end.turn && (list->back ? end.turn <= list->from : end.turn > list->from);
    if (rc || list->rows.damaged[0] || !within || same_key(end, list->edge))
        return rc;
    return is_cut(list, list->edge.turn, error);
}

static int each_turn(struct log_list *list, session_log_row_fn *each, void *context,
                     struct cairn_error *error)
{
    int rc = check_start(list, error);
    /* Who only asks for what came after something he has seen before does so often. */
    bool counted = (list->back || list->from == 0) && !list->rows.damaged[0];
    if (!rc && counted && list->back)
        rc = count_since_mark(list->rows.store, list->session, &list->counted, error);
    if (!rc && counted && (!list->back || list->counted == UINT64_MAX))
        rc = count_all(list, error);
    if (rc)
        return rc;
    checked_start(&list->rows,
                  list->back ? SQL_EACH_SESSION_LOG_DESC : SQL_EACH_SESSION_LOG_ASC,
                  VALUES(value_number(list->session), value_number(list->from)), error);
    each_row(list, each, context, error);
    return checked_stop(&list->rows) ?: check_end(list, error);
}

int store_each_session_log(struct cairn_store *store, uint64_t session, uint64_t after,
                           bool newest_first, session_log_row_fn *each, void *context,
                           struct cairn_error *error)
{
    struct log_list list = {.rows = {.store = store, .table = &checked_logs},
                            .session = session,
                            .from = after > INT64_MAX ? INT64_MAX : after,
                            .back = newest_first};
    assert(each);
    int rc = store_begin_read(store, error); /* all of it is of one moment */
    if (rc)
        return rc;
    rc = each_turn(&list, each, context, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&list.rows, rc, error);
}

/* ---- The last turn ---- */

int store_last_session_turn(struct cairn_store *store, uint64_t session, uint64_t *turn,
                            struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_logs};
    struct log_key last = {0};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = find_end(&rows, true, session, &last, error);
    store_end_read(store);
    *turn = last.turn;
    return checked_result(&rows, rc, error);
}
