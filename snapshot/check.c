/* SPDX-License-Identifier: MIT */
/* Snapshots that come from outside, and what all of them have to keep to.
 *
 * A few directories that contain each other many times unfold to more paths than
 * anything can walk. So each directory is read once, what is below it is summed up, and
 * the sums are used again wherever it is found: the cost is that of what is stored. */
#include "base/array.h"
#include "base/utf8.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"

#include <stdlib.h>

/* ---- Limits ---- */

int snapshot_within(const struct snapshot_sums *sums, struct str where,
                    struct cairn_error *error)
{
    where = where.len ? where : STR(".");
    int n = (int)utf8_fit(where, 300);
    if (snapshot_paths(&sums->counts) > SNAPSHOT_PATHS_MOST)
        return error_set(error, CAIRN_ELIMIT,
                         "more than %d files and directories, counted up to '%.*s'",
                         SNAPSHOT_PATHS_MOST, n, where.ptr);
    if (sums->path_bytes > SNAPSHOT_PATH_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT,
                         "more than %d bytes of paths, counted up to '%.*s'",
                         SNAPSHOT_PATH_BYTES_MOST, n, where.ptr);
    if (sums->counts.bytes > SNAPSHOT_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT,
                         "more than %llu bytes in all files, counted up to '%.*s'",
                         (unsigned long long)SNAPSHOT_BYTES_MOST, n, where.ptr);
    return 0;
}

void snapshot_count(struct snapshot_sums *sums, const struct tree_entry *entry,
                    size_t path)
{
    struct snapshot_counts *counts = &sums->counts;
    counts->files += tree_is_file(entry);
    counts->directories += entry->kind == TREE_DIRECTORY;
    counts->links += entry->kind == TREE_LINK;
    counts->left_out += entry->kind == TREE_LEFT_OUT;
    if (tree_is_file(entry) && counts->bytes <= SNAPSHOT_BYTES_MOST)
        counts->bytes +=
            entry->size <= SNAPSHOT_BYTES_MOST ? entry->size : SNAPSHOT_BYTES_MOST + 1;
    sums->path_bytes += path;
}

/* ---- A tree ---- */

struct level {
    struct arena arena; /* of the tree */
    struct tree tree;
    struct digest digest;
    struct snapshot_sums sums;
    uint32_t next;
    size_t path; /* length of the path above */
};
struct checking {
    struct cairn_store *store;
    struct snapshot_checked *checked;
    struct level *levels; /* [SNAPSHOT_DEPTH_MOST + 1] */
    uint32_t depth;
    struct buf path; /* of the entry that is looked at, or of the directory */
    struct cairn_error *error;
};

static int bad(struct checking *c, const char *what)
{
    return error_set(c->error, CAIRN_EDAMAGED, "'%.300s' %s",
                     c->path.size ? c->path.data : ".", what);
}

static int enter(struct checking *c, const struct digest *digest, size_t path)
{
    struct level *level = &c->levels[c->depth++];
    *level = (struct level){.arena = ARENA_INIT, .digest = *digest, .path = path};
    int rc =
        snapshot_read_tree(c->store, digest, &level->arena, &level->tree, c->error);
    if (rc == CAIRN_EDAMAGED)
        error_context(c->error, "the directory '%.300s'",
                      c->path.size ? c->path.data : ".");
    return rc;
}

static void leave(struct checking *c)
{
    struct level *level = &c->levels[--c->depth];
    arena_release(&level->arena);
    c->path.size = level->path;
}

/* All that is in a directory under another one. */
static void add_below(struct snapshot_sums *sums, size_t name,
                      const struct snapshot_sums *below)
{
    struct snapshot_counts *counts = &sums->counts;
    counts->files += below->counts.files;
    counts->directories += below->counts.directories;
    counts->links += below->counts.links;
    counts->left_out += below->counts.left_out;
    counts->bytes += below->counts.bytes;
    sums->path_bytes += below->path_bytes + snapshot_paths(&below->counts) * (name + 1);
    if (sums->height < below->height + 1)
        sums->height = below->height + 1;
}

static int check_object(struct checking *c, const struct digest *digest, uint64_t size)
{
    struct object_room room;
    char text[80], hex[DIGEST_HEX_SIZE];
    int rc = store_object_room(c->store, digest, &room, c->error);
    if (rc || (room.there && room.size == size))
        return rc;
    digest_hex(digest, hex);
    snprintf(text, sizeof text, "has other sizes than its content %.12s", hex);
    if (!room.there)
        snprintf(text, sizeof text, "needs the content %.12s, which is missing", hex);
    return bad(c, text);
}

static int check_chunks(struct checking *c, const struct tree_entry *file)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list list;
    int rc = snapshot_read_chunks(c->store, &file->digest, &arena, &list, c->error);
    if (rc == CAIRN_EDAMAGED)
        error_context(c->error, "'%.300s'", c->path.data);
    else if (!rc && list.size != file->size)
        rc = bad(c, "is not as large as its list of contents says");
    for (size_t i = 0; i < list.n && !rc; i++) {
        struct digest chunk;
        memcpy(chunk.bytes, list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        rc = check_object(c, &chunk, list.sizes[i]);
    }
    arena_release(&arena);
    return rc;
}

static const struct snapshot_sums *sums_of(const struct snapshot_checked *checked,
                                           const struct digest *digest)
{
    uint32_t at = map_get(&checked->trees, digest_view(digest));
    return at == MAP_NONE ? NULL : &checked->sums[at];
}

static int check_directory(struct checking *c, const struct tree_entry *entry,
                           size_t path)
{
    struct level *level = &c->levels[c->depth - 1];
    const struct snapshot_sums *known = sums_of(c->checked, &entry->digest);
    if (c->depth + (known ? known->height : 0) > SNAPSHOT_DEPTH_MOST)
        return bad(c, "lies below, or holds, too many directories");
    if (!known)
        return enter(c, &entry->digest, path);
    add_below(&level->sums, entry->name.len, known);
    c->path.size = path;
    return snapshot_within(&level->sums, buf_view(&c->path), c->error);
}

static int check_entry(struct checking *c, const struct tree_entry *entry)
{
    struct level *level = &c->levels[c->depth - 1];
    size_t path = c->path.size;
    if (path)
        buf_byte(&c->path, '/');
    buf_str(&c->path, entry->name);
    buf_byte(&c->path, 0);
    int rc = buf_check(&c->path, c->error);
    if (rc)
        return rc;
    c->path.size--; /* a NUL is behind it */
    snapshot_count(&level->sums, entry, entry->name.len);
    rc = snapshot_within(&level->sums, buf_view(&c->path), c->error);
    if (!rc && entry->kind == TREE_DIRECTORY)
        return check_directory(c, entry, path);
    if (!rc && entry->kind == TREE_CHUNKED)
        rc = check_chunks(c, entry);
    else if (!rc && entry->kind == TREE_FILE)
        rc = check_object(c, &entry->digest, entry->size);
    c->path.size = path;
    return rc;
}

static int keep_sums(struct checking *c, const struct level *level)
{
    struct snapshot_checked *checked = c->checked;
    struct str key = arena_str(&checked->keys, digest_view(&level->digest));
    struct snapshot_sums *sums =
        array_room(checked->sums, checked->n, &checked->room, sizeof *sums);
    if (!sums || !key.ptr ||
        map_add(&checked->trees, key, (uint32_t)checked->n, NULL) < 0)
        return error_nomem(c->error);
    checked->sums = sums;
    sums[checked->n++] = level->sums;
    return 0;
}

/* A directory is done: what is in it counts in the one above, too. */
static int end_directory(struct checking *c)
{
    struct level *level = &c->levels[c->depth - 1];
    struct snapshot_sums below = level->sums;
    int rc = keep_sums(c, level);
    leave(c);
    if (rc || !c->depth)
        return rc;
    struct level *above = level - 1;
    add_below(&above->sums, above->tree.entries[above->next - 1].name.len, &below);
    return snapshot_within(&above->sums, buf_view(&c->path), c->error);
}

static int check_tree(struct checking *c, const struct digest *root)
{
    if (sums_of(c->checked, root))
        return 0;
    int rc = enter(c, root, 0);
    while (!rc && c->depth) {
        struct level *level = &c->levels[c->depth - 1];
        rc = level->next < level->tree.n
                 ? check_entry(c, &level->tree.entries[level->next++])
                 : end_directory(c);
    }
    while (c->depth)
        leave(c);
    return rc;
}

int snapshot_check(struct cairn_store *store, const struct digest *snapshot,
                   struct snapshot_checked *checked, struct cairn_error *error)
{
    struct checking c = {.store = store, .checked = checked, .error = error};
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    c.levels = calloc(SNAPSHOT_DEPTH_MOST + 1, sizeof *c.levels);
    int rc = c.levels ? snapshot_read(store, snapshot, &arena, &head, error)
                      : error_nomem(error);
    if (!rc)
        rc = check_tree(&c, &head.root);
    if (!rc && memcmp(&sums_of(checked, &head.root)->counts, &head.counts,
                      sizeof head.counts) != 0)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the numbers of files and bytes are not those of its files");
    arena_release(&arena);
    buf_release(&c.path);
    free(c.levels);
    return rc;
}

void snapshot_checked_release(struct snapshot_checked *checked)
{
    map_release(&checked->trees);
    arena_release(&checked->keys);
    free(checked->sums);
}
