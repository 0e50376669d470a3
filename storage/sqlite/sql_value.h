/* SPDX-License-Identifier: MIT */
/* Values as statements take and give them. Bytes are always views. */
#ifndef STORAGE_SQLITE_SQL_VALUE_H
#define STORAGE_SQLITE_SQL_VALUE_H

#include "base/str.h"

#include <assert.h>

enum sql_value_kind { SQL_VALUE_NULL, SQL_VALUE_INT, SQL_VALUE_BLOB, SQL_VALUE_TEXT };
struct sql_value {
    enum sql_value_kind kind;
    int64_t integer;
    struct str bytes;
};
static inline struct sql_value value_int(int64_t integer)
{
    return (struct sql_value){SQL_VALUE_INT, integer, {NULL, 0}};
}
static inline struct sql_value value_u64(uint64_t integer)
{
    return value_int((int64_t)integer);
}
static inline struct sql_value value_blob(struct str bytes)
{
    return (struct sql_value){SQL_VALUE_BLOB, 0, bytes};
}
static inline struct sql_value value_text(struct str bytes)
{
    return (struct sql_value){SQL_VALUE_TEXT, 0, bytes};
}
/* NULL instead of `absent` or of no bytes: one byte in the file. */
static inline struct sql_value value_unless(int64_t integer, int64_t absent)
{
    struct sql_value value = value_int(integer);
    value.kind = integer == absent ? SQL_VALUE_NULL : SQL_VALUE_INT;
    return value;
}
static inline struct sql_value value_some(enum sql_value_kind kind, struct str bytes)
{
    assert(kind == SQL_VALUE_BLOB || kind == SQL_VALUE_TEXT);
    return (struct sql_value){bytes.len ? kind : SQL_VALUE_NULL, 0, bytes};
}
#define VALUES(...)                          \
    (const struct sql_value[]){__VA_ARGS__}, \
        sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)
#define NO_VALUES NULL, 0

#endif
