/* SPDX-License-Identifier: MIT */
/* Taking up another state of a session: that of a checkpoint, or of a branch. */
#ifndef SESSION_MOVES_MOVES_INT_H
#define SESSION_MOVES_MOVES_INT_H

#include "cairn/restore.h"
#include "session/session_int.h"

struct move {
    struct live live;
    /* What alone is taken up of the other state; none of these: all. */
    bool board_only, files_only, messages_only;
    struct branch_row from; /* the branch that was current */
    struct branch_row to;   /* and the one that is then; branch 0: to be made */
    struct captured before; /* the state that was there */
    uint64_t seq;           /* of the state that is taken up */
    uint64_t since;         /* the checkpoint before that state was left, 0: `seq` */
    uint64_t since_turn;    /* what is taken back, or done again; 0: nothing */
    struct state_at state;
    bool read;
    uint64_t added, changed, removed;
    uint64_t messages_before; /* how many the line had */
    struct cairn_error *error;
};

/* A write transaction, the board and the branch. move_end is called in any case. */
int move_begin(struct move *m, struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error);
int move_end(struct move *m, int rc);
/* Verifies and reads the state m->seq, which must be of the session. */
int move_read_target(struct move *m);
/* Its files are to become those that there are: files_replace. */
int take_files(struct move *m);
/* Makes it the present state, on the branch m->to (which is made if it has no number),
 * and logs it. */
int move_finish(struct move *m, const struct log_entry *entry);

/* What a transaction returns that was only to be looked at. */
enum { MOVE_LOOKED = 2 };

/* Transactions with files in place after them, as the options say; `once` returns
 * MOVE_LOOKED for a dry run. Of `files` the caller sets what is special, and releases
 * nothing. *looked: it was one. */
typedef int move_once_fn(void *context, struct files_taken *files);

int move_with_files(struct cairn_store *store, const char *session,
                    const struct cairn_restore_options *options,
                    struct files_taken *files, move_once_fn *once, void *context,
                    struct cairn_error *error);
/* The row that takes a way back, or up, in the log: the branch before, the checkpoint
 * of the state there, and the one that is taken up. */
void move_put_origin(const struct move *m, struct buf *out);

/* One transaction of a restore. */
typedef int restore_fn(struct move *m, const char *id,
                       const struct cairn_restore_options *options);

/* That, with files in place after it. `back`: it takes a restore back. `given` and
 * `report` may be NULL. */
int branch_must_find(struct live *live, const char *name, struct branch_row *found,
                     struct cairn_error *error);
/* A free one: "main" becomes "main-2", and that "main-3". */
int branch_free_name(struct move *m, char out[CAIRN_SESSION_NAME_MAX]);
/* The checkpoint that has the state of a branch: its newest one, or the one where it
 * begins; damaged ones are not passed over. CAIRN_ENOTFOUND: there is none. */
int branch_state(struct live *live, const struct branch_row *row, uint64_t *seq,
                 struct cairn_error *error);

#endif
