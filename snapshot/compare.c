/* SPDX-License-Identifier: MIT */
/* Two trees side by side. What they have in common is not read. */
#include "snapshot/snapshot.h"

#include <stdlib.h>

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
static int enter(struct comparing *c, const struct digest *before,
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

static void leave(struct comparing *c)
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
    rc = buf_check(&c->path, c->error);
    return rc ? rc
              : enter(c, is_directory(before) ? &before->digest : NULL,
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
        leave(c);
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
    int rc = enter(&c, before, after, 0);
    while (!rc && c.depth)
        rc = compare_next(&c);
    while (c.depth)
        leave(&c);
    buf_release(&c.path);
    free(c.pairs);
    return rc;
}
