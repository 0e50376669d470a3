/* SPDX-License-Identifier: MIT */
/* Rows from the damaged files into the new store. */
#include "storage/rescue/rescue_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/schema.h"

#include <assert.h>

/* ---- Opening ---- */

/* What a newer release keeps here would be lost. */
static int refuse_newer(const struct rescue *rescue, struct cairn_error *error)
{
    enum { USER_VERSION = 60, APPLICATION_ID = 68 }; /* SQLite's file format, 1.3 */
    const uint8_t *first = pages_at(&rescue->pages, 1);
    if (!first)
        return 0;
    struct db_header header = {.user_version = (int32_t)big32(first + USER_VERSION),
                               .application_id = big32(first + APPLICATION_ID)};
    if (header.application_id != SCHEMA_APPLICATION_ID ||
        header.user_version <= SCHEMA_VERSION)
        return 0;
    return schema_check(&header, rescue->paths.dir, error);
}

int rescue_begin(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->locked && !rescue->store);
    int rc = pages_load(&rescue->pages, rescue->paths.db, rescue->paths.wal, error);
    if (!rc)
        rc = refuse_newer(rescue, error);
    if (!rc)
        rc = salvage_open(&rescue->salvage, &rescue->pages, error);
    if (!rc)
        rc = rescue_make_new(rescue, error);
    return rc;
}

int rescue_fill(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->store);
    int rc = store_begin(rescue->store, -1, error);
    if (!rc)
        rc = db_script(rescue->store->db, sql_defer_references, error);
    if (rc)
        store_abort(rescue->store);
    return rc;
}

/* ---- Checkpoints ---- */

struct record_reader {
    checkpoint_row_fn *each;
    void *context;
    size_t (*size)(void *, const char *);
};

/* As query_u8: 255 is what no such column holds. */
static uint8_t small_number(int64_t value)
{
    return value >= 0 && value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static int give_checkpoint(void *context, const struct salvage_row *found)
{
    assert(found->table == SALVAGE_CHECKPOINT && found->n == CHECKPOINT_COLUMNS_READ);
    const struct record_reader *to = context;
    const struct sql_value *v = found->values;
    struct checkpoint_row row = {.seq = (uint64_t)v[CHECKPOINT_SEQ_AT].integer,
                                 .namespace_id =
                                     small_number(v[CHECKPOINT_NAMESPACE_AT].integer),
                                 .stream = (uint64_t)v[CHECKPOINT_STREAM_AT].integer,
                                 .parent = (uint64_t)v[CHECKPOINT_PARENT_AT].integer,
                                 .time_ns = v[CHECKPOINT_TIME_NS_AT].integer,
                                 .kind = small_number(v[CHECKPOINT_KIND_AT].integer),
                                 .record = v[CHECKPOINT_RECORD_AT].bytes,
                                 .digest = v[CHECKPOINT_DIGEST_AT].bytes};
    return to->each(to->context, &row);
}

int rescue_each_checkpoint(struct rescue *rescue, bool stray, checkpoint_row_fn *each,
                           void *context, struct cairn_error *error)
{
    assert(each);
    struct record_reader to = {each, context, NULL};
    return (stray ? salvage_stray : salvage_reached)(
        &rescue->salvage, SALVAGE_CHECKPOINT, give_checkpoint, &to, error);
}

static int give_record(void *context, struct str blob, struct str tail)
{
    const struct record_reader *to = context;
    struct checkpoint_row row = {.record = blob, .digest = tail};
    return to->each(to->context, &row);
}

static size_t record_size(void *context, const char *head)
{
    const struct record_reader *to = context;
    return to->size(to->context, head);
}

int rescue_each_record(struct rescue *rescue, struct str mark, size_t head,
                       size_t (*size)(void *, const char *), checkpoint_row_fn *each,
                       void *context, struct cairn_error *error)
{
    assert(mark.len <= head);
    struct record_reader to = {each, context, size};
    const struct salvage_blob wanted = {.table = SALVAGE_CHECKPOINT,
                                        .mark = mark,
                                        .head = head,
                                        .tail = DIGEST_SIZE,
                                        .size = record_size,
                                        .each = give_record,
                                        .context = &to};
    return salvage_blobs(&rescue->salvage, &wanted, error);
}

_Static_assert(SQL_KEEP_MESSAGE - SQL_KEEP_META == SALVAGE_TABLES - 1,
               "the statements stand in the order of the tables");
_Static_assert((int)SQL_KEEP_CHECKPOINT - (int)SQL_KEEP_META == (int)SALVAGE_CHECKPOINT,
               "the statements stand in the order of the tables");

/* 1: put, 0: there is one already. */
static int keep_row(struct rescue *rescue, enum salvage_table table,
                    const struct sql_value *values, int n, struct cairn_error *error)
{
    int64_t put;
    store_assert_writing(rescue->store);
    enum sql_id id = (enum sql_id)(SQL_KEEP_META + (int)table);
    int rc = db_get_int(rescue->store->db, id, values, (size_t)n, &put, error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc ? rc : 1;
}

int rescue_put_checkpoint(struct rescue *rescue, const struct checkpoint_row *row,
                          struct cairn_error *error)
{
    store_assert_writing(rescue->store);
    return keep_row(rescue, SALVAGE_CHECKPOINT,
                    VALUES(value_u64(row->seq), value_int(row->namespace_id),
                           value_u64(row->stream),
                           value_unless((int64_t)row->parent, 0),
                           value_int(row->time_ns), value_int(row->kind),
                           value_blob(row->record), value_blob(row->digest)),
                    error);
}

int rescue_set_parent(struct rescue *rescue, uint64_t seq, uint64_t parent,
                      struct cairn_error *error)
{
    store_assert_writing(rescue->store);
    return db_run(rescue->store->db, SQL_SET_PARENT,
                  VALUES(value_u64(seq), value_u64(parent)), error);
}

/* ---- Other rows ---- */

/* Of a tombstone, in the table, the change comes after the checksum. */
enum { TOMBSTONE_SUM_AT = 9, TOMBSTONE_CHANGE_AT };

static int sum_at(const struct salvage_row *row)
{
    return row->table == SALVAGE_TOMBSTONE ? TOMBSTONE_SUM_AT : row->n - 1;
}

/* Its id is not in the checksum. */
static void tombstone_columns(const struct salvage_row *row,
                              struct sql_value values[TOMBSTONE_SUMMED_COLUMNS])
{
    assert(row->n == TOMBSTONE_CHANGE_AT + 1);
    memcpy(values, row->values + 1, TOMBSTONE_CHANGE * sizeof *values);
    values[TOMBSTONE_CHANGE] = row->values[TOMBSTONE_CHANGE_AT];
    values[TOMBSTONE_SUM] = row->values[TOMBSTONE_SUM_AT];
}

/* 1 yes, 0 no, <0 error. What only looks like a row must have a checksum. */
static int is_sound(struct rescue *rescue, const struct salvage_row *row,
                    struct cairn_error *error)
{
    assert(row->n > 0 && row->n <= SALVAGE_COLUMNS);
    struct cairn_store *store = rescue->store;
    struct sql_value columns[TOMBSTONE_SUMMED_COLUMNS];
    bool bare = row->table != SALVAGE_OBJECT && /* which has a digest */
                row->values[sum_at(row)].kind == SQL_VALUE_NULL;
    bool unguarded = row->table == SALVAGE_WORKFLOW || row->table == SALVAGE_QUARANTINE;
    if (row->scanned && (bare || unguarded))
        return 0;
    switch (row->table) {
    case SALVAGE_META:
    case SALVAGE_RUN_GRAPH:
    case SALVAGE_ATTEMPT:
    case SALVAGE_EVENT:
        return values_sound(store->sha, row->values, (size_t)row->n, rescue->strict);
    case SALVAGE_SESSION:
    case SALVAGE_BRANCH:
    case SALVAGE_ITEM:
    case SALVAGE_SESSION_LOG:
    case SALVAGE_ANNOTATION:
    case SALVAGE_MESSAGE:
        return values_sound(store->sha, row->values, (size_t)row->n, true);
    case SALVAGE_TOMBSTONE:
        tombstone_columns(row, columns);
        return tombstone_sound(store, columns, rescue->strict);
    case SALVAGE_COMMAND:
        return command_sound(store, row->values, error);
    case SALVAGE_CLAIM:
        return claim_sound(store, row->values, error);
    case SALVAGE_OBJECT:
        return object_sound(store, row->values, error);
    default:
        return 1; /* runs are checked when they are put, workflows by their runs */
    }
}

struct filling {
    struct rescue *rescue;
    uint64_t saved;
    rescue_lost_fn *lost;
    void *context;
    bool stray;
    uint64_t left;    /* rows that the tree leads to and that were not kept */
    uint64_t waiting; /* deltas that are not sound, perhaps for want of their base */
    struct cairn_error *error;
};

/* The new store has made an id of its own. */
static int put_setting(struct rescue *rescue, const struct salvage_row *row,
                       struct cairn_error *error)
{
    assert(row->table == SALVAGE_META);
    struct cairn_store *store = rescue->store;
    bool sums = str_equal(row->values[0].bytes, STR("sums"));
    /* The new store has both, too: every row gets a checksum there, and no garbage is
     * being collected. */
    rescue->strict = rescue->strict || sums;
    if (sums || str_equal(row->values[0].bytes, STR("gc")))
        return 1;
    /* Who it is to its processes stays, too, though the new store is made elsewhere. */
    if (str_equal(row->values[0].bytes, STR(STORE_PLACE))) {
        int rc = rescue->has_place
                     ? 0
                     : store_write_summed(store, SQL_SET_META, row->values, 2, error);
        rescue->has_place = true;
        return rc ? rc : 1;
    }
    if (!str_equal(row->values[0].bytes, STR("id")))
        return keep_row(rescue, row->table, row->values, row->n, error);
    if (row->values[1].bytes.len != sizeof store->id - 1)
        return CAIRN_EDAMAGED;
    if (rescue->has_id)
        return 0;
    int rc = store_write_summed(store, SQL_SET_META, row->values, 2, error);
    if (rc)
        return rc;
    memcpy(store->id, row->values[1].bytes.ptr, sizeof store->id - 1);
    rescue->has_id = true;
    return 1;
}

static int put_run(struct rescue *rescue, const struct salvage_row *row,
                   struct cairn_error *error)
{
    assert(row->table == SALVAGE_RUN);
    int rc = keep_row(rescue, row->table, row->values, row->n, error);
    if (rc <= 0)
        return rc;
    rc = run_sound(rescue->store, (uint64_t)row->values[0].integer, error);
    if (rc)
        return rc;
    rc = store_write(rescue->store, SQL_DROP_RUN, row->values, 1, error);
    return rc ? rc : CAIRN_EDAMAGED;
}

/* For a row of an older release, which had none. */
static void add_sum(struct rescue *rescue, struct salvage_row *row,
                    struct value_sum *sum)
{
    bool summed = row->table == SALVAGE_META || row->table == SALVAGE_RUN_GRAPH ||
                  row->table == SALVAGE_ATTEMPT || row->table == SALVAGE_EVENT ||
                  row->table == SALVAGE_TOMBSTONE;
    int first = row->table == SALVAGE_TOMBSTONE, last = sum_at(row);
    if (!summed || row->values[last].kind != SQL_VALUE_NULL)
        return;
    values_sum(rescue->store->sha, row->values + first, (size_t)(last - first), sum);
    row->values[last] = value_blob(value_sum_view(sum));
}

/* What is no delta has no base; an older cairn, which mends an object, leaves it. */
static int put_object(struct rescue *rescue, struct salvage_row *row,
                      struct cairn_error *error)
{
    assert(row->table == SALVAGE_OBJECT && row->n == OBJECT_COLUMNS_READ);
    if (row->values[OBJECT_CODEC_AT].integer != CODEC_DELTA)
        row->values[OBJECT_BASE_AT] = value_unless(0, 0);
    return keep_row(rescue, row->table, row->values, row->n, error);
}

static int put_row(struct filling *f, const struct salvage_row *found)
{
    struct salvage_row row = *found;
    struct value_sum sum;
    int sound = is_sound(f->rescue, &row, f->error);
    if (sound <= 0)
        return sound ? sound : CAIRN_EDAMAGED;
    add_sum(f->rescue, &row, &sum);
    if (row.table == SALVAGE_META)
        return put_setting(f->rescue, &row, f->error);
    if (row.table == SALVAGE_RUN)
        return put_run(f->rescue, &row, f->error);
    if (row.table == SALVAGE_OBJECT)
        return put_object(f->rescue, &row, f->error);
    return keep_row(f->rescue, row.table, row.values, row.n, f->error);
}

/* A stray that is not sound is not a loss: it may be anything. */
static int fill_row(void *context, const struct salvage_row *row)
{
    struct filling *f = context;
    int rc = put_row(f, row);
    f->saved += rc > 0;
    f->left += rc <= 0 && !f->stray;
    f->waiting += rc == CAIRN_EDAMAGED && row->table == SALVAGE_OBJECT &&
                  row->values[OBJECT_CODEC_AT].integer == CODEC_DELTA;
    if (rc < 0 && rc != CAIRN_EDAMAGED)
        return rc;
    if (rc <= 0 && !f->stray && f->lost)
        f->lost(f->context, row);
    return 0;
}

/* Of other tables, what cannot be read is found by what refers to it, or only shown. A
 * stray that was kept may be what should have stood there. */
static void report_unread(struct filling *f, enum salvage_table table, size_t unread,
                          uint64_t strays)
{
    const struct salvage_row nothing = {.table = table};
    if (table < SALVAGE_SESSION || !f->lost)
        return;
    for (uint64_t i = strays; i < unread; i++)
        f->lost(f->context, &nothing);
}

/* All rows of a table once. *saved: how many were put that time. */
static int fill_table(struct filling *f, enum salvage_table table, uint64_t *saved)
{
    struct salvage *salvage = &f->rescue->salvage;
    uint64_t before = f->saved;
    f->left = f->waiting = 0;
    f->stray = false;
    int rc = salvage_reached(salvage, table, fill_row, f, f->error);
    size_t unread = salvage->unread;
    uint64_t reached = f->saved;
    f->stray = true;
    if (!rc)
        rc = salvage_stray(salvage, table, fill_row, f, f->error);
    if (!rc)
        report_unread(f, table, unread, f->saved - reached);
    *saved = f->saved - before;
    return rc;
}

static int report_lost_object(void *context, const struct salvage_row *row)
{
    struct filling *f = context;
    bool there;
    int rc = db_is(f->rescue->store->db, SQL_HAS_OBJECT, &row->values[OBJECT_DIGEST_AT],
                   1, &there, f->error);
    if (!rc && !there)
        f->lost(f->context, row);
    return rc;
}

/* A delta is kept once its base is there, which may be found after it: so the rows are
 * gone through again as long as that finds something, which is at most once for each
 * base of a chain. What is lost is known at the end. */
static int fill_objects(struct filling *f)
{
    rescue_lost_fn *lost = f->lost;
    uint64_t saved;
    int rc;
    f->lost = NULL;
    do
        rc = fill_table(f, SALVAGE_OBJECT, &saved);
    while (!rc && saved && f->waiting);
    f->lost = lost;
    if (rc || !lost || !f->left)
        return rc;
    return salvage_reached(&f->rescue->salvage, SALVAGE_OBJECT, report_lost_object, f,
                           f->error);
}

int rescue_table(struct rescue *rescue, enum salvage_table table, uint64_t *saved,
                 rescue_lost_fn *lost, void *context, struct cairn_error *error)
{
    assert(table != SALVAGE_CHECKPOINT && table < SALVAGE_TABLES);
    struct filling f = {
        .rescue = rescue, .lost = lost, .context = context, .error = error};
    int rc = table == SALVAGE_OBJECT ? fill_objects(&f) : fill_table(&f, table, saved);
    *saved = f.saved;
    return rc;
}
