/* SPDX-License-Identifier: MIT */
/* What fingerprint.c and difference.c share: both must see the same things. */
#ifndef GRAPH_FINGERPRINT_INT_H
#define GRAPH_FINGERPRINT_INT_H

#include "graph/fingerprint.h"

struct words {
    const struct str *words;
    uint32_t n;
};
/* The shell that counts: of `run`, else of the check; n is 0 if there is none. */
struct words fingerprint_shell(const struct task_def *def);

/* Needs in the order of their text, whatever order the file has. */
struct named_need {
    struct str text;
    uint32_t index;
};
/* In memory that the caller frees. 0 or CAIRN_ENOMEM. */
int sort_needs(const struct task_def *def, struct named_need **out);

#endif
