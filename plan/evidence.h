/* SPDX-License-Identifier: MIT */
/* Whether what a completed task read and made is still what it was: outputs, inputs,
 * secrets, each compared with the recorded result, which the checkpoint authenticates.
 */
#ifndef PLAN_EVIDENCE_H
#define PLAN_EVIDENCE_H

#include "plan/decide.h"
#include "runs/lookup.h"
#include "runs/outputs.h"
#include "secrets/secrets.h"

struct evidence_source {
    struct lookup *lookup; /* recorded outcomes and results, in the graph's numbers */
    const struct secrets *secrets;
    int root_fd;  /* of the definition's root, to look from; -1: not open */
    bool outputs; /* look at them at all */
    enum cairn_check_outputs check; /* how */
    struct output_index *index; /* with CAIRN_OUTPUTS_CHANGED: what was seen of them;
                                   gets what is seen now */
    const struct task_def *fixed_of; /* whose `fixed` is known: members share it */
    bool fixed;                      /* the names of its outputs are */
    bool unknown_secret;             /* set: a secret that counts was not given */
    struct result_file differs; /* set with OUTPUT_DIFFERS: what is there now; its name
                                   is not */
};

/* *found: enum evidence. `which` gets the name of the file or secret, if not good. */
int evidence_look(struct evidence_source *source, uint32_t task, uint8_t *found,
                  struct buf *which, struct cairn_error *error);

#endif
