/* SPDX-License-Identifier: MIT */
/* The workflow of a run: from its file as it is now, or as it is stored. */
#include "runs/run_workflow.h"

#include "base/reader.h"
#include "cairn/runs.h"
#include "checkpoint/trust.h"
#include "runs/moved_store.h"
#include "runs/parse_cache.h"
#include "runs/stored.h"
#include "storage/rows_run.h"

#include <stdlib.h>

static void free_params(struct cairn_param *params, size_t n)
{
    for (size_t i = 0; params && i < n; i++) {
        free((char *)(uintptr_t)params[i].name);
        free((char *)(uintptr_t)params[i].value);
    }
    free(params);
}

static int read_params(struct str canonical, struct cairn_param **out, size_t *n,
                       struct cairn_error *error)
{
    struct reader r = reader_of(canonical.ptr, canonical.len);
    struct cairn_param *params = NULL;
    bool failed = false;
    *n = 0;
    while (reader_left(&r) && !r.failed && !failed) {
        struct str name = read_lstr(&r), value = read_lstr(&r);
        struct cairn_param *more = realloc(params, (*n + 1) * sizeof *params);
        failed = !more;
        if (failed)
            break;
        params = more;
        struct cairn_param *param = &params[(*n)++];
        param->name = strndup(name.ptr ? name.ptr : "", name.len);
        param->value = strndup(value.ptr ? value.ptr : "", value.len);
        failed = !param->name || !param->value;
    }
    if (!failed && !reader_left(&r) && !r.failed) {
        *out = params;
        return 0;
    }
    free_params(params, *n);
    return r.failed
               ? error_set(error, CAIRN_EDAMAGED,
                           "the recorded params cannot be read; run `cairn doctor`")
               : error_nomem(error);
}

int cairn_run_params(struct cairn_store *store, uint64_t run,
                     int (*each)(void *, const char *name, const char *value),
                     void *context, struct cairn_error *error)
{
    struct run_row row;
    struct arena arena = ARENA_INIT;
    struct cairn_param *params = NULL;
    size_t n = 0;
    int rc = run_row_get(&row, store, run, &arena, error);
    if (!rc)
        rc = read_params(row.params_text, &params, &n, error);
    for (size_t i = 0; i < n && !rc; i++)
        if (each(context, params[i].name, params[i].value))
            break;
    if (!rc)
        free_params(params, n);
    arena_release(&arena);
    return rc;
}

/* A list of members that is gone, or cannot be used any more, is no mistake for a run
 * that has recorded them: notes say what differs. */
static int parse_for_run(struct cairn_workflow *w, struct cairn_store *store,
                         const struct run_row *row, struct cairn_error *error)
{
    struct definition recorded;
    struct graph graph;
    int rc = workflow_parse_source(w, NULL, error);
    if (!rc || rc == CAIRN_ENOMEM ||
        graph_load(store, &row->graph, &recorded, &graph, NULL))
        return rc;
    rc = workflow_parse_source(w, &recorded, error);
    graph_release(&graph);
    definition_release(&recorded);
    return rc;
}

/* The file is not parsed if it has not changed since the run recorded its definition.
 */
static int load_unless_unchanged(struct cairn_workflow **out, const char *path,
                                 struct cairn_store *store, const struct run_row *row,
                                 const struct cairn_param *params, size_t n_params,
                                 struct cairn_error *error)
{
    struct cairn_workflow *w;
    int rc = workflow_read(&w, path, params, n_params, error);
    if (rc)
        return rc;
    rc = parse_cache_find(w, store, row, error);
    if (!rc)
        rc = parse_for_run(w, store, row, error);
    if (rc < 0)
        cairn_workflow_free(w);
    else
        *out = w;
    return rc < 0 ? rc : 0;
}

static int load_file(struct cairn_workflow **out, const char *path,
                     struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error)
{
    size_t n;
    struct cairn_param *params;
    int rc = run_trust(store, row, error);
    if (!rc)
        rc = read_params(row->params_text, &params, &n, error);
    if (rc)
        return rc;
    rc = load_unless_unchanged(out, path, store, row, params, n, error);
    free_params(params, n);
    return rc;
}

int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    int rc = run_trust(store, row, error);
    if (!rc)
        rc = states_graph_load(store, row->run, &row->graph, &w->definition, &w->graph,
                               error);
    if (rc) {
        cairn_workflow_free(w);
        return rc;
    }
    w->compiled = true;
    *out = w;
    return 0;
}

int cairn_workflow_of_run(struct cairn_workflow **out, struct cairn_store *store,
                          uint64_t run, bool *from_file, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct buf path = BUF_INIT;
    struct run_row row;
    int rc = run_row_get(&row, store, run, &arena, error);
    int file = rc ? rc : moved_store_find(store, &row, &path, error);
    rc = file < 0    ? file
         : file == 0 ? workflow_stored(out, store, &row, error)
                     : load_file(out, path.data, store, &row, error);
    if (!rc && from_file)
        *from_file = file;
    buf_release(&path);
    arena_release(&arena);
    return rc;
}
