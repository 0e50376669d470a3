/* SPDX-License-Identifier: MIT */
#include "tests/support/expression.h"

#include <stdio.h>
#include <stdlib.h>

struct arena arena;
struct cairn_error error;
char looked_up[256];

void setup(void)
{
    arena = ARENA_INIT;
    error = (struct cairn_error){0};
    looked_up[0] = 0;
}

void teardown(void)
{
    arena_release(&arena);
}

static void note(struct str word)
{
    size_t n = strlen(looked_up);
    snprintf(looked_up + n, sizeof looked_up - n, "%s%.*s", n ? " " : "", (int)word.len,
             word.ptr);
}

int lookup(void *context, const struct name *name, struct value *out,
           struct cairn_error *wrong)
{
    ck_assert_ptr_eq(context, looked_up);
    struct str text = name->first;
    note(text);
    if (name->kind == NAME_TASK_OUTPUT)
        text = name->second;
    if (str_equal(text, STR("broken")))
        return error_set(wrong, CAIRN_EIO, "broken");
    *out = (struct value){.type = VALUE_TEXT, .text = text};
    if (str_equal(text, STR("gone")))
        *out = (struct value){.type = VALUE_MISSING};
    else if (str_equal(text, STR("empty")))
        out->text = STR("");
    else if (name->kind == NAME_RUN_ATTEMPT)
        *out = (struct value){.type = VALUE_NUMBER, .number = 3};
    return 0;
}

int parse(struct str text, const struct expression **out,
          struct expression_error *wrong)
{
    memset(wrong, 0x55, sizeof *wrong);
    char *exact = malloc(text.len ? text.len : 1); /* so that ASan sees a byte more */
    ck_assert_ptr_nonnull(exact);
    if (text.len)
        memcpy(exact, text.ptr, text.len);
    int result = expression_parse(&arena, (struct str){exact, text.len}, out, wrong);
    free(exact);
    return result;
}

const struct expression *parsed(const char *text)
{
    const struct expression *expression = NULL;
    struct expression_error wrong;
    int result = parse(str_of(text), &expression, &wrong);
    ck_assert_msg(result == 0, "%s: refused at %zu: %s", text, wrong.at, wrong.text);
    return expression;
}

void expect(const char *text, const char *expected)
{
    static const char types[] = "tnbm";
    struct value value;
    struct buf out = BUF_INIT;
    looked_up[0] = 0;
    int result =
        expression_evaluate(parsed(text), lookup, looked_up, &arena, &value, &error);
    ck_assert_msg(result == 0, "%s: %s", text, error.text);
    buf_byte(&out, (uint8_t)types[value.type]);
    value_append(&value, &out);
    ck_assert_msg(strcmp(out.data, expected) == 0, "%s gives %s, not %s", text,
                  out.data, expected);
    buf_release(&out);
}

void expect_error(const char *text, const char *words)
{
    struct value value;
    looked_up[0] = 0;
    int result =
        expression_evaluate(parsed(text), lookup, looked_up, &arena, &value, &error);
    ck_assert_msg(result == CAIRN_EWORKFLOW, "%s: %d", text, result);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s: %s", text, error.text);
}

void expect_refused(struct str text, size_t at, size_t length, const char *words)
{
    const struct expression *expression;
    struct expression_error wrong;
    ck_assert_msg(parse(text, &expression, &wrong) == CAIRN_EWORKFLOW, "%.*s",
                  (int)text.len, text.ptr);
    ck_assert_msg(strstr(wrong.text, words) != NULL, "%.40s: %s", text.ptr, wrong.text);
    ck_assert_msg(wrong.at == at && wrong.length == length, "%.40s: %s at %zu, %zu",
                  text.ptr, wrong.text, wrong.at, wrong.length);
}

void refused(const char *text, size_t at, size_t length, const char *words)
{
    expect_refused(str_of(text), at, length, words);
}

void expect_lazy(const char *text, const char *expected, const char *names)
{
    expect(text, expected);
    ck_assert_msg(strcmp(looked_up, names) == 0, "%s asks for %s", text, looked_up);
}
