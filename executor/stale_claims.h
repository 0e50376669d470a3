/* SPDX-License-Identifier: MIT */
/* Claims of external tasks that a resumed run makes void. */
#ifndef EXECUTOR_STALE_CLAIMS_H
#define EXECUTOR_STALE_CLAIMS_H

#include "base/error.h"

struct engine;

/* Deletes the claims whose question is another one now, and logs that. In the
 * transaction that begins with the run again. */
int stale_claims_drop(struct engine *e, struct cairn_error *error);

#endif
