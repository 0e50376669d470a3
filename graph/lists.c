/* SPDX-License-Identifier: MIT */
#include "graph/lists.h"

#include "base/decimal.h"
#include "base/identifier.h"
#include "base/json_scan.h"
#include "base/limits.h"
#include "graph/members.h"

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

bool definition_has_lists(const struct definition *d)
{
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (task_def_made_key(&d->defs[i]))
            return true;
    return false;
}

/* ---- The spec ---- */

void list_spec_write(const struct list_spec *spec, struct buf *out)
{
    buf_format(out, "%.*s %.*s %u%s", (int)spec->task.len, spec->task.ptr,
               (int)spec->value.len, spec->value.ptr, spec->max,
               spec->allow_empty ? " empty" : "");
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
    struct str number = next_word(&text);
    bool good = task_id_is_good(out->task) && str_is_env_name(out->value) &&
                str_to_u64(number, &max) && max > 0 && max <= LIMIT_TASKS;
    out->max = (uint32_t)max;
    out->allow_empty = text.len > 0;
    return good && (!text.len || str_equal(text, STR("empty")));
}

/* ---- Its values ---- */

struct reading {
    const struct list_spec *spec;
    struct arena *arena;
    struct buf values; /* of struct str */
    uint32_t n;
    struct cairn_error *error;
};

static int add_value(struct reading *r, struct str value)
{
    const struct list_spec *spec = r->spec;
    struct str copy = arena_str(r->arena, value);
    if (++r->n > spec->max)
        return error_set(r->error, CAIRN_EWORKFLOW,
                         "the value `%.*s` of %.*s has more than %u entries (`max`)",
                         (int)spec->value.len, spec->value.ptr, (int)spec->task.len,
                         spec->task.ptr, spec->max);
    if (!value.len || memchr(value.ptr, 0, value.len))
        return error_set(r->error, CAIRN_EWORKFLOW,
                         "entry %u of the value `%.*s` of %.*s %s", r->n,
                         (int)spec->value.len, spec->value.ptr, (int)spec->task.len,
                         spec->task.ptr, value.len ? "has a NUL byte" : "is empty");
    if (value.len > LIMIT_ENV_STRING - LIMIT_NAME_BYTES - 1)
        return error_set(r->error, CAIRN_EWORKFLOW,
                         "entry %u of the value `%.*s` of %.*s is too long", r->n,
                         (int)spec->value.len, spec->value.ptr, (int)spec->task.len,
                         spec->task.ptr);
    buf_add(&r->values, &copy, sizeof copy);
    return r->arena->failed || r->values.failed ? error_nomem(r->error) : 0;
}

static int read_json(struct reading *r, struct str text)
{
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
                     "the value `%.*s` of %.*s begins with [ but is not a JSON list of "
                     "texts or numbers, as in [\"a\", \"b\"] (entry %u)",
                     (int)r->spec->value.len, r->spec->value.ptr,
                     (int)r->spec->task.len, r->spec->task.ptr, r->n + 1);
}

static int read_lines(struct reading *r, struct str text)
{
    int rc = 0;
    while (text.len && !rc) {
        const char *stop = memchr(text.ptr, '\n', text.len);
        size_t len = stop ? (size_t)(stop - text.ptr) : text.len;
        struct str line = {text.ptr, len};
        text = (struct str){text.ptr + len + (stop != NULL),
                            text.len - len - (stop != NULL)};
        if (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (line.len)
            rc = add_value(r, line);
    }
    return rc;
}

int list_parse(struct str text, const struct list_spec *spec, struct arena *arena,
               struct str **values, uint32_t *n, struct cairn_error *error)
{
    struct reading r = {
        .spec = spec, .arena = arena, .values = BUF_INIT, .error = error};
    struct str rest = text;
    while (rest.len && strchr(" \t\r\n", rest.ptr[0])) {
        rest.ptr++;
        rest.len--;
    }
    int rc =
        rest.len && rest.ptr[0] == '[' ? read_json(&r, rest) : read_lines(&r, text);
    if (!rc && r.n == 0 && !spec->allow_empty)
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "the value `%.*s` of %.*s is empty; write allow_empty: true if "
                       "it may be",
                       (int)spec->value.len, spec->value.ptr, (int)spec->task.len,
                       spec->task.ptr);
    *n = r.n;
    *values = rc ? NULL : arena_take(arena, (size_t)r.n + 1, sizeof **values);
    if (!rc && arena->failed)
        rc = error_nomem(error);
    if (!rc && r.n)
        memcpy(*values, r.values.data, r.values.size);
    buf_release(&r.values);
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

int definition_put_list(struct definition *d, struct task_def *def,
                        struct foreach_key *key, const struct str *values, uint32_t n,
                        struct str why, struct cairn_error *error)
{
    struct cairn_error bad = {0};
    key->why = arena_str(&d->arena, why);
    key->source = values ? FOREACH_GIVEN : FOREACH_FROM;
    int rc = values ? try_values(d, def, key, values, n, &bad) : CAIRN_EWORKFLOW;
    if (values && rc == CAIRN_EWORKFLOW)
        key->why = arena_str(&d->arena, str_of(bad.text));
    if (rc != CAIRN_EWORKFLOW)
        return rc ? error_set(error, rc, "%s", bad.text) : 0;
    key->source = FOREACH_FROM;
    return try_values(d, def, key, &placeholder, 1, error);
}
