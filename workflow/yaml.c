/* SPDX-License-Identifier: MIT */
/* Encoding checks, and JSON's surrogate pairs. The JSON scanner knows only where
 * strings begin and end; libyaml checks the grammar. It gives up ("not JSON") on
 * anything that JSON cannot hold, so YAML text, where quotes mean other things, is
 * never touched. */
#include "workflow/yaml.h"

#include "workflow/diagnostic.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <stdio.h>
#include <yaml.h>

/* JSON that libyaml would not take, rewritten for it: surrogate pairs (\ud83d\ude00)
 * become one \U escape, which is two characters shorter, and tabs around the document
 * become blanks. Text that is not JSON in its shape is left alone. */
struct yaml_text {
    struct str text; /* the source's, or a copy in the arena */
    uint32_t *pairs; /* [n_pairs] character index just past each rewritten pair */
    uint32_t n_pairs;
};

static bool is_allowed(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    if (code >= 0x7f && code < 0xa0)
        return false;
    return code != 0x2028 && code != 0x2029 && code != 0xfeff && code != 0xfffe &&
           code != 0xffff;
}

/* UTF-8, and only characters that YAML allows; also refused are the line separators
 * U+0085, U+2028 and U+2029, which YAML 1.1 reads as line breaks and nobody sees. */
static int yaml_text_check(const struct diagnostic *diagnostic)
{
    struct str text = diagnostic->source->text;
    const char *at = text.ptr, *end = at + text.len;
    while (at < end) {
        if (*at >= 0x20 && *at < 0x7f) {
            at++;
            continue;
        }
        uint32_t code = 0;
        size_t length = utf8_next(at, end, &code);
        if (length && is_allowed(code)) {
            at += length;
            continue;
        }
        struct position place =
            source_position(diagnostic->source, (size_t)(at - text.ptr));
        if (!length)
            return diagnose(diagnostic, place,
                            "the file is not UTF-8 text (byte 0x%02x)", (uint8_t)*at);
        return diagnose(diagnostic, place,
                        "the character U+%04X cannot stand in a workflow file; write "
                        "\"\\u%04x\" in double quotes",
                        code, code);
    }
    return 0;
}

/* ---- JSON ---- */

struct json_scan {
    const char *at, *end;
    unsigned depth;
    char before; /* last character that is not blank, outside strings; 0 at the start */
};

static bool read_hex4(const char *at, const char *end, uint32_t *value)
{
    *value = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (uint32_t)((c | 0x20) - 'a') + 10;
        else
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

enum { PAIR = 12 }; /* length of \ud83d\ude00 */

static bool is_pair(const char *at, const char *end, uint32_t *code)
{
    uint32_t high, low;
    if (end - at < PAIR || memcmp(at, "\\u", 2) != 0 || memcmp(at + 6, "\\u", 2) != 0)
        return false;
    if (!read_hex4(at + 2, end, &high) || !read_hex4(at + 8, end, &low) ||
        high < 0xd800 || high > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return false;
    *code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* The end of the string whose opening quote is at `at`, NULL if it has none. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && (unsigned char)*at >= 0x20; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Steps over one character outside strings; false if JSON has no such thing there. */
static bool scan_mark(struct json_scan *scan)
{
    char c = *scan->at++;
    if (is_blank(c))
        return true;
    bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
    if (c == '{' || c == '[')
        scan->depth++;
    else if ((c == '}' || c == ']') && scan->depth)
        scan->depth--;
    else if (!scan->depth || (!letter && c != ':' && c != ','))
        return false;
    scan->before = c;
    return true;
}

/* Steps over a string; its extent is in *from and scan->at. */
static bool scan_string(struct json_scan *scan, const char **from)
{
    *from = scan->at;
    const char *stop = string_end(scan->at, scan->end);
    if (!stop || !scan->before || !strchr("{[,:", scan->before))
        return false;
    scan->at = stop;
    scan->before = '"';
    return true;
}

/* Whether the text has JSON's shape; counts what must be rewritten. */
static bool inspect_json(struct str text, uint32_t *pairs, bool *tabs)
{
    struct json_scan scan = {text.ptr, text.ptr + text.len, 0, 0};
    *pairs = 0;
    *tabs = false;
    while (scan.at < scan.end) {
        if (*scan.at != '"') {
            *tabs |= *scan.at == '\t' && !scan.depth;
            if (!scan_mark(&scan))
                return false;
            continue;
        }
        const char *at;
        uint32_t code;
        if (!scan_string(&scan, &at))
            return false;
        while (at < scan.at) {
            bool pair = is_pair(at, scan.at, &code);
            *pairs += pair;
            at += pair ? PAIR : *at == '\\' ? 2 : 1;
        }
    }
    return true;
}

struct writer {
    char *out;
    size_t used;
    uint32_t characters;
    struct yaml_text *text;
};

static void write_byte(struct writer *writer, char byte)
{
    writer->out[writer->used++] = byte;
    writer->characters += ((uint8_t)byte & 0xc0) != 0x80;
}

static void write_string(struct writer *writer, const char *at, const char *end)
{
    while (at < end) {
        uint32_t code;
        if (is_pair(at, end, &code)) {
            snprintf(writer->out + writer->used, PAIR, "\\U%08x", code);
            writer->used += PAIR - 2;
            writer->characters += PAIR - 2;
            writer->text->pairs[writer->text->n_pairs++] = writer->characters;
            at += PAIR;
            continue;
        }
        if (*at == '\\')
            write_byte(writer, *at++);
        write_byte(writer, *at++);
    }
}

static void rewrite_json(struct writer *writer, struct str text)
{
    struct json_scan scan = {text.ptr, text.ptr + text.len, 0, 0};
    while (scan.at < scan.end) {
        const char *from;
        if (*scan.at == '"') {
            scan_string(&scan, &from);
            write_string(writer, from, scan.at);
        } else {
            write_byte(writer, *scan.at == '\t' && !scan.depth ? ' ' : *scan.at);
            scan_mark(&scan);
        }
    }
}

static int yaml_text_prepare(struct yaml_text *out, struct str text,
                             struct arena *arena, struct cairn_error *error)
{
    uint32_t pairs;
    bool tabs;
    *out = (struct yaml_text){.text = text};
    if (!inspect_json(text, &pairs, &tabs) || (!pairs && !tabs))
        return 0;
    struct writer writer = {.text = out};
    writer.out = arena_take(arena, text.len + 1, 1);
    out->pairs = arena_take(arena, pairs, sizeof *out->pairs);
    if (!writer.out || !out->pairs)
        return error_nomem(error);
    rewrite_json(&writer, text);
    out->text = (struct str){writer.out, writer.used};
    return 0;
}

/* How many pairs end at or before a character. */
static uint32_t pairs_until(const struct yaml_text *text, size_t index)
{
    uint32_t low = 0, high = text->n_pairs;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (text->pairs[middle] <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The column in the source of a character of the rewritten text, counted from 0. */
static uint32_t yaml_text_column(const struct yaml_text *text, size_t index,
                                 size_t column)
{
    uint32_t pairs = pairs_until(text, index) - pairs_until(text, index - column);
    return (uint32_t)column + 2 * pairs;
}

/* libyaml's events to nodes; the one door to libyaml. Events, not libyaml's document
 * tree: those can be refused early, and depth is bounded by our own stack. */

struct level {
    struct node *node, *last; /* the collection and its newest child */
    struct str anchor;        /* its name, or empty */
    uint32_t children;
};

struct anchor {
    struct node *node;
    bool open; /* it is being read */
};

struct node_builder {
    const struct diagnostic *diagnostic;
    struct arena *arena;
    struct yaml_text text;
    struct node *root;
    struct level levels[LIMIT_DEPTH];
    uint32_t depth;
    struct map
        anchor_names;   /* to `anchors`; of a name that is used again the last one */
    struct buf anchors; /* of struct anchor */
    uint64_t n_written, n_added; /* nodes: of the text; by aliases and `<<` */
    struct position last;        /* of the file */
    bool done;
};

static struct position position_of(const struct node_builder *builder, yaml_mark_t mark)
{
    size_t line = builder->diagnostic->source->before + mark.line;
    if (line >= builder->last.line) /* libyaml sees one more line break */
        return builder->last;
    uint32_t column = yaml_text_column(&builder->text, mark.index, mark.column);
    return (struct position){(uint32_t)line + 1, column + 1};
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

static int refuse_tag(const struct node_builder *builder, const yaml_char_t *tag,
                      struct position at)
{
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

/* What aliases and `<<` may add; `n` nodes more at `at`. */
static int count_added(struct node_builder *builder, uint64_t n, struct position at)
{
    builder->n_added += n;
    if (builder->n_added <= LIMIT_ALIASED + LIMIT_ALIASED_FACTOR * builder->n_written)
        return 0;
    return diagnose_as(builder->diagnostic, CAIRN_ELIMIT, at,
                       "aliases stand for more than %d values here and before; write "
                       "fewer of them",
                       LIMIT_ALIASED);
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

/* Whoever has this node has what is in it. */
static void add_to_parent(struct node *parent, const struct node *node)
{
    if (__builtin_add_overflow(parent->size, node->size, &parent->size))
        parent->size = UINT32_MAX;
    if (parent->height <= node->height)
        parent->height = node->height + 1;
}

/* ---- Anchors and aliases ---- */

static struct anchor *anchor_at(const struct node_builder *builder, uint32_t i)
{
    return (struct anchor *)(void *)builder->anchors.data + i;
}

/* *kept: its name, in the arena; empty: there is none. */
static int add_anchor(struct node_builder *builder, const yaml_char_t *name,
                      struct node *node, struct str *kept)
{
    struct anchor anchor = {node, node->kind != NODE_TEXT};
    uint32_t at = 0, n = (uint32_t)(builder->anchors.size / sizeof anchor);
    *kept = STR("");
    if (!name)
        return 0;
    struct str key = *kept = arena_str(builder->arena, str_of((const char *)name));
    int added = key.ptr ? map_add(&builder->anchor_names, key, n, &at) : CAIRN_ENOMEM;
    if (added == 0)
        *anchor_at(builder, at) = anchor;
    else if (added > 0)
        buf_add(&builder->anchors, &anchor, sizeof anchor);
    return added < 0 || builder->anchors.failed
               ? error_nomem(builder->diagnostic->error)
               : 0;
}

/* Unless its name has been given to something within it. */
static void close_anchor(struct node_builder *builder, struct str name,
                         const struct node *node)
{
    uint32_t at = name.len ? map_get(&builder->anchor_names, name) : MAP_NONE;
    if (at != MAP_NONE && anchor_at(builder, at)->node == node)
        anchor_at(builder, at)->open = false;
}

static struct node *copy_node(struct node_builder *builder, const struct node *node)
{
    struct node *copy = arena_take(builder->arena, 1, sizeof *copy);
    if (copy) {
        *copy = *node;
        copy->next = NULL;
    }
    return copy;
}

static int add_alias(struct node_builder *builder, const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    uint32_t found = map_get(&builder->anchor_names, str_of(name));
    if (found == MAP_NONE)
        return diagnose(builder->diagnostic, at, "there is no anchor &%.40s before it",
                        name);
    const struct anchor *anchor = anchor_at(builder, found);
    if (anchor->open)
        return diagnose(builder->diagnostic, at,
                        "*%.40s stands in what &%.40s is, and would have no end", name,
                        name);
    if (builder->depth + anchor->node->height > LIMIT_DEPTH)
        return diagnose_as(builder->diagnostic, CAIRN_ELIMIT, at,
                           "nested more than %d levels deep", LIMIT_DEPTH);
    int rc = count_added(builder, anchor->node->size, at);
    struct node *copy = rc ? NULL : copy_node(builder, anchor->node);
    if (!rc && !copy)
        rc = error_nomem(builder->diagnostic->error);
    if (!rc && builder->depth && wants_key(&builder->levels[builder->depth - 1]) &&
        copy->kind != NODE_TEXT)
        return diagnose(builder->diagnostic, at,
                        "a key must be text, not a list or a mapping");
    return rc ? rc : attach_node(builder, copy);
}

/* ---- Merging ---- */

static bool is_merge_key(const struct node *key)
{
    return key->plain && str_equal(key->text, STR("<<"));
}

struct merge {
    struct node_builder *builder;
    struct node *map, *last; /* where the next key is appended; NULL: at first */
    struct map seen;
};

static int see_key(struct merge *m, struct str key)
{
    int added = map_add(&m->seen, key, 0, NULL);
    return added < 0 ? error_nomem(m->builder->diagnostic->error) : added;
}

static void append_node(struct merge *m, struct node *node)
{
    if (m->last)
        m->last->next = node;
    else
        m->map->first = node;
    m->last = node;
}

/* The keys of a mapping that are not there yet. */
static int merge_map(struct merge *m, const struct node *from, struct position at)
{
    int rc = 0;
    if (from->kind != NODE_MAP)
        return diagnose(
            m->builder->diagnostic, at,
            "`<<` takes a mapping or a list of mappings, as in `<<: *name`");
    for (const struct node *key = from->first; key && rc >= 0; key = key->next->next) {
        rc = see_key(m, key->text);
        if (rc <= 0)
            continue;
        rc = count_added(m->builder, 1 + (uint64_t)key->next->size, at);
        struct node *own = rc ? NULL : copy_node(m->builder, key);
        struct node *value = own ? copy_node(m->builder, key->next) : NULL;
        if (!rc && !value)
            rc = error_nomem(m->builder->diagnostic->error);
        if (rc)
            return rc;
        append_node(m, own);
        append_node(m, value);
        m->map->n++;
        add_to_parent(m->map, own);
        add_to_parent(m->map, value);
    }
    return rc < 0 ? rc : 0;
}

/* Takes `<<` out of a mapping, and puts in its place what it stands for. The mapping's
 * own keys win; of several mappings the first one does. */
static int merge_keys(struct merge *m, const struct node *merged)
{
    struct node *rest = merged->next->next;
    int rc = 0;
    m->map->n = 0;
    for (struct node *key = m->map->first; key && rc >= 0; key = key->next->next) {
        if (key == merged)
            continue;
        rc = see_key(m, key->text);
        if (key->next->next == merged)
            m->last = key->next;
        m->map->n++;
    }
    const struct node *from = merged->next;
    bool list = from->kind == NODE_LIST;
    for (from = list ? from->first : from; from && rc >= 0; from = from->next) {
        rc = merge_map(m, from, from->at);
        if (!list)
            break;
    }
    if (m->last)
        m->last->next = rest;
    else
        m->map->first = rest;
    return rc < 0 ? rc : 0;
}

static int merge_into(struct node_builder *builder, struct node *map)
{
    struct merge m = {.builder = builder, .map = map, .seen = MAP_INIT};
    for (const struct node *key = map->first; key; key = key->next->next)
        if (is_merge_key(key)) {
            int rc = merge_keys(&m, key);
            map_release(&m.seen);
            return rc;
        }
    return 0;
}

/* ---- Nodes ---- */

static int add_text(struct node_builder *builder, const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    int rc = refuse_tag(builder, event->data.scalar.tag, at);
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
    node->size = 1;
    node->text = text;
    struct str anchor;
    rc = add_anchor(builder, event->data.scalar.anchor, node, &anchor);
    return rc ? rc : attach_node(builder, node);
}

static int open_collection(struct node_builder *builder, enum node_kind kind,
                           const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    const yaml_char_t *anchor = kind == NODE_MAP ? event->data.mapping_start.anchor
                                                 : event->data.sequence_start.anchor;
    const yaml_char_t *tag = kind == NODE_MAP ? event->data.mapping_start.tag
                                              : event->data.sequence_start.tag;
    int rc = refuse_tag(builder, tag, at);
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
    node->size = node->height = 1;
    struct str name;
    rc = add_anchor(builder, anchor, node, &name) ?: attach_node(builder, node);
    builder->levels[builder->depth++] = (struct level){.node = node, .anchor = name};
    return rc;
}

static int close_collection(struct node_builder *builder)
{
    const struct level *level = &builder->levels[--builder->depth];
    struct node *node = level->node;
    int rc = node->kind == NODE_MAP ? check_keys(builder, node) : 0;
    for (const struct node *item = node->first; item; item = item->next)
        add_to_parent(node, item);
    if (!rc && node->kind == NODE_MAP)
        rc = merge_into(builder, node);
    close_anchor(builder, level->anchor, node);
    return rc;
}

static int take_event(struct node_builder *builder, const yaml_event_t *event)
{
    struct position at = position_of(builder, event->start_mark);
    builder->n_written++;
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
        return add_alias(builder, event);
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
    struct node_builder builder = {.anchor_names = MAP_INIT,
                                   .diagnostic = diagnostic,
                                   .arena = arena,
                                   .last = source_position(source, source->text.len)};
    yaml_parser_t parser;
    int rc = yaml_text_check(diagnostic)
                 ?: yaml_text_prepare(&builder.text, diagnostic->source->text, arena,
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
    map_release(&builder.anchor_names);
    buf_release(&builder.anchors);
    if (rc)
        return rc;
    if (!builder.root)
        return diagnose(diagnostic, (struct position){0, 0},
                        "the file is empty; a workflow needs `name` and `tasks`");
    *root = builder.root;
    return 0;
}
