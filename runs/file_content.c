/* SPDX-License-Identifier: MIT */
/* Content of files, as digests. */
#include "runs/outputs.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What looking at a file costs besides reading it, in bytes. */
enum { FILE_COST = 4096 };

static bool is_stopped(const struct file_reader *reader)
{
    return reader->stop && atomic_load(reader->stop);
}

static int refuse_stopped(const char *name, struct cairn_error *error)
{
    return error_set(error, CAIRN_ESTOPPED, "stopped while %s was read", name);
}

/* False: it is more than may be read now. */
static bool spend(struct file_reader *reader, uint64_t bytes)
{
    if (!reader->limited)
        return true;
    if (reader->left < FILE_COST || reader->left - FILE_COST < bytes)
        return false;
    reader->left -= FILE_COST + bytes;
    return true;
}

/* ---- Files ---- */

struct content { /* of one file */
    struct sha256 *sha;
    char *chunk;
    uint64_t size, most;
};

enum { CHUNK_BYTES = 256 * 1024 };

/* 1: there may be more, 0: that was all, -1: errno. */
static int add_chunk(struct content *c, int fd)
{
    uint64_t left = c->most - c->size;
    ssize_t n = read(fd, c->chunk, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES);
    if (n < 0)
        return errno == EINTR ? 1 : -1;
    sha256_add(c->sha, c->chunk, (size_t)n);
    c->size += (uint64_t)n;
    return n > 0;
}

static int read_all(struct content *c, int fd, const char *name,
                    const struct file_reader *reader, struct cairn_error *error)
{
    int more = 1;
    while (more > 0 && !is_stopped(reader))
        more = add_chunk(c, fd);
    return more < 0   ? error_sys(error, errno, "cannot read %s", name)
           : more > 0 ? refuse_stopped(name, error)
                      : 0;
}

/* Of a file that grows all the time, what there was at first: the change shows later.
 * Some files have content though they say that they have no size (/proc). */
static uint64_t most_to_read(const struct stat *st)
{
    enum { LEAST = 1 << 20 };
    return st->st_size > LEAST ? (uint64_t)st->st_size : LEAST;
}

static int hash_file(int fd, const struct stat *st, const char *name,
                     const struct file_reader *reader, struct result_file *file,
                     struct cairn_error *error)
{
    struct content c = {sha256_new(), malloc(CHUNK_BYTES), 0, most_to_read(st)};
    int rc = c.sha && c.chunk ? 0 : error_nomem(error);
    if (!rc) {
        sha256_begin(c.sha);
        rc = read_all(&c, fd, name, reader, error);
        sha256_end(c.sha, &file->digest);
        file->size = c.size;
    }
    sha256_free(c.sha);
    free(c.chunk);
    return rc;
}

static int hash_and_note(int fd, const struct stat *st, const char *name,
                         const struct file_reader *reader, struct result_file *file,
                         struct cairn_error *error)
{
    int64_t now_ns = clock_utc_ns();
    int rc = hash_file(fd, st, name, reader, file, error);
    if (!rc && reader->digests && (uint64_t)st->st_size == file->size)
        file_digests_note(reader->digests, st, now_ns, &file->digest);
    return rc;
}

static bool is_known(const struct file_reader *reader, const struct stat *st,
                     struct result_file *file)
{
    if (!reader->digests || !file_digests_find(reader->digests, st, &file->digest))
        return false;
    file->size = (uint64_t)st->st_size;
    return true;
}

/* What another thread is reading is likely to be known when that is done. */
static int hash_unknown(int fd, const struct stat *st, const char *name,
                        struct file_reader *reader, struct result_file *file,
                        struct cairn_error *error)
{
    if (!spend(reader, (uint64_t)st->st_size))
        return FILE_LONG;
    if (reader->limited || !reader->digests)
        return hash_and_note(fd, st, name, reader, file, error);
    file_digests_begin(reader->digests, st, reader->stop);
    int rc = is_known(reader, st, file)
                 ? 0
                 : hash_and_note(fd, st, name, reader, file, error);
    file_digests_end(reader->digests, st);
    return rc;
}

/* Sets the digest and the size; of what is no regular file both stay. */
static int hash_path(const char *path, const char *name, struct file_reader *reader,
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
    else if (S_ISREG(st.st_mode) && !is_known(reader, &st, file))
        rc = hash_unknown(fd, &st, name, reader, file, error);
    close(fd);
    return rc;
}

/* ---- Directories ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* A walk through a directory, or through the one that a link leads to: what it found,
 * as bytes to be hashed. Links in it count by where they point: they may lead to
 * anything, such as the root of the file system. */
struct walk {
    struct file_reader *reader; /* NULL: only `seen` is wanted */
    struct buf content; /* of each entry its path, its kind, and the digest of its
                           content, or where a symbolic link points */
    struct buf seen;    /* of each its path, its kind and its sign */
    uint64_t size;
    int64_t changed_ns;
    struct stat own[2]; /* the files that stdout and stderr of this process are */
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
        rc = hash_path(entry->fts_accpath, entry->fts_path, w->reader, &file, error);
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

/* A store below the directory, the one of this run too, changes with every step, and
 * says nothing about what the task reads. */
static bool is_store(const FTSENT *entry)
{
    char database[sizeof "/cairn.db" + PATH_MAX];
    struct stat st;
    if (entry->fts_info != FTS_D || entry->fts_pathlen > PATH_MAX)
        return false;
    snprintf(database, sizeof database, "%s/cairn.db", entry->fts_accpath);
    return lstat(database, &st) == 0 && S_ISREG(st.st_mode);
}

/* Nor does the file that `cairn run >log` writes. */
static bool is_own_output(const struct walk *w, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    for (int i = 0; i < 2; i++)
        if (entry->fts_info == FTS_F && S_ISREG(w->own[i].st_mode) &&
            st->st_ino == w->own[i].st_ino && st->st_dev == w->own[i].st_dev)
            return true;
    return false;
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
    if (!w->reader || entry->fts_level <= 0)
        return 0;
    if (is_stopped(w->reader))
        return refuse_stopped(entry->fts_path, error);
    return spend(w->reader, 0) ? add_content(w, entry, skip, error) : FILE_LONG;
}

static int walk_directory(const char *path, struct walk *w, struct cairn_error *error)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};
    int rc = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!walk)
        return error_sys(error, errno, "cannot read %s", path);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        (void)fstat(fd, &w->own[fd - STDOUT_FILENO]);
    FTSENT *entry;
    errno = 0;
    while (!rc && (entry = fts_read(walk))) {
        if (entry->fts_level > 0 && (is_store(entry) || is_own_output(w, entry)))
            (void)fts_set(walk, entry, FTS_SKIP);
        else
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

static int hash_directory(const char *path, struct file_reader *reader,
                          struct result_file *file, struct cairn_error *error)
{
    struct walk w = {.reader = reader};
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
    struct walk w = {0};
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

int file_changed(const char *path, int64_t *changed_ns, struct cairn_error *error)
{
    struct stat st;
    struct walk w = {0};
    int rc = 0;
    if (stat(path, &st) < 0)
        return os_is_missing(errno)
                   ? error_set(error, CAIRN_ENOTFOUND, "%s is missing", path)
                   : error_sys(error, errno, "cannot look at %s", path);
    if (S_ISDIR(st.st_mode))
        rc = walk_directory(path, &w, error);
    buf_release(&w.seen);
    *changed_ns = timespec_ns(&st.st_ctim);
    if (w.changed_ns > *changed_ns)
        *changed_ns = w.changed_ns;
    return rc;
}

/* ---- What is recorded of a file ---- */

void file_take_times(const struct stat *st, struct result_file *file)
{
    file->kind = S_ISDIR(st->st_mode) ? 'd' : 'f';
    file->mtime_ns = timespec_ns(&st->st_mtim);
    file->ctime_ns = file->changed_ns = timespec_ns(&st->st_ctim);
    file->inode = st->st_ino;
}

int file_take_content(const char *path, struct file_reader *reader,
                      struct result_file *file, struct cairn_error *error)
{
    return file->kind == 'd' ? hash_directory(path, reader, file, error)
                             : hash_path(path, path, reader, file, error);
}

/* Times before the content: a change while it is read shows as a change later. */
int file_take(const char *path, struct file_reader *reader, struct result_file *file,
              struct cairn_error *error)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", path);
    file_take_times(&st, file);
    return file_take_content(path, reader, file, error);
}
