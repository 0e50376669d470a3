/* SPDX-License-Identifier: MIT */
/* Texts with ${{ }}: what they expand to, their pieces, what is refused. */
#include "tests/support/expression.h"

static int expand(struct str text, struct buf *out)
{
    struct text_template template;
    struct expression_error wrong = {0};
    int result = template_parse(&arena, text, &template, &wrong);
    ck_assert_msg(result == 0, "%.*s: %s", (int)text.len, text.ptr, wrong.text);
    return template_expand(&template, lookup, looked_up, out, &error);
}

static void expands(const char *text, const char *expected)
{
    struct buf out = BUF_INIT;
    ck_assert_msg(expand(str_of(text), &out) == 0, "%s: %s", text, error.text);
    ck_assert_msg(str_equal(buf_view(&out), str_of(expected)), "%s gives %s", text,
                  out.data ? out.data : "");
    buf_release(&out);
}

START_TEST(test_templates)
{
    expands("", "");
    expands("plain } }} { {{ $ ${", "plain } }} { {{ $ ${");
    expands("${{ a }}", "a");
    expands("<${{a}}${{ b }}>", "<ab>");
    expands("${{ '}}' }}}}", "}}}}");
    expands("${{ 'it''s }}' }}", "it's }}");
    expands("${{ '${{' }}", "${{");
    expands("$${{ a }}}", "$a}");
    expands("it's ${{ a }} isn't ${{ 'b' }}", "it's a isn't b");
    expands("${{ 1 < 2 }} ${{ 2.50 }} ${{ run.attempt }}", "true 2.5 3");
    expands("${{ default(gone, '') }}", "");
    expands("${{ env.A\n==\n'A' }}", "true");
}
END_TEST

START_TEST(test_template_pieces)
{
    struct text_template template;
    struct str text = STR("ab${{ c }}${{ 1 == d }}e");
    ck_assert(template_has(text));
    ck_assert(!template_has(STR("$ {{ a }}")));
    ck_assert(!template_has(STR("")));
    ck_assert(!template_has((struct str){NULL, 0}));
    ck_assert_int_eq(template_parse(&arena, text, &template, NULL), 0);
    ck_assert_uint_eq(template.n, 4);
    static const size_t at[] = {0, 2, 10, 23};
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(template.pieces[i].at, at[i]);
    ck_assert_ptr_eq(template.pieces[0].text.ptr, text.ptr);
    ck_assert_ptr_null(template.pieces[3].expression);
    const struct expression *e = template.pieces[2].expression;
    size_t name = 10 + 3 + expression_name(e, 0)->at; /* as expression.h says */
    ck_assert_int_eq(text.ptr[name], 'd');
}
END_TEST

static void template_refused(const char *text, size_t at, size_t length,
                             const char *words)
{
    struct text_template template;
    struct expression_error wrong = {0};
    ck_assert_int_eq(template_parse(&arena, str_of(text), &template, &wrong),
                     CAIRN_EWORKFLOW);
    ck_assert_msg(strstr(wrong.text, words) != NULL, "%s: %s", text, wrong.text);
    ck_assert_msg(wrong.at == at && wrong.length == length, "%s: %zu %zu", text,
                  wrong.at, wrong.length);
}

START_TEST(test_template_refused)
{
    template_refused("a ${{", 2, 3, "`${{` without `}}`");
    template_refused("a ${{ b }", 2, 3, "`${{` without `}}`");
    template_refused("${{ a }} ${{ 'b }}", 9, 3, "a quote is open");
    template_refused("x ${{ }}", 6, 0, "empty");
    template_refused("x ${{ a b }}", 8, 1, "an operator is missing");
    template_refused("${{ a }}${{ ( }}", 14, 0, "ends too early");
    template_refused("${{ a ${{ b }} }}", 6, 1, "an operator is missing");
    struct buf out = BUF_INIT;
    ck_assert_int_eq(expand(STR("x ${{ tasks.a.outputs.gone }}"), &out),
                     CAIRN_EWORKFLOW);
    ck_assert_str_eq(error.text, "tasks.a.outputs.gone was not set; give a default: "
                                 "default(tasks.a.outputs.gone, 'x')");
    ck_assert_int_eq(expand(STR("${{ broken }}"), &out), CAIRN_EIO);
    buf_release(&out);
}
END_TEST

static void unescapes(const char *file, const char *run, const char *template)
{
    struct str text = str_of(file), twice;
    ck_assert(text_unescape(&arena, &text));
    ck_assert_msg(str_equal(text, str_of(run)), "%s gives %s", file, text.ptr);
    text = str_of(file);
    ck_assert(template_unescape(&arena, &text));
    twice = text;
    ck_assert(template_unescape(&arena, &twice));
    ck_assert_msg(str_equal(text, twice), "%s: %s, %s", file, text.ptr, twice.ptr);
    expands(text.ptr, template);
}

/* In a file, $${{ is a literal ${{. */
START_TEST(test_escapes)
{
    static const char *const same[] = {"", "$$", "$${ {", "{{ a }}", "a $$ b", "$"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        unescapes(same[i], same[i], same[i]);
    unescapes("$${{", "${{", "${{");
    unescapes("$${{ a }}", "${{ a }}", "${{ a }}");
    unescapes("$$$${{ a }}$", "$$${{ a }}$", "$$${{ a }}$");
    unescapes("<$${{$${{>", "<${{${{>", "<${{${{>");
    unescapes("$$ $${{ it's }}", "$$ ${{ it's }}", "$$ ${{ it's }}");
    unescapes("${{ a }}$${{ b }}${{ '$${{' }}", "${{ a }}${{ b }}${{ '${{' }}",
              "a${{ b }}$${{");
    ck_assert_uint_eq(template_find(STR("$${{ a }} ${{ b }}"), 0), 10);
    ck_assert_uint_eq(template_find(STR("$${{ a }} ${{ b }}"), 11), SIZE_MAX);
    ck_assert_uint_eq(template_find(STR("${{"), 0), 0);
}
END_TEST

START_TEST(test_template_hostile)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    struct text_template template;
    while (text.size < 100000)
        buf_text(&text, "${{");
    ck_assert_int_eq(template_parse(&arena, buf_view(&text), &template, NULL),
                     CAIRN_EWORKFLOW);
    buf_clear(&text);
    while (text.size < 100000)
        buf_text(&text, "${{a}}");
    ck_assert_int_eq(expand(buf_view(&text), &out), 0);
    ck_assert_uint_eq(out.size, text.size / 6);
    buf_clear(&out);
    ck_assert_int_eq(expand((struct str){"\0\xff${{ '\0\xfe' }}\0", 14}, &out), 0);
    ck_assert(str_equal(buf_view(&out), (struct str){"\0\xff\0\xfe\0", 5}));
    buf_release(&text);
    buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("template");
    TCase *tests = tcase_create("template");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_templates);
    tcase_add_test(tests, test_template_pieces);
    tcase_add_test(tests, test_template_refused);
    tcase_add_test(tests, test_escapes);
    tcase_add_test(tests, test_template_hostile);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
