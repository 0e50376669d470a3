/* SPDX-License-Identifier: MIT */
/* Part by part: the names that match so far are the directories to look into for the
 * next part. glob(3) is not used: it sorts by locale, hides unreadable directories, and
 * cannot work relative to a directory. */
#include "workflow/glob.h"

#include "base/limits.h"
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>

struct glob_walk {
    const char *root;
    struct arena scratch;
    struct buf from, to; /* of struct str: names so far, names with the next part */
    struct buf path;
    struct str part; /* NUL-terminated */
    bool last;
    uint64_t above_bytes; /* of names of directories, of all parts */
    struct cairn_error *error;
};

static bool has_wildcard(struct str part)
{
    for (size_t i = 0; i < part.len; i++)
        if (strchr("*?[\\", part.ptr[i]))
            return true;
    return false;
}

static void append_name(struct buf *out, struct str name)
{
    if (out->size && out->data[out->size - 1] != '/')
        buf_byte(out, '/');
    buf_str(out, name);
}

static bool is_absolute(struct str name)
{
    return name.len && name.ptr[0] == '/';
}

/* walk->path: where a name lies in the file system. */
static void locate_name(struct glob_walk *walk, struct str name)
{
    buf_clear(&walk->path);
    if (is_absolute(name))
        buf_str(&walk->path, name);
    else {
        buf_text(&walk->path, walk->root);
        if (name.len)
            append_name(&walk->path, name);
    }
}

static int add_name(struct glob_walk *walk, struct str directory, struct str name)
{
    if (walk->to.size / sizeof name >= LIMIT_TASKS)
        return error_set(walk->error, CAIRN_ELIMIT, "more than %d names match",
                         LIMIT_TASKS);
    buf_clear(&walk->path);
    buf_str(&walk->path, directory);
    append_name(&walk->path, name);
    /* `..`, and links that lead upward, make more of them with each part. */
    walk->above_bytes += walk->last ? 0 : walk->path.size;
    if (walk->above_bytes > LIMIT_GLOB_BYTES)
        return error_set(walk->error, CAIRN_ELIMIT,
                         "the pattern finds too much on the way: names of more than %d "
                         "bytes, up to %.200s",
                         LIMIT_GLOB_BYTES, walk->path.data);
    struct str full = arena_str(&walk->scratch, buf_view(&walk->path));
    buf_add(&walk->to, &full, sizeof full);
    bool failed = walk->scratch.failed || walk->path.failed || walk->to.failed;
    return failed ? error_nomem(walk->error) : 0;
}

static int add_literal(struct glob_walk *walk, struct str directory)
{
    struct stat status;
    if (walk->last) {
        locate_name(walk, directory);
        append_name(&walk->path, walk->part);
        if (walk->path.failed)
            return error_nomem(walk->error);
        if (lstat(walk->path.data, &status) != 0)
            return os_is_missing(errno)
                       ? 0
                       : error_sys(walk->error, errno, "cannot look at %s",
                                   walk->path.data);
    }
    return add_name(walk, directory, walk->part);
}

static int add_entries(struct glob_walk *walk, struct str directory, DIR *dir)
{
    int rc = 0;
    while (!rc) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno)
            return error_sys(walk->error, errno, "cannot read a directory of `%.*s`",
                             (int)walk->part.len, walk->part.ptr);
        if (!entry)
            break;
        const char *name = entry->d_name;
        bool self = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!self && fnmatch(walk->part.ptr, name, FNM_PERIOD) == 0)
            rc = add_name(walk, directory, str_of(name));
    }
    return rc;
}

static int add_matches(struct glob_walk *walk, struct str directory)
{
    locate_name(walk, directory);
    if (walk->path.failed)
        return error_nomem(walk->error);
    DIR *dir = opendir(walk->path.data);
    if (!dir)
        return os_is_missing(errno)
                   ? 0
                   : error_sys(walk->error, errno, "cannot read the directory %s",
                               walk->path.data);
    int rc = add_entries(walk, directory, dir);
    closedir(dir);
    return rc;
}

/* One part of the pattern, for every name so far. */
static int match_part(struct glob_walk *walk)
{
    const struct str *names = (const struct str *)(const void *)walk->from.data;
    size_t n = walk->from.size / sizeof *names;
    bool wild = has_wildcard(walk->part);
    int rc = 0;
    buf_clear(&walk->to);
    for (size_t i = 0; i < n && !rc; i++)
        rc = wild ? add_matches(walk, names[i]) : add_literal(walk, names[i]);
    struct buf done = walk->from;
    walk->from = walk->to;
    walk->to = done;
    return rc;
}

static int walk_pattern(struct glob_walk *walk, struct str pattern)
{
    struct str start = is_absolute(pattern) ? STR("/") : STR("");
    const char *at = pattern.ptr, *end = at + pattern.len;
    int rc = 0;
    buf_add(&walk->from, &start, sizeof start);
    while (at < end && !rc) {
        while (at < end && *at == '/')
            at++;
        const char *stop = memchr(at, '/', (size_t)(end - at));
        struct str part = {at, stop ? (size_t)(stop - at) : (size_t)(end - at)};
        walk->part = arena_str(&walk->scratch, part);
        walk->last = !stop;
        at += part.len;
        if (walk->scratch.failed || walk->from.failed)
            return error_nomem(walk->error);
        rc = match_part(walk);
    }
    return rc;
}

static int keep_names(const struct glob_walk *walk, struct arena *arena,
                      struct glob_names *out)
{
    const struct str *names = (const struct str *)(const void *)walk->from.data;
    uint32_t n = (uint32_t)(walk->from.size / sizeof *names);
    struct str *copy = arena_take(arena, n, sizeof *copy);
    for (uint32_t i = 0; copy && i < n; i++)
        copy[i] = arena_str(arena, names[i]);
    if (!copy || arena->failed)
        return error_nomem(walk->error);
    qsort(copy, n, sizeof *copy, str_order);
    *out = (struct glob_names){copy, n};
    return 0;
}

int glob_check(struct str pattern, struct cairn_error *error)
{
    for (size_t i = 0; i + 1 < pattern.len; i++)
        if (memcmp(pattern.ptr + i, "**", 2) == 0)
            return error_set(error, CAIRN_EWORKFLOW,
                             "`**` is not supported; name each level, as in `*/*.csv`");
    if (pattern.len == 0 || pattern.ptr[pattern.len - 1] == '/')
        return error_set(error, CAIRN_EWORKFLOW,
                         "a pattern must end with a name, not with `/`");
    return 0;
}

int artifact_pattern(struct str text, struct buf *out, struct cairn_error *error)
{
    const char *at = text.ptr, *end = at + text.len;
    int shown = (int)(text.len < 200 ? text.len : 200);
    buf_clear(out);
    if (text.len && text.ptr[0] == '/')
        return error_set(
            error, CAIRN_EWORKFLOW,
            "the artifact %.*s is an absolute path: artifacts lie below the "
            "task's directory, which `cwd` sets",
            shown, text.ptr);
    while (at < end) {
        const char *stop = memchr(at, '/', (size_t)(end - at));
        struct str part = {at, stop ? (size_t)(stop - at) : (size_t)(end - at)};
        at += part.len + 1;
        if (str_equal(part, STR("..")))
            return error_set(error, CAIRN_EWORKFLOW,
                             "the artifact %.*s leads out of the task's directory: set "
                             "that with `cwd`",
                             shown, text.ptr);
        if (!part.len || str_equal(part, STR(".")))
            continue;
        if (out->size)
            buf_byte(out, '/');
        buf_str(out, part);
    }
    if (!out->size)
        return error_set(
            error, CAIRN_EWORKFLOW,
            "the artifact `%.*s` is the whole directory: name what is to be "
            "stored of it",
            shown, text.ptr);
    if (memchr(out->data, 0, out->size))
        return error_set(error, CAIRN_EWORKFLOW,
                         "the name of an artifact has a NUL in it");
    int rc = buf_check(out, error);
    return rc ? rc : glob_check(buf_view(out), error);
}

int glob_expand(const char *root, struct str pattern, struct arena *arena,
                struct glob_names *out, struct cairn_error *error)
{
    struct glob_walk walk = {.root = root, .scratch = ARENA_INIT, .error = error};
    int rc = glob_check(pattern, error)
             ?: walk_pattern(&walk, pattern)
             ?: keep_names(&walk, arena, out);
    buf_release(&walk.from);
    buf_release(&walk.to);
    buf_release(&walk.path);
    arena_release(&walk.scratch);
    return rc;
}
