/* SPDX-License-Identifier: MIT */
/* Between the files of the alcove. */
#ifndef SESSION_FILES_FILES_INT_H
#define SESSION_FILES_FILES_INT_H

#include "cairn/files.h"
#include "session/session_int.h"

/* ---- files_at.c ---- */

/* A read transaction, and the snapshot of a checkpoint. files_close in any case. */
struct files_reading {
    struct live live;
    struct arena arena;
    struct snapshot_head head;
    int64_t time_ns; /* of the checkpoint */
    struct cairn_error *error;
};

/* An entry for the public header; false: out of memory. */
bool files_tell(struct arena *arena, const char *path, const struct tree_entry *entry,
                struct cairn_file *out);

/* The checkpoints of a session in their order, for what looks at the files of all of
 * them. */

/* A checkpoint. */
struct step {
    uint64_t seq, branch;
    int64_t time_ns;
    uint32_t before; /* the one that it comes after, or STEP_NONE */
    uint8_t state;   /* enum step_state */
    struct digest root;
};

struct history {
    struct live live;
    struct step *steps; /* by ascending seq: each is behind the one that it comes after
                         */
    size_t n, room;
    uint32_t newest; /* where the present line ends (or that of `at`), or STEP_NONE */
    struct digest snapshot, root; /* read last */
    bool has_last;
    struct cairn_error *error;
};

#endif
