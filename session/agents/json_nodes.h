/* SPDX-License-Identifier: MIT */
/* A JSON text as a list of its values down to some depth, each with where it stands, so
 * that a part of the text can be replaced and all else keeps its bytes. Pure. */
#ifndef SESSION_AGENTS_JSON_NODES_H
#define SESSION_AGENTS_JSON_NODES_H

#include "base/json_scan.h"

#include <stdbool.h>
#include <stddef.h>

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
/* CAIRN_EUSAGE: it is no JSON. json_nodes_release in any case. */
int json_nodes_read(struct str text, struct json_nodes *out, struct cairn_error *error);
void json_nodes_release(struct json_nodes *nodes);
/* The member of an object with this name, the child of a parent behind another one
 * (NO_NODE: the first), or NO_NODE. */
int json_member(const struct json_nodes *nodes, int object, const char *name);
int json_child_after(const struct json_nodes *nodes, int parent, int child);
/* How many members have this name. */
unsigned json_members(const struct json_nodes *nodes, int object, const char *name);
/* Is it a string that means this text? */
bool json_is_text(const struct json_nodes *nodes, int node, const char *text);
/* The text of a string; false: it is none. */
bool json_text_of(const struct json_nodes *nodes, int node, struct buf *out);

#endif
