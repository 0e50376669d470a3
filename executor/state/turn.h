/* SPDX-License-Identifier: MIT */
/* What waits for the next commit: endings, intents, offers, and how far stored commands
 * were taken; and the queue of durable intents, from the commit that stored them to
 * their start. turn.c is the only writer of `turn` and `starts`.
 *
 * Until the commit, endings and intents stay in their lists. What is reported or
 * started is marked `acted`: usually after the commit; before it only while saving
 * fails and the policy is best effort. */
#ifndef EXECUTOR_STATE_TURN_H
#define EXECUTOR_STATE_TURN_H

#include "checkpoint/payload.h"
#include "process/capture.h"
#include "storage/rows_attempt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an attempt runs: the task itself, its check after it completed, the check that
 * decides an unknown task, its undo; or, beside a service, what asks whether that is
 * ready. */
enum job_role { ROLE_TASK, ROLE_CHECK, ROLE_DECIDE, ROLE_UNDO, ROLE_READY };

struct intent {
    uint32_t task, attempt;
    int64_t intent_ns;
    uint64_t turn;  /* in which it was stored */
    uint64_t order; /* in the queues of turn.c */
    enum job_role role;
    bool merged;   /* what it writes is one log */
    bool fallback; /* it runs the `fallback` of the task */
    bool acted;
    bool withheld; /* it was reported that it waits for saving */
};

/* Those of its row that are known with it, but for its role. */
uint16_t intent_flags(const struct intent *intent);

struct intent_list {
    struct intent *at;
    uint32_t n;
    size_t capacity;
};

struct start_queue { /* to be started, from `head` on */
    struct intent_list list;
    uint32_t head;
};

/* Callbacks that run one at a time have a queue of their own: while one runs, they must
 * not hold up what stands behind them. */
struct starts {
    struct start_queue queue, calls;
    uint64_t added;
    struct intent_list dropped; /* not to be started any more */
};

static inline uint32_t start_queue_count(const struct start_queue *queue)
{
    return queue->list.n - queue->head;
}

static inline uint32_t starts_count(const struct starts *starts)
{
    return start_queue_count(&starts->queue) + start_queue_count(&starts->calls);
}

/* The next one to be started; there must be one. */
static inline const struct intent *start_queue_first(const struct start_queue *queue)
{
    return &queue->list.at[queue->head];
}

/* `call`: a callback that runs beside no other one. */
int starts_add(struct starts *starts, const struct intent *intent, bool call);
/* The queue whose first one comes next, or NULL. `busy`: not that of `calls`. */
struct start_queue *starts_next(struct starts *starts, bool busy);
struct intent start_queue_take(struct start_queue *queue);
/* Frees the room of what was taken, now and then. */
void starts_compact(struct starts *starts);
/* A taken intent that is not started: its row is closed at the end of the run. */
int starts_drop(struct starts *starts, const struct intent *intent);
void starts_release(struct starts *starts);

struct engine;

struct offer { /* an external task that can be done; reported once durable */
    uint32_t task;
    char *text;
};

struct skip {             /* a task that ended without being started */
    uint32_t task, cause; /* cause: what it needs, or NODE_NONE */
    uint8_t outcome;      /* CAIRN_SKIPPED or CAIRN_EXCLUDED */
};

struct skip_list {
    struct skip *at;
    uint32_t n;
    size_t capacity;
    bool withdrawn; /* all of them were: they are added tasks */
};

struct ending { /* the end of an attempt, until it is committed and reported */
    struct attempt_row row; /* number 0: no attempt, only a change. out, err, outputs
                               and text are set when stored */
    bool final, acted;      /* final: `change` is recorded */
    bool settled;           /* `change` is the task's outcome: what follows from it is
                               decided by ending.c */
    struct change change;
    bool unseen; /* how its process ended could not be learned */
    struct captured captured[2];
    uint64_t told[2];          /* bytes of them that TASK_OUTPUT has told */
    struct buf times;          /* of the growth of a merged log (base/log_times.h) */
    struct buf result;         /* encoded; empty: no values, no files */
    const struct result *same; /* of one that is spared: its result is the other one's,
                                  which the store has under the digest in `change`;
                                  `result` is empty then. NULL: it is not */
    struct buf left; /* of one that failed: its outputs that it has written, encoded
                          as those of a result; set before the commit */
    bool left_known;
    bool has_artifacts;      /* they are in the pool: ... */
    struct digest artifacts; /* ... a snapshot; zeros: nothing matched */
    bool spared;             /* the task was not run: another attempt has done it ... */
    struct digest stored[2]; /* ... whose output is in the store; zeros: none */
    uint64_t spared_run; /* ... in this run, from which its artifacts come; 0: in the
                            same */
    uint32_t spared_attempt;
    bool put_back;        /* its outputs were, so that it has made them */
    bool has_copies;      /* copies of its outputs are in the pool: ... */
    struct digest copies; /* ... a snapshot */
    struct buf text;
    int64_t duration_ms, reading_ms, next_ms;
    struct skip_list skipped; /* tasks that cannot run because of it */
    uint64_t seq;             /* of its checkpoint */
    bool kept;                /* a keeper has it */
    bool
        has_files; /* files of `id` with its output and values: until it is committed */
    struct attempt_id id;
    uint32_t note; /* where its end is noted, until it is committed */
};

struct turn {
    uint32_t *attempts; /* [n_tasks] number of the newest attempt */
    struct ending *endings;
    uint32_t n_endings;
    size_t endings_capacity;
    uint32_t n_checked; /* of the endings: ending.c has read those before it */
    struct intent_list intents;
    struct offer *offers;
    uint32_t n_offers;
    size_t offers_capacity;
    uint64_t last_command;   /* id of the newest command that was applied */
    uint64_t stored_command; /* ... and marked as taken */
    uint32_t unacted; /* endings and intents that were neither reported nor started */
    uint32_t unacted_intents;
    int64_t unacted_ns; /* monotonic: since when there are any; 0: none was seen */
};

int turn_open(struct engine *e, struct cairn_error *error);
/* The graph has more tasks than the `before`. CAIRN_ENOMEM. */
int turn_extend(struct engine *e, uint32_t before);
uint32_t turn_next_attempt(struct engine *e, uint32_t task);
/* The newest attempt was not begun after all. */
void turn_take_back_attempt(struct engine *e, uint32_t task);
/* The end of an attempt, to be filled in. It is in no list until it is added, and there
 * is one draft at a time. NULL: out of memory. */
struct ending *turn_draft_ending(struct engine *e, const struct intent *intent,
                                 struct cairn_error *error);
/* The newest draft; it stays where it is until the next one. */
void turn_add_ending(struct engine *e, const struct ending *ending);
void ending_release(struct ending *ending);
/* The files of an attempt go once its outcome is committed. */
void ending_remove_files(const struct ending *ending);
/* The next settled ending that was not returned before, or NULL. */
const struct ending *turn_next_settled(struct engine *e);
int turn_add_intent(struct engine *e, uint32_t task, enum job_role role);
/* After a halt: takes back what was not stored and may not start any more. */
void turn_withdraw_intents(struct engine *e);
/* At the end: an intent that was never acted on needs no row at all. One that was,
 * while saving failed, has an ending, which brings the row. */
void turn_discard_intents(struct engine *e);
int turn_add_offer(struct engine *e, uint32_t task, struct str text,
                   struct cairn_error *error);
void turn_note_command(struct engine *e, uint64_t id);
/* How long a commit may still wait for more to go with it; 0: not at all. */
int64_t turn_commit_delay_ns(struct engine *e);
/* Reports endings and offers and queues starts, each once. What must not run twice
 * waits until its intent is saved. */
void turn_act(struct engine *e, bool saved);
/* After the commit: all of it is stored. */
void turn_forget(struct engine *e);
/* The transaction was undone. */
void turn_drop_sequence_numbers(struct engine *e);
uint32_t turn_count_unsaved(const struct engine *e);
void turn_release(struct engine *e);

#endif
