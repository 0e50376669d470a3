/* SPDX-License-Identifier: MIT */
/* What parse_refs.c and parse_known.c share. */
#ifndef WORKFLOW_PARSE_KNOWN_INT_H
#define WORKFLOW_PARSE_KNOWN_INT_H

#include "workflow/parse_refs_int.h"

/* A text of the file while it is checked, and the name in it that is being checked. */
struct checking {
    struct parser *p;
    const struct node *node;
    struct str text;
    const struct task_def *def; /* NULL: of the workflow */
    enum place place;
    const struct name *name;
    size_t at;        /* where the name begins in the text */
    bool only_params; /* so far: no other names */
};

/* Checks every name of an expression that begins at `from` in the text. */
int check_names(struct checking *c, const struct expression *expression, size_t from);
int refuse_secret(const struct checking *c, struct position at, struct str name);

#endif
