/* Shared by rescue.c (rows) and rescue_files.c (locks, files). */
#ifndef STORAGE_RESCUE_INT_H
#define STORAGE_RESCUE_INT_H

#include "storage/rescue.h"
#include "storage/store_int.h"

struct rescue {
    struct store_paths paths;
    struct lock_file lock;
    bool locked; /* every lock is ours */
    bool has_id; /* the store's old id was found */
    bool strict; /* its rows all have checksums */
    struct pages pages;
    struct salvage salvage;
    struct cairn_store *store; /* the new one, until rescue_finish */
    char *new_dir, *new_db;
    char *note; /* path of the note about a switch */
};

/* Makes the new store's directory, in place of what an interrupted repair left. */
int rescue_make_new(struct rescue *rescue, struct cairn_error *error);

#endif
