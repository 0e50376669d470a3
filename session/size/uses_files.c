/* SPDX-License-Identifier: MIT */
/* What snapshots of files refer to. A directory that was followed for a user is not
 * read again, so that checkpoints which have most of their files in common cost what
 * differs. */
#include "session/size/size_int.h"

#include "base/array.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

struct directory {
    struct digest digest;
    struct str path; /* with a slash behind it, or empty */
};
struct following {
    struct uses *uses;
    uint32_t user;
    struct path_uses *paths;
    struct directory *waiting;
    size_t n, room;
    struct arena arena; /* of their paths */
};

void path_uses_release(struct path_uses *paths)
{
    map_release(&paths->map);
    arena_release(&paths->keys);
    free(paths->at);
}

/* ---- Paths ---- */

/* Index, or MAP_NONE: out of memory. */
static uint32_t find_path(struct path_uses *paths, struct str path)
{
    uint32_t at = map_get(&paths->map, path);
    if (at != MAP_NONE)
        return at;
    struct path_use *all = array_room(paths->at, paths->n, &paths->room, sizeof *all);
    if (!all)
        return MAP_NONE;
    paths->at = all;
    at = (uint32_t)paths->n;
    all[at] = (struct path_use){.path = arena_str(&paths->keys, path)};
    if (!all[at].path.ptr || map_add(&paths->map, all[at].path, at, NULL) < 0)
        return MAP_NONE;
    paths->n++;
    return at;
}

static int note_content(struct following *f, struct str above,
                        const struct tree_entry *entry, bool fresh, uint64_t stored)
{
    struct buf name = BUF_INIT;
    if (!f->paths || (!fresh && !stored))
        return 0;
    buf_str(&name, above);
    buf_str(&name, entry->name);
    uint32_t at = name.failed ? MAP_NONE : find_path(f->paths, buf_view(&name));
    buf_release(&name);
    if (at == MAP_NONE)
        return error_nomem(f->uses->error);
    struct path_use *path = &f->paths->at[at];
    path->contents += fresh;
    path->logical += fresh ? entry->size : 0;
    path->stored += stored;
    return 0;
}

/* ---- Entries ---- */

/* What cannot be read is counted, and what it refers to is not. */
static int pass_damage(struct following *f, int rc, const struct cairn_error *why)
{
    if (rc != CAIRN_EDAMAGED)
        return error_set(f->uses->error, rc, "%s", why->text);
    f->uses->damaged++;
    return 0;
}

static int add_chunks(struct following *f, const struct digest *list, uint64_t *stored)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list chunks = {.n = 0};
    struct cairn_error why = {0};
    int rc = snapshot_read_chunks(f->uses->store, list, &arena, &chunks, &why);
    if (rc) {
        rc = pass_damage(f, rc, &why);
        chunks.n = 0;
    }
    for (size_t i = 0; i < chunks.n && !rc; i++) {
        struct digest chunk;
        struct use_found found;
        memcpy(chunk.bytes, chunks.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        rc = uses_add(f->uses, &chunk, false, f->user, USE_FILES, &found);
        *stored += rc ? 0 : found.stored;
    }
    arena_release(&arena);
    return rc;
}

static int push(struct following *f, const struct digest *digest, struct str above,
                struct str name)
{
    struct directory *waiting =
        array_room(f->waiting, f->n, &f->room, sizeof *f->waiting);
    struct buf path = BUF_INIT;
    if (!waiting)
        return error_nomem(f->uses->error);
    f->waiting = waiting;
    buf_str(&path, above);
    buf_str(&path, name);
    if (path.size)
        buf_byte(&path, '/');
    waiting[f->n++] =
        (struct directory){*digest, arena_str(&f->arena, buf_view(&path))};
    int rc = buf_check(&path, f->uses->error);
    buf_release(&path);
    return rc || !f->arena.failed ? rc : error_nomem(f->uses->error);
}

static int add_entry(struct following *f, struct str above,
                     const struct tree_entry *entry)
{
    struct use_found found;
    bool is_directory = entry->kind == TREE_DIRECTORY;
    if (!is_directory && !tree_is_file(entry))
        return 0;
    int rc = uses_add(f->uses, &entry->digest, entry->kind != TREE_FILE, f->user,
                      USE_FILES, &found);
    if (!rc && is_directory)
        return found.follow ? push(f, &entry->digest, above, entry->name) : 0;
    if (!rc && found.follow)
        rc = add_chunks(f, &entry->digest, &found.stored);
    return rc ? rc : note_content(f, above, entry, found.fresh, found.stored);
}

static int add_directory(struct following *f, const struct directory *directory)
{
    struct arena arena = ARENA_INIT;
    struct tree tree = {.n = 0};
    struct cairn_error why = {0};
    int rc =
        snapshot_read_tree(f->uses->store, &directory->digest, &arena, &tree, &why);
    if (rc) {
        rc = pass_damage(f, rc, &why);
        tree.n = 0;
    }
    for (uint32_t i = 0; i < tree.n && !rc; i++)
        rc = add_entry(f, directory->path, &tree.entries[i]);
    arena_release(&arena);
    return rc;
}

static int add_root(struct following *f, const struct digest *root)
{
    struct use_found found;
    int rc = uses_add(f->uses, root, true, f->user, USE_FILES, &found);
    return rc || !found.follow ? rc : push(f, root, STR(""), STR(""));
}

int uses_add_files(struct uses *uses, const struct digest *snapshot, uint32_t user,
                   struct path_uses *paths, uint64_t *logical)
{
    struct following f = {.uses = uses, .user = user, .paths = paths};
    struct snapshot_head head = {.counts = {0}};
    struct use_found found;
    struct cairn_error why = {0};
    int rc = uses_add(uses, snapshot, true, user, USE_FILES, &found);
    int bad = rc ? rc : snapshot_read(uses->store, snapshot, &f.arena, &head, &why);
    if (!rc && bad)
        rc = pass_damage(&f, bad, &why);
    if (!bad && found.follow)
        rc = add_root(&f, &head.root);
    while (!rc && f.n) {
        struct directory next = f.waiting[--f.n];
        rc = add_directory(&f, &next);
    }
    *logical = head.counts.bytes;
    arena_release(&f.arena);
    free(f.waiting);
    return rc;
}
