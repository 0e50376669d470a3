/* SPDX-License-Identifier: MIT */
/* A store handle and its states, for storage/ only.
 *
 *             begin                    commit, abort
 *   idle  -----------> writing  -------------------------> idle
 *    ^                    | a failed COMMIT, or an I/O error before it
 *    |   begin: reopen    v
 *    +----------------- poisoned (idle, but the connection is not trusted) */
#ifndef STORAGE_STORE_INT_H
#define STORAGE_STORE_INT_H

#include "base/lock.h"
#include "base/sha256.h"
#include "storage/rows_lost.h"
#include "storage/sqlite/db.h"
#include "storage/store.h"
#include "storage/store_files_int.h"

#include <assert.h>
#include <limits.h>
#include <sys/stat.h>

struct object_codec; /* pool/pool.h */

/* The newest checkpoint that this handle put; seq 0: none. */
struct store_tail {
    uint64_t seq;
    struct digest digest;
};

/* The newest turn of one run (rows_event.c). */
struct store_turns {
    uint64_t run;    /* or EVENTS_OF_STORE; of none if not `fresh` */
    uint64_t newest; /* among committed rows, if `fresh` */
    uint64_t put;    /* among rows of the open transaction, 0: none */
    bool fresh;      /* no other connection has committed since it was read */
    int64_t owner;   /* lock of the run's workflow, held ever since then; 0: not held */
};

/* A tally (rows_lost.h) that is being changed. */
struct store_tally {
    uint64_t scope;
    struct row_tally due;
    bool known, changed; /* `due` is loaded; and is not written yet */
};

/* What tells that a commit took place: the database has the checkpoint `number`, or the
 * turn `number` of the run, or, where a commit made neither, the setting `commits` is
 * at least `number`. As commits are in order, it then has all that came before. */
enum last_kind { LAST_NONE, LAST_CHECKPOINT, LAST_TURN, LAST_COUNT };
struct last_commit {
    enum last_kind kind;
    uint64_t number, run;
};

enum { STORE_IDENTITY = 33 }; /* 32 hex digits */

/* The directory, the database, the WAL and the lock file as they were found, and the
 * version of the tables. What is not there is all 0. */
enum { STORE_LOOKED_AT = 4 };
struct store_look {
    struct {
        uint64_t device, inode;
        uint32_t mode, uid, gid;
    } at[STORE_LOOKED_AT];
    int64_t version;
};

struct cairn_store {
    struct store_paths paths;
    struct db *db;
    struct lock_file lock;
    struct sha256 *sha;
    struct hmac_key *key;       /* or NULL */
    struct object_codec *codec; /* made at first use */
    char id[33];
    char identity[STORE_IDENTITY]; /* store_place.c */
    enum cairn_sync sync;
    enum db_journal journal;
    const char *network_fs; /* or NULL */
    int lock_wait_ms;
    bool read_only;

    struct db_thread thread;
    bool writing;    /* between begin and commit or abort: the write lock is ours */
    bool poisoned;   /* reopen before the next write */
    bool in_doubt;   /* the last commit may not survive a power cut: no more writes */
    bool marked;     /* this handle has made sure that there is a marker */
    bool log_noted;  /* ... and that it says what the log holds */
    int marker_fd;   /* -1: not open */
    int notify;      /* cairn_store_watch; -1: not asked for, or refused */
    int64_t last_at; /* place in the marker of the note of the last commit */
    struct last_commit last; /* of ours, or of the open transaction */
    uint64_t changes;        /* of the database, when the transaction was begun */
    unsigned reads;          /* nesting of store_begin_read */
    bool read_open;          /* the outermost of them opened a transaction */
    int64_t
        stands_in; /* version of an older store that is only read, or 0 (schema.h) */

    int64_t holds[64]; /* holds.c */
    unsigned n_holds;

    uint64_t db_device, db_inode; /* of the database, when the store was opened */
    struct store_look look;       /* the same of all its files; of a reader only */
    uint64_t wal_inode;           /* of the WAL that our connection uses */
    unsigned wal_pages;           /* after the last commit */
    unsigned transfer_pages;      /* the WAL is transferred from this size on */

    /* Counter of checkpoints: `next_seq` holds while db_version says `version`. */
    uint64_t next_seq;  /* 0: unknown */
    uint64_t seq_floor; /* see store_keep_seq */
    uint32_t version;
    struct store_tail committed, pending;

    struct store_turns turns;

    struct store_done *done; /* [n_done], at most STORE_DONE_MOST; for hooks */
    size_t n_done, done_capacity;
    struct buf notices; /* of this transaction, each with a NUL behind it */
    void (*notice)(void *, const char *); /* receives them, or NULL */
    void *notice_context;

    /* Those that the open transaction changes, by enum tally_of: at most one of each.
     */
    struct store_tally tallies[TALLY_KINDS];
    /* The annotations fitted their tally when the database had that version. */
    bool annotations_fit;
    uint32_t annotations_version;
    /* So did the items of that session; 0: of none. */
    uint64_t items_fit;
    uint32_t items_version;

    /* Where the tasks stand that were looked for last: store_known_task. */
    struct known_task {
        struct digest definition;
        char *id;
        uint32_t task;
    } known[16];
    unsigned n_known; /* noted so far: the next one takes the place of the oldest */

    /* Objects up to this id may be garbage that is being collected (rows_gc.c). */
    uint64_t collecting;
    bool knows_collecting; /* no other connection has committed since it was read */
};

/* The diagram above: asserted on entry to every function that works on the database,
 * and where a transaction has begun or ended. */
static inline void store_assert_open(const struct cairn_store *store)
{
    assert(store->db);
    assert(store->writing == db_writing(store->db));
    assert(store->read_only || store->lock.fd >= 0);
    assert(!store->writing || !store->read_only);
    assert(!store->writing || (!store->poisoned && !store->in_doubt));
    assert(!store->read_only || (!store->poisoned && !store->in_doubt));
    assert(!store->read_open || (store->reads > 0 && !store->writing));
}
/* ... and that a write transaction is open. */
static inline void store_assert_writing(const struct cairn_store *store)
{
    store_assert_open(store);
    assert(store->writing);
}

/* What kind of file system the store is on. Only tests set it. */
enum store_place { STORE_DETECT, STORE_LOCAL, STORE_NETWORK };
int store_open_at(struct cairn_store **out, const struct cairn_store_options *options,
                  enum store_place place, struct cairn_error *error);

/* ---- place_text.c ---- */

#define STORE_PLACE "place" /* the setting */
enum { STORE_PLACE_TEXT = PATH_MAX + 128 };
struct place {
    char identity[STORE_IDENTITY];
    uint64_t device, inode;
    char path[PATH_MAX];
};
bool place_parse(const char *text, struct place *out);
int place_make_identity(char identity[STORE_IDENTITY], struct cairn_error *error);
int place_format(char text[STORE_PLACE_TEXT], const char *identity, const char *dir,
                 const struct stat *here, struct cairn_error *error);
/* What it is in a new store. */
int place_first(const char *dir, char text[STORE_PLACE_TEXT],
                struct cairn_error *error);

/* ---- store_place.c ---- */

/* Finds out whether the store is a copy, gives it its identity, and notes where it is.
 */
int store_settle_place(struct cairn_store *store, struct cairn_error *error);
/* The same for a reader, who notes nothing; the identity of a copy is then new each
 * time. */
int store_look_at_place(struct cairn_store *store, struct cairn_error *error);

/* ---- holds.c ---- */

/* Behind a commit the notices are given away, else dropped. */
void store_end_notices(struct cairn_store *store, bool committed);

/* ---- store_connect.c ---- */

/* Opens a new connection, ready for use; a writer holds the write lock. */
int store_connect(struct cairn_store *store, struct db **out,
                  struct cairn_error *error);
/* Replaces a poisoned connection, under the write lock. */
int store_reopen(struct cairn_store *store, struct cairn_error *error);

/* ---- store_marker.c: for a store with a WAL ---- */

#define STORE_LAST_COMMIT "last " /* begins the marker's line about the last commit */
#define STORE_COMMITS "commits"   /* setting, see LAST_COUNT */
enum { STORE_MARKER_MOST = 4096 };
extern const char *const last_commit_names[]; /* by enum last_kind */

/* Makes the marker unless there is one. */
int store_ensure_marker(struct cairn_store *store, struct cairn_error *error);
/* Notes in the marker that something was committed, and what the last commit was. */
void store_note_log(struct cairn_store *store);
void store_note_commit(struct cairn_store *store);
/* Before a commit: finds out what will show that it took place, and if nothing would,
 * adds something to it that does. */
int store_number_commit(struct cairn_store *store, struct cairn_error *error);
void store_leave_marker(struct cairn_store *store);
/* Our WAL must still be in its place: commits into a deleted file would be lost. */
int store_check_wal(const struct cairn_store *store, struct cairn_error *error);

/* ---- store_transaction.c ---- */

enum { STORE_TRANSFER_PAGES = 1000 }; /* first size of the WAL that is transferred */

/* Takes the write lock, waiting up to wait_ms for it. */
int store_take_lock(struct cairn_store *store, int wait_ms, struct cairn_error *error);

/* ---- rows_event.c ---- */

/* Notes that a row of that turn is about to be put. */
void store_turn_put(struct cairn_store *store, uint64_t run, uint64_t turn);
/* Notes that the transaction has ended. */
void store_turns_end(struct cairn_store *store, bool committed);

/* ---- rows_meta.c ---- */

/* Writes what the transaction has changed; then, at its end, forgets all of them. */
int store_put_tallies(struct cairn_store *store, struct cairn_error *error);
void store_tallies_end(struct cairn_store *store);

/* ---- rows_gc.c ---- */

/* Keeps an object that is used again from a garbage collection under way. */
int store_spare_object(struct cairn_store *store, uint64_t id,
                       struct cairn_error *error);

/* ---- hmac_key.c ---- */

/* Reads the key; *key is to be freed with store_key_free. */
int store_key_read(const char *path, struct sha256 *sha, struct hmac_key **key,
                   struct cairn_error *error);
void store_key_free(struct hmac_key *key); /* wipes it */

#endif
