/* SPDX-License-Identifier: MIT */
#include "snapshot/restore_rules.h"

#include "snapshot/rules.h"

#include <assert.h>
#include <stdlib.h>

static int add_part(void *context, struct str part)
{
    buf_str(context, part);
    return 0;
}

/* A file of rules of the directory, on top of the rules above it. */
static int read_rules(struct tree_rules *t, struct rules_level *level, struct str name)
{
    const struct tree_entry *entry = tree_find(&level->tree, name);
    struct buf text = BUF_INIT;
    if (!entry || entry->kind != TREE_FILE || entry->size > RULES_BYTES_MOST)
        return 0;
    int rc = snapshot_content(t->store, entry, add_part, &text, t->error);
    struct ignore_level *own = arena_take(&level->arena, 1, sizeof *own);
    if (!rc && (!own || text.failed))
        rc = error_nomem(t->error);
    if (!rc) {
        size_t n = level->path ? level->path - 1 : 0;
        own->above = level->rules;
        own->dir = arena_str(&level->arena, (struct str){t->path.data, n});
        rc = ignore_parse(&level->arena, buf_view(&text), &own->rules, t->error);
        level->rules = own;
    }
    buf_release(&text);
    return !rc && level->arena.failed ? error_nomem(t->error) : rc;
}

static int push(struct tree_rules *t, const struct digest *tree)
{
    assert(t->depth <= SNAPSHOT_DEPTH_MOST);
    struct rules_level *level = &t->levels[t->depth];
    *level =
        (struct rules_level){.arena = ARENA_INIT,
                             .rules = t->depth ? t->levels[t->depth - 1].rules : NULL,
                             .path = t->path.size};
    t->depth++;
    int rc =
        tree ? snapshot_read_tree(t->store, tree, &level->arena, &level->tree, t->error)
             : 0;
    if (!rc)
        rc = read_rules(t, level, STR(".gitignore"));
    return rc ? rc : read_rules(t, level, STR(".cairnignore"));
}

static void pop(struct tree_rules *t)
{
    arena_release(&t->levels[--t->depth].arena);
    if (t->depth)
        t->path.size = t->levels[t->depth - 1].path;
}

int tree_rules_open(struct tree_rules *t, struct cairn_store *store,
                    const struct digest *root, struct cairn_error *error)
{
    *t = (struct tree_rules){.store = store, .error = error};
    t->levels = calloc(SNAPSHOT_DEPTH_MOST + 1, sizeof *t->levels);
    return t->levels ? push(t, root) : error_nomem(error);
}

void tree_rules_close(struct tree_rules *t)
{
    while (t->depth)
        pop(t);
    buf_release(&t->path);
    buf_release(&t->passed);
    free(t->levels);
}

static bool begins_with(struct str text, struct str start)
{
    return start.len && text.len >= start.len &&
           memcmp(text.ptr, start.ptr, start.len) == 0;
}

static int pass(struct tree_rules *t, struct str dir)
{
    buf_clear(&t->passed);
    buf_str(&t->passed, dir);
    buf_byte(&t->passed, '/');
    int rc = buf_check(&t->passed, t->error);
    return rc ? rc : 1;
}

/* The directory that the path lies in becomes the deepest level. 1: it, or one above
 * it, is ignored, even if something in it was taken. */
static int go_to(struct tree_rules *t, struct str path)
{
    int rc = 0;
    while (t->depth > 1 && !begins_with(path, buf_view(&t->path)))
        pop(t);
    for (;;) {
        struct str rest = {path.ptr + t->path.size, path.len - t->path.size};
        const char *slash = memchr(rest.ptr, '/', rest.len);
        if (rc || !slash)
            return rc;
        struct str name = {rest.ptr, (size_t)(slash - rest.ptr)},
                   dir = {path.ptr, (size_t)(slash - path.ptr)};
        if (ignore_matches(t->levels[t->depth - 1].rules, dir, true))
            return pass(t, dir);
        const struct tree_entry *entry = tree_find(&t->levels[t->depth - 1].tree, name);
        bool there = entry && entry->kind == TREE_DIRECTORY;
        buf_str(&t->path, name);
        buf_byte(&t->path, '/');
        rc = buf_check(&t->path, t->error);
        if (!rc)
            rc = push(t, there ? &entry->digest : NULL);
    }
}

int tree_rules_ignore(struct tree_rules *t, struct str path, bool is_dir)
{
    if (begins_with(path, buf_view(&t->passed)))
        return 1;
    int rc = go_to(t, path);
    if (rc || !ignore_matches(t->levels[t->depth - 1].rules, path, is_dir))
        return rc;
    return is_dir ? pass(t, path) : 1;
}
