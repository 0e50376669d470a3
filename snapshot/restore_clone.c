/* SPDX-License-Identifier: MIT */
/* Files that share their blocks with others, where the file system can (btrfs, XFS). */
#include "snapshot/restore_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void clone_end(struct restore *restore)
{
    if (restore->like_fd >= 0)
        close(restore->like_fd);
    restore->like_fd = -1;
    restore->like = NULL;
}

static int open_like(struct restore *restore, struct str path, uint64_t size)
{
    struct restore like = {.fd = restore->like_fd};
    struct stat st;
    const char *name;
    like.parent.fd = -1;
    int parent = place_parent(&like, path, &name);
    int fd = parent < 0
                 ? -1
                 : openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    place_forget(&like);
    buf_release(&like.parent.path);
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)) {
        close(fd);
        return -1;
    }
    return fd;
}

struct comparing {
    int fd;
    off_t at;
    char *room; /* [TREE_CHUNK_MOST] */
    bool same;
};

/* The other file may be written to while it is cloned. */
static int compare_part(void *context, struct str part)
{
    struct comparing *c = context;
    while (part.len) {
        size_t most = part.len < TREE_CHUNK_MOST ? part.len : TREE_CHUNK_MOST;
        ssize_t n = pread(c->fd, c->room, most, c->at);
        if (n < 0 && errno == EINTR)
            continue;
        c->same = n > 0 && memcmp(c->room, part.ptr, (size_t)n) == 0;
        if (!c->same)
            return 1;
        c->at += n;
        part = (struct str){part.ptr + n, part.len - (size_t)n};
    }
    return 0;
}

static int has_content(struct restore *restore, const struct tree_entry *entry, int fd,
                       bool *same)
{
    struct comparing c = {.fd = fd, .room = malloc(TREE_CHUNK_MOST), .same = true};
    if (!c.room)
        return error_nomem(restore->error);
    int rc = snapshot_content(restore->store, entry, compare_part, &c, restore->error);
    free(c.room);
    *same = !rc && c.same;
    return rc < 0 ? rc : 0;
}

int clone_like(struct restore *restore, const struct tree_entry *entry, struct str path,
               int fd, bool *cloned)
{
    *cloned = false;
    if (!restore->like || !entry->size)
        return 0;
    if (restore->like_fd < 0)
        restore->like_fd =
            open(restore->like, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (restore->like_fd < 0)
        restore->like = NULL;
    int like = restore->like ? open_like(restore, path, entry->size) : -1;
    if (like < 0)
        return 0;
    int sys = ioctl(fd, FICLONE, like) == 0 ? 0 : errno;
    close(like);
    if (sys == EOPNOTSUPP || sys == EXDEV || sys == ENOTTY || sys == ENOSYS)
        clone_end(restore); /* nor does it work for the others */
    if (sys)
        return 0;
    int rc = has_content(restore, entry, fd, cloned);
    if (!rc && !*cloned && ftruncate(fd, 0) != 0)
        rc = error_sys(restore->error, errno, "writing %s", path.ptr);
    restore->counts.cloned += *cloned;
    return rc;
}
