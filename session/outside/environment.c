/* SPDX-License-Identifier: MIT */
#include "session/outside/environment.h"

#include "base/array.h"
#include "base/reader.h"
#include "base/utf8.h"
#include "session/outside/name_list.h"

#include <stdlib.h>
#include <unistd.h>

enum { VERSION = 1 };

/* ---- Of this process ---- */

static bool is_listed(struct str names, struct str name)
{
    while (names.len) {
        struct str listed = next_name(&names);
        size_t n = listed.len - is_pattern(listed);
        if (is_pattern(listed) ? name.len >= n && memcmp(name.ptr, listed.ptr, n) == 0
                               : str_equal(name, listed))
            return true;
    }
    return false;
}

static bool is_text(struct str text)
{
    size_t at = 0, n = 1;
    uint32_t code = 1;
    for (; at < text.len && n && code; at += n)
        n = utf8_next(text.ptr + at, text.ptr + text.len, &code);
    return n && code;
}

struct found {
    struct environment_variable at[ENVIRONMENT_VARIABLES];
    uint32_t n;
};

static int by_name(const void *a, const void *b)
{
    return str_compare(((const struct environment_variable *)a)->name,
                       ((const struct environment_variable *)b)->name);
}

/* Of a name that stands there twice, the first counts, as for getenv. */
static bool has_name(const struct found *found, struct str name)
{
    for (uint32_t i = 0; i < found->n; i++)
        if (str_equal(found->at[i].name, name))
            return true;
    return false;
}

static void find_variables(struct str names, struct str declared, struct found *found)
{
    found->n = 0;
    for (char **at = environ; *at && found->n < ENVIRONMENT_VARIABLES; at++) {
        const char *equals = strchr(*at, '=');
        struct str name = {*at, equals ? (size_t)(equals - *at) : 0};
        if (!name.len || !is_listed(names, name) || is_listed(declared, name) ||
            has_name(found, name) || !is_text(name))
            continue;
        found->at[found->n++] = (struct environment_variable){name, str_of(equals + 1)};
    }
    if (found->n)
        qsort(found->at, found->n, sizeof found->at[0], by_name);
}

struct cleaning {
    struct redactor *redactor;
    bool all; /* nothing may be kept: a secret is too short to be found */
};

static void add_value(const struct cleaning *cleaning, struct str value,
                      struct buf *out)
{
    struct buf clean = BUF_INIT;
    if (cleaning->all && value.len)
        buf_text(&clean, REDACTED);
    else
        add_clean(cleaning->redactor, value, &clean);
    struct str text = buf_view(&clean);
    if (text.len > ENVIRONMENT_VALUE) {
        clean.size = utf8_fit(text, ENVIRONMENT_VALUE);
        buf_text(&clean, ENVIRONMENT_CUT);
    }
    buf_lstr(out, buf_view(&clean));
    out->failed |= clean.failed;
    buf_release(&clean);
}

static int begin_cleaning(const struct hidden_values *hidden, struct cleaning *cleaning,
                          struct cairn_error *error)
{
    struct cairn_error why = {0};
    *cleaning = (struct cleaning){0};
    int rc = redactor_of_values(hidden, &cleaning->redactor, &why);
    cleaning->all = rc == CAIRN_EUSAGE;
    return rc && !cleaning->all ? error_set(error, rc, "%s", why.text) : 0;
}

int environment_encode(struct str names, const struct hidden_values *hidden,
                       struct buf *out, uint32_t *n, struct cairn_error *error)
{
    struct cleaning cleaning;
    struct found found;
    int rc = begin_cleaning(hidden, &cleaning, error);
    if (rc)
        return rc;
    find_variables(names, hidden->declared, &found);
    char *directory = getcwd(NULL, 0);
    buf_byte(out, VERSION);
    add_value(&cleaning, str_of(directory), out);
    buf_varint(out, found.n);
    for (uint32_t i = 0; i < found.n; i++) {
        buf_lstr(out, found.at[i].name);
        add_value(&cleaning, found.at[i].value, out);
    }
    free(directory);
    redactor_free(cleaning.redactor);
    *n = found.n;
    return buf_check(out, error);
}

/* ---- Reading ---- */

static struct str copy_text(struct arena *arena, struct reader *in)
{
    struct str text = read_lstr(in);
    in->failed = in->failed || !is_text(text);
    return in->failed ? STR("") : arena_str(arena, text);
}

static void read_variables(struct arena *arena, struct reader *in,
                           struct environment *out)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > ENVIRONMENT_VARIABLES;
    out->n = in->failed ? 0 : (uint32_t)n;
    if (out->n)
        out->at = arena_take(arena, out->n, sizeof *out->at);
    for (uint32_t i = 0; i < out->n && out->at; i++) {
        out->at[i].name = copy_text(arena, in);
        out->at[i].value = copy_text(arena, in);
        in->failed = in->failed || !out->at[i].name.len ||
                     (i && by_name(&out->at[i - 1], &out->at[i]) >= 0);
    }
}

int environment_decode(struct arena *arena, struct str bytes, struct environment *out,
                       struct cairn_error *error)
{
    struct environment made = {0};
    struct reader in = reader_of(bytes.ptr, bytes.len);
    in.failed = read_byte(&in) != VERSION;
    made.directory = copy_text(arena, &in);
    read_variables(arena, &in, &made);
    if (arena->failed)
        return error_nomem(error);
    if (!reader_done(&in))
        return error_set(error, CAIRN_EDAMAGED, "its part environment is damaged");
    *out = made;
    return 0;
}
