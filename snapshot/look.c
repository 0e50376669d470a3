/* SPDX-License-Identifier: MIT */
/* What is in a snapshot. */
#include "snapshot/snapshot.h"

#include "storage/object.h"

#include <assert.h>
#include <stdlib.h>

/* ---- All of it ---- */

struct place {
    struct arena arena; /* of the tree */
    struct tree tree;
    uint32_t next;
    size_t path; /* length of the path above */
};

struct looking {
    struct cairn_store *store;
    struct place *places; /* [SNAPSHOT_DEPTH_MOST + 1] */
    uint32_t depth;
    struct buf path;
    struct snapshot_sums sums;
    snapshot_entry_fn *each;
    void *context;
    struct cairn_error *error;
};

static int enter(struct looking *l, const struct digest *tree, size_t path)
{
    if (l->depth > SNAPSHOT_DEPTH_MOST)
        return error_set(l->error, CAIRN_EDAMAGED,
                         "the snapshot has too many directories below each other");
    struct place *place = &l->places[l->depth++];
    *place = (struct place){.arena = ARENA_INIT, .path = path};
    return snapshot_read_tree(l->store, tree, &place->arena, &place->tree, l->error);
}

static void leave(struct looking *l)
{
    struct place *place = &l->places[--l->depth];
    arena_release(&place->arena);
    l->path.size = place->path;
}

static int look_at(struct looking *l, const struct tree_entry *entry)
{
    size_t path = l->path.size;
    buf_str(&l->path, entry->name);
    int rc = buf_check(&l->path, l->error);
    snapshot_count(&l->sums, entry, l->path.size);
    if (!rc)
        rc = snapshot_within(&l->sums, buf_view(&l->path), l->error);
    if (!rc)
        rc = l->each(l->context, buf_view(&l->path), entry);
    if (!rc && entry->kind == TREE_DIRECTORY) {
        buf_byte(&l->path, '/');
        rc = buf_check(&l->path, l->error);
        return rc ? rc : enter(l, &entry->digest, path);
    }
    l->path.size = path;
    return rc;
}

int snapshot_each(struct cairn_store *store, const struct digest *root,
                  snapshot_entry_fn *each, void *context, struct cairn_error *error)
{
    struct looking l = {
        .store = store, .each = each, .context = context, .error = error};
    l.places = calloc(SNAPSHOT_DEPTH_MOST + 1, sizeof *l.places);
    if (!l.places)
        return error_nomem(error);
    int rc = enter(&l, root, 0);
    while (!rc && l.depth) {
        struct place *place = &l.places[l.depth - 1];
        if (place->next < place->tree.n)
            rc = look_at(&l, &place->tree.entries[place->next++]);
        else
            leave(&l);
    }
    while (l.depth)
        leave(&l);
    buf_release(&l.path);
    free(l.places);
    return rc;
}

/* ---- One entry ---- */

/* Takes the first name off the path. */
static struct str next_part(struct str *path)
{
    const char *slash = memchr(path->ptr, '/', path->len);
    size_t n = slash ? (size_t)(slash - path->ptr) : path->len;
    struct str part = {path->ptr, n};
    n += slash != NULL;
    *path = (struct str){path->ptr + n, path->len - n};
    return part;
}

int snapshot_find(struct cairn_store *store, const struct digest *root, struct str path,
                  struct arena *arena, struct tree_entry *out,
                  struct cairn_error *error)
{
    struct digest tree_digest = *root;
    const struct tree_entry *found = NULL;
    do {
        struct tree tree;
        int rc = snapshot_read_tree(store, &tree_digest, arena, &tree, error);
        if (rc)
            return rc;
        found = tree_find(&tree, next_part(&path));
        if (!found || (path.len && found->kind != TREE_DIRECTORY))
            return 0;
        tree_digest = found->digest;
    } while (path.len);
    *out = *found;
    return 1;
}

static int give_object(struct cairn_store *store, const struct digest *digest,
                       struct buf *content, snapshot_part_fn *part, void *context,
                       struct cairn_error *error)
{
    buf_clear(content);
    int rc = store_get_object(store, digest, content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = snapshot_missing(store, digest, "the content of a file", error);
    return rc ? rc : part(context, buf_view(content));
}

static int give_chunks(struct cairn_store *store, const struct tree_entry *file,
                       struct buf *content, snapshot_part_fn *part, void *context,
                       struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list list;
    int rc = snapshot_read_chunks(store, &file->digest, &arena, &list, error);
    if (!rc && list.size != file->size)
        rc = error_set(error, CAIRN_EDAMAGED, "the chunks of a file are not its size");
    for (size_t i = 0; !rc && i < list.n; i++) {
        struct digest chunk;
        memcpy(chunk.bytes, list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        rc = give_object(store, &chunk, content, part, context, error);
        if (!rc && content->size != list.sizes[i])
            rc = error_set(error, CAIRN_EDAMAGED, "a chunk of a file is not its size");
    }
    arena_release(&arena);
    return rc;
}

int snapshot_content(struct cairn_store *store, const struct tree_entry *file,
                     snapshot_part_fn *part, void *context, struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    assert(tree_is_file(file));
    int rc = file->kind == TREE_CHUNKED
                 ? give_chunks(store, file, &content, part, context, error)
                 : give_object(store, &file->digest, &content, part, context, error);
    if (!rc && file->kind == TREE_FILE && content.size != file->size)
        rc = error_set(error, CAIRN_EDAMAGED, "the content of a file is not its size");
    buf_release(&content);
    return rc;
}
