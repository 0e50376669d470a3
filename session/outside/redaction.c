/* SPDX-License-Identifier: MIT */
#include "session/outside/redaction.h"

#include "base/arena.h"
#include "base/limits.h"
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
