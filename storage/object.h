/* SPDX-License-Identifier: MIT */
/* The content pool: bytes under the SHA-256 of them, stored once. */
#ifndef STORAGE_OBJECT_H
#define STORAGE_OBJECT_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

/* Stores content under its SHA-256, compressed where that is smaller. Content that is
 * there already is not stored again, but mended where it is damaged. Needs a write
 * transaction. CAIRN_ELIMIT: too large, which does not spoil the transaction. */
int store_put_object(struct cairn_store *store, struct str content,
                     struct digest *digest, struct cairn_error *error);
/* Appends the content to `out` after its digest was checked. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED. */
int store_get_object(struct cairn_store *store, const struct digest *digest,
                     struct buf *out, struct cairn_error *error);
/* Checks every object and calls `bad` (may be NULL) for each damaged one; a non-zero
 * return of it stops, and a negative one is returned. */
int store_verify_objects(struct cairn_store *store, uint64_t *checked,
                         int (*bad)(void *, const char *digest_hex, const char *why),
                         void *context, struct cairn_error *error);

#endif
