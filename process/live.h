/* SPDX-License-Identifier: MIT */
/* The directory of what lives, .cairn/live: the name of every file in it is made here,
 * and read here. A name is read only as it is written: with a sign, a leading zero or a
 * number that is too large it is nobody's.
 *
 *   run-N.slots                 who runs now (slots.h), with
 *   run-N.slots.new               the same before its rename, and
 *   run-N.slots.guard             the helper program, where it needs a file
 *   run-N.wake                  a fifo: the owner looks at its commands
 *   run-N.SALT.ends            how processes ended, until that is stored (end_notes.h)
 *   run-N.SLOT.out .err         output of the attempt in a slot
 *   run-N.SLOT.values.SALT      its values; the salt is that of the store, since tasks
 *                               write there by path: one whose store was replaced must
 *                               not write what a task of another store passes on
 *   run-N.GEN.TASK.ATTEMPT.out .err .values.SALT   of an attempt under a keeper
 *   run-N.GEN.TASK.ATTEMPT.inputs.SALT   the names of the inputs of any attempt
 *   run-N.GEN.TASK.ATTEMPT.keep   its claim and its record (keeper_file.h)
 *   run-N.SALT.room             the epoch of an owner: its keepers claim from in here
 *   run-N.SALT.room.gone          the same, closed, until it is removed
 *   keeper.PID.guard            the helper program again, for keepers
 *   pools                       who has, and who waits for, places that runs share
 *                               (runs/places.h)
 *
 * Numbers are decimal, a salt is 16 lower-case hexadecimal digits. */
#ifndef PROCESS_LIVE_H
#define PROCESS_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIVE_NAME = 96, /* the longest name, and its NUL */
    LIVE_PATH = PATH_MAX + LIVE_NAME
};

/* The identity of an attempt, and where its files are. */
struct attempt_id {
    const char *live_dir; /* borrowed */
    uint64_t run;
    uint32_t gen, task, attempt;
    uint64_t store; /* live_store: for what the task finds by path, else it may be 0 */
};

enum live_kind {
    LIVE_SLOTS,
    LIVE_SLOTS_NEW,
    LIVE_SLOTS_IMAGE,
    LIVE_WAKE,
    LIVE_SLOT_OUT,
    LIVE_SLOT_ERR,
    LIVE_SLOT_VALUES,
    LIVE_OUT,
    LIVE_ERR,
    LIVE_VALUES,
    LIVE_INPUTS,
    LIVE_CLAIM,
    LIVE_EPOCH,
    LIVE_EPOCH_GONE,
    LIVE_ENDS,
    LIVE_KINDS
};

/* What a name says; numbers that its kind does not have are 0. */
struct live_name {
    enum live_kind kind;
    uint64_t run;
    uint32_t slot;
    uint32_t gen, task, attempt;
    uint64_t salt;
};

struct live_name live_of_run(enum live_kind kind, uint64_t run);
struct live_name live_of_slot(enum live_kind kind, uint64_t run, uint32_t slot);
struct live_name live_of_attempt(enum live_kind kind, const struct attempt_id *id);
/* LIVE_SLOT_VALUES. */
struct live_name live_of_values(uint64_t run, uint32_t slot, uint64_t store);
/* The salt that stands for a store, from its identity. */
uint64_t live_store(const char *identity);
struct live_name live_of_epoch(enum live_kind kind, uint64_t run, uint64_t salt);

/* LIVE_NAME bytes at `out`. */
void live_format(char *out, const struct live_name *name);
/* False if it is no name of ours; *out is then untouched. */
bool live_parse(struct live_name *out, const char *text);
/* Does the file belong to this run, whatever it is? Also true for what no kind is. */
bool live_is_of_run(const char *text, uint64_t run);

/* DIR/name. False, and a path that is cut, if there is no room for it. */
bool live_path(char *out, size_t size, const char *live_dir, struct live_name name);
/* DIR/keeper.PID.guard. */
bool live_keeper_image(char *out, size_t size, const char *live_dir, int pid);

/* DIR/pools. */
bool live_pools(char *out, size_t size, const char *live_dir);

/* Makes a live owner look at its commands now, not within a second. */
void live_wake(const char *live_dir, uint64_t run);

#endif
