/* SPDX-License-Identifier: MIT */
/* What a restore is to do: what differs between two trees, of the paths that count. */
#include "snapshot/restore_int.h"
#include "snapshot/restore_rules.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdlib.h>

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

/* What the rules of the other state ignore was not looked at then: that it is not there
 * says nothing, and it stays. */
struct finding {
    struct restore *restore;
    struct tree_rules rules; /* of what is put into place */
    struct paths *only;      /* NULL: all paths */
    /* Directories that are not of these, one below the other, up to the present path:
     * they are made if something that is comes into them, or, where they are there and
     * cannot be written to, made writable for as long as it takes. */
    struct restore_change *above;
    size_t n_above, room;
};

static int add_change(struct finding *f, const struct restore_change *change)
{
    struct restore *r = f->restore;
    struct restore_change *changes =
        array_room(r->changes, r->n, &r->room, sizeof *changes);
    if (!changes)
        return error_nomem(r->error);
    r->changes = changes;
    changes[r->n++] = *change;
    return 0;
}

static bool lies_in(struct str path, struct str dir)
{
    return path.len > dir.len && path.ptr[dir.len] == '/' &&
           memcmp(path.ptr, dir.ptr, dir.len) == 0;
}

static int keep_above(struct finding *f, const struct restore_change *change)
{
    struct restore_change *above =
        array_room(f->above, f->n_above, &f->room, sizeof *above);
    if (!above)
        return error_nomem(f->restore->error);
    f->above = above;
    above[f->n_above++] = *change;
    return 0;
}

/* The directories that the path needs come before it. */
static int add_above(struct finding *f, struct str path)
{
    int rc = 0;
    for (size_t i = 0; i < f->n_above && !rc; i++) {
        const struct restore_change *above = &f->above[i];
        bool stands = !above->before.kind || above->before.kind == TREE_DIRECTORY;
        rc = !stands
                 ? error_set(f->restore->error, CAIRN_EUSAGE,
                             "%.300s lies in %.300s, which is no directory now: name "
                             "that, too; nothing was changed",
                             path.ptr, above->path.ptr)
                 : add_change(f, above);
    }
    f->n_above = 0;
    return rc;
}

static bool is_only_of(struct finding *f, const struct restore_change *change)
{
    bool was_dir = change->before.kind == TREE_DIRECTORY,
         is_dir = change->after.kind == TREE_DIRECTORY;
    if (!f->only || paths_match(f->only, change->path, was_dir || is_dir))
        return true;
    return was_dir != is_dir && paths_match(f->only, change->path, false);
}

static int take_change(struct finding *f, const struct restore_change *change)
{
    bool made =
        change->after.kind == TREE_DIRECTORY && change->before.kind != TREE_DIRECTORY;
    struct restore_change same = {
        .path = change->path, .before = change->before, .after = change->before};
    while (f->n_above && !lies_in(change->path, f->above[f->n_above - 1].path))
        f->n_above--;
    if (!is_only_of(f, change))
        return made                              ? keep_above(f, change)
               : tree_is_locked(&change->before) ? keep_above(f, &same)
                                                 : 0;
    int rc = add_above(f, change->path);
    return rc ? rc : add_change(f, change);
}

static int note_change(void *context, struct str path, const struct tree_entry *before,
                       const struct tree_entry *after)
{
    struct finding *f = context;
    struct restore *r = f->restore;
    if (before && !after) {
        int rc = tree_rules_ignore(&f->rules, path, before->kind == TREE_DIRECTORY);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    struct restore_change change = {.path = arena_str(&r->arena, path),
                                    .before = copy_entry(&r->arena, before),
                                    .after = copy_entry(&r->arena, after)};
    return r->arena.failed ? error_nomem(r->error) : take_change(f, &change);
}

static int see_path(void *context, struct str path, const struct tree_entry *entry)
{
    struct paths *only = context;
    (void)paths_match(only, path, entry->kind == TREE_DIRECTORY);
    return paths_missing(only) == NULL;
}

/* What is the same on both sides is found in the trees alone. */
static int check_found(struct restore *r, const struct digest *before,
                       const struct digest *after, struct paths *only)
{
    const struct digest *trees[] = {after, before};
    int rc = 0;
    for (int i = 0; i < 2 && !rc && paths_missing(only); i++)
        rc = snapshot_each(r->store, trees[i], see_path, only, r->error);
    const struct str *missing = rc < 0 ? NULL : paths_missing(only);
    return rc < 0    ? rc
           : missing ? error_set(r->error, CAIRN_ENOTFOUND,
                                 "nothing in the checkpoint and nothing that is "
                                 "tracked now matches '%.*s'",
                                 (int)utf8_fit(*missing, 200), missing->ptr)
                     : 0;
}

int restore_find(struct restore *r, const struct digest *before,
                 const struct digest *after, struct paths *only)
{
    struct finding finding = {.restore = r, .only = only};
    int rc = tree_rules_open(&finding.rules, r->store, after, r->error);
    if (!rc)
        rc = snapshot_compare(r->store, before, after, true, note_change, &finding,
                              r->error);
    tree_rules_close(&finding.rules);
    free(finding.above);
    return rc || !only ? rc : check_found(r, before, after, only);
}
