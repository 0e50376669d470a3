/* SPDX-License-Identifier: MIT */
/* Copies of a task's outputs (`reuse: {keep}`): a snapshot of them below the directory of
 * the workflow, of which storage/rows_files.h has the digest. It is made when the task
 * has completed, and counts only if what is in it is what the result says. Later they
 * are put back from it: written beside the files, each content verified, and then moved
 * into place, all of them or none. */
#ifndef RUNS_KEPT_H
#define RUNS_KEPT_H

#include "cairn/store.h"
#include "graph/text_expand.h"
#include "runs/result.h"

#include <stdatomic.h>

struct kept_files { /* of one attempt */
    struct arena arena;
    struct str root; /* the directory of the workflow */
    /* [n] of each output that the result has, in its order, below the root. */
    struct str *paths;
    struct result_file *outputs; /* [n] copies */
    uint32_t n;
    struct str *names; /* [n_names] of these paths, sorted: none lies below another */
    size_t n_names;
};

/* kept_files_release also after an error. CAIRN_EUSAGE: an output lies elsewhere. */
int kept_files_find(const struct scope *scope, const struct result_file *outputs,
                    uint32_t n, struct kept_files *out, struct cairn_error *error);
void kept_files_release(struct kept_files *files);
/* Whether the outputs in the snapshot have the recorded content. CAIRN_EIO: one has not,
 * and it is named. */
int kept_files_compare(const struct kept_files *files, struct cairn_store *store,
                       const struct digest *snapshot, const _Atomic uint32_t *stop,
                       struct cairn_error *error);
/* Whether all that is in the snapshot is in the store, and how much that is: 1 or 0, or
 * an error. Contents are not read. */
int kept_is_there(struct cairn_store *store, const struct digest *snapshot,
                  uint64_t *bytes, struct cairn_error *error);
/* Puts all of them into place. What was there is gone then. After an error, also
 * CAIRN_ESTOPPED, everything is as it was, unless somebody else wrote there. `run`,
 * `task`: whose they will be. The outputs get the times and inodes that they have now; a
 * directory has no sign any more. */
int kept_put_back(struct kept_files *files, struct cairn_store *store,
                  const struct digest *snapshot, uint64_t run, uint32_t task,
                  const _Atomic uint32_t *stop, struct cairn_error *error);
/* Removes what a kill has left of that. */
void kept_clear(struct cairn_store *store, const char *root);

#endif
