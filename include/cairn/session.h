/* SPDX-License-Identifier: MIT */
/* cairn: debugging sessions, and their checkpoints. A session has a board
 * (cairn/board.h) of what somebody knows; its checkpoints hold the board as it was. */
#ifndef CAIRN_SESSION_H
#define CAIRN_SESSION_H

#include "board.h"
#include "checkpoint.h"
#include "error.h"
#include "store.h"
#include "workflow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A session is given by its name or its number, as text; NULL is the current one of the
 * store. CAIRN_ENOTFOUND, with a text that says what to do, if there is none. Functions
 * that write need a store that was opened for writing, without a key: sessions are
 * never keyed (CAIRN_EUSAGE). Each is one transaction: all of it, or nothing. */

#define CAIRN_SESSION_NAME_MAX 128 /* bytes of a name, with the final NUL */

struct cairn_session_info {
    uint64_t session; /* its number */
    char name[CAIRN_SESSION_NAME_MAX];
    char branch[CAIRN_SESSION_NAME_MAX]; /* the one that work goes on on */
    bool current;                        /* of the store */
    int64_t started_ns, ended_ns;        /* UTC; ended_ns 0: it has not ended */
    int64_t spent_ms;                    /* from its start to its end, or until now */
    uint64_t items;                      /* on the board now */
    uint64_t branches;
    uint64_t checkpoints;       /* ever made */
    uint64_t hypotheses_tested; /* that were confirmed or rejected, each once */
    uint64_t gaps_filled;
    uint64_t commands, verifications; /* ever run: cairn/board.h */
    uint64_t messages;                /* of the present line: cairn/message.h */
    uint64_t tokens_in, tokens_out;   /* likewise */
    uint64_t messages_stored;         /* on whatever line */
};

/* Starts a session (name NULL: "session-N") with the branch "main". With `current` it
 * becomes the current one of the store. CAIRN_EUSAGE: the name is taken, too long,
 * empty or a number, or has control characters or white space around it. */
CAIRN_API int cairn_session_start(struct cairn_store *store, const char *name,
                                  bool current, struct cairn_session_info *info,
                                  struct cairn_error *error);
/* CAIRN_EDAMAGED with the session's number in *info (0 before the call): what it says is
 * so, but the counts may be too low, since the row that the error names is damaged. */
CAIRN_API int cairn_session_get(struct cairn_store *store, const char *session,
                                struct cairn_session_info *info,
                                struct cairn_error *error);
/* Newest first. CAIRN_EDAMAGED after the last one, if a row of one is damaged: the error
 * names it. What can be read was listed, with counts of rows that are whole. */
CAIRN_API int cairn_session_list(struct cairn_store *store,
                                 const struct cairn_page *page,
                                 int (*each)(void *, const struct cairn_session_info *),
                                 void *context, uint64_t *total,
                                 struct cairn_error *error);
/* Makes it the current one of the store; one that has ended goes on. */
CAIRN_API int cairn_session_switch(struct cairn_store *store, const char *session,
                                   struct cairn_session_info *info,
                                   struct cairn_error *error);
/* After that nothing of it changes until it is switched to. */
CAIRN_API int cairn_session_end(struct cairn_store *store, const char *session,
                                struct cairn_session_info *info,
                                struct cairn_error *error);

struct cairn_session_deleted {
    uint64_t session, checkpoints; /* its number; how many went with it */
};
/* Deletes a session for good: its board, log, messages, branches, checkpoints and
 * settings. What files and texts only it refers to goes with the next cairn_gc
 * (cairn/maintenance.h); what other sessions refer to, too, stays. An event of the
 * store says that it was deleted. `session` is not NULL. CAIRN_EBUSY: a watch or
 * cairn_exec uses it, or a restore of its files is not finished. */
CAIRN_API int cairn_session_delete(struct cairn_store *store, const char *session,
                                   struct cairn_session_deleted *result,
                                   struct cairn_error *error);

struct cairn_session_expired {
    uint32_t days;   /* the setting; 0: off, nothing is deleted */
    uint64_t agents; /* sessions of agents that there were */
    uint64_t due, deleted;
};
/* Deletes sessions that hooks of agents have made and in which nothing was done for as
 * long as the setting "keep-sessions" says; not the current one, nor one in use. The
 * oldest first, at most so many (0: all). So does each new session of an agent, one or
 * two at a time. dry_run: only counts. */
CAIRN_API int cairn_session_expire(struct cairn_store *store, uint32_t most,
                                   bool dry_run, struct cairn_session_expired *result,
                                   struct cairn_error *error);

/* Settings, as texts: "interval" and "schedule" (a time such as 10m; schedule: or
 * "off"), "files" (a directory, or "off": cairn/files.h), "settle" (a time, or "off":
 * cairn/files.h), "redact" and "environment" (names of environment variables, with
 * commas, or "off": cairn/board.h, cairn/session.h), "strategy" and "tools"
 * (cairn/message.h), "size-budget" (a size such as 500M, or "off":
 * cairn/maintenance.h), the rules "keep-..." (cairn/maintenance.h), "keep-sessions"
 * (days such as 30d, or "off"; of the whole store, whichever session is named), each
 * automatic trigger by name ("on", "off"). */
CAIRN_API int cairn_session_config(struct cairn_store *store, const char *session,
                                   int (*each)(void *, const char *name,
                                               const char *value, bool is_default),
                                   void *context, struct cairn_error *error);
/* CAIRN_EUSAGE: no such setting, or no such value. */
CAIRN_API int cairn_session_configure(struct cairn_store *store, const char *session,
                                      const char *name, const char *value,
                                      struct cairn_error *error);

/* ---- Checkpoints ---- */

struct cairn_context;
/* Secrets are taken out of the message, and refused in tags, as in a context
 * (cairn/session.h). */
struct cairn_capture {
    size_t size;         /* of this struct, or 0 */
    const char *message; /* required for a manual one without a summary, whose first
                            characters it is else */
    const char *const *tags;
    size_t n_tags;       /* with a context at most 20, of at most 50 characters each */
    const char *trigger; /* "manual" (also NULL), "compaction-warning", "code-modified",
                            "tool-call", "significant-time", "files-settled" (made
                            where the files have changed: cairn/files.h) or
                            "context-threshold",
                            which needs the usage of the context, and makes one where
                            that crosses 0.25, 0.5, 0.75 or 0.9 for the first time in
                            the session */
    const struct cairn_context *context; /* what the agent knows; or NULL */
};
struct cairn_captured {
    bool made;
    const char *why;       /* if not: "off", "too soon", "unchanged", "no new
                              threshold" */
    char id[CAIRN_ID_MAX]; /* of the one that was made, else of the last one or "" */
    uint64_t seq, pruned;  /* pruned: others, deleted then by the settings */
    uint64_t left_out;     /* names of files without content: cairn/files.h */
};
/* "manual", "hypothesis-confirmed", ...: of the number that a cairn_checkpoint_info
 * has; NULL: there is no such trigger. */
CAIRN_API const char *cairn_trigger_name(uint32_t trigger);
/* The whole state. Only a manual one is stored where nothing has changed since. */
CAIRN_API int cairn_session_checkpoint(struct cairn_store *store, const char *session,
                                       const struct cairn_capture *capture,
                                       struct cairn_captured *captured,
                                       struct cairn_error *error);

/* The end of an attempt of a run, by which a task failed. */
struct cairn_task_failure {
    size_t size;              /* of this struct, or 0 */
    uint64_t run, checkpoint; /* seq of its checkpoint, 0: not saved */
    const char *task;
    uint32_t attempt;
    int exit_code, signal; /* -1 and 0: none */
    const char *tail;      /* the end of its output, any bytes; 64 KiB of it are kept */
    size_t tail_bytes;
    /* The secrets that the run was given: they are taken out of the environment that
     * the checkpoint keeps, as are those in the environment. */
    const struct cairn_param *secrets;
    size_t n_secrets;
};
/* Makes a checkpoint that names it, unless the trigger task-failed is off. An observer
 * of the run may call it, with the store of the run. */
CAIRN_API int cairn_session_task_failed(struct cairn_store *store, const char *session,
                                        const struct cairn_task_failure *failure,
                                        struct cairn_captured *captured,
                                        struct cairn_error *error);

/* Exactly one of `time`, `seq`, `id` and `name` is set. */
struct cairn_moment {
    size_t size;      /* of this struct, or 0 */
    const char *time; /* "2 hours ago", "2025-01-20 14:30", ...: the newest one until
                         then, by the time of its record, of the branch that was
                         current then, or one from which that began */
    uint64_t seq;
    const char *id;
    const char *tag; /* may be NULL: only those with this tag */
    /* Any way to name one: an id, `head`, a time, a label, a tag, a branch, how exactly
     * one message begins; behind it `~2` for two checkpoints back on its line. */
    const char *name;
};
/* The one that is meant. CAIRN_EUSAGE: more or less than one, or a time that cannot be
 * read; CAIRN_ENOTFOUND: there was none yet; CAIRN_EDAMAGED. */
CAIRN_API int cairn_session_at(struct cairn_store *store, const char *session,
                               const struct cairn_moment *moment,
                               struct cairn_checkpoint_info *info,
                               struct cairn_error *error);

/* What a checkpoint says of itself; views during the callback. */
struct cairn_session_checkpoint_info {
    struct cairn_checkpoint_info checkpoint;
    const char *trigger; /* "manual", "hypothesis-confirmed", ... */
    bool significant;    /* it always stays when others are pruned */
    const char *message; /* whole */
    const char *const *tags;
    size_t n_tags;
    uint64_t items;
    const struct cairn_task_failure *failure;  /* that it was made for, or NULL */
    const struct cairn_message_line *messages; /* where their line ended, or NULL: there
                                                  never were any */
};
/* CAIRN_ENOTFOUND, also for the checkpoint of a run; CAIRN_EDAMAGED. */
CAIRN_API int cairn_session_checkpoint_get(
    struct cairn_store *store, const char *id,
    int (*got)(void *, const struct cairn_session_checkpoint_info *), void *context,
    struct cairn_error *error);

/* One item that differs between two states. */
struct cairn_board_change {
    const char *id, *kind;
    const struct cairn_item *before, *after; /* NULL: it was added, or removed */
    /* Of one that is in both: the fields that differ, in order. */
    const struct cairn_field *const *fields_before, *const *fields_after; /* [n]; an
                                               entry is NULL where there was none */
    size_t n;
};
struct cairn_board_summary {
    char from[CAIRN_ID_MAX], to[CAIRN_ID_MAX]; /* "" for the present state, and for the
                                                  empty one */
    int64_t from_ns, to_ns;
    uint64_t added, changed, removed;
    uint64_t messages_added, messages_removed; /* against the line at `from` */
    int64_t tokens_in, tokens_out;             /* more than at `from` */
    char text[256]; /* one line: "1 hypothesis confirmed, 2 notes added; 3 hours" */
};
/* What is different at `to` from how it was at `from`: ids of checkpoints of sessions,
 * or NULL for the present state of `session`, or "" for the empty board with which
 * `session` began. Equal states have no changes; the other
 * way round gives the mirrored ones. By kind and number. */
CAIRN_API int cairn_session_diff(struct cairn_store *store, const char *session,
                                 const char *from, const char *to,
                                 int (*each)(void *, const struct cairn_board_change *),
                                 void *context, struct cairn_board_summary *summary,
                                 struct cairn_error *error);

/* ---- The context of an agent ----
 *
 * The context of an agent that a checkpoint of a session keeps, so that the agent
 * can go on later with an empty one. It is no state: nothing is restored from it,
 * and two checkpoints that differ in it alone have the same state.
 *
 * Texts are UTF-8. Secrets (those that the setting "redact" names, those that
 * workflows of the store declare, and those that can be told by how they look) are
 * taken out of them before anything is stored (cairn_store_on_notice). In the state,
 * in keys, and in a text that is JSON or base64 as a whole they are refused:
 * CAIRN_EUSAGE. The limits hold before that and after it. */

#define CAIRN_CONTEXT_STATE_MAX (1u << 20) /* bytes of the full state */

struct cairn_context {
    const char *summary;     /* 1 to 500 characters, or NULL */
    const char *description; /* 1 to 10,000 characters, or NULL */
    const struct cairn_context_pair {
        const char *key;   /* 1 to 50 characters, none a control character; each once */
        const char *value; /* at most 500 characters */
    } * pairs;             /* [n_pairs], at most 50; of a stored one by key */
    size_t n_pairs;
    const char
        *state; /* the full one: at most CAIRN_CONTEXT_STATE_MAX bytes, or NULL */
    bool has_tokens, has_usage;
    uint64_t tokens; /* that it has, as the caller counts them; below 2^40 */
    double usage;    /* of the window of the agent, 0 to 1; millionths are kept */

    /* Of a stored one alone. */
    bool given;         /* there is a summary, a description, a pair or a state */
    unsigned threshold; /* that the usage crossed, in percent, for which the checkpoint
                           was made: 25, 50, 75 or 90; 0: none */
    const char *git_branch; /* of the repository that the store lies in, or NULL */
    const char *git_commit; /* hex digits, or NULL */
    uint64_t estimate; /* of tokens: the bytes of all texts above but those of git / 4,
                          rounded up */
};
/* That of a checkpoint; views during the callback, which may use the store.
 * CAIRN_ENOTFOUND: it has none, or there is no such checkpoint; CAIRN_EDAMAGED. */
CAIRN_API int cairn_checkpoint_context(struct cairn_store *store, const char *id,
                                       int (*got)(void *, const struct cairn_context *),
                                       void *context, struct cairn_error *error);
/* The newest checkpoint of a session, on whatever branch, to which a context was given,
 * (a summary, a description, a pair or a state), among the newest `among` of them (0:
 * all). Damaged ones are passed over.
 * CAIRN_ENOTFOUND: there is none. */
CAIRN_API int cairn_session_newest_context(struct cairn_store *store,
                                           const char *session, uint64_t among,
                                           struct cairn_checkpoint_info *info,
                                           struct cairn_error *error);

/* ---- The environment ----
 *
 * The environment that checkpoints of a session keep: the working directory, and the
 * variables that the setting "environment" names (cairn/session.h). It is no state:
 * it makes no checkpoint by itself, and restoring sets nothing of it. */

/* The environment at a checkpoint. Variables that a workflow of the store declares as
 * secrets are not among them, and values have no secrets: of these, of the variables
 * that the setting "redact" names, and those that can be told by how they look. */
struct cairn_environment {
    const char *directory; /* the working directory; "" if it was gone */
    struct cairn_variable {
        const char *name, *value;
        bool partial;   /* something was left out: secrets, or what is beyond 4 KiB */
    } const *variables; /* [n], by name */
    size_t n;
};
/* That of a checkpoint (`id`), or what one of the session would store now (`id` NULL).
 * CAIRN_ENOTFOUND: none is stored there, or would be; CAIRN_EDAMAGED. The callback may
 * use the store. */
CAIRN_API int cairn_session_environment(struct cairn_store *store, const char *session,
                                        const char *id,
                                        int (*got)(void *,
                                                   const struct cairn_environment *),
                                        void *context, struct cairn_error *error);

/* ---- Export and import ----
 *
 * Sessions in a file, to be taken to another store. docs/format-export.md has the
 * format. */

struct cairn_transfer {
    uint64_t sessions;    /* that were written, or made */
    uint64_t checkpoints; /* likewise */
    uint64_t
        skipped; /* of an import: checkpoints that are there already, or were deleted */
    uint64_t refused; /* what was damaged or not known, each named */
};
/* What an import or export says meanwhile. Each may be NULL. */
struct cairn_transfer_calls {
    size_t size; /* of this struct, or 0 */
    /* Something damaged or not known was left out. */
    void (*refused)(void *context, const char *text);
    /* A session is complete: its number, its name in the file, its name in the store.
     */
    void (*session)(void *context, uint64_t number, const char *from, const char *name);
    void *context;
    /* Of an import, before that. A checkpoint of the session was made: its id in the
     * file, its id in the store. */
    void (*checkpoint)(void *context, const char *was, const char *id);
    /* Likewise. A session of this name was changed here since it was imported, or is
     * damaged, so what is new is in the one that `name` names. */
    void (*changed)(void *context, const char *here, const char *name);
};

/* Writes a session, or all (`all`), with the present state and every checkpoint:
 * `write` gets the bytes in order, and stops with a value that is not 0 (CAIRN_EIO).
 * What is damaged is left out and named; CAIRN_EDAMAGED after all the rest. */
CAIRN_API int cairn_session_export(
    struct cairn_store *store, const char *session, bool all,
    int (*write)(void *context, const char *bytes, size_t n), void *context,
    const struct cairn_transfer_calls *calls, struct cairn_transfer *result,
    struct cairn_error *error);

/* Reads such a file: `read` puts up to n bytes there and returns how many, 0 at the
 * end, or a negative value (CAIRN_EIO). Everything is verified before it is stored: a
 * checkpoint whose record or content is damaged, missing or not known is refused and
 * named, and the rest is imported; then CAIRN_EDAMAGED is returned, also for a file
 * that ends early. A session that is imported is a new one with the name that it had (a
 * number is put behind a name that is taken), its branches, messages, tags, times and
 * states; each checkpoint is a new record with one more tag, "from:" and its id in the
 * file, and without a link to a task, whose run stays behind. What is there already, as
 * itself or from an earlier import, is skipped. Of a session that was imported before,
 * what is new is added to it; if it was changed since, to a new session, which
 * `changed` says. Each session is one transaction. CAIRN_EUSAGE: it is no such
 * file; CAIRN_ENEWER. */
CAIRN_API int cairn_session_import(
    struct cairn_store *store, int64_t (*read)(void *context, char *bytes, size_t n),
    void *context, const struct cairn_transfer_calls *calls,
    struct cairn_transfer *result, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
