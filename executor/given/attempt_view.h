/* SPDX-License-Identifier: MIT */
/* An attempt of a stored run, with all that its texts could refer to when it started:
 * the definition of its generation, and how the tasks that it needs stood then.
 *
 * That is exact where the attempt has a checkpoint of its own. Else (it runs, it was
 * interrupted, another attempt followed, its checkpoint was deleted) the newest states
 * of the run are taken, and a task that has ended again since is put back to its last
 * attempt before, in the moment in which a text asks for it. */
#ifndef EXECUTOR_GIVEN_ATTEMPT_VIEW_H
#define EXECUTOR_GIVEN_ATTEMPT_VIEW_H

#include "runs/lookup.h"
#include "runs/stored.h"

struct attempt_view {
    struct cairn_store *store;
    struct stored_run run;        /* without its graph */
    uint32_t gen, task, attempt;  /* attempt 0: it has not started yet */
    uint64_t start_turn;          /* 0: not known */
    struct definition definition; /* of that generation; its root is where it is now */
    struct graph graph;
    struct states states; /* in the numbers of that graph */
    bool exact;
    char run_status[16]; /* in `finally`; "": not there */
    struct lookup lookup;
    struct asker asker;
};

/* run 0: that of run_choose; attempt 0: the newest that ran the task and not its undo.
 * A task that has none is seen as it is in the newest definition that has it.
 * On failure there is nothing to release. CAIRN_ENOTFOUND: no such run, task or
 * attempt; CAIRN_EDAMAGED, CAIRN_EUSAGE (the attempt ran the undo). */
int attempt_view_open(struct attempt_view *view, struct cairn_store *store,
                      uint64_t run, const char *task, uint32_t attempt,
                      struct cairn_error *error);
void attempt_view_release(struct attempt_view *view);
/* The scope of the task's texts. The view must live as long. */
struct scope attempt_view_scope(struct attempt_view *view);

#endif
