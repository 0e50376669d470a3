/* SQLite's file format, section 1.6 (pages of trees) and 2.1 (rows).
 *
 * Every number from the file is bounded before it is used; trees are walked with a list
 * of pages to do, each of which is entered once, so that a page that leads to itself
 * ends nothing. */
#include "storage/salvage.h"

#include <stdlib.h>

enum page_kind {
    INDEX_INTERIOR = 2,
    TABLE_INTERIOR = 5,
    INDEX_LEAF = 10,
    TABLE_LEAF = 13
};
enum { OTHER = 254, FREE = 255, SCHEMA_TABLE = SALVAGE_TABLES };

/* Kinds of columns: i integer, b blob, t text; capitals may be NULL. `least` is the
 * number of columns before later versions added some. The row id stands in the first
 * column, and in the row itself there is NULL, where `rowid` is set. */
static const struct shape {
    const char *name, *columns;
    int least;
    bool rowid;
} shapes[SALVAGE_TABLES + 1] = {
    [SALVAGE_META] = {"meta", "ttB", 2, false},
    [SALVAGE_WORKFLOW] = {"workflow", "it", 2, true},
    [SALVAGE_RUN] = {"run", "iibbtibiiiiiiiittiib", 20, true},
    [SALVAGE_RUN_GRAPH] = {"run_graph", "iibB", 3, false},
    [SALVAGE_OBJECT] = {"object", "ibiib", 5, true},
    [SALVAGE_CHECKPOINT] = {"checkpoint", "iiiIiibb", 8, true},
    [SALVAGE_TOMBSTONE] = {"tombstone", "iiiiiiBbiB", 9, true},
    [SALVAGE_QUARANTINE] = {"quarantine", "iit", 3, true},
    [SALVAGE_ATTEMPT] = {"attempt", "iiiiiIIIIIIIIIIIIBBBTIIIB", 21, false},
    [SALVAGE_COMMAND] = {"command", "iiiiiIIIBB", 5, true},
    [SALVAGE_CLAIM] = {"claim", "iiitttiiib", 10, false},
    [SALVAGE_EVENT] = {"event", "iiiiiIIIBB", 9, false},
    [SCHEMA_TABLE] = {"sqlite_schema", "tttIT", 5, false},
};

const char *salvage_name(enum salvage_table table)
{
    return shapes[table].name;
}

int salvage_columns(enum salvage_table table)
{
    return (int)strlen(shapes[table].columns);
}

/* ---- Numbers of the file ---- */

static uint32_t big16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t big32(const uint8_t *at)
{
    return big16(at) << 16 | big16(at + 2);
}

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

/* ---- Rows ---- */

static const uint8_t int_sizes[] = {0, 1, 2, 3, 4, 6, 8};

/* The value with a serial type; false if it does not fit into what is left. */
static bool read_value(uint64_t type, const uint8_t **at, const uint8_t *end,
                       struct sql_value *out)
{
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

static bool fits(char column, const struct sql_value *value)
{
    static const char kinds[] = {'n', 'i', 'b', 't'};
    if (value->kind == SQL_VALUE_NULL)
        return column >= 'A' && column <= 'Z';
    return (column | 0x20) == kinds[value->kind];
}

/* False if the payload is no row of that table. */
static bool read_row(const struct shape *shape, struct str payload, uint64_t rowid,
                     struct salvage_row *row)
{
    const uint8_t *at = (const uint8_t *)payload.ptr, *end = at + payload.len;
    int most = (int)strlen(shape->columns), n = 0;
    uint64_t head, type;
    size_t used = read_number(at, end, &head);
    if (used == 0 || head < used || head > payload.len)
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
            row->values[0] = value_u64(rowid);
        }
        if (!fits(shape->columns[n], &row->values[n]))
            return false;
        n++;
    }
    if (types != at + head || body != end || n < shape->least)
        return false;
    for (row->n = most; n < most; n++)
        row->values[n] = (struct sql_value){SQL_VALUE_NULL, 0, {NULL, 0}};
    return true;
}

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
    size_t at = big16(leaf->page + leaf->first + 2 * i);
    return at >= leaf->first && at + 4 <= pages->usable ? at : 0;
}

/* ---- Cells ---- */

/* How many bytes of a payload stand on the page itself. */
static size_t local_bytes(size_t usable, bool table, size_t size)
{
    size_t most = table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    size_t least = (usable - 12) * 32 / 255 - 23;
    if (size <= most)
        return size;
    size_t local = least + (size - least) % (usable - 4);
    return local <= most ? local : least;
}

/* The rest of a payload from its chain of pages. False if the chain ends early. */
static bool follow(struct salvage *s, uint32_t page, size_t left)
{
    size_t step = s->pages->usable - 4;
    while (left > 0) {
        const uint8_t *at = pages_at(s->pages, page);
        size_t n = left < step ? left : step;
        if (!at || s->payload.failed)
            return false;
        buf_add(&s->payload, at + 4, n);
        page = big32(at);
        left -= n;
    }
    return true;
}

struct cell {
    uint64_t rowid;
    struct str payload;
};

/* The cell's payload, whole; false if it is none. */
static bool read_cell(struct salvage *s, const uint8_t *page, size_t at, bool table,
                      struct cell *cell)
{
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
    size_t local = local_bytes(s->pages->usable, table, (size_t)size);
    size_t chain = local < size ? 4 : 0;
    if ((size_t)(end - p) < local + chain)
        return false;
    cell->payload = (struct str){(const char *)p, local};
    if (!chain)
        return true;
    buf_clear(&s->payload);
    buf_str(&s->payload, cell->payload);
    if (!follow(s, big32(p + local), (size_t)size - local))
        return false;
    cell->payload = buf_view(&s->payload);
    return !s->payload.failed;
}

/* Calls for whatever could be a row of the table, wherever it begins. */
static int scan_page(struct salvage *s, uint32_t number, enum salvage_table table,
                     salvage_fn *each, void *context)
{
    const struct shape *shape = &shapes[table];
    const uint8_t *page = pages_at(s->pages, number);
    int rc = 0;
    for (size_t at = 8; page && at + 4 <= s->pages->usable && rc == 0; at++) {
        struct salvage_row row = {.table = table, .scanned = true};
        struct cell cell = {0};
        if (read_cell(s, page, at, shape->rowid, &cell) &&
            read_row(shape, cell.payload, cell.rowid, &row))
            rc = each(context, &row);
    }
    return rc;
}

struct visit {
    struct salvage *salvage;
    int table; /* SCHEMA_TABLE too */
    salvage_fn *each;
    void *context;
    size_t bad; /* cells that hold no such row */
};

/* Calls for every row of the table on the page. */
static int visit_page(struct visit *visit, uint32_t number)
{
    const struct pages *pages = visit->salvage->pages;
    const struct shape *shape = &shapes[visit->table];
    struct leaf leaf;
    if (!open_page(pages, number, &leaf))
        return 0;
    uint8_t kind = leaf.page[leaf.start];
    bool of_table = shape->rowid || visit->table == SCHEMA_TABLE;
    if (kind == TABLE_INTERIOR || of_table != (kind == TABLE_LEAF))
        return 0;
    int rc = 0;
    for (size_t i = 0; i < leaf.cells && rc == 0; i++) {
        struct salvage_row row = {.table = (enum salvage_table)visit->table};
        struct cell cell = {0};
        size_t at = cell_at(pages, &leaf, i);
        at += at && kind == INDEX_INTERIOR ? 4 : 0; /* behind the child's number */
        bool good = at && read_cell(visit->salvage, leaf.page, at, of_table, &cell);
        if (good && read_row(shape, cell.payload, cell.rowid, &row))
            rc = visit->each(visit->context, &row);
        else
            visit->bad++;
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
    if (todo->n == todo->room) {
        size_t room = todo->room ? 2 * todo->room : 64;
        uint32_t *pages = realloc(todo->pages, room * sizeof *pages);
        if (!pages)
            return error_nomem(error);
        todo->pages = pages;
        todo->room = room;
    }
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
    return rc ? rc : add_todo(todo, big32(leaf->page + leaf->start + 8), error);
}

/* Marks the pages of the tree as those of `owner`. */
static int walk(struct salvage *s, uint32_t root, uint8_t owner,
                struct cairn_error *error)
{
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

/* Free pages hold rows that were deleted: they must not come back. */
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

static int note_root(void *context, const struct salvage_row *row)
{
    struct salvage *s = context;
    int64_t root = row->values[3].integer;
    bool is_table = str_equal(row->values[0].bytes, STR("table"));
    if (root < 1 || root > s->pages->n)
        return 0;
    for (int i = 0; is_table && i < SALVAGE_TABLES; i++)
        if (str_equal(row->values[1].bytes, str_of(shapes[i].name)))
            s->roots[i] = (uint32_t)root;
    return 0;
}

static int note_index(void *context, const struct salvage_row *row)
{
    struct salvage *s = context;
    if (!str_equal(row->values[0].bytes, STR("index")))
        return 0;
    return walk(s, (uint32_t)row->values[3].integer, OTHER, NULL);
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
    if (owner)
        s->bad_rows += visit.bad;
    if (s->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}

static int read_schema(struct salvage *s, struct cairn_error *error)
{
    int rc = walk(s, 1, OTHER, error);
    if (!rc)
        rc = each_on(s, SCHEMA_TABLE, OTHER, note_root, s, error);
    s->schema = true;
    for (int i = 0; i < SALVAGE_TABLES && !rc; i++) {
        s->schema = s->schema && s->roots[i];
        if (s->roots[i])
            rc = walk(s, s->roots[i], (uint8_t)(i + 1), error);
    }
    return rc;
}

int salvage_open(struct salvage *salvage, const struct pages *pages,
                 struct cairn_error *error)
{
    *salvage = (struct salvage){.pages = pages};
    salvage->owner = calloc((size_t)pages->n + 1, 1);
    if (!salvage->owner)
        return error_nomem(error);
    int rc = read_schema(salvage, error);
    if (!rc)
        rc = each_on(salvage, SCHEMA_TABLE, OTHER, note_index, salvage, error);
    if (rc) {
        salvage_close(salvage);
        return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
    }
    salvage->bad_rows = 0;
    mark_free(salvage);
    return 0;
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
    return each_on(salvage, (int)table, (uint8_t)(table + 1), each, context, error);
}

int salvage_stray(struct salvage *salvage, enum salvage_table table, salvage_fn *each,
                  void *context, struct cairn_error *error)
{
    int rc = each_on(salvage, (int)table, 0, each, context, error);
    for (uint32_t page = 1; page <= salvage->pages->n && rc == 0; page++)
        if (salvage->owner[page] == 0 || salvage->owner[page] == table + 1)
            rc = scan_page(salvage, page, table, each, context);
    if (salvage->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}

/* ---- Blobs ---- */

/* The row is longer than the page: how much of it stands here depends on how many bytes
 * of it come before the blob. */
static int try_chains(struct salvage *s, const struct salvage_blob *wanted,
                      const uint8_t *page, size_t at, size_t size)
{
    enum { LEAST_BEFORE = 8, MOST_BEFORE = 64 };
    size_t usable = s->pages->usable;
    int rc = 0;
    for (size_t before = LEAST_BEFORE; before <= MOST_BEFORE && rc == 0; before++) {
        size_t whole = before + size + wanted->tail;
        size_t local = local_bytes(usable, true, whole);
        if (local == whole || local < before || at + local - before + 4 > usable)
            continue;
        buf_clear(&s->payload);
        buf_add(&s->payload, page + at, local - before);
        if (!follow(s, big32(page + at + local - before), whole - local))
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
    int rc = 0;
    for (uint32_t page = 1; page <= salvage->pages->n && rc == 0; page++)
        if (salvage->owner[page] == 0 || salvage->owner[page] == wanted->table + 1)
            rc = blobs_on(salvage, wanted, page);
    if (salvage->payload.failed)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}
