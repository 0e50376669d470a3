/* SPDX-License-Identifier: MIT */
/* The text of a workflow file as it was read, and places in it. Columns count
 * characters (code points), as people and editors do. Pure. */
#ifndef WORKFLOW_SOURCE_H
#define WORKFLOW_SOURCE_H

#include "graph/definition.h"

struct source {
    const char *name; /* for messages */
    struct str text;
};

/* A line (from 1) without its line break; ptr is NULL past the last one. A line ends
 * with LF, CR LF or CR. */
struct str source_line(const struct source *source, uint32_t line);
/* Line and column of a byte of the text. */
struct position source_position(const struct source *source, size_t offset);
/* Where content[offset..offset+length) of a scalar stands that starts at `start`: the
 * content may be quoted, folded or indented, so the same occurrence of the same bytes
 * is looked for; `start` if there is none. */
struct position source_inside(const struct source *source, struct position start,
                              struct str content, size_t offset, size_t length);

#endif
