/* SPDX-License-Identifier: MIT */
/* The first record says what the columns are; every other one is then as long. */
#include "base/table.h"

#include "base/json_scan.h"
#include "base/memory.h"

#include <stdio.h>

#define SHOWN_TEXT(text) (int)((text).len < 60 ? (text).len : 60), (text).ptr

struct table_reading {
    const struct table_source *source;
    struct table *out;
    struct cairn_error *error;
    const char *at, *end;
    uint32_t line;         /* of `at` */
    struct buf names;      /* struct str: columns, while they are read */
    struct map by_name;    /* of a JSON table */
    struct json_scan scan; /* the same */
    bool plain;            /* of JSON: values, no objects */
};

/* ---- Rows ---- */

static struct arena *texts_of(const struct table_reading *r)
{
    return r->source->texts ? r->source->texts : &r->out->arena;
}

static int wrong(const struct table_reading *r, uint32_t line, const char *what)
{
    return error_set(r->error, CAIRN_EWORKFLOW, "line %u: %s", line, what);
}

/* Room for one more row: its cells, all without a value. */
static int begin_row(struct table_reading *r, uint32_t line, struct str **cells)
{
    struct table *t = r->out;
    size_t size = t->n_columns * sizeof(struct str);
    if (t->n_rows == r->source->most)
        return error_set(r->error, CAIRN_ELIMIT, "line %u: more than %u rows", line,
                         r->source->most);
    *cells = buf_grow(&t->cell_list, size);
    buf_add(&t->line_list, &line, sizeof line);
    if (!*cells || t->line_list.failed)
        return error_nomem(r->error);
    memset(*cells, 0, size);
    t->n_rows++;
    return 0;
}

static int check_cell(const struct table_reading *r, uint32_t line, struct str cell)
{
    return cell.len && memchr(cell.ptr, 0, cell.len)
               ? wrong(r, line, "there is a NUL byte in it")
               : 0;
}

static int keep_columns(struct table_reading *r, const struct str *names, size_t n)
{
    struct table *t = r->out;
    t->columns = arena_take(&t->arena, n, sizeof *t->columns);
    if (!t->columns || r->names.failed)
        return error_nomem(r->error);
    if (n)
        memcpy(t->columns, names, n * sizeof *names);
    t->n_columns = (uint32_t)n;
    return 0;
}

static int keep_names(struct table_reading *r)
{
    return keep_columns(r, (const struct str *)(const void *)r->names.data,
                        r->names.size / sizeof(struct str));
}

/* ---- Separated values ---- */

static char separator(const struct table_reading *r)
{
    return r->source->form == TABLE_TSV ? '\t' : ',';
}

/* At the end of a line: steps over it. */
static bool end_line(struct table_reading *r)
{
    size_t n = r->end - r->at >= 2 && r->at[0] == '\r' && r->at[1] == '\n' ? 2
               : r->at < r->end && *r->at == '\n'                          ? 1
                                                                           : 0;
    r->at += n;
    r->line += n > 0;
    return n || r->at == r->end;
}

/* Without "" for each ". */
static int undouble(struct table_reading *r, struct str *field)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < field->len; i++) {
        buf_byte(&text, (uint8_t)field->ptr[i]);
        i += field->ptr[i] == '"';
    }
    *field = arena_str(texts_of(r), buf_view(&text));
    bool failed = text.failed || !field->ptr;
    buf_release(&text);
    return failed ? error_nomem(r->error) : 0;
}

static int read_quoted(struct table_reading *r, struct str *out)
{
    uint32_t line = r->line;
    const char *start = ++r->at;
    bool doubled = false;
    while (r->at < r->end &&
           (*r->at != '"' || (r->at + 1 < r->end && r->at[1] == '"'))) {
        doubled |= *r->at == '"';
        r->line += *r->at == '\n';
        r->at += *r->at == '"' ? 2 : 1;
    }
    if (r->at == r->end)
        return wrong(r, line, "a field that begins with \" has no \" at its end");
    *out = (struct str){start, (size_t)(r->at++ - start)};
    return doubled ? undouble(r, out) : 0;
}

/* Up to a separator or the end of the line. */
static int read_field(struct table_reading *r, struct str *out)
{
    const char *start = r->at;
    int rc = 0;
    if (r->at < r->end && *r->at == '"') {
        uint32_t line = r->line;
        rc = read_quoted(r, out);
        if (!rc && r->at < r->end && *r->at != separator(r) && *r->at != '\n' &&
            *r->at != '\r')
            rc = wrong(r, r->line, "something stands behind the \" that ends a field");
        return rc ?: check_cell(r, line, *out);
    }
    while (r->at < r->end && *r->at != separator(r) && *r->at != '\n' &&
           *r->at != '\r' && *r->at != '"')
        r->at++;
    if (r->at < r->end && *r->at == '"')
        return wrong(r, r->line,
                     "a \" stands inside a field; the whole field belongs into "
                     "quotes, with \"\" for each of its own");
    *out = (struct str){start, (size_t)(r->at - start)};
    return check_cell(r, r->line, *out);
}

/* Behind a field: to the next one, or *last. */
static int end_field(struct table_reading *r, bool *last)
{
    *last = r->at == r->end || *r->at != separator(r);
    if (!*last)
        r->at++;
    else if (!end_line(r))
        return wrong(r, r->line, "a carriage return without a line feed behind it");
    return 0;
}

static int read_header(struct table_reading *r)
{
    bool last = false;
    int rc = 0;
    r->out->header = r->line;
    while (!last && !rc) {
        struct str name = {NULL, 0};
        rc = read_field(r, &name);
        buf_add(&r->names, &name, sizeof name);
        if (!rc)
            rc = end_field(r, &last);
    }
    return rc ?: keep_names(r);
}

static int read_record(struct table_reading *r)
{
    struct str *cells = NULL, field = {NULL, 0};
    uint32_t line = r->line, n = 0, wanted = r->out->n_columns;
    bool last = false;
    int rc = begin_row(r, line, &cells);
    while (!last && !rc) {
        rc = read_field(r, &field);
        if (!rc && n < wanted)
            cells[n] = field;
        n++;
        if (!rc)
            rc = end_field(r, &last);
    }
    if (!rc && n != wanted)
        rc = error_set(r->error, CAIRN_EWORKFLOW, "line %u: %u field%s, but %s %u",
                       line, n, n == 1 ? "" : "s",
                       r->source->columns ? "`columns` names" : "the first line has",
                       wanted);
    return rc;
}

static int read_separated(struct table_reading *r)
{
    bool header = !r->source->columns;
    int rc = 0;
    if (!header)
        rc = keep_columns(r, r->source->columns, r->source->n_columns);
    while (r->at < r->end && !rc) {
        if (end_line(r))
            continue;
        rc = header ? read_header(r) : read_record(r);
        header = false;
    }
    return rc;
}

/* ---- JSON ---- */

static enum json_token next_token(struct table_reading *r)
{
    const char *before = r->scan.at;
    enum json_token token = json_next(&r->scan);
    for (; before < r->scan.at; before++)
        r->line += *before == '\n';
    return token;
}

static int wrong_json(const struct table_reading *r, struct str text, uint32_t line)
{
    char why[JSON_WHY_BYTES];
    json_why(&r->scan, text, why);
    return line ? wrong(r, line, why) : error_set(r->error, CAIRN_EWORKFLOW, "%s", why);
}

static int meaning(struct table_reading *r, struct str raw, struct str *out)
{
    struct buf text = BUF_INIT;
    *out = raw;
    if (!raw.len || !memchr(raw.ptr, '\\', raw.len))
        return 0;
    json_unescape(raw, &text);
    *out = arena_str(texts_of(r), buf_view(&text));
    bool failed = text.failed || !out->ptr;
    buf_release(&text);
    return failed ? error_nomem(r->error) : 0;
}

/* The value that a token is, where it is one. */
static int read_json_value(struct table_reading *r, enum json_token token,
                           struct str *out)
{
    int rc = 0;
    switch (token) {
    case JSON_STRING:
        rc = meaning(r, r->scan.raw, out);
        break;
    case JSON_NUMBER:
    case JSON_TRUE:
    case JSON_FALSE:
        *out = r->scan.raw;
        break;
    case JSON_NULL:
        *out = STR("");
        break;
    default:
        return wrong(r, r->line,
                     "a list or an object inside a row; it has only texts, numbers, "
                     "true, false and null");
    }
    return rc ?: check_cell(r, r->line, *out);
}

/* The columns of a first object, which has been opened: only its keys. */
static int learn_columns(struct table_reading *r)
{
    struct json_scan scan = r->scan; /* it is read again, with its values */
    uint32_t depth = scan.depth;
    enum json_token token;
    int rc = 0;
    r->out->header = r->line;
    while ((token = json_next(&scan)) != JSON_BAD && token != JSON_END && !rc &&
           scan.depth >= depth) {
        struct str name;
        if (token != JSON_KEY || scan.depth != depth)
            continue;
        rc = meaning(r, scan.raw, &name) ?: check_cell(r, r->line, name);
        int added = rc ? rc
                       : map_add(&r->by_name, name,
                                 (uint32_t)(r->names.size / sizeof name), NULL);
        if (added == 0)
            rc = error_set(r->error, CAIRN_EWORKFLOW,
                           "line %u: the key `%.*s` is twice "
                           "in an object",
                           r->line, SHOWN_TEXT(name));
        else if (added < 0 && !rc)
            rc = error_nomem(r->error);
        buf_add(&r->names, &name, sizeof name);
    }
    if (!rc && !r->names.size && token != JSON_BAD)
        rc = wrong(r, r->line, "an object without keys");
    return rc ?: keep_names(r);
}

static int find_column(const struct table_reading *r, struct str name,
                       uint32_t expected, uint32_t *column)
{
    const struct table *t = r->out;
    *column = expected;
    if (expected < t->n_columns && str_equal(name, t->columns[expected]))
        return 0;
    *column = map_get(&r->by_name, name);
    if (*column != MAP_NONE)
        return 0;
    return error_set(r->error, CAIRN_EWORKFLOW,
                     "line %u: the key `%.*s` is not in the first object; all have the "
                     "same keys (null stands for nothing)",
                     r->line, SHOWN_TEXT(name));
}

static int check_object(const struct table_reading *r, const struct str *cells,
                        uint32_t line)
{
    for (uint32_t c = 0; c < r->out->n_columns; c++)
        if (!cells[c].ptr)
            return error_set(r->error, CAIRN_EWORKFLOW,
                             "line %u: there is no `%.*s`, which the first object has; "
                             "all have the same keys (null stands for nothing)",
                             line, SHOWN_TEXT(r->out->columns[c]));
    return 0;
}

/* An object that has been opened. JSON_BAD is left to the caller. */
static int read_object(struct table_reading *r, enum json_token *token)
{
    struct str *cells = NULL, name, value;
    uint32_t line = r->line, n = 0, column = 0;
    int rc = r->out->columns ? 0 : learn_columns(r);
    if (!rc)
        rc = begin_row(r, line, &cells);
    while (!rc && (*token = next_token(r)) == JSON_KEY) {
        rc = meaning(r, r->scan.raw, &name) ?: find_column(r, name, n++, &column);
        if (!rc && cells[column].ptr)
            rc = error_set(r->error, CAIRN_EWORKFLOW,
                           "line %u: the key `%.*s` is twice in an object", r->line,
                           SHOWN_TEXT(name));
        if (rc || (*token = next_token(r)) == JSON_BAD)
            return rc;
        rc = read_json_value(r, *token, &value);
        if (!rc)
            cells[column] = value;
    }
    return rc || *token == JSON_BAD ? rc : check_object(r, cells, line);
}

/* One row, which its first token begins. */
static int read_element(struct table_reading *r, enum json_token *token)
{
    struct str *cells = NULL, value;
    int rc;
    if (!r->out->columns)
        r->plain = *token != JSON_OBJECT;
    if (r->plain != (*token != JSON_OBJECT))
        return wrong(r, r->line,
                     r->plain ? "an object among values; all are of one kind"
                              : "a value among objects; all are of one kind");
    if (!r->plain)
        return read_object(r, token);
    rc = read_json_value(r, *token, &value);
    if (!rc && !r->out->columns)
        rc = keep_columns(r, &STR(""), 1);
    if (!rc)
        rc = begin_row(r, r->line, &cells);
    if (!rc)
        cells[0] = value;
    return rc;
}

static int read_json_list(struct table_reading *r)
{
    enum json_token token = next_token(r);
    int rc = 0;
    if (token != JSON_ARRAY && token != JSON_BAD)
        return wrong(r, r->line, "this must be a list: [{\"a\": 1}, {\"a\": 2}]");
    while (!rc && token != JSON_BAD && (token = next_token(r)) != JSON_ARRAY_END &&
           token != JSON_BAD)
        rc = read_element(r, &token);
    if (!rc && token != JSON_BAD)
        token = next_token(r);
    return !rc && token == JSON_BAD ? wrong_json(r, r->source->text, 0) : rc;
}

static int read_json_lines(struct table_reading *r)
{
    int rc = 0;
    while (r->at < r->end && !rc) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        struct str line = {r->at, (size_t)((stop ? stop : r->end) - r->at)};
        uint32_t number = r->line;
        r->at += line.len + (stop != NULL);
        while (line.len && strchr(" \t\r", line.ptr[line.len - 1]) &&
               line.ptr[line.len - 1])
            line.len--;
        r->scan = json_scan_of(line);
        enum json_token token = line.len ? next_token(r) : JSON_END;
        if (line.len && token != JSON_BAD)
            rc = read_element(r, &token);
        if (!rc && line.len && token != JSON_BAD)
            token = next_token(r);
        if (!rc && token == JSON_BAD)
            rc = wrong_json(r, line, number);
        r->line = number + 1;
    }
    return rc;
}

/* ---- A table ---- */

int table_read(const struct table_source *source, struct table *out,
               struct cairn_error *error)
{
    struct str text = str_without_mark(source->text);
    struct table_reading r = {.source = source,
                              .out = out,
                              .error = error,
                              .at = text.ptr,
                              .end = text.len ? text.ptr + text.len : text.ptr,
                              .line = 1,
                              .by_name = MAP_INIT,
                              .scan = json_scan_of(text)};
    *out = (struct table){.arena = ARENA_INIT};
    int rc = source->form == TABLE_JSON    ? read_json_list(&r)
             : source->form == TABLE_JSONL ? read_json_lines(&r)
                                           : read_separated(&r);
    map_release(&r.by_name);
    buf_release(&r.names);
    if (rc) {
        table_release(out);
        return rc;
    }
    out->cells = (struct str *)(void *)out->cell_list.data;
    out->lines = (uint32_t *)(void *)out->line_list.data;
    return 0;
}

void table_release(struct table *table)
{
    arena_release(&table->arena);
    buf_release(&table->cell_list);
    buf_release(&table->line_list);
    *table = (struct table){.arena = ARENA_INIT};
}
