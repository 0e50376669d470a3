/* SPDX-License-Identifier: MIT */
/* Deleted ranges: lists of them, and the changes that stand for their records. */
#include "checkpoint/tombstones_int.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

/* Lists of deleted ranges. */

static int compare_ranges(const void *a, const void *b)
{
    const struct tombstone_row *x = a, *y = b;
    if (x->namespace_id != y->namespace_id)
        return x->namespace_id < y->namespace_id ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

int tombstones_add(struct tombstones *all, const struct tombstone_row *row)
{
    struct tombstone_row *at = array_room(all->at, all->n, &all->capacity, sizeof *at);
    assert(all->n <= all->capacity);
    if (!at)
        return CAIRN_ENOMEM;
    all->at = at;
    all->unsorted =
        all->unsorted || (all->n && compare_ranges(&at[all->n - 1], row) > 0);
    all->at[all->n++] = *row;
    return 0;
}

static void tombstones_sort(struct tombstones *all)
{
    if (all->unsorted)
        qsort(all->at, all->n, sizeof *all->at, compare_ranges);
    all->unsorted = false;
}

static int add_row(void *context, const struct tombstone_row *row)
{
    return tombstones_add(context, row);
}

/* What was read by a call that gave `rc`. */
static int take_all(struct tombstones *all, int rc, struct tombstones *out,
                    struct cairn_error *error)
{
    assert(!out->at);
    if (rc < 0) {
        tombstones_release(all);
        return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
    }
    tombstones_sort(all);
    *out = *all;
    return 0;
}

int tombstones_load(struct cairn_store *store, uint8_t namespace_id, uint64_t stream,
                    struct tombstones *out, struct cairn_error *error)
{
    struct tombstones all = {0};
    int rc = store_each_tombstone(store, namespace_id, stream, add_row, &all, error);
    return take_all(&all, rc, out, error);
}

int tombstones_load_within(struct cairn_store *store,
                           const struct checkpoint_range *range, struct tombstones *out,
                           struct cairn_error *error)
{
    struct tombstones all = {0};
    int rc = store_each_tombstone_within(
        store, range->namespace_id, range->stream, range->first,
        range->last ? range->last : INT64_MAX, add_row, &all, error);
    return take_all(&all, rc, out, error);
}

int tombstones_load_all(struct cairn_store *store, struct tombstones *out,
                        struct cairn_error *error)
{
    return tombstones_load(store, 0, 0, out, error);
}

void tombstones_release(struct tombstones *all)
{
    free(all->at);
    *all = (struct tombstones){0};
}

size_t tombstones_of(const struct tombstones *all, uint8_t namespace_id,
                     uint64_t stream)
{
    struct tombstone_row wanted = {.namespace_id = namespace_id, .stream = stream};
    size_t low = 0, high = all->n;
    assert(!all->unsorted);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ranges(&all->at[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low == all->n || compare_ranges(&all->at[low], &wanted) >= 0);
    return low;
}

static bool holds_seq(const struct tombstone_row *t, uint64_t seq)
{
    return seq >= t->first && seq <= t->last;
}

const struct tombstone_row *tombstones_in(const struct tombstones *all,
                                          uint8_t namespace_id, uint64_t stream,
                                          uint64_t seq)
{
    for (size_t i = tombstones_of(all, namespace_id, stream);
         i < all->n && all->at[i].namespace_id == namespace_id &&
         all->at[i].stream == stream;
         i++)
        if (holds_seq(&all->at[i], seq))
            return &all->at[i];
    return NULL;
}

const struct tombstone_row *tombstones_cover(const struct tombstones *all,
                                             uint8_t namespace_id, uint64_t stream,
                                             uint64_t seq)
{
    const struct tombstone_row *found = tombstones_in(all, namespace_id, stream, seq);
    if (found)
        return found;
    for (size_t i = 0; i < all->n; i++) {
        const struct tombstone_row *t = &all->at[i];
        if (t->namespace_id != namespace_id || !holds_seq(t, seq))
            continue;
        found = t;
        if (t->last == seq)
            break;
    }
    return found;
}

/* The changes of tombstones as records. */

enum { CHANGE_HEAD_BYTES = 17 };

int change_encode(const struct folded *folded, uint64_t position, struct str payload,
                  struct buf *out, struct cairn_error *error)
{
    assert(folded->base > 0 && position > 0 && payload.len > 0);
    buf_clear(out);
    buf_byte(out, folded->full ? RECORD_FULL : RECORD_DELTA);
    buf_u64(out, position);
    buf_u64(out, folded->base);
    buf_str(out, payload);
    return buf_check(out, error);
}

int change_blame(const struct tombstone_row *tombstone, struct cairn_error *error)
{
    error_context(
        error, "the note about the deleted checkpoints %llu to %llu is damaged",
        (unsigned long long)tombstone->first, (unsigned long long)tombstone->last);
    return CAIRN_EDAMAGED;
}

/* false: it cannot be one. */
static bool decode(const struct tombstone_row *row, struct sound_record *out)
{
    struct str bytes = row->change;
    if (row->namespace_id < NAMESPACE_WORKFLOW || row->namespace_id > NAMESPACE_DEBUG ||
        bytes.len <= CHANGE_HEAD_BYTES ||
        bytes.len > (size_t)CHANGE_HEAD_BYTES + LIMIT_PAYLOAD_BYTES)
        return false;
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint8_t kind = read_byte(&in);
    uint64_t position = read_u64(&in), base = read_u64(&in);
    struct str payload = {bytes.ptr + CHANGE_HEAD_BYTES, bytes.len - CHANGE_HEAD_BYTES};
    bool full = kind == RECORD_FULL;
    if ((!full && kind != RECORD_DELTA) || position == 0 || base == 0 ||
        base > row->last || full != (base >= row->first))
        return false;
    *out = (struct sound_record){.header = {.namespace_id = row->namespace_id,
                                            .kind = kind,
                                            .stream = row->stream,
                                            .seq = full ? base : row->last,
                                            .position = position,
                                            .time_ns = row->time_ns,
                                            .parent = row->before,
                                            .payload_bytes = (uint32_t)payload.len},
                                 .digest = row->after,
                                 .payload = payload,
                                 .bytes = RECORD_HEADER_BYTES + payload.len};
    return true;
}

struct change_reading {
    change_fn *each;
    void *context;
    struct cairn_error *error;
};

static int read_change(void *context, const struct tombstone_row *row)
{
    struct change_reading *reading = context;
    struct sound_record record;
    if (!decode(row, &record)) {
        error_set(reading->error, CAIRN_EDAMAGED, "its change cannot be read");
        return change_blame(row, reading->error);
    }
    assert_sound(&record);
    return reading->each(reading->context, row, &record);
}

int change_read(struct cairn_store *store, const struct tombstone_row *tombstone,
                change_fn *each, void *context, struct cairn_error *error)
{
    struct change_reading reading = {each, context, error};
    assert(tombstone->change_bytes > 0);
    return store_get_tombstone(store, tombstone->id, read_change, &reading, error);
}
