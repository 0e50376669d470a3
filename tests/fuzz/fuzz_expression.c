/* SPDX-License-Identifier: MIT */
/* Every input as an expression, as a text with ${{ }}, and as a number: parsed, and
 * evaluated with names that stand for every kind of value. */
#include "graph/expression/expression_int.h"
#include "tests/fuzz/fuzz.h"

/* What a name stands for depends on nothing but its text. */
static int look_up(void *context, const struct name *name, struct value *out,
                   struct cairn_error *error)
{
    static const struct value values[] = {
        {.type = VALUE_MISSING},
        {.type = VALUE_TEXT, .text = {"12.50", 5}},
        {.type = VALUE_TEXT, .text = {"text \x1b[0m", 9}},
        {.type = VALUE_TEXT, .text = {"", 0}},
        {.type = VALUE_TEXT, .text = {"false", 5}},
        {.type = VALUE_NUMBER, .number = -0.0},
        {.type = VALUE_NUMBER, .number = 1e300},
        {.type = VALUE_TRUTH, .truth = true},
    };
    size_t sum = name->kind + name->first.len;
    uint32_t *calls = context;
    ++*calls;
    for (size_t i = 0; i < name->first.len; i++)
        sum += (uint8_t)name->first.ptr[i];
    for (size_t i = 0; i < name->second.len; i++)
        sum += (uint8_t)name->second.ptr[i];
    if (sum % 11 == 10)
        return error_set(error, CAIRN_EWORKFLOW, "there is no such name");
    *out = values[sum % 8];
    return 0;
}

static void check_place(const struct expression_error *error, size_t size)
{
    HOLDS(error->text[0] && memchr(error->text, 0, sizeof error->text));
    HOLDS(error->at <= size && error->length <= size - error->at);
}

static void check_number(double number)
{
    struct buf out = BUF_INIT;
    double again;
    number_append(number, &out);
    HOLDS(number_parse(buf_view(&out), &again));
    HOLDS(again <= number && again >= number);
    buf_release(&out);
}

static void evaluate(const struct expression *expression)
{
    struct value value, other;
    struct arena texts = ARENA_INIT;
    struct cairn_error error = {0};
    struct buf out = BUF_INIT;
    uint32_t calls = 0, more = 0;
    int code = expression_evaluate(expression, look_up, &calls, &texts, &value, &error);
    HOLDS(calls <= expression_names(expression));
    HOLDS(expression_evaluate(expression, look_up, &more, &texts, &other, &error) ==
          code);
    HOLDS(calls == more);
    if (code) {
        EXPLAINED(code, error);
        arena_release(&texts);
        return;
    }
    HOLDS(value.type == other.type && value_truth(&value) == value_truth(&other));
    if (value.type == VALUE_NUMBER)
        check_number(value.number);
    value_append(&value, &out);
    HOLDS(!out.failed);
    buf_release(&out);
    arena_release(&texts);
}

static void as_expression(struct str text)
{
    struct arena arena = ARENA_INIT;
    const struct expression *expression = NULL;
    struct expression_error error = {0};
    int code = expression_parse(&arena, text, &expression, &error);
    HOLDS(code == 0 || code == CAIRN_EWORKFLOW);
    if (code)
        check_place(&error, text.len);
    else {
        for (uint32_t i = 0; i < expression_names(expression); i++) {
            const struct name *name = expression_name(expression, i);
            HOLDS(name->first.len || name->kind >= NAME_RUN_ID);
            HOLDS(name->at < text.len && name->length <= text.len - name->at);
        }
        evaluate(expression);
    }
    arena_release(&arena);
}

static void check_pieces(const struct text_template *template, struct str text)
{
    size_t at = 0;
    for (uint32_t i = 0; i < template->n; i++) {
        const struct piece *piece = &template->pieces[i];
        HOLDS(piece->at >= at && piece->at < text.len);
        at = piece->at + piece->text.len;
        HOLDS(piece->expression || piece->text.len);
    }
    HOLDS(at <= text.len);
}

static void as_template(struct str text)
{
    struct arena arena = ARENA_INIT;
    struct text_template template = {0, NULL};
    struct expression_error error = {0};
    struct cairn_error why = {0};
    struct buf out = BUF_INIT;
    uint32_t calls = 0;
    int code = template_parse(&arena, text, &template, &error);
    HOLDS(code == 0 || code == CAIRN_EWORKFLOW);
    if (code)
        check_place(&error, text.len);
    else {
        check_pieces(&template, text);
        code = template_expand(&template, look_up, &calls, &out, &why);
        if (code)
            EXPLAINED(code, why);
        if (!template_has(text))
            HOLDS(code == 0 && str_equal(buf_view(&out), text));
    }
    buf_release(&out);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str text = {copy.ptr, size};
    double number;
    as_expression(text);
    as_template(text);
    HOLDS(number_scan(text) <= size);
    if (number_parse(text, &number))
        check_number(number);
    unfence(&copy);
    return 0;
}
