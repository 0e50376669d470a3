/* SPDX-License-Identifier: MIT */
/* The file of an attempt under a keeper, and the orders that a keeper gets. Compiled
 * into the library and into the helper program: nothing but libc.
 *
 * `run-N.GEN.TASK.ATTEMPT.keep`, KEEP_BYTES long, in the byte order of the machine (it
 * matters to this machine only), has two halves:
 *
 * - at 0 struct keep_start: who has the attempt; from the beginning, never changed;
 * - at KEEP_HALF struct keep_end: zeros until the task has ended.
 *
 * It appears by link(), which is refused if the name is there: complete at once, and
 * once. A keeper links it from its owner's epoch, a directory beside it: when a new
 * owner takes that away, no keeper of the old one can take an attempt any more, however
 * late it comes, and revocations need not stay. The directory is synced before the task
 * starts; the content may be lost in a power failure until the end is synced, but then
 * nobody that it could name lives. Space for the end is taken with the start, so a full
 * disk does not lose it. Each half has a CRC-32 over itself, and the end names that of
 * its start: a torn write, flipped bits or a mixture of two files are refused. */
#ifndef PROCESS_KEEPER_FILE_H
#define PROCESS_KEEPER_FILE_H

#include "process/slots.h"

#include <stddef.h>
#include <sys/types.h>

enum {
    KEEP_START_MAGIC = 0x6b656570,
    KEEP_END_MAGIC = 0x646f6e65,
    KEEP_SPEC_MAGIC = 0x73706563,
    KEEP_VERSION = 2,
    KEEP_HALF = 512,
    KEEP_BYTES = 2 * KEEP_HALF,
    KEEP_TOKEN = SLOTS_TOKEN + 32, /* <slots' token>.<task>.<attempt> */
    KEEP_NAME = 96,
    KEEP_STAGE = 16
};
enum { KEEP_TIMED_OUT = 1, KEEP_STOPPED = 2 };
/* What the keeper of a spec gets from its maker, by number. */
enum {
    KEEP_SPEC_FD,
    KEEP_OUT_FD,
    KEEP_ERR_FD,
    KEEP_DIR_FD,   /* the live directory */
    KEEP_NULL_FD,  /* /dev/null */
    KEEP_IMAGE_FD, /* the program, closed by its exec */
    KEEP_HOLD_FD,  /* locks of places in pools (runs/places.h), or /dev/null */
    KEEP_FDS
};
/* A keeper that could not take its attempt dies by this signal. It is of no use as an
 * exit status, which could be the task's. */
enum { KEEP_NOT_STARTED = 64 };

#define KEEP_PROGRAM "cairn-keeper"

struct keep_start {
    uint32_t magic, version;
    char boot_id[40];
    char token[KEEP_TOKEN]; /* of the attempt; "" if revoked */
    uint64_t run;
    uint32_t gen, task, attempt;
    int32_t pid;           /* of the keeper; 0: revoked, the attempt never starts */
    uint64_t start;        /* its start time in clock ticks, as in /proc/PID/stat */
    int64_t spawn_boot_ns; /* CLOCK_BOOTTIME just before it was made */
    int64_t claimed_ns;    /* UTC */
    uint64_t inputs;       /* as in an end note */
    uint32_t pid_ns, crc;  /* the number is of this PID namespace; 0: unknown */
};

struct keep_end {
    uint32_t magic, version;
    uint32_t start_crc;
    int32_t pid; /* of the task; 0: there was none */
    int64_t started_ns, ended_ns;
    int32_t exit_code, signal;
    int32_t error; /* errno, if it was not executed */
    uint32_t flags;
    char stage[KEEP_STAGE];
    int64_t cpu_us, peak_kib;
    uint32_t reserved, crc;
};
_Static_assert(sizeof(struct keep_start) <= KEEP_HALF, "the halves have fixed places");
_Static_assert(sizeof(struct keep_end) <= KEEP_HALF, "the halves have fixed places");

/* What a keeper is to do. It comes in a memory file or a pipe, not as arguments and
 * environment: the environment of the task holds secrets, which arguments would show,
 * and variables such as LD_PRELOAD, which would act on the keeper. After it stand the
 * strings, each with its NUL: arguments, environment, then the path and the directory
 * if there are. */
struct keep_spec {
    uint32_t magic, version;
    uint64_t bytes; /* of all of it */
    uint32_t n_argv, n_envp;
    uint32_t has_path, has_cwd;
    int64_t timeout_ms, grace_ms;
    char name[KEEP_NAME];    /* of the attempt's file */
    char epoch[KEEP_NAME];   /* in the live directory */
    struct keep_start start; /* without pid, start, claimed_ns and crc */
};

/* What the crc of a half is to be. */
uint32_t keep_start_crc(const struct keep_start *start);
uint32_t keep_end_crc(const struct keep_end *end);

/* Takes the attempt, and locks its file until it is closed: EEXIST if somebody has it
 * already, ENOENT if the epoch directory is gone, or another errno. On success *fd is
 * its file, open for writing (fd may be NULL). The directory is "." for who only
 * revokes it. */
int keep_claim(int dir, const char *epoch, const char *name, struct keep_start *start,
               int *fd);

#endif
