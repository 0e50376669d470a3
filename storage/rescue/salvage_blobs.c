/* SPDX-License-Identifier: MIT */
/* Finds blobs that state their own length, for rows that are damaged themselves. */
#include "storage/rescue/salvage_int.h"

#include <assert.h>

/* The row is longer than the page. How much of it is here depends on how many bytes of
 * it come before the blob, so every plausible number is tried. */
static int try_chains(struct salvage *s, const struct salvage_blob *wanted,
                      const uint8_t *page, size_t at, size_t size)
{
    assert(size > 0);
    enum { LEAST_BEFORE = 8, MOST_BEFORE = 64 };
    size_t usable = s->pages->usable;
    int rc = 0;
    for (size_t before = LEAST_BEFORE; before <= MOST_BEFORE && rc == 0; before++) {
        size_t whole = before + size + wanted->tail;
        size_t local = salvage_local(usable, true, whole);
        if (local == whole || local < before || at + local - before + 4 > usable)
            continue;
        struct str start = {(const char *)page + at, local - before};
        if (!salvage_join(s, start, big32(page + at + start.len), whole - local))
            continue;
        struct str blob = {s->payload.data, size};
        struct str tail = {s->payload.data + size, wanted->tail};
        rc = wanted->each(wanted->context, blob, tail);
    }
    return rc;
}

static int blobs_on(struct salvage *s, const struct salvage_blob *wanted, uint32_t page)
{
    const uint8_t *bytes = pages_at(s->pages, page);
    size_t usable = s->pages->usable;
    int rc = 0;
    s->left = 64 * (size_t)s->pages->n * s->pages->page_size; /* try_chains */
    for (size_t at = 0; bytes && at + wanted->head <= usable && rc == 0; at++) {
        const char *here = (const char *)bytes + at;
        if (memcmp(here, wanted->mark.ptr, wanted->mark.len) != 0)
            continue;
        size_t size = wanted->size(wanted->context, here);
        if (size == 0 || size > (size_t)s->pages->n * s->pages->page_size)
            continue;
        if (at + size + wanted->tail <= usable)
            rc = wanted->each(wanted->context, (struct str){here, size},
                              (struct str){here + size, wanted->tail});
        else
            rc = try_chains(s, wanted, bytes, at, size);
    }
    return rc;
}

int salvage_blobs(struct salvage *salvage, const struct salvage_blob *wanted,
                  struct cairn_error *error)
{
    assert(wanted->mark.len <= wanted->head);
    int rc = 0;
    for (uint32_t page = 1; page <= salvage->pages->n && rc == 0; page++)
        if (salvage->owner[page] == 0 || salvage->owner[page] == wanted->table + 1)
            rc = blobs_on(salvage, wanted, page);
    if (salvage->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}
