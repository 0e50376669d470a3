/* SPDX-License-Identifier: MIT */
/* The handle behind struct cairn_workflow: a definition, its source, its graph. */
#ifndef WORKFLOW_WORKFLOW_H
#define WORKFLOW_WORKFLOW_H

#include "graph/graph.h"
#include "workflow/parse.h"

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

/* The two halves of cairn_workflow_load: reading the file, and parsing what was read.
 * Between them a definition that is known already may be put in (runs/parse_cache.h).
 */
int workflow_read(struct cairn_workflow **out, const char *path,
                  const struct cairn_param *params, size_t n_params,
                  struct cairn_error *error);
int workflow_parse_source(struct cairn_workflow *workflow, struct cairn_error *error);
/* Parses the source again, taking glob and lines members from `recorded`. Does nothing
 * for a workflow without a source. The workflow is unchanged on failure. */
int workflow_reparse(struct cairn_workflow *workflow, const struct definition *recorded,
                     struct cairn_error *error);

#endif
