/* SPDX-License-Identifier: MIT */
#include "cli/target_file.h"

#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

static int report_target(const struct target_file *target)
{
    bool missing = target->sys == ENOENT || target->sys == ENOTDIR;
    return report_failure(missing ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                          cairn_code_name(missing ? CAIRN_ENOTFOUND : CAIRN_EIO),
                          "cannot write %s: %s", target->name, strerror(target->sys));
}

static int fail(struct target_file *target, int sys)
{
    target->sys = sys;
    return report_target(target);
}

/* What the name leads to, and what is there. A link to nothing is left as it is. */
static int find_target(struct target_file *target, const char *command)
{
    struct stat link;
    bool there = stat(target->name, &target->old) == 0;
    int sys = errno;
    if (there && !S_ISREG(target->old.st_mode))
        return report_usage(command, "%s is not a file: - is stdout", target->name);
    if (!there && (sys != ENOENT || lstat(target->name, &link) == 0))
        return fail(target, sys);
    if (!there)
        target->old.st_mode = 0;
    target->path = there ? realpath(target->name, NULL) : strdup(target->name);
    return target->path ? 0 : fail(target, errno);
}

int target_open(struct target_file *target, const char *name, const char *command)
{
    *target = TARGET_NONE;
    target->name = name;
    int status = find_target(target, command);
    if (status != 0)
        return status;
    if (asprintf(&target->part, "%s.XXXXXX", target->path) < 0) {
        target->part = NULL;
        return fail(target, ENOMEM);
    }
    target->fd = mkostemp(target->part, O_CLOEXEC);
    return target->fd >= 0 ? 0 : fail(target, errno);
}

int target_write(struct target_file *target, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(target->fd, bytes, n);
        if (written < 0 && errno != EINTR) {
            target->sys = errno;
            return 1;
        }
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Root gives it back to whom it belonged; others cannot. */
static bool take_rights(const struct target_file *target)
{
    const struct stat *old = &target->old;
    if (old->st_mode == 0)
        return target->new_mode == 0 || fchmod(target->fd, target->new_mode) == 0;
    return (geteuid() != 0 || fchown(target->fd, old->st_uid, old->st_gid) == 0) &&
           fchmod(target->fd, old->st_mode & 07777) == 0;
}

int target_sync(struct target_file *target)
{
    if (target->sys == 0 && (!take_rights(target) || fsync(target->fd) != 0))
        target->sys = errno;
    return target->sys != 0;
}

/* So that it is still there after a power cut. */
static void sync_directory(const struct target_file *target)
{
    const char *slash = strrchr(target->path, '/');
    char *path = !slash ? strdup(".")
                 : slash == target->path
                     ? strdup("/")
                     : strndup(target->path, (size_t)(slash - target->path));
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        ui_warn("cannot sync the directory of %s: %s", target->name, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
}

int target_close(struct target_file *target, bool whole)
{
    if (target->fd < 0)
        return 0;
    whole = whole && target_sync(target) == 0;
    if (whole && rename(target->part, target->path) != 0) {
        target->sys = errno;
        whole = false;
    }
    close(target->fd);
    target->fd = -1;
    if (whole)
        sync_directory(target);
    else
        unlink(target->part);
    return target->sys == 0 ? 0 : report_target(target);
}

void target_release(struct target_file *target)
{
    free(target->path);
    free(target->part);
    *target = TARGET_NONE;
}
