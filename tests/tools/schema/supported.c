/* SPDX-License-Identifier: MIT */
/* Whether the schema has only what judge.c knows. */
#include "tests/tools/schema/schema.h"

#include <regex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool text_matches(const char *pattern, const char *text)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

bool complain(struct judge *j, const char *format, ...)
{
    va_list args;
    int n = snprintf(j->why, sizeof j->why, "%.200s: ", j->path[0] ? j->path : "/");
    va_start(args, format);
    vsnprintf(j->why + n, sizeof j->why - (size_t)n, format, args);
    va_end(args);
    return false;
}

size_t path_enter(struct judge *j, const char *step)
{
    size_t n = strlen(j->path);
    snprintf(j->path + n, sizeof j->path - n, "/%s", step);
    return n;
}

enum keyword_kind {
    REMARK,
    SCHEMA,
    SCHEMAS,
    NAMED_SCHEMAS,
    PATTERNS,
    PATTERN,
    TYPE,
    NUMBER,
    LIST,
    OTHER
};
static const struct {
    const char *name;
    enum keyword_kind kind;
} keywords[] = {
    {"$schema", REMARK},
    {"title", REMARK},
    {"description", REMARK},
    {"default", REMARK},
    {"examples", REMARK},
    {"$comment", REMARK},
    {"$defs", NAMED_SCHEMAS},
    {"$ref", OTHER},
    {"type", TYPE},
    {"enum", LIST},
    {"const", OTHER},
    {"properties", NAMED_SCHEMAS},
    {"patternProperties", PATTERNS},
    {"additionalProperties", SCHEMA},
    {"required", LIST},
    {"minProperties", NUMBER},
    {"maxProperties", NUMBER},
    {"dependentRequired", OTHER},
    {"items", SCHEMA},
    {"minItems", NUMBER},
    {"maxItems", NUMBER},
    {"uniqueItems", OTHER},
    {"minimum", NUMBER},
    {"maximum", NUMBER},
    {"minLength", NUMBER},
    {"maxLength", NUMBER},
    {"pattern", PATTERN},
    {"oneOf", SCHEMAS},
    {"anyOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
};

static bool check_pattern(struct judge *j, const char *pattern)
{
    regex_t regex;
    if (!pattern || strchr(pattern, '\\') || strstr(pattern, "(?") ||
        strstr(pattern, "[]") || strstr(pattern, "[:"))
        return complain(j, "the pattern means different things to different readers");
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return complain(j, "the pattern is wrong");
    regfree(&regex);
    return true;
}

static bool is_type_name(const char *name)
{
    return name &&
           text_matches("^(object|array|string|number|integer|boolean|null)$", name);
}

static bool check_types(struct judge *j, const json_t *types)
{
    bool fine = is_type_name(json_string_value(types));
    for (size_t i = 0; i < json_array_size(types); i++)
        if (!(fine = is_type_name(json_string_value(json_array_get(types, i)))))
            break;
    return fine || complain(j, "there is no such type");
}

static bool check_member(struct judge *j, const char *name, const json_t *value,
                         int depth)
{
    size_t n = path_enter(j, name);
    bool fine = check_supported(j, value, depth + 1);
    if (fine)
        j->path[n] = '\0';
    return fine;
}

static bool check_named(struct judge *j, json_t *map, bool patterns, int depth)
{
    const char *name;
    json_t *value;
    if (!json_is_object(map))
        return complain(j, "must be an object");
    json_object_foreach(map, name, value)
    {
        if ((patterns && !check_pattern(j, name)) ||
            !check_member(j, name, value, depth))
            return false;
    }
    return true;
}

static bool check_keyword(struct judge *j, const char *name, json_t *value, int depth)
{
    size_t i = 0, count = sizeof keywords / sizeof keywords[0];
    while (i < count && strcmp(keywords[i].name, name) != 0)
        i++;
    if (i == count)
        return complain(j, "the keyword is not known here");
    switch (keywords[i].kind) {
    case SCHEMA:
        return check_supported(j, value, depth + 1);
    case SCHEMAS:
        for (i = 0; i < json_array_size(value); i++)
            if (!check_member(j, "item", json_array_get(value, i), depth))
                return false;
        return i > 0 || complain(j, "must be a list of schemas");
    case NAMED_SCHEMAS:
        return check_named(j, value, false, depth);
    case PATTERNS:
        return check_named(j, value, true, depth);
    case PATTERN:
        return check_pattern(j, json_string_value(value));
    case TYPE:
        return check_types(j, value);
    case NUMBER:
        return json_is_number(value) || complain(j, "must be a number");
    case LIST:
        return json_array_size(value) > 0 || complain(j, "must be a list");
    case REMARK:
    case OTHER:
        break;
    }
    return true;
}

const json_t *schema_referred(struct judge *j, const char *ref)
{
    static const char start[] = "#/$defs/";
    const json_t *target = NULL;
    if (strncmp(ref, start, sizeof start - 1) == 0)
        target = json_object_get(json_object_get(j->schema, "$defs"),
                                 ref + sizeof start - 1);
    if (!target)
        complain(j, "$ref leads nowhere: %s", ref);
    return target;
}

bool check_supported(struct judge *j, const json_t *schema, int depth)
{
    const char *name;
    json_t *value;
    const json_t *ref = json_object_get(schema, "$ref");
    if (depth == DEPTH || !(json_is_object(schema) || json_is_boolean(schema)))
        return complain(j, "is no schema, or too deep");
    if (ref && (!json_is_string(ref) || !schema_referred(j, json_string_value(ref))))
        return false;
    json_object_foreach((json_t *)(uintptr_t)schema, name, value)
    {
        size_t n = path_enter(j, name);
        if (!check_keyword(j, name, value, depth))
            return false;
        j->path[n] = '\0';
    }
    return true;
}
