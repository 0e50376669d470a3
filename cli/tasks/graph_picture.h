/* SPDX-License-Identifier: MIT */
/* The graph as people look at it: a node for each task and barrier, or one for each
 * group (`--fold`), with the states of a run (`--states`). */
#ifndef CLI_TASKS_GRAPH_PICTURE_H
#define CLI_TASKS_GRAPH_PICTURE_H

#include <cairn.h>

struct picture_node {
    const char *name; /* id of the task, or of the group */
    uint32_t tasks;   /* of a folded group; 1 of a task, 0 of a barrier */
    uint8_t state; /* index of picture_states; of a group the one that matters most */
    uint32_t *counts; /* [PICTURE_STATES] of a folded group, or NULL */
    bool barrier;
};
enum { PICTURE_STATES = 10 };
/* From what matters least. Names (of task_state_word) and colours. */
extern const char *const picture_states[PICTURE_STATES];
extern const char *const picture_colours[PICTURE_STATES];

struct picture {
    const struct cairn_workflow *workflow;
    bool states; /* they are known */
    uint32_t n;
    struct picture_node *at;
    uint32_t *node_of; /* [nodes] the picture's node of each node of the workflow, or
                          UINT32_MAX: a barrier that is folded away without members */
    uint32_t *counts;  /* of all groups */
    uint32_t *stamp;   /* [n] */
};

/* Exit status. `store` NULL: without states. The workflow must be compiled. */
int picture_make(struct picture *picture, const struct cairn_workflow *workflow,
                 bool fold, struct cairn_store *store, uint64_t run);
void picture_release(struct picture *picture);
/* Calls `each` for every edge from what is needed to what needs it, once. */
void picture_each_edge(struct picture *picture,
                       void (*each)(void *, uint32_t from, uint32_t to), void *context);

#endif
