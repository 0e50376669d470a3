/* SPDX-License-Identifier: MIT */
/* Artifacts: which files they are when a task has ended; and later what is stored of
 * them, to list and to put into a directory. */
#include "runs/artifacts.h"

#include "base/os.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "cairn/runs.h"
#include "runs/stored.h"
#include "snapshot/restore.h"
#include "storage/rows_files.h"
#include "storage/store.h"
#include "workflow/glob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Which they are ---- */

/* Whether a directory above it is among the sorted names. */
static bool is_below_one(const struct str *names, size_t n, struct str name)
{
    for (size_t i = 1; i < name.len; i++) {
        struct str above = {name.ptr, i};
        if (name.ptr[i] == '/' && bsearch(&above, names, n, sizeof above, str_order))
            return true;
    }
    return false;
}

int names_outermost(struct arena *arena, struct str *found, size_t n, struct str **out,
                    size_t *n_out, struct cairn_error *error)
{
    *n_out = 0;
    *out = arena_take(arena, n, sizeof *found);
    if (!*out)
        return error_nomem(error);
    if (n)
        qsort(found, n, sizeof *found, str_order);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || !str_equal(found[i], found[i - 1])) &&
            !is_below_one(found, n, found[i]))
            (*out)[(*n_out)++] = found[i];
    return 0;
}

/* Names of one pattern behind `all`. */
static int add_pattern(const struct scope *scope, struct str text,
                       struct artifact_names *names, struct buf *all,
                       struct cairn_error *error)
{
    struct buf value = BUF_INIT, pattern = BUF_INIT;
    struct glob_names found = {NULL, 0};
    int rc = text_expand(scope, text, &value, error)
             ?: artifact_pattern(buf_view(&value), &pattern, error)
             ?: glob_expand(names->directory.ptr, buf_view(&pattern), &names->arena,
                            &found, error);
    if (!rc && !found.n)
        names->missing[names->n_missing++] =
            arena_str(&names->arena, buf_view(&pattern));
    if (!rc)
        buf_add(all, found.names, found.n * sizeof *found.names);
    buf_release(&value);
    buf_release(&pattern);
    return rc ? rc : names->arena.failed ? error_nomem(error) : buf_check(all, error);
}

int artifacts_find(const struct scope *scope, struct artifact_names *out,
                   struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    struct buf directory = BUF_INIT, all = BUF_INIT;
    *out = (struct artifact_names){.arena = ARENA_INIT};
    int rc = task_directory(scope, &directory, error);
    if (!rc && !directory.size)
        buf_byte(&directory, '.');
    if (!rc)
        rc = buf_check(&directory, error);
    out->directory = arena_str(&out->arena, buf_view(&directory));
    out->missing = arena_take(&out->arena, def->n_artifacts, sizeof *out->missing);
    if (!rc && out->arena.failed)
        rc = error_nomem(error);
    for (uint32_t i = 0; i < def->n_artifacts && !rc; i++)
        rc = add_pattern(scope, def->artifacts[i], out, &all, error);
    if (!rc)
        rc =
            names_outermost(&out->arena, (void *)all.data,
                            all.size / sizeof(struct str), &out->names, &out->n, error);
    buf_release(&directory);
    buf_release(&all);
    return rc;
}

void artifact_names_release(struct artifact_names *names)
{
    arena_release(&names->arena);
}

/* ---- What is stored of them ---- */

struct found_files { /* of one task; in the arena */
    struct str id;
    uint32_t attempt;
    int64_t until_ns;
    struct digest root; /* the tree */
};
struct collection { /* those of a run, or of one of its tasks */
    struct cairn_store *store;
    uint64_t run;
    const char *task; /* NULL: all; of a group: its members */
    struct arena arena;
    struct found_files *found; /* [n] */
    size_t n, capacity;
    struct cairn_error *error;
};

/* Is it the task, or a member of the group? */
static bool is_asked_for(const struct collection *c, struct str id)
{
    struct str task = str_of(c->task ? c->task : "");
    return !c->task || str_equal(id, task) || str_equal(name_of_id(id), task);
}

static int collect_row(void *context, const struct files_row *row)
{
    struct collection *c = context;
    struct snapshot_head head;
    struct cairn_error why = {0};
    if (!is_asked_for(c, row->id) || digest_is_none(&row->files))
        return 0;
    int rc = snapshot_read(c->store, &row->files, &c->arena, &head, &why);
    if (rc)
        return error_set(c->error, rc, "the artifacts of %.*s of run %llu: %s",
                         (int)row->id.len, row->id.ptr, (unsigned long long)row->run,
                         why.text);
    struct found_files *grown = array_room(c->found, c->n, &c->capacity, sizeof *grown);
    if (!grown)
        return error_nomem(c->error);
    c->found = grown;
    grown[c->n++] = (struct found_files){arena_str(&c->arena, row->id), row->attempt,
                                         row->until_ns, head.root};
    return c->arena.failed ? error_nomem(c->error) : 0;
}

static int collect(struct collection *c, struct cairn_store *store, uint64_t run,
                   const char *task, struct cairn_error *error)
{
    struct run_row row;
    struct files_search search = {.each = collect_row, .context = c};
    *c = (struct collection){.store = store, .task = task, .error = error};
    int rc = run_row_get(&row, store, run, &c->arena, error);
    if (rc)
        return rc;
    search.run = c->run = row.run;
    return store_each_files(store, &search, error);
}

static void collection_release(struct collection *c)
{
    arena_release(&c->arena);
    free(c->found);
}

struct listing_artifacts {
    struct cairn_artifact_info info;
    int (*each)(void *, const struct cairn_artifact_info *);
    void *context;
    char sha256[DIGEST_HEX_SIZE];
    struct buf target;
};

static void describe_entry(struct listing_artifacts *l, struct str path,
                           const struct tree_entry *entry)
{
    struct cairn_artifact_info *info = &l->info;
    info->path = path.ptr;
    info->size = entry->size;
    info->mode = entry->mode;
    info->mtime_ns = entry->mtime_ns;
    info->sha256 = info->target = NULL;
    if (entry->kind == TREE_FILE) {
        digest_hex(&entry->digest, l->sha256);
        info->sha256 = l->sha256;
    }
    if (entry->kind == TREE_LINK) {
        buf_clear(&l->target);
        buf_str(&l->target, entry->target);
        info->target = l->target.data;
    }
}

static int list_entry(void *context, struct str path, const struct tree_entry *entry)
{
    struct listing_artifacts *l = context;
    if (!tree_is_file(entry) && entry->kind != TREE_LINK)
        return 0;
    describe_entry(l, path, entry);
    return l->target.failed ? CAIRN_ENOMEM : l->each(l->context, &l->info);
}

static void begin_listing(struct listing_artifacts *l, const struct collection *c,
                          const struct found_files *found)
{
    l->info = (struct cairn_artifact_info){.run = c->run,
                                           .task = found->id.ptr,
                                           .attempt = found->attempt,
                                           .until_ns = found->until_ns};
}

int cairn_artifacts(struct cairn_store *store, uint64_t run, const char *task,
                    int (*each)(void *, const struct cairn_artifact_info *),
                    void *context, struct cairn_error *error)
{
    struct collection c;
    struct listing_artifacts l = {.each = each, .context = context};
    int rc = collect(&c, store, run, task, error);
    for (size_t i = 0; i < c.n && !rc; i++) {
        begin_listing(&l, &c, &c.found[i]);
        rc = snapshot_each(store, &c.found[i].root, list_entry, &l, error);
    }
    if (rc == CAIRN_ENOMEM)
        error_nomem(error);
    buf_release(&l.target);
    collection_release(&c);
    return rc < 0 ? rc : 0;
}

/* ---- Into a directory ---- */

/* Patterns for the names that were asked for: a name that is there stands for itself. */
struct wanted {
    struct arena arena;
    struct str *patterns; /* [n] */
    bool *found;          /* [n] in any task */
    size_t n;
};

static bool has_name(const struct collection *c, const char *name)
{
    struct arena scratch = ARENA_INIT;
    struct tree_entry entry;
    bool there = false;
    for (size_t i = 0; i < c->n && !there; i++)
        there = snapshot_find(c->store, &c->found[i].root, str_of(name), &scratch,
                              &entry, NULL) == 1;
    arena_release(&scratch);
    return there;
}

static int prepare_wanted(struct wanted *w, const struct collection *c,
                          const struct cairn_artifact_get *get)
{
    struct buf text = BUF_INIT;
    w->patterns = arena_take(&w->arena, get->n_names + 1, sizeof *w->patterns);
    w->found = arena_take(&w->arena, get->n_names + 1, sizeof *w->found);
    w->n = get->n_names;
    for (size_t i = 0; i < get->n_names && w->patterns; i++) {
        const char *name = get->names[i];
        bool literal = has_name(c, name);
        buf_clear(&text);
        if (literal)
            buf_byte(&text, '/');
        for (const char *at = name; *at; at++) {
            if (literal && strchr("\\*?[", *at))
                buf_byte(&text, '\\');
            buf_byte(&text, (uint8_t)*at);
        }
        w->patterns[i] = arena_str(&w->arena, buf_view(&text));
    }
    bool failed = text.failed || w->arena.failed;
    buf_release(&text);
    return failed ? error_nomem(c->error) : 0;
}

struct getting {
    const struct cairn_artifact_get *get;
    const struct collection *c;
    struct wanted wanted;
    struct listing_artifacts list;
    struct map places; /* path to 1 + index of the task whose file comes there */
    struct arena keys;
    struct cairn_error *error;
};

/* Nothing is to come over what is there, nor two files to one place. A directory that is
 * there stays as it is. */
static int check_place(struct getting *g, struct restore *r, size_t i, uint32_t task)
{
    struct restore_change *change = &r->changes[i];
    bool directory = change->after.kind == TREE_DIRECTORY;
    const struct found_files *found = g->c->found;
    struct stat st;
    bool there = fstatat(r->fd, change->path.ptr, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (directory && there && S_ISDIR(st.st_mode))
        change->choice = RESTORE_STAYS;
    if (there && (directory != S_ISDIR(st.st_mode) || (!directory && !g->get->force)))
        return error_set(
            g->error, CAIRN_EUSAGE, "nothing was put: %s is there already in %s%s",
            change->path.ptr, r->root,
            S_ISLNK(st.st_mode) && directory
                ? ", and is a symbolic link: nothing is put through one; remove it, or "
                  "name another directory with -o"
            : directory           ? ", and is no directory: move it away"
            : S_ISDIR(st.st_mode) ? ", and is a directory: move it away"
                                  : " (--force replaces it)");
    if (directory)
        return 0;
    uint32_t other = map_get(&g->places, change->path);
    if (other != MAP_NONE && other != task)
        return error_set(
            g->error, CAIRN_EUSAGE,
            "nothing was put: both %.*s and %.*s have an artifact %s: name "
            "one of them with --task",
            (int)found[other].id.len, found[other].id.ptr, (int)found[task].id.len,
            found[task].id.ptr, change->path.ptr);
    struct str key = arena_str(&g->keys, change->path);
    return g->keys.failed || map_add(&g->places, key, task, NULL) < 0
               ? error_nomem(g->error)
               : 0;
}

static int place_all(struct getting *g, struct restore *r)
{
    int rc = restore_choose(r) ?: restore_prepare(r, false) ?: restore_apply(r);
    if (!rc && r->n && syncfs(r->fd) != 0)
        rc = error_sys(g->error, errno, "syncing %s", r->root);
    for (size_t i = 0; i < r->n && !rc && g->list.each; i++) {
        const struct restore_change *change = &r->changes[i];
        if (change->after.kind == TREE_DIRECTORY)
            continue;
        describe_entry(&g->list, change->path, &change->after);
        rc = g->list.each(g->list.context, &g->list.info);
    }
    return rc;
}

/* `only_look`: nothing is written. `paths` NULL: all. */
static int get_with(struct getting *g, uint32_t task, struct paths *paths,
                    bool only_look)
{
    struct restore r;
    const struct found_files *found = &g->c->found[task];
    int rc = restore_open(&r, g->c->store, g->get->directory, NULL, &found->root, paths,
                          g->error);
    if (rc == CAIRN_ENOTFOUND && paths)
        rc = 0; /* another task may have what this one has not: get_all */
    if (!rc && flock(r.fd, LOCK_EX) != 0)
        rc = error_sys(g->error, errno, "locking %s", g->get->directory);
    r.scratch = true;
    r.replaces = g->get->force;
    for (size_t i = 0; i < r.n && !rc; i++)
        rc = check_place(g, &r, i, task);
    begin_listing(&g->list, g->c, found);
    if (!rc && !only_look)
        rc = place_all(g, &r);
    restore_close(&r);
    return rc;
}

static int get_of_task(struct getting *g, uint32_t task, bool only_look)
{
    struct paths paths;
    if (!g->wanted.n)
        return get_with(g, task, NULL, only_look);
    int rc = paths_open(&paths, g->wanted.patterns, g->wanted.n, g->error)
                 ?: get_with(g, task, &paths, only_look);
    for (size_t i = 0; i < g->wanted.n && !rc; i++)
        g->wanted.found[i] |= paths.found[i];
    paths_close(&paths);
    return rc;
}

static int get_all(struct getting *g)
{
    size_t n = g->c->n;
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = get_of_task(g, i, true);
    if (!rc && !n)
        rc =
            error_set(g->error, CAIRN_ENOTFOUND,
                      "run %llu has no artifacts%s%s: its tasks stored none, or `keep` "
                      "is over and `cairn gc` has removed them",
                      (unsigned long long)g->c->run, g->get->task ? " of " : "",
                      g->get->task ? g->get->task : "");
    for (size_t i = 0; i < g->wanted.n && !rc; i++)
        if (!g->wanted.found[i])
            rc = error_set(
                g->error, CAIRN_ENOTFOUND,
                "run %llu has no artifact %s%s%s: `cairn artifact list` shows "
                "what there is",
                (unsigned long long)g->c->run, g->get->names[i],
                g->get->task ? " of " : "", g->get->task ? g->get->task : "");
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = get_of_task(g, i, false);
    return rc;
}

int cairn_artifact_get(struct cairn_store *store, const struct cairn_artifact_get *get,
                       int (*each)(void *, const struct cairn_artifact_info *),
                       void *context, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_artifact_get, get, error);
    struct collection c;
    struct getting g = {.get = get, .c = &c, .error = error};
    g.list.each = each;
    g.list.context = context;
    int rc = collect(&c, store, get->run, get->task, error)
             ?: prepare_wanted(&g.wanted, &c, get)
             ?: get_all(&g);
    buf_release(&g.list.target);
    map_release(&g.places);
    arena_release(&g.keys);
    arena_release(&g.wanted.arena);
    collection_release(&c);
    return rc < 0 ? rc : 0;
}
