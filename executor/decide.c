/* A task runs if it has not completed, or if its completion does not count any more:
 * its definition changed, an output is gone, or something it needs runs. One pass in
 * topological order settles all of it. */
#include "executor/decide.h"

#include "base/limits.h"

#include <stdlib.h>

/* ---- Mapping ---- */

static bool same_values(const struct task_def *a, const struct task_def *b)
{
    if (a->n_foreach != b->n_foreach || a->members != b->members)
        return false;
    for (uint32_t k = 0; k < a->n_foreach; k++) {
        const struct foreach_key *x = &a->foreach[k], *y = &b->foreach[k];
        if (x->n != y->n || !str_equal(x->name, y->name))
            return false;
        for (uint32_t i = 0; i < x->n; i++)
            if (!str_equal(x->values[i], y->values[i]))
                return false;
    }
    return true;
}

static bool same_key_names(const struct task_def *a, const struct task_def *b)
{
    bool same = a->n_foreach == b->n_foreach;
    for (uint32_t k = 0; same && k < a->n_foreach; k++)
        same = str_equal(a->foreach[k].name, b->foreach[k].name);
    return same;
}

static uint32_t find_member(const struct task_def *def, uint32_t member,
                            const struct task_def *old)
{
    struct str values[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < def->n_foreach; k++)
        values[k] = def->foreach[k].values[member_value(def, member, k)];
    return member_find(old, values);
}

void map_tasks(const struct graph *graph, const struct graph *old, uint32_t *old_task)
{
    for (uint32_t task = 0; task < graph->n_tasks; task++)
        old_task[task] = old == graph ? task : NODE_NONE;
    if (!old || old == graph)
        return;
    for (uint32_t i = 0; i < graph->definition->n_defs; i++) {
        const struct task_def *def = &graph->definition->defs[i];
        uint32_t j = map_get(&old->definition->by_id, def->id);
        if (j == MAP_NONE)
            continue;
        const struct task_def *before = &old->definition->defs[j];
        if (!same_key_names(def, before))
            continue;
        bool same = same_values(def, before);
        for (uint32_t m = 0; m < def->members; m++) {
            uint32_t at = same ? m : find_member(def, m, before);
            if (at != UINT32_MAX)
                old_task[graph->first[i] + m] = old->first[j] + at;
        }
    }
}

/* ---- Deciding ---- */

struct judge {
    const struct decide_input *in;
    struct decisions *out;
    struct digest *now, *then; /* fingerprints; NULL when the graphs are the same */
};

static uint32_t running_need(const struct judge *j, uint32_t node)
{
    const struct graph *g = j->in->graph;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
        if (j->out->runs[g->needs[e]])
            return g->needs[e];
    return NODE_NONE;
}

/* A task that was reset waits for what it needs, or was about to start. */
static enum cairn_reason pending_reason(struct judge *j, uint32_t task, uint8_t mark)
{
    if (mark & MARK_DAMAGED)
        return CAIRN_REASON_DAMAGED;
    if (!(mark & (MARK_INTERRUPTED | MARK_RESET)))
        return CAIRN_REASON_NEVER_RAN;
    if (mark & MARK_RESET)
        j->out->cause[task] = running_need(j, task);
    return j->out->cause[task] == NODE_NONE ? CAIRN_REASON_INTERRUPTED
                                            : CAIRN_REASON_UPSTREAM;
}

static enum cairn_reason unfinished_reason(struct judge *j, uint32_t task, uint32_t old)
{
    switch (j->in->states->outcome[old]) {
    case CAIRN_FAILED:
        return CAIRN_REASON_FAILED;
    case CAIRN_CANCELLED:
        return CAIRN_REASON_CANCELLED;
    case CAIRN_SKIPPED:
        return CAIRN_REASON_SKIPPED;
    default:
        return pending_reason(j, task, j->in->marks ? j->in->marks[old] : 0);
    }
}

static enum cairn_reason judge_task(struct judge *j, uint32_t task)
{
    const struct decide_input *in = j->in;
    uint32_t old = in->old ? in->old_task[task] : NODE_NONE;
    if (old == NODE_NONE) {
        j->out->added += in->old != NULL;
        return CAIRN_REASON_NEVER_RAN;
    }
    bool changed = j->now && !digest_equal(&j->now[task], &j->then[old]);
    j->out->changed += changed;
    if (in->states->outcome[old] != CAIRN_COMPLETED)
        return unfinished_reason(j, task, old);
    if (changed && in->on_change != CAIRN_KEEP)
        return CAIRN_REASON_CHANGED;
    if (in->outputs && in->outputs[task] != OUTPUT_GOOD)
        return CAIRN_REASON_OUTPUT;
    j->out->cause[task] = running_need(j, task);
    if (j->out->cause[task] != NODE_NONE)
        return CAIRN_REASON_UPSTREAM;
    j->out->kept += changed;
    return changed ? CAIRN_REASON_KEPT : CAIRN_REASON_DONE;
}

static void judge_all(struct judge *j)
{
    const struct graph *g = j->in->graph;
    struct decisions *out = j->out;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        if (graph_is_barrier(g, node)) {
            out->runs[node] = running_need(j, node) != NODE_NONE;
            continue;
        }
        out->cause[node] = NODE_NONE;
        out->reason[node] = (uint8_t)judge_task(j, node);
        out->runs[node] = out->reason[node] != CAIRN_REASON_DONE &&
                          out->reason[node] != CAIRN_REASON_KEPT;
        out->will += out->runs[node];
        kept += j->in->old && j->in->old_task[node] != NODE_NONE;
    }
    out->removed = j->in->old ? j->in->old->n_tasks - kept : 0;
}

static int fingerprint_both(struct judge *j, struct cairn_error *error)
{
    const struct decide_input *in = j->in;
    if (!in->old || in->old == in->graph)
        return 0;
    j->now = malloc(in->graph->n_tasks * sizeof *j->now);
    j->then = malloc(in->old->n_tasks * sizeof *j->then);
    if (!j->now || !j->then)
        return error_nomem(error);
    int result = graph_fingerprints(in->graph, j->now, error);
    return result ? result : graph_fingerprints(in->old, j->then, error);
}

int decide(const struct decide_input *input, struct decisions *out,
           struct cairn_error *error)
{
    struct decisions d = {.n = input->graph->n_tasks};
    struct judge judge = {.in = input, .out = &d};
    d.runs = calloc(input->graph->n_nodes, 1);
    d.reason = calloc(d.n, 1);
    d.cause = calloc(d.n, sizeof *d.cause);
    int result = d.runs && d.reason && d.cause ? fingerprint_both(&judge, error)
                                               : error_nomem(error);
    if (!result)
        judge_all(&judge);
    free(judge.now);
    free(judge.then);
    if (result)
        decisions_release(&d);
    else
        *out = d;
    return result;
}

void decisions_release(struct decisions *d)
{
    free(d->runs);
    free(d->reason);
    free(d->cause);
    *d = (struct decisions){0};
}

const char *cairn_reason_name(enum cairn_reason reason)
{
    static const char *const names[] = {
        "done",    "never-ran", "failed", "cancelled", "skipped", "interrupted",
        "damaged", "changed",   "output", "upstream",  "kept"};
    return (unsigned)reason < sizeof names / sizeof names[0] ? names[reason]
                                                             : "unknown";
}

const char *cairn_outcome_name(enum cairn_outcome outcome)
{
    static const char *const names[] = {"pending", "completed", "failed", "skipped",
                                        "cancelled"};
    return (unsigned)outcome < sizeof names / sizeof names[0] ? names[outcome]
                                                              : "unknown";
}

const char *cairn_run_state_name(enum cairn_run_state state)
{
    static const char *const names[] = {"unfinished", "completed", "failed",
                                        "cancelled"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}
