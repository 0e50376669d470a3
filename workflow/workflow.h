/* SPDX-License-Identifier: MIT */
/* The handle behind struct cairn_workflow: a definition, its source, its graph. */
#ifndef WORKFLOW_WORKFLOW_H
#define WORKFLOW_WORKFLOW_H

#include "graph/graph.h"
#include "workflow/keys_set.h"
#include "workflow/parse.h"

/* What people would call the commands of tasks with an argv: joined when first asked
 * for, once for all members of a group. */
struct command_cache {
    struct arena arena;
    const char **of_def; /* [n_defs], NULL: none was asked for */
};

struct cairn_workflow {
    struct definition definition;
    struct graph graph;
    bool compiled;
    struct command_cache *commands; /* filled while people look at a const workflow, by
                                       one thread at a time */
    /* Kept so that the file can be read again with recorded foreach members. */
    struct buf source;
    struct included *included;
    char *name, *file, *root; /* parse_options; NULL if built in memory */
    struct cairn_param *params;
    size_t n_params;
    uint64_t edited_run;           /* parse_options */
    bool *were_given;              /* parse_options */
    struct addition *additions;    /* parse_options; of run `added_run` */
    size_t n_additions, n_checked; /* parse_options */
    uint64_t newest_addition;      /* additions_newest */
    uint64_t added_run;
    uint64_t refused; /* the first of them that was refused since it is at work, ... */
    uint64_t refused_up_to; /* ... which those up to this one may need */
    bool grows;             /* tasks are added to the run that is at work (executor/) */
    bool digested;          /* the digest of the definition is known (runs/stored.c) */
    struct digest digest;
    const struct cairn_registry *registry; /* of its callbacks; NULL: none */
    struct keys_set *set; /* of one that is built in memory, until it is compiled */
    bool broken;          /* it could not be: it is only good for being freed */
    bool going_on; /* the call that runs it goes on behind a list (executor/engine.c) */
};

/* An empty one, for cairn_workflow_free; NULL: out of memory. */
struct cairn_workflow *workflow_make(void);
/* The two halves of cairn_workflow_load: reading the file, and parsing what was read.
 * Between them a definition that is known already may be put in (runs/stored.h).
 * `recorded`: NULL, or where the members of glob and lines come from. */
int workflow_read(struct cairn_workflow **out, const char *path,
                  const struct cairn_param *params, size_t n_params,
                  struct cairn_error *error);
int workflow_parse_source(struct cairn_workflow *workflow,
                          const struct definition *recorded, struct cairn_error *error);
/* The callbacks of a stored definition, and of what is parsed from now on, come from this
 * registry. As registry_bind. */
int workflow_bind(struct cairn_workflow *workflow,
                  const struct cairn_registry *registry, struct cairn_error *error);
/* Parses the source again, taking glob and lines members from `recorded`. Does nothing
 * for a workflow without a source. The workflow is unchanged on failure. */
int workflow_reparse(struct cairn_workflow *workflow, const struct definition *recorded,
                     struct cairn_error *error);
/* Takes the list of what was added to a run: for the next parsing. */
void workflow_take_additions(struct cairn_workflow *workflow, uint64_t run,
                             struct addition *additions, size_t n);
/* One more, which the workflow takes; of a run without any, or the same. CAIRN_ENOMEM. */
int workflow_take_addition(struct cairn_workflow *workflow, uint64_t run,
                           struct addition *addition);
/* Parses the source with these additions alone, of which all but the last `fresh` ones were
 * parsed before: the last tasks of `out` are those of these. The workflow itself stays as
 * it is. `out` is initialised here and released on failure. */
int workflow_parse_with(const struct cairn_workflow *workflow,
                        struct addition *additions, size_t n, size_t fresh,
                        struct definition *out, struct cairn_error *error);
/* Appends these tasks to the workflow (definition_append): the tasks that it has keep their
 * numbers, and the texts and task_defs that anybody holds stay where they are; nodes of
 * groups get others. */
int workflow_append(struct cairn_workflow *workflow, const struct definition *from,
                    uint32_t first, struct cairn_error *error);
/* With copies of both; additions_free frees it, also after CAIRN_ENOMEM. */
int addition_init(struct addition *addition, const char *name, struct str text,
                  uint64_t id);
void additions_free(struct addition *additions, size_t n);
/* Takes a task of one back. CAIRN_ENOMEM. */
int addition_withdraw(struct addition *addition, struct str name, uint64_t command);
/* The newest command that they come from; 0: none. */
uint64_t additions_newest(const struct addition *additions, size_t n);
/* The graph anew, after lists of the definition have changed (graph/lists.h). */
int workflow_rebuild(struct cairn_workflow *workflow, struct cairn_error *error);

#endif
