/* SPDX-License-Identifier: MIT */
/* The helper program as a file that can be executed. It is part of the library, so it
 * is handed to the kernel as a memory file; where such files may not be executed (the
 * sysctl vm.memfd_noexec, a security module) it is written to a real one for the moment
 * of its exec. That file may for a moment be open for writing in a child that somebody
 * is just making, which got a copy of all descriptors: then the exec is refused as busy
 * (ETXTBSY), and is tried again after image_pause. */
#include "process/helper_program_int.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

/* 0 or an errno. */
static int write_image(int fd)
{
    size_t n = (uintptr_t)helper_image_end - (uintptr_t)helper_image;
    return os_write_all(fd, (struct str){helper_image, n});
}

int image_in_memory(void)
{
    int fd = memfd_create("cairn-helper", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
        fd = memfd_create("cairn-helper", MFD_CLOEXEC);
    int sys = fd >= 0 ? write_image(fd) : 0;
    if (sys) {
        close(fd);
        errno = sys;
        return -1;
    }
    return fd;
}

/* A file that is already unlinked. It is opened a second time, since a file that is
 * open for writing cannot be executed. */
int image_in_file(const char *path, struct cairn_error *error)
{
    (void)unlink(path);
    int fd = -1, out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (out < 0)
        return error_sys(error, errno, "%s", path);
    int sys = write_image(out);
    if (close(out) && !sys)
        sys = errno;
    if (!sys) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        sys = errno;
    }
    (void)unlink(path);
    return fd < 0 ? error_sys(error, sys, "%s", path) : fd;
}

void image_pause(void)
{
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
}
