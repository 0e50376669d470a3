/* SPDX-License-Identifier: MIT */
/* Names of other tasks in expressions: the value must be known when it is used, so the
 * other task must have ended before, which only `needs` guarantees. */
#include "workflow/parse_refs_int.h"

#include "base/limits.h"

#include <stdio.h>

/* A name being checked, and the memory of a search: which search visited a task_def
 * last, and the task_defs still to be visited. */
struct reach {
    struct parser *p;
    const struct pending *pending;
    const struct task_def *def; /* whose text it is */
    uint32_t target;
    uint32_t *seen, *queue; /* [n_defs] */
    uint32_t *known;        /* [n_defs] a target that was found from there, plus 1 */
    uint32_t search;
};

static const struct task_def *target_of(const struct reach *r)
{
    return &r->p->out->defs[r->target];
}

static struct position position_of_name(const struct reach *r)
{
    const struct pending *pending = r->pending;
    return source_inside(&r->p->source, pending->node->at, pending->text, pending->at,
                         pending->name->length);
}

static int unknown_task(const struct reach *r)
{
    const struct definition *out = r->p->out;
    struct str name = r->pending->name->first;
    struct str *ids = arena_take(&r->p->scratch, out->n_defs, sizeof *ids);
    if (!ids)
        return out_of_memory(r->p);
    for (uint32_t i = 0; i < out->n_defs; i++)
        ids[i] = out->defs[i].id;
    struct hint hint = hint_nearest(name, ids, out->n_defs);
    return diagnose(&r->p->diagnostic, position_of_name(r), "there is no task `%.*s`%s",
                    SHOWN(name), hint.text);
}

/* How the task itself needs the target: as a whole, and how many members by name. */
static void direct_needs(const struct reach *r, bool *whole, uint32_t *members)
{
    *whole = false;
    *members = 0;
    for (uint32_t i = 0; i < r->def->n_needs; i++) {
        const struct need *need = &r->def->needs[i];
        if (need->target != r->target)
            continue;
        *whole |= !need->bindings;
        *members += need->bindings != NULL;
    }
}

/* Is the target, as a whole, needed by anything that the task needs? Nearer ones are
 * looked at first, so what is usual is found soon; what took long is remembered, so a
 * long chain of tasks that all refer to its beginning does not take quadratic time. */
static bool is_needed_before(struct reach *r)
{
    enum { LONG = 16 };

    const struct task_def *defs = r->p->out->defs;
    uint32_t head = 0, tail = 0;
    r->search++;
    r->queue[tail++] = (uint32_t)(r->def - defs);
    r->seen[r->queue[0]] = r->search;
    while (head < tail) {
        const struct task_def *def = &defs[r->queue[head++]];
        for (uint32_t i = 0; i < def->n_needs; i++) {
            uint32_t next = def->needs[i].target;
            bool found = next == r->target && !def->needs[i].bindings;
            if (found || r->known[next] == r->target + 1) {
                if (head > LONG)
                    r->known[r->queue[0]] = r->target + 1;
                return true;
            }
            if (r->seen[next] != r->search) {
                r->seen[next] = r->search;
                r->queue[tail++] = next;
            }
        }
    }
    return false;
}

static int not_needed(const struct reach *r, uint32_t members)
{
    struct str id = r->def->id, target = target_of(r)->id;
    if (members > 1)
        return diagnose(&r->p->diagnostic, position_of_name(r),
                        "task `%.*s` needs %u members of `%.*s`, so it cannot be told "
                        "which one is meant",
                        SHOWN(id), members, SHOWN(target));
    if (target_of(r)->finally && !r->def->finally)
        return diagnose(&r->p->diagnostic, position_of_name(r),
                        "`%.*s` stands under `finally` and only runs after task `%.*s`",
                        SHOWN(target), SHOWN(id));
    return diagnose(&r->p->diagnostic, position_of_name(r),
                    "task `%.*s` does not need %s`%.*s`, so nothing is known of it "
                    "yet; add it to `needs`",
                    SHOWN(id), target_of(r)->n_foreach ? "all of " : "", SHOWN(target));
}

static int outputs_of_group(const struct reach *r)
{
    struct str target = target_of(r)->id;
    const struct foreach_key *key = &target_of(r)->foreach[0];
    return diagnose(&r->p->diagnostic, position_of_name(r),
                    "`%.*s` is a group of tasks, of which only the status is known as "
                    "a whole; need one member (`%.*s[%.*s=...]`) to use its outputs",
                    SHOWN(target), SHOWN(target), SHOWN(key->name));
}

static int check_reference(struct reach *r)
{
    const struct definition *out = r->p->out;
    uint32_t members;
    bool whole;
    r->def = &out->defs[r->pending->def];
    r->target = map_get(&out->by_id, r->pending->name->first);
    if (r->target == MAP_NONE)
        return unknown_task(r);
    if (r->target == r->pending->def)
        return diagnose(&r->p->diagnostic, position_of_name(r),
                        "task `%.*s` refers to itself; nothing is known of it before "
                        "it has ended",
                        SHOWN(r->def->id));
    direct_needs(r, &whole, &members);
    if (members == 1)
        return 0; /* that member is meant */
    bool over = r->def->finally && !target_of(r)->finally;
    if (!over && !whole && (members > 1 || !is_needed_before(r)))
        return not_needed(r, members);
    bool group = target_of(r)->n_foreach > 0;
    return group && r->pending->name->kind == NAME_TASK_OUTPUT ? outputs_of_group(r)
                                                               : 0;
}

int check_pending(struct parser *p)
{
    const struct pending *pending =
        (const struct pending *)(const void *)p->pending.data;
    size_t n = p->pending.size / sizeof *pending;
    struct reach r = {.p = p};
    int rc = 0;
    if (n == 0)
        return 0;
    r.seen = arena_take(&p->scratch, p->out->n_defs, sizeof *r.seen);
    r.queue = arena_take(&p->scratch, p->out->n_defs, sizeof *r.queue);
    r.known = arena_take(&p->scratch, p->out->n_defs, sizeof *r.known);
    if (!r.seen || !r.queue || !r.known)
        return out_of_memory(p);
    for (size_t i = 0; i < n && !rc; i++) {
        r.pending = &pending[i];
        rc = check_reference(&r);
    }
    return rc;
}
