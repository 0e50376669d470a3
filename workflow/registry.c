/* SPDX-License-Identifier: MIT */
/* The callbacks of a program by their names: what a definition that was read from a
 * file, or from a store, calls. */
#include "workflow/registry.h"

#include "workflow/workflow.h"

#include "base/error.h"
#include "base/struct_take.h"
#include "base/words.h"

#include <stdlib.h>

struct cairn_registry {
    struct arena arena;
    struct map by_name;
    struct cairn_callback *callbacks; /* [n] */
    size_t n, capacity;
};

int cairn_registry_new(struct cairn_registry **out, struct cairn_error *error)
{
    struct cairn_registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return error_nomem(error);
    *out = registry;
    return 0;
}

void cairn_registry_free(struct cairn_registry *registry)
{
    if (!registry)
        return;
    map_release(&registry->by_name);
    arena_release(&registry->arena);
    free(registry->callbacks);
    free(registry);
}

int cairn_registry_add(struct cairn_registry *registry,
                       const struct cairn_callback *callback, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_callback, callback, error);
    struct arena *arena = &registry->arena;
    const char *name = callback->name ? callback->name : "";
    if (!task_id_is_good(str_of(name)))
        return error_set(error, CAIRN_EUSAGE,
                         "the name of a callback, `%s`, is not as the id of a task",
                         name);
    if (!callback->call)
        return error_set(error, CAIRN_EUSAGE, "the callback `%s` has no function",
                         name);
    if (map_get(&registry->by_name, str_of(name)) != MAP_NONE)
        return error_set(error, CAIRN_EUSAGE, "there are two callbacks `%s`", name);
    struct cairn_callback *all =
        array_room(registry->callbacks, registry->n, &registry->capacity, sizeof *all);
    if (!all)
        return error_nomem(error);
    registry->callbacks = all;
    all[registry->n] = *callback;
    all[registry->n].name = arena_text(arena, str_of(name));
    all[registry->n].version =
        arena_text(arena, str_of(callback->version ? callback->version : ""));
    all[registry->n].description =
        arena_text(arena, str_of(callback->description ? callback->description : ""));
    if (arena->failed || map_add(&registry->by_name, str_of(all[registry->n].name),
                                 (uint32_t)registry->n, NULL) < 0)
        return error_nomem(error);
    registry->n++;
    return 0;
}

int cairn_registry_get(const struct cairn_registry *registry, size_t i,
                       struct cairn_callback *out)
{
    if (i >= registry->n)
        return CAIRN_ENOTFOUND;
    *out = registry->callbacks[i];
    return 0;
}

/* ---- Into a definition ---- */

/* "a, b and 3 more" */
static void put_names(const struct cairn_registry *registry, struct buf *out)
{
    enum { SHOWN_NAMES = 8 };
    size_t n = registry->n > SHOWN_NAMES ? SHOWN_NAMES : registry->n;
    for (size_t i = 0; i < n; i++)
        buf_format(out, "%s`%s`", i ? ", " : "", registry->callbacks[i].name);
    if (registry->n > n)
        buf_format(out, " and %zu more", registry->n - n);
    if (!n)
        buf_text(out, "nothing");
}

static int not_there(const struct cairn_registry *registry, const struct task_def *def,
                     struct str name, struct cairn_error *error)
{
    struct buf names = BUF_INIT;
    put_names(registry, &names);
    int rc = buf_check(&names, error);
    if (!rc)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "task `%s` calls `%s`, which the registry of this program does "
                       "not have; it has %.600s",
                       def->id.ptr, name.ptr, names.data);
    buf_release(&names);
    return rc;
}

static int bind_task(const struct cairn_registry *registry, struct definition *d,
                     struct task_def *def, bool *changed, struct cairn_error *error)
{
    uint32_t at = map_get(&registry->by_name, def->callback);
    if (at == MAP_NONE)
        return not_there(registry, def, def->callback, error);
    const struct cairn_callback *callback = &registry->callbacks[at];
    def->call = callback->call;
    def->context = callback->context;
    def->parallel = callback->parallel;
    if (str_equal(def->version, str_of(callback->version)))
        return 0;
    def->version = arena_str(&d->arena, str_of(callback->version));
    *changed = true;
    return 0;
}

/* The one of a check or an undo, unless the program has given it. */
static int bind_side(const struct cairn_registry *registry, const struct task_def *def,
                     struct str name, struct program_call *out,
                     struct cairn_error *error)
{
    if (!name.len || out->call)
        return 0;
    uint32_t at = map_get(&registry->by_name, name);
    if (at == MAP_NONE)
        return not_there(registry, def, name, error);
    *out = (struct program_call){registry->callbacks[at].call,
                                 registry->callbacks[at].context};
    return 0;
}

static int take_sides(struct definition *d, struct task_def *def,
                      struct cairn_error *error)
{
    if (!def->side)
        def->side = arena_take(&d->arena, 1, sizeof *def->side);
    return def->side ? 0 : error_nomem(error);
}

int registry_bind_undo(const struct cairn_registry *registry, struct definition *d,
                       struct task_def *def, struct cairn_error *error)
{
    return take_sides(d, def, error)
               ?: bind_side(registry, def, def->undo, &def->side->undo, error);
}

int registry_bind(const struct cairn_registry *registry, struct definition *d,
                  uint32_t first, bool *changed, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = first; registry && i < d->n_defs && !rc; i++) {
        struct task_def *def = &d->defs[i];
        if (def->kind != TASK_CALL)
            continue;
        if (def->callback.len && !def->call)
            rc = bind_task(registry, d, def, changed, error);
        if (!rc && def->check.len)
            rc = take_sides(d, def, error)
                     ?: bind_side(registry, def, def->check, &def->side->check, error);
        if (!rc && def->undo.len)
            rc = registry_bind_undo(registry, d, def, error);
    }
    return rc ?: d->arena.failed ? error_nomem(error) : 0;
}

void registry_keep_versions(struct definition *d, const struct definition *recorded)
{
    for (uint32_t i = 0; i < d->n_defs; i++) {
        struct task_def *def = &d->defs[i];
        if (!def->callback.len || def->call)
            continue;
        uint32_t was = map_get(&recorded->by_id, def->id);
        if (was != MAP_NONE && str_equal(recorded->defs[was].callback, def->callback))
            def->version = arena_str(&d->arena, recorded->defs[was].version);
    }
}
