/* SPDX-License-Identifier: MIT */
/* Inputs are looked at before an attempt starts, outputs when it has ended well, both
 * when it is decided whether the task runs again; outputs are removed before an
 * interrupted attempt is repeated. */
#include "runs/outputs.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void append_path(struct buf *path, struct str part)
{
    if (part.len == 0 || !part.ptr)
        return;
    if (part.ptr[0] == '/')
        buf_clear(path);
    else if (path->size && path->data[path->size - 1] != '/')
        buf_byte(path, '/');
    buf_str(path, part);
}

int task_directory(const struct scope *scope, struct buf *out,
                   struct cairn_error *error)
{
    struct buf cwd = BUF_INIT;
    int rc = text_expand(scope, scope->def->cwd, &cwd, error);
    buf_clear(out);
    buf_str(out, scope->definition->root);
    append_path(out, buf_view(&cwd));
    out->failed |= cwd.failed;
    buf_release(&cwd);
    return rc ? rc : buf_check(out, error);
}

int files_begin(struct files *f, const struct scope *scope, bool inputs,
                struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    *f = (struct files){.scope = scope,
                        .names = inputs ? def->inputs : def->outputs,
                        .n = inputs ? def->n_inputs : def->n_outputs,
                        .what = inputs ? "input" : "output"};
    return f->n ? task_directory(scope, &f->directory, error) : 0;
}

void files_release(struct files *f)
{
    buf_release(&f->directory);
    buf_release(&f->name);
    buf_release(&f->path);
}

static void set_path(struct buf *path, struct str directory, struct str name)
{
    buf_clear(path);
    buf_str(path, directory);
    append_path(path, name);
}

int files_step(struct files *f, struct cairn_error *error)
{
    if (f->next == f->n)
        return 0;
    buf_clear(&f->name);
    int rc = text_expand(f->scope, f->names[f->next++], &f->name, error);
    if (rc)
        return rc;
    if (memchr(f->name.data ? f->name.data : "", 0, f->name.size))
        return error_set(error, CAIRN_EWORKFLOW, "the name of an %s has a NUL in it",
                         f->what);
    set_path(&f->path, buf_view(&f->directory), buf_view(&f->name));
    rc = buf_check(&f->name, error);
    if (!rc)
        rc = buf_check(&f->path, error);
    return rc ? rc : 1;
}

static int hash_file(int fd, const char *name, struct digest *digest, uint64_t *size,
                     struct cairn_error *error)
{
    enum { CHUNK = 256 * 1024 };
    struct sha256 *sha = sha256_new();
    char *chunk = malloc(CHUNK);
    ssize_t n = -1;
    *size = 0;
    if (!sha || !chunk) {
        sha256_free(sha);
        free(chunk);
        return error_nomem(error);
    }
    sha256_begin(sha);
    while ((n = read(fd, chunk, CHUNK)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        sha256_add(sha, chunk, (size_t)n);
        *size += (uint64_t)n;
    }
    int saved = errno;
    sha256_end(sha, digest);
    sha256_free(sha);
    free(chunk);
    return n < 0 ? error_sys(error, saved, "cannot read %s", name) : 0;
}

/* Of a regular file that is not known yet. */
static int hash_new(int fd, const struct stat *st, const char *name,
                    struct file_digests *digests, struct result_file *file,
                    struct cairn_error *error)
{
    int64_t now_ns = clock_utc_ns();
    int rc = hash_file(fd, name, &file->digest, &file->size, error);
    if (!rc && digests && (uint64_t)st->st_size == file->size)
        file_digests_note(digests, st, now_ns, &file->digest);
    return rc;
}

/* Sets the digest and the size; of what is no regular file both stay. */
static int hash_path(const char *path, const char *name, struct file_digests *digests,
                     struct result_file *file, struct cairn_error *error)
{
    struct stat st;
    int rc = 0;
    /* O_NONBLOCK: a fifo with nobody at its other end must not stop us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_sys(error, errno, "cannot open %s", name);
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot look at %s", name);
    else if (S_ISREG(st.st_mode) && digests &&
             file_digests_find(digests, &st, &file->digest))
        file->size = (uint64_t)st.st_size;
    else if (S_ISREG(st.st_mode))
        rc = hash_new(fd, &st, name, digests, file, error);
    close(fd);
    return rc;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* A walk through a directory: what it found, as bytes to be hashed. */
struct walk {
    struct file_digests *digests;
    struct buf content; /* of each entry its path, its kind, and the digest of its
                           content, or where a symbolic link points */
    struct buf seen;    /* of each its path, its kind and its sign */
    bool looks_only;    /* only `seen` is wanted */
    uint64_t size;
    int64_t changed_ns;
};

static char kind_of(const FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_F:
        return 'f';
    case FTS_D:
        return 'd';
    case FTS_SL:
    case FTS_SLNONE:
        return 'l';
    default:
        return 'o';
    }
}

static void add_seen(struct walk *w, const FTSENT *entry, size_t skip)
{
    struct file_sign sign = file_sign_of(entry->fts_statp);
    int64_t changed_ns = timespec_ns(&entry->fts_statp->st_ctim);
    buf_lstr(&w->seen, str_of(entry->fts_path + skip));
    buf_byte(&w->seen, (uint8_t)kind_of(entry));
    buf_add(&w->seen, sign.bytes, sizeof sign.bytes);
    if (changed_ns > w->changed_ns)
        w->changed_ns = changed_ns;
}

static int add_content(struct walk *w, const FTSENT *entry, size_t skip,
                       struct cairn_error *error)
{
    struct result_file file = {0};
    char target[4096], kind = kind_of(entry);
    int rc = 0;
    if (kind == 'f')
        rc = hash_path(entry->fts_accpath, entry->fts_path, w->digests, &file, error);
    buf_lstr(&w->content, str_of(entry->fts_path + skip));
    buf_byte(&w->content, (uint8_t)kind);
    if (kind == 'l') {
        ssize_t n = readlink(entry->fts_accpath, target, sizeof target);
        buf_lstr(&w->content, (struct str){target, n > 0 ? (size_t)n : 0});
    }
    buf_add(&w->content, file.digest.bytes, sizeof file.digest.bytes);
    w->size += file.size;
    return rc;
}

/* What is seen of an entry was seen before its content is read. */
static int walk_entry(struct walk *w, const FTSENT *entry, size_t skip,
                      struct cairn_error *error)
{
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
        entry->fts_info == FTS_NS)
        return error_sys(error, entry->fts_errno, "cannot read %s", entry->fts_path);
    if (entry->fts_info == FTS_DP)
        return 0;
    add_seen(w, entry, skip);
    return w->looks_only || entry->fts_level <= 0 ? 0
                                                  : add_content(w, entry, skip, error);
}

static int walk_directory(const char *path, struct walk *w, struct cairn_error *error)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};
    int rc = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!walk)
        return error_sys(error, errno, "cannot read %s", path);
    const FTSENT *entry;
    errno = 0;
    while (!rc && (entry = fts_read(walk))) {
        rc = walk_entry(w, entry, strlen(path), error);
        errno = 0;
    }
    if (!rc && errno)
        rc = error_sys(error, errno, "cannot read %s", path);
    fts_close(walk);
    return rc                  ? rc
           : w->content.failed ? error_nomem(error)
                               : buf_check(&w->seen, error);
}

static int hash_directory(const char *path, struct file_digests *digests,
                          struct result_file *file, struct cairn_error *error)
{
    struct walk w = {.digests = digests};
    int rc = walk_directory(path, &w, error);
    if (!rc)
        rc = sha256_of(w.content.data, w.content.size, &file->digest, error);
    if (!rc)
        rc = sha256_of(w.seen.data, w.seen.size, &file->seen, error);
    file->size += w.size;
    if (w.changed_ns > file->changed_ns)
        file->changed_ns = w.changed_ns;
    buf_release(&w.content);
    buf_release(&w.seen);
    return rc;
}

static bool directory_sign(const char *path, struct file_sign *sign)
{
    struct walk w = {.looks_only = true};
    struct digest seen;
    bool good = walk_directory(path, &w, NULL) == 0 &&
                sha256_of(w.seen.data, w.seen.size, &seen, NULL) == 0;
    buf_release(&w.seen);
    sign->kind = 'd';
    if (good)
        memcpy(sign->bytes, seen.bytes, sizeof sign->bytes);
    return good;
}

bool file_sign_at(int at, const char *path, const char *whole, struct file_sign *sign)
{
    struct stat st;
    if (fstatat(at, path, &st, 0) < 0)
        return false;
    if (S_ISDIR(st.st_mode))
        return directory_sign(whole, sign);
    *sign = file_sign_of(&st);
    return true;
}

/* ---- What is recorded of a file ---- */

static int hash_any(const char *path, struct file_digests *digests,
                    struct result_file *file, struct cairn_error *error)
{
    return file->kind == 'd' ? hash_directory(path, digests, file, error)
                             : hash_path(path, path, digests, file, error);
}

static void take_times(const struct stat *st, struct result_file *file)
{
    file->kind = S_ISDIR(st->st_mode) ? 'd' : 'f';
    file->mtime_ns = timespec_ns(&st->st_mtim);
    file->ctime_ns = file->changed_ns = timespec_ns(&st->st_ctim);
    file->inode = st->st_ino;
}

/* Times before the content: a change while it is read shows as a change later. */
static int look_at_file(const char *path, struct file_digests *digests,
                        struct result_file *file, struct cairn_error *error)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", path);
    take_times(&st, file);
    return hash_any(path, digests, file, error);
}

static int look_at_files(struct files *f, struct file_digests *digests,
                         struct arena *arena, struct result_file *out,
                         struct cairn_error *error)
{
    int more;
    for (uint32_t i = 0; (more = files_step(f, error)) > 0; i++) {
        if (!os_is_there(AT_FDCWD, f->path.data))
            return error_set(error, CAIRN_ENOTFOUND, "its %s %s is missing (%s)",
                             f->what, f->name.data, f->path.data);
        out[i].name = arena_str(arena, buf_view(&f->name));
        int rc = look_at_file(f->path.data, digests, &out[i], error);
        if (rc)
            return rc;
    }
    return more < 0 ? more : arena->failed ? error_nomem(error) : 0;
}

int files_look(const struct asker *asker, bool inputs, struct arena *arena,
               struct result_file **out, uint32_t *n, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct files f;
    int rc = files_begin(&f, &scope, inputs, error);
    struct result_file *list = arena_take(arena, f.n, sizeof *list);
    if (!rc && !list)
        rc = error_nomem(error);
    if (!rc)
        rc = look_at_files(&f, &asker->lookup->digests, arena, list, error);
    *out = list;
    *n = f.n;
    files_release(&f);
    return rc;
}

static bool same_times(const struct stat *st, const struct result_file *recorded)
{
    return recorded->kind == 'f' && S_ISREG(st->st_mode) && recorded->mtime_ns &&
           (uint64_t)st->st_size == recorded->size && st->st_ino == recorded->inode &&
           timespec_ns(&st->st_mtim) == recorded->mtime_ns &&
           timespec_ns(&st->st_ctim) == recorded->ctime_ns;
}

/* `now`: as far as it can be told without its content. */
static int compare_content(const char *path, const struct stat *st,
                           struct file_digests *digests,
                           const struct result_file *recorded, struct result_file *now,
                           enum file_state *state, struct cairn_error *error)
{
    bool file = now->kind == 'f' && S_ISREG(st->st_mode);
    *state = FILE_DIFFERS;
    if (now->kind != recorded->kind || (file && now->size != recorded->size))
        return 0;
    now->size = 0;
    int rc = hash_any(path, digests, now, error);
    if (!rc && digest_equal(&now->digest, &recorded->digest))
        *state = FILE_SAME;
    return rc;
}

static int compare_at(const char *path, const struct file_view *view,
                      const struct result_file *recorded, enum file_state *state,
                      struct result_file *now, struct cairn_error *error)
{
    struct stat st;
    *state = FILE_SAME;
    if (stat(path, &st) < 0) {
        *state = FILE_MISSING;
        return os_is_missing(errno)
                   ? 0
                   : error_sys(error, errno, "cannot look at %s", path);
    }
    take_times(&st, now);
    now->size = (uint64_t)st.st_size;
    if (!view->content || (view->trust_times && same_times(&st, recorded)))
        return 0;
    return compare_content(path, &st, view->digests, recorded, now, state, error);
}

int file_compare(const struct file_view *view, const struct result_file *recorded,
                 enum file_state *state, struct result_file *now,
                 struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    *now = (struct result_file){.name = recorded->name};
    set_path(&path, view->directory, recorded->name);
    int rc = buf_check(&path, error);
    if (!rc)
        rc = compare_at(path.data, view, recorded, state, now, error);
    buf_release(&path);
    return rc;
}

int outputs_remove(const struct scope *scope, struct cairn_error *error)
{
    struct files f;
    int rc = files_begin(&f, scope, false, error), more = 0;
    while (!rc && (more = files_step(&f, error)) > 0)
        if (unlink(f.path.data) < 0 && !os_is_missing(errno) && errno != EISDIR &&
            errno != EPERM)
            rc = error_sys(error, errno,
                           "cannot remove %s, left by an interrupted attempt",
                           f.name.data);
    files_release(&f);
    return rc ? rc : more;
}
