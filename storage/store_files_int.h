/* SPDX-License-Identifier: MIT */
/* The directory of a store and its files, as far as they can be judged without SQLite:
 * store_dir.c makes and finds them, store_check.c reads what they say. */
#ifndef STORAGE_STORE_FILES_INT_H
#define STORAGE_STORE_FILES_INT_H

#include "base/lock.h"
#include "storage/health.h"
#include "storage/sqlite/db.h"

struct store_paths {
    char *dir; /* absolute */
    char *db, *wal, *journal, *lock, *marker, *live, *ignore;
    char *making;   /* the database until all of it is there; before, an empty note */
    char *fork_dir; /* the directory with the file that led here, or NULL */
    char *project;  /* the directory whose .cairn was found, or NULL */
    uint64_t fork_session; /* which that file names */
};

/* ---- store_dir.c: the directory and its files ---- */

/* The name of the note about a repair that is changing files: see rescue.h. */
#define STORE_NOTE "repair"

/* DIR/NAME, to be freed; NULL: out of memory. */
char *store_path_join(const char *dir, const char *name);
/* Finds (or makes) the directory and fills the paths. */
int store_paths_find(struct store_paths *paths,
                     const struct cairn_store_options *options,
                     struct cairn_error *error);
void store_paths_release(struct store_paths *paths);
/* Refuses to make a store among somebody else's files: CAIRN_EUSAGE. */
int store_dir_vacant(const struct store_paths *paths, struct cairn_error *error);
/* Makes what a writable store's directory has: live/ and, while there is no database
 * yet, .gitignore. */
int store_dir_furnish(const struct store_paths *paths, bool making,
                      struct cairn_error *error);
/* 1 there is such a file, 0 there is none, <0 error. `inode`, `size` may be NULL. */
int store_file(const char *path, uint64_t *inode, int64_t *size,
               struct cairn_error *error);

/* ---- store_trust.c: who else can change them ---- */

/* Refuses a path for a store that was not named if others could have put something
 * there, or can (CAIRN_EUSAGE, with the owner or the mode, and the remedy). It may be a
 * directory, a link to one, a file that leads to a store elsewhere, or nothing yet. */
int store_trust_place(const char *path, struct cairn_error *error);
/* Whether a path belongs to another user, in a directory where others than its owner
 * can leave something. */
bool store_is_litter(const char *parent, const char *path);
/* Refuses a store in which something belongs to neither the user nor root nor the
 * store's owner, unless others may write into it (CAIRN_EUSAGE). */
int store_trust_files(const struct store_paths *paths, struct cairn_error *error);

/* ---- store_check.c: what the files show ---- */

/* Refuses a store whose files show that commits were lost: the marker of a writer is
 * there, but what it wrote is gone. Call it before SQLite makes a new WAL. */
int store_check_files(const struct store_paths *paths, enum db_journal journal,
                      struct cairn_error *error);

/* What SQLite will roll back by a rollback journal that was left behind; false if there
 * is none, or it was not complete yet. */
struct store_journal {
    uint32_t saved;  /* pages that it holds */
    uint32_t before; /* pages of the database before; 0: all of it is rolled back */
};

bool store_journal_read(const struct store_paths *paths, struct store_journal *journal);
/* What the marker says of its writers' syncs. Only with all of them a transaction is on
 * the disk before the next one. */
bool store_was_synced(const struct store_paths *paths);
/* Whether the marker's writer had committed, each commit synced. */
bool store_log_begun(const struct store_paths *paths);
/* Whether the database itself, without its log, holds the last commit that the marker
 * notes: then another program has transferred the log, and nothing is lost
 * (store_marker.c). */
bool store_holds_last_commit(const struct store_paths *paths);
/* Whether the database with its log lacks that commit, though each commit was synced
 * before it was noted, in this place and since the last boot: then the end of the log
 * is lost. False if that is not known. */
bool store_lost_last_commit(const struct store_paths *paths);
/* The state of the log; nobody may be writing to it. */
enum log_health store_judge_log(const struct store_paths *paths);
/* Refuses a store whose log was damaged while it had no live writer: SQLite would
 * ignore the log from the damage on, and mix old pages with new ones. */
int store_check_log(const struct store_paths *paths, struct lock_file *lock,
                    struct cairn_error *error);

#endif
