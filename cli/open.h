/* SPDX-License-Identifier: MIT */
/* Opens what commands work on: the store, a run, a workflow, secrets from a descriptor.
 * Everything here returns an exit status: 0, or another one after printing what is
 * wrong. Also what is said of unfinished restores, and the hooks that are run when a
 * store is closed. */
#ifndef CLI_OPEN_H
#define CLI_OPEN_H

#include "base/str.h"
#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"

#include <limits.h>

/* Reads the secrets, if the option was given, to the end of the descriptor, and closes
 * it. Call it before anything else is opened: a wrong number must not hit a descriptor
 * of our own. secrets_given_release wipes them. */
struct secrets_given {
    char *text;
    size_t length;
    struct cairn_param *values;
};

int secrets_given_read(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options);
/* The i-th secret without which `cairn run` would not begin, NULL past the end. */
const char *secrets_not_given(const struct cairn_workflow *workflow,
                              const struct cairn_run_options *options, size_t i);
void secrets_given_release(struct secrets_given *secrets);

/* The path from --store, or from $CAIRN_STORE if that is not empty; or NULL. */
const char *store_path(const struct settings *settings);
/* The same for --key and $CAIRN_KEY. */
const char *key_path(const struct settings *settings);
/* The directory that `cairn search` looks for: of a store that was named, that which we
 * are in; else the one that the store lies in, if we are in that. */
int search_project(const struct settings *settings, struct cairn_store *store,
                   char out[PATH_MAX]);
/* As cairn_store_open and cairn_store_close; after store_keep_open, in a worker
 * (server/worker.h), one store that was opened for reading, without a key, stays open for
 * the next command line, which opens it anew if cairn_store_is_unchanged says no. */
int store_open(struct cairn_store **store, const struct cairn_store_options *options,
               struct cairn_error *error);
void store_close(struct cairn_store *store);
void store_keep_open(void);
/* Behind each command line; one that did not go well leaves nothing. */
void store_end_line(bool good);
/* The store for reading; it must exist. */
int store_for_reading(struct settings *settings, struct cairn_store **store);
/* The same, but `*store` is NULL when there is none. The n-th operand may be a workflow
 * file, which the store may lie beside. */
int store_if_any(struct settings *settings, int n, struct cairn_store **store);
/* Notes in the log of the store who asked for the command, where that is not who runs
 * it: cairn web, for somebody who looks at a page. Those that open a store to change it
 * do it. */
int note_asked(const struct settings *settings, struct cairn_store *store,
               struct cairn_error *error);
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
/* Appends a file, or stdin for `-`: to its end, or up to one byte more than `most`. */
int read_given(const char *path, size_t most, struct buf *out);
/* Prints the warnings of loading. */
void print_warnings(const struct cairn_workflow *workflow);
/* store_hint (suggest.h) for commands that write to the run: with " --key FILE" if the
 * run needs a key and none is given. */
const char *run_hint(const struct settings *settings, const struct cairn_run_info *run);

/* Calls `line` with a sentence for each of the store, and with a command. Returns an
 * exit status, after printing what is wrong. */
typedef void unfinished_restore_fn(void *context, const char *text, const char *remedy);

int each_unfinished_restore(struct cairn_store *store, unfinished_restore_fn *line,
                            void *context);
/* The session of which say_own_unfinished_restores says them (NULL: the current one);
 * it must outlive that. */
void unfinished_restores_of(const char *session);
/* Says them on stderr, as cairn_restore_unfinished finds them; what cannot be known is
 * not said. */
void say_unfinished_restores(struct cairn_store *store, const char *session, bool all);
/* An array "unfinished_restores". */
int unfinished_restores_document(struct doc *doc, struct cairn_store *store,
                                 const char *session);
/* Finishes those of the session; a document has what was to be finished. Returns an
 * exit status. */
int finish_restores(struct cairn_store *store, const char *session);

/* Runs them, with their output on stderr, and tells which have failed: it changes no
 * exit status. `store` may be NULL. */
void hooks_run(struct cairn_store *store);
/* The same; says which restores of the session are not finished; closes the store. */
void hooks_run_and_close(struct cairn_store *store);

#endif
