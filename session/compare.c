/* SPDX-License-Identifier: MIT */
/* What differs between two boards. */
#include "base/array.h"
#include "session/session_int.h"

#include <assert.h>

static int see_difference(void *context, const struct item_field *field,
                          const struct item_value *before,
                          const struct item_value *after)
{
    (void)field;
    (void)before;
    (void)after;
    *(bool *)context = true;
    return 1;
}

static bool differ(const struct item *before, const struct item *after)
{
    bool found = false;
    item_changes(before, after, see_difference, &found);
    return found;
}

static int add_change(struct board_changes *changes, const struct item *before,
                      const struct item *after, struct cairn_error *error)
{
    struct board_change *at =
        array_room(changes->at, changes->n, &changes->capacity, sizeof *at);
    assert(before || after);
    if (!at)
        return error_nomem(error);
    changes->at = at;
    at += changes->n++;
    *at = (struct board_change){.had = before, .has = after};
    if (before) {
        at->id = before->id;
        at->before = *before;
    }
    if (after) {
        at->id = after->id;
        at->after = *after;
    }
    return 0;
}

static int compare_kind(const struct section *before, const struct section *after,
                        struct board_changes *changes, struct cairn_error *error)
{
    uint32_t b = 0, a = 0;
    int rc = 0;
    while ((b < before->n || a < after->n) && !rc) {
        const struct item *was = b < before->n ? &before->items[b] : NULL;
        const struct item *is = a < after->n ? &after->items[a] : NULL;
        if (was && is && was->id.n != is->id.n) {
            if (was->id.n < is->id.n)
                is = NULL;
            else
                was = NULL;
        }
        b += was != NULL;
        a += is != NULL;
        if (!was || !is || differ(was, is))
            rc = add_change(changes, was, is, error);
    }
    return rc;
}

int boards_compare(const struct board *before, const struct board *after,
                   struct board_changes *changes, struct cairn_error *error)
{
    int rc = 0;
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++) {
        struct section was = board_section(before, kind),
                       is = board_section(after, kind);
        rc = compare_kind(&was, &is, changes, error);
    }
    return rc;
}
