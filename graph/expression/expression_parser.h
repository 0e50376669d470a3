/* SPDX-License-Identifier: MIT */
/* The state of parsing an expression (expression_parse.c), and what is made of it
 * (expression_code.c).
 *
 * Operators wait on a stack until their right side is complete (E. W. Dijkstra's
 * shunting yard); operands and complete operators go into the code. Nesting is what
 * waits on the stack other than for a binary operator; of those at most three can wait
 * at each level, so the stack is bounded by the nesting, too. */
#ifndef GRAPH_EXPRESSION_EXPRESSION_PARSER_H
#define GRAPH_EXPRESSION_EXPRESSION_PARSER_H

#include "graph/expression/expression_int.h"

enum waiting_kind {
    WAIT_OPEN, /* ( */
    WAIT_CONTAINS,
    WAIT_DEFAULT,
    WAIT_PATH, /* basename, dirname, stem */
    WAIT_OR,   /* from here on: an operator, those that bind more loosely first */
    WAIT_AND,
    WAIT_COMPARE,
    WAIT_NOT
};
struct waiting {
    enum waiting_kind kind;
    uint8_t operation;
    bool comma;     /* of a function: its second argument has begun */
    uint32_t index; /* instruction whose jump is not known yet */
    size_t at, length;
};

enum { MOST_WAITING = 4 * (LIMIT_EXPRESSION_DEPTH + 1) };

struct expression_parser {
    struct str text;
    size_t at;
    struct buf code, names; /* of struct instruction, struct name */
    struct waiting waiting[MOST_WAITING];
    uint32_t n_waiting, depth;
    bool complete; /* the last thing read ended an operand */
    struct expression_error *error;
};

/* ---- The code. All return 0 or CAIRN_ENOMEM. ---- */

int parser_emit(struct expression_parser *p, const struct instruction *instruction);
int parser_emit_operation(struct expression_parser *p, enum operation operation,
                          const struct waiting *from);
/* Emits a jump that `waiting` will give its aim: what is emitted next, once
 * parser_aim_jump is called. */
int parser_emit_jump(struct expression_parser *p, enum operation operation,
                     struct waiting *waiting);
void parser_aim_jump(struct expression_parser *p, const struct waiting *waiting);
/* A value that is written in the next `length` bytes. */
int parser_emit_value(struct expression_parser *p, size_t length, struct value value);
/* The same of a text; `doubled`: it has '' for each quote, which parser_keep undoes. */
int parser_emit_text(struct expression_parser *p, size_t length, struct str text,
                     bool doubled);

/* ---- What waits ---- */

int parser_push(struct expression_parser *p, struct waiting waiting);
struct waiting *parser_top(struct expression_parser *p);
/* Completes the operators on top that bind at least as tightly as `kind`. */
int parser_reduce(struct expression_parser *p, enum waiting_kind kind);

/* The finished expression, in the arena. */
int parser_keep(struct arena *arena, struct expression_parser *p,
                const struct expression **out);

#endif
