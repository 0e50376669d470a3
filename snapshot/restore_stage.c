/* SPDX-License-Identifier: MIT */
/* The contents of a restore: each is verified and written, in the stage or, where the
 * directory is one that is thrown away, in its place.
 *
 * Several threads do it where there is enough to do and the caller allows it, each with
 * a handle of the store of its own: one at a change, or at a chunk of a large file that
 * another has begun. */
#include "snapshot/restore_int.h"

#include "base/memory.h"
#include "base/os.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Blocks of files that are there ---- */

/* Files that share their blocks with others, where the file system can (btrfs, XFS). */

void restore_forget_like(struct restore *restore)
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

static int copy_has_content(struct restore *restore, const struct tree_entry *entry,
                            int fd, bool *same)
{
    struct comparing c = {.fd = fd, .room = malloc(TREE_CHUNK_MOST), .same = true};
    if (!c.room)
        return error_nomem(restore->error);
    int rc = snapshot_content(restore->store, entry, compare_part, &c, restore->error);
    free(c.room);
    *same = !rc && c.same;
    return rc < 0 ? rc : 0;
}

static bool cannot_clone(int sys)
{
    return sys == EOPNOTSUPP || sys == EXDEV || sys == ENOTTY || sys == ENOSYS;
}

/* Once: where the file system cannot, no file is looked for. */
static void begin_cloning(struct restore *restore, int fd)
{
    restore->like_fd =
        open(restore->like, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (restore->like_fd < 0 || (ioctl(fd, FICLONE, fd) != 0 && cannot_clone(errno)))
        restore_forget_like(restore);
}

/* Where the file system can, the empty file `fd` becomes a clone of the file of that
 * path in restore->like, if that has the very content of the entry, which is compared.
 * *cloned: it is one; else it is empty still. */
static int clone_like(struct restore *restore, const struct tree_entry *entry,
                      struct str path, int fd, bool *cloned)
{
    *cloned = false;
    if (!restore->like || !entry->size)
        return 0;
    if (restore->like_fd < 0)
        begin_cloning(restore, fd);
    int like = restore->like ? open_like(restore, path, entry->size) : -1;
    if (like < 0)
        return 0;
    int sys = ioctl(fd, FICLONE, like) == 0 ? 0 : errno;
    close(like);
    if (cannot_clone(sys))
        restore_forget_like(restore); /* nor does it work for the others */
    if (sys)
        return 0;
    int rc = copy_has_content(restore, entry, fd, cloned);
    if (!rc && !*cloned && ftruncate(fd, 0) != 0)
        rc = error_sys(restore->error, errno, "writing %s", path.ptr);
    restore->counts.cloned += *cloned;
    return rc;
}

/* ---- The threads ---- */

/* A file that is written in chunks. */
struct large {
    struct large *next;
    struct str path;
    int fd;
    const struct chunk_list *list;
    size_t chunk; /* the next one */
    uint64_t at;  /* where it begins */
    unsigned busy;
};

enum { STAGERS_MOST = RESTORE_THREADS_MOST };

struct staging {
    pthread_mutex_t lock;
    pthread_cond_t turned;
    size_t next; /* change */
    struct large *large;
    unsigned busy; /* threads at a change, which may come to be a large file */
    int rc;        /* the first error, and what it says */
    struct cairn_error error;
};

/* What one thread works with: the restore is a copy with what is its own. */
struct stager {
    struct staging *staging;
    struct restore restore;
    struct buf content; /* of a chunk */
    struct cairn_error error;
    char unfinished[24];
    pthread_t thread;
};

static int write_error(struct restore *r, int sys)
{
    return error_sys(r->error, sys, "writing in %s",
                     r->direct ? r->root : r->stage_path.data);
}

static bool is_stopped(const struct restore *r)
{
    return r->stop && atomic_load(r->stop);
}

static int tell_stopped(struct restore *r)
{
    return error_set(r->error, CAIRN_ESTOPPED, "stopped while writing in %s",
                     r->direct ? r->root : r->stage_path.data);
}

/* ---- A file ---- */

struct writing {
    struct restore *restore;
    int fd;
    uint64_t at;
    bool resize; /* it may end elsewhere: a hole is last, or it is a clone */
};

static bool is_zero(const char *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Blocks of zeros become holes. */
static int write_part(void *context, struct str part)
{
    enum { BLOCK = 4096 };
    struct writing *w = context;
    if (is_stopped(w->restore))
        return tell_stopped(w->restore);
    while (part.len) {
        size_t n = part.len < BLOCK ? part.len : BLOCK;
        bool hole = is_zero(part.ptr, n);
        while (!hole && n < part.len && n < 256 * BLOCK &&
               !is_zero(part.ptr + n, part.len - n < BLOCK ? part.len - n : BLOCK))
            n += part.len - n < BLOCK ? part.len - n : BLOCK;
        int sys = hole ? 0 : os_write_at(w->fd, (struct str){part.ptr, n}, w->at);
        if (sys)
            return write_error(w->restore, sys);
        w->resize = hole;
        w->at += n;
        part = (struct str){part.ptr + n, part.len - n};
    }
    return 0;
}

/* The disk begins with it at once, so that there is little to wait for at the end. */
static int write_chunk(struct stager *s, const struct large *large, size_t chunk,
                       uint64_t at)
{
    struct writing w = {.restore = &s->restore, .fd = large->fd, .at = at};
    int rc = snapshot_chunk(s->restore.store, large->list, chunk, &s->content,
                            s->restore.error)
                 ?: write_part(&w, buf_view(&s->content));
    if (rc == CAIRN_EDAMAGED)
        error_context(s->restore.error, "%.200s", large->path.ptr);
    if (!rc)
        (void)sync_file_range(large->fd, (off_t)at, (off_t)(w.at - at),
                              SYNC_FILE_RANGE_WRITE);
    return rc;
}

/* Under the lock, which is given up meanwhile. */
static void take_chunk(struct stager *s, struct large *large)
{
    struct staging *all = s->staging;
    size_t chunk = large->chunk++;
    uint64_t at = large->at;
    large->at += large->list->sizes[chunk];
    large->busy++;
    pthread_mutex_unlock(&all->lock);
    int rc = write_chunk(s, large, chunk, at);
    pthread_mutex_lock(&all->lock);
    if (rc && !all->rc) {
        all->rc = rc;
        all->error = s->error;
    }
    if (--large->busy == 0)
        pthread_cond_broadcast(&all->turned);
}

static bool has_chunks(const struct staging *all, const struct large *large)
{
    return !all->rc && large->chunk < large->list->n;
}

/* An error of another thread is found in the staging, and returned: the file has holes
 * then. */
static int write_chunks(struct stager *s, struct large *large)
{
    struct staging *all = s->staging;
    struct large **link;
    pthread_mutex_lock(&all->lock);
    large->next = all->large;
    all->large = large;
    pthread_cond_broadcast(&all->turned);
    while (has_chunks(all, large))
        take_chunk(s, large);
    while (large->busy)
        pthread_cond_wait(&all->turned, &all->lock);
    for (link = &all->large; *link != large; link = &(*link)->next)
        continue;
    *link = large->next;
    int rc = all->rc;
    pthread_mutex_unlock(&all->lock);
    return rc;
}

static int write_large(struct stager *s, struct str path, int fd,
                       const struct tree_entry *entry)
{
    struct restore *r = &s->restore;
    struct arena arena = ARENA_INIT;
    struct chunk_list list;
    struct large large = {.path = path, .fd = fd, .list = &list};
    int rc = snapshot_read_chunks(r->store, &entry->digest, &arena, &list, r->error);
    if (!rc && list.size != entry->size)
        rc = error_set(r->error, CAIRN_EDAMAGED,
                       "the chunks of a file are not its size");
    if (rc == CAIRN_EDAMAGED)
        error_context(r->error, "%.200s", path.ptr);
    if (!rc)
        rc = write_chunks(s, &large);
    arena_release(&arena);
    return rc;
}

/* *parts: its size may come to the disk before its content does. */
static int write_content(struct stager *s, struct str path, int fd,
                         const struct tree_entry *entry, bool *parts)
{
    struct restore *r = &s->restore;
    struct writing w = {.restore = r, .fd = fd};
    int rc = clone_like(r, entry, path, fd, &w.resize);
    *parts = false;
    if (rc || w.resize)
        return rc;
    if (entry->kind == TREE_CHUNKED) {
        w.resize = true;
        rc = write_large(s, path, fd, entry);
    } else {
        rc = snapshot_content(r->store, entry, write_part, &w, r->error);
        if (rc == CAIRN_EDAMAGED)
            error_context(r->error, "%.200s", path.ptr);
    }
    if (!rc && w.resize && ftruncate(fd, (off_t)entry->size) != 0)
        rc = write_error(r, errno);
    *parts = w.resize;
    return rc;
}

struct timespec restore_time(int64_t ns)
{
    int64_t s = ns / 1000000000, rest = ns % 1000000000;
    return rest < 0 ? (struct timespec){s - 1, rest + 1000000000}
                    : (struct timespec){s, rest};
}

static int set_attributes(int fd, const struct tree_entry *entry)
{
    struct timespec times[] = {{0, UTIME_OMIT}, restore_time(entry->mtime_ns)};
    return fchmod(fd, entry->mode) != 0 || futimens(fd, times) != 0 ? errno : 0;
}

/* Everything else than a directory that is thrown away is synced as a whole later. */
static int write_file(struct stager *s, struct str path, int fd,
                      const struct tree_entry *entry)
{
    bool parts;
    int rc = write_content(s, path, fd, entry, &parts);
    int sys = rc ? 0 : set_attributes(fd, entry);
    if (!rc && !sys && parts && s->restore.direct && fsync(fd) != 0)
        sys = errno;
    if (close(fd) != 0 && !sys)
        sys = errno;
    return rc ? rc : sys ? write_error(&s->restore, sys) : 0;
}

/* One that an earlier restore has left is in the way. */
static int create_file(const struct restore *r, const char *name)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = openat(r->stage, name, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlinkat(r->stage, name, 0) == 0)
        fd = openat(r->stage, name, flags, 0600);
    return fd;
}

/* Under another name until it is whole: what is found under that of a change is a file
 * that was in its place, or all of the one that is to come there. */
static int stage_file(struct stager *s, const char *name,
                      const struct restore_change *change)
{
    struct restore *r = &s->restore;
    int fd = create_file(r, s->unfinished);
    if (fd < 0)
        return write_error(r, errno);
    int rc = write_file(s, change->path, fd, &change->after);
    if (!rc && renameat(r->stage, s->unfinished, r->stage, name) != 0)
        rc = write_error(r, errno);
    if (rc)
        (void)unlinkat(r->stage, s->unfinished, 0);
    return rc;
}

static int make_link(struct restore *r, int parent, const char *name,
                     const struct tree_entry *entry)
{
    char target[TREE_TARGET_BYTES + 1];
    snprintf(target, sizeof target, "%.*s", (int)entry->target.len, entry->target.ptr);
    return symlinkat(target, parent, name) == 0 ? 0 : write_error(r, errno);
}

/* In an empty directory that is thrown away if anything fails. */
static int place_change(struct stager *s, const struct restore_change *change)
{
    struct restore *r = &s->restore;
    const char *name;
    int parent = place_parent(r, change->path, &name);
    if (parent < 0)
        return place_error(r, errno, change->path, "opening the directory of");
    if (change->after.kind == TREE_LINK)
        return make_link(r, parent, name, &change->after);
    int fd =
        openat(parent, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? write_error(r, errno)
                  : write_file(s, change->path, fd, &change->after);
}

const char *restore_staged_name(char out[24], size_t change)
{
    snprintf(out, 24, "%zu", change);
    return out;
}

static int stage_change(struct stager *s, size_t i)
{
    const struct restore_change *change = &s->restore.changes[i];
    char name[24];
    if (is_stopped(&s->restore))
        return tell_stopped(&s->restore);
    if (s->restore.direct)
        return place_change(s, change);
    restore_staged_name(name, i);
    return change->after.kind == TREE_LINK
               ? make_link(&s->restore, s->restore.stage, name, &change->after)
               : stage_file(s, name, change);
}

/* ---- All of them ---- */

static struct large *large_with_chunks(const struct staging *all)
{
    struct large *large = all->large;
    while (large && !has_chunks(all, large))
        large = large->next;
    return large;
}

static bool take_change(struct stager *s)
{
    struct staging *all = s->staging;
    const struct restore *r = &s->restore;
    while (all->next < r->n && !r->changes[all->next].staged)
        all->next++;
    if (all->next >= r->n)
        return false;
    size_t i = all->next++;
    all->busy++;
    pthread_mutex_unlock(&all->lock);
    int rc = stage_change(s, i);
    pthread_mutex_lock(&all->lock);
    if (rc && !all->rc) {
        all->rc = rc;
        all->error = s->error;
    }
    if (--all->busy == 0 || rc)
        pthread_cond_broadcast(&all->turned);
    return true;
}

static void stage_all(struct stager *s)
{
    struct staging *all = s->staging;
    bool more = true;
    pthread_mutex_lock(&all->lock);
    while (more && !all->rc) {
        struct large *large = large_with_chunks(all);
        if (large)
            take_chunk(s, large);
        else if (!take_change(s)) {
            more = all->busy > 0;
            if (more)
                pthread_cond_wait(&all->turned, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
}

static void open_stager(struct stager *s, struct staging *all, const struct restore *r,
                        unsigned number)
{
    *s = (struct stager){.staging = all, .restore = *r};
    s->restore.error = &s->error;
    s->restore.like_fd = -1;
    s->restore.counts = (struct restore_counts){0};
    s->restore.parent.path = BUF_INIT;
    s->restore.parent.fd = -1;
    s->restore.parent.sys = 0;
    snprintf(s->unfinished, sizeof s->unfinished, "new%.0u", number);
}

static void close_stager(struct stager *s)
{
    place_forget(&s->restore);
    restore_forget_like(&s->restore);
    buf_release(&s->restore.parent.path);
    buf_release(&s->content);
}

/* One that cannot have a handle leaves the work to the others. */
static void *serve_stager(void *context)
{
    struct stager *s = context;
    struct cairn_store *store = NULL;
    if (store_open_beside(s->restore.store, &store, NULL) == 0) {
        s->restore.store = store;
        stage_all(s);
    }
    cairn_store_close(store);
    return NULL;
}

/* One more thread for each so many bytes or files. */
static unsigned stagers_for(const struct restore *r)
{
    enum { BYTES = 16 << 20, FILES = 256 };
    uint64_t bytes = 0, files = 0;
    long most = r->threads > 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    for (size_t i = 0; most > 1 && i < r->n; i++) {
        files += r->changes[i].staged;
        bytes += r->changes[i].staged ? r->changes[i].after.size : 0;
    }
    most = most > STAGERS_MOST ? STAGERS_MOST : most;
    most = most > (long)r->threads ? (long)r->threads : most;
    uint64_t wanted = 1 + bytes / BYTES + files / FILES;
    return most < 1 ? 1 : wanted < (uint64_t)most ? (unsigned)wanted : (unsigned)most;
}

int restore_stage_all(struct restore *r)
{
    struct staging all = {.rc = 0};
    struct stager stagers[STAGERS_MOST];
    unsigned wanted = stagers_for(r), n = 1;
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.turned, NULL);
    open_stager(&stagers[0], &all, r, 0);
    for (unsigned i = 1; i < wanted; i++)
        open_stager(&stagers[i], &all, r, i);
    while (n < wanted &&
           pthread_create(&stagers[n].thread, NULL, serve_stager, &stagers[n]) == 0)
        n++;
    stage_all(&stagers[0]);
    for (unsigned i = 1; i < n; i++)
        pthread_join(stagers[i].thread, NULL);
    for (unsigned i = 0; i < wanted; i++) {
        r->counts.cloned += stagers[i].restore.counts.cloned;
        close_stager(&stagers[i]);
    }
    pthread_cond_destroy(&all.turned);
    pthread_mutex_destroy(&all.lock);
    if (all.rc && r->error)
        *r->error = all.error;
    return all.rc;
}
