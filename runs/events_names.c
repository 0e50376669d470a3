/* SPDX-License-Identifier: MIT */
/* Names of tasks for the audit log, from the graphs of a run's generations. */
#include "base/limits.h"
#include "runs/events_int.h"
#include "runs/stored.h"
#include "storage/rows_run.h"

static void forget_graph(struct named_graph *named)
{
    if (named->known) {
        graph_release(&named->graph);
        definition_release(&named->definition);
    }
    *named = (struct named_graph){0};
}

void task_names_release(struct task_names *names)
{
    for (size_t i = 0; i < 2; i++)
        forget_graph(&names->graphs[i]);
}

static int load_graph(struct task_names *names, uint32_t gen, struct named_graph *named,
                      struct cairn_error *error)
{
    struct digest digest = names->graph;
    struct cairn_error local = {0};
    int rc = 0;
    if (gen != names->gen)
        rc = store_get_run_graph(names->store, names->run, gen, &digest, &local);
    if (rc == CAIRN_ENOTFOUND) {
        named->gen = gen;
        return 0;
    }
    if (!rc)
        rc = graph_load(names->store, &digest, &named->definition, &named->graph,
                        &local);
    if (rc)
        return error_set(error, rc, "%s", local.text);
    named->gen = gen;
    named->known = true;
    return 0;
}

/* The generation's graph becomes the first of the two. */
static int find_graph(struct task_names *names, uint32_t gen, struct cairn_error *error)
{
    struct named_graph *g = names->graphs;
    if (g[0].gen == gen)
        return 0;
    struct named_graph other = g[1];
    g[1] = g[0];
    g[0] = other;
    int rc = 0;
    if (g[0].gen != gen) {
        forget_graph(&g[0]);
        rc = load_graph(names, gen, &g[0], error);
    }
    /* A graph points to its definition, which has moved. */
    for (size_t i = 0; i < 2; i++)
        g[i].graph.definition = &g[i].definition;
    return rc;
}

int task_name(struct task_names *names, uint32_t gen, uint32_t task, const char **id,
              uint32_t *limit, struct cairn_error *error)
{
    *id = NULL;
    if (limit)
        *limit = LIMIT_TASKS;
    if (gen == 0)
        return 0;
    int rc = find_graph(names, gen, error);
    const struct named_graph *named = &names->graphs[0];
    if (rc || !named->known)
        return rc;
    if (limit)
        *limit = named->graph.n_tasks;
    if (task < named->graph.n_tasks)
        *id = named->graph.id[task];
    return 0;
}
