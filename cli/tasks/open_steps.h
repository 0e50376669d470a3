/* SPDX-License-Identifier: MIT */
/* The external tasks of a run that can be done now or are claimed. */
#ifndef CLI_TASKS_OPEN_STEPS_H
#define CLI_TASKS_OPEN_STEPS_H

#include "cairn.h"

struct open_step {
    uint32_t node;
    bool claimed;
    char *holder; /* of the claim, or NULL */
    int64_t left_ms;
};
struct open_steps {
    struct open_step *at; /* [n] by node */
    uint32_t n, capacity, claimed;
    bool failed; /* out of memory */
};

/* 0 or an exit status; released by open_steps_release, whatever it is. */
int open_steps_read(struct open_steps *steps, struct cairn_store *store, uint64_t run);
/* That of a task, or NULL. */
const struct open_step *open_steps_find(const struct open_steps *steps, uint32_t node);
void open_steps_release(struct open_steps *steps);

#endif
