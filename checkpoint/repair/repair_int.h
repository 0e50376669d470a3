/* SPDX-License-Identifier: MIT */
/* A repair under way; shared by the files repair*.c. */
#ifndef CHECKPOINT_REPAIR_REPAIR_INT_H
#define CHECKPOINT_REPAIR_REPAIR_INT_H

#include "base/arena.h"
#include "base/map.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/repair/repair.h"
#include "checkpoint/tombstones_int.h"
#include "storage/rescue/rescue.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"

/* What is known of a record, there or lost. */
struct known_record {
    uint64_t seq;
    uint8_t namespace_id;
    uint64_t stream;      /* 0: not known */
    struct digest digest; /* zeros: not known */
};

/* A record of the new store as its chain sees it. */
struct link {
    struct known_record record; /* first, to be sorted like one */
    uint64_t position;
    uint64_t parent; /* column */
    uint64_t base;   /* full record of a delta, 0: it is one */
    struct digest parent_digest;
    bool dropped;
};

/* The row of a run whose checksum does not hold: any of it may be wrong. */
struct bad_run {
    struct run_row row; /* texts in the repair's arena */
    bool keyed;
};

struct repair {
    struct rescue *rescue;
    struct cairn_store *store; /* the new one */
    struct sha256 *sha;
    const struct repair_options *options;
    bool stop;
    struct cairn_repair_result result;
    struct tombstones deleted; /* ranges, noted in the damaged store */
    struct link *links;        /* of all records that are saved */
    size_t n_links, link_room;
    struct known_record *lost; /* may repeat until repair_forget_found */
    size_t n_lost, lost_room;
    struct seqs lost_seqs; /* of all of them, once they are known */
    struct seqs lost_runs; /* whose newest rows are damaged, or gone */
    struct seqs bare_runs; /* of which there is no record */
    struct seqs gone_seqs; /* of records that nothing is left of */
    struct bad_run *bad_runs;
    size_t n_bad_runs, bad_run_room;
    struct attempt_row *bad_attempts; /* only their keys and intents are there */
    size_t n_bad_attempts, bad_attempt_room;
    struct seqs bad_objects; /* numbers of damaged rows; 0: told of as lost content */
    struct map bad_digests;  /* in hex, in `arena`: their places in bad_objects */
    struct arena arena;
    bool nomem;
    struct cairn_error *error;
};

/* Counts and tells one loss. */
void repair_tell(struct repair *r, const struct cairn_loss *loss, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));
/* "run"; "stream" where the kind is not known. */
const char *repair_stream_noun(const struct repair *r, uint8_t namespace_id);
int repair_lose(struct repair *r, const struct known_record *record);
/* Every valid record into the new store; those that were lost into r->lost. */
int repair_take_records(struct repair *r);
/* Loads r->links, by seq, and puts the numbers of parents right; a record whose
 * parent's number is another's by now is lost. */
int repair_parents(struct repair *r);
/* Takes out of r->lost what came back from elsewhere, and what is there twice. Sorts it
 * by seq. */
int repair_forget_found(struct repair *r);
/* Adds those that other rows name, and tells and remembers all of them. */
int repair_find_losses(struct repair *r);
/* Tasks that run again, and content that is lost. */
int repair_tell_losses(struct repair *r);
/* Remembers what there is of a damaged row. */
void repair_note_run(struct repair *r, const struct salvage_row *row);
void repair_note_attempt(struct repair *r, const struct salvage_row *row);
void repair_note_object(struct repair *r, const struct salvage_row *row);
/* Rows of runs that are damaged or gone, from what the other rows tell; and attempts
 * whose rows are lost as interrupted ones: that they began is known. */
int repair_runs(struct repair *r);
int repair_attempts(struct repair *r);
/* Makes the chains verify across what is lost: a note about each gap, as for deleted
 * ranges, and one behind the last record of a stream whose newest ones are lost, so
 * that their numbers are never used again. */
int repair_chains(struct repair *r);

#endif
