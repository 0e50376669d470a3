/* SPDX-License-Identifier: MIT */
/* Lists that tasks make: which members a group has, by what is recorded, and whether a
 * list that is known is any good. */
#include "plan/situation_int.h"

#include "base/error.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "runs/result.h"
#include "runs/values.h"

#include <stdlib.h>

static int say_no_list(const struct list_reader *reader, struct str maker)
{
    static const char *const formats[] = {
        [LIST_VALUE] = "%.*s has not written a value `%.*s` to $CAIRN_OUTPUT",
        [LIST_LINES] = ("%.*s has completed, and there was no file %.*s that can be "
                        "read; `cairn rerun %.*s` runs it again"),
        [LIST_GLOB] =
            "%.*s has completed, and what matches %.*s was not to be found out"};
    const struct list_spec *spec = reader->spec;
    char text[900];
    snprintf(text, sizeof text, formats[list_is_sheet(spec) ? LIST_LINES : spec->form],
             maker.len < 250 ? (int)maker.len : 250, maker.ptr,
             spec->value.len < 250 ? (int)spec->value.len : 250, spec->value.ptr,
             maker.len < 250 ? (int)maker.len : 250, maker.ptr);
    return error_set(reader->error, CAIRN_EWORKFLOW, "%s", text);
}

enum { LEFT_OUT = 2 };

/* How a task that makes lists has ended: in the run, or in another one, whose attempt
 * counts for it. */
static uint8_t outcome_of_maker(const struct loader *l, struct str maker,
                                struct digest *result)
{
    const struct recorded *r = &l->s->recorded;
    uint32_t now = l->s->present.reused ? graph_find(&l->w->graph, maker) : NODE_NONE;
    const struct reused *reused = now == NODE_NONE ? NULL : situation_reused(l->s, now);
    uint32_t task = r->graph_loaded ? graph_find(&r->graph, maker) : NODE_NONE;
    *result = (struct digest){{0}};
    if (reused)
        *result = reused->row.result;
    else if (task != NODE_NONE && r->states.outputs)
        *result = r->states.outputs[task];
    return reused              ? CAIRN_COMPLETED
           : task == NODE_NONE ? CAIRN_PENDING
                               : r->states.outcome[task];
}

/* What one task has passed on: as find_list; LEFT_OUT: its condition says so. */
static int find_part(struct loader *l, struct list_reader *reader, struct str maker)
{
    struct buf key = BUF_INIT;
    struct result result = {0};
    struct digest digest;
    uint8_t outcome = outcome_of_maker(l, maker, &digest);
    if (outcome == CAIRN_EXCLUDED)
        return LEFT_OUT;
    if (outcome != CAIRN_COMPLETED)
        return 0;
    int rc = digest_is_none(&digest) ? 0
                                     : result_load(l->store, &digest, reader->arena,
                                                   &result, reader->error);
    if (rc)
        return rc == CAIRN_ENOMEM ? rc : 0; /* it runs again: RESULT_LOST */
    list_spec_key(reader->spec, &key);
    const struct key_value *found =
        key.failed ? NULL : values_find(result.values, result.n_values, buf_view(&key));
    rc = key.failed ? CAIRN_ENOMEM
         : found    ? list_read(reader, maker, found->value)
                    : say_no_list(reader, maker);
    buf_release(&key);
    return rc ? rc : 1;
}

/* What the task, or each member of the group that its condition did not leave out, has
 * passed on, if they have completed. 1 the reader has it, 0 one has not completed, or
 * none is left, <0 error; CAIRN_EWORKFLOW: it has, and passed on no such list. */
static int find_list(struct loader *l, struct list_reader *reader)
{
    const struct definition *d = &l->w->definition;
    uint32_t index = map_get(&d->by_id, reader->spec->task);
    const struct task_def *maker = index == MAP_NONE ? NULL : &d->defs[index];
    struct buf id = BUF_INIT;
    int rc = maker && !task_def_is_unlisted(maker);
    bool left = rc && !maker->members; /* an empty group has completed */
    for (uint32_t m = 0; rc > 0 && m < maker->members; m++) {
        buf_clear(&id);
        member_id(maker, m, &id);
        struct str name = arena_str(reader->arena, buf_view(&id));
        rc = id.failed || !name.ptr ? CAIRN_ENOMEM : find_part(l, reader, name);
        left |= rc == 1;
    }
    buf_release(&id);
    return rc > 0 ? left : rc;
}

/* Of two keys the one that has a list, or has had one. */
static const struct foreach_key *better_list(const struct foreach_key *a,
                                             const struct foreach_key *b)
{
    if (!b || !foreach_is_made(b))
        return a;
    bool more = !a || (a->source == FOREACH_FROM &&
                       (b->source == FOREACH_GIVEN || (a->n == 1 && b->n > 1)));
    return more ? b : a;
}

/* The same list, however long it may be. */
static bool is_of_list(const struct foreach_key *key, const struct list_spec *wanted)
{
    struct list_spec spec;
    return list_spec_of(key, &spec) && list_spec_same(&spec, wanted);
}

/* The key as the run has it, or NULL. */
static const struct foreach_key *recorded_key(const struct definition *old,
                                              const struct task_def *def,
                                              const struct foreach_key *key)
{
    uint32_t then = map_get(&old->by_id, def->id), at = UINT32_MAX;
    if (then != MAP_NONE)
        at = task_def_key(&old->defs[then], key->name);
    return at == UINT32_MAX ? NULL : &old->defs[then].foreach[at];
}

/* The list that the run has now, or NULL: of any group, since groups of one list have
 * the same members, but the group's own before others, since it has the columns that its
 * task names; of an edited `from`, what these groups had. */
static const struct foreach_key *recorded_list(const struct loader *l,
                                               const struct task_def *def,
                                               const struct foreach_key *key,
                                               const struct list_spec *spec)
{
    const struct definition *old = &l->s->recorded.definition, *now = &l->w->definition;
    const struct foreach_key *found = recorded_key(old, def, key);
    if (found && !is_of_list(found, spec))
        found = NULL;
    for (uint32_t i = 0; i < old->n_defs; i++)
        for (uint32_t k = 0; k < old->defs[i].n_foreach; k++)
            if (is_of_list(&old->defs[i].foreach[k], spec))
                found = better_list(found, &old->defs[i].foreach[k]);
    for (uint32_t i = 0; !found && i < now->n_defs; i++)
        for (uint32_t k = 0; k < now->defs[i].n_foreach; k++) {
            const struct foreach_key *then =
                recorded_key(old, &now->defs[i], &now->defs[i].foreach[k]);
            if (is_of_list(&now->defs[i].foreach[k], spec))
                found = better_list(found, then);
        }
    return found;
}

static int give_list(struct loader *l, struct task_def *def, struct foreach_key *key)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct list_spec spec;
    struct list_reader reader = {.spec = &spec,
                                 .arena = &arena,
                                 .error = &why,
                                 .definition = &l->w->definition,
                                 .def = def,
                                 .key = (uint32_t)(key - def->foreach)};
    if (!list_spec_of(key, &spec))
        return 0;
    int rc = find_list(l, &reader);
    const struct foreach_key *old = recorded_list(l, def, key, &spec);
    struct list_values former = {.at = NULL}, list = {.at = NULL};
    if (old)
        former = list_values_of(old);
    bool stays = !rc && old && old->source == FOREACH_GIVEN;
    int ended = list_end(&reader, rc == 1 ? 0 : CAIRN_EWORKFLOW, &list);
    if (rc == 1)
        rc = ended;
    if (stays)
        list = former;
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(l->error);
    else
        rc = definition_put_list(&l->w->definition, def, key, list, former,
                                 str_of(why.text), l->error);
    arena_release(&arena);
    return rc;
}

/* 1: what makes the list of the key is done already, and the list is no good. */
static int find_bad_list(struct loader *l, const struct task_def *def, uint32_t k)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct list_spec spec;
    struct list_values list;
    struct foreach_key *key = &def->foreach[k];
    struct list_reader reader = {.spec = &spec,
                                 .arena = &arena,
                                 .error = &why,
                                 .definition = &l->w->definition,
                                 .def = def,
                                 .key = k};
    if (key->source != FOREACH_FROM || key->why.len || !list_spec_of(key, &spec))
        return 0;
    int found = find_list(l, &reader);
    int rc = list_end(&reader, found == 1 ? 0 : found ? found : CAIRN_EWORKFLOW, &list);
    bool bad = found && rc == CAIRN_EWORKFLOW;
    if (bad)
        key->why = arena_str(&l->w->definition.arena, str_of(why.text));
    arena_release(&arena);
    if (rc == CAIRN_ENOMEM || (bad && !key->why.ptr))
        return error_nomem(l->error);
    return bad;
}

int situation_find_bad_lists(struct loader *l)
{
    const struct definition *d = &l->w->definition;
    int found = 0;
    for (uint32_t i = 0; i < d->n_defs && found >= 0; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && found >= 0; k++) {
            int bad = find_bad_list(l, &d->defs[i], k);
            found = bad < 0 ? bad : found | bad;
        }
    return found;
}

/* Is what makes the list of the def known, as far as it is a group itself? */
static bool knows_makers(const struct definition *d, const struct task_def *def,
                         const bool *given)
{
    struct list_spec spec;
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        uint32_t maker = MAP_NONE;
        if (list_spec_of(&def->foreach[k], &spec))
            maker = map_get(&d->by_id, spec.task);
        if (maker != MAP_NONE && !given[maker] && task_def_made_key(&d->defs[maker]))
            return false;
    }
    return true;
}

int situation_give_lists(struct loader *l)
{
    struct definition *d = &l->w->definition;
    bool *given = calloc((size_t)d->n_defs + 1, sizeof *given), more = true;
    int rc = given ? 0 : error_nomem(l->error);
    while (more && !rc) {
        more = false;
        for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
            if (given[i] || !task_def_made_key(&d->defs[i]) ||
                !knows_makers(d, &d->defs[i], given))
                continue;
            for (uint32_t k = 0; k < d->defs[i].n_foreach && !rc; k++)
                rc = give_list(l, &d->defs[i], &d->defs[i].foreach[k]);
            given[i] = more = true;
        }
    }
    free(given);
    return rc ? rc : workflow_rebuild(l->w, l->error);
}

int situation_forget_lists(struct loader *l)
{
    struct definition *d = &l->w->definition;
    const struct list_values none = {.at = NULL};
    bool any = false;
    int rc = 0;
    for (uint32_t i = 0; i < d->n_defs && !rc; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && !rc; k++)
            if (foreach_is_made(&d->defs[i].foreach[k]) &&
                (d->defs[i].foreach[k].source == FOREACH_GIVEN ||
                 d->defs[i].foreach[k].n > 1)) {
                any = true;
                rc = definition_put_list(d, &d->defs[i], &d->defs[i].foreach[k], none,
                                         none, STR(""), l->error);
            }
    return !rc && any ? workflow_rebuild(l->w, l->error) : rc;
}
