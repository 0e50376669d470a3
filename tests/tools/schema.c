/* SPDX-License-Identifier: MIT
 *
 * schema SCHEMA FILE...: holds YAML (or JSON) files against a JSON Schema (draft
 * 2020-12) and prints a line for each:
 *
 *     valid.yaml<TAB>valid
 *     wrong.yaml<TAB>invalid<TAB>/tasks/a/when: is none of the allowed values
 *     broken.yaml<TAB>unreadable<TAB>5:1: did not find expected ...
 *
 * Exit 0 if every file was judged, 2 if the schema is not understood. Only what our
 * schema uses is known, and a keyword, type or pattern beyond that is refused wherever
 * it stands, so that nothing is passed over in silence. Patterns are POSIX extended
 * regular expressions that mean the same in ECMAScript: no backslash, no (?.
 *
 * Plain scalars follow YAML's core schema (1.2), as editors read them; of a key that
 * stands twice the last one counts. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH = 64, TEXT = 512 };

/* ---- YAML to JSON ---- */

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static json_t *integer(const char *text, int base)
{
    errno = 0;
    long long value = strtoll(text, NULL, base);
    return errno ? json_real(strtod(text, NULL)) : json_integer(value);
}

static json_t *plain_value(const char *text)
{
    if (matches("^(|~|null|Null|NULL)$", text))
        return json_null();
    if (matches("^(true|True|TRUE)$", text))
        return json_true();
    if (matches("^(false|False|FALSE)$", text))
        return json_false();
    if (matches("^[-+]?[0-9]+$", text))
        return integer(text, 10);
    if (matches("^0o[0-7]+$", text))
        return integer(text + 2, 8);
    if (matches("^0x[0-9a-fA-F]+$", text))
        return integer(text + 2, 16);
    if (matches("^[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?$", text))
        return json_real(strtod(text, NULL));
    return json_string(text);
}

struct builder {
    json_t *open[DEPTH]; /* collections, the outermost first; borrowed but [0] */
    char *key[DEPTH];    /* of the mapping at this depth, waiting for its value */
    int depth;
    json_t *root;
    const char *problem;
};

/* Takes `value`. */
static void attach(struct builder *b, json_t *value)
{
    if (!value) {
        b->problem = "no memory, or a number that JSON does not have";
    } else if (b->depth == 0) {
        json_decref(b->root);
        b->root = value;
    } else if (json_is_array(b->open[b->depth - 1])) {
        if (json_array_append_new(b->open[b->depth - 1], value) != 0)
            b->problem = "out of memory";
    } else {
        char **key = &b->key[b->depth - 1];
        if (json_object_set_new(b->open[b->depth - 1], *key, value) != 0)
            b->problem = "a key that is not UTF-8";
        free(*key);
        *key = NULL;
    }
}

static void take_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool key =
        b->depth && json_is_object(b->open[b->depth - 1]) && !b->key[b->depth - 1];

    if (event->data.scalar.anchor || event->data.scalar.tag)
        b->problem = "an anchor or a tag";
    else if (strlen(text) != event->data.scalar.length)
        b->problem = "a NUL byte";
    else if (key)
        b->key[b->depth - 1] = strdup(text);
    else
        attach(b, plain ? plain_value(text) : json_string(text));
}

static void take_open(struct builder *b, json_t *collection, const void *anchor)
{
    bool key =
        b->depth && json_is_object(b->open[b->depth - 1]) && !b->key[b->depth - 1];

    if (b->depth == DEPTH || anchor || key || !collection) {
        b->problem = key ? "a key that is no text" : "an anchor, or too deep";
        json_decref(collection);
        return;
    }
    attach(b, collection);
    b->open[b->depth++] = collection;
}

static void take_event(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        take_scalar(b, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        take_open(b, json_array(), event->data.sequence_start.anchor);
        break;
    case YAML_MAPPING_START_EVENT:
        take_open(b, json_object(), event->data.mapping_start.anchor);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        break;
    case YAML_ALIAS_EVENT:
        b->problem = "an alias";
        break;
    case YAML_DOCUMENT_START_EVENT:
        if (b->root)
            b->problem = "a second document";
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

/* The file as JSON, or NULL with the reason in `why`. */
static json_t *read_yaml(FILE *in, char why[TEXT])
{
    struct builder b = {.depth = 0};
    yaml_parser_t parser;
    yaml_event_t event;
    bool end = false;

    if (!yaml_parser_initialize(&parser))
        return NULL;
    yaml_parser_set_input_file(&parser, in);
    while (!end && !b.problem) {
        if (!yaml_parser_parse(&parser, &event)) {
            b.problem = parser.problem ? parser.problem : "not YAML";
            break;
        }
        take_event(&b, &event);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    if (!b.problem && !b.root)
        b.problem = "nothing in it";
    if (b.problem) {
        snprintf(why, TEXT, "%zu:%zu: %s", parser.mark.line + 1, parser.mark.column + 1,
                 b.problem);
        json_decref(b.root);
        b.root = NULL;
    }
    for (int i = 0; i < DEPTH; i++)
        free(b.key[i]);
    yaml_parser_delete(&parser);
    return b.root;
}

/* ---- Looking over the schema ---- */

struct judge {
    const json_t *schema;
    char path[TEXT]; /* in the file, or in the schema while that is looked over */
    char why[TEXT];
};

static bool complain(struct judge *j, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(struct judge *j, const char *format, ...)
{
    va_list args;
    int n = snprintf(j->why, sizeof j->why, "%.200s: ", j->path[0] ? j->path : "/");
    va_start(args, format);
    vsnprintf(j->why + n, sizeof j->why - (size_t)n, format, args);
    va_end(args);
    return false;
}

/* Appends a step to the path; the length before it, to cut it off again. */
static size_t step_into(struct judge *j, const char *step)
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

static bool look_over(struct judge *j, const json_t *schema, int depth);

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
    return name && matches("^(object|array|string|number|integer|boolean|null)$", name);
}

static bool check_types(struct judge *j, const json_t *types)
{
    bool fine = is_type_name(json_string_value(types));
    for (size_t i = 0; i < json_array_size(types); i++)
        if (!(fine = is_type_name(json_string_value(json_array_get(types, i)))))
            break;
    return fine || complain(j, "there is no such type");
}

static bool look_into(struct judge *j, const char *name, const json_t *value, int depth)
{
    size_t n = step_into(j, name);
    bool fine = look_over(j, value, depth + 1);
    if (fine)
        j->path[n] = '\0';
    return fine;
}

static bool look_at_named(struct judge *j, json_t *map, bool patterns, int depth)
{
    const char *name;
    json_t *value;
    if (!json_is_object(map))
        return complain(j, "must be an object");
    json_object_foreach(map, name, value)
    {
        if ((patterns && !check_pattern(j, name)) || !look_into(j, name, value, depth))
            return false;
    }
    return true;
}

static bool look_at_keyword(struct judge *j, const char *name, json_t *value, int depth)
{
    size_t i = 0, count = sizeof keywords / sizeof keywords[0];
    while (i < count && strcmp(keywords[i].name, name) != 0)
        i++;
    if (i == count)
        return complain(j, "the keyword is not known here");
    switch (keywords[i].kind) {
    case SCHEMA:
        return look_over(j, value, depth + 1);
    case SCHEMAS:
        for (i = 0; i < json_array_size(value); i++)
            if (!look_into(j, "item", json_array_get(value, i), depth))
                return false;
        return i > 0 || complain(j, "must be a list of schemas");
    case NAMED_SCHEMAS:
        return look_at_named(j, value, false, depth);
    case PATTERNS:
        return look_at_named(j, value, true, depth);
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

static const json_t *referred(struct judge *j, const char *ref)
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

static bool look_over(struct judge *j, const json_t *schema, int depth)
{
    const char *name;
    json_t *value;
    const json_t *ref = json_object_get(schema, "$ref");
    if (depth == DEPTH || !(json_is_object(schema) || json_is_boolean(schema)))
        return complain(j, "is no schema, or too deep");
    if (ref && (!json_is_string(ref) || !referred(j, json_string_value(ref))))
        return false;
    json_object_foreach((json_t *)(uintptr_t)schema, name, value)
    {
        size_t n = step_into(j, name);
        if (!look_at_keyword(j, name, value, depth))
            return false;
        j->path[n] = '\0';
    }
    return true;
}

/* ---- Judging ---- */

static bool judge(struct judge *j, const json_t *schema, const json_t *value,
                  int depth);

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
static double limit(const json_t *schema, const char *name, double otherwise)
{
    const json_t *value = json_object_get(schema, name);
    return value ? json_number_value(value) : otherwise;
}

static bool judge_size(struct judge *j, const json_t *schema, const char *least,
                       const char *most, double size)
{
    if (size < limit(schema, least, -INFINITY))
        return complain(j, "%s is %g", least, limit(schema, least, 0));
    if (size > limit(schema, most, INFINITY))
        return complain(j, "%s is %g", most, limit(schema, most, 0));
    return true;
}

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static bool judge_text(struct judge *j, const json_t *schema, const char *text)
{
    const json_t *pattern = json_object_get(schema, "pattern");
    if (!judge_size(j, schema, "minLength", "maxLength", (double)characters(text)))
        return false;
    return !pattern || matches(json_string_value(pattern), text) ||
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
        size_t before = step_into(j, step);
        for (size_t k = 0; unique && k < i; k++)
            if (json_equal(item, json_array_get(list, k)))
                return complain(j, "is here twice");
        if (items && !judge(j, items, item, depth + 1))
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

    if (named && !judge(j, named, value, depth + 1))
        return false;
    json_object_foreach(patterns, pattern, sub)
    {
        if (!matches(pattern, name))
            continue;
        known = true;
        if (!judge(j, sub, value, depth + 1))
            return false;
    }
    return known || !rest || judge(j, rest, value, depth + 1);
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
        size_t before = step_into(j, name);
        if (!judge_member(j, schema, name, value, depth))
            return false;
        j->path[before] = '\0';
    }
    return true;
}

/* Whether a schema fits, without its complaint. */
static bool fits(struct judge *j, const json_t *schema, const json_t *value, int depth)
{
    struct judge kept = *j;
    bool fine = judge(j, schema, value, depth + 1);
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
        if (!judge(j, json_array_get(all, i), value, depth + 1))
            return false;
    for (size_t i = 0; i < json_array_size(one); i++)
        n += fits(j, json_array_get(one, i), value, depth);
    if (one && n != 1)
        return complain(j, "fits %zu of the alternatives", n);
    n = 0;
    for (size_t i = 0; i < json_array_size(any); i++)
        n += fits(j, json_array_get(any, i), value, depth);
    if (any && n == 0)
        return complain(j, "fits none of the alternatives");
    return !never || !fits(j, never, value, depth) || complain(j, "is excluded");
}

static bool judge_condition(struct judge *j, const json_t *schema, const json_t *value,
                            int depth)
{
    const json_t *condition = json_object_get(schema, "if");
    const json_t *branch;
    if (!condition)
        return true;
    branch =
        json_object_get(schema, fits(j, condition, value, depth) ? "then" : "else");
    return !branch || judge(j, branch, value, depth + 1);
}

static bool judge(struct judge *j, const json_t *schema, const json_t *value, int depth)
{
    const json_t *ref = json_object_get(schema, "$ref");
    const json_t *types = json_object_get(schema, "type");
    const json_t *list = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");

    if (depth >= DEPTH)
        return complain(j, "too deep");
    if (json_is_boolean(schema))
        return json_is_true(schema) || complain(j, "cannot stand here");
    if (ref && !judge(j, referred(j, json_string_value(ref)), value, depth + 1))
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

/* ---- The command ---- */

static bool judge_file(const json_t *schema, const char *name)
{
    struct judge j = {.schema = schema};
    FILE *in = fopen(name, "re");
    if (!in) {
        fprintf(stderr, "schema: %s: %s\n", name, strerror(errno));
        return false;
    }
    json_t *value = read_yaml(in, j.why);
    fclose(in);
    if (!value)
        printf("%s\tunreadable\t%s\n", name, j.why);
    else if (judge(&j, schema, value, 0))
        printf("%s\tvalid\n", name);
    else
        printf("%s\tinvalid\t%s\n", name, j.why);
    json_decref(value);
    return true;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *schema;
    bool fine = true;

    if (argc < 3) {
        fputs("usage: schema SCHEMA FILE...\n", stderr);
        return 2;
    }
    schema = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
    if (!schema) {
        fprintf(stderr, "schema: %s:%d: %s\n", argv[1], error.line, error.text);
        return 2;
    }
    struct judge j = {.schema = schema};
    if (!look_over(&j, schema, 0)) {
        fprintf(stderr, "schema: %s: %s\n", argv[1], j.why);
        fine = false;
    }
    for (int i = 2; fine && i < argc; i++)
        fine = judge_file(schema, argv[i]);
    json_decref(schema);
    return fine && fflush(stdout) == 0 ? 0 : 2;
}
