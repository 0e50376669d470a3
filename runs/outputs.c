/* SPDX-License-Identifier: MIT */
/* Content of files, as digests. */
#include "runs/outputs.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/str.h"
#include "runs/depfile.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What looking at a file costs besides reading it, in bytes. */
enum { FILE_COST = 4096 };

static struct file_sign file_sign_of(const struct stat *st);

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
    int rc = walk_directory(path, &w, error)
             ?: sha256_of(w.content.data, w.content.size, &file->digest, error)
             ?: sha256_of(w.seen.data, w.seen.size, &file->seen, error);
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

/* The two halves of it. `file` has its kind before the second. */
static void file_take_times(const struct stat *st, struct result_file *file)
{
    file->kind = S_ISDIR(st->st_mode) ? 'd' : 'f';
    file->mtime_ns = timespec_ns(&st->st_mtim);
    file->ctime_ns = file->changed_ns = timespec_ns(&st->st_ctim);
    file->inode = st->st_ino;
}

static int file_take_content(const char *path, struct file_reader *reader,
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

/* Inputs are looked at before an attempt starts, outputs when it has ended well, both
 * when it is decided whether the task runs again; outputs that an interrupted attempt
 * made are removed before it is repeated. */

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
    buf_release(&f->unmatched);
    buf_release(&f->joined);
    arena_release(&f->arena);
}

static void set_path(struct buf *path, struct str directory, struct str name)
{
    buf_clear(path);
    buf_str(path, directory);
    buf_path(path, name);
}

/* 1: a run removes it before the task starts; 0; CAIRN_ENOMEM. */
static int is_removed(const struct files *f, struct str name)
{
    const struct scope *scope = f->scope;
    const struct asker *asker = scope->lookup == lookup_name ? scope->context : NULL;
    return asker ? lookup_removes(asker->lookup, buf_view(&f->directory), name) : 0;
}

static bool is_glob(struct str name)
{
    return name.len > sizeof INPUT_GLOB - 1 &&
           memcmp(name.ptr, INPUT_GLOB, sizeof INPUT_GLOB - 1) == 0;
}

bool inputs_have_glob(const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_inputs; i++)
        if (is_glob(def->inputs[i]))
            return true;
    return false;
}

/* What matches the pattern in f->name becomes f->found. */
static int match_pattern(struct files *f, struct cairn_error *error)
{
    size_t skip = sizeof INPUT_GLOB - 1;
    struct str pattern = {f->name.data + skip, f->name.size - skip};
    int rc = buf_check(&f->name, error)
             ?: buf_check(&f->directory, error)
             ?: glob_expand(f->directory.size ? f->directory.data : ".", pattern,
                            &f->arena, &f->found, error);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->found.n && !rc; i++) {
        int is = is_removed(f, f->found.names[i]);
        if (is < 0)
            rc = error_nomem(error);
        else if (!is)
            f->found.names[n++] = f->found.names[i];
    }
    f->found.n = n;
    if (!rc && !f->found.n && !f->unmatched.size)
        buf_str(&f->unmatched, pattern);
    f->next_found = 0;
    return rc;
}

/* The next line of f->joined, in f->name. False: there is none. */
static bool next_line(struct files *f)
{
    size_t at = f->next_joined;
    if (at >= f->joined.size)
        return false;
    const char *end = memchr(f->joined.data + at, '\n', f->joined.size - at);
    size_t n = end ? (size_t)(end - f->joined.data) - at : f->joined.size - at;
    buf_str(&f->name, (struct str){f->joined.data + at, n});
    f->next_joined = at + n + 1;
    return true;
}

/* The next name, in f->name. 1, or 0: there is none, or an error. */
static int next_name(struct files *f, struct cairn_error *error)
{
    for (;;) {
        buf_clear(&f->name);
        if (next_line(f))
            return 1;
        if (f->next_found < f->found.n) {
            buf_str(&f->name, f->found.names[f->next_found++]);
            return 1;
        }
        if (f->next == f->n)
            return 0;
        struct str declared = f->names[f->next++];
        if (f->what[0] == 'i' && text_is_files(declared)) {
            buf_clear(&f->joined);
            f->next_joined = 0;
            int failed = text_expand(f->scope, declared, &f->joined, error)
                             ?: buf_check(&f->joined, error);
            if (failed)
                return failed;
            continue;
        }
        int rc = text_expand(f->scope, declared, &f->name, error);
        if (rc || f->what[0] != 'i' || !is_glob(declared))
            return rc ? rc : 1;
        rc = match_pattern(f, error);
        if (rc)
            return rc;
    }
}

int files_step(struct files *f, struct cairn_error *error)
{
    int rc = next_name(f, error);
    if (rc <= 0)
        return rc;
    if (memchr(f->name.data ? f->name.data : "", 0, f->name.size))
        return error_set(error, CAIRN_EWORKFLOW, "the name of an %s has a NUL in it",
                         f->what);
    set_path(&f->path, buf_view(&f->directory), buf_view(&f->name));
    rc = buf_check(&f->name, error) ?: buf_check(&f->path, error);
    return rc ? rc : 1;
}

int inputs_list_name(struct str name, struct buf *list)
{
    buf_str(list, name);
    buf_byte(list, '\n');
    return name.len && memchr(name.ptr, '\n', name.len) ? NAME_BROKEN : 0;
}

int inputs_list(const struct scope *scope, struct buf *list, struct cairn_error *error)
{
    struct files f;
    int broken = 0, more = files_begin(&f, scope, true, error);
    while (more >= 0 && (more = files_step(&f, error)) > 0)
        broken |= inputs_list_name(buf_view(&f.name), list);
    files_release(&f);
    int rc = more < 0 ? more : buf_check(list, error);
    return rc ? rc : broken;
}

/* ---- A look at declared files ---- */

void file_forget(struct result_file *input)
{
    enum { SOME_INODE = 1 };
    input->digest = (struct digest){{0}};
    input->mtime_ns = input->ctime_ns = 0;
    input->inode = SOME_INODE; /* else it would be one that could not be read */
}

bool file_is_older(int64_t changed_ns, int64_t started_ns)
{
    enum { LAG_NS = 20000000, SECOND_NS = 1000000000 };
    int64_t lag = changed_ns % SECOND_NS ? LAG_NS : LAG_NS + SECOND_NS;
    return changed_ns < started_ns - lag;
}

struct listing { /* of a look that begins */
    struct file_look *look;
    struct buf files, paths; /* of struct result_file, of char * */
};

static void list_file(struct listing *list, struct str name, struct str path)
{
    struct arena *arena = &list->look->arena;
    struct result_file file = {.name = arena_str(arena, name)};
    char *copy = arena_text(arena, path);
    buf_add(&list->files, &file, sizeof file);
    buf_add(&list->paths, &copy, sizeof copy);
    list->look->n++;
}

static int list_declared(struct listing *list, const struct scope *scope,
                         struct cairn_error *error)
{
    struct file_look *look = list->look;
    struct files f;
    int rc = files_begin(&f, scope, look->inputs, error), more = 0;
    while (!rc && (more = files_step(&f, error)) > 0) {
        if (!os_is_there(AT_FDCWD, f.path.data)) {
            rc = error_set(error, CAIRN_ENOTFOUND, "its %s %s is missing (%s)", f.what,
                           f.name.data, f.path.data);
            look->next = look->n;
            look->failed = true;
        }
        list_file(list, buf_view(&f.name), buf_view(&f.path));
    }
    if (!rc && more == 0 && f.unmatched.size)
        rc = error_set(error, CAIRN_ENOTFOUND, "no file matches its input %.*s (in %s)",
                       (int)f.unmatched.size, f.unmatched.data, f.directory.data);
    files_release(&f);
    look->n_declared = look->n;
    return rc ? rc : more < 0 ? more : 0;
}

static struct str without_dot(struct str name)
{
    while (name.len > 2 && name.ptr[0] == '.' && name.ptr[1] == '/')
        name = (struct str){name.ptr + 2, name.len - 2};
    return name;
}

/* It is one of the declared outputs, or lies in one. */
static bool is_made(const struct listing *list, struct str name)
{
    const struct result_file *outputs = (const void *)list->files.data;
    name = without_dot(name);
    for (uint32_t i = 0; i < list->look->n_declared; i++) {
        struct str made = without_dot(outputs[i].name);
        if (made.len <= name.len && memcmp(made.ptr, name.ptr, made.len) == 0 &&
            (made.len == name.len || name.ptr[made.len] == '/'))
            return true;
    }
    return false;
}

/* What is missing counts: it may be there next time. A device says nothing. */
static void list_named(struct listing *list, struct str directory,
                       const struct depfile_names *names)
{
    struct buf path = BUF_INIT;
    struct stat st;
    for (uint32_t i = 0; i < names->n && !list->files.failed; i++) {
        set_path(&path, directory, names->names[i]);
        bool there = !path.failed && stat(path.data, &st) == 0;
        if (is_made(list, names->names[i]) ||
            (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
            continue;
        list_file(list, names->names[i], buf_view(&path));
    }
    list->files.failed |= path.failed;
    buf_release(&path);
}

static int read_depfile(struct listing *list, const char *name, const char *path,
                        struct str directory, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct depfile_names names;
    struct cairn_error why = {0};
    struct buf text = BUF_INIT;
    struct stat st;
    if (stat(path, &st) < 0)
        return os_is_missing(errno)
                   ? error_set(error, CAIRN_ENOTFOUND, "its depfile %s is missing (%s)",
                               name, path)
                   : error_sys(error, errno, "cannot look at its depfile %s", name);
    list->look->depfile_ns = timespec_ns(&st.st_ctim);
    int rc = os_read_regular(path, DEPFILE_BYTES_MOST, &text, &why)
                 ?: depfile_parse(buf_view(&text), &arena, &names, &why);
    if (!rc)
        list_named(list, directory, &names);
    else
        error_set(error, rc, "its depfile %s is not valid: %s", name, why.text);
    buf_release(&text);
    arena_release(&arena);
    return rc;
}

/* After the outputs. */
static int list_depfile(struct listing *list, const struct scope *scope,
                        struct cairn_error *error)
{
    struct buf directory = BUF_INIT, name = BUF_INIT, path = BUF_INIT;
    int rc = task_directory(scope, &directory, error)
                 ?: text_expand(scope, scope->def->depfile, &name, error);
    if (!rc) {
        set_path(&path, buf_view(&directory), buf_view(&name));
        rc =
            directory.failed || name.failed || path.failed
                ? error_nomem(error)
                : read_depfile(list, name.data, path.data, buf_view(&directory), error);
    }
    buf_release(&directory);
    buf_release(&name);
    buf_release(&path);
    return rc;
}

int file_look_begin(struct file_look *look, const struct asker *asker, bool inputs,
                    struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct listing list = {.look = look};
    *look = (struct file_look){.arena = ARENA_INIT, .inputs = inputs};
    int rc = list_declared(&list, &scope, error);
    if (!rc && !inputs && scope.def->depfile.len)
        rc = list_depfile(&list, &scope, error);
    look->files = arena_take(&look->arena, look->n, sizeof *look->files);
    look->paths = arena_take(&look->arena, look->n, sizeof *look->paths);
    bool failed = look->arena.failed || list.files.failed || list.paths.failed;
    if (!failed && list.files.data && list.paths.data) {
        memcpy(look->files, list.files.data, list.files.size);
        memcpy(look->paths, list.paths.data, list.paths.size);
    }
    buf_release(&list.files);
    buf_release(&list.paths);
    return !rc && failed ? error_nomem(error) : rc;
}

/* Of the file, about which more would be known with more memory or time. */
static bool says_nothing(int rc)
{
    return rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED;
}

int file_look_go_on(struct file_look *look, struct file_reader *reader,
                    struct cairn_error *error)
{
    int rc = 0;
    while (look->next < look->n && !rc) {
        struct result_file *file = &look->files[look->next];
        struct str name = file->name;
        *file = (struct result_file){.name = name};
        rc = file_take(look->paths[look->next], reader, file, error);
        if (rc < 0 && !says_nothing(rc) && look->next >= look->n_declared) {
            *file = (struct result_file){.name = name, .kind = 'f'};
            rc = 0;
        }
        look->next += !rc;
    }
    look->failed = rc < 0 && !says_nothing(rc);
    return rc;
}

struct file_list {
    struct result_file *at;
    uint32_t n;
};

static struct file_list copy_files(const struct file_look *look, uint32_t from,
                                   uint32_t to, struct arena *arena)
{
    struct file_list list = {arena_take(arena, to - from, sizeof *list.at), to - from};
    for (uint32_t i = from; list.at && i < to; i++) {
        struct result_file *file = &list.at[i - from];
        *file = look->files[i];
        file->name = arena_str(arena, look->files[i].name);
        if (i >= look->n_declared && look->since_ns &&
            file->changed_ns >= look->since_ns)
            file_forget(file);
    }
    return list;
}

/* In the result's inputs: the first ones, then those others that are not among them. */
static int join_inputs(struct arena *arena, struct file_list first,
                       struct file_list others, struct result *result,
                       struct cairn_error *error)
{
    struct map seen = MAP_INIT;
    struct result_file *joined =
        arena_take(arena, (size_t)first.n + others.n, sizeof *joined);
    int rc = joined ? map_reserve(&seen, first.n) : CAIRN_ENOMEM;
    uint32_t n = 0;
    for (uint32_t i = 0; !rc && i < first.n; i++) {
        joined[n++] = first.at[i];
        rc = map_add(&seen, without_dot(first.at[i].name), i, NULL) < 0 ? CAIRN_ENOMEM
                                                                        : 0;
    }
    for (uint32_t i = 0; !rc && i < others.n; i++)
        if (map_get(&seen, without_dot(others.at[i].name)) == MAP_NONE)
            joined[n++] = others.at[i];
    map_release(&seen);
    if (rc)
        return error_nomem(error);
    result->inputs = joined;
    result->n_inputs = n;
    return 0;
}

int file_look_take(const struct file_look *look, struct arena *arena,
                   struct result *result, struct cairn_error *error)
{
    struct file_list declared = copy_files(look, 0, look->n_declared, arena);
    struct file_list named = copy_files(look, look->n_declared, look->n, arena);
    struct file_list known = {result->inputs, result->n_inputs};
    if (arena->failed)
        return error_nomem(error);
    if (look->since_ns && look->depfile_ns &&
        file_is_older(look->depfile_ns, look->since_ns))
        return error_set(error, CAIRN_ENOTFOUND,
                         "its depfile is older than the attempt, which did not write "
                         "it");
    if (look->inputs)
        return join_inputs(arena, declared, known, result, error);
    result->outputs = declared.at;
    result->n_outputs = declared.n;
    return named.n ? join_inputs(arena, known, named, result, error) : 0;
}

int file_look_take_failed(const struct file_look *look, struct arena *arena,
                          struct result_file **out, uint32_t *n,
                          struct cairn_error *error)
{
    if (!look->failed)
        return 0;
    struct result_file *file = arena_take(arena, 1, sizeof *file);
    if (file)
        *file = (struct result_file){
            .name = arena_str(arena, look->files[look->next].name), .kind = 'f'};
    if (!file || arena->failed)
        return error_nomem(error);
    *out = file;
    *n = 1;
    return 0;
}

void file_look_release(struct file_look *look)
{
    arena_release(&look->arena);
}

int files_look(const struct asker *asker, bool inputs, struct arena *arena,
               struct result *result, struct cairn_error *error)
{
    struct file_look look;
    struct file_reader reader = {.digests = &asker->lookup->digests,
                                 .stop = asker->lookup->stop};
    int rc = file_look_begin(&look, asker, inputs, error)
             ?: file_look_go_on(&look, &reader, error)
             ?: file_look_take(&look, arena, result, error);
    file_look_release(&look);
    return rc;
}

/* ---- What is recorded of a file ---- */

static bool same_times(const struct stat *st, const struct result_file *recorded)
{
    return recorded->kind == 'f' && S_ISREG(st->st_mode) && recorded->mtime_ns &&
           (uint64_t)st->st_size == recorded->size && st->st_ino == recorded->inode &&
           timespec_ns(&st->st_mtim) == recorded->mtime_ns &&
           timespec_ns(&st->st_ctim) == recorded->ctime_ns &&
           !file_time_is_coarse(recorded);
}

/* `now`: as far as it can be told without its content. */
static int compare_content(const char *path, const struct stat *st,
                           const struct file_view *view,
                           const struct result_file *recorded, struct result_file *now,
                           enum file_state *state, struct cairn_error *error)
{
    bool file = now->kind == 'f' && S_ISREG(st->st_mode);
    *state = FILE_DIFFERS;
    if (now->kind != recorded->kind || (file && now->size != recorded->size))
        return 0;
    struct file_reader reader = {.digests = view->digests, .stop = view->stop};
    now->size = 0;
    int rc = file_take_content(path, &reader, now, error);
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
    file_take_times(&st, now);
    now->size = (uint64_t)st.st_size;
    if (!view->content || (view->trust_times && same_times(&st, recorded)))
        return 0;
    return compare_content(path, &st, view, recorded, now, state, error);
}

/* What could not be read: can it be now? */
static int compare_unreadable(const char *path, const struct file_view *view,
                              enum file_state *state, struct result_file *now,
                              struct cairn_error *error)
{
    struct file_reader reader = {.digests = view->digests, .stop = view->stop};
    struct cairn_error why = {0};
    int rc = file_take(path, &reader, now, &why);
    *state = rc ? FILE_SAME : FILE_DIFFERS;
    return says_nothing(rc) ? error_set(error, rc, "%s", why.text) : 0;
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
        rc = file_was_unreadable(recorded)
                 ? compare_unreadable(path.data, view, state, now, error)
                 : compare_at(path.data, view, recorded, state, now, error);
    buf_release(&path);
    return rc;
}

static bool has_sign(const char *path, const struct result_file *recorded)
{
    struct file_sign now, then = output_sign(recorded);
    return recorded->kind == 'f' && file_sign_at(AT_FDCWD, path, path, &now) &&
           now.kind == then.kind &&
           memcmp(now.bytes, then.bytes, sizeof now.bytes) == 0;
}

static void add_sign(struct buf *signs, struct str name, const struct file_sign *sign)
{
    buf_lstr(signs, name);
    buf_byte(signs, sign->kind);
    buf_add(signs, sign->bytes, sizeof sign->bytes);
}

static int fold_signs(const struct buf *signs, uint64_t *sign,
                      struct cairn_error *error)
{
    struct digest digest;
    int rc = buf_check(signs, error);
    *sign = 0;
    if (rc || !signs->size)
        return rc;
    rc = sha256_of(signs->data, signs->size, &digest, error);
    if (!rc)
        memcpy(sign, digest.bytes, sizeof *sign);
    return rc;
}

int inputs_sign_of(const struct result_file *inputs, uint32_t n, uint64_t *sign,
                   struct cairn_error *error)
{
    struct buf signs = BUF_INIT;
    for (uint32_t i = 0; i < n; i++) {
        struct file_sign one = output_sign(&inputs[i]);
        add_sign(&signs, inputs[i].name, &one);
    }
    int rc = fold_signs(&signs, sign, error);
    buf_release(&signs);
    return rc;
}

int inputs_sign_now(const struct asker *asker, uint64_t *sign,
                    struct cairn_error *error)
{
    struct buf signs = BUF_INIT;
    struct scope scope = lookup_scope(asker);
    struct files f;
    int rc = files_begin(&f, &scope, true, error), more = 0;
    while (!rc && (more = files_step(&f, error)) > 0) {
        struct file_sign one = {0};
        (void)file_sign_at(AT_FDCWD, f.path.data, f.path.data, &one);
        add_sign(&signs, buf_view(&f.name), &one);
    }
    files_release(&f);
    rc = rc ? rc : more < 0 ? more : fold_signs(&signs, sign, error);
    buf_release(&signs);
    return rc;
}

bool outputs_untouched(const struct scope *scope, const struct result_file *recorded,
                       uint32_t n)
{
    struct files f;
    uint32_t same = 0;
    if (!files_begin(&f, scope, false, NULL))
        while (same < n && files_step(&f, NULL) > 0 &&
               has_sign(f.path.data, &recorded[same]))
            same++;
    files_release(&f);
    return same == n;
}

static const char magic[8] = {'c', 'a', 'i', 'r', 'n', 'o', 'u', 't'};

enum {
    NAME_BYTES = 16, /* of a result's digest */
    HEAD_BYTES = NAME_BYTES + 4,
    SIGN_BYTES = 33,
    MOST_BYTES = 64 << 20
};

/* ---- Signs ---- */

static void put_u64(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

/* Of what is no directory. */
static struct file_sign file_sign_of(const struct stat *st)
{
    struct file_sign sign = {.kind = 'f'};
    put_u64(sign.bytes, (uint64_t)st->st_size);
    put_u64(sign.bytes + 8, (uint64_t)timespec_ns(&st->st_mtim));
    put_u64(sign.bytes + 16, (uint64_t)timespec_ns(&st->st_ctim));
    put_u64(sign.bytes + 24, st->st_ino);
    return sign;
}

struct file_sign output_sign(const struct result_file *file)
{
    struct file_sign sign = {.kind = file->kind};
    if (file->kind == 'd') {
        memcpy(sign.bytes, file->seen.bytes, sizeof sign.bytes);
        return sign;
    }
    put_u64(sign.bytes, file->size);
    put_u64(sign.bytes + 8, (uint64_t)file->mtime_ns);
    put_u64(sign.bytes + 16, (uint64_t)file->ctime_ns);
    put_u64(sign.bytes + 24, file->inode);
    return sign;
}

/* ---- The table ---- */

void output_index_release(struct output_index *index)
{
    buf_release(&index->entries);
    free(index->table);
    *index = (struct output_index){0};
}

static size_t first_place(const struct output_index *index, const void *name)
{
    size_t number;
    memcpy(&number, name, sizeof number); /* of a SHA-256: as good as any hash */
    return number & (index->capacity - 1);
}

/* Where the entry of that name stands, or where it would. */
static uint32_t *find_place(const struct output_index *index, const void *name)
{
    size_t i = first_place(index, name);
    while (index->table[i] &&
           memcmp(index->entries.data + index->table[i], name, NAME_BYTES) != 0)
        i = (i + 1) & (index->capacity - 1);
    return &index->table[i];
}

static bool make_room(struct output_index *index, size_t n)
{
    size_t capacity = index->capacity ? index->capacity : 64;
    while (capacity < 2 * n)
        capacity *= 2;
    if (capacity == index->capacity)
        return true;
    struct output_index wider = *index;
    wider.capacity = capacity;
    wider.table = calloc(capacity, sizeof *wider.table);
    if (!wider.table)
        return false;
    for (size_t i = 0; i < index->capacity; i++)
        if (index->table[i])
            *find_place(&wider, index->entries.data + index->table[i]) =
                index->table[i];
    free(index->table);
    index->table = wider.table;
    index->capacity = capacity;
    return true;
}

/* The entry stands at the end of `entries`; a later one of the same name counts. */
static void note_place(struct output_index *index, size_t at)
{
    uint32_t *place = find_place(index, index->entries.data + at);
    index->n += *place == 0;
    *place = (uint32_t)at;
}

static bool begin_entries(struct output_index *index, size_t bytes)
{
    if (!index->entries.size)
        buf_add(&index->entries, magic, sizeof magic);
    return index->entries.size + bytes <= MOST_BYTES && !index->entries.failed &&
           make_room(index, index->n + 1);
}

void output_index_add(struct output_index *index, const struct digest *result,
                      const struct result_file *outputs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (file_time_is_coarse(&outputs[i]))
            return; /* they are always read */
    if (!n || n > MOST_BYTES / SIGN_BYTES ||
        !begin_entries(index, HEAD_BYTES + (size_t)n * SIGN_BYTES))
        return;
    size_t at = index->entries.size;
    buf_add(&index->entries, result->bytes, NAME_BYTES);
    buf_u32(&index->entries, n);
    for (uint32_t i = 0; i < n; i++) {
        struct file_sign sign = output_sign(&outputs[i]);
        buf_byte(&index->entries, sign.kind);
        buf_add(&index->entries, sign.bytes, sizeof sign.bytes);
    }
    if (index->entries.failed)
        return;
    note_place(index, at);
    index->grown = true;
}

static uint32_t count_at(const struct output_index *index, size_t at)
{
    struct reader in = reader_of(index->entries.data + at + NAME_BYTES, 4);
    return read_u32(&in);
}

bool output_index_find(const struct output_index *index, const struct digest *result,
                       uint32_t n, uint32_t i, struct file_sign *sign)
{
    uint32_t at = index->n ? *find_place(index, result->bytes) : 0;
    if (!at || count_at(index, at) != n)
        return false;
    assert(i < n);
    const char *from = index->entries.data + at + HEAD_BYTES + (size_t)i * SIGN_BYTES;
    sign->kind = (uint8_t)from[0];
    memcpy(sign->bytes, from + 1, sizeof sign->bytes);
    return true;
}

void output_index_copy(struct output_index *index, const struct output_index *from,
                       const struct digest *result)
{
    uint32_t at = from->n ? *find_place(from, result->bytes) : 0;
    size_t bytes = at ? HEAD_BYTES + (size_t)count_at(from, at) * SIGN_BYTES : 0;
    if (!at || !begin_entries(index, bytes))
        return;
    size_t to = index->entries.size;
    buf_add(&index->entries, from->entries.data + at, bytes);
    if (!index->entries.failed)
        note_place(index, to);
}

/* ---- The file ---- */

char *output_index_path(struct cairn_store *store, uint64_t workflow)
{
    char *path;
    if (!store || store_key(store) || !workflow ||
        asprintf(&path, "%s/outputs.%llu", cairn_store_path(store),
                 (unsigned long long)workflow) < 0)
        return NULL;
    return path;
}

/* Whether the bytes before the last 32 have them for their digest. */
static bool is_whole(const struct buf *file)
{
    struct digest digest;
    size_t n = file->size - DIGEST_SIZE;
    return file->size >= sizeof magic + DIGEST_SIZE &&
           memcmp(file->data, magic, sizeof magic) == 0 &&
           sha256_of(file->data, n, &digest, NULL) == 0 &&
           memcmp(file->data + n, digest.bytes, DIGEST_SIZE) == 0;
}

/* Entries from `at` on; false: they are cut off, or there is no memory. */
static bool note_entries(struct output_index *index)
{
    size_t at = sizeof magic;
    while (index->entries.size - at >= HEAD_BYTES) {
        size_t bytes = HEAD_BYTES + (size_t)count_at(index, at) * SIGN_BYTES;
        if (bytes > index->entries.size - at || !make_room(index, index->n + 1))
            return false;
        note_place(index, at);
        at += bytes;
    }
    return at == index->entries.size;
}

void output_index_load(struct output_index *index, const char *path)
{
    output_index_release(index);
    if (os_read_plain(path, MOST_BYTES + DIGEST_SIZE, &index->entries, NULL) == 0 &&
        is_whole(&index->entries)) {
        index->entries.size -= DIGEST_SIZE;
        if (note_entries(index))
            return;
    }
    output_index_release(index);
}

/* Not synced: what is cut off does not have its digest. */
void output_index_save(struct output_index *index, const char *path)
{
    struct digest digest;
    size_t n = index->entries.size;
    if (!n || index->entries.failed ||
        sha256_of(index->entries.data, n, &digest, NULL) != 0)
        return;
    buf_add(&index->entries, digest.bytes, DIGEST_SIZE);
    if (!index->entries.failed &&
        os_replace_file(path, 0600, buf_view(&index->entries), NULL) == 0)
        index->grown = false;
    index->entries.size = n;
}
