/* SPDX-License-Identifier: MIT */
/* The names that workflows of a store declare as secrets: not only those of a run that
 * goes on, but of all that were ever recorded there. The setting `secrets` has them,
 * with commas between them, in ascending order; without it (an older cairn has written
 * the store, or it was damaged) they come from all definitions. */
#ifndef SECRETS_DECLARED_H
#define SECRETS_DECLARED_H

#include "base/str.h"
#include "cairn/store.h"
#include "graph/definition.h"

/* Appends the names with commas between them. `note`: and writes the setting where it
 * is missing, which needs a write transaction. */
int secrets_declared(struct cairn_store *store, bool note, struct buf *names,
                     struct cairn_error *error);
/* Adds those of a definition that is being recorded, in a write transaction. */
int secrets_declare(struct cairn_store *store, const struct definition *definition,
                    struct cairn_error *error);

#endif
