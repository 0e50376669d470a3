/* Output files are looked at when a task ends, when it is decided whether it runs
 * again, and before an interrupted attempt is repeated. */
#include "executor/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void join(struct buf *path, struct str part)
{
    if (part.len == 0)
        return;
    if (part.ptr[0] == '/')
        buf_clear(path);
    else if (path->size && path->data[path->size - 1] != '/')
        buf_byte(path, '/');
    buf_str(path, part);
}

void task_directory(const struct graph *graph, uint32_t task, struct buf *out)
{
    const struct definition *d = graph->definition;
    const struct task_def *def = graph_def(graph, task);
    struct buf cwd = BUF_INIT;
    text_expand(d, def, graph_member(graph, task), def->cwd, &cwd);
    buf_clear(out);
    buf_str(out, d->root);
    join(out, buf_view(&cwd));
    out->failed |= cwd.failed;
    buf_release(&cwd);
}

/* One output at a time: `name` as declared with values put in, `path` to open. */
struct cursor {
    const struct graph *graph;
    uint32_t task, next;
    struct buf directory, name, path;
};

static struct cursor cursor_init(const struct graph *graph, uint32_t task)
{
    struct cursor c = {.graph = graph, .task = task};
    task_directory(graph, task, &c.directory);
    return c;
}

static void cursor_release(struct cursor *c)
{
    buf_release(&c->directory);
    buf_release(&c->name);
    buf_release(&c->path);
}

/* 1: there is another one, 0: no more, <0: out of memory. */
static int cursor_step(struct cursor *c, struct cairn_error *error)
{
    const struct task_def *def = graph_def(c->graph, c->task);
    if (c->next == def->n_outputs)
        return 0;
    buf_clear(&c->name);
    text_expand(c->graph->definition, def, graph_member(c->graph, c->task),
                def->outputs[c->next++], &c->name);
    buf_clear(&c->path);
    buf_str(&c->path, buf_view(&c->directory));
    join(&c->path, buf_view(&c->name));
    if (c->directory.failed || c->name.failed || c->path.failed)
        return error_nomem(error);
    return 1;
}

static int missing(const struct cursor *c, struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND, "its output %s is missing (%s)",
                     c->name.data, c->path.data);
}

int outputs_exist(const struct graph *graph, uint32_t task, struct cairn_error *error)
{
    struct cursor c = cursor_init(graph, task);
    struct stat st;
    int result = 0, more = 0;
    while (!result && (more = cursor_step(&c, error)) > 0)
        if (stat(c.path.data, &st) < 0)
            result = errno == ENOENT || errno == ENOTDIR
                         ? missing(&c, error)
                         : error_sys(error, errno, "cannot look at its output %s",
                                     c.name.data);
    cursor_release(&c);
    return result ? result : more;
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
    return n < 0 ? error_sys(error, saved, "cannot read its output %s", name) : 0;
}

static int hash_path(const char *path, const char *name, struct digest *digest,
                     uint64_t *size, struct cairn_error *error)
{
    struct stat st;
    int result = 0;
    /* O_NONBLOCK: a fifo with nobody at its other end must not stop us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_sys(error, errno, "cannot open its output %s", name);
    if (fstat(fd, &st) < 0)
        result = error_sys(error, errno, "cannot look at its output %s", name);
    else if (S_ISREG(st.st_mode))
        result = hash_file(fd, name, digest, size, error);
    close(fd);
    return result;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* One entry of a directory: its path below it, its kind, and its content (of a symbolic
 * link: where it points). */
static int add_entry(const FTSENT *entry, size_t skip, struct buf *list, uint64_t *size,
                     struct cairn_error *error)
{
    struct digest digest = {{0}};
    uint64_t bytes = 0;
    char target[4096];
    int result = 0;
    char kind = entry->fts_info == FTS_F                                     ? 'f'
                : entry->fts_info == FTS_D                                   ? 'd'
                : entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE ? 'l'
                                                                             : 'o';
    if (kind == 'f')
        result = hash_path(entry->fts_accpath, entry->fts_path, &digest, &bytes, error);
    buf_lstr(list, str_of(entry->fts_path + skip));
    buf_byte(list, (uint8_t)kind);
    if (kind == 'l') {
        ssize_t n = readlink(entry->fts_accpath, target, sizeof target);
        buf_lstr(list, (struct str){target, n > 0 ? (size_t)n : 0});
    }
    buf_add(list, digest.bytes, sizeof digest.bytes);
    *size += bytes;
    return result;
}

static int hash_directory(const char *path, const char *name, struct digest *digest,
                          uint64_t *size, struct cairn_error *error)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};
    struct buf list = BUF_INIT;
    int result = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!walk)
        return error_sys(error, errno, "cannot read its output %s", name);
    const FTSENT *entry;
    errno = 0;
    while (!result && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
            entry->fts_info == FTS_NS)
            result = error_sys(error, entry->fts_errno, "cannot read %s in its output",
                               entry->fts_path);
        else if (entry->fts_info != FTS_DP && entry->fts_level > 0)
            result = add_entry(entry, strlen(path), &list, size, error);
        errno = 0;
    }
    if (!result && errno)
        result = error_sys(error, errno, "cannot read its output %s", name);
    fts_close(walk);
    if (!result)
        result = buf_check(&list, error);
    if (!result)
        result = sha256_of(list.data, list.size, digest, error);
    buf_release(&list);
    return result;
}

static int add_output(const struct cursor *c, struct buf *list,
                      struct cairn_error *error)
{
    struct digest digest = {{0}};
    struct stat st;
    uint64_t size = 0;
    if (stat(c->path.data, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? missing(c, error)
                   : error_sys(error, errno, "cannot look at its output %s",
                               c->name.data);
    bool directory = S_ISDIR(st.st_mode);
    int result = directory
                     ? hash_directory(c->path.data, c->name.data, &digest, &size, error)
                     : hash_path(c->path.data, c->name.data, &digest, &size, error);
    buf_lstr(list, buf_view(&c->name));
    buf_byte(list, directory ? 'd' : 'f');
    buf_varint(list, size);
    buf_add(list, digest.bytes, sizeof digest.bytes);
    return result;
}

int outputs_list(const struct graph *graph, uint32_t task, struct buf *list,
                 struct digest *digest, struct cairn_error *error)
{
    struct cursor c = cursor_init(graph, task);
    int result = 0, more = 0;
    buf_clear(list);
    while (!result && (more = cursor_step(&c, error)) > 0)
        result = add_output(&c, list, error);
    cursor_release(&c);
    if (!result)
        result = more;
    if (!result)
        result = buf_check(list, error);
    return result ? result : sha256_of(list->data, list->size, digest, error);
}

int outputs_remove(const struct graph *graph, uint32_t task, struct cairn_error *error)
{
    struct cursor c = cursor_init(graph, task);
    int result = 0, more = 0;
    while (!result && (more = cursor_step(&c, error)) > 0)
        if (unlink(c.path.data) < 0 && errno != ENOENT && errno != ENOTDIR &&
            errno != EISDIR && errno != EPERM)
            result = error_sys(error, errno,
                               "cannot remove %s, left by an interrupted attempt",
                               c.name.data);
    cursor_release(&c);
    return result ? result : more;
}
