/* SPDX-License-Identifier: MIT */
/* Which fields of two definitions of a task differ, with what they were and are: only
 * what counts in a fingerprint, and everything that does. */
#include "graph/fingerprint.h"

#include "base/limits.h"

#include <stdlib.h>

struct changes {
    const struct definition *old_in, *now_in;
    const struct task_def *old, *now;
    int (*each)(void *, const char *field, const char *old, const char *now);
    void *context;
    struct cairn_error *error;
    struct buf old_text, now_text; /* of the field being looked at */
    int result;                    /* not 0: stop */
};

/* ---- Telling ---- */

/* Both texts are there, or NULL is told of one that is empty. */
static void tell(struct changes *c, const char *field, bool was, bool is)
{
    if (c->result)
        return;
    if (c->old_text.failed || c->now_text.failed)
        c->result = error_nomem(c->error);
    else
        c->result = c->each(c->context, field, was ? c->old_text.data : NULL,
                            is ? c->now_text.data : NULL);
}

static void begin(struct changes *c)
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
    begin(c);
    buf_str(&c->old_text, old);
    buf_str(&c->now_text, now);
    tell(c, field, old.len > 0, now.len > 0);
}

/* ---- Lists ---- */

struct words {
    const struct str *words;
    uint32_t n;
};

static bool same_words(struct words a, struct words b)
{
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++)
        same = str_equal(a.words[i], b.words[i]);
    return same;
}

/* A word that would not be read as one again stands in quotes, as a shell takes it. */
static void add_word(struct buf *out, struct str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+.,:/=@%^${}[]";
    bool quote = word.len == 0;
    for (size_t i = 0; i < word.len && !quote; i++)
        quote = word.ptr[i] == 0 || !strchr(plain, word.ptr[i]);
    if (!quote) {
        buf_str(out, word);
        return;
    }
    buf_byte(out, '\'');
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '\'')
            buf_text(out, "'\\''");
        else
            buf_byte(out, (uint8_t)word.ptr[i]);
    buf_byte(out, '\'');
}

static void join(struct buf *out, struct words words, const char *between)
{
    for (uint32_t i = 0; i < words.n; i++) {
        if (i)
            buf_text(out, between);
        add_word(out, words.words[i]);
    }
}

static void compare_words(struct changes *c, const char *field, struct words old,
                          struct words now, const char *between)
{
    if (same_words(old, now))
        return;
    begin(c);
    join(&c->old_text, old, between);
    join(&c->now_text, now, between);
    tell(c, field, old.n > 0, now.n > 0);
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
    begin(c);
    if (old)
        buf_str(&c->old_text, *old);
    if (now)
        buf_str(&c->now_text, *now);
    tell(c, field, old != NULL, now != NULL);
}

/* Both are sorted. */
static void compare_env(struct changes *c)
{
    const struct task_def *old = c->old, *now = c->now;
    uint32_t i = 0, j = 0;
    while (i < old->n_env || j < now->n_env) {
        int order = i == old->n_env   ? 1
                    : j == now->n_env ? -1
                                      : str_compare(old->env[i].key, now->env[j].key);
        compare_pair(c, "env", order > 0 ? now->env[j].key : old->env[i].key,
                     order > 0 ? NULL : &old->env[i].value,
                     order < 0 ? NULL : &now->env[j].value);
        i += order <= 0;
        j += order >= 0;
    }
}

/* The value of a param that reaches the task, or NULL. */
static const struct str *param_of(const struct definition *in,
                                  const struct task_def *def, struct str name)
{
    bool taken = !def->own_params;
    uint32_t index = definition_param(in, name);
    for (uint32_t i = 0; i < def->n_params && !taken; i++)
        taken = str_equal(def->params[i], name);
    return taken && index != UINT32_MAX ? &in->params[index].value : NULL;
}

static void compare_params(struct changes *c)
{
    for (uint32_t i = 0; i < c->old_in->n_params; i++) {
        struct str name = c->old_in->params[i].key;
        const struct str *old = param_of(c->old_in, c->old, name);
        const struct str *now = param_of(c->now_in, c->now, name);
        if (old || now)
            compare_pair(c, "param", name, old, now);
    }
    for (uint32_t i = 0; c->now_in->params && i < c->now_in->n_params; i++) {
        struct str name = c->now_in->params[i].key;
        const struct str *now = param_of(c->now_in, c->now, name);
        if (now && definition_param(c->old_in, name) == UINT32_MAX)
            compare_pair(c, "param", name, NULL, now);
    }
}

/* ---- What a task does ---- */

static void add_command(struct buf *out, const struct task_def *def)
{
    if (def->kind == TASK_EXEC)
        join(out, (struct words){def->argv, def->n_argv}, " ");
    else if (def->kind == TASK_CALL)
        buf_text(out, "(callback)");
    else
        buf_str(out, def->run);
}

/* Everything that encode_command of fingerprint.c has. */
static void compare_command(struct changes *c)
{
    const struct task_def *old = c->old, *now = c->now;
    struct shell_words a = fingerprint_shell(old), b = fingerprint_shell(now);
    bool same = old->kind == now->kind && str_equal(old->run, now->run) &&
                same_words((struct words){old->argv, old->n_argv},
                           (struct words){now->argv, now->n_argv});
    if (!same) {
        begin(c);
        add_command(&c->old_text, old);
        add_command(&c->now_text, now);
        tell(c, "command", old->kind != TASK_EXTERNAL, now->kind != TASK_EXTERNAL);
    }
    compare_texts(c, "external", old->external, now->external);
    compare_words(c, "shell", (struct words){a.words, a.n},
                  (struct words){b.words, b.n}, " ");
    compare_texts(c, "version", old->version, now->version);
}

static void add_check(struct buf *out, const struct task_def *def)
{
    buf_str(out, def->check);
    if (def->check.len)
        buf_format(out, " (at least %u.%u %%)", def->check_min_permille / 10,
                   def->check_min_permille % 10);
}

static void compare_check(struct changes *c)
{
    const struct task_def *old = c->old, *now = c->now;
    bool same = str_equal(old->check, now->check) &&
                (!old->check.len || old->check_min_permille == now->check_min_permille);
    if (same)
        return;
    begin(c);
    add_check(&c->old_text, old);
    add_check(&c->now_text, now);
    tell(c, "check", old->check.len > 0, now->check.len > 0);
}

static void compare_flow(struct changes *c)
{
    static const struct str names[] = {STR("success"), STR("failed"), STR("always")};
    const struct task_def *old = c->old, *now = c->now;
    compare_texts(c, "if", old->condition, now->condition);
    compare_texts(c, "when", names[old->when], names[now->when]);
    compare_check(c);
    compare_words(c, "secrets", (struct words){old->secrets, old->n_secrets},
                  (struct words){now->secrets, now->n_secrets}, ", ");
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

static void compare_needs(struct changes *c)
{
    struct str *old = NULL, *now = NULL;
    if (texts_of_needs(c->old, &old) || texts_of_needs(c->now, &now))
        c->result = error_nomem(c->error);
    else
        compare_words(c, "needs", (struct words){old, c->old->n_needs},
                      (struct words){now, c->now->n_needs}, ", ");
    free(old);
    free(now);
}

static void compare_keys(struct changes *c)
{
    struct str old[LIMIT_FOREACH_KEYS], now[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < c->old->n_foreach; k++)
        old[k] = c->old->foreach[k].name;
    for (uint32_t k = 0; k < c->now->n_foreach; k++)
        now[k] = c->now->foreach[k].name;
    compare_words(c, "foreach", (struct words){old, c->old->n_foreach},
                  (struct words){now, c->now->n_foreach}, ", ");
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
    compare_command(&c);
    compare_env(&c);
    compare_texts(&c, "cwd", a->cwd, b->cwd);
    compare_words(&c, "inputs", (struct words){a->inputs, a->n_inputs},
                  (struct words){b->inputs, b->n_inputs}, ", ");
    compare_words(&c, "outputs", (struct words){a->outputs, a->n_outputs},
                  (struct words){b->outputs, b->n_outputs}, ", ");
    compare_params(&c);
    compare_keys(&c);
    compare_needs(&c);
    compare_flow(&c);
    buf_release(&c.old_text);
    buf_release(&c.now_text);
    return c.result < 0 ? c.result : 0;
}
