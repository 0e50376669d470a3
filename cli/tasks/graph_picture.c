/* SPDX-License-Identifier: MIT */
#include "cli/tasks/graph_picture.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/tasks/task_rows.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

enum { PENDING = 2, NOWHERE = UINT32_MAX };

/* Words of task_state_word, by what of a group is to be seen first. */
const char *const picture_states[PICTURE_STATES] = {
    "excluded",  "completed", "pending",     "skipped", "undone",
    "cancelled", "running",   "interrupted", "unknown", "failed"};
const char *const picture_colours[PICTURE_STATES] = {
    "#eeeeee", "#b7e4c7", "#ffffff", "#d9d9d9", "#e5d4f0",
    "#f4d8b0", "#bfdbfe", "#fde68a", "#fbbf24", "#f8b4b4"};

static uint8_t state_index(const char *word)
{
    uint8_t i = 0;
    while (i < PICTURE_STATES && strcmp(picture_states[i], word) != 0)
        i++;
    return i < PICTURE_STATES ? i : PENDING;
}

static int no_memory(void)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
}

/* ---- Nodes ---- */

static void add_node(struct picture *p, uint32_t node,
                     const struct cairn_node_info *info)
{
    p->node_of[node] = p->n;
    p->at[p->n++] = (struct picture_node){.name = info->id,
                                          .tasks = !info->barrier,
                                          .state = PENDING,
                                          .barrier = info->barrier};
}

/* Members of a group stand side by side; its barriers come behind all tasks, and go
 * where their members are. */
static void fold_node(struct picture *p, uint32_t node,
                      const struct cairn_node_info *info)
{
    struct picture_node *last = p->n ? &p->at[p->n - 1] : NULL;
    uint32_t member =
        info->barrier && info->needs ? cairn_workflow_need(p->workflow, node, 0) : 0;
    if (info->barrier) {
        p->node_of[node] = info->needs ? p->node_of[member] : NOWHERE;
        return;
    }
    if (!last || last->name != info->group) {
        add_node(p, node, info);
        p->at[p->n - 1].name = info->group;
        return;
    }
    p->node_of[node] = p->n - 1;
    last->tasks++;
}

static void make_nodes(struct picture *p, bool fold)
{
    uint32_t nodes = cairn_workflow_nodes(p->workflow);
    struct cairn_node_info info = {0};
    for (uint32_t node = 0; node < nodes; node++) {
        p->node_of[node] = NOWHERE;
        if (cairn_workflow_node(p->workflow, node, &info) != 0)
            continue;
        if (fold)
            fold_node(p, node, &info);
        else
            add_node(p, node, &info);
    }
}

/* ---- States ---- */

static int note_state(void *context, const struct cairn_task_info *task)
{
    struct picture *p = context;
    uint32_t node = cairn_workflow_find(p->workflow, task->id);
    if (node == UINT32_MAX)
        return 0; /* an edit has taken it out */
    struct picture_node *at = &p->at[p->node_of[node]];
    uint8_t state = state_index(task_state_word(task));
    bool first = true;
    for (uint32_t i = 0; at->counts && i < PICTURE_STATES; i++)
        first &= at->counts[i] == 0;
    if (first || state > at->state)
        at->state = state;
    if (at->counts)
        at->counts[state]++;
    return 0;
}

static int read_states(struct picture *p, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    p->states = true;
    p->counts = calloc((size_t)p->n * PICTURE_STATES + 1, sizeof *p->counts);
    for (uint32_t i = 0; p->counts && i < p->n; i++)
        p->at[i].counts = p->counts + (size_t)i * PICTURE_STATES;
    if (!p->counts)
        return no_memory();
    return cairn_run_tasks(store, run, note_state, p, &error) ? report_error(&error)
                                                              : 0;
}

/* ---- Life, edges ---- */

int picture_make(struct picture *p, const struct cairn_workflow *workflow, bool fold,
                 struct cairn_store *store, uint64_t run)
{
    size_t nodes = (size_t)cairn_workflow_nodes(workflow) + 1;
    *p = (struct picture){.workflow = workflow,
                          .at = calloc(nodes, sizeof *p->at),
                          .node_of = calloc(nodes, sizeof *p->node_of),
                          .stamp = calloc(nodes, sizeof *p->stamp)};
    if (!p->at || !p->node_of || !p->stamp)
        return no_memory();
    make_nodes(p, fold);
    return store ? read_states(p, store, run) : 0;
}

void picture_release(struct picture *p)
{
    free(p->at);
    free(p->node_of);
    free(p->counts);
    free(p->stamp);
    *p = (struct picture){0};
}

/* Those of the members of a group come one after the other, so that a stamp tells which
 * were there. */
void picture_each_edge(struct picture *p,
                       void (*each)(void *, uint32_t from, uint32_t to), void *context)
{
    uint32_t nodes = cairn_workflow_nodes(p->workflow);
    struct cairn_node_info info = {0};
    for (uint32_t node = 0; node < nodes && !ui_output_lost(); node++) {
        uint32_t to = p->node_of[node];
        if (to == NOWHERE || cairn_workflow_node(p->workflow, node, &info) != 0)
            continue;
        for (uint32_t k = 0; k < info.needs; k++) {
            uint32_t from = p->node_of[cairn_workflow_need(p->workflow, node, k)];
            if (from == NOWHERE || from == to || p->stamp[from] == to + 1)
                continue;
            p->stamp[from] = to + 1;
            each(context, from, to);
        }
    }
}
