/* SPDX-License-Identifier: MIT */
/* YAML (and JSON) text to a tree of nodes, each with its place in the file. A subset on
 * purpose: one document, text keys, no tags, at most LIMIT_DEPTH levels, no key twice in
 * a mapping. scalar.h decides what a plain scalar means.
 *
 * An alias becomes a node of its own that shares what is in its anchor's, with the place
 * of the anchor's; `<<` becomes copies of the keys that a mapping has not. What they add
 * to the tree, all of it counted as often as it is met, is bounded (LIMIT_ALIASED).
 *
 * yaml_text is what becomes of the text before libyaml reads it. */
#ifndef WORKFLOW_YAML_H
#define WORKFLOW_YAML_H

#include "workflow/diagnostic.h"

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node {
    uint8_t kind;
    bool plain;     /* NODE_TEXT: written without quotes */
    uint8_t height; /* levels of collections in it, itself counted */
    uint32_t n;     /* items of a list, pairs of a map */
    uint32_t size;  /* nodes in it, itself counted */
    struct position at;
    struct str text;    /* NODE_TEXT; NUL-terminated, may also hold NUL bytes */
    struct node *first; /* items, or key, value, key, value, ... */
    struct node *next;  /* sibling; a key's value */
};

/* The tree of the diagnostic's source, in `arena`. CAIRN_EWORKFLOW with a place, or
 * CAIRN_ELIMIT. */
int yaml_read(const struct diagnostic *diagnostic, struct arena *arena,
              const struct node **root);

#endif
