/* SPDX-License-Identifier: MIT */
/* Declared files of tasks, inputs and outputs: are they there, what is in them, are
 * they still the same. Paths are relative to the task's working directory. */
#ifndef RUNS_OUTPUTS_H
#define RUNS_OUTPUTS_H

#include "graph/graph.h"
#include "runs/lookup.h"
#include "runs/output_index.h"

/* The scope's task's working directory: root / cwd. "" where neither is set (the
 * caller's). */
int task_directory(const struct scope *scope, struct buf *out,
                   struct cairn_error *error);

/* Files by their declared names, one after the other. */
struct files {
    const struct scope *scope;
    const struct str *names; /* [n] reference text */
    uint32_t n, next;
    const char *what; /* "output", "input" */
    struct buf directory, name, path;
};
int files_begin(struct files *files, const struct scope *scope, bool inputs,
                struct cairn_error *error);
/* 1: name and path are of the next one, 0: no more, <0: an error. */
int files_step(struct files *files, struct cairn_error *error);
void files_release(struct files *files);

/* Looks at every declared file of the asker's task: size, times, digest of the content
 * (of a directory: of the sorted list of what is in it). Digests that are known are
 * taken from the asker's lookup, new ones noted there. Names and the array are in the
 * arena. CAIRN_ENOTFOUND with the missing one named. */
int files_look(const struct asker *asker, bool inputs, struct arena *arena,
               struct result_file **out, uint32_t *n, struct cairn_error *error);

enum file_state { FILE_SAME, FILE_DIFFERS, FILE_MISSING };
/* How recorded files are looked at, found from `directory`. Without `content` existence
 * is enough. With it, the same size, times and inode stand for the same content if
 * `trust_times`. */
struct file_view {
    struct str directory;
    bool content, trust_times;
    struct file_digests *digests; /* may be NULL */
};
/* *now: what is there now, if it is there; its digest only where the content was read.
 */
int file_compare(const struct file_view *view, const struct result_file *recorded,
                 enum file_state *state, struct result_file *now,
                 struct cairn_error *error);
/* What tells of a change of an output (of a directory: of anything in it) without
 * reading content: of `path`, from the directory `at`, which is the absolute `whole`.
 * False: it is missing, or cannot be looked at. */
bool file_sign_at(int at, const char *path, const char *whole, struct file_sign *sign);

/* Deletes outputs that are there and are not directories. */
int outputs_remove(const struct scope *scope, struct cairn_error *error);

#endif
