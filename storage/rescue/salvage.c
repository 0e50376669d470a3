/* SPDX-License-Identifier: MIT */
/* Finds blobs that state their own length, for rows that are damaged themselves. */
#include "storage/rescue/salvage.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { SCHEMA_TABLE = SALVAGE_TABLES }; /* the table of tables, beside the others */

/* Kinds of columns: i integer, b blob, t text; capitals may be NULL. `least` is the
 * number of columns before later versions added some. */
enum salvage_tree {
    KEYED,  /* WITHOUT ROWID: on pages of an index */
    HAS_ID, /* the first column is the row id, and NULL in the row itself */
    NO_ID,  /* of a table, too, without such a column */
    EITHER  /* KEYED before version 8, then NO_ID */
};
struct salvage_shape {
    const char *name, *columns;
    int least;
    enum salvage_tree tree;
    int derived; /* columns at its end that follow from the others: not handed out */
};

struct salvage_cell {
    uint64_t rowid;
    struct str payload; /* on the page, or in the scratch of the salvage */
};

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
        size_t local = db_format_local(usable, true, whole);
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

/* Decodes rows from the bytes of a page, and from the chain of pages that holds the
 * rest of a long one. SQLite's file format, sections 1.6 (cells) and 2.1 (rows).
 *
 * Every number from the file is bounded before it is used. */

static const struct salvage_shape salvage_shapes[SALVAGE_TABLES + 1] = {
    [SALVAGE_META] = {"meta", "ttB", 2, KEYED, 0},
    [SALVAGE_WORKFLOW] = {"workflow", "it", 2, HAS_ID, 0},
    [SALVAGE_RUN] = {"run", "iibbtibiiiiiiiittiib", 20, HAS_ID, 0},
    [SALVAGE_RUN_GRAPH] = {"run_graph", "iibB", 3, KEYED, 0},
    [SALVAGE_OBJECT] = {"object", "ibiibI", 5, HAS_ID, 0},
    [SALVAGE_CHECKPOINT] = {"checkpoint", "iiiIiibb", 8, HAS_ID, 0},
    [SALVAGE_TOMBSTONE] = {"tombstone", "iiiiiiBbiBB", 9, HAS_ID, 0},
    [SALVAGE_QUARANTINE] = {"quarantine", "iit", 3, HAS_ID, 0},
    [SALVAGE_ATTEMPT] = {"attempt", "iiiiiIIIIIIIIIIIIBBBTIIIB", 21, KEYED, 0},
    [SALVAGE_COMMAND] = {"command", "iiiiiIIIBB", 5, HAS_ID, 0},
    [SALVAGE_CLAIM] = {"claim", "iiitttiiib", 10, KEYED, 0},
    [SALVAGE_EVENT] = {"event", "iiiiiIIIBB", 9, KEYED, 0},
    [SALVAGE_SESSION] = {"session", "itiitiibbb", 10, HAS_ID, 0},
    [SALVAGE_BRANCH] = {"branch", "iitiiitb", 8, HAS_ID, 0},
    [SALVAGE_ITEM] = {"item", "iiibbIII", 5, EITHER, 3},
    [SALVAGE_SESSION_LOG] = {"session_log", "iiiiiiibbb", 10, EITHER, 0},
    [SALVAGE_ANNOTATION] = {"annotation", "iiiiitb", 7, KEYED, 0},
    [SALVAGE_MESSAGE] = {"message", "iiiiiiiiiiiiiittbbbbb", 21, EITHER, 0},
    [SCHEMA_TABLE] = {"sqlite_schema", "tttIT", 5, NO_ID, 0},
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
        size_t n = (size_t)db_format_size(type);
        uint64_t value = (size_t)(end - *at) >= n && (*at)[0] & 0x80 ? UINT64_MAX : 0;
        if ((size_t)(end - *at) < n)
            return false;
        for (size_t i = 0; i < n; i++)
            value = value << 8 | (*at)[i];
        *out = value_u64(value);
        *at += n;
        return true;
    }
    uint64_t n = type < 12 ? UINT64_MAX : db_format_size(type);
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

/* Fills the values; false if the cell holds no row of that shape. */
static bool salvage_read_row(const struct salvage_shape *shape,
                             const struct salvage_cell *cell, struct salvage_row *row)
{
    assert(strlen(shape->columns) <= SALVAGE_COLUMNS);
    const uint8_t *at = (const uint8_t *)cell->payload.ptr;
    const uint8_t *end = at + cell->payload.len;
    int most = (int)strlen(shape->columns), n = 0;
    uint64_t head, type;
    size_t used = db_format_number(at, end, &head);
    if (used == 0 || head < used || head > cell->payload.len)
        return false;
    const uint8_t *types = at + used, *body = at + head;
    while (types < at + head && n < most) {
        used = db_format_number(types, at + head, &type);
        if (used == 0 || !read_value(type, &body, end, &row->values[n]))
            return false;
        types += used;
        if (n == 0 && shape->tree == HAS_ID) {
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
    for (; n < most; n++)
        row->values[n] = (struct sql_value){SQL_VALUE_NULL, 0, {NULL, 0}};
    row->n = most - shape->derived;
    return true;
}

/* ---- Cells ---- */

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

/* The cell at `at` with its whole payload; false if there is none. `table`: of a tree
 * with row ids. */
static bool salvage_read_cell(struct salvage *s, const uint8_t *page, size_t at,
                              bool table, struct salvage_cell *cell)
{
    assert(at <= s->pages->usable);
    const uint8_t *end = page + s->pages->usable, *p = page + at;
    uint64_t size = 0;
    size_t used = p < end ? db_format_number(p, end, &size) : 0;
    p += used;
    if (used && table) {
        used = db_format_number(p, end, &cell->rowid);
        p += used;
    }
    if (used == 0 || size > (uint64_t)s->pages->n * s->pages->page_size)
        return false;
    size_t local = db_format_local(s->pages->usable, table, (size_t)size);
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

/* The trees of a database: which pages they have, and the rows on these. SQLite's file
 * format, section 1.6.
 *
 * Trees are walked with a list of pages still to visit. Each page is visited only once,
 * so that a page which leads to itself does no harm. */

enum { OTHER = 254, FREE = 255 };

_Static_assert((int)SALVAGE_TABLES < (int)OTHER,
               "a page's owner is a table and one, or these");

/* ---- Pages ---- */

struct leaf {
    const uint8_t *page; /* its own header begins at `start` */
    size_t start, cells, first;
};

static bool is_kind(uint8_t kind)
{
    return kind == INDEX_INTERIOR || kind == TABLE_INTERIOR || kind == INDEX_LEAF ||
           kind == TABLE_LEAF;
}

/* Page 1 begins with the header of the file. */
static bool open_page(const struct pages *pages, uint32_t number, struct leaf *leaf)
{
    const uint8_t *page = pages_at(pages, number);
    size_t start = number == 1 ? 100 : 0;
    if (!page || !is_kind(page[start]))
        return false;
    bool interior = page[start] == INDEX_INTERIOR || page[start] == TABLE_INTERIOR;
    *leaf = (struct leaf){.page = page,
                          .start = start,
                          .cells = big16(page + start + 3),
                          .first = start + (interior ? 12 : 8)};
    return leaf->first + 2 * leaf->cells <= pages->usable;
}

/* Offset of a cell; 0: none. */
static size_t cell_at(const struct pages *pages, const struct leaf *leaf, size_t i)
{
    assert(i < leaf->cells);
    size_t at = big16(leaf->page + leaf->first + 2 * i);
    return at >= leaf->first && at + 4 <= pages->usable ? at : 0;
}

/* ---- Rows ---- */

/* No two rows share a page of their chains, so those of one page are no longer than the
 * file; twice, since what is not a row may look like one. */
static void begin_page(struct salvage *s)
{
    s->left = 2 * (size_t)s->pages->n * s->pages->page_size;
}

/* Whether a page of the tree of a table, or of an index, can have its rows. */
static bool can_be_on(const struct salvage_shape *shape, bool of_table)
{
    return shape->tree == EITHER || of_table == (shape->tree != KEYED);
}

/* Calls for whatever could be a row of the table, wherever it begins. */
static int scan_page(struct salvage *s, uint32_t number, enum salvage_table table,
                     salvage_fn *each, void *context)
{
    assert(table < SALVAGE_TABLES);
    const struct salvage_shape *shape = &salvage_shapes[table];
    const uint8_t *page = pages_at(s->pages, number);
    int rc = 0;
    begin_page(s);
    for (size_t at = 8; page && at + 4 <= s->pages->usable && rc == 0; at++)
        for (int of_table = 0; of_table < 2 && rc == 0; of_table++) {
            struct salvage_row row = {.table = table, .scanned = true};
            struct salvage_cell cell = {0};
            if (can_be_on(shape, of_table) &&
                salvage_read_cell(s, page, at, of_table, &cell) &&
                salvage_read_row(shape, &cell, &row))
                rc = each(context, &row);
        }
    return rc;
}

struct visit {
    struct salvage *salvage;
    int table; /* SCHEMA_TABLE too */
    salvage_fn *each;
    void *context;
    size_t unread; /* cells without a row */
};

/* Calls for every row of the table on the page. */
static int visit_page(struct visit *visit, uint32_t number)
{
    assert(visit->table >= 0 && visit->table <= SCHEMA_TABLE);
    const struct pages *pages = visit->salvage->pages;
    const struct salvage_shape *shape = &salvage_shapes[visit->table];
    struct leaf leaf;
    if (!open_page(pages, number, &leaf))
        return 0;
    uint8_t kind = leaf.page[leaf.start];
    bool of_table = kind == TABLE_LEAF;
    if (kind == TABLE_INTERIOR || !can_be_on(shape, of_table))
        return 0;
    int rc = 0;
    begin_page(visit->salvage);
    for (size_t i = 0; i < leaf.cells && rc == 0; i++) {
        struct salvage_row row = {.table = (enum salvage_table)visit->table};
        struct salvage_cell cell = {0};
        size_t at = cell_at(pages, &leaf, i);
        at += at && kind == INDEX_INTERIOR ? 4 : 0; /* behind the child's number */
        bool good =
            at && salvage_read_cell(visit->salvage, leaf.page, at, of_table, &cell);
        good = good && salvage_read_row(shape, &cell, &row);
        visit->unread += !good;
        if (good)
            rc = visit->each(visit->context, &row);
    }
    return rc;
}

/* ---- Trees ---- */

struct todo {
    uint32_t *pages;
    size_t n, room;
};

static int add_todo(struct todo *todo, uint32_t page, struct cairn_error *error)
{
    uint32_t *pages = array_room(todo->pages, todo->n, &todo->room, sizeof *pages);
    if (!pages)
        return error_nomem(error);
    todo->pages = pages;
    todo->pages[todo->n++] = page;
    return 0;
}

static int add_children(struct salvage *s, const struct leaf *leaf, struct todo *todo,
                        struct cairn_error *error)
{
    uint8_t kind = leaf->page[leaf->start];
    int rc = 0;
    if (kind != INDEX_INTERIOR && kind != TABLE_INTERIOR)
        return 0;
    for (size_t i = 0; i < leaf->cells && rc == 0; i++) {
        size_t at = cell_at(s->pages, leaf, i);
        if (at)
            rc = add_todo(todo, big32(leaf->page + at), error);
        else
            s->bad_pages++;
    }
    return rc ?: add_todo(todo, big32(leaf->page + leaf->start + 8), error);
}

/* Marks the pages of the tree as those of `owner`. */
static int mark_tree(struct salvage *s, uint32_t root, uint8_t owner,
                     struct cairn_error *error)
{
    assert(owner != 0 && owner != FREE);
    struct todo todo = {0};
    int rc = add_todo(&todo, root, error);
    while (rc == 0 && todo.n > 0) {
        uint32_t page = todo.pages[--todo.n];
        struct leaf leaf;
        if (page < 1 || page > s->pages->n || s->owner[page] ||
            !open_page(s->pages, page, &leaf)) {
            s->bad_pages++;
            continue;
        }
        s->owner[page] = owner;
        rc = add_children(s, &leaf, &todo, error);
    }
    free(todo.pages);
    return rc;
}

/* Free pages hold deleted rows, which must not come back. */
static void mark_free(struct salvage *s)
{
    const uint8_t *first = pages_at(s->pages, 1);
    uint32_t trunk = first ? big32(first + 32) : 0;
    while (trunk >= 1 && trunk <= s->pages->n && s->owner[trunk] == 0) {
        const uint8_t *page = pages_at(s->pages, trunk);
        if (!page)
            return;
        size_t n = big32(page + 4), most = s->pages->usable / 4 - 2;
        s->owner[trunk] = FREE;
        for (size_t i = 0; i < n && i < most; i++) {
            uint32_t leaf = big32(page + 8 + 4 * i);
            if (leaf >= 1 && leaf <= s->pages->n && s->owner[leaf] == 0)
                s->owner[leaf] = FREE;
        }
        trunk = big32(page);
    }
}

/* ---- The schema ---- */

enum { SCHEMA_TYPE = 0, SCHEMA_NAME = 1, SCHEMA_ROOT = 3 }; /* columns */

static int note_root(void *context, const struct salvage_row *row)
{
    struct salvage *s = context;
    int64_t root = row->values[SCHEMA_ROOT].integer;
    bool is_table = str_equal(row->values[SCHEMA_TYPE].bytes, STR("table"));
    if (root < 1 || root > s->pages->n)
        return 0;
    for (int i = 0; is_table && i < SALVAGE_TABLES; i++)
        if (str_equal(row->values[SCHEMA_NAME].bytes, str_of(salvage_shapes[i].name)))
            s->roots[i] = (uint32_t)root;
    return 0;
}

static int note_index(void *context, const struct salvage_row *row)
{
    struct salvage *s = context;
    if (!str_equal(row->values[SCHEMA_TYPE].bytes, STR("index")))
        return 0;
    return mark_tree(s, (uint32_t)row->values[SCHEMA_ROOT].integer, OTHER, NULL);
}

static int each_on(struct salvage *s, int table, uint8_t owner, salvage_fn *each,
                   void *context, struct cairn_error *error)
{
    struct visit visit = {
        .salvage = s, .table = table, .each = each, .context = context};
    int rc = 0;
    for (uint32_t page = 1; page <= s->pages->n && rc == 0; page++)
        if (s->owner[page] == owner)
            rc = visit_page(&visit, page);
    s->unread = visit.unread;
    if (s->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}

static int read_schema(struct salvage *s, struct cairn_error *error)
{
    int rc = mark_tree(s, 1, OTHER, error)
                 ?: each_on(s, SCHEMA_TABLE, OTHER, note_root, s, error);
    for (int i = 0; i < SALVAGE_TABLES && !rc; i++)
        if (s->roots[i])
            rc = mark_tree(s, s->roots[i], (uint8_t)(i + 1), error);
    return rc;
}

/* ---- Misplaced pages ---- */

static int stop_at_row(void *context, const struct salvage_row *row)
{
    (void)context;
    (void)row;
    return 1;
}

/* Whether one of the rows on the page could be the table's. */
static bool has_row(struct salvage *s, uint32_t page, int table)
{
    assert(page >= 1 && page <= s->pages->n);
    struct visit visit = {.salvage = s, .table = table, .each = stop_at_row};
    return visit_page(&visit, page) != 0;
}

/* Whether a page does not belong to the tree that leads to it. */
static bool is_misplaced(struct salvage *s, uint32_t page)
{
    struct leaf leaf;
    assert(page >= 1 && page <= s->pages->n);
    int owner = s->owner[page];
    if (owner == 0 || owner == FREE || !open_page(s->pages, page, &leaf) ||
        leaf.cells == 0)
        return false;
    uint8_t kind = leaf.page[leaf.start];
    if (owner != OTHER)
        return kind != TABLE_INTERIOR && !has_row(s, page, owner - 1);
    if (kind == TABLE_LEAF)
        return !has_row(s, page, SCHEMA_TABLE);
    for (int i = 0; i < SALVAGE_TABLES; i++)
        if (can_be_on(&salvage_shapes[i], false) && has_row(s, page, i))
            return true;
    return false;
}

/* Pages that a disk wrote in the place of others are treated like those that no tree
 * leads to. */
static void disown_misplaced(struct salvage *s)
{
    struct leaf leaf;
    for (uint32_t page = 1; page <= s->pages->n; page++) {
        if (!is_misplaced(s, page))
            continue;
        int owner = s->owner[page];
        if (owner != OTHER && open_page(s->pages, page, &leaf))
            s->misplaced[owner - 1] += leaf.cells;
        s->owner[page] = 0;
    }
}

int salvage_open(struct salvage *salvage, const struct pages *pages,
                 struct cairn_error *error)
{
    assert(pages->newest);
    *salvage = (struct salvage){.pages = pages};
    salvage->owner = calloc((size_t)pages->n + 2, 1); /* from 1, which is asked for */
    if (!salvage->owner)
        return error_nomem(error);
    int rc = read_schema(salvage, error);
    salvage->bad_tables = salvage->bad_pages - (salvage->owner[1] == 0);
    if (!rc)
        rc = each_on(salvage, SCHEMA_TABLE, OTHER, note_index, salvage, error);
    if (!rc) {
        mark_free(salvage);
        disown_misplaced(salvage);
        rc = salvage->payload.failed ? CAIRN_ENOMEM : 0;
    }
    if (rc)
        salvage_close(salvage);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
}

void salvage_close(struct salvage *salvage)
{
    free(salvage->owner);
    buf_release(&salvage->payload);
    *salvage = (struct salvage){0};
}

int salvage_reached(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                    void *context, struct cairn_error *error)
{
    assert(salvage->owner && table < SALVAGE_TABLES);
    int rc = each_on(salvage, (int)table, (uint8_t)(table + 1), each, context, error);
    salvage->unread += salvage->misplaced[table];
    return rc;
}

int salvage_stray(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                  void *context, struct cairn_error *error)
{
    assert(salvage->owner && table < SALVAGE_TABLES);
    int rc = each_on(salvage, (int)table, 0, each, context, error);
    for (uint32_t page = 1; page <= salvage->pages->n && rc == 0; page++)
        if (salvage->owner[page] == 0 || salvage->owner[page] == table + 1)
            rc = scan_page(salvage, page, table, each, context);
    if (salvage->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}
