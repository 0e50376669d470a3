/* SPDX-License-Identifier: MIT */
/* Between the files of the alcove. */
#ifndef STORAGE_SEARCH_SEARCHDB_INT_H
#define STORAGE_SEARCH_SEARCHDB_INT_H

#include "base/lock.h"
#include "storage/search/searchdb.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/statement.h"

/* A slot of a block: byte section (0: none), u24 square, u32 project, u64 time_ns,
 * u32 words, u32 grams (how many it has of them), the vector. */
enum {
    SEARCHDB_SLOT_HEAD = 24,
    SEARCHDB_SLOT = SEARCHDB_SLOT_HEAD + SEARCHDB_DIMENSIONS
};

struct searchdb {
    struct db *db; /* NULL: it was removed, and could not be made again */
    struct lock_file lock;
    char *dir, *path, *lock_path; /* all NULL: in memory */
    bool write;
    /* The block that was put last: with many docs each is written once. */
    struct {
        int64_t block;
        bool loaded, changed;
        uint8_t data[(size_t)SEARCHDB_BLOCK * SEARCHDB_SLOT];
    } at;
};

/* Writes the block that waits, before a commit and before vectors are read. */
int searchdb_flush(struct searchdb *index, struct cairn_error *error);

#endif
