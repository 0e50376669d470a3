/* SPDX-License-Identifier: MIT */
/* cairn: the checkpoints of a session as a line: what led to a checkpoint, the first
 * one that is bad, a state as a session of its own, and what there is to go on from. */
#ifndef CAIRN_HISTORY_H
#define CAIRN_HISTORY_H

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
