/* SPDX-License-Identifier: MIT */
/* Whether what a completed task read and made is still what it was: outputs, inputs,
 * secrets, each against the result that its checkpoint vouches for. */
#ifndef PLAN_EVIDENCE_H
#define PLAN_EVIDENCE_H

#include "plan/decide.h"
#include "runs/lookup.h"
#include "secrets/secrets.h"

struct evidence_source {
    struct lookup *lookup; /* recorded outcomes and results, in the graph's numbers */
    const struct secrets *secrets;
    int root_fd;         /* of the definition's root, to look from; -1: not open */
    bool outputs;        /* look at them at all */
    bool content;        /* and at what is in them */
    bool unknown_secret; /* set: a secret that counts was not given */
};
/* *found: enum evidence. `which` gets the name of the file or secret, if not good. */
int evidence_look(struct evidence_source *source, uint32_t task, uint8_t *found,
                  struct buf *which, struct cairn_error *error);

#endif
