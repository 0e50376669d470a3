/* The handle behind struct cairn_workflow: a definition, its source, its graph. */
#ifndef EXECUTOR_WORKFLOW_H
#define EXECUTOR_WORKFLOW_H

#include "executor/graph.h"
#include "executor/parse.h"

struct run_row;

struct cairn_workflow {
    struct definition definition;
    struct graph graph;
    bool compiled;
    const char **commands; /* [n_defs] for people, each made when first asked for; in
                              the graph's arena */
    /* Kept so that the file can be read again with recorded foreach members. */
    struct buf source;
    char *name, *file, *root; /* parse_options; NULL if built in memory */
    struct cairn_param *params;
    size_t n_params;
    bool digested; /* the digest of the definition is known (compiled.c) */
    struct digest digest;
};

/* cairn_workflow_load; with a row, of the file of that run, which is not parsed if it
 * has not changed. */
int workflow_load_of_run(struct cairn_workflow **out, const char *path,
                         struct cairn_store *store, const struct run_row *row,
                         const struct cairn_param *params, size_t n_params,
                         struct cairn_error *error);
/* Parses the source again, taking glob and lines members from `recorded`. Does nothing
 * for a workflow without a source. The workflow is unchanged on failure. */
int workflow_reparse(struct cairn_workflow *workflow, const struct definition *recorded,
                     struct cairn_error *error);
/* Canonical params (lstr name, lstr value, ...) and their digest: with the name, the
 * identity of a run. */
int definition_params(const struct definition *definition, struct buf *text,
                      struct digest *digest, struct cairn_error *error);

#endif
