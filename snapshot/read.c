/* SPDX-License-Identifier: MIT */
/* Snapshots out of the pool: read, checked, walked, looked into, and compared. */
#include "snapshot/snapshot.h"

#include "snapshot/content.h"
#include "snapshot/tree.h"

#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdlib.h>

#define SNAPSHOT_BYTES_MOST (UINT64_C(1) << 40) /* of all files */

/* ==== Objects ==== */

/* Snapshots out of the pool. */

/* CAIRN_EDAMAGED, since something refers to `what`, which is not there: whether it is a
 * known loss, and where to read on. */
static int snapshot_missing(struct cairn_store *store, const struct digest *digest,
                            const char *what, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    digest_hex(digest, hex);
    int rc = store_is_known_loss(store, hex, &known, error);
    if (rc)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     known ? "%s could not be saved by a repair: `cairn checkpoint "
                             "verify` names each checkpoint that lacks something, and "
                             "`cairn checkpoint cat ID FILE` prints a file that is left"
                           : "%s is missing: run `cairn doctor`",
                     what);
}

static int read_object(struct cairn_store *store, const struct digest *digest,
                       struct arena *arena, struct str *out, struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(store, digest, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = snapshot_missing(store, digest, "a part of the snapshot of files", error);
    *out = rc ? STR("") : arena_str(arena, buf_view(&content));
    buf_release(&content);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

int snapshot_read(struct cairn_store *store, const struct digest *digest,
                  struct arena *arena, struct snapshot_head *out,
                  struct cairn_error *error)
{
    struct str content;
    struct node node;
    int rc = read_object(store, digest, arena, &content, error)
                 ?: node_decode(content, &node, error);
    if (rc)
        return rc;
    struct reader in = reader_of(node.body.ptr, node.body.len);
    bool good = read_byte(&in) == 1;
    *out = (struct snapshot_head){.root_name = read_lstr(&in)};
    out->counts.files = read_varint(&in);
    out->counts.directories = read_varint(&in);
    out->counts.links = read_varint(&in);
    out->counts.left_out = read_varint(&in);
    out->counts.bytes = read_varint(&in);
    good = good && reader_done(&in) && node_count(node.nodes) == 1 && !node.leaves.len;
    if (!good)
        return error_set(error, CAIRN_EDAMAGED, "it is not a snapshot of files");
    out->root = node_digest(node.nodes, 0);
    return 0;
}

int snapshot_read_tree(struct cairn_store *store, const struct digest *digest,
                       struct arena *arena, struct tree *out, struct cairn_error *error)
{
    struct str content;
    return read_object(store, digest, arena, &content, error)
               ?: tree_decode(arena, content, out, error);
}

int snapshot_read_chunks(struct cairn_store *store, const struct digest *digest,
                         struct arena *arena, struct chunk_list *out,
                         struct cairn_error *error)
{
    struct str content;
    return read_object(store, digest, arena, &content, error)
               ?: chunk_list_decode(arena, content, out, error);
}

/* ==== Checking ==== */

/* Snapshots that come from outside, and what all of them have to keep to.
 *
 * A few directories that contain each other many times unfold to more paths than
 * anything can walk. So each directory is read once, what is below it is summed up, and
 * the sums are used again wherever it is found: the cost is that of what is stored. */

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

static int check_enter(struct checking *c, const struct digest *digest, size_t path)
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

static void check_leave(struct checking *c)
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
        return check_enter(c, &entry->digest, path);
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
    check_leave(c);
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
    int rc = check_enter(c, root, 0);
    while (!rc && c->depth) {
        struct level *level = &c->levels[c->depth - 1];
        rc = level->next < level->tree.n
                 ? check_entry(c, &level->tree.entries[level->next++])
                 : end_directory(c);
    }
    while (c->depth)
        check_leave(c);
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

/* ==== Looking ==== */

/* What is in a snapshot. */

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
        rc = snapshot_within(&l->sums, buf_view(&l->path), l->error)
                 ?: l->each(l->context, buf_view(&l->path), entry);
    if (!rc && entry->kind == TREE_DIRECTORY) {
        buf_byte(&l->path, '/');
        return buf_check(&l->path, l->error) ?: enter(l, &entry->digest, path);
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

static int get_content(struct cairn_store *store, const struct digest *digest,
                       struct buf *content, struct cairn_error *error)
{
    buf_clear(content);
    int rc = store_get_object(store, digest, content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = snapshot_missing(store, digest, "the content of a file", error);
    return rc;
}

int snapshot_chunk(struct cairn_store *store, const struct chunk_list *list, size_t i,
                   struct buf *content, struct cairn_error *error)
{
    struct digest chunk;
    assert(i < list->n);
    memcpy(chunk.bytes, list->digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
    int rc = get_content(store, &chunk, content, error);
    if (!rc && content->size != list->sizes[i])
        rc = error_set(error, CAIRN_EDAMAGED, "a chunk of a file is not its size");
    return rc;
}

static int give_object(struct cairn_store *store, const struct digest *digest,
                       struct buf *content, snapshot_part_fn *part, void *context,
                       struct cairn_error *error)
{
    return get_content(store, digest, content, error)
               ?: part(context, buf_view(content));
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
    for (size_t i = 0; !rc && i < list.n; i++)
        rc = snapshot_chunk(store, &list, i, content, error)
                 ?: part(context, buf_view(content));
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

/* ==== Comparing ==== */

/* Two trees side by side. What they have in common is not read. */

/* A directory of which at least one side is read. */
struct pair {
    struct arena arena;
    struct tree sides[2];
    uint32_t next[2];
    size_t path; /* length of the path above */
};

struct comparing {
    struct cairn_store *store;
    struct pair *pairs; /* [SNAPSHOT_DEPTH_MOST + 1] */
    uint32_t depth;
    struct buf path;
    struct snapshot_sums sums[2]; /* of what differs */
    bool times;
    snapshot_change_fn *each;
    void *context;
    struct cairn_error *error;
};

/* NULL: nothing on that side. */
static int compare_enter(struct comparing *c, const struct digest *before,
                         const struct digest *after, size_t path)
{
    const struct digest *digests[] = {before, after};
    if (c->depth > SNAPSHOT_DEPTH_MOST)
        return error_set(c->error, CAIRN_EDAMAGED,
                         "the snapshot has too many directories below each other");
    struct pair *pair = &c->pairs[c->depth++];
    *pair = (struct pair){.arena = ARENA_INIT, .path = path};
    int rc = 0;
    for (int side = 0; side < 2 && !rc; side++)
        if (digests[side])
            rc = snapshot_read_tree(c->store, digests[side], &pair->arena,
                                    &pair->sides[side], c->error);
    return rc;
}

static void compare_leave(struct comparing *c)
{
    struct pair *pair = &c->pairs[--c->depth];
    arena_release(&pair->arena);
    c->path.size = pair->path;
}

static bool is_directory(const struct tree_entry *entry)
{
    return entry && entry->kind == TREE_DIRECTORY;
}

static bool differ(const struct comparing *c, const struct tree_entry *before,
                   const struct tree_entry *after)
{
    if (!before || !after || !tree_same(before, after))
        return true;
    return c->times && before->mtime_ns != after->mtime_ns;
}

static int compare(struct comparing *c, struct str name,
                   const struct tree_entry *before, const struct tree_entry *after)
{
    size_t path = c->path.size;
    bool below = is_directory(before) || is_directory(after);
    if (is_directory(before) && is_directory(after))
        below = !digest_equal(&before->digest, &after->digest);
    if ((before && before->kind == TREE_LEFT_OUT) ||
        (after && after->kind == TREE_LEFT_OUT))
        below = false; /* nothing is known of what is in it */
    if (!differ(c, before, after))
        return 0;
    buf_str(&c->path, name);
    int rc = buf_check(&c->path, c->error);
    for (int side = 0; side < 2 && !rc; side++) {
        if (side ? after : before)
            snapshot_count(&c->sums[side], side ? after : before, c->path.size);
        rc = snapshot_within(&c->sums[side], buf_view(&c->path), c->error);
    }
    if (!rc)
        rc = c->each(c->context, buf_view(&c->path), before, after);
    if (rc || !below) {
        c->path.size = path;
        return rc;
    }
    buf_byte(&c->path, '/');
    return buf_check(&c->path, c->error)
               ?: compare_enter(c, is_directory(before) ? &before->digest : NULL,
                                is_directory(after) ? &after->digest : NULL, path);
}

/* The next name of either side. */
static int compare_next(struct comparing *c)
{
    struct pair *pair = &c->pairs[c->depth - 1];
    const struct tree_entry *at[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++)
        if (pair->next[side] < pair->sides[side].n)
            at[side] = &pair->sides[side].entries[pair->next[side]];
    if (!at[0] && !at[1]) {
        compare_leave(c);
        return 0;
    }
    int order = !at[0] ? 1 : !at[1] ? -1 : str_compare(at[0]->name, at[1]->name);
    pair->next[0] += order <= 0;
    pair->next[1] += order >= 0;
    return compare(c, order <= 0 ? at[0]->name : at[1]->name, order <= 0 ? at[0] : NULL,
                   order >= 0 ? at[1] : NULL);
}

int snapshot_compare(struct cairn_store *store, const struct digest *before,
                     const struct digest *after, bool times, snapshot_change_fn *each,
                     void *context, struct cairn_error *error)
{
    struct comparing c = {.store = store,
                          .times = times,
                          .each = each,
                          .context = context,
                          .error = error};
    if (before && digest_equal(before, after))
        return 0;
    c.pairs = calloc(SNAPSHOT_DEPTH_MOST + 1, sizeof *c.pairs);
    if (!c.pairs)
        return error_nomem(error);
    int rc = compare_enter(&c, before, after, 0);
    while (!rc && c.depth)
        rc = compare_next(&c);
    while (c.depth)
        compare_leave(&c);
    buf_release(&c.path);
    free(c.pairs);
    return rc;
}

/* ==== One path in many snapshots ==== */

struct trail trail_begin(struct str path)
{
    return (struct trail){.arena = ARENA_INIT, .path = path};
}

void trail_end(struct trail *trail)
{
    arena_release(&trail->arena);
    free(trail->trees);
}

/* Notes the directory at a depth; *known: it is the one that was there the last time.
 */
static int note_tree(struct trail *trail, size_t depth, const struct digest *tree,
                     bool *known, struct cairn_error *error)
{
    *known = depth < trail->n && digest_equal(&trail->trees[depth], tree);
    if (depth == trail->n) {
        struct digest *trees =
            array_room(trail->trees, trail->n, &trail->room, sizeof *trees);
        if (!trees)
            return error_nomem(error);
        trail->trees = trees;
        trail->n++;
    }
    trail->trees[depth] = *tree;
    return 0;
}

static int keep_found(struct trail *trail, const struct tree_entry *entry,
                      struct cairn_error *error)
{
    struct tree_entry *kept = arena_take(&trail->arena, 1, sizeof *kept);
    if (!kept)
        return error_nomem(error);
    *kept = *entry;
    kept->name = STR("");
    if (entry->kind == TREE_LINK)
        kept->target = arena_str(&trail->arena, entry->target);
    trail->found = kept;
    return trail->arena.failed ? error_nomem(error) : 0;
}

static struct str next_name(struct str *path)
{
    const char *slash = memchr(path->ptr, '/', path->len);
    size_t n = slash ? (size_t)(slash - path->ptr) : path->len;
    struct str name = {path->ptr, n};
    n += slash != NULL;
    *path = (struct str){path->ptr + n, path->len - n};
    return name;
}

/* From one directory on; *next: the directory that the rest is in. `rest` is empty at
 * the end. */
static int step_down(struct trail *trail, struct cairn_store *store, struct str *rest,
                     struct digest *next, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct tree tree;
    int rc = snapshot_read_tree(store, next, &arena, &tree, error);
    const struct tree_entry *entry = rc ? NULL : tree_find(&tree, next_name(rest));
    if (!rc && (!entry || (rest->len && entry->kind != TREE_DIRECTORY))) {
        trail->found = NULL;
        *rest = STR("");
    } else if (!rc && rest->len) {
        *next = entry->digest;
    } else if (!rc) {
        rc = keep_found(trail, entry, error);
    }
    arena_release(&arena);
    return rc;
}

int trail_look(struct trail *trail, struct cairn_store *store,
               const struct digest *root, const struct tree_entry **out,
               struct cairn_error *error)
{
    struct str rest = trail->path;
    struct digest next = *root;
    size_t depth = 0;
    int rc = 0;
    do {
        bool known;
        rc = note_tree(trail, depth++, &next, &known, error);
        if (rc || known)
            break;
        rc = step_down(trail, store, &rest, &next, error);
        if (!rc && !rest.len)
            trail->n = depth;
    } while (!rc && rest.len);
    if (rc)
        trail->n = 0;
    *out = rc ? NULL : trail->found;
    return rc;
}
