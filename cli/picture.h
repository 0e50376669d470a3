/* SPDX-License-Identifier: MIT */
/* A workflow as nodes and edges of a picture: a node for each task and barrier, or one
 * for all members of a group, with the states of a run.
 *
 *     picture_make -> picture_note, ... -> picture_each_edge, ... -> picture_release
 *
 * And what in it decided how long the run took.
 */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cairn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* States of tasks; of a group the last one that it has is to be seen first. */
enum picture_state {
    PICTURE_EXCLUDED,
    PICTURE_COMPLETED,
    PICTURE_PENDING,
    PICTURE_SKIPPED,
    PICTURE_UNDONE,
    PICTURE_CANCELLED,
    PICTURE_RUNNING,
    PICTURE_INTERRUPTED,
    PICTURE_UNKNOWN,
    PICTURE_FAILED,
    PICTURE_STATES
};

/* Words of task_state_word. */
extern const char *const picture_states[PICTURE_STATES];
uint8_t picture_state(const char *word);

struct picture_node {
    const char *name; /* id of the task, or of the group; the workflow's */
    uint32_t node;    /* of the workflow: the task, the first member, the barrier */
    uint32_t tasks;   /* of a folded group; 1 of a task, 0 of a barrier */
    uint8_t state;    /* of a group the one that matters most */
    uint32_t *counts; /* [PICTURE_STATES]; NULL without states */
    bool barrier;
    bool folded;
};

struct picture {
    const struct cairn_workflow *workflow;
    bool states; /* they are shown */
    uint32_t n;
    struct picture_node *at;
    uint32_t *node_of; /* [nodes] the picture's node of each node of the workflow, or
                          UINT32_MAX: a barrier that is folded away without members */
    uint32_t *counts;  /* of all nodes */
    uint32_t *stamp;   /* [n] */
};

/* Groups with at least so many members become one node (0: none), but those that
 * `unfolded` names, with a blank between them (NULL: none). The workflow must be
 * compiled, and outlive the picture. Returns a code of the library; picture_release is
 * called in any case. */
int picture_make(struct picture *p, const struct cairn_workflow *workflow,
                 uint32_t least, const char *unfolded, bool states,
                 struct cairn_error *error);
/* Whether such a list has the name. */
bool picture_names(const char *list, const char *name);
/* With `states`: the state of a task of the run, by its node of the workflow. */
void picture_note(struct picture *p, uint32_t node, uint8_t state);
/* Each pair of nodes of which one needs the other, once; ended by what `each` returns,
 * if that is not 0. */
void picture_each_edge(struct picture *p,
                       int (*each)(void *, uint32_t from, uint32_t to), void *context);
void picture_release(struct picture *p);

/* When tasks ended, and so what each one waited for. */
struct task_ends {
    const struct cairn_workflow *workflow;
    /* When the task of a node ended; 0: it has not. */
    int64_t (*ended)(const void *context, uint32_t node);
    const void *context;
    uint32_t *last; /* [nodes + 1] what a barrier waited for, once it was looked for;
                       behind those, what all of `finally` did */
};

/* Released by task_ends_release in any case. */
int task_ends_begin(struct task_ends *ends, struct cairn_error *error);
void task_ends_release(struct task_ends *ends);
/* What the task needs that ended last, of a group the member; one of `finally` needs all
 * ordinary ones. UINT32_MAX: nothing. */
uint32_t task_ends_last_need(struct task_ends *ends, uint32_t node);
/* The critical path: from the task that ended last to what it needs that ended last, and
 * so on. The last one is first in path [tasks]; returns how many they are. */
uint32_t task_ends_path(struct task_ends *ends, uint32_t *path);

#endif
