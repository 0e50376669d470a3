/* SPDX-License-Identifier: MIT */
/* The environment at a checkpoint: the working directory and the variables that the
 * setting "environment" of the session lists, without secrets. It is a section of its
 * own, which is no state: it makes no checkpoint, and nothing is restored from it.
 *
 *   byte    version: 1
 *   lstr    working directory; empty: it was gone
 *   varint  number of variables, for each in ascending order of names:
 *           lstr name (not empty), lstr value
 *
 * All are UTF-8 without NUL. */
#ifndef SESSION_ENVIRONMENT_H
#define SESSION_ENVIRONMENT_H

#include "base/arena.h"
#include "base/str.h"
#include "session/outside/redaction.h"

enum { SECTION_ENVIRONMENT = 32 };    /* its kind, behind those of items */
enum { ENVIRONMENT_VARIABLES = 256 }; /* at most, of each ... */
enum { ENVIRONMENT_VALUE = 4096 };    /* ... so many bytes; then comes the mark */
#define ENVIRONMENT_CUT "[...]"

struct environment_variable {
    struct str name, value; /* texts that end with a NUL */
};
struct environment {
    struct str directory;
    struct environment_variable *at;
    uint32_t n;
};

/* That of this process, of the variables that a list of the settings names, as bytes.
 * Those that a workflow declares as secrets are left out. Hidden values are taken out
 * wherever they stand; where one that the settings list is too short for that, no value
 * is kept. *n: the variables. */
int environment_encode(struct str names, const struct hidden_values *hidden,
                       struct buf *out, uint32_t *n, struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Everything is copied into the arena. */
int environment_decode(struct arena *arena, struct str bytes, struct environment *out,
                       struct cairn_error *error);

#endif
