/* SPDX-License-Identifier: MIT */
/* Rows of branches. The table is read whole where branches of one session are asked
 * for: see rows_checked_int.h. */
#include "storage/sessions/rows_checked_int.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>

/* ---- Writing ---- */

static int check_name(struct cairn_store *store, const struct branch_row *row,
                      struct cairn_error *error)
{
    int64_t other = 0;
    int rc =
        db_get_int(store->db, SQL_FIND_BRANCH,
                   VALUES(value_number(row->session), value_text(clean_str(row->name))),
                   &other, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && (uint64_t)other == row->branch))
        return 0;
    return rc ? rc
              : error_set(error, CAIRN_EUSAGE,
                          "session %llu has a branch %.*s already: take another name",
                          (unsigned long long)row->session, (int)row->name.len,
                          row->name.ptr);
}

static int no_branch(uint64_t branch, struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND, "there is no branch %llu",
                     (unsigned long long)branch);
}

static int put_row(struct cairn_store *store, enum sql_id id, uint64_t branch,
                   const struct branch_row *row, struct cairn_error *error)
{
    const struct sql_value values[] = {value_number(branch),
                                       value_number(row->session),
                                       value_text(clean_str(row->name)),
                                       value_int(row->status),
                                       value_number(row->from_seq),
                                       value_int(row->started_ns),
                                       value_text(clean_str(row->reason))};
    enum { ALL = sizeof values / sizeof values[0] };
    int rc =
        tally_drop_rows(store, TALLY_BRANCHES, 0, SQL_BRANCH_SUM, values, 1, error);
    if (!rc)
        rc = checked_put(store, id, values, ALL, error);
    return rc ? rc : tally_put_row(store, TALLY_BRANCHES, 0, values, ALL, error);
}

int store_put_branch(struct cairn_store *store, struct branch_row *row,
                     struct cairn_error *error)
{
    uint64_t branch = row->branch;
    enum sql_id id = branch ? SQL_SET_BRANCH : SQL_ADD_BRANCH;
    store_assert_writing(store);
    assert(row->session && row->name.len);
    int rc = check_name(store, row, error);
    if (!rc && !branch)
        rc = checked_next_number(store, SQL_LAST_BRANCH, "branch", &branch, error);
    if (rc)
        return rc;
    rc = put_row(store, id, branch, row, error);
    if (!rc)
        row->branch = branch;
    return rc == CAIRN_ENOTFOUND ? no_branch(branch, error) : rc;
}

int store_restore_branch(struct cairn_store *store, const struct branch_row *row,
                         struct cairn_error *error)
{
    store_assert_writing(store);
    assert(row->branch && row->session && row->name.len);
    int rc = check_name(store, row, error);
    return rc ? rc : put_row(store, SQL_ADD_BRANCH, row->branch, row, error);
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
static int look_at_all(struct checked *rows, struct cairn_error *error)
{
    struct row_tally found;
    int rc = store_begin_read(rows->store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(rows, SQL_EACH_BRANCH, NO_VALUES, error);
    if (!rc)
        rc = store_tally_rows(rows->store, TALLY_BRANCHES, 0, &found, error);
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
    int rc = checked_start(&rows, SQL_GET_BRANCH, VALUES(value_number(branch)), error);
    if (!rc)
        rc = checked_step(&rows, error);
    if (rc > 0) {
        struct branch_row row;
        branch_from(&rows, &row);
        rc = got(context, &row);
        checked_stop(&rows);
        return rc < 0 ? rc : 0;
    }
    checked_stop(&rows);
    if (!rc)
        rc = look_at_all(&rows, error);
    return rc ? rc : no_branch(branch, error);
}

static int each_of(struct checked *rows, uint64_t session, struct row_tally *found,
                   branch_row_fn *each, void *context, struct cairn_error *error)
{
    int rc;
    while ((rc = checked_step(rows, error)) > 0) {
        struct branch_row row;
        branch_from(rows, &row);
        tally_add(found, rows->values[BRANCH_SUM_AT].bytes);
        if (session && row.session != session)
            continue;
        rc = each(context, &row);
        if (rc)
            break;
    }
    return rc;
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
    rc = checked_start(&rows, SQL_EACH_BRANCH, NO_VALUES, error);
    if (!rc)
        rc = each_of(&rows, session, &found, each, context, error);
    checked_stop(&rows);
    if (!rc && !rows.damaged[0])
        rc = store_tally_compare(store, TALLY_BRANCHES, 0, &found, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}
