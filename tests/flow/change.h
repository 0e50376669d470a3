/* SPDX-License-Identifier: MIT */
/* The parts of change.c: one function for each kind of change. */
#ifndef TESTS_FLOW_CHANGE_H
#define TESTS_FLOW_CHANGE_H

#include "flow.h"

struct making {
    struct change
        *change; /* `made` is set; to be cleared if there is no place for it */
    struct workflow *w;
    struct rng *rng;
    const char *dir;
};

/* A random definition that fits (NULL: any does); NONE if there is none. */
uint32_t pick(const struct making *m, bool (*fits)(const struct def *));
/* The same; notes whether the change is made. */
struct def *picked(const struct making *m, bool (*fits)(const struct def *));

/* Also of those that were added to the run, and of services. */
struct def *picked_any(const struct making *m, bool (*fits)(const struct def *));

bool has_needs(const struct def *def);

/* change_fields.c */
void change_command(struct making *m);
void change_shell(struct making *m);
void change_env(struct making *m);
void change_env_more(struct making *m);
void change_env_everywhere(struct making *m);
void change_own_params(struct making *m);
void change_param_added(struct making *m);
void change_if(struct making *m);
void change_when(struct making *m);
void change_may_fail(struct making *m);
void change_skip_exit(struct making *m);
void change_fallback(struct making *m);
void change_gate(struct making *m);
void change_secrets(struct making *m);
void change_outputs(struct making *m);
void change_inputs(struct making *m);
void change_depfile(struct making *m);
void change_args(struct making *m);
void change_until(struct making *m);
void change_service(struct making *m);

/* change_graph.c */
void change_need_added(struct making *m);
void change_need_soft(struct making *m);
void change_need_removed(struct making *m);
void change_task_added(struct making *m);
void change_task_removed(struct making *m);
void change_name(struct making *m);
void change_member_added(struct making *m);
void change_member_removed(struct making *m);
void change_cell(struct making *m);
void change_added(struct making *m);
void change_withdrawn(struct making *m);

/* change_world.c: files, secrets, and what must not matter */
void change_output_deleted(struct making *m);
void change_output_content(struct making *m);
void change_output_touched(struct making *m);
void change_input_content(struct making *m);
void change_input_touched(struct making *m);
void change_secret(struct making *m);
void change_timeout(struct making *m);
void change_retries(struct making *m);
void change_pool(struct making *m);
void change_places(struct making *m);
void change_slots(struct making *m);
void change_memory(struct making *m);
void change_scope(struct making *m);
void change_artifacts(struct making *m);
void change_pool_limit(struct making *m);
void change_priority(struct making *m);
void change_jobs(struct making *m);
void change_comments(struct making *m);
void change_note(struct making *m);
void change_order(struct making *m);
void change_undo(struct making *m);
void change_param(struct making *m);
void change_param_run(struct making *m);
void change_rounds_more(struct making *m);
void change_again(struct making *m);
void change_stale(struct making *m);
void change_nothing(struct making *m);

#endif
