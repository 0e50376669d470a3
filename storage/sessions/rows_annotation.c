/* SPDX-License-Identifier: MIT */
/* Rows of labels and notes. */
#include "storage/sessions/rows_annotation.h"

#include "storage/sessions/rows_checked_int.h"

#include <assert.h>

int store_put_annotation(struct cairn_store *store, const struct annotation_row *row,
                         struct cairn_error *error)
{
    assert(row->seq && row->n && row->text.len);
    const struct sql_value values[] = {
        value_number(row->seq),   value_int(row->n),
        value_int(row->time_ns),  value_int(row->kind),
        value_int(row->severity), value_text(clean_str(row->text))};
    enum { ALL = COUNT_OF(values) };
    return store_write_summed(store, SQL_PUT_ANNOTATION, values, ALL, error)
               ?: tally_put_row(store, TALLY_ANNOTATIONS, 0, values, ALL, error);
}

int store_drop_annotation(struct cairn_store *store, uint64_t seq, uint32_t n,
                          struct cairn_error *error)
{
    const struct sql_value key[] = {value_number(seq), value_int(n)};
    return tally_drop_rows(store, TALLY_ANNOTATIONS, 0, SQL_ANNOTATION_SUM, key, 2,
                           error)
               ?: store_write(store, SQL_DROP_ANNOTATION, key, 2, error);
}

/* What this handle writes keeps them fitting; what others write is a new version. */
static int check_tally(struct cairn_store *store, struct cairn_error *error)
{
    struct row_tally found;
    uint32_t version = db_version(store->db);
    if (store->annotations_fit && store->annotations_version == version)
        return 0;
    int rc = store_tally_rows(store, TALLY_ANNOTATIONS, 0, &found, error)
                 ?: store_tally_compare(store, TALLY_ANNOTATIONS, 0, &found, error);
    store->annotations_fit = rc == 0;
    store->annotations_version = version;
    return rc;
}

int store_each_annotation(struct cairn_store *store, uint64_t seq,
                          annotation_row_fn *each, void *context,
                          struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_annotations};
    const struct sql_value bound[] = {value_number(seq)};
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(&rows, SQL_ANNOTATION_BEFORE, bound, 1, error);
    if (!rc) {
        checked_start(&rows, SQL_EACH_ANNOTATION, bound, 1, error);
        while (checked_step(&rows)) {
            const struct sql_value *v = rows.values;
            struct annotation_row row = {
                .seq = (uint64_t)v[ANNOTATION_SEQ_AT].integer,
                .n = (uint32_t)v[ANNOTATION_N_AT].integer,
                .time_ns = v[ANNOTATION_TIME_NS_AT].integer,
                .kind = (uint8_t)v[ANNOTATION_KIND_AT].integer,
                .severity = (uint8_t)v[ANNOTATION_SEVERITY_AT].integer,
                .text = clean_stored(v[ANNOTATION_TEXT_AT].bytes)};
            if (seq && row.seq != seq)
                break;
            rows.query.rc = each(context, &row);
        }
        rc = checked_stop(&rows);
    }
    if (rc >= 0 && !rows.damaged[0])
        rc = check_tally(store, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}
