/* SPDX-License-Identifier: MIT */
#include "snapshot/text/trace.h"

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
