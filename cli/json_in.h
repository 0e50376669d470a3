/* SPDX-License-Identifier: MIT */
/* Reading of JSON that cairn printed. Getters accept NULL, and return NULL, 0 or false
 * for it and for a value of another type, so that a path can be followed and checked at
 * its end. What they return lives until json_in_free of the whole. */
#ifndef CLI_JSON_IN_H
#define CLI_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_in;
/* NULL if the text is not JSON. */
struct json_in *json_in_parse(const char *text);
void json_in_free(struct json_in *in);
const struct json_in *json_in_member(const struct json_in *in, const char *key);
bool json_in_is_array(const struct json_in *in);
size_t json_in_count(const struct json_in *in);
const struct json_in *json_in_at(const struct json_in *in, size_t i);
const char *json_in_text(const struct json_in *in);
/* A whole number, not negative. */
bool json_in_number(const struct json_in *in, uint64_t *out);
bool json_in_is_object(const struct json_in *in);
/* Goes through the members of an object, first with *cursor NULL; NULL past the end. */
const struct json_in *json_in_next(const struct json_in *in, void **cursor,
                                   const char **key);
/* A text as it is, anything else as compact JSON; heap, NULL: null, or out of memory.
 */
char *json_in_plain(const struct json_in *in);
bool json_in_is_null(const struct json_in *in);

#endif
