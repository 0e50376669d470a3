/* SPDX-License-Identifier: MIT */
/* cairn: the checkpoints of a store, their verification and their heads. */
#ifndef CAIRN_CHECKPOINT_H
#define CAIRN_CHECKPOINT_H

#include "error.h"
#include "outcome.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_ID_MAX 48 /* bytes of a printed id, with the final NUL */

enum cairn_namespace {
    CAIRN_NAMESPACE_ANY = 0,      /* of a filter */
    CAIRN_NAMESPACE_WORKFLOW = 1, /* checkpoints of runs */
    CAIRN_NAMESPACE_DEBUG = 2     /* checkpoints of debugging sessions */
};

/* What does not apply to the namespace is 0 or empty. Texts are UTF-8; one that is
 * longer than its place is cut at a character and ends with an ellipsis (U+2026). */
struct cairn_checkpoint_info {
    uint64_t seq;
    char id[CAIRN_ID_MAX]; /* workflow:42-9f3ac1d20b7e, debug:43-0b1c2d3e4f5a */
    enum cairn_namespace namespace_id;
    char workflow[256];
    uint64_t run;
    uint64_t session; /* 0 also where the row of its branch is damaged or lost */
    uint64_t branch;  /* of the session */
    char session_name[256], branch_name[256];
    uint32_t trigger;  /* why it was made: a number */
    char message[256]; /* of a person, or of the trigger */
    char tags[256];    /* joined by commas, which no tag has in it */
    uint64_t parent;   /* seq, 0: the first of its stream or pruned */
    int64_t time_ns;
    bool full;
    bool head;         /* newest of its run or branch */
    bool damaged;      /* then only seq, run, branch and what the row itself says is
                          set */
    bool part_lost;    /* a repair could not save something that it needs, such as files
                          of a session or the graph of a run, which is in its full
                          checkpoints only */
    uint64_t position; /* number of the record in its stream, from 1; 0 when damaged */
    uint32_t bytes;    /* stored size of the record */
    uint32_t changes;  /* outcomes in a delta */
    uint32_t total, completed, failed, skipped, cancelled; /* when `counted` */
    bool counted;
    char digest[65]; /* SHA-256 of the record, hex */
};

/* All that is set must hold. What only runs have and what only sessions have together
 * is CAIRN_EUSAGE. */
struct cairn_checkpoint_filter {
    size_t size;              /* of this struct, or 0 */
    const char *workflow;     /* NULL: any */
    uint64_t run;             /* 0: any */
    uint64_t session, branch; /* 0: any */
    enum cairn_namespace namespace_id;
    struct cairn_page page;
};

/* Checkpoints by seq, newest first. With a session, CAIRN_EDAMAGED if the row of a
 * branch is damaged, since it may be one of it. With a key, CAIRN_EDAMAGED after the
 * last one if the row of a run is forged: its checkpoints are listed as damaged. */
CAIRN_API int cairn_checkpoint_list(
    struct cairn_store *store, const struct cairn_checkpoint_filter *filter,
    int (*each)(void *, const struct cairn_checkpoint_info *), void *context,
    uint64_t *total, struct cairn_error *error);
/* One checkpoint by id: `workflow:42-9f3ac1d20b7e`, `debug:42`, `42`, or 4 or more hex
 * digits of its digest. Verified, rebuilt and counted. ENOTFOUND (also if a record
 * that it needs was deleted), EAMBIGUOUS or EDAMAGED otherwise; a digest part that does
 * not match is refused. */
CAIRN_API int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                                   struct cairn_checkpoint_info *out,
                                   struct cairn_error *error);
/* The newest valid checkpoint of those that the filter selects; its page is ignored.
 * `skipped` (may be NULL): how many newer ones are damaged or cannot be rebuilt. */
CAIRN_API int cairn_checkpoint_newest(struct cairn_store *store,
                                      const struct cairn_checkpoint_filter *filter,
                                      struct cairn_checkpoint_info *out,
                                      uint32_t *skipped, struct cairn_error *error);
/* The outcome of every task at a checkpoint of a run. */
CAIRN_API int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                                     int (*each)(void *, const char *task,
                                                 enum cairn_outcome outcome,
                                                 uint32_t attempts),
                                     void *context, struct cairn_error *error);

/* The values that its completed tasks had told by then, as cairn_values has them. */
CAIRN_API int cairn_checkpoint_values(struct cairn_store *store, const char *id,
                                      int (*each)(void *, const char *task,
                                                  const char *name, const char *value),
                                      void *context, struct cairn_error *error);

enum cairn_problem_kind {
    CAIRN_PROBLEM_DAMAGE, /* bytes differ from what was written, or are missing */
    CAIRN_PROBLEM_HMAC,   /* intact, but without an HMAC of the key */
    CAIRN_PROBLEM_KEY,    /* no HMAC in the store matches: it is the wrong key */
    CAIRN_PROBLEM_HEAD,   /* contradicts an exported head */
    CAIRN_PROBLEM_UNREAD, /* no damage: intact records of a kind that this release does
                             not know, which were checked but for what they mean */
    CAIRN_PROBLEM_LOST    /* no damage any more: the record is intact, and a repair
                             could not save something that it needs */
};

struct cairn_problem {
    uint64_t seq;          /* of the checkpoint, 0: something else */
    char id[CAIRN_ID_MAX]; /* as far as it is known */
    const char *text;      /* what is wrong and what it means */
    enum cairn_problem_kind kind;
    const char *object; /* the damaged or missing content, SHA-256 in hex, or NULL;
                           cairn_files_damaged names the files that need it */
};

struct cairn_verify_result {
    uint64_t checked, damaged; /* records */
    uint64_t objects, bad_objects;
    uint64_t pruned; /* covered by tombstones */
    int64_t duration_ms;
    uint64_t hmacs;           /* intact records that carry one */
    uint64_t unchecked_hmacs; /* of these, not checked because no key was given */
    uint64_t unkeyed_runs;    /* with a key given: runs, and branches of sessions,
                                 recorded without one; still verified, but nothing
                                 proves who wrote them */
    uint64_t bad_hmacs; /* also in `damaged`: intact, but without an HMAC of the key */
    uint64_t unkeyed_branches; /* of unkeyed_runs: sessions have no key */
    uint64_t part_lost; /* records that lack what a repair could not save; intact */
};

/* Checks one checkpoint (id), or every record, chain link and object (id NULL).
 * Returns CAIRN_EDAMAGED if anything is wrong, after reporting every problem. */
CAIRN_API int cairn_checkpoint_verify(struct cairn_store *store, const char *id,
                                      int (*each)(void *, const struct cairn_problem *),
                                      void *context, struct cairn_verify_result *result,
                                      struct cairn_error *error);

/* The newest records, to be kept outside the store: comparing with them is the only way
 * to notice that whole records were removed or the store replaced by an older copy. */
struct cairn_head_store {
    char store[33];    /* the store's id */
    uint64_t next_seq; /* of the next checkpoint */
};

struct cairn_head {
    uint64_t run;    /* 0: it is of a branch */
    uint64_t branch; /* of a session; 0: it is of a run */
    uint64_t seq, position;
    uint64_t records;      /* of the run or branch that are stored */
    char id[CAIRN_ID_MAX]; /* made from seq and digest */
    char digest[65];       /* SHA-256 of the record, hex */
};

/* The newest record of a run; 0: of every run and then of every branch of a session,
 * the oldest first. CAIRN_EDAMAGED if one of them, or the row of a branch, is. */
CAIRN_API int cairn_checkpoint_head(struct cairn_store *store, uint64_t run,
                                    int (*each)(void *, const struct cairn_head *),
                                    void *context, struct cairn_head_store *of,
                                    struct cairn_error *error);
/* Compares with heads that were exported before; later records and deleted ones are
 * fine. Returns CAIRN_EDAMAGED after reporting what is missing, replaced or older. */
CAIRN_API int cairn_checkpoint_compare(struct cairn_store *store,
                                       const struct cairn_head_store *of,
                                       const struct cairn_head *heads, size_t n,
                                       int (*each)(void *,
                                                   const struct cairn_problem *),
                                       void *context, struct cairn_error *error);

/* ---- Labels and notes ----
 *
 * Labels and notes, which are put on checkpoints of runs and of sessions after they
 * were made. They are not part of the record, and are deleted with it. */

#define CAIRN_LABEL_MAX 128 /* bytes of a label, with the final NUL */

struct cairn_annotation {
    uint32_t n;           /* number on its checkpoint, from 1 */
    bool label;           /* else a note */
    const char *text;     /* views, during the callback */
    const char *severity; /* of a note: "info", "warning" or "critical" */
    int64_t time_ns;      /* UTC: when it was put there */
};

/* Labels a checkpoint (id as for cairn_checkpoint_get), or takes a label off it. Two of
 * them have an effect: one labelled `keep` stays when others are pruned, and one
 * labelled `broken` is not resumed from or restored unless that is forced.
 * CAIRN_EUSAGE: the label is empty, too long, has white space in it, or is there
 * already (or not there). */
CAIRN_API int cairn_checkpoint_label(struct cairn_store *store, const char *id,
                                     const char *label, bool on,
                                     struct cairn_error *error);
/* Adds a note of at most 64 KiB; `severity` NULL: info. */
CAIRN_API int cairn_checkpoint_note(struct cairn_store *store, const char *id,
                                    const char *text, const char *severity,
                                    struct cairn_error *error);
/* By number. The callback must not use the store. */
CAIRN_API int cairn_checkpoint_annotations(struct cairn_store *store, const char *id,
                                           int (*each)(void *,
                                                       const struct cairn_annotation *),
                                           void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
