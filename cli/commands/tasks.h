/* SPDX-License-Identifier: MIT */
/* The tasks of a run as rows: filtered by --state, sorted, with the members of a large
 * group in one row; with their values, and with the claims of external tasks. */
#ifndef CLI_COMMANDS_TASKS_H
#define CLI_COMMANDS_TASKS_H

#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"

#include <stdbool.h>

#define TASK_STATES                                                                   \
    "running,interrupted,pending,completed,failed,skipped,excluded,cancelled,undone," \
    "unknown"
#define RUN_STATES "running,waiting,interrupted,completed,failed,cancelled,undone"

/* Whether the list has the word. */
bool state_list_has(const char *list, const char *word);
/* 0 if each state of the list is one of `words`; else says which there are. */
int state_list_check(const char *list, const char *words);

struct open_step {
    uint32_t node;
    bool claimed;
    char *holder; /* of the claim, or NULL */
    int64_t left_ms, claimed_ns;
    uint32_t lost; /* leases */
};

struct open_steps {
    struct open_step *at; /* [n] by node */
    uint32_t n, capacity, claimed;
    bool failed; /* out of memory */
};

/* Who does it: "by kim@host for another 9m, since ...; 2 leases ran out before". Nobody
 * (`holder` NULL): how many ran out, or nothing. */
enum { LEASE_WORDS_MAX = 480 };

const char *lease_words(char out[LEASE_WORDS_MAX], const char *holder, int64_t left_ms,
                        int64_t since_ns, uint32_t lost);
/* 0 or an exit status; released by open_steps_release, whatever it is. */
int open_steps_read(struct open_steps *steps, struct cairn_store *store, uint64_t run);
/* That of a task, or NULL. */
const struct open_step *open_steps_find(const struct open_steps *steps, uint32_t node);
void open_steps_release(struct open_steps *steps);

struct told_value {
    char *task, *name, *value;
};

struct told_values {
    struct told_value *at; /* [n] */
    size_t n;
    bool sorted; /* by task: when one was asked for */
    bool failed; /* out of memory */
};

/* Those of a run; `task` NULL: of all its tasks. Returns an exit status. Values that
 * cannot be read are reported, and the others are there. */
int told_values_read(struct told_values *values, struct cairn_store *store,
                     uint64_t run, const char *task);
/* Callback of cairn_checkpoint_values; the context is a struct told_values. */
int told_values_add(void *values, const char *task, const char *name,
                    const char *value);
void told_values_release(struct told_values *values);
/* The member "values" of a task: an object of texts by name. */
void told_values_document(struct told_values *values, struct doc *doc,
                          const char *task);
/* A line for each value of a task: NAME = VALUE. */
void told_values_print(struct told_values *values, const char *task);

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
