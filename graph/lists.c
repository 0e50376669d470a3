/* SPDX-License-Identifier: MIT */
#include "graph/lists.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/words.h"
#include "graph/members.h"
#include "graph/sheets.h"
#include "graph/text_expand.h"

#include <stdlib.h>

static const struct str placeholder = {"\xe2\x80\xa6", 3}; /* an ellipsis */

const struct foreach_key *task_def_made_key(const struct task_def *def)
{
    for (uint32_t k = 0; k < def->n_foreach; k++)
        if (foreach_is_made(&def->foreach[k]))
            return &def->foreach[k];
    return NULL;
}

bool task_def_is_unlisted(const struct task_def *def)
{
    for (uint32_t k = 0; k < def->n_foreach; k++)
        if (def->foreach[k].source == FOREACH_FROM)
            return true;
    return false;
}

void definition_mark_makers(const struct definition *d, bool *makes, bool *in_files)
{
    struct list_spec spec;
    for (uint32_t i = 0; i < d->n_defs; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach; k++) {
            if (!list_spec_of(&d->defs[i].foreach[k], &spec))
                continue;
            uint32_t maker = map_get(&d->by_id, spec.task);
            if (maker == MAP_NONE)
                continue;
            if (makes)
                makes[maker] = true;
            if (in_files && spec.form != LIST_VALUE)
                in_files[maker] = true;
        }
}

bool definition_has_lists(const struct definition *d)
{
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (task_def_made_key(&d->defs[i]))
            return true;
    return false;
}

/* ---- Needs ---- */

/* The whole task. One that is needed already stays as it is, unless that was for less. */
static int add_need(struct definition *d, struct task_def *def, uint32_t target,
                    bool order, bool soft)
{
    for (uint32_t j = 0; j < def->n_needs; j++)
        if (def->needs[j].target == target && !def->needs[j].n_bindings) {
            def->needs[j].order &= order;
            def->needs[j].soft &= soft;
            return 0;
        }
    struct need *needs = arena_take(&d->arena, (size_t)def->n_needs + 1, sizeof *needs);
    if (!needs)
        return CAIRN_ENOMEM;
    if (def->n_needs)
        memcpy(needs, def->needs, def->n_needs * sizeof *needs);
    needs[def->n_needs++] = (struct need){.text = d->defs[target].id,
                                          .target = target,
                                          .order = order,
                                          .soft = soft,
                                          .at = def->at};
    def->needs = needs;
    return 0;
}

/* `need`: the group is needed; NULL: it is the task itself. */
static int need_makers_of(struct definition *d, struct task_def *def,
                          const struct task_def *group, const struct need *need)
{
    struct list_spec spec;
    int rc = 0;
    for (uint32_t k = 0; k < group->n_foreach && !rc; k++)
        if (list_spec_of(&group->foreach[k], &spec) &&
            !(need && task_def_takes_list(def, spec.task)))
            rc = add_need(d, def, map_get(&d->by_id, spec.task), !need || need->order,
                          need && need->soft);
    return rc;
}

int definition_need_makers(struct definition *d, struct task_def *def)
{
    int rc = need_makers_of(d, def, def, NULL);
    for (uint32_t j = 0, n = def->n_needs; j < n && !rc; j++) {
        const struct need need = def->needs[j]; /* the array may move */
        rc = need_makers_of(d, def, &d->defs[need.target], &need);
    }
    return rc;
}

/* ---- The spec ---- */

static const struct str form_words[LIST_FORMS] = {
    [LIST_VALUE] = {"", 0},      [LIST_LINES] = {"@lines", 6},
    [LIST_GLOB] = {"@glob", 5},  [LIST_CSV] = {"@csv", 4},
    [LIST_TSV] = {"@tsv", 4},    [LIST_JSON] = {"@json", 5},
    [LIST_JSONL] = {"@jsonl", 6}};

static void put_part(struct buf *out, struct str text)
{
    buf_format(out, "%zu:", text.len);
    buf_str(out, text);
}

void list_spec_add_column(struct buf *columns, struct str name)
{
    put_part(columns, name);
    buf_byte(columns, ',');
}

void list_spec_write(const struct list_spec *spec, struct buf *out)
{
    buf_str(out, spec->task);
    buf_byte(out, ' ');
    buf_str(out, spec->form == LIST_VALUE ? spec->value : form_words[spec->form]);
    buf_format(out, " %u", spec->max);
    if (spec->form == LIST_VALUE) {
        buf_text(out, spec->allow_empty ? " empty" : "");
        return;
    }
    buf_text(out, spec->allow_empty ? " empty " : " - ");
    if (list_is_sheet(spec)) {
        list_spec_add_column(out, spec->column);
        list_spec_add_column(out, spec->columns);
        list_spec_add_column(out, spec->where);
    }
    buf_str(out, spec->value);
}

/* Up to the next such byte, which is passed over. */
static struct str next_word(struct str *text, char end)
{
    const char *at = text->len ? memchr(text->ptr, end, text->len) : NULL;
    struct str word = {text->ptr, at ? (size_t)(at - text->ptr) : text->len};
    size_t used = word.len + (at != NULL);
    *text = (struct str){text->ptr + used, text->len - used};
    return word;
}

/* LENGTH:TEXT, and a comma. */
static bool next_part(struct str *text, struct str *part)
{
    uint64_t length = 0;
    if (!str_to_u64(next_word(text, ':'), &length) || length >= text->len ||
        text->ptr[length] != ',')
        return false;
    *part = (struct str){text->ptr, (size_t)length};
    *text = (struct str){text->ptr + length + 1, text->len - length - 1};
    return true;
}

static bool columns_are_good(struct str columns)
{
    struct str name;
    bool good = true;
    while (columns.len && good)
        good = next_part(&columns, &name) && name.len;
    return good;
}

bool list_spec_read(struct str text, struct list_spec *out)
{
    uint64_t max = 0;
    *out = (struct list_spec){.task = next_word(&text, ' ')};
    out->value = next_word(&text, ' ');
    for (int form = LIST_LINES; form < LIST_FORMS; form++)
        if (str_equal(out->value, form_words[form]))
            out->form = (enum list_form)form;
    struct str number = next_word(&text, ' ');
    bool good = task_id_is_good(out->task) && str_to_u64(number, &max) && max > 0 &&
                max <= LIMIT_TASKS;
    struct str word = out->form == LIST_VALUE ? text : next_word(&text, ' ');
    out->max = (uint32_t)max;
    out->allow_empty = str_equal(word, STR("empty"));
    if (out->form == LIST_VALUE)
        return good && str_is_env_name(out->value) && (!word.len || out->allow_empty);
    if (list_is_sheet(out))
        good = good && next_part(&text, &out->column) && out->column.len &&
               next_part(&text, &out->columns) && next_part(&text, &out->where) &&
               columns_are_good(out->columns);
    out->value = text;
    return good && text.len && (out->allow_empty || str_equal(word, STR("-")));
}

struct str *list_spec_columns(const struct list_spec *spec, struct arena *arena,
                              uint32_t *n)
{
    struct str rest = spec->columns, name;
    for (*n = 0; rest.len && next_part(&rest, &name);)
        ++*n;
    struct str *names = *n ? arena_take(arena, *n, sizeof *names) : NULL;
    rest = spec->columns;
    for (uint32_t i = 0; names && i < *n; i++)
        (void)next_part(&rest, &names[i]);
    return names;
}

bool list_spec_same(const struct list_spec *a, const struct list_spec *b)
{
    return a->form == b->form && str_equal(a->task, b->task) &&
           str_equal(a->value, b->value) && str_equal(a->column, b->column) &&
           str_equal(a->columns, b->columns) && str_equal(a->where, b->where);
}

bool list_spec_of(const struct foreach_key *key, struct list_spec *out)
{
    return foreach_is_made(key) && list_spec_read(key->spec, out);
}

bool task_def_takes_list(const struct task_def *def, struct str maker)
{
    struct list_spec spec;
    bool takes = false;
    for (uint32_t k = 0; k < def->n_foreach && !takes; k++)
        takes = list_spec_of(&def->foreach[k], &spec) && str_equal(spec.task, maker);
    return takes;
}

void list_spec_key(const struct list_spec *spec, struct buf *out)
{
    if (spec->form != LIST_VALUE) {
        buf_str(out, form_words[spec->form]);
        buf_byte(out, ' ');
    }
    buf_str(out, spec->value);
}

/* ---- Its values ---- */

enum { WHAT_BYTES = 600, VALUE_MOST = LIMIT_ENV_STRING - LIMIT_NAME_BYTES - 1 };

/* As it is called in messages. */
static const char *describe_list(const struct list_spec *spec, struct str maker,
                                 char what[WHAT_BYTES])
{
    static const char *const formats[] = {[LIST_VALUE] = "the value `%.*s` of %.*s",
                                          [LIST_LINES] = "the list %.*s of %.*s",
                                          [LIST_GLOB] = "the list of %.*s of %.*s",
                                          [LIST_CSV] = "the sheet %.*s of %.*s",
                                          [LIST_TSV] = "the sheet %.*s of %.*s",
                                          [LIST_JSON] = "the sheet %.*s of %.*s",
                                          [LIST_JSONL] = "the sheet %.*s of %.*s"};
    snprintf(what, WHAT_BYTES, formats[spec->form],
             spec->value.len < 300 ? (int)spec->value.len : 300, spec->value.ptr,
             maker.len < 250 ? (int)maker.len : 250, maker.ptr);
    return what;
}

static const char *describe(const struct list_reader *r, char what[WHAT_BYTES])
{
    return describe_list(r->spec, r->maker, what);
}

static int add_value(struct list_reader *r, struct str value)
{
    char what[WHAT_BYTES];
    const char *wrong = !value.len                        ? "is empty"
                        : memchr(value.ptr, 0, value.len) ? "has a NUL byte"
                        : value.len > VALUE_MOST          ? "is too long"
                                                          : NULL;
    if (++r->n > r->spec->max)
        return error_set(r->error, CAIRN_EWORKFLOW,
                         "%s has more entries than its `max`, which is %u",
                         describe(r, what), r->spec->max);
    if (wrong)
        return error_set(r->error, CAIRN_EWORKFLOW, "entry %u of %s %s", r->n,
                         describe(r, what), wrong);
    buf_add(&r->values, &value, sizeof value);
    return r->values.failed ? error_nomem(r->error) : 0;
}

static int read_json(struct list_reader *r, struct str text)
{
    char what[WHAT_BYTES];
    struct json_scan in = json_scan_of(text);
    struct buf value = BUF_INIT;
    enum json_token token = json_next(&in);
    int rc = 0;
    while (!rc && ((token = json_next(&in)) == JSON_STRING || token == JSON_NUMBER)) {
        buf_clear(&value);
        if (token == JSON_STRING)
            json_unescape(in.raw, &value);
        else
            buf_str(&value, in.raw);
        struct str copy = arena_str(r->arena, buf_view(&value));
        rc = value.failed || !copy.ptr ? error_nomem(r->error) : add_value(r, copy);
    }
    buf_release(&value);
    if (rc || (token == JSON_ARRAY_END && json_next(&in) == JSON_END))
        return rc;
    return error_set(r->error, CAIRN_EWORKFLOW,
                     "%s begins with [ but is not a JSON list of texts or numbers, as "
                     "in [\"a\", \"b\"] (entry %u)",
                     describe(r, what), r->n + 1);
}

static int read_lines(struct list_reader *r, struct str text)
{
    int rc = 0;
    text = str_without_mark(text);
    while (text.len && !rc) {
        const char *stop = memchr(text.ptr, '\n', text.len);
        size_t len = stop ? (size_t)(stop - text.ptr) : text.len;
        struct str line = {text.ptr, len};
        text = (struct str){text.ptr + len + (stop != NULL),
                            text.len - len - (stop != NULL)};
        while (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (line.len)
            rc = add_value(r, line);
    }
    return rc;
}

/* ---- The rows of a sheet ---- */

/* Where a value stands, for a message. */
struct list_row {
    struct str maker;
    uint32_t line;
};

/* What the name of a column is the name of, too, or NULL. */
static const char *name_of_other(const struct list_reader *r, struct str name)
{
    const struct definition *d = r->definition;
    if (definition_param(d, name_scope(r->def->id), name) != UINT32_MAX)
        return "is the name of a param, too";
    if (names_have(d->secrets, d->n_secrets, name))
        return "is the name of a secret, too";
    for (uint32_t i = 0; i < r->def->n_env; i++)
        if (str_equal(r->def->env[i].key, name))
            return "is the name of an entry of `env`, too";
    for (uint32_t k = 0; k < r->def->n_foreach; k++) {
        const struct foreach_key *key = &r->def->foreach[k];
        bool has = str_equal(key->name, name);
        for (uint32_t c = 0; k != r->key && c < key->n_columns && !has; c++)
            has = str_equal(key->columns[c], name);
        if (has)
            return "is the name of another foreach key or column, too";
    }
    return NULL;
}

/* A column that ${{ }} names and the sheet does not have. */
static int check_named(struct list_reader *r, struct sheet *s)
{
    struct str *named;
    uint32_t n;
    if (sheet_named(r->definition, r->def, r->key, &named, &n))
        return error_nomem(r->error);
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = sheet_check_name(s, named[i], r->def->foreach[r->key].name,
                              ", which the task names", r->error);
    return rc;
}

/* The first part says which columns there are; those that are used are kept. */
static int settle_columns(struct list_reader *r, struct sheet *s,
                          const struct foreach_key *key)
{
    uint32_t n = key->n_columns;
    for (uint32_t c = 0; c < s->table.n_columns; c++) {
        const char *why = c == s->key ? NULL : name_of_other(r, s->names[c]);
        if (why)
            return sheet_refuse(s, c, why, r->error);
    }
    bool *used = arena_take(r->arena, n, sizeof *used);
    uint32_t *order = arena_take(r->arena, n, sizeof *order);
    r->columns = arena_take(r->arena, n, sizeof *r->columns);
    if (r->arena->failed || sheet_usage(r->definition, r->def, key->columns, n, used))
        return error_nomem(r->error);
    r->names = key->columns;
    r->n_names = n;
    r->n_columns = sheet_sort_used(key->columns, n, used, order);
    for (uint32_t i = 0; i < r->n_columns; i++)
        r->columns[i] = key->columns[order[i]];
    if (r->n_columns > LIMIT_COLUMNS)
        return error_set(r->error, CAIRN_ELIMIT,
                         "the task names more than %d columns of a sheet",
                         LIMIT_COLUMNS);
    return check_named(r, s);
}

/* The place of a column in this part. */
static uint32_t column_at(const struct foreach_key *key, struct str name)
{
    uint32_t c = 0;
    while (c < key->n_columns && !str_equal(key->columns[c], name))
        c++;
    return c;
}

static int check_same_columns(const struct list_reader *r, struct sheet *s,
                              const struct foreach_key *key)
{
    for (uint32_t c = 0; c < r->n_names; c++)
        if (column_at(key, r->names[c]) == key->n_columns)
            return sheet_no_column(s, r->names[c], ", which another one has", r->error);
    for (uint32_t c = 0; c < s->table.n_columns; c++) {
        bool has = c == s->key;
        for (uint32_t i = 0; i < r->n_names && !has; i++)
            has = str_equal(r->names[i], s->names[c]);
        if (!has)
            return sheet_refuse(s, c, "is not in another sheet of the list", r->error);
    }
    return 0;
}

static int add_row(struct list_reader *r, const struct sheet *s,
                   const struct foreach_key *key, uint32_t i, const uint32_t *at)
{
    const struct str *cells = key->cells + (size_t)i * key->n_columns;
    int rc = add_value(r, key->values[i]);
    for (uint32_t c = 0; c < r->n_columns && !rc; c++) {
        struct str cell = cells[at[c]];
        buf_add(&r->cells, &cell, sizeof cell);
        if (cell.len > VALUE_MOST)
            rc = error_set(r->error, CAIRN_EWORKFLOW,
                           "%.*s: a value of the column `%.*s` is too long",
                           (int)s->shown.len, s->shown.ptr, (int)r->columns[c].len,
                           r->columns[c].ptr);
    }
    return rc;
}

static int add_rows(struct list_reader *r, struct sheet *s,
                    const struct foreach_key *key, const uint32_t *lines)
{
    uint32_t *at = arena_take(r->arena, r->n_columns, sizeof *at);
    int rc = at ? 0 : error_nomem(r->error);
    for (uint32_t c = 0; c < r->n_columns && !rc; c++)
        at[c] = column_at(key, r->columns[c]);
    for (uint32_t i = 0; i < key->n && !rc; i++) {
        struct list_row row = {r->maker, lines[i]};
        rc = add_row(r, s, key, i, at);
        buf_add(&r->rows, &row, sizeof row);
    }
    return !rc && (r->rows.failed || r->cells.failed) ? error_nomem(r->error) : rc;
}

static int take_sheet(struct list_reader *r, struct sheet *s)
{
    struct foreach_key key = {.name = r->def->foreach[r->key].name};
    const struct task_def one = {.id = r->def->id, .foreach = &key, .n_foreach = 1};
    uint32_t *lines = arena_take(r->arena, s->table.n_rows, sizeof *lines);
    if (!lines)
        return error_nomem(r->error);
    int rc = sheet_columns(s, &key, r->error);
    if (!rc)
        rc = r->names ? check_same_columns(r, s, &key) : settle_columns(r, s, &key);
    if (!rc)
        rc = sheet_rows(s, r->definition, &one, 0, r->where, lines, r->error);
    return rc ? rc : add_rows(r, s, &key, lines);
}

static int read_sheet(struct list_reader *r, struct str text)
{
    char what[WHAT_BYTES], said[sizeof r->error->text];
    struct sheet s = {.shown = str_of(describe(r, what)), .arena = r->arena};
    const struct text_template *where;
    struct expression_error wrong = {0};
    struct table_source source = {
        .text = text,
        .form = (enum table_form)(TABLE_CSV + (r->spec->form - LIST_CSV)),
        .most = LIMIT_TASKS,
        .texts = r->arena};
    source.columns = list_spec_columns(r->spec, r->arena, &source.n_columns);
    int rc = r->spec->where.len
                 ? definition_text(r->definition, r->spec->where, true, &where, &wrong)
                 : 0;
    if (r->arena->failed || rc == CAIRN_ENOMEM)
        return error_nomem(r->error);
    if (rc)
        return error_set(r->error, rc, "`where`: %s", wrong.text);
    r->where = r->spec->where.len ? where->pieces[0].expression : NULL;
    rc = sheet_read(&source, r->spec->column, &s, r->error);
    if (!rc) {
        if (s.table.n_rows)
            rc = take_sheet(r, &s);
        sheet_release(&s);
    }
    if (rc && rc != CAIRN_ENOMEM && s.wrong == SHEET_COLUMNS) {
        snprintf(said, sizeof said, "%s", r->error->text);
        error_set(r->error, rc, "%s: %s", what, said);
    }
    return rc;
}

int list_read(struct list_reader *r, struct str maker, struct str text)
{
    struct str rest = text;
    r->maker = maker;
    if (list_is_sheet(r->spec))
        return read_sheet(r, text);
    while (rest.len && strchr(" \t\r\n", rest.ptr[0])) {
        rest.ptr++;
        rest.len--;
    }
    bool json = r->spec->form != LIST_LINES && rest.len && rest.ptr[0] == '[';
    return json ? read_json(r, rest) : read_lines(r, text);
}

static void *keep(struct list_reader *r, struct buf *from)
{
    void *kept = arena_take(r->arena, from->size + 1, 1);
    if (kept && from->size)
        memcpy(kept, from->data, from->size);
    buf_release(from);
    return kept;
}

int list_end(struct list_reader *r, int rc, struct list_values *out)
{
    char what[WHAT_BYTES];
    bool of_sheet = list_is_sheet(r->spec);
    if (!rc && r->n == 0 && !r->spec->allow_empty)
        rc = error_set(r->error, CAIRN_EWORKFLOW,
                       "%s is empty; write allow_empty: true if it may be",
                       describe(r, what));
    const struct list_values values = {.at = keep(r, &r->values),
                                       .n = r->n,
                                       .columns = r->columns,
                                       .n_columns = r->n_columns,
                                       .cells = keep(r, &r->cells),
                                       .rows = of_sheet ? keep(r, &r->rows) : NULL};
    *out = (struct list_values){.at = NULL};
    if (!rc && r->arena->failed)
        rc = error_nomem(r->error);
    if (!rc)
        *out = values;
    return rc;
}

/* ---- The values of a key ---- */

int definition_put_placeholder(struct definition *d, struct foreach_key *key,
                               struct cairn_error *error)
{
    key->values = arena_take(&d->arena, 1, sizeof *key->values);
    if (!key->values)
        return error_nomem(error);
    key->values[0] = placeholder;
    key->n = 1;
    return 0;
}

/* Those of the columns that the texts still name. */
static int drop_unused(struct definition *d, const struct task_def *def,
                       struct list_values list, uint32_t **kept, uint32_t *n)
{
    bool *used = arena_take(&d->arena, list.n_columns, sizeof *used);
    *kept = arena_take(&d->arena, list.n_columns, sizeof **kept);
    if (d->arena.failed || sheet_usage(d, def, list.columns, list.n_columns, used))
        return CAIRN_ENOMEM;
    *n = sheet_sort_used(list.columns, list.n_columns, used, *kept);
    return 0;
}

/* Of a sheet that is not read: the columns that ${{ }} name, and those that the former
 * values have as far as the texts still name them. list->at has `before` values that are
 * none of the former ones. */
static int name_columns(struct definition *d, struct task_def *def,
                        struct foreach_key *key, struct list_values *list,
                        struct list_values former, uint32_t before)
{
    struct list_spec spec;
    struct str *named, *names, *cells;
    uint32_t n = 0, n_named, *kept, n_kept, *from;
    if (!list_spec_of(key, &spec) || !list_is_sheet(&spec))
        return 0;
    if (sheet_named(d, def, (uint32_t)(key - def->foreach), &named, &n_named) ||
        drop_unused(d, def, former, &kept, &n_kept))
        return CAIRN_ENOMEM;
    names = arena_take(&d->arena, (size_t)n_named + n_kept, sizeof *names);
    from = arena_take(&d->arena, (size_t)n_named + n_kept, sizeof *from);
    for (uint32_t a = 0, b = 0; names && from && (a < n_named || b < n_kept);) {
        struct str was = b < n_kept ? former.columns[kept[b]] : STR("");
        int order = a == n_named ? 1 : b == n_kept ? -1 : str_compare(named[a], was);
        from[n] = order >= 0 ? kept[b] : UINT32_MAX;
        names[n++] = order <= 0 ? named[a] : was;
        a += order <= 0;
        b += order >= 0;
    }
    cells = arena_take(&d->arena, (size_t)n * list->n, sizeof *cells);
    if (!names || !from || !cells)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < list->n; i++)
        for (uint32_t c = 0; c < n; c++)
            cells[(size_t)i * n + c] =
                i >= before && from[c] != UINT32_MAX
                    ? former.cells[(size_t)(i - before) * former.n_columns + from[c]]
                    : placeholder;
    list->columns = names;
    list->n_columns = n;
    list->cells = cells;
    return 0;
}

int task_def_name_columns(struct definition *d, struct task_def *def)
{
    int rc = 0;
    for (uint32_t k = 0; k < def->n_foreach && !rc; k++) {
        struct foreach_key *key = &def->foreach[k];
        struct list_values list = {.n = 1};
        if (key->source != FOREACH_FROM || key->n != 1)
            continue;
        rc = name_columns(d, def, key, &list, (struct list_values){.at = NULL}, 1);
        key->columns = (struct str *)(uintptr_t)list.columns;
        key->cells = (struct str *)(uintptr_t)list.cells;
        key->n_columns = list.n_columns;
    }
    return rc;
}

static const struct str *copy_texts(struct arena *arena, const struct str *from,
                                    size_t n)
{
    struct str *to = arena_take(arena, n, sizeof *to);
    for (size_t i = 0; i < n && to; i++)
        to[i] = arena_str(arena, from[i]);
    return to;
}

static int report_clash(const struct foreach_key *key, const struct list_row *rows,
                        const struct clash *clash, struct cairn_error *error)
{
    char what[WHAT_BYTES];
    struct list_spec spec;
    const struct list_row *a = &rows[clash->first], *b = &rows[clash->second];
    struct str value = key->values[clash->second], first = key->values[clash->first];
    const char *same = clash->same ? "have the same" : "would have the same id by";
    (void)list_spec_of(key, &spec);
    describe_list(&spec, b->maker, what);
    if (str_equal(a->maker, b->maker))
        return error_set(
            error, CAIRN_EWORKFLOW, "%s: lines %u and %u %s `%.*s`: `%.*s`%s%.*s%s",
            what, a->line, b->line, same, (int)key->name.len, key->name.ptr,
            value.len < 200 ? (int)value.len : 200, value.ptr, clash->same ? "" : ", `",
            clash->same       ? 0
            : first.len < 200 ? (int)first.len
                              : 200,
            first.ptr, clash->same ? "" : "`");
    return error_set(error, CAIRN_EWORKFLOW,
                     "%s: line %u and line %u of that of %.*s %s `%.*s`: `%.*s`", what,
                     b->line, a->line, a->maker.len < 200 ? (int)a->maker.len : 200,
                     a->maker.ptr, same, (int)key->name.len, key->name.ptr,
                     value.len < 200 ? (int)value.len : 200, value.ptr);
}

/* A value that is there twice, or looks as another one in ids. */
static int try_values(struct definition *d, struct task_def *def,
                      struct foreach_key *key, struct list_values list,
                      struct cairn_error *error)
{
    struct arena *arena = &d->arena;
    struct clash clash = {0};
    size_t cells = (size_t)list.n * list.n_columns;
    map_release(&key->by_value);
    key->by_value = MAP_INIT;
    key->shown = NULL;
    key->n = list.n;
    key->n_columns = list.n_columns;
    key->values = (struct str *)(uintptr_t)copy_texts(arena, list.at, list.n);
    key->columns =
        (struct str *)(uintptr_t)copy_texts(arena, list.columns, list.n_columns);
    key->cells = (struct str *)(uintptr_t)copy_texts(arena, list.cells, cells);
    if (arena->failed)
        return error_nomem(error);
    int rc = list.rows ? foreach_key_finish(arena, key, &clash) : 0;
    if (rc == CAIRN_EWORKFLOW)
        return report_clash(key, list.rows, &clash, error);
    return rc ? error_nomem(error) : task_def_finish(d, def, error);
}

struct list_values list_values_of(const struct foreach_key *key)
{
    uint32_t from = key->source == FOREACH_FROM;
    return (struct list_values){
        .at = key->n > from ? key->values + from : NULL,
        .n = key->n - from,
        .columns = key->columns,
        .n_columns = key->n_columns,
        .cells = key->cells ? key->cells + (size_t)from * key->n_columns : NULL};
}

/* The placeholder, and what is kept beside it. */
static int put_none(struct definition *d, struct task_def *def, struct foreach_key *key,
                    struct list_values former, struct cairn_error *error)
{
    struct cairn_error bad = {0};
    struct str *values = former.n ? malloc((former.n + 1) * sizeof *values) : NULL;
    struct list_values list = {.at = values, .n = former.n + 1};
    struct list_values alone = {.at = &placeholder, .n = 1};
    int rc = !former.n ? CAIRN_EWORKFLOW : values ? 0 : CAIRN_ENOMEM;
    key->source = FOREACH_FROM;
    if (!rc) {
        values[0] = placeholder;
        memcpy(values + 1, former.at, former.n * sizeof *values);
        rc = name_columns(d, def, key, &list, former, 1)
                 ?: try_values(d, def, key, list, &bad);
    }
    free(values);
    if (rc == CAIRN_ENOMEM ||
        (rc && name_columns(d, def, key, &alone, (struct list_values){.at = NULL}, 1)))
        return error_nomem(error);
    return rc ? try_values(d, def, key, alone, error) : 0;
}

int definition_put_list(struct definition *d, struct task_def *def,
                        struct foreach_key *key, struct list_values list,
                        struct list_values former, struct str why,
                        struct cairn_error *error)
{
    struct cairn_error bad = {0};
    key->why = arena_str(&d->arena, why);
    if (!list.at)
        return put_none(d, def, key, former, error);
    key->source = FOREACH_GIVEN;
    if (!list.rows && name_columns(d, def, key, &list, list, 0)) /* a former one */
        return error_nomem(error);
    int rc = try_values(d, def, key, list, &bad);
    if (rc != CAIRN_EWORKFLOW && rc != CAIRN_ELIMIT)
        return rc ? error_set(error, rc, "%s", bad.text) : 0;
    key->why = arena_str(&d->arena, str_of(bad.text));
    return put_none(d, def, key, former, error);
}
