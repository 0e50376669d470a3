/* SPDX-License-Identifier: MIT */
/* Parts of paths, by their bytes. */
#include "graph/expression/expression_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static size_t without_slashes(struct str path, size_t n)
{
    while (n && path.ptr[n - 1] == '/')
        n--;
    return n;
}

/* Where the base name begins that ends at `end`. */
static size_t base_start(struct str path, size_t end)
{
    while (end && path.ptr[end - 1] != '/')
        end--;
    return end;
}

/* Parts of `path`, or constants: as basename(1) and dirname(1) have them, but of an
 * empty path the base name is empty. */
static struct str path_basename(struct str path)
{
    size_t end = without_slashes(path, path.len), start = base_start(path, end);
    if (!end)
        return path.len ? STR("/") : path;
    return (struct str){path.ptr + start, end - start};
}

static struct str path_dirname(struct str path)
{
    size_t start = base_start(path, without_slashes(path, path.len));
    if (!start)
        return path.len && path.ptr[0] == '/' ? STR("/") : STR(".");
    size_t end = without_slashes(path, start);
    return end ? (struct str){path.ptr, end} : STR("/");
}

/* The base name up to its last dot; a dot that it begins or ends with stays. */
static struct str path_stem(struct str path)
{
    struct str base = path_basename(path);
    size_t first = 0, dot = base.len;
    while (first < base.len && base.ptr[first] == '.')
        first++;
    while (dot > first && base.ptr[dot - 1] != '.')
        dot--;
    if (dot <= first || dot == base.len)
        return base;
    return (struct str){base.ptr, dot - 1};
}

/* Evaluating: one pass over the code with a stack of values. Jumps only lead forward,
 * so it ends. What is never reached is never looked up. */

struct machine {
    const struct expression *expression;
    struct operand stack[EXPRESSION_STACK];
    uint32_t n;
    name_lookup *lookup;
    void *context;
    struct arena *texts; /* of those that functions make */
    struct cairn_error *error;
};

/* ---- Values ---- */

bool value_truth(const struct value *value)
{
    switch (value->type) {
    case VALUE_TEXT:
        return value->text.len && !str_equal(value->text, STR("false"));
    case VALUE_NUMBER:
        return value->number < 0 || value->number > 0;
    case VALUE_TRUTH:
        return value->truth;
    case VALUE_MISSING:
        break;
    }
    return false;
}

void value_append(const struct value *value, struct buf *out)
{
    switch (value->type) {
    case VALUE_TEXT:
        buf_str(out, value->text);
        break;
    case VALUE_NUMBER:
        number_append_text(value->text, value->number, out);
        break;
    case VALUE_TRUTH:
        buf_text(out, value->truth ? "true" : "false");
        break;
    case VALUE_MISSING:
        break;
    }
}

static struct value truth_value(bool yes)
{
    return (struct value){.type = VALUE_TRUTH, .truth = yes};
}

static double as_double(const struct value *value)
{
    double number = value->number;
    if (value->type == VALUE_TEXT)
        (void)number_parse(value->text, &number);
    return number;
}

/* By their digits where both have them. */
static int order_of(const struct value *a, const struct value *b)
{
    if (a->text.len && b->text.len)
        return number_order(a->text, b->text);
    double x = as_double(a), y = as_double(b);
    return (x > y) - (x < y);
}

/* A number, or a text that reads as one. */
static bool is_number(const struct value *value)
{
    double unused;
    return value->type == VALUE_NUMBER ||
           (value->type == VALUE_TEXT && number_parse(value->text, &unused));
}

static bool values_equal(const struct value *a, const struct value *b)
{
    if (a->type == VALUE_MISSING || b->type == VALUE_MISSING)
        return a->type == b->type;
    if (a->type == VALUE_TEXT && b->type == VALUE_TEXT)
        return str_equal(a->text, b->text);
    if (a->type == VALUE_TRUTH && b->type == VALUE_TRUTH)
        return a->truth == b->truth;
    if (a->type == VALUE_TRUTH || b->type == VALUE_TRUTH) {
        const struct value *yes = a->type == VALUE_TRUTH ? a : b,
                           *other = yes == a ? b : a;
        return other->type == VALUE_TEXT &&
               str_equal(other->text, yes->truth ? STR("true") : STR("false"));
    }
    return is_number(a) && is_number(b) && order_of(a, b) == 0;
}

/* ---- Errors ---- */

static struct shown source_of(const struct expression *expression,
                              const struct operand *operand)
{
    return expression_shown(
        (struct str){expression->text.ptr + operand->at, operand->length});
}

int expression_missing(const struct expression *expression,
                       const struct operand *operand, struct cairn_error *error)
{
    if (operand->value.type != VALUE_MISSING)
        return 0;
    struct shown name = source_of(expression, operand);
    struct str why = operand->value.text;
    return error_set(error, CAIRN_EWORKFLOW,
                     "%s was not set%s%.*s%s; give a default: default(%s, 'x')",
                     name.text, why.len ? " (" : "", (int)why.len,
                     why.len ? why.ptr : "", why.len ? ")" : "", name.text);
}

static int refuse_missing(const struct machine *m, const struct operand *operand)
{
    return expression_missing(m->expression, operand, m->error);
}

static int needs_numbers(const struct machine *m, const struct instruction *i,
                         const struct operand *operand)
{
    struct buf text = BUF_INIT;
    struct shown name = source_of(m->expression, operand);
    value_append(&operand->value, &text);
    int rc =
        buf_check(&text, m->error)
            ?: error_set(m->error, CAIRN_EWORKFLOW, "`%.*s` needs numbers: %s is `%s`",
                         (int)i->length, m->expression->text.ptr + i->at, name.text,
                         expression_shown(buf_view(&text)).text);
    buf_release(&text);
    return rc;
}

/* ---- Operations ---- */

/* The parser refuses what would need a deeper stack. */
static void push_value(struct machine *m, const struct instruction *i,
                       const struct value *value)
{
    assert(m->n < EXPRESSION_STACK);
    m->stack[m->n++] = (struct operand){*value, i->at, i->length};
}

/* The operand on top, or `below` it. */
static struct operand *operand_at(struct machine *m, uint32_t below)
{
    assert(below < m->n);
    return &m->stack[m->n - 1 - below];
}

static int push_name(struct machine *m, const struct instruction *i)
{
    const struct name *name = &m->expression->names[i->index];
    struct value value = {.type = VALUE_MISSING};
    int rc = m->lookup(m->context, name, &value, m->error);
    if (!rc)
        push_value(m, i, &value);
    return rc;
}

/* The upper one of the two on top is dropped, the lower one becomes the result. It
 * covers both in the text. */
static void replace_two(struct machine *m, bool yes)
{
    const struct operand *right = operand_at(m, 0);
    struct operand *left = operand_at(m, 1);
    left->value = truth_value(yes);
    left->length = right->at + right->length - left->at;
    m->n--;
}

static int compare_order(struct machine *m, const struct instruction *i)
{
    const struct operand *left = operand_at(m, 1), *right = operand_at(m, 0);
    int rc = refuse_missing(m, left) ?: refuse_missing(m, right);
    if (!rc && !is_number(&left->value))
        rc = needs_numbers(m, i, left);
    else if (!rc && !is_number(&right->value))
        rc = needs_numbers(m, i, right);
    if (rc)
        return rc;
    int order = order_of(&left->value, &right->value);
    bool yes = i->operation == OP_LESS         ? order < 0
               : i->operation == OP_GREATER    ? order > 0
               : i->operation == OP_LESS_EQUAL ? order <= 0
                                               : order >= 0;
    replace_two(m, yes);
    return 0;
}

static void compare_equal(struct machine *m, bool wanted)
{
    replace_two(m, values_equal(&operand_at(m, 1)->value, &operand_at(m, 0)->value) ==
                       wanted);
}

/* `spare` holds it, if it was not a text. */
static struct str as_text(const struct value *value, struct buf *spare)
{
    if (value->type == VALUE_TEXT)
        return value->text;
    value_append(value, spare);
    return buf_view(spare);
}

static bool has_part(struct str whole, struct str part)
{
    return !part.len ||
           (whole.len && memmem(whole.ptr, whole.len, part.ptr, part.len) != NULL);
}

static int run_contains(struct machine *m)
{
    const struct operand *whole = operand_at(m, 1), *part = operand_at(m, 0);
    struct buf a = BUF_INIT, b = BUF_INIT;
    int rc = refuse_missing(m, whole) ?: refuse_missing(m, part);
    if (rc)
        return rc;
    bool yes = has_part(as_text(&whole->value, &a), as_text(&part->value, &b));
    rc = a.failed || b.failed ? error_nomem(m->error) : 0;
    if (!rc)
        replace_two(m, yes);
    buf_release(&a);
    buf_release(&b);
    return rc;
}

static int run_path(struct machine *m, const struct instruction *i)
{
    struct operand *top = operand_at(m, 0);
    int rc = refuse_missing(m, top);
    if (rc)
        return rc;
    if (top->value.type != VALUE_TEXT)
        return error_set(m->error, CAIRN_EWORKFLOW,
                         "`%s` needs a path, which is a text: %s is a %s",
                         i->operation == OP_BASENAME  ? "basename"
                         : i->operation == OP_DIRNAME ? "dirname"
                                                      : "stem",
                         source_of(m->expression, top).text,
                         top->value.type == VALUE_NUMBER ? "number" : "truth value");
    struct str path = top->value.text;
    top->value.text = i->operation == OP_BASENAME  ? path_basename(path)
                      : i->operation == OP_DIRNAME ? path_dirname(path)
                                                   : path_stem(path);
    top->at = i->at;
    top->length = i->length;
    return 0;
}

/* ---- Texts and lists: a list is a text with a line for each element ---- */

/* The operand as a text; a missing one is refused. */
static int argument(struct machine *m, uint32_t below, struct str *out)
{
    const struct operand *operand = operand_at(m, below);
    struct buf text = BUF_INIT;
    int rc = refuse_missing(m, operand);
    if (rc)
        return rc;
    *out = as_text(&operand->value, &text);
    if (text.size)
        *out = arena_str(m->texts, buf_view(&text));
    bool failed = text.failed || m->texts->failed;
    buf_release(&text);
    return failed ? error_nomem(m->error) : 0;
}

/* The `n` operands on top become one. */
static void become(struct machine *m, const struct instruction *i, uint32_t n,
                   struct value value)
{
    m->n -= n - 1;
    *operand_at(m, 0) = (struct operand){value, i->at, i->length};
}

/* The same, of a text that is released. */
static int become_text(struct machine *m, const struct instruction *i, uint32_t n,
                       struct buf *text)
{
    struct str made = arena_str(m->texts, buf_view(text));
    bool failed = text->failed || !made.ptr;
    if (!failed)
        become(m, i, n, (struct value){.type = VALUE_TEXT, .text = made});
    buf_release(text);
    return failed ? error_nomem(m->error) : 0;
}

static int exchange(struct machine *m, const struct instruction *i, struct str text,
                    struct str from, struct str to, struct buf *out)
{
    const char *end = text.ptr + text.len, *hit;
    if (!from.len)
        return error_set(
            m->error, CAIRN_EWORKFLOW, "`%s`: the text to look for is empty",
            expression_shown((struct str){m->expression->text.ptr + i->at, i->length})
                .text);
    while (text.len && (hit = memmem(text.ptr, text.len, from.ptr, from.len))) {
        buf_add(out, text.ptr, (size_t)(hit - text.ptr));
        buf_str(out, to);
        text.ptr = hit + from.len;
        text.len = (size_t)(end - text.ptr);
        if (out->size > LIMIT_EXPRESSION_TEXT)
            return error_set(
                m->error, CAIRN_EWORKFLOW, "`%s` makes a text of more than %d bytes",
                expression_shown(
                    (struct str){m->expression->text.ptr + i->at, i->length})
                    .text,
                LIMIT_EXPRESSION_TEXT);
    }
    buf_str(out, text);
    return 0;
}

/* A line break at the end of a list begins no further element. */
static struct str without_end(struct str list)
{
    list.len -= list.len && list.ptr[list.len - 1] == '\n';
    return list;
}

static int run_exchange(struct machine *m, const struct instruction *i)
{
    uint32_t n = i->operation == OP_REPLACE ? 3 : 2;
    struct str text = STR(""), from = STR("\n"), to = STR("\n");
    struct buf out = BUF_INIT;
    int rc = argument(m, n - 1, &text)
                 ?: argument(m, n - 2, i->operation == OP_JOIN ? &to : &from);
    if (!rc && n == 3)
        rc = argument(m, 0, &to);
    if (!rc && i->operation == OP_JOIN)
        text = without_end(text);
    if (!rc)
        rc = exchange(m, i, text, from, to, &out);
    if (!rc)
        return become_text(m, i, n, &out);
    buf_release(&out);
    return rc;
}

static int run_list(struct machine *m, const struct instruction *i)
{
    struct buf lines = BUF_INIT, out = BUF_INIT;
    struct str list, line;
    int rc = argument(m, 0, &list);
    if (rc)
        return rc;
    bool more = list.len > 0;
    for (list = without_end(list); more;) {
        const char *stop = list.len ? memchr(list.ptr, '\n', list.len) : NULL;
        line = (struct str){list.ptr, stop ? (size_t)(stop - list.ptr) : list.len};
        buf_add(&lines, &line, sizeof line);
        more = stop != NULL;
        list.ptr += line.len + more;
        list.len -= line.len + more;
    }
    size_t n = lines.size / sizeof line;
    struct str *sorted = (struct str *)(void *)lines.data;
    if (i->operation == OP_LEN && !lines.failed) {
        become(m, i, 1, (struct value){.type = VALUE_NUMBER, .number = (double)n});
    } else if (!lines.failed) {
        if (n)
            qsort(sorted, n, sizeof line, str_order);
        for (size_t k = 0; k < n; k++) {
            buf_text(&out, k ? "\n" : "");
            buf_str(&out, sorted[k]);
        }
        rc = become_text(m, i, 1, &out);
    }
    bool failed = lines.failed;
    buf_release(&lines);
    return failed ? error_nomem(m->error) : rc;
}

static int run_not(struct machine *m, const struct instruction *i)
{
    struct operand *top = operand_at(m, 0);
    int rc = refuse_missing(m, top);
    if (rc)
        return rc;
    top->value = truth_value(!value_truth(&top->value));
    top->length = top->at + top->length - i->at;
    top->at = i->at;
    return 0;
}

static int become_truth(struct machine *m)
{
    struct operand *top = operand_at(m, 0);
    int rc = refuse_missing(m, top);
    if (!rc)
        top->value = truth_value(value_truth(&top->value));
    return rc;
}

/* && and ||: *jumps if the left side decides. */
static int decide_by_left(struct machine *m, bool deciding, bool *jumps)
{
    int rc = become_truth(m);
    if (rc)
        return rc;
    *jumps = operand_at(m, 0)->value.truth == deciding;
    if (!*jumps)
        m->n--;
    return 0;
}

static int run_instruction(struct machine *m, const struct instruction *i, bool *jumps)
{
    switch ((enum operation)i->operation) {
    case OP_VALUE:
        push_value(m, i, &i->value);
        return 0;
    case OP_NAME:
        return push_name(m, i);
    case OP_NOT:
        return run_not(m, i);
    case OP_EQUAL:
    case OP_UNEQUAL:
        compare_equal(m, i->operation == OP_EQUAL);
        return 0;
    case OP_LESS:
    case OP_GREATER:
    case OP_LESS_EQUAL:
    case OP_GREATER_EQUAL:
        return compare_order(m, i);
    case OP_CONTAINS:
        return run_contains(m);
    case OP_BASENAME:
    case OP_DIRNAME:
    case OP_STEM:
        return run_path(m, i);
    case OP_REPLACE:
    case OP_SPLIT:
    case OP_JOIN:
        return run_exchange(m, i);
    case OP_SORT:
    case OP_LEN:
        return run_list(m, i);
    case OP_AND:
        return decide_by_left(m, false, jumps);
    case OP_OR:
        return decide_by_left(m, true, jumps);
    case OP_DEFAULT:
        *jumps = operand_at(m, 0)->value.type != VALUE_MISSING;
        if (!*jumps)
            m->n--;
        return 0;
    case OP_TRUTH:
        return become_truth(m);
    }
    return 0;
}

int expression_run(const struct expression *expression, name_lookup *lookup,
                   void *context, struct arena *texts, struct operand *out,
                   struct cairn_error *error)
{
    struct machine m;
    m.expression = expression;
    m.n = 0;
    m.lookup = lookup;
    m.context = context;
    m.texts = texts;
    m.error = error;
    for (uint32_t at = 0; at < expression->n;) {
        const struct instruction *instruction = &expression->code[at];
        bool jumps = false;
        int rc = run_instruction(&m, instruction, &jumps);
        if (rc)
            return rc;
        assert(!jumps ||
               (instruction->index > at && instruction->index <= expression->n));
        at = jumps ? instruction->index : at + 1;
    }
    assert(m.n == 1);
    *out = m.stack[0];
    return 0;
}

int expression_evaluate(const struct expression *expression, name_lookup *lookup,
                        void *context, struct arena *texts, struct value *out,
                        struct cairn_error *error)
{
    struct operand operand;
    int rc = expression_run(expression, lookup, context, texts, &operand, error);
    if (!rc)
        *out = operand.value;
    return rc;
}

/* ${{ }} in text: finding it, and putting values in. */

static const char opening[] = "${{";

enum { OPENING = 3, CLOSING = 2 };

/* Position of the next ${{ at or after `from`, or SIZE_MAX. */
static size_t template_start(struct str text, size_t from)
{
    if (from >= text.len)
        return SIZE_MAX;
    const char *at = memmem(text.ptr + from, text.len - from, opening, OPENING);
    return at ? (size_t)(at - text.ptr) : SIZE_MAX;
}

bool template_has(struct str text)
{
    return template_start(text, 0) != SIZE_MAX;
}

static bool is_escaped(struct str text, size_t start)
{
    return start > 0 && text.ptr[start - 1] == '$';
}

size_t template_find(struct str text, size_t from)
{
    size_t start = template_start(text, from);
    while (start != SIZE_MAX && is_escaped(text, start))
        start = template_start(text, start + OPENING);
    return start;
}

/* Position of the }} that ends the expression that begins at `from`, or SIZE_MAX; what
 * stands in quotes does not count. */
static size_t template_end(struct str text, size_t from)
{
    bool quoted = false;
    for (size_t i = from; i + 1 < text.len; i++) {
        if (text.ptr[i] == '\'')
            quoted = !quoted;
        else if (!quoted && text.ptr[i] == '}' && text.ptr[i + 1] == '}')
            return i;
    }
    return SIZE_MAX;
}

/* Each $${{, with one $ less, gets that before and behind its $. If these are of an
 * expression, what stands inside of expressions is none. */
static bool replace_escapes(struct arena *arena, struct str *text, struct str before,
                            struct str behind)
{
    struct buf out = BUF_INIT;
    size_t done = 0, from = 0, start;
    while ((start = template_start(*text, from)) != SIZE_MAX) {
        from = start + OPENING;
        if (is_escaped(*text, start)) {
            size_t first = start;
            while (first > done && text->ptr[first - 1] == '$')
                first--;
            buf_add(&out, text->ptr + done, first - done);
            buf_str(&out, before);
            buf_add(&out, text->ptr + first, start - first);
            buf_str(&out, behind);
            done = from - 2; /* {{ */
        } else if (before.len && (from = template_end(*text, from)) == SIZE_MAX)
            break;
    }
    bool ok = true;
    if (done) {
        buf_add(&out, text->ptr + done, text->len - done);
        *text = arena_str(arena, buf_view(&out));
        ok = !out.failed && text->ptr;
    }
    buf_release(&out);
    return ok;
}

bool text_unescape(struct arena *arena, struct str *text)
{
    return replace_escapes(arena, text, STR(""), STR(""));
}

bool template_unescape(struct arena *arena, struct str *text)
{
    return replace_escapes(arena, text, STR("${{ '"), STR("' }}"));
}

static int no_end(struct str text, size_t start, struct expression_error *error)
{
    struct str rest = {text.ptr + start, text.len - start};
    bool quote = memmem(rest.ptr, rest.len, "}}", CLOSING) != NULL;
    return expression_fail(error, start, OPENING,
                           quote ? "`${{` without `}}`: text in '...' does not "
                                   "count, and a quote is open"
                                 : "`${{` without `}}`");
}

/* ---- Parsing ---- */

static int add_piece(struct buf *pieces, struct piece piece)
{
    buf_add(pieces, &piece, sizeof piece);
    return pieces->failed ? CAIRN_ENOMEM : 0;
}

static int parse_one(struct arena *arena, struct str text, size_t start, size_t *end,
                     struct piece *out, struct expression_error *error)
{
    size_t from = start + OPENING, close = template_end(text, from);
    if (close == SIZE_MAX)
        return no_end(text, start, error);
    *out = (struct piece){.at = start};
    *end = close + CLOSING;
    int rc = expression_parse(arena, (struct str){text.ptr + from, close - from},
                              &out->expression, error);
    if (rc == CAIRN_EWORKFLOW && error)
        error->at += from;
    return rc;
}

static int parse_pieces(struct arena *arena, struct str text, struct buf *pieces,
                        struct expression_error *error)
{
    size_t done = 0;
    int rc = 0;
    while (done < text.len && !rc) {
        size_t start = template_start(text, done);
        size_t literal = (start == SIZE_MAX ? text.len : start) - done;
        struct piece piece = {.text = {text.ptr + done, literal}, .at = done};
        if (literal)
            rc = add_piece(pieces, piece);
        done += literal;
        if (rc || start == SIZE_MAX)
            break;
        rc = parse_one(arena, text, start, &done, &piece, error)
                 ?: add_piece(pieces, piece);
    }
    return rc;
}

int template_parse(struct arena *arena, struct str text, struct text_template *out,
                   struct expression_error *error)
{
    struct buf pieces = BUF_INIT;
    int rc = parse_pieces(arena, text, &pieces, error);
    size_t n = pieces.size / sizeof(struct piece);
    struct piece *kept = rc ? NULL : arena_take(arena, n, sizeof *kept);
    if (!rc && !kept)
        rc = CAIRN_ENOMEM;
    if (!rc) {
        if (n)
            memcpy(kept, pieces.data, pieces.size);
        *out = (struct text_template){(uint32_t)n, kept};
    }
    buf_release(&pieces);
    return rc;
}

/* ---- Expanding ---- */

int template_expand(const struct text_template *template, name_lookup *lookup,
                    void *context, struct buf *out, struct cairn_error *error)
{
    struct arena texts = ARENA_INIT;
    int rc = 0;
    for (uint32_t i = 0; i < template->n && !rc; i++) {
        const struct piece *piece = &template->pieces[i];
        struct operand operand;
        if (!piece->expression) {
            buf_str(out, piece->text);
            continue;
        }
        rc = expression_run(piece->expression, lookup, context, &texts, &operand, error)
                 ?: expression_missing(piece->expression, &operand, error);
        if (!rc)
            value_append(&operand.value, out);
    }
    arena_release(&texts);
    return rc ? rc : buf_check(out, error);
}
