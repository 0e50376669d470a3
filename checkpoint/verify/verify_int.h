/* SPDX-License-Identifier: MIT */
/* One verification under way; shared by the files verify*.c. */
#ifndef CHECKPOINT_VERIFY_VERIFY_INT_H
#define CHECKPOINT_VERIFY_VERIFY_INT_H

#include "base/memory.h"
#include "cairn/checkpoint.h"
#include "checkpoint/chain.h"
#include "checkpoint/tombstones_int.h"
#include "checkpoint/verify/verify.h"
#include "storage/rows_checkpoint.h"

/* What can be decided only when every damaged record is known: whether the record that
 * another one needs is there. */
struct question {
    uint8_t namespace_id;
    uint64_t stream;
    uint64_t seq;    /* the record that needs the target */
    uint64_t target; /* its parent or full record */
    struct digest digest;
    bool base;    /* target is its full record; else its parent, with `digest` */
    uint64_t gap; /* missing positions before it that no tombstone explains */
    char id[CAIRN_ID_MAX];
};

struct needed_root {
    struct digest digest; /* first, to be sorted by */
    bool is_node;         /* it refers to others, which are needed, too */
    uint8_t namespace_id;
    uint64_t seq;     /* the lowest of the records that need it */
    uint64_t records; /* how many */
};

struct stream_state; /* verify_rows.c */

struct verifier {
    struct cairn_store *store;
    struct sha256 *sha;
    const struct payload_kinds *kinds;
    const struct verify_reader *reader;
    bool stop;          /* the callback wants no more */
    const char *object; /* that the problem at hand is of, in hex, or NULL */
    bool one;           /* one checkpoint is verified, not everything */
    struct cairn_verify_result result;
    bool bad_database; /* its pages, not what stands in them */
    bool other_key;    /* no HMAC in the store is of the key */
    struct tombstones tombstones;
    struct seq_set damaged;
    struct seq_set unkeyed; /* with a key: runs that were recorded without one */
    struct seq_set refused; /* runs whose rows failed verification */
    uint64_t n_damage;      /* problems that are damage */
    struct question *questions;
    size_t n_questions, question_room;
    struct needed_root
        *roots; /* objects that records cannot be used without; may repeat */
    size_t n_roots, root_room;
    uint64_t unread[NAMESPACE_DEBUG + 1]; /* records of kinds that are not known */
    struct stream_state *streams;
    size_t n_streams, stream_room;
    struct map stream_index;
    struct arena keys;
    struct cairn_error *error;
};

/* Calls the reader and, with a seq, counts one damaged record. `id` may be NULL.
 * Returns 0, or 1 to stop. */
int verify_report(struct verifier *v, uint64_t seq, const char *id, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* The same for a problem of another kind than damage. */
int verify_report_as(struct verifier *v, enum cairn_problem_kind kind, uint64_t seq,
                     const char *id, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Reports a damaged row and remembers it. */
int verify_damaged(struct verifier *v, enum cairn_problem_kind kind,
                   const struct checkpoint_row *row, const char *reason);
/* With a key: whether no HMAC in the store is of it, though there are some. */
int verify_other_key(struct verifier *v, bool *other);
/* With a key: whether the row is sound except for its HMAC. */
bool verify_only_hmac_fails(struct verifier *v, const struct checkpoint_row *row);
/* Every row in order of seq: bytes, columns, payload, direct links. */
int verify_rows(struct verifier *v);
void verify_rows_release(struct verifier *v);
/* Adds a question; verify_questions answers all. */
int verify_add_question(struct verifier *v, const struct question *question);
int verify_questions(struct verifier *v);
/* Every object that records cannot be used without is in the pool. Records are noted by
 * ascending seq. */
int verify_note_root(struct verifier *v, uint8_t namespace_id, uint64_t seq,
                     const struct digest *digest, bool is_node);
int verify_roots(struct verifier *v);
/* Reports the record `seq`, or with 0 each record, that needs what a repair could not
 * save. Those that are damaged were reported before. */
int verify_losses(struct verifier *v, uint64_t seq);
/* Reports artifacts that are not whole. */
int verify_files(struct verifier *v);
/* Chunks of logs. */
int verify_logs(struct verifier *v);
/* Reports a damaged object, and which records cannot be used because of it. */
int verify_bad_object(struct verifier *v, const char *digest_hex_text, const char *why);
/* Records whose payloads were not read, since their kinds are unknown: no damage. */
int verify_report_unread(struct verifier *v);

/* Fills v->unkeyed and v->refused. */
int verify_note_runs(struct verifier *v);
bool verify_is_unkeyed(const struct verifier *v, uint8_t namespace_id, uint64_t stream);
bool verify_is_refused(const struct verifier *v, uint8_t namespace_id, uint64_t stream);
/* The rows of runs; other rows about runs. */
int verify_runs(struct verifier *v);
int verify_run_rows(struct verifier *v);

/* Reports threads whose index differs from their records. */
int verify_threads(struct verifier *v);

/* The line of one checkpoint, as far back as it goes. */
int verify_messages_at(struct verifier *v, uint64_t seq);

#endif
