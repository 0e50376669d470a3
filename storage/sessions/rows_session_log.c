/* SPDX-License-Identifier: MIT */
/* Rows of the logs of sessions. */
#include "storage/sessions/rows_checked_int.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>

static struct sql_value value_or_none(struct str bytes)
{
    struct sql_value value = value_blob(bytes);
    value.kind = bytes.ptr ? SQL_VALUE_BLOB : SQL_VALUE_NULL;
    return value;
}

int store_put_session_log(struct cairn_store *store, const struct session_log_row *row,
                          struct cairn_error *error)
{
    assert(row->session && row->turn);
    return store_write_summed(
        store, SQL_PUT_SESSION_LOG,
        VALUES(value_number(row->session), value_number(row->turn), value_int(row->n),
               value_int(row->time_ns), value_int(row->verb), value_int(row->kind),
               value_number(row->number), value_or_none(row->before),
               value_or_none(row->after)),
        error);
}

static void log_from(const struct checked *rows, struct session_log_row *row)
{
    const struct sql_value *v = rows->values;
    *row =
        (struct session_log_row){.session = (uint64_t)v[SESSION_LOG_SESSION_AT].integer,
                                 .turn = (uint64_t)v[SESSION_LOG_TURN_AT].integer,
                                 .n = (uint32_t)v[SESSION_LOG_N_AT].integer,
                                 .time_ns = v[SESSION_LOG_TIME_NS_AT].integer,
                                 .verb = (uint8_t)v[SESSION_LOG_VERB_AT].integer,
                                 .kind = (uint8_t)v[SESSION_LOG_KIND_AT].integer,
                                 .number = (uint64_t)v[SESSION_LOG_NUMBER_AT].integer,
                                 .before = v[SESSION_LOG_BEFORE_AT].bytes,
                                 .after = v[SESSION_LOG_AFTER_AT].bytes};
}

/* ---- One row beside a bound ---- */

static int note_row(struct checked *rows, struct session_log_row *out,
                    struct cairn_error *error)
{
    int rc = checked_step(rows, error);
    if (rc > 0)
        log_from(rows, out);
    out->before = out->after = (struct str){NULL, 0};
    return rc < 0 ? rc : 0;
}

/* The last row up to a turn of a session, or the first one behind it, of whatever
 * session; `session` 0: there is none that is sound. Without `before` and `after`. */
static int row_beside(struct checked *rows, bool behind, uint64_t session,
                      uint64_t turn, struct session_log_row *out,
                      struct cairn_error *error)
{
    *out = (struct session_log_row){0};
    int rc =
        checked_start(rows, behind ? SQL_SESSION_LOG_BEHIND : SQL_SESSION_LOG_BEFORE,
                      VALUES(value_number(session), value_number(turn)), error);
    if (!rc)
        rc = note_row(rows, out, error);
    checked_stop(rows);
    return rc;
}

/* ---- A list ---- */

/* From a turn on, or back from there. The last one that was handed out must stand at
 * the end of the session's rows: a list ends early at a row with a damaged key. */
struct log_list {
    struct checked rows;
    uint64_t session, from;
    bool back;
    uint64_t turn; /* of the last one */
    uint32_t n;
};

static int each_row(struct log_list *list, session_log_row_fn *each, void *context,
                    struct cairn_error *error)
{
    int rc;
    while ((rc = checked_step(&list->rows, error)) > 0) {
        struct session_log_row row;
        log_from(&list->rows, &row);
        if (!list->back || row.turn != list->turn) /* within a turn n grows */
            list->n = row.n;
        list->turn = row.turn;
        rc = each(context, &row);
        if (rc)
            break;
    }
    return rc;
}

static int check_end(struct log_list *list, struct cairn_error *error)
{
    struct checked *rows = &list->rows;
    struct session_log_row end, other;
    uint64_t bound = list->back ? 0 : INT64_MAX;
    int rc = row_beside(rows, list->back, list->session, bound, &end, error);
    if (!rc)
        rc = row_beside(rows, !list->back, list->session, bound, &other, error);
    bool within = end.session == list->session &&
                  (list->back ? end.turn <= list->from : end.turn > list->from);
    if (rc || rows->damaged[0] || !within ||
        (end.turn == list->turn && end.n == list->n))
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the log of session %llu is damaged beside turn %llu: run `cairn "
                     "doctor`",
                     (unsigned long long)list->session,
                     (unsigned long long)(list->turn ? list->turn : list->from));
}

static int each_of(struct log_list *list, session_log_row_fn *each, void *context,
                   struct cairn_error *error)
{
    struct checked *rows = &list->rows;
    struct session_log_row beside;
    int rc = row_beside(rows, list->back, list->session, list->from, &beside, error);
    if (rc)
        return rc;
    rc = checked_start(
        rows, list->back ? SQL_EACH_SESSION_LOG_DESC : SQL_EACH_SESSION_LOG_ASC,
        VALUES(value_number(list->session), value_number(list->from)), error);
    if (!rc)
        rc = each_row(list, each, context, error);
    checked_stop(rows);
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
    struct session_log_row last = {0}, other;
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = row_beside(&rows, true, session, INT64_MAX, &other, error);
    if (!rc)
        rc = row_beside(&rows, false, session, INT64_MAX, &last, error);
    store_end_read(store);
    *turn = last.session == session ? last.turn : 0;
    return checked_result(&rows, rc, error);
}
