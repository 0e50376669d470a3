/* SPDX-License-Identifier: MIT */
/* The tables, and how an older store becomes a newer one. */
#ifndef STORAGE_SCHEMA_H
#define STORAGE_SCHEMA_H

#include "storage/db.h"

enum {
    SCHEMA_APPLICATION_ID = 0x6361726e, /* "carn", in the file's header */
    SCHEMA_VERSION = 3                  /* user_version that this code knows */
};

/* Makes the tables in an empty database, or brings an older one up, in one transaction.
 * The caller holds the write lock; `alone`: no other process has the store open for
 * writing, so that none of an older cairn works on in it (rows_gc.c). CAIRN_ENEWER for
 * a newer store and CAIRN_EDAMAGED for somebody else's database; neither is written to.
 */
int schema_prepare(struct db *db, const char *dir, bool alone,
                   struct cairn_error *error);
/* Only looks: 0 if this code can read it. CAIRN_ENOTFOUND for an empty database. */
int schema_check(const struct db_header *header, const char *dir,
                 struct cairn_error *error);
/* Lets a read-only connection see an older store as one of this version: what is
 * missing is empty. Changes nothing in the file. */
int schema_stand_in(struct db *db, const struct db_header *header,
                    struct cairn_error *error);
/* Takes that back, once a writer has migrated the store. */
int schema_stand_in_end(struct db *db, int64_t version, struct cairn_error *error);
/* Compares the schema with the one that a store of its version has; a line each for
 * what differs. */
int schema_compare(struct db *db, int (*each)(void *, const char *line), void *context,
                   struct cairn_error *error);

#endif
