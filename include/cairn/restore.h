/* SPDX-License-Identifier: MIT */
/* cairn: restores a checkpoint of a session, undoes and redoes that; branches,
 * bisecting, recovery. */
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
    size_t size; /* of this struct, or 0 */
    bool force;  /* also to a checkpoint labelled "broken" */
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
     * others, with what was done instead; also where nothing is done, for each that has
     * content in the checkpoint or now, and of which the other one has the name alone
     * (20 of them, and how many more there are). Before they are put in place, and where
     * nothing is done, likewise for those that a process has open for writing, as far as
     * /proc shows it; or NULL. */
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

/* ---- Branches ----
 *
 * The branches of a debugging session: several lines of work, each with a state of
 * its own. */

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

/* ---- The line of checkpoints ----
 *
 * The checkpoints of a session as a line: what led to a checkpoint, the first one
 * that is bad, a state as a session of its own, and what there is to go on from. */

/* One checkpoint of a line. Texts are views during the callback. */
struct cairn_line_entry {
    uint64_t seq;
    uint64_t branch;
    int64_t time_ns;       /* UTC */
    char id[CAIRN_ID_MAX]; /* "debug:42" if it is damaged */
    bool damaged;          /* its record; what it holds is not looked at here */
    /* What it says of itself, unless it is damaged (NULL, false). */
    const char *trigger, *message;
    const struct cairn_task_failure *failure; /* that it was made for, or NULL */
    bool same_state; /* it holds what the one before it on the line holds */
};
/* The checkpoints that led to `to`, over branches: from `from` (NULL: from the first
 * one) to `to` (NULL: to the newest one of the current branch of `session`), both
 * included, oldest first. Deleted ones are left out. CAIRN_EUSAGE: `from` did not lead
 * to `to`; CAIRN_ENOTFOUND: there is no such checkpoint, none at all, or the one where
 * a branch begins was deleted; CAIRN_EDAMAGED: so is that one. A callback that does not
 * return 0 ends it. It may use the store. */
CAIRN_API int cairn_session_line(struct cairn_store *store, const char *session,
                                 const char *from, const char *to,
                                 int (*each)(void *, const struct cairn_line_entry *),
                                 void *context, struct cairn_error *error);

/* ---- The first bad one ---- */

enum cairn_verdict {
    CAIRN_VERDICT_GOOD,
    CAIRN_VERDICT_BAD,
    CAIRN_VERDICT_SKIP, /* this one cannot be tried: others beside it are */
    CAIRN_VERDICT_STOP  /* no more */
};
struct cairn_probe {
    char id[CAIRN_ID_MAX];
    uint64_t seq;
    int64_t time_ns;
    bool damaged;        /* its record: it is told of, and skipped whatever is said */
    uint32_t number;     /* of this probe, from 1; damaged ones do not count */
    uint64_t candidates; /* how many may be the first bad one, before this probe; 0: the
                            given ones are being checked */
};
struct cairn_bisected {
    bool stopped;        /* by CAIRN_VERDICT_STOP */
    bool good_fails;     /* only with `check`: the one given as good is bad */
    bool bad_passes;     /* only with `check`: the one given as bad is good */
    uint64_t candidates; /* how many may be the first bad one: 1: it is found; more:
                            those before the last of them were skipped, or it was
                            stopped; 0: good_fails or bad_passes */
    bool bad_untested;   /* one is found, and it is the one given as bad, which was not
                            tried */
    bool good_untested;  /* one is found, and the one before it is that given as good,
                            which was not tried */
    uint32_t probes, skipped;
    /* The newest checkpoint that is known to be good, and the oldest one behind it that
     * is known to be bad: the first bad one, if `candidates` is 1. */
    char last_good[CAIRN_ID_MAX], first_bad[CAIRN_ID_MAX];
};
/* Finds the first checkpoint on the line from `good` to `bad` that `probe` finds to be
 * bad, if all before it are good and all behind it are bad, with ceil(log2(n)) probes
 * where n checkpoints lie behind `good` up to `bad` and none is skipped. The two given
 * ones are tried only with `check`. The store is only read; `probe` may use it. A
 * damaged record on the line is skipped. Errors as cairn_session_line, and what `probe`
 * returns if that is negative, which fills nothing of `error`. `candidate` (may be
 * NULL) gets each one of result->candidates at the end, oldest first. */
CAIRN_API int cairn_session_bisect(
    struct cairn_store *store, const char *good, const char *bad, bool check,
    int (*probe)(void *, const struct cairn_probe *, enum cairn_verdict *verdict),
    int (*candidate)(void *, const struct cairn_line_entry *), void *context,
    struct cairn_bisected *result, struct cairn_error *error);

/* ---- A state as a session of its own ---- */

/* Starts a session in another store (which may be the same one) whose present state is
 * that of a checkpoint: the same items with the same ids, and one checkpoint with its
 * message, tags, trigger, context and time (but no link to a task, whose run is in the
 * first store, unless both are the same handle). It becomes the current session there.
 * `name` NULL: that of the session it is from, with a number behind it if that is taken
 * there. Settings are not copied. Everything is verified before anything is written.
 * CAIRN_ENOTFOUND, CAIRN_EDAMAGED, CAIRN_EUSAGE: as cairn_session_start. */
CAIRN_API int cairn_session_copy(struct cairn_store *from, const char *checkpoint,
                                 struct cairn_store *to, const char *name,
                                 struct cairn_session_info *info,
                                 struct cairn_error *error);

/* ---- What there is to go on from ---- */

struct cairn_recovery {
    char id[CAIRN_ID_MAX]; /* the newest checkpoint whose state is whole */
    uint64_t seq;
    int64_t time_ns;
    char session[CAIRN_SESSION_NAME_MAX];
    char message[256];
    uint32_t damaged; /* newer ones that are not */
};
enum cairn_step_kind {
    CAIRN_STEP_ENVIRONMENT, /* a line for a POSIX shell that sets a variable */
    CAIRN_STEP_REPLAY,      /* a command line for a POSIX shell */
    CAIRN_STEP_MANUAL       /* what somebody has to do or to know; any text */
};
struct cairn_step {
    enum cairn_step_kind kind;
    const char *text;
};
/* The newest checkpoint of a session whose record and content are all verified: of its
 * current branch, or where that begins; else of another one. `damaged` gets each that
 * would have come before it and is not sound, with the reason, in that order;
 * where a row is damaged by which others might be found, `id` is "". CAIRN_ENOTFOUND:
 * the session has no checkpoint; CAIRN_EDAMAGED: none is whole. */
CAIRN_API int cairn_session_newest(struct cairn_store *store, const char *session,
                                   int (*damaged)(void *, const char *id,
                                                  const char *text),
                                   void *context, struct cairn_recovery *found,
                                   struct cairn_error *error);
/* What it takes to go on from a checkpoint, in order: the working directory and the
 * variables that are stored with it; those that name store and
 * session; what makes the session go on if it has ended, and restores the state if the
 * present one is another; for one that was made because a task failed, a shell as that
 * task had it and the resuming of the run, as long as there is that run, or that it has
 * completed since; and what was
 * open then: hypotheses that were being tested, and the three gaps that mattered most.
 * Nothing is executed. The callback may use the store. */
CAIRN_API int cairn_session_steps(struct cairn_store *store, const char *checkpoint,
                                  int (*each)(void *, const struct cairn_step *),
                                  void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
