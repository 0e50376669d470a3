/* SPDX-License-Identifier: MIT */
/* Dependency files as gcc, clang and others write them for make (`-MD -MF x.d`) and as
 * ninja reads them: rules "TARGET...: NAME...". Of a rule only the names count.
 *
 *   \NEWLINE     the rule goes on        $$   a dollar sign
 *   "\ " "\#" "\:"  the character itself, part of a name; any other backslash is kept
 *   \\ before a blank: one backslash for two; an odd one makes the blank part of a name
 *
 * A colon ends the targets where a blank or the end of the line follows. */
#ifndef RUNS_DEPFILE_H
#define RUNS_DEPFILE_H

#include "base/memory.h"
#include "base/str.h"
#include "cairn/error.h"

enum { DEPFILE_BYTES_MOST = 4 << 20, DEPFILE_NAMES_MOST = 100000 };

struct depfile_names {
    struct str *names; /* [n] each once, in the order of the file; in the arena */
    uint32_t n;
};

/* An empty text has no names. CAIRN_EWORKFLOW: it has not that form, with the line;
 * CAIRN_ELIMIT: too many names. */
int depfile_parse(struct str text, struct arena *arena, struct depfile_names *out,
                  struct cairn_error *error);

#endif
