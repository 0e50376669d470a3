/* SPDX-License-Identifier: MIT */
/* YAML to JSON. Plain scalars follow YAML's core schema (1.2), as editors read them; of
 * a key that is given twice the last one counts. */
#include "tests/tools/schema/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static json_t *json_integer_of(const char *text, int base)
{
    errno = 0;
    long long value = strtoll(text, NULL, base);
    return errno ? json_real(strtod(text, NULL)) : json_integer(value);
}

static json_t *plain_value(const char *text)
{
    if (text_matches("^(|~|null|Null|NULL)$", text))
        return json_null();
    if (text_matches("^(true|True|TRUE)$", text))
        return json_true();
    if (text_matches("^(false|False|FALSE)$", text))
        return json_false();
    if (text_matches("^[-+]?[0-9]+$", text))
        return json_integer_of(text, 10);
    if (text_matches("^0o[0-7]+$", text))
        return json_integer_of(text + 2, 8);
    if (text_matches("^0x[0-9a-fA-F]+$", text))
        return json_integer_of(text + 2, 16);
    if (text_matches("^[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?$", text))
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
static void attach_value(struct builder *b, json_t *value)
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
        attach_value(b, plain ? plain_value(text) : json_string(text));
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
    attach_value(b, collection);
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

json_t *read_yaml(FILE *in, char why[TEXT])
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
