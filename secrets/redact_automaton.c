/* SPDX-License-Identifier: MIT */
/* A. V. Aho, M. J. Corasick: Efficient string matching (CACM 18, 1975).
 *
 * The tree of all forms is made from their sorted list, level by level: a node is the
 * range of forms that begin with its text, so its children are the parts of that range
 * with one next byte each. Compact, because long secrets make millions of nodes: 20
 * bytes for each, found by binary search among their parent's children. */
#include "secrets/redact_int.h"

#include <stdlib.h>

static int by_text(const void *a, const void *b)
{
    const struct secret_form *x = a, *y = b;
    return str_compare(x->text, y->text);
}

static size_t common_prefix(struct str a, struct str b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

static size_t count_nodes(const struct secret_form *forms, size_t n)
{
    size_t nodes = 1;
    for (size_t i = 0; i < n; i++)
        nodes += forms[i].text.len -
                 (i ? common_prefix(forms[i - 1].text, forms[i].text) : 0);
    return nodes;
}

static uint32_t find_child(const struct automaton *automaton, uint32_t state,
                           uint8_t byte)
{
    if (state == 0)
        return automaton->root[byte];
    const struct automaton_node *node = &automaton->nodes[state];
    uint32_t low = node->first, high = low + node->children;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint8_t there = automaton->nodes[middle].byte;
        if (there == byte)
            return middle;
        if (there < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

uint32_t automaton_step(const struct automaton *automaton, uint32_t state, uint8_t byte)
{
    for (;;) {
        uint32_t child = find_child(automaton, state, byte);
        if (child || state == 0)
            return child;
        state = automaton->nodes[state].back;
    }
}

uint32_t automaton_secret(const struct automaton *automaton, uint32_t state)
{
    const struct automaton_node *nodes = automaton->nodes;
    while (nodes[state].depth != nodes[state].longest)
        state = nodes[state].back;
    size_t low = 0, high = automaton->n_ends;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (automaton->ends[middle].node < state)
            low = middle + 1;
        else
            high = middle;
    }
    return automaton->ends[low].secret;
}

struct form_range { /* of the sorted forms that begin with a node's text */
    uint32_t begin, end;
};

/* The node that `byte` leads to from `parent`. Its suffix is shorter, so it lies on an
 * earlier level, which is finished. */
static void link_back(struct automaton *automaton, uint32_t parent, uint32_t child)
{
    struct automaton_node *nodes = automaton->nodes, *node = &nodes[child];
    if (parent)
        node->back = automaton_step(automaton, nodes[parent].back, node->byte);
    else
        automaton->root[node->byte] = child;
    if (!node->longest)
        node->longest = nodes[node->back].longest;
}

/* The forms of the range are cut into the children's. */
static void add_children(struct automaton *automaton, const struct secret_form *forms,
                         struct form_range *ranges, uint32_t parent)
{
    struct automaton_node *nodes = automaton->nodes;
    struct form_range all = ranges[parent];
    uint32_t depth = nodes[parent].depth;
    nodes[parent].first = (uint32_t)automaton->n;
    while (all.begin < all.end && forms[all.begin].text.len == depth)
        all.begin++;
    for (uint32_t i = all.begin; i < all.end; i = all.begin) {
        uint32_t child = (uint32_t)automaton->n++;
        char byte = forms[i].text.ptr[depth];
        while (all.begin < all.end && forms[all.begin].text.ptr[depth] == byte)
            all.begin++;
        ranges[child] = (struct form_range){i, all.begin};
        nodes[child].byte = (uint8_t)byte;
        nodes[child].depth = depth + 1;
        if (forms[i].text.len == depth + 1) {
            nodes[child].longest = depth + 1;
            automaton->ends[automaton->n_ends++] =
                (struct automaton_end){child, forms[i].secret};
        }
        nodes[parent].children++;
        link_back(automaton, parent, child);
    }
}

int automaton_init(struct automaton *automaton, struct secret_form *forms, size_t n,
                   struct cairn_error *error)
{
    *automaton = (struct automaton){.n = 1};
    if (n)
        qsort(forms, n, sizeof *forms, by_text);
    size_t most = count_nodes(forms, n);
    if (most > UINT32_MAX)
        return error_set(error, CAIRN_ELIMIT, "the secrets are too long");
    struct form_range *ranges = calloc(most, sizeof *ranges);
    automaton->nodes = calloc(most, sizeof *automaton->nodes);
    automaton->ends = calloc(n + 1, sizeof *automaton->ends);
    if (!ranges || !automaton->nodes || !automaton->ends) {
        free(ranges);
        automaton_release(automaton);
        return error_nomem(error);
    }
    ranges[0].end = (uint32_t)n;
    for (uint32_t i = 0; i < automaton->n; i++)
        add_children(automaton, forms, ranges, i);
    free(ranges);
    return 0;
}

void automaton_release(struct automaton *automaton)
{
    free(automaton->nodes);
    free(automaton->ends);
    *automaton = (struct automaton){.n = 0};
}
