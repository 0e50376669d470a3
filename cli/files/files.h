/* SPDX-License-Identifier: MIT */
/* What a checkpoint holds of files, for `cairn checkpoint show`. They return an
 * exit status, after printing what is wrong. */
#ifndef CLI_FILES_FILES_H
#define CLI_FILES_FILES_H

#include "cairn.h"
#include "cli/files/patterns.h"
#include "cli/json.h"

/* An entry as an object: `key` NULL: a member of an array. */
void file_document(struct doc *doc, const char *key, const struct cairn_file *file);
/* The member "files": counts. */
void files_summary_document(struct doc *doc, const struct cairn_files_summary *summary);
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

#endif
