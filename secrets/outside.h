/* SPDX-License-Identifier: MIT */
/* The way of every text from outside into storage.
 *
 * A name by which something is found again cannot lose its secrets: it would be another
 * one, or that of something else. Nor can what a program reads back, which would be
 * broken. Both are refused where a secret is in them (CAIRN_EUSAGE, with the secret's
 * name and place, never its value). Prose loses them, and that is reported; but a whole
 * document in its place (JSON, base64) is for a program, too. */
#ifndef SECRETS_OUTSIDE_H
#define SECRETS_OUTSIDE_H

#include "base/clean.h"
#include "cairn/store.h"
#include "secrets/redact.h"

enum outside_kind { OUTSIDE_NAME, OUTSIDE_DATA, OUTSIDE_PROSE };
struct outside {
    const struct redactor *redactor; /* NULL: no values are known */
    bool by_looks;                   /* also what looks like a secret */
    struct cairn_store *store;       /* whose caller is told what was taken out */
};
struct outside_text {
    enum outside_kind kind;
    const char *what; /* "the name of the session" */
    struct str text;
    const char *remedy; /* NULL: to leave it out */
};
/* Any bytes: what is not UTF-8, and NUL, becomes \xNN in prose. The text ends with a
 * NUL and is in the arena. */
int outside_take(const struct outside *outside, const struct outside_text *text,
                 struct arena *arena, struct clean *out, struct cairn_error *error);
/* The refusals alone; 0 for prose that may be changed. */
int outside_check(const struct outside *outside, const struct outside_text *text,
                  struct cairn_error *error);

/* Appends any bytes as text: what is not UTF-8, and NUL, becomes \xNN. */
void add_visible(struct buf *out, struct str bytes);
/* The same without secrets, for what nobody has given (outputs of commands): the values
 * of the redactor (may be NULL), and those that can be told by how they look. */
void add_clean(const struct redactor *redactor, struct str bytes, struct buf *out);

#endif
