/* SPDX-License-Identifier: MIT */
/* The store's inside, for storage/ only.
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
#include "storage/db.h"
#include "storage/health.h"
#include "storage/store.h"

#include <assert.h>

struct object_codec; /* object.c */

struct store_paths {
    char *dir; /* absolute */
    char *db, *wal, *journal, *lock, *marker, *live, *ignore;
    char *making; /* a note that stands from before the database until it is made */
};

/* A checkpoint as a point of the history: seq 0 is none. */
struct store_tail {
    uint64_t seq;
    struct digest digest;
};

/* The newest turn of one run (rows_event.c). */
struct store_turns {
    uint64_t run;    /* 0: of none */
    uint64_t newest; /* among committed rows, if `fresh` */
    uint64_t put;    /* among rows of the open transaction, 0: none */
    bool fresh;      /* no other connection has committed since it was looked at */
    int64_t owner;   /* lock of the run's workflow, held ever since then; 0: not held */
};

struct cairn_store {
    struct store_paths paths;
    struct db *db;
    struct lock_file lock;
    struct sha256 *sha;
    struct hmac_key *key;       /* or NULL */
    struct object_codec *codec; /* made at first use */
    char id[33];
    enum cairn_sync sync;
    enum db_journal journal;
    const char *network_fs; /* or NULL */
    int lock_wait_ms;
    bool read_only;

    bool writing;   /* between begin and commit or abort: the write lock is ours */
    bool poisoned;  /* reopen before the next write */
    bool in_doubt;  /* whether the last commit lasts cannot be told: no more writes */
    bool marked;    /* this handle has seen to the marker */
    bool log_noted; /* ... and to what it says of the log */
    unsigned reads; /* nesting of store_begin_read */
    bool read_open; /* the outermost of them opened a transaction */
    int64_t stands_in; /* version of an older store, only read (schema.h), or 0 */

    int64_t holds[64]; /* holds.c */
    unsigned n_holds;

    uint64_t wal_inode;                 /* of the WAL that our connection uses */
    unsigned wal_pages, transfer_pages; /* seen last; transfer from there on */

    /* Counter of checkpoints: `next_seq` holds while db_version says `version`. */
    uint64_t next_seq;  /* 0: unknown */
    uint64_t seq_floor; /* see store_keep_seq */
    uint32_t version;
    struct store_tail committed, pending;

    struct store_turns turns;

    /* Objects up to this id may be garbage that is being collected (rows_gc.c). */
    uint64_t collecting;
    bool knows_collecting; /* no other connection has committed since it was read */
};

/* The diagram above, as every function asserts it on entry: that the database is open
 * (in any state), and that a write transaction is. */
static inline void store_assert_open(const struct cairn_store *store)
{
    assert(store->db);
    assert(!store->read_open || store->reads > 0);
    assert(!store->writing || !store->read_only);
}
static inline void store_assert_writing(const struct cairn_store *store)
{
    store_assert_open(store);
    assert(store->writing && !store->read_open);
    assert(!store->poisoned && !store->in_doubt && store->lock.fd >= 0);
}

/* What file system the store is taken to lie on. Tests force it; everybody else lets it
 * be found out. */
enum store_place { STORE_DETECT, STORE_LOCAL, STORE_NETWORK };
int store_open_at(struct cairn_store **out, const struct cairn_store_options *options,
                  enum store_place place, struct cairn_error *error);

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

/* ---- store_check.c: what the files tell ---- */

/* Refuses a store whose files show that commits were lost: the marker of a writer
 * stands, but what it wrote is gone. To be called before SQLite makes a new WAL. */
int store_check_files(const struct store_paths *paths, enum db_journal journal,
                      struct cairn_error *error);
/* What a rollback journal that was left behind will take back; false: there is none, or
 * it was not good yet. */
struct store_journal {
    uint32_t saved;  /* pages that it holds */
    uint32_t before; /* pages of the database then; 0: it is undone altogether */
};
bool store_journal_look(const struct store_paths *paths, struct store_journal *journal);
/* What the marker says of the log: nothing was committed yet; something was. */
#define STORE_LOG_EMPTY "log empty"
#define STORE_LOG_BEGUN "log begun"
/* Whether the marker's writer had committed, each commit synced. */
bool store_log_begun(const struct store_paths *paths);
/* What the log tells; nobody must be writing. */
enum log_health store_look_at_log(const struct store_paths *paths);
/* Refuses a store whose log was damaged, while no writer lives: SQLite would end it at
 * the damage, and mix old pages with new ones. */
int store_check_log(const struct store_paths *paths, struct lock_file *lock,
                    struct cairn_error *error);

/* ---- store.c ---- */

/* Opens a new connection (for reopening, too), ready for use; writers hold the lock. */
int store_connect(struct cairn_store *store, struct db **out,
                  struct cairn_error *error);

/* ---- store_write.c: transactions ---- */

enum { STORE_TRANSFER_PAGES = 1000 }; /* of WAL: transferred from here on */

/* The write lock, within wait_ms. */
int store_take_lock(struct cairn_store *store, int wait_ms, struct cairn_error *error);
/* The last writer transfers the WAL and takes the marker away. Leaves the locks to the
 * closing of the lock file, which must come after that of the database. */
void store_settle(struct cairn_store *store);
/* A write statement; asserts that a write transaction is open. */
int store_write(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error);

/* ---- rows_event.c ---- */

/* A row of that turn was put. */
void store_turn_put(struct cairn_store *store, uint64_t run, uint64_t turn);
/* The transaction has ended. */
void store_turns_end(struct cairn_store *store, bool committed);

/* ---- rows_gc.c ---- */

/* An object that is there already is used again: it stays, if garbage is being
 * collected. */
int store_spare_object(struct cairn_store *store, uint64_t id,
                       struct cairn_error *error);

/* ---- hmac_key.c ---- */

/* Reads the key; *key is to be freed with store_key_free. */
int store_key_read(const char *path, struct sha256 *sha, struct hmac_key **key,
                   struct cairn_error *error);
void store_key_free(struct hmac_key *key); /* wipes it */

/* ---- row_hmac.c ---- */

/* Checksum of a row that decides something and is in no record: the first 8 bytes of
 * the SHA-256 over its other columns; with a key, behind them the HMAC over the same.
 */
enum { SUM_BYTES = 8, SUM_KEYED_BYTES = SUM_BYTES + DIGEST_SIZE };
struct row_sum {
    uint8_t bytes[SUM_KEYED_BYTES];
    size_t size;
};
struct summed {
    const char *kind; /* of row: an HMAC of one kind is none of another */
    const uint64_t *numbers;
    size_t n_numbers;
    const struct str *texts;
    size_t n_texts;
};
int row_sum(struct cairn_store *store, const struct summed *summed, struct row_sum *sum,
            struct cairn_error *error);
static inline struct str sum_view(const struct row_sum *sum)
{
    return (struct str){(const char *)sum->bytes, sum->size};
}
/* Whether a stored checksum is that of the row, as far as there are HMACs to compare;
 * and the same, but with a key it must have its HMAC. */
bool sum_holds(const struct row_sum *sum, struct str stored);
bool sum_bytes_hold(const struct row_sum *sum, struct str stored); /* but for HMACs */
bool sum_matches(const struct row_sum *sum, struct str stored);
/* Writing to a keyed run needs a key, and to one without none: else CAIRN_EUSAGE. A run
 * that does not exist is left to whoever writes. */
int sum_check_keyed(struct cairn_store *store, uint64_t run, struct cairn_error *error);

/* ---- row_checksum.c ---- */

/* Writes a row whose last column is the checksum over the others: `id` gets the values
 * and one more. */
int store_write_summed(struct cairn_store *store, enum sql_id id,
                       const struct sql_value *values, size_t n,
                       struct cairn_error *error);
/* The same where a statement takes other values than stand in the row. */
struct value_sum {
    uint8_t bytes[8];
};
void values_sum(struct sha256 *sha, const struct sql_value *values, size_t n,
                struct value_sum *sum);
static inline struct str value_sum_view(const struct value_sum *sum)
{
    return (struct str){(const char *)sum->bytes, sizeof sum->bytes};
}
/* Whether the last of the values, which are all columns of a row, is their checksum;
 * not `strict`: or NULL. */
bool values_sound(struct sha256 *sha, const struct sql_value *values, size_t n,
                  bool strict);

/* ---- Whether all columns of a row fit its checksum: 1 yes, 0 no, <0 error ---- */

int command_sound(struct cairn_store *store, const struct sql_value values[10],
                  struct cairn_error *error);
int claim_sound(struct cairn_store *store, const struct sql_value values[10],
                struct cairn_error *error);
int object_sound(struct cairn_store *store, const struct sql_value values[5],
                 struct cairn_error *error);
int run_sound(struct cairn_store *store, uint64_t run, struct cairn_error *error);

/* ---- object.c ---- */

void object_codec_free(struct object_codec *codec);

/* A digest column: false if its length is not that of a digest. */
static inline bool digest_from(struct str bytes, struct digest *out)
{
    memset(out, 0, sizeof *out);
    if (bytes.len != DIGEST_SIZE)
        return false;
    memcpy(out->bytes, bytes.ptr, DIGEST_SIZE);
    return true;
}
_Static_assert(SUM_BYTES + sizeof(struct digest) == SUM_KEYED_BYTES,
               "the HMAC of a row fills the rest of its checksum");
static inline struct str digest_view(const struct digest *digest)
{
    return (struct str){(const char *)digest->bytes, DIGEST_SIZE};
}
static inline int64_t sql_limit(uint64_t limit)
{
    return limit == 0 || limit > INT64_MAX ? -1 : (int64_t)limit;
}
static inline int64_t sql_offset(uint64_t offset)
{
    return offset > INT64_MAX ? INT64_MAX : (int64_t)offset;
}

#endif
