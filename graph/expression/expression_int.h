/* SPDX-License-Identifier: MIT */
/* What the files behind expression.h share. A tree is kept in the order in which it is
 * evaluated (operands before their operator), so that neither parsing nor evaluating
 * recurses: an instruction puts one value on a stack or works on those on top. */
#ifndef GRAPH_EXPRESSION_EXPRESSION_INT_H
#define GRAPH_EXPRESSION_EXPRESSION_INT_H

#include "base/limits.h"
#include "graph/expression/expression.h"

enum operation {
    OP_VALUE = 1, /* pushes `value` */
    OP_NAME,      /* pushes the value of names[index] */
    OP_NOT,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_LESS,
    OP_GREATER,
    OP_LESS_EQUAL,
    OP_GREATER_EQUAL,
    OP_CONTAINS,
    OP_BASENAME,
    OP_DIRNAME,
    OP_STEM,
    OP_REPLACE,
    OP_SPLIT,
    OP_JOIN,
    OP_SORT,
    OP_LEN,
    /* These take the value off the stack and go on, or leave a value there and jump to
     * code[index], which is behind whatever would have been evaluated instead. */
    OP_AND,     /* jumps with false */
    OP_OR,      /* jumps with true */
    OP_DEFAULT, /* jumps with the value, unless it is missing */
    OP_TRUTH    /* the value becomes true or false */
};

struct instruction {
    uint8_t operation;
    bool doubled;        /* while parsing: the text still has '' for each quote */
    uint32_t at, length; /* in the text */
    uint32_t index;
    struct value value;
};

struct expression {
    struct str text; /* a copy */
    struct instruction *code;
    struct name *names; /* first and second point into `text` */
    uint32_t n, n_names;
};

/* Each level of nesting leaves at most three values on the stack while it waits for the
 * next one: the left side of a comparison and the first two arguments of replace. */
enum { EXPRESSION_STACK = 3 * (LIMIT_EXPRESSION_DEPTH + 1) };

/* ---- Numbers: -?[0-9]+(.[0-9]+)?([eE][+-]?[0-9]+)? in any locale ---- */

/* Length of the number that the text begins with; 0: none. */
size_t number_scan(struct str text);
/* False if the whole text is not a number, is longer than NUMBER_BYTES, or too large.
 */
enum { NUMBER_BYTES = 100 };
bool number_parse(struct str text, double *out);
/* Below, at or above 0, as `a` is less than, equal to or greater than `b`: exact where
 * both are whole numbers without an exponent. Both texts are numbers (number_parse). */
int number_order(struct str a, struct str b);
void number_append(double number, struct buf *out);
/* The same of a number that was written as `text` (or empty): whole ones keep their
 * digits.
 */
void number_append_text(struct str text, double number, struct buf *out);

/* ---- Texts ---- */

/* [A-Za-z_][A-Za-z0-9_]*: its length at `at`, 0: none. */
size_t word_scan(struct str text, size_t at);
/* The name that begins at `at` (a word is there); error, or the name's length filled.
 */
int name_parse(struct str text, size_t at, struct name *out,
               struct expression_error *error);
/* Fills *error (may be NULL), returns CAIRN_EWORKFLOW. */
int expression_fail(struct expression_error *error, size_t at, size_t length,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
