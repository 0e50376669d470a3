/* SPDX-License-Identifier: MIT */
/* The log's writer: stands between the program (libcairn and SQLite alike) and libc.
 * What changes the names, content or length of files below the base directory is done
 * and then logged, under one lock over all processes of the workload, so that the log's
 * order is the order in which things happened. What is written through a mapping is not
 * seen: of cairn.db-shm and of files in live/ nothing is ever synced, and nothing in
 * them may be believed after a power cut. */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { FDS = 4096 };

static struct {
    char base[400];
    size_t base_len;
    int fd; /* of the log */
    bool on, skip_syncs;
    long kill_at, count;
    uint64_t next;
    uint64_t handles[FDS]; /* by descriptor; 0: not ours */
    pthread_mutex_t mutex;
} rec = {.fd = -1, .mutex = PTHREAD_MUTEX_INITIALIZER};

static bool lock_log(void)
{
    if (!rec.on)
        return false;
    pthread_mutex_lock(&rec.mutex);
    while (flock(rec.fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
    return true;
}

static void unlock_log(void)
{
    int sys = errno;
    flock(rec.fd, LOCK_UN);
    pthread_mutex_unlock(&rec.mutex);
    errno = sys;
}

/* Both parts may be NULL. The log is locked. */
static void append(struct event event, const void *first, size_t n_first,
                   const void *second, size_t n_second)
{
    int sys = errno;
    event.size = (uint32_t)(n_first + n_second);
    struct iovec parts[] = {{&event, sizeof event},
                            {(void *)(uintptr_t)first, n_first},
                            {(void *)(uintptr_t)second, n_second}};
    ssize_t n = syscall(SYS_writev, rec.fd, parts, 3);
    if (n != (ssize_t)(sizeof event + event.size) ||
        (rec.kill_at && ++rec.count >= rec.kill_at))
        kill(getpid(), SIGKILL);
    errno = sys;
}

void record_event(const struct event *event, const void *payload)
{
    if (!lock_log())
        return;
    append(*event, payload, event->size, NULL, 0);
    unlock_log();
}

int record_start(const char *base, const char *log_path, long kill_at)
{
    rec.fd = (int)syscall(SYS_openat, AT_FDCWD, log_path,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    rec.base_len = strlen(base);
    if (rec.fd < 0 || rec.base_len >= sizeof rec.base)
        return -1;
    memcpy(rec.base, base, rec.base_len + 1);
    rec.kill_at = kill_at;
    rec.next = (uint64_t)getpid() << 32;
    rec.on = true;
    return 0;
}

void record_stop(void)
{
    rec.on = false;
}

void record_skip_syncs(void)
{
    rec.skip_syncs = true;
}

/* The path within the base directory, or NULL. */
static const char *inside(const char *path)
{
    if (strncmp(path, rec.base, rec.base_len) != 0)
        return NULL;
    if (path[rec.base_len] == 0)
        return ".";
    return path[rec.base_len] == '/' ? path + rec.base_len + 1 : NULL;
}

static uint64_t handle_of(int fd)
{
    return fd >= 0 && fd < FDS ? rec.handles[fd] : 0;
}

/* ---- What libc would have done ---- */

#define EXPORTED __attribute__((visibility("default")))

/* Under other names here: libc's headers define some of these inline. */
EXPORTED int power_open(const char *path, int flags, ...) __asm__("open");
EXPORTED int power_open64(const char *path, int flags, ...) __asm__("open64");
/* The same where the flags are no constant and the sources are compiled with
 * _FORTIFY_SOURCE. */
EXPORTED int power_open_2(const char *path, int flags) __asm__("__open_2");
EXPORTED int power_open64_2(const char *path, int flags) __asm__("__open64_2");
EXPORTED int power_mkostemp(char *name, int flags) __asm__("mkostemp");
EXPORTED int power_close(int fd) __asm__("close");
EXPORTED ssize_t power_write(int fd, const void *bytes, size_t n) __asm__("write");
EXPORTED ssize_t power_pwrite(int fd, const void *bytes, size_t n,
                              off_t at) __asm__("pwrite");
EXPORTED ssize_t power_pwrite64(int fd, const void *bytes, size_t n,
                                off_t at) __asm__("pwrite64");
EXPORTED int power_ftruncate(int fd, off_t size) __asm__("ftruncate");
EXPORTED int power_ftruncate64(int fd, off_t size) __asm__("ftruncate64");
EXPORTED int power_fsync(int fd) __asm__("fsync");
EXPORTED int power_fdatasync(int fd) __asm__("fdatasync");
EXPORTED int power_unlink(const char *path) __asm__("unlink");
EXPORTED int power_unlinkat(int dir, const char *name, int flags) __asm__("unlinkat");
EXPORTED int power_rename(const char *from, const char *to) __asm__("rename");
EXPORTED int power_mkdir(const char *path, mode_t mode) __asm__("mkdir");

static int open_logged(const char *path, int flags, mode_t mode)
{
    const char *name = rec.on ? inside(path) : NULL;
    bool held = name && lock_log();
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (held) {
        if (fd >= 0 && fd < FDS) {
            rec.handles[fd] = ++rec.next;
            append((struct event){.type = EV_OPEN, .handle = rec.next}, name,
                   strlen(name), NULL, 0);
            if (flags & O_TRUNC)
                append((struct event){.type = EV_TRUNCATE, .handle = rec.next}, NULL, 0,
                       NULL, 0);
        }
        unlock_log();
    }
    return fd;
}

static mode_t mode_given(int flags, va_list list)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

int power_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_given(flags, list);
    va_end(list);
    return open_logged(path, flags, mode);
}

int power_open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_given(flags, list);
    va_end(list);
    return open_logged(path, flags, mode);
}

int power_open_2(const char *path, int flags)
{
    return open_logged(path, flags, 0);
}

int power_open64_2(const char *path, int flags)
{
    return open_logged(path, flags, 0);
}

int power_mkostemp(char *name, int flags)
{
    static _Atomic uint32_t count;
    size_t n = strlen(name);
    for (int tries = 0; n >= 6 && tries < 100; tries++) {
        snprintf(name + n - 6, 7, "%06x",
                 (unsigned)(mix((uint64_t)getpid() << 32 | count++) & 0xffffff));
        int fd = open_logged(name, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int power_close(int fd)
{
    if (fd >= 0 && fd < FDS)
        rec.handles[fd] = 0;
    return (int)syscall(SYS_close, fd);
}

/* `at` -1: where the file's position is. */
static ssize_t write_logged(int fd, const void *bytes, size_t n, off_t at)
{
    bool held = handle_of(fd) && lock_log();
    ssize_t done = at < 0 ? syscall(SYS_write, fd, bytes, n)
                          : syscall(SYS_pwrite64, fd, bytes, n, at);
    if (held) {
        /* Only now: what is appended moves the position first. */
        off_t where = at < 0 ? lseek(fd, 0, SEEK_CUR) - done : at;
        if (done > 0)
            append((struct event){.type = EV_WRITE,
                                  .handle = handle_of(fd),
                                  .a = (uint64_t)where},
                   bytes, (size_t)done, NULL, 0);
        unlock_log();
    }
    return done;
}

ssize_t power_write(int fd, const void *bytes, size_t n)
{
    return write_logged(fd, bytes, n, -1);
}

ssize_t power_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return write_logged(fd, bytes, n, at);
}

ssize_t power_pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    return write_logged(fd, bytes, n, at);
}

static int truncate_logged(int fd, off_t size)
{
    bool held = handle_of(fd) && lock_log();
    int rc = (int)syscall(SYS_ftruncate, fd, size);
    if (held) {
        if (rc == 0)
            append((struct event){.type = EV_TRUNCATE,
                                  .handle = handle_of(fd),
                                  .a = (uint64_t)size},
                   NULL, 0, NULL, 0);
        unlock_log();
    }
    return rc;
}

int power_ftruncate(int fd, off_t size)
{
    return truncate_logged(fd, size);
}

int power_ftruncate64(int fd, off_t size)
{
    return truncate_logged(fd, size);
}

/* The machine does not go down while this runs: the disk need not be bothered. */
static int sync_logged(int fd, long call)
{
    bool held = handle_of(fd) && lock_log();
    if (held) {
        append((struct event){.type = EV_SYNC, .handle = handle_of(fd)}, NULL, 0, NULL,
               0);
        unlock_log();
    }
    return held || rec.skip_syncs ? 0 : (int)syscall(call, fd);
}

int power_fsync(int fd)
{
    return sync_logged(fd, SYS_fsync);
}

int power_fdatasync(int fd)
{
    return sync_logged(fd, SYS_fdatasync);
}

static int unlink_logged(int dir, const char *path, const char *name, int flags)
{
    bool held = name && lock_log();
    int rc = (int)syscall(SYS_unlinkat, dir, path, flags);
    if (held) {
        if (rc == 0)
            append((struct event){.type = EV_UNLINK}, name, strlen(name), NULL, 0);
        unlock_log();
    }
    return rc;
}

int power_unlink(const char *path)
{
    return unlink_logged(AT_FDCWD, path, rec.on ? inside(path) : NULL, 0);
}

int power_unlinkat(int dir, const char *name, int flags)
{
    char link[64], path[600];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t n = rec.on ? readlink(link, path, sizeof path - 300) : -1;
    if (n > 0 && (size_t)n + strlen(name) + 2 < sizeof path) {
        snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
        return unlink_logged(dir, name, inside(path), flags);
    }
    return unlink_logged(dir, name, NULL, flags);
}

int power_rename(const char *from, const char *to)
{
    const char *old = rec.on ? inside(from) : NULL, *new = rec.on ? inside(to) : NULL;
    bool held = old && new &&lock_log();
    int rc = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (held) {
        if (rc == 0)
            append((struct event){.type = EV_RENAME}, old, strlen(old) + 1, new,
                   strlen(new));
        unlock_log();
    }
    return rc;
}

int power_mkdir(const char *path, mode_t mode)
{
    const char *name = rec.on ? inside(path) : NULL;
    bool held = name && lock_log();
    int rc = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (held) {
        if (rc == 0)
            append((struct event){.type = EV_MKDIR}, name, strlen(name), NULL, 0);
        unlock_log();
    }
    return rc;
}
