/* SPDX-License-Identifier: MIT */
/* The files of a checkpoint, for people and programs. */
#include "session/files/files_int.h"
#include "snapshot/unpack.h"

static int find_snapshot(struct files_reading *r, const char *id)
{
    struct sections sections;
    struct sections_at at = {.time_ns = 0};
    uint64_t seq = 0;
    char number[CAIRN_ID_MAX];
    int rc = debug_seq(r->live.store, id, &seq, r->error);
    if (!rc)
        rc = sections_read(r->live.store, r->live.sha, seq, &r->arena, &sections, &at,
                           r->error);
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

int files_open(struct files_reading *r, struct cairn_store *store, const char *id,
               struct cairn_error *error)
{
    *r = (struct files_reading){.arena = ARENA_INIT, .error = error};
    int rc = live_begin(&r->live, store, false, error);
    return rc ? rc : find_snapshot(r, id);
}

int files_close(struct files_reading *r, int rc)
{
    arena_release(&r->arena);
    return live_close(&r->live, rc, r->error);
}

struct cairn_files_summary files_summary(const struct files_reading *r)
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
    int rc = files_open(&r, store, id, error);
    if (!rc)
        rc = unpack_scratch(store, directory, &r.head.root, error);
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
    int rc = files_open(&r, store, id, error);
    if (!rc)
        rc = read_path(&r, path, &giving);
    return files_close(&r, rc < 0 ? rc : 0);
}
