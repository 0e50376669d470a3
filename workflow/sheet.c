/* SPDX-License-Identifier: MIT */
/* What all sources of foreach values use, and sample sheets: the members are the values of one column, and the others
 * are values of each member. While the file is read a key has all columns, in scratch
 * memory; in the end (drop_unused_columns) only those that a text of the task names, so
 * that no other one is in its environment, its fingerprint or what a run stores. */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/os.h"
#include "base/table.h"
#include "base/words.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"

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

struct where_place {
    const struct parser *p;
    const struct task_def *def;
    const uint32_t *at;
};

static int where_value(void *context, const struct name *name, struct value *out,
                       struct cairn_error *error)
{
    const struct where_place *w = context;
    const struct definition *d = w->p->out;
    (void)error;
    *out = (struct value){.type = VALUE_TEXT};
    if (name->kind == NAME_PARAM) {
        out->text = d->params[find_param(w->p, name->first)].value;
        return 0;
    }
    for (uint32_t k = 0; k < w->def->n_foreach; k++) {
        const struct foreach_key *key = &w->def->foreach[k];
        if (str_equal(key->name, name->first))
            out->text = key->values[w->at[k]];
        for (uint32_t c = 0; c < key->n_columns; c++)
            if (str_equal(key->columns[c], name->first))
                out->text = key->cells[(size_t)w->at[k] * key->n_columns + c];
    }
    return 0;
}

/* Which member it is about, for a message. */
static void name_member(const struct where_place *place, char *out, size_t size)
{
    enum { SHOWN_MOST = 60 };
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t k = 0; k < place->def->n_foreach && used < size; k++) {
        const struct foreach_key *key = &place->def->foreach[k];
        if (!key->values || place->at[k] > key->n) /* not read yet */
            continue;
        struct str value = key->values[place->at[k]];
        int n = snprintf(out + used, size - used, "%s%.*s=%.*s%s", used ? ", " : "",
                         SHOWN(key->name),
                         (int)(value.len < SHOWN_MOST ? value.len : SHOWN_MOST),
                         value.ptr, value.len > SHOWN_MOST ? "..." : "");
        used += n > 0 ? (size_t)n : 0;
    }
}

int where_holds(struct parser *p, const struct task_def *def,
                const struct expression *where, const struct node *node,
                const uint32_t *at, bool *holds)
{
    struct where_place place = {p, def, at};
    struct cairn_error inner = {0};
    struct arena texts = ARENA_INIT;
    struct value value;
    int rc = expression_evaluate(where, where_value, &place, &texts, &value, &inner);
    if (!rc)
        *holds = value_truth(&value);
    arena_release(&texts);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    if (rc) {
        char member[200];
        name_member(&place, member, sizeof member);
        return diagnose(&p->diagnostic, node->at, "`where`: %s (for %s)", inner.text,
                        member);
    }
    return 0;
}

/* ---- Names of columns ---- */

static bool is_part_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name of a column as texts can have it: in lower case, _ for whatever else there
 * is. */
int sheet_column_name(const struct parser *p, struct str column, uint32_t index,
                      struct str *out)
{
    struct buf name = BUF_INIT;
    bool gap = false;
    for (size_t i = 0; i < column.len; i++) {
        char c = column.ptr[i];
        c = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        if (is_part_of_name(c) &&
            ((gap && name.size) || (!name.size && c >= '0' && c <= '9')))
            buf_byte(&name, '_');
        gap = !is_part_of_name(c);
        if (!gap)
            buf_byte(&name, (uint8_t)c);
    }
    if (!name.size)
        buf_format(&name, "column_%u", index + 1);
    *out = arena_str(&p->out->arena, buf_view(&name));
    bool failed = name.failed || !out->ptr;
    buf_release(&name);
    return failed ? out_of_memory(p) : 0;
}

struct sheet_reading {
    struct foreach_reading *r;
    const struct sheet_nodes *nodes;
    struct table table;
    struct str *names; /* [n_columns] */
    uint32_t key;      /* the column of the ids */
};

static int refuse_column(const struct sheet_reading *s, uint32_t column,
                         const char *format, struct str other)
{
    const struct parser *p = s->r->p;
    char why[256];
    snprintf(why, sizeof why, format, SHOWN(other));
    if (!s->table.header)
        return diagnose(&p->diagnostic, s->nodes->columns->at, "the column `%.*s` %s",
                        SHOWN(s->table.columns[column]), why);
    return diagnose(&p->diagnostic, s->nodes->file->at,
                    "%.*s: line %u: the column "
                    "`%.*s` %s",
                    SHOWN(s->r->key->spec), s->table.header,
                    SHOWN(s->table.columns[column]), why);
}

static int check_column(const struct sheet_reading *s, uint32_t column)
{
    const struct parser *p = s->r->p;
    struct str name = s->names[column];
    if (find_param(p, name) != UINT32_MAX)
        return refuse_column(s, column, "is the name of the param `%.*s`, too", name);
    if (foreach_in_env(p, name))
        return refuse_column(s, column,
                             "is the name of `%.*s` in the workflow's `env`, "
                             "too",
                             name);
    if (is_secret(p, name))
        return refuse_column(s, column, "is the name of the secret `%.*s`, too", name);
    if (task_def_name(s->r->def, name) != UINT32_MAX)
        return refuse_column(s, column,
                             "is the name of the foreach key or column "
                             "`%.*s`, too",
                             name);
    return 0;
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
    for (uint32_t c = 0; c < s->table.n_columns; c++) {
        struct str column = s->table.columns[c];
        if (str_equal(column, s->names[c]) || (c == s->key && !column.len))
            continue;
        if (n++ < SHOWN_COLUMNS)
            buf_format(&line, "%s`%.*s` is `%.*s`", n > 1 ? ", " : "", SHOWN(column),
                       SHOWN(s->names[c]));
    }
    if (n > SHOWN_COLUMNS)
        buf_format(&line, ", and %u more", n - SHOWN_COLUMNS);
    if (n && !line.failed)
        parse_warn(p, s->nodes->file->at, "columns of %.*s have other names here: %s",
                   SHOWN(s->r->key->spec), line.data);
    buf_release(&line);
}

static int name_columns(struct sheet_reading *s)
{
    struct parser *p = s->r->p;
    struct map known = MAP_INIT;
    uint32_t first = 0;
    int rc = 0, added = 1;
    s->names = arena_take(&p->scratch, s->table.n_columns, sizeof *s->names);
    if (!s->names)
        return out_of_memory(p);
    for (uint32_t c = 0; c < s->table.n_columns && !rc && added > 0; c++) {
        rc = sheet_column_name(p, s->table.columns[c], c, &s->names[c]);
        if (!rc)
            added = map_add(&known, s->names[c], c, &first);
        if (!rc && added == 0)
            rc = refuse_column(s, c, "is called as the column `%.*s` is",
                               s->table.columns[first]);
    }
    map_release(&known);
    return added < 0 ? out_of_memory(p) : rc;
}

/* Which column the ids are made of. */
static int find_key_column(struct sheet_reading *s)
{
    struct parser *p = s->r->p;
    const struct node *at = s->nodes->key ? s->nodes->key : s->nodes->file;
    struct str wanted = s->nodes->key ? s->nodes->key->text : s->r->key->name;
    s->key = 0;
    if (s->table.n_columns == 1 && !s->table.columns[0].len)
        return 0; /* a list of values */
    while (s->key < s->table.n_columns &&
           !str_equal(s->table.columns[s->key], wanted) &&
           !str_equal(s->names[s->key], wanted))
        s->key++;
    if (s->key < s->table.n_columns)
        return 0;
    struct hint hint = hint_nearest(wanted, s->table.columns, s->table.n_columns);
    return diagnose(&p->diagnostic, at->at, "%.*s has no column `%.*s`%s",
                    SHOWN(s->r->key->spec), SHOWN(wanted), hint.text);
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

static int read_columns(struct sheet_reading *s, struct table_source *source)
{
    const struct node *list = s->nodes->columns;
    struct parser *p = s->r->p;
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
    int rc = read_columns(s, &source) ?: load_sheet(s, &source.text);
    if (rc)
        return rc;
    rc = table_read(&source, &s->table, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    if (rc)
        return diagnose_as(&p->diagnostic, rc, s->nodes->file->at, "%.*s: %s",
                           SHOWN(s->r->key->spec), inner.text);
    if (!s->table.columns && source.form != TABLE_JSON && source.form != TABLE_JSONL)
        rc = diagnose(&p->diagnostic, s->nodes->file->at,
                      "%.*s is empty: its first line has the names of the columns, or "
                      "`columns` names them",
                      SHOWN(s->r->key->spec));
    return rc;
}

/* The value of the key in a row, and its other columns. */
static void take_row(const struct sheet_reading *s, uint32_t row)
{
    struct foreach_key *key = s->r->key;
    struct str *cell = key->cells + (size_t)key->n * key->n_columns;
    for (uint32_t c = 0; c < s->table.n_columns; c++)
        if (c != s->key)
            *cell++ = table_cell(&s->table, row, c);
    key->values[key->n] = table_cell(&s->table, row, s->key);
    s->r->lines[key->n] = s->table.lines[row];
}

static int take_rows(struct sheet_reading *s, const struct expression *where)
{
    struct parser *p = s->r->p;
    struct foreach_key *key = s->r->key;
    uint32_t at[LIMIT_FOREACH_KEYS] = {0};
    int rc = 0;
    for (uint32_t row = 0; row < s->table.n_rows && !rc; row++) {
        bool holds = true;
        take_row(s, row);
        struct str value = key->values[key->n];
        at[s->r->key - s->r->def->foreach] = key->n;
        if (where)
            rc = where_holds(p, s->r->def, where, s->nodes->where, at, &holds);
        if (rc || !holds)
            continue;
        if (!value.len)
            return diagnose(&p->diagnostic, s->nodes->file->at,
                            "%.*s: line %u: the key `%.*s` is empty", SHOWN(key->spec),
                            s->table.lines[row], SHOWN(key->name));
        rc = foreach_check_size(s->r, value, s->nodes->file->at);
        key->values[key->n] = arena_str(&p->out->arena, value);
        if (!rc && !key->values[key->n].ptr)
            rc = out_of_memory(p);
        key->n++;
    }
    return rc;
}

static int fill_key(struct sheet_reading *s)
{
    struct parser *p = s->r->p;
    struct foreach_key *key = s->r->key;
    const struct expression *where = NULL;
    struct arena *scratch = &p->scratch;
    uint32_t n = s->table.n_rows,
             n_columns = s->table.n_columns ? s->table.n_columns - 1 : 0;
    struct str *columns = arena_take(scratch, n_columns, sizeof *columns);
    int rc = foreach_take_values(s->r, n);
    s->r->lines = arena_take(scratch, n, sizeof *s->r->lines);
    key->cells = arena_take(scratch, (size_t)n * n_columns, sizeof *key->cells);
    if (rc)
        return rc;
    if (!columns || !s->r->lines || !key->cells)
        return out_of_memory(p);
    for (uint32_t c = 0; c < s->table.n_columns && !rc; c++)
        if (c != s->key) {
            rc = check_column(s, c);
            columns[c - (c > s->key)] = s->names[c];
        }
    if (rc)
        return rc;
    key->columns = columns;
    key->n_columns = n_columns;
    key->column = s->names[s->key];
    say_mapped(s);
    if (s->nodes->where)
        rc = read_where(p, s->r->def, s->nodes->where, &where);
    return rc ? rc : take_rows(s, where);
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
    if (s->table.n_rows) {
        rc = name_columns(s) ?: find_key_column(s);
    }
    if (!rc && s->table.n_rows)
        rc = fill_key(s);
    if (!rc)
        rc = foreach_check_found(r, nodes->file,
                                 s->table.n_rows
                                     ? "no row of the sheet is left by `where`"
                                     : "the sheet has no rows");
    table_release(&s->table);
    return rc;
}

/* ---- Columns that are used ---- */

struct usage {
    struct parser *p;
    struct map by_name; /* names of columns -> index */
    bool *used;
};

static void use_name(struct usage *u, struct str name)
{
    uint32_t index = map_get(&u->by_name, name);
    if (index != MAP_NONE)
        u->used[index] = true;
}

static bool is_word(char c)
{
    return is_part_of_name(c) || (c >= 'A' && c <= 'Z');
}

/* Every word that is the name of one, whatever it means there. */
static void use_words(struct usage *u, struct str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && is_word(text.ptr[end]))
            end++;
        use_name(u, (struct str){text.ptr + at, end - at});
        at = end + (end == at);
    }
}

static void use_all_words(struct usage *u, const struct str *texts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        use_words(u, texts[i]);
}

static void use_expressions(struct usage *u, struct str text, bool condition)
{
    const struct text_template *template =
        text.len ? definition_kept_text(u->p->out, text, condition) : NULL;
    for (uint32_t i = 0; template && i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++)
            if (expression_name(e, k)->kind == NAME_KEY)
                use_name(u, expression_name(e, k)->first);
    }
}

/* Texts that a shell or a program may read: words. All else: what ${{ }} names. */
static void use_texts(struct usage *u, const struct task_def *def)
{
    use_words(u, def->run);
    use_words(u, def->check);
    use_words(u, def->undo);
    use_words(u, def->fallback);
    use_words(u, def->ready);
    use_all_words(u, def->shell, def->n_shell);
    use_all_words(u, def->side_shell, def->n_side_shell);
    use_all_words(u, def->argv, def->n_argv);
    for (uint32_t i = 0; i < def->n_env; i++)
        use_words(u, def->env[i].value);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < reference_texts(*field, def); i++)
            use_expressions(u, reference_text(*field, def, i), false);
    use_expressions(u, def->condition, true);
    use_expressions(u, def->repeat.until, true);
    for (uint32_t i = 0; i < def->n_needs; i++)
        for (uint32_t k = 0; k < def->needs[i].n_bindings; k++)
            use_expressions(u, def->needs[i].bindings[k].value, false);
}

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

/* The columns that are named, in the order of their names: where a column stands in the
 * sheet says nothing, so that it may move without an edit of any task. */
static void sort_used(const struct foreach_key *key, const bool *used, uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < key->n_columns; c++) {
        if (!used[c])
            continue;
        uint32_t at = n++;
        for (; at && str_compare(key->columns[order[at - 1]], key->columns[c]) > 0;
             at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
}

static int keep_used(struct parser *p, const struct task_def *def,
                     struct foreach_key *key, const bool *used)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < key->n_columns; c++)
        n += used[c];
    if (n > LIMIT_COLUMNS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, def->at,
                           "task `%.*s` names more than %d columns of a sheet",
                           SHOWN(def->id), LIMIT_COLUMNS);
    uint32_t *order = arena_take(&p->scratch, n, sizeof *order);
    struct str *columns = arena_take(&p->out->arena, n, sizeof *columns);
    struct str *cells = arena_take(&p->out->arena, (size_t)n * key->n, sizeof *cells);
    struct str *one = arena_take(&p->scratch, key->n, sizeof *one);
    if (!order || !columns || !cells || !one)
        return out_of_memory(p);
    sort_used(key, used, order);
    int rc = 0;
    for (uint32_t c = 0; c < n && !rc; c++) {
        rc = keep_column(p, def, key, order[c], one);
        for (uint32_t i = 0; i < key->n && !rc; i++)
            cells[(size_t)i * n + c] = one[i];
        columns[c] = key->columns[order[c]];
    }
    key->columns = columns;
    key->cells = cells;
    key->n_columns = n;
    return rc;
}

int drop_unused_columns(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++) {
        struct task_def *def = &p->out->defs[i];
        for (uint32_t k = 0; k < def->n_foreach && !rc; k++) {
            struct foreach_key *key = &def->foreach[k];
            struct usage u = {.p = p, .by_name = MAP_INIT};
            if (!key->n_columns)
                continue;
            u.used = arena_take(&p->scratch, key->n_columns, sizeof *u.used);
            int added = u.used ? map_reserve(&u.by_name, key->n_columns) : CAIRN_ENOMEM;
            for (uint32_t c = 0; c < key->n_columns && added >= 0; c++)
                added = map_add(&u.by_name, key->columns[c], c, NULL);
            if (added >= 0)
                use_texts(&u, def);
            rc = added < 0 ? out_of_memory(p) : keep_used(p, def, key, u.used);
            map_release(&u.by_name);
        }
    }
    return rc;
}
