/* SPDX-License-Identifier: MIT */
/* What a checkpoint of a session says of its messages: where its line ended then. The
 * messages themselves are rows (storage/sessions/rows_message.h), of which nothing is
 * copied. The content of the section:
 *
 *   byte    version: 1
 *   varint  number of the last message, 0: the line was empty, and all that follows is
 *           0, zeros or empty
 *   varint  its position, which is how many messages the line has
 *   32 bytes  its chain, which names the whole line
 *   varint  tokens of the line: in, out
 *   lstr    model of the last message by a model
 *   lstr    text of the last message by the user, as much as fits MESSAGE_PROMPT_BYTES
 *
 * Texts are UTF-8 without NUL. */
#ifndef CHECKPOINT_MESSAGES_LINE_H
#define CHECKPOINT_MESSAGES_LINE_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

enum { SECTION_MESSAGES = 34 }; /* its kind */

enum { MESSAGE_PROMPT_BYTES = 1024, MESSAGE_MODEL_BYTES = 256 };

struct message_line {
    uint64_t n, position, tokens_in, tokens_out;
    struct digest chain;
    struct str model, prompt;
};

int message_line_encode(const struct message_line *line, struct buf *out,
                        struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. The texts are views of them. */
int message_line_decode(struct str bytes, struct message_line *out,
                        struct cairn_error *error);

/* What is known of a row, to compare it with others. */
struct message_seen {
    uint64_t n, parent, position, tokens_in, tokens_out, total_in, total_out;
    uint64_t prompt, reply;
    uint8_t role, form;
    struct digest columns, chain;
};

int message_see(struct cairn_store *store, uint64_t session, uint64_t n,
                struct message_seen *out, struct cairn_error *error);
/* Whether it can stand behind another one (NULL: it is the first). */
bool message_follows(struct cairn_store *store, const struct message_seen *row,
                     const struct message_seen *before);
/* Whether the rows of a session fit the line: CAIRN_EDAMAGED. Its last message is
 * compared, with the one before it; `whole`: and then all others. */
int message_line_check(struct cairn_store *store, uint64_t session,
                       const struct message_line *line, bool whole,
                       struct cairn_error *error);
/* Puts a row of the form MESSAGE_LOST where a session (0: each) lacks one: numbers are
 * given out one by one, and no message is ever deleted. For repairs; needs a write
 * transaction. */
int message_lines_mend(struct cairn_store *store, struct sha256 *sha, uint64_t session,
                       void (*lost)(void *, uint64_t session, uint64_t n),
                       void *context, struct cairn_error *error);

#endif
