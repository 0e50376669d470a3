/* SPDX-License-Identifier: MIT */
/* The members of a group are sorted once for each set of keys that needs bind, so that
 * a part is found by its values in the time of a binary search. */
#include "graph/parts_int.h"

#include "base/array.h"
#include "graph/members.h"
#include "graph/text_expand.h"

#include <stdlib.h>

int parts_open(struct parts *parts, const struct definition *d)
{
    bool any = false;
    *parts = (struct parts){.definition = d};
    for (uint32_t i = 0; i < d->n_defs && !any; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs && !any; j++)
            any = need_is_partial(&d->defs[i].needs[j]);
    if (!any)
        return 0;
    parts->first = malloc(d->n_defs * sizeof *parts->first);
    for (uint32_t i = 0; parts->first && i < d->n_defs; i++)
        parts->first[i] = NODE_NONE;
    return parts->first ? 0 : CAIRN_ENOMEM;
}

void parts_release(struct parts *parts)
{
    for (uint32_t i = 0; i < parts->n_groups; i++)
        free(parts->groups[i].at);
    free(parts->groups);
    free(parts->first);
    free(parts->at);
    *parts = (struct parts){0};
}

static bool is_open(uint8_t open, uint32_t key)
{
    return open >> key & 1;
}

/* ---- Groups, sorted ---- */

static uint64_t place_of_member(const struct task_def *def, uint8_t open,
                                uint32_t member)
{
    uint64_t place = 0;
    for (uint32_t k = 0; k < def->n_foreach; k++)
        if (!is_open(open, k))
            place = place * def->foreach[k].n + member_value(def, member, k);
    return place;
}

static int by_place(const void *a, const void *b)
{
    const struct placed_member *x = a, *y = b;
    int order = (x->place > y->place) - (x->place < y->place);
    return order ? order : (x->member > y->member) - (x->member < y->member);
}

static int add_group(struct parts *parts, uint32_t target, uint8_t open)
{
    const struct task_def *def = &parts->definition->defs[target];
    struct part_group *groups =
        array_room(parts->groups, parts->n_groups, &parts->groups_room, sizeof *groups);
    if (!groups)
        return CAIRN_ENOMEM;
    parts->groups = groups;
    struct part_group group = {.target = target,
                               .open = open,
                               .next = parts->first[target],
                               .n = def->members};
    group.at = malloc(((size_t)group.n + 1) * sizeof *group.at);
    if (!group.at)
        return CAIRN_ENOMEM;
    for (uint32_t m = 0; m < group.n; m++)
        group.at[m] =
            (struct placed_member){place_of_member(def, open, m), m, NODE_NONE};
    qsort(group.at, group.n, sizeof *group.at, by_place);
    parts->first[target] = parts->n_groups;
    parts->groups[parts->n_groups++] = group;
    return 0;
}

static uint32_t find_group(const struct parts *parts, uint32_t target, uint8_t open)
{
    uint32_t at = parts->first[target];
    while (at != NODE_NONE && parts->groups[at].open != open)
        at = parts->groups[at].next;
    return at;
}

/* ---- Parts ---- */

/* CAIRN_ENOTFOUND: one of the keys has no such value. */
static int place_of_need(const struct parts *parts, const struct part_values *v,
                         uint64_t *place)
{
    const struct task_def *target = &parts->definition->defs[v->need->target];
    struct buf text = BUF_INIT;
    int rc = 0;
    *place = 0;
    for (uint32_t k = 0; k < target->n_foreach && !rc; k++) {
        if (is_open(v->need->open, k))
            continue;
        buf_clear(&text);
        text_expand_fixed(parts->definition, v->def, v->member,
                          v->need->bindings[k].value, &text);
        uint32_t index =
            text.failed ? 0 : foreach_key_find(&target->foreach[k], buf_view(&text));
        if (index == UINT32_MAX)
            rc = CAIRN_ENOTFOUND;
        *place = *place * target->foreach[k].n + index;
    }
    if (text.failed)
        rc = CAIRN_ENOMEM;
    buf_release(&text);
    return rc;
}

/* The first member of that place, or UINT32_MAX. */
static uint32_t find_place(const struct part_group *group, uint64_t place)
{
    uint32_t low = 0, high = group->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->at[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < group->n && group->at[low].place == place ? low : UINT32_MAX;
}

static int add_part(struct parts *parts, uint32_t index, uint32_t first)
{
    struct part_group *group = &parts->groups[index];
    struct part *at = array_room(parts->at, parts->n, &parts->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    parts->at = at;
    uint32_t end = first;
    while (end < group->n && group->at[end].place == group->at[first].place)
        end++;
    group->at[first].part = parts->n;
    parts->at[parts->n++] = (struct part){index, first, end - first};
    return 0;
}

int parts_find(struct parts *parts, const struct part_values *v, uint32_t *part)
{
    uint64_t place = 0;
    uint32_t index = find_group(parts, v->need->target, v->need->open);
    int rc = place_of_need(parts, v, &place);
    if (!rc && index == NODE_NONE) {
        index = parts->n_groups;
        rc = add_group(parts, v->need->target, v->need->open);
    }
    if (rc)
        return rc;
    uint32_t first = find_place(&parts->groups[index], place);
    if (first == UINT32_MAX)
        return CAIRN_ENOTFOUND;
    if (parts->groups[index].at[first].part == NODE_NONE)
        rc = add_part(parts, index, first);
    *part = parts->groups[index].at[first].part;
    return rc;
}

void part_id(const struct parts *parts, uint32_t part, struct buf *out)
{
    const struct part_group *group = &parts->groups[parts->at[part].group];
    const struct task_def *def = &parts->definition->defs[group->target];
    uint32_t member = part_members(parts, part)->member;
    const char *before = "[";
    buf_str(out, def->id);
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        if (is_open(group->open, k))
            continue;
        buf_text(out, before);
        buf_str(out, def->foreach[k].name);
        buf_byte(out, '=');
        buf_str(out, def->foreach[k].shown[member_value(def, member, k)]);
        before = ",";
    }
    buf_byte(out, ']');
}
