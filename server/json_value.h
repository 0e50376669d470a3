/* SPDX-License-Identifier: MIT */
/* JSON that was sent to us or printed by a command. Getters accept NULL and give NULL,
 * 0 or false for it and for a value of another kind, so that a path can be followed and
 * checked at its end. What they give lives until value_free of the whole. */
#ifndef SERVER_JSON_VALUE_H
#define SERVER_JSON_VALUE_H

#include "server/text.h"

/* More braces in one another than any message has. */
#define VALUE_DEPTH_MAX 64

enum value_kind {
    VALUE_NONE,
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT
};

struct value;
/* NULL if it is not JSON, has a key twice, or is too deep: then `why` says so. */
struct value *value_parse(const char *text, size_t n, char why[160]);
void value_free(struct value *value);

enum value_kind value_kind(const struct value *value);
const struct value *value_member(const struct value *value, const char *key);
size_t value_count(const struct value *value); /* of an array or object */
const struct value *value_at(const struct value *value, size_t i);
/* NULL if it is no string, or has a NUL in it. */
const char *value_text(const struct value *value);
size_t value_text_length(const struct value *value); /* of any string */
bool value_true(const struct value *value);
bool value_integer(const struct value *value, int64_t *out);
bool value_number(const struct value *value, double *out);
/* Calls visit for every member of an object until it returns false. */
void value_each(const struct value *value,
                bool (*visit)(void *context, const char *key,
                              const struct value *value),
                void *context);
/* Adds the value as compact JSON. */
void value_copy(struct buf *text, const struct value *value);

#endif
