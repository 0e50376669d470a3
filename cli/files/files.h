/* SPDX-License-Identifier: MIT */
/* What a checkpoint holds of files, for `cairn checkpoint show`. Both return an exit
 * status, after printing what is wrong. */
#ifndef CLI_FILES_FILES_H
#define CLI_FILES_FILES_H

#include "cairn.h"
#include "cli/json.h"

/* A line; none where it holds no files. */
int files_print(struct cairn_store *store, const char *id);
/* The member "files": counts, or null. */
int files_document(struct doc *doc, struct cairn_store *store, const char *id);

#endif
