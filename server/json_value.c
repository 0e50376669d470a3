/* SPDX-License-Identifier: MIT */
/* The only file of the server that includes jansson. Its parser calls itself for what
 * is nested, so the depth is looked at before. */
#include "server/json_value.h"

#include <jansson.h>
#include <string.h>

/* A json_t under a name of our own, so that nobody else needs jansson's header. */
static const json_t *value_of(const struct value *value)
{
    return (const json_t *)value;
}

static bool is_shallow(const char *text, size_t n)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '{' || text[i] == '[') &&
                 ++depth > VALUE_DEPTH_MAX)
            return false;
        else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0)
            depth--;
    }
    return true;
}

struct value *value_parse(const char *text, size_t n, char why[160])
{
    static const char mark[] = "\xef\xbb\xbf"; /* clients on Windows begin with it */
    json_error_t error;
    json_t *json;
    if (n >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        n -= 3;
    }
    if (!is_shallow(text, n)) {
        snprintf(why, 160, "more than %d arrays and objects in one another",
                 VALUE_DEPTH_MAX);
        return NULL;
    }
    json = json_loadb(
        text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!json)
        snprintf(why, 160, "not JSON: %.120s (byte %d)", error.text, error.position);
    return (struct value *)json;
}

void value_free(struct value *value)
{
    json_decref((json_t *)value);
}

enum value_kind value_kind(const struct value *value)
{
    if (!value)
        return VALUE_NONE;
    switch (json_typeof(value_of(value))) {
    case JSON_NULL:
        return VALUE_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return VALUE_BOOL;
    case JSON_INTEGER:
        return VALUE_INTEGER;
    case JSON_REAL:
        return VALUE_REAL;
    case JSON_STRING:
        return VALUE_STRING;
    case JSON_ARRAY:
        return VALUE_ARRAY;
    case JSON_OBJECT:
        return VALUE_OBJECT;
    }
    return VALUE_NONE;
}

const struct value *value_member(const struct value *value, const char *key)
{
    return (const struct value *)json_object_get(value_of(value), key);
}

size_t value_count(const struct value *value)
{
    return json_is_object(value_of(value)) ? json_object_size(value_of(value))
                                           : json_array_size(value_of(value));
}

const struct value *value_at(const struct value *value, size_t i)
{
    return (const struct value *)json_array_get(value_of(value), i);
}

const char *value_text(const struct value *value)
{
    const char *text = json_string_value(value_of(value));
    return text && strlen(text) == json_string_length(value_of(value)) ? text : NULL;
}

size_t value_text_length(const struct value *value)
{
    return json_string_length(value_of(value));
}

bool value_true(const struct value *value)
{
    return json_is_true(value_of(value));
}

bool value_integer(const struct value *value, int64_t *out)
{
    double real = json_real_value(value_of(value));
    if (json_is_integer(value_of(value))) {
        *out = json_integer_value(value_of(value));
        return true;
    }
    /* Some clients write every number as a real one: 5.0 */
    if (!json_is_real(value_of(value)) || real < -1e15 || real > 1e15 ||
        (double)(int64_t)real != real)
        return false;
    *out = (int64_t)real;
    return true;
}

bool value_number(const struct value *value, double *out)
{
    if (!json_is_number(value_of(value)))
        return false;
    *out = json_number_value(value_of(value));
    return true;
}

void value_each(const struct value *value,
                bool (*visit)(void *context, const char *key,
                              const struct value *value),
                void *context)
{
    /* The iterator wants a json_t that is not const, and does not change it. */
    json_t *object = (json_t *)(uintptr_t)value;
    for (void *at = json_object_iter(object); at;
         at = json_object_iter_next(object, at))
        if (!visit(context, json_object_iter_key(at),
                   (const struct value *)json_object_iter_value(at)))
            return;
}

void value_copy(struct buf *text, const struct value *value)
{
    char *copy = value ? json_dumps(value_of(value), JSON_COMPACT | JSON_ENCODE_ANY |
                                                         JSON_REAL_PRECISION(17))
                       : NULL;
    if (!copy) {
        text->failed = true;
        return;
    }
    text_raw(text, copy, strlen(copy));
    free(copy);
}
