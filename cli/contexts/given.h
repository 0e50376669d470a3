/* SPDX-License-Identifier: MIT */
/* The context that the options of a command line give. */
#ifndef CLI_CONTEXTS_GIVEN_H
#define CLI_CONTEXTS_GIVEN_H

#include "cli/options.h"
#include "cli/sessions/session_of.h"

struct given_context {
    struct cairn_context context;
    bool any; /* an option of those that make one was given */
    struct cairn_context_pair *pairs;
    char *state; /* heap, or NULL */
};
/* Returns an exit status, after printing what is wrong. given_release in any case. */
int given_take(const struct settings *settings, struct texts *texts,
               struct given_context *given);
void given_release(struct given_context *given);

#endif
