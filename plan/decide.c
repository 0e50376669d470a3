/* SPDX-License-Identifier: MIT */
#include "plan/decide.h"

#include "plan/choice.h"
#include "plan/sched.h"

#include "cairn/plan.h"
#include "graph/fingerprint.h"
#include "graph/lists.h"

#include <stdlib.h>

struct judge {
    const struct decide_input *in;
    struct decisions *out;
    struct digest *now, *then; /* fingerprints; NULL when the graphs are the same */
    bool any_open;
    uint32_t first_will, first_may, first_turned; /* for `finally` */
};

/* As which task it is recorded, or NODE_NONE. */
static uint32_t old_of(const struct judge *j, uint32_t task)
{
    return j->in->old ? j->in->old_task[task] : NODE_NONE;
}

static uint8_t mark_of_old(const struct judge *j, uint32_t old)
{
    return j->in->marks && old != NODE_NONE ? j->in->marks[old] : 0;
}

/* What would run may run. */
static uint16_t made_doubtful(uint16_t fate)
{
    return fate & FATE_WILL ? (uint16_t)((fate & ~FATE_WILL) | FATE_MAY) : fate;
}

struct handler_search {
    const struct graph *graph;
    bool (*is)(const void *context, uint32_t handler);
    const void *context;
};

static bool is_such_handler(const void *context, uint32_t dependent)
{
    const struct handler_search *search = context;
    return task_is_handler(graph_def(search->graph, dependent)) &&
           search->is(search->context, dependent);
}

bool failure_has_handler(const struct graph *graph, uint32_t task,
                         bool (*is)(const void *context, uint32_t handler),
                         const void *context)
{
    struct handler_search search = {graph, is, context};
    return graph_def(graph, task)->may_fail ||
           graph_any_dependent(graph, task, is_such_handler, &search);
}

struct recorded_outcomes {
    const struct states *states;
    const uint32_t *number;
};

static bool has_completed(const void *context, uint32_t task)
{
    const struct recorded_outcomes *r = context;
    uint32_t number = r->number ? r->number[task] : task;
    return number != NODE_NONE && r->states->outcome[number] == CAIRN_COMPLETED;
}

bool failure_is_handled(const struct graph *graph, uint32_t task,
                        const struct states *states, const uint32_t *number)
{
    struct recorded_outcomes recorded = {states, number};
    return failure_has_handler(graph, task, has_completed, &recorded);
}

/* A failure that is to be expected stops the run, unless on_failure is continue: what
 * is sure to run then is only what comes before it. */

/* `marked`: what is sure to have ended before `task` starts, and itself. A need that
 * does not run, or may not, lets a task go before its own needs have ended. */
static void mark_needed(const struct judge *j, uint32_t task, uint8_t *marked)
{
    const struct graph *g = j->in->graph;
    marked[task] = 1;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        bool follow = marked[node] && (node == task || j->out->fate[node] & FATE_WILL);
        for (uint32_t e = g->need_start[node]; follow && e < g->need_start[node + 1];
             e++)
            marked[g->needs[e]] = 1;
    }
}

/* As certain as that can be of a task that has not run yet. */
static bool is_sure_to_complete(const void *context, uint32_t handler)
{
    const struct judge *j = context;
    return j->out->fate[handler] & (FATE_COMPLETED | FATE_WILL);
}

/* Its process runs already, or its end counts: it is not started. */
static bool is_only_taken_over(const struct judge *j, uint32_t task)
{
    return j->out->reason[task] == CAIRN_REASON_ADOPTED &&
           !is_tried_again(j->out, task, mark_of_old(j, old_of(j, task)));
}

/* Once it can start, it does at once: it waits for no place, service or delay, nor
 * until its inputs have been read. */
static bool only_waits_for_needs(const struct judge *j, uint32_t task)
{
    const struct task_def *def = graph_def(j->in->graph, task);
    return !def->n_pools && !def->memory && !def->repeat.max && !def->finally &&
           !task_def_has_inputs(def) && !task_def_is_service(def) &&
           j->out->reason[task] != CAIRN_REASON_ADOPTED;
}

/* Fails, if it does, only after what comes before it has started: not because of its list,
 * of an input that is missing, or of a condition or the text of an external task that
 * cannot be evaluated. */
static bool starts_before_it_fails(const struct judge *j, uint32_t task)
{
    const struct task_def *def = graph_def(j->in->graph, task);
    uint16_t fate = j->out->fate[task];
    return !(fate & FATE_DOOMED) && !def->n_inputs && !task_def_is_service(def) &&
           (!def->condition.len || fate & FATE_WILL) && def->kind != TASK_EXTERNAL &&
           j->out->reason[task] != CAIRN_REASON_ADOPTED;
}

/* `task` can start as soon as `other` can, and comes first then: however few run at
 * once, it starts before that one. `marked`: what is sure to have ended before it. */
static bool starts_before_other(const struct judge *j, uint32_t task, uint32_t other,
                                const uint8_t *marked)
{
    const struct graph *g = j->in->graph;
    if (graph_is_barrier(g, task) || !only_waits_for_needs(j, task) ||
        !starts_before_it_fails(j, other) ||
        !sched_starts_before(g, task, other, j->in->reweighed))
        return false;
    bool waits = false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !waits; e++)
        waits = !marked[g->needs[e]] && j->out->fate[g->needs[e]] & FATE_ANEW;
    return !waits;
}

/* `stopper`: the first task whose failure may stop the run before a node runs. */
static void set_stopper_of_unmarked(const struct judge *j, const uint8_t *marked,
                                    uint32_t task, uint32_t *stopper)
{
    for (uint32_t i = 0; i < j->in->graph->n_nodes; i++)
        if (!marked[i] && stopper[i] == NODE_NONE &&
            !(marked[task] && starts_before_other(j, i, task, marked)))
            stopper[i] = task;
}

/* Nodes that run before all of the tasks that failed last time keep NODE_NONE. If many
 * failed, no node does: that is cautious, and cheap. */
static int find_stoppers(const struct judge *j, uint32_t *stopper)
{
    enum { MANY = 16 };
    const struct graph *g = j->in->graph;
    uint8_t *marked = malloc(g->n_nodes);
    uint32_t n = 0;
    if (!marked)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        stopper[i] = NODE_NONE;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        bool handled = j->out->fate[task] & (FATE_FAILED | FATE_DOOMED) &&
                       failure_has_handler(g, task, is_sure_to_complete, j);
        bool stays = j->out->fate[task] & FATE_FAILED && !handled;
        bool risk =
            j->out->fate[task] & FATE_RISK && !graph_def(g, task)->may_fail && !handled;
        if (!risk && !stays)
            continue;
        bool last = ++n > MANY || stays;
        memset(marked, 0, g->n_nodes);
        if (!last)
            mark_needed(j, task, marked);
        set_stopper_of_unmarked(j, marked, task, stopper);
        if (last)
            break;
    }
    free(marked);
    return n ? 1 : 0;
}

/* Unless the run continues after failures, only what such a task needs is sure to run,
 * and what starts before it. */
static int apply_stop_on_failure(struct judge *j)
{
    const struct graph *g = j->in->graph;
    if (choice_on_failure(g->definition, j->in->on_failure) == ON_FAILURE_CONTINUE)
        return 0;
    uint32_t *stopper = malloc(g->n_nodes * sizeof *stopper);
    int any = stopper ? find_stoppers(j, stopper) : CAIRN_ENOMEM;
    for (uint32_t task = 0; any > 0 && task < g->n_tasks; task++) {
        uint16_t *fate = &j->out->fate[task];
        if (!(*fate & FATE_WILL) || stopper[task] == NODE_NONE ||
            graph_def(g, task)->finally || is_only_taken_over(j, task))
            continue;
        *fate = made_doubtful(*fate);
        if (j->out->cause[task] == NODE_NONE && stopper[task] != task)
            j->out->cause[task] = stopper[task];
    }
    free(stopper);
    return any < 0 ? any : 0;
}

/* A task runs if it has not completed, or if its completion does not count any more:
 * its definition changed, an output is gone, or something it needs runs. Whether it
 * really does can depend on conditions, on how needs end, on decisions that are not
 * made yet: then it may run. One pass in topological order settles all of it. */

/* ---- Deciding ---- */

/* A task that is needed only for the order, and has made what this one reads: with one
 * of these bits. */
static uint32_t maker_with(const struct judge *j, uint32_t task, uint16_t bits)
{
    const uint32_t *first = j->in->first_maker;
    for (uint32_t i = first ? first[task] : 0; first && i < first[task + 1]; i++)
        if (j->out->fate[j->in->makers[i]] & bits)
            return j->in->makers[i];
    return NODE_NONE;
}

/* To who needs it. After a soft need the task runs however that has ended, so it makes
 * no difference whether it does; after one that may have nothing to do it may run. */
static uint16_t fate_of_need(const struct judge *j, uint32_t node, uint32_t edge)
{
    const struct graph *g = j->in->graph;
    uint32_t need = g->needs[edge];
    uint16_t fate = j->out->fate[need];
    if (graph_need_is_soft(g, node, edge))
        return (fate & (FATE_OPEN | FATE_TURNED)) |
               (fate & (FATE_WILL | FATE_MAY) ? FATE_WILL : 0);
    return graph_def(g, need)->skip_exit && !graph_is_barrier(g, node)
               ? made_doubtful(fate)
               : fate;
}

/* All bits of what a task needs; in *anew of what makes it run again with it. */
static uint16_t fate_of_needs(const struct judge *j, uint32_t task, uint16_t *anew)
{
    const struct graph *g = j->in->graph;
    bool all = task_def_needs_all(g->definition, graph_def(g, task));
    uint16_t fate = 0;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint16_t need = fate_of_need(j, task, e);
        if (task_def_is_service(graph_def(g, g->needs[e])))
            need &= (uint16_t)~FATE_WILL; /* that follows from this task */
        fate |= need;
        if (!graph_need_is_order(g, task, e))
            *anew |= need & FATE_ANEW;
    }
    uint32_t maker = maker_with(j, task, FATE_ANEW);
    if (maker != NODE_NONE)
        *anew |= j->out->fate[maker] & FATE_ANEW;
    return all && fate & FATE_EXCLUDED ? fate | FATE_BAD : fate;
}

/* Those of a barrier: who is excluded is left out of the group, unless nobody is left.
 */
static uint16_t fate_of_members(const struct judge *j, uint32_t barrier)
{
    const struct graph *g = j->in->graph;
    uint16_t fate = 0, spared = FATE_SPARED;
    bool left = false;
    for (uint32_t e = g->need_start[barrier]; e < g->need_start[barrier + 1]; e++) {
        uint16_t member = j->out->fate[g->needs[e]];
        bool excluded = member & FATE_EXCLUDED;
        if (member & FATE_UNSETTLED && !(member & FATE_SPARED))
            spared = 0; /* it takes all of them */
        fate |= excluded ? member & (uint16_t)~FATE_BAD : member;
        left |= !excluded;
    }
    fate &= (uint16_t)(~FATE_SPARED | spared);
    return fate & FATE_EXCLUDED && !left ? fate | FATE_BAD : fate;
}

/* The first need with one of these bits: of a task first one that is not only for the
 * order, then one that it reads from. */
static uint32_t need_with(const struct judge *j, uint32_t node, uint16_t bits)
{
    const struct graph *g = j->in->graph;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
        if (fate_of_need(j, node, e) & bits && !graph_need_is_order(g, node, e))
            return g->needs[e];
    bool reads = bits & FATE_ANEW && !graph_is_barrier(g, node);
    uint32_t maker = reads ? maker_with(j, node, bits) : NODE_NONE;
    if (maker != NODE_NONE)
        return maker;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
        if (fate_of_need(j, node, e) & bits)
            return g->needs[e];
    return NODE_NONE;
}

enum go { GO_NEVER, GO_PERHAPS, GO_YES };

/* What `when` says of the needs. */
static enum go go_by_needs(uint8_t when, uint16_t needs)
{
    switch ((enum task_when)when) {
    case WHEN_SUCCESS:
        if (needs & (FATE_FAILED | FATE_BAD | FATE_DOOMED))
            return GO_NEVER;
        return needs & (FATE_MAY | FATE_OPEN | FATE_RISK) ? GO_PERHAPS : GO_YES;
    case WHEN_FAILED:
        if (!(needs & FATE_UNSETTLED))
            return needs & FATE_FAILED ? GO_YES : GO_NEVER;
        if (needs & FATE_DOOMED && !(needs & FATE_MAY))
            needs |= FATE_FAILED;
        return needs & FATE_FAILED && !(needs & FATE_OPEN) ? GO_YES : GO_PERHAPS;
    case WHEN_ALWAYS:
        break;
    }
    return needs & FATE_OPEN ? GO_PERHAPS : GO_YES;
}

/* A task that is being judged. */
struct judged_task {
    uint32_t task, old;
    const struct task_def *def;
    uint16_t needs;   /* their bits */
    uint16_t anew;    /* of FATE_ANEW, without needs that are only for the order */
    uint8_t recorded; /* enum cairn_outcome */
    uint8_t mark;
    bool changed;
    bool itself;   /* recorded as excluded by its own exit code */
    bool put_back; /* recorded as waiting to be asked about; see state_is_put_back */
};

static bool is_asked(const struct judge *j, uint32_t task)
{
    return j->in->again && j->in->again[task];
}

/* An attempt that still runs, or has ended unrecorded, is adopted if it is what would
 * be started now; one of a task that must not run twice, even if the task was edited:
 * it is not ended half-way, but its end leaves the task unknown
 * (executor/attempt/kept.h). One that is to run again whatever became of it is not. */
static bool will_adopt(const struct judge *j, const struct judged_task *v)
{
    if (!(v->mark & MARK_OUTLIVED) || v->anew || v->needs & FATE_ANEW)
        return false; /* nor one that waits for what it needs only for the order */
    return v->def->once ||
           (!is_asked(j, v->task) && (!v->changed || j->in->on_change == CAIRN_KEEP));
}

/* Its end leaves it unknown: it must not run twice, and was edited since it began. */
static bool ends_unknown(const struct judge *j, const struct judged_task *v,
                         enum cairn_reason reason)
{
    return reason == CAIRN_REASON_ADOPTED && v->changed &&
           j->in->on_change != CAIRN_KEEP;
}

static bool is_unknown(const struct judge *j, const struct judged_task *v)
{
    if (outcome_is_skipped(v->recorded)) /* unknown only if it is to run */
        return false;
    return task_is_unknown(v->def, v->recorded, v->mark) ||
           (v->def->once && v->mark & MARK_OUTLIVED && !will_adopt(j, v));
}

/* Any task that `finally` runs after ends anew. */
static uint32_t first_anew(const struct judge *j)
{
    return j->first_will != NODE_NONE  ? j->first_will
           : j->first_may != NODE_NONE ? j->first_may
                                       : j->first_turned;
}

static enum cairn_reason pending_reason(const struct judge *j,
                                        const struct judged_task *v)
{
    if (v->mark & MARK_DAMAGED)
        return CAIRN_REASON_DAMAGED;
    if (v->mark & MARK_OUTLIVED)
        return will_adopt(j, v)       ? CAIRN_REASON_ADOPTED
               : is_asked(j, v->task) ? CAIRN_REASON_ASKED
               : v->changed           ? CAIRN_REASON_CHANGED
                                      : CAIRN_REASON_UPSTREAM;
    if (v->mark & MARK_INTERRUPTED)
        return CAIRN_REASON_INTERRUPTED;
    /* It waits for what it needs, or was about to start. */
    bool waited = v->def->finally && first_anew(j) != NODE_NONE;
    if (v->mark & MARK_RESET && waited)
        return CAIRN_REASON_UPSTREAM;
    if (v->mark & MARK_RESET)
        return v->needs & (FATE_WILL | FATE_MAY) ? CAIRN_REASON_UPSTREAM
                                                 : CAIRN_REASON_INTERRUPTED;
    return CAIRN_REASON_NEVER_RAN;
}

static enum cairn_reason evidence_reason(uint8_t evidence)
{
    bool input =
        evidence == INPUT_DIFFERS || evidence == INPUT_MISSING || evidence == INPUT_NEW;
    return evidence == RESULT_LOST      ? CAIRN_REASON_DAMAGED
           : input                      ? CAIRN_REASON_INPUT
           : evidence == SECRET_DIFFERS ? CAIRN_REASON_SECRET
                                        : CAIRN_REASON_OUTPUT;
}

static bool reads_the_same(const struct judge *j, uint32_t task)
{
    return !j->in->evidence || j->in->evidence[task] == EVIDENCE_GOOD;
}

/* It has done its work, and only what it needs is another: somebody decides, or its
 * check. `finally` belongs to each end of a run. */
static bool asks_before_again(const struct judged_task *v)
{
    return v->def->once && !v->def->finally && v->recorded == CAIRN_COMPLETED &&
           v->anew;
}

static enum cairn_reason completed_reason(struct judge *j, const struct judged_task *v)
{
    const struct decide_input *in = j->in;
    if (v->mark & MARK_UNDOING)
        return CAIRN_REASON_UNDONE;
    if (v->changed && in->on_change != CAIRN_KEEP)
        return CAIRN_REASON_CHANGED;
    if (is_asked(j, v->task))
        return CAIRN_REASON_ASKED;
    if (asks_before_again(v))
        return CAIRN_REASON_UPSTREAM;
    if (!reads_the_same(j, v->task))
        return evidence_reason(in->evidence[v->task]);
    if (v->anew)
        return CAIRN_REASON_UPSTREAM;
    return v->changed ? CAIRN_REASON_KEPT : CAIRN_REASON_DONE;
}

/* It said so itself, which holds as its completion would. */
static enum cairn_reason excluded_reason(const struct judge *j,
                                         const struct judged_task *v)
{
    if (v->changed && j->in->on_change != CAIRN_KEEP)
        return CAIRN_REASON_CHANGED;
    if (is_asked(j, v->task))
        return CAIRN_REASON_ASKED;
    if (!reads_the_same(j, v->task))
        return evidence_reason(j->in->evidence[v->task]);
    return v->anew ? CAIRN_REASON_UPSTREAM : CAIRN_REASON_EXCLUDED;
}

static bool is_handled(const struct judge *j, uint32_t task)
{
    return failure_is_handled(j->in->graph, task, j->in->states, j->in->old_task);
}

static enum cairn_reason failed_reason(struct judge *j, const struct judged_task *v)
{
    const struct decide_input *in = j->in;
    if (v->changed || v->anew || is_asked(j, v->task) || !is_handled(j, v->task))
        return CAIRN_REASON_FAILED;
    return reads_the_same(j, v->task) ? CAIRN_REASON_HANDLED
                                      : evidence_reason(in->evidence[v->task]);
}

/* Why the recorded outcome does not settle the task; with DONE, KEPT and HANDLED it
 * does. */
static enum cairn_reason recorded_reason(struct judge *j, const struct judged_task *v)
{
    if (v->old == NODE_NONE)
        return CAIRN_REASON_NEVER_RAN;
    switch (v->recorded) {
    case CAIRN_COMPLETED:
        return completed_reason(j, v);
    case CAIRN_FAILED:
        return failed_reason(j, v);
    case CAIRN_CANCELLED:
        return CAIRN_REASON_CANCELLED;
    case CAIRN_SKIPPED:
        return CAIRN_REASON_SKIPPED;
    case CAIRN_EXCLUDED:
        if (v->itself)
            return excluded_reason(j, v);
        return v->needs & FATE_ANEW ? CAIRN_REASON_UPSTREAM : CAIRN_REASON_EXCLUDED;
    case CAIRN_UNDONE:
        return CAIRN_REASON_UNDONE;
    default:
        return pending_reason(j, v);
    }
}

static void settle_as(struct judge *j, uint32_t task, enum cairn_reason reason,
                      uint16_t fate, uint32_t cause)
{
    j->out->reason[task] = (uint8_t)reason;
    j->out->fate[task] = fate;
    j->out->cause[task] = cause;
}

/* A member of a group that keeps a task from running: one that failed or was skipped
 * before one that was excluded. */
static uint32_t blocking_member(const struct judge *j, uint32_t barrier)
{
    const struct graph *g = j->in->graph;
    uint32_t excluded = NODE_NONE;
    for (uint32_t e = g->need_start[barrier]; e < g->need_start[barrier + 1]; e++) {
        uint16_t fate = j->out->fate[g->needs[e]];
        if (fate & (FATE_FAILED | FATE_BAD | FATE_DOOMED) && !(fate & FATE_EXCLUDED))
            return g->needs[e];
        if (fate & FATE_EXCLUDED && excluded == NODE_NONE)
            excluded = g->needs[e];
    }
    return excluded;
}

/* Of a group, the member. An excluded task is bad, too. */
static uint32_t blocking_need(const struct judge *j, uint32_t task)
{
    const struct graph *g = j->in->graph;
    uint32_t need = need_with(j, task, FATE_FAILED | FATE_BAD | FATE_DOOMED);
    if (need == NODE_NONE && task_def_needs_all(g->definition, graph_def(g, task)))
        need = need_with(j, task, FATE_EXCLUDED);
    return need != NODE_NONE && graph_is_barrier(g, need) ? blocking_member(j, need)
                                                          : need;
}

/* It is a member of a list that is made again: not where its maker is skipped. */
static bool is_listed_again(const struct judge *j, uint32_t task)
{
    const struct graph *g = j->in->graph;
    const struct task_def *def = graph_def(g, task);
    bool again = false;
    if (!task_def_made_key(def))
        return false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !again; e++) {
        uint16_t fate = j->out->fate[g->needs[e]];
        uint16_t anew = fate & FATE_BAD ? FATE_ANEW & ~FATE_TURNED : FATE_ANEW;
        again = fate & (anew | FATE_LISTED) &&
                task_def_takes_list(def, graph_def(g, g->needs[e])->id);
    }
    return again;
}

/* It needs a group, or a part of one, of a list that is made again: the condition of its
 * members may leave all of those out that there are then. */
static bool may_lose_a_group(const struct judge *j, uint32_t task)
{
    const struct graph *g = j->in->graph;
    bool may = false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !may; e++) {
        uint32_t need = g->needs[e];
        may = graph_is_barrier(g, need) && !graph_need_is_soft(g, task, e) &&
              graph_def(g, need)->condition.len &&
              g->need_start[need] < g->need_start[need + 1] &&
              is_listed_again(j, g->needs[g->need_start[need]]);
    }
    return may;
}

/* A placeholder, whose list is known, and is no good. */
static bool is_doomed(const struct judge *j, const struct judged_task *v)
{
    const struct graph *g = j->in->graph;
    bool bad = false;
    for (uint32_t k = 0; k < v->def->n_foreach; k++)
        bad |= v->def->foreach[k].source == FOREACH_FROM && v->def->foreach[k].why.len;
    for (uint32_t e = g->need_start[v->task]; e < g->need_start[v->task + 1] && bad;
         e++) {
        uint32_t need = g->needs[e];
        bad = !task_def_takes_list(v->def, graph_def(g, need)->id) ||
              !(j->out->fate[need] & (FATE_UNSETTLED | FATE_BAD | FATE_LISTED));
    }
    return bad;
}

/* A placeholder, whose maker runs: there will be members, or the group fails. */
static bool is_surely_listed(const struct judged_task *v)
{
    struct list_spec spec;
    for (uint32_t k = 0; k < v->def->n_foreach; k++) {
        const struct foreach_key *key = &v->def->foreach[k];
        if (key->source == FOREACH_FROM &&
            (key->n > 1 || !list_spec_of(key, &spec) || spec.allow_empty))
            return false; /* or the former members are there */
    }
    return v->needs & FATE_WILL && !v->def->condition.len;
}

/* Whether it does not matter who does its work: not what was asked for, nor what was
 * left half done, or has failed with the same. */
static bool may_be_spared(const struct judge *j, const struct judged_task *v,
                          enum cairn_reason reason)
{
    const struct decide_input *in = j->in;
    const uint8_t ended_badly =
        MARK_OUTLIVED | MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING;
    if (!in->spared || is_asked(j, v->task) ||
        (!v->put_back && v->mark & ended_badly) || (in->chosen && !in->chosen[v->task]))
        return false;
    if (v->changed && !v->def->reuse)
        return false; /* what it did in this run was another thing */
    return reason == CAIRN_REASON_NEVER_RAN || reason == CAIRN_REASON_CHANGED ||
           reason == CAIRN_REASON_UPSTREAM || reason == CAIRN_REASON_INPUT ||
           reason == CAIRN_REASON_SKIPPED || reason == CAIRN_REASON_EXCLUDED ||
           reason == CAIRN_REASON_INTERRUPTED;
}

/* What comes after it sees another attempt's work, unless it is this run's own. */
static void settle_as_spared(struct judge *j, uint32_t task, enum spared spared)
{
    j->out->spared++;
    settle_as(j, task, CAIRN_REASON_REUSED,
              spared == SPARED_STAYS ? FATE_COMPLETED : FATE_COMPLETED | FATE_TURNED,
              NODE_NONE);
}

/* It is not settled by what is recorded: does it run? */
static void judge_open_task(struct judge *j, const struct judged_task *v,
                            enum cairn_reason reason)
{
    uint32_t task = v->task;
    enum go go = go_by_needs(v->def->when, v->needs);
    j->out->reset[task] = true;
    if (go == GO_NEVER) {
        settle_as(j, task,
                  v->def->when == WHEN_SUCCESS ? CAIRN_REASON_NEED_SKIPPED
                                               : CAIRN_REASON_EXCLUDED,
                  (uint16_t)(FATE_BAD | (v->needs & FATE_OPEN)),
                  blocking_need(j, task));
        return;
    }
    bool doomed = is_doomed(j, v);
    if (task_def_is_unlisted(v->def) ? !doomed && !is_surely_listed(v)
                                     : is_listed_again(j, v->task))
        go = GO_PERHAPS;
    if (v->def->when == WHEN_SUCCESS && may_lose_a_group(j, task))
        go = GO_PERHAPS;
    if (v->def->condition.len && !task_def_is_unlisted(v->def)) {
        enum condition c = j->in->condition(j->in->context, task, j->out->fate);
        if (c == CONDITION_NO) {
            settle_as(j, task, CAIRN_REASON_EXCLUDED,
                      (uint16_t)(FATE_BAD | (v->needs & FATE_OPEN)), NODE_NONE);
            return;
        }
        if (c == CONDITION_OPEN)
            go = GO_PERHAPS;
    }
    if (v->def->kind == TASK_EXTERNAL)
        go = GO_PERHAPS;
    enum spared spared = SPARED_NO;
    if (may_be_spared(j, v, reason))
        spared = j->in->spared(j->in->context, task, j->out->fate,
                               go == GO_YES && !(v->needs & FATE_UNSETTLED));
    if (spared == SPARED_YES || spared == SPARED_STAYS) {
        settle_as_spared(j, task, spared);
        return;
    }
    uint16_t risk =
        reason == CAIRN_REASON_FAILED && !v->changed &&
                (reads_the_same(j, v->task) || v->anew) /* what it reads is made anew */
            ? FATE_RISK
            : 0;
    bool undecided = ends_unknown(j, v, reason);
    if (reason == CAIRN_REASON_ADOPTED && v->mark & MARK_ENDED_BADLY && !undecided)
        risk = FATE_RISK;
    if (doomed)
        risk = FATE_RISK | FATE_DOOMED;
    uint32_t cause = NODE_NONE;
    if (reason == CAIRN_REASON_UPSTREAM || go == GO_PERHAPS)
        cause = need_with(j, task, FATE_MAY | FATE_RISK | FATE_OPEN);
    if (cause == NODE_NONE && reason == CAIRN_REASON_UPSTREAM)
        cause = need_with(j, task, FATE_WILL);
    if (cause == NODE_NONE && reason == CAIRN_REASON_UPSTREAM)
        cause = need_with(j, task, FATE_TURNED);
    uint16_t waits = v->needs & FATE_OPEN;
    if (v->def->kind == TASK_EXTERNAL || undecided)
        waits = FATE_OPEN;
    if (v->def->finally && j->any_open)
        go = GO_PERHAPS;
    if (spared == SPARED_OPEN)
        waits |= FATE_SPARED;
    settle_as(j, task, reason,
              (uint16_t)((go == GO_YES ? FATE_WILL : FATE_MAY) | risk | waits), cause);
}

/* It has completed, and must not run twice: an edit had skipped it, or what it needs
 * runs again. Where it is not sure that it can start now it is asked about when it can
 * (executor/phases.c). */
static void judge_put_back_task(struct judge *j, const struct judged_task *v)
{
    uint16_t *fate = &j->out->fate[v->task];
    if (*fate & FATE_WILL && !(v->needs & FATE_ANEW)) {
        settle_as(j, v->task, CAIRN_REASON_UNKNOWN, FATE_OPEN, NODE_NONE);
        j->out->reset[v->task] = false;
    } else
        *fate = (uint16_t)((*fate & ~FATE_WILL) | FATE_MAY | FATE_OPEN);
}

/* It was skipped, and is so again in the same surroundings. */
static bool is_out_again(const struct judge *j, const struct judged_task *v)
{
    return outcome_is_skipped(v->recorded) && j->out->fate[v->task] & FATE_BAD &&
           !v->put_back && !(v->needs & FATE_ANEW);
}

/* As what it ends where it does not run. */
static uint8_t outcome_of_bad(const struct judge *j, uint32_t task)
{
    return j->out->reason[task] == CAIRN_REASON_EXCLUDED ? CAIRN_EXCLUDED
                                                         : CAIRN_SKIPPED;
}

/* Its condition is evaluated before its services start: what became of these does not
 * matter for one that it has left out. */
static bool lacks_only_services(const struct judge *j, uint32_t task)
{
    const struct graph *g = j->in->graph;
    bool lacks = false, only = true;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && only; e++) {
        uint16_t fate = j->out->fate[g->needs[e]];
        bool service = task_def_is_service(graph_def(g, g->needs[e]));
        lacks |= service && fate & (FATE_FAILED | FATE_BAD);
        only = service || !(fate & (FATE_FAILED | FATE_BAD | FATE_ANEW));
    }
    return lacks && only;
}

/* Skipped before, and so again if nothing has changed around it: that is no reset,
 * unless it is for another reason, which groups tell apart. If what it needs runs, it
 * is skipped after that: what comes after it waits for both. */
static void judge_skipped_task(struct judge *j, const struct judged_task *v,
                               enum cairn_reason reason)
{
    if (v->def->finally && first_anew(j) == NODE_NONE && !(v->needs & FATE_ANEW) &&
        !v->changed && !v->put_back) {
        settle_as(j, v->task,
                  v->recorded == CAIRN_EXCLUDED ? CAIRN_REASON_EXCLUDED
                                                : CAIRN_REASON_NEED_SKIPPED,
                  FATE_BAD, blocking_need(j, v->task));
        return;
    }
    if (v->recorded == CAIRN_EXCLUDED && !v->changed &&
        lacks_only_services(j, v->task)) {
        settle_as(j, v->task, CAIRN_REASON_EXCLUDED, FATE_BAD, NODE_NONE);
        return;
    }
    judge_open_task(j, v, reason);
    if (j->out->fate[v->task] & FATE_BAD)
        j->out->reset[v->task] =
            !is_out_again(j, v) || v->recorded != outcome_of_bad(j, v->task);
    else if (j->out->reason[v->task] != CAIRN_REASON_REUSED &&
             task_is_unknown(v->def, v->recorded, v->mark))
        judge_put_back_task(j, v);
}

static uint16_t fate_of_outcome(uint8_t outcome)
{
    return outcome == CAIRN_FAILED ? FATE_FAILED : FATE_COMPLETED;
}

/* What belongs to `finally` runs after everything else, so also if anything else runs,
 * or ends in another way without running. */
static void add_finally_needs(const struct judge *j, struct judged_task *v)
{
    bool stands = v->recorded == CAIRN_COMPLETED || v->itself ||
                  v->mark & MARK_OUTLIVED ||
                  (v->recorded == CAIRN_FAILED && is_handled(j, v->task));
    if (!v->def->finally || !stands)
        return;
    uint16_t bit = j->first_will != NODE_NONE     ? FATE_WILL
                   : j->first_may != NODE_NONE    ? FATE_MAY
                   : j->first_turned != NODE_NONE ? FATE_TURNED
                                                  : 0;
    v->needs |= bit;
    v->anew |= bit;
}

static struct judged_task describe_judged_task(struct judge *j, uint32_t task)
{
    const struct decide_input *in = j->in;
    struct judged_task v = {
        .task = task, .old = old_of(j, task), .def = graph_def(in->graph, task)};
    v.needs = fate_of_needs(j, task, &v.anew);
    if (v.old == NODE_NONE) {
        v.mark = in->new_marks ? in->new_marks[task] : 0;
        return v;
    }
    v.recorded = in->states->outcome[v.old];
    v.put_back = state_is_put_back(in->states, v.old);
    v.itself = state_skipped_itself(in->states, v.old);
    if (v.put_back) /* as it was before */
        v.recorded = CAIRN_SKIPPED;
    v.mark = mark_of_old(j, v.old);
    /* The result belongs to the record of its end. */
    if (in->evidence && in->evidence[task] == RESULT_LOST &&
        v.recorded == CAIRN_COMPLETED)
        v.mark |= MARK_DAMAGED;
    v.changed = j->now && !digest_equal(&j->now[task], &j->then[v.old]);
    add_finally_needs(j, &v);
    return v;
}

/* A service is never done: it is judged as if something that needs it ran. */
static enum cairn_reason reason_of_service(const struct judged_task *v,
                                           enum cairn_reason reason)
{
    return v->recorded == CAIRN_COMPLETED || outcome_is_skipped(v->recorded)
               ? CAIRN_REASON_SERVICE
               : reason;
}

static void judge_task(struct judge *j, uint32_t task)
{
    struct decisions *out = j->out;
    struct judged_task v = describe_judged_task(j, task);
    out->added += j->in->old && v.old == NODE_NONE;
    out->changed += v.changed;
    if (is_unknown(j, &v)) {
        settle_as(j, task, CAIRN_REASON_UNKNOWN, FATE_OPEN, NODE_NONE);
        return;
    }
    if (j->in->rounds &&
        (v.anew || is_asked(j, task) || (v.changed && j->in->on_change != CAIRN_KEEP)))
        j->in->rounds[task] = 0;
    enum cairn_reason reason = recorded_reason(j, &v);
    if (task_def_is_service(v.def))
        reason = reason_of_service(&v, reason);
    bool reported = reason == CAIRN_REASON_FAILED && v.mark & MARK_REPORTED &&
                    !v.changed && !v.anew && reads_the_same(j, task) &&
                    !is_asked(j, task);
    if (reason == CAIRN_REASON_DONE || reason == CAIRN_REASON_KEPT ||
        reason == CAIRN_REASON_HANDLED || reported) {
        out->kept += reason == CAIRN_REASON_KEPT;
        settle_as(j, task, reason, fate_of_outcome(v.recorded), NODE_NONE);
    } else if (v.itself && reason == CAIRN_REASON_EXCLUDED)
        settle_as(j, task, reason, FATE_BAD, NODE_NONE);
    else if (outcome_is_skipped(v.recorded) && !v.itself)
        judge_skipped_task(j, &v, reason);
    else {
        judge_open_task(j, &v, reason);
        out->ask[task] =
            out->reason[task] == CAIRN_REASON_UPSTREAM && asks_before_again(&v);
        if (out->ask[task])
            judge_put_back_task(j, &v);
    }
    /* What needs it has seen another outcome of it, or none, and needs what it needs.
     */
    if (out->fate[task] & FATE_BAD && out->reset[task] && !is_out_again(j, &v))
        out->fate[task] |= FATE_TURNED;
    if (out->fate[task] & FATE_BAD && outcome_of_bad(j, task) == CAIRN_EXCLUDED)
        out->fate[task] |= FATE_EXCLUDED;
    if (v.def->finally && out->cause[task] == NODE_NONE &&
        out->reason[task] == CAIRN_REASON_UPSTREAM)
        out->cause[task] = first_anew(j);
}

/* For tasks of `finally`. */
static void note_first(struct judge *j, uint32_t task)
{
    uint16_t fate = j->out->fate[task];
    if (graph_def(j->in->graph, task)->finally)
        return;
    j->any_open |= (fate & FATE_OPEN) != 0;
    if (fate & FATE_WILL && j->first_will == NODE_NONE)
        j->first_will = task;
    if (fate & FATE_MAY && j->first_may == NODE_NONE)
        j->first_may = task;
    if (fate & FATE_TURNED && j->first_turned == NODE_NONE)
        j->first_turned = task;
}

/* In topological order; those of `finally`, which only need each other, last. */
static void judge_nodes(struct judge *j, bool finally)
{
    const struct graph *g = j->in->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        if (graph_def(g, node)->finally != finally)
            continue;
        if (graph_is_barrier(g, node)) {
            j->out->fate[node] = fate_of_members(j, node);
            continue;
        }
        judge_task(j, node);
        if (!task_def_is_service(graph_def(g, node))) /* else settle_services */
            note_first(j, node);
    }
}

/* ---- Services ---- */

/* The fates of what needs a service, directly or through its group; the first of it that
 * runs; and whether any was not chosen. */
static uint16_t fate_of_users(const struct judge *j, uint32_t service, uint32_t *first,
                              bool *aside)
{
    const struct graph *g = j->in->graph;
    uint16_t fate = 0;
    for (uint32_t e = g->dependent_start[service]; e < g->dependent_start[service + 1];
         e++) {
        uint32_t user = g->dependents[e];
        bool group = graph_is_barrier(g, user);
        uint32_t from = group ? g->dependent_start[user] : e;
        uint32_t end = group ? g->dependent_start[user + 1] : e + 1;
        for (uint32_t i = from; i < end; i++) {
            uint16_t one = j->out->fate[g->dependents[i]];
            *aside |= j->out->aside[g->dependents[i]];
            if (one & (FATE_WILL | FATE_MAY) && *first == NODE_NONE)
                *first = g->dependents[i];
            fate |= one;
        }
    }
    return fate;
}

/* It has been started before, and what came of that does not matter. */
static bool has_served(const struct judge *j, uint32_t service)
{
    uint32_t old = old_of(j, service);
    if (old == NODE_NONE)
        return false;
    uint8_t recorded = j->in->states->outcome[old];
    return !outcome_is_skipped(recorded) &&
           (recorded != CAIRN_PENDING || mark_of_old(j, old) & MARK_INTERRUPTED);
}

/* Nothing that needs it runs. */
static void settle_unneeded(struct judge *j, uint32_t service)
{
    uint32_t old = old_of(j, service);
    uint8_t recorded = old == NODE_NONE ? CAIRN_PENDING : j->in->states->outcome[old];
    bool served = has_served(j, service);
    if (served)
        settle_as(j, service, CAIRN_REASON_DONE, FATE_COMPLETED, NODE_NONE);
    else
        settle_as(j, service, CAIRN_REASON_SERVICE, FATE_BAD | FATE_EXCLUDED,
                  NODE_NONE);
    j->out->reset[service] = recorded != (served ? CAIRN_COMPLETED : CAIRN_EXCLUDED);
}

/* A service runs if something that needs it does, and is as sure as that. From the last
 * one to the first, since a service may need another one. Called again when what was
 * decided of tasks has changed. */
static void settle_services(struct judge *j)
{
    const struct graph *g = j->in->graph;
    if (!g->n_services)
        return;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i], first = NODE_NONE;
        uint16_t *fate = &j->out->fate[node];
        if (graph_is_barrier(g, node) || !task_def_is_service(graph_def(g, node)) ||
            !(*fate & (FATE_WILL | FATE_MAY)))
            continue;
        bool aside = false;
        uint16_t users = fate_of_users(j, node, &first, &aside);
        if (!(users & (FATE_WILL | FATE_MAY)) && aside) {
            j->out->aside[node] = 1;
            j->out->n_aside++;
            settle_as(j, node, CAIRN_REASON_NOT_CHOSEN, 0, NODE_NONE);
        } else if (!(users & (FATE_WILL | FATE_MAY)))
            settle_unneeded(j, node);
        else if (!(users & FATE_WILL))
            *fate = made_doubtful(*fate);
        if (*fate & (FATE_WILL | FATE_MAY) && j->out->cause[node] == NODE_NONE &&
            j->out->reason[node] == CAIRN_REASON_SERVICE)
            j->out->cause[node] = first;
    }
}

/* Once it is known which of them run. */
static void note_first_services(struct judge *j)
{
    const struct graph *g = j->in->graph;
    for (uint32_t task = 0; task < g->n_tasks; task++)
        if (task_def_is_service(graph_def(g, task)))
            note_first(j, task);
}

/* One that is taken over runs already. */
static void set_aside(struct judge *j, uint32_t task)
{
    struct decisions *out = j->out;
    if (!(out->fate[task] & (FATE_WILL | FATE_MAY)) ||
        out->reason[task] == CAIRN_REASON_ADOPTED)
        return;
    out->aside[task] = 1;
    out->n_aside++;
    settle_as(j, task, CAIRN_REASON_NOT_CHOSEN, 0, NODE_NONE);
}

/* That it failed still holds: neither it nor what it needs is another, or runs. */
static bool is_failed_as_before(struct judge *j, uint32_t task)
{
    if (j->out->reason[task] != CAIRN_REASON_FAILED)
        return false;
    struct judged_task v = describe_judged_task(j, task);
    return v.recorded == CAIRN_FAILED && !v.changed && !v.anew;
}

/* What is not chosen, and `finally`, which belongs to the end of a whole run. A failure
 * stays recorded: looked for while the fates are still those of a whole run. */
static void set_aside_others(struct judge *j, bool finally)
{
    const struct graph *g = j->in->graph;
    bool all = finally && j->out->n_aside;
    for (uint32_t task = 0; j->in->chosen && !finally && task < g->n_tasks; task++)
        if (!j->in->chosen[task] && !graph_def(g, task)->finally &&
            is_failed_as_before(j, task))
            j->out->reset[task] = false;
    for (uint32_t task = 0; j->in->chosen && task < g->n_tasks; task++)
        if (graph_def(g, task)->finally == finally &&
            (finally ? all : !j->in->chosen[task]))
            set_aside(j, task);
}

/* Something that it needs keeps it from running, and each member that a list can give. */
static bool is_out_in_any_list(const struct judge *j, uint32_t task)
{
    const struct graph *g = j->in->graph;
    const struct task_def *def = graph_def(g, task);
    bool out = false;
    if (!(j->out->fate[task] & FATE_BAD) || def->when != WHEN_SUCCESS)
        return false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !out; e++) {
        uint32_t need = g->needs[e];
        out = fate_of_need(j, task, e) & (FATE_FAILED | FATE_BAD) &&
              !(j->out->fate[need] & FATE_LISTED) &&
              !task_def_takes_list(def, graph_def(g, need)->id);
    }
    return out;
}

/* What is decided again when a task has made its list: members that are there now, and
 * what needs them. Only said: nothing is reset for it. */
static void mark_listed(struct judge *j)
{
    const struct graph *g = j->in->graph;
    struct decisions *out = j->out;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        bool barrier = graph_is_barrier(g, node);
        bool own =
            !barrier && !(out->fate[node] & FATE_DOOMED) && is_listed_again(j, node);
        bool listed = own;
        if (!barrier && is_out_in_any_list(j, node))
            continue;
        bool open = !barrier && out->fate[node] & FATE_UNSETTLED;
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1] && !listed;
             e++)
            listed = out->fate[g->needs[e]] & FATE_LISTED &&
                     !graph_need_is_order(g, node, e);
        if (listed && (own || !open) && (barrier || !out->aside[node]))
            out->fate[node] |= FATE_LISTED;
    }
}

/* What needs them is decided again, so they are. Services of services come first. */
static void mark_listed_services(struct judge *j)
{
    const struct graph *g = j->in->graph;
    struct decisions *out = j->out;
    for (uint32_t i = g->n_nodes; i-- > 0 && g->n_services;) {
        uint32_t node = g->order[i], first = NODE_NONE;
        bool aside = false;
        if (graph_is_barrier(g, node) || !task_def_is_service(graph_def(g, node)) ||
            out->fate[node] & FATE_UNSETTLED ||
            (out->reason[node] != CAIRN_REASON_DONE &&
             out->reason[node] != CAIRN_REASON_SERVICE))
            continue;
        out->fate[node] |= fate_of_users(j, node, &first, &aside) & FATE_LISTED;
    }
}

static bool has_finally(const struct definition *d)
{
    uint32_t i = 0;
    while (i < d->n_defs && !d->defs[i].finally)
        i++;
    return i < d->n_defs;
}

/* What may turn out to be done already may run; what comes after it was judged by the
 * end that it has in any case. */
static void doubt_spared(struct judge *j)
{
    uint16_t *fate = j->out->fate;
    for (uint32_t task = 0; task < j->out->n; task++)
        fate[task] = fate[task] & FATE_SPARED ? made_doubtful(fate[task]) : fate[task];
}

static void count_fates(const struct judge *j)
{
    struct decisions *d = j->out;
    for (uint32_t task = 0; task < d->n; task++) {
        uint16_t fate = d->fate[task];
        d->will += (fate & FATE_WILL) != 0;
        d->adopted += fate & FATE_WILL && is_only_taken_over(j, task);
        d->may += fate & FATE_MAY || (fate & FATE_LISTED && !(fate & FATE_UNSETTLED));
    }
}

static int judge_all(struct judge *j)
{
    const struct graph *g = j->in->graph;
    uint32_t known = 0;
    judge_nodes(j, false);
    settle_services(j);
    note_first_services(j);
    set_aside_others(j, false);
    if (apply_stop_on_failure(j))
        return CAIRN_ENOMEM;
    doubt_spared(j);
    settle_services(j);
    if (has_finally(g->definition))
        judge_nodes(j, true);
    set_aside_others(j, true);
    if (definition_has_lists(g->definition)) {
        mark_listed(j);
        mark_listed_services(j);
    }
    count_fates(j);
    for (uint32_t task = 0; j->in->old && task < g->n_tasks; task++)
        known += j->in->old_task[task] != NODE_NONE;
    j->out->removed = j->in->old ? j->in->old->n_tasks - known : 0;
    return 0;
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
    int rc = graph_fingerprints(in->graph, j->now, error);
    return rc ? rc : graph_fingerprints(in->old, j->then, error);
}

int decide(const struct decide_input *input, struct decisions *out,
           struct cairn_error *error)
{
    struct decisions d = {.n = input->graph->n_tasks};
    struct judge judge = {.in = input,
                          .out = &d,
                          .first_will = NODE_NONE,
                          .first_may = NODE_NONE,
                          .first_turned = NODE_NONE};
    d.fate = calloc(input->graph->n_nodes, sizeof *d.fate);
    d.reset = calloc(d.n, 1);
    d.aside = calloc(d.n, 1);
    d.ask = calloc(d.n, 1);
    d.reason = calloc(d.n, 1);
    d.cause = calloc(d.n, sizeof *d.cause);
    int rc = d.fate && d.reset && d.aside && d.ask && d.reason && d.cause
                 ? fingerprint_both(&judge, error)
                 : error_nomem(error);
    if (!rc && judge_all(&judge))
        rc = error_nomem(error);
    free(judge.now);
    free(judge.then);
    if (rc)
        decisions_release(&d);
    else
        *out = d;
    return rc;
}

int decisions_extend(struct decisions *d, const struct graph *g)
{
    uint32_t before = d->n, n = g->n_tasks;
    if (!array_extend(&d->fate, before, g->n_nodes, sizeof *d->fate) ||
        !array_extend(&d->reset, before, n, 1) ||
        !array_extend(&d->aside, before, n, 1) ||
        !array_extend(&d->ask, before, n, 1) ||
        !array_extend(&d->reason, before, n, 1) ||
        !array_extend(&d->cause, before, n, sizeof *d->cause))
        return CAIRN_ENOMEM;
    for (uint32_t task = before; task < n; task++) {
        d->fate[task] = FATE_WILL;
        d->reason[task] = CAIRN_REASON_NEVER_RAN;
        d->cause[task] = NODE_NONE;
    }
    d->n = n;
    d->will += n - before;
    d->added += n - before;
    return 0;
}

void decisions_release(struct decisions *d)
{
    free(d->fate);
    free(d->reset);
    free(d->aside);
    free(d->ask);
    free(d->reason);
    free(d->cause);
    *d = (struct decisions){0};
}
