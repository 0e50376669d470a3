/* SPDX-License-Identifier: MIT */
#include "process/keeper_file.h"

#include "process/crc32.h"
#include "process/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t keep_start_crc(const struct keep_start *start)
{
    return crc32_of(0, start, offsetof(struct keep_start, crc));
}

uint32_t keep_end_crc(const struct keep_end *end)
{
    return crc32_of(0, end, offsetof(struct keep_end, crc));
}

/* link() as a rename that replaces nothing, where there are no links. */
static int link_claim(int dir, const char *from, const char *to)
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
static int sync_dir(int dir)
{
    int sys = file_sync(dir);
    return sys == EINVAL ? 0 : sys;
}

int keep_claim(int dir, const char *epoch, const char *name, struct keep_start *start,
               int *fd)
{
    char half[KEEP_BYTES] = {0}, temporary[2 * KEEP_NAME + 48];
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now))
        return errno;
    start->crc = keep_start_crc(start);
    memcpy(half, start, sizeof *start);
    snprintf(temporary, sizeof temporary, "%s/%s.%x.%llx%09lx", epoch, name,
             (unsigned)getpid(), (unsigned long long)now.tv_sec, now.tv_nsec);
    /* Of this attempt, no other process makes one at that moment. */
    int out = openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return errno;
    int sys = file_write_at(out, half, sizeof half, 0);
    /* Before anybody can see it. Where there are no locks, all is as without. */
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(out, F_OFD_SETLK, &all);
    if (!sys)
        sys = link_claim(dir, temporary, name);
    bool linked = !sys;
    if (unlinkat(dir, temporary, 0) && errno != ENOENT && !sys)
        sys = errno;
    if (!sys)
        sys = sync_dir(dir);
    if (sys && linked)
        (void)unlinkat(dir, name, 0);
    if (sys || !fd)
        close(out);
    else
        *fd = out;
    return sys;
}
