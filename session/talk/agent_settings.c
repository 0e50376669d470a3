/* SPDX-License-Identifier: MIT */
/* The file with an agent's settings, changed in place: what is not ours keeps its
 * bytes. */
#include "session/talk/agent_settings.h"

#include "base/json_scan.h"
#include "base/memory.h"
#include "base/str.h"
#include "cairn/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* A JSON text as a list of its values down to some depth, each with where it stands, so
 * that a part of the text can be replaced and all else keeps its bytes. Pure. */

enum { NODES_DEPTH = 7, NO_NODE = -1 };

struct json_node {
    enum json_token kind; /* JSON_OBJECT, JSON_ARRAY, JSON_STRING, ... */
    int parent;
    size_t from, to; /* of the value in the text */
    size_t key_from; /* of its key with its quotes, else `from` */
    struct str key;  /* raw; ptr NULL: it is in an array, or the root */
};

struct json_nodes {
    struct str text;
    struct json_node *at; /* heap; a value before what is in it; 0 is the root */
    size_t n, room;
};

/* ==== JSON with positions ==== */

struct reading {
    struct json_nodes *nodes;
    int open[NODES_DEPTH + 1]; /* the value that is open at each depth, from 1 */
    struct str key;
    size_t key_from;
    bool has_key;
    struct cairn_error *error;
};

static bool is_open(enum json_token token)
{
    return token == JSON_OBJECT || token == JSON_ARRAY;
}

static bool is_close(enum json_token token)
{
    return token == JSON_OBJECT_END || token == JSON_ARRAY_END;
}

/* A value begins, or is there whole, at this depth: that of what it lies in. */
static int add_node(struct reading *r, enum json_token token,
                    const struct json_scan *in, unsigned depth)
{
    struct json_nodes *nodes = r->nodes;
    struct json_node *at = array_room(nodes->at, nodes->n, &nodes->room, sizeof *at);
    if (!at)
        return error_nomem(r->error);
    nodes->at = at;
    size_t from = (size_t)(in->raw.ptr - nodes->text.ptr) - (token == JSON_STRING);
    at[nodes->n] =
        (struct json_node){.kind = token,
                           .parent = depth ? r->open[depth] : NO_NODE,
                           .from = from,
                           .to = (size_t)(in->at - nodes->text.ptr),
                           .key_from = r->has_key ? r->key_from : from,
                           .key = r->has_key ? r->key : (struct str){NULL, 0}};
    if (is_open(token) && depth < NODES_DEPTH)
        r->open[depth + 1] = (int)nodes->n;
    nodes->n++;
    r->has_key = false;
    return 0;
}

static int take_token(struct reading *r, enum json_token token,
                      const struct json_scan *in)
{
    if (token == JSON_KEY) {
        r->key = in->raw;
        r->key_from = (size_t)(in->raw.ptr - r->nodes->text.ptr) - 1;
        r->has_key = in->depth <= NODES_DEPTH;
        return 0;
    }
    if (is_close(token)) {
        if (in->depth < NODES_DEPTH)
            r->nodes->at[r->open[in->depth + 1]].to =
                (size_t)(in->at - r->nodes->text.ptr);
        return 0;
    }
    unsigned depth = in->depth - is_open(token);
    return depth < NODES_DEPTH ? add_node(r, token, in, depth) : 0;
}

/* CAIRN_EUSAGE: it is not JSON. json_nodes_release in any case. */
static int json_nodes_read(struct str text, struct json_nodes *out,
                           struct cairn_error *error)
{
    struct reading r = {.nodes = out, .error = error};
    struct json_scan in = json_scan_of(text);
    enum json_token token;
    char why[JSON_WHY_BYTES];
    int rc = 0;
    *out = (struct json_nodes){.text = text};
    while (!rc && (token = json_next(&in)) != JSON_END) {
        if (token == JSON_BAD) {
            json_why(&in, text, why);
            return error_set(error, CAIRN_EUSAGE, "%s", why);
        }
        rc = take_token(&r, token, &in);
    }
    return rc;
}

static void json_nodes_release(struct json_nodes *nodes)
{
    free(nodes->at);
    *nodes = (struct json_nodes){.at = NULL};
}

static bool means(struct str raw, const char *text)
{
    struct buf plain = BUF_INIT;
    json_unescape(raw, &plain);
    bool same = !plain.failed && str_equal(buf_view(&plain), str_of(text));
    buf_release(&plain);
    return same;
}

static int json_child_after(const struct json_nodes *nodes, int parent, int child)
{
    size_t i = (size_t)(child == NO_NODE ? parent : child) + 1;
    for (; i < nodes->n && nodes->at[i].from < nodes->at[parent].to; i++)
        if (nodes->at[i].parent == parent)
            return (int)i;
    return NO_NODE;
}

/* The member of an object with this name, the child of a parent behind another one
 * (NO_NODE: the first), or NO_NODE. */
static int json_member(const struct json_nodes *nodes, int object, const char *name)
{
    int child = NO_NODE;
    if (nodes->at[object].kind != JSON_OBJECT)
        return NO_NODE;
    while ((child = json_child_after(nodes, object, child)) != NO_NODE)
        if (means(nodes->at[child].key, name))
            return child;
    return NO_NODE;
}

/* How many members have this name. */
static unsigned json_members(const struct json_nodes *nodes, int object,
                             const char *name)
{
    unsigned n = 0;
    int child = NO_NODE;
    while (nodes->at[object].kind == JSON_OBJECT &&
           (child = json_child_after(nodes, object, child)) != NO_NODE)
        n += means(nodes->at[child].key, name);
    return n;
}

static struct str raw_of(const struct json_nodes *nodes, int node)
{
    const struct json_node *at = &nodes->at[node];
    return (struct str){nodes->text.ptr + at->from + 1, at->to - at->from - 2};
}

/* Is it a string that means this text? */
static bool json_is_text(const struct json_nodes *nodes, int node, const char *text)
{
    return node != NO_NODE && nodes->at[node].kind == JSON_STRING &&
           means(raw_of(nodes, node), text);
}

/* The text of a string; false: it is none. */
static bool json_text_of(const struct json_nodes *nodes, int node, struct buf *out)
{
    if (node == NO_NODE || nodes->at[node].kind != JSON_STRING)
        return false;
    json_unescape(raw_of(nodes, node), out);
    return true;
}

/* ==== The hooks in it ==== */

/* One change after the other, each on a text that is read anew: so no place in the text
 * has to be kept right while it changes. */

enum { CHANGES_MOST = 1000, TIMEOUT_S = 60 };

static const struct {
    const char *name;
    bool tools; /* it has a matcher */
} events[] = {{"SessionStart", false}, {"UserPromptSubmit", false},
              {"PreToolUse", true},    {"PostToolUse", true},
              {"PreCompact", false},   {"Stop", false},
              {"SessionEnd", false}};

enum { EVENTS = COUNT_OF(events) };

/* Part of the text becomes another one; from > to: nothing changes. */
struct change {
    size_t from, to;
    struct buf text;
};

/* "cairn session hook", alone or with options behind it. */
static bool hook_command_is_ours(struct str command)
{
    static const char own[] = "cairn session hook";
    size_t n = sizeof own - 1;
    return command.len >= n && memcmp(command.ptr, own, n) == 0 &&
           (command.len == n || command.ptr[n] == ' ');
}

/* ---- How the file is written ---- */

struct style {
    struct str newline, unit; /* empty: all on one line */
};

/* As its first member stands; two blanks where there is none. */
static struct style style_of(const struct json_nodes *nodes)
{
    int first = json_child_after(nodes, 0, NO_NODE);
    if (first == NO_NODE)
        return (struct style){STR("\n"), STR("  ")};
    size_t from = nodes->at[0].from + 1, end = nodes->at[first].key_from, at = end;
    while (at > from && nodes->text.ptr[at - 1] != '\n')
        at--;
    if (at == from)
        return (struct style){STR(""), STR("")};
    bool two = at - 1 > from && nodes->text.ptr[at - 2] == '\r';
    return (struct style){two ? STR("\r\n") : STR("\n"),
                          {nodes->text.ptr + at, end - at}};
}

static void begin_line(struct buf *out, const struct style *style, unsigned depth)
{
    buf_str(out, style->newline);
    for (unsigned i = 0; i < depth; i++)
        buf_str(out, style->unit);
}

static void add_line(struct buf *out, const struct style *style, unsigned depth,
                     const char *text)
{
    begin_line(out, style, depth);
    buf_text(out, text);
}

static void add_command(struct buf *out, const char *command)
{
    buf_text(out, "\"");
    json_escape(str_of(command), out);
    buf_text(out, "\"");
}

/* An entry of an event, which stands at this depth. */
static void add_entry(struct buf *out, const struct style *style, unsigned depth,
                      bool tools, const char *command)
{
    char timeout[32];
    buf_text(out, "{");
    if (tools)
        add_line(out, style, depth + 1, "\"matcher\": \"*\",");
    add_line(out, style, depth + 1, "\"hooks\": [");
    add_line(out, style, depth + 2, "{");
    add_line(out, style, depth + 3, "\"type\": \"command\",");
    add_line(out, style, depth + 3, "\"command\": ");
    add_command(out, command);
    buf_text(out, ",");
    snprintf(timeout, sizeof timeout, "\"timeout\": %d", TIMEOUT_S);
    add_line(out, style, depth + 3, timeout);
    add_line(out, style, depth + 2, "}");
    add_line(out, style, depth + 1, "]");
    add_line(out, style, depth, "}");
}

/* ---- Changes ---- */

/* Behind the last one in an object or array, which stands at `depth`. */
static void insert(const struct json_nodes *nodes, int into, unsigned depth,
                   const struct style *style, struct str piece, struct change *change)
{
    int last = NO_NODE, child = NO_NODE;
    while ((child = json_child_after(nodes, into, child)) != NO_NODE)
        last = child;
    const struct json_node *at = &nodes->at[into];
    change->from = last == NO_NODE ? at->from + 1 : nodes->at[last].to;
    change->to = last == NO_NODE ? at->to - 1 : change->from;
    if (last != NO_NODE)
        buf_text(&change->text, style->newline.len ? "," : ", ");
    begin_line(&change->text, style, depth + 1);
    buf_str(&change->text, piece);
    if (last == NO_NODE)
        begin_line(&change->text, style, depth);
}

/* With the comma that it needs no longer. */
static void take_out(const struct json_nodes *nodes, int node, struct change *change)
{
    int parent = nodes->at[node].parent, before = NO_NODE, child = NO_NODE;
    while ((child = json_child_after(nodes, parent, child)) != node)
        before = child;
    int next = json_child_after(nodes, parent, node);
    change->from = before != NO_NODE ? nodes->at[before].to
                   : next != NO_NODE ? nodes->at[node].key_from
                                     : nodes->at[parent].from + 1;
    change->to = before != NO_NODE ? nodes->at[node].to
                 : next != NO_NODE ? nodes->at[next].key_from
                                   : nodes->at[parent].to - 1;
}

static bool is_alone(const struct json_nodes *nodes, int node)
{
    int parent = nodes->at[node].parent;
    return json_child_after(nodes, parent, NO_NODE) == node &&
           json_child_after(nodes, parent, node) == NO_NODE;
}

/* ---- Ours ---- */

static int check_unique(const struct json_nodes *nodes, int object, const char *name,
                        struct cairn_error *error)
{
    return json_members(nodes, object, name) > 1
               ? error_set(error, CAIRN_EUSAGE, "it has \"%s\" twice", name)
               : 0;
}

/* The next handler of an entry behind `after`, or NO_NODE. */
static int handler_after(const struct json_nodes *nodes, int entry, int after)
{
    int list = json_member(nodes, entry, "hooks");
    if (list == NO_NODE || nodes->at[list].kind != JSON_ARRAY)
        return NO_NODE;
    return json_child_after(nodes, list, after);
}

static int our_command(const struct json_nodes *nodes, int handler)
{
    struct buf text = BUF_INIT;
    int command = json_member(nodes, handler, "command");
    bool ours = json_text_of(nodes, command, &text) && !text.failed &&
                hook_command_is_ours(buf_view(&text));
    buf_release(&text);
    return ours ? command : NO_NODE;
}

/* The command of the first handler of ours in the entries of an event, or NO_NODE. */
static int find_ours(const struct json_nodes *nodes, int event)
{
    int entry = NO_NODE;
    if (nodes->at[event].kind != JSON_ARRAY)
        return NO_NODE;
    while ((entry = json_child_after(nodes, event, entry)) != NO_NODE) {
        int handler = NO_NODE;
        while ((handler = handler_after(nodes, entry, handler)) != NO_NODE) {
            int command = our_command(nodes, handler);
            if (command != NO_NODE)
                return command;
        }
    }
    return NO_NODE;
}

/* ---- Putting them in ---- */

static void new_event(const struct json_nodes *nodes, int hooks, unsigned i,
                      const struct style *style, const char *command,
                      struct change *change)
{
    struct buf piece = BUF_INIT;
    buf_format(&piece, "\"%s\": [", events[i].name);
    begin_line(&piece, style, 3);
    add_entry(&piece, style, 3, events[i].tools, command);
    add_line(&piece, style, 2, "]");
    insert(nodes, hooks, 1, style, buf_view(&piece), change);
    change->text.failed |= piece.failed;
    buf_release(&piece);
}

static void new_entry(const struct json_nodes *nodes, int event, unsigned i,
                      const struct style *style, const char *command,
                      struct change *change)
{
    struct buf piece = BUF_INIT;
    add_entry(&piece, style, 3, events[i].tools, command);
    insert(nodes, event, 2, style, buf_view(&piece), change);
    change->text.failed |= piece.failed;
    buf_release(&piece);
}

/* 1: something has to be changed, 0: not, <0 */
static int add_event(const struct json_nodes *nodes, int hooks, unsigned i,
                     const struct style *style, const char *command,
                     struct change *change, struct cairn_error *error)
{
    int rc = check_unique(nodes, hooks, events[i].name, error);
    int event = json_member(nodes, hooks, events[i].name);
    if (rc)
        return rc;
    if (event == NO_NODE) {
        new_event(nodes, hooks, i, style, command, change);
        return 1;
    }
    if (nodes->at[event].kind != JSON_ARRAY)
        return error_set(error, CAIRN_EUSAGE, "its \"%s\" in \"hooks\" is not a list",
                         events[i].name);
    int ours = find_ours(nodes, event);
    if (ours == NO_NODE) {
        new_entry(nodes, event, i, style, command, change);
        return 1;
    }
    if (json_is_text(nodes, ours, command))
        return 0;
    change->from = nodes->at[ours].from;
    change->to = nodes->at[ours].to;
    add_command(&change->text, command);
    return 1;
}

static int next_addition(const struct json_nodes *nodes, const char *command,
                         struct change *change, struct cairn_error *error)
{
    struct style style = style_of(nodes);
    int hooks = json_member(nodes, 0, "hooks");
    int rc = check_unique(nodes, 0, "hooks", error);
    if (rc)
        return rc;
    if (hooks == NO_NODE) {
        insert(nodes, 0, 0, &style, STR("\"hooks\": {}"), change);
        return 1;
    }
    if (nodes->at[hooks].kind != JSON_OBJECT)
        return error_set(error, CAIRN_EUSAGE, "its \"hooks\" is not an object");
    for (unsigned i = 0; i < EVENTS && !rc; i++)
        rc = add_event(nodes, hooks, i, &style, command, change, error);
    return rc;
}

/* ---- Taking them out ---- */

/* The handler, or whatever would be empty without it. */
static int next_removal(const struct json_nodes *nodes, struct change *change)
{
    int hooks = json_member(nodes, 0, "hooks"), event = NO_NODE, ours = NO_NODE;
    if (hooks == NO_NODE || nodes->at[hooks].kind != JSON_OBJECT)
        return 0;
    while (ours == NO_NODE &&
           (event = json_child_after(nodes, hooks, event)) != NO_NODE)
        ours = find_ours(nodes, event);
    if (ours == NO_NODE)
        return 0;
    int node = nodes->at[ours].parent; /* the handler */
    int entry = nodes->at[nodes->at[node].parent].parent;
    if (is_alone(nodes, node))
        node = entry;
    if (node == entry && is_alone(nodes, node))
        node = event;
    if (node == event && is_alone(nodes, node))
        node = hooks;
    take_out(nodes, node, change);
    return 1;
}

/* ---- All of it ---- */

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.ptr[i]) || !text.ptr[i])
            return false;
    return true;
}

static int apply(const struct change *change, struct buf *text,
                 struct cairn_error *error)
{
    struct buf made = BUF_INIT;
    buf_add(&made, text->data, change->from);
    buf_str(&made, buf_view(&change->text));
    buf_add(&made, text->data + change->to, text->size - change->to);
    made.failed |= change->text.failed;
    int rc = buf_check(&made, error);
    if (rc) {
        buf_release(&made);
        return rc;
    }
    buf_release(text);
    *text = made;
    return 0;
}

/* 1: one was made, 0: there is none to make, <0 */
static int change_once(struct buf *text, const char *command, struct cairn_error *error)
{
    struct json_nodes nodes;
    struct change change = {.text = BUF_INIT};
    int rc = json_nodes_read(buf_view(text), &nodes, error);
    if (!rc && nodes.at[0].kind != JSON_OBJECT)
        rc = error_set(error, CAIRN_EUSAGE, "it is not a JSON object");
    if (!rc)
        rc = command ? next_addition(&nodes, command, &change, error)
                     : next_removal(&nodes, &change);
    json_nodes_release(&nodes);
    if (rc > 0) {
        int failed = apply(&change, text, error);
        rc = failed ? failed : 1;
    }
    buf_release(&change.text);
    return rc;
}

int hook_settings_edit(struct str json, const char *command, struct buf *out,
                       struct cairn_error *error)
{
    int rc = 1;
    if (is_blank(json))
        json = STR("{}\n");
    buf_clear(out);
    buf_str(out, json);
    rc = out->failed ? buf_check(out, error) : 1;
    for (unsigned i = 0; rc > 0 && i < CHANGES_MOST; i++)
        rc = change_once(out, command, error);
    if (rc > 0)
        rc = error_set(error, CAIRN_EUSAGE,
                       "it has more than %d entries of cairn's own", CHANGES_MOST);
    return rc;
}

/* ==== For programs ==== */

/* The settings of an agent, for programs. */

int cairn_agent_settings(const char *json, size_t bytes, const char *command,
                         char **out, size_t *out_bytes, bool *changed,
                         struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct str given = {json, bytes};
    int rc = 0;
    if (bytes > CAIRN_AGENT_SETTINGS_MAX)
        rc = error_set(error, CAIRN_EUSAGE, "it has more than %u MiB",
                       CAIRN_AGENT_SETTINGS_MAX >> 20);
    else if (command && !hook_command_is_ours(str_of(command)))
        rc = error_set(error, CAIRN_EUSAGE, "'%.80s' is not `cairn session hook`",
                       command);
    if (!rc)
        rc = hook_settings_edit(given, command, &text, error);
    if (rc) {
        buf_release(&text);
        return rc;
    }
    *changed = !str_equal(buf_view(&text), given);
    *out_bytes = text.size;
    *out = text.data;
    return 0;
}
