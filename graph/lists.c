/* SPDX-License-Identifier: MIT */
#include "graph/lists.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/words.h"
#include "graph/members.h"

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

static const struct str form_words[] = {
    [LIST_LINES] = {"@lines", 6}, [LIST_GLOB] = {"@glob", 5}};
enum { FORMS = sizeof form_words / sizeof form_words[0] };

void list_spec_write(const struct list_spec *spec, struct buf *out)
{
    buf_str(out, spec->task);
    buf_byte(out, ' ');
    buf_str(out, spec->form == LIST_VALUE ? spec->value : form_words[spec->form]);
    buf_format(out, " %u", spec->max);
    if (spec->form != LIST_VALUE) {
        buf_text(out, spec->allow_empty ? " empty " : " - ");
        buf_str(out, spec->value);
    } else if (spec->allow_empty)
        buf_text(out, " empty");
}

/* Up to the next blank, which is passed over. */
static struct str next_word(struct str *text)
{
    const char *blank = text->len ? memchr(text->ptr, ' ', text->len) : NULL;
    struct str word = {text->ptr, blank ? (size_t)(blank - text->ptr) : text->len};
    size_t used = word.len + (blank != NULL);
    *text = (struct str){text->ptr + used, text->len - used};
    return word;
}

bool list_spec_read(struct str text, struct list_spec *out)
{
    uint64_t max = 0;
    out->task = next_word(&text);
    out->value = next_word(&text);
    out->form = LIST_VALUE;
    for (int form = LIST_LINES; form < FORMS; form++)
        if (str_equal(out->value, form_words[form]))
            out->form = (enum list_form)form;
    struct str number = next_word(&text);
    bool good = task_id_is_good(out->task) && str_to_u64(number, &max) && max > 0 &&
                max <= LIMIT_TASKS;
    struct str word = out->form == LIST_VALUE ? text : next_word(&text);
    out->max = (uint32_t)max;
    out->allow_empty = str_equal(word, STR("empty"));
    if (out->form == LIST_VALUE)
        return good && str_is_env_name(out->value) && (!word.len || out->allow_empty);
    out->value = text;
    return good && text.len && (out->allow_empty || str_equal(word, STR("-")));
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

enum { WHAT_BYTES = 600 };

/* As it is called in messages. */
static const char *describe(const struct list_reader *r, char what[WHAT_BYTES])
{
    static const char *const formats[] = {[LIST_VALUE] = "the value `%.*s` of %.*s",
                                          [LIST_LINES] = "the list %.*s of %.*s",
                                          [LIST_GLOB] = "the list of %.*s of %.*s"};
    const struct list_spec *spec = r->spec;
    snprintf(what, WHAT_BYTES, formats[spec->form],
             spec->value.len < 300 ? (int)spec->value.len : 300, spec->value.ptr,
             r->maker.len < 250 ? (int)r->maker.len : 250, r->maker.ptr);
    return what;
}

static int add_value(struct list_reader *r, struct str value)
{
    char what[WHAT_BYTES];
    struct str copy = arena_str(r->arena, value);
    const char *wrong = !value.len                        ? "is empty"
                        : memchr(value.ptr, 0, value.len) ? "has a NUL byte"
                        : value.len > LIMIT_ENV_STRING - LIMIT_NAME_BYTES - 1
                            ? "is too long"
                            : NULL;
    if (++r->n > r->spec->max)
        return error_set(r->error, CAIRN_EWORKFLOW,
                         "%s has more entries than its `max`, which is %u",
                         describe(r, what), r->spec->max);
    if (wrong)
        return error_set(r->error, CAIRN_EWORKFLOW, "entry %u of %s %s", r->n,
                         describe(r, what), wrong);
    buf_add(&r->values, &copy, sizeof copy);
    return r->arena->failed || r->values.failed ? error_nomem(r->error) : 0;
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
        rc = value.failed ? error_nomem(r->error) : add_value(r, buf_view(&value));
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

int list_read(struct list_reader *r, struct str maker, struct str text)
{
    struct str rest = text;
    r->maker = maker;
    while (rest.len && strchr(" \t\r\n", rest.ptr[0])) {
        rest.ptr++;
        rest.len--;
    }
    bool json = r->spec->form != LIST_LINES && rest.len && rest.ptr[0] == '[';
    return json ? read_json(r, rest) : read_lines(r, text);
}

int list_end(struct list_reader *r, int rc, struct str **values, uint32_t *n)
{
    char what[WHAT_BYTES];
    if (!rc && r->n == 0 && !r->spec->allow_empty)
        rc = error_set(r->error, CAIRN_EWORKFLOW,
                       "%s is empty; write allow_empty: true if it may be",
                       describe(r, what));
    *n = r->n;
    *values = rc ? NULL : arena_take(r->arena, (size_t)r->n + 1, sizeof **values);
    if (!rc && r->arena->failed)
        rc = error_nomem(r->error);
    if (!rc && r->n)
        memcpy(*values, r->values.data, r->values.size);
    buf_release(&r->values);
    return rc;
}

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

/* A value that is there twice, or looks as another one in ids. */
static int try_values(struct definition *d, struct task_def *def,
                      struct foreach_key *key, const struct str *values, uint32_t n,
                      struct cairn_error *error)
{
    map_release(&key->by_value);
    key->by_value = MAP_INIT;
    key->shown = NULL;
    key->n = n;
    key->values = arena_take(&d->arena, n, sizeof *key->values);
    for (uint32_t i = 0; i < n && key->values; i++)
        key->values[i] = arena_str(&d->arena, values[i]);
    return d->arena.failed ? error_nomem(error) : task_def_finish(d, def, error);
}

struct list_values list_values_of(const struct foreach_key *key)
{
    uint32_t from = key->source == FOREACH_FROM;
    return (struct list_values){key->n > from ? key->values + from : NULL,
                                key->n - from};
}

/* The placeholder, and what is kept beside it. */
static int put_none(struct definition *d, struct task_def *def, struct foreach_key *key,
                    struct list_values former, struct cairn_error *error)
{
    struct cairn_error bad = {0};
    struct str *values = former.n ? malloc((former.n + 1) * sizeof *values) : NULL;
    int rc = former.n && values ? 0 : CAIRN_EWORKFLOW;
    key->source = FOREACH_FROM;
    if (!rc) {
        values[0] = placeholder;
        memcpy(values + 1, former.at, former.n * sizeof *values);
        rc = try_values(d, def, key, values, former.n + 1, &bad);
    }
    free(values);
    return rc ? try_values(d, def, key, &placeholder, 1, error) : 0;
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
    int rc = try_values(d, def, key, list.at, list.n, &bad);
    if (rc != CAIRN_EWORKFLOW && rc != CAIRN_ELIMIT)
        return rc ? error_set(error, rc, "%s", bad.text) : 0;
    key->why = arena_str(&d->arena, str_of(bad.text));
    return put_none(d, def, key, former, error);
}
