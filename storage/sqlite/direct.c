/* SPDX-License-Identifier: MIT */
/* Every number from the file is bounded before it is used, and each step goes one page
 * down a tree of bounded height, or fills some of what is to be read: no damage leads
 * round in circles. */
#include "storage/sqlite/direct.h"

#include <assert.h>
#include <stdlib.h>

size_t db_format_number(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) {
            *out = value << 8 | at[i];
            return 9;
        }
        value = value << 7 | (at[i] & 0x7f);
        if (!(at[i] & 0x80)) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

uint64_t db_format_size(uint64_t type)
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    if (type < sizeof sizes)
        return sizes[type];
    return type < 12 ? UINT64_MAX : (type - 12) / 2;
}

size_t db_format_local(size_t usable, bool table, uint64_t size)
{
    assert(usable >= 480);
    size_t most = table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    size_t least = (usable - 12) * 32 / 255 - 23;
    if (size <= most)
        return (size_t)size;
    size_t local = least + (size_t)((size - least) % (usable - 4));
    return local <= most ? local : least;
}

/* ---- A long value ---- */

/* At once: what the second cache of a processor keeps until it is used. */
enum { RUN_BYTES = 256 << 10, HEIGHT_MOST = 20 };

struct reading {
    struct db *db;
    const struct db_long *value;
    uint8_t *room; /* [RUN_BYTES] */
    size_t page_size, usable;
};

static bool read_pages(const struct reading *r, uint32_t first, size_t n)
{
    return first > 1 && db_read_file(r->db, (uint64_t)(first - 1) * r->page_size,
                                     r->room, n * r->page_size);
}

static bool read_header(struct reading *r)
{
    uint8_t head[24];
    if (!db_read_file(r->db, 0, head, sizeof head))
        return false;
    r->page_size = big16(head + 16) == 1 ? 65536 : big16(head + 16);
    r->usable = r->page_size - head[20];
    return r->page_size >= 512 && r->page_size <= RUN_BYTES && r->usable >= 480;
}

/* Where the cell begins in the page; 0: there is no such cell. */
static size_t cell_at(const struct reading *r, size_t list, uint32_t i)
{
    size_t at = list + 2 * (size_t)i;
    size_t cell = at + 2 <= r->usable ? big16(r->room + at) : 0;
    return cell < r->usable ? cell : 0;
}

/* The page below an interior one that has the row; 0: none. */
static uint32_t page_below(const struct reading *r)
{
    const uint8_t *page = r->room, *end = page + r->usable;
    uint32_t low = 0, high = big16(page + 3);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        size_t cell = cell_at(r, 12, middle);
        uint64_t id;
        if (!cell || cell + 4 > r->usable ||
            !db_format_number(page + cell + 4, end, &id))
            return 0;
        if (id < r->value->id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == big16(page + 3))
        return big32(page + 8);
    return big32(page + cell_at(r, 12, low)); /* which was looked at */
}

struct found {
    const uint8_t *local; /* what of the payload is on the page, ... */
    size_t n;
    uint64_t size;
    uint32_t next; /* ... and where it goes on; 0: that is all of it */
};

static bool read_cell(const struct reading *r, size_t at, uint64_t *id,
                      struct found *out)
{
    const uint8_t *p = r->room + at, *end = r->room + r->usable;
    size_t used = at ? db_format_number(p, end, &out->size) : 0;
    p += used;
    used = used ? db_format_number(p, end, id) : 0;
    p += used;
    if (!used)
        return false;
    out->local = p;
    out->n = db_format_local(r->usable, true, out->size);
    bool more = out->n < out->size;
    if ((size_t)(end - p) < out->n + (more ? 4 : 0))
        return false;
    out->next = more ? big32(p + out->n) : 0;
    return true;
}

static bool find_on_leaf(const struct reading *r, struct found *out)
{
    uint32_t n = big16(r->room + 3);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t id;
        if (!read_cell(r, cell_at(r, 8, i), &id, out))
            return false;
        if (id == r->value->id)
            return true;
    }
    return false;
}

static bool find_row(const struct reading *r, struct found *out)
{
    uint32_t page = r->value->root;
    for (int i = 0; i < HEIGHT_MOST; i++) {
        if (!read_pages(r, page, 1))
            return false;
        if (r->room[0] == TABLE_LEAF)
            return find_on_leaf(r, out);
        if (r->room[0] != TABLE_INTERIOR)
            return false;
        page = page_below(r);
    }
    return false;
}

/* What of the payload comes before the value; false if that is not a blob of the size.
 */
static bool find_value(const struct reading *r, const struct found *row, size_t *before)
{
    const uint8_t *at = row->local, *end = at + row->n;
    uint64_t head, type = 0;
    size_t used = db_format_number(at, end, &head);
    if (!used || head > row->n)
        return false;
    end = at + head;
    *before = (size_t)head;
    for (unsigned i = 0; i <= r->value->column; i++) {
        uint64_t size = db_format_size(type);
        if (size > row->n - *before)
            return false;
        *before += (size_t)size;
        at += used;
        used = db_format_number(at, end, &type);
        if (!used)
            return false;
    }
    return type >= 12 && type % 2 == 0 && (type - 12) / 2 == r->value->size &&
           row->size - *before >= r->value->size;
}

/* Pages that follow one another in the chain mostly do so in the file. */
static bool read_chain(const struct reading *r, uint32_t page, char *out, size_t left)
{
    const size_t step = r->usable - 4, most = RUN_BYTES / r->page_size;
    size_t run = most;
    while (left > 0) {
        size_t n = (left + step - 1) / step, i = 0;
        bool follows = true;
        n = n < run ? n : run;
        if (!read_pages(r, page, n)) {
            n = 1; /* the file may end before */
            if (!read_pages(r, page, n))
                return false;
        }
        while (follows && i < n) {
            const uint8_t *at = r->room + i++ * r->page_size;
            size_t part = left < step ? left : step;
            memcpy(out, at + 4, part);
            out += part;
            left -= part;
            follows = big32(at) == page + 1;
            page = big32(at);
        }
        run = i < n ? i : 2 * run < most ? 2 * run : most;
    }
    return true;
}

bool db_read_long(struct db *db, const struct db_long *value, char *out)
{
    struct reading r = {.db = db, .value = value, .room = malloc(RUN_BYTES)};
    struct found row;
    size_t before;
    bool good = r.room && read_header(&r) && find_row(&r, &row) &&
                find_value(&r, &row, &before);
    if (good) {
        size_t here = row.n - before;
        here = here < value->size ? here : value->size;
        memcpy(out, row.local + before, here);
        good = read_chain(&r, row.next, out + here, value->size - here);
    }
    free(r.room);
    return good;
}
