/* SPDX-License-Identifier: MIT */
/* Rows of the table `meta`: settings of the store, which are texts by name, and the key
 * under which values of secrets are hashed. */
#ifndef STORAGE_ROWS_META_H
#define STORAGE_ROWS_META_H

#include "base/error.h"
#include "base/str.h"
#include "cairn/store.h"

/* The text of a setting into `out`, cut off where it does not fit. 1 there is one, 0
 * there is none, <0 error. */
int store_setting(struct cairn_store *store, const char *key, char *out, size_t size,
                  struct cairn_error *error);
/* The same; but CAIRN_EDAMAGED, with a text that names it, if its checksum does not
 * hold, or if it may be one whose key is damaged. For settings that every release which
 * knows them has written with a checksum. */
int store_sound_setting(struct cairn_store *store, const char *key, char *out,
                        size_t size, struct cairn_error *error);
/* The same whole, however long it is: on the heap, NULL where there is none. */
int store_whole_setting(struct cairn_store *store, const char *key, char **text,
                        struct cairn_error *error);
/* The keys of settings that begin with a prefix, in their order. */
int store_each_setting(struct cairn_store *store, const char *prefix,
                       int (*each)(void *context, struct str key), void *context,
                       struct cairn_error *error);
/* These need a write transaction. */
int store_set_setting(struct cairn_store *store, const char *key, const char *text,
                      struct cairn_error *error);
int store_drop_setting(struct cairn_store *store, const char *key,
                       struct cairn_error *error);

/* 32 random bytes of this store, made when first asked for with `create` (needs a write
 * transaction then): the key under which values of secrets are hashed. CAIRN_ENOTFOUND
 * without `create`. A damaged key is CAIRN_EDAMAGED, or replaced with `create`: nothing
 * that was hashed with it compares as equal any more. */
int store_secret_key(struct cairn_store *store, bool create, uint8_t key[32],
                     struct cairn_error *error);

#endif
