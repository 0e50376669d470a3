/* SPDX-License-Identifier: MIT */
#include "snapshot/watch/dirs.h"

#include <assert.h>
#include <stdlib.h>

/* ---- By number ---- */

static size_t slot_of(const struct watched_dirs *dirs, int watch)
{
    return ((uint32_t)watch * 2654435769u) & (dirs->n_slots - 1);
}

static void put_slot(struct watched_dirs *dirs, struct watched_dir *dir)
{
    size_t at = slot_of(dirs, dir->watch);
    while (dirs->slots[at])
        at = (at + 1) & (dirs->n_slots - 1);
    dirs->slots[at] = dir;
}

static bool make_room(struct watched_dirs *dirs)
{
    size_t n = dirs->n_slots, more = n ? 2 * n : 64;
    struct watched_dir **old = dirs->slots;
    if (2 * (dirs->n_watched + 1) <= n)
        return true;
    struct watched_dir **slots = calloc(more, sizeof(struct watched_dir *));
    if (!slots)
        return false;
    dirs->slots = slots;
    dirs->n_slots = more;
    for (size_t i = 0; i < n; i++)
        if (old[i])
            put_slot(dirs, old[i]);
    free(old);
    return true;
}

int dirs_set_watch(struct watched_dirs *dirs, struct watched_dir *dir, int watch)
{
    assert(dir->watch < 0 && watch >= 0);
    if (!make_room(dirs))
        return CAIRN_ENOMEM;
    dir->watch = watch;
    put_slot(dirs, dir);
    dirs->n_watched++;
    return 0;
}

struct watched_dir *dirs_find(const struct watched_dirs *dirs, int watch)
{
    if (!dirs->n_slots || watch < 0)
        return NULL;
    size_t at = slot_of(dirs, watch);
    while (dirs->slots[at] && dirs->slots[at]->watch != watch)
        at = (at + 1) & (dirs->n_slots - 1);
    return dirs->slots[at];
}

/* Those that follow move up, so that none is behind a free slot. */
static void drop_slot(struct watched_dirs *dirs, const struct watched_dir *dir)
{
    size_t most = dirs->n_slots - 1, at = slot_of(dirs, dir->watch);
    while (dirs->slots[at] != dir)
        at = (at + 1) & most;
    dirs->slots[at] = NULL;
    for (size_t i = (at + 1) & most; dirs->slots[i]; i = (i + 1) & most) {
        struct watched_dir *moved = dirs->slots[i];
        dirs->slots[i] = NULL;
        put_slot(dirs, moved);
    }
    dirs->n_watched--;
}

/* ---- The queue ---- */

static void put_queued(struct watched_dirs *dirs, struct watched_dir *dir)
{
    dir->queued = true;
    dir->queued_before = dirs->queue_last;
    if (dirs->queue_last)
        dirs->queue_last->queued_next = dir;
    else
        dirs->queue_first = dir;
    dirs->queue_last = dir;
}

static void drop_queued(struct watched_dirs *dirs, struct watched_dir *dir)
{
    if (dir->queued_before)
        dir->queued_before->queued_next = dir->queued_next;
    else
        dirs->queue_first = dir->queued_next;
    if (dir->queued_next)
        dir->queued_next->queued_before = dir->queued_before;
    else
        dirs->queue_last = dir->queued_before;
    dir->queued = false;
    dir->queued_next = dir->queued_before = NULL;
}

struct watched_dir *dirs_take_queued(struct watched_dirs *dirs)
{
    struct watched_dir *dir = dirs->queue_first;
    if (dir)
        drop_queued(dirs, dir);
    return dir;
}

/* ---- By place ---- */

struct watched_dir *dirs_add(struct watched_dirs *dirs, struct watched_dir *above,
                             struct str name)
{
    struct watched_dir *dir = calloc(1, sizeof *dir + name.len + 1);
    if (!dir)
        return NULL;
    assert(name.len < UINT16_MAX && (above || !dirs->root));
    dir->above = above;
    dir->watch = -1;
    dir->depth = above ? (uint16_t)(above->depth + 1) : 1;
    dir->length = (uint16_t)name.len;
    if (name.len)
        memcpy(dir->name, name.ptr, name.len);
    if (!above) {
        dirs->root = dir;
    } else {
        dir->before = above->last;
        if (above->last)
            above->last->next = dir;
        else
            above->first = dir;
        above->last = dir;
    }
    dirs->n++;
    put_queued(dirs, dir);
    return dir;
}

struct watched_dir *dirs_child(const struct watched_dir *dir, struct str name)
{
    struct watched_dir *child = dir->first;
    while (child && !str_equal((struct str){child->name, child->length}, name))
        child = child->next;
    return child;
}

bool dirs_is_at_or_below(const struct watched_dir *dir, const struct watched_dir *above)
{
    while (dir && dir != above)
        dir = dir->above;
    return dir != NULL;
}

/* Of one that has nothing below it. */
static void remove_one(struct watched_dirs *dirs, struct watched_dir *dir)
{
    struct watched_dir *above = dir->above;
    if (dir->queued)
        drop_queued(dirs, dir);
    if (dir->watch >= 0)
        drop_slot(dirs, dir);
    if (dir->before)
        dir->before->next = dir->next;
    else if (above)
        above->first = dir->next;
    else
        dirs->root = NULL;
    if (dir->next)
        dir->next->before = dir->before;
    else if (above)
        above->last = dir->before;
    if (dir->own) {
        dirs->rules_bytes -= dir->own->total;
        arena_release(dir->own);
    }
    free(dir->own);
    free(dir);
    dirs->n--;
}

void dirs_remove(struct watched_dirs *dirs, struct watched_dir *dir,
                 void (*ended)(void *, int watch), void *context)
{
    struct watched_dir *at = dir;
    for (bool done = false; !done;) {
        while (at->first)
            at = at->first;
        struct watched_dir *above = at->above;
        done = at == dir;
        if (at->watch >= 0 && ended)
            ended(context, at->watch);
        remove_one(dirs, at);
        at = above;
    }
}

void dirs_release(struct watched_dirs *dirs)
{
    if (dirs->root)
        dirs_remove(dirs, dirs->root, NULL, NULL);
    free(dirs->slots);
    *dirs = WATCHED_DIRS_INIT;
}

void dirs_path(const struct watched_dir *dir, struct buf *out)
{
    size_t length = 0;
    for (const struct watched_dir *at = dir; at->above; at = at->above)
        length += at->length + 1u;
    char *room = length ? buf_grow(out, length) : NULL;
    if (!room)
        return;
    for (const struct watched_dir *at = dir; at->above; at = at->above) {
        length -= at->length + 1u;
        memcpy(room + length, at->name, at->length);
        room[length + at->length] = '/';
    }
}

int dirs_own_rules(struct watched_dirs *dirs, struct watched_dir *dir,
                   const struct arena *arena)
{
    dir->own = malloc(sizeof *dir->own);
    if (!dir->own)
        return CAIRN_ENOMEM;
    *dir->own = *arena;
    dirs->rules_bytes += arena->total;
    return 0;
}
