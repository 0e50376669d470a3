/* SPDX-License-Identifier: MIT */
/* The tasks of a run as rows: those in some states, in some order, large groups in one
 * row. */
#ifndef CLI_TASKS_TASK_ROWS_H
#define CLI_TASKS_TASK_ROWS_H

#include "cli/options.h"

/* Groups with more members than this are one row. */
#define FOLDED_MEMBERS 20

struct task_row {
    struct cairn_task_info task; /* its texts are the row's */
    /* Of its attempts, without those at its undo; -1: there are none. One that runs
     * counts up to now. */
    int64_t all_ms; /* of all of them */
    /* Of the newest, and those that failed right before it; 0: none has ended or runs.
     */
    uint32_t latest;
    int64_t latest_ms, first_started_ns;
};

struct task_rows {
    struct task_row *at; /* [n] */
    size_t n, capacity;
    bool failed; /* out of memory */
};

/* running, interrupted, or the outcome: the word of --state and of JSON. */
const char *task_state_word(const struct cairn_task_info *task);
/* Those that --state selects, in the order of --sort. Returns an exit status; released
 * by task_rows_release, whatever it is. */
int task_rows_read(struct task_rows *rows, const struct settings *settings,
                   struct cairn_store *store, uint64_t run);
/* Adds a copy. False: out of memory, which `failed` says, too. */
bool task_rows_add(struct task_rows *rows, const struct cairn_task_info *task);
void task_rows_release(struct task_rows *rows);
/* How many rows from `i` on are members of one group; 1 for a task of its own. */
size_t task_rows_group(const struct task_rows *rows, size_t i);
/* Columns of the names; `folded`: large groups have a row of their own. */
int task_rows_width(const struct task_rows *rows, bool folded);
/* "  12 tasks  convert  10 completed, 2 failed  0.10s to 3.20s" */
void task_rows_print_group(const struct task_rows *rows, size_t i, size_t n);
/* Its texts are those of the task. */
struct task_row task_row_of(const struct cairn_task_info *task);
/* Milliseconds of the newest attempt, up to now if it runs; -1: it has none. */
int64_t task_row_duration(const struct cairn_task_info *task);

#endif
