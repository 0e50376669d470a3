/* SPDX-License-Identifier: MIT */
/* Keys that a program sets in a workflow that it builds (cairn_workflow_set,
 * cairn_task_set), until it is compiled. */
#ifndef WORKFLOW_KEYS_SET_H
#define WORKFLOW_KEYS_SET_H

#include "workflow/diagnostic.h"

struct node;

struct keys_set {
    bool any;            /* a key is set, so the whole is read (definition_parse) */
    struct arena arena;  /* of nodes and their sources */
    struct source own;   /* the first of the chain, empty, with the workflow's name */
    struct source *last; /* of it */
    struct node *top;    /* a mapping */
    struct keys_of_task {
        uint64_t by_fields; /* bit i: fields say task_key(i) */
        struct node *map;   /* NULL: nothing is set */
    } * tasks;              /* [n] those that were added */
    size_t n, capacity;
};

/* A member of struct cairn_task, and the key that says the same. */
struct program_field {
    struct str key;
    const char *member;
    uint16_t at, size;
};

/* NULL past the last. */
const struct program_field *program_field(size_t i);

/* NULL: out of memory. */
struct keys_set *keys_set_make(const char *name);
void keys_set_free(struct keys_set *set);
/* Room for one more task than `n`. CAIRN_ENOMEM. */
int keys_set_room(struct keys_set *set, size_t n);
/* What fields of a task say that are keys to the reader only: as cairn_task_set of a key
 * that it has. */
int keys_set_task(struct cairn_workflow *workflow, uint32_t task, const char *key,
                  const char *value, struct cairn_error *error);
/* The same of one text, or of several (NULL-terminated), whatever is in them. */
int keys_set_text(struct cairn_workflow *workflow, uint32_t task, const char *key,
                  const char *text, struct cairn_error *error);
int keys_set_texts(struct cairn_workflow *workflow, uint32_t task, const char *key,
                   const char *const *texts, struct cairn_error *error);

#endif
