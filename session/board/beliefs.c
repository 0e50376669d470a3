/* SPDX-License-Identifier: MIT */
/* Beliefs: what rests on what, what a change carries on to, and which of them cannot be
 * true together. */
#include "session/board/beliefs.h"

#include "session/board/confidence.h"

#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CASCADE_FACTOR 0.95 /* a level */

/* ==== The graph ==== */

/* Edges in both directions, sorted by counting; everything else is one search, breadth
 * first, so that a circle that is named is a shortest one. */

static const char *const kinds[] = {
    [DEPENDENCY_IMPLICATION] = "implication", [DEPENDENCY_CAUSE] = "cause",
    [DEPENDENCY_EVIDENCE] = "evidence",       [DEPENDENCY_DERIVATION] = "derivation",
    [DEPENDENCY_ASSUMPTION] = "assumption",   [DEPENDENCY_MEASUREMENT] = "measurement",
    [DEPENDENCY_CONTRADICTS] = "contradicts",
};

enum { N_KINDS = COUNT_OF(kinds) };

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
            return error_set(error, CAIRN_EUSAGE, "%d is not a kind of dependency",
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
        return error_set(error, CAIRN_EUSAGE, "%d is not a kind of dependency",
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

/* ==== What a change carries on to ==== */

/* Figures: forge-reasoning, impact/propagation.rs. */

static int check_confidences(const struct belief_graph *graph, const double *confidence,
                             struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < graph->n && !rc; i++)
        rc = confidence_check("a stored confidence", confidence[i], error);
    return rc;
}

static void fill_steps(const double *confidence, double changed,
                       const struct belief_list *reached, const uint32_t *depth,
                       struct cascade_step *steps)
{
    double value = changed;
    uint32_t level = 0;
    for (uint32_t i = 0; i < reached->n; i++) {
        for (; level < depth[i]; level++)
            value *= CASCADE_FACTOR;
        steps[i] = (struct cascade_step){
            .node = reached->at[i],
            .depth = depth[i],
            .before = confidence[reached->at[i]],
            .after = value > CASCADE_FLOOR ? value : CASCADE_FLOOR,
        };
    }
}

int belief_cascade(const struct belief_graph *graph, const double *confidence,
                   uint32_t node, double changed, struct cascade *cascade,
                   struct cairn_error *error)
{
    struct belief_list reached;
    uint32_t *depth;
    if (node >= graph->n)
        return error_set(error, CAIRN_ENOTFOUND, "there is no such belief");
    int rc = confidence_check("confidence", changed, error)
             ?: check_confidences(graph, confidence, error)
             ?: belief_reach(graph, node, BELIEF_DEPENDENTS, &reached, &depth, error);
    if (rc)
        return rc;
    if (reached.n >= CASCADE_MOST) {
        rc = error_set(error, CAIRN_ELIMIT,
                       "this would change %u beliefs, and %d at once are the limit; "
                       "remove dependencies between some of them first",
                       reached.n + 1, CASCADE_MOST);
        free(reached.at);
        free(depth);
        return rc;
    }
    struct cascade_step *steps = malloc(((size_t)reached.n + 1) * sizeof *steps);
    if (!steps) {
        free(reached.at);
        free(depth);
        return error_nomem(error);
    }
    steps[0] = (struct cascade_step){node, 0, confidence[node], changed};
    fill_steps(confidence, changed, &reached, depth, steps + 1);
    cascade->steps = steps;
    cascade->n = reached.n + 1;
    free(reached.at);
    free(depth);
    return 0;
}

void cascade_release(struct cascade *cascade)
{
    free(cascade->steps);
    *cascade = (struct cascade){0};
}

bool cascade_equal(const struct cascade *a, const struct cascade *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct cascade_step *x = &a->steps[i], *y = &b->steps[i];
        if (x->node != y->node || x->depth != y->depth || x->before != y->before ||
            x->after != y->after)
            return false;
    }
    return true;
}

int cascade_page(const struct cascade *cascade, uint32_t page, struct cascade_page *out,
                 struct cairn_error *error)
{
    uint32_t pages = (cascade->n + CASCADE_PAGE - 1) / CASCADE_PAGE;
    if (page < 1 || page > pages)
        return error_set(error, CAIRN_EUSAGE,
                         "there is no page %u; the pages are 1 to %u", page, pages);
    uint32_t first = (page - 1) * CASCADE_PAGE, left = cascade->n - first;
    *out = (struct cascade_page){
        .steps = cascade->steps + first,
        .n = left < CASCADE_PAGE ? left : CASCADE_PAGE,
        .page = page,
        .pages = pages,
    };
    return 0;
}

/* ==== Contradictions ==== */

/* Claims are sorted by subject and claim, so that what affirms one stands before what
 * denies it; pairs that edges name are sorted, too. Then each belief in turn merges the
 * two ascending rows of its opponents. */

struct claim {
    const struct belief *belief;
    uint32_t node;
};

struct pair {
    uint32_t a, b;
};

/* Sorted claims of beliefs that are believed; opponents[i] of a belief is a row in it.
 */
struct row {
    uint32_t start, end;
};

struct finding {
    const struct belief_board *board;
    uint32_t only;
    struct claim *claims;
    uint32_t n_claims;
    struct row *opponents; /* by belief */
    struct pair *pairs;
    size_t n_pairs;
};

static bool is_believed(const struct belief_board *board, uint32_t node)
{
    return confidence_above(board->beliefs[node].confidence, CONFIDENCE_BELIEVED);
}

static int by_claim(const void *left, const void *right)
{
    const struct claim *x = left, *y = right;
    int order = str_compare(x->belief->subject, y->belief->subject)
                    ?: str_compare(x->belief->claim, y->belief->claim);
    if (!order)
        order = x->belief->denied - y->belief->denied;
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int by_pair(const void *left, const void *right)
{
    const struct pair *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool same_claim(const struct belief *x, const struct belief *y)
{
    return str_equal(x->subject, y->subject) && str_equal(x->claim, y->claim);
}

static void sort_claims(struct finding *f)
{
    for (uint32_t i = 0; i < f->board->n; i++)
        if (is_believed(f->board, i) && f->board->beliefs[i].subject.len)
            f->claims[f->n_claims++] = (struct claim){&f->board->beliefs[i], i};
    if (f->n_claims)
        qsort(f->claims, f->n_claims, sizeof *f->claims, by_claim);
    for (uint32_t start = 0, end; start < f->n_claims; start = end) {
        uint32_t denied = start;
        for (end = start; end < f->n_claims &&
                          same_claim(f->claims[end].belief, f->claims[start].belief);
             end++)
            denied += !f->claims[end].belief->denied;
        for (uint32_t i = start; i < end; i++)
            f->opponents[f->claims[i].node] =
                i < denied ? (struct row){denied, end} : (struct row){start, denied};
    }
}

static void sort_pairs(struct finding *f)
{
    const struct belief_board *board = f->board;
    size_t kept = 0;
    for (size_t i = 0; i < board->n_edges; i++) {
        const struct dependency *edge = &board->edges[i];
        bool ordered = edge->from < edge->to;
        if (edge->kind == DEPENDENCY_CONTRADICTS && edge->from != edge->to &&
            is_believed(board, edge->from) && is_believed(board, edge->to))
            f->pairs[f->n_pairs++] = (struct pair){ordered ? edge->from : edge->to,
                                                   ordered ? edge->to : edge->from};
    }
    if (f->n_pairs)
        qsort(f->pairs, f->n_pairs, sizeof *f->pairs, by_pair);
    for (size_t i = 0; i < f->n_pairs; i++)
        if (kept == 0 || by_pair(&f->pairs[kept - 1], &f->pairs[i]) != 0)
            f->pairs[kept++] = f->pairs[i];
    f->n_pairs = kept;
}

static int add_pair(struct finding *f, struct contradiction found, size_t *capacity,
                    struct contradictions *out)
{
    if (f->only != BELIEF_ANY && found.a != f->only && found.b != f->only)
        return 0;
    out->total++;
    if (out->n == CONTRADICTIONS_MOST)
        return 0;
    struct contradiction *at = array_room(out->at, out->n, capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    out->at = at;
    out->at[out->n++] = found;
    return 0;
}

/* The opponents of each belief that have higher numbers. */
static int merge_rows(struct finding *f, struct contradictions *out)
{
    size_t capacity = 0, pair = 0;
    int rc = 0;
    for (uint32_t a = 0; a < f->board->n && !rc; a++) {
        struct row row = f->opponents[a];
        while (row.start < row.end && f->claims[row.start].node <= a)
            row.start++;
        for (;;) {
            bool has_claim = row.start < row.end;
            bool has_pair = pair < f->n_pairs && f->pairs[pair].a == a;
            if (rc || (!has_claim && !has_pair))
                break;
            uint32_t claim = has_claim ? f->claims[row.start].node : UINT32_MAX;
            uint32_t named = has_pair ? f->pairs[pair].b : UINT32_MAX;
            struct contradiction found = {a, claim < named ? claim : named,
                                          claim <= named};
            row.start += claim == found.b;
            pair += named == found.b;
            rc = add_pair(f, found, &capacity, out);
        }
    }
    return rc;
}

static int check_board(const struct belief_board *board, uint32_t only,
                       struct cairn_error *error)
{
    int rc = 0;
    if (only != BELIEF_ANY && only >= board->n)
        return error_set(error, CAIRN_ENOTFOUND, "there is no such belief");
    for (uint32_t i = 0; i < board->n && !rc; i++)
        rc = confidence_check("a stored confidence", board->beliefs[i].confidence,
                              error);
    for (size_t i = 0; i < board->n_edges && !rc; i++)
        if (board->edges[i].from >= board->n || board->edges[i].to >= board->n)
            rc = error_set(error, CAIRN_EUSAGE,
                           "dependency %zu is of a belief that is not there", i);
    return rc;
}

int belief_contradictions(const struct belief_board *board, uint32_t only,
                          struct contradictions *out, struct cairn_error *error)
{
    struct finding f = {.board = board, .only = only};
    struct contradictions made = {0};
    int rc = check_board(board, only, error);
    if (rc)
        return rc;
    f.claims = malloc(((size_t)board->n + 1) * sizeof *f.claims);
    f.opponents = calloc((size_t)board->n + 1, sizeof *f.opponents);
    f.pairs = malloc((board->n_edges + 1) * sizeof *f.pairs);
    rc = CAIRN_ENOMEM;
    if (f.claims && f.opponents && f.pairs) {
        sort_claims(&f);
        sort_pairs(&f);
        rc = merge_rows(&f, &made);
    }
    free(f.claims);
    free(f.opponents);
    free(f.pairs);
    if (rc) {
        free(made.at);
        return error_nomem(error);
    }
    *out = made;
    return 0;
}
