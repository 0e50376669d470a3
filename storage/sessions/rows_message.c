/* SPDX-License-Identifier: MIT */
/* Rows of messages. */
#include "storage/sessions/rows_message.h"

#include "base/str.h"
#include "storage/sessions/rows_checked_int.h"

#include <assert.h>

enum { ROW_VALUES = MESSAGE_SUM_AT, CHAINED_FROM = MESSAGE_N_AT };

static void values_of(const struct message_row *row,
                      struct sql_value values[ROW_VALUES])
{
    const struct sql_value all[] = {value_number(row->session),
                                    value_number(row->n),
                                    value_number(row->parent),
                                    value_number(row->position),
                                    value_int(row->time_ns),
                                    value_int(row->role),
                                    value_int(row->form),
                                    value_number(row->tokens_in),
                                    value_number(row->tokens_out),
                                    value_number(row->total_in),
                                    value_number(row->total_out),
                                    value_number(row->prompt),
                                    value_number(row->reply),
                                    value_number(row->size),
                                    value_text(clean_str(row->model)),
                                    value_text(clean_str(row->file)),
                                    value_blob(row->origin),
                                    value_blob(row->object),
                                    value_blob(row->body),
                                    value_blob(digest_view(&row->chain))};
    _Static_assert(COUNT_OF(all) == ROW_VALUES, "all columns but the sum");
    memcpy(values, all, sizeof all);
    for (size_t i = 0; i < ROW_VALUES; i++) /* empty is not the same as none */
        if (values[i].kind != SQL_VALUE_INT && !values[i].bytes.ptr)
            values[i].bytes.ptr = "";
}

/* ---- Writing ---- */

void store_message_columns(struct cairn_store *store, const struct message_row *row,
                           struct digest *columns)
{
    struct sql_value values[ROW_VALUES];
    values_of(row, values);
    values_digest(store->sha, values + CHAINED_FROM, MESSAGE_CHAIN_AT - CHAINED_FROM,
                  columns);
}

void store_message_chain(struct cairn_store *store, const struct digest *columns,
                         const struct digest *before, struct digest *chain)
{
    static const struct digest none;
    sha256_begin(store->sha);
    sha256_add(store->sha, before ? before->bytes : none.bytes, DIGEST_SIZE);
    sha256_add(store->sha, columns->bytes, DIGEST_SIZE);
    sha256_end(store->sha, chain);
}

int store_put_message(struct cairn_store *store, const struct message_row *row,
                      struct cairn_error *error)
{
    struct sql_value values[ROW_VALUES];
    assert(row->session && row->n && row->position && row->parent < row->n);
    values_of(row, values);
    return store_write_summed(store, SQL_PUT_MESSAGE, values, ROW_VALUES, error)
               ?: tally_put_row(store, TALLY_MESSAGES, row->session, values, ROW_VALUES,
                                error);
}

/* ---- Reading ---- */

/* False: it is not one that was ever written. */
static bool row_from(const struct checked *rows, struct message_row *row)
{
    const struct sql_value *v = rows->values;
    *row =
        (struct message_row){.session = (uint64_t)v[MESSAGE_SESSION_AT].integer,
                             .n = (uint64_t)v[MESSAGE_N_AT].integer,
                             .parent = (uint64_t)v[MESSAGE_PARENT_AT].integer,
                             .position = (uint64_t)v[MESSAGE_POSITION_AT].integer,
                             .time_ns = v[MESSAGE_TIME_NS_AT].integer,
                             .role = (uint8_t)v[MESSAGE_ROLE_AT].integer,
                             .form = (uint8_t)v[MESSAGE_FORM_AT].integer,
                             .tokens_in = (uint64_t)v[MESSAGE_TOKENS_IN_AT].integer,
                             .tokens_out = (uint64_t)v[MESSAGE_TOKENS_OUT_AT].integer,
                             .total_in = (uint64_t)v[MESSAGE_TOTAL_IN_AT].integer,
                             .total_out = (uint64_t)v[MESSAGE_TOTAL_OUT_AT].integer,
                             .prompt = (uint64_t)v[MESSAGE_PROMPT_AT].integer,
                             .reply = (uint64_t)v[MESSAGE_REPLY_AT].integer,
                             .size = (uint64_t)v[MESSAGE_SIZE_AT].integer,
                             .model = clean_stored(v[MESSAGE_MODEL_AT].bytes),
                             .file = clean_stored(v[MESSAGE_FILE_AT].bytes),
                             .origin = v[MESSAGE_ORIGIN_AT].bytes,
                             .object = v[MESSAGE_OBJECT_AT].bytes,
                             .body = v[MESSAGE_BODY_AT].bytes};
    return digest_from(v[MESSAGE_CHAIN_AT].bytes, &row->chain) && row->position &&
           row->parent < row->n && row->prompt <= row->n && row->reply <= row->n &&
           (row->object.len == 0 || row->object.len == DIGEST_SIZE);
}

static int is_bad(uint64_t session, uint64_t n, const char *how,
                  struct cairn_error *error)
{
    return error_set(
        error, CAIRN_EDAMAGED,
        "message %llu of session %llu is %s: `cairn doctor --repair` saves "
        "all others",
        (unsigned long long)n, (unsigned long long)session, how);
}

int store_get_message(struct cairn_store *store, uint64_t session, uint64_t n,
                      message_row_fn *got, void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_messages};
    struct message_row row;
    assert(got);
    checked_start(&rows, SQL_GET_MESSAGE,
                  VALUES(value_number(session), value_number(n)), error);
    if (checked_step(&rows))
        rows.query.rc = row_from(&rows, &row) ? got(context, &row)
                                              : is_bad(session, n, "damaged", error);
    else if (!rows.query.rc)
        rows.query.rc =
            is_bad(session, n, rows.damaged[0] ? "damaged" : "missing", error);
    return query_end(&rows.query);
}

int store_each_message(struct cairn_store *store, uint64_t session, uint64_t after,
                       uint64_t limit, message_row_fn *each, void *context,
                       struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_messages};
    struct row_tally found = {0};
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    checked_start(
        &rows, SQL_EACH_MESSAGE,
        VALUES(value_number(session), value_number(after), value_int(sql_limit(limit))),
        error);
    while (checked_step(&rows)) {
        struct message_row row;
        tally_add(&found, rows.values[MESSAGE_SUM_AT].bytes);
        if (!row_from(&rows, &row))
            rows.query.rc = is_bad(row.session, row.n, "damaged", error);
        else
            rows.query.rc = each(context, &row);
    }
    rc = checked_stop(&rows);
    if (!rc && !rows.damaged[0] && !after && !limit)
        rc = store_tally_compare(store, TALLY_MESSAGES, session, &found, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}

struct origin_search {
    struct str origin;
    bool found;
};

static int compare_origin(void *context, const struct message_row *row)
{
    struct origin_search *search = context;
    search->found = str_equal(row->origin, search->origin);
    return 0;
}

/* The index is quick, and has no checksums: what it says must be so in the row. */
int store_find_message(struct cairn_store *store, uint64_t session, struct str origin,
                       uint64_t *n, struct cairn_error *error)
{
    struct origin_search search = {.origin = origin};
    int64_t found = 0;
    store_assert_open(store);
    *n = 0;
    int rc =
        db_get_int(store->db, SQL_FIND_MESSAGE,
                   VALUES(value_number(session), value_blob(origin)), &found, error);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    rc = store_get_message(store, session, (uint64_t)found, compare_origin, &search,
                           error);
    if (!rc && !search.found)
        return is_bad(session, (uint64_t)found, "not where its index says", error);
    *n = (uint64_t)found;
    return rc;
}

/* ---- Numbers ---- */

static int number_of(struct cairn_store *store, enum sql_id id,
                     const struct sql_value *values, size_t n, uint64_t *out,
                     struct cairn_error *error)
{
    int64_t number = 0;
    store_assert_open(store);
    int rc = db_get_int(store->db, id, values, n, &number, error);
    *out = number > 0 ? (uint64_t)number : 0;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int store_last_message(struct cairn_store *store, uint64_t session, uint64_t *n,
                       struct cairn_error *error)
{
    return number_of(store, SQL_LAST_MESSAGE, VALUES(value_number(session)), n, error);
}

int store_each_message_object(struct cairn_store *store,
                              int (*each)(void *, const struct digest *), void *context,
                              struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, SQL_EACH_MESSAGE_USED, NO_VALUES, error);
    while (query_step(&query)) {
        struct digest digest;
        query.rc =
            digest_from(query_blob(&query, 2), &digest)
                ? each(context, &digest)
                : is_bad(query_u64(&query, 0), query_u64(&query, 1), "damaged", error);
    }
    return query_end(&query);
}

bool message_numbers(struct str numbers, uint64_t *last, uint64_t *head)
{
    enum { WITH_MESSAGES = 2 };
    struct reader in = reader_of(numbers.ptr, numbers.len);
    bool has = read_byte(&in) == WITH_MESSAGES;
    *last = read_varint(&in);
    *head = read_varint(&in);
    if (has && !in.failed && *last && *last <= INT64_MAX && *head <= *last)
        return true;
    *last = *head = 0;
    return false;
}
