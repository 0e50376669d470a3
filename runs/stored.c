/* SPDX-License-Identifier: MIT */
/* What the store keeps of a run: its row, and the definitions that it has had. */
#include "runs/stored.h"

#include "checkpoint/trust.h"
#include "graph/definition_codec.h"
#include "graph/match.h"
#include "storage/object.h"
#include "storage/store.h"

/* ---- Its row ---- */

int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error)
{
    *to = *from;
    to->workflow_name = arena_str(arena, from->workflow_name);
    to->params_text = arena_str(arena, from->params_text);
    to->file = arena_str(arena, from->file);
    to->owner_host = arena_str(arena, from->owner_host);
    to->owner_boot = arena_str(arena, from->owner_boot);
    return arena->failed ? error_nomem(error) : 0;
}

struct row_reader {
    struct run_row *row;
    struct arena *arena;
    struct cairn_error *error;
};

static int keep_row(void *context, const struct run_row *row)
{
    struct row_reader *r = context;
    return run_row_copy(r->row, row, r->arena, r->error);
}

int run_row_get(struct run_row *row, struct cairn_store *store, uint64_t run,
                struct arena *arena, struct cairn_error *error)
{
    struct row_reader reader = {row, arena, error};
    uint64_t chosen = run;
    int rc = run ? 0 : run_choose(store, &chosen, error);
    if (!rc)
        rc = store_get_run(store, chosen, keep_row, &reader, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    return run ? error_set(error, CAIRN_ENOTFOUND,
                           "there is no run %llu; `cairn runs` lists them",
                           (unsigned long long)run)
               : error_set(
                     error, CAIRN_ENOTFOUND,
                     "the store has no runs yet; start one with `cairn run FILE`");
}

int run_no_checkpoint(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "run %llu has no checkpoint left, so there is nothing to go on "
                     "from; start again with `cairn run FILE --fresh`",
                     (unsigned long long)run);
}

int run_no_task(uint64_t run, const char *id, struct cairn_error *error)
{
    return error_set(
        error, CAIRN_ENOTFOUND,
        "run %llu has no task `%s`; `cairn status %llu --tasks` lists them",
        (unsigned long long)run, id, (unsigned long long)run);
}

/* ---- Its definitions ---- */

int run_graph(struct cairn_store *store, const struct run_row *row, uint32_t gen,
              struct digest *digest, struct cairn_error *error)
{
    *digest = row->graph;
    return gen == row->gen ? 0
                           : store_get_run_graph(store, row->run, gen, digest, error);
}

static int definition_load(struct cairn_store *store, const struct digest *digest,
                           struct definition *definition, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = store_get_object(store, digest, &bytes, error);
    if (!rc)
        rc = definition_decode(buf_view(&bytes), definition, error);
    buf_release(&bytes);
    if (rc)
        error_context(error, "the stored definition of the run");
    return rc;
}

int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error)
{
    int rc = definition_load(store, digest, definition, error);
    if (rc)
        return rc;
    rc = graph_build(graph, definition, error);
    if (rc)
        definition_release(definition);
    return rc;
}

int states_graph_load(struct cairn_store *store, uint64_t run,
                      const struct digest *digest, struct definition *definition,
                      struct graph *graph, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = graph_load(store, digest, definition, graph, &why);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return error_set(error, CAIRN_EDAMAGED,
                         "%s; run %llu goes on only with the workflow's file as it "
                         "was, and `cairn run FILE --fresh` begins another run",
                         why.text, (unsigned long long)run);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

int generation_load(struct cairn_store *store, const struct run_row *row, uint32_t gen,
                    struct definition *definition, struct graph *graph,
                    struct cairn_error *error)
{
    struct digest digest;
    int rc = run_graph(store, row, gen, &digest, error);
    return rc ? rc : graph_load(store, &digest, definition, graph, error);
}

void past_definition_release(struct past_definition *past)
{
    if (past->gen) {
        graph_release(&past->graph);
        definition_release(&past->definition);
    }
    past->gen = 0;
}

int past_definition_load(struct past_definition *past, struct cairn_store *store,
                         const struct run_row *row, uint32_t gen,
                         struct cairn_error *error)
{
    if (past->gen == gen)
        return 0;
    past_definition_release(past);
    int rc = generation_load(store, row, gen, &past->definition, &past->graph, error);
    past->gen = rc ? 0 : gen;
    return rc;
}

int past_task(struct past_definition *past, struct cairn_store *store,
              const struct run_row *row, uint32_t gen, uint32_t task,
              const struct graph *graph, uint32_t *found, struct cairn_error *error)
{
    struct cairn_error local = {0};
    bool now = gen == row->gen;
    *found = now && task < graph->n_tasks ? task : NODE_NONE;
    if (now || !gen || gen > row->gen)
        return 0;
    int rc = past_definition_load(past, store, row, gen, &local);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    if (rc)
        return error_set(error, rc, "%s", local.text);
    if (task < past->graph.n_tasks)
        *found = map_task(&past->graph, task, graph);
    return 0;
}

int result_load(struct cairn_store *store, const struct digest *digest,
                struct arena *arena, struct result *result, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = store_get_object(store, digest, &bytes, error);
    if (!rc)
        rc = result_decode(arena, buf_view(&bytes), result, error);
    buf_release(&bytes);
    return rc;
}

int generation_find_task(struct cairn_store *store, const struct run_row *row,
                         uint32_t gen, const char *id, uint32_t *task,
                         struct cairn_error *error)
{
    struct digest digest;
    struct definition definition;
    int rc = run_graph(store, row, gen, &digest, error);
    if (!rc)
        rc = definition_load(store, &digest, &definition, error);
    if (rc)
        return rc;
    *task = definition_find_task(&definition, str_of(id));
    definition_release(&definition);
    return 0;
}

/* ---- A run with its states ---- */

int stored_run_open(struct stored_run *stored, struct cairn_store *store, uint64_t run,
                    bool graph, struct cairn_error *error)
{
    struct stored_run s = {.arena = ARENA_INIT};
    struct sha256 *sha = sha256_new();
    int rc = sha ? store_begin_read(store, error) : error_nomem(error);
    if (rc) {
        sha256_free(sha);
        return rc;
    }
    rc = run_row_get(&s.row, store, run, &s.arena, error);
    if (!rc)
        rc = run_trust(store, &s.row, error);
    if (!rc) {
        rc = outcomes_recover(store, sha, s.row.run, &s.recovery, error);
        s.recovered = !rc;
    }
    if (rc == CAIRN_ENOTFOUND && s.row.run)
        rc = run_no_checkpoint(s.row.run, error);
    if (!rc && graph) {
        rc = states_graph_load(store, s.row.run, &s.recovery.graph, &s.definition,
                               &s.graph, error);
        s.loaded = !rc;
        s.graph.definition = &stored->definition; /* where it moves to below */
    }
    store_end_read(store);
    sha256_free(sha);
    if (rc)
        stored_run_release(&s);
    else
        *stored = s;
    return rc;
}

void stored_run_release(struct stored_run *stored)
{
    if (stored->recovered)
        recovery_release(&stored->recovery);
    if (stored->loaded) {
        graph_release(&stored->graph);
        definition_release(&stored->definition);
    }
    arena_release(&stored->arena);
}
