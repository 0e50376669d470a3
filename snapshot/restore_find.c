/* SPDX-License-Identifier: MIT */
/* What a restore is to do: what differs between two trees, of the paths that count; and
 * what is in their places. */
#include "snapshot/ignore.h"
#include "snapshot/restore_int.h"
#include "snapshot/snapshot.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int place_error(struct restore *restore, int sys, struct str path, const char *what)
{
    return error_sys(restore->error, sys, "%s %.*s in %s", what, (int)path.len,
                     path.ptr, restore->root);
}

/* ==== What the rules of a snapshot ignore ==== */

static int add_part(void *context, struct str part)
{
    buf_str(context, part);
    return 0;
}

/* A file of rules of the directory, on top of the rules above it. */
static int read_rules(struct tree_rules *t, struct rules_level *level, struct str name)
{
    const struct tree_entry *entry = tree_find(&level->tree, name);
    struct buf text = BUF_INIT;
    if (!entry || entry->kind != TREE_FILE || entry->size > RULES_BYTES_MOST)
        return 0;
    int rc = snapshot_content(t->store, entry, add_part, &text, t->error);
    struct ignore_level *own = arena_take(&level->arena, 1, sizeof *own);
    if (!rc && (!own || text.failed))
        rc = error_nomem(t->error);
    if (!rc) {
        size_t n = level->path ? level->path - 1 : 0;
        own->above = level->rules;
        own->dir = arena_str(&level->arena, (struct str){t->path.data, n});
        rc = ignore_parse(&level->arena, buf_view(&text), &own->rules, t->error);
        level->rules = own;
    }
    buf_release(&text);
    return !rc && level->arena.failed ? error_nomem(t->error) : rc;
}

static int push(struct tree_rules *t, const struct digest *tree)
{
    assert(t->depth <= SNAPSHOT_DEPTH_MOST);
    struct rules_level *level = &t->levels[t->depth];
    *level =
        (struct rules_level){.arena = ARENA_INIT,
                             .rules = t->depth ? t->levels[t->depth - 1].rules : NULL,
                             .path = t->path.size};
    t->depth++;
    int rc =
        tree ? snapshot_read_tree(t->store, tree, &level->arena, &level->tree, t->error)
             : 0;
    return rc
           ?: read_rules(t, level, STR(".gitignore"))
           ?: read_rules(t, level, STR(".cairnignore"));
}

static void pop(struct tree_rules *t)
{
    arena_release(&t->levels[--t->depth].arena);
    if (t->depth)
        t->path.size = t->levels[t->depth - 1].path;
}

int tree_rules_open(struct tree_rules *t, struct cairn_store *store,
                    const struct digest *root, struct cairn_error *error)
{
    *t = (struct tree_rules){.store = store, .error = error};
    t->levels = calloc(SNAPSHOT_DEPTH_MOST + 1, sizeof *t->levels);
    return t->levels ? push(t, root) : error_nomem(error);
}

void tree_rules_close(struct tree_rules *t)
{
    while (t->depth)
        pop(t);
    buf_release(&t->path);
    buf_release(&t->passed);
    free(t->levels);
}

static bool begins_with(struct str text, struct str start)
{
    return start.len && text.len >= start.len &&
           memcmp(text.ptr, start.ptr, start.len) == 0;
}

static int pass(struct tree_rules *t, struct str dir)
{
    buf_clear(&t->passed);
    buf_str(&t->passed, dir);
    buf_byte(&t->passed, '/');
    int rc = buf_check(&t->passed, t->error);
    return rc ? rc : 1;
}

/* The directory that the path lies in becomes the deepest level. 1: it, or one above
 * it, is ignored, even if something in it was taken. */
static int go_to(struct tree_rules *t, struct str path)
{
    int rc = 0;
    while (t->depth > 1 && !begins_with(path, buf_view(&t->path)))
        pop(t);
    for (;;) {
        struct str rest = {path.ptr + t->path.size, path.len - t->path.size};
        const char *slash = memchr(rest.ptr, '/', rest.len);
        if (rc || !slash)
            return rc;
        struct str name = {rest.ptr, (size_t)(slash - rest.ptr)},
                   dir = {path.ptr, (size_t)(slash - path.ptr)};
        if (ignore_matches(t->levels[t->depth - 1].rules, dir, true))
            return pass(t, dir);
        const struct tree_entry *entry = tree_find(&t->levels[t->depth - 1].tree, name);
        bool there = entry && entry->kind == TREE_DIRECTORY;
        buf_str(&t->path, name);
        buf_byte(&t->path, '/');
        rc = buf_check(&t->path, t->error) ?: push(t, there ? &entry->digest : NULL);
    }
}

int tree_rules_ignore(struct tree_rules *t, struct str path, bool is_dir)
{
    if (begins_with(path, buf_view(&t->passed)))
        return 1;
    int rc = go_to(t, path);
    if (rc || !ignore_matches(t->levels[t->depth - 1].rules, path, is_dir))
        return rc;
    return is_dir ? pass(t, path) : 1;
}

/* ==== What differs ==== */

/* What a restore is to do: what differs between two trees, of the paths that count. */

/* What the rules of the other state ignore was not looked at then: that it is not there
 * says nothing, and it stays; but where something else comes in the place of the
 * directory that it lies in, what the snapshot has of that goes. */
struct finding {
    struct restore *restore;
    struct tree_rules rules; /* of what is put into place */
    struct paths *only;      /* NULL: all paths */
    struct str replaced; /* the last directory in whose place something else comes */
    /* Directories that are not of these, one below the other, up to the present path:
     * they are made if something that is comes into them, or, where they are there and
     * cannot be written to, made writable for as long as it takes. */
    struct restore_change *above;
    size_t n_above, room;
};

static int add_change(struct finding *f, const struct restore_change *change)
{
    struct restore *r = f->restore;
    struct restore_change *changes =
        array_room(r->changes, r->n, &r->room, sizeof *changes);
    if (!changes)
        return error_nomem(r->error);
    r->changes = changes;
    changes[r->n++] = *change;
    return 0;
}

static int keep_above(struct finding *f, const struct restore_change *change)
{
    struct restore_change *above =
        array_room(f->above, f->n_above, &f->room, sizeof *above);
    if (!above)
        return error_nomem(f->restore->error);
    f->above = above;
    above[f->n_above++] = *change;
    return 0;
}

/* The directories that the path needs come before it. */
static int add_above(struct finding *f, struct str path)
{
    int rc = 0;
    for (size_t i = 0; i < f->n_above && !rc; i++) {
        const struct restore_change *above = &f->above[i];
        bool stands = !above->before.kind || above->before.kind == TREE_DIRECTORY;
        rc =
            !stands
                ? error_set(f->restore->error, CAIRN_EUSAGE,
                            "%.300s lies in %.300s, which is not a directory now: name "
                            "that, too; nothing was changed",
                            path.ptr, above->path.ptr)
                : add_change(f, above);
    }
    f->n_above = 0;
    return rc;
}

static bool is_only_of(struct finding *f, const struct restore_change *change)
{
    bool was_dir = change->before.kind == TREE_DIRECTORY,
         is_dir = change->after.kind == TREE_DIRECTORY;
    if (!f->only || paths_match(f->only, change->path, was_dir || is_dir))
        return true;
    return was_dir != is_dir && paths_match(f->only, change->path, false);
}

static int take_change(struct finding *f, const struct restore_change *change)
{
    bool made =
        change->after.kind == TREE_DIRECTORY && change->before.kind != TREE_DIRECTORY;
    struct restore_change same = {
        .path = change->path, .before = change->before, .after = change->before};
    while (f->n_above && !path_lies_in(change->path, f->above[f->n_above - 1].path))
        f->n_above--;
    if (!is_only_of(f, change))
        return made                              ? keep_above(f, change)
               : tree_is_locked(&change->before) ? keep_above(f, &same)
                                                 : 0;
    return add_above(f, change->path) ?: add_change(f, change);
}

static int note_change(void *context, struct str path, const struct tree_entry *before,
                       const struct tree_entry *after)
{
    struct finding *f = context;
    struct restore *r = f->restore;
    if (before && !after && !path_lies_in(path, f->replaced)) {
        int rc = tree_rules_ignore(&f->rules, path, before->kind == TREE_DIRECTORY);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    struct restore_change change = {.path = arena_str(&r->arena, path),
                                    .before = tree_entry_copy(&r->arena, before),
                                    .after = tree_entry_copy(&r->arena, after)};
    if (restore_replaces(&change))
        f->replaced = change.path;
    return r->arena.failed ? error_nomem(r->error) : take_change(f, &change);
}

static int see_path(void *context, struct str path, const struct tree_entry *entry)
{
    struct paths *only = context;
    (void)paths_match(only, path, entry->kind == TREE_DIRECTORY);
    return paths_missing(only) == NULL;
}

/* What is the same on both sides is found in the trees alone. */
static int check_found(struct restore *r, const struct digest *before,
                       const struct digest *after, struct paths *only)
{
    const struct digest *trees[] = {after, before};
    int rc = 0;
    for (int i = 0; i < 2 && !rc && paths_missing(only); i++)
        rc = trees[i] ? snapshot_each(r->store, trees[i], see_path, only, r->error) : 0;
    const struct str *missing = rc < 0 ? NULL : paths_missing(only);
    return rc < 0    ? rc
           : missing ? error_set(r->error, CAIRN_ENOTFOUND,
                                 "nothing in the checkpoint and nothing that is "
                                 "tracked now matches '%.*s'",
                                 (int)utf8_fit(*missing, 200), missing->ptr)
                     : 0;
}

int restore_find(struct restore *r, const struct digest *before,
                 const struct digest *after, struct paths *only)
{
    struct finding finding = {.restore = r, .only = only};
    int rc = tree_rules_open(&finding.rules, r->store, after, r->error)
                 ?: snapshot_compare(r->store, before, after, true, note_change,
                                     &finding, r->error);
    tree_rules_close(&finding.rules);
    free(finding.above);
    return rc || !only ? rc : check_found(r, before, after, only);
}

/* ---- What no snapshot has of a directory that is to be replaced ---- */

/* A directory comes before what is in it, and that before all else. */
static int path_order(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)a.ptr[i], d = (unsigned char)b.ptr[i];
        if (c != d)
            return c == '/' ? -1 : d == '/' ? 1 : c < d ? -1 : 1;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

static int by_path(const void *key, const void *change)
{
    return path_order(*(const struct str *)key,
                      ((const struct restore_change *)change)->path);
}

struct restore_change *restore_find_change(const struct restore *r, struct str path)
{
    return r->n ? bsearch(&path, r->changes, r->n, sizeof *r->changes, by_path) : NULL;
}

/* The restore takes it away, and a snapshot has it. */
static bool is_removed(const struct restore *r, struct str path)
{
    const struct restore_change *change = restore_find_change(r, path);
    return change && change->before.kind && change->before.kind != TREE_LEFT_OUT &&
           !change->after.kind;
}

/* What lies in the directory, by its path; `dir` is closed. */
static int check_names(struct restore *r, struct str replaced, struct str path,
                       DIR *dir)
{
    struct buf below = BUF_INIT;
    const struct dirent *found;
    int rc = 0;
    while (!rc && (found = readdir(dir))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        buf_clear(&below);
        buf_format(&below, "%s/%s", path.ptr, found->d_name);
        rc = buf_check(&below, r->error);
        if (!rc && !is_removed(r, buf_view(&below)))
            rc = error_set(r->error, CAIRN_EUSAGE,
                           "nothing was changed: %.300s is a directory now and no "
                           "checkpoint has %.300s, which lies in it; it would be lost: "
                           "move it away",
                           replaced.ptr, below.data);
    }
    closedir(dir);
    buf_release(&below);
    return rc;
}

static int check_directory(struct restore *r, struct str replaced, struct str path)
{
    const char *name;
    int parent = place_parent(r, path, &name);
    int fd = parent < 0 ? -1
                        : openat(parent, name,
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir)
        return check_names(r, replaced, path, dir);
    int sys = errno;
    if (fd >= 0)
        close(fd);
    return sys == ENOENT || sys == ENOTDIR || sys == ELOOP /* gone meanwhile */
               ? 0
               : place_error(r, sys, path, "looking at what is in");
}

int restore_check_replaced(struct restore *r)
{
    struct str replaced = STR("");
    int rc = 0;
    for (size_t i = 0; i < r->n && !rc; i++) {
        const struct restore_change *change = &r->changes[i];
        bool below = path_lies_in(change->path, replaced);
        if (restore_replaces(change) && !below)
            replaced = change->path;
        if (change->before.kind == TREE_DIRECTORY &&
            (below || restore_replaces(change)))
            rc = check_directory(r, replaced, change->path);
    }
    return rc;
}

/* ---- What stays ---- */

static bool is_directory(const struct tree_entry *entry)
{
    return entry->kind == TREE_DIRECTORY;
}

/* Behind the last change that lies in the directory of change i. */
static size_t end_of(const struct restore *r, size_t i)
{
    size_t end = i + 1;
    while (end < r->n && path_lies_in(r->changes[end].path, r->changes[i].path))
        end++;
    return end;
}

static bool any_chosen(const struct restore *r, size_t from, size_t end, bool goes)
{
    for (size_t i = from; i < end; i++)
        if ((r->changes[i].choice == RESTORE_GOES) == goes)
            return true;
    return false;
}

/* Where a directory makes room for something else, or that for a directory. */
static void choose_replaced(struct restore *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct restore_change *change = &r->changes[i];
        size_t end = end_of(r, i);
        if (!change->before.kind || !change->after.kind ||
            is_directory(&change->before) == is_directory(&change->after))
            continue;
        bool stays = any_chosen(r, i, end, false);
        for (; i < end; i++)
            r->changes[i].choice = stays ? RESTORE_STAYS : RESTORE_GOES;
        i--;
    }
}

static void choose_directories(struct restore *r)
{
    for (size_t i = r->n; i > 0; i--) {
        struct restore_change *change = &r->changes[i - 1];
        size_t end = end_of(r, i - 1);
        bool was = is_directory(&change->before), is = is_directory(&change->after);
        if (was && !change->after.kind && change->choice == RESTORE_GOES &&
            any_chosen(r, i, end, false))
            change->choice = RESTORE_STAYS;
        if (is && !change->before.kind && change->choice != RESTORE_GOES &&
            any_chosen(r, i, end, true))
            change->choice = RESTORE_GOES;
    }
}

int restore_choose(struct restore *r)
{
    size_t n = 0, kept = 0;
    choose_replaced(r);
    choose_directories(r);
    r->chosen = arena_take(&r->arena, r->n, sizeof *r->chosen);
    if (r->n && !r->chosen)
        return error_nomem(r->error);
    for (size_t i = 0; i < r->n; i++) {
        struct restore_change *change = &r->changes[i];
        if (change->choice != RESTORE_GOES)
            r->chosen[kept++] = *change;
        bool both = is_directory(&change->before) && is_directory(&change->after);
        if (both && change->choice != RESTORE_GOES) { /* its mode alone */
            change->after.mode = change->before.mode;
            change->choice = RESTORE_GOES;
        }
        if (change->choice != RESTORE_STAYS)
            r->changes[n++] = *change;
    }
    r->n = n;
    r->n_chosen = kept;
    return 0;
}

/* ---- Who writes into what is to be replaced ---- */

enum { WRITERS_TOLD = 20, WRITERS_LOOKED_AT = 20000, WRITERS_LOOK_MS = 1000 };

/* A walk through the open files of this user's processes. */
struct writer_search {
    struct restore *restore;
    struct str root;
    int64_t until_ns;
    unsigned seen; /* descriptors */
    uint64_t told;
    const char *pid;
    char name[32]; /* of its program */
    /* Told of this process: descriptors of one file often follow each other. */
    const struct restore_change *last;
};

static bool is_over(const struct writer_search *s)
{
    return s->seen > WRITERS_LOOKED_AT || clock_mono_ns() > s->until_ns;
}

/* What is at its place then is another file. */
static const struct restore_change *find_written(const struct writer_search *s,
                                                 struct str path)
{
    size_t above = s->root.len + (s->root.len > 1);
    if (path.len <= above || memcmp(path.ptr, s->root.ptr, s->root.len) != 0 ||
        path.ptr[above - 1] != '/')
        return NULL;
    const struct restore_change *change = restore_find_change(
        s->restore, (struct str){path.ptr + above, path.len - above});
    return change && tree_is_file(&change->before) &&
                   (change->staged || !change->after.kind)
               ? change
               : NULL;
}

/* The caller's shell may have it open, too. */
static bool is_own_output(int directory, const char *name)
{
    struct stat st, own;
    bool is = false;
    if (fstatat(directory, name, &st, 0))
        return false;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && !is; fd++)
        is = fstat(fd, &own) == 0 && own.st_dev == st.st_dev && own.st_ino == st.st_ino;
    return is;
}

static void look_at_open(struct writer_search *s, int directory, const char *name)
{
    char path[PATH_MAX], what[200];
    struct stat st;
    s->seen++;
    ssize_t n = readlinkat(directory, name, path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path)
        return;
    const struct restore_change *change =
        find_written(s, (struct str){path, (size_t)n});
    if (!change || change == s->last ||
        fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) || !(st.st_mode & S_IWUSR) ||
        is_own_output(directory, name))
        return;
    s->last = change;
    if (++s->told > WRITERS_TOLD)
        return;
    snprintf(what, sizeof what,
             "is open for writing by process %s (%s): what it writes after the "
             "restore goes into the old file, so restart it then",
             s->pid, s->name);
    s->restore->told(s->restore->context, change->path.ptr, what);
}

static void read_name(struct writer_search *s, int process)
{
    int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, s->name, sizeof s->name - 1) : -1;
    if (fd >= 0)
        close(fd);
    s->name[n > 0 ? n : 0] = '\0';
    for (char *at = s->name; *at; at++) {
        if (*at == '\n' && !at[1])
            *at = '\0';
        else if (*at < ' ' || *at > '~')
            *at = '?';
    }
}

static void look_at_process(struct writer_search *s, int process)
{
    struct stat st;
    const struct dirent *entry;
    int fd = fstat(process, &st) == 0 && st.st_uid == geteuid()
                 ? openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                 : -1;
    DIR *open_files = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !open_files)
        close(fd);
    if (!open_files)
        return;
    read_name(s, process);
    s->last = NULL;
    while (!is_over(s) && (entry = readdir(open_files)))
        if (entry->d_name[0] != '.')
            look_at_open(s, dirfd(open_files), entry->d_name);
    closedir(open_files);
}

void restore_tell_writers(struct restore *r)
{
    struct writer_search s = {.restore = r,
                              .root = str_of(r->root),
                              .until_ns =
                                  clock_mono_ns() + WRITERS_LOOK_MS * INT64_C(1000000)};
    const struct dirent *entry;
    char own[24], what[64];
    DIR *processes = r->told && r->n ? opendir("/proc") : NULL;
    snprintf(own, sizeof own, "%ld", (long)getpid());
    while (processes && !is_over(&s) && (entry = readdir(processes))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            strcmp(entry->d_name, own) == 0)
            continue;
        s.pid = entry->d_name;
        int process =
            openat(dirfd(processes), s.pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
            continue;
        look_at_process(&s, process);
        close(process);
    }
    if (processes)
        closedir(processes);
    if (s.told > WRITERS_TOLD) {
        snprintf(what, sizeof what, "has %llu more files that are open for writing",
                 (unsigned long long)(s.told - WRITERS_TOLD));
        r->told(r->context, r->root, what);
    }
}
