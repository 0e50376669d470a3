/* SPDX-License-Identifier: MIT */
#include "snapshot/text/search.h"

enum { BLOCK = 64 << 10 };

/* ---- The pattern ---- */

static void add_quoted(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(".[]()*+?{}|^$\\", text.ptr[i]))
            buf_byte(out, '\\');
        buf_byte(out, (uint8_t)text.ptr[i]);
    }
}

int search_pattern_init(struct search_pattern *pattern, struct str text, bool fixed,
                        bool ignore_case, struct cairn_error *error)
{
    struct buf made = BUF_INIT;
    *pattern = (struct search_pattern){.compiled = false};
    if (text.len > SEARCH_PATTERN_MOST)
        return error_set(error, CAIRN_EUSAGE, "a pattern has at most %d bytes",
                         SEARCH_PATTERN_MOST);
    if (text.len && memchr(text.ptr, '\n', text.len))
        return error_set(error, CAIRN_EUSAGE,
                         "a pattern is looked for within a line: it has no line break");
    if (fixed && !ignore_case) {
        pattern->text = text;
        return 0;
    }
    if (fixed)
        add_quoted(&made, text);
    else
        buf_str(&made, text);
    int rc = buf_check(&made, error);
    if (!rc)
        rc = matcher_init(&pattern->matcher, buf_view(&made), ignore_case, error);
    pattern->compiled = rc == 0;
    if (rc)
        matcher_release(&pattern->matcher);
    buf_release(&made);
    return rc;
}

void search_pattern_release(struct search_pattern *pattern)
{
    if (pattern->compiled)
        matcher_release(&pattern->matcher);
    pattern->compiled = false;
}

/* Is something of the first line with a match at `at`? 1, 0: there is none. */
static int find_match(const struct search *s, struct str text, bool begins, bool ends,
                      size_t *at, struct cairn_error *error)
{
    struct search_pattern *pattern = s->pattern;
    if (pattern->compiled)
        return matcher_find(&pattern->matcher, text, begins, ends, at, error);
    const char *found =
        memmem(text.ptr, text.len, pattern->text.ptr, pattern->text.len);
    *at = found ? (size_t)(found - text.ptr) : 0;
    return found != NULL;
}

/* ---- Lines ---- */

static uint64_t count_breaks(struct str text)
{
    uint64_t n = 0;
    const char *at = text.ptr, *end = at + text.len;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        n++;
    }
    return n;
}

static struct str line_around(struct str text, size_t at)
{
    const char *before = at ? memrchr(text.ptr, '\n', at) : NULL;
    size_t from = before ? (size_t)(before - text.ptr) + 1 : 0;
    const char *end = memchr(text.ptr + at, '\n', text.len - at);
    size_t to = end ? (size_t)(end - text.ptr) : text.len;
    return (struct str){text.ptr + from, to - from};
}

static int give_hit(struct search *s, struct str line, bool cut)
{
    struct search_hit hit = {.line = s->lines + 1, .text = line, .cut = cut};
    return s->hit(s->context, &hit);
}

/* Whole lines, of which only the last of the content has no break. s->lines are those
 * before, and then those with it. */
static int look_at_lines(struct search *s, struct str text, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && text.len) {
        size_t at = 0;
        int found = find_match(s, text, true, true, &at, error);
        if (found <= 0 || (at == text.len && text.ptr[at - 1] == '\n')) {
            rc = found < 0 ? found : 0;
            break;
        }
        struct str line = line_around(text, at);
        size_t before = (size_t)(line.ptr - text.ptr);
        s->lines += count_breaks((struct str){text.ptr, before});
        rc = give_hit(s, line, false);
        size_t used = before + line.len;
        if (used < text.len) {
            used++;
            s->lines++;
        }
        text = (struct str){text.ptr + used, text.len - used};
    }
    s->lines += count_breaks(text);
    return rc;
}

/* A piece of a line that is too long, or the rest of one. */
static int look_at_piece(struct search *s, struct str piece, bool last,
                         struct cairn_error *error)
{
    size_t at;
    int found = s->line_hit ? 0 : find_match(s, piece, !s->in_line, last, &at, error);
    s->line_hit |= found > 0;
    return found > 0 ? give_hit(s, piece, true) : found;
}

/* ---- Parts ---- */

static void drop_front(struct buf *held, size_t n)
{
    memmove(held->data, held->data + n, held->size - n);
    held->size -= n;
}

static int end_long_line(struct search *s, struct cairn_error *error)
{
    const char *end = memchr(s->held.data, '\n', s->held.size);
    if (!end)
        return 0;
    size_t n = (size_t)(end - s->held.data);
    int rc = look_at_piece(s, (struct str){s->held.data, n}, true, error);
    s->in_line = s->line_hit = false;
    s->lines++;
    drop_front(&s->held, n + 1);
    return rc;
}

static int look_at_held(struct search *s, struct cairn_error *error)
{
    int rc = s->in_line ? end_long_line(s, error) : 0;
    if (rc || !s->held.size)
        return rc;
    const char *end = s->in_line ? NULL : memrchr(s->held.data, '\n', s->held.size);
    if (end) {
        size_t n = (size_t)(end - s->held.data) + 1;
        rc = look_at_lines(s, (struct str){s->held.data, n}, error);
        drop_front(&s->held, n);
    }
    if (rc || s->held.size < SEARCH_LINE_MOST)
        return rc;
    rc = look_at_piece(s, buf_view(&s->held), false, error);
    s->in_line = true;
    drop_front(&s->held, s->held.size - SEARCH_OVERLAP);
    return rc;
}

int search_part(struct search *s, struct str part, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && part.len) {
        size_t n = part.len < BLOCK ? part.len : BLOCK;
        buf_add(&s->held, part.ptr, n);
        part = (struct str){part.ptr + n, part.len - n};
        rc = buf_check(&s->held, error);
        if (!rc)
            rc = look_at_held(s, error);
    }
    return rc;
}

int search_end(struct search *s, struct cairn_error *error)
{
    if (s->in_line)
        return look_at_piece(s, buf_view(&s->held), true, error);
    return s->held.size ? look_at_lines(s, buf_view(&s->held), error) : 0;
}

void search_release(struct search *s)
{
    buf_release(&s->held);
}
