/* SPDX-License-Identifier: MIT */
/* Whether a value is as a schema wants it. */
#include "tests/tools/schema/schema.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static bool is_whole(const json_t *value)
{
    double real = json_real_value(value);
    return json_is_integer(value) ||
           (json_is_real(value) && fabs(real) < 1e15 && (double)(int64_t)real == real);
}

static bool has_type(const json_t *value, const char *type)
{
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "integer") == 0 && is_whole(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "null") == 0 && json_is_null(value));
}

static bool judge_type(struct judge *j, const json_t *types, const json_t *value)
{
    bool fits = json_is_string(types) && has_type(value, json_string_value(types));
    for (size_t i = 0; i < json_array_size(types); i++)
        fits |= has_type(value, json_string_value(json_array_get(types, i)));
    return fits || complain(j, "has the wrong type");
}

static bool is_one_of(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return false;
}

/* The limit under `name`, or `otherwise`. */
static double limit_of(const json_t *schema, const char *name, double otherwise)
{
    const json_t *value = json_object_get(schema, name);
    return value ? json_number_value(value) : otherwise;
}

static bool judge_size(struct judge *j, const json_t *schema, const char *least,
                       const char *most, double size)
{
    if (size < limit_of(schema, least, -INFINITY))
        return complain(j, "%s is %g", least, limit_of(schema, least, 0));
    if (size > limit_of(schema, most, INFINITY))
        return complain(j, "%s is %g", most, limit_of(schema, most, 0));
    return true;
}

static size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static bool judge_text(struct judge *j, const json_t *schema, const char *text)
{
    const json_t *pattern = json_object_get(schema, "pattern");
    if (!judge_size(j, schema, "minLength", "maxLength",
                    (double)count_characters(text)))
        return false;
    return !pattern || text_matches(json_string_value(pattern), text) ||
           complain(j, "does not match %s", json_string_value(pattern));
}

static bool judge_list(struct judge *j, const json_t *schema, const json_t *list,
                       int depth)
{
    const json_t *items = json_object_get(schema, "items");
    bool unique = json_is_true(json_object_get(schema, "uniqueItems"));
    size_t n = json_array_size(list);
    if (!judge_size(j, schema, "minItems", "maxItems", (double)n))
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        char step[32];
        snprintf(step, sizeof step, "%zu", i);
        size_t before = path_enter(j, step);
        for (size_t k = 0; unique && k < i; k++)
            if (json_equal(item, json_array_get(list, k)))
                return complain(j, "is here twice");
        if (items && !judge_value(j, items, item, depth + 1))
            return false;
        j->path[before] = '\0';
    }
    return true;
}

/* One member of an object against all schemas that are for its name. */
static bool judge_member(struct judge *j, const json_t *schema, const char *name,
                         const json_t *value, int depth)
{
    const json_t *named = json_object_get(json_object_get(schema, "properties"), name);
    json_t *patterns = json_object_get(schema, "patternProperties");
    const json_t *rest = json_object_get(schema, "additionalProperties");
    bool known = named != NULL;
    const char *pattern;
    json_t *sub;

    if (named && !judge_value(j, named, value, depth + 1))
        return false;
    json_object_foreach(patterns, pattern, sub)
    {
        if (!text_matches(pattern, name))
            continue;
        known = true;
        if (!judge_value(j, sub, value, depth + 1))
            return false;
    }
    return known || !rest || judge_value(j, rest, value, depth + 1);
}

static bool has_all(struct judge *j, const json_t *names, const json_t *object)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!json_object_get(object, name))
            return complain(j, "has no %s", name);
    }
    return true;
}

static bool judge_object(struct judge *j, const json_t *schema, json_t *object,
                         int depth)
{
    json_t *dependent = json_object_get(schema, "dependentRequired");
    const char *name;
    json_t *value;
    if (!judge_size(j, schema, "minProperties", "maxProperties",
                    (double)json_object_size(object)) ||
        !has_all(j, json_object_get(schema, "required"), object))
        return false;
    json_object_foreach(dependent, name, value)
    {
        if (json_object_get(object, name) && !has_all(j, value, object))
            return false;
    }
    json_object_foreach(object, name, value)
    {
        size_t before = path_enter(j, name);
        if (!judge_member(j, schema, name, value, depth))
            return false;
        j->path[before] = '\0';
    }
    return true;
}

/* Whether a schema fits, without its complaint. */
static bool fits_schema(struct judge *j, const json_t *schema, const json_t *value,
                        int depth)
{
    struct judge kept = *j;
    bool fine = judge_value(j, schema, value, depth + 1);
    *j = kept;
    return fine;
}

static bool judge_choices(struct judge *j, const json_t *schema, const json_t *value,
                          int depth)
{
    const json_t *one = json_object_get(schema, "oneOf");
    const json_t *any = json_object_get(schema, "anyOf");
    const json_t *all = json_object_get(schema, "allOf");
    const json_t *never = json_object_get(schema, "not");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(all); i++)
        if (!judge_value(j, json_array_get(all, i), value, depth + 1))
            return false;
    for (size_t i = 0; i < json_array_size(one); i++)
        n += fits_schema(j, json_array_get(one, i), value, depth);
    if (one && n != 1)
        return complain(j, "fits %zu of the alternatives", n);
    n = 0;
    for (size_t i = 0; i < json_array_size(any); i++)
        n += fits_schema(j, json_array_get(any, i), value, depth);
    if (any && n == 0)
        return complain(j, "fits none of the alternatives");
    return !never || !fits_schema(j, never, value, depth) || complain(j, "is excluded");
}

static bool judge_condition(struct judge *j, const json_t *schema, const json_t *value,
                            int depth)
{
    const json_t *condition = json_object_get(schema, "if");
    const json_t *branch;
    if (!condition)
        return true;
    branch = json_object_get(schema,
                             fits_schema(j, condition, value, depth) ? "then" : "else");
    return !branch || judge_value(j, branch, value, depth + 1);
}

bool judge_value(struct judge *j, const json_t *schema, const json_t *value, int depth)
{
    const json_t *ref = json_object_get(schema, "$ref");
    const json_t *types = json_object_get(schema, "type");
    const json_t *list = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");

    if (depth >= DEPTH)
        return complain(j, "too deep");
    if (json_is_boolean(schema))
        return json_is_true(schema) || complain(j, "cannot stand here");
    if (ref &&
        !judge_value(j, schema_referred(j, json_string_value(ref)), value, depth + 1))
        return false;
    if (types && !judge_type(j, types, value))
        return false;
    if ((list && !is_one_of(list, value)) || (only && !json_equal(only, value)))
        return complain(j, "is none of the allowed values");
    if (json_is_string(value) && !judge_text(j, schema, json_string_value(value)))
        return false;
    if (json_is_number(value) &&
        !judge_size(j, schema, "minimum", "maximum", json_number_value(value)))
        return false;
    if (json_is_array(value) && !judge_list(j, schema, value, depth))
        return false;
    if (json_is_object(value) &&
        !judge_object(j, schema, (json_t *)(uintptr_t)value, depth))
        return false;
    return judge_choices(j, schema, value, depth) &&
           judge_condition(j, schema, value, depth);
}
