/* SPDX-License-Identifier: MIT */
#include "snapshot/text/hunks.h"

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
    int rc = give_lines(h, TEXT_SAME, h->a, at, edit->a.at, error);
    if (!rc)
        rc = give_lines(h, TEXT_REMOVED, h->a, edit->a.at, edit->a.end, error);
    if (!rc)
        rc = give_lines(h, TEXT_ADDED, h->b, edit->b.at, edit->b.end, error);
    return rc;
}

static size_t first_number(size_t line, size_t lines)
{
    return lines ? line + 1 : line;
}

/* The edits from `first` up to `end`, which is behind the last. */
static int give_hunk(const struct hunks *h, size_t first, size_t end,
                     struct cairn_error *error)
{
    const struct text_edit *edits = h->diff->edits, *last = &edits[end - 1];
    size_t before, behind;
    size_t at = step_back(h->a, edits[first].a.at, h->around, &before);
    size_t a_line = edits[first].a.line - before, b_line = edits[first].b.line - before;
    size_t stop = step_on(h->a, last->a.end, h->around, &behind);
    struct text_hunk hunk = {
        .a_lines = last->a.line + last->a.lines + behind - a_line,
        .b_lines = last->b.line + last->b.lines + behind - b_line,
    };
    hunk.a_first = first_number(a_line, hunk.a_lines);
    hunk.b_first = first_number(b_line, hunk.b_lines);
    int rc = h->visitor->hunk(h->visitor->context, &hunk, error);
    for (size_t i = first; !rc && i < end; i++) {
        rc = give_edit(h, at, &edits[i], error);
        at = edits[i].a.end;
    }
    return rc ? rc : give_lines(h, TEXT_SAME, h->a, at, stop, error);
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
