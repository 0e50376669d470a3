/* SPDX-License-Identifier: MIT */
/* Where a store was when its runs began. A run records the path of its file; when the
 * project has been moved or copied with the store in it, that path leads to where it
 * was, or is a copy of. So the store notes what directories it has been in, and the
 * file of a run that lay below one of these is looked for below the one it is in now.
 */
#ifndef RUNS_MOVED_STORE_H
#define RUNS_MOVED_STORE_H
#include "storage/rows_run.h"

/* Notes where the store is, within a write transaction. */
int moved_store_note(struct cairn_store *store, struct cairn_error *error);
/* The path at which the file of a run is now: the recorded one, unless the store has
 * moved and there is such a file below where it is. 1 it is there, 0 it is gone, <0
 * error. In a store with a key it has not moved: the note is not under its HMACs.
 * CAIRN_ENOTFOUND: the store is a copy, and there is such a file only where it was
 * copied from, where a store is that has it. */
int moved_store_find(struct cairn_store *store, const struct run_row *row,
                     struct buf *path, struct cairn_error *error);
/* Where a directory that a run recorded is now, in the same way; the recorded path if
 * there is none below where the store is. */
int moved_store_directory(struct cairn_store *store, const struct run_row *row,
                          struct str recorded, struct buf *path,
                          struct cairn_error *error);

#endif
