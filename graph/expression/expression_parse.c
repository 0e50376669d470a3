/* SPDX-License-Identifier: MIT */
/* What parsing makes: the code of an expression, and the operators that wait. */
#include "graph/expression/expression_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum waiting_kind {
    WAIT_OPEN, /* ( */
    WAIT_DEFAULT,
    WAIT_FUNCTION, /* any other */
    WAIT_OR,       /* from here on: an operator, those that bind more loosely first */
    WAIT_AND,
    WAIT_COMPARE,
    WAIT_NOT
};

struct waiting {
    enum waiting_kind kind;
    uint8_t operation;
    uint8_t arguments, commas; /* of a function: that it has, that were read */
    uint32_t index;            /* instruction whose jump is not known yet */
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

/* ---- What waits ---- */

/* ---- The code ---- */

static uint32_t code_size(const struct expression_parser *p)
{
    return (uint32_t)(p->code.size / sizeof(struct instruction));
}

static int parser_emit(struct expression_parser *p,
                       const struct instruction *instruction)
{
    buf_add(&p->code, instruction, sizeof *instruction);
    return p->code.failed ? CAIRN_ENOMEM : 0;
}

static int parser_emit_operation(struct expression_parser *p, enum operation operation,
                                 const struct waiting *from)
{
    return parser_emit(p, &(struct instruction){.operation = (uint8_t)operation,
                                                .at = (uint32_t)from->at,
                                                .length = (uint32_t)from->length});
}

/* Emits a jump that `waiting` will give its aim: what is emitted next, once
 * parser_aim_jump is called. */
static int parser_emit_jump(struct expression_parser *p, enum operation operation,
                            struct waiting *waiting)
{
    waiting->index = code_size(p);
    return parser_emit_operation(p, operation, waiting);
}

static void parser_aim_jump(struct expression_parser *p, const struct waiting *waiting)
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

/* A value that is written in the next `length` bytes. */
static int parser_emit_value(struct expression_parser *p, size_t length,
                             struct value value)
{
    return emit_operand(p, length, value, false);
}

/* The same of a text; `doubled`: it has '' for each quote, which parser_keep undoes. */
static int parser_emit_text(struct expression_parser *p, size_t length, struct str text,
                            bool doubled)
{
    struct value value = {.type = VALUE_TEXT, .text = text};
    return emit_operand(p, length, value, doubled);
}

/* ---- What waits ---- */

static int parser_push(struct expression_parser *p, struct waiting waiting)
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

static struct waiting *parser_top(struct expression_parser *p)
{
    return p->n_waiting ? &p->waiting[p->n_waiting - 1] : NULL;
}

/* Completes the operators on top that bind at least as tightly as `kind`. */
static int parser_reduce(struct expression_parser *p, enum waiting_kind kind)
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

/* The finished expression, in the arena. */
static int parser_keep(struct arena *arena, struct expression_parser *p,
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

/* What a status is compared with. */

static bool is_jump(const struct instruction *i)
{
    return i->operation == OP_AND || i->operation == OP_OR ||
           i->operation == OP_DEFAULT;
}

/* Something else may be on the stack when code[at] begins: the value of a jump. */
static bool is_aimed_at(const struct expression *e, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_jump(&e->code[i]) && e->code[i].index == at)
            return true;
    return false;
}

static const struct name *status_at(const struct expression *e, uint32_t at)
{
    const struct name *name = &e->names[e->code[at].index];
    if (e->code[at].operation != OP_NAME)
        return NULL;
    return name->kind == NAME_TASK_STATUS || name->kind == NAME_RUN_STATUS ? name
                                                                           : NULL;
}

bool expression_status_compared(const struct expression *e, uint32_t *from,
                                struct status_compared *out)
{
    for (uint32_t i = *from < 2 ? 2 : *from; i < e->n; i++) {
        const struct instruction *code = e->code;
        if ((code[i].operation != OP_EQUAL && code[i].operation != OP_UNEQUAL) ||
            is_aimed_at(e, i - 1) || is_aimed_at(e, i))
            continue;
        uint32_t value = code[i - 1].operation == OP_VALUE ? i - 1 : i - 2;
        uint32_t name = value == i - 1 ? i - 2 : i - 1;
        if (code[value].operation != OP_VALUE || code[name].operation != OP_NAME ||
            code[value].value.type != VALUE_TEXT || !status_at(e, name))
            continue;
        *out = (struct status_compared){status_at(e, name), code[value].value.text,
                                        code[value].at, code[value].length};
        *from = i + 1;
        return true;
    }
    return false;
}

/* Parsing: what is read where. Either an operand comes next, or, behind a complete one,
 * an operator; the text is read once, from left to right. */

static int fail_here(const struct expression_parser *p, size_t length, const char *text)
{
    return expression_fail(p->error, p->at, length, "%s", text);
}

/* ---- Operands ---- */

static int read_text(struct expression_parser *p)
{
    size_t end = p->at + 1, n = 0;
    while (end < p->text.len &&
           (p->text.ptr[end] != '\'' ||
            (end + 1 < p->text.len && p->text.ptr[end + 1] == '\''))) {
        end += p->text.ptr[end] == '\'' ? 2 : 1;
        n++;
    }
    if (end >= p->text.len)
        return fail_here(p, 1, "a text that begins with ' has no ' at its end");
    /* Without '' the value is a part of the text itself. */
    struct str text = {p->text.ptr + p->at + 1, end - p->at - 1};
    return parser_emit_text(p, end + 1 - p->at, text, text.len != n);
}

static int read_number(struct expression_parser *p)
{
    struct str rest = {p->text.ptr + p->at, p->text.len - p->at};
    size_t n = number_scan(rest), word = word_scan(p->text, p->at + n);
    struct value value = {.type = VALUE_NUMBER, .text = {rest.ptr, n}};
    if (!n)
        return fail_here(p, 1,
                         "`-` is only allowed before the digits of a number: "
                         "expressions do not calculate");
    if (word || (n < rest.len && rest.ptr[n] == '.'))
        return fail_here(p, n + (word ? word : 1),
                         "this is not a number: numbers look like 3, -2.5 or 1e6");
    if (!number_parse((struct str){rest.ptr, n}, &value.number))
        return fail_here(p, n, "this number is too long or too large");
    return parser_emit_value(p, n, value);
}

static size_t skip_blanks(struct str text, size_t at)
{
    while (at < text.len && text.ptr[at] && strchr(" \t\r\n", text.ptr[at]))
        at++;
    return at;
}

/* The functions that GitHub Actions has for the outcome of earlier steps. */
static const char *meant_elsewhere(struct str word)
{
    if (str_equal(word, STR("always")))
        return "a task that runs also after failures has `when: always`";
    if (str_equal(word, STR("failure")))
        return "a task that runs only after failures has `when: failed`";
    if (str_equal(word, STR("success")))
        return "`when: success` is what tasks have anyway";
    if (str_equal(word, STR("cancelled")))
        return "tasks for the end of every run are under `finally`";
    if (str_equal(word, STR("fromJSON")) || str_equal(word, STR("fromJson")))
        return "a task for each entry of a JSON list is `foreach: {item: {from: TASK, "
               "value: NAME}}`";
    return NULL;
}

struct function {
    const char *name, *usage;
    enum operation operation;
    uint8_t arguments;
};

static const struct function functions[] = {
    {"contains", "contains(TEXT, PART)", OP_CONTAINS, 2},
    {"default", "default(VALUE, INSTEAD)", OP_DEFAULT, 2},
    {"basename", "basename(PATH)", OP_BASENAME, 1},
    {"dirname", "dirname(PATH)", OP_DIRNAME, 1},
    {"stem", "stem(PATH)", OP_STEM, 1},
    {"replace", "replace(TEXT, FROM, TO)", OP_REPLACE, 3},
    {"split", "split(TEXT, AT)", OP_SPLIT, 2},
    {"join", "join(LIST, BETWEEN)", OP_JOIN, 2},
    {"sort", "sort(LIST)", OP_SORT, 1},
    {"len", "len(LIST)", OP_LEN, 1},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const struct function *function_named(struct str word)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (str_equal(word, str_of(functions[i].name)))
            return &functions[i];
    return NULL;
}

static int no_function(const struct expression_parser *p, struct str word)
{
    struct shown name = expression_shown(word);
    const char *meant = meant_elsewhere(word);
    if (meant)
        return expression_fail(p->error, p->at, word.len,
                               "there is no function `%s`: %s", name.text, meant);
    int rc = expression_fail(p->error, p->at, word.len,
                             "there is no function `%s`: there are", name.text);
    for (size_t i = 0; p->error && i < FUNCTIONS; i++) {
        size_t used = strlen(p->error->text);
        snprintf(p->error->text + used, sizeof p->error->text - used, "%s%s",
                 i == 0              ? " "
                 : i < FUNCTIONS - 1 ? ", "
                                     : " and ",
                 functions[i].usage);
    }
    return rc;
}

/* The name of a function and its `(`; false: another word. */
static bool read_function(struct expression_parser *p, struct str word, int *result)
{
    size_t open = skip_blanks(p->text, p->at + word.len);
    const struct function *function = function_named(word);
    if (open >= p->text.len || p->text.ptr[open] != '(')
        return false;
    if (!function) {
        *result = no_function(p, word);
        return true;
    }
    *result = parser_push(p, (struct waiting){.kind = function->operation == OP_DEFAULT
                                                          ? WAIT_DEFAULT
                                                          : WAIT_FUNCTION,
                                              .arguments = function->arguments,
                                              .operation = (uint8_t)function->operation,
                                              .at = p->at,
                                              .length = word.len});
    p->at = open + 1;
    return true;
}

static int read_name(struct expression_parser *p)
{
    struct name name;
    int rc = name_parse(p->text, p->at, &name, p->error);
    if (rc)
        return rc;
    struct instruction instruction = {.operation = OP_NAME,
                                      .at = (uint32_t)p->at,
                                      .length = (uint32_t)name.length,
                                      .index = (uint32_t)(p->names.size / sizeof name)};
    buf_add(&p->names, &name, sizeof name);
    p->at += name.length;
    p->complete = true;
    return p->names.failed ? CAIRN_ENOMEM : parser_emit(p, &instruction);
}

static int read_word(struct expression_parser *p)
{
    struct str word = {p->text.ptr + p->at, word_scan(p->text, p->at)};
    int rc;
    bool yes = str_equal(word, STR("true"));
    if (yes || str_equal(word, STR("false")))
        return parser_emit_value(p, word.len,
                                 (struct value){.type = VALUE_TRUTH, .truth = yes});
    return read_function(p, word, &rc) ? rc : read_name(p);
}

static int no_operand(const struct expression_parser *p)
{
    if (p->at >= p->text.len)
        return fail_here(p, 0,
                         p->n_waiting ? "the expression ends too early"
                                      : "the expression is empty");
    char c = p->text.ptr[p->at];
    if (c == '"')
        return fail_here(p, 1, "texts stand in single quotes: 'text'");
    if (c == '$')
        return fail_here(p, 1, "names stand here without `$`: params.x == 1");
    if (c == '[')
        return fail_here(p, 1, "this is an expression and no command: params.x == 1");
    if (c < ' ' || c > '~')
        return expression_fail(p->error, p->at, 1,
                               "the byte 0x%02x can only stand in quotes", (uint8_t)c);
    return expression_fail(p->error, p->at, 1, "a value is missing before `%c`", c);
}

static int read_operand(struct expression_parser *p)
{
    char c = p->at < p->text.len ? p->text.ptr[p->at] : 0;
    if (c == '!' || c == '(') {
        struct waiting waiting = {.kind = c == '!' ? WAIT_NOT : WAIT_OPEN,
                                  .operation = OP_NOT,
                                  .at = p->at++,
                                  .length = 1};
        return parser_push(p, waiting);
    }
    if (c == '\'')
        return read_text(p);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(p);
    return word_scan(p->text, p->at) ? read_word(p) : no_operand(p);
}

/* ---- Operators ---- */

struct infix {
    const char *text;
    enum waiting_kind kind;
    enum operation operation;
};

/* Longer ones before their beginnings. */
static const struct infix infixes[] = {
    {"||", WAIT_OR, OP_OR},
    {"&&", WAIT_AND, OP_AND},
    {"==", WAIT_COMPARE, OP_EQUAL},
    {"!=", WAIT_COMPARE, OP_UNEQUAL},
    {"<=", WAIT_COMPARE, OP_LESS_EQUAL},
    {">=", WAIT_COMPARE, OP_GREATER_EQUAL},
    {"<", WAIT_COMPARE, OP_LESS},
    {">", WAIT_COMPARE, OP_GREATER},
};

static bool stands_here(const struct expression_parser *p, struct str text)
{
    return p->text.len - p->at >= text.len &&
           memcmp(p->text.ptr + p->at, text.ptr, text.len) == 0;
}

static int no_operator(const struct expression_parser *p)
{
    struct str word = {p->text.ptr + p->at, word_scan(p->text, p->at)};
    char c = p->text.ptr[p->at];
    if (str_equal(word, STR("and")) || c == '&')
        return fail_here(p, word.len ? word.len : 1, "`and` is written &&");
    if (str_equal(word, STR("or")) || c == '|')
        return fail_here(p, word.len ? word.len : 1, "`or` is written ||");
    if (p->at > 3 && memcmp(p->text.ptr + p->at - 4, "not ", 4) == 0 &&
        (p->at == 4 || p->text.ptr[p->at - 5] == ' ' || p->text.ptr[p->at - 5] == '('))
        return fail_here(p, word.len ? word.len : 1, "`not` is written !");
    if (c == '=')
        return fail_here(p, 1, "`is equal` is written ==");
    if (c == '!')
        return fail_here(p, 1, "`is not equal` is written !=");
    if (strchr("+-*/%", c) && c)
        return fail_here(p, 1, "expressions do not calculate");
    if (c < ' ' || c > '~')
        return expression_fail(p->error, p->at, 1,
                               "the byte 0x%02x can only stand in quotes", (uint8_t)c);
    return fail_here(p, word.len ? word.len : 1, "an operator is missing before this");
}

static int read_binary(struct expression_parser *p, const struct infix *infix)
{
    struct waiting waiting = {.kind = infix->kind,
                              .operation = (uint8_t)infix->operation,
                              .at = p->at,
                              .length = strlen(infix->text)};
    int rc = parser_reduce(p, infix->kind == WAIT_COMPARE ? WAIT_NOT : infix->kind);
    if (!rc && infix->kind == WAIT_COMPARE && parser_top(p) &&
        parser_top(p)->kind == WAIT_COMPARE)
        return fail_here(p, waiting.length,
                         "comparisons are not chained: join two with &&, or put one "
                         "into parentheses");
    if (!rc && infix->kind != WAIT_COMPARE) {
        rc = parser_emit_jump(p, infix->operation, &waiting);
        waiting.operation = OP_TRUTH;
    }
    p->at += waiting.length;
    return rc ? rc : parser_push(p, waiting);
}

static int wrong_arguments(const struct expression_parser *p, size_t at, size_t length,
                           const struct waiting *of)
{
    static const char *const how_many[] = {"no arguments", "one argument",
                                           "two arguments", "three arguments"};
    struct str name = {p->text.ptr + of->at, of->length};
    return expression_fail(p->error, at, length, "this function has %s: %s",
                           how_many[of->arguments], function_named(name)->usage);
}

static int read_comma(struct expression_parser *p)
{
    int rc = parser_reduce(p, WAIT_OR);
    struct waiting *function = parser_top(p);
    if (rc)
        return rc;
    if (!function || function->kind == WAIT_OPEN)
        return fail_here(p, 1,
                         "`,` is only allowed between the arguments of a function");
    if (function->commas + 1 == function->arguments)
        return wrong_arguments(p, p->at, 1, function);
    function->commas++;
    p->at++;
    p->complete = false;
    return function->kind == WAIT_DEFAULT ? parser_emit_jump(p, OP_DEFAULT, function)
                                          : 0;
}

static int read_close(struct expression_parser *p)
{
    int rc = parser_reduce(p, WAIT_OR);
    struct waiting *open = parser_top(p);
    if (rc)
        return rc;
    if (!open)
        return fail_here(p, 1, "`)` without `(`");
    if (open->kind != WAIT_OPEN && open->commas + 1 < open->arguments)
        return wrong_arguments(p, open->at, open->length, open);
    p->n_waiting--;
    p->depth--;
    p->at++;
    if (open->kind == WAIT_DEFAULT)
        parser_aim_jump(p, open);
    if (open->kind != WAIT_FUNCTION)
        return 0;
    open->length = p->at - open->at; /* messages about the value show the whole call */
    return parser_emit_operation(p, (enum operation)open->operation, open);
    return 0;
}

static int read_operator(struct expression_parser *p)
{
    if (p->text.ptr[p->at] == ',')
        return read_comma(p);
    if (p->text.ptr[p->at] == ')')
        return read_close(p);
    for (size_t i = 0; i < sizeof infixes / sizeof infixes[0]; i++)
        if (stands_here(p, str_of(infixes[i].text)))
            return read_binary(p, &infixes[i]);
    return no_operator(p);
}

static int read_all(struct expression_parser *p)
{
    int rc = 0;
    for (;;) {
        p->at = skip_blanks(p->text, p->at);
        if (p->complete && p->at >= p->text.len)
            break;
        rc = p->complete ? read_operator(p) : read_operand(p);
        if (rc)
            return rc;
    }
    rc = parser_reduce(p, WAIT_OR);
    if (!rc && parser_top(p))
        return expression_fail(p->error, parser_top(p)->at, parser_top(p)->length,
                               "the `(` of this has no `)`");
    return rc;
}

int expression_parse(struct arena *arena, struct str text,
                     const struct expression **out, struct expression_error *error)
{
    if (text.len > LIMIT_EXPRESSION_BYTES)
        return expression_fail(error, 0, 0, "the expression is longer than %d bytes",
                               LIMIT_EXPRESSION_BYTES);
    struct expression_parser p = {.code = BUF_INIT, .names = BUF_INIT, .error = error};
    p.text = arena_str(arena, text);
    int rc = p.text.ptr ? read_all(&p) : CAIRN_ENOMEM;
    if (!rc)
        rc = parser_keep(arena, &p, out);
    buf_release(&p.code);
    buf_release(&p.names);
    return rc;
}

uint32_t expression_names(const struct expression *expression)
{
    return expression->n_names;
}

const struct name *expression_name(const struct expression *expression, uint32_t i)
{
    return &expression->names[i];
}
