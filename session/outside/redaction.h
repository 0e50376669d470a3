/* SPDX-License-Identifier: MIT */
/* Texts of the outside world before they are stored: without secrets, and as UTF-8. */
#ifndef SESSION_REDACTION_H
#define SESSION_REDACTION_H

#include "secrets/redact.h"

/* Values that are not stored. Names have commas between them, and mean what the
 * variables have in our environment. */
struct hidden_values {
    struct str names;           /* that the settings of the session list */
    struct str declared;        /* that workflows of the store declare as secrets */
    const struct secret *given; /* secrets that a run got in another way */
    size_t n_given;
};
/* CAIRN_EUSAGE: one that the settings list is too short to be found again. A declared
 * secret that is, which a run refuses, is passed over. */
int redactor_of_values(const struct hidden_values *hidden, struct redactor **out,
                       struct cairn_error *error);
/* Appends any bytes as text: what is no UTF-8, and NUL, becomes \xNN. */
void add_visible(struct buf *out, struct str bytes);
/* The same without secrets: the values of the redactor (may be NULL), and those that
 * can be told by how they look. */
void add_clean(const struct redactor *redactor, struct str bytes, struct buf *out);

#endif
