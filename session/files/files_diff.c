/* SPDX-License-Identifier: MIT */
/* What differs between the files of two states, with patches. */
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "session/files/files_int.h"
#include "snapshot/diff.h"
#include "snapshot/ignore.h"
#include "storage/store.h"

#include <stdlib.h>
#include <sys/stat.h>

struct pair {
    struct str path, old_path; /* old_path: of one that was renamed or copied */
    bool copied;
    struct tree_entry before, after; /* kind 0: not there */
    bool gone;                       /* it is the old name of another one */
    bool barred;                     /* a patch could not make it */
};

struct diffing {
    struct cairn_store *store;
    const struct cairn_files_diff *options;
    struct paths paths; /* if there are some */
    struct arena arena; /* of the pairs */
    struct pair *pairs;
    size_t n, room;
    int (*each)(void *, const struct cairn_file_change *);
    void *context;
    struct cairn_error *error;
};

/* ---- What differs ---- */

static struct tree_entry copy_entry(struct arena *arena, const struct tree_entry *entry)
{
    struct tree_entry copy = {.kind = 0};
    if (!entry)
        return copy;
    copy = *entry;
    copy.name = STR("");
    if (entry->kind == TREE_LINK)
        copy.target = arena_str(arena, entry->target);
    return copy;
}

/* A directory that is on both sides differs by what is in it. */
static int note_pair(void *context, struct str path, const struct tree_entry *before,
                     const struct tree_entry *after)
{
    struct diffing *d = context;
    if (before && after && before->kind == TREE_DIRECTORY &&
        after->kind == TREE_DIRECTORY && before->mode == after->mode)
        return 0;
    struct pair *pairs = array_room(d->pairs, d->n, &d->room, sizeof *pairs);
    if (!pairs)
        return error_nomem(d->error);
    d->pairs = pairs;
    pairs[d->n++] = (struct pair){.path = arena_str(&d->arena, path),
                                  .before = copy_entry(&d->arena, before),
                                  .after = copy_entry(&d->arena, after)};
    return d->arena.failed ? error_nomem(d->error) : 0;
}

/* A file that was added has the content of one that was removed; empty ones have
 * nothing in common. */
static int find_renames(struct diffing *d)
{
    struct map removed = MAP_INIT;
    int rc = 0;
    for (size_t i = 0; i < d->n && rc >= 0; i++) {
        const struct pair *pair = &d->pairs[i];
        if (!pair->after.kind && tree_is_file(&pair->before) && pair->before.size)
            rc =
                map_add(&removed, digest_view(&pair->before.digest), (uint32_t)i, NULL);
    }
    for (size_t i = 0; i < d->n && rc >= 0; i++) {
        struct pair *pair = &d->pairs[i];
        if (pair->before.kind || !tree_is_file(&pair->after))
            continue;
        uint32_t at = map_get(&removed, digest_view(&pair->after.digest));
        if (at == MAP_NONE || d->pairs[at].gone)
            continue;
        d->pairs[at].gone = true;
        pair->old_path = d->pairs[at].path;
        pair->before = d->pairs[at].before;
    }
    map_release(&removed);
    return rc < 0 ? error_nomem(d->error) : 0;
}

/* What was added and has the content of another file, which is there still: `patch`
 * copies from no other. */
struct copying {
    struct diffing *d;
    struct map gone;   /* paths of files that are not */
    struct map wanted; /* digests to indexes of the first pair that has them */
    struct pair *sources;
    size_t left; /* of these that have none yet */
};

static bool may_be_copy(const struct pair *pair)
{
    return !pair->before.kind && tree_is_file(&pair->after) && pair->after.size;
}

static int note_source(void *context, struct str path, const struct tree_entry *entry)
{
    struct copying *c = context;
    if (!tree_is_file(entry))
        return 0;
    uint32_t at = map_get(&c->wanted, digest_view(&entry->digest));
    if (at == MAP_NONE || c->sources[at].before.kind ||
        map_get(&c->gone, path) != MAP_NONE)
        return 0;
    c->sources[at].old_path = arena_str(&c->d->arena, path);
    c->sources[at].before = copy_entry(&c->d->arena, entry);
    return c->d->arena.failed ? error_nomem(c->d->error) : --c->left == 0;
}

static int want_copies(struct copying *c)
{
    struct diffing *d = c->d;
    int added = 0;
    c->sources = calloc(d->n ? d->n : 1, sizeof *c->sources);
    if (!c->sources)
        return error_nomem(d->error);
    for (size_t i = 0; i < d->n && added >= 0; i++) {
        const struct pair *pair = &d->pairs[i];
        if (tree_is_file(&pair->before) && !tree_is_file(&pair->after))
            added = map_add(&c->gone, pair->path, (uint32_t)i, NULL);
        if (added < 0 || !may_be_copy(pair))
            continue;
        added =
            map_add(&c->wanted, digest_view(&pair->after.digest), (uint32_t)i, NULL);
        c->left += added == 1;
    }
    return added < 0 ? error_nomem(d->error) : 0;
}

/* All that was there before is looked at, but only where something was added. What is
 * damaged in it has no part in the difference: a copy of it is told as added. */
static int find_copies(struct diffing *d, const struct digest *from)
{
    struct copying c = {.d = d};
    int rc = want_copies(&c);
    if (!rc && c.left)
        rc = snapshot_each(d->store, from, note_source, &c, d->error);
    for (size_t i = 0; i < d->n && (rc >= 0 || rc == CAIRN_EDAMAGED); i++) {
        struct pair *pair = &d->pairs[i];
        uint32_t at = may_be_copy(pair)
                          ? map_get(&c.wanted, digest_view(&pair->after.digest))
                          : MAP_NONE;
        if (at == MAP_NONE || !c.sources[at].before.kind)
            continue;
        pair->old_path = c.sources[at].old_path;
        pair->before = c.sources[at].before;
        pair->copied = true;
    }
    map_release(&c.gone);
    map_release(&c.wanted);
    free(c.sources);
    return rc < 0 && rc != CAIRN_EDAMAGED ? rc : 0;
}

/* ---- Patches ---- */

static int add_part(void *context, struct str part)
{
    buf_str(context, part);
    return 0;
}

/* A digest stands for one that is large. */
static int read_content(struct diffing *d, const struct tree_entry *entry,
                        struct buf *out)
{
    if (entry->kind == TREE_LINK) {
        buf_str(out, entry->target);
    } else if (entry->kind == TREE_CHUNKED) {
        buf_str(out, digest_view(&entry->digest));
    } else {
        int rc = snapshot_content(d->store, entry, add_part, out, d->error);
        if (rc)
            return rc;
    }
    return buf_check(out, d->error);
}

/* Patches know files and links alone. */
static bool is_patched(const struct tree_entry *entry)
{
    return tree_is_file(entry) || entry->kind == TREE_LINK;
}

static int make_patch(struct diffing *d, const struct pair *pair, struct buf *out,
                      struct text_stat *stat)
{
    const struct tree_entry *entries[2] = {&pair->before, &pair->after};
    struct buf contents[2] = {BUF_INIT, BUF_INIT};
    struct text_file files[2];
    struct text_patch_options options = {.around = d->options->around,
                                         .is_copy = pair->copied,
                                         .is_barred = pair->barred};
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++) {
        if (is_patched(entries[i]))
            rc = read_content(d, entries[i], &contents[i]);
        files[i] = (struct text_file){
            .path = i == 0 && pair->old_path.len ? pair->old_path : pair->path,
            .mode = entries[i]->kind == TREE_LINK ? S_IFLNK | 0777
                                                  : S_IFREG | entries[i]->mode,
            .content = buf_view(&contents[i]),
            .is_large = entries[i]->kind == TREE_CHUNKED};
    }
    if (!rc)
        rc = text_patch(is_patched(entries[0]) ? &files[0] : NULL,
                        is_patched(entries[1]) ? &files[1] : NULL, &options, out, stat,
                        d->error);
    buf_release(&contents[0]);
    buf_release(&contents[1]);
    return rc;
}

/* What is binary is only named, and stays where it is when a patch is applied: so
 * nothing can come below it, where it became a directory, or in the place of the
 * directory that it is in. */
static bool lies_in(struct str path, struct str above)
{
    return path.len > above.len && path.ptr[above.len] == '/' &&
           memcmp(path.ptr, above.ptr, above.len) == 0;
}

static int is_binary(struct diffing *d, const struct tree_entry *entry)
{
    struct buf content = BUF_INIT;
    if (!tree_is_file(entry) || entry->kind == TREE_CHUNKED)
        return entry->kind == TREE_CHUNKED;
    int rc = read_content(d, entry, &content);
    bool found = !rc && text_is_binary(buf_view(&content));
    buf_release(&content);
    return rc ? rc : found;
}

/* Behind a pair of which one side is a directory come those of what is in it. */
static int find_barred(struct diffing *d)
{
    int rc = 0;
    for (size_t i = 0; i < d->n && rc >= 0; i++) {
        struct pair *pair = &d->pairs[i];
        bool was = pair->before.kind == TREE_DIRECTORY && is_patched(&pair->after);
        bool is = pair->after.kind == TREE_DIRECTORY && is_patched(&pair->before);
        rc = is ? is_binary(d, &pair->before) : 0;
        bool bars = rc > 0;
        for (size_t j = i + 1;
             j < d->n && (was || bars) && lies_in(d->pairs[j].path, pair->path); j++) {
            struct pair *below = &d->pairs[j];
            if (bars)
                below->barred = true;
            else if (rc >= 0 && !below->gone && !below->after.kind)
                pair->barred |= (rc = is_binary(d, &below->before)) > 0;
        }
    }
    return rc < 0 ? rc : 0;
}

/* ---- Telling ---- */

static int tell_pair(struct diffing *d, const struct pair *pair)
{
    struct cairn_file sides[2];
    struct arena arena = ARENA_INIT;
    struct buf patch = BUF_INIT;
    struct text_stat stat = {.added = 0};
    struct cairn_file_change told = {.path = pair->path.ptr,
                                     .old_path = pair->old_path.ptr,
                                     .before = pair->before.kind ? &sides[0] : NULL,
                                     .after = pair->after.kind ? &sides[1] : NULL};
    told.change = pair->copied         ? "copied"
                  : pair->old_path.len ? "renamed"
                  : !pair->before.kind ? "added"
                  : !pair->after.kind  ? "removed"
                                       : "changed";
    bool good =
        (!told.before ||
         files_tell(&arena, pair->path.ptr, &pair->before, &sides[0])) &&
        (!told.after || files_tell(&arena, pair->path.ptr, &pair->after, &sides[1]));
    if (told.before && told.old_path)
        sides[0].path = told.old_path;
    int rc = good ? 0 : error_nomem(d->error);
    if (!rc && d->options->patch &&
        (is_patched(&pair->before) || is_patched(&pair->after)))
        rc = make_patch(d, pair, &patch, &stat);
    if (!rc) {
        told.patch = patch.data;
        told.patch_bytes = patch.size;
        told.lines_added = stat.added;
        told.lines_removed = stat.removed;
        told.binary = stat.is_binary;
        told.large = stat.is_binary && (pair->before.kind == TREE_CHUNKED ||
                                        pair->after.kind == TREE_CHUNKED);
        rc = d->each(d->context, &told) ? 1 : 0;
    }
    buf_release(&patch);
    arena_release(&arena);
    return rc;
}

/* Of the paths that are wanted; a rename counts under both its names. */
static bool is_wanted(struct diffing *d, const struct pair *pair)
{
    bool is_dir =
        pair->before.kind == TREE_DIRECTORY || pair->after.kind == TREE_DIRECTORY;
    if (!d->options->n_paths)
        return true;
    bool wanted = paths_match(&d->paths, pair->path, is_dir);
    if (pair->old_path.len && !pair->copied)
        wanted |= paths_match(&d->paths, pair->old_path, false);
    return wanted;
}

static int compare_trees(struct diffing *d, const struct digest *from,
                         const struct digest *to)
{
    int rc = snapshot_compare(d->store, from, to, false, note_pair, d, d->error);
    if (!rc)
        rc = find_renames(d);
    if (!rc)
        rc = find_copies(d, from);
    if (!rc && d->options->patch)
        rc = find_barred(d);
    for (size_t i = 0; i < d->n && !rc; i++)
        if (!d->pairs[i].gone && is_wanted(d, &d->pairs[i]))
            rc = tell_pair(d, &d->pairs[i]);
    return rc < 0 ? rc : 0;
}

/* ---- Both sides ---- */

static int compare_with_now(struct diffing *d, const char *session,
                            const struct digest *from)
{
    struct files_taken files = {.looking = true};
    if (store_read_only(d->store))
        return error_set(d->error, CAIRN_EUSAGE,
                         "comparing with the files as they are needs a store that can "
                         "be written");
    int rc = files_take(&files, d->store, session, d->error);
    if (!rc && !files.tracked)
        rc = error_set(d->error, CAIRN_ENOTFOUND,
                       "the session holds no files: `cairn session config files DIR` "
                       "has its checkpoints hold those below DIR");
    if (!rc)
        rc = compare_trees(d, from, &files.snapshot.root);
    /* Nothing refers to what was taken. */
    return files_end(&files, rc, d->store, d->error);
}

static int compare_sides(struct diffing *d, const char *session, const char *from,
                         const char *to)
{
    struct files_reading sides[2];
    int rc = files_open(&sides[0], d->store, from, d->error);
    struct digest first = sides[0].head.root;
    rc = files_close(&sides[0], rc);
    if (rc || !to)
        return rc ? rc : compare_with_now(d, session, &first);
    rc = files_open(&sides[1], d->store, to, d->error);
    if (!rc)
        rc = compare_trees(d, &first, &sides[1].head.root);
    return files_close(&sides[1], rc);
}

static int take_paths(struct diffing *d)
{
    const struct cairn_files_diff *options = d->options;
    struct str *texts = arena_take(&d->arena, options->n_paths, sizeof *texts);
    if (!texts)
        return error_nomem(d->error);
    for (size_t i = 0; i < options->n_paths; i++)
        texts[i] = str_of(options->paths[i]);
    return paths_open(&d->paths, texts, options->n_paths, d->error);
}

int cairn_files_compare(struct cairn_store *store, const char *session,
                        const char *from, const char *to,
                        const struct cairn_files_diff *options,
                        int (*each)(void *, const struct cairn_file_change *),
                        void *context, struct cairn_error *error)
{
    SIZE_CHECK("cairn_files_diff", options, error);
    static const struct cairn_files_diff none;
    struct diffing d = {.store = store,
                        .options = options ? options : &none,
                        .each = each,
                        .context = context,
                        .error = error};
    int rc = d.options->n_paths ? take_paths(&d) : 0;
    if (!rc)
        rc = compare_sides(&d, session, from, to);
    if (d.options->n_paths)
        paths_close(&d.paths);
    free(d.pairs);
    arena_release(&d.arena);
    return rc;
}
