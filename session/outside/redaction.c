/* SPDX-License-Identifier: MIT */
#include "session/outside/redaction.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "session/outside/known_secrets.h"
#include "session/outside/name_list.h"

#include <stdlib.h>

struct collecting {
    struct arena arena; /* of names that end with a NUL */
    struct secret *at;
    size_t n;
};

/* Of the variables that have at least so many bytes. */
static void collect_variables(struct collecting *c, struct str names, size_t least)
{
    while (names.len && !c->arena.failed) {
        struct str name = next_name(&names);
        const char *plain = arena_str(&c->arena, name).ptr;
        const char *value = plain ? getenv(plain) : NULL;
        if (value && strlen(value) >= least)
            c->at[c->n++] = (struct secret){name, str_of(value)};
    }
}

int redactor_of_values(const struct hidden_values *hidden, struct redactor **out,
                       struct cairn_error *error)
{
    size_t most = hidden->names.len + hidden->declared.len + hidden->n_given + 1;
    struct collecting c = {.arena = ARENA_INIT, .at = calloc(most, sizeof *c.at)};
    if (!c.at)
        return error_nomem(error);
    collect_variables(&c, hidden->names, 1);
    collect_variables(&c, hidden->declared, LIMIT_SECRET_LEAST);
    for (size_t i = 0; i < hidden->n_given; i++)
        if (hidden->given[i].value.len >= LIMIT_SECRET_LEAST)
            c.at[c.n++] = hidden->given[i];
    int rc = c.arena.failed ? error_nomem(error) : redactor_new(out, c.at, c.n, error);
    arena_release(&c.arena);
    free(c.at);
    return rc;
}

void add_visible(struct buf *out, struct str bytes)
{
    if (!bytes.len) /* it may be NULL */
        return;
    const char *at = bytes.ptr, *end = bytes.ptr + bytes.len;
    while (at < end) {
        uint32_t code = 0;
        size_t n = utf8_next(at, end, &code);
        if (n && code)
            buf_str(out, (struct str){at, n});
        else
            buf_format(out, "\\x%02x", (unsigned char)*at);
        at += n ? n : 1;
    }
}

void add_clean(const struct redactor *redactor, struct str bytes, struct buf *out)
{
    struct buf values = BUF_INIT, known = BUF_INIT;
    redact_text(redactor, bytes, &values);
    known_secrets_redact(buf_view(&values), 0, &known);
    add_visible(out, buf_view(&known));
    out->failed |= values.failed || known.failed;
    buf_release(&values);
    buf_release(&known);
}
