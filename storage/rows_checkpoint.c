/* SPDX-License-Identifier: MIT */
/* Rows of checkpoints, and notes about deleted and damaged ones. */
#include "storage/rows_checkpoint.h"

#include "base/words.h"
#include "storage/rows_int.h"

#include <assert.h>

/* ---- Writing ---- */

/* The floor comes from rows. One that is absurdly high is damaged, and ignored. */
static uint64_t above_floor(const struct cairn_store *store, uint64_t next)
{
    const uint64_t most = (uint64_t)1 << 32;
    bool above = store->seq_floor >= next && store->seq_floor - next < most;
    return above ? store->seq_floor + 1 : next;
}

int store_next_seq(struct cairn_store *store, uint64_t *seq, struct cairn_error *error)
{
    store_assert_writing(store);
    if (store->next_seq == 0) {
        uint64_t next;
        int rc = store_seq_after(store, &next, error);
        if (rc)
            return rc;
        store->next_seq = above_floor(store, next);
    }
    *seq = store->next_seq;
    return 0;
}

void store_keep_seq(struct cairn_store *store, uint64_t seq)
{
    if (seq > store->seq_floor)
        store->seq_floor = seq;
    if (store->next_seq)
        store->next_seq = above_floor(store, store->next_seq);
}

int store_seq_after(struct cairn_store *store, uint64_t *seq, struct cairn_error *error)
{
    int64_t next;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_NEXT_SEQ, NO_VALUES, &next, error);
    if (!rc)
        *seq = (uint64_t)next;
    return rc;
}

int store_put_checkpoint(struct cairn_store *store, const struct checkpoint_row *row,
                         struct cairn_error *error)
{
    assert(row->seq > row->parent && row->namespace_id && row->stream);
    assert(row->record.len && row->digest.len == DIGEST_SIZE);
    int rc = store_write(store, SQL_PUT_CHECKPOINT,
                         VALUES(value_u64(row->seq), value_int(row->namespace_id),
                                value_u64(row->stream),
                                value_unless((int64_t)row->parent, 0),
                                value_int(row->time_ns), value_int(row->kind),
                                value_blob(row->record), value_blob(row->digest)),
                         error);
    if (rc)
        return rc;
    if (store->next_seq && row->seq >= store->next_seq)
        store->next_seq = row->seq + 1;
    if (row->seq > store->pending.seq) {
        store->pending.seq = row->seq;
        digest_from(row->digest, &store->pending.digest);
    }
    return 0;
}

int store_delete_checkpoints(struct cairn_store *store, uint8_t namespace_id,
                             uint64_t stream, uint64_t first, uint64_t last,
                             uint64_t *count, uint64_t *bytes,
                             struct cairn_error *error)
{
    assert(first <= last);
    store_assert_writing(store);
    const struct sql_value values[] = {value_int(namespace_id), value_u64(stream),
                                       value_u64(first), value_u64(last)};
    struct query query;
    uint64_t rows = 0, size = 0;
    query_start(&query, store->db, SQL_SIZE_CHECKPOINTS, values, 4, error);
    if (query_step(&query)) {
        rows = query_u64(&query, 0);
        size = query_u64(&query, 1);
    }
    int rc = query_end(&query)
             ?: tally_drop_rows(store, TALLY_ANNOTATIONS, 0,
                                SQL_DROPPED_ANNOTATION_SUMS, values, 4, error)
             ?: store_write(store, SQL_DROP_ANNOTATIONS, values, 4, error)
             ?: store_write(store, SQL_DELETE_CHECKPOINTS, values, 4, error);
    if (rc)
        return rc;
    if (store->pending.seq >= first && store->pending.seq <= last)
        store->pending.seq = 0;
    *count = rows;
    *bytes = size;
    return 0;
}

/* ---- Reading ---- */

static void checkpoint_from(const struct cairn_store *store, const struct query *query,
                            struct checkpoint_row *row)
{
    *row = (struct checkpoint_row){
        .seq = query_u64(query, CHECKPOINT_SEQ_AT),
        .namespace_id = query_u8(query, CHECKPOINT_NAMESPACE_AT),
        .stream = query_u64(query, CHECKPOINT_STREAM_AT),
        .parent = query_u64(query, CHECKPOINT_PARENT_AT),
        .time_ns = query_int(query, CHECKPOINT_TIME_NS_AT),
        .kind = query_u8(query, CHECKPOINT_KIND_AT),
        .record = query_blob(query, CHECKPOINT_RECORD_AT),
        .digest = query_blob(query, CHECKPOINT_DIGEST_AT),
        .key = store->key,
    };
}

int store_get_checkpoint(struct cairn_store *store, uint64_t seq,
                         checkpoint_row_fn *got, void *context,
                         struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_GET_CHECKPOINT, VALUES(value_u64(seq)), error);
    if (query_step(&query)) {
        struct checkpoint_row row;
        checkpoint_from(store, &query, &row);
        query.rc = got ? got(context, &row) : 0;
    } else if (!query.rc) {
        query.rc = error_set(error, CAIRN_ENOTFOUND, "there is no checkpoint %llu",
                             (unsigned long long)seq);
    }
    return query_end(&query);
}

/* ---- Ranges ---- */

/* Of a range: its bounds, then limit and offset, which only lists have. */
enum { COUNT_VALUES = 4, RANGE_VALUES = 6 };

/* Runs the query to its end or until the callback stops it. */
static int each_row(struct cairn_store *store, enum sql_id id,
                    const struct sql_value values[RANGE_VALUES], size_t n_values,
                    checkpoint_row_fn *each, void *context, struct cairn_error *error)
{
    struct query query;
    assert(each && n_values <= RANGE_VALUES);
    query_start(&query, store->db, id, values, n_values, error);
    while (query_step(&query)) {
        struct checkpoint_row row;
        checkpoint_from(store, &query, &row);
        query.rc = each(context, &row);
    }
    return query_end(&query);
}

/* Which statements serve a range, and their parameters. */
struct range_plan {
    enum sql_id ascending, descending, count;
    struct sql_value values[RANGE_VALUES];
};

static struct range_plan plan_range(const struct checkpoint_range *range)
{
    assert(!range->session || range->namespace_id == NAMESPACE_DEBUG);
    struct range_plan plan = {
        SQL_EACH_CHECKPOINT_ASC,
        SQL_EACH_CHECKPOINT_DESC,
        SQL_COUNT_CHECKPOINTS,
        {value_int(range->namespace_id), value_u64(range->stream),
         value_u64(range->first), value_u64(range->last ? range->last : INT64_MAX),
         value_int(sql_limit(range->limit)), value_int(sql_offset(range->offset))}};
    if (range->stream && range->namespace_id) {
        plan.ascending = SQL_EACH_STREAM_ASC;
        plan.descending = SQL_EACH_STREAM_DESC;
        plan.count = SQL_COUNT_STREAM;
    } else if (range->workflow && !range->stream) {
        /* Only runs belong to workflows. */
        plan.ascending = SQL_EACH_WORKFLOW_ASC;
        plan.descending = SQL_EACH_WORKFLOW_DESC;
        plan.count = SQL_COUNT_WORKFLOW;
        plan.values[0] = value_int(NAMESPACE_WORKFLOW);
        plan.values[1] = value_u64(range->workflow);
    } else if (range->namespace_id == NAMESPACE_DEBUG) {
        plan.ascending = SQL_EACH_SESSION_CHECKPOINT_ASC;
        plan.descending = SQL_EACH_SESSION_CHECKPOINT_DESC;
        plan.count = range->session                  ? SQL_COUNT_OF_SESSION
                     : !range->first && !range->last ? SQL_COUNT_NAMESPACE
                                                     : SQL_COUNT_OF_STREAMS;
        plan.values[1] = value_u64(range->session);
    } else if (range->namespace_id && !range->stream && !range->first && !range->last) {
        plan.count = SQL_COUNT_NAMESPACE;
    }
    return plan;
}

/* The lowest and the highest number, and how many rows there are. */
struct extent {
    uint64_t min, max, rows;
    bool certain; /* no damaged number is below 0, where nothing is looked for */
};

static int get_extent(struct cairn_store *store, struct extent *extent,
                      struct cairn_error *error)
{
    struct query query;
    *extent = (struct extent){.min = 1};
    query_start(&query, store->db, SQL_CHECKPOINT_EXTENT, NO_VALUES, error);
    if (query_step(&query)) {
        int64_t min = query_int(&query, 0), max = query_int(&query, 1);
        *extent = (struct extent){.min = min > 0 ? (uint64_t)min : 0,
                                  .max = max > 0 ? (uint64_t)max : 0,
                                  .rows = query_u64(&query, 2),
                                  .certain = min >= 0};
    }
    return query_end(&query);
}

/* The index has many rows in a page, but is read as a whole. */
static int count_between(struct cairn_store *store, const struct extent *extent,
                         uint64_t first, uint64_t last, uint64_t *count,
                         struct cairn_error *error)
{
    enum { AS_MUCH = 8 };
    const struct checkpoint_range range = {.first = first, .last = last};
    struct range_plan plan = plan_range(&range);
    int64_t n = 0;
    int rc = 0;
    if (first <= last && last - first >= extent->rows / AS_MUCH)
        plan.count = SQL_COUNT_BY_INDEX;
    if (first <= last)
        rc = db_get_int(store->db, plan.count, plan.values, COUNT_VALUES, &n, error);
    *count = rc ? 0 : (uint64_t)n;
    return rc;
}

/* Of runs and sessions. Each row has a number of its own, so where there are as many
 * rows as numbers, none is missing between, and nothing is read. Else what is left out
 * is counted, if that is less. */
static int count_of_all(struct cairn_store *store, const struct checkpoint_range *range,
                        uint64_t *count, struct cairn_error *error)
{
    struct extent all;
    uint64_t before = 0, behind = 0;
    int rc = get_extent(store, &all, error);
    uint64_t first = range->first > all.min ? range->first : all.min;
    uint64_t last = range->last && range->last < all.max ? range->last : all.max;
    *count = 0;
    if (rc || first > last || all.rows == 0)
        return rc;
    *count = last - first + 1;
    if (all.certain && all.max - all.min == all.rows - 1)
        return 0;
    if (!all.certain || all.max - all.min + 1 - *count > *count)
        return count_between(store, &all, first, last, count, error);
    if (first > all.min)
        rc = count_between(store, &all, all.min, first - 1, &before, error);
    if (!rc && last < all.max)
        rc = count_between(store, &all, last + 1, all.max, &behind, error);
    *count = all.rows - before - behind;
    return rc;
}

int store_checkpoint_numbers(struct cairn_store *store, uint64_t *first, uint64_t *last,
                             struct cairn_error *error)
{
    struct extent extent;
    store_assert_open(store);
    int rc = get_extent(store, &extent, error);
    *first = extent.min;
    *last = extent.max;
    return rc;
}

int store_count_checkpoints(struct cairn_store *store,
                            const struct checkpoint_range *range, uint64_t *count,
                            struct cairn_error *error)
{
    struct range_plan plan = plan_range(range);
    int64_t n;
    store_assert_open(store);
    if (!range->namespace_id && !range->stream && !range->workflow)
        return count_of_all(store, range, count, error);
    int rc = db_get_int(store->db, plan.count, plan.values, COUNT_VALUES, &n, error);
    if (!rc)
        *count = (uint64_t)n;
    return rc;
}

int store_each_checkpoint(struct cairn_store *store,
                          const struct checkpoint_range *range, checkpoint_row_fn *each,
                          void *context, struct cairn_error *error)
{
    struct range_plan plan = plan_range(range);
    store_assert_open(store);
    return each_row(store, range->descending ? plan.descending : plan.ascending,
                    plan.values, RANGE_VALUES, each, context, error);
}

/* ---- By digest ---- */

/* The smallest and the largest digest that begin with the digits. */
static bool digest_bounds(struct str hex, struct digest *low, struct digest *high)
{
    memset(low, 0, sizeof *low);
    memset(high, 0xff, sizeof *high);
    if (hex.len == 0 || hex.len > 2 * DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < hex.len; i++) {
        int digit = hex_digit(hex.ptr[i]);
        if (digit < 0)
            return false;
        unsigned shift = i % 2 ? 0 : 4;
        unsigned rest = i % 2 ? 0 : 0x0f; /* of the byte, still open */
        unsigned so_far = low->bytes[i / 2] | (unsigned)digit << shift;
        low->bytes[i / 2] = (uint8_t)so_far;
        high->bytes[i / 2] = (uint8_t)(so_far | rest);
    }
    assert(memcmp(low, high, sizeof *low) <= 0);
    return true;
}

int store_find_digest(struct cairn_store *store, struct str hex, uint64_t *seqs,
                      size_t max, size_t *found, struct cairn_error *error)
{
    struct digest low, high;
    struct query query;
    store_assert_open(store);
    assert(seqs && max > 0);
    size_t n = 0;
    if (!digest_bounds(hex, &low, &high))
        return error_set(error, CAIRN_EUSAGE, "\"%.*s\" is not 1 to 64 hex digits",
                         (int)(hex.len < 100 ? hex.len : 100), hex.ptr);
    query_start(&query, store->db, SQL_FIND_DIGEST,
                VALUES(value_blob(digest_view(&low)), value_blob(digest_view(&high)),
                       value_u64(max)),
                error);
    while (n < max && query_step(&query))
        seqs[n++] = query_u64(&query, 0);
    int rc = query_end(&query);
    if (!rc)
        *found = n;
    return rc;
}

int store_last_seq(struct cairn_store *store, uint8_t namespace_id, uint64_t stream,
                   uint64_t *seq, struct cairn_error *error)
{
    store_assert_open(store);
    assert(namespace_id); /* here 0 does not mean any */
    int64_t last = 0;
    int rc =
        db_get_int(store->db, SQL_LAST_SEQ,
                   VALUES(value_int(namespace_id), value_u64(stream)), &last, error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    *seq = (uint64_t)last;
    return 0;
}

/* ---- Notes about deleted and damaged ones ---- */

int store_put_tombstone(struct cairn_store *store, const struct tombstone_row *row,
                        struct cairn_error *error)
{
    assert(row->namespace_id);
    struct sql_value before = value_blob(digest_view(&row->before));
    if (digest_is_none(&row->before))
        before.kind = SQL_VALUE_NULL;
    struct sql_value change = value_blob(row->change);
    if (row->change.len == 0)
        change.kind = SQL_VALUE_NULL;
    struct sql_value values[] = {value_int(row->namespace_id),
                                 value_u64(row->stream),
                                 value_u64(row->first),
                                 value_u64(row->last),
                                 value_u64(row->count),
                                 before,
                                 value_blob(digest_view(&row->after)),
                                 value_int(row->time_ns),
                                 change,
                                 {0}};
    struct row_sum sum;
    tombstone_sum(store, values, &sum);
    values[TOMBSTONE_CHANGE] = value_blob(sum_view(&sum)); /* as in the table */
    values[TOMBSTONE_SUM] = change;
    int rc =
        store_write(store, SQL_PUT_TOMBSTONE, values, TOMBSTONE_SUMMED_COLUMNS, error);
    if (!rc && store->next_seq && row->last >= store->next_seq)
        store->next_seq = row->last + 1;
    return rc;
}

struct tombstone_reader {
    int (*got)(void *, const struct tombstone_row *);
    void *context;
};

static int read_tombstone(struct cairn_store *store, const struct query *query,
                          uint64_t id, const struct tombstone_reader *reader,
                          struct cairn_error *error)
{
    struct sql_value values[TOMBSTONE_SUMMED_COLUMNS];
    for (int i = 0; i < TOMBSTONE_SUMMED_COLUMNS; i++)
        values[i] = query_value(query, i);
    struct tombstone_row row = {.id = id,
                                .namespace_id = query_u8(query, 0),
                                .stream = query_u64(query, 1),
                                .first = query_u64(query, 2),
                                .last = query_u64(query, 3),
                                .count = query_u64(query, 4),
                                .time_ns = query_int(query, 7),
                                .change = query_blob(query, TOMBSTONE_CHANGE)};
    row.change_bytes = row.change.len;
    row.keyed = values[TOMBSTONE_SUM].bytes.len == SUM_KEYED_BYTES;
    digest_from(query_blob(query, 5), &row.before);
    digest_from(query_blob(query, 6), &row.after);
    if (tombstone_sound(store, values, row.change_bytes > 0))
        return reader->got(reader->context, &row);
    return error_set(error, CAIRN_EDAMAGED,
                     "the note about the deleted checkpoints %llu to %llu is %s",
                     (unsigned long long)row.first, (unsigned long long)row.last,
                     tombstone_only_hmac_fails(store, values)
                         ? "not to be believed: it has no HMAC of this key"
                         : "damaged: its checksum does not match");
}

int store_get_tombstone(struct cairn_store *store, uint64_t id,
                        int (*got)(void *, const struct tombstone_row *), void *context,
                        struct cairn_error *error)
{
    struct query query;
    struct tombstone_reader reader = {got, context};
    store_assert_open(store);
    assert(got);
    query_start(&query, store->db, SQL_GET_TOMBSTONE, VALUES(value_u64(id)), error);
    if (query_step(&query))
        query.rc = read_tombstone(store, &query, id, &reader, error);
    else if (!query.rc)
        query.rc = error_set(error, CAIRN_ENOTFOUND, "there is no deleted range %llu",
                             (unsigned long long)id);
    return query_end(&query);
}

int store_delete_tombstone(struct cairn_store *store, uint64_t id,
                           struct cairn_error *error)
{
    return store_write(store, SQL_DELETE_TOMBSTONE, VALUES(value_u64(id)), error);
}

static int each_tombstone(struct cairn_store *store, enum sql_id id,
                          const struct sql_value *values, size_t n,
                          int (*each)(void *, const struct tombstone_row *),
                          void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, id, values, n, error);
    while (query_step(&query)) {
        struct tombstone_row row = {
            .id = query_u64(&query, TOMBSTONE_ID_AT),
            .namespace_id = query_u8(&query, TOMBSTONE_NAMESPACE_AT),
            .stream = query_u64(&query, TOMBSTONE_STREAM_AT),
            .first = query_u64(&query, TOMBSTONE_FIRST_SEQ_AT),
            .last = query_u64(&query, TOMBSTONE_LAST_SEQ_AT),
            .count = query_u64(&query, TOMBSTONE_COUNT_AT),
            .time_ns = query_int(&query, TOMBSTONE_TIME_NS_AT),
            .change_bytes = query_u64(&query, TOMBSTONE_CHANGE_BYTES_AT),
        };
        digest_from(query_blob(&query, TOMBSTONE_BEFORE_AT), &row.before);
        digest_from(query_blob(&query, TOMBSTONE_AFTER_AT), &row.after);
        query.rc = each(context, &row);
    }
    return query_end(&query);
}

int store_each_tombstone(struct cairn_store *store, uint8_t namespace_id,
                         uint64_t stream,
                         int (*each)(void *, const struct tombstone_row *),
                         void *context, struct cairn_error *error)
{
    assert(each);
    return each_tombstone(
        store, namespace_id && stream ? SQL_EACH_TOMBSTONE_OF : SQL_EACH_TOMBSTONE,
        VALUES(value_int(namespace_id), value_u64(stream)), each, context, error);
}

int store_each_tombstone_within(struct cairn_store *store, uint8_t namespace_id,
                                uint64_t stream, uint64_t first, uint64_t last,
                                int (*each)(void *, const struct tombstone_row *),
                                void *context, struct cairn_error *error)
{
    assert(each && namespace_id && stream);
    return each_tombstone(store, SQL_EACH_TOMBSTONE_WITHIN,
                          VALUES(value_int(namespace_id), value_u64(stream),
                                 value_u64(first), value_u64(last)),
                          each, context, error);
}

int store_has_tombstone_behind(struct cairn_store *store, uint8_t namespace_id,
                               uint64_t stream, uint64_t seq, bool *has,
                               struct cairn_error *error)
{
    store_assert_open(store);
    assert(namespace_id); /* here 0 does not mean any */
    return db_is(store->db, SQL_HAS_TOMBSTONE_BEHIND,
                 VALUES(value_int(namespace_id), value_u64(stream), value_u64(seq)),
                 has, error);
}

int store_put_quarantine(struct cairn_store *store, uint64_t seq, int64_t time_ns,
                         const char *reason, struct cairn_error *error)
{
    assert(reason[0]);
    return store_write(
        store, SQL_PUT_QUARANTINE,
        VALUES(value_u64(seq), value_int(time_ns), value_text(str_of(reason))), error);
}
