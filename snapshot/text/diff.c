/* SPDX-License-Identifier: MIT */
/* From two texts to edits: what begins and ends both is cut off, lines get numbers,
 * those that only one text has are out of the question, and script.c looks at the rest.
 */
#include "snapshot/text/diff.h"

#include "snapshot/text/lines_int.h"
#include "snapshot/text/script_int.h"

#include <stdlib.h>

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
