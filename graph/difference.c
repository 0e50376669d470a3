/* SPDX-License-Identifier: MIT */
/* Which fields of two definitions of a task differ, with what they were and are: only
 * what counts in a fingerprint, and everything that does. */
#include "graph/fingerprint_int.h"

#include "graph/task_fields.h"

#include "base/limits.h"
#include "base/shell_word.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct changes {
    const struct definition *old_in, *now_in;
    const struct task_def *old, *now;
    int (*each)(void *, const char *field, const char *old, const char *now);
    void *context;
    struct cairn_error *error;
    struct buf old_text, now_text; /* of the field being compared */
    int result;                    /* not 0: stop */
};

/* ---- Reporting ---- */

/* Passes on both texts; NULL for one that there was not, or is not. */
static void report_change(struct changes *c, const char *field, bool was, bool is)
{
    if (c->result)
        return;
    if (c->old_text.failed || c->now_text.failed)
        c->result = error_nomem(c->error);
    else
        c->result = c->each(c->context, field, was ? c->old_text.data : NULL,
                            is ? c->now_text.data : NULL);
}

static void clear_texts(struct changes *c)
{
    buf_clear(&c->old_text);
    buf_clear(&c->now_text);
    buf_text(&c->old_text, "");
    buf_text(&c->now_text, "");
}

static void compare_texts(struct changes *c, const char *field, struct str old,
                          struct str now)
{
    if (str_equal(old, now))
        return;
    clear_texts(c);
    buf_str(&c->old_text, old);
    buf_str(&c->now_text, now);
    report_change(c, field, old.len > 0, now.len > 0);
}

/* ---- Lists ---- */

static bool same_words(struct words a, struct words b)
{
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++)
        same = str_equal(a.words[i], b.words[i]);
    return same;
}

static void add_words(struct buf *out, struct words words, const char *between)
{
    for (uint32_t i = 0; i < words.n; i++) {
        if (i)
            buf_text(out, between);
        buf_shell_word(out, words.words[i]);
    }
}

static void compare_words(struct changes *c, const char *field, struct words old,
                          struct words now, const char *between)
{
    if (same_words(old, now))
        return;
    clear_texts(c);
    add_words(&c->old_text, old, between);
    add_words(&c->now_text, now, between);
    report_change(c, field, old.n > 0, now.n > 0);
}

/* ---- Pairs ---- */

/* "env X", where X has the first value, or none, before and the second now. */
static void compare_pair(struct changes *c, const char *what, struct str key,
                         const struct str *old, const struct str *now)
{
    char field[LIMIT_NAME_BYTES + 32];
    if (old && now && str_equal(*old, *now))
        return;
    snprintf(field, sizeof field, "%s %.*s", what, (int)key.len, key.ptr);
    clear_texts(c);
    if (old)
        buf_str(&c->old_text, *old);
    if (now)
        buf_str(&c->now_text, *now);
    report_change(c, field, old != NULL, now != NULL);
}

/* Both are sorted. */
static void compare_pairs(struct changes *c, const struct task_field *field)
{
    const struct key_value *old = field_pairs(field, c->old);
    const struct key_value *now = field_pairs(field, c->now);
    uint32_t n_old = field_n(field, c->old), n_now = field_n(field, c->now);
    uint32_t i = 0, j = 0;
    while (i < n_old || j < n_now) {
        int order = i == n_old   ? 1
                    : j == n_now ? -1
                                 : str_compare(old[i].key, now[j].key);
        compare_pair(c, field->name, order > 0 ? now[j].key : old[i].key,
                     order > 0 ? NULL : &old[i].value,
                     order < 0 ? NULL : &now[j].value);
        i += order <= 0;
        j += order >= 0;
    }
}

/* The value of a param that reaches the task, or NULL. */
static const struct str *param_of(const struct definition *in,
                                  const struct task_def *def, struct str name)
{
    uint32_t index = definition_param(in, name);
    return task_def_takes_param(def, name) && index != UINT32_MAX
               ? &in->params[index].value
               : NULL;
}

static void compare_params(struct changes *c, const struct task_field *field)
{
    for (uint32_t i = 0; i < c->old_in->n_params; i++) {
        struct str name = c->old_in->params[i].key;
        const struct str *old = param_of(c->old_in, c->old, name);
        const struct str *now = param_of(c->now_in, c->now, name);
        if (old || now)
            compare_pair(c, field->name, name, old, now);
    }
    for (uint32_t i = 0; c->now_in->params && i < c->now_in->n_params; i++) {
        struct str name = c->now_in->params[i].key;
        const struct str *now = param_of(c->now_in, c->now, name);
        if (now && definition_param(c->old_in, name) == UINT32_MAX)
            compare_pair(c, field->name, name, NULL, now);
    }
}

/* ---- Groups of fields ---- */

static void add_command(struct buf *out, const struct task_def *def)
{
    if (def->kind == TASK_EXEC)
        add_words(out, (struct words){def->argv, def->n_argv}, " ");
    else if (def->kind == TASK_CALL)
        buf_text(out, "(callback)");
    else
        buf_str(out, def->run);
}

static void add_check(struct buf *out, const struct task_def *def)
{
    buf_str(out, def->check);
    if (def->check.len)
        buf_format(out, " (at least %u.%u %%)", def->check_min_permille / 10,
                   def->check_min_permille % 10);
}

/* ---- What it depends on ---- */

static int texts_of_needs(const struct task_def *def, struct str **out)
{
    struct named_need *sorted;
    struct str *texts = malloc(((size_t)def->n_needs + 1) * sizeof *texts);
    if (!texts || sort_needs(def, &sorted)) {
        free(texts);
        return CAIRN_ENOMEM;
    }
    for (uint32_t i = 0; i < def->n_needs; i++)
        texts[i] = sorted[i].text;
    free(sorted);
    *out = texts;
    return 0;
}

static void compare_needs(struct changes *c, const struct task_field *field)
{
    struct str *old = NULL, *now = NULL;
    if (texts_of_needs(c->old, &old) || texts_of_needs(c->now, &now))
        c->result = error_nomem(c->error);
    else
        compare_words(c, field->name, (struct words){old, c->old->n_needs},
                      (struct words){now, c->now->n_needs}, ", ");
    free(old);
    free(now);
}

static void compare_keys(struct changes *c, const struct task_field *field)
{
    struct str old[LIMIT_FOREACH_KEYS], now[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < c->old->n_foreach; k++)
        old[k] = c->old->foreach[k].name;
    for (uint32_t k = 0; k < c->now->n_foreach; k++)
        now[k] = c->now->foreach[k].name;
    compare_words(c, field->name, (struct words){old, c->old->n_foreach},
                  (struct words){now, c->now->n_foreach}, ", ");
}

/* ---- All fields ---- */

static struct words words_of(const struct task_field *field, const struct task_def *def)
{
    if (field->shape == FIELD_SHELL)
        return fingerprint_shell(def);
    return (struct words){field_texts(field, def), field_n(field, def)};
}

/* Of the shapes that are in groups. */
static bool same_field(const struct changes *c, const struct task_field *field)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        return str_equal(field_text(field, c->old), field_text(field, c->now));
    case FIELD_TEXTS:
        return same_words(words_of(field, c->old), words_of(field, c->now));
    case FIELD_BYTE:
        return field_byte(field, c->old) == field_byte(field, c->now);
    case FIELD_PERMILLE:
        return field_confidence(field, c->old) == field_confidence(field, c->now);
    default:
        assert(false && "a field of this shape is in no group");
        return false;
    }
}

static bool same_group(const struct changes *c, enum field_group group)
{
    for (const struct task_field *const *field = fingerprint_fields; *field; field++)
        if ((*field)->group == group && !same_field(c, *field))
            return false;
    return true;
}

static void compare_group(struct changes *c, const struct task_field *field)
{
    const struct task_def *old = c->old, *now = c->now;
    if (same_group(c, (enum field_group)field->group))
        return;
    clear_texts(c);
    if (field->group == GROUP_COMMAND) {
        add_command(&c->old_text, old);
        add_command(&c->now_text, now);
        report_change(c, field->name, old->kind != TASK_EXTERNAL,
                      now->kind != TASK_EXTERNAL);
    } else {
        add_check(&c->old_text, old);
        add_check(&c->now_text, now);
        report_change(c, field->name, old->check.len > 0, now->check.len > 0);
    }
}

static void compare_field(struct changes *c, const struct task_field *field)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        compare_texts(c, field->name, field_text(field, c->old),
                      field_text(field, c->now));
        break;
    case FIELD_TEXTS:
    case FIELD_SECRETS:
    case FIELD_SHELL:
        compare_words(c, field->name, words_of(field, c->old), words_of(field, c->now),
                      field->shape == FIELD_SHELL ? " " : ", ");
        break;
    case FIELD_BYTE:
        compare_texts(c, field->name, field->words[field_byte(field, c->old)],
                      field->words[field_byte(field, c->now)]);
        break;
    case FIELD_PAIRS:
        compare_pairs(c, field);
        break;
    case FIELD_PARAMS:
        compare_params(c, field);
        break;
    case FIELD_FOREACH:
        compare_keys(c, field);
        break;
    case FIELD_NEEDS:
        compare_needs(c, field);
        break;
    default:
        assert(false && "a field of this shape does not count");
    }
}

int fingerprint_changes(const struct definition *a_in, const struct task_def *a,
                        const struct definition *b_in, const struct task_def *b,
                        int (*each)(void *, const char *field, const char *old,
                                    const char *now),
                        void *context, struct cairn_error *error)
{
    struct changes c = {.old_in = a_in,
                        .now_in = b_in,
                        .old = a,
                        .now = b,
                        .each = each,
                        .context = context,
                        .error = error};
    for (const struct task_field *const *field = difference_fields; *field; field++)
        if ((*field)->group)
            compare_group(&c, *field);
        else
            compare_field(&c, *field);
    buf_release(&c.old_text);
    buf_release(&c.now_text);
    return c.result < 0 ? c.result : 0;
}
