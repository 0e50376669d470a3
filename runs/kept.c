/* SPDX-License-Identifier: MIT */
/* Which files are kept, whether the copies are right, and putting them back.
 *
 * They are put back in three steps, and each can be repeated:
 *
 *   1. all of them are written below a directory of their own, the stage: in the
 *      directory of the store, or where that is on another file system, beside the files
 *   2. each is moved into place in one step, and what was there into the stage; if one
 *      cannot be, the others are moved back
 *   3. the stage is removed, with what was there
 *
 * A lock on the stage says that somebody is at it: one without is what a kill has left.
 */
#include "runs/kept.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/utf8.h"
#include "runs/artifacts.h"
#include "snapshot/restore.h"
#include "storage/object.h"
#include "storage/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Which they are ---- */

/* Below the root, or CAIRN_EUSAGE. */
static int path_below(const struct scope *scope, struct str name, struct buf *out,
                      struct cairn_error *error)
{
    struct str root = scope->definition->root;
    struct buf whole = BUF_INIT;
    int rc = task_file_place(scope, name, out, error);
    if (rc)
        return rc;
    buf_str(&whole, root);
    buf_path(&whole, buf_view(out));
    rc = buf_check(&whole, error);
    if (!rc)
        path_tidy(&whole, true);
    buf_clear(out);
    bool inside = !rc && root.len && whole.size > root.len + 1 &&
                  whole.data[root.len] == '/' &&
                  memcmp(whole.data, root.ptr, root.len) == 0;
    if (inside)
        buf_add(out, whole.data + root.len + 1, whole.size - root.len - 1);
    buf_release(&whole);
    return rc       ? rc
           : inside ? buf_check(out, error)
                    : error_set(error, CAIRN_EUSAGE,
                                "%.*s does not lie below the directory of the workflow",
                                (int)utf8_fit(name, 400), name.ptr);
}

int kept_files_find(const struct scope *scope, const struct result_file *outputs,
                    uint32_t n, struct kept_files *out, struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    int rc = 0;
    *out = (struct kept_files){.arena = ARENA_INIT};
    out->root = arena_str(&out->arena, scope->definition->root);
    out->paths = arena_take(&out->arena, n, sizeof *out->paths);
    out->outputs = arena_take(&out->arena, n, sizeof *out->outputs);
    struct str *sorted = arena_take(&out->arena, n, sizeof *sorted);
    if (out->arena.failed)
        return error_nomem(error);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = path_below(scope, outputs[i].name, &path, error);
        out->outputs[i] = outputs[i];
        out->outputs[i].name = arena_str(&out->arena, outputs[i].name);
        out->paths[i] = sorted[i] = arena_str(&out->arena, buf_view(&path));
        out->n++;
    }
    buf_release(&path);
    if (!rc && out->arena.failed)
        rc = error_nomem(error);
    return rc ? rc
              : names_outermost(&out->arena, sorted, n, &out->names, &out->n_names,
                                error);
}

void kept_files_release(struct kept_files *files)
{
    arena_release(&files->arena);
}

/* ---- Are the copies right? ---- */

struct comparing {
    struct cairn_store *store;
    struct sha256 *sha;
    const _Atomic uint32_t *stop;
    struct buf listing; /* of a directory, as its digest is made (outputs.c) */
    struct buf path;
    struct cairn_error *error;
};

static bool is_stopped(const _Atomic uint32_t *stop)
{
    return stop && atomic_load(stop);
}

static int add_part(void *context, struct str part)
{
    struct comparing *c = context;
    if (is_stopped(c->stop))
        return error_set(c->error, CAIRN_ESTOPPED, "stopped while outputs were kept");
    sha256_add(c->sha, part.ptr, part.len);
    return 0;
}

static int hash_content(struct comparing *c, const struct tree_entry *file,
                        struct digest *out)
{
    *out = file->digest;
    if (file->kind == TREE_FILE)
        return 0;
    sha256_begin(c->sha);
    int rc = snapshot_content(c->store, file, add_part, c, c->error);
    sha256_end(c->sha, out);
    return rc;
}

static int add_entry(void *context, struct str path, const struct tree_entry *entry)
{
    struct comparing *c = context;
    struct digest digest = {{0}};
    bool file = tree_is_file(entry);
    int rc = file ? hash_content(c, entry, &digest) : 0;
    buf_clear(&c->path);
    buf_byte(&c->path, '/');
    buf_str(&c->path, path);
    buf_lstr(&c->listing, buf_view(&c->path));
    buf_byte(&c->listing, file                            ? 'f'
                          : entry->kind == TREE_DIRECTORY ? 'd'
                          : entry->kind == TREE_LINK      ? 'l'
                                                          : 'o');
    if (entry->kind == TREE_LINK)
        buf_lstr(&c->listing, entry->target);
    buf_add(&c->listing, digest.bytes, sizeof digest.bytes);
    return rc;
}

static int hash_entry(struct comparing *c, const struct tree_entry *entry,
                      struct digest *out)
{
    *out = (struct digest){{0}};
    if (tree_is_file(entry))
        return hash_content(c, entry, out);
    if (entry->kind != TREE_DIRECTORY)
        return 0; /* a link: what it leads to is not kept */
    buf_clear(&c->listing);
    int rc = snapshot_each(c->store, &entry->digest, add_entry, c, c->error)
                 ?: buf_check(&c->path, c->error)
                 ?: buf_check(&c->listing, c->error);
    return rc ? rc : sha256_of(c->listing.data, c->listing.size, out, c->error);
}

static int compare_output(struct comparing *c, const struct digest *root,
                          struct str path, const struct result_file *output)
{
    struct arena arena = ARENA_INIT;
    struct tree_entry entry;
    struct digest digest = {{0}};
    int rc = snapshot_find(c->store, root, path, &arena, &entry, c->error);
    bool link = rc > 0 && entry.kind == TREE_LINK;
    if (rc > 0)
        rc = hash_entry(c, &entry, &digest);
    arena_release(&arena);
    if (rc || digest_equal(&digest, &output->digest))
        return rc;
    return error_set(c->error, CAIRN_EIO, "%.*s %s", (int)utf8_fit(path, 400), path.ptr,
                     link ? "is a symbolic link"
                          : "was changed since, or has something in it that is never "
                            "stored");
}

int kept_files_compare(const struct kept_files *files, struct cairn_store *store,
                       const struct digest *snapshot, const _Atomic uint32_t *stop,
                       struct cairn_error *error)
{
    struct comparing c = {
        .store = store, .sha = sha256_new(), .stop = stop, .error = error};
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    int rc = c.sha ? snapshot_read(store, snapshot, &arena, &head, error)
                   : error_nomem(error);
    for (uint32_t i = 0; i < files->n && !rc; i++)
        rc = compare_output(&c, &head.root, files->paths[i], &files->outputs[i]);
    sha256_free(c.sha);
    buf_release(&c.listing);
    buf_release(&c.path);
    arena_release(&arena);
    return rc;
}

struct seeking {
    struct cairn_store *store;
    struct cairn_error *error;
};

enum { LACKING = 1 };

static int seek_content(void *context, struct str path, const struct tree_entry *entry)
{
    const struct seeking *s = context;
    struct arena arena = ARENA_INIT;
    struct chunk_list list = {.n = 0};
    bool there = true;
    (void)path;
    int rc = !tree_is_file(entry)
                 ? 0
                 : store_has_object(s->store, &entry->digest, &there, s->error);
    if (!rc && there && entry->kind == TREE_CHUNKED)
        rc = snapshot_read_chunks(s->store, &entry->digest, &arena, &list, s->error);
    for (size_t i = 0; i < list.n && !rc && there; i++) {
        struct digest chunk;
        memcpy(chunk.bytes, list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        rc = store_has_object(s->store, &chunk, &there, s->error);
    }
    arena_release(&arena);
    return rc ? rc : there ? 0 : LACKING;
}

int kept_is_there(struct cairn_store *store, const struct digest *snapshot,
                  uint64_t *bytes, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct seeking s = {store, &why};
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    int rc = snapshot_read(store, snapshot, &arena, &head, &why);
    *bytes = rc ? 0 : head.counts.bytes;
    if (!rc)
        rc = snapshot_each(store, &head.root, seek_content, &s, &why);
    arena_release(&arena);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return rc < 0 ? error_set(error, rc, "%s", why.text) : rc == 0;
}

/* ---- The stage ---- */

#define STAGE_NAME TREE_STAGE "put-"

/* A directory in which nobody else can put a link in the place of what is removed. */
static int open_own(int at, const char *name)
{
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void clear_in(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *found;
    struct buf stage = BUF_INIT;
    while (dir && (found = readdir(dir))) {
        if (strncmp(found->d_name, STAGE_NAME, sizeof STAGE_NAME - 1) != 0)
            continue;
        int fd = open_own(dirfd(dir), found->d_name);
        buf_clear(&stage);
        buf_format(&stage, "%s/%s", path, found->d_name);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && !stage.failed)
            (void)place_delete(AT_FDCWD, stage.data);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    buf_release(&stage);
}

void kept_clear(struct cairn_store *store, const char *root)
{
    clear_in(cairn_store_path(store));
    clear_in(root);
}

struct putting {
    struct kept_files *files;
    struct cairn_store *store;
    const _Atomic uint32_t *stop;
    int root, stage; /* directories */
    struct buf path; /* of the stage */
    struct moved {
        bool moved, had; /* had: something was there, which is in the stage now */
        bool two_steps;  /* ... under old_name */
        bool locked;     /* it was a directory of this mode, which is set again if it is
                            moved back */
        mode_t mode;
        struct stat st; /* of what was staged */
    } * moved;          /* [files->n_names] */
    struct cairn_error *error;
};

static int open_stage(struct putting *p, uint64_t run, uint32_t task)
{
    struct stat root, store;
    const char *dir = cairn_store_path(p->store);
    bool near = fstat(p->root, &root) == 0 && stat(dir, &store) == 0 &&
                root.st_dev == store.st_dev;
    buf_format(&p->path, "%s/" STAGE_NAME "%s-%llu-%u", near ? dir : p->files->root.ptr,
               store_id(p->store), (unsigned long long)run, task);
    int rc = buf_check(&p->path, p->error);
    if (rc)
        return rc;
    if (mkdir(p->path.data, 0700) != 0) {
        int sys = errno, left = sys == EEXIST ? open_own(AT_FDCWD, p->path.data) : -1;
        if (left < 0)
            return error_sys(p->error, sys, "making %s", p->path.data);
        (void)place_delete(AT_FDCWD, p->path.data);
        close(left);
        if (mkdir(p->path.data, 0700) != 0)
            return error_sys(p->error, errno, "making %s", p->path.data);
    }
    p->stage = open(p->path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return p->stage >= 0 && flock(p->stage, LOCK_EX | LOCK_NB) == 0
               ? 0
               : error_sys(p->error, errno, "opening %s", p->path.data);
}

static int write_all(struct putting *p, const struct digest *snapshot)
{
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    struct restore r;
    int rc = snapshot_read(p->store, snapshot, &arena, &head, p->error);
    arena_release(&arena);
    if (rc)
        return rc;
    rc = restore_open(&r, p->store, p->path.data, NULL, &head.root, NULL, p->error);
    r.scratch = r.direct = true;
    r.threads = RESTORE_THREADS_MOST;
    r.like = p->files->root.ptr;
    r.stop = p->stop;
    rc = rc ?: restore_prepare(&r, false) ?: restore_apply(&r);
    restore_close(&r);
    return rc;
}

/* ---- Into place ---- */

/* The directory of the path, without following a link; -1 and errno. `ours`: below the
 * stage, where nothing is locked. Else what is missing is made. */
static int open_above(int root, struct str path, bool ours, const char **last)
{
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    char name[TREE_NAME_BYTES + 1];
    const char *part = path.ptr, *slash;
    while (at >= 0 && (slash = strchr(part, '/'))) {
        size_t n = (size_t)(slash - part);
        if (n >= sizeof name) {
            close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, part, n);
        name[n] = '\0';
        int made = ours ? fchmodat(at, name, 0700, 0) : mkdirat(at, name, 0777);
        int next =
            made != 0 && errno != EEXIST
                ? -1
                : openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int saved = errno;
        close(at);
        errno = saved;
        at = next;
        part = slash + 1;
    }
    *last = part;
    return at;
}

/* No tree has such a name. */
static void old_name(char out[64], size_t i)
{
    snprintf(out, 64, TREE_STAGE "old.%zu", i);
}

/* On a file system that cannot exchange names. */
static int move_in_steps(struct putting *p, size_t i, int from, int to,
                         const char *name)
{
    struct moved *m = &p->moved[i];
    char old[64];
    old_name(old, i);
    m->had = m->two_steps = renameat(to, name, p->stage, old) == 0;
    if (!m->had && errno != ENOENT)
        return errno;
    if (renameat(from, name, to, name) == 0)
        return 0;
    int sys = errno;
    if (m->had)
        (void)renameat(p->stage, old, to, name);
    return sys;
}

/* A directory is only moved elsewhere by who may write in it. True: it was made so, and
 * *mode is what it had. */
static bool unlock_directory(int dir, const char *name, mode_t *mode)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool locked = fd >= 0 && fstat(fd, &st) == 0 && !(st.st_mode & S_IWUSR) &&
                  fchmod(fd, (st.st_mode & TREE_MODE_BITS) | S_IWUSR) == 0;
    if (locked)
        *mode = st.st_mode & TREE_MODE_BITS;
    if (fd >= 0)
        close(fd);
    return locked;
}

static void lock_directory(int dir, const char *name, mode_t mode)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fchmod(fd, mode);
    close(fd);
}

static int exchange(struct putting *p, size_t i, int from, int to, const char *name)
{
    struct moved *m = &p->moved[i];
    m->had = renameat2(from, name, to, name, RENAME_EXCHANGE) == 0;
    if (m->had ||
        (errno == ENOENT && renameat2(from, name, to, name, RENAME_NOREPLACE) == 0))
        return 0;
    return errno == EINVAL || errno == ENOSYS ? move_in_steps(p, i, from, to, name)
                                              : errno;
}

/* 0 or an errno. */
static int move_one(struct putting *p, size_t i, int from, int to, const char *name)
{
    struct moved *m = &p->moved[i];
    mode_t mode;
    if (fstatat(from, name, &m->st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    bool locked = unlock_directory(from, name, &mode);
    m->locked = unlock_directory(to, name, &m->mode);
    int sys = exchange(p, i, from, to, name);
    if (!sys && locked)
        lock_directory(to, name, mode);
    if (sys && m->locked)
        lock_directory(to, name, m->mode);
    return sys;
}

static void exchange_back(struct putting *p, size_t i, int from, int to,
                          const char *name)
{
    const struct moved *m = &p->moved[i];
    char old[64];
    old_name(old, i);
    if (m->had && !m->two_steps) {
        (void)renameat2(from, name, to, name, RENAME_EXCHANGE);
        return;
    }
    (void)renameat(to, name, from, name);
    if (m->had)
        (void)renameat(p->stage, old, to, name);
}

static void move_back(struct putting *p, size_t i, int from, int to, const char *name)
{
    const struct moved *m = &p->moved[i];
    mode_t mode;
    (void)unlock_directory(to, name, &mode);
    exchange_back(p, i, from, to, name);
    if (m->locked)
        lock_directory(to, name, m->mode);
}

static int move_name(struct putting *p, size_t i, bool back)
{
    struct str path = p->files->names[i];
    const char *name;
    int from = open_above(p->stage, path, true, &name);
    int to = from < 0 ? -1 : open_above(p->root, path, false, &name), sys = 0;
    if (from < 0 || to < 0)
        sys = errno;
    else if (back)
        move_back(p, i, from, to, name);
    else
        sys = move_one(p, i, from, to, name);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return sys ? error_sys(p->error, sys, "putting back %.*s", (int)utf8_fit(path, 400),
                           path.ptr)
               : 0;
}

static int move_all(struct putting *p)
{
    size_t n = 0;
    int rc = 0;
    for (; n < p->files->n_names && !rc; n++)
        rc = move_name(p, n, false);
    for (size_t i = rc ? n - 1 : 0; i > 0; i--) {
        struct putting quiet = *p;
        quiet.error = NULL;
        (void)move_name(&quiet, i - 1, true);
    }
    return rc;
}

/* NULL: it lies in a directory that was moved. */
static const struct moved *moved_as(const struct putting *p, struct str path)
{
    const struct str *names = p->files->names;
    const struct str *found =
        bsearch(&path, names, p->files->n_names, sizeof *names, str_order);
    return found ? &p->moved[found - names] : NULL;
}

/* What is there now has the sign of what was put there, or somebody has written it
 * since: then its times say so. */
static int note_signs(struct putting *p)
{
    struct kept_files *f = p->files;
    for (uint32_t i = 0; i < f->n; i++) {
        struct result_file *output = &f->outputs[i];
        struct stat st;
        if (fstatat(p->root, f->paths[i].ptr, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return error_sys(p->error, errno, "looking at %s", f->paths[i].ptr);
        output->seen = (struct digest){{0}};
        if (output->kind == 'd')
            continue;
        output->inode = st.st_ino;
        output->ctime_ns = output->changed_ns = timespec_ns(&st.st_ctim);
        bool same = S_ISREG(st.st_mode) && (uint64_t)st.st_size == output->size;
        const struct moved *moved = moved_as(p, f->paths[i]);
        if (moved)
            same = same && st.st_ino == moved->st.st_ino &&
                   timespec_ns(&st.st_mtim) == timespec_ns(&moved->st.st_mtim);
        output->mtime_ns = timespec_ns(&st.st_mtim);
        if (!same)
            return error_set(p->error, CAIRN_EIO,
                             "%s was changed while it was put back", f->paths[i].ptr);
    }
    return 0;
}

int kept_put_back(struct kept_files *files, struct cairn_store *store,
                  const struct digest *snapshot, uint64_t run, uint32_t task,
                  const _Atomic uint32_t *stop, struct cairn_error *error)
{
    struct putting p = {.files = files,
                        .store = store,
                        .stop = stop,
                        .stage = -1,
                        .moved = calloc(files->n_names + 1, sizeof *p.moved),
                        .error = error};
    p.root = open(files->root.ptr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = !p.moved     ? error_nomem(error)
             : p.root < 0 ? error_sys(error, errno, "%s", files->root.ptr)
                          : open_stage(&p, run, task);
    if (!rc)
        rc = write_all(&p, snapshot);
    if (!rc && is_stopped(stop))
        rc = error_set(error, CAIRN_ESTOPPED, "stopped while outputs were put back");
    if (!rc)
        rc = move_all(&p) ?: note_signs(&p);
    if (p.path.data)
        (void)place_delete(AT_FDCWD, p.path.data);
    if (p.stage >= 0)
        close(p.stage);
    if (p.root >= 0)
        close(p.root);
    buf_release(&p.path);
    free(p.moved);
    return rc;
}
