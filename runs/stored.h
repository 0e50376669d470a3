/* SPDX-License-Identifier: MIT */
/* What the store keeps of a run: its row, the definitions that it has had, its recorded
 * states. Reads only; each call is a part of the caller's transaction where it has one.
 *
 *
 * Where a store was when its runs began. A run records the path of its file; when the
 * project has been moved or copied with the store in it, that path leads to where it
 * was, or is a copy of. So the store notes what directories it has been in, and the
 * file of a run that lay below one of these is looked for below the one it is in now.
 *
 *
 * A workflow file that has not changed is not parsed again when its run is continued.
 * When a run begins, the store notes for its workflow the hash of everything that the
 * parser read: the file, its path, the params, the version of cairn; and the digest of
 * the resulting definition, which is among the objects.
 *
 * Only where the definition depends on nothing else: not where the file names members
 * by glob or lines, nor where it gave warnings, which are shown each time. Not in a
 * store with a key: whoever cannot make its HMACs must not choose what runs. */
#ifndef RUNS_STORED_H
#define RUNS_STORED_H

#include "checkpoint/outcomes.h"
#include "graph/graph.h"
#include "runs/result.h"
#include "storage/rows_parent.h"
#include "storage/rows_run.h"
#include "workflow/workflow.h"

/* The row of a run (0: that of run_choose), with its texts in the arena.
 * CAIRN_ENOTFOUND. */
int run_row_get(struct run_row *row, struct cairn_store *store, uint64_t run,
                struct arena *arena, struct cairn_error *error);
/* A copy of a run row whose texts live in the arena. */
int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error);
/* CAIRN_EDAMAGED: all of the run's checkpoints were deleted, or are gone. */
int run_no_checkpoint(uint64_t run, struct cairn_error *error);
/* CAIRN_ENOTFOUND: none of the run's definitions has a task of this id. */
int run_no_task(uint64_t run, const char *id, struct cairn_error *error);
/* The digest of the definition that a generation of the run has. CAIRN_ENOTFOUND. */
int run_graph(struct cairn_store *store, const struct run_row *row, uint32_t gen,
              struct digest *digest, struct cairn_error *error);
/* Loads the definition that an object of the pool holds, and its graph. */
int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error);
/* The same for the graph of the tasks whose states the run has. Without it nothing can
 * be said of them: CAIRN_EDAMAGED, also if it is missing, with what can be done. */
int states_graph_load(struct cairn_store *store, uint64_t run,
                      const struct digest *digest, struct definition *definition,
                      struct graph *graph, struct cairn_error *error);
/* The definition and graph of a generation. */
int generation_load(struct cairn_store *store, const struct run_row *row, uint32_t gen,
                    struct definition *definition, struct graph *graph,
                    struct cairn_error *error);

/* The definition of an earlier generation, kept for the next attempt that is asked
 * about. Zero at first. */
struct past_definition {
    uint32_t gen; /* 0: none is loaded */
    struct definition definition;
    struct graph graph;
};

/* CAIRN_ENOTFOUND, CAIRN_EDAMAGED. */
int past_definition_load(struct past_definition *past, struct cairn_store *store,
                         const struct run_row *row, uint32_t gen,
                         struct cairn_error *error);
void past_definition_release(struct past_definition *past);
/* *found: what an attempt of generation `gen` has as `task`, as a task of `graph`, the
 * one of the run's newest generation; NODE_NONE if that has no such task, or it is not
 * known any more. */
int past_task(struct past_definition *past, struct cairn_store *store,
              const struct run_row *row, uint32_t gen, uint32_t task,
              const struct graph *graph, uint32_t *found, struct cairn_error *error);
/* The result that an object of the pool holds, in the arena. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED. */
int result_load(struct cairn_store *store, const struct digest *digest,
                struct arena *arena, struct result *result, struct cairn_error *error);
/* *task: the number of a task in a generation, or NODE_NONE. Builds no graph. */
int generation_find_task(struct cairn_store *store, const struct run_row *row,
                         uint32_t gen, const char *id, uint32_t *task,
                         struct cairn_error *error);

/* A run, its states and its graph, as the store has them at one moment. */
struct stored_run {
    struct arena arena; /* texts of `row` */
    struct run_row row;
    struct recovery recovery;
    struct definition definition;
    struct graph graph;
    bool recovered, loaded; /* `recovery`, and `definition` and `graph`, are valid */
};

/* run 0: that of run_choose. Without `graph`, only row and recovery are loaded. On
 * failure there is nothing to release. CAIRN_ENOTFOUND, CAIRN_EDAMAGED, CAIRN_EUSAGE.
 */
int stored_run_open(struct stored_run *stored, struct cairn_store *store, uint64_t run,
                    bool graph, struct cairn_error *error);
/* What was opened without it. */
int stored_run_load_graph(struct stored_run *stored, struct cairn_store *store,
                          struct cairn_error *error);
void stored_run_release(struct stored_run *stored);

/* ---- Runs inside others (parents.c) ---- */

/* The attempt that this process runs in, if that is one of a run of this store, and
 * open; else out->run is 0. */
int run_parent_here(struct cairn_store *store, struct run_parent *out,
                    struct cairn_error *error);
/* `inside`, and the open attempts around that one, innermost first: *out, which the
 * caller frees, also after an error, gets *n; both are 0 before. */
int run_parents(struct cairn_store *store, const struct run_parent *inside,
                struct run_parent **out, uint32_t *n, struct cairn_error *error);
/* The run that is meant where none is named: the newest that was begun in no task of
 * another. Inside a task, the newest that this task has begun, if there is one. *run 0:
 * the store has none. */
int run_choose(struct cairn_store *store, uint64_t *run, struct cairn_error *error);
/* A run that was begun or went on inside this attempt and was cancelled, or 0. */
int run_cancelled_inside(struct cairn_store *store, const struct run_parent *parent,
                         uint64_t *run, struct cairn_error *error);

/* Notes which params were given to a run that begins, within its transaction. One that
 * begins at a checkpoint has them from the run of that. */
int run_put_given(struct cairn_store *store, const struct run_row *row,
                  const struct cairn_workflow *workflow, struct cairn_error *error);

/* Notes where the store is, within a write transaction. */
int moved_store_note(struct cairn_store *store, struct cairn_error *error);
/* The path at which the file of a run is now: the recorded one, unless the store has
 * moved and there is such a file below where it is. 1 it is there, 0 it is gone, <0
 * error. In a store with a key it has not moved: the note is not under its HMACs.
 * CAIRN_ENOTFOUND: the store is a copy, and there is such a file only where it was
 * copied from, where a store is that has it. */
int moved_store_find(struct cairn_store *store, const struct run_row *row,
                     struct buf *path, struct cairn_error *error);
/* Where a directory that a run recorded is now, in the same way; the recorded path if
 * there is none below where the store is. */
int moved_store_directory(struct cairn_store *store, const struct run_row *row,
                          struct str recorded, struct buf *path,
                          struct cairn_error *error);

/* The file of a run with its params, read and not parsed. 1, 0: it is gone, or an error.
 */
int workflow_of_run_read(struct cairn_workflow **out, struct cairn_store *store,
                         const struct run_row *row, struct cairn_error *error);
int workflow_of_run_parse(struct cairn_workflow *workflow, struct cairn_store *store,
                          const struct run_row *row, struct cairn_error *error);
/* Within the transaction that puts the definition into the store; `row` has the graph's
 * digest and the params. */
int parse_cache_note(const struct cairn_workflow *workflow, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error);

/* The definition that is stored with a run, whatever its file says now. The caller
 * frees it. CAIRN_EDAMAGED, CAIRN_EUSAGE (see run_trust). */
int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error);

#endif
