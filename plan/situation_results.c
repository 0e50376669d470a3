/* SPDX-License-Identifier: MIT */
/* What a task that runs needs of finished ones: their values where its texts ask for
 * them, and where failures are undone, the undo commands that were stored. A finished
 * task whose result cannot be read does not stay finished if it is needed. */
#include "plan/situation_int.h"

#include "graph/text_expand.h"
#include "plan/choice.h"

#include <stdlib.h>

/* The definitions whose values each definition asks for, found once. */
struct value_sources {
    struct arena arena;
    uint32_t **defs; /* [n_defs] */
    uint32_t *n;     /* [n_defs] */
    bool any;
};

static int find_sources(const struct definition *d, struct value_sources *sources,
                        struct cairn_error *error)
{
    sources->defs = arena_take(&sources->arena, d->n_defs, sizeof *sources->defs);
    sources->n = arena_take(&sources->arena, d->n_defs, sizeof *sources->n);
    if (!sources->defs || !sources->n)
        return error_nomem(error);
    for (uint32_t i = 0; i < d->n_defs; i++) {
        if (!may_ask_for_values(d, &d->defs[i]))
            continue;
        int n =
            definition_values_of(d, &d->defs[i], &sources->arena, &sources->defs[i]);
        if (n < 0)
            return error_nomem(error);
        sources->n[i] = (uint32_t)n;
        sources->any |= n > 0;
    }
    return 0;
}

void situation_lose_result(struct loader *l, uint32_t task, const char *why)
{
    struct situation *s = l->s;
    bool once = graph_def(&l->w->graph, task)->once;
    situation_add_notice(
        s, "the result of task %s cannot be read, so %s: %s", l->w->graph.id[task],
        once ? "whether it runs again must be decided" : "it runs again", why);
    s->present.evidence[task] = RESULT_LOST;
}

static bool stays_completed(const struct situation *s, uint32_t task)
{
    return s->present.states.outcome[task] == CAIRN_COMPLETED &&
           s->present.evidence[task] == EVIDENCE_GOOD &&
           s->decisions.fate[task] & FATE_COMPLETED;
}

/* 1: it cannot be read. */
static int check_result(struct loader *l, uint32_t task)
{
    const struct result *result;
    struct cairn_error why = {0};
    if (!stays_completed(l->s, task))
        return 0;
    int rc = lookup_result(&l->s->present.lookup, task, &result, &why);
    if (rc == CAIRN_EDAMAGED) {
        situation_lose_result(l, task, why.text);
        return 1;
    }
    return rc ? error_set(l->error, rc, "task %s: %s", l->w->graph.id[task], why.text)
              : 0;
}

static int check_values_for(struct loader *l, const struct value_sources *sources,
                            uint32_t task)
{
    const struct graph *g = &l->w->graph;
    uint32_t def = g->def_of[task];
    int lost = 0;
    for (uint32_t i = 0; i < sources->n[def]; i++) {
        struct node_range range = graph_referred(g, task, sources->defs[def][i]);
        for (uint32_t k = 0; k < range.n; k++) {
            int rc = check_result(l, node_at(range, k));
            if (rc < 0)
                return rc;
            lost |= rc;
        }
    }
    return lost;
}

/* From the last to the first, so that what is found lost counts as running itself. */
static int check_values(struct loader *l, const struct value_sources *sources)
{
    const struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    int lost = 0;
    for (uint32_t i = g->n_nodes; sources->any && i-- > 0;) {
        uint32_t node = g->order[i];
        if (graph_is_barrier(g, node) ||
            !(s->decisions.fate[node] & (FATE_WILL | FATE_MAY) ||
              s->present.evidence[node] == RESULT_LOST))
            continue;
        int rc = check_values_for(l, sources, node);
        if (rc < 0)
            return rc;
        lost |= rc;
    }
    return lost;
}

/* A failure may ask for any of them. */
static int check_undos(struct loader *l)
{
    const struct graph *g = &l->w->graph;
    int lost = 0;
    if (choice_on_failure(g->definition, l->options->on_failure) != ON_FAILURE_UNDO ||
        g->definition->undo_scope == UNDO_FAILED)
        return 0;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        int rc = graph_def(g, task)->undo.len ? check_result(l, task) : 0;
        if (rc < 0)
            return rc;
        lost |= rc;
    }
    return lost;
}

int situation_check_results(struct loader *l)
{
    const struct situation *s = l->s;
    struct value_sources sources = {0};
    if (!s->present.evidence || !(s->decisions.will + s->decisions.may))
        return 0;
    int rc = find_sources(&l->w->definition, &sources, l->error);
    int values = rc ? rc : check_values(l, &sources);
    int undos = values < 0 ? values : check_undos(l);
    arena_release(&sources.arena);
    return undos < 0 ? undos : values || undos;
}
