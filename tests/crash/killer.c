/* SPDX-License-Identifier: MIT */
/* Preloaded into cairn by the crash tests: the process kills itself at the N-th call of
 * a kind. CRASH_KILL is KIND:N or KIND:N:DELAY_US, CRASH_MARK a file that is made just
 * before, as a sign that it came to that.
 *
 *   clone-entry    before the N-th task's process is made: its intent is durable
 *   clone-return   after it was made, and DELAY_US later
 *   wait-return    the N-th end of a process has been collected, nothing is stored
 *   sync-entry     the N-th sync that follows such an end has not begun
 *   sync-return    it is done: what ended is durable, and not reported
 *   any-sync       before the N-th sync of all
 *   transfer       before the N-th write into cairn.db itself, once tasks have run: the
 *                  log is being transferred
 *
 * CRASH_SYNC_MS makes every sync take so much longer.
 *
 * The variables and LD_PRELOAD are taken out of the environment before cairn copies it.
 * The first process that cairn makes is the guard, which is not counted. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind {
    NOTHING,
    CLONE_ENTRY,
    CLONE_RETURN,
    WAIT_RETURN,
    SYNC_ENTRY,
    SYNC_RETURN,
    ANY_SYNC,
    TRANSFER
};

static const char *const names[] = {"nothing",     "clone-entry", "clone-return",
                                    "wait-return", "sync-entry",  "sync-return",
                                    "any-sync",    "transfer"};
static enum kind kind;
static long wanted, delay_us, sync_us;
static char mark[1024];
static atomic_long clones, waits, syncs, all_syncs, transfers;
static atomic_bool ended; /* a process ended since the last sync */

int fsync(int fd);
int fdatasync(int fd);
long syscall(long number, ...);
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at);
int clone(int (*entry)(void *), void *stack, int flags, void *argument, ...);

static int (*real_fsync)(int), (*real_fdatasync)(int);
static ssize_t (*real_pwrite64)(int, const void *, size_t, off64_t);
static long (*real_syscall)(long, ...);
static int (*real_clone)(int (*)(void *), void *, int, void *, ...);

static void *find(const char *name)
{
    void *at = dlsym(RTLD_NEXT, name);
    if (!at)
        abort();
    return at;
}

__attribute__((constructor)) static void prepare(void)
{
    /* A function pointer through memory: ISO C has no cast for it. */
    void *found[] = {find("fsync"), find("fdatasync"), find("syscall"), find("clone"),
                     find("pwrite64")};
    memcpy(&real_fsync, &found[0], sizeof found[0]);
    memcpy(&real_fdatasync, &found[1], sizeof found[1]);
    memcpy(&real_syscall, &found[2], sizeof found[2]);
    memcpy(&real_clone, &found[3], sizeof found[3]);
    memcpy(&real_pwrite64, &found[4], sizeof found[4]);
    const char *text = getenv("CRASH_KILL"), *file = getenv("CRASH_MARK");
    if (text && file) {
        size_t length = strcspn(text, ":");
        for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
            if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0)
                kind = (enum kind)i;
        char *end = NULL;
        wanted = text[length] ? strtol(text + length + 1, &end, 10) : 0;
        delay_us = end && *end == ':' ? strtol(end + 1, NULL, 10) : 0;
        snprintf(mark, sizeof mark, "%s", file);
    }
    const char *slow = getenv("CRASH_SYNC_MS");
    sync_us = slow ? 1000 * strtol(slow, NULL, 10) : 0;
    unsetenv("CRASH_SYNC_MS");
    unsetenv("CRASH_KILL");
    unsetenv("CRASH_MARK");
    unsetenv("LD_PRELOAD");
}

static void sleep_us(long us)
{
    struct timespec pause = {us / 1000000, us % 1000000 * 1000};
    if (us)
        nanosleep(&pause, NULL);
}

static void die(void)
{
    sleep_us(delay_us);
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

int clone(int (*entry)(void *), void *stack, int flags, void *argument, ...)
{
    va_list rest;
    va_start(rest, argument);
    void *parent = va_arg(rest, void *), *tls = va_arg(rest, void *),
         *child = va_arg(rest, void *);
    va_end(rest);
    long n = atomic_fetch_add(&clones, 1);
    if (kind == CLONE_ENTRY && n == wanted)
        die();
    int pid = real_clone(entry, stack, flags, argument, parent, tls, child);
    if (kind == CLONE_RETURN && n == wanted)
        die();
    return pid;
}

/* Also called in the child that shares our memory, but never to wait. */
long syscall(long number, ...)
{
    va_list rest;
    long a[6];
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    long result = real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_waitid && result == 0 && !(a[3] & WNOWAIT)) {
        int saved = errno;
        atomic_store(&ended, true);
        if (atomic_fetch_add(&waits, 1) + 1 == wanted && kind == WAIT_RETURN)
            die();
        errno = saved;
    }
    return result;
}

static int any_sync(int (*real)(int), int fd)
{
    bool counts = atomic_exchange(&ended, false);
    bool now = counts && atomic_fetch_add(&syncs, 1) + 1 == wanted;
    if (now && kind == SYNC_ENTRY)
        die();
    if (atomic_fetch_add(&all_syncs, 1) + 1 == wanted && kind == ANY_SYNC)
        die();
    sleep_us(sync_us);
    int result = real(fd);
    if (now && kind == SYNC_RETURN)
        die();
    return result;
}

int fsync(int fd)
{
    return any_sync(real_fsync, fd);
}

int fdatasync(int fd)
{
    return any_sync(real_fdatasync, fd);
}

static bool is_database(int fd)
{
    static const char name[] = "/cairn.db";
    char path[64], link[1024];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, link, sizeof link);
    return n > (ssize_t)sizeof name && n < (ssize_t)sizeof link &&
           memcmp(link + n - (sizeof name - 1), name, sizeof name - 1) == 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    if (kind == TRANSFER && atomic_load(&clones) > 1 && is_database(fd) &&
        atomic_fetch_add(&transfers, 1) + 1 == wanted)
        die();
    return real_pwrite64(fd, bytes, n, at);
}
