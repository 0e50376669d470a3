/* SPDX-License-Identifier: MIT */
/* Only what is offered can be claimed, so all that it needs had ended then. Where any
 * of that does not end as it is recorded, or its own definition was edited (text, env,
 * params), it is another question now, which the answer to the old one must not answer.
 */
#include "executor/stale_claims.h"

#include "executor/state/report.h"

#include "base/array.h"
#include "graph/fingerprint.h"
#include "graph/match.h"
#include "runs/stored.h"
#include "storage/rows_command.h"

#include <stdlib.h>

/* The claims of one generation of the run's graph. */
struct open_claim {
    uint32_t task; /* in its numbers */
    bool spent;    /* only a report that nobody has taken yet can be void then */
};
struct open_claims {
    struct open_claim *at;
    size_t n, capacity;
};

static int add_claim(void *context, const struct claim_row *row)
{
    struct open_claims *open = context;
    struct open_claim *at = array_room(open->at, open->n, &open->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    open->at = at;
    open->at[open->n++] = (struct open_claim){row->task, row->spent};
    return 0;
}

static bool needs_end_anew(const struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    const uint16_t *fate = e->run.situation.decisions.fate;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++)
        if (fate[g->needs[i]] & FATE_ANEW)
            return true;
    return false;
}

/* The tasks of a claim's generation, and of the graph as it is now. */
struct generations {
    bool edited;                  /* else the two are one */
    uint32_t *now;                /* [tasks then] the same task now, or NODE_NONE */
    struct digest *meant, *means; /* fingerprints, then and now */
};

static int compare_generations(const struct engine *e, const struct graph *then,
                               struct generations *g, struct cairn_error *error)
{
    const struct graph *now = e->request.graph;
    g->edited = then != now;
    if (!g->edited)
        return 0;
    g->now = malloc(((size_t)then->n_tasks + 1) * sizeof *g->now);
    g->meant = malloc(((size_t)then->n_tasks + 1) * sizeof *g->meant);
    g->means = malloc(((size_t)now->n_tasks + 1) * sizeof *g->means);
    if (!g->now || !g->meant || !g->means)
        return error_nomem(error);
    map_tasks(then, now, g->now);
    int rc = graph_fingerprints(then, g->meant, error);
    return rc ? rc : graph_fingerprints(now, g->means, error);
}

static bool is_stale(const struct engine *e, const struct generations *g, uint32_t task)
{
    uint32_t now = g->edited ? g->now[task] : task;
    return now == NODE_NONE || needs_end_anew(e, now) ||
           (g->edited && !digest_equal(&g->meant[task], &g->means[now]));
}

static int drop_claim(struct engine *e, const struct graph *then, uint32_t gen,
                      uint32_t task, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    buf_format(&text,
               "%s was claimed; the claim is void, because what it needs does not end "
               "as before, or it was edited",
               then->id[task]);
    audit_event(e, EVENT_NOTICE, 0, UINT32_MAX, buf_view(&text));
    buf_release(&text);
    return store_drop_claim(e->request.store, e->run.row.run, gen, task, error);
}

/* A report that came when the run had ended. Without its claim it is refused. */
static int has_report(const struct engine *e, uint32_t gen, uint32_t task, bool *has,
                      struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc;
    do {
        buf_clear(&data);
        rc = store_next_command(e->request.store, e->run.row.run, row.id, &row, &data,
                                error);
        if (rc == CAIRN_EDAMAGED && row.id) {
            rc = 0; /* nobody will carry it out */
            continue;
        }
        *has = !rc && row.id && row.gen == gen && row.task == task &&
               (row.verb == COMMAND_COMPLETE || row.verb == COMMAND_FAIL);
    } while (!rc && row.id && !*has);
    buf_release(&data);
    return rc;
}

static int drop_stale(struct engine *e, const struct open_claims *open, uint32_t gen,
                      const struct graph *then, struct cairn_error *error)
{
    struct generations g = {0};
    int rc = compare_generations(e, then, &g, error);
    for (size_t i = 0; i < open->n && !rc; i++) {
        uint32_t task = open->at[i].task;
        bool counts = !open->at[i].spent;
        if (task >= then->n_tasks || !is_stale(e, &g, task))
            continue;
        if (!counts)
            rc = has_report(e, gen, task, &counts, error);
        if (!rc && counts)
            rc = drop_claim(e, then, gen, task, error);
    }
    free(g.now);
    free(g.meant);
    free(g.means);
    return rc;
}

static int drop_of_generation(struct engine *e, const struct open_claims *open,
                              uint32_t gen, struct cairn_error *error)
{
    struct definition definition;
    struct graph then;
    if (gen == e->run.row.gen)
        return drop_stale(e, open, gen, e->request.graph, error);
    int rc =
        generation_load(e->request.store, &e->run.row, gen, &definition, &then, error);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0; /* nobody can make use of them: plan/claims.c refuses that */
    if (rc)
        return rc;
    rc = drop_stale(e, open, gen, &then, error);
    graph_release(&then);
    definition_release(&definition);
    return rc;
}

int stale_claims_drop(struct engine *e, struct cairn_error *error)
{
    struct open_claims open = {0};
    int rc = 0;
    for (uint32_t gen = 1; gen <= e->run.row.gen && !rc; gen++) {
        open.n = 0;
        rc = store_each_claim(e->request.store, e->run.row.run, gen, add_claim, &open,
                              error);
        if (rc == CAIRN_EDAMAGED) /* those count for nothing */
            rc = 0;
        if (rc == CAIRN_ENOMEM)
            rc = error_nomem(error);
        if (!rc && open.n)
            rc = drop_of_generation(e, &open, gen, error);
    }
    free(open.at);
    return rc;
}
