/* SPDX-License-Identifier: MIT */
/* Rows of the logs of sessions. */
#include "storage/sessions/rows_checked_int.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>

int store_put_session_log(struct cairn_store *store, const struct session_log_row *row,
                          struct cairn_error *error)
{
    const struct sql_value values[] = {
        value_number(row->session), value_number(row->turn), value_int(row->n),
        value_int(row->time_ns),    value_int(row->verb),    value_int(row->kind),
        value_number(row->number),  value_blob(row->before), value_blob(row->after)};
    enum { ALL = sizeof values / sizeof values[0] };
    assert(row->session && row->turn);
    int rc = store_write_summed(store, SQL_PUT_SESSION_LOG, values, ALL, error);
    return rc ? rc : tally_put_row(store, TALLY_LOG, row->session, values, ALL, error);
}

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
    int rc = checked_start(rows, id, bound, n, error);
    if (!rc)
        rc = checked_step(rows, error);
    if (rc > 0) {
        struct session_log_row row;
        log_from(rows, &row);
        if (row.session == session)
            *key = (struct log_key){row.turn, row.n};
    }
    checked_stop(rows);
    return rc < 0 ? rc : 0;
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
    return rc ? rc : find_key(rows, id, bound, 1, session, key, error);
}

/* ---- A list ---- */

/* From behind a turn on, or back from it. */
struct log_list {
    struct checked rows;
    uint64_t session, from;
    bool back;
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
        find_key(rows, SQL_SESSION_LOG_BELOW, bound, 2, list->session, &below, error);
    if (!rc)
        rc = find_key(rows, SQL_SESSION_LOG_ABOVE, bound, 2, list->session, &above,
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

static int each_row(struct log_list *list, session_log_row_fn *each, void *context,
                    struct cairn_error *error)
{
    int rc;
    while ((rc = checked_step(&list->rows, error)) > 0) {
        struct session_log_row row;
        log_from(&list->rows, &row);
        if (!list->back || row.turn != list->edge.turn) /* within a turn n grows */
            list->edge.n = row.n;
        list->edge.turn = row.turn;
        rc = each(context, &row);
        if (rc)
            break;
    }
    return rc;
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

static int each_of(struct log_list *list, session_log_row_fn *each, void *context,
                   struct cairn_error *error)
{
    struct row_tally found;
    int rc = check_start(list, error);
    /* Who only asks for what came after something he has seen before does so often. */
    bool counted = (list->back || list->from == 0) && !list->rows.damaged[0];
    if (!rc && counted)
        rc =
            store_tally_rows(list->rows.store, TALLY_LOG, list->session, &found, error);
    if (!rc && counted)
        rc = store_tally_compare(list->rows.store, TALLY_LOG, list->session, &found,
                                 error);
    if (rc)
        return rc;
    rc = checked_start(
        &list->rows, list->back ? SQL_EACH_SESSION_LOG_DESC : SQL_EACH_SESSION_LOG_ASC,
        VALUES(value_number(list->session), value_number(list->from)), error);
    if (!rc)
        rc = each_row(list, each, context, error);
    checked_stop(&list->rows);
    return rc ? rc : check_end(list, error);
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
    rc = each_of(&list, each, context, error);
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
