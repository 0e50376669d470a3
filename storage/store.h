/* SPDX-License-Identifier: MIT */
/* The store: one SQLite database and a lock file in a `.cairn` directory, seen as typed
 * rows. The layers above never meet SQL.
 *
 * Writing
 *   store_begin     takes the write lock (one advisory lock for every writer of the
 *                   store) and begins a transaction
 *   store_put_...   and the like; once one of them has failed, the transaction can only
 *                   be aborted
 *   store_commit    commits, transfers the WAL if it has grown, releases the lock
 *   store_abort     undoes the transaction, releases the lock
 *   store_end       commits or aborts
 * A commit that fails because the system failed (I/O error, disk full, sync) poisons
 * the connection: nothing of the transaction counts as written, and the next
 * store_begin reopens the database and checks that the newest checkpoint is the one
 * last committed. The caller keeps what it wanted to write and tries again. A failed
 * store_commit has ended the transaction; store_abort after it does nothing.
 *
 * Reading needs no lock: each getter is its own read transaction unless one is open.
 * Views (struct str) handed to callbacks live until the callback returns.
 *
 * Getters return 0, CAIRN_ENOTFOUND, or an error. SQLITE_CORRUPT and SQLITE_NOTADB
 * become CAIRN_EDAMAGED with the remedy `cairn doctor`. */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include "base/lock.h"
#include "base/str.h"
#include "cairn/store.h"

/* 16 random bytes made with the store, as 32 hex digits: copies of it share them. */
const char *store_lineage(const struct cairn_store *store);
/* Who it is to its processes, and in the files in `live/`: also 32 hex digits. A copy
 * of the store has other ones (store_place.c). */
const char *store_id(const struct cairn_store *store);
/* The session of whose files the directory is in which the store was found, by a file
 * `.cairn` in it; 0: it was found otherwise. *dir (may be NULL): that directory. */
uint64_t store_fork(const struct cairn_store *store, const char **dir);
/* The text of such a file:
 *
 *   cairn fork 1
 *   store PATH
 *   session NUMBER
 *
 * CAIRN_EUSAGE: the path of the store has a line break in it. */
int store_fork_text(const struct cairn_store *store, uint64_t session, struct buf *out,
                    struct cairn_error *error);
/* Another handle of a writable store, for a thread of its own; without its key, so for
 * content only. */
int store_open_beside(const struct cairn_store *store, struct cairn_store **out,
                      struct cairn_error *error);
bool store_read_only(const struct cairn_store *store);
/* The store's lock file, for ownership of workflows. */
/* Until it is unbound, only this thread may use the handle: others get CAIRN_EUSAGE.
 * *bound: by this call. */
int store_bind_thread(struct cairn_store *store, bool *bound,
                      struct cairn_error *error);
void store_unbind_thread(struct cairn_store *store);
struct lock_file *store_lock_file(struct cairn_store *store);
/* How long this handle waits for the write lock; at most INT_MAX / 2. */
int store_lock_wait_ms(const struct cairn_store *store);
/* Remembers that this handle holds a range of it (see storage/holds.c). */
bool store_holds(const struct cairn_store *store, int64_t offset);
int store_hold(struct cairn_store *store, int64_t offset, struct cairn_error *error);
void store_unhold(struct cairn_store *store, int64_t offset);
/* The key it was opened with, or NULL. With a key, records and the rows of runs,
 * commands and claims count as good only if they carry its HMAC. */
const struct hmac_key *store_key(const struct cairn_store *store);
/* Puts another key (or none) in its place, and returns what was there. */
struct hmac_key *store_swap_key(struct cairn_store *store, struct hmac_key *key);
/* Writing to a keyed run needs a key, and to any other run none: else CAIRN_EUSAGE,
 * with the remedy. */
int store_check_keyed(const struct cairn_store *store, uint64_t run, bool keyed,
                      struct cairn_error *error);
/* "DIR/live" (made on first use of a writable store). */
const char *store_live_dir(const struct cairn_store *store);

/* Is the database still the one that was opened? No if another or none has its path:
 * the store was removed, replaced, or moved. Yes if that cannot be
 * told. */
bool store_in_place(const struct cairn_store *store);

/* How many files lie in its directory that a process was writing when it was killed, to
 * take the place of another one; `first` (NAME_MAX + 1 bytes, may be NULL): the name of
 * one of them. With `remove`, under the write lock, they are removed. */
uint64_t store_leftovers(const struct cairn_store *store, bool remove, char *first);

/* Name of the network file system (such as "NFS") because of which this store uses a
 * rollback journal instead of the WAL; NULL on a local one. Shown to the user. */
const char *store_network_fs(const struct cairn_store *store);

/* wait_ms 0: one try; -1: the store's default. CAIRN_EBUSY when the lock is taken. */
int store_begin(struct cairn_store *store, int wait_ms, struct cairn_error *error);
int store_commit(struct cairn_store *store, struct cairn_error *error);
void store_abort(struct cairn_store *store);
/* Ends the transaction by the result of what was done in it: 0 commits, anything else
 * aborts and is returned. */
static inline int store_end(struct cairn_store *store, int rc, struct cairn_error *why)
{
    if (!rc)
        return store_commit(store, why);
    store_abort(store);
    return rc;
}
/* Takes what was deleted out of the write-ahead log, too, by emptying it; not while
 * another process reads the store for longer than a moment: then whoever closes the
 * store last does it. */
void store_empty_log(struct cairn_store *store);
/* A read transaction, so that several getters see one moment. */
int store_begin_read(struct cairn_store *store, struct cairn_error *error);
void store_end_read(struct cairn_store *store);
/* For cairn_store_on_notice, if the present transaction is committed; each text once.
 * Without memory it is lost. */
void store_add_notice(struct cairn_store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same at once, whole and each time; not in a transaction. */
void store_say(struct cairn_store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Turns of sessions that this handle has committed, for hooks. What is noted beyond
 * STORE_DONE_MOST, or without memory, is lost. */
enum { STORE_DONE_MOST = 4096 };
struct store_done {
    uint64_t session, turn;
};
void store_note_done(struct cairn_store *store, uint64_t session, uint64_t turn);
/* Those that nobody has taken yet. */
const struct store_done *store_done(const struct cairn_store *store, size_t *n);
/* Gives them away: *n of them, to be freed; NULL: none. */
struct store_done *store_take_done(struct cairn_store *store, size_t *n);

/* Changes whenever another connection has committed (PRAGMA data_version). */
uint32_t store_data_version(struct cairn_store *store);
/* SQLite has found damage through this handle: a row that it did not return may still
 * be there. */
bool store_malformed(const struct cairn_store *store);

#endif
