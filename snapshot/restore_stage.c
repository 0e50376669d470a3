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
#include <sys/xattr.h>
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
    struct place_directory like = PLACE_INIT;
    struct stat st;
    const char *name;
    int parent = place_open(&like, restore->like_fd, path, &name);
    int fd = parent < 0
                 ? -1
                 : openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    place_close(&like);
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

/* ---- Where it is written ---- */

const char *restore_staged_name(char out[RESTORE_NAME], size_t change)
{
    snprintf(out, RESTORE_NAME, "%zu", change);
    return out;
}

const char *restore_tree_name(char out[RESTORE_NAME], size_t change)
{
    snprintf(out, RESTORE_NAME, "%zu" RESTORE_TREE, change);
    return out;
}

/* What is made in a directory is given its group or its default access list. */
struct heritage {
    gid_t group;
    bool list;
};

static struct heritage heritage_of(int directory)
{
    struct stat st;
    bool own = fstat(directory, &st) != 0 || !(st.st_mode & S_ISGID);
    return (struct heritage){
        .group = own ? getegid() : st.st_gid,
        .list = fgetxattr(directory, "system.posix_acl_default", NULL, 0) >= 0};
}

/* What is made in the stage is as if it were made in the place. */
static bool is_alike(struct restore *r, struct str path, struct heritage stage)
{
    const char *name;
    int parent = place_parent(r, path, &name);
    if (parent < 0)
        return false;
    struct heritage place = heritage_of(parent);
    return place.group == stage.group && !place.list && !stage.list;
}

void restore_choose_trees(struct restore *r)
{
    struct heritage stage = heritage_of(r->stage);
    const struct restore_change *root = NULL;
    uint32_t tree = 0;
    for (size_t i = 0; i < r->n && i < UINT32_MAX - 1; i++) {
        struct restore_change *change = &r->changes[i];
        if (!root || !path_lies_in(change->path, root->path)) {
            bool makes = restore_makes(change) && is_alike(r, change->path, stage);
            root = makes ? change : NULL;
            tree = root ? (uint32_t)i + 1 : 0;
        }
        change->tree = tree;
    }
}

/* By its path in the stage; "12.tree/sub/file" lies in a new directory. */
static int path_written(struct restore *r, size_t i)
{
    const struct restore_change *change = &r->changes[i];
    struct buf *path = &r->written_path;
    struct str below = change->path;
    char name[RESTORE_NAME];
    buf_clear(path);
    if (change->tree) {
        size_t n = r->changes[change->tree - 1].path.len;
        below = (struct str){below.ptr + n, below.len - n};
        buf_text(path, restore_tree_name(name, change->tree - 1));
        buf_str(path, below);
    } else if (r->direct) {
        buf_str(path, below);
    } else {
        buf_text(path, restore_staged_name(name, i));
    }
    return path->failed ? ENOMEM : 0;
}

static int open_written(struct restore *r, const char **name)
{
    return place_open(&r->written, r->direct ? r->fd : r->stage,
                      buf_view(&r->written_path), name);
}

int restore_written(struct restore *r, size_t change, const char **name)
{
    errno = path_written(r, change);
    return errno ? -1 : open_written(r, name);
}

static bool is_written_in(const struct restore *r, const struct restore_change *change)
{
    return change->after.kind == TREE_DIRECTORY && (change->tree || r->direct);
}

int restore_make_directories(struct restore *r)
{
    const char *name;
    for (size_t i = 0; i < r->n; i++)
        if (is_written_in(r, &r->changes[i]) &&
            (restore_written(r, i, &name) < 0 ||
             mkdirat(r->written.fd, name, 0700) != 0))
            return write_error(r, errno);
    return 0;
}

static int finish_directory(struct restore *r, size_t i)
{
    const char *name;
    int sys = path_written(r, i);
    buf_text(&r->written_path, "/."); /* itself */
    if (!sys && (r->written_path.failed || open_written(r, &name) < 0))
        sys = r->written_path.failed ? ENOMEM : errno;
    return sys ? sys : set_attributes(r->written.fd, &r->changes[i].after);
}

int restore_finish_directories(struct restore *r)
{
    int sys = 0;
    for (size_t i = r->n; i > 0 && !sys; i--)
        if (is_written_in(r, &r->changes[i - 1]) && r->changes[i - 1].tree != i)
            sys = finish_directory(r, i - 1);
    restore_forget_places(r);
    return sys ? write_error(r, sys) : 0;
}

void restore_forget_places(struct restore *r)
{
    place_close(&r->parent);
    place_close(&r->written);
    buf_release(&r->written_path);
}

/* ---- Writing it ---- */

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

/* One that an earlier thread has left is in the way. */
static int create_file(int directory, const char *name)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(directory, name, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlinkat(directory, name, 0) == 0)
        fd = openat(directory, name, flags, 0600);
    return fd;
}

/* Of a restore that was begun before, under another name until it is whole: what is found
 * under that of a change is a file that was in its place, or all of the one that is to
 * come there. Before anything is decided whatever is in the stage is thrown away. */
static int stage_file(struct stager *s, int directory, const char *name,
                      const struct restore_change *change)
{
    struct restore *r = &s->restore;
    const char *first = r->again ? s->unfinished : name;
    int fd = create_file(directory, first);
    if (fd < 0)
        return write_error(r, errno);
    int rc = write_file(s, change->path, fd, &change->after);
    if (!rc && r->again && renameat(directory, first, directory, name) != 0)
        rc = write_error(r, errno);
    if (rc)
        (void)unlinkat(directory, first, 0);
    return rc;
}

static int make_link(struct restore *r, int directory, const char *name,
                     const struct tree_entry *entry)
{
    char target[TREE_TARGET_BYTES + 1];
    snprintf(target, sizeof target, "%.*s", (int)entry->target.len, entry->target.ptr);
    return symlinkat(target, directory, name) == 0 ? 0 : write_error(r, errno);
}

static int stage_change(struct stager *s, size_t i)
{
    struct restore *r = &s->restore;
    const struct restore_change *change = &r->changes[i];
    const char *name;
    if (is_stopped(r))
        return tell_stopped(r);
    int directory = restore_written(r, i, &name);
    if (directory < 0)
        return place_error(r, errno, change->path, "opening the directory of");
    return change->after.kind == TREE_LINK
               ? make_link(r, directory, name, &change->after)
               : stage_file(s, directory, name, change);
}

/* ---- All of them ---- */

static struct large *large_with_chunks(const struct staging *all)
{
    struct large *large = all->large;
    while (large && !has_chunks(all, large))
        large = large->next;
    return large;
}

static struct str above_of(struct str path)
{
    while (path.len && path.ptr[path.len - 1] != '/')
        path.len--;
    return path;
}

/* Those of one directory that follow each other, so many or so many bytes of them: two
 * threads that make names in one directory wait for each other. */
static size_t batch_end(const struct restore *r, size_t from)
{
    enum { FILES = 64, BYTES = 1 << 20 };
    struct str above = above_of(r->changes[from].path);
    uint64_t bytes = r->changes[from].after.size;
    size_t end = from + 1;
    while (end < r->n && end - from < FILES && r->changes[end].staged &&
           str_equal(above_of(r->changes[end].path), above) &&
           bytes + r->changes[end].after.size <= BYTES)
        bytes += r->changes[end++].after.size;
    return end;
}

/* What is little is read in one transaction. */
static int stage_batch(struct stager *s, size_t from, size_t end)
{
    struct cairn_store *store = s->restore.store;
    bool several = end - from > 1;
    int rc = several ? store_begin_read(store, s->restore.error) : 0;
    bool reading = several && !rc;
    for (size_t i = from; i < end && !rc; i++)
        rc = stage_change(s, i);
    if (reading)
        store_end_read(store);
    return rc;
}

static bool take_changes(struct stager *s)
{
    struct staging *all = s->staging;
    const struct restore *r = &s->restore;
    while (all->next < r->n && !r->changes[all->next].staged)
        all->next++;
    if (all->next >= r->n)
        return false;
    size_t from = all->next, end = batch_end(r, from);
    all->next = end;
    all->busy++;
    pthread_mutex_unlock(&all->lock);
    int rc = stage_batch(s, from, end);
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
        else if (!take_changes(s)) {
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
    s->restore.parent = s->restore.written = PLACE_INIT;
    s->restore.written_path = BUF_INIT;
    snprintf(s->unfinished, sizeof s->unfinished, "new%.0u", number);
}

static void close_stager(struct stager *s)
{
    restore_forget_places(&s->restore);
    restore_forget_like(&s->restore);
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
