/* SPDX-License-Identifier: MIT */
/* What parsing makes: the code of an expression, and the operators that wait. */
#include "graph/expression/expression_parser.h"

#include <assert.h>

/* ---- The code ---- */

static uint32_t code_size(const struct expression_parser *p)
{
    return (uint32_t)(p->code.size / sizeof(struct instruction));
}

int parser_emit(struct expression_parser *p, const struct instruction *instruction)
{
    buf_add(&p->code, instruction, sizeof *instruction);
    return p->code.failed ? CAIRN_ENOMEM : 0;
}

int parser_emit_operation(struct expression_parser *p, enum operation operation,
                          const struct waiting *from)
{
    return parser_emit(p, &(struct instruction){.operation = (uint8_t)operation,
                                                .at = (uint32_t)from->at,
                                                .length = (uint32_t)from->length});
}

int parser_emit_jump(struct expression_parser *p, enum operation operation,
                     struct waiting *waiting)
{
    waiting->index = code_size(p);
    return parser_emit_operation(p, operation, waiting);
}

void parser_aim_jump(struct expression_parser *p, const struct waiting *waiting)
{
    struct instruction *code = (struct instruction *)(void *)p->code.data;
    assert(waiting->index < code_size(p));
    code[waiting->index].index = code_size(p);
}

static int emit_operand(struct expression_parser *p, size_t length, struct value value,
                        bool doubled)
{
    struct instruction instruction = {.operation = OP_VALUE,
                                      .doubled = doubled,
                                      .at = (uint32_t)p->at,
                                      .length = (uint32_t)length,
                                      .value = value};
    p->at += length;
    p->complete = true;
    return parser_emit(p, &instruction);
}

int parser_emit_value(struct expression_parser *p, size_t length, struct value value)
{
    return emit_operand(p, length, value, false);
}

int parser_emit_text(struct expression_parser *p, size_t length, struct str text,
                     bool doubled)
{
    struct value value = {.type = VALUE_TEXT, .text = text};
    return emit_operand(p, length, value, doubled);
}

/* ---- What waits ---- */

int parser_push(struct expression_parser *p, struct waiting waiting)
{
    bool nests = waiting.kind < WAIT_OR || waiting.kind == WAIT_NOT;
    if (p->n_waiting == MOST_WAITING || (nests && p->depth == LIMIT_EXPRESSION_DEPTH))
        return expression_fail(p->error, waiting.at, waiting.length,
                               "nested more than %d deep", LIMIT_EXPRESSION_DEPTH);
    p->depth += nests;
    p->waiting[p->n_waiting++] = waiting;
    p->complete = false;
    return 0;
}

struct waiting *parser_top(struct expression_parser *p)
{
    return p->n_waiting ? &p->waiting[p->n_waiting - 1] : NULL;
}

int parser_reduce(struct expression_parser *p, enum waiting_kind kind)
{
    int rc = 0;
    while (!rc && parser_top(p) && parser_top(p)->kind >= kind) {
        struct waiting done = *parser_top(p);
        p->n_waiting--;
        assert(done.kind != WAIT_NOT || p->depth > 0);
        p->depth -= done.kind == WAIT_NOT;
        rc = parser_emit_operation(p, (enum operation)done.operation, &done);
        if (!rc && (done.kind == WAIT_OR || done.kind == WAIT_AND))
            parser_aim_jump(p, &done);
    }
    return rc;
}

/* ---- The result ---- */

/* Texts with doubled quotes become texts of their own. */
static int copy_texts(struct arena *arena, struct instruction *code, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct value *value = &code[i].value;
        if (!code[i].doubled)
            continue;
        char *copy = arena_text(arena, value->text);
        size_t kept = 0;
        if (!copy)
            return CAIRN_ENOMEM;
        for (size_t k = 0; k < value->text.len; k++) {
            copy[kept++] = value->text.ptr[k];
            k += value->text.ptr[k] == '\'';
        }
        value->text = (struct str){copy, kept};
        code[i].doubled = false;
    }
    return 0;
}

int parser_keep(struct arena *arena, struct expression_parser *p,
                const struct expression **out)
{
    assert(p->n_waiting == 0 && p->depth == 0 && p->complete);
    struct expression *e = arena_take(arena, 1, sizeof *e);
    struct instruction *code =
        arena_take(arena, code_size(p), sizeof(struct instruction));
    size_t n_names = p->names.size / sizeof(struct name);
    struct name *names = arena_take(arena, n_names, sizeof *names);
    if (!e || !code || !names)
        return CAIRN_ENOMEM;
    *e = (struct expression){p->text, code, names, code_size(p), (uint32_t)n_names};
    memcpy(code, p->code.data, p->code.size);
    if (n_names)
        memcpy(names, p->names.data, p->names.size);
    *out = e;
    return copy_texts(arena, code, e->n);
}
