/* SPDX-License-Identifier: MIT */
/* The values that tasks have told, collected to be shown beside their tasks. */
#ifndef CLI_TOLD_VALUES_H
#define CLI_TOLD_VALUES_H

#include "cairn.h"
#include "cli/json.h"

struct told_value {
    char *task, *name, *value;
};
struct told_values {
    struct told_value *at; /* [n] */
    size_t n;
    bool sorted; /* by task: when one was asked for */
    bool failed; /* out of memory */
};

/* Those of a run; `task` NULL: of all its tasks. Returns an exit status. Values that
 * cannot be read are reported, and the others are there. */
int told_values_read(struct told_values *values, struct cairn_store *store,
                     uint64_t run, const char *task);
/* Callback of cairn_checkpoint_values; the context is a struct told_values. */
int told_values_add(void *values, const char *task, const char *name,
                    const char *value);
void told_values_release(struct told_values *values);
/* The member "values" of a task: an object of texts by name. */
void told_values_document(struct told_values *values, struct doc *doc,
                          const char *task);
/* A line for each value of a task: NAME = VALUE. */
void told_values_print(struct told_values *values, const char *task);

#endif
