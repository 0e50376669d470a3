/* SPDX-License-Identifier: MIT */
/* A restore of files that was decided and may not be finished: a setting of the store,
 * written in the transaction that decides it, and dropped when the files are in place.
 * While it is there, whoever writes to a session finishes it first. */
#ifndef SESSION_FILES_PENDING_H
#define SESSION_FILES_PENDING_H

#include "cairn/session.h"
#include "snapshot/restore.h"

/* One restore at a time in a store: CAIRN_EBUSY. */
int pending_lock(struct cairn_store *store, struct cairn_error *error);
void pending_unlock(struct cairn_store *store);
/* In the transaction: from the snapshot `before` to `after`, of those paths alone that
 * patterns match (n 0: all), and as it was chosen (restore->chosen). CAIRN_ELIMIT: that
 * is more than can be noted. */
int pending_note(struct cairn_store *store, uint64_t session,
                 const struct digest *before, const struct digest *after,
                 const struct str *patterns, size_t n, const struct restore *restore,
                 struct cairn_error *error);
/* After it, with the lock: what was prepared, and then the setting goes. */
int pending_carry_out(struct cairn_store *store, struct restore *restore,
                      struct cairn_error *error);
/* Finishes what a process that is gone had decided, if there is something. `locked`:
 * the caller has the lock, and decides nothing itself. What cannot be finished hinders
 * its own session alone, and those that have files in the same directory, as long as
 * that is there: for others it is put aside. `session` 0: none; `files`: its setting.
 */
int pending_finish(struct cairn_store *store, bool locked, uint64_t session,
                   struct str files, struct cairn_error *error);

struct pending_told {
    uint64_t session;
    char name[CAIRN_SESSION_NAME_MAX]; /* of the session, or its number */
    uint64_t seq;           /* of the checkpoint whose files come; 0: not known */
    uint64_t files, placed; /* that differ; of these, in place */
    bool lost;              /* the directory is not there */
    bool aside;
};
typedef int pending_fn(void *context, const struct pending_told *told);
/* What is not finished, and no other process is about (`locked`: the caller has the
 * lock): of that session, or of the directory that `files` means; session 0: all. */
int pending_each(struct cairn_store *store, bool locked, uint64_t session,
                 struct str files, pending_fn *each, void *context,
                 struct cairn_error *error);

/* In a transaction: what is not finished of that session, whose files are in the
 * directory that `files` means ("": nowhere), will not be. What was taken out of its
 * place is kept; where it cannot be, the error says where it is. *locked: until the
 * transaction has ended the lock is the caller's, who gives it back. */
int pending_forget(struct cairn_store *store, uint64_t session, struct str files,
                   bool *locked, struct cairn_error *error);

/* ---- The files of a new session in a new directory ---- */

/* Likewise a setting of the store. In a transaction: they are being written for the
 * directory (session 0), or are to be put there, since the session is made with it. */
int fork_note(struct cairn_store *store, uint64_t session, const char *directory,
              struct cairn_error *error);
/* With the lock: what was noted is finished, or what was written is deleted. */
int fork_finish(struct cairn_store *store, struct cairn_error *error);

/* The directory that a setting `files` means, with a NUL. CAIRN_EUSAGE: a link is in
 * its place. */
int files_root_path(struct cairn_store *store, struct str name, struct buf *out,
                    struct cairn_error *error);
/* The directory in which the store lies, heap. */
int files_home(struct cairn_store *store, char **out, struct cairn_error *error);
/* The path of a session's index, heap. */
char *files_index_path(struct cairn_store *store, uint64_t session);

#endif
