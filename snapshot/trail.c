/* SPDX-License-Identifier: MIT */
#include "snapshot/trail.h"

#include "base/array.h"

#include <stdlib.h>

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
