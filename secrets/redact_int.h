/* SPDX-License-Identifier: MIT */
/* Inside of redact.h: the forms in which a secret is looked for, and the automaton that
 * finds all of them at once. */
#ifndef SECRETS_REDACT_INT_H
#define SECRETS_REDACT_INT_H

#include "base/arena.h"
#include "secrets/redact.h"

/* The value; base64 at three alignments in two alphabets; percent-encoded in two cases.
 * All of it again without line breaks at the end. */
enum { FORMS_MOST = 2 * (1 + 3 * 2 + 2) };

/* Puts the forms into the arena and returns how many there are; some may be equal.
 * Out of memory: arena->failed. */
size_t secret_forms(struct arena *arena, struct str value, struct str out[FORMS_MOST]);

/* Nodes are numbered breadth first and children by their bytes, so the children of a
 * node lie side by side. Node 0 is the root; nothing falls back to a later node. */
struct automaton_node {
    uint32_t first;   /* of the children */
    uint32_t back;    /* the longest proper suffix of this node that is a node */
    uint32_t depth;   /* bytes from the root */
    uint32_t longest; /* form that ends here, in bytes; 0: none does */
    uint16_t children;
    uint8_t byte; /* that leads here */
};
struct automaton {
    struct automaton_node *nodes;
    size_t n;
    uint32_t root[256]; /* children of the root, 0: none */
};

/* Sorts the forms; they are not needed afterwards. CAIRN_ELIMIT, CAIRN_ENOMEM. */
int automaton_init(struct automaton *automaton, struct str *forms, size_t n,
                   struct cairn_error *error);
void automaton_release(struct automaton *automaton);
/* The state after one more byte. */
uint32_t automaton_step(const struct automaton *automaton, uint32_t state,
                        uint8_t byte);

#endif
