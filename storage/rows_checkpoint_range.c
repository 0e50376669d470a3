/* SPDX-License-Identifier: MIT */
/* Ranges of checkpoints: read, and counted, also behind very many. */
#include "storage/rows_checkpoint_int.h"

#include <assert.h>

/* Of a range: its bounds, then limit and offset, which only lists have. */
enum { COUNT_VALUES = 4, RANGE_VALUES = 6 };

/* Runs the query to its end or until the callback stops it. */
static int each_row(struct cairn_store *store, enum sql_id id,
                    const struct sql_value values[RANGE_VALUES], size_t n_values,
                    checkpoint_row_fn *each, void *context, struct cairn_error *error)
{
    struct query query;
    assert(each && n_values <= RANGE_VALUES);
    int rc = query_start(&query, store->db, id, values, n_values, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct checkpoint_row row;
        checkpoint_from(store, &query, &row);
        rc = each(context, &row);
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
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

/* ---- Counting ---- */

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
    int rc = query_start(&query, store->db, SQL_CHECKPOINT_EXTENT, NO_VALUES, error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0) {
        int64_t min = query_int(&query, 0), max = query_int(&query, 1);
        *extent = (struct extent){.min = min > 0 ? (uint64_t)min : 0,
                                  .max = max > 0 ? (uint64_t)max : 0,
                                  .rows = query_u64(&query, 2),
                                  .certain = min >= 0};
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
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

/* ---- Reading ranges ---- */

/* From so many on, rows that are passed over are counted in an index and not read. */
enum { FAR_OFFSET = 1000 };

/* How many numbers to pass next, when so many numbers had so many rows. Rather too few:
 * rows that are not to be passed would be counted for nothing. */
static uint64_t next_width(uint64_t left, uint64_t passed, uint64_t rows)
{
    double width =
        rows ? (double)passed / (double)rows * (double)left * 0.9 : (double)passed * 2;
    if (width > (double)(INT64_MAX / 2))
        return INT64_MAX / 2;
    return width > (double)left ? (uint64_t)width : left;
}

/* The first `width` numbers of a range; it must have more. */
static struct checkpoint_range begin_of(const struct checkpoint_range *range,
                                        uint64_t width)
{
    struct checkpoint_range part = *range;
    if (range->descending)
        part.first = range->last - width + 1;
    else
        part.last = range->first + width - 1;
    return part;
}

/* Takes rows from the beginning of the range until its offset is 0, or nothing is left:
 * first > last. So many numbers as there are rows to pass never have more rows than
 * that; where rows are sparse, more are tried. */
static int pass_over(struct cairn_store *store, struct checkpoint_range *range,
                     struct cairn_error *error)
{
    uint64_t passed = 0, rows = 0, width = range->offset, n;
    while (range->offset > 0 && range->first <= range->last) {
        bool rest = width > range->last - range->first;
        struct checkpoint_range part = rest ? *range : begin_of(range, width);
        int rc = store_count_checkpoints(store, &part, &n, error);
        if (rc)
            return rc;
        if (n > range->offset) {
            width = (part.last - part.first) / 4;
            width = width > range->offset ? width : range->offset;
            continue;
        }
        if (rest)
            break;
        if (range->descending)
            range->last = part.first - 1;
        else
            range->first = part.last + 1;
        range->offset -= n;
        passed += width;
        rows += n;
        width = next_width(range->offset, passed, rows);
    }
    if (range->offset > 0)
        range->first = range->last + 1;
    return 0;
}

/* Makes the range one without an offset. */
static int begin_far(struct cairn_store *store, struct checkpoint_range *range,
                     struct cairn_error *error)
{
    struct extent extent;
    int rc = get_extent(store, &extent, error);
    if (rc)
        return rc;
    if (range->first < extent.min)
        range->first = extent.min;
    if (!range->last || range->last > extent.max)
        range->last = extent.max;
    return pass_over(store, range, error);
}

int store_each_checkpoint(struct cairn_store *store,
                          const struct checkpoint_range *range, checkpoint_row_fn *each,
                          void *context, struct cairn_error *error)
{
    struct checkpoint_range left = *range;
    store_assert_open(store);
    /* Those of a workflow are sorted anyway. */
    if (range->offset >= FAR_OFFSET && !range->workflow) {
        int rc = begin_far(store, &left, error);
        if (rc || left.first > left.last)
            return rc;
    }
    struct range_plan plan = plan_range(&left);
    return each_row(store, range->descending ? plan.descending : plan.ascending,
                    plan.values, RANGE_VALUES, each, context, error);
}
