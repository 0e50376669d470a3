/* SPDX-License-Identifier: MIT */
/* A point is a node or a bend: a place that an edge over several layers takes in each
 * of those between. So all pieces of edges go from one layer to the next. */
#include "web/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 16, PASSES = 12 };
#define BEND_ROOM 0.4f

struct segment {
    uint32_t from, to; /* points */
};

struct drawing {
    struct layout *layout;
    uint32_t n; /* points: nodes, then bends */
    uint32_t *layer;
    float *row, *wanted;
    struct segment *pieces;
    uint32_t n_pieces;
    uint32_t *before, *behind; /* [n + 1] where the neighbours of a point begin ... */
    uint32_t *left, *right;    /* ... in these: points */
    uint32_t *order;           /* points by layer and row */
    uint32_t *first;           /* [layers + 1] in order */
    float *sorted;             /* [n] room for medians */
};

/* ---- Layers ---- */

static uint32_t begin_of(const struct layout_edge *edge)
{
    return edge->back ? edge->to : edge->from;
}

static uint32_t end_of(const struct layout_edge *edge)
{
    return edge->back ? edge->from : edge->to;
}

/* Lists of numbers by key, as in a sparse matrix: those of k are list[at[k]] up to
 * at[k + 1]. `keys` and `values` have n elements. */
static void sort_by_key(uint32_t *at, uint32_t n_keys, uint32_t *list,
                        const uint32_t *keys, const uint32_t *values, uint32_t n)
{
    memset(at, 0, ((size_t)n_keys + 1) * sizeof *at);
    for (uint32_t i = 0; i < n; i++)
        at[keys[i] + 1]++;
    for (uint32_t k = 0; k < n_keys; k++)
        at[k + 1] += at[k];
    for (uint32_t i = 0; i < n; i++)
        list[at[keys[i]]++] = values[i];
    for (uint32_t k = n_keys; k > 0; k--)
        at[k] = at[k - 1];
    at[0] = 0;
}

struct layering {
    uint32_t *at, *out, *wait, *queue, *keys, *values;
};

static void layering_release(struct layering *l)
{
    free(l->at);
    free(l->out);
    free(l->wait);
    free(l->queue);
    free(l->keys);
    free(l->values);
}

/* Kahn's order gives the longest paths. Where nothing is free, a circle is cut: the
 * first node that is left is taken, and what it waits for is drawn backwards. */
static void walk(struct layering *l, struct layout *layout)
{
    uint32_t head = 0, tail = 0, next = 0;
    for (uint32_t i = 0; i < layout->n; i++)
        if (l->wait[i] == 0)
            l->queue[tail++] = i;
    while (head < layout->n) {
        if (head == tail) {
            while (l->wait[next] == 0)
                next++;
            l->wait[next] = 0;
            l->queue[tail++] = next;
        }
        uint32_t node = l->queue[head++];
        for (uint32_t k = l->at[node]; k < l->at[node + 1]; k++) {
            struct layout_edge *edge = &layout->edges[l->out[k]];
            struct layout_place *to = &layout->nodes[edge->to];
            if (l->wait[edge->to] == 0) { /* it was taken out of turn */
                edge->back = true;
                continue;
            }
            if (to->layer <= layout->nodes[node].layer)
                to->layer = layout->nodes[node].layer + 1;
            if (--l->wait[edge->to] == 0)
                l->queue[tail++] = edge->to;
        }
    }
}

static int find_layers(struct layout *layout, struct cairn_error *error)
{
    size_t nodes = (size_t)layout->n + 1, edges = (size_t)layout->n_edges + 1;
    struct layering l = {.at = calloc(nodes, sizeof *l.at),
                         .out = calloc(edges, sizeof *l.out),
                         .wait = calloc(nodes, sizeof *l.wait),
                         .queue = calloc(nodes, sizeof *l.queue),
                         .keys = calloc(edges, sizeof *l.keys),
                         .values = calloc(edges, sizeof *l.values)};
    bool room = l.at && l.out && l.wait && l.queue && l.keys && l.values;
    for (uint32_t i = 0; room && i < layout->n_edges; i++) {
        l.keys[i] = layout->edges[i].from;
        l.values[i] = i;
        l.wait[layout->edges[i].to]++;
    }
    if (room) {
        sort_by_key(l.at, layout->n, l.out, l.keys, l.values, layout->n_edges);
        walk(&l, layout);
    }
    for (uint32_t i = 0; i < layout->n; i++)
        if (layout->nodes[i].layer >= layout->layers)
            layout->layers = layout->nodes[i].layer + 1;
    layering_release(&l);
    return room ? 0 : error_nomem(error);
}

/* ---- Points ---- */

/* How many bends an edge has; with `most` less than all of them those that are longer
 * have none. */
static uint32_t bends_of(const struct layout *layout, const struct layout_edge *edge,
                         uint32_t most)
{
    uint32_t from = layout->nodes[begin_of(edge)].layer;
    uint32_t to = layout->nodes[end_of(edge)].layer;
    uint32_t n = to > from ? to - from - 1 : 0;
    return n <= most ? n : 0;
}

static uint32_t all_bends(const struct layout *layout, uint32_t most)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < layout->n_edges; i++)
        n += bends_of(layout, &layout->edges[i], most);
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void add_pieces(struct drawing *d, struct layout_edge *edge, uint32_t bends)
{
    uint32_t from = begin_of(edge), to = end_of(edge), layer = d->layer[from];
    edge->bend = d->n - d->layout->n;
    edge->n_bends = bends;
    for (uint32_t k = 0; k < bends; k++) {
        d->layer[d->n] = layer + k + 1;
        d->pieces[d->n_pieces++] = (struct segment){from, d->n};
        from = d->n++;
    }
    if (d->layer[to] == d->layer[from] + 1)
        d->pieces[d->n_pieces++] = (struct segment){from, to};
}

static int make_points(struct drawing *d, struct cairn_error *error)
{
    struct layout *layout = d->layout;
    uint32_t most = UINT32_MAX;
    for (most = layout->layers; all_bends(layout, most) > LAYOUT_BENDS_MAX;)
        most /= 2;
    size_t points = (size_t)layout->n + all_bends(layout, most) + 1;
    size_t pieces = points + layout->n_edges;
    d->layer = calloc(points, sizeof *d->layer);
    d->row = calloc(points, sizeof *d->row);
    d->wanted = calloc(points, sizeof *d->wanted);
    d->sorted = calloc(pieces, sizeof *d->sorted);
    d->pieces = calloc(pieces, sizeof *d->pieces);
    d->before = calloc(points + 1, sizeof *d->before);
    d->behind = calloc(points + 1, sizeof *d->behind);
    d->left = calloc(pieces, sizeof *d->left);
    d->right = calloc(pieces, sizeof *d->right);
    d->order = calloc(points, sizeof *d->order);
    d->first = calloc((size_t)layout->layers + 2, sizeof *d->first);
    if (!d->layer || !d->row || !d->wanted || !d->sorted || !d->pieces || !d->before ||
        !d->behind || !d->left || !d->right || !d->order || !d->first)
        return error_nomem(error);
    d->n = layout->n;
    for (uint32_t i = 0; i < layout->n; i++)
        d->layer[i] = layout->nodes[i].layer;
    for (uint32_t i = 0; i < layout->n_edges; i++)
        add_pieces(d, &layout->edges[i], bends_of(layout, &layout->edges[i], most));
    return 0;
}

static int find_neighbours(struct drawing *d, struct cairn_error *error)
{
    uint32_t *from = calloc((size_t)d->n_pieces + d->n + 1, sizeof *from);
    uint32_t *to = calloc((size_t)d->n_pieces + d->n + 1, sizeof *to);
    if (from && to) {
        for (uint32_t i = 0; i < d->n_pieces; i++) {
            from[i] = d->pieces[i].from;
            to[i] = d->pieces[i].to;
        }
        sort_by_key(d->before, d->n, d->left, to, from, d->n_pieces);
        sort_by_key(d->behind, d->n, d->right, from, to, d->n_pieces);
        for (uint32_t i = 0; i < d->n; i++)
            from[i] = i;
        sort_by_key(d->first, d->layout->layers, d->order, d->layer, from, d->n);
    }
    free(from);
    free(to);
    return from && to ? 0 : error_nomem(error);
}

/* ---- Rows ---- */

static int by_value(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

/* Of the rows of its neighbours; its own row where it has none. */
static float median(struct drawing *d, uint32_t point, bool forwards)
{
    const uint32_t *at = forwards ? d->before : d->behind;
    const uint32_t *list = forwards ? d->left : d->right;
    uint32_t n = at[point + 1] - at[point];
    if (n == 0)
        return d->row[point];
    for (uint32_t k = 0; k < n; k++)
        d->sorted[k] = d->row[list[at[point] + k]];
    qsort(d->sorted, n, sizeof *d->sorted, by_value);
    return n % 2 ? d->sorted[n / 2] : (d->sorted[n / 2 - 1] + d->sorted[n / 2]) / 2;
}

struct ranked {
    float wanted, row;
    uint32_t point;
};

static int by_wish(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->wanted != b->wanted)
        return a->wanted < b->wanted ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void sort_layer(struct drawing *d, uint32_t layer, bool forwards,
                       struct ranked *room)
{
    uint32_t *points = d->order + d->first[layer];
    uint32_t n = d->first[layer + 1] - d->first[layer];
    for (uint32_t i = 0; i < n; i++)
        room[i] = (struct ranked){median(d, points[i], forwards), d->row[points[i]],
                                  points[i]};
    qsort(room, n, sizeof *room, by_wish);
    for (uint32_t i = 0; i < n; i++) {
        points[i] = room[i].point;
        d->row[points[i]] = (float)i;
    }
}

static int find_order(struct drawing *d, struct cairn_error *error)
{
    uint32_t layers = d->layout->layers;
    struct ranked *room = calloc((size_t)d->n + 1, sizeof *room);
    if (!room)
        return error_nomem(error);
    for (uint32_t layer = 0; layer < layers; layer++)
        for (uint32_t i = d->first[layer]; i < d->first[layer + 1]; i++)
            d->row[d->order[i]] = (float)(i - d->first[layer]);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t k = 0; k < layers; k++)
            sort_layer(d, sweep % 2 ? layers - 1 - k : k, sweep % 2 == 0, room);
    free(room);
    return 0;
}

static float room_of(const struct drawing *d, uint32_t point)
{
    return point < d->layout->n ? 1 : BEND_ROOM;
}

/* How far apart the middles of two that stand beside each other are. */
static float gap(const struct drawing *d, uint32_t a, uint32_t b)
{
    return (room_of(d, a) + room_of(d, b)) / 2;
}

static float mean_of_neighbours(const struct drawing *d, uint32_t point)
{
    float sum = 0;
    uint32_t n = 0;
    for (uint32_t k = d->before[point]; k < d->before[point + 1]; k++, n++)
        sum += d->row[d->left[k]];
    for (uint32_t k = d->behind[point]; k < d->behind[point + 1]; k++, n++)
        sum += d->row[d->right[k]];
    return n ? sum / (float)n : d->row[point];
}

/* Moves each point of a layer towards its neighbours, in the order that they have: once
 * pushed down by those above, then back up to where it wants to be, then apart. */
static void straighten(struct drawing *d, uint32_t layer)
{
    const uint32_t *points = d->order + d->first[layer];
    uint32_t n = d->first[layer + 1] - d->first[layer];
    float least = -1e30f, most = 1e30f;
    for (uint32_t i = 0; i < n; i++)
        d->wanted[i] = mean_of_neighbours(d, points[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            least = d->row[points[i - 1]] + gap(d, points[i - 1], points[i]);
        d->row[points[i]] = fmaxf(d->wanted[i], least);
    }
    for (uint32_t i = n; i-- > 0;) {
        if (i + 1 < n)
            most = d->row[points[i + 1]] - gap(d, points[i], points[i + 1]);
        d->row[points[i]] = fminf((d->row[points[i]] + d->wanted[i]) / 2, most);
    }
    for (uint32_t i = 1; i < n; i++)
        d->row[points[i]] =
            fmaxf(d->row[points[i]],
                  d->row[points[i - 1]] + gap(d, points[i - 1], points[i]));
}

static void find_rows(struct drawing *d)
{
    uint32_t layers = d->layout->layers;
    for (uint32_t layer = 0; layer < layers; layer++)
        for (uint32_t i = d->first[layer] + 1; i < d->first[layer + 1]; i++)
            d->row[d->order[i]] =
                d->row[d->order[i - 1]] + gap(d, d->order[i - 1], d->order[i]);
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t k = 0; k < layers; k++)
            straighten(d, pass % 2 ? layers - 1 - k : k);
}

/* ---- The layout ---- */

static int take_places(struct drawing *d, struct cairn_error *error)
{
    struct layout *layout = d->layout;
    float least = 1e30f;
    layout->n_bends = d->n - layout->n;
    layout->bends = calloc((size_t)layout->n_bends + 1, sizeof *layout->bends);
    if (!layout->bends)
        return error_nomem(error);
    for (uint32_t i = 0; i < d->n; i++)
        least = fminf(least, d->row[i]);
    for (uint32_t i = 0; i < d->n; i++) {
        struct layout_place *place =
            i < layout->n ? &layout->nodes[i] : &layout->bends[i - layout->n];
        *place = (struct layout_place){d->layer[i], d->row[i] - least};
        layout->rows = fmaxf(layout->rows, place->row);
    }
    return 0;
}

int layout_make(struct layout *layout, uint32_t n, struct layout_edge *edges,
                uint32_t n_edges, struct cairn_error *error)
{
    struct drawing d = {.layout = layout};
    *layout = (struct layout){.n = n, .edges = edges, .n_edges = n_edges};
    layout->nodes = calloc((size_t)n + 1, sizeof *layout->nodes);
    int rc = layout->nodes ? find_layers(layout, error) : error_nomem(error);
    if (rc == 0)
        rc = make_points(&d, error);
    if (rc == 0)
        rc = find_neighbours(&d, error);
    if (rc == 0)
        rc = find_order(&d, error);
    if (rc == 0) {
        find_rows(&d);
        rc = take_places(&d, error);
    }
    free(d.layer);
    free(d.row);
    free(d.wanted);
    free(d.sorted);
    free(d.pieces);
    free(d.before);
    free(d.behind);
    free(d.left);
    free(d.right);
    free(d.order);
    free(d.first);
    return rc;
}

void layout_release(struct layout *layout)
{
    free(layout->edges);
    free(layout->nodes);
    free(layout->bends);
    *layout = (struct layout){0};
}
