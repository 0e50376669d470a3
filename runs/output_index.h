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
 * Not used with a key: who cannot make HMACs must not vouch for outputs. */
#ifndef RUNS_OUTPUT_INDEX_H
#define RUNS_OUTPUT_INDEX_H

#include "cairn/store.h"
#include "runs/result.h"

#include <sys/stat.h>

struct file_sign {
    uint8_t kind;
    uint8_t bytes[32];
};
/* Of what is no directory. */
struct file_sign file_sign_of(const struct stat *st);
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

#endif
