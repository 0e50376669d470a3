/* SPDX-License-Identifier: MIT */
/* Whole writes, reserved room and syncs of one descriptor, gone on with after signals.
 * Each returns 0 or an errno. Compiled into the library and into the helper program: no
 * other header of cairn. */
#ifndef PROCESS_FILE_IO_H
#define PROCESS_FILE_IO_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* All of it, at that offset. */
static inline int file_write_at(int fd, const void *bytes, size_t n, off_t at)
{
    const char *from = bytes;
    while (n > 0) {
        ssize_t done = pwrite(fd, from, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        from += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

/* Its first `bytes` exist, and can be written on a full disk. */
static inline int file_reserve(int fd, size_t bytes)
{
    int sys;
    do
        sys = posix_fallocate(fd, 0, (off_t)bytes);
    while (sys == EINTR);
    return sys;
}

static inline int file_sync(int fd)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? errno : 0;
}

#endif
