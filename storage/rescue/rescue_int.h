/* SPDX-License-Identifier: MIT */
/* Shared by rescue_open.c (locks), rescue.c (rows), rescue_gaps.c and rescue_files.c.
 */
#ifndef STORAGE_RESCUE_RESCUE_INT_H
#define STORAGE_RESCUE_RESCUE_INT_H

#include "base/lock.h"
#include "storage/rescue/rescue.h"
#include "storage/rows_int.h"

struct rescue {
    struct store_paths paths;
    struct lock_file lock;
    bool locked;    /* every lock is ours */
    bool has_id;    /* the store's old id was found */
    bool has_place; /* ... and its old identity (store_place.c) */
    bool strict;    /* its rows all have checksums */
    struct pages pages;
    struct salvage salvage;
    struct cairn_store *store; /* the new one, until rescue_finish */
    char *new_dir, *new_db;
    char *note; /* path of the note about a switch */
};

/* The new store's directory, inside of the old one's. */
#define RESCUE_NEW "repair.new"

/* Makes the new store's directory, in place of what an interrupted repair left. */
int rescue_make_new(struct rescue *rescue, struct cairn_error *error);
/* Takes it away, with all that a new store has in it. */
void rescue_remove_new(const struct rescue *rescue);
/* Finishes a switch that was interrupted; `kept` is "" if there was none. */
int rescue_go_on(const struct rescue *rescue, char kept[64], struct cairn_error *error);

#endif
