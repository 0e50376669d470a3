/* SPDX-License-Identifier: MIT */
#include "session/agents/json_nodes.h"

#include "base/array.h"

#include <stdlib.h>

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

int json_nodes_read(struct str text, struct json_nodes *out, struct cairn_error *error)
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

void json_nodes_release(struct json_nodes *nodes)
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

int json_child_after(const struct json_nodes *nodes, int parent, int child)
{
    size_t i = (size_t)(child == NO_NODE ? parent : child) + 1;
    for (; i < nodes->n && nodes->at[i].from < nodes->at[parent].to; i++)
        if (nodes->at[i].parent == parent)
            return (int)i;
    return NO_NODE;
}

int json_member(const struct json_nodes *nodes, int object, const char *name)
{
    int child = NO_NODE;
    if (nodes->at[object].kind != JSON_OBJECT)
        return NO_NODE;
    while ((child = json_child_after(nodes, object, child)) != NO_NODE)
        if (means(nodes->at[child].key, name))
            return child;
    return NO_NODE;
}

unsigned json_members(const struct json_nodes *nodes, int object, const char *name)
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

bool json_is_text(const struct json_nodes *nodes, int node, const char *text)
{
    return node != NO_NODE && nodes->at[node].kind == JSON_STRING &&
           means(raw_of(nodes, node), text);
}

bool json_text_of(const struct json_nodes *nodes, int node, struct buf *out)
{
    if (node == NO_NODE || nodes->at[node].kind != JSON_STRING)
        return false;
    json_unescape(raw_of(nodes, node), out);
    return true;
}
