/* SPDX-License-Identifier: MIT */
#include "snapshot/text/lines_int.h"

#include "base/map.h"
#include "snapshot/text/diff.h"

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

void lines_cut(struct str a, struct str b, struct lines *in_a, struct lines *in_b)
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

int lines_number(struct arena *arena, struct lines *a, struct lines *b,
                 uint32_t *numbers, struct cairn_error *error)
{
    struct map known = MAP_INIT;
    int rc = map_reserve(&known, a->n + b->n);
    if (rc)
        error_nomem(error);
    *numbers = 0;
    if (!rc)
        rc = number_lines(arena, a, &known, numbers, error);
    if (!rc)
        rc = number_lines(arena, b, &known, numbers, error);
    map_release(&known);
    return rc;
}
