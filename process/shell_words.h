/* SPDX-License-Identifier: MIT */
/* Texts for the shell that need no shell: words, quoted or not, and variables in them.
 * `sh -eu -c 'touch x'` starts a second process for the command and waits for it;
 * executing the command itself comes to the same (bench/peers shows what it saves).
 * docs/workflow-file.md says where that is done, and which cases can be distinguished. */
#ifndef PROCESS_SHELL_WORDS_H
#define PROCESS_SHELL_WORDS_H

#include "base/str.h"

enum { DIRECT_BYTES = 4096 }; /* longer texts get their shell */

/* The value of an environment variable; ptr NULL: it is not set. */
struct direct_values {
    struct str (*get)(void *context, struct str name);
    void *context;
};

/* Appends the words of the command to `out`, each with its NUL. 0: it needs a shell, as
 * there is anything else in it, or its first word is one that a shell has built in. */
uint32_t direct_words(struct str text, const struct direct_values *values,
                      struct buf *out);

/* Whether the text has `$name` where a shell splits its value into words: not in
 * quotes, nor as the value of an assignment. False from a here-document on, and where
 * the text sets IFS. */
bool shell_splits(struct str text, struct str name);

/* Is the `sh` that this PATH leads to a dash? Of others it is not known what they do
 * before they execute a command. Looks at the file system. */
bool direct_shell(const char *path);

#endif
