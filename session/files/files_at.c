/* SPDX-License-Identifier: MIT */
/* The files of one checkpoint: listed, as an archive, and compared with another. */
#include "session/files/files_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "checkpoint/nodes/nodes.h"
#include "snapshot/diff.h"
#include "snapshot/ignore.h"
#include "snapshot/tar.h"
#include "snapshot/unpack.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Lists and contents ==== */

/* The files of a checkpoint, for people and programs. */

static int find_snapshot(struct files_reading *r, const char *id)
{
    struct sections sections;
    struct sections_at at = {.time_ns = 0};
    uint64_t seq = 0;
    char number[CAIRN_ID_MAX];
    int rc = debug_seq(r->live.store, id, &seq, r->error)
                 ?: sections_read(r->live.store, r->live.sha, seq, &r->arena, &sections,
                                  &at, r->error);
    r->time_ns = at.time_ns;
    if (rc)
        return rc;
    const struct section_ref *files = files_section(&sections);
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    if (!files)
        return error_set(r->error, CAIRN_ENOTFOUND,
                         "checkpoint %s holds no files: `cairn session config files "
                         "DIR` has later ones hold those below DIR",
                         number);
    return snapshot_read(r->live.store, &files->digest, &r->arena, &r->head, r->error);
}

static int files_open(struct files_reading *r, struct cairn_store *store,
                      const char *id, struct cairn_error *error)
{
    *r = (struct files_reading){.arena = ARENA_INIT, .error = error};
    return live_begin(&r->live, store, false, error) ?: find_snapshot(r, id);
}

static int files_close(struct files_reading *r, int rc)
{
    arena_release(&r->arena);
    return live_close(&r->live, rc, r->error);
}

static struct cairn_files_summary files_summary(const struct files_reading *r)
{
    const struct snapshot_counts *counts = &r->head.counts;
    return (struct cairn_files_summary){.files = counts->files,
                                        .directories = counts->directories,
                                        .links = counts->links,
                                        .left_out = counts->left_out,
                                        .bytes = counts->bytes};
}

struct telling {
    int (*each)(void *, const struct cairn_file *);
    void *context;
    struct arena arena; /* of the target of one link */
};

/* ---- All of them ---- */

static const char *kind_name(const struct tree_entry *entry)
{
    return entry->kind == TREE_DIRECTORY  ? "directory"
           : entry->kind == TREE_LINK     ? "link"
           : entry->kind == TREE_LEFT_OUT ? "left out"
                                          : "file";
}

bool files_tell(struct arena *arena, const char *path, const struct tree_entry *entry,
                struct cairn_file *out)
{
    *out = (struct cairn_file){.path = path,
                               .kind = kind_name(entry),
                               .mode = entry->mode,
                               .size = entry->size,
                               .time_ns = entry->mtime_ns};
    if (entry->kind == TREE_LEFT_OUT)
        out->why = tree_left_out_text(entry->why);
    if (entry->kind == TREE_LINK)
        out->target = arena_text(arena, entry->target);
    return entry->kind != TREE_LINK || out->target;
}

static int tell_entry(void *context, struct str path, const struct tree_entry *entry)
{
    struct telling *t = context;
    struct cairn_file file;
    if (!files_tell(&t->arena, path.ptr, entry, &file))
        return CAIRN_ENOMEM;
    int stop = t->each(t->context, &file);
    arena_release(&t->arena);
    return stop ? 1 : 0;
}

int cairn_files_list(struct cairn_store *store, const char *id,
                     int (*each)(void *, const struct cairn_file *), void *context,
                     struct cairn_files_summary *summary, struct cairn_error *error)
{
    struct files_reading r;
    struct telling t = {each, context, ARENA_INIT};
    int rc = files_open(&r, store, id, error);
    if (!rc && summary)
        *summary = files_summary(&r);
    if (!rc && each)
        rc = snapshot_each(store, &r.head.root, tell_entry, &t, error);
    arena_release(&t.arena);
    if (rc == CAIRN_ENOMEM)
        error_nomem(error);
    return files_close(&r, rc < 0 ? rc : 0);
}

int cairn_files_unpack(struct cairn_store *store, const char *id, const char *directory,
                       struct cairn_files_summary *summary, struct cairn_error *error)
{
    struct files_reading r;
    int rc = files_open(&r, store, id, error)
                 ?: unpack_scratch(store, directory, &r.head.root, error);
    if (!rc && summary)
        *summary = files_summary(&r);
    return files_close(&r, rc);
}

/* ---- One of them ---- */

struct giving {
    int (*part)(void *, const char *, size_t);
    void *context;
};

static int give_part(void *context, struct str part)
{
    struct giving *g = context;
    return part.len && g->part(g->context, part.ptr, part.len) ? 1 : 0;
}

static int read_path(struct files_reading *r, const char *path, struct giving *giving)
{
    struct tree_entry entry;
    int rc = snapshot_find(r->live.store, &r->head.root, str_of(path), &r->arena,
                           &entry, r->error);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return error_set(
            r->error, CAIRN_ENOTFOUND,
            "there is no %.200s in it: `cairn checkpoint files` shows what "
            "there is",
            path);
    if (entry.kind == TREE_LINK)
        return error_set(r->error, CAIRN_EUSAGE, "%.200s is a link to %.*s", path,
                         (int)entry.target.len, entry.target.ptr);
    if (entry.kind == TREE_LEFT_OUT)
        return error_set(r->error, CAIRN_EUSAGE, "%.200s is not in it: it %s", path,
                         tree_left_out_text(entry.why));
    if (!tree_is_file(&entry))
        return error_set(r->error, CAIRN_EUSAGE, "%.200s is a directory", path);
    return snapshot_content(r->live.store, &entry, give_part, giving, r->error);
}

int cairn_files_read(struct cairn_store *store, const char *id, const char *path,
                     int (*part)(void *, const char *bytes, size_t n), void *context,
                     struct cairn_error *error)
{
    struct files_reading r;
    struct giving giving = {part, context};
    int rc = files_open(&r, store, id, error) ?: read_path(&r, path, &giving);
    return files_close(&r, rc < 0 ? rc : 0);
}

/* ==== An archive ==== */

/* The files of a checkpoint as an archive. */

struct writing {
    struct files_reading r;
    int (*write)(void *, const char *, size_t);
    void *context;
    struct buf header;
};

static int give(struct writing *w, struct str bytes)
{
    return bytes.len && w->write(w->context, bytes.ptr, bytes.len) ? 1 : 0;
}

static int write_part(void *context, struct str part)
{
    return give(context, part);
}

static int give_zeros(struct writing *w, size_t n)
{
    static const char zeros[TAR_END];
    return give(w, (struct str){zeros, n});
}

static int write_entry(void *context, struct str path, const struct tree_entry *entry)
{
    struct writing *w = context;
    struct tar_entry tar = {.path = path,
                            .mode = entry->mode,
                            .mtime_ns = entry->mtime_ns,
                            .kind = TAR_FILE};
    if (entry->kind == TREE_LEFT_OUT)
        return 0;
    if (entry->kind == TREE_DIRECTORY) {
        tar.kind = TAR_DIRECTORY;
    } else if (entry->kind == TREE_LINK) {
        tar.kind = TAR_LINK;
        tar.target = entry->target;
        tar.mode = 0777;
        tar.mtime_ns = w->r.time_ns;
    } else {
        tar.size = entry->size;
    }
    buf_clear(&w->header);
    tar_header(&w->header, &tar);
    int rc = buf_check(&w->header, w->r.error) ?: give(w, buf_view(&w->header));
    if (rc || tar.kind != TAR_FILE)
        return rc;
    rc = snapshot_content(w->r.live.store, entry, write_part, w, w->r.error);
    if (rc == CAIRN_EDAMAGED)
        error_context(w->r.error, "%.200s", path.ptr);
    return rc ?: give_zeros(w, tar_padding(entry->size));
}

int cairn_files_tar(struct cairn_store *store, const char *id,
                    int (*write)(void *, const char *bytes, size_t n), void *context,
                    struct cairn_files_summary *summary, struct cairn_error *error)
{
    struct writing w = {.write = write, .context = context};
    int rc = files_open(&w.r, store, id, error);
    if (!rc && summary)
        *summary = files_summary(&w.r);
    if (!rc)
        rc = snapshot_each(store, &w.r.head.root, write_entry, &w, error)
                 ?: give_zeros(&w, TAR_END);
    buf_release(&w.header);
    return files_close(&w.r, rc < 0 ? rc : 0);
}

/* ==== What differs ==== */

/* What differs between the files of two states, with patches. */

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
                                  .before = tree_entry_copy(&d->arena, before),
                                  .after = tree_entry_copy(&d->arena, after)};
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
    c->sources[at].before = tree_entry_copy(&c->d->arena, entry);
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
 * damaged in it has no part in the difference: a copy of it counts as added. */
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
    int rc = snapshot_compare(d->store, from, to, false, note_pair, d, d->error)
             ?: find_renames(d)
             ?: find_copies(d, from);
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
    rc = files_open(&sides[1], d->store, to, d->error)
             ?: compare_trees(d, &first, &sides[1].head.root);
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
    STRUCT_TAKE(cairn_files_diff, options, error);
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

/* ==== Where damaged content is ==== */

/* A directory that is to be looked at. */
struct damaged_place {
    struct str path; /* in the arena, with a NUL */
    struct digest tree;
};

struct wanted_object {
    const char *hex;
    bool found;
};

struct damage_search {
    struct cairn_store *store;
    struct arena keys; /* of the map */
    struct map wanted; /* digests; values are indexes of: */
    struct wanted_object *objects;
    size_t left;
    struct node_set seen;
    uint64_t *seqs; /* of all checkpoints */
    size_t n_seqs, seq_room;
    struct sha256 *sha;
    struct arena arena; /* of one checkpoint, from here on */
    struct damaged_place *places;
    size_t n, room;
    char id[CAIRN_ID_MAX];
    int (*each)(void *, const struct cairn_damaged_file *);
    void *context;
    struct cairn_error *error;
};

static int want_objects(struct damage_search *s, const char *const *objects, size_t n)
{
    s->objects = calloc(n + 1, sizeof *s->objects);
    if (!s->objects)
        return error_nomem(s->error);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[DIGEST_SIZE];
        s->objects[i].hex = objects[i];
        if (strlen(objects[i]) != 2 * sizeof bytes ||
            !bytes_of_hex(str_of(objects[i]), bytes))
            continue;
        struct str key = arena_str(&s->keys, (struct str){(char *)bytes, sizeof bytes});
        if (s->keys.failed)
            return error_nomem(s->error);
        uint32_t twice;
        int added = map_add(&s->wanted, key, (uint32_t)i, &twice);
        if (added < 0)
            return error_nomem(s->error);
        s->left += added > 0;
    }
    return 0;
}

/* 1: nothing is left, or the callback wants no more. */
static int meet_object(struct damage_search *s, const struct digest *digest,
                       const char *path)
{
    uint32_t at = map_get(&s->wanted, digest_view(digest));
    if (at == MAP_NONE || s->objects[at].found)
        return 0;
    struct cairn_damaged_file file = {.object = s->objects[at].hex, .path = path};
    snprintf(file.id, sizeof file.id, "%s", s->id);
    s->objects[at].found = true;
    s->left--;
    return s->each(s->context, &file) != 0 || !s->left;
}

/* What is damaged or missing is met by its name alone. */
static int pass_damage(const struct damage_search *s, int rc,
                       const struct cairn_error *why)
{
    return !rc || rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND
               ? 0
               : error_set(s->error, rc, "%s", why->text);
}

static int meet_chunks(struct damage_search *s, const struct tree_entry *entry,
                       const char *path)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list list = {.n = 0};
    struct cairn_error why = {0};
    int rc = snapshot_read_chunks(s->store, &entry->digest, &arena, &list, &why);
    size_t n = rc ? 0 : list.n;
    rc = pass_damage(s, rc, &why);
    for (size_t i = 0; i < n && !rc; i++) {
        struct digest digest = node_digest(list.digests, i);
        rc = meet_object(s, &digest, path);
    }
    arena_release(&arena);
    return rc;
}

static int add_place(struct damage_search *s, struct str path,
                     const struct digest *tree)
{
    struct damaged_place *places =
        array_room(s->places, s->n, &s->room, sizeof *places);
    if (!places)
        return error_nomem(s->error);
    s->places = places;
    places[s->n++] = (struct damaged_place){path, *tree};
    return 0;
}

static int meet_entry(struct damage_search *s, struct str above,
                      const struct tree_entry *entry)
{
    bool node = entry->kind == TREE_DIRECTORY || entry->kind == TREE_CHUNKED;
    if (!node && entry->kind != TREE_FILE)
        return 0;
    struct buf text = BUF_INIT;
    if (above.len)
        buf_format(&text, "%.*s/", (int)above.len, above.ptr);
    buf_str(&text, entry->name);
    struct str path = arena_str(&s->arena, buf_view(&text));
    int rc = buf_check(&text, s->error);
    buf_release(&text);
    if (!rc && s->arena.failed)
        rc = error_nomem(s->error);
    if (!rc)
        rc = meet_object(s, &entry->digest, path.ptr);
    if (rc || !node)
        return rc;
    rc = node_set_add(&s->seen, &entry->digest, true, s->error);
    if (rc <= 0)
        return rc;
    return entry->kind == TREE_CHUNKED ? meet_chunks(s, entry, path.ptr)
                                       : add_place(s, path, &entry->digest);
}

static int meet_tree(struct damage_search *s, const struct damaged_place *place)
{
    struct arena arena = ARENA_INIT;
    struct tree tree = {.n = 0};
    struct cairn_error why = {0};
    int rc = snapshot_read_tree(s->store, &place->tree, &arena, &tree, &why);
    uint32_t n = rc ? 0 : tree.n;
    rc = pass_damage(s, rc, &why);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = meet_entry(s, place->path, &tree.entries[i]);
    arena_release(&arena);
    return rc;
}

static int meet_snapshot(struct damage_search *s, const struct digest *digest)
{
    struct snapshot_head head;
    struct cairn_error why = {0};
    int rc =
        meet_object(s, digest, "") ?: node_set_add(&s->seen, digest, true, s->error);
    if (rc <= 0)
        return rc;
    rc = snapshot_read(s->store, digest, &s->arena, &head, &why);
    if (rc)
        return pass_damage(s, rc, &why);
    rc = meet_object(s, &head.root, "")
             ?: node_set_add(&s->seen, &head.root, true, s->error);
    if (rc > 0)
        rc = add_place(s, STR(""), &head.root);
    while (!rc && s->n) {
        struct damaged_place place = s->places[--s->n];
        rc = meet_tree(s, &place);
    }
    return rc;
}

static int note_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct damage_search *s = context;
    uint64_t *seqs = array_room(s->seqs, s->n_seqs, &s->seq_room, sizeof *seqs);
    if (!seqs)
        return error_nomem(s->error);
    s->seqs = seqs;
    seqs[s->n_seqs++] = row->seq;
    return 0;
}

static int meet_checkpoint(struct damage_search *s, uint64_t seq)
{
    struct sections sections;
    struct sections_at at;
    struct cairn_error why = {0};
    int rc = sections_read(s->store, s->sha, seq, &s->arena, &sections, &at, &why);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    rc = pass_damage(s, rc, &why);
    if (!rc && files) {
        checkpoint_id(NAMESPACE_DEBUG, seq, &at.ref.digest, s->id);
        rc = meet_snapshot(s, &files->digest);
    }
    s->n = 0;
    arena_release(&s->arena);
    return rc;
}

int cairn_files_damaged(struct cairn_store *store, const char *const *objects, size_t n,
                        int (*each)(void *, const struct cairn_damaged_file *),
                        void *context, struct cairn_error *error)
{
    struct damage_search s = {.store = store,
                              .keys = ARENA_INIT,
                              .wanted = MAP_INIT,
                              .arena = ARENA_INIT,
                              .sha = sha256_new(),
                              .each = each,
                              .context = context,
                              .error = error};
    const struct checkpoint_range all = {.namespace_id = NAMESPACE_DEBUG};
    int rc = s.sha ? want_objects(&s, objects, n) : error_nomem(error);
    if (!rc && s.left) {
        rc = store_begin_read(store, error);
        if (!rc) {
            rc = store_each_checkpoint(store, &all, note_checkpoint, &s, error);
            for (size_t i = 0; i < s.n_seqs && !rc; i++)
                rc = meet_checkpoint(&s, s.seqs[i]);
            store_end_read(store);
        }
    }
    node_set_release(&s.seen);
    map_release(&s.wanted);
    arena_release(&s.arena);
    arena_release(&s.keys);
    sha256_free(s.sha);
    free(s.seqs);
    free(s.objects);
    free(s.places);
    return rc < 0 ? rc : 0;
}
