/* SPDX-License-Identifier: MIT */
/* The text of a workflow file as it was read, and places in it. Columns count
 * characters (code points), as people and editors do. Pure.
 *
 * Error text about a place in a workflow file:
 *
 *   build.yaml:7:5: unknown key `neds` in task `link`; did you mean `needs`?
 *      7 |     neds: [compile]
 *        |     ^
 *
 * What is quoted from the file is shortened, so that everything fits into an error. */
#ifndef WORKFLOW_DIAGNOSTIC_H
#define WORKFLOW_DIAGNOSTIC_H

#include "graph/definition.h"

/* Several texts that are read as one file (tasks that were added to a run): each counts
 * its lines on from the one before it. Messages have the name and the line of the text
 * itself. */
struct source {
    const char *name; /* for messages */
    struct str text;
    uint32_t before;           /* lines of the texts before it */
    const struct source *more; /* the next text, or NULL */
};

/* The text that has the line; NULL is never returned. */
const struct source *source_of_line(const struct source *source, uint32_t line);

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

struct diagnostic {
    const struct source *source;
    struct cairn_error *error; /* may be NULL */
    struct position *place;    /* gets that of the last error; may be NULL */
};

/* Fills the error and returns its code: CAIRN_EWORKFLOW, or the given one. A position
 * with line 0 stands for the file as a whole. */
int diagnose(const struct diagnostic *diagnostic, struct position at,
             const char *format, ...) __attribute__((format(printf, 3, 4)));
int diagnose_as(const struct diagnostic *diagnostic, int code, struct position at,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* For `%.*s`: a text from the file, cut to what a message has room for. */
int shown_length(struct str text);

#define SHOWN(text) shown_length(text), (text).ptr ? (text).ptr : ""

/* "; did you mean `word`?", or nothing when no candidate is near. */
struct hint {
    char text[128];
};

struct hint hint_nearest(struct str word, const struct str *candidates, size_t n);

#endif
