/* SPDX-License-Identifier: MIT */
/* Two texts, line by line: what differs, as edits, as hunks, and as patches. */
#include "snapshot/diff.h"

#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The lines in which two texts differ: those that begin both and those that end both
 * are cut off first. Equal lines have equal numbers. */
struct lines {
    struct str text; /* the part between what is cut off */
    size_t at, line; /* where that begins, in bytes and lines of the whole */
    size_t n;        /* lines in it */
    /* Made by lines_number: */
    size_t *start; /* of each line in `text`, and the end of the last */
    uint32_t *number;
};

/* One of the two rows. An item that goes (or comes) is noted in changed[index of it].
 */
struct script_row {
    const uint32_t *items;
    const uint32_t *index;
    bool *changed;
    uint32_t n;
};

/* ==== Lines ==== */

static bool is_binary(const struct text_file *file);

size_t text_line_length(struct str text)
{
    const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
    return end ? (size_t)(end - text.ptr) + 1 : text.len;
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.len) {
        size_t len = text_line_length(text);
        text.ptr += len;
        text.len -= len;
        n++;
    }
    return n;
}

/* How many bytes two texts begin with alike. */
static size_t common_bytes(const char *a, const char *b, size_t most)
{
    enum { STEP = 4096 };
    size_t n = 0;
    while (most - n >= STEP && memcmp(a + n, b + n, STEP) == 0)
        n += STEP;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* The same for their ends. */
static size_t common_end(struct str a, struct str b)
{
    enum { STEP = 4096 };
    size_t most = a.len < b.len ? a.len : b.len, n = 0;
    const char *a_end = a.ptr + a.len, *b_end = b.ptr + b.len;
    while (most - n >= STEP && memcmp(a_end - n - STEP, b_end - n - STEP, STEP) == 0)
        n += STEP;
    while (n < most && a_end[-1 - (ptrdiff_t)n] == b_end[-1 - (ptrdiff_t)n])
        n++;
    return n;
}

static bool begins_line(struct str text, size_t at)
{
    return at == 0 || text.ptr[at - 1] == '\n';
}

/* The bytes of whole lines that both begin with. */
static size_t common_lines(struct str a, struct str b)
{
    size_t n = common_bytes(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    if (n == a.len && n == b.len)
        return n;
    while (!begins_line(a, n))
        n--;
    return n;
}

/* The bytes of whole lines that both end with; both begin with a line. */
static size_t common_last_lines(struct str a, struct str b)
{
    size_t n = common_end(a, b);
    if (!begins_line(a, a.len - n) || !begins_line(b, b.len - n))
        n -= text_line_length((struct str){a.ptr + a.len - n, n});
    return n;
}

/* Cuts off what both have in common, and counts. */
static void lines_cut(struct str a, struct str b, struct lines *in_a,
                      struct lines *in_b)
{
    size_t begin = common_lines(a, b), first = count_lines((struct str){a.ptr, begin});
    struct str rest_a = {a.ptr + begin, a.len - begin};
    struct str rest_b = {b.ptr + begin, b.len - begin};
    size_t end = common_last_lines(rest_a, rest_b);
    rest_a.len -= end;
    rest_b.len -= end;
    *in_a = (struct lines){rest_a, begin, first, count_lines(rest_a), NULL, NULL};
    *in_b = (struct lines){rest_b, begin, first, count_lines(rest_b), NULL, NULL};
}

static int number_lines(struct arena *arena, struct lines *lines, struct map *known,
                        uint32_t *numbers, struct cairn_error *error)
{
    struct str rest = lines->text;
    lines->start = arena_take(arena, lines->n + 1, sizeof *lines->start);
    lines->number = arena_take(arena, lines->n, sizeof *lines->number);
    if (arena->failed)
        return error_nomem(error);
    for (size_t i = 0; i < lines->n; i++) {
        struct str line = {rest.ptr, text_line_length(rest)};
        lines->start[i] = lines->text.len - rest.len;
        lines->number[i] = *numbers;
        int added = map_add(known, line, *numbers, &lines->number[i]);
        if (added < 0)
            return error_nomem(error);
        *numbers += added != 0;
        rest.ptr += line.len;
        rest.len -= line.len;
    }
    lines->start[lines->n] = lines->text.len;
    return 0;
}

/* Splits and numbers them, *numbers in all. CAIRN_ENOMEM. */
static int lines_number(struct arena *arena, struct lines *a, struct lines *b,
                        uint32_t *numbers, struct cairn_error *error)
{
    struct map known = MAP_INIT;
    int rc = map_reserve(&known, a->n + b->n);
    if (rc)
        error_nomem(error);
    *numbers = 0;
    if (!rc)
        rc = number_lines(arena, a, &known, numbers, error)
                 ?: number_lines(arena, b, &known, numbers, error);
    map_release(&known);
    return rc;
}

/* ==== The shortest way from one row of numbers to another ==== */

/* E. Myers, "An O(ND) difference algorithm and its variations" (1986), in linear space,
 * from both ends at once.
 *
 * A box is a part of both rows: a point (x, y) in it stands before item x of `a` and
 * item y of `b`, and lies on the diagonal x - y. A path leads from the corner where
 * both parts begin to that where they end: right (an item of `a` goes), down (one of
 * `b` comes), or along a diagonal where the items are equal. In round c, `forward[d]`
 * is the furthest x on diagonal d that c steps right or down lead to from the first
 * corner, `backward[d]` the least x from which c such steps lead to the last. Where
 * these two meet, the box is divided into two, each with half of the steps. */

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

/* Notes in both what has to change. It is the least if that is found with some `effort`
 * steps; otherwise the work is about 8 * effort steps, and more may be noted than is
 * needed. Takes 8 bytes an item of the arena. CAIRN_ENOMEM. */
static int script_find(struct arena *arena, const struct script_row *a,
                       const struct script_row *b, uint64_t effort,
                       struct cairn_error *error)
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

/* ==== Edits ==== */

/* From two texts to edits: what begins and ends both is cut off, lines get numbers,
 * those that only one text has are out of the question, and script_find looks at the
 * rest.
 */

enum { BINARY_LOOK = 8000, EFFORT = 500000000, SLIDES_A_LINE = 8 };

/* Lines of the middle, from .. to - 1. */
struct span {
    size_t from, to;
};

struct change {
    struct span a, b;
};

struct work {
    struct arena arena;
    struct lines a, b;
    bool *a_changed, *b_changed;
    struct change *changes;
    size_t n;
};

bool text_is_binary(struct str text)
{
    size_t look = text.len < BINARY_LOOK ? text.len : BINARY_LOOK;
    return look && memchr(text.ptr, 0, look);
}

void text_diff_release(struct text_diff *diff)
{
    free(diff->edits);
    *diff = (struct text_diff){0};
}

/* How often each number occurs. */
static uint32_t *count_numbers(struct arena *arena, const struct lines *lines,
                               uint32_t numbers)
{
    uint32_t *counts = arena_take(arena, numbers, sizeof *counts);
    for (size_t i = 0; counts && i < lines->n; i++)
        counts[lines->number[i]]++;
    return counts;
}

/* The lines that the other text has, too, as a row; those that it has not are noted. */
static struct script_row row_of(struct arena *arena, const struct lines *lines,
                                const uint32_t *others, bool *changed)
{
    uint32_t *items = arena_take(arena, lines->n, sizeof *items);
    uint32_t *index = arena_take(arena, lines->n, sizeof *index);
    uint32_t n = 0;
    for (size_t i = 0; !arena->failed && i < lines->n; i++) {
        changed[i] = others[lines->number[i]] == 0;
        if (changed[i])
            continue;
        items[n] = lines->number[i];
        index[n++] = (uint32_t)i;
    }
    return (struct script_row){items, index, changed, n};
}

static int find_changed(struct work *work, struct cairn_error *error)
{
    struct arena *arena = &work->arena;
    uint32_t numbers;
    int rc = lines_number(arena, &work->a, &work->b, &numbers, error);
    if (rc)
        return rc;
    uint32_t *in_a = count_numbers(arena, &work->a, numbers);
    uint32_t *in_b = count_numbers(arena, &work->b, numbers);
    work->a_changed = arena_take(arena, work->a.n, sizeof(bool));
    work->b_changed = arena_take(arena, work->b.n, sizeof(bool));
    if (arena->failed)
        return error_nomem(error);
    struct script_row a = row_of(arena, &work->a, in_b, work->a_changed);
    struct script_row b = row_of(arena, &work->b, in_a, work->b_changed);
    if (arena->failed)
        return error_nomem(error);
    return script_find(arena, &a, &b, EFFORT, error);
}

static struct span next_changed(const bool *changed, size_t n, size_t from)
{
    struct span span = {from, from};
    while (span.to < n && changed[span.to])
        span.to++;
    return span;
}

/* Runs of lines that changed, with `changes` NULL only their number. Between two runs
 * both texts have as many lines, which stay. */
static size_t list_changes(const struct work *work, struct change *changes)
{
    size_t i = 0, j = 0, n = 0;
    while (i < work->a.n || j < work->b.n) {
        struct change change = {next_changed(work->a_changed, work->a.n, i),
                                next_changed(work->b_changed, work->b.n, j)};
        i = change.a.to;
        j = change.b.to;
        if (change.a.from == i && change.b.from == j) {
            i++;
            j++;
            continue;
        }
        if (changes)
            changes[n] = change;
        n++;
    }
    return n;
}

/* Moves a run of lines down while the line behind it is the same as its first, so that
 * it says the same; up to `end`. */
static size_t slide(const uint32_t *number, struct span span, size_t end, size_t most)
{
    size_t n = 0;
    while (n < most && span.to + n < end &&
           number[span.from + n] == number[span.to + n])
        n++;
    return n;
}

static struct span moved(struct span span, size_t by)
{
    return (struct span){span.from + by, span.to + by};
}

/* Moves what only goes or only comes down as far as it can, where people expect it (the
 * end of an inserted function, not the one before it), and joins what then touches. */
static void slide_changes(struct work *work)
{
    size_t left = SLIDES_A_LINE * (work->a.n + work->b.n), kept = work->n;
    for (size_t i = work->n; i-- > 0;) {
        struct change change = work->changes[i];
        bool comes = change.a.from == change.a.to, goes = change.b.from == change.b.to;
        while (comes || goes) {
            bool is_last = kept == work->n;
            size_t a_end = is_last ? work->a.n : work->changes[kept].a.from;
            size_t b_end = is_last ? work->b.n : work->changes[kept].b.from;
            size_t by = comes ? slide(work->b.number, change.b, b_end, left)
                              : slide(work->a.number, change.a, a_end, left);
            left -= by;
            change = (struct change){moved(change.a, by), moved(change.b, by)};
            if (is_last || change.a.to != a_end)
                break;
            change.a.to = work->changes[kept].a.to;
            change.b.to = work->changes[kept++].b.to;
            comes = change.a.from == change.a.to;
            goes = change.b.from == change.b.to;
        }
        work->changes[--kept] = change;
    }
    work->changes += kept;
    work->n -= kept;
}

static int find_changes(struct work *work, struct cairn_error *error)
{
    int rc = find_changed(work, error);
    if (rc)
        return rc;
    work->n = list_changes(work, NULL);
    work->changes = arena_take(&work->arena, work->n, sizeof *work->changes);
    if (!work->changes)
        return error_nomem(error);
    list_changes(work, work->changes);
    slide_changes(work);
    return 0;
}

static struct text_span span_of(const struct lines *lines, struct span span)
{
    return (struct text_span){lines->line + span.from, span.to - span.from,
                              lines->at + lines->start[span.from],
                              lines->at + lines->start[span.to]};
}

static struct text_span whole_of(const struct lines *lines)
{
    return (struct text_span){lines->line, lines->n, lines->at,
                              lines->at + lines->text.len};
}

/* Without a list of changes it is one edit: all lines that were not cut off. */
static int give_edits(const struct work *work, struct text_diff *diff,
                      struct cairn_error *error)
{
    struct text_diff made = {.n = work->n};
    if (made.n) {
        made.edits = malloc(made.n * sizeof *made.edits);
        if (!made.edits)
            return error_nomem(error);
    }
    for (size_t i = 0; i < made.n; i++) {
        const struct change *change = work->changes ? &work->changes[i] : NULL;
        struct text_edit *edit = &made.edits[i];
        edit->a = change ? span_of(&work->a, change->a) : whole_of(&work->a);
        edit->b = change ? span_of(&work->b, change->b) : whole_of(&work->b);
        made.removed += edit->a.lines;
        made.added += edit->b.lines;
    }
    *diff = made;
    return 0;
}

int text_diff(struct str a, struct str b, struct text_diff *diff,
              struct cairn_error *error)
{
    struct work work = {.arena = ARENA_INIT};
    int rc = 0;
    a.ptr = a.len ? a.ptr : "";
    b.ptr = b.len ? b.ptr : "";
    lines_cut(a, b, &work.a, &work.b);
    work.n = work.a.n || work.b.n;
    if (work.a.n && work.b.n && work.a.n + work.b.n <= TEXT_LINES_MOST)
        rc = find_changes(&work, error);
    if (!rc)
        rc = give_edits(&work, diff, error);
    arena_release(&work.arena);
    return rc;
}

/* ==== Hunks ==== */

struct hunks {
    struct str a, b;
    const struct text_diff *diff;
    size_t around;
    const struct text_visitor *visitor;
};

/* Where the last `most` lines before `end` begin; *lines: how many there are. */
static size_t step_back(struct str text, size_t end, size_t most, size_t *lines)
{
    size_t at = end;
    for (*lines = 0; *lines < most && at > 0; ++*lines) {
        const char *before = memrchr(text.ptr, '\n', at - 1);
        at = before ? (size_t)(before - text.ptr) + 1 : 0;
    }
    return at;
}

static size_t step_on(struct str text, size_t at, size_t most, size_t *lines)
{
    for (*lines = 0; *lines < most && at < text.len; ++*lines)
        at += text_line_length((struct str){text.ptr + at, text.len - at});
    return at;
}

/* The edit behind the last that shares a hunk with `first`. */
static size_t end_of_hunk(const struct hunks *h, size_t first)
{
    size_t i = first + 1;
    for (; i < h->diff->n; i++) {
        const struct text_span *before = &h->diff->edits[i - 1].a;
        size_t between = h->diff->edits[i].a.line - before->line - before->lines;
        if (between > h->around && between - h->around > h->around)
            break;
    }
    return i;
}

static int give_lines(const struct hunks *h, enum text_line kind, struct str text,
                      size_t at, size_t end, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && at < end) {
        struct str line = {text.ptr + at, end - at};
        line.len = text_line_length(line);
        rc = h->visitor->line(h->visitor->context, kind, line, error);
        at += line.len;
    }
    return rc;
}

/* The lines from `at` of `a` up to those that the edit takes away, and the edit. */
static int give_edit(const struct hunks *h, size_t at, const struct text_edit *edit,
                     struct cairn_error *error)
{
    return give_lines(h, TEXT_SAME, h->a, at, edit->a.at, error)
           ?: give_lines(h, TEXT_REMOVED, h->a, edit->a.at, edit->a.end, error)
           ?: give_lines(h, TEXT_ADDED, h->b, edit->b.at, edit->b.end, error);
}

static size_t first_number(size_t line, size_t lines)
{
    return lines ? line + 1 : line;
}

/* The edits from `first` up to `end`, which is behind the last. */
static int give_hunk(const struct hunks *h, size_t first, size_t end,
                     struct cairn_error *error)
{
    const struct text_diff *diff = h->diff;
    const struct text_edit from = diff->edits[first], last = diff->edits[end - 1];
    size_t before, behind;
    size_t at = step_back(h->a, from.a.at, h->around, &before);
    size_t a_line = from.a.line - before, b_line = from.b.line - before;
    size_t stop = step_on(h->a, last.a.end, h->around, &behind);
    struct text_hunk hunk = {
        .a_lines = last.a.line + last.a.lines + behind - a_line,
        .b_lines = last.b.line + last.b.lines + behind - b_line,
    };
    hunk.a_first = first_number(a_line, hunk.a_lines);
    hunk.b_first = first_number(b_line, hunk.b_lines);
    int rc = h->visitor->hunk(h->visitor->context, &hunk, error);
    for (size_t i = first; !rc && i < end; i++) {
        rc = give_edit(h, at, &diff->edits[i], error);
        at = diff->edits[i].a.end;
    }
    return rc ?: give_lines(h, TEXT_SAME, h->a, at, stop, error);
}

int text_hunks(struct str a, struct str b, const struct text_diff *diff, size_t around,
               const struct text_visitor *visitor, struct cairn_error *error)
{
    const struct hunks hunks = {a, b, diff, around, visitor};
    int rc = 0;
    for (size_t i = 0, end; !rc && i < diff->n; i = end) {
        end = end_of_hunk(&hunks, i);
        rc = give_hunk(&hunks, i, end, error);
    }
    return rc;
}

/* ==== Patches ==== */

struct patch {
    const struct text_file *old, *new; /* NULL: there is none */
    const struct text_patch_options *options;
    struct buf *out;
    struct text_stat stat;
};

/* The escape of a byte, 0: it stands for itself, 'o': its number. */
static char escape_of(unsigned char byte)
{
    static const char named[] = "abtnvfr"; /* from 7 */
    if (byte == '"' || byte == '\\')
        return (char)byte;
    if (byte >= 7 && byte <= 13)
        return named[byte - 7];
    return byte < ' ' || byte >= 127 ? 'o' : 0;
}

void text_quote(struct buf *out, const char *before, struct str path)
{
    bool is_odd = path.len && memchr(path.ptr, ' ', path.len);
    for (size_t i = 0; i < path.len; i++)
        is_odd = is_odd || escape_of((unsigned char)path.ptr[i]);
    if (is_odd)
        buf_byte(out, '"');
    buf_text(out, before);
    for (size_t i = 0; i < path.len; i++) {
        unsigned char byte = (unsigned char)path.ptr[i];
        char escape = escape_of(byte);
        if (escape == 'o')
            buf_format(out, "\\%03o", byte);
        else if (escape)
            buf_format(out, "\\%c", escape);
        else
            buf_byte(out, byte);
    }
    if (is_odd)
        buf_byte(out, '"');
}

static unsigned mode_of(const struct text_file *file)
{
    if (S_ISLNK(file->mode))
        return 0120000;
    return file->mode & S_IXUSR ? 0100755 : 0100644;
}

static void name_line(struct buf *out, const char *what, struct str path)
{
    buf_text(out, what);
    text_quote(out, "", path);
    buf_byte(out, '\n');
}

static void add_modes(const struct patch *p)
{
    if (!p->old)
        buf_format(p->out, "new file mode %06o\n", mode_of(p->new));
    else if (!p->new)
        buf_format(p->out, "deleted file mode %06o\n", mode_of(p->old));
    else if (mode_of(p->old) != mode_of(p->new))
        buf_format(p->out, "old mode %06o\nnew mode %06o\n", mode_of(p->old),
                   mode_of(p->new));
}

static void add_names(const struct patch *p, bool is_moved, bool is_same)
{
    buf_text(p->out, "diff --git ");
    text_quote(p->out, "a/", (p->old ? p->old : p->new)->path);
    buf_byte(p->out, ' ');
    text_quote(p->out, "b/", (p->new ? p->new : p->old)->path);
    buf_byte(p->out, '\n');
    add_modes(p);
    if (!is_moved)
        return;
    if (is_same)
        buf_text(p->out, "similarity index 100%\n");
    name_line(p->out, p->options->is_copy ? "copy from " : "rename from ",
              p->old->path);
    name_line(p->out, p->options->is_copy ? "copy to " : "rename to ", p->new->path);
}

static void add_side(const struct patch *p, const char *before,
                     const struct text_file *file)
{
    if (file)
        text_quote(p->out, before, file->path);
    else
        buf_text(p->out, "/dev/null");
}

static void add_side_line(const struct patch *p, const char *what, const char *before,
                          const struct text_file *file)
{
    buf_text(p->out, what);
    add_side(p, before, file);
    buf_byte(p->out, '\n');
}

static void add_range(struct buf *out, char sign, size_t first, size_t lines)
{
    buf_format(out, " %c%zu", sign, first);
    if (lines != 1)
        buf_format(out, ",%zu", lines);
}

static int add_hunk(void *context, const struct text_hunk *hunk,
                    struct cairn_error *error)
{
    struct buf *out = context;
    buf_text(out, "@@");
    add_range(out, '-', hunk->a_first, hunk->a_lines);
    add_range(out, '+', hunk->b_first, hunk->b_lines);
    buf_text(out, " @@\n");
    return buf_check(out, error);
}

static int add_line(void *context, enum text_line kind, struct str line,
                    struct cairn_error *error)
{
    struct buf *out = context;
    buf_byte(out, (uint8_t)kind);
    buf_str(out, line);
    if (line.ptr[line.len - 1] != '\n')
        buf_text(out, "\n\\ No newline at end of file\n");
    return buf_check(out, error);
}

static int add_text(struct patch *p, struct str old, struct str new,
                    struct cairn_error *error)
{
    const struct text_visitor visitor = {p->out, add_hunk, add_line};
    struct text_diff diff;
    int rc = text_diff(old, new, &diff, error);
    if (rc)
        return rc;
    p->stat.added += diff.added;
    p->stat.removed += diff.removed;
    add_side_line(p, "--- ", "a/", p->old);
    add_side_line(p, "+++ ", "b/", p->new);
    rc = text_hunks(old, new, &diff, p->options->around, &visitor, error);
    text_diff_release(&diff);
    return rc;
}

/* Only named: without the line that begins a change, for which `git apply` would want
 * the content. Behind an empty line: else `git apply` takes it for a part of the change
 * before it, if that has no lines, and refuses the whole patch. */
static void add_binary(struct patch *p)
{
    bool is_large = (p->old && p->old->is_large) || (p->new && p->new->is_large);
    const char *why = p->options->is_barred ? ": something binary is in the way\n"
                      : is_large            ? ": too large to compare lines (4 MiB)\n"
                                            : "\n";
    p->stat.is_binary = true;
    buf_text(p->out, *why == ':' ? "\nFiles " : "\nBinary files ");
    add_side(p, "a/", p->old);
    buf_text(p->out, " and ");
    add_side(p, "b/", p->new);
    buf_text(p->out, " differ");
    buf_text(p->out, why);
}

static bool is_binary(const struct text_file *file)
{
    return file && (file->is_large || text_is_binary(file->content));
}

static bool is_unchanged(const struct text_file *old, const struct text_file *new)
{
    return str_equal(old->path, new->path) && str_equal(old->content, new->content) &&
           mode_of(old) == mode_of(new);
}

/* Neither side is a link, or one is missing. */
static int add_patch(struct patch *p, struct cairn_error *error)
{
    struct str old = p->old ? p->old->content : STR("");
    struct str new = p->new ? p->new->content : STR("");
    bool is_same = str_equal(old, new);
    bool is_moved = p->old && p->new && !str_equal(p->old->path, p->new->path);
    if (!is_same && (is_binary(p->old) || is_binary(p->new))) {
        add_binary(p);
        return buf_check(p->out, error);
    }
    add_names(p, is_moved, is_same);
    return is_same ? buf_check(p->out, error) : add_text(p, old, new, error);
}

int text_patch(const struct text_file *old, const struct text_file *new,
               const struct text_patch_options *options, struct buf *out,
               struct text_stat *stat, struct cairn_error *error)
{
    struct patch patch = {old, new, options, out, {0}};
    bool is_both = old && new;
    bool is_link = is_both && (S_ISLNK(old->mode) || S_ISLNK(new->mode));
    bool is_anew = is_link && !options->is_copy;
    int rc = 0;
    if (stat)
        *stat = patch.stat;
    if (!old && !new)
        return error_set(error, CAIRN_EUSAGE, "a patch needs a file");
    if (is_both && is_unchanged(old, new))
        return 0;
    if (options->is_barred || (is_anew && (is_binary(old) || is_binary(new)))) {
        add_binary(&patch); /* one half of it would be in the way of the other */
        rc = buf_check(out, error);
    } else {
        patch.new = is_anew ? NULL : new;
        rc = is_anew ? add_patch(&patch, error) : 0;
        patch.old = is_link ? NULL : old;
        patch.new = new;
        rc = rc ? rc : add_patch(&patch, error);
    }
    if (stat)
        *stat = patch.stat;
    return rc;
}

/* ==== Where lines come from ==== */

void text_trace(const struct text_diff *diff, size_t *lines, size_t n)
{
    size_t edit = 0;
    for (size_t i = 0; i < n; i++) {
        const struct text_span *a = NULL, *b = NULL;
        while (edit < diff->n &&
               diff->edits[edit].b.line + diff->edits[edit].b.lines <= lines[i])
            edit++;
        if (edit < diff->n && diff->edits[edit].b.line <= lines[i]) {
            lines[i] = TEXT_LINE_NEW;
            continue;
        }
        if (edit > 0) { /* behind that one both have the same lines */
            a = &diff->edits[edit - 1].a;
            b = &diff->edits[edit - 1].b;
            lines[i] = lines[i] - (b->line + b->lines) + (a->line + a->lines);
        }
    }
}
