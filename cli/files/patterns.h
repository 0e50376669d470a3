/* SPDX-License-Identifier: MIT */
/* The patterns of --paths, and files that are operands. */
#ifndef CLI_FILES_PATTERNS_H
#define CLI_FILES_PATTERNS_H

#include "cli/options.h"

#include <stddef.h>

struct patterns {
    char *text;        /* heap */
    const char **list; /* heap, into the text, or to one of: */
    char *files[OPERANDS_MAX];
    size_t n, n_files;
};
/* "src,*.conf": divided at commas, but not at one with a backslash before it, which
 * stays for the pattern. NULL: none. Returns an exit status, after printing what is
 * wrong. patterns_release in any case. */
int patterns_take(struct patterns *patterns, const char *given);
/* The operands from the `first` on: each is one file or directory, by its name, seen
 * from the working directory, and no pattern. */
int patterns_add_files(struct patterns *patterns, const struct settings *settings,
                       struct cairn_store *store, int first);
/* The operand that means a path from the directory of the session's files, for a
 * command that is suggested: heap, quoted for a shell; NULL: there is no memory. */
char *path_operand(const struct settings *settings, struct cairn_store *store,
                   const char *path);
void patterns_release(struct patterns *patterns);

/* Calls with the path of a file in its session: as it is seen from the working
 * directory; where no such file is known (CAIRN_ENOTFOUND), as it is, from the top of
 * the session's files. Returns what the call did; of two failures the first. */
int file_by_name(const struct settings *settings, struct cairn_store *store,
                 const char *operand,
                 int (*call)(void *context, const char *path,
                             struct cairn_error *error),
                 void *context, struct cairn_error *error);

#endif
