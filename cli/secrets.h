/* SPDX-License-Identifier: MIT */
/* Secrets from a descriptor (--secrets-fd). */
#ifndef CLI_SECRETS_H
#define CLI_SECRETS_H

#include "cli/options.h"

/* Reads the secrets, if the option was given, to the end of the descriptor, and closes
 * it. Call it before anything else is opened: a wrong number must not hit a descriptor
 * of our own. secrets_given_release wipes them. */
struct secrets_given {
    char *text;
    size_t length;
    struct cairn_param *values;
};
int secrets_given_read(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options);
/* The i-th secret without which `cairn run` would not begin, NULL past the end. */
const char *secrets_not_given(const struct cairn_workflow *workflow,
                              const struct cairn_run_options *options, size_t i);
void secrets_given_release(struct secrets_given *secrets);

#endif
