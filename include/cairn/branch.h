/* SPDX-License-Identifier: MIT */
/* cairn: the branches of a debugging session: several lines of work, each with a state
 * of its own. */
#ifndef CAIRN_BRANCH_H
#define CAIRN_BRANCH_H

#include "error.h"
#include "restore.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `session`: as in cairn/session.h. */

struct cairn_branch_info {
    char name[CAIRN_SESSION_NAME_MAX];
    uint64_t branch;
    bool current;
    const char *status;      /* "active", "merged", "abandoned", "archived" */
    char from[CAIRN_ID_MAX]; /* the checkpoint where it begins, or "" */
    char head[CAIRN_ID_MAX]; /* its newest checkpoint, or "" */
    int64_t started_ns;
    char reason[256]; /* why it was abandoned */
    /* Of the one that was started or switched to: files, links and directories that
     * were replaced, those that were changed meanwhile and are kept beside, and the
     * branch that work went on on before. */
    uint64_t files_changed, files_kept;
    char before[CAIRN_SESSION_NAME_MAX];
};
/* In the order in which they were begun. The callback must not use the store. */
CAIRN_API int cairn_branch_list(struct cairn_store *store, const char *session,
                                int (*each)(void *, const struct cairn_branch_info *),
                                void *context, struct cairn_error *error);
/* Begins a branch with the present state, or with that of a checkpoint of the session
 * (`from` not NULL), and switches to it. `name` NULL: one that is free. What other
 * sessions of the directory have changed since that checkpoint stays, as it does where
 * one is restored. Of the options (may be NULL) `dry_run` (nothing is done, and `info`
 * says what would be), `all`, `kept` and `others` count. */
CAIRN_API int cairn_branch_start(struct cairn_store *store, const char *session,
                                 const char *name, const char *from,
                                 const struct cairn_restore_options *options,
                                 struct cairn_branch_info *info,
                                 struct cairn_error *error);
/* Checkpoints the present state where it has changed, and takes up the state of the
 * other branch, but for what other sessions of the directory have changed since.
 * Options as of cairn_branch_start. CAIRN_EUSAGE: it was abandoned, or is the current
 * one. */
CAIRN_API int cairn_branch_switch(struct cairn_store *store, const char *session,
                                  const char *name,
                                  const struct cairn_restore_options *options,
                                  struct cairn_branch_info *info,
                                  struct cairn_error *error);
/* Not the current one. */
CAIRN_API int cairn_branch_abandon(struct cairn_store *store, const char *session,
                                   const char *name, const char *reason,
                                   struct cairn_error *error);

struct cairn_forked {
    char session[CAIRN_SESSION_NAME_MAX]; /* the new one, and its branch */
    char branch[CAIRN_SESSION_NAME_MAX];
    uint64_t number;               /* of the session */
    char from[CAIRN_ID_MAX];       /* the checkpoint where it begins */
    char checkpoint[CAIRN_ID_MAX]; /* its first one */
    uint64_t files;                /* files, links and directories that were made */
    uint64_t cloned; /* files that share their blocks with those of the first session */
    uint64_t left;   /* of which the checkpoint has the name alone: not made */
};
/* Begins a session whose branch starts from a checkpoint of another one, with that
 * one's state and settings, and puts the files that the checkpoint holds into a new (or
 * empty) directory, which is that of its files from then on: both lines go on by
 * themselves. A file `.cairn` in the directory leads whoever works there to this store
 * and that session (cairn_store_open, and NULL in the place of a session). It does not
 * become the current session of the store. All of it is done or nothing; where the
 * process ends after it was decided, the next call that writes to a session of the
 * store finishes it. `name` NULL: that of the first session, with a number behind it.
 * CAIRN_EUSAGE: the checkpoint holds no files, or the directory is not empty, a link,
 * or would be tracked by a session; CAIRN_EDAMAGED. */
CAIRN_API int cairn_session_fork(struct cairn_store *store, const char *session,
                                 const char *id, const char *directory,
                                 const char *name, struct cairn_forked *forked,
                                 struct cairn_error *error);

enum cairn_merge { CAIRN_MERGE_UNION, CAIRN_MERGE_OURS, CAIRN_MERGE_THEIRS };
struct cairn_merged {
    char base[CAIRN_ID_MAX];          /* where they were last the same: the newest */
    char checkpoint[CAIRN_ID_MAX];    /* of the merged state */
    uint64_t added, changed, removed; /* items of the current branch */
    uint64_t conflicts;               /* items that both had changed */
    char ours[CAIRN_ID_MAX], theirs[CAIRN_ID_MAX]; /* the two states before */
    uint32_t gaps_closed; /* of hypotheses that became certain by it; also `changed` */
    /* Two beliefs that contradict each other since, or "". */
    char contradicts[2][CAIRN_ITEM_ID_MAX];
    /* Where they were last the same, if that cannot be read any more (it was deleted by
     * an older cairn, or is damaged) and `base` is an older one; else "". */
    char base_lost[CAIRN_ID_MAX];
    /* A branch with which one of them has a common line and that was merged, nobody
     * knows when (it was lost with damaged rows, or imported from an older cairn); or
     * "". */
    char merge_lost[CAIRN_SESSION_NAME_MAX];
};
/* Takes the changes of a branch over into the current one, item by item: what only one
 * of them has changed since they were last the same (where they parted, or one was
 * merged into the other, or a third one into both) is as that one has it. Of what both
 * changed `how` says: ours or theirs as a whole; or union: field by field, where ours
 * counts for a field that both changed and nothing is removed that the other one
 * changed. `each` (may be NULL) gets the ids of those. An item that others refer to
 * stays in any case. The present state is checkpointed before, and the branch is
 * `merged` then. Files stay as they are: cairn_branch_merged_files. */
CAIRN_API int cairn_branch_merge(struct cairn_store *store, const char *session,
                                 const char *name, enum cairn_merge how,
                                 int (*each)(void *, const char *id), void *context,
                                 struct cairn_merged *report,
                                 struct cairn_error *error);

/* Files are not merged. Calls `each` for every file and link that the other branch had
 * changed since the two were last the same, and that is not the same in both now;
 * `both`: the current one had changed it, too. In the order of the paths, from the
 * directory of the files; of a directory that was added, removed or given another mode
 * nothing is said. `each` must not use the store; what it returns, if not 0, is
 * returned. None where one of the two states holds no files; where the state in which
 * they were the same holds none, all counts as changed since. */
CAIRN_API int cairn_branch_merged_files(struct cairn_store *store,
                                        const struct cairn_merged *merged,
                                        int (*each)(void *, const char *path,
                                                    bool both),
                                        void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
