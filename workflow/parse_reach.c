/* SPDX-License-Identifier: MIT */
/* Names of other tasks in expressions: the value must be known when it is used, so the
 * other task must have ended before, which only `needs` guarantees. */
#include "workflow/needed_int.h"
#include "workflow/parse_refs_int.h"

#include "base/limits.h"

#include <stdio.h>

/* A name being checked. What is not told at once waits, in order, until it is found out
 * together with others: so the first mistake of the file is the one that is reported.
 */
struct reach {
    struct parser *p;
    struct needed *needed;
    const struct pending *pending;
    const struct task_def *def; /* whose text it is */
    uint32_t target;
    size_t *waiting; /* indices of pending names, the first `n_waiting` of them */
    size_t n_waiting;
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
    return diagnose(
        &r->p->diagnostic, position_of_name(r),
        "`%.*s` is a group of tasks, of which only the status and the files "
        "are known as a whole; need one member (`%.*s[%.*s=...]`) to use its outputs",
        SHOWN(target), SHOWN(target), SHOWN(key->name));
}

static int files_of_none(const struct reach *r)
{
    struct str target = target_of(r)->id;
    return diagnose(&r->p->diagnostic, position_of_name(r),
                    "task `%.*s` declares no `outputs`, so it has no files",
                    SHOWN(target));
}

/* The target is known to have ended. */
static int check_kind(const struct reach *r)
{
    if (r->pending->name->kind == NAME_TASK_FILES && !target_of(r)->n_outputs)
        return files_of_none(r);
    bool group = target_of(r)->n_foreach > 0;
    return group && r->pending->name->kind == NAME_TASK_OUTPUT ? outputs_of_group(r)
                                                               : 0;
}

static const struct pending *pending_at(const struct reach *r, size_t i)
{
    return (const struct pending *)(const void *)r->p->pending.data + i;
}

static void look_at(struct reach *r, size_t i)
{
    r->pending = pending_at(r, i);
    r->def = &r->p->out->defs[r->pending->def];
    r->target = map_get(&r->p->out->by_id, r->pending->name->first);
}

static int check_waiting(struct reach *r)
{
    int rc = 0;
    if (r->n_waiting)
        needed_find(r->needed);
    for (size_t i = 0; i < r->n_waiting && !rc; i++) {
        look_at(r, r->waiting[i]);
        rc = needed_found(r->needed, r->pending->def, r->target) ? check_kind(r)
                                                                 : not_needed(r, 0);
    }
    r->n_waiting = 0;
    return rc;
}

static int find_out_later(struct reach *r, size_t i)
{
    if (!needed_ask(r->needed, r->target)) {
        int rc = check_waiting(r);
        if (rc)
            return rc;
        look_at(r, i);
        (void)needed_ask(r->needed, r->target); /* there is room now */
    }
    r->waiting[r->n_waiting++] = i;
    return 0;
}

static int check_reference(struct reach *r, size_t i)
{
    look_at(r, i);
    uint32_t own = r->pending->def;
    if (r->target == MAP_NONE)
        return unknown_task(r);
    if (r->target == own)
        return diagnose(&r->p->diagnostic, position_of_name(r),
                        "task `%.*s` refers to itself; nothing is known of it before "
                        "it has ended",
                        SHOWN(r->def->id));
    struct direct_need direct = needed_directly(r->needed, own, r->target);
    bool files = r->pending->name->kind == NAME_TASK_FILES;
    if (direct.members == 1)
        return direct.part || files ? check_kind(r) : 0; /* that one is meant */
    bool over = r->def->finally && !target_of(r)->finally;
    if (over || direct.whole)
        return check_kind(r);
    if (direct.members > 1)
        return not_needed(r, direct.members);
    return needed_surely(r->needed, own, r->target) ? check_kind(r)
                                                    : find_out_later(r, i);
}

int check_pending(struct parser *p)
{
    size_t n = p->pending.size / sizeof(struct pending);
    struct reach r = {.p = p};
    int rc = 0;
    if (n == 0)
        return 0;
    r.needed = needed_new(p);
    r.waiting = arena_take(&p->scratch, n, sizeof *r.waiting);
    if (!r.needed || !r.waiting)
        return out_of_memory(p);
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_reference(&r, i);
    /* An earlier mistake is reported in place of this one. */
    int earlier = rc == CAIRN_ENOMEM ? 0 : check_waiting(&r);
    return earlier ? earlier : rc;
}
