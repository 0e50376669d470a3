/* SPDX-License-Identifier: MIT */
/* Opening what commands work on: the store, a run, a workflow. All return an exit
 * status: 0, or another one after printing what is wrong. */
#ifndef CLI_OPEN_H
#define CLI_OPEN_H

#include "cli/options.h"

/* The path from --store, or from $CAIRN_STORE if that is not empty; or NULL. */
const char *store_path(const struct settings *settings);
/* The same for --key and $CAIRN_KEY. */
const char *key_path(const struct settings *settings);
/* The store for reading; it must exist. */
int store_for_reading(struct settings *settings, struct cairn_store **store);
/* The same, but `*store` is NULL when there is none. The n-th operand may be a workflow
 * file, which the store may lie beside. */
int store_if_any(struct settings *settings, int n, struct cairn_store **store);
/* The store for writing; with `create` it is created if missing, with a message. */
int store_for_writing(struct settings *settings, struct cairn_store **store,
                      bool create);
/* That message; with a warning where the directory belongs to another user. */
void say_store_made(const struct cairn_store *store);

/* A text without the secrets of that store, if there is one (cairn_masked); heap, or
 * NULL. `context` is the settings. It is opened for that alone: errors are rare. */
char *mask_secrets(void *context, const char *text);
/* Prints what is changed in texts before they are stored (cairn_store_on_notice). */
void store_listen(struct cairn_store *store);
/* After something was deleted: takes it out of the index of `cairn search`, too. */
void store_forget(struct cairn_store *store);

/* The newest run of a workflow file; 0: it has none. */
int newest_run_of(struct cairn_store *store, const char *file, uint64_t *run);
/* The number of the run named by the n-th operand; 0 without that. */
int run_number(const struct settings *settings, int n, struct cairn_store *store,
               uint64_t *run);
/* The run named by the n-th operand, or else the newest. */
int run_operand(struct settings *settings, int n, struct cairn_store *store,
                struct cairn_run_info *info);
/* Both: the store for reading, and the run named by the first operand or the newest. */
int open_run(struct settings *settings, struct cairn_store **store,
             struct cairn_run_info *info);
int open_run_number(struct settings *settings, struct cairn_store **store,
                    uint64_t *run);
/* The run named by --run, or else the newest. */
int run_option(struct settings *settings, struct cairn_store *store,
               struct cairn_run_info *info);

/* Takes a number before or behind the names of tasks as --run has it, unless the newest
 * run has a task of this name. */
void run_among_tasks(struct settings *settings, struct cairn_store *store);

/* Whether there is a cairn.yaml here. */
bool default_workflow_exists(void);
/* The workflow file named by the n-th operand, or cairn.yaml here or above. */
int workflow_operand(struct settings *settings, const char *command, int n,
                     struct cairn_workflow **workflow, const char **file);
/* The workflow for `plan`, `explain` and `graph`: a file (the n-th operand), or --run,
 * or
 * --from, or the newest run, or cairn.yaml here, in this order. Sets the start in
 * `options` to match. `store` may be NULL. */
int workflow_target(struct settings *settings, const char *command, int n,
                    struct cairn_store *store, struct cairn_workflow **workflow,
                    struct cairn_run_options *options);
/* Prints the warnings of loading. */
void print_warnings(const struct cairn_workflow *workflow);
/* store_hint (suggest.h) for commands that write to the run: with " --key FILE" if the
 * run needs a key and none is given. */
const char *run_hint(const struct settings *settings, const struct cairn_run_info *run);

#endif
