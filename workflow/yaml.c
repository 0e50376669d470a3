/* SPDX-License-Identifier: MIT */
/* libyaml's events to nodes; the one door to libyaml. Events, not libyaml's document
 * tree: those can be refused early, and depth is bounded by our own stack. */
#include "workflow/yaml.h"

#include "base/limits.h"
#include "workflow/yaml_text.h"

#include <stdio.h>
#include <yaml.h>

struct level {
    struct node *node, *last; /* the collection and its newest child */
    uint32_t children;
};

struct node_builder {
    const struct diagnostic *diagnostic;
    struct arena *arena;
    struct yaml_text text;
    struct node *root;
    struct level levels[LIMIT_DEPTH];
    uint32_t depth;
    struct position last; /* of the file */
    bool done;
};

static struct position position_of(const struct node_builder *builder, yaml_mark_t mark)
{
    if (mark.line >= builder->last.line) /* libyaml sees one more line break */
        return builder->last;
    uint32_t column = yaml_text_column(&builder->text, mark.index, mark.column);
    return (struct position){(uint32_t)mark.line + 1, column + 1};
}

/* ---- What libyaml itself refuses ---- */

static const struct {
    const char *problem, *remedy;
} remedies[] = {
    {"mapping values are not allowed in this context",
     "a text with `: ` in it needs quotes, or the indentation is wrong"},
    {"found invalid Unicode character escape code",
     "surrogates come in pairs, and only JSON has them; write \"\\U0001F600\""},
    {"did not find expected key", "the indentation is wrong, or a quote is missing"},
    {"could not find expected ':'", "a key needs `: ` after it"},
    {"did not find expected ',' or ']'",
     "the list is not closed; a text with [ ] { } , in it needs quotes"},
    {"did not find expected ',' or '}'",
     "the mapping is not closed; a text with [ ] { } , in it needs quotes"},
    {"found unexpected end of stream", "a closing quote is missing"},
};

static const char *remedy_for(const char *problem)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strcmp(remedies[i].problem, problem) == 0)
            return remedies[i].remedy;
    return NULL;
}

static bool stands_on_tab(const struct node_builder *builder, struct position at)
{
    struct str line = source_line(builder->diagnostic->source, at.line);
    return at.column <= line.len && line.ptr[at.column - 1] == '\t';
}

static int syntax_error(const struct node_builder *builder, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return error_nomem(builder->diagnostic->error);
    struct position at = position_of(builder, parser->problem_mark);
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (stands_on_tab(builder, at))
        return diagnose(builder->diagnostic, at,
                        "a tab cannot be used for indentation; use blanks");
    char context[120] = "";
    if (parser->context) {
        struct position from = position_of(builder, parser->context_mark);
        snprintf(context, sizeof context, " %s that begins at %u:%u", parser->context,
                 from.line, from.column);
    }
    const char *remedy = remedy_for(problem);
    return diagnose(builder->diagnostic, at, "%s%s%s%s", problem, context,
                    remedy ? "; " : "", remedy ? remedy : "");
}

/* ---- What we refuse ---- */

static int refuse_extras(const struct node_builder *builder, const yaml_char_t *anchor,
                         const yaml_char_t *tag, struct position at)
{
    if (anchor)
        return diagnose(builder->diagnostic, at,
                        "anchors (&%.40s) are not supported; write the value out",
                        (const char *)anchor);
    if (tag)
        return diagnose(builder->diagnostic, at,
                        "tags (%.40s) are not supported; quote a text, write anything "
                        "else plain",
                        (const char *)tag);
    return 0;
}

static int same_key(const struct node_builder *builder, const struct node *first,
                    const struct node *second)
{
    return diagnose(builder->diagnostic, second->at,
                    "the key `%.*s` is here twice; the first one is at %u:%u",
                    SHOWN(second->text), first->at.line, first->at.column);
}

static int check_small(const struct node_builder *builder, const struct node *map)
{
    for (const struct node *key = map->first; key; key = key->next->next)
        for (const struct node *other = map->first; other != key;
             other = other->next->next)
            if (str_equal(other->text, key->text))
                return same_key(builder, other, key);
    return 0;
}

static const struct node *nth_key(const struct node *map, uint32_t n)
{
    const struct node *key = map->first;
    while (n--)
        key = key->next->next;
    return key;
}

static int check_large(const struct node_builder *builder, const struct node *map)
{
    struct map seen = MAP_INIT;
    uint32_t i = 0, first;
    int rc = map_reserve(&seen, map->n);
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        int added = map_add(&seen, key->text, i++, &first);
        if (added == 0)
            rc = same_key(builder, nth_key(map, first), key);
        else if (added < 0)
            rc = added;
    }
    map_release(&seen);
    return rc == CAIRN_ENOMEM ? error_nomem(builder->diagnostic->error) : rc;
}

static int check_keys(const struct node_builder *builder, const struct node *map)
{
    enum { SMALL = 12 };
    return map->n <= SMALL ? check_small(builder, map) : check_large(builder, map);
}

/* ---- Building ---- */

static bool wants_key(const struct level *level)
{
    return level->node->kind == NODE_MAP && level->children % 2 == 0;
}

/* Appends a new node to the collection that is open, or makes it the root. */
static int attach_node(struct node_builder *builder, struct node *node)
{
    if (builder->depth == 0) {
        builder->root = node;
        return 0;
    }
    struct level *level = &builder->levels[builder->depth - 1];
    if (wants_key(level) && node->kind != NODE_TEXT)
        return diagnose(builder->diagnostic, node->at,
                        "a key must be text, not a list or a mapping");
    if (level->last)
        level->last->next = node;
    else
        level->node->first = node;
    level->last = node;
    level->children++;
    level->node->n =
        level->node->kind == NODE_MAP ? (level->children + 1) / 2 : level->children;
    return 0;
}

static int add_text(struct node_builder *builder, const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    int rc =
        refuse_extras(builder, event->data.scalar.anchor, event->data.scalar.tag, at);
    if (rc)
        return rc;
    struct node *node = arena_take(builder->arena, 1, sizeof *node);
    struct str text = {(const char *)event->data.scalar.value,
                       event->data.scalar.length};
    text = arena_str(builder->arena, text);
    if (!node || !text.ptr)
        return error_nomem(builder->diagnostic->error);
    node->kind = NODE_TEXT;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->at = at;
    node->text = text;
    return attach_node(builder, node);
}

static int open_collection(struct node_builder *builder, enum node_kind kind,
                           const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    const yaml_char_t *anchor = kind == NODE_MAP ? event->data.mapping_start.anchor
                                                 : event->data.sequence_start.anchor;
    const yaml_char_t *tag = kind == NODE_MAP ? event->data.mapping_start.tag
                                              : event->data.sequence_start.tag;
    int rc = refuse_extras(builder, anchor, tag, at);
    if (rc)
        return rc;
    if (builder->depth == LIMIT_DEPTH)
        return diagnose_as(builder->diagnostic, CAIRN_ELIMIT, at,
                           "nested more than %d levels deep", LIMIT_DEPTH);
    struct node *node = arena_take(builder->arena, 1, sizeof *node);
    if (!node)
        return error_nomem(builder->diagnostic->error);
    node->kind = (uint8_t)kind;
    node->at = at;
    rc = attach_node(builder, node);
    builder->levels[builder->depth++] = (struct level){.node = node};
    return rc;
}

static int close_collection(struct node_builder *builder)
{
    const struct node *node = builder->levels[--builder->depth].node;
    return node->kind == NODE_MAP ? check_keys(builder, node) : 0;
}

static int take_event(struct node_builder *builder, const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_text(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(builder, NODE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        return open_collection(builder, NODE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_collection(builder);
    case YAML_ALIAS_EVENT:
        return diagnose(builder->diagnostic, at,
                        "aliases (*%.40s) are not supported; write the value out",
                        (const char *)event->data.alias.anchor);
    case YAML_DOCUMENT_START_EVENT:
        if (builder->root)
            return diagnose(builder->diagnostic, at,
                            "a second document; a workflow file has only one");
        return 0;
    case YAML_STREAM_END_EVENT:
        builder->done = true;
        return 0;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return 0;
    }
    return 0;
}

static int read_events(struct node_builder *builder, yaml_parser_t *parser)
{
    int rc = 0;
    while (!builder->done && !rc) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return syntax_error(builder, parser);
        rc = take_event(builder, &event);
        yaml_event_delete(&event);
    }
    return rc;
}

int yaml_read(const struct diagnostic *diagnostic, struct arena *arena,
              const struct node **root)
{
    const struct source *source = diagnostic->source;
    struct node_builder builder = {.diagnostic = diagnostic,
                                   .arena = arena,
                                   .last = source_position(source, source->text.len)};
    yaml_parser_t parser;
    int rc = yaml_text_check(diagnostic);
    if (!rc)
        rc = yaml_text_prepare(&builder.text, diagnostic->source->text, arena,
                               diagnostic->error);
    if (rc)
        return rc;
    if (!yaml_parser_initialize(&parser))
        return error_nomem(diagnostic->error);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const yaml_char_t *)builder.text.text.ptr,
                                 builder.text.text.len);
    rc = read_events(&builder, &parser);
    yaml_parser_delete(&parser);
    if (rc)
        return rc;
    if (!builder.root)
        return diagnose(diagnostic, (struct position){0, 0},
                        "the file is empty; a workflow needs `name` and `tasks`");
    *root = builder.root;
    return 0;
}
