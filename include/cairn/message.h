/* SPDX-License-Identifier: MIT */
/* Messages of debugging sessions: what was said between a person, an agent and its
 * tools. Each is stored once and never changed, behind the one before it in its line. A
 * checkpoint says where the line ended then; restoring it, or going on with another
 * branch, takes the line back to there. Messages that came later stay, on a line of
 * their own.
 *
 * Transcripts of agents are imported line by line (JSON Lines): a line is kept whole as
 * the body of a message, and its text for people is made from that. Both shapes that
 * agents commonly write are known: objects with "type" and "message", as of Claude
 * Code, and objects with "role" and "content". Other objects are kept, too.
 *
 * Secrets are taken out before anything is stored, as from commands (the setting
 * "redact", cairn/session.h, and those that can be told by how they look). */
#ifndef CAIRN_MESSAGE_H
#define CAIRN_MESSAGE_H

#include "board.h"
#include "error.h"
#include "events.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_MESSAGE_LINE_MAX (16u << 20) /* bytes of one line or text */

/* ---- Adding ---- */

struct cairn_new_message {
    size_t size;       /* of this struct, or 0 */
    const char *role;  /* "user" (also NULL), "assistant", "system" or "tool" */
    const char *model; /* may be NULL; of at most 255 bytes */
    uint64_t tokens_in, tokens_out; /* below 2^40 */
    const char *text;               /* [bytes], any bytes, not empty */
    size_t bytes;
};
/* *number (may be NULL): of the message, from 1 in its session. CAIRN_EUSAGE: there is
 * no such role, nothing to add or too much, or the session has ended. */
CAIRN_API int cairn_message_add(struct cairn_store *store, const char *session,
                                const struct cairn_new_message *message,
                                uint64_t *number, struct cairn_error *error);

/* What is told of a line that could not be taken as a message. */
enum cairn_line_problem {
    CAIRN_LINE_UNREADABLE, /* no JSON object: its bytes are kept */
    CAIRN_LINE_TOO_LARGE,  /* only its size and digest are kept */
    CAIRN_LINE_TORN        /* the last one, and not complete: it is waited for */
};
struct cairn_message_import {
    uint64_t lines;                 /* that were read, without empty ones */
    uint64_t added;                 /* messages */
    uint64_t skipped;               /* lines that were imported before */
    uint64_t unreadable, too_large; /* of those that were added */
    bool torn;
    uint64_t last; /* number of the last message that was added, 0: none */
    uint64_t tokens_in, tokens_out; /* of those that were added */
};
/* Takes the lines of a transcript that the session does not have yet, in order, to the
 * end of the present line. `file` names the transcript: lines are known again by their
 * "uuid", in any file, or else by their content and that name. NULL: every line is new.
 * `read` gives up to so many bytes, 0 at the end, or -1. `problem` (may be NULL) is
 * called for new lines by number, from 1. Parts of the file are committed as it is
 * read: if that ends early, the next import goes on from there. Two at once take each
 * line once. */
CAIRN_API int cairn_message_import(
    struct cairn_store *store, const char *session, const char *file,
    int64_t (*read)(void *, char *, size_t),
    void (*problem)(void *, enum cairn_line_problem, uint64_t line), void *context,
    struct cairn_message_import *result, struct cairn_error *error);

/* ---- Reading ---- */

/* Views during the callback. */
struct cairn_message {
    uint64_t n;        /* number */
    uint64_t parent;   /* number of the one before it, 0: it is the first */
    uint64_t position; /* in its line, from 1 */
    int64_t time_ns;
    const char *role;  /* "user", "assistant", "system", "tool", "summary" or "other" */
    const char *form;  /* of the body: "text", "json", "unreadable", "too-large" (there
                          is  none), "lost" (a repair could not save it) */
    const char *model; /* or NULL */
    const char *file;  /* the transcript that it is from, or NULL */
    uint64_t tokens_in, tokens_out; /* its own */
    uint64_t total_in, total_out;   /* of its line up to here */
    const char *text;               /* for people: UTF-8 without NUL */
    uint64_t size;                  /* of the body, in bytes */
    const char *body;               /* [body_bytes], or NULL */
    size_t body_bytes;
};
/* The end of a line. */
struct cairn_message_line {
    uint64_t last;     /* number of its last message, 0: it is empty */
    uint64_t messages; /* how many it has */
    uint64_t tokens_in, tokens_out;
    const char *model;  /* of the last message by a model, or NULL */
    const char *prompt; /* the last one by the user, up to 1 KiB of it, or NULL */
};
/* The last so many messages (0: all) of the present line, or of that of a checkpoint
 * (`at`; NULL: the present), oldest first. `line` (may be NULL) gets the end of the
 * line, without model and prompt. CAIRN_EDAMAGED: one is damaged or missing, which is
 * named; nothing was called then. */
CAIRN_API int cairn_message_list(struct cairn_store *store, const char *session,
                                 const char *at, uint64_t last,
                                 int (*each)(void *, const struct cairn_message *),
                                 void *context, struct cairn_message_line *line,
                                 struct cairn_error *error);
/* One by number, on whatever line. CAIRN_ENOTFOUND */
CAIRN_API int cairn_message_get(struct cairn_store *store, const char *session,
                                uint64_t n,
                                int (*got)(void *, const struct cairn_message *),
                                void *context, struct cairn_error *error);

/* ---- Agents ----
 *
 * Agents whose hooks tell a session what they do. The setting "strategy" of the
 * session (cairn/session.h) says when that makes a checkpoint: "manual",
 * "per_prompt", "per_tool_use" or "smart" (before and after tools that the setting
 * "tools" calls destructive). */

#define CAIRN_AGENT_EVENT_MAX (16u << 20) /* bytes of what a hook is told */

/* ---- What a hook is told ---- */

struct cairn_agent_event;
/* Reads the JSON object that a hook gets on stdin, as Claude Code documents it: fields
 * and events that are not known are passed over. CAIRN_EUSAGE says what is wrong. */
CAIRN_API int cairn_agent_event_read(struct cairn_agent_event **event, const char *json,
                                     size_t bytes, struct cairn_error *error);
CAIRN_API void cairn_agent_event_free(struct cairn_agent_event *event);
/* "PreToolUse", ...: any text. */
CAIRN_API const char *cairn_agent_event_name(const struct cairn_agent_event *event);
/* The directory in which the agent works, or NULL. */
CAIRN_API const char *cairn_agent_event_directory(
    const struct cairn_agent_event *event);
/* Does it concern a session? Of others cairn_agent_tell does nothing. */
CAIRN_API bool cairn_agent_event_counts(const struct cairn_agent_event *event);

/* ---- What becomes of it ---- */

struct cairn_agent_options {
    size_t size;          /* of this struct, or 0 */
    const char *session;  /* NULL: the one that belongs to the agent's session_id */
    const char *strategy; /* of a session that is started for it; NULL: "smart" */
    const char *files;    /* likewise: the directory of its files; NULL: that in which
                             the store lies */
};
struct cairn_agent_told {
    char session[CAIRN_SESSION_NAME_MAX]; /* its name; "": nothing was done */
    bool started;                         /* by this call */
    bool makes;                           /* its strategy is another one than manual */
    bool keeps_files;                     /* it has the setting "files" */
    bool asked;                           /* the strategy asks for a checkpoint */
    struct cairn_captured captured;       /* if so */
    struct cairn_message_import import;   /* from its transcript */
    struct cairn_error import_error;      /* code 0: nothing went wrong with that */
};
/* Whether cairn_agent_tell may write anything for this event: *more. If not, `told` has
 * what it would say. The store may be open for reading, which waits for no lock. */
CAIRN_API int cairn_agent_look(struct cairn_store *store,
                               const struct cairn_agent_event *event,
                               const struct cairn_agent_options *options,
                               struct cairn_agent_told *told, bool *more,
                               struct cairn_error *error);
/* Finds the session of the agent; starts one, with files and strategy, if there is none
 * (and it becomes the current one of the store, unless a session is current that did
 * not belong to an agent and has not ended); takes what is new in the transcript, where
 * the event can be of use for that; and makes a checkpoint, if the strategy asks for
 * one and something has changed. What goes wrong with the transcript keeps nothing else
 * from being done. */
CAIRN_API int cairn_agent_tell(struct cairn_store *store,
                               const struct cairn_agent_event *event,
                               const struct cairn_agent_options *options,
                               struct cairn_agent_told *told,
                               struct cairn_error *error);

/* Notes in the directory of a store that a hook has failed, for `cairn doctor`: one
 * line of any text. It waits for no lock. */
CAIRN_API int cairn_agent_note_failure(const char *store, const char *text,
                                       struct cairn_error *error);

/* ---- The settings of the agent ---- */

#define CAIRN_AGENT_SETTINGS_MAX (4u << 20) /* bytes of such a file */

/* Makes of the settings of Claude Code (`.claude/settings.json`; "": there are none)
 * those that also run `command` for each event that counts, or that run no command of
 * cairn's own any more (`command` NULL). What else is in the file keeps its bytes. An
 * entry of cairn's own is one whose command is "cairn session hook", alone or with
 * options. *out is to be freed by free(). *changed: it differs. CAIRN_EUSAGE: it is not
 * such a file, with what is wrong. */
CAIRN_API int cairn_agent_settings(const char *json, size_t bytes, const char *command,
                                   char **out, size_t *out_bytes, bool *changed,
                                   struct cairn_error *error);

/* ---- Commands as hooks ----
 *
 * Hooks of a session: commands that are run for what was done in it. They are
 * settings (cairn/session.h): "hook.KIND" is a shell command or "off", where KIND is
 * a kind of event (cairn/board.h); "hook-timeout" a time such as 10s. */

struct cairn_hooks {
    size_t size; /* of this struct, or 0 */
    /* The event as what the hook reads from stdin: to be freed by free(); NULL: out of
     * memory. It must not use the store. */
    char *(*document)(void *context, const struct cairn_feed_event *event);
    /* A hook failed: one line for people. */
    void (*failed)(void *context, const char *text);
    void *context;
    int out; /* where stdout and stderr of hooks go, such as 2; -1: nowhere */
    const struct cairn_command_host *host; /* may be NULL */
};
/* Runs the hooks of all that this handle has committed in sessions since the last call
 * (but no more than 4096 transactions), one after the other: `/bin/sh -c COMMAND` in
 * the caller's directory, in a process group of its own without a terminal, with
 * CAIRN_STORE, CAIRN_SESSION (its name), CAIRN_EVENT (the kind) and CAIRN_HOOK=1 in the
 * environment. Where CAIRN_HOOK is set already none is run, so that what a hook does
 * starts no hook. That a hook fails, is missing or takes longer than "hook-timeout" is
 * told and is no error. */
CAIRN_API int cairn_hooks_run(struct cairn_store *store,
                              const struct cairn_hooks *hooks,
                              struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
