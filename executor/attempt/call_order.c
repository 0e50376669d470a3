/* SPDX-License-Identifier: MIT */
/* What a callback is given, and its start: that of a task, and one that checks or undoes
 * what a task has done. Its end is for call.c. */
#include "executor/attempt/call_order.h"

static struct call_need need_of(const char *id, const struct result *result)
{
    uint32_t lists = result_lists(result);
    return (struct call_need){id, result->values + lists, result->n_values - lists};
}

/* What the tasks that it needs have passed on, in the scratch arena, and before that what
 * it has itself; `own` NULL: nothing. */
static int find_needs(struct engine *e, uint32_t task, const struct result *own,
                      struct arena *scratch, struct call_order *order,
                      struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    const struct states *states = &e->progress.states;
    uint32_t first = g->need_start[task], end = g->need_start[task + 1], n = 0;
    struct call_need *needs = NULL;
    if (own && own->n_values > result_lists(own)) {
        needs = arena_take(scratch, end - first + 1, sizeof *needs);
        if (!needs)
            return error_nomem(error);
        needs[n++] = need_of(g->id[task], own);
    }
    for (uint32_t i = first; states->outputs && i < end; i++) {
        uint32_t need = g->needs[i];
        const struct result *result;
        if (graph_need_is_order(g, task, i) || need >= states->n ||
            states->outcome[need] != CAIRN_COMPLETED ||
            digest_is_none(&states->outputs[need]))
            continue;
        int rc = lookup_result(&e->progress.lookup, need, &result, error);
        if (rc)
            return rc;
        if (!needs)
            needs = arena_take(scratch, end - first, sizeof *needs);
        if (!needs)
            return error_nomem(error);
        if (result->n_values > result_lists(result))
            needs[n++] = need_of(g->id[need], result);
    }
    order->needs = needs;
    order->n_needs = n;
    return 0;
}

/* Its arguments with the values put in, in the arena. */
static int find_arguments(const struct asker *asker, struct arena *arena,
                          struct key_value **out, uint32_t *n,
                          struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    const struct task_def *def = scope.def;
    struct key_value *arguments =
        def->n_env ? arena_take(arena, def->n_env, sizeof *arguments) : NULL;
    struct buf text = BUF_INIT;
    int rc = 0;
    for (uint32_t i = 0; arguments && i < def->n_env && !rc; i++) {
        buf_clear(&text);
        rc = text_expand(&scope, def->env[i].value, &text, error);
        arguments[i] =
            (struct key_value){def->env[i].key, arena_str(arena, buf_view(&text))};
    }
    buf_release(&text);
    *out = arguments;
    *n = arguments ? def->n_env : 0;
    return rc ? rc : arena->failed ? error_nomem(error) : 0;
}

int call_order_make(struct engine *e, const struct job *job, struct program_call call,
                    const struct result *own, const struct undo_action *undo,
                    struct arena *scratch, struct call_order *order,
                    struct cairn_error *error)
{
    struct asker asker = job_asker(e, job);
    struct key_value *arguments = undo ? undo->env : NULL;
    uint32_t task = job->intent.task;
    *order =
        (struct call_order){.call = call.call,
                            .context = call.context,
                            .task = e->request.graph->id[task],
                            .n_arguments = undo ? undo->n_env : 0,
                            .number = job->intent.attempt,
                            .slot = job_index(&e->jobs, job),
                            .parallel = graph_def(e->request.graph, task)->parallel,
                            .stop = e->request.options->stop};
    int rc = find_needs(e, task, own, scratch, order, error);
    if (!rc && !undo)
        rc = find_arguments(&asker, scratch, &arguments, &order->n_arguments, error);
    order->arguments = arguments;
    return rc;
}

int call_order_start(struct engine *e, struct job *job, const struct call_order *order,
                     struct cairn_error *why)
{
    struct cairn_attempt *call = NULL;
    int64_t timeout_ms = graph_def(e->request.graph, job->intent.task)->timeout_ms;
    int rc = call_start(e->calls.threads, order, &call, why);
    if (rc)
        return rc;
    jobs_set_call(job, call);
    if (timeout_ms)
        loop_set_timer(e, TIMER_TIMEOUT, timeout_ms * 1000000, job_index(&e->jobs, job),
                       job->stamp);
    return 0;
}

/* ---- Checks and undos ---- */

/* What the task itself has set: a check is asked about the attempt, an undo about what is
 * stored. */
static int find_own(struct engine *e, const struct job *job, const struct result **own,
                    struct cairn_error *error)
{
    const struct states *states = &e->progress.states;
    uint32_t task = job->intent.task;
    *own = &job->result;
    if (job->role != ROLE_UNDO)
        return 0;
    if (states->outputs && task < states->n && !digest_is_none(&states->outputs[task]))
        return lookup_result(&e->progress.lookup, task, own, error);
    *own = NULL;
    return 0;
}

int call_beside_task(struct engine *e, struct job *job, const struct program_call *call,
                     const struct undo_action *undo, struct buf *why)
{
    struct arena scratch = ARENA_INIT;
    struct cairn_error error = {0};
    struct call_order order;
    const struct result *own;
    enum job_state before = job->state;
    int rc = find_own(e, job, &own, &error)
                 ?: call_order_make(e, job, *call, own, undo, &scratch, &order, &error);
    if (!rc) {
        jobs_begin_call(e, job);
        if (job->role != ROLE_CHECK)
            job->started_ns = loop_utc_ns(e);
        rc = call_order_start(e, job, &order, &error);
        if (rc)
            jobs_not_called(job, before);
    }
    arena_release(&scratch);
    if (rc)
        buf_text(why, error.text);
    return rc;
}

int call_describe_undo(const struct asker *asker, struct arena *arena,
                       struct undo_action *out, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    *out = (struct undo_action){.text = scope.def->undo, .cwd = STR("")};
    return find_arguments(asker, arena, &out->env, &out->n_env, error);
}
