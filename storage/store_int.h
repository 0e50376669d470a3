/* The store's inside, for storage/ only.
 *
 *             begin                    commit, abort
 *   idle  -----------> writing  -------------------------> idle
 *    ^                    | a failed COMMIT, or an I/O error before it
 *    |   begin: reopen    v
 *    +----------------- poisoned (idle, but the connection is not trusted) */
#ifndef STORAGE_STORE_INT_H
#define STORAGE_STORE_INT_H

#include "storage/db.h"
#include "storage/store.h"

struct object_codec; /* object.c */

struct store_paths {
    char *dir; /* absolute */
    char *db, *wal, *journal, *lock, *marker, *live, *ignore;
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
    struct object_codec *codec; /* made at first use */
    char id[33];
    enum cairn_sync sync;
    enum db_journal journal;
    const char *network_fs; /* or NULL */
    int lock_wait_ms;
    bool read_only;

    bool writing;   /* between begin and commit or abort: the write lock is ours */
    bool poisoned;  /* reopen before the next write */
    bool marked;    /* this handle has seen to the marker */
    unsigned reads; /* nesting of store_begin_read */
    bool read_open; /* the outermost of them opened a transaction */
    bool stands_in; /* a read-only connection to an older store (schema.h) */

    int64_t holds[64]; /* holds.c */
    unsigned n_holds;

    uint64_t wal_inode;                 /* of the WAL that our connection uses */
    unsigned wal_pages, transfer_pages; /* seen last; transfer from there on */

    /* Counter of checkpoints: `next_seq` holds while db_version says `version`. */
    uint64_t next_seq; /* 0: unknown */
    uint32_t version;
    struct store_tail committed, pending;

    struct store_turns turns;
};

/* What file system the store is taken to lie on. Tests force it; everybody else lets it
 * be found out. */
enum store_place { STORE_DETECT, STORE_LOCAL, STORE_NETWORK };
int store_open_at(struct cairn_store **out, const struct cairn_store_options *options,
                  enum store_place place, struct cairn_error *error);

/* ---- store_dir.c: the directory and its files ---- */

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
/* Refuses a store whose files show that commits were lost: the marker of a writer
 * stands, but what it wrote is gone. To be called before SQLite makes a new WAL. */
int store_check_files(const struct store_paths *paths, enum db_journal journal,
                      struct cairn_error *error);
/* Whether rolling back the rollback journal leaves nothing of the database: it was the
 * transaction that made it. */
bool store_journal_undoes_all(const struct store_paths *paths);

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

/* ---- sum.c ---- */

/* Checksum of a row that decides something and is in no record: the first 8 bytes of
 * the SHA-256 over its other columns. */
struct row_sum {
    uint8_t bytes[8];
};
struct summed {
    const uint64_t *numbers;
    size_t n_numbers;
    const struct str *texts;
    size_t n_texts;
};
int row_sum(struct cairn_store *store, const struct summed *summed, struct row_sum *sum,
            struct cairn_error *error);
static inline struct str sum_view(const struct row_sum *sum)
{
    return (struct str){(const char *)sum->bytes, sizeof sum->bytes};
}

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
