/* SPDX-License-Identifier: MIT */
/* Messages of sessions: what was said between a person and an agent. Rows are never
 * changed. Each names the one before it in its line (0: it is the first), so lines are
 * paths in a tree, and a line is named by its last message.
 *
 * `chain` is the SHA-256 over the chain of the message before (32 zeros before the
 * first) and the SHA-256 over the columns n to body, as row_checksum.c has them: so one
 * digest fits one line, whatever session of whatever store it is in. Where a repair
 * could not save a message, MESSAGE_LOST stands in its place, and what comes behind
 * that keeps the chain that it had.
 *
 * Rows are under checksums, as rows_session.h says, and under a tally: one that is
 * damaged or missing is CAIRN_EDAMAGED. A store of an older version has none. */
#ifndef STORAGE_SESSIONS_ROWS_MESSAGE_H
#define STORAGE_SESSIONS_ROWS_MESSAGE_H

#include "base/clean.h"
#include "base/sha256.h"
#include "cairn/store.h"

/* Stored: never renumbered. */
enum message_role {
    MESSAGE_USER = 1,
    MESSAGE_ASSISTANT = 2,
    MESSAGE_SYSTEM = 3,
    MESSAGE_TOOL = 4,
    MESSAGE_SUMMARY = 5,
    MESSAGE_OTHER = 6 /* what a transcript has besides */
};
enum message_form {
    MESSAGE_TEXT = 1,       /* the body is the text */
    MESSAGE_LINE = 2,       /* ... is a line of a transcript, in JSON */
    MESSAGE_UNREADABLE = 3, /* ... is a line that could not be read */
    MESSAGE_LEFT_OUT = 4,   /* it was too large: `object` is its digest alone */
    MESSAGE_LOST = 5        /* a repair could not save it */
};
enum { MESSAGE_ORIGIN_BYTES = 16, MESSAGE_INLINE_BYTES = 64 << 10 };

struct message_row {
    uint64_t session, n; /* from 1, in its session never used again */
    uint64_t parent;     /* 0: none */
    uint64_t position;   /* in its line, from 1 */
    int64_t time_ns;
    uint8_t role, form;
    uint64_t tokens_in, tokens_out;
    uint64_t total_in, total_out; /* of its line up to here */
    uint64_t prompt, reply;   /* the last one in its line by the user, and by a model
                                 (perhaps this one); 0: none */
    uint64_t size;            /* of the body, in bytes */
    struct clean model, file; /* file: the transcript that it is from, or "" */
    struct str origin;        /* by which it is known in its session, or empty */
    struct str object;        /* the digest of a body in the content pool, or empty */
    struct str body;          /* or empty, where `object` has it */
    struct digest chain;
};

/* Needs a write transaction. The caller gives numbers and chain. */
int store_put_message(struct cairn_store *store, const struct message_row *row,
                      struct cairn_error *error);
/* The SHA-256 over the columns n to body, and with it what `chain` must be behind a
 * message with the chain `before` (NULL: none). */
void store_message_columns(struct cairn_store *store, const struct message_row *row,
                           struct digest *columns);
void store_message_chain(struct cairn_store *store, const struct digest *columns,
                         const struct digest *before, struct digest *chain);
/* Callbacks get views that are valid during the call. */
typedef int message_row_fn(void *context, const struct message_row *row);
/* One that must be there: CAIRN_EDAMAGED, with its name, if it is not. */
int store_get_message(struct cairn_store *store, uint64_t session, uint64_t n,
                      message_row_fn *got, void *context, struct cairn_error *error);
/* Those behind `after`, by number, at most so many (0: all). Compares the tally where
 * it is asked for all. A non-zero return stops, and is returned if negative. */
int store_each_message(struct cairn_store *store, uint64_t session, uint64_t after,
                       uint64_t limit, message_row_fn *each, void *context,
                       struct cairn_error *error);
/* *n: of one with that origin, 0: there is none. */
int store_find_message(struct cairn_store *store, uint64_t session, struct str origin,
                       uint64_t *n, struct cairn_error *error);
/* The highest number, 0: none. */
int store_last_message(struct cairn_store *store, uint64_t session, uint64_t *n,
                       struct cairn_error *error);
/* Digests of bodies in the content pool. CAIRN_EDAMAGED: one is none. */
int store_each_message_object(struct cairn_store *store,
                              int (*each)(void *, const struct digest *), void *context,
                              struct cairn_error *error);

/* The numbers of a session that has messages (rows_session.h) begin with
 *
 *   byte 2, varint highest number of a message, varint the last one of the present line
 *
 * False: they are not such; *last and *head are 0 then. */
bool message_numbers(struct str numbers, uint64_t *last, uint64_t *head);

#endif
