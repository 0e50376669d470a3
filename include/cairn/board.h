/* SPDX-License-Identifier: MIT */
/* cairn: the board of a debugging session: hypotheses, evidence, beliefs and what they
 * depend on, knowledge gaps, notes, commands that were run and checks, as
 * items with named fields.
 *
 *   kind        id  fields (* required)
 *   hypothesis  h1  statement*, prior, status, created, closed, reason, tags
 *   evidence    e1  text*, hypothesis*, kind, strength*, source, created
 *   belief      b1  statement*, confidence, subject, claim, denied, created, tags
 *   dependency  d1  from*, to*, kind, created
 *   gap         g1  text*, kind, criticality, status, hypothesis, created, ended,
 *                   resolution
 *   note        n1  text*, severity, tags, about, created
 *   command     c1  command*, directory*, exit_code*, duration_ms*, stdout, stderr,
 *                   created
 *   check       v1  text*, command*, hypothesis, timeout_ms, retries, created,
 *                   status, output, exit_code, duration_ms, attempts, ran
 *
 * Numbers of ids are never used again in a session. */
#ifndef CAIRN_BOARD_H
#define CAIRN_BOARD_H

#include "checkpoint.h"
#include "error.h"
#include "store.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_ITEM_ID_MAX 24

enum cairn_field_type {
    CAIRN_FIELD_TEXT,   /* text; also words such as "confirmed", and ids: `text` */
    CAIRN_FIELD_NUMBER, /* `number` */
    CAIRN_FIELD_COUNT,  /* `count` */
    CAIRN_FIELD_TIME,   /* `time_ns` */
    CAIRN_FIELD_FLAG,   /* it is there: yes */
    CAIRN_FIELD_LIST    /* texts, or ids: `texts` */
};
struct cairn_field {
    const char *name;
    enum cairn_field_type type;
    const char *text;
    double number;
    uint64_t count;
    int64_t time_ns; /* UTC */
    const char *const *texts;
    size_t n;
};
/* Views, during the callback that gets it. */
struct cairn_item {
    char id[CAIRN_ITEM_ID_MAX];
    const char *kind;
    const struct cairn_field *fields; /* those that are there, in the order above */
    size_t n_fields;
    bool has_confidence; /* of a hypothesis, from its prior and its evidence */
    double confidence;
    uint32_t supporting, refuting; /* pieces of evidence of a hypothesis */
    bool has_score;                /* of an open gap: 0 to 1, how much it matters now */
    double score;
    const char *suggestion, *rationale; /* what to do about a gap, or NULL */
};

/* A field to be set: text as people write it (numbers in digits, times as in
 * cairn/session.h, lists with commas, a flag "yes" or "no"); NULL takes it away. */
struct cairn_set {
    const char *field, *text;
};
struct cairn_board_result {
    char id[CAIRN_ITEM_ID_MAX];
    uint32_t changed; /* items, with those that follow by themselves (closed gaps) */
    char checkpoint[CAIRN_ID_MAX]; /* made by itself because of it, or "" */
    uint64_t pruned; /* checkpoints that went then, by the settings of the session */
    char contradicts[CAIRN_ITEM_ID_MAX]; /* a belief that it contradicts now, or "" */
    /* The hypothesis whose confidence follows from the item: of evidence, or a
     * hypothesis that was there before; "" for others. */
    char hypothesis[CAIRN_ITEM_ID_MAX];
    double confidence_before, confidence; /* of it */
    bool doubtful; /* it is confirmed, and this change took it below 0.5 */
    /* Of evidence that is added or changed: as it is stored, and as it was given, which
     * may be more than its kind can have. */
    double strength, strength_given;
};

/* Adds an item. Fields that are not given get what is usual: prior 0.5, status proposed
 * or open, confidence 0.5, created now, kind observation, implication or other,
 * criticality medium, timeout_ms 60000, retries 3. The strength of evidence, from -1 to
 * 1, is cut to what its kind can have. CAIRN_ENOTFOUND: an item that a field names;
 * CAIRN_EUSAGE: no such kind, field or value, a field that is not set by hand (all of a
 * command; of a check `status` and what follows), or what the rules of the board
 * refuse, with the reason; nothing is changed. `session`: as in cairn/session.h. */
CAIRN_API int cairn_item_add(struct cairn_store *store, const char *session,
                             const char *kind, const struct cairn_set *sets, size_t n,
                             struct cairn_board_result *result,
                             struct cairn_error *error);
/* Changes fields of an item. CAIRN_ENOTFOUND. A gap with the status filled gets
 * `ended`, a hypothesis that is confirmed or rejected `closed`. */
CAIRN_API int cairn_item_set(struct cairn_store *store, const char *session,
                             const char *id, const struct cairn_set *sets, size_t n,
                             struct cairn_board_result *result,
                             struct cairn_error *error);
/* Removes an item. CAIRN_EUSAGE: others refer to it, and are named. */
CAIRN_API int cairn_item_remove(struct cairn_store *store, const char *session,
                                const char *id, struct cairn_board_result *result,
                                struct cairn_error *error);

/* What a new confidence of a belief does to those that depend on it: times 0.95 for
 * each step that they are away, and not less than 0.1. */
struct cairn_cascade_step {
    const char *id; /* of a belief; the first one is the one that is changed */
    uint32_t depth;
    double before, after;
};
#define CAIRN_CASCADE_TOKEN_MAX 33
struct cairn_cascade {
    uint32_t steps, page, pages;         /* of 50 steps each, from 1 */
    char token[CAIRN_CASCADE_TOKEN_MAX]; /* names what was shown */
};
/* Shows a page of it; nothing is changed. */
CAIRN_API int cairn_belief_preview(
    struct cairn_store *store, const char *session, const char *id, double confidence,
    uint32_t page, int (*each)(void *, const struct cairn_cascade_step *),
    void *context, struct cairn_cascade *cascade, struct cairn_error *error);
/* Does it, in one change that cairn_session_undo takes back. `token`: of the preview;
 * CAIRN_EUSAGE if it would do something else by now. NULL: whatever it does. */
CAIRN_API int cairn_belief_cascade(struct cairn_store *store, const char *session,
                                   const char *id, double confidence, const char *token,
                                   struct cairn_board_result *result,
                                   struct cairn_error *error);

struct cairn_item_filter {
    size_t size;       /* of this struct, or 0 */
    const char *kind;  /* NULL: all */
    const char *field; /* with `value`: only items of which that field is, or has, this
                          word, id or text; NULL: any */
    const char *value;
    const char *checkpoint; /* as they were there, of the session that is named (or any,
                               if none is); NULL: now */
    bool by_score;          /* gaps: open ones only, the one that matters most first;
                               hypotheses: the most likely first */
    struct cairn_page page; /* by number */
};
/* One item, as it is now or (`checkpoint` not NULL) was. CAIRN_ENOTFOUND */
CAIRN_API int cairn_item_get(struct cairn_store *store, const char *session,
                             const char *id, const char *checkpoint,
                             int (*got)(void *, const struct cairn_item *),
                             void *context, struct cairn_error *error);
CAIRN_API int cairn_item_list(struct cairn_store *store, const char *session,
                              const struct cairn_item_filter *filter,
                              int (*each)(void *, const struct cairn_item *),
                              void *context, uint64_t *total,
                              struct cairn_error *error);

/* How a hypothesis came to be as likely as it is. Views during the callback. */
struct cairn_confidence_step {
    int64_t time_ns;      /* UTC: the hypothesis or the evidence was made */
    const char *evidence; /* id; NULL: its prior, the first step */
    double strength;      /* of the evidence */
    double confidence;    /* from then on */
};
/* Its prior, then each piece of its evidence by time, with the strength that it has now
 * (or had at the checkpoint); the last confidence is that of the hypothesis. A non-zero
 * return stops. CAIRN_ENOTFOUND */
CAIRN_API int cairn_hypothesis_steps(struct cairn_store *store, const char *session,
                                     const char *hypothesis, const char *checkpoint,
                                     int (*each)(void *,
                                                 const struct cairn_confidence_step *),
                                     void *context, struct cairn_error *error);

/* Pairs of beliefs of which at most one can be true, as they are now or were at a
 * checkpoint: of one belief, or of all (NULL); by number, the first 10,000. `total`
 * (may be NULL) counts all. CAIRN_ENOTFOUND */
CAIRN_API int cairn_belief_contradictions(
    struct cairn_store *store, const char *session, const char *belief,
    const char *checkpoint, int (*each)(void *, const char *a, const char *b),
    void *context, uint64_t *total, struct cairn_error *error);

/* One thing that was done in a session: views. */
struct cairn_session_event {
    uint64_t turn; /* counts transactions of the session */
    uint32_t n;    /* within the turn */
    int64_t time_ns;
    const char *kind; /* of the item ("hypothesis", ...), or "checkpoint", "task-failed"
                         (a checkpoint because of it), "contradiction", "restore",
                         "branch", "prune", "undo", "session" */
    const char *verb; /* "started", "added", "changed", "removed", "checkpoint",
                         "restored", "undid-restore", "redid-restore", "branched",
                         "switched", "abandoned", "merged", "ended", "continued",
                         "configured", "undone", "pruned", "contradiction" */
    const char *reason; /* the trigger of a checkpoint, or NULL */
    const char *id;     /* of the item, checkpoint or branch; may be "" */
    const char *text;   /* for people, one line */
};
/* Those of turns greater than `after`, in order. The callback must not use the store.
 */
CAIRN_API int cairn_session_events(struct cairn_store *store, const char *session,
                                   uint64_t after,
                                   int (*each)(void *,
                                               const struct cairn_session_event *),
                                   void *context, struct cairn_error *error);
/* How long it is, in milliseconds, until checkpoints for the triggers "scheduled" and
 * "significant-time" are due (cairn_session_checkpoint makes them): 0 now, -1 never. Of
 * a session that has ended none is. */
CAIRN_API int cairn_session_due(struct cairn_store *store, const char *session,
                                int64_t *scheduled_ms, int64_t *significant_ms,
                                bool *ended, struct cairn_error *error);
/* Takes back the last change of items of a session: what one call has changed. Refused
 * (CAIRN_EUSAGE) where the last thing that was done is something else, which is named.
 * A second call takes back the one before it. */
CAIRN_API int cairn_session_undo(struct cairn_store *store, const char *session,
                                 uint32_t *changed, struct cairn_error *error);
/* The same; `each` gets what is taken back, as it was logged, before it is durable. */
CAIRN_API int cairn_session_take_back(struct cairn_store *store, const char *session,
                                      int (*each)(void *,
                                                  const struct cairn_session_event *),
                                      void *context, uint32_t *changed,
                                      struct cairn_error *error);

/* ---- Commands and checks ----
 *
 * Commands that a session runs and records, and checks, which are commands that
 * verify something. Both are items of the board.
 *
 * What is stored has no secrets: values of the environment variables that the
 * setting "redact" of the session names or that a workflow of the store declares as
 * secrets, and what looks like a key, a token or a password, are replaced by
 * [REDACTED] in commands and outputs. Of each output the last 4 KiB are stored;
 * bytes that are no UTF-8 become \xNN. */

/* What the process that runs a command does for it; all may be NULL. */
struct cairn_command_host {
    size_t size; /* of this struct, or 0 */
    /* A handler puts the number of a signal here. It is passed on to the command, and
     * the place becomes 0 again. SIGTERM and SIGHUP end the call, too: what has not
     * ended 10 s later is killed. */
    volatile sig_atomic_t *signal;
    /* The command was stopped (Ctrl-Z): stop this process, too, and return when it goes
     * on. NULL: the command stays stopped until somebody else lets it go on. */
    void (*suspend)(void *context);
    void *context;
};

struct cairn_exec {
    size_t size;             /* of this struct, or 0 */
    const char *const *argv; /* ends with NULL; argv[0] is looked for in PATH */
    int out, err;            /* where its output goes, such as 1 and 2; -1: nowhere */
    const struct cairn_command_host *host; /* may be NULL */
};
struct cairn_exec_result {
    bool ran;      /* it could be executed */
    int exit_code; /* as a shell has it: 128 + n for signal n, 127: it was not found,
                      126: it could not be executed */
    int64_t duration_ms;
    char id[CAIRN_ITEM_ID_MAX];    /* of its item, or "" */
    char checkpoint[CAIRN_ID_MAX]; /* made by itself because of it, or "" */
    uint64_t pruned;  /* checkpoints that went then, by the settings of the session */
    char reason[512]; /* why it could not be executed, or "" */
    int output_error; /* errno of writing its output to `out` or `err`: some of it is
                         missing there. 0: none; that nobody reads there is none */
};
/* Runs a command as a part of the caller's job: with its stdin, terminal, directory,
 * environment and process group, and with a terminal for each output that is one. What
 * it writes is passed on at once and unchanged. When it has ended it is recorded as an
 * item of the session. If the caller dies meanwhile, the command is killed, with all
 * that it has started, and nothing is recorded.
 * CAIRN_ENOTFOUND, CAIRN_EUSAGE (the session has ended; a value that is to be redacted
 * has less than 6 bytes): nothing was run. If it cannot be recorded the code says why,
 * and the result says how it ended (`ran`, exit_code). */
CAIRN_API int cairn_session_exec(struct cairn_store *store, const char *session,
                                 const struct cairn_exec *exec,
                                 struct cairn_exec_result *result,
                                 struct cairn_error *error);

struct cairn_check_result {
    char id[CAIRN_ITEM_ID_MAX];
    const char *status; /* "passed", "failed", "timeout" or "error" */
    int exit_code;      /* -1: it was ended by its limit, or could not be run */
    uint32_t attempts;
    int64_t duration_ms;              /* of all attempts, and the pauses between them */
    char evidence[CAIRN_ITEM_ID_MAX]; /* that was added to its hypothesis, or "" */
    char checkpoint[CAIRN_ID_MAX];
    uint64_t pruned; /* as above */
};
/* Runs the command of a check with sh, in the caller's directory, without a terminal
 * and with an empty stdin, and records how it ended. An attempt that takes longer than
 * the check's timeout is ended with its whole process group. One that fails, or takes
 * too long, is made again after 100 ms, 200 ms and so on, up to 30 s, times 0.5 to 1.5,
 * as often as the check has retries. Where the check has a hypothesis that gets a piece
 * of evidence of the kind experiment: 1 if it passed, -1 if it failed; a check that
 * took too long or could not be run says nothing. CAIRN_ENOTFOUND: there is no such
 * check. */
CAIRN_API int cairn_check_run(struct cairn_store *store, const char *session,
                              const char *id, const struct cairn_command_host *host,
                              struct cairn_check_result *result,
                              struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
