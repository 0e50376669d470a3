/* SPDX-License-Identifier: MIT */
/* What attempts say about a task beyond its recorded outcome: the rules that plan,
 * explain, status and run share. Pure.
 *
 * The newest attempt decides, so a task has one mark or none (ENDED stands with another);
 * they are bits so that a set of them can be asked for.
 *
 *   mark         recorded as  means
 *   INTERRUPTED  pending      an attempt has begun, and its end is not known
 *   DAMAGED      pending      it ended, but the record of that is damaged or gone
 *   RESET        pending      it has run before, and that outcome was dropped so that
 *                             it runs again
 *   UNDOING      not undone   its undo has begun, and its end is not recorded
 *   OUTLIVED     pending      its attempt outlived the owner that began it: it still
 *                             runs under a keeper, or its end was recorded by its
 *                             keeper, or noted by its owner (process/end_notes.h)
 *   ENDED        pending      with OUTLIVED, where it was known when the run was
 *                             loaded: it has ended,
 *                             and that settles the task
 *   ENDED_BADLY  pending      with OUTLIVED: it has ended otherwise than with 0;
 *                             without ENDED another try follows, or its fallback
 *   REPORTED     failed       somebody outside reported the failure, and the run has
 *                             not ended since: it has still to deal with it
 *
 * INTERRUPTED and DAMAGED also stand with an outcome other than completed if only lost
 * records knew that the task was tried again. plan/situation_marks.c sets all of them
 * when a run is loaded; executor/open_run.c turns RESET into OUTLIVED for a keeper that
 * takes its attempt while the run is begun. */
#ifndef RUNS_MARKS_H
#define RUNS_MARKS_H

#include "checkpoint/outcomes.h"
#include "graph/definition.h"
#include "storage/rows_attempt.h"

enum mark {
    MARK_INTERRUPTED = 1,
    MARK_DAMAGED = 2,
    MARK_RESET = 4,
    MARK_UNDOING = 8,
    MARK_OUTLIVED = 16,
    MARK_REPORTED = 32,
    MARK_ENDED = 64,
    MARK_ENDED_BADLY = 128
};
/* The task may have done some of its work, or all, or none. */
enum { MARK_UNCERTAIN = MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING };

/* No end is known: it runs, or it was interrupted. */
bool attempt_is_open(const struct attempt_row *row);
/* When it ended, UTC; 0: that is not known. The row of one that was interrupted has the
 * time at which that was found, which may be days later. */
int64_t attempt_end_ns(const struct attempt_row *row);
/* It was only intended: its intent was withdrawn before anything started. To people it
 * is no attempt. One that has completed without a start did what another attempt had
 * done (plan/reuse.h). */
bool attempt_never_started(const struct attempt_row *row);
/* That other attempt's run, or 0: it was a real one; and the text that says so.
 * Its outputs are there, or so many bytes of them were put back (storage/sqlite/sql.c
 * reads the texts, too). */
uint64_t attempt_reused_from(const struct attempt_row *row);
void attempt_describe_reused(uint64_t run, struct buf *out);
void attempt_describe_put_back(uint64_t run, uint64_t bytes, struct buf *out);
/* The mark that this attempt leaves on a task that is recorded as pending, or 0. One
 * that completed all the same means a lost record only where records are gone:
 * otherwise the task was reset. Not for undos. */
uint8_t attempt_mark(const struct attempt_row *row, const struct recovery *recovery);
static inline bool outcome_is_skipped(uint8_t outcome)
{
    return outcome == CAIRN_SKIPPED || outcome == CAIRN_EXCLUDED;
}
/* Excluded, and not by its condition: an attempt ended with its `skip_exit`. */
static inline bool state_skipped_itself(const struct states *states, uint32_t task)
{
    return states->outcome[task] == CAIRN_EXCLUDED && states->attempts[task];
}
/* Pending, but with the number and the result of an attempt: a `once` task that has
 * completed, was skipped by an edit, and is asked about when it can start. Any other
 * pending task is recorded without them. */
static inline bool state_is_put_back(const struct states *states, uint32_t task)
{
    return states->outcome[task] == CAIRN_PENDING && states->attempts[task];
}
/* How an attempt failed. */
struct failure {
    int exit_code; /* -1: none */
    int signal;
    bool timed_out;
    bool checked; /* its check failed */
    bool unseen;  /* nobody saw its end */
};

/* Is it a failure that another attempt is worth? */
bool retry_is_for(const struct retry_policy *retry, const struct failure *failure);

/* Whether nobody can say if the task has done its work, and it must not run twice: it
 * waits for its check, or for `cairn resolve`. */
bool task_is_unknown(const struct task_def *def, uint8_t outcome, uint8_t marks);

#endif
