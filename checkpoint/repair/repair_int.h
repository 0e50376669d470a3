/* SPDX-License-Identifier: MIT */
/* A repair under way; shared by the files repair*.c. */
#ifndef CHECKPOINT_REPAIR_REPAIR_INT_H
#define CHECKPOINT_REPAIR_REPAIR_INT_H

#include "base/memory.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/repair/repair.h"
#include "checkpoint/tombstones_int.h"
#include "storage/rescue/rescue.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"

/* What is known of a record, kept or lost. */
struct known_record {
    uint64_t seq;
    uint8_t namespace_id;
    uint8_t other_namespace; /* of a lost one: that of its header, where the column
                                names another; else 0 */
    uint64_t stream;         /* 0: not known */
    struct digest digest;    /* zeros: not known */
};

/* A record of the new store as its chain sees it. */
struct chain_link {
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
    struct tombstones deleted; /* ranges, by the tombstones of the damaged store */
    struct chain_link *links;  /* of all records that are saved */
    size_t n_links, link_room;
    struct known_record *lost; /* may repeat until repair_forget_found */
    size_t n_lost, lost_room;
    struct seq_set lost_seqs; /* of all of them, once they are known */
    struct seq_set lost_runs; /* whose newest rows are damaged, or gone */
    struct seq_set bare_runs; /* of which there is no record */
    struct seq_set lost_sessions;
    struct seq_set lost_branches; /* each followed by its session */
    struct item_row *bad_items;   /* only their keys are there; session 0: made again */
    size_t n_bad_items, bad_item_room;
    uint64_t noted[TALLY_KINDS]; /* damaged rows that a tally counts */
    uint64_t lost_messages;      /* that were reported */
    struct seq_set gone_seqs;    /* of records that nothing is left of */
    struct bad_run *bad_runs;
    size_t n_bad_runs, bad_run_room;
    struct attempt_row *bad_attempts; /* only their keys and intents are there */
    size_t n_bad_attempts, bad_attempt_room;
    struct seq_set
        bad_objects;        /* numbers of damaged rows; 0: reported as lost content */
    bool lost_names;        /* something that may have named objects is lost */
    struct map bad_digests; /* in hex, in `arena`, to their indexes in bad_objects */
    struct arena arena;
    bool nomem;
    struct cairn_error *error;
};

/* Counts one loss and reports it to the caller. */
void repair_report_loss(struct repair *r, const struct cairn_loss *loss,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "run"; "stream" where the kind is not known. */
const char *repair_stream_noun(const struct repair *r, uint8_t namespace_id);
/* Adds one to r->lost. */
int repair_add_lost(struct repair *r, const struct known_record *record);
/* Puts every valid record into the new store, and those that were lost into r->lost. */
int repair_take_records(struct repair *r);
/* Loads r->links, by seq, and corrects the seqs of parents. A record for whose lost
 * parent no seq is free is dropped. */
int repair_parents(struct repair *r);
/* Removes from r->lost what was found elsewhere, and duplicates. Sorts it by seq. */
int repair_forget_found(struct repair *r);
/* Keep what is left of a damaged row. */
void repair_note_run(struct repair *r, const struct salvage_row *row);
void repair_note_attempt(struct repair *r, const struct salvage_row *row);
void repair_note_session_row(struct repair *r, const struct salvage_row *row);
/* Report rows that are missing, and set what must be there to what is: of all but
 * items; and of these, once those that the log or a checkpoint has are put again. */
int repair_tallies(struct repair *r);
int repair_items(struct repair *r);
/* Makes rows of sessions and branches again that other rows name. */
int repair_sessions(struct repair *r);
/* Make rows of runs again from other rows; and rows of attempts as interrupted ones,
 * since it is known that they began. */
int repair_runs(struct repair *r);
int repair_attempts(struct repair *r);
/* Makes the chains verify across what is lost: adds a tombstone for each gap, as for a
 * deleted range, and one behind the last record of a stream whose newest ones are lost,
 * so that their seqs are never used again. */
int repair_chains(struct repair *r);

#endif
