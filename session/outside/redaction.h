/* SPDX-License-Identifier: MIT */
/* Texts of the outside world before they are stored: without secrets, and as UTF-8. */
#ifndef SESSION_REDACTION_H
#define SESSION_REDACTION_H

#include "secrets/redact.h"

/* Of the values that the named variables (with commas between the names) have in our
 * environment. CAIRN_EUSAGE: one is too short to be found again. */
int redactor_of_variables(struct str names, struct redactor **out,
                          struct cairn_error *error);
/* Appends any bytes as text: what is no UTF-8, and NUL, becomes \xNN. */
void add_visible(struct buf *out, struct str bytes);
/* The same without secrets: the values of the redactor (may be NULL), and those that
 * can be told by how they look. */
void add_clean(const struct redactor *redactor, struct str bytes, struct buf *out);

#endif
