/* SPDX-License-Identifier: MIT */
/* Rows of commands to a run that is alive, and of claims of external tasks. */
#ifndef STORAGE_ROWS_COMMAND_H
#define STORAGE_ROWS_COMMAND_H

#include "base/str.h"
#include "cairn/store.h"

/* ---- Commands to a live run ---- */

/* Stored by other processes and taken by the run's owner. Taken ones are kept. */
enum command_verb {
    COMMAND_CANCEL = 1,
    COMMAND_COMPLETE, /* an external task; data: canonical values (buf_lstr pairs) */
    COMMAND_FAIL,     /* the same; data: the message */
    COMMAND_RESOLVE,  /* an unknown task; argument: enum cairn_resolution */
    COMMAND_ADD,      /* tasks, which belong to the run from then on, whether its owner
                         has taken the command or not; data: runs/additions.h */
    COMMAND_WITHDRAW, /* some of these do not any more; data: the same */
    COMMAND_TAKE_BACK, /* asks the owner of a live run to withdraw; its answer makes that a
                          COMMAND_WITHDRAW, or stands in the argument and the data */
    COMMAND_REFUSED /* was COMMAND_ADD: the text had the value of a secret, and is gone */
};
/* Of a COMMAND_TAKE_BACK that was answered. */
enum take_back_answer {
    TAKE_BACK_STARTED = 1, /* data: the name of one that has started */
    TAKE_BACK_OTHERS,      /* tasks were added or withdrawn since it was checked */
    TAKE_BACK_CALLED_OFF   /* by who asked */
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
 * row->id is 0 if there is none. The data is appended to `data`, and row->data points
 * into it until `data` grows. Does not take the command: that belongs to the
 * transaction that stores its outcome. CAIRN_EDAMAGED with row->id: that command failed
 * verification. */
int store_next_command(struct cairn_store *store, uint64_t run, uint64_t after,
                       struct command_row *row, struct buf *data,
                       struct cairn_error *error);
/* The command of a run with that id, in the same way; row->id is 0 if there is none. */
int store_get_command(struct cairn_store *store, uint64_t run, uint64_t id,
                      struct command_row *row, struct buf *data,
                      struct cairn_error *error);
typedef int command_row_fn(void *context, const struct command_row *row);
/* Those that added tasks to the run or withdrew some, in their order. CAIRN_EDAMAGED. */
int store_each_addition(struct cairn_store *store, uint64_t run, command_row_fn *each,
                        void *context, struct cairn_error *error);
/* The same of all stored runs of a workflow (its row id). */
int store_each_workflow_addition(struct cairn_store *store, uint64_t workflow,
                                 command_row_fn *each, void *context,
                                 struct cairn_error *error);
/* Marks it as taken with another verb, argument and data, so that of the former data
 * nothing stays in the database (secure_delete; the WAL may have it until its next
 * checkpoint). Needs a write transaction. */
int store_answer_command(struct cairn_store *store, const struct command_row *row,
                         struct cairn_error *error);
/* Marks all up to this id as taken. Needs a write transaction. */
int store_mark_commands(struct cairn_store *store, uint64_t run, uint64_t up_to,
                        struct cairn_error *error);
/* Marks those of one verb up to this id as taken. A damaged command stays, for the
 * owner to report. */
int store_drop_commands(struct cairn_store *store, uint64_t run, uint8_t verb,
                        uint64_t up_to, struct cairn_error *error);
/* The greatest id of all runs; 0: there is none. */
int store_newest_command(struct cairn_store *store, uint64_t *id,
                         struct cairn_error *error);
/* Whether there is a command that was not taken. `verb` (may be NULL): of the oldest.
 */
int store_has_command(struct cairn_store *store, uint64_t run, bool *has, uint8_t *verb,
                      struct cairn_error *error);
/* Whether this command was taken. */
int store_command_taken(struct cairn_store *store, uint64_t id, bool *taken,
                        struct cairn_error *error);

/* ---- Claims of external tasks ---- */

/* The end of a lease that was given back: such a lease did not run out. */
#define CLAIM_GIVEN_BACK 0
struct claim_row { /* the newest of a task */
    uint64_t run;
    uint32_t gen, task;
    struct str token, holder, boot; /* boot id of until_boot_ns */
    int64_t until_boot_ns;          /* CLOCK_BOOTTIME */
    int64_t time_ns;                /* UTC, of the claim */
    bool spent;                     /* completed or failed with it */
    bool sum_ok; /* set on read: verified; if not, only run, gen and task are usable */
};
/* Inserts or replaces. */
int store_put_claim(struct cairn_store *store, const struct claim_row *row,
                    struct cairn_error *error);
int store_drop_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     uint32_t task, struct cairn_error *error);
typedef int claim_row_fn(void *context, const struct claim_row *row);
/* All claims of a run and generation, by task. CAIRN_EDAMAGED after the last one if one
 * of them was damaged: the caller may treat its task as not claimed. */
int store_each_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     claim_row_fn *each, void *context, struct cairn_error *error);

#endif
