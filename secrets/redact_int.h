/* SPDX-License-Identifier: MIT */
/* Inside of redact.h: the forms in which a secret is looked for, and the automaton that
 * finds all of them at once. */
#ifndef SECRETS_REDACT_INT_H
#define SECRETS_REDACT_INT_H

#include "base/arena.h"
#include "secrets/redact.h"

struct secret_form {
    struct str text;
    uint32_t secret; /* the how manyth value */
};
/* Zeroed, it is empty. Out of memory: arena.failed. */
struct form_list {
    struct secret_form *at; /* some texts may be equal */
    size_t n, capacity;
    uint32_t secret;    /* the next one */
    struct arena arena; /* of the texts */
};
/* The value and, without the blanks at its ends, the same once more: as it is; base64
 * at three alignments in two alphabets; percent-encoded in two cases; as in a string of
 * JSON. Its lines without the blanks at their ends, as they are. What is shorter than
 * LIMIT_SECRET_LEAST is left out. */
void form_list_add(struct form_list *list, struct str value);
void form_list_release(struct form_list *list);

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
struct automaton_end { /* of a form */
    uint32_t node, secret;
};
struct automaton {
    struct automaton_node *nodes;
    size_t n;
    struct automaton_end *ends; /* by node */
    size_t n_ends;
    uint32_t root[256]; /* children of the root, 0: none */
};

/* Sorts the forms; they are not needed afterwards. CAIRN_ELIMIT, CAIRN_ENOMEM. */
int automaton_init(struct automaton *automaton, struct secret_form *forms, size_t n,
                   struct cairn_error *error);
void automaton_release(struct automaton *automaton);
/* The state after one more byte. */
uint32_t automaton_step(const struct automaton *automaton, uint32_t state,
                        uint8_t byte);
/* Of which secret the longest form is that ends in a state where one does. */
uint32_t automaton_secret(const struct automaton *automaton, uint32_t state);

#endif
