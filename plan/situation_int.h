/* SPDX-License-Identifier: MIT */
/* What the files of situation.c share. */
#ifndef PLAN_SITUATION_INT_H
#define PLAN_SITUATION_INT_H

#include "plan/situation.h"

struct loader {
    struct situation *s;
    struct cairn_workflow *w;
    struct cairn_store *store;
    const struct cairn_run_options *options;
    bool as_is;
    bool no_memory; /* for a condition, while deciding */
    struct cairn_error *error;
};

/* Adds a notice. */
void situation_note(struct situation *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Once run, states, definition and old_task are loaded. */
int situation_load_marks(struct loader *l);
/* Once run, states and definition are loaded: marks, evidence, the decision. */
int situation_decide(struct loader *l);

#endif
