/* SPDX-License-Identifier: MIT */
/* The checkpoints of a session in their order, for what looks at the files of all of
 * them. */
#ifndef SESSION_FILES_HISTORY_INT_H
#define SESSION_FILES_HISTORY_INT_H

#include "session/files/files_int.h"

#define STEP_NONE UINT32_MAX

enum step_state { STEP_UNREAD, STEP_FILES, STEP_EMPTY, STEP_DAMAGED };
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
/* Begins a read transaction. The steps are those that led to the present state of the
 * session, or to a checkpoint (`at` not NULL); `all`: those of all its branches, or
 * `at` alone. A branch whose beginning was deleted begins with what is left of it.
 * CAIRN_ENOTFOUND: there are none. history_close in any case. */
int history_open(struct history *history, struct cairn_store *store,
                 const char *session, const char *at, bool all,
                 struct cairn_error *error);
int history_close(struct history *history, int rc);
/* What a step holds is read once: 0, and its state says the rest. Damage is a state,
 * too. */
int history_read(struct history *history, uint32_t step);
/* The nearest step before that holds files, passing over others; or STEP_NONE. */
int history_before(struct history *history, uint32_t step, uint32_t *before);

/* What is told of a step. The texts are in the arena. */
struct step_told {
    char id[CAIRN_ID_MAX];
    const char *message; /* may be empty */
    const char *branch;  /* its name, or "" where its row is lost */
    const char *prompt;  /* the last one of the user then, or NULL */
};
int history_tell(struct history *history, uint32_t step, struct arena *arena,
                 struct step_told *out);

#endif
