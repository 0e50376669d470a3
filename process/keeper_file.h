/* SPDX-License-Identifier: MIT */
/* The file of an attempt under a keeper, and what a keeper is told. Shared by the
 * library and the helper program, which is compiled alone: so all of it is here, and it
 * needs nothing but libc and slots.h.
 *
 * `run-N.GEN.TASK.ATTEMPT.keep`, KEEP_BYTES long, in the byte order of the machine (it
 * matters to this machine only), has two halves:
 *
 * - at 0 struct keep_start: who has the attempt; from the beginning, never changed;
 * - at KEEP_HALF struct keep_end: zeros until the task has ended.
 *
 * It appears by link(), which is refused if the name is there: complete at once, and
 * once. A keeper links it from its owner's room, a directory beside it: when a new
 * owner takes that away, no keeper of the old one can take an attempt any more, however
 * late it comes, and bars need not stay. The directory is synced before the task
 * starts; the content may be lost in a power failure until the end is synced, but then
 * nobody that it could name lives. Room for the end is taken with the start, so a full
 * disk does not lose it. Each half has a CRC-32 over itself, and the end names that of
 * its start: a torn write, flipped bits or a mixture of two files are refused. */
#ifndef PROCESS_KEEPER_FILE_H
#define PROCESS_KEEPER_FILE_H

#include "process/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    KEEP_START_MAGIC = 0x6b656570,
    KEEP_END_MAGIC = 0x646f6e65,
    KEEP_SPEC_MAGIC = 0x73706563,
    KEEP_VERSION = 1,
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
    KEEP_DIR_FD,  /* the live directory */
    KEEP_NULL_FD, /* /dev/null */
    KEEP_IMAGE_FD /* the program, closed by its exec */
};
/* A keeper that could not take its attempt dies by this signal. It is of no use as an
 * exit status, which could be the task's. */
enum { KEEP_NOT_STARTED = 64 };

#define KEEP_PROGRAM "cairn-keeper"

struct keep_start {
    uint32_t magic, version;
    char boot_id[40];
    char token[KEEP_TOKEN]; /* of the attempt; "" if barred */
    uint64_t run;
    uint32_t gen, task, attempt;
    int32_t pid;           /* of the keeper; 0: barred, the attempt never starts */
    uint64_t start;        /* its start time in clock ticks, as in /proc/PID/stat */
    int64_t spawn_boot_ns; /* CLOCK_BOOTTIME just before it was made */
    int64_t claimed_ns;    /* UTC */
    uint32_t reserved, crc;
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
    char room[KEEP_NAME];    /* in the live directory */
    struct keep_start start; /* without pid, start, claimed_ns and crc */
};

/* CRC-32 (ISO-HDLC, as in zip). Some hundred bytes: no table is worth it. */
static inline uint32_t keep_crc(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffffU;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    return ~crc;
}

static inline uint32_t keep_start_crc(const struct keep_start *start)
{
    return keep_crc(start, offsetof(struct keep_start, crc));
}

static inline uint32_t keep_end_crc(const struct keep_end *end)
{
    return keep_crc(end, offsetof(struct keep_end, crc));
}

/* At a place in a file, all of it; an errno. */
static inline int keep_write(int fd, const void *bytes, size_t n, off_t at)
{
    const char *from = bytes;
    while (n > 0) {
        ssize_t done = pwrite(fd, from, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        from += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

static inline int keep_sync(int fd)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? errno : 0;
}

/* link() as a rename that replaces nothing, where there are no links. */
static inline int keep_link(int dir, const char *from, const char *to)
{
    if (linkat(dir, from, dir, to, 0) == 0)
        return 0;
    int sys = errno;
    if (sys != EPERM && sys != EOPNOTSUPP && sys != ENOSYS && sys != EMLINK)
        return sys;
    /* RENAME_NOREPLACE */
    return syscall(SYS_renameat2, dir, from, dir, to, 1U) ? errno : 0;
}

/* A directory that cannot be synced needs none. */
static inline int keep_sync_dir(int dir)
{
    int sys = keep_sync(dir);
    return sys == EINVAL ? 0 : sys;
}

/* Takes the attempt: EEXIST if somebody has it already, ENOENT if the room is gone, or
 * another errno. On success *fd is its file, open for writing (fd may be NULL). The
 * room of who only bars it is "." */
static inline int keep_claim(int dir, const char *room, const char *name,
                             struct keep_start *start, int *fd)
{
    char half[KEEP_BYTES] = {0}, temporary[2 * KEEP_NAME + 24];
    unsigned long long salt = 0;
    if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
        return EIO;
    start->crc = keep_start_crc(start);
    memcpy(half, start, sizeof *start);
    snprintf(temporary, sizeof temporary, "%s/%s.%016llx", room, name, salt);
    int out = openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return errno;
    int sys = keep_write(out, half, sizeof half, 0);
    if (!sys)
        sys = keep_link(dir, temporary, name);
    bool linked = !sys;
    if (unlinkat(dir, temporary, 0) && errno != ENOENT && !sys)
        sys = errno;
    if (!sys)
        sys = keep_sync_dir(dir);
    if (sys && linked)
        (void)unlinkat(dir, name, 0);
    if (sys || !fd)
        close(out);
    else
        *fd = out;
    return sys;
}

#endif
