/* SPDX-License-Identifier: MIT */
/* The external tasks of a run that can be done now or are claimed. */
#ifndef CLI_TASKS_OPEN_STEPS_H
#define CLI_TASKS_OPEN_STEPS_H

#include "cairn.h"

struct open_step {
    uint32_t node;
    bool claimed;
    char *holder; /* of the claim, or NULL */
    int64_t left_ms, claimed_ns;
    uint32_t lost; /* leases */
};
struct open_steps {
    struct open_step *at; /* [n] by node */
    uint32_t n, capacity, claimed;
    bool failed; /* out of memory */
};

/* Who does it: "by kim@host for another 9m, since ...; 2 leases ran out before". Nobody
 * (`holder` NULL): how many ran out, or nothing. */
enum { LEASE_WORDS_MAX = 480 };
const char *lease_words(char out[LEASE_WORDS_MAX], const char *holder, int64_t left_ms,
                        int64_t since_ns, uint32_t lost);

/* 0 or an exit status; released by open_steps_release, whatever it is. */
int open_steps_read(struct open_steps *steps, struct cairn_store *store, uint64_t run);
/* That of a task, or NULL. */
const struct open_step *open_steps_find(const struct open_steps *steps, uint32_t node);
void open_steps_release(struct open_steps *steps);

#endif
