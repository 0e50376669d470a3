/* SPDX-License-Identifier: MIT */
#include "secrets/secrets.h"

#include "storage/rows_meta.h"

#include <stdlib.h>

/* Of several values for one secret the last one counts. */
static const char *given_value(const struct cairn_run_options *options, struct str name)
{
    for (size_t i = options->n_secrets; i-- > 0;)
        if (str_equal(str_of(options->secrets[i].name), name))
            return options->secrets[i].value;
    return NULL;
}

static int read_values(struct secrets *s, const struct cairn_run_options *options,
                       struct cairn_error *error)
{
    const struct definition *d = s->definition;
    s->values = arena_take(&s->arena, d->n_secrets, sizeof *s->values);
    for (uint32_t i = 0; s->values && i < d->n_secrets; i++) {
        const char *value = given_value(options, d->secrets[i]);
        if (!value)
            value = getenv(d->secrets[i].ptr);
        if (value)
            s->values[i] = arena_str(&s->arena, str_of(value));
    }
    return s->arena.failed ? error_nomem(error) : 0;
}

static int make_redactor(struct secrets *s, struct cairn_error *error)
{
    const struct definition *d = s->definition;
    size_t n = 0;
    struct secret *known = arena_take(&s->arena, d->n_secrets, sizeof *known);
    if (!known)
        return error_nomem(error);
    for (uint32_t i = 0; i < d->n_secrets; i++)
        if (s->values[i].ptr)
            known[n++] = (struct secret){d->secrets[i], s->values[i]};
    return n ? redactor_new(&s->redactor, known, n, error) : 0;
}

int secrets_load(struct secrets *s, const struct definition *definition,
                 const struct cairn_run_options *options, struct cairn_error *error)
{
    *s = (struct secrets){.definition = definition};
    if (!definition->n_secrets)
        return 0;
    int rc = read_values(s, options, error) ?: make_redactor(s, error);
    if (rc)
        secrets_release(s);
    return rc;
}

void secrets_release(struct secrets *s)
{
    redactor_free(s->redactor);
    for (uint32_t i = 0; s->values && i < s->definition->n_secrets; i++)
        if (s->values[i].ptr)
            explicit_bzero((char *)(uintptr_t)s->values[i].ptr, s->values[i].len);
    arena_release(&s->arena);
    *s = (struct secrets){0};
}

int secrets_key(struct secrets *s, struct cairn_store *store, bool create,
                struct cairn_error *error)
{
    struct cairn_error local = {0};
    if (s->has_key || !store || !s->definition || !s->definition->n_secrets)
        return 0;
    int rc = store_secret_key(store, create, s->key, &local);
    s->has_key = !rc;
    if (rc == CAIRN_ENOTFOUND && !create)
        return 0;
    if (rc && error)
        *error = local;
    return rc;
}

struct str secrets_value(const struct secrets *s, struct str name)
{
    for (uint32_t i = 0; s->values && i < s->definition->n_secrets; i++)
        if (str_equal(s->definition->secrets[i], name))
            return s->values[i];
    return (struct str){NULL, 0};
}

struct str secrets_missing(const struct secrets *s)
{
    const struct definition *d = s->definition;
    for (uint32_t i = 0; d && i < d->n_defs; i++)
        for (uint32_t k = 0; k < d->defs[i].n_secrets; k++)
            if (!secrets_value(s, d->defs[i].secrets[k]).ptr)
                return d->defs[i].secrets[k];
    return (struct str){NULL, 0};
}

int secrets_mark(const struct secrets *s, struct str name, struct digest *mac,
                 struct cairn_error *error)
{
    struct str value = secrets_value(s, name);
    return hmac_sha256(s->key, sizeof s->key, value.ptr ? value.ptr : "", value.len,
                       mac, error);
}

int secrets_basis(const struct secrets *s, const struct str *names, uint32_t n,
                  uint64_t *basis)
{
    uint64_t fold = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct digest mac;
        uint64_t part;
        int rc = secrets_mark(s, names[i], &mac, NULL);
        if (rc)
            return rc;
        memcpy(&part, mac.bytes, sizeof part);
        fold = (fold << 7 | fold >> 57) ^ part; /* their order counts */
    }
    *basis = fold;
    return 0;
}
