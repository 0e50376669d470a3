/* SPDX-License-Identifier: MIT */
/* The store: one SQLite database and a lock file in a `.cairn` directory, seen as typed
 * rows. The layers above never meet SQL.
 *
 * Writing
 *   store_begin     takes the write lock (one advisory lock for every writer of the
 *                   store) and begins a transaction
 *   store_put_...   and friends; after one of them failed the transaction can only be
 *                   aborted
 *   store_commit    commits, transfers the WAL if it has grown, gives the lock back;
 *   store_abort     or takes all of it back
 * A commit that fails because the system failed (I/O error, disk full, sync) poisons
 * the connection: everything of the transaction counts as not written, the next
 * store_begin closes and reopens the database, and checks that the newest checkpoint is
 * what was last committed. The caller keeps what it wanted to write and tries again. A
 * failed store_commit has ended the transaction; store_abort after it does nothing.
 *
 * Reading needs no lock: each getter is its own read transaction unless one is open.
 * Views (struct str) handed to callbacks live until the callback returns.
 *
 * Getters return 0, CAIRN_ENOTFOUND, or an error. SQLITE_CORRUPT and SQLITE_NOTADB
 * become CAIRN_EDAMAGED with the remedy `cairn doctor`. */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include "base/os.h"
#include "base/sha256.h"

enum namespace_id { NAMESPACE_WORKFLOW = 1, NAMESPACE_DEBUG = 2 };

/* ---- Life (cairn_store_open and _close are in cairn.h) ---- */

/* 16 random bytes made with the store, as 32 hex digits. */
const char *store_id(const struct cairn_store *store);
bool store_read_only(const struct cairn_store *store);
/* The store's lock file, for ownership of workflows. */
struct lock_file *store_lock_file(struct cairn_store *store);
/* Remembers that this handle holds a range of it (see storage/holds.c). */
bool store_holds(const struct cairn_store *store, int64_t offset);
int store_hold(struct cairn_store *store, int64_t offset, struct cairn_error *error);
void store_unhold(struct cairn_store *store, int64_t offset);
/* The key it was opened with, or NULL. With one, only what carries an HMAC of it is to
 * be believed: records, and the rows of runs, commands and claims. */
const struct hmac_key *store_key(const struct cairn_store *store);
/* Puts another key (or none) in its place, and returns what was there. */
struct hmac_key *store_swap_key(struct cairn_store *store, struct hmac_key *key);
/* A keyed run is written with a key, another one without: CAIRN_EUSAGE tells what to do
 * otherwise. */
int store_check_keyed(const struct cairn_store *store, uint64_t run, bool keyed,
                      struct cairn_error *error);
/* "DIR/live" (made on first use of a writable store). */
const char *store_live_dir(const struct cairn_store *store);

/* Name of the network file system (such as "NFS") because of which this store uses a
 * rollback journal instead of the WAL; NULL on a local one. To be said aloud. */
const char *store_network_fs(const struct cairn_store *store);

/* wait_ms 0: one try; -1: the store's default. CAIRN_EBUSY when the lock is taken. */
int store_begin(struct cairn_store *store, int wait_ms, struct cairn_error *error);
int store_commit(struct cairn_store *store, struct cairn_error *error);
void store_abort(struct cairn_store *store);
/* A read transaction, so that several getters see one moment. */
int store_begin_read(struct cairn_store *store, struct cairn_error *error);
void store_end_read(struct cairn_store *store);
/* Changes whenever another connection has committed (PRAGMA data_version). */
uint32_t store_data_version(struct cairn_store *store);
/* SQLite has found damage through this handle: not even what is there can be told. */
bool store_malformed(const struct cairn_store *store);

/* ---- Checkpoint rows ---- */

struct checkpoint_row {
    uint64_t seq;
    uint8_t namespace_id;
    uint8_t kind; /* enum record_kind */
    uint64_t stream;
    uint64_t parent; /* seq, 0: none */
    int64_t time_ns;
    struct str record;          /* header, payload and HMAC; views */
    struct str digest;          /* 32 bytes if undamaged */
    const struct hmac_key *key; /* set on read: store_key of the handle */
};
/* The next seq: one more than any ever given out (rows and tombstones). Call inside a
 * write transaction; nothing is reserved until rows are put. */
int store_next_seq(struct cairn_store *store, uint64_t *seq, struct cairn_error *error);
/* The same for looking only: without a transaction. */
int store_seq_after(struct cairn_store *store, uint64_t *seq,
                    struct cairn_error *error);
/* That number was given out, though no record has it any more: the next is higher. */
void store_keep_seq(struct cairn_store *store, uint64_t seq);
int store_put_checkpoint(struct cairn_store *store, const struct checkpoint_row *row,
                         struct cairn_error *error);
typedef int checkpoint_row_fn(void *context, const struct checkpoint_row *row);
/* `got` may be NULL: only to see whether there is one. */
int store_get_checkpoint(struct cairn_store *store, uint64_t seq,
                         checkpoint_row_fn *got, void *context,
                         struct cairn_error *error);
struct checkpoint_range {
    uint8_t namespace_id; /* 0: any */
    uint64_t stream;      /* 0: any */
    uint64_t workflow;    /* workflow row id, 0: any (joins run) */
    uint64_t first, last; /* seq, inclusive; last 0: no end */
    bool descending;
    uint64_t offset, limit; /* limit 0: all */
};
/* Rows by seq. The callback's non-zero return stops and is returned if negative. */
int store_each_checkpoint(struct cairn_store *store,
                          const struct checkpoint_range *range, checkpoint_row_fn *each,
                          void *context, struct cairn_error *error);
int store_count_checkpoints(struct cairn_store *store,
                            const struct checkpoint_range *range, uint64_t *count,
                            struct cairn_error *error);
/* Up to `max` seqs whose digest begins with the hex digits. Scans. */
int store_find_digest(struct cairn_store *store, struct str hex, uint64_t *seqs,
                      size_t max, size_t *found, struct cairn_error *error);
/* Newest seq of a stream, 0 if there is none. */
int store_last_seq(struct cairn_store *store, uint8_t namespace_id, uint64_t stream,
                   uint64_t *seq, struct cairn_error *error);
/* Deletes rows of one stream in [first, last]; returns count and bytes of records. */
int store_delete_checkpoints(struct cairn_store *store, uint8_t namespace_id,
                             uint64_t stream, uint64_t first, uint64_t last,
                             uint64_t *count, uint64_t *bytes,
                             struct cairn_error *error);

struct tombstone_row { /* a deleted range of one stream */
    uint64_t id;
    uint8_t namespace_id;
    uint64_t stream, first, last; /* seqs, inclusive */
    uint64_t count;
    struct digest before; /* digest of the record before the range, zeros: none */
    struct digest after;  /* digest of the last deleted record */
    int64_t time_ns;
};
int store_put_tombstone(struct cairn_store *store, const struct tombstone_row *row,
                        struct cairn_error *error);
int store_delete_tombstone(struct cairn_store *store, uint64_t id,
                           struct cairn_error *error);
/* Of a stream (0: all), by first seq. */
int store_each_tombstone(struct cairn_store *store, uint8_t namespace_id,
                         uint64_t stream,
                         int (*each)(void *, const struct tombstone_row *),
                         void *context, struct cairn_error *error);
/* Whether records of a stream behind that seq were deleted or are lost. */
int store_has_tombstone_behind(struct cairn_store *store, uint8_t namespace_id,
                               uint64_t stream, uint64_t seq, bool *has,
                               struct cairn_error *error);
/* Notes a damaged record (idempotent). */
int store_put_quarantine(struct cairn_store *store, uint64_t seq, int64_t time_ns,
                         const char *reason, struct cairn_error *error);

/* ---- Runs ---- */

struct run_row {
    uint64_t run;
    uint64_t workflow;            /* row id */
    struct str workflow_name;     /* views; joined */
    struct digest params;         /* digest of the canonical params */
    struct str params_text;       /* canonical: lstr name, lstr value, ... (buf_lstr) */
    struct str file;              /* absolute path of the workflow file or "" */
    uint32_t gen;                 /* newest generation of the graph, from 1 */
    struct digest graph;          /* its digest (an object) */
    uint32_t tasks;               /* number of tasks in it */
    uint8_t state;                /* enum cairn_run_state */
    int64_t started_ns, ended_ns; /* ended 0: not ended */
    uint64_t from_run, from_seq;
    int64_t owner_pid; /* of the newest owner */
    uint64_t owner_start;
    struct str owner_host, owner_boot;
    int64_t owner_since_ns;
    uint32_t unsaved;
    bool keyed;    /* set on read: the row has an HMAC */
    bool sum_ok;   /* set on read: its checksum holds, and with a key its HMAC */
    bool bytes_ok; /* set on read: its checksum holds, whatever its HMAC is */
};
/* Row id of a workflow's name; made when missing if `create` (needs a transaction). */
int store_workflow_id(struct cairn_store *store, struct str name, bool create,
                      uint64_t *id, struct cairn_error *error);
bool store_has_workflow(struct cairn_store *store, uint64_t id);
/* Inserts with the next run number, which is put into row->run. */
int store_add_run(struct cairn_store *store, struct run_row *row,
                  struct cairn_error *error);
int store_set_run(struct cairn_store *store, const struct run_row *row,
                  struct cairn_error *error);
typedef int run_row_fn(void *context, const struct run_row *row);
/* run 0: the newest. `got` may be NULL: only to see whether there is one. */
int store_get_run(struct cairn_store *store, uint64_t run, run_row_fn *got,
                  void *context, struct cairn_error *error);
struct run_filter {
    uint64_t workflow;           /* row id, 0: any */
    const struct digest *params; /* NULL: any */
    bool ascending;
    uint64_t offset, limit; /* limit 0: all */
};
int store_each_run(struct cairn_store *store, const struct run_filter *filter,
                   run_row_fn *each, void *context, struct cairn_error *error);
int store_count_runs(struct cairn_store *store, const struct run_filter *filter,
                     uint64_t *count, struct cairn_error *error);
/* Puts the row of a run in the place of any that there is. keyed: the run's records
 * carry HMACs, and the row gets one that is of no key. */
int store_restore_run(struct cairn_store *store, const struct run_row *row, bool keyed,
                      struct cairn_error *error);
/* The highest generation that graphs and attempts of a run name, at least 1. */
int store_last_gen(struct cairn_store *store, uint64_t run, uint32_t *gen,
                   struct cairn_error *error);
/* Runs that have no row, but checkpoints; or other rows and no deleted checkpoints. */
int store_each_orphan(struct cairn_store *store, int (*each)(void *, uint64_t run),
                      void *context, struct cairn_error *error);
/* Runs that have begun, and have neither checkpoints nor deleted ones. */
int store_each_bare_run(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error);
/* The first generation of each run whose graph is missing, but for the newest. */
int store_each_lost_gen(struct cairn_store *store,
                        int (*each)(void *, uint64_t run, uint64_t gen), void *context,
                        struct cairn_error *error);
/* Graphs of runs that have no row. */
int store_drop_stray_graphs(struct cairn_store *store, struct cairn_error *error);
/* The graph of an earlier generation of a run. */
int store_put_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        const struct digest *graph, struct cairn_error *error);
int store_get_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        struct digest *graph, struct cairn_error *error);

/* ---- Attempts ---- */

/* UNDO: the attempt ran the task's `undo`. EXTERNAL: somebody else did it. CHECK: the
 * task itself had ended well, its check decided. ADOPTED: a later process than the one
 * that started it learned of its end. RETRY: it failed, and another was to follow.
 * UNDO and EXTERNAL are put with the intent, too. */
enum attempt_flag {
    ATTEMPT_TIMED_OUT = 1,
    ATTEMPT_INTERRUPTED = 2,
    ATTEMPT_UNDO = 4,
    ATTEMPT_EXTERNAL = 8,
    ATTEMPT_CHECK = 16,
    ATTEMPT_ADOPTED = 32,
    ATTEMPT_RETRY = 64
};
struct attempt_row {
    uint64_t run;
    uint32_t gen, task, number;
    int64_t intent_ns, started_ns, ended_ns; /* ended 0: open */
    uint8_t outcome;
    uint8_t flags;
    int32_t exit_code; /* -1: none */
    int32_t signal;
    int64_t cpu_us, peak_kib;
    uint64_t out_bytes, err_bytes; /* as written by the task */
    uint64_t out_head,
        err_head;        /* bytes before the dropped middle; 0: nothing dropped */
    struct str out, err; /* object digests (32 bytes), or empty */
    struct str outputs;  /* of its result (runs/result.h), the same */
    struct str text;
    uint64_t start_turn, end_turn; /* in which it was written; 0: an old row */
    uint64_t checkpoint;           /* seq of the record of its outcome, 0: none */
};
int store_put_intent(struct cairn_store *store, const struct attempt_row *row,
                     struct cairn_error *error);
/* Inserts or replaces the whole row. */
int store_put_attempt(struct cairn_store *store, const struct attempt_row *row,
                      struct cairn_error *error);
typedef int attempt_row_fn(void *context, const struct attempt_row *row);
int store_get_attempt(struct cairn_store *store, const struct attempt_row *key,
                      attempt_row_fn *got, void *context, struct cairn_error *error);
/* All of a task (in a generation), by number. */
int store_each_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                       uint32_t task, attempt_row_fn *each, void *context,
                       struct cairn_error *error);
/* All of a run and generation by task and number; open_only: without an end. */
int store_each_run_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                           bool open_only, attempt_row_fn *each, void *context,
                           struct cairn_error *error);

/* ---- Commands to a live run ---- */

/* Stored by other processes, taken by the run's owner; they stay as a record. */
enum command_verb {
    COMMAND_CANCEL = 1,
    COMMAND_COMPLETE, /* an external task; data: canonical values (buf_lstr pairs) */
    COMMAND_FAIL,     /* the same; data: the message */
    COMMAND_RESOLVE   /* an unknown task; argument: enum cairn_resolution */
};
struct command_row {
    uint64_t id, run;
    uint8_t verb, argument;
    uint32_t gen, task; /* UINT32_MAX: none */
    int64_t time_ns;
    struct str data;
};
/* Puts its number into row->id. */
int store_put_command(struct cairn_store *store, struct command_row *row,
                      struct cairn_error *error);
/* The oldest command of a run that was not taken and whose id is greater than `after`;
 * row->id 0: there is none. The data is appended to `data`, and row->data points into
 * it until `data` grows. Takes nothing: that belongs into the transaction that stores
 * what came of it. CAIRN_EDAMAGED with row->id: that command is not to be believed. */
int store_next_command(struct cairn_store *store, uint64_t run, uint64_t after,
                       struct command_row *row, struct buf *data,
                       struct cairn_error *error);
/* Marks all up to this id as taken. Needs a write transaction. */
int store_mark_commands(struct cairn_store *store, uint64_t run, uint64_t up_to,
                        struct cairn_error *error);
/* Marks those of one verb. A damaged command stays, for its owner to tell of. */
int store_drop_commands(struct cairn_store *store, uint64_t run, uint8_t verb,
                        struct cairn_error *error);
/* Whether there is an untaken command; needs none. `verb` (may be NULL): of the oldest.
 */
int store_has_command(struct cairn_store *store, uint64_t run, bool *has, uint8_t *verb,
                      struct cairn_error *error);
/* Whether this command was taken. */
int store_command_taken(struct cairn_store *store, uint64_t id, bool *taken,
                        struct cairn_error *error);

/* ---- Claims of external tasks ---- */

struct claim_row { /* the newest of a task */
    uint64_t run;
    uint32_t gen, task;
    struct str token, holder, boot; /* boot id of until_boot_ns */
    int64_t until_boot_ns;          /* CLOCK_BOOTTIME */
    int64_t time_ns;                /* UTC, of the claim */
    bool spent;                     /* completed or failed with it */
    bool sum_ok; /* set on read: else only run, gen and task are to be believed */
};
/* Inserts or replaces. */
int store_put_claim(struct cairn_store *store, const struct claim_row *row,
                    struct cairn_error *error);
typedef int claim_row_fn(void *context, const struct claim_row *row);
/* All claims of a run and generation, by task. After the last one CAIRN_EDAMAGED if one
 * of them was damaged: whoever wants that very task may take it as not claimed. */
int store_each_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     claim_row_fn *each, void *context, struct cairn_error *error);

/* ---- Events that are in no other row ----
 * What happens to a run is ordered by turn: a number per run that grows by one with
 * every transaction that says something of it. Attempts carry theirs; the rest is here.
 */

enum event_kind {
    EVENT_BEGUN = 1, /* data: "new", "goes on", "forks from 42" */
    EVENT_RESET, /* tasks (data: packed list) run again; argument: enum cairn_reason */
    EVENT_UNKNOWN, /* tasks (packed) are unknown */
    EVENT_SKIPPED, /* tasks (packed): `task` is the cause; argument: 1 because of their
                      own condition */
    EVENT_CONDITION, /* of `task`; argument: 1 it holds, 0 not */
    EVENT_CLAIMED,   /* `task`; data: holder */
    EVENT_COMMAND,   /* taken by the owner; argument: verb; `task`; data: for people */
    EVENT_HALTED,    /* nothing more is started; data: why */
    EVENT_PHASE,     /* argument: 1 undo, 2 finally */
    EVENT_NOTICE,    /* data */
    EVENT_ENDED      /* argument: enum cairn_run_state */
};
struct event_row {
    uint64_t id; /* set on read: counts from 1 within the turn */
    uint64_t run, turn;
    int64_t time_ns;
    uint8_t kind, argument;
    uint32_t gen, task; /* UINT32_MAX: none */
    struct str data;
};
int store_put_event(struct cairn_store *store, const struct event_row *row,
                    struct cairn_error *error);
typedef int event_row_fn(void *context, const struct event_row *row);
/* Of a run with turn > after, by turn and id. */
int store_each_event(struct cairn_store *store, uint64_t run, uint64_t after,
                     event_row_fn *each, void *context, struct cairn_error *error);
int store_get_event(struct cairn_store *store, uint64_t run, uint64_t turn, uint64_t id,
                    event_row_fn *got, void *context, struct cairn_error *error);
/* Attempts of a run with start_turn or end_turn > after, in all generations; by
 * generation, task, number. */
int store_each_new_attempt(struct cairn_store *store, uint64_t run, uint64_t after,
                           attempt_row_fn *each, void *context,
                           struct cairn_error *error);
/* The next turn of a run; call inside a write transaction, where it stays the same.
 * Nothing is reserved until rows are put. Cheap after the first call: the rows are
 * looked at again only if another connection has committed, and all attempts only if
 * this handle does not own the workflow (attempts are written by owners alone). */
int store_next_turn(struct cairn_store *store, uint64_t run, uint64_t *turn,
                    struct cairn_error *error);
/* A list of ascending task numbers as varints of the differences. */
void tasks_pack(const uint32_t *tasks, uint32_t n, struct buf *out);
/* False, and nothing was called, if the bytes are no such list of numbers below
 * `limit`. `each` returns 0 to go on. */
bool tasks_unpack(struct str packed, uint32_t limit, int (*each)(void *, uint32_t task),
                  void *context);

/* The text of a setting into `out`, cut off where it does not fit. 1 there is one, 0
 * there is none, <0 error. */
int store_setting(struct cairn_store *store, const char *key, char *out, size_t size,
                  struct cairn_error *error);
/* Needs a write transaction. */
int store_set_setting(struct cairn_store *store, const char *key, const char *text,
                      struct cairn_error *error);

/* 32 random bytes of this store, made when first asked for with `create` (needs a write
 * transaction then): the key under which values of secrets are hashed. CAIRN_ENOTFOUND
 * without `create`. A damaged key is CAIRN_EDAMAGED, or replaced with `create`: nothing
 * that was hashed with it compares as equal any more. */
int store_secret_key(struct cairn_store *store, bool create, uint8_t key[32],
                     struct cairn_error *error);

/* ---- Content pool (storage/object.c) ---- */

/* Stores content under its SHA-256, zstd level 3 where that is smaller; the same
 * content is stored once. Needs a write transaction. */
int store_put_object(struct cairn_store *store, struct str content,
                     struct digest *digest, struct cairn_error *error);
/* Appends the content to `out` after its digest was checked. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED. */
int store_get_object(struct cairn_store *store, const struct digest *digest,
                     struct buf *out, struct cairn_error *error);
/* Checks every object; calls back for bad ones. */
int store_verify_objects(struct cairn_store *store, uint64_t *checked,
                         int (*bad)(void *, const char *digest_hex, const char *why),
                         void *context, struct cairn_error *error);

/* ---- Garbage (storage/rows_gc.c has the rule, and why it is safe) ---- */

/* All but the reading ones need a write transaction. One collector at a time: 0 it is
 * us, CAIRN_EBUSY. */
int store_gc_lock(struct cairn_store *store, struct cairn_error *error);
void store_gc_unlock(struct cairn_store *store);
/* Begins: from now on every object that is put or used again stays. *up_to: only
 * objects with ids up to there may be deleted. CAIRN_EBUSY: a process may be writing
 * that does not know of this. */
int store_gc_begin(struct cairn_store *store, uint64_t *up_to,
                   struct cairn_error *error);
int store_gc_end(struct cairn_store *store, struct cairn_error *error);
/* The newest object's id, for looking only. */
int store_last_object(struct cairn_store *store, uint64_t *id,
                      struct cairn_error *error);
struct object_size {
    uint64_t id, bytes; /* as stored */
    struct digest digest;
};
/* Those with after < id <= up_to, by id, at most `limit`. */
int store_each_object(struct cairn_store *store, uint64_t after, uint64_t up_to,
                      uint32_t limit, int (*each)(void *, const struct object_size *),
                      void *context, struct cairn_error *error);
/* *deleted is false if it was used again. */
int store_delete_object(struct cairn_store *store, const struct object_size *object,
                        bool *deleted, struct cairn_error *error);
typedef int used_object_fn(void *context, uint64_t run, const struct digest *object);
/* Graphs that rows of runs and generations name. */
int store_each_used_graph(struct cairn_store *store, used_object_fn *each,
                          void *context, struct cairn_error *error);
/* Objects that attempts name, by key: at most `limit` rows after `from`, which is set
 * to the last one. *rows: how many there were. A digest that cannot be one is
 * CAIRN_EDAMAGED. */
struct attempt_key {
    uint64_t run, gen, task, n;
};
int store_each_used_object(struct cairn_store *store, struct attempt_key *from,
                           uint32_t limit, used_object_fn *each, void *context,
                           uint32_t *rows, struct cairn_error *error);
/* Whether a run newer than `after` forks from `run`. */
int store_has_new_fork(struct cairn_store *store, uint64_t run, uint64_t after,
                       bool *has, struct cairn_error *error);
/* The row and the graphs of its generations; the rest of it is left over. */
int store_remove_run(struct cairn_store *store, uint64_t run,
                     struct cairn_error *error);
int store_count_attempts(struct cairn_store *store, uint64_t run, uint64_t *count,
                         struct cairn_error *error);
/* Numbers of removed runs that other tables still have rows of. */
int store_each_leftover(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error);
/* Deletes at most `limit` rows; *attempts of them were attempts. *rows 0: none left. */
int store_delete_leftovers(struct cairn_store *store, uint64_t run, uint32_t limit,
                           uint32_t *rows, uint32_t *attempts,
                           struct cairn_error *error);

/* ---- Losses ---- */

/* Checkpoints that attempts name, and content that attempts and runs name, which are
 * not there and neither deleted nor known to be lost. */
int store_each_lost_checkpoint(struct cairn_store *store,
                               int (*each)(void *, uint64_t run, uint64_t seq),
                               void *context, struct cairn_error *error);
int store_each_lost_object(struct cairn_store *store,
                           int (*each)(void *, const char *hex), void *context,
                           struct cairn_error *error);
/* Ranges of numbers of checkpoints that were given out, and that nothing is left of. */
int store_each_gap(struct cairn_store *store,
                   int (*each)(void *, uint64_t first, uint64_t last), void *context,
                   struct cairn_error *error);
/* Content, by the hex digits of its digest, that a repair could not save. */
int store_put_known_loss(struct cairn_store *store, const char *hex,
                         struct cairn_error *error);
int store_is_known_loss(struct cairn_store *store, const char *hex, bool *known,
                        struct cairn_error *error);
/* Whether that checkpoint was ever found to be damaged. */
int store_was_quarantined(struct cairn_store *store, uint64_t seq, bool *was,
                          struct cairn_error *error);

/* ---- Health ---- */

/* What the write-ahead log tells, as far as nobody is writing it. */
enum log_health {
    LOG_WHOLE,
    LOG_ENDS_EARLY, /* its last transaction is cut off, or so may be the log itself */
    LOG_LOST        /* what was committed cannot be read any more */
};
enum log_health store_log_health(struct cairn_store *store);

/* Checks the checksums of all rows that are neither checkpoints, objects nor runs. */
struct bad_row {
    const char *what;
    uint64_t run; /* of a command or claim */
    bool hmac;    /* only its HMAC is not of the handle's key */
};
int store_verify_rows(struct cairn_store *store,
                      int (*bad)(void *, const struct bad_row *), void *context,
                      struct cairn_error *error);
/* Compares the tables with those that a store of its version has. */
int store_check_schema(struct cairn_store *store, int (*each)(void *, const char *line),
                       void *context, struct cairn_error *error);
/* The pages, and whether the indexes fit the tables; each line that is not "ok". */
int store_check_pages(struct cairn_store *store, int (*each)(void *, const char *line),
                      void *context, struct cairn_error *error);

#endif
