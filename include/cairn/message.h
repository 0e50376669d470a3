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

#include "error.h"
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

#ifdef __cplusplus
}
#endif
#endif
