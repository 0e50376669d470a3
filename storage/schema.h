/* SPDX-License-Identifier: MIT */
/* The tables, and how an older store becomes a newer one. */
#ifndef STORAGE_SCHEMA_H
#define STORAGE_SCHEMA_H

#include "storage/sqlite/db.h"

enum {
    SCHEMA_APPLICATION_ID = 0x6361726e, /* "carn", in the file's header */
    SCHEMA_VERSION = 9                  /* user_version that this code knows */
};

/* Makes the tables in an empty database, or migrates an older one, in one transaction.
 * The caller holds the write lock; `alone`: no other process has the store open for
 * writing, so that no older cairn keeps using it (rows_gc.c). CAIRN_ENEWER for a newer
 * store and CAIRN_EDAMAGED for somebody else's database; neither is written to. */
int schema_prepare(struct db *db, const char *dir, bool alone,
                   struct cairn_error *error);
/* 0 if this code can read such a store; CAIRN_ENOTFOUND for an empty database. */
int schema_check(const struct db_header *header, const char *dir,
                 struct cairn_error *error);
/* Lets a read-only connection use an older store as one of this version: temporary
 * views and tables stand in for what it lacks. Changes nothing in the file. */
int schema_stand_in(struct db *db, const struct db_header *header,
                    struct cairn_error *error);
/* Removes them once a writer has migrated the store; where that was an older cairn,
 * some are needed again. */
int schema_stand_in_end(struct db *db, int64_t version, struct cairn_error *error);
/* Compares the schema with that of a new store of the same version; a call for each
 * difference. */
int schema_compare(struct db *db, int (*each)(void *, const char *line), void *context,
                   struct cairn_error *error);

#endif
