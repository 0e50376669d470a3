/* SPDX-License-Identifier: MIT */
/* What a checkpoint says of tasks: how each ended, and what it has told. The values of
 * a run are those of its newest checkpoints. */
#include "cairn/checkpoint.h"
#include "cairn/runs.h"
#include "checkpoint/find.h"
#include "runs/stored.h"
#include "storage/store.h"

/* A checkpoint of a run, and the graph that its states are of. */
struct past {
    struct outcomes at;
    struct definition definition;
    struct graph graph;
};

static void past_close(struct past *past)
{
    graph_release(&past->graph);
    definition_release(&past->definition);
    outcomes_release(&past->at);
}

static int past_open(struct past *past, struct cairn_store *store, const char *id,
                     struct cairn_error *error)
{
    uint64_t seq;
    int rc = checkpoint_find(store, id, &seq, error);
    if (!rc)
        rc = outcomes_rebuild(store, seq, &past->at, NULL, error);
    if (rc)
        return rc;
    rc = graph_load(store, &past->at.graph, &past->definition, &past->graph, error);
    if (rc) {
        outcomes_release(&past->at);
        return rc;
    }
    if (past->graph.n_tasks == past->at.states.n)
        return 0;
    error_set(error, CAIRN_EDAMAGED,
              "checkpoint %s is of %u tasks, its definition of %u", id,
              past->at.states.n, past->graph.n_tasks);
    past_close(past);
    return CAIRN_EDAMAGED;
}

/* ---- Outcomes ---- */

int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                           int (*each)(void *, const char *task,
                                       enum cairn_outcome outcome, uint32_t attempts),
                           void *context, struct cairn_error *error)
{
    struct past past;
    int rc = past_open(&past, store, id, error);
    if (rc)
        return rc;
    for (uint32_t task = 0; task < past.graph.n_tasks; task++)
        if (each(context, past.graph.id[task], past.at.states.outcome[task],
                 past.at.states.attempts[task]))
            break;
    past_close(&past);
    return 0;
}

/* ---- Values ---- */

struct value_lister {
    struct cairn_store *store;
    const struct graph *graph;
    const struct states *states;
    int (*each)(void *, const struct cairn_value_info *);
    void *context;
    bool ended; /* the caller wants no more */
    struct cairn_error damaged;
};

/* One that cannot be read is told at the end, and the others are listed. */
static int note_damage(struct value_lister *l, uint32_t task, int rc,
                       const struct cairn_error *why, struct cairn_error *error)
{
    const char *id = l->graph->id[task];
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
        return error_set(error, rc, "task %s: %s", id, why->text);
    if (!l->damaged.code)
        error_set(&l->damaged, CAIRN_EDAMAGED, "the values of task %s: %s", id,
                  why->text);
    return 0;
}

static int list_task(struct value_lister *l, uint32_t task, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct result result;
    if (l->states->outcome[task] != CAIRN_COMPLETED || !l->states->outputs ||
        digest_is_none(&l->states->outputs[task]))
        return 0;
    int rc = result_load(l->store, &l->states->outputs[task], &arena, &result, &why);
    if (rc)
        rc = note_damage(l, task, rc, &why, error);
    else
        for (uint32_t i = 0; i < result.n_values && !l->ended && !rc; i++) {
            struct cairn_value_info info = {
                .task = l->graph->id[task],
                .node = task,
                .name = arena_text(&arena, result.values[i].key),
                .value = arena_text(&arena, result.values[i].value)};
            if (arena.failed)
                rc = error_nomem(error);
            else
                l->ended = l->each(l->context, &info) != 0;
        }
    arena_release(&arena);
    return rc;
}

/* Of `only`, or of all with NODE_NONE. */
static int list_values(struct value_lister *l, uint32_t only, struct cairn_error *error)
{
    int rc = 0;
    if (only != NODE_NONE)
        rc = list_task(l, only, error);
    for (uint32_t task = 0;
         only == NODE_NONE && task < l->graph->n_tasks && !l->ended && !rc; task++)
        rc = list_task(l, task, error);
    if (!rc && l->damaged.code)
        rc = error_set(error, CAIRN_EDAMAGED, "%s", l->damaged.text);
    return rc;
}

static int list_stored(struct value_lister *l, const struct stored_run *run,
                       const char *task, struct cairn_error *error)
{
    uint32_t only = NODE_NONE;
    l->graph = &run->graph;
    l->states = &run->recovery.states;
    if (task)
        only = graph_find(l->graph, str_of(task));
    if (task && (only == NODE_NONE || only >= l->graph->n_tasks))
        return run_no_task(run->row.run, task, error);
    return list_values(l, only, error);
}

int cairn_values(struct cairn_store *store, uint64_t run, const char *task,
                 int (*each)(void *, const struct cairn_value_info *), void *context,
                 struct cairn_error *error)
{
    struct value_lister l = {.store = store, .each = each, .context = context};
    struct stored_run stored;
    int rc = stored_run_open(&stored, store, run, true, error);
    if (rc)
        return rc;
    rc = list_stored(&l, &stored, task, error);
    stored_run_release(&stored);
    return rc;
}

struct value_teller { /* for a caller that gets no number of the task */
    int (*each)(void *, const char *task, const char *name, const char *value);
    void *context;
};

static int tell_value(void *context, const struct cairn_value_info *info)
{
    const struct value_teller *t = context;
    return t->each(t->context, info->task, info->name, info->value);
}

int cairn_checkpoint_values(struct cairn_store *store, const char *id,
                            int (*each)(void *, const char *task, const char *name,
                                        const char *value),
                            void *context, struct cairn_error *error)
{
    struct value_teller teller = {each, context};
    struct value_lister l = {.store = store, .each = tell_value, .context = &teller};
    struct past past;
    int rc = past_open(&past, store, id, error);
    if (rc)
        return rc;
    l.graph = &past.graph;
    l.states = &past.at.states;
    rc = list_values(&l, NODE_NONE, error);
    past_close(&past);
    return rc;
}
