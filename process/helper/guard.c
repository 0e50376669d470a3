/* SPDX-License-Identifier: MIT */
/* The guard: outlives the engine by a moment, to end what it started. The library
 * starts one per run (process/guard.c). Tasks under a keeper that lives are left
 * alone.
 *
 * Files: 0 is a socket that reports end of file when the engine is gone, 3 the slot
 * file. The byte 'q' before the end of file means that the engine ended in peace.
 * Because a copy of the other end may be in the hands of a process that the host
 * program forked, the engine itself is watched, too.
 *
 * Exit: 0 nothing of the run is left, 1 something could not be ended in 5 seconds,
 * 2 the slot file cannot be used. */
#include "process/helper/roles.h"
#include "process/pidfd.h"
#include "process/proc_scan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LIFE_FD = 0, SLOTS_FD = 3 };
enum {
    ROUNDS_MIN = 3, /* a child may be just putting its pid into its slot */
    ROUNDS_UNSURE = 20,
    PAUSE_FIRST_MS = 20,
    PAUSE_MS = 10,
    PATIENCE_MS = 5000
};

static const struct slots *map_slots(void)
{
    struct stat st;
    if (fstat(SLOTS_FD, &st) || st.st_size < (off_t)sizeof(struct slots))
        return NULL;
    size_t bytes = (size_t)st.st_size;
    void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, SLOTS_FD, 0);
    if (at == MAP_FAILED)
        return NULL;
    const struct slots *slots = at;
    if (slots->magic != SLOTS_MAGIC || slots->version != SLOTS_VERSION ||
        slots_bytes(slots->n) != bytes)
        return NULL;
    return slots;
}

/* A pidfd of the engine, our parent; -1 without one. False if the engine is gone
 * already: then nobody may be left to close the socket. The engine's number cannot have
 * been given out again while it is our parent. */
static bool watch_owner(const struct slots *slots, int *fd)
{
    *fd = -1;
    if (getppid() != slots->owner_pid)
        return false;
    *fd = pidfd_of(slots->owner_pid);
    return getppid() == slots->owner_pid;
}

/* Returns when the engine is gone; true if it said goodbye. */
static bool wait_for_end(int owner_fd)
{
    struct pollfd watched[2] = {{.fd = LIFE_FD, .events = POLLIN},
                                {.fd = owner_fd, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        if (watched[0].revents) {
            char byte = 0;
            ssize_t n = read(LIFE_FD, &byte, 1);
            if (n < 0 && errno == EINTR)
                continue;
            return n == 1 && byte == 'q';
        }
        if (watched[1].revents)
            return false;
    }
}

static bool all_empty(const struct slots *slots)
{
    for (uint32_t i = 0; i < slots->n; i++)
        if (atomic_load(&slots->slot[i].pid))
            return false;
    return true;
}

static int64_t now_ms(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int end_all(struct proc_scan *scan)
{
    int64_t begin = now_ms();
    for (int round = 1;; round++) {
        int living = proc_scan_round(scan, SIGKILL);
        if (living == 0 && round >= (scan->unsure ? ROUNDS_UNSURE : ROUNDS_MIN))
            return 0;
        if (round >= ROUNDS_MIN && now_ms() - begin > PATIENCE_MS)
            return 1;
        int pause_ms = round < ROUNDS_MIN ? PAUSE_FIRST_MS : PAUSE_MS;
        struct timespec pause = {0, (long)pause_ms * 1000000};
        nanosleep(&pause, NULL);
    }
}

int guard_main(void)
{
    static struct proc_scan scan;
    prctl(PR_SET_NAME, "cairn-guard", 0, 0, 0);
    const struct slots *slots = map_slots();
    if (!slots)
        return 2;
    int owner_fd;
    if (watch_owner(slots, &owner_fd) && wait_for_end(owner_fd) && all_empty(slots))
        return 0;
    proc_scan_init(&scan, slots, slots->token, slots->owner_start);
    scan.spare = true;
    int result = end_all(&scan);
    proc_scan_release(&scan);
    return result;
}
