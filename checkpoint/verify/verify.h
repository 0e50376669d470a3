/* SPDX-License-Identifier: MIT */
/* Checking everything that is stored. */
#ifndef CHECKPOINT_VERIFY_VERIFY_H
#define CHECKPOINT_VERIFY_VERIFY_H

#include "checkpoint/chain.h"

/* cairn_checkpoint_verify with the payload kinds that are to be understood. Records of
 * other namespaces are checked but for their payloads, which one problem of kind
 * CAIRN_PROBLEM_UNREAD per namespace says. */
struct verify_reader {
    int (*each)(void *, const struct cairn_problem *); /* or NULL; non-zero stops */
    void *context;
};

int checkpoint_verify(struct cairn_store *store, const struct payload_kinds *kinds,
                      const char *id, const struct verify_reader *reader,
                      struct cairn_verify_result *result, struct cairn_error *error);

#endif
