/* SPDX-License-Identifier: MIT */
/* Every node that still waits has a need that still waits, so walking such needs must
 * come back to a node seen before: that closes a cycle. */
#include "graph/graph_int.h"

#include "graph/graph.h"
#include "graph/members.h"
#include "graph/text_expand.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>

/* A need of a member of `def`. */
struct part_values {
    const struct task_def *def;
    uint32_t member;
    const struct need *need;
};

/* A graph while it is built. */
struct building {
    struct graph *graph;
    const struct graph *before; /* of the task_defs below `from`; NULL: `from` is 0 */
    uint32_t from;
    struct parts parts;
    struct buf scratch;
    struct cairn_error *error;
};

/* "FILE:LINE:COLUMN: "; nothing for what a program has built, which stands in no text. */
enum { WHERE_BYTES = 320 };
static const char *describe_position(char out[WHERE_BYTES], struct str file,
                                     struct position at)
{
    out[0] = '\0';
    if (at.line)
        snprintf(out, WHERE_BYTES, "%.*s%s%u:%u: ", (int)utf8_fit(file, 280), file.ptr,
                 file.len ? ":" : "", at.line, at.column);
    return out;
}

static uint32_t unmet_need(const struct graph *graph, const uint32_t *waiting,
                           uint32_t node)
{
    for (uint32_t e = graph->need_start[node]; e < graph->need_start[node + 1]; e++)
        if (waiting[graph->needs[e]])
            return graph->needs[e];
    return node; /* not reached: see the top of the file */
}

static void describe_cycle(const struct graph *graph, const uint32_t *path, uint32_t n,
                           struct buf *out)
{
    /* With the longest id once more at the end, the rest of the message and a usual
     * path this fits into an error. */
    enum { ROOM = 560 };
    for (uint32_t i = 0; i < n; i++) {
        if (out->size + strlen(graph->id[path[i]]) > ROOM) {
            buf_format(out, "... (%u more) -> ", n - i);
            break;
        }
        buf_format(out, "%s -> ", graph->id[path[i]]);
    }
    buf_text(out, graph->id[path[0]]);
}

/* `waiting` holds, per node, the needs that a topological sort could not meet; at least
 * one is not 0. Returns CAIRN_EWORKFLOW with the whole cycle, as far as the text holds.
 */
static int cycle_report(const struct graph *graph, const uint32_t *waiting,
                        struct cairn_error *error)
{
    const struct definition *d = graph->definition;
    uint32_t *seen = calloc(graph->n_nodes, sizeof *seen); /* step + 1 */
    uint32_t *path = malloc(((size_t)graph->n_nodes + 1) * sizeof *path);
    struct buf text = BUF_INIT;
    uint32_t node = 0, steps = 0;
    if (!seen || !path) {
        free(seen);
        free(path);
        return error_nomem(error);
    }
    while (!waiting[node])
        node++;
    while (!seen[node]) {
        path[steps] = node;
        seen[node] = ++steps;
        node = unmet_need(graph, waiting, node);
    }
    uint32_t start = seen[node] - 1;
    describe_cycle(graph, path + start, steps - start, &text);
    char where[WHERE_BYTES];
    error_set(error, CAIRN_EWORKFLOW,
              "%sthese tasks need each other in a circle (a -> b: a needs b):\n"
              "  %s\nremove one of these needs",
              describe_position(where, d->file, graph_def(graph, node)->at),
              text.failed ? "" : text.data);
    free(seen);
    free(path);
    buf_release(&text);
    return CAIRN_EWORKFLOW;
}

/* The members of a group are sorted once for each set of keys that needs bind, so that
 * a part is found by its values in the time of a binary search. */

static bool any_is_partial(const struct definition *d, uint32_t from)
{
    bool any = false;
    for (uint32_t i = from; i < d->n_defs && !any; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs && !any; j++)
            any = need_is_partial(&d->defs[i].needs[j]);
    return any;
}

/* CAIRN_ENOMEM. Without partial needs nothing is made. */
static int parts_open(struct parts *parts, const struct definition *d, uint32_t from)
{
    *parts = (struct parts){.definition = d};
    if (!any_is_partial(d, from))
        return 0;
    parts->first = malloc(d->n_defs * sizeof *parts->first);
    for (uint32_t i = 0; parts->first && i < d->n_defs; i++)
        parts->first[i] = NODE_NONE;
    return parts->first ? 0 : CAIRN_ENOMEM;
}

static void parts_release(struct parts *parts)
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
    assert(parts->first);
    uint32_t at = parts->first[target];
    assert(at == NODE_NONE || parts->groups);
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

/* The number of the part, a new one where it is needed first. CAIRN_ENOTFOUND: it has
 * no members; CAIRN_ENOMEM. */
static int parts_find(struct parts *parts, const struct part_values *v, uint32_t *part)
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
    struct part_group *group = &parts->groups[index];
    assert(parts->groups && group->at);
    uint32_t first = find_place(group, place);
    if (first == UINT32_MAX)
        return CAIRN_ENOTFOUND;
    if (group->at[first].part == NODE_NONE)
        rc = add_part(parts, index, first);
    *part = group->at[first].part;
    return rc;
}

/* Appends its id: `a[py=1]`. */
static void part_id(const struct parts *parts, uint32_t part, struct buf *out)
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

/* Where needs lead to: a task, a member, a whole group, a part of one. */

static int missing_member(const struct building *b, const struct need *need,
                          const struct task_def *def, uint32_t member)
{
    const struct definition *d = b->graph->definition;
    const struct task_def *target = &d->defs[need->target];
    struct str file = def->file < d->n_files ? d->files[def->file] : d->file;
    struct buf id = BUF_INIT;
    char where[WHERE_BYTES];
    member_id(def, member, &id);
    int rc =
        error_set(b->error, CAIRN_EWORKFLOW,
                  "%s`%s` needs `%.*s`, but `%.*s` has no such member\n"
                  "give both tasks the same foreach values, or need the whole "
                  "group with `%.*s`",
                  describe_position(where, file, need->at), id.failed ? "" : id.data,
                  (int)need->text.len, need->text.ptr, (int)target->id.len,
                  target->id.ptr, (int)target->id.len, target->id.ptr);
    buf_release(&id);
    return rc;
}

static int find_part(struct building *b, const struct part_values *values,
                     uint32_t *part)
{
    int rc = parts_find(&b->parts, values, part);
    if (rc == CAIRN_ENOTFOUND)
        return missing_member(b, values->need, values->def, values->member);
    return rc ? error_nomem(b->error) : 0;
}

/* Numbers the barriers of the parts that are needed, in the order of the needs, behind
 * all other nodes. */
static int building_number_parts(struct building *b)
{
    struct graph *graph = b->graph;
    const struct definition *d = graph->definition;
    uint32_t part;
    if (parts_open(&b->parts, d, b->from))
        return error_nomem(b->error);
    for (uint32_t i = 0; i < d->n_defs && b->parts.first; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs; j++)
            for (uint32_t m = 0;
                 need_is_partial(&d->defs[i].needs[j]) && m < d->defs[i].members; m++) {
                struct part_values values = {&d->defs[i], m, &d->defs[i].needs[j]};
                int rc = find_part(b, &values, &part);
                if (rc)
                    return rc;
            }
    graph->n_parts = b->parts.n;
    graph->n_nodes += b->parts.n;
    return 0;
}

/* The one member that a need with values for all keys leads to. */
static int resolve_member(struct building *b, uint32_t task, const struct need *need,
                          uint32_t *node)
{
    const struct graph *graph = b->graph;
    const struct task_def *def = graph_def(graph, task);
    struct str values[LIMIT_FOREACH_KEYS];
    size_t ends[LIMIT_FOREACH_KEYS];
    buf_clear(&b->scratch);
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        text_expand_fixed(graph->definition, def, graph_member(graph, task),
                          need->bindings[k].value, &b->scratch);
        ends[k] = b->scratch.size;
    }
    if (b->scratch.failed)
        return error_nomem(b->error);
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        size_t start = k ? ends[k - 1] : 0;
        values[k] = (struct str){b->scratch.data + start, ends[k] - start};
    }
    uint32_t member = member_find(&graph->definition->defs[need->target], values);
    if (member == UINT32_MAX)
        return missing_member(b, need, def, graph_member(graph, task));
    *node = graph->first[need->target] + member;
    return 0;
}

static int resolve_part(struct building *b, uint32_t task, const struct need *need,
                        uint32_t *node)
{
    const struct graph *graph = b->graph;
    struct part_values values = {graph_def(graph, task), graph_member(graph, task),
                                 need};
    uint32_t part = 0;
    int rc = find_part(b, &values, &part);
    *node = graph->n_nodes - graph->n_parts + part;
    return rc;
}

/* The node that the need of a task leads to. */
static int building_resolve(struct building *b, uint32_t task, const struct need *need,
                            uint32_t *node)
{
    const struct graph *graph = b->graph;
    if (need_is_partial(need))
        return resolve_part(b, task, need, node);
    if (need->bindings)
        return resolve_member(b, task, need, node);
    *node = graph->definition->defs[need->target].n_foreach
                ? graph->barrier[need->target]
                : graph->first[need->target];
    assert(*node < graph->n_nodes);
    return 0;
}

/* Whether a compiled graph is what graph.h says. Takes time in proportion to the graph,
 * so only debug builds and tests ask. */

static bool numbers_match(const struct graph *g)
{
    const struct definition *d = g->definition;
    uint32_t tasks = 0, barriers = 0;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        if (g->first[i] != tasks)
            return false;
        tasks += d->defs[i].members;
        if (g->barrier[i] == NODE_NONE)
            continue;
        barriers++;
        if (!graph_is_barrier(g, g->barrier[i]) || g->barrier[i] >= g->n_nodes ||
            g->def_of[g->barrier[i]] != i)
            return false;
    }
    return g->first[d->n_defs] == tasks && g->n_tasks == tasks &&
           g->n_nodes == tasks + barriers + g->n_parts;
}

/* Each has members, of its own group alone. */
static bool parts_match(const struct graph *g)
{
    for (uint32_t node = g->n_nodes - g->n_parts; node < g->n_nodes; node++) {
        if (g->need_start[node] == g->need_start[node + 1])
            return false;
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
            if (graph_is_barrier(g, g->needs[e]) ||
                g->def_of[g->needs[e]] != g->def_of[node])
                return false;
    }
    return true;
}

static bool rows_are_whole(const struct graph *g, const uint32_t *start,
                           const uint32_t *row)
{
    bool whole = start[0] == 0 && start[g->n_nodes] == g->n_edges;
    for (uint32_t node = 0; node < g->n_nodes && whole; node++)
        whole = start[node] <= start[node + 1];
    for (uint32_t e = 0; e < g->n_edges && whole; e++)
        whole = row[e] < g->n_nodes;
    return whole;
}

/* Dependents stand in the order of their numbers, so each edge is the next one of its
 * row. `next` is 0 for every node. */
static bool users_mirror_needs(const struct graph *g, uint32_t *next)
{
    for (uint32_t node = 0; node < g->n_nodes; node++)
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++) {
            uint32_t need = g->needs[e];
            uint32_t at = g->dependent_start[need] + next[need]++;
            if (at >= g->dependent_start[need + 1] || g->dependents[at] != node)
                return false;
        }
    return true;
}

/* Every node once, behind all that it needs. `place`: 0 for every node. */
static bool order_is_topological(const struct graph *g, uint32_t *place)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        if (node >= g->n_nodes || place[node])
            return false;
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
            if (!place[g->needs[e]])
                return false;
        place[node] = i + 1;
    }
    return true;
}

bool graph_consistent(const struct graph *g)
{
    uint32_t *next = calloc((size_t)g->n_nodes + 1, sizeof *next);
    uint32_t *place = calloc((size_t)g->n_nodes + 1, sizeof *place);
    bool good =
        !next || !place || /* without memory nothing is known to be wrong */
        (numbers_match(g) && rows_are_whole(g, g->need_start, g->needs) &&
         rows_are_whole(g, g->dependent_start, g->dependents) && parts_match(g) &&
         users_mirror_needs(g, next) && order_is_topological(g, place));
    free(next);
    free(place);
    return good;
}

/* Compiling a definition: numbering, ids, edges, topological order, critical path. */

void graph_release(struct graph *graph)
{
    free(graph->need_start);
    free(graph->needs);
    free(graph->dependent_start);
    free(graph->dependents);
    free(graph->soft);
    free(graph->order);
    free(graph->height);
    arena_release(&graph->arena);
    arena_release(&graph->names);
    *graph = (struct graph){0};
}

static bool is_group(const struct task_def *def)
{
    return def->n_foreach > 0;
}

/* How many barriers there were, and by how much their numbers grow. */
static uint32_t barriers_before(const struct building *b)
{
    return b->before ? b->before->n_nodes - b->before->n_tasks : 0;
}

static uint32_t node_now(const struct building *b, uint32_t node)
{
    assert(b->before);
    return node < b->before->n_tasks || node == NODE_NONE
               ? node
               : node - b->before->n_tasks + b->graph->n_tasks;
}

/* Numbers tasks and barriers of whole groups. */
static int number_nodes(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    const struct definition *d = graph->definition;
    uint64_t tasks = b->before ? b->before->n_tasks : 0;
    uint32_t barriers = barriers_before(b);
    graph->first = arena_take(&graph->arena, (size_t)d->n_defs + 1, sizeof(uint32_t));
    graph->barrier = arena_take(&graph->arena, d->n_defs, sizeof(uint32_t));
    if (graph->arena.failed)
        return error_nomem(error);
    if (b->before)
        memcpy(graph->first, b->before->first, b->from * sizeof *graph->first);
    for (uint32_t i = b->from; i < d->n_defs; i++) {
        graph->first[i] = (uint32_t)tasks;
        graph->barrier[i] = NODE_NONE;
        tasks += d->defs[i].members;
        if (tasks > LIMIT_TASKS)
            return error_set(error, CAIRN_ELIMIT, "more than %d tasks", LIMIT_TASKS);
    }
    graph->first[d->n_defs] = graph->n_tasks = (uint32_t)tasks;
    if (tasks == 0)
        return error_set(error, CAIRN_EWORKFLOW,
                         "workflow `%.*s` has no tasks; add one under `tasks:`",
                         (int)d->name.len, d->name.ptr);
    for (uint32_t i = 0; i < b->from; i++)
        graph->barrier[i] = node_now(b, b->before->barrier[i]);
    for (uint32_t i = b->from; i < d->n_defs; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs; j++) {
            const struct need *need = &d->defs[i].needs[j];
            if (!need->bindings && is_group(&d->defs[need->target]) &&
                graph->barrier[need->target] == NODE_NONE)
                graph->barrier[need->target] = graph->n_tasks + barriers++;
        }
    graph->n_nodes = graph->n_tasks + barriers;
    return 0;
}

/* Of all members of a group with one key only the value differs: what is before it
 * stays in the buffer. */
static void next_id(const struct task_def *def, uint32_t member, size_t *prefix,
                    struct buf *id)
{
    if (def->n_foreach != 1 || def->n_picked || member == 0) {
        buf_clear(id);
        member_id(def, member, id);
        if (def->n_foreach == 1 && !def->n_picked && !id->failed)
            *prefix = id->size - def->foreach[0].shown[0].len - 1;
        return;
    }
    id->size = *prefix;
    buf_str(id, def->foreach[0].shown[member]);
    buf_byte(id, ']');
}

static void name_parts(struct building *b, struct buf *id)
{
    struct graph *graph = b->graph;
    uint32_t node = graph->n_nodes - graph->n_parts;
    for (uint32_t i = 0; i < graph->n_parts && !graph->arena.failed; i++, node++) {
        buf_clear(id);
        part_id(&b->parts, i, id);
        graph->def_of[node] = part_target(&b->parts, i);
        graph->id[node] = arena_text(&graph->names, buf_view(id));
    }
}

/* The barrier of a whole group, unless it has its name already. */
static void name_barrier(struct graph *graph, uint32_t def)
{
    uint32_t node = graph->barrier[def];
    if (node == NODE_NONE || graph->id[node])
        return;
    graph->def_of[node] = def;
    graph->id[node] = arena_text(&graph->names, graph->definition->defs[def].id);
}

static void keep_names(struct building *b)
{
    struct graph *graph = b->graph;
    const struct graph *before = b->before;
    uint32_t tasks = before->n_tasks, barriers = barriers_before(b);
    memcpy(graph->def_of, before->def_of, tasks * sizeof *graph->def_of);
    memcpy(graph->id, before->id, tasks * sizeof *graph->id);
    if (!barriers)
        return;
    memcpy(graph->def_of + graph->n_tasks, before->def_of + tasks,
           barriers * sizeof *graph->def_of);
    memcpy(graph->id + graph->n_tasks, before->id + tasks,
           barriers * sizeof *graph->id);
}

static int name_nodes(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    const struct definition *d = graph->definition;
    struct buf id = BUF_INIT;
    size_t prefix = 0;
    int rc = 0;
    graph->def_of = arena_take(&graph->arena, graph->n_nodes, sizeof(uint32_t));
    graph->id = arena_take(&graph->arena, graph->n_nodes, sizeof(char *));
    if (b->before && !graph->arena.failed)
        keep_names(b);
    for (uint32_t i = b->from; i < d->n_defs && !graph->arena.failed && !rc; i++) {
        const struct task_def *def = &d->defs[i];
        for (uint32_t m = 0; m < def->members && !graph->names.failed; m++) {
            next_id(def, m, &prefix, &id);
            if (id.failed) {
                rc = error_nomem(error);
                break;
            }
            if (id.size > LIMIT_ID_BYTES) {
                rc = error_set(error, CAIRN_ELIMIT, "the id %s is longer than %d bytes",
                               id.data, LIMIT_ID_BYTES);
                break;
            }
            graph->def_of[graph->first[i] + m] = i;
            graph->id[graph->first[i] + m] = arena_text(&graph->names, buf_view(&id));
        }
        name_barrier(graph, i);
        for (uint32_t j = 0; j < def->n_needs; j++)
            name_barrier(graph, def->needs[j].target);
    }
    if (!rc)
        name_parts(b, &id);
    if (!rc && (graph->arena.failed || graph->names.failed || id.failed))
        rc = error_nomem(error);
    buf_release(&id);
    return rc;
}

static uint32_t count_needs(const struct building *b, uint32_t node)
{
    const struct graph *graph = b->graph;
    if (graph_is_part(graph, node))
        return b->parts.at[node - (graph->n_nodes - graph->n_parts)].n;
    assert(!graph_is_barrier(graph, node) || is_group(graph_def(graph, node)));
    return graph_is_barrier(graph, node) ? graph_def(graph, node)->members
                                         : graph_def(graph, node)->n_needs;
}

static int count_edges(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    uint32_t first = b->before ? b->before->n_tasks : 0;
    uint64_t edges = 0;
    graph->need_start = calloc((size_t)graph->n_nodes + 1, sizeof(uint32_t));
    graph->dependent_start = calloc((size_t)graph->n_nodes + 2, sizeof(uint32_t));
    if (!graph->need_start || !graph->dependent_start)
        return error_nomem(error);
    if (b->before) {
        memcpy(graph->need_start, b->before->need_start,
               first * sizeof *graph->need_start);
        edges = b->before->need_start[first];
    }
    for (uint32_t node = first; node < graph->n_nodes; node++) {
        graph->need_start[node] = (uint32_t)edges;
        edges += count_needs(b, node);
        if (edges > LIMIT_EDGES)
            return error_set(error, CAIRN_ELIMIT, "more than %d dependencies",
                             LIMIT_EDGES);
    }
    graph->need_start[graph->n_nodes] = graph->n_edges = (uint32_t)edges;
    graph->needs = calloc(edges ? edges : 1, sizeof(uint32_t));
    graph->dependents = malloc((edges ? edges : 1) * sizeof(uint32_t));
    return graph->needs && graph->dependents ? 0 : error_nomem(error);
}

/* A barrier needs all members, or those of its part. */
static void fill_barrier(const struct building *b, uint32_t node, uint32_t *needs)
{
    const struct graph *graph = b->graph;
    uint32_t n = count_needs(b, node), first = graph->first[graph->def_of[node]];
    const struct placed_member *members = NULL;
    if (graph_is_part(graph, node))
        members = part_members(&b->parts, node - (graph->n_nodes - graph->n_parts));
    for (uint32_t i = 0; i < n; i++)
        needs[i] = first + (members ? members[i].member : i);
}

static int fill_needs(struct building *b)
{
    struct graph *graph = b->graph;
    uint32_t first = b->before ? b->before->n_tasks : 0;
    int rc = 0;
    for (uint32_t e = 0; e < graph->need_start[first]; e++)
        graph->needs[e] = node_now(b, b->before->needs[e]);
    for (uint32_t node = first; node < graph->n_nodes && !rc; node++) {
        const struct task_def *def = graph_def(graph, node);
        uint32_t *needs = graph->needs + graph->need_start[node];
        if (graph_is_barrier(graph, node))
            fill_barrier(b, node, needs);
        else
            for (uint32_t j = 0; j < def->n_needs && !rc; j++)
                rc = building_resolve(b, node, &def->needs[j], &needs[j]);
    }
    return rc;
}

/* Room for the bits, where a need has one. */
static int find_soft_needs(struct building *b)
{
    struct graph *graph = b->graph;
    const struct definition *d = graph->definition;
    bool any = b->before && b->before->soft;
    for (uint32_t i = b->from; i < d->n_defs; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs && !any; j++)
            any = d->defs[i].needs[j].soft;
    if (any)
        graph->soft = malloc(graph->n_edges ? graph->n_edges : 1);
    return any && !graph->soft ? error_nomem(b->error) : 0;
}

/* Dependents are needs turned round: a counting sort. dependent_start is used one place
 * ahead while filling, so that it ends up right without a second array. */
static void fill_users(struct graph *graph)
{
    uint32_t *start = graph->dependent_start;
    for (uint32_t e = 0; e < graph->n_edges; e++)
        start[graph->needs[e] + 2]++;
    for (uint32_t i = 2; i <= graph->n_nodes + 1; i++)
        start[i] += start[i - 1];
    for (uint32_t node = 0; node < graph->n_nodes; node++)
        for (uint32_t e = graph->need_start[node]; e < graph->need_start[node + 1];
             e++) {
            uint32_t at = start[graph->needs[e] + 1]++;
            graph->dependents[at] = node;
            if (graph->soft)
                graph->soft[at] = graph_need_is_soft(graph, node, e);
        }
    assert(start[0] == 0 && start[graph->n_nodes] == graph->n_edges);
}

/* Kahn's algorithm; the order array is its own queue. */
static int sort_nodes(struct graph *graph, struct cairn_error *error)
{
    uint32_t *waiting = malloc(((size_t)graph->n_nodes + 1) * sizeof *waiting);
    graph->order = malloc(((size_t)graph->n_nodes + 1) * sizeof(uint32_t));
    if (!waiting || !graph->order) {
        free(waiting);
        return error_nomem(error);
    }
    uint32_t head = 0, tail = 0;
    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        waiting[node] = graph->need_start[node + 1] - graph->need_start[node];
        if (!waiting[node])
            graph->order[tail++] = node;
    }
    while (head < tail) {
        uint32_t node = graph->order[head++];
        for (uint32_t e = graph->dependent_start[node];
             e < graph->dependent_start[node + 1]; e++)
            if (--waiting[graph->dependents[e]] == 0)
                graph->order[tail++] = graph->dependents[e];
    }
    assert(head == tail && tail <= graph->n_nodes);
    int rc = tail == graph->n_nodes ? 0 : cycle_report(graph, waiting, error);
    free(waiting);
    return rc;
}

int graph_weigh(struct graph *graph, const uint32_t *duration_ms,
                struct cairn_error *error)
{
    uint64_t sum = 0, known = 0;
    if (!graph->height)
        graph->height = malloc(((size_t)graph->n_nodes + 1) * sizeof(uint32_t));
    if (!graph->height)
        return error_nomem(error);
    for (uint32_t i = 0; duration_ms && i < graph->n_tasks; i++)
        if (duration_ms[i]) {
            sum += duration_ms[i];
            known++;
        }
    uint32_t usual = known ? (uint32_t)(sum / known) : 1;
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        uint32_t node = graph->order[i];
        uint32_t tallest = 0, own = 0;
        for (uint32_t e = graph->dependent_start[node];
             e < graph->dependent_start[node + 1]; e++)
            if (graph->height[graph->dependents[e]] > tallest)
                tallest = graph->height[graph->dependents[e]];
        if (!graph_is_barrier(graph, node))
            own = duration_ms && duration_ms[node] ? duration_ms[node] : usual;
        if (__builtin_add_overflow(tallest, own, &graph->height[node]))
            graph->height[node] = UINT32_MAX;
    }
    return 0;
}

static int build(struct building *b)
{
    struct graph *graph = b->graph;
    if (graph->n_services > LIMIT_SERVICES)
        return error_set(b->error, CAIRN_ELIMIT, "more than %d services",
                         LIMIT_SERVICES);
    int rc = number_nodes(b)
             ?: building_number_parts(b)
             ?: name_nodes(b)
             ?: count_edges(b)
             ?: fill_needs(b)
             ?: find_soft_needs(b);
    parts_release(&b->parts);
    buf_release(&b->scratch);
    if (!rc) {
        fill_users(graph);
        rc = sort_nodes(graph, b->error) ?: graph_weigh(graph, NULL, b->error);
    }
#ifdef CAIRN_DEBUG
    assert(rc || graph_consistent(graph));
#endif
    return rc;
}

int graph_build(struct graph *graph, const struct definition *definition,
                struct cairn_error *error)
{
    struct graph g = {.definition = definition,
                      .n_services = definition_services(definition)};
    struct building b = {.graph = &g, .scratch = BUF_INIT, .error = error};
    int rc = build(&b);
    if (rc)
        graph_release(&g);
    else
        *graph = g;
    return rc;
}

static int build_anew(struct graph *graph, struct cairn_error *error)
{
    struct graph g;
    int rc = graph_build(&g, graph->definition, error);
    if (rc)
        return rc;
    graph_release(graph);
    *graph = g;
    return 0;
}

int graph_extend(struct graph *graph, uint32_t from, struct cairn_error *error)
{
    const struct definition *d = graph->definition;
    struct graph before = *graph;
    struct graph g = {
        .definition = d, .n_services = before.n_services, .names = before.names};
    struct building b = {.graph = &g,
                         .before = &before,
                         .from = from,
                         .scratch = BUF_INIT,
                         .error = error};
    if (graph->n_parts || any_is_partial(d, from))
        return build_anew(graph, error);
    for (uint32_t i = from; i < d->n_defs; i++)
        g.n_services += task_def_is_service(&d->defs[i]) ? d->defs[i].members : 0;
    int rc = build(&b);
    struct graph *gone = rc ? &g : &before;
    graph->names = g.names;
    gone->names = ARENA_INIT;
    graph_release(gone);
    if (!rc)
        *graph = g;
    return rc;
}

bool graph_any_dependent(const struct graph *g, uint32_t node,
                         bool (*is)(const void *context, uint32_t dependent),
                         const void *context)
{
    for (uint32_t i = g->dependent_start[node]; i < g->dependent_start[node + 1]; i++) {
        uint32_t dependent = g->dependents[i];
        if (!graph_is_barrier(g, dependent) && is(context, dependent))
            return true;
        /* Those of a barrier are tasks. */
        for (uint32_t k = g->dependent_start[dependent];
             graph_is_barrier(g, dependent) && k < g->dependent_start[dependent + 1];
             k++)
            if (is(context, g->dependents[k]))
                return true;
    }
    return false;
}

/* One member, or part, that is needed is meant, even beside its whole group; with
 * several of them only the group can be. */
struct node_range graph_referred(const struct graph *g, uint32_t task, uint32_t def)
{
    const struct task_def *own = graph_def(g, task);
    uint32_t member = NODE_NONE, n = 0;
    for (uint32_t i = 0; i < own->n_needs; i++)
        if (own->needs[i].target == def && own->needs[i].n_bindings &&
            !own->needs[i].order) {
            member = g->needs[g->need_start[task] + i];
            n++;
        }
    if (n == 1 && graph_is_barrier(g, member)) {
        uint32_t first = g->need_start[member];
        return (struct node_range){.at = &g->needs[first],
                                   .n = g->need_start[member + 1] - first};
    }
    if (n == 1)
        return (struct node_range){.first = member, .n = 1, .one = true};
    return (struct node_range){.first = g->first[def],
                               .n = g->first[def + 1] - g->first[def],
                               .one = !g->definition->defs[def].n_foreach};
}
