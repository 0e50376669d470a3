/* SPDX-License-Identifier: MIT */
/* Which outputs were seen to have the content that a result tells, so that a file which
 * nobody has touched is neither read nor its result fetched: what git's index is. A
 * cache in a file of the store: an entry stands for a result (by its digest, of which
 * it has the first 16 bytes) and has a sign for each of its outputs, in their order.
 * As long as the output still has that sign, its content is the one that the result
 * names. An entry that is missing only means that the result is fetched, and the
 * content compared if its times differ.
 *
 * outputs.W, for each workflow W; integers little endian:
 *
 *   8   "cairnout", then entries:     the sign of a file       of a directory
 *  16   of the result's digest          8  size                 32  SHA-256 of paths,
 *   4   n: outputs                      8  time of writing          kinds and signs of
 *  33n  kind ('f', 'd'), sign           8  time of change           all that is in it
 *                                       8  inode
 *  32   SHA-256 of all before
 *
 * Not used with a key: who cannot make HMACs must not vouch for outputs.
 *
 * Declared files of tasks, inputs and outputs: are they there, what is in them, are
 * they still the same. Paths are relative to the task's working directory. */
#ifndef RUNS_OUTPUTS_H
#define RUNS_OUTPUTS_H

#include "cairn/store.h"
#include "graph/graph.h"
#include "runs/lookup.h"
#include "runs/result.h"
#include "workflow/glob.h"

#include <stdatomic.h>
#include <sys/stat.h>

struct file_sign {
    uint8_t kind;
    uint8_t bytes[32];
};

/* Of an output as files_look has seen it. */
struct file_sign output_sign(const struct result_file *file);

/* {0} is an empty one. */
struct output_index {
    struct buf entries;
    uint32_t *table; /* places of entries in `entries`, 0: none; by digest */
    size_t capacity, n;
    bool grown; /* there are entries that the file has not */
};

void output_index_release(struct output_index *index);
/* The file of a workflow, or NULL: there is none to be used. To be freed. */
char *output_index_path(struct cairn_store *store, uint64_t workflow);
/* What cannot be read is taken for empty. */
void output_index_load(struct output_index *index, const char *path);
/* Without memory, or if there are too many, nothing is noted. */
void output_index_add(struct output_index *index, const struct digest *result,
                      const struct result_file *outputs, uint32_t n);
/* The i-th sign of the entry for a result with n outputs; false: there is none. */
bool output_index_find(const struct output_index *index, const struct digest *result,
                       uint32_t n, uint32_t i, struct file_sign *sign);
/* Adds the entry that `from` has for a result. */
void output_index_copy(struct output_index *index, const struct output_index *from,
                       const struct digest *result);
/* In place of what is there; a file that cannot be written is left out. */
void output_index_save(struct output_index *index, const char *path);

/* ---- What is in a file or a directory, outputs.c: on any thread ---- */

struct file_reader {
    struct file_digests *digests; /* asked first, and told; NULL: none are known */
    const _Atomic uint32_t *stop; /* not 0: no more is read; NULL: never */
    bool limited;                 /* only so much is read: */
    uint64_t left;                /* bytes; looking at a file costs some, too */
};

/* More would have to be read than the reader may: file->digest and size say nothing. */
enum { FILE_LONG = 1 };

/* 0, FILE_LONG, or an error: CAIRN_ESTOPPED. A file that grows meanwhile is read up to
 * the size that it had. */
int file_take(const char *path, struct file_reader *reader, struct result_file *file,
              struct cairn_error *error);
/* What tells of a change of an output (of a directory: of anything in it) without
 * reading content: of `path`, from the directory `at`, which is the absolute `whole`.
 * False: it is missing, or cannot be looked at. */
bool file_sign_at(int at, const char *path, const char *whole, struct file_sign *sign);
/* The last change of it, or of anything in it. 0, or an error: CAIRN_ENOTFOUND. */
int file_changed(const char *path, int64_t *changed_ns, struct cairn_error *error);

/* ---- Declared files ---- */

/* Files by their declared names, one after the other; of a pattern among inputs, what
 * matches it now. */
struct files {
    const struct scope *scope;
    const struct str *names; /* [n] reference text */
    uint32_t n, next;
    const char *what; /* "output", "input" */
    struct buf directory, name, path;
    struct buf unmatched; /* the first pattern that nothing matches */
    struct arena arena;
    struct glob_names found; /* of the pattern before `next`; in the arena */
    uint32_t next_found;
    struct buf joined; /* names by ${{ tasks.X.files }} among inputs, a line each */
    size_t next_joined;
};

int files_begin(struct files *files, const struct scope *scope, bool inputs,
                struct cairn_error *error);
/* 1: name and path are of the next one, 0: no more, <0: an error. */
int files_step(struct files *files, struct cairn_error *error);
void files_release(struct files *files);
/* How the declared inputs look, as one number: their names, kinds, sizes, times and
 * inodes (of a directory: of all that is in it). 0: there are none. Of what a look has
 * seen, and of what is there now. */
int inputs_sign_of(const struct result_file *inputs, uint32_t n, uint64_t *sign,
                   struct cairn_error *error);
int inputs_sign_now(const struct asker *asker, uint64_t *sign,
                    struct cairn_error *error);
/* Appends a name to a list with a line for each: 0, or 1, NAME_BROKEN: there is a line
 * break in it. */
enum { NAME_BROKEN = 1 };
int inputs_list_name(struct str name, struct buf *list);
/* Appends the names of all declared inputs, of a pattern what matches it now. 0,
 * NAME_BROKEN, or an error. */
int inputs_list(const struct scope *scope, struct buf *list, struct cairn_error *error);
/* Whether there is a pattern among the inputs. */
bool inputs_have_glob(const struct task_def *def);
/* Whether the declared outputs look as they were recorded, by size, times and inode:
 * false where one is a directory, or cannot be looked at. */
bool outputs_untouched(const struct scope *scope, const struct result_file *recorded,
                       uint32_t n);

/* A look at every declared file of a task: size, times, digest of the content. Its
 * parts are for the loop of a run: begin and take read next to nothing, and go_on,
 * which reads it all, may be called on another thread. */
struct file_look {
    struct arena arena; /* of what follows */
    struct result_file *files;
    char **paths;
    uint32_t n, next;    /* files before `next` are done */
    uint32_t n_declared; /* behind them those that the depfile names */
    bool inputs;
    bool failed;        /* file `next` is missing, or cannot be read */
    int64_t since_ns;   /* set by the caller: when the attempt began, 0: not known. What
                           the depfile names and has changed since counts as unknown */
    int64_t depfile_ns; /* its last change */
};

/* Names and places. CAIRN_ENOTFOUND with the missing one named. Also to be released
 * after an error. */
int file_look_begin(struct file_look *look, const struct asker *asker, bool inputs,
                    struct cairn_error *error);
/* 0: all is done; FILE_LONG: not all, and it can go on; else an error. */
int file_look_go_on(struct file_look *look, struct file_reader *reader,
                    struct cairn_error *error);
/* Copies to the arena: outputs, or inputs in front of those that the result has; and
 * behind them what the depfile names. CAIRN_ENOTFOUND: the depfile is older than the
 * attempt. */
int file_look_take(const struct file_look *look, struct arena *arena,
                   struct result *result, struct cairn_error *error);
/* Copies the file because of which it failed, if it did. */
int file_look_take_failed(const struct file_look *look, struct arena *arena,
                          struct result_file **out, uint32_t *n,
                          struct cairn_error *error);
void file_look_release(struct file_look *look);
/* All of it, with the digests and the stop of the asker's lookup. */
int files_look(const struct asker *asker, bool inputs, struct arena *arena,
               struct result *result, struct cairn_error *error);
/* Nobody knows what was read of it: it is equal to nothing. */
void file_forget(struct result_file *input);
/* True if a file that last changed then is older than what began at `started_ns`. Times
 * of files lag a little behind the clock, and may be those of a clock of seconds. */
bool file_is_older(int64_t changed_ns, int64_t started_ns);

enum file_state { FILE_SAME, FILE_DIFFERS, FILE_MISSING };

/* How recorded files are looked at, found from `directory`. Without `content` existence
 * is enough. With it, the same size, times and inode stand for the same content if
 * `trust_times`. */
struct file_view {
    struct str directory;
    bool content, trust_times;
    struct file_digests *digests; /* may be NULL */
    const _Atomic uint32_t *stop; /* as in struct file_reader */
};

/* *now: what is there now, if it is there; its digest only where the content was read.
 * What could not be read then, and cannot now, is the same. */
int file_compare(const struct file_view *view, const struct result_file *recorded,
                 enum file_state *state, struct result_file *now,
                 struct cairn_error *error);

#endif
