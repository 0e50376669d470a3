/* SPDX-License-Identifier: MIT */
/* What all sources of foreach values use, and sample sheets that are read with the
 * workflow file: until drop_unused_columns a key has all columns, in scratch memory. */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/os.h"
#include "base/words.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/sheets.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- What the sources of foreach values share ---- */

int foreach_check_size(const struct foreach_reading *r, struct str value,
                       struct position at)
{
    char what[128];
    r->p->value_bytes += value.len;
    if (r->p->value_bytes > LIMIT_FOREACH_BYTES)
        return diagnose_as(&r->p->diagnostic, CAIRN_ELIMIT, at,
                           "more than %d bytes in all values of `foreach`",
                           LIMIT_FOREACH_BYTES);
    if (r->key->name.len + 1 + value.len <= LIMIT_ENV_STRING)
        return 0;
    snprintf(what, sizeof what, "a value of the %s `%.*s`",
             r->node ? "foreach key" : "column", SHOWN(r->key->name));
    return too_long(r->p, at, what);
}

int foreach_count_values(const struct foreach_reading *r, uint64_t n)
{
    uint64_t before = r->p->n_values;
    if (n <= LIMIT_TASKS && before + n <= LIMIT_TASKS) {
        r->p->n_values += n;
        return 0;
    }
    return diagnose_as(
        &r->p->diagnostic, CAIRN_ELIMIT, r->node->at, "more than %d values%s",
        LIMIT_TASKS, n > LIMIT_TASKS ? "" : ", with those of the `foreach` before it");
}

int foreach_take_values(struct foreach_reading *r, uint64_t n)
{
    int rc = foreach_count_values(r, n);
    if (rc)
        return rc;
    r->key->values = arena_take(&r->p->out->arena, n, sizeof *r->key->values);
    return r->key->values ? 0 : out_of_memory(r->p);
}

int foreach_load_file(const struct foreach_reading *r, struct buf *content,
                      struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    struct str file = r->key->spec;
    if (file.ptr[0] != '/') {
        buf_text(&path, r->p->in->root);
        buf_byte(&path, '/');
    }
    buf_str(&path, file);
    int rc = path.failed ? error_nomem(error)
                         : os_read_regular(path.data, LIMIT_FILE_BYTES, content, error);
    if (rc == CAIRN_ENOTFOUND)
        error_set(error, rc, "there is no file %.300s", path.data);
    else if (rc == CAIRN_EUSAGE)
        error_context(error, "a list is a regular file");
    buf_release(&path);
    return rc;
}

bool foreach_in_env(const struct parser *p, struct str name)
{
    for (uint32_t i = 0; i < p->in->n_env; i++)
        if (str_equal(p->in->env[i].key, name))
            return true;
    return false;
}

int foreach_check_found(const struct foreach_reading *r, const struct node *node,
                        const char *what)
{
    if (r->key->n || r->allow_empty)
        return 0;
    return diagnose(&r->p->diagnostic, node->at,
                    "%s (in %.200s); values are read before anything runs: a list that "
                    "a task makes is {from: TASK, value: NAME}; write "
                    "allow_empty: true if there may be none",
                    what, r->p->in->root);
}

int where_holds(struct parser *p, const struct task_def *def,
                const struct expression *where, const struct node *node,
                const uint32_t *at, bool *holds)
{
    struct cairn_error inner = {0};
    int rc = sheet_where(p->out, def, where, at, holds, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    return rc ? diagnose(&p->diagnostic, node->at, "%s", inner.text) : 0;
}

/* ---- Sheets ---- */

struct sheet_reading {
    struct foreach_reading *r;
    const struct sheet_nodes *nodes;
    struct sheet sheet;
};

static int refuse_sheet(const struct sheet_reading *s, int rc,
                        const struct cairn_error *why)
{
    const struct sheet_nodes *nodes = s->nodes;
    const struct node *node = nodes->file;
    if (s->sheet.wrong == SHEET_KEY && nodes->key)
        node = nodes->key;
    if (s->sheet.wrong == SHEET_COLUMNS && nodes->columns)
        node = nodes->columns;
    if (s->sheet.wrong == SHEET_WHERE && nodes->where)
        node = nodes->where;
    return rc == CAIRN_ENOMEM
               ? out_of_memory(s->r->p)
               : diagnose_as(&s->r->p->diagnostic, rc, node->at, "%s", why->text);
}

static int check_column(struct sheet_reading *s, uint32_t column)
{
    const struct parser *p = s->r->p;
    struct str name = s->sheet.names[column];
    struct cairn_error inner = {0};
    char why[256];
    bool in_env = foreach_in_env(p, name);
    const char *of = find_param(p, name) != UINT32_MAX ? "the param "
                     : in_env                          ? ""
                     : is_secret(p, name)              ? "the secret "
                     : task_def_name(s->r->def, name) != UINT32_MAX
                         ? "the foreach key or column "
                         : NULL;
    if (!of)
        return 0;
    snprintf(why, sizeof why, "is the name of %s`%.*s`%s, too", of, SHOWN(name),
             in_env && !*of ? " in the workflow's `env`" : "");
    return refuse_sheet(s, sheet_refuse(&s->sheet, column, why, &inner), &inner);
}

/* Once for each file. */
static void say_mapped(const struct sheet_reading *s)
{
    enum { SHOWN_COLUMNS = 10 };
    struct parser *p = s->r->p;
    struct buf line = BUF_INIT;
    uint32_t n = 0;
    uint32_t files = (uint32_t)(p->sheets.size / sizeof(struct str));
    for (uint32_t i = 0; i < files; i++)
        if (str_equal(((struct str *)(void *)p->sheets.data)[i], s->r->key->spec))
            return;
    buf_add(&p->sheets, &s->r->key->spec, sizeof s->r->key->spec);
    for (uint32_t c = 0; c < s->sheet.table.n_columns; c++) {
        struct str column = s->sheet.table.columns[c];
        if (str_equal(column, s->sheet.names[c]) || (c == s->sheet.key && !column.len))
            continue;
        if (n++ < SHOWN_COLUMNS)
            buf_format(&line, "%s`%.*s` is `%.*s`", n > 1 ? ", " : "", SHOWN(column),
                       SHOWN(s->sheet.names[c]));
    }
    if (n > SHOWN_COLUMNS)
        buf_format(&line, ", and %u more", n - SHOWN_COLUMNS);
    if (n && !line.failed)
        parse_warn(p, s->nodes->file->at, "columns of %.*s have other names here: %s",
                   SHOWN(s->r->key->spec), line.data);
    buf_release(&line);
}

/* ---- Rows ---- */

static int load_sheet(struct sheet_reading *s, struct str *text)
{
    struct parser *p = s->r->p;
    struct cairn_error inner = {0};
    struct buf content = BUF_INIT;
    int rc = foreach_load_file(s->r, &content, &inner);
    if (!rc)
        *text = arena_str(&p->scratch, buf_view(&content));
    buf_release(&content);
    if (rc == CAIRN_ENOMEM || (!rc && !text->ptr))
        return out_of_memory(p);
    bool of_file = rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE;
    return rc ? diagnose_as(&p->diagnostic, of_file ? CAIRN_EWORKFLOW : rc,
                            s->nodes->file->at, "%s", inner.text)
              : 0;
}

int foreach_read_columns(struct parser *p, const struct node *list,
                         struct table_source *source)
{
    if (!list)
        return 0;
    if (source->form == TABLE_JSON || source->form == TABLE_JSONL)
        return diagnose(&p->diagnostic, list->at,
                        "`columns` is for `csv` and `tsv`: rows of JSON have names");
    int rc = expect_list(p, list, "`columns`");
    if (!rc && !list->n)
        rc = diagnose(&p->diagnostic, list->at, "`columns` is empty");
    if (rc)
        return rc;
    struct str *names = arena_take(&p->scratch, list->n, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (const struct node *item = list->first; item && !rc; item = item->next)
        rc = expect_filled(p, item, "a name of `columns`", &names[source->n_columns++]);
    source->columns = names;
    return rc;
}

static int read_table(struct sheet_reading *s)
{
    struct parser *p = s->r->p;
    struct cairn_error inner = {0};
    struct table_source source = {
        .form = s->nodes->form, .most = LIMIT_TASKS, .texts = &p->scratch};
    int rc = foreach_read_columns(p, s->nodes->columns, &source)
                 ?: load_sheet(s, &source.text);
    if (rc)
        return rc;
    s->sheet.shown = s->r->key->spec;
    s->sheet.arena = &p->scratch;
    rc = sheet_read(&source, s->nodes->key ? s->nodes->key->text : s->r->key->name,
                    &s->sheet, &inner);
    return rc ? refuse_sheet(s, rc, &inner) : 0;
}

/* The values are kept; cells are, when it is known which columns are used. */
static int keep_values(const struct sheet_reading *s)
{
    struct foreach_key *key = s->r->key;
    struct arena *arena = &s->r->p->out->arena;
    struct str *values = arena_take(arena, key->n, sizeof *values);
    int rc = values ? 0 : out_of_memory(s->r->p);
    for (uint32_t i = 0; i < key->n && !rc; i++) {
        rc = foreach_check_size(s->r, key->values[i], s->nodes->file->at);
        values[i] = arena_str(arena, key->values[i]);
    }
    key->values = values;
    return rc || !arena->failed ? rc : out_of_memory(s->r->p);
}

static int fill_key(struct sheet_reading *s)
{
    struct parser *p = s->r->p;
    struct foreach_key *key = s->r->key, all = *key;
    const struct task_def *def = s->r->def;
    const struct expression *where = NULL;
    struct cairn_error inner = {0};
    int rc = foreach_count_values(s->r, s->sheet.table.n_rows);
    for (uint32_t c = 0; c < s->sheet.table.n_columns && !rc; c++)
        if (c != s->sheet.key)
            rc = check_column(s, c);
    if (rc)
        return rc;
    s->r->lines = arena_take(&p->scratch, s->sheet.table.n_rows, sizeof *s->r->lines);
    if (!s->r->lines || sheet_columns(&s->sheet, &all, &inner))
        return out_of_memory(p);
    *key = all;
    key->column = s->sheet.names[s->sheet.key];
    say_mapped(s);
    if (s->nodes->where)
        rc = read_where(p, def, s->nodes->where, &where);
    if (rc)
        return rc;
    rc = sheet_rows(&s->sheet, p->out, def, (uint32_t)(key - def->foreach), where,
                    s->r->lines, &inner);
    return rc ? refuse_sheet(s, rc, &inner) : keep_values(s);
}

int foreach_read_sheet(struct foreach_reading *r, const struct sheet_nodes *nodes)
{
    struct sheet_reading *s = arena_take(&r->p->scratch, 1, sizeof *s);
    if (!s)
        return out_of_memory(r->p);
    *s = (struct sheet_reading){.r = r, .nodes = nodes};
    r->key->source = FOREACH_SHEET;
    int rc =
        read_expanded(r->p, nodes->file, "the name of a sheet", r->def, &r->key->spec);
    if (!rc && r->key->spec.len == 0)
        rc = diagnose(&r->p->diagnostic, nodes->file->at,
                      "the name of a sheet is empty");
    if (!rc)
        rc = read_table(s);
    if (rc)
        return rc;
    if (s->sheet.table.n_rows)
        rc = fill_key(s);
    if (!rc)
        rc = foreach_check_found(r, nodes->file,
                                 s->sheet.table.n_rows
                                     ? "no row of the sheet is left by `where`"
                                     : "the sheet has no rows");
    sheet_release(&s->sheet);
    return rc;
}

/* ---- Columns that are used ---- */

/* Copies the cells of one column to their place. */
static int keep_column(struct parser *p, const struct task_def *def,
                       struct foreach_key *key, uint32_t from, struct str *cells)
{
    uint32_t n = key->n_columns;
    struct foreach_key column = {.name = key->columns[from]};
    struct foreach_reading r = {.p = p, .def = def, .key = &column};
    int rc = 0;
    for (uint32_t i = 0; i < key->n && !rc; i++) {
        struct str cell = key->cells[(size_t)i * n + from];
        rc = foreach_check_size(&r, cell, def->at);
        cells[i] = arena_str(&p->out->arena, cell);
    }
    return rc || !p->out->arena.failed ? rc : out_of_memory(p);
}

static int keep_used(struct parser *p, const struct task_def *def,
                     struct foreach_key *key, const bool *used)
{
    uint32_t *order = arena_take(&p->scratch, key->n_columns, sizeof *order);
    if (!order)
        return out_of_memory(p);
    uint32_t n = sheet_sort_used(key->columns, key->n_columns, used, order);
    if (n > LIMIT_COLUMNS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, def->at,
                           "task `%.*s` names more than %d columns of a sheet",
                           SHOWN(def->id), LIMIT_COLUMNS);
    struct str *columns = arena_take(&p->out->arena, n, sizeof *columns);
    struct str *cells = arena_take(&p->out->arena, (size_t)n * key->n, sizeof *cells);
    struct str *one = arena_take(&p->scratch, key->n, sizeof *one);
    if (!columns || !cells || !one)
        return out_of_memory(p);
    int rc = 0;
    for (uint32_t c = 0; c < n && !rc; c++) {
        rc = keep_column(p, def, key, order[c], one);
        for (uint32_t i = 0; i < key->n && !rc; i++)
            cells[(size_t)i * n + c] = one[i];
        columns[c] = arena_str(&p->out->arena, key->columns[order[c]]);
    }
    if (!rc && p->out->arena.failed)
        rc = out_of_memory(p);
    key->columns = columns;
    key->cells = cells;
    key->n_columns = n;
    return rc;
}

static int drop_unused(struct parser *p, const struct task_def *def,
                       struct foreach_key *key)
{
    bool *used = arena_take(&p->scratch, key->n_columns, sizeof *used);
    if (!used || sheet_usage(p->out, def, key->columns, key->n_columns, used))
        return out_of_memory(p);
    return keep_used(p, def, key, used);
}

int drop_unused_columns(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++) {
        struct task_def *def = &p->out->defs[i];
        for (uint32_t k = 0; k < def->n_foreach && !rc; k++) {
            if (def->foreach[k].source == FOREACH_SHEET && def->foreach[k].n_columns)
                rc = drop_unused(p, def, &def->foreach[k]);
        }
        if (!rc && task_def_name_columns(p->out, def))
            rc = out_of_memory(p);
    }
    return rc;
}
