/* SPDX-License-Identifier: MIT */
/* cairn: going back to a checkpoint of a session, taking that back, and forward again.
 */
#ifndef CAIRN_RESTORE_H
#define CAIRN_RESTORE_H

#include "checkpoint.h"
#include "error.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `session`: as in cairn/session.h. */

struct cairn_restored {
    char id[CAIRN_ID_MAX]; /* what was restored */
    int64_t time_ns;
    char message[256];
    char before[CAIRN_ID_MAX]; /* the checkpoint of the state that was there before */
    char branch[CAIRN_SESSION_NAME_MAX];     /* work goes on on this one */
    char old_branch[CAIRN_SESSION_NAME_MAX]; /* and the old line is this one */
    uint64_t added, changed, removed; /* items, against the state that was there */
    uint64_t files_added, files_changed, files_removed; /* files, links, directories */
    uint64_t files_kept;   /* were changed while it went on: kept beside */
    uint64_t files_left;   /* of which one side has the name alone: not touched */
    uint64_t files_others; /* stayed, since others have changed them */
    uint64_t files_beside; /* others have changed them, too: kept beside */
    bool files_skipped;    /* it holds files, and the setting "files" is off */
    uint64_t messages_before,
        messages; /* of the line that was there, and of this one */
};
/* What others have changed since the checkpoint that is restored. A directory stands
 * for all that is in it. */
struct cairn_restore_other {
    const char *path;
    const char *session; /* the name of theirs, "" where nobody knows */
    bool there;          /* it was on the disk: else it had been removed */
    bool stays;  /* as it was; else the session has changed it, too, and it goes back */
    bool beside; /* it goes back, and what was there is kept beside it */
};
struct cairn_restore_options {
    bool force; /* also to a checkpoint labelled "broken" */
    /* At most one of these: all else stays as it is. */
    bool board_only, files_only, messages_only;
    /* Files alone, and of them those that one of these patterns matches (n_paths 0:
     * all); others stay as they are, tracked or not. Each is a pattern as a line of a
     * .gitignore in the directory of the files has it (but for a `!` or `#` in front,
     * which are bytes), and means what is below a directory, too. What it matches and
     * the checkpoint does not have is removed if it is tracked. CAIRN_ENOTFOUND: one
     * matches nothing in the checkpoint and nothing that is tracked. */
    const char *const *paths;
    size_t n_paths;
    bool dry_run; /* nothing is done: `before` is empty then */
    /* Called, once the files are in place, for each that could not be treated as the
     * others, with what was done instead; or NULL. */
    void (*kept)(void *context, const char *path, const char *what);
    void *context;
    bool all; /* also what others have changed since */
    /* Called, also where nothing is done, for what others have changed since; or NULL.
     * What it is given lives during the call. */
    void (*others)(void *context, const struct cairn_restore_other *other);
};
/* Puts the board of a session back to one of its checkpoints, and the files where the
 * checkpoint holds some and the setting "files" is what it was, after verifying all of
 * it. Files are put in place after the transaction; where the process ends before they
 * all are, the next call that writes to a session of the store finishes that. The state
 * that was there is checkpointed before (if the last checkpoint does not have it
 * already), and work goes on on a new branch, which starts from the restored one; with
 * `messages_only` or `paths` from the state before, as that is what has changed little.
 * Where other sessions of
 * the directory have made checkpoints since that one, what they have changed stays, but
 * for `all` (the rule: docs/guarantees.md, G10). No branch is begun where nothing
 * differs from the checkpoint. CAIRN_EDAMAGED: nothing was changed. */
CAIRN_API int cairn_session_restore(struct cairn_store *store, const char *session,
                                    const char *id,
                                    const struct cairn_restore_options *options,
                                    struct cairn_restored *report,
                                    struct cairn_error *error);
/* Goes back to the branch and state before the last restore; called again, before the
 * one before that. What was changed since the restore is checkpointed on its branch.
 * CAIRN_EUSAGE: there is none, or branches were started, switched, merged or abandoned
 * since. */
CAIRN_API int cairn_session_undo_restore(struct cairn_store *store, const char *session,
                                         const struct cairn_restore_options *options,
                                         struct cairn_restored *report,
                                         struct cairn_error *error);
/* Goes to the branch and state that the last undo has left: board, messages and files
 * as they were then. Called again, to what the undo before that has left. It can be
 * undone again. CAIRN_EUSAGE: nothing was undone since the last restore, or the board,
 * the messages or the files were changed since the undo (a time of change alone is no
 * change), or branches were. Of the options only dry_run and `kept` are looked at. */
CAIRN_API int cairn_session_redo_restore(struct cairn_store *store, const char *session,
                                         const struct cairn_restore_options *options,
                                         struct cairn_restored *report,
                                         struct cairn_error *error);

/* ---- Restores that were interrupted ---- */

/* A restore of files that was decided, and whose process ended before all of them were
 * in place; also that of a branch which was switched to, or of one that was begun at a
 * checkpoint. */
struct cairn_unfinished_restore {
    uint64_t session;
    char name[CAIRN_SESSION_NAME_MAX]; /* of the session */
    bool current;                      /* the session is that of the store */
    char id[CAIRN_ID_MAX];  /* the checkpoint ("debug:7") that has the files, or "" */
    uint64_t files, placed; /* files, links and directories that come; are in place */
    bool lost;              /* their directory is not there */
};
/* Those of a session and of others with files in its directory; `all`: every one of the
 * store. Not those that a process is about. Returns what `each` returns unless that is
 * 0; it must not use the store. */
CAIRN_API int cairn_restore_unfinished(
    struct cairn_store *store, const char *session, bool all,
    int (*each)(void *, const struct cairn_unfinished_restore *), void *context,
    struct cairn_error *error);
/* Finishes them, as the next call does that writes to a session. What was changed since
 * is kept beside its place: cairn_store_on_notice says which. CAIRN_EIO,
 * CAIRN_EDAMAGED, CAIRN_EUSAGE: it cannot be finished, and why. */
CAIRN_API int cairn_restore_finish(struct cairn_store *store, const char *session,
                                   struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
