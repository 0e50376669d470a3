/* SPDX-License-Identifier: MIT */
#include "session/outside/redaction.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "session/outside/known_secrets.h"
#include "session/outside/name_list.h"

#include <stdlib.h>

int redactor_of_variables(struct str names, struct redactor **out,
                          struct cairn_error *error)
{
    struct secret *secrets = calloc(names.len + 1, sizeof *secrets);
    struct arena arena = ARENA_INIT;
    size_t n = 0;
    if (!secrets)
        return error_nomem(error);
    while (names.len && !arena.failed) {
        struct str name = next_name(&names);
        const char *plain = arena_str(&arena, name).ptr;
        const char *value = plain ? getenv(plain) : NULL;
        if (value && *value)
            secrets[n++] = (struct secret){name, str_of(value)};
    }
    int rc = arena.failed ? error_nomem(error) : redactor_new(out, secrets, n, error);
    arena_release(&arena);
    free(secrets);
    return rc;
}

void add_visible(struct buf *out, struct str bytes)
{
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
