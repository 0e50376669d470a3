/* SPDX-License-Identifier: MIT */
#include "snapshot/restore_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int place_error(struct restore *restore, int sys, struct str path, const char *what)
{
    return error_sys(restore->error, sys, "%s %.*s in %s", what, (int)path.len,
                     path.ptr, restore->root);
}

void place_forget(struct restore *restore)
{
    if (restore->parent.fd >= 0 && restore->parent.fd != restore->fd)
        close(restore->parent.fd);
    restore->parent.fd = -1;
    restore->parent.sys = 0;
}

/* From the root down, a name at a time. */
static int open_directory(const struct restore *restore, struct str path)
{
    char name[TREE_NAME_BYTES + 1];
    int fd = restore->fd;
    while (path.len) {
        const char *slash = memchr(path.ptr, '/', path.len);
        size_t n = slash ? (size_t)(slash - path.ptr) : path.len;
        snprintf(name, sizeof name, "%.*s", (int)n, path.ptr);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int sys = errno;
        if (fd != restore->fd)
            close(fd);
        errno = sys;
        if (next < 0)
            return -1;
        fd = next;
        n += slash != NULL;
        path = (struct str){path.ptr + n, path.len - n};
    }
    return fd;
}

int place_parent(struct restore *restore, struct str path, const char **name)
{
    size_t n = path.len;
    while (n > 0 && path.ptr[n - 1] != '/')
        n--;
    *name = path.ptr + n;
    struct str above = {path.ptr, n > 0 ? n - 1 : 0};
    bool known = restore->parent.fd >= 0 || restore->parent.sys;
    if (!known || !str_equal(buf_view(&restore->parent.path), above)) {
        place_forget(restore);
        buf_clear(&restore->parent.path);
        buf_str(&restore->parent.path, above);
        if (restore->parent.path.failed) {
            errno = ENOMEM;
            return -1;
        }
        restore->parent.fd = open_directory(restore, above);
        restore->parent.sys = restore->parent.fd < 0 ? errno : 0;
    }
    if (restore->parent.fd < 0)
        errno = restore->parent.sys;
    return restore->parent.fd;
}

int place_move(int from, const char *name, int to, const char *new_name)
{
    struct stat st;
    if (renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* A file system that cannot do it in one step. */
    if (fstatat(to, new_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    return renameat(from, name, to, new_name) == 0 ? 0 : errno;
}

int place_exchange(struct restore *restore, const char *staged, int parent,
                   const char *name)
{
    char old[32];
    if (renameat2(restore->stage, staged, parent, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno == ENOENT)
        return place_move(restore->stage, staged, parent, name);
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    snprintf(old, sizeof old, "%s.old", staged);
    int sys = place_move(parent, name, restore->stage, old);
    if (!sys || sys == ENOENT)
        sys = place_move(restore->stage, staged, parent, name);
    if (!sys && renameat(restore->stage, old, restore->stage, staged) != 0)
        sys = errno == ENOENT ? 0 : errno;
    return sys;
}
