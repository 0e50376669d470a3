/* SPDX-License-Identifier: MIT */
/* Which tasks a run is to carry out: those that were named, and all that they need.
 * Pure. */
#ifndef PLAN_CHOICE_H
#define PLAN_CHOICE_H

#include "cairn/run.h"
#include "graph/graph.h"

struct choice {
    uint8_t *chosen; /* [n_nodes] NULL: all */
    uint8_t *again;  /* [n_nodes] these run again, also if they have completed; NULL:
                        none */
};

/* Of options->tasks. CAIRN_ENOTFOUND: nothing has such a name; CAIRN_EUSAGE: only tasks
 * of `finally` have. Released by choice_release, whatever it returns. */
int choice_make(struct choice *choice, const struct graph *graph,
                const struct cairn_run_options *options, struct cairn_error *error);
void choice_release(struct choice *choice);

/* What the file says, or the options say instead. */
enum on_failure choice_on_failure(const struct definition *definition,
                                  enum cairn_on_failure given);

#endif
