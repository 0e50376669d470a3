/* SPDX-License-Identifier: MIT */
#include "snapshot/place.h"

#include "base/memory.h"
#include "snapshot/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool is_missing(int sys)
{
    return sys == ENOENT || sys == ENOTDIR || sys == ELOOP;
}

/* ---- Opening ---- */

void place_forget(struct place_directory *place)
{
    if (place->fd >= 0 && place->path.size) /* else it is the root */
        close(place->fd);
    place->fd = -1;
    place->sys = 0;
}

void place_close(struct place_directory *place)
{
    place_forget(place);
    buf_release(&place->path);
}

/* From the root down, a name at a time. */
static int walk(int root, struct str path)
{
    char name[TREE_NAME_BYTES + 1];
    int fd = root;
    while (path.len) {
        const char *slash = memchr(path.ptr, '/', path.len);
        size_t n = slash ? (size_t)(slash - path.ptr) : path.len;
        snprintf(name, sizeof name, "%.*s", (int)n, path.ptr);
        int next = openat(fd, name, DIRECTORY);
        int sys = errno;
        if (fd != root)
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

/* In one call, where the kernel has it and nothing stands against it. */
static int open_directory(int root, const struct buf *path)
{
    static const struct open_how how = {
        .flags = DIRECTORY, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    if (!path->size)
        return root;
    int fd = (int)syscall(SYS_openat2, root, path->data, &how, sizeof how);
    return fd >= 0 || is_missing(errno) ? fd : walk(root, buf_view(path));
}

static bool is_known(const struct place_directory *place, struct str above)
{
    struct str path = buf_view(&place->path);
    if (place->fd < 0 && !place->sys)
        return false;
    return str_equal(path, above) ||
           (is_missing(place->sys) && above.len > path.len &&
            above.ptr[path.len] == '/' && memcmp(above.ptr, path.ptr, path.len) == 0);
}

int place_open(struct place_directory *place, int root, struct str path,
               const char **name)
{
    size_t n = path.len;
    while (n > 0 && path.ptr[n - 1] != '/')
        n--;
    *name = path.ptr + n;
    struct str above = {path.ptr, n > 0 ? n - 1 : 0};
    if (!is_known(place, above)) {
        place_forget(place);
        buf_clear(&place->path);
        buf_str(&place->path, above);
        if (place->path.failed) {
            errno = ENOMEM;
            return -1;
        }
        place->fd = open_directory(root, &place->path);
        place->sys = place->fd < 0 ? errno : 0;
        place->opened++;
    }
    if (place->fd < 0)
        errno = place->sys;
    return place->fd;
}

/* ---- Moving ---- */

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

int place_exchange(int stage, const char *staged, int parent, const char *name)
{
    char old[32];
    if (renameat2(stage, staged, parent, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno == ENOENT)
        return place_move(stage, staged, parent, name);
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    snprintf(old, sizeof old, "%s.old", staged);
    int sys = place_move(parent, name, stage, old);
    if (!sys || sys == ENOENT)
        sys = place_move(stage, staged, parent, name);
    if (!sys && renameat(stage, old, stage, staged) != 0)
        sys = errno == ENOENT ? 0 : errno;
    return sys;
}

/* ---- Deleting ---- */

struct opened {
    DIR *dir;
    char name[TREE_NAME_BYTES + 1]; /* in the one above */
};
struct deleting {
    int directory;
    dev_t device;
    struct opened *at;
    size_t n, room;
};

/* Also one that may not be read. */
static int open_to_delete(int above, const char *name)
{
    char path[64];
    int fd = openat(above, name, DIRECTORY);
    if (fd < 0 && errno == EACCES) {
        int found = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", found);
        if (found >= 0 && chmod(path, 0700) == 0)
            fd = openat(above, name, DIRECTORY);
        if (found >= 0)
            close(found);
    }
    return fd;
}

static int enter(struct deleting *d, int above, const char *name)
{
    struct stat st;
    struct opened *at = array_room(d->at, d->n, &d->room, sizeof *at);
    if (!at)
        return ENOMEM;
    d->at = at;
    int fd = open_to_delete(above, name);
    int sys = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;
    if (!sys && d->n && st.st_dev != d->device)
        sys = EXDEV;
    if (!sys && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700);
    at[d->n].dir = sys ? NULL : fdopendir(fd);
    if (!at[d->n].dir) {
        sys = sys ? sys : errno;
        if (fd >= 0)
            close(fd);
        return sys;
    }
    d->device = st.st_dev;
    snprintf(at[d->n++].name, sizeof at->name, "%s", name);
    return 0;
}

/* The next entry of the deepest directory, or that one itself. */
static int delete_next(struct deleting *d)
{
    struct opened *at = &d->at[d->n - 1];
    const struct dirent *found = readdir(at->dir);
    if (!found) {
        closedir(at->dir);
        d->n--;
        int above = d->n ? dirfd(d->at[d->n - 1].dir) : d->directory;
        return unlinkat(above, at->name, AT_REMOVEDIR) == 0 ? 0 : errno;
    }
    if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
        unlinkat(dirfd(at->dir), found->d_name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno == EISDIR || errno == EPERM ? enter(d, dirfd(at->dir), found->d_name)
                                             : errno;
}

int place_delete(int directory, const char *name)
{
    struct deleting d = {.directory = directory};
    int sys = enter(&d, directory, name);
    if (sys == ENOENT) /* nothing was entered */
        sys = 0;
    while (!sys && d.n)
        sys = delete_next(&d);
    while (d.n)
        closedir(d.at[--d.n].dir);
    free(d.at);
    return sys;
}
