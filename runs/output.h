/* SPDX-License-Identifier: MIT */
/* What attempts wrote, in the pool: one object, or of what is longer than
 * OUTPUT_ONE_OBJECT a list of chunks (snapshot/tree.h) of OUTPUT_CHUNK bytes each, the
 * last one shorter. So reading a part of it costs what the part is, and damage is that
 * of a chunk. */
#ifndef RUNS_OUTPUT_H
#define RUNS_OUTPUT_H

#include "base/memory.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"
#include "snapshot/tree.h"

enum { OUTPUT_ONE_OBJECT = TREE_CHUNK_MOST, OUTPUT_CHUNK = 1 << 20 };

/* Needs a write transaction. *listed: it became a list. */
int output_put(struct cairn_store *store, struct str content, struct digest *digest,
               bool *listed, struct cairn_error *error);
/* The same before that transaction, in short ones, of more than OUTPUT_ONE_OBJECT.
 * *holds, also after an error: collectors are held off by the store, for the caller to
 * end (storage/rows_gc.h) when `list` is referred to, or not wanted. */
int output_put_ahead(struct cairn_store *store, struct str content, struct digest *list,
                     bool *holds, struct cairn_error *error);

struct stored_output {
    struct cairn_store *store;
    uint64_t size;
    struct buf content;     /* of an object that is no list */
    struct chunk_list list; /* else, in the arena */
    struct arena arena;
    bool listed;
};
/* Reads it, or the list; `digest` may be zeros, for nothing. output_close also after an
 * error. */
int output_open(struct stored_output *output, struct cairn_store *store,
                const struct digest *digest, bool listed, struct cairn_error *error);
/* Gives the bytes [from, to), as far as there are so many, in pieces; `at` is where one
 * begins. A chunk that is damaged or missing is passed over, and named by the
 * CAIRN_EDAMAGED which is returned when all others were given. An `each` that returns
 * anything but 0 ends it, with 0. */
typedef int output_piece_fn(void *context, const char *bytes, size_t n, uint64_t at);
int output_read(struct stored_output *output, uint64_t from, uint64_t to,
                output_piece_fn *each, void *context, struct cairn_error *error);
void output_close(struct stored_output *output);

#endif
