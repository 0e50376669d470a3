/* SPDX-License-Identifier: MIT */
/* A box is a part of both rows: a point (x, y) in it stands before item x of `a` and
 * item y of `b`, and lies on the diagonal x - y. A path leads from the corner where
 * both parts begin to that where they end: right (an item of `a` goes), down (one of
 * `b` comes), or along a diagonal where the items are equal. In round c, `forward[d]`
 * is the furthest x on diagonal d that c steps right or down lead to from the first
 * corner, `backward[d]` the least x from which c such steps lead to the last. Where
 * these two meet, the box is divided into two, each with half of the steps. */
#include "snapshot/text/script_int.h"

/* That wait: of two parts the larger waits, so each is at most half of the next. */
enum { BOXES_MOST = 40 };

struct box {
    int32_t a, a_end, b, b_end;
};

struct point {
    int32_t x, y;
};

struct search {
    const uint32_t *a, *b;
    int32_t *forward, *backward; /* by diagonal, which may be negative */
    int32_t rounds_most;
    struct box box;
    int32_t low, high;   /* diagonals of the box */
    int32_t first, last; /* those of its corners */
};

/* Diagonals that a round reaches from one corner are every second one of these. */
struct reach {
    int32_t low, high;
};

static struct reach reach_of(const struct search *s, int32_t corner, int32_t round)
{
    struct reach reach = {corner - round, corner + round};
    if (reach.low < s->low)
        reach.low += (s->low - reach.low + 1) / 2 * 2;
    if (reach.high > s->high)
        reach.high -= (reach.high - s->high + 1) / 2 * 2;
    return reach;
}

static bool is_inside(const struct box *box, int32_t x, int32_t y)
{
    return x >= box->a && x <= box->a_end && y >= box->b && y <= box->b_end;
}

/* May diagonal d be reached from the one below it, d - 1, in this round? */
static bool has_below(const struct search *s, int32_t corner, int32_t round, int32_t d)
{
    return d > s->low && d > corner - round;
}

static bool has_above(const struct search *s, int32_t corner, int32_t round, int32_t d)
{
    return d < s->high && d < corner + round;
}

/* One round from the first corner. True: it meets the rounds from the last. */
static bool go_forward(struct search *s, int32_t round, struct point *met)
{
    struct reach reach = reach_of(s, s->first, round);
    struct reach other = reach_of(s, s->last, round - 1);
    bool may_meet = (s->last - s->first) % 2 != 0;
    for (int32_t d = reach.low; d <= reach.high; d += 2) {
        int32_t x = INT32_MIN;
        if (has_below(s, s->first, round, d))
            x = s->forward[d - 1] + 1;
        if (has_above(s, s->first, round, d) && s->forward[d + 1] > x)
            x = s->forward[d + 1];
        while (x < s->box.a_end && x - d < s->box.b_end && s->a[x] == s->b[x - d])
            x++;
        s->forward[d] = x;
        if (may_meet && d >= other.low && d <= other.high && x >= s->backward[d] &&
            is_inside(&s->box, x, x - d)) {
            *met = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

static bool go_backward(struct search *s, int32_t round, struct point *met)
{
    struct reach reach = reach_of(s, s->last, round);
    struct reach other = reach_of(s, s->first, round);
    bool may_meet = (s->last - s->first) % 2 == 0;
    for (int32_t d = reach.low; d <= reach.high; d += 2) {
        int32_t x = INT32_MAX;
        if (has_above(s, s->last, round, d))
            x = s->backward[d + 1] - 1;
        if (has_below(s, s->last, round, d) && s->backward[d - 1] < x)
            x = s->backward[d - 1];
        while (x > s->box.a && x - d > s->box.b && s->a[x - 1] == s->b[x - d - 1])
            x--;
        s->backward[d] = x;
        if (may_meet && d >= other.low && d <= other.high && x <= s->forward[d] &&
            is_inside(&s->box, x, x - d)) {
            *met = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

/* How far a point is from a corner of the box. */
static int32_t way(int32_t x, int32_t y, int32_t a, int32_t b)
{
    return x > a || y > b ? x - a + (y - b) : a - x + (b - y);
}

/* The point that is furthest from the corner from which it was reached. */
static struct point furthest(const struct search *s, int32_t round)
{
    const struct box *box = &s->box;
    struct reach from_first = reach_of(s, s->first, round);
    struct reach from_last = reach_of(s, s->last, round);
    struct point best = {box->a, box->b};
    int32_t most = 0;
    for (int32_t d = from_first.low; d <= from_first.high; d += 2) {
        int32_t x = s->forward[d];
        if (is_inside(box, x, x - d) && way(x, x - d, box->a, box->b) > most) {
            best = (struct point){x, x - d};
            most = way(x, x - d, box->a, box->b);
        }
    }
    for (int32_t d = from_last.low; d <= from_last.high; d += 2) {
        int32_t x = s->backward[d];
        if (is_inside(box, x, x - d) && way(x, x - d, box->a_end, box->b_end) > most) {
            best = (struct point){x, x - d};
            most = way(x, x - d, box->a_end, box->b_end);
        }
    }
    return best;
}

/* Where to divide the box, in which both rows have items and neither the first nor the
 * last two are equal. */
static struct point dividing_point(struct search *s)
{
    const struct box *box = &s->box;
    struct point met = {box->a, box->b};
    s->low = box->a - box->b_end;
    s->high = box->a_end - box->b;
    s->first = box->a - box->b;
    s->last = box->a_end - box->b_end;
    s->forward[s->first] = box->a;
    s->backward[s->last] = box->a_end;
    for (int32_t round = 1;; round++) {
        if (go_forward(s, round, &met) || go_backward(s, round, &met))
            return met;
        if (round >= s->rounds_most)
            return furthest(s, round);
    }
}

static void trim(const struct search *s, struct box *box)
{
    while (box->a < box->a_end && box->b < box->b_end && s->a[box->a] == s->b[box->b]) {
        box->a++;
        box->b++;
    }
    while (box->a < box->a_end && box->b < box->b_end &&
           s->a[box->a_end - 1] == s->b[box->b_end - 1]) {
        box->a_end--;
        box->b_end--;
    }
}

static void note_all(const struct script_row *row, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        row->changed[row->index[i]] = true;
}

static int32_t size_of(const struct box *box)
{
    return box->a_end - box->a + (box->b_end - box->b);
}

static void search_boxes(struct search *s, const struct script_row *a,
                         const struct script_row *b)
{
    struct box waiting[BOXES_MOST];
    size_t n = 1;
    waiting[0] = (struct box){0, (int32_t)a->n, 0, (int32_t)b->n};
    while (n) {
        struct box box = waiting[--n];
        trim(s, &box);
        s->box = box;
        struct point at = {box.a, box.b};
        if (box.a < box.a_end && box.b < box.b_end)
            at = dividing_point(s);
        struct box low = {box.a, at.x, box.b, at.y};
        struct box high = {at.x, box.a_end, at.y, box.b_end};
        if (size_of(&low) == 0 || size_of(&high) == 0 || n + 2 > BOXES_MOST) {
            note_all(a, box.a, box.a_end);
            note_all(b, box.b, box.b_end);
            continue;
        }
        bool low_waits = size_of(&low) > size_of(&high);
        waiting[n++] = low_waits ? low : high;
        waiting[n++] = low_waits ? high : low;
    }
}

int script_find(struct arena *arena, const struct script_row *a,
                const struct script_row *b, uint64_t effort, struct cairn_error *error)
{
    size_t diagonals = (size_t)a->n + b->n + 3;
    uint64_t rounds = effort / diagonals;
    struct search search = {.a = a->items, .b = b->items};
    search.rounds_most = rounds < INT32_MAX ? (int32_t)rounds : INT32_MAX;
    search.forward = arena_take(arena, diagonals, sizeof(int32_t));
    search.backward = arena_take(arena, diagonals, sizeof(int32_t));
    if (arena->failed)
        return error_nomem(error);
    search.forward += b->n + 1;
    search.backward += b->n + 1;
    search_boxes(&search, a, b);
    return 0;
}
