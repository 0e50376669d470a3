/* SPDX-License-Identifier: MIT */
#include "graph/sheets.h"

#include "base/limits.h"
#include "base/words.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"

#include <stdio.h>
#include <stdlib.h>

#define CUT(text) (int)((text).len < 200 ? (text).len : 200), (text).ptr

/* ---- Names of columns ---- */

static bool is_part_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

struct str sheet_column_name(struct arena *arena, struct str column, uint32_t index)
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
    struct str out = {NULL, 0};
    if (!name.failed)
        out = arena_str(arena, buf_view(&name));
    buf_release(&name);
    return out;
}

int sheet_refuse(struct sheet *s, uint32_t column, const char *why,
                 struct cairn_error *error)
{
    struct str name = s->table.columns[column];
    s->wrong = s->table.header ? SHEET_FILE : SHEET_COLUMNS;
    if (!s->table.header)
        return error_set(error, CAIRN_EWORKFLOW, "the column `%.*s` %s", CUT(name),
                         why);
    return error_set(error, CAIRN_EWORKFLOW, "%.*s: line %u: the column `%.*s` %s",
                     CUT(s->shown), s->table.header, CUT(name), why);
}

static int name_columns(struct sheet *s, struct cairn_error *error)
{
    struct map known = MAP_INIT;
    uint32_t first = 0;
    int rc = 0, added = 1;
    s->names = arena_take(s->arena, s->table.n_columns, sizeof *s->names);
    for (uint32_t c = 0; s->names && c < s->table.n_columns && !rc && added > 0; c++) {
        s->names[c] = sheet_column_name(s->arena, s->table.columns[c], c);
        if (!s->names[c].ptr)
            break;
        added = map_add(&known, s->names[c], c, &first);
        if (added == 0) {
            char why[256];
            snprintf(why, sizeof why, "is called as the column `%.*s` is",
                     CUT(s->table.columns[first]));
            rc = sheet_refuse(s, c, why, error);
        }
    }
    map_release(&known);
    return added < 0 || s->arena->failed ? error_nomem(error) : rc;
}

int sheet_no_column(struct sheet *s, struct str wanted, const char *who,
                    struct cairn_error *error)
{
    struct str near = {NULL, 0};
    if (wanted.len > 1) /* everything of one letter is near */
        near = str_nearest(wanted, s->table.columns, s->table.n_columns);
    if (wanted.len > 1 && !near.len)
        near = str_nearest(wanted, s->names, s->table.n_columns);
    return error_set(error, CAIRN_EWORKFLOW, "%.*s has no column `%.*s`%s%s%.*s%s",
                     CUT(s->shown), CUT(wanted), who,
                     near.len ? "; did you mean `" : "", CUT(near),
                     near.len ? "`?" : "");
}

int sheet_check_name(struct sheet *s, struct str name, struct str key, const char *who,
                     struct cairn_error *error)
{
    for (uint32_t c = 0; c < s->table.n_columns; c++)
        if (c != s->key && str_equal(s->names[c], name))
            return 0;
    if (str_equal(name, key))
        return 0;
    if (str_equal(name, s->names[s->key]))
        return error_set(error, CAIRN_EWORKFLOW,
                         "%.*s: the column `%.*s` is the key, which is called `%.*s` "
                         "in this task: write %.*s",
                         CUT(s->shown), CUT(name), CUT(key), CUT(key));
    return sheet_no_column(s, name, who, error);
}

static int find_key(struct sheet *s, struct str wanted, struct cairn_error *error)
{
    s->key = 0;
    s->wrong = SHEET_KEY;
    if (s->table.n_columns == 1 && !s->table.columns[0].len)
        return 0; /* a list of values */
    while (s->key < s->table.n_columns &&
           !str_equal(s->table.columns[s->key], wanted) &&
           !str_equal(s->names[s->key], wanted))
        s->key++;
    return s->key < s->table.n_columns ? 0 : sheet_no_column(s, wanted, "", error);
}

/* ---- Reading ---- */

static bool is_json(const struct table_source *source)
{
    return source->form == TABLE_JSON || source->form == TABLE_JSONL;
}

int sheet_read(const struct table_source *source, struct str key, struct sheet *s,
               struct cairn_error *error)
{
    struct cairn_error inner = {0};
    s->wrong = SHEET_FILE;
    int rc = table_read(source, &s->table, &inner);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc)
        return error_set(error, rc, "%.*s: %s", CUT(s->shown), inner.text);
    if (!s->table.columns && !is_json(source))
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "%.*s is empty: its first line has the names of the columns, or "
                       "`columns` names them",
                       CUT(s->shown));
    if (!rc && s->table.n_rows)
        rc = name_columns(s, error) ?: find_key(s, key, error);
    if (rc)
        sheet_release(s);
    return rc;
}

void sheet_release(struct sheet *s)
{
    table_release(&s->table);
}

/* ---- Rows ---- */

struct where_place {
    const struct definition *definition;
    const struct task_def *def;
    const uint32_t *at;
};

static int where_value(void *context, const struct name *name, struct value *out,
                       struct cairn_error *error)
{
    const struct where_place *w = context;
    const struct definition *d = w->definition;
    (void)error;
    *out = (struct value){.type = VALUE_TEXT};
    if (name->kind == NAME_PARAM) {
        uint32_t param = definition_param(d, name_scope(w->def->id), name->first);
        if (param != UINT32_MAX)
            out->text = d->params[param].value;
        return 0;
    }
    for (uint32_t k = 0; k < w->def->n_foreach; k++) {
        const struct foreach_key *key = &w->def->foreach[k];
        if (str_equal(key->name, name->first) && key->values)
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
                         CUT(key->name),
                         (int)(value.len < SHOWN_MOST ? value.len : SHOWN_MOST),
                         value.ptr, value.len > SHOWN_MOST ? "..." : "");
        used += n > 0 ? (size_t)n : 0;
    }
}

int sheet_where(const struct definition *d, const struct task_def *def,
                const struct expression *where, const uint32_t *at, bool *holds,
                struct cairn_error *error)
{
    struct where_place place = {d, def, at};
    struct cairn_error inner = {0};
    struct arena texts = ARENA_INIT;
    struct value value;
    char member[200];
    int rc = expression_evaluate(where, where_value, &place, &texts, &value, &inner);
    if (!rc)
        *holds = value_truth(&value);
    arena_release(&texts);
    if (!rc || rc == CAIRN_ENOMEM)
        return rc ? error_nomem(error) : 0;
    name_member(&place, member, sizeof member);
    return error_set(error, rc, "`where`: %s (for %s)", inner.text, member);
}

/* The value of the key in a row, and its other columns. */
static void take_row(const struct sheet *s, struct foreach_key *key, uint32_t row)
{
    struct str *cell = key->cells + (size_t)key->n * key->n_columns;
    for (uint32_t c = 0; c < s->table.n_columns; c++)
        if (c != s->key)
            *cell++ = table_cell(&s->table, row, c);
    key->values[key->n] = table_cell(&s->table, row, s->key);
}

/* One that it does not have would be empty in every row. */
static int check_where(struct sheet *s, struct str key, const struct expression *where,
                       struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; where && i < expression_names(where) && !rc; i++)
        if (expression_name(where, i)->kind == NAME_KEY)
            rc = sheet_check_name(s, expression_name(where, i)->first, key,
                                  ", which `where` names", error);
    return rc;
}

int sheet_columns(struct sheet *s, struct foreach_key *key, struct cairn_error *error)
{
    size_t n = s->table.n_rows, n_columns = s->table.n_columns - 1;
    key->n = 0;
    key->n_columns = (uint32_t)n_columns;
    key->columns = arena_take(s->arena, n_columns, sizeof *key->columns);
    key->values = arena_take(s->arena, n, sizeof *key->values);
    key->cells = arena_take(s->arena, n * n_columns, sizeof *key->cells);
    if (s->arena->failed)
        return error_nomem(error);
    for (uint32_t c = 0; c < s->table.n_columns; c++)
        if (c != s->key)
            key->columns[c - (c > s->key)] = s->names[c];
    return 0;
}

int sheet_rows(struct sheet *s, const struct definition *d, const struct task_def *def,
               uint32_t index, const struct expression *where, uint32_t *lines,
               struct cairn_error *error)
{
    struct foreach_key *key = &def->foreach[index];
    uint32_t at[LIMIT_FOREACH_KEYS] = {0};
    struct cairn_error inner = {0};
    s->wrong = SHEET_WHERE;
    int rc = check_where(s, key->name, where, error);
    for (uint32_t row = 0; row < s->table.n_rows && !rc; row++) {
        bool holds = true;
        take_row(s, key, row);
        at[index] = key->n;
        s->wrong = SHEET_WHERE;
        if (where)
            rc = sheet_where(d, def, where, at, &holds, &inner);
        if (rc)
            return error_set(error, rc, "%.*s: line %u: %s", CUT(s->shown),
                             s->table.lines[row], inner.text);
        if (!holds)
            continue;
        s->wrong = SHEET_FILE;
        if (!key->values[key->n].len)
            rc = error_set(error, CAIRN_EWORKFLOW,
                           "%.*s: line %u: the key `%.*s` is empty", CUT(s->shown),
                           s->table.lines[row], CUT(key->name));
        lines[key->n++] = s->table.lines[row];
    }
    return rc;
}

/* ---- Columns that are used ---- */

struct usage {
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

/* What each name of a foreach key or column in ${{ }} and conditions is handed to. */
struct naming {
    struct definition *definition;
    void (*each)(void *context, struct str name);
    void *context;
};

static int name_in_text(const struct naming *n, struct str text, bool condition)
{
    const struct text_template *template;
    if (condition ? !text.len : !template_has(text))
        return 0;
    int rc = definition_text(n->definition, text, condition, &template, NULL);
    if (rc)
        return rc == CAIRN_ENOMEM ? rc : 0;
    for (uint32_t i = 0; i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++)
            if (expression_name(e, k)->kind == NAME_KEY)
                n->each(n->context, expression_name(e, k)->first);
    }
    return 0;
}

static int name_in_texts(const struct naming *n, const struct task_def *def)
{
    int rc = name_in_text(n, def->condition, true)
                 ?: name_in_text(n, def->repeat.until, true);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < reference_texts(*field, def) && !rc; i++)
            rc = name_in_text(n, reference_text(*field, def, i), false);
    for (uint32_t i = 0; i < def->n_needs; i++)
        for (uint32_t k = 0; k < def->needs[i].n_bindings && !rc; k++)
            rc = name_in_text(n, def->needs[i].bindings[k].value, false);
    return rc;
}

static void use_in_text(void *context, struct str name)
{
    use_name(context, name);
}

int sheet_usage(struct definition *d, const struct task_def *def,
                const struct str *names, uint32_t n, bool *used)
{
    struct usage u = {.by_name = MAP_INIT};
    const struct naming naming = {d, use_in_text, &u};
    u.used = used;
    int added = map_reserve(&u.by_name, n);
    for (uint32_t c = 0; c < n && added >= 0; c++)
        added = map_add(&u.by_name, names[c], c, NULL);
    int rc = added < 0 ? added : name_in_texts(&naming, def);
    if (!rc) { /* texts that a shell or a program may read: words */
        use_words(&u, def->run);
        use_words(&u, def->check);
        use_words(&u, def->undo);
        use_words(&u, def->fallback);
        use_words(&u, def->ready);
        use_all_words(&u, def->shell, def->n_shell);
        use_all_words(&u, def->side_shell, def->n_side_shell);
        use_all_words(&u, def->argv, def->n_argv);
        for (uint32_t i = 0; i < def->n_env; i++)
            use_words(&u, def->env[i].value);
    }
    map_release(&u.by_name);
    return rc;
}

struct named {
    const struct task_def *def;
    uint32_t except;
    struct buf names; /* of struct str */
};

static void note_name(void *context, struct str name)
{
    struct named *n = context;
    if (!str_is_key(name)) /* no column is called so */
        return;
    for (uint32_t k = 0; k < n->def->n_foreach; k++) {
        const struct foreach_key *key = &n->def->foreach[k];
        if (str_equal(key->name, name))
            return;
        for (uint32_t c = 0; k != n->except && c < key->n_columns; c++)
            if (str_equal(key->columns[c], name))
                return;
    }
    buf_add(&n->names, &name, sizeof name);
}

int sheet_named(struct definition *d, const struct task_def *def, uint32_t except,
                struct str **names, uint32_t *n)
{
    struct named all = {def, except, BUF_INIT};
    const struct naming naming = {d, note_name, &all};
    int rc = name_in_texts(&naming, def);
    uint32_t found = (uint32_t)(all.names.size / sizeof **names), kept = 0;
    struct str *out = rc ? NULL : arena_take(&d->arena, found, sizeof *out);
    if (out && found && !all.names.failed) {
        memcpy(out, all.names.data, all.names.size);
        qsort(out, found, sizeof *out, str_order);
        for (uint32_t i = 0; i < found; i++)
            if (!kept || !str_equal(out[kept - 1], out[i]))
                out[kept++] = out[i];
        for (uint32_t i = 0; i < kept; i++) /* they are parts of texts */
            out[i] = arena_str(&d->arena, out[i]);
    }
    if (d->arena.failed || all.names.failed)
        rc = CAIRN_ENOMEM;
    *names = out;
    *n = kept;
    buf_release(&all.names);
    return rc;
}

uint32_t sheet_sort_used(const struct str *names, uint32_t n, const bool *used,
                         uint32_t *order)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (!used[c])
            continue;
        uint32_t at = kept++;
        for (; at && str_compare(names[order[at - 1]], names[c]) > 0; at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
    return kept;
}
