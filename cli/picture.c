/* SPDX-License-Identifier: MIT */
#include "cli/picture.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { NOWHERE = UINT32_MAX };

const char *const picture_states[PICTURE_STATES] = {
    [PICTURE_EXCLUDED] = "excluded", [PICTURE_COMPLETED] = "completed",
    [PICTURE_PENDING] = "pending",   [PICTURE_SKIPPED] = "skipped",
    [PICTURE_UNDONE] = "undone",     [PICTURE_CANCELLED] = "cancelled",
    [PICTURE_RUNNING] = "running",   [PICTURE_INTERRUPTED] = "interrupted",
    [PICTURE_UNKNOWN] = "unknown",   [PICTURE_FAILED] = "failed"};

uint8_t picture_state(const char *word)
{
    uint8_t i = 0;
    while (i < PICTURE_STATES && strcmp(picture_states[i], word) != 0)
        i++;
    return i < PICTURE_STATES ? i : PICTURE_PENDING;
}

/* ---- Nodes ---- */

static void add_node(struct picture *p, uint32_t node,
                     const struct cairn_node_info *info, uint32_t tasks, bool folded)
{
    p->at[p->n++] = (struct picture_node){.name = folded ? info->group : info->id,
                                          .node = node,
                                          .tasks = tasks,
                                          .state = PICTURE_PENDING,
                                          .barrier = info->barrier,
                                          .folded = folded};
}

/* Members of a group stand side by side. */
static uint32_t members_from(const struct picture *p, uint32_t node, const char *group)
{
    struct cairn_node_info info = {0};
    uint32_t n = 1;
    while (cairn_workflow_node(p->workflow, node + n, &info) == 0 && !info.barrier &&
           info.group == group)
        n++;
    return n;
}

/* The barriers of groups come behind all tasks; that of one that is folded goes where
 * its members are. */
static void add_barrier(struct picture *p, uint32_t node,
                        const struct cairn_node_info *info, uint32_t least)
{
    uint32_t member = info->needs ? cairn_workflow_need(p->workflow, node, 0) : NOWHERE;
    uint32_t at = member == NOWHERE ? NOWHERE : p->node_of[member];
    if (least > 0 && (at == NOWHERE || p->at[at].folded)) {
        p->node_of[node] = at;
        return;
    }
    p->node_of[node] = p->n;
    add_node(p, node, info, 0, false);
}

bool picture_names(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, name, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static void make_nodes(struct picture *p, uint32_t least, const char *unfolded)
{
    uint32_t nodes = cairn_workflow_nodes(p->workflow), members = 1;
    struct cairn_node_info info = {0};
    for (uint32_t node = 0; node < nodes; node += members) {
        members = 1;
        p->node_of[node] = NOWHERE;
        if (cairn_workflow_node(p->workflow, node, &info) != 0)
            continue;
        if (info.barrier) {
            add_barrier(p, node, &info, least);
            continue;
        }
        bool fold = least > 0 &&
                    (members = members_from(p, node, info.group)) >= least &&
                    !picture_names(unfolded, info.group);
        members = fold ? members : 1;
        for (uint32_t i = 0; i < members; i++)
            p->node_of[node + i] = p->n;
        add_node(p, node, &info, members, fold);
    }
}

/* ---- States ---- */

void picture_note(struct picture *p, uint32_t node, uint8_t state)
{
    struct picture_node *at = &p->at[p->node_of[node]];
    bool first = true;
    for (uint32_t i = 0; i < PICTURE_STATES; i++)
        first &= at->counts[i] == 0;
    if (first || state > at->state)
        at->state = state;
    at->counts[state]++;
}

static int make_counts(struct picture *p, struct cairn_error *error)
{
    p->counts = calloc((size_t)p->n * PICTURE_STATES + 1, sizeof *p->counts);
    if (!p->counts)
        return error_nomem(error);
    for (uint32_t i = 0; i < p->n; i++)
        p->at[i].counts = p->counts + (size_t)i * PICTURE_STATES;
    return 0;
}

/* ---- Life, edges ---- */

int picture_make(struct picture *p, const struct cairn_workflow *workflow,
                 uint32_t least, const char *unfolded, bool states,
                 struct cairn_error *error)
{
    size_t nodes = (size_t)cairn_workflow_nodes(workflow) + 1;
    *p = (struct picture){.workflow = workflow,
                          .states = states,
                          .at = calloc(nodes, sizeof *p->at),
                          .node_of = calloc(nodes, sizeof *p->node_of),
                          .stamp = calloc(nodes, sizeof *p->stamp)};
    if (!p->at || !p->node_of || !p->stamp)
        return error_nomem(error);
    make_nodes(p, least, unfolded);
    return states ? make_counts(p, error) : 0;
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
                       int (*each)(void *, uint32_t from, uint32_t to), void *context)
{
    uint32_t nodes = cairn_workflow_nodes(p->workflow);
    struct cairn_node_info info = {0};
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t to = p->node_of[node];
        if (to == NOWHERE || cairn_workflow_node(p->workflow, node, &info) != 0)
            continue;
        for (uint32_t k = 0; k < info.needs; k++) {
            uint32_t from = p->node_of[cairn_workflow_need(p->workflow, node, k)];
            if (from == NOWHERE || from == to || p->stamp[from] == to + 1)
                continue;
            p->stamp[from] = to + 1;
            if (each(context, from, to) != 0)
                return;
        }
    }
}

/* ---- The critical path ---- */

int task_ends_begin(struct task_ends *ends, struct cairn_error *error)
{
    ends->last =
        calloc((size_t)cairn_workflow_nodes(ends->workflow) + 1, sizeof *ends->last);
    return ends->last ? 0 : error_nomem(error);
}

void task_ends_release(struct task_ends *ends)
{
    free(ends->last);
    ends->last = NULL;
}

static void take_later(const struct task_ends *ends, uint32_t node, uint32_t *best)
{
    int64_t ended = ends->ended(ends->context, node);
    if (ended != 0 && (*best == NOWHERE || ended > ends->ended(ends->context, *best)))
        *best = node;
}

static uint32_t last_member(const struct task_ends *ends, uint32_t barrier)
{
    struct cairn_node_info group = {0};
    uint32_t best = NOWHERE;
    if (cairn_workflow_node(ends->workflow, barrier, &group) == 0)
        for (uint32_t k = 0; k < group.needs; k++)
            take_later(ends, cairn_workflow_need(ends->workflow, barrier, k), &best);
    return best;
}

static uint32_t last_ordinary(const struct task_ends *ends, uint32_t tasks)
{
    struct cairn_node_info info = {0};
    uint32_t best = NOWHERE;
    for (uint32_t node = 0; node < tasks; node++)
        if (cairn_workflow_node(ends->workflow, node, &info) == 0 && !info.finally)
            take_later(ends, node, &best);
    return best;
}

/* Many tasks may need the same large group: it is looked through once. */
static void take_all(struct task_ends *ends, uint32_t barrier, uint32_t *best)
{
    enum { NOT_YET = 0, NONE = 1, FIRST = 2 };
    uint32_t nodes = cairn_workflow_nodes(ends->workflow), *last = &ends->last[barrier];
    if (*last == NOT_YET) {
        uint32_t found =
            barrier < nodes ? last_member(ends, barrier)
                            : last_ordinary(ends, cairn_workflow_tasks(ends->workflow));
        *last = found == NOWHERE ? NONE : found + FIRST;
    }
    if (*last != NONE)
        take_later(ends, *last - FIRST, best);
}

uint32_t task_ends_last_need(struct task_ends *ends, uint32_t node)
{
    const struct cairn_workflow *workflow = ends->workflow;
    uint32_t tasks = cairn_workflow_tasks(workflow), best = NOWHERE;
    struct cairn_node_info info = {0};
    if (cairn_workflow_node(workflow, node, &info) != 0)
        return best;
    for (uint32_t i = 0; i < info.needs; i++) {
        uint32_t need = cairn_workflow_need(workflow, node, i);
        if (need < tasks)
            take_later(ends, need, &best);
        else
            take_all(ends, need, &best);
    }
    if (info.finally && best == NOWHERE)
        take_all(ends, cairn_workflow_nodes(workflow), &best);
    return best;
}

uint32_t task_ends_path(struct task_ends *ends, uint32_t *path)
{
    uint32_t tasks = cairn_workflow_tasks(ends->workflow), last = NOWHERE, n = 0;
    for (uint32_t node = 0; node < tasks; node++)
        take_later(ends, node, &last);
    for (; last != NOWHERE && n < tasks; last = task_ends_last_need(ends, last))
        path[n++] = last;
    return n;
}
