/* SPDX-License-Identifier: MIT */
/* Lists of deleted ranges. */
#include "checkpoint/tombstones_int.h"

#include "base/array.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

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
