/* cairn_plan: the situation, put into words. */
#include "executor/owner.h"
#include "executor/situation.h"

#include <stdlib.h>

struct cairn_plan {
    struct situation situation;
    const struct cairn_workflow *workflow;
    struct arena arena; /* details that had to be made */
    char live[160];     /* a notice, or "" */
};

/* Another process runs it now: what is said of unfinished tasks is only of this moment.
 */
static int look_for_owner(struct cairn_plan *plan, struct cairn_store *store,
                          struct cairn_error *error)
{
    const struct run_row *row = &plan->situation.row;
    int live = row->run ? run_live(store, row, error) : 0;
    if (live > 0)
        snprintf(plan->live, sizeof plan->live,
                 "run %llu is running now (process %lld); this is what would run if it "
                 "ended at this moment",
                 (unsigned long long)row->run, (long long)row->owner_pid);
    return live < 0 ? live : 0;
}

int cairn_plan(struct cairn_plan **out, struct cairn_workflow *workflow,
               struct cairn_store *store, const struct cairn_run_options *options,
               struct cairn_error *error)
{
    struct cairn_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return error_nomem(error);
    int result = situation_load(&plan->situation, workflow, store, options, error);
    if (result) {
        free(plan);
        return result;
    }
    plan->workflow = workflow;
    result = look_for_owner(plan, store, error);
    if (result)
        cairn_plan_free(plan);
    else
        *out = plan;
    return result;
}

void cairn_plan_free(struct cairn_plan *plan)
{
    if (!plan)
        return;
    situation_release(&plan->situation);
    arena_release(&plan->arena);
    free(plan);
}

uint64_t cairn_plan_run(const struct cairn_plan *plan)
{
    return plan->situation.row.run;
}

uint32_t cairn_plan_tasks(const struct cairn_plan *plan)
{
    return plan->situation.decisions.n;
}

uint32_t cairn_plan_will(const struct cairn_plan *plan)
{
    return plan->situation.decisions.will;
}

const char *cairn_plan_notice(const struct cairn_plan *plan, size_t i)
{
    if (plan->live[0] && i == 0)
        return plan->live;
    return situation_notice(&plan->situation, plan->live[0] ? i - 1 : i);
}

/* Which fields of the definition differ; foreach values are the rest. */
static const char *describe_change(const struct cairn_plan *plan, uint32_t task,
                                   struct arena *arena)
{
    const struct situation *s = &plan->situation;
    const struct graph *now = &plan->workflow->graph;
    const struct graph *then = situation_old(s, plan->workflow);
    struct buf text = BUF_INIT;
    fingerprint_difference(then->definition, graph_def(then, s->old_task[task]),
                           now->definition, graph_def(now, task), &text);
    if (text.size == 0)
        buf_text(&text, "the members of a group it needs");
    buf_text(&text, " changed");
    const char *copy = text.failed ? NULL : arena_text(arena, buf_view(&text));
    buf_release(&text);
    return copy ? copy : "its definition changed";
}

static const char *describe_kept(const struct cairn_plan *plan, uint32_t task,
                                 struct arena *arena)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "completed; %s, but it is kept as it is",
               describe_change(plan, task, arena));
    const char *copy = text.failed ? NULL : arena_text(arena, buf_view(&text));
    buf_release(&text);
    return copy ? copy : "completed; its definition changed, but it is kept as it is";
}

static const char *describe_upstream(const struct cairn_plan *plan, uint32_t cause,
                                     struct arena *arena)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "%s, which it needs, runs again",
               plan->workflow->graph.id[cause]);
    const char *copy = text.failed ? NULL : arena_text(arena, buf_view(&text));
    buf_release(&text);
    return copy ? copy : "something it needs runs again";
}

static const char *describe(const struct cairn_plan *plan, uint32_t task,
                            struct arena *arena)
{
    const struct situation *s = &plan->situation;
    switch ((enum cairn_reason)s->decisions.reason[task]) {
    case CAIRN_REASON_DONE:
        return "completed and unchanged";
    case CAIRN_REASON_NEVER_RAN:
        return s->recorded && s->old_task[task] == NODE_NONE
                   ? "it is new in the workflow"
                   : "it never ran";
    case CAIRN_REASON_FAILED:
        return "it failed last time";
    case CAIRN_REASON_CANCELLED:
        return "it was cancelled last time";
    case CAIRN_REASON_SKIPPED:
        return "it was skipped last time because something it needs failed";
    case CAIRN_REASON_INTERRUPTED:
        return "it was running, or about to start, when the run was interrupted";
    case CAIRN_REASON_DAMAGED:
        return "the checkpoint that recorded its end is damaged";
    case CAIRN_REASON_CHANGED:
        return describe_change(plan, task, arena);
    case CAIRN_REASON_OUTPUT:
        return s->outputs[task] == OUTPUT_MISSING
                   ? "one of its outputs is missing"
                   : "the content of one of its outputs differs";
    case CAIRN_REASON_KEPT:
        return describe_kept(plan, task, arena);
    case CAIRN_REASON_UPSTREAM:
        return describe_upstream(plan, s->decisions.cause[task], arena);
    }
    return "";
}

void cairn_plan_get(const struct cairn_plan *plan, uint32_t node,
                    struct cairn_decision *decision)
{
    const struct decisions *d = &plan->situation.decisions;
    const struct graph *g = &plan->workflow->graph;
    uint32_t cause = d->cause[node];
    /* The arena only caches texts: nothing that others see changes. */
    struct arena *arena = (struct arena *)(uintptr_t)&plan->arena;
    *decision = (struct cairn_decision){
        .task = g->id[node],
        .node = node,
        .will = d->runs[node] ? CAIRN_WILL : CAIRN_WILL_NOT,
        .reason = d->reason[node],
        .cause = d->reason[node] == CAIRN_REASON_UPSTREAM && cause != NODE_NONE
                     ? g->id[cause]
                     : NULL,
        .detail = describe(plan, node, arena)};
}
