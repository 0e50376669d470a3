/* SPDX-License-Identifier: MIT */
/* Decodes rows from the bytes of a page, and from the chain of pages that holds the
 * rest of a long one. SQLite's file format, sections 1.6 (cells) and 2.1 (rows).
 *
 * Every number from the file is bounded before it is used. */
#include "storage/rescue/salvage_int.h"

#include <assert.h>

const struct salvage_shape salvage_shapes[SALVAGE_TABLES + 1] = {
    [SALVAGE_META] = {"meta", "ttB", 2, false},
    [SALVAGE_WORKFLOW] = {"workflow", "it", 2, true},
    [SALVAGE_RUN] = {"run", "iibbtibiiiiiiiittiib", 20, true},
    [SALVAGE_RUN_GRAPH] = {"run_graph", "iibB", 3, false},
    [SALVAGE_OBJECT] = {"object", "ibiibI", 5, true},
    [SALVAGE_CHECKPOINT] = {"checkpoint", "iiiIiibb", 8, true},
    [SALVAGE_TOMBSTONE] = {"tombstone", "iiiiiiBbiBB", 9, true},
    [SALVAGE_QUARANTINE] = {"quarantine", "iit", 3, true},
    [SALVAGE_ATTEMPT] = {"attempt", "iiiiiIIIIIIIIIIIIBBBTIIIB", 21, false},
    [SALVAGE_COMMAND] = {"command", "iiiiiIIIBB", 5, true},
    [SALVAGE_CLAIM] = {"claim", "iiitttiiib", 10, false},
    [SALVAGE_EVENT] = {"event", "iiiiiIIIBB", 9, false},
    [SALVAGE_SESSION] = {"session", "itiitiibbb", 10, true},
    [SALVAGE_BRANCH] = {"branch", "iitiiitb", 8, true},
    [SALVAGE_ITEM] = {"item", "iiibb", 5, false},
    [SALVAGE_SESSION_LOG] = {"session_log", "iiiiiiibbb", 10, false},
    [SALVAGE_ANNOTATION] = {"annotation", "iiiiitb", 7, false},
    [SALVAGE_MESSAGE] = {"message", "iiiiiiiiiiiiiittbbbbb", 21, false},
    [SCHEMA_TABLE] = {"sqlite_schema", "tttIT", 5, false},
};

const char *salvage_name(enum salvage_table table)
{
    assert(table < SALVAGE_TABLES);
    return salvage_shapes[table].name;
}

int salvage_since(enum salvage_table table)
{
    assert(table < SALVAGE_TABLES);
    if (table == SALVAGE_MESSAGE)
        return 7;
    if (table >= SALVAGE_SESSION)
        return 6;
    return table == SALVAGE_CLAIM || table == SALVAGE_EVENT ? 2 : 1;
}

/* ---- Rows ---- */

/* Seven bits a byte, highest first; the ninth byte gives eight. 0: there is none. */
static size_t read_number(const uint8_t *at, const uint8_t *end, uint64_t *out)
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

static const uint8_t int_sizes[] = {0, 1, 2, 3, 4, 6, 8};

/* The value with a serial type; false if it does not fit into what is left. */
static bool read_value(uint64_t type, const uint8_t **at, const uint8_t *end,
                       struct sql_value *out)
{
    assert(*at <= end);
    *out = (struct sql_value){SQL_VALUE_NULL, 0, {NULL, 0}};
    if (type == 0)
        return true;
    if (type == 8 || type == 9) {
        *out = value_int((int64_t)type - 8);
        return true;
    }
    if (type < 7) {
        size_t n = int_sizes[type];
        uint64_t value = (size_t)(end - *at) >= n && (*at)[0] & 0x80 ? UINT64_MAX : 0;
        if ((size_t)(end - *at) < n)
            return false;
        for (size_t i = 0; i < n; i++)
            value = value << 8 | (*at)[i];
        *out = value_u64(value);
        *at += n;
        return true;
    }
    uint64_t n = type < 12 ? UINT64_MAX : (type - 12) / 2;
    if (n > (uint64_t)(end - *at))
        return false;
    struct str bytes = {(const char *)*at, (size_t)n};
    *out = type % 2 ? value_text(bytes) : value_blob(bytes);
    *at += n;
    return true;
}

static bool fits_column(char column, const struct sql_value *value)
{
    static const char kinds[] = {'n', 'i', 'b', 't'};
    if (value->kind == SQL_VALUE_NULL)
        return column >= 'A' && column <= 'Z';
    return (column | 0x20) == kinds[value->kind];
}

bool salvage_read_row(const struct salvage_shape *shape,
                      const struct salvage_cell *cell, struct salvage_row *row)
{
    assert(strlen(shape->columns) <= SALVAGE_COLUMNS);
    const uint8_t *at = (const uint8_t *)cell->payload.ptr;
    const uint8_t *end = at + cell->payload.len;
    int most = (int)strlen(shape->columns), n = 0;
    uint64_t head, type;
    size_t used = read_number(at, end, &head);
    if (used == 0 || head < used || head > cell->payload.len)
        return false;
    const uint8_t *types = at + used, *body = at + head;
    while (types < at + head && n < most) {
        used = read_number(types, at + head, &type);
        if (used == 0 || !read_value(type, &body, end, &row->values[n]))
            return false;
        types += used;
        if (n == 0 && shape->rowid) {
            if (row->values[0].kind != SQL_VALUE_NULL)
                return false;
            row->values[0] = value_u64(cell->rowid);
        }
        if (!fits_column(shape->columns[n], &row->values[n]))
            return false;
        n++;
    }
    if (types != at + head || body != end || n < shape->least)
        return false;
    for (row->n = most; n < most; n++)
        row->values[n] = (struct sql_value){SQL_VALUE_NULL, 0, {NULL, 0}};
    return true;
}

/* ---- Cells ---- */

size_t salvage_local(size_t usable, bool table, size_t size)
{
    assert(usable >= 480);
    size_t most = table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    size_t least = (usable - 12) * 32 / 255 - 23;
    if (size <= most)
        return size;
    size_t local = least + (size - least) % (usable - 4);
    return local <= most ? local : least;
}

/* Once memory has run out the buffer stays failed until the end, where it is reported.
 * A chain that comes back to a page is none: that page is compared with one before it,
 * ever further ahead (Brent). */
bool salvage_join(struct salvage *s, struct str start, uint32_t page, size_t left)
{
    assert(left > 0);
    size_t step = s->pages->usable - 4;
    uint32_t mark = 0;
    size_t steps = 0, next_mark = 1;
    if (s->payload.failed || left > s->left)
        return false;
    buf_clear(&s->payload);
    buf_str(&s->payload, start);
    while (left > 0 && !s->payload.failed) {
        const uint8_t *at = pages_at(s->pages, page);
        size_t n = left < step ? left : step;
        if (!at || page == mark)
            return false;
        if (++steps == next_mark) {
            mark = page;
            next_mark *= 2;
        }
        buf_add(&s->payload, at + 4, n);
        page = big32(at);
        left -= n;
        s->left -= n;
    }
    return !s->payload.failed;
}

bool salvage_read_cell(struct salvage *s, const uint8_t *page, size_t at, bool table,
                       struct salvage_cell *cell)
{
    assert(at <= s->pages->usable);
    const uint8_t *end = page + s->pages->usable, *p = page + at;
    uint64_t size = 0;
    size_t used = p < end ? read_number(p, end, &size) : 0;
    p += used;
    if (used && table) {
        used = read_number(p, end, &cell->rowid);
        p += used;
    }
    if (used == 0 || size > (uint64_t)s->pages->n * s->pages->page_size)
        return false;
    size_t local = salvage_local(s->pages->usable, table, (size_t)size);
    size_t chain = local < size ? 4 : 0;
    if ((size_t)(end - p) < local + chain)
        return false;
    cell->payload = (struct str){(const char *)p, local};
    if (!chain)
        return true;
    if (!salvage_join(s, cell->payload, big32(p + local), (size_t)size - local))
        return false;
    cell->payload = buf_view(&s->payload);
    return true;
}
