/* SPDX-License-Identifier: MIT */
/* Edges in both directions, sorted by counting; everything else is one search, breadth
 * first, so that a circle that is named is a shortest one. */
#include "session/board/beliefs.h"

#include "base/utf8.h"

#include <stdlib.h>

static const char *const kinds[] = {
    [DEPENDENCY_IMPLICATION] = "implication", [DEPENDENCY_CAUSE] = "cause",
    [DEPENDENCY_EVIDENCE] = "evidence",       [DEPENDENCY_DERIVATION] = "derivation",
    [DEPENDENCY_ASSUMPTION] = "assumption",   [DEPENDENCY_MEASUREMENT] = "measurement",
    [DEPENDENCY_CONTRADICTS] = "contradicts",
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const char *dependency_kind_name(enum dependency_kind kind)
{
    return (unsigned)kind < N_KINDS ? kinds[kind] : NULL;
}

int dependency_kind_parse(struct str name, enum dependency_kind *kind,
                          struct cairn_error *error)
{
    for (unsigned i = DEPENDENCY_IMPLICATION; i < N_KINDS; i++)
        if (str_equal(name, str_of(kinds[i]))) {
            *kind = (enum dependency_kind)i;
            return 0;
        }
    return error_set(error, CAIRN_EUSAGE,
                     "there is no dependency of kind '%.*s'; take implication, cause, "
                     "evidence, derivation, assumption, measurement or contradicts",
                     (int)utf8_fit(name, 80), name.ptr);
}

static bool is_dependency(const struct dependency *edge)
{
    return edge->kind != DEPENDENCY_CONTRADICTS;
}

/* ---- The graph ---- */

/* ends[start[i]] up to ends[start[i + 1]]: what depends on i, in no order and perhaps
 * more than once. start has n + 1 entries, ends one per edge. */
static void gather_dependents(uint32_t n, const struct dependency *edges,
                              size_t n_edges, uint32_t *start, uint32_t *ends)
{
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (size_t i = 0; i < n_edges; i++)
        if (is_dependency(&edges[i]))
            start[edges[i].to + 1]++;
    for (uint32_t i = 0; i < n; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < n_edges; i++)
        if (is_dependency(&edges[i]))
            ends[start[edges[i].to]++] = edges[i].from;
    memmove(start + 1, start, n * sizeof *start);
    start[0] = 0;
}

/* The same edges the other way round. Nodes are visited in ascending order, so the ends
 * come out ascending, and equal ones side by side, of which one stays. */
static void mirror(uint32_t n, const uint32_t *start, const uint32_t *ends,
                   uint32_t *other_start, uint32_t *other_ends)
{
    memset(other_start, 0, ((size_t)n + 1) * sizeof *other_start);
    for (uint32_t e = 0; e < start[n]; e++)
        other_start[ends[e] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        other_start[i + 1] += other_start[i];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = start[i]; e < start[i + 1]; e++)
            other_ends[other_start[ends[e]]++] = i;
    memmove(other_start + 1, other_start, n * sizeof *other_start);
    other_start[0] = 0;
}

static void drop_repeated(uint32_t n, uint32_t *start, uint32_t *ends)
{
    uint32_t kept = 0, from = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = kept, end = start[i + 1];
        for (uint32_t e = from; e < end; e++)
            if (kept == first || ends[kept - 1] != ends[e])
                ends[kept++] = ends[e];
        from = end;
        start[i] = first;
    }
    start[n] = kept;
}

static int check_edges(uint32_t n, const struct dependency *edges, size_t n_edges,
                       struct cairn_error *error)
{
    if (n == UINT32_MAX || n_edges >= UINT32_MAX)
        return error_set(error, CAIRN_ELIMIT, "too many beliefs or dependencies");
    for (size_t i = 0; i < n_edges; i++) {
        if (edges[i].from >= n || edges[i].to >= n)
            return error_set(error, CAIRN_EUSAGE,
                             "dependency %zu is of a belief that is not there", i);
        if (!dependency_kind_name(edges[i].kind))
            return error_set(error, CAIRN_EUSAGE, "%d is no kind of dependency",
                             (int)edges[i].kind);
    }
    return 0;
}

int belief_graph_init(struct belief_graph *graph, uint32_t n,
                      const struct dependency *edges, size_t n_edges,
                      struct cairn_error *error)
{
    struct belief_graph made = {.n = n};
    int rc = check_edges(n, edges, n_edges, error);
    if (rc)
        return rc;
    made.need_start = malloc(((size_t)n + 1) * sizeof *made.need_start);
    made.needs = calloc(n_edges + 1, sizeof *made.needs);
    made.dependent_start = malloc(((size_t)n + 1) * sizeof *made.dependent_start);
    made.dependents = calloc(n_edges + 1, sizeof *made.dependents);
    if (!made.need_start || !made.needs || !made.dependent_start || !made.dependents) {
        belief_graph_release(&made);
        return error_nomem(error);
    }
    gather_dependents(n, edges, n_edges, made.dependent_start, made.dependents);
    mirror(n, made.dependent_start, made.dependents, made.need_start, made.needs);
    drop_repeated(n, made.need_start, made.needs);
    mirror(n, made.need_start, made.needs, made.dependent_start, made.dependents);
    *graph = made;
    return 0;
}

void belief_graph_release(struct belief_graph *graph)
{
    free(graph->need_start);
    free(graph->needs);
    free(graph->dependent_start);
    free(graph->dependents);
    *graph = (struct belief_graph){0};
}

struct belief_span belief_direct(const struct belief_graph *graph, uint32_t node,
                                 enum belief_direction direction)
{
    const uint32_t *start =
        direction == BELIEF_NEEDS ? graph->need_start : graph->dependent_start;
    const uint32_t *ends = direction == BELIEF_NEEDS ? graph->needs : graph->dependents;
    return (struct belief_span){ends + start[node], start[node + 1] - start[node]};
}

/* ---- Searching ---- */

#define NOT_SEEN UINT32_MAX

/* order: the nodes in the order of their distance, `first` among them.
 * from[node]: the node from which it was found, itself for `first`, or NOT_SEEN. */
struct search {
    uint32_t *order, *from, n;
};

static void search_release(struct search *search)
{
    free(search->order);
    free(search->from);
}

/* Stops when it has found `wanted`, which may be NOT_SEEN. */
static int search_from(const struct belief_graph *graph, uint32_t first,
                       uint32_t wanted, enum belief_direction direction,
                       struct search *search, struct cairn_error *error)
{
    search->n = 0;
    search->order = malloc(((size_t)graph->n + 1) * sizeof *search->order);
    search->from = malloc(((size_t)graph->n + 1) * sizeof *search->from);
    if (!search->order || !search->from) {
        search_release(search);
        return error_nomem(error);
    }
    memset(search->from, 0xff, graph->n * sizeof *search->from);
    search->order[search->n++] = first;
    search->from[first] = first;
    for (uint32_t i = 0; i < search->n; i++) {
        struct belief_span next = belief_direct(graph, search->order[i], direction);
        if (search->order[i] == wanted)
            break;
        for (uint32_t e = 0; e < next.n; e++)
            if (search->from[next.at[e]] == NOT_SEEN) {
                search->from[next.at[e]] = search->order[i];
                search->order[search->n++] = next.at[e];
            }
    }
    return 0;
}

int belief_reach(const struct belief_graph *graph, uint32_t node,
                 enum belief_direction direction, struct belief_list *reached,
                 uint32_t **depth, struct cairn_error *error)
{
    struct search search;
    int rc = search_from(graph, node, NOT_SEEN, direction, &search, error);
    if (rc)
        return rc;
    if (depth) {
        /* The depth of each node goes where it was found from, which is not needed any
         * more once all that was found from it has its own. */
        uint32_t *depths = malloc(((size_t)graph->n + 1) * sizeof *depths);
        uint32_t *by_place = malloc((size_t)search.n * sizeof *by_place);
        if (!depths || !by_place) {
            free(depths);
            free(by_place);
            search_release(&search);
            return error_nomem(error);
        }
        depths[node] = 0;
        for (uint32_t i = 1; i < search.n; i++)
            depths[search.order[i]] = by_place[i - 1] =
                depths[search.from[search.order[i]]] + 1;
        free(depths);
        *depth = by_place;
    }
    memmove(search.order, search.order + 1, (search.n - 1) * sizeof *search.order);
    *reached = (struct belief_list){search.order, search.n - 1};
    free(search.from);
    return 0;
}

/* ---- Circles ---- */

static void describe_cycle(const struct str *ids, const struct belief_list *cycle,
                           struct buf *out)
{
    enum { ROOM = 700 }; /* with the id that comes once more, it fits into an error */
    for (uint32_t i = 0; i < cycle->n; i++) {
        struct str id = ids[cycle->at[i]];
        if (out->size + id.len > ROOM) {
            buf_format(out, "... (%u more) -> ", cycle->n - i);
            break;
        }
        buf_str(out, id);
        buf_text(out, " -> ");
    }
    buf_str(out, ids[cycle->at[0]]);
}

static int refuse_cycle(const struct str *ids, const struct belief_list *cycle,
                        struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    describe_cycle(ids, cycle, &text);
    error_set(
        error, CAIRN_EUSAGE,
        "these beliefs would rest on each other in a circle (a -> b: a depends "
        "on b):\n  %s\nleave this dependency out, or remove another of them first",
        text.failed ? "" : text.data);
    buf_release(&text);
    return CAIRN_EUSAGE;
}

static int check_new_edge(const struct belief_graph *graph, struct dependency edge,
                          struct cairn_error *error)
{
    if (edge.from >= graph->n || edge.to >= graph->n)
        return error_set(error, CAIRN_EUSAGE,
                         "a dependency needs two beliefs that are there");
    if (!dependency_kind_name(edge.kind))
        return error_set(error, CAIRN_EUSAGE, "%d is no kind of dependency",
                         (int)edge.kind);
    return 0;
}

int belief_cycle(const struct belief_graph *graph, const struct str *ids,
                 struct dependency edge, struct belief_list *cycle,
                 struct cairn_error *error)
{
    struct search search;
    int rc = check_new_edge(graph, edge, error);
    if (rc)
        return rc;
    if (edge.kind == DEPENDENCY_CONTRADICTS) {
        if (edge.from != edge.to)
            return 0;
        return error_set(error, CAIRN_EUSAGE, "%.*s cannot contradict itself",
                         (int)utf8_fit(ids[edge.from], 80), ids[edge.from].ptr);
    }
    /* From `from` up to what depends on it: found back from `to`, the way is in the
     * order in which people read it. */
    rc = search_from(graph, edge.from, edge.to, BELIEF_DEPENDENTS, &search, error);
    if (rc)
        return rc;
    if (search.from[edge.to] == NOT_SEEN) {
        search_release(&search);
        return 0;
    }
    struct belief_list found = {search.order, 0};
    found.at[found.n++] = edge.from;
    for (uint32_t node = edge.to; node != edge.from; node = search.from[node])
        found.at[found.n++] = node;
    free(search.from);
    rc = refuse_cycle(ids, &found, error);
    *cycle = found;
    return rc;
}
