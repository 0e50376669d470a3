/* SPDX-License-Identifier: MIT */
/* Advisory locks as open file description locks (fcntl(2), Linux 3.15). Unlike the
 * older POSIX locks they survive the closing of another descriptor of the same file,
 * exclude two handles of one process, and end when the last copy of the descriptor
 * does: at the owner's death, and not before. */
#include "base/lock.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int lock_open(struct lock_file *lock, const char *path, struct cairn_error *error)
{
    int fd = open(
        path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return error_sys(error, errno, "cannot open the lock file %s for writing",
                         path);
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(error, CAIRN_EIO, "the lock file %s is not a file: remove it",
                         path);
    }
    lock->fd = fd;
    return 0;
}

int lock_open_read(struct lock_file *lock, const char *path, struct cairn_error *error)
{
    int fd = os_open_plain(path, O_RDONLY);
    if (fd < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot open the lock file %s", path);
    lock->fd = fd;
    return 0;
}

int lock_check(const struct lock_file *lock, const char *path,
               struct cairn_error *error)
{
    struct stat open_one, named;
    if (fstat(lock->fd, &open_one) < 0)
        return error_sys(error, errno, "cannot look at the lock file %s", path);
    bool there = stat(path, &named) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        return error_sys(error, errno, "cannot look at the lock file %s", path);
    if (there && named.st_ino == open_one.st_ino && named.st_dev == open_one.st_dev)
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the lock file %s was removed or replaced while it was in use, so "
                     "that two runs could own one workflow: end the other one, then "
                     "resume",
                     path);
}

void lock_close(struct lock_file *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

static struct flock one_byte(short type, int64_t offset)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};
}

int lock_try(struct lock_file *lock, int64_t offset, enum lock_mode mode,
             struct cairn_error *error)
{
    struct flock range = one_byte(mode == LOCK_SHARED ? F_RDLCK : F_WRLCK, offset);
    while (fcntl(lock->fd, F_OFD_SETLK, &range) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return 0;
        if (errno != EINTR)
            return error_sys(error, errno, "cannot lock byte %lld of the lock file",
                             (long long)offset);
    }
    return 1;
}

int lock_wait(struct lock_file *lock, int64_t offset, enum lock_mode mode, int wait_ms,
              struct cairn_error *error)
{
    enum { FIRST_PAUSE_NS = 1000000, LONGEST_PAUSE_NS = 20000000 };
    int64_t end = clock_mono_ns() + (int64_t)wait_ms * 1000000;
    int64_t pause_ns = FIRST_PAUSE_NS;
    for (;;) {
        int got = lock_try(lock, offset, mode, error);
        if (got < 0)
            return got;
        if (got)
            return 0;
        int64_t left = end - clock_mono_ns();
        if (left <= 0)
            return error_set(error, CAIRN_EBUSY, "the lock is still taken after %d ms",
                             wait_ms);
        if (pause_ns > left)
            pause_ns = left;
        backoff_sleep(&pause_ns, LONGEST_PAUSE_NS);
    }
}

void lock_drop(struct lock_file *lock, int64_t offset)
{
    struct flock range = one_byte(F_UNLCK, offset);
    while (fcntl(lock->fd, F_OFD_SETLK, &range) < 0 && errno == EINTR)
        continue;
}

void lock_drop_all(struct lock_file *lock)
{
    struct flock range = one_byte(F_UNLCK, 0);
    range.l_len = 0;
    while (fcntl(lock->fd, F_OFD_SETLK, &range) < 0 && errno == EINTR)
        continue;
}

static int find_other_holder(struct lock_file *lock, struct flock *range,
                             struct cairn_error *error)
{
    long long offset = range->l_start;
    if (lock->fd < 0)
        return 0; /* no lock file: nobody ever locked */
    while (fcntl(lock->fd, F_OFD_GETLK, range) < 0) {
        if (errno != EINTR)
            return error_sys(error, errno, "cannot ask for the lock on byte %lld",
                             offset);
    }
    return range->l_type != F_UNLCK;
}

int lock_held(struct lock_file *lock, int64_t offset, struct cairn_error *error)
{
    struct flock range = one_byte(F_WRLCK, offset);
    return find_other_holder(lock, &range, error);
}

int lock_held_from(struct lock_file *lock, int64_t offset, int64_t *where,
                   struct cairn_error *error)
{
    struct flock range = one_byte(F_WRLCK, offset);
    range.l_len = 0; /* to the end */
    int rc = find_other_holder(lock, &range, error);
    if (rc > 0)
        *where = range.l_start;
    return rc;
}
