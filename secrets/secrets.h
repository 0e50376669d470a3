/* SPDX-License-Identifier: MIT */
/* The values of a workflow's secrets, for the time of one call: from the caller's
 * options or the environment. They are never stored: only a keyed hash of each is, so
 * that a change can be noticed. */
#ifndef SECRETS_SECRETS_H
#define SECRETS_SECRETS_H

#include "base/sha256.h"
#include "cairn/run.h"
#include "cairn/store.h"
#include "graph/definition.h"
#include "secrets/redact.h"

struct secrets {
    const struct definition *definition;
    struct arena arena;
    struct str *values;        /* [n_secrets of the definition]; ptr NULL: not given */
    struct redactor *redactor; /* NULL: no secret is known */
    bool has_key;
    uint8_t key[32];
};

/* CAIRN_EUSAGE for a secret that is too short to be redacted. */
int secrets_load(struct secrets *secrets, const struct definition *definition,
                 const struct cairn_run_options *options, struct cairn_error *error);
void secrets_release(struct secrets *secrets);
/* The key for marks; `create` needs a write transaction. Without a store there is none.
 */
int secrets_key(struct secrets *secrets, struct cairn_store *store, bool create,
                struct cairn_error *error);
/* The value of a secret by name; ptr NULL: not given. */
struct str secrets_value(const struct secrets *secrets, struct str name);
/* The first secret that a task lists and that was not given; len 0: none. */
struct str secrets_missing(const struct secrets *secrets);
int secrets_mark(const struct secrets *secrets, struct str name, struct digest *mac,
                 struct cairn_error *error);
/* A number that tells whether the same secrets had the same values at another time: 0
 * for none. */
int secrets_basis(const struct secrets *secrets, const struct str *names, uint32_t n,
                  uint64_t *basis);

#endif
