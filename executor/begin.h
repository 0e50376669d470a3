/* SPDX-License-Identifier: MIT */
/* The first commit of a run, or of one that goes on. */
#ifndef EXECUTOR_BEGIN_H
#define EXECUTOR_BEGIN_H

#include "executor/state/engine.h"

int engine_commit_begin(struct engine *e, struct skip_list *early,
                        struct cairn_error *error);

#endif
