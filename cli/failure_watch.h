/* SPDX-License-Identifier: MIT */
/* A checkpoint of the current session for every task that fails in a run. */
#ifndef CLI_FAILURE_WATCH_H
#define CLI_FAILURE_WATCH_H

#include "cairn.h"

struct failure_watch {
    struct cairn_store *store; /* of the run; NULL: none is made */
    cairn_observe_fn *next;    /* gets every event first */
    void *next_context;
    const struct cairn_param *secrets; /* that the run was given */
    size_t n_secrets;
    bool off;                 /* there is no session, or it cannot be written */
    uint32_t made;            /* checkpoints */
    uint64_t pruned;          /* older ones that went, by the settings */
    char last[CAIRN_ID_MAX];  /* the newest of them */
    struct cairn_error error; /* why no more could be made, code 0: nothing is wrong */
};
/* The observer; context is the watch. */
void failure_watch_event(void *context, const struct cairn_event *event);
/* Says at the end of a run what was made, or could not be. */
void failure_watch_end(const struct failure_watch *watch);

#endif
