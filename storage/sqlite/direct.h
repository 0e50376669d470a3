/* SPDX-License-Identifier: MIT */
/* The file of a database read without SQLite: what its format needs, and long values of
 * rows. SQLite's file format, sections 1.2 to 1.6 and 2.1. */
#ifndef STORAGE_SQLITE_DIRECT_H
#define STORAGE_SQLITE_DIRECT_H

#include "storage/sqlite/db.h"

/* Numbers in the files are big endian. */
static inline uint32_t big16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}
static inline uint32_t big32(const uint8_t *at)
{
    return big16(at) << 16 | big16(at + 2);
}
enum page_kind {
    INDEX_INTERIOR = 2,
    TABLE_INTERIOR = 5,
    INDEX_LEAF = 10,
    TABLE_LEAF = 13
};
/* Seven bits a byte, highest first; the ninth byte gives eight. Returns how many bytes
 * that was; 0: there is no number. */
size_t db_format_number(const uint8_t *at, const uint8_t *end, uint64_t *out);
/* How many bytes a value of a row has that has this type; UINT64_MAX: there is no such
 * type. */
uint64_t db_format_size(uint64_t type);
/* How many bytes of a payload of `size` are on the page itself. `table`: of a tree with
 * row ids. */
size_t db_format_local(size_t usable, bool table, uint64_t size);

/* A blob, with its size, in a column of the row `id` of the tree with that root. */
struct db_long {
    uint32_t root;
    uint64_t id;
    unsigned column;
    size_t size;
};
/* Reads it as the file has it, many pages at a time, where SQLite would read each for
 * itself and keep it. Within a read transaction. It may have been changed in the log,
 * or be damaged: only a digest tells whether that is the value. False: it cannot be
 * found so. */
bool db_read_long(struct db *db, const struct db_long *value, char *out);

#endif
