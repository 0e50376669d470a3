/* A repair under way; shared by the files repair*.c. */
#ifndef CHECKPOINT_REPAIR_INT_H
#define CHECKPOINT_REPAIR_INT_H

#include "checkpoint/tombstones_int.h"
#include "storage/rescue.h"

/* What is known of a record that was lost. */
struct lost_record {
    uint64_t seq;
    uint8_t namespace_id;
    uint64_t stream;      /* 0: not known */
    struct digest digest; /* zeros: not known */
};

struct repair {
    struct rescue *rescue;
    struct cairn_store *store; /* the new one */
    struct sha256 *sha;
    int (*each)(void *, const struct cairn_loss *);
    void *context;
    bool stop;
    struct cairn_repair_result result;
    struct lost_record *lost;
    size_t n_lost, lost_room;
    struct seqs lost_runs; /* whose newest rows are damaged */
    bool nomem;
    struct cairn_error *error;
};

/* Counts and tells one loss. */
void repair_tell(struct repair *r, const struct cairn_loss *loss, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));
int repair_lose(struct repair *r, const struct lost_record *record);
/* Every valid record into the new store; those that were lost into r->lost. */
int repair_take_records(struct repair *r);
/* Takes out of r->lost what came back from elsewhere. */
int repair_forget_found(struct repair *r);
/* Adds those that other rows name, and tells and remembers all of them. */
int repair_find_losses(struct repair *r);
/* Tasks that run again, and content that is lost. */
int repair_tell_losses(struct repair *r);
/* Makes the chains verify across what is lost: a note about each gap, as for deleted
 * ranges, and one behind the last record of a stream whose newest ones are lost, so
 * that their numbers are never used again. */
int repair_chains(struct repair *r);

#endif
