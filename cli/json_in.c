/* SPDX-License-Identifier: MIT */
/* Reading of JSON that cairn printed, and the only file that includes jansson. */
#include "cli/json_in.h"

#include <jansson.h>
#include <string.h>

/* A json_t under a name of our own, so that nobody else needs jansson's header. */
static const json_t *value_of(const struct json_in *in)
{
    return (const json_t *)in;
}

struct json_in *json_in_parse(const char *text)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    return (struct json_in *)json_loads(text, JSON_REJECT_DUPLICATES, NULL);
}

void json_in_free(struct json_in *in)
{
    json_decref((json_t *)in);
}

const struct json_in *json_in_member(const struct json_in *in, const char *key)
{
    return (const struct json_in *)json_object_get(value_of(in), key);
}

bool json_in_is_array(const struct json_in *in)
{
    return json_is_array(value_of(in));
}

size_t json_in_count(const struct json_in *in)
{
    return json_array_size(value_of(in));
}

const struct json_in *json_in_at(const struct json_in *in, size_t i)
{
    return (const struct json_in *)json_array_get(value_of(in), i);
}

const char *json_in_text(const struct json_in *in)
{
    return json_string_value(value_of(in));
}

bool json_in_number(const struct json_in *in, uint64_t *out)
{
    if (!json_is_integer(value_of(in)) || json_integer_value(value_of(in)) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value_of(in));
    return true;
}

bool json_in_is_object(const struct json_in *in)
{
    return json_is_object(value_of(in));
}

const struct json_in *json_in_next(const struct json_in *in, void **cursor,
                                   const char **key)
{
    json_t *object = (json_t *)(uintptr_t)in;
    *cursor =
        *cursor ? json_object_iter_next(object, *cursor) : json_object_iter(object);
    if (!*cursor)
        return NULL;
    *key = json_object_iter_key(*cursor);
    return (const struct json_in *)json_object_iter_value(*cursor);
}

char *json_in_plain(const struct json_in *in)
{
    if (!in || json_is_null(value_of(in)))
        return NULL;
    if (json_is_string(value_of(in)))
        return strdup(json_string_value(value_of(in)));
    return json_dumps(value_of(in), JSON_COMPACT | JSON_ENCODE_ANY);
}

bool json_in_is_null(const struct json_in *in)
{
    return json_is_null(value_of(in));
}
