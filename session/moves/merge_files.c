/* SPDX-License-Identifier: MIT */
/* The files of two branches that were merged: what the merge has left as it was. */
#include "session/moves/moves_int.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

struct merged_files {
    struct live live;
    struct digest roots[3]; /* trees: where they were the same, ours, theirs */
    bool has[3];
    struct buf paths; /* each with what it is in front, and a NUL */
    struct cairn_error *error;
};

static int read_root(struct merged_files *f, const char *id, int side)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct snapshot_head head;
    uint64_t seq;
    int rc = debug_seq(f->live.store, id, &seq, f->error);
    if (!rc)
        rc = sections_read(f->live.store, f->live.sha, seq, &arena, &sections, NULL,
                           f->error);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    if (files)
        rc = snapshot_read(f->live.store, &files->digest, &arena, &head, f->error);
    f->has[side] = files && !rc;
    if (f->has[side])
        f->roots[side] = head.root;
    arena_release(&arena);
    return rc;
}

static bool is_file(const struct tree_entry *entry)
{
    return entry && (tree_is_file(entry) || entry->kind == TREE_LINK);
}

static bool same_content(const struct tree_entry *a, const struct tree_entry *b)
{
    if (!a || !b || a->kind != b->kind)
        return a == b;
    if (tree_is_file(a))
        return a->mode == b->mode && digest_equal(&a->digest, &b->digest);
    return a->kind != TREE_LINK || str_equal(a->target, b->target);
}

static int see_difference(void *context, struct str path, const struct tree_entry *ours,
                          const struct tree_entry *theirs)
{
    struct merged_files *f = context;
    struct arena arena = ARENA_INIT;
    struct tree_entry entry;
    if (!is_file(ours) && !is_file(theirs))
        return 0;
    int there = f->has[0] ? snapshot_find(f->live.store, &f->roots[0], path, &arena,
                                          &entry, f->error)
                          : 0;
    const struct tree_entry *base = there > 0 ? &entry : NULL;
    if (there >= 0 && !same_content(base, theirs)) {
        buf_byte(&f->paths, same_content(base, ours) ? '-' : '+');
        buf_str(&f->paths, path);
        buf_byte(&f->paths, '\0');
    }
    arena_release(&arena);
    return there < 0 ? there : buf_check(&f->paths, f->error);
}

static int compare(struct merged_files *f, const struct cairn_merged *merged)
{
    const char *const ids[] = {merged->base, merged->ours, merged->theirs};
    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++)
        rc = read_root(f, ids[i], i);
    if (rc || !f->has[1] || !f->has[2])
        return rc;
    return snapshot_compare(f->live.store, &f->roots[1], &f->roots[2], false,
                            see_difference, f, f->error);
}

int cairn_branch_merged_files(struct cairn_store *store,
                              const struct cairn_merged *merged,
                              int (*each)(void *, const char *path, bool both),
                              void *context, struct cairn_error *error)
{
    struct merged_files f = {.error = error};
    int rc = live_begin(&f.live, store, false, error);
    if (!rc)
        rc = compare(&f, merged);
    rc = live_close(&f.live, rc, error);
    for (size_t at = 0; at < f.paths.size && !rc; at += strlen(f.paths.data + at) + 1)
        rc = each(context, f.paths.data + at + 1, f.paths.data[at] == '+');
    buf_release(&f.paths);
    return rc;
}
