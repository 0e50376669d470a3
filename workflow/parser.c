/* SPDX-License-Identifier: MIT */
/* Warnings, notes and trouble with memory of the parser. */
#include "workflow/parser_int.h"

#include <stdarg.h>
#include <stdio.h>

/* Copies the line into the definition's arena and its view behind `list`. */
static void add_line(struct parser *p, struct buf *list, const struct buf *line)
{
    struct str copy = arena_str(&p->out->arena, buf_view(line));
    list->failed |= line->failed;
    buf_add(list, &copy, sizeof copy);
}

int parse_go_on(const struct parser *p, int rc)
{
    struct mistakes *mistakes = p->options->mistakes;
    bool of_file = rc == CAIRN_EWORKFLOW || rc == CAIRN_EUSAGE || rc == CAIRN_ELIMIT;
    if (!mistakes || !of_file || mistakes->n == MISTAKES)
        return rc;
    mistakes->list[mistakes->n++] = (struct mistake){p->place, *p->diagnostic.error};
    return mistakes->n < MISTAKES ? 0 : rc;
}

bool parse_is_good(const struct parser *p)
{
    return !p->options->mistakes || p->options->mistakes->n == 0;
}

void parse_warn(struct parser *p, struct position at, const char *format, ...)
{
    char message[256];
    struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    buf_format(&line, "%s:%u:%u: %s", p->source.name, at.line, at.column, message);
    add_line(p, &p->warnings, &line);
    buf_release(&line);
}

void parse_note(struct parser *p, const struct buf *line)
{
    add_line(p, &p->notes, line);
}

static struct str *copy_lines(struct parser *p, const struct buf *lines, uint32_t *n)
{
    *n = (uint32_t)(lines->size / sizeof(struct str));
    struct str *copy = arena_take(&p->out->arena, *n, sizeof *copy);
    p->out->arena.failed |= lines->failed;
    if (copy && *n)
        memcpy(copy, lines->data, lines->size);
    return copy;
}

int keep_messages(struct parser *p)
{
    struct definition *out = p->out;
    out->warnings = copy_lines(p, &p->warnings, &out->n_warnings);
    out->notes = copy_lines(p, &p->notes, &out->n_notes);
    return out->arena.failed ? out_of_memory(p) : 0;
}
