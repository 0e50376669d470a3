/* SPDX-License-Identifier: MIT */
/* Files of checkpoints: the patterns of --paths, files as operands, and the part of
 * `cairn checkpoint show` about files. The functions return an exit status after
 * printing what is wrong. */
#ifndef CLI_SESSIONS_FILES_H
#define CLI_SESSIONS_FILES_H

#include "cairn.h"
#include "cli/json.h"
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
                       int first);
/* The operand that means a path from the directory of the session's files, for a
 * command that is suggested: heap, quoted for a shell; NULL: there is no memory. */
char *path_operand(const struct settings *settings, const char *path);
void patterns_release(struct patterns *patterns);
/* Calls with the path of a file in its session: as it is seen from the working
 * directory; where no such file is known (CAIRN_ENOTFOUND), as it is, from the top of
 * the session's files. Returns what the call did; of two failures the first. */
int file_by_name(const struct settings *settings, const char *operand,
                 int (*call)(void *context, const char *path,
                             struct cairn_error *error),
                 void *context, struct cairn_error *error);

/* An entry as an object: `key` NULL: a member of an array. */
void file_document(struct doc *doc, const char *key, const struct cairn_file *file);
/* A line; none where it holds no files. */
int files_print(struct cairn_store *store, const char *id);
/* The member "files": counts, or null. */
int files_document(struct doc *doc, struct cairn_store *store, const char *id);

/* What is compared. */
struct files_sides {
    const char *session;
    const char *from, *to; /* checkpoints; `to` NULL: as they are now */
    bool worktree;         /* the files on the disk were asked for */
    const struct patterns *patterns;
};

/* "+", "-", "~" and others in their colors. */
void print_sign(char sign);
/* What differs between the files of two checkpoints, or of one and the disk, after the
 * items: a line each, or the member "files"; nothing where one of them holds none. What
 * keeps the disk from being looked at is a warning, unless `worktree` asked for that.
 * *n: how many differ. */
int files_compare(struct doc *doc, struct cairn_store *store,
                  const struct files_sides *sides, uint64_t *n);
/* The same as a patch, or as counts of lines. `shown`: to people, so that contents do
 * nothing to a terminal, and have colors if those are on. */
int files_print_patch(struct cairn_store *store, const struct files_sides *sides,
                      bool stat, bool shown, unsigned around);

/* Content that is damaged, of which the files are named: at most DAMAGED_MOST. */
#define DAMAGED_MOST 1000
struct damaged_objects {
    char *at[DAMAGED_MOST]; /* heap: SHA-256 in hex */
    size_t n;
};
void damaged_note(struct damaged_objects *damaged, const char *object);
/* The array "files", or lines for people; nothing of what cannot be found. */
void damaged_name(const struct damaged_objects *damaged, struct cairn_store *store,
                  struct doc *doc);
void damaged_release(struct damaged_objects *damaged);

#endif
