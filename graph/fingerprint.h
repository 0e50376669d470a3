/* SPDX-License-Identifier: MIT */
/* What changes the meaning of a task, and what of it has changed. */
#ifndef GRAPH_FINGERPRINT_H
#define GRAPH_FINGERPRINT_H

#include "graph/graph.h"

struct words {
    const struct str *words;
    uint32_t n;
};

/* Fingerprints (fingerprint.c): what changes the meaning of a task. [n_tasks], in the
 * caller's memory. They are compared, never stored. */
int graph_fingerprints(const struct graph *graph, struct digest *out,
                       struct cairn_error *error);
/* Which fields of two definitions of a task differ: "command", "env LC_ALL", "needs",
 * ... with the old and the new value as text for people; NULL: there was, or is, none.
 * `each` returns 0 to go on; anything else stops, and is returned if negative. */
int fingerprint_changes(const struct definition *a_in, const struct task_def *a,
                        const struct definition *b_in, const struct task_def *b,
                        int (*each)(void *, const char *field, const char *old,
                                    const char *now),
                        void *context, struct cairn_error *error);
/* The same of a task of two graphs, with "column X" of its sample sheet. */
int task_changes(const struct graph *a, uint32_t a_task, const struct graph *b,
                 uint32_t b_task,
                 int (*each)(void *, const char *field, const char *old,
                             const char *now),
                 void *context, struct cairn_error *error);
/* *changed: whether there is any. */
int task_is_changed(const struct graph *a, uint32_t a_task, const struct graph *b,
                    uint32_t b_task, bool *changed, struct cairn_error *error);

#endif
