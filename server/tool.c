/* SPDX-License-Identifier: MIT */
#include "server/tool.h"

#include <string.h>

static const struct {
    const char *name;
    enum toolset set;
} sets[] = {
    {"checkpoint", TOOLSET_CHECKPOINT},
    {"session", TOOLSET_SESSION},
    {"board", TOOLSET_BOARD},
    {"run", TOOLSET_RUN},
    {"task", TOOLSET_TASK},
    {"files", TOOLSET_FILES},
    {"branch", TOOLSET_BRANCH},
    {"message", TOOLSET_MESSAGE},
    {"exec", TOOLSET_EXEC},
    {"store", TOOLSET_STORE},
    {"all", TOOLSET_ALL},
};

unsigned toolset_find(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (strlen(sets[i].name) == n && memcmp(sets[i].name, name, n) == 0)
            return sets[i].set;
    return 0;
}

const char *toolset_name(enum toolset set)
{
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (sets[i].set == set)
            return sets[i].name;
    return NULL;
}

static void put_enum(struct buf *text, const char *words)
{
    text_key(text, "enum");
    text_open(text, '[');
    for (const char *at = words; at;) {
        size_t n = strcspn(at, "|");
        text_bytes(text, at, n);
        at = at[n] == '|' ? at + n + 1 : NULL;
    }
    text_close(text, ']');
}

static void put_strings(struct buf *text)
{
    static const char values[] = "{\"type\":[\"string\",\"number\",\"boolean\"]}";
    text_key(text, "additionalProperties");
    text_raw(text, values, sizeof values - 1);
}

static void put_type(struct buf *text, const struct property *property)
{
    static const char items[] = "{\"type\":\"string\"}";
    static const char either[] = "[\"object\",\"string\"]";
    switch (property->kind) {
    case PROPERTY_TEXT:
    case PROPERTY_PROSE:
    case PROPERTY_DIRECTORY:
        text_pair(text, "type", "string");
        return;
    case PROPERTY_CHOICE:
        text_pair(text, "type", "string");
        if (!property->empty)
            put_enum(text, property->words);
        return;
    case PROPERTY_INTEGER:
    case PROPERTY_NUMBER:
    case PROPERTY_USAGE:
        text_pair(text, "type",
                  property->kind == PROPERTY_INTEGER ? "integer" : "number");
        text_key(text, "minimum");
        text_real(text, property->low);
        text_key(text, "maximum");
        text_real(text, property->high);
        return;
    case PROPERTY_BOOLEAN:
        text_pair(text, "type", "boolean");
        return;
    case PROPERTY_LIST:
        text_pair(text, "type", "array");
        text_key(text, "items");
        text_raw(text, items, sizeof items - 1);
        return;
    case PROPERTY_PAIRS:
        text_pair(text, "type", "object");
        put_strings(text);
        return;
    case PROPERTY_NOTES:
        text_key(text, "type");
        text_raw(text, either, sizeof either - 1);
        put_strings(text);
    }
}

static void put_property(struct buf *text, const struct property *property)
{
    text_key(text, property->name);
    text_open(text, '{');
    put_type(text, property);
    text_pair(text, "description", property->about);
    text_close(text, '}');
}

static void put_older_names(struct buf *text, const struct property *property)
{
    for (const char *at = property->also; at && *at;) {
        size_t n = strcspn(at, "|");
        text_bytes(text, at, n);
        buf_text(text, ":");
        text_open(text, '{');
        put_type(text, property);
        text_key(text, "description");
        buf_text(text, "\"An older name of ");
        buf_text(text, property->name);
        buf_text(text, "\"");
        text_close(text, '}');
        at += n + (at[n] == '|');
    }
}

/* Whether a field has a kind of which the text is taken, too. */
static bool has_other_kinds(const struct tool *tool)
{
    for (size_t i = 0; i < tool->n_properties; i++)
        switch (tool->properties[i].kind) {
        case PROPERTY_TEXT:
        case PROPERTY_PROSE:
        case PROPERTY_CHOICE:
        case PROPERTY_DIRECTORY:
            break;
        default:
            return true;
        }
    return false;
}

/* `{name*}` is in every variant, or it chooses one. */
static bool is_required(const struct tool *tool, const struct property *property)
{
    char mark[64];
    if (tool->by && strcmp(tool->by, property->name) == 0)
        return tool->variants[0].value != NULL;
    snprintf(mark, sizeof mark, "{%s*}", property->name);
    for (size_t i = 0; i < tool->n_variants; i++)
        if (!strstr(tool->variants[i].template, mark))
            return false;
    return true;
}

void schema_input(struct buf *text, const struct tool *tool, bool read_only)
{
    bool any = false;
    text_open(text, '{');
    text_pair(text, "type", "object");
    if (has_other_kinds(tool))
        text_pair(text, "description",
                  "Numbers, true and false, lists and objects may also be given as "
                  "their JSON text, such as \"5\"");
    text_key(text, "properties");
    text_open(text, '{');
    for (size_t i = 0; i < tool->n_properties; i++) {
        const struct property *property = &tool->properties[i];
        if (read_only && property->stores)
            continue;
        put_property(text, property);
        put_older_names(text, property);
        any = any || is_required(tool, property);
    }
    text_close(text, '}');
    if (any) {
        text_key(text, "required");
        text_open(text, '[');
        for (size_t i = 0; i < tool->n_properties; i++)
            /* Under which of its two names it comes is not said. */
            if (is_required(tool, &tool->properties[i]) && !tool->properties[i].also)
                text_string(text, tool->properties[i].name);
        text_close(text, ']');
    }
    text_key(text, "additionalProperties");
    text_bool(text, false);
    text_close(text, '}');
}

/* ---- Answers ---- */

static const char *type_name(char letter)
{
    switch (letter) {
    case 'i':
        return "integer";
    case 'n':
        return "number";
    case 'b':
        return "boolean";
    case 'a':
        return "array";
    case 'o':
        return "object";
    default:
        return "string";
    }
}

/* "name:i?" */
static void put_member(struct buf *text, const char *member, size_t n)
{
    size_t name = strcspn(member, ":");
    const char *type = type_name(member[name + 1]);
    text_bytes(text, member, name);
    buf_text(text, ":");
    text_open(text, '{');
    if (member[n - 1] == '?') {
        text_key(text, "type");
        text_open(text, '[');
        text_string(text, type);
        text_string(text, "null");
        text_close(text, ']');
    } else
        text_pair(text, "type", type);
    text_close(text, '}');
}

void schema_output(struct buf *text, const struct tool *tool)
{
    text_open(text, '{');
    text_pair(text, "type", "object");
    text_key(text, "properties");
    text_open(text, '{');
    for (const char *at = tool->shape; *at;) {
        size_t n = strcspn(at, " ");
        put_member(text, at, n);
        at += n + (at[n] == ' ');
    }
    text_close(text, '}');
    text_key(text, "required");
    text_open(text, '[');
    for (const char *at = tool->shape; *at;) {
        size_t n = strcspn(at, " ");
        text_bytes(text, at, strcspn(at, ":"));
        at += n + (at[n] == ' ');
    }
    text_close(text, ']');
    text_close(text, '}');
}
