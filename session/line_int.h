/* SPDX-License-Identifier: MIT */
/* The checkpoints that led to one, as numbers. */
#ifndef SESSION_LINE_INT_H
#define SESSION_LINE_INT_H

#include "cairn/restore.h"
#include "session/session_int.h"

struct line_entry {
    uint64_t seq, branch;
    int64_t time_ns; /* as its row says */
};

struct line {
    struct line_entry *at; /* oldest first; the caller frees it */
    size_t n, capacity;
};

/* From `from` (0: the first one) to `to`, both included. Needs a transaction. Errors as
 * cairn_session_line. */
int line_load(struct cairn_store *store, uint64_t from, uint64_t to, struct line *line,
              struct cairn_error *error);
/* The newest record of the current branch, or the one where that begins.
 * CAIRN_ENOTFOUND */
int line_present_seq(struct live *live, uint64_t *seq, struct cairn_error *error);
/* What is reported of a checkpoint. */
int line_describe(struct cairn_store *store, struct sha256 *sha,
                  const struct line_entry *entry, struct cairn_line_entry *out,
                  struct cairn_error *error);

#endif
