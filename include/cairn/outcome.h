/* SPDX-License-Identifier: MIT */
/* cairn: how a task ended, and how a run did. */
#ifndef CAIRN_OUTCOME_H
#define CAIRN_OUTCOME_H

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_outcome {
    CAIRN_PENDING = 0, /* no final outcome yet */
    CAIRN_COMPLETED = 1,
    CAIRN_FAILED = 2,
    CAIRN_SKIPPED = 3, /* it could not run: a task it needs failed or was skipped */
    CAIRN_CANCELLED = 4,
    CAIRN_UNDONE = 5,  /* had completed; its `undo` has run since */
    CAIRN_UNKNOWN = 6, /* `once`, and interrupted: cairn_resolve decides */
    /* Its condition (`if`, `when`) was not met, or it ended with its `skip_exit`. */
    CAIRN_EXCLUDED = 7,
    CAIRN_LATER = 100 /* from a callback: cairn_attempt_finish reports the outcome */
};
/* The outcome in lower case, "completed": the word that JSON uses. */
CAIRN_API const char *cairn_outcome_name(enum cairn_outcome outcome);

enum cairn_run_state {
    CAIRN_RUN_UNFINISHED = 0, /* running, or interrupted if no process owns it */
    CAIRN_RUN_COMPLETED = 1,
    CAIRN_RUN_FAILED = 2,
    CAIRN_RUN_CANCELLED = 3,
    CAIRN_RUN_UNDONE = 4 /* some of its tasks were undone afterwards (cairn_undo) */
};
/* The state in lower case, "unfinished": the word that JSON uses. */
CAIRN_API const char *cairn_run_state_name(enum cairn_run_state state);

#ifdef __cplusplus
}
#endif
#endif
