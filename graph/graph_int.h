/* SPDX-License-Identifier: MIT */
/* Naming a cycle for people.
 *
 * Parts of groups: what a need that leaves keys open (`a[py=1]`) leads to. Each part
 * that is needed gets one barrier, whoever needs it; used while a graph is built.
 *
 *   parts_open -> parts_find for each such need of each task -> parts_release
 *
 * What the files that build a graph share. */
#ifndef GRAPH_GRAPH_INT_H
#define GRAPH_GRAPH_INT_H

#include "graph/graph.h"

struct placed_member { /* of a group, sorted by place and member */
    uint64_t place;    /* among the values of the keys that are bound */
    uint32_t member;
    uint32_t part; /* in the first one of a place: its number, or NODE_NONE */
};

/* The members of a group, sorted by the values of some of its keys. */
struct part_group {
    uint32_t target;
    uint8_t open; /* as in struct need */
    uint32_t next;
    uint32_t n;
    struct placed_member *at;
};

struct part {
    uint32_t group;    /* index of the part_group */
    uint32_t first, n; /* of its members */
};

struct parts {
    const struct definition *definition;
    uint32_t *first; /* [n_defs] part_group of the target, or NODE_NONE */
    struct part_group *groups;
    uint32_t n_groups;
    size_t groups_room;
    struct part *at;
    uint32_t n;
    size_t room;
};

/* True if the need leaves keys of its target open. */
static inline bool need_is_partial(const struct need *need)
{
    return need->open != 0;
}

/* Its members. */
static inline const struct placed_member *part_members(const struct parts *parts,
                                                       uint32_t part)
{
    const struct part *p = &parts->at[part];
    return parts->groups[p->group].at + p->first;
}

static inline uint32_t part_target(const struct parts *parts, uint32_t part)
{
    return parts->groups[parts->at[part].group].target;
}

#endif
