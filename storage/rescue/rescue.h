/* SPDX-License-Identifier: MIT */
/* A damaged store under its locks, and the new one that takes its place.
 *
 *   rescue_open      takes every lock; finishes a switch that was interrupted
 *   rescue_begin     reads the damaged files, makes an empty store beside them
 *   rescue_...       fill it; it is an ordinary store (rescue_store)
 *   rescue_finish    closes it; the caller may check it once more
 *   rescue_switch    puts it in place
 *
 * The switch: a synced note (`repair`) names the directory for the damaged files; they
 * are renamed into it; the new database is renamed into its place; the note is removed.
 * While the note exists no command opens the store, and the next rescue_open finishes
 * the switch.
 * Nothing of the damaged store is written to or deleted. */
#ifndef STORAGE_RESCUE_RESCUE_H
#define STORAGE_RESCUE_RESCUE_H

#include "storage/rescue/salvage.h"
#include "storage/rows_checkpoint.h"

struct rescue;
enum { RESCUE_ASIDE = 128 };

/* CAIRN_EOWNED if a run is live, naming its owner; CAIRN_EBUSY if the store is being
 * written to. `finished` (may be NULL) gets the name of the directory with the damaged
 * files if an interrupted switch was finished. `aside` gets, even on failure, the new
 * names of what was in the place of the lock file or of live/, separated by a space. */
int rescue_open(struct rescue **out, const char *path, char finished[64],
                char aside[RESCUE_ASIDE], struct cairn_error *error);
void rescue_close(struct rescue *rescue);
/* The store's directory. */
const char *rescue_dir(const struct rescue *rescue);

/* Whether the log holds commits that SQLite would ignore. */
bool rescue_log_is_lost(const struct rescue *rescue);
/* Where no store can be opened: whether the making of one was cut off. */
bool rescue_is_unmade(const struct rescue *rescue);
/* CAIRN_ENEWER for a store of a newer release, which stays as it is. */
int rescue_begin(struct rescue *rescue, struct cairn_error *error);
struct cairn_store *rescue_store(struct rescue *rescue);
/* Begins the one transaction that fills the new store. Rows may refer to others that
 * come later. */
int rescue_fill(struct rescue *rescue, struct cairn_error *error);

/* Reports what the files as a whole have lost, or may have lost: after rescue_begin. */
typedef void rescue_gap_fn(void *context, const char *text);
void rescue_each_gap(struct rescue *rescue, rescue_gap_fn *each, void *context);
/* Whether the new store has the id of the old one: after the settings were taken. */
bool rescue_has_id(const struct rescue *rescue);

/* Records as they are found; the caller checks them. stray: on pages that no tree leads
 * to. */
int rescue_each_checkpoint(struct rescue *rescue, bool stray, checkpoint_row_fn *each,
                           void *context, struct cairn_error *error);
/* The same of records whose rows cannot be read: only record and digest are set.
 * `size` as in salvage_blob. */
int rescue_each_record(struct rescue *rescue, struct str mark, size_t head,
                       size_t (*size)(void *, const char *), checkpoint_row_fn *each,
                       void *context, struct cairn_error *error);
/* Puts one into the new store; 0 if there is one with its seq, 1 if it was put. */
int rescue_put_checkpoint(struct rescue *rescue, const struct checkpoint_row *row,
                          struct cairn_error *error);
/* Gives one in the new store another parent. */
int rescue_set_parent(struct rescue *rescue, uint64_t seq, uint64_t parent,
                      struct cairn_error *error);

/* The rows of a table other than checkpoint into the new store: first what its tree
 * leads to, then strays. In the order of enum salvage_table. *saved: how many. `lost`
 * (may be NULL) is called for each row that is not kept and that no better one
 * replaces; with n 0 for one of a session of which nothing can be read. */
typedef void rescue_lost_fn(void *context, const struct salvage_row *row);
int rescue_table(struct rescue *rescue, enum salvage_table table, uint64_t *saved,
                 rescue_lost_fn *lost, void *context, struct cairn_error *error);

/* Of an error of any of these before rescue_switch: where the disk is full, says how
 * much is needed and where. Returns rc. */
int rescue_explain(const struct rescue *rescue, int rc, struct cairn_error *error);
int rescue_finish(struct rescue *rescue, struct cairn_error *error);
/* The directory of the new store, from rescue_begin to rescue_switch. */
const char *rescue_new_dir(const struct rescue *rescue);
/* `kept`: the directory, inside of the store's, that holds the damaged files. */
int rescue_switch(struct rescue *rescue, char kept[64], struct cairn_error *error);

#endif
