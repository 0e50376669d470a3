/* SPDX-License-Identifier: MIT */
/* The end of what a command writes, as text that can be stored: secrets are taken out
 * of it, wherever it was cut into parts, and bytes that are no UTF-8 (and NUL) become
 * \xNN. */
#ifndef SESSION_COMMANDS_TAIL_H
#define SESSION_COMMANDS_TAIL_H

#include "secrets/redact.h"

enum { TAIL_BYTES = 4096 };

struct tail {
    struct redact_stream values;
    struct buf window; /* without secret values; those of a known form are in it */
};

/* `redactor`: of the values that are secret; NULL: none. */
void tail_begin(struct tail *tail, const struct redactor *redactor);
void tail_add(struct tail *tail, struct str bytes);
/* Appends the text, at most TAIL_BYTES. CAIRN_ENOMEM */
int tail_end(struct tail *tail, struct buf *text, struct cairn_error *error);
void tail_release(struct tail *tail);

#endif
