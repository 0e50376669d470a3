/* SPDX-License-Identifier: MIT */
#include "plan/claims.h"

#include "base/clock.h"
#include "base/os.h"
#include "graph/match.h"
#include "storage/rows_command.h"
#include "storage/rows_run.h"

#include <stdlib.h>

struct claims_reader {
    struct claims *claims;
    uint32_t n;          /* tasks of the generation that is read */
    const uint32_t *now; /* [n] their numbers now */
    char boot[37];
    bool damaged;
};

/* Rounded up: a lease that runs is not shown as over. */
static int64_t lease_left_ms(const struct claims_reader *r, const struct claim_row *row)
{
    int64_t left_ns = row->until_boot_ns - clock_boot_ns();
    if (left_ns <= 0 || !str_equal(row->boot, str_of(r->boot)))
        return 0;
    return (left_ns - 1) / 1000000 + 1;
}

static uint32_t lost_before(struct str token)
{
    uint32_t n = 0;
    if (token.len <= CLAIM_DIGITS || token.ptr[CLAIM_DIGITS] != '.')
        return 0;
    for (size_t i = CLAIM_DIGITS + 1; i < token.len && n <= CLAIM_LOST_MOST; i++)
        n = token.ptr[i] >= '0' && token.ptr[i] <= '9'
                ? 10 * n + (uint32_t)(token.ptr[i] - '0')
                : CLAIM_LOST_MOST;
    return n < CLAIM_LOST_MOST ? n : CLAIM_LOST_MOST;
}

/* A damaged claim counts as none: its token is not valid. */
static int note_claim(void *context, const struct claim_row *row)
{
    struct claims_reader *r = context;
    uint32_t task = row->task < r->n ? r->now[row->task] : NODE_NONE;
    r->damaged |= !row->sum_ok;
    if (task == NODE_NONE)
        return 0;
    struct claim *claim = &r->claims->at[task];
    *claim = (struct claim){.exists = row->sum_ok};
    if (!row->sum_ok)
        return 0;
    claim->spent = row->spent;
    claim->token = arena_str(&r->claims->arena, row->token);
    claim->holder = arena_str(&r->claims->arena, row->holder);
    claim->time_ns = row->time_ns;
    claim->left_ms = row->spent ? 0 : lease_left_ms(r, row);
    bool ran_out = claim->left_ms == 0 && row->until_boot_ns != CLAIM_GIVEN_BACK;
    claim->lost = row->spent ? 0 : lost_before(row->token) + ran_out;
    return 0;
}

static int read_claims(struct claims_reader *r, const struct run_view *v, uint32_t gen,
                       struct cairn_error *error)
{
    struct cairn_error why = {0};
    r->damaged = false;
    int rc = store_each_claim(v->store, v->row.run, gen, note_claim, r, &why);
    if (rc == CAIRN_EDAMAGED && r->damaged)
        return 0;
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

static int read_with_graph(struct claims_reader *r, const struct run_view *v,
                           uint32_t gen, const struct graph *then,
                           struct cairn_error *error)
{
    uint32_t *now = malloc(((size_t)then->n_tasks + 1) * sizeof *now);
    if (!now)
        return error_nomem(error);
    map_tasks(then, &v->workflow->graph, now);
    r->now = now;
    r->n = then->n_tasks;
    int rc = read_claims(r, v, gen, error);
    free(now);
    return rc;
}

static int read_generation(struct claims_reader *r, const struct run_view *v,
                           uint32_t gen, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    if (gen == v->row.gen)
        return read_with_graph(r, v, gen, &v->workflow->graph, error);
    int rc = generation_load(v->store, &v->row, gen, &definition, &graph, error);
    if (rc)
        return rc;
    rc = read_with_graph(r, v, gen, &graph, error);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

int claims_load(struct claims *claims, const struct run_view *v,
                struct cairn_error *error)
{
    *claims = (struct claims){.arena = ARENA_INIT};
    struct claims_reader r = {.claims = claims};
    int rc = 0;
    os_boot_id(r.boot);
    claims->at =
        arena_take(&claims->arena, v->workflow->graph.n_tasks, sizeof *claims->at);
    for (uint32_t gen = 1; claims->at && gen <= v->row.gen && !rc; gen++)
        rc = read_generation(&r, v, gen, error);
    if (!rc && claims->arena.failed)
        rc = error_nomem(error);
    if (rc)
        claims_release(claims);
    return rc;
}

void claims_release(struct claims *claims)
{
    arena_release(&claims->arena);
    *claims = (struct claims){.arena = ARENA_INIT};
}
