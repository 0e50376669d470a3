/* SPDX-License-Identifier: MIT */
/* Opening what commands work on: the store, a run, a workflow. All return an exit
 * status: 0, or another one after printing what is wrong. */
#ifndef CLI_OPEN_H
#define CLI_OPEN_H

#include "cli/options.h"

/* What --store or $CAIRN_STORE names, or NULL. */
const char *store_path(const struct settings *settings);
/* What --key or $CAIRN_KEY names, or NULL. */
const char *key_path(const struct settings *settings);
/* The store for reading; it must exist. */
int store_for_reading(struct settings *settings, struct cairn_store **store);
/* The same, but `*store` is NULL when there is none. */
int store_if_any(struct settings *settings, struct cairn_store **store);
/* The store for writing; with `create` it is created if missing, with a message. */
int store_for_writing(struct settings *settings, struct cairn_store **store,
                      bool create);

/* The run named by the n-th operand, or else the newest. */
int run_operand(struct settings *settings, int n, struct cairn_store *store,
                struct cairn_run_info *info);
/* The run named by --run, or else the newest. */
int run_option(struct settings *settings, struct cairn_store *store,
               struct cairn_run_info *info);

/* The workflow file named by the n-th operand, or cairn.yaml here. */
int workflow_operand(struct settings *settings, const char *command, int n,
                     struct cairn_workflow **workflow, const char **file);
/* What `plan`, `explain` and `graph` are about: a file (the n-th operand), or --run, or
 * --from, or the newest run, or cairn.yaml here, in this order. `options` gets the
 * matching start. `store` may be NULL. */
int workflow_target(struct settings *settings, const char *command, int n,
                    struct cairn_store *store, struct cairn_workflow **workflow,
                    struct cairn_run_options *options);
/* Reports that the workflow has no such task: it is a group, or names the nearest. */
int unknown_task(const struct cairn_workflow *workflow, const char *task);
/* Reports an error about a task of a run; if the task was not found, as unknown_task
 * does, from the run's graph. */
int missing_task(struct cairn_store *store, uint64_t run, const char *task,
                 const struct cairn_error *error);
/* Prints the warnings of loading. */
void print_warnings(const struct cairn_workflow *workflow);
/* " --store DIR", " --key FILE" or both for the commands that are suggested, or "". */
const char *store_hint(const struct settings *settings);
/* The same for commands that write to the run: with " --key FILE" if it wants a key and
 * none is named. */
const char *run_hint(const struct settings *settings, const struct cairn_run_info *run);

#endif
