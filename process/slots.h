/* SPDX-License-Identifier: MIT */
/* The slots: who runs now. One shared mapping of memory connects
 *   - the engine and its spawner, which fill in a slot before a child exists,
 *   - the child, which puts its pid there before it execs, and
 *   - the guard, which ends every live group when the engine dies.
 * A copy in the file `live/run-N.slots`, written whenever a slot has got or lost its
 * process, is for
 *   - the next run, which finds left-overs and their output, and
 *   - `cairn status`, which shows what is running.
 * The file needs no sync: it matters only while the machine stays up, and boot_id
 * tells. Also compiled into the helper program: only libc, no other header of cairn. */
#ifndef PROCESS_SLOTS_H
#define PROCESS_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SLOTS_MAGIC = 0x736c6f74, SLOTS_VERSION = 3, SLOTS_TOKEN = 96 };

/* KEPT: the pid is that of a keeper (keeper.h), which outlives the engine. Set by the
 * spawner. */
enum { SLOT_KEPT = 1 };

/* The life of a slot:
 *
 *   free --spawner: used--> asked for --child: pid--> running --reap: pid 0--> ended
 *    ^                          | it could not start                            |
 *    +--- engine: used 0 -------+-----------------------------------------------+
 *
 * A keeper's slot of an earlier owner begins as running (keeper_to_slot). */
struct slot {
    _Atomic int32_t pid; /* 0: no process. Set by the child, cleared before reaping */
    uint32_t used;       /* 1: the process of an attempt was asked for here */
    uint32_t gen, task, attempt;
    uint32_t flags;
    int64_t spawn_boot_ns; /* CLOCK_BOOTTIME just before the clone */
    int64_t started_ns;    /* UTC */
};

/* Is it that of this attempt? It may have had another one since. */
static inline bool slot_has(const struct slot *slot, uint32_t gen, uint32_t task,
                            uint32_t attempt)
{
    return slot->used && slot->gen == gen && slot->task == task &&
           slot->attempt == attempt;
}

struct slots {
    uint32_t magic, version, n;
    uint32_t unsaved; /* outcomes that wait for a commit, for `cairn status` */
    char boot_id[40];
    char token[SLOTS_TOKEN]; /* every child has CAIRN_TOKEN=<token>.<task>.<attempt> */
    uint64_t run;
    int32_t owner_pid;
    int32_t guard_pid;
    uint64_t owner_start; /* clock ticks, as in /proc/PID/stat */
    uint64_t pid_ns; /* all of these numbers are of this PID namespace; 0: unknown */
    struct slot slot[];
};

/* Is a token, of slots or of an attempt, one of this store? Files that were copied with
 * a store name processes of the one that they come from. */
static inline bool slots_token_is_of(const char *token, const char *store_id)
{
    size_t len = strlen(store_id);
    return strncmp(token, store_id, len) == 0 && token[len] == '.';
}

static inline uint64_t slots_bytes(uint32_t n)
{
    return sizeof(struct slots) + (uint64_t)n * sizeof(struct slot);
}

#endif
