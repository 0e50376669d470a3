/* SPDX-License-Identifier: MIT */
/* What rows refer to and is missing. What a repair could not save is noted in the table
 * `quarantine`: a checkpoint under its number, content under a negative number, so that
 * it counts as a known loss and is not reported as damage again. */
#include "storage/rows_lost.h"

#include "storage/rows_attempt.h"
#include "storage/rows_int.h"

#include <assert.h>
#include <stdio.h>

int store_each_lost_checkpoint(struct cairn_store *store,
                               int (*each)(void *, uint64_t run, uint64_t seq),
                               void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_pair(store->db, SQL_EACH_LOST_CHECKPOINT, each, context, error);
}

int store_each_gap(struct cairn_store *store,
                   int (*each)(void *, uint64_t first, uint64_t last), void *context,
                   struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    uint64_t next = 1;
    query_start(&query, store->db, SQL_EACH_TAKEN_SEQ, NO_VALUES, error);
    while (query_step(&query)) {
        uint64_t first = query_u64(&query, 0), last = query_u64(&query, 1);
        query.rc = first > next ? each(context, next, first - 1) : 0;
        next = last >= next ? last + 1 : next;
    }
    return query_end(&query);
}

int store_each_lost_object(struct cairn_store *store,
                           int (*each)(void *, const char *hex), void *context,
                           struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, SQL_EACH_LOST_OBJECT, NO_VALUES, error);
    while (query_step(&query)) {
        struct str hex = query_text(&query, 0);
        query.rc = each(context, hex.len ? hex.ptr : "");
    }
    return query_end(&query);
}

static int each_list_of(const struct query *query,
                        int (*each)(void *, uint64_t, const struct digest *),
                        void *context)
{
    static const uint16_t flags[] = {ATTEMPT_OUT_LIST, ATTEMPT_ERR_LIST};
    uint64_t run = query_u64(query, 0);
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++) {
        struct digest list;
        if (query_u16(query, 1) & flags[i] &&
            digest_from(query_blob(query, 2 + i), &list))
            rc = each(context, run, &list);
    }
    return rc;
}

int store_each_log_list(struct cairn_store *store,
                        int (*each)(void *, uint64_t run, const struct digest *list),
                        void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, SQL_EACH_LOG_LIST,
                VALUES(value_int(ATTEMPT_OUT_LIST | ATTEMPT_ERR_LIST)), error);
    while (query_step(&query))
        query.rc = each_list_of(&query, each, context);
    return query_end(&query);
}

int store_put_known_loss(struct cairn_store *store, const char *hex,
                         struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write(store, SQL_PUT_KNOWN_LOSS, VALUES(value_text(str_of(hex))),
                       error);
}

int store_is_known_loss(struct cairn_store *store, const char *hex, bool *known,
                        struct cairn_error *error)
{
    store_assert_open(store);
    return db_is(store->db, SQL_IS_KNOWN_LOSS, VALUES(value_text(str_of(hex))), known,
                 error);
}

int store_each_known_loss(struct cairn_store *store,
                          int (*each)(void *, const struct digest *), void *context,
                          struct cairn_error *error)
{
    struct query query;
    struct digest digest;
    store_assert_open(store);
    query_start(&query, store->db, SQL_EACH_KNOWN_LOSS, NO_VALUES, error);
    while (query_step(&query)) {
        struct str hex = query_text(&query, 0);
        bool sound = hex.len == 2 * DIGEST_SIZE && bytes_of_hex(hex, digest.bytes);
        query.rc = sound ? each(context, &digest) : 0;
    }
    return query_end(&query);
}

int store_was_quarantined(struct cairn_store *store, uint64_t seq, bool *was,
                          struct cairn_error *error)
{
    store_assert_open(store);
    return db_is(store->db, SQL_WAS_QUARANTINED, VALUES(value_u64(seq)), was, error);
}

/* ---- Rows that are missed ---- */

static const struct {
    const char *rows; /* what they are called */
    enum sql_id sums;
    bool scoped;
} tallied[TALLY_KINDS] = {
    [TALLY_ITEMS] = {"items of session", SQL_ITEM_SUMS, true},
    [TALLY_LOG] = {"rows of the log of session", SQL_SESSION_LOG_SUMS, true},
    [TALLY_MESSAGES] = {"messages of session", SQL_MESSAGE_SUMS, true},
    [TALLY_BRANCHES] = {"branches of sessions", SQL_BRANCH_SUMS, false},
    [TALLY_ANNOTATIONS] = {"labels and notes of checkpoints", SQL_ANNOTATION_SUMS,
                           false},
};

int store_tally_rows(struct cairn_store *store, enum tally_of of, uint64_t scope,
                     struct row_tally *found, struct cairn_error *error)
{
    struct query query;
    const struct sql_value bound[] = {
        value_int(scope > INT64_MAX ? INT64_MAX : (int64_t)scope)};
    *found = (struct row_tally){0};
    query_start(&query, store->db, tallied[of].sums, bound, tallied[of].scoped, error);
    while (query_step(&query))
        tally_add(found, query_blob(&query, 0));
    return query_end(&query);
}

enum { GAP_BYTES = 200 };

static void describe_gap(const struct tally_gap *gap, char text[GAP_BYTES])
{
    char of_what[80];
    unsigned long long due = gap->due.n, found = gap->found.n;
    if (tallied[gap->of].scoped)
        snprintf(of_what, sizeof of_what, "%s %llu", tallied[gap->of].rows,
                 (unsigned long long)gap->scope);
    else
        snprintf(of_what, sizeof of_what, "%s", tallied[gap->of].rows);
    if (due == 0 && gap->due.sum == 0)
        snprintf(text, GAP_BYTES, "the number of the %s is missing: there %s %llu",
                 of_what, found == 1 ? "is" : "are", found);
    else if (found < due)
        snprintf(text, GAP_BYTES, "%llu of the %llu %s %s missing", due - found, due,
                 of_what, due - found == 1 ? "is" : "are");
    else
        snprintf(text, GAP_BYTES,
                 "the %s are not those that cairn has put there last (%llu were, and "
                 "there %s %llu)",
                 of_what, due, found == 1 ? "is" : "are", found);
}

int store_tally_compare(struct cairn_store *store, enum tally_of of, uint64_t scope,
                        const struct row_tally *found, struct cairn_error *error)
{
    struct tally_gap gap = {.of = of, .scope = scope, .found = *found};
    char text[GAP_BYTES];
    int rc = store_tally(store, of, scope, &gap.due, error);
    if (rc || tally_same(&gap.due, found))
        return rc;
    describe_gap(&gap, text);
    return error_set(error, CAIRN_EDAMAGED,
                     "%s: the store was damaged, or changed by something else than "
                     "cairn; `cairn doctor --repair` saves what is left",
                     text);
}

struct looking {
    tally_gap_fn *each;
    void *context;
};

static int look_at(struct cairn_store *store, enum tally_of of, uint64_t scope,
                   const struct looking *looking, struct cairn_error *error)
{
    struct tally_gap gap = {.of = of, .scope = scope};
    char text[GAP_BYTES];
    gap.text = text;
    int rc = store_tally(store, of, scope, &gap.due, error)
                 ?: store_tally_rows(store, of, scope, &gap.found, error);
    if (rc || tally_same(&gap.due, &gap.found))
        return rc;
    describe_gap(&gap, text);
    return looking->each(looking->context, &gap);
}

/* Every session that a row, or a setting about rows, names. */
static int look_at_sessions(struct cairn_store *store, const struct looking *looking,
                            struct cairn_error *error)
{
    struct query query;
    query_start(&query, store->db, SQL_EACH_TALLIED, NO_VALUES, error);
    while (query_step(&query)) {
        uint64_t session = query_u64(&query, 0);
        query.rc = look_at(store, TALLY_ITEMS, session, looking, error);
        if (!query.rc)
            query.rc = look_at(store, TALLY_LOG, session, looking, error);
        if (!query.rc)
            query.rc = look_at(store, TALLY_MESSAGES, session, looking, error);
    }
    return query_end(&query);
}

int store_each_tally_gap(struct cairn_store *store, tally_gap_fn *each, void *context,
                         struct cairn_error *error)
{
    const struct looking looking = {each, context};
    assert(each);
    enum { TALLIES_SINCE = 6 };
    if (store->stands_in && store->stands_in < TALLIES_SINCE)
        return 0;
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = look_at(store, TALLY_BRANCHES, 0, &looking, error)
         ?: look_at(store, TALLY_ANNOTATIONS, 0, &looking, error)
         ?: look_at_sessions(store, &looking, error);
    store_end_read(store);
    return rc < 0 ? rc : 0;
}

int store_tally_settle(struct cairn_store *store, enum tally_of of, uint64_t scope,
                       struct cairn_error *error)
{
    struct row_tally found;
    store_assert_writing(store);
    store->tallies[of] = (struct store_tally){0};
    return store_tally_rows(store, of, scope, &found, error)
               ?: tally_write(store, of, scope, &found, error);
}
