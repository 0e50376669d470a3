/* SPDX-License-Identifier: MIT */
/* Texts and conditions of tasks: where their values come from, what has none, what is
 * remembered, and which tasks they refer to. The definition is made by hand. */
#include "graph/definition.h"
#include "graph/text_expand.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct str day_values[] = {{"mon", 3}, {"tue", 3}};
static struct str kind_values[] = {{"a", 1}, {"", 0}, {"x y", 3}};
static struct foreach_key keys[] = {
    {.name = {"day", 3}, .source = FOREACH_LIST, .values = day_values, .n = 2},
    {.name = {"kind", 4}, .source = FOREACH_LIST, .values = kind_values, .n = 3},
};
#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }
static struct str argv[] = {TEXT("plain"), TEXT("${{ tasks.fetch.outputs.rows }}"),
                            TEXT("${{ tasks['a.b'].status }} ${{ env.DIR }}")};
static struct key_value env[] = {
    {TEXT("BAD"), TEXT("${{ env.DIR }}")},
    {TEXT("DIR"), TEXT("d-${{ params.n }}-${{ tasks.fetch.outputs.rows }}")},
    {TEXT("PLAIN"), TEXT("it")},
};
static struct str outputs[] = {TEXT("${{ day }}/${{ tasks.out.status }}")};
static struct str inputs[] = {TEXT("${{ tasks.in.status }}${{ tasks.nobody.status }}")};
static struct key_value binding = {TEXT("day"), TEXT("${{ day }}")};
static struct need need = {.bindings = &binding, .n_bindings = 1};
static struct key_value params[] = {{TEXT("n"), TEXT("5")}, {TEXT("who"), TEXT("me")}};
static struct str own[] = {TEXT("n")};

static struct task_def defs[6];
static struct definition definition;
static struct cairn_error error;
static struct task_def *const task = &defs[0];

static void setup(void)
{
    static const char *const ids[] = {"t", "fetch", "a.b", "out", "in", "cwd-1"};
    definition_init(&definition);
    memset(defs, 0, sizeof defs);
    definition.defs = defs;
    definition.n_defs = 6;
    definition.params = params;
    definition.n_params = 2;
    for (uint32_t i = 0; i < 6; i++) {
        defs[i].id = str_of(ids[i]);
        ck_assert_int_eq(map_add(&definition.by_id, defs[i].id, i, NULL), 1);
    }
    *task = (struct task_def){.id = STR("t"),
                              .kind = TASK_EXEC,
                              .argv = argv,
                              .n_argv = 3,
                              .env = env,
                              .n_env = 3,
                              .cwd = STR("${{ tasks.cwd-1.status == 'x' }}"),
                              .outputs = outputs,
                              .n_outputs = 1,
                              .inputs = inputs,
                              .n_inputs = 1,
                              .condition = STR("tasks.fetch.outputs.rows > 3"),
                              .foreach = keys,
                              .n_foreach = 2,
                              .members = 6,
                              .needs = &need,
                              .n_needs = 1};
    for (uint32_t k = 0; k < 2; k++)
        keys[k].shown = keys[k].values;
}

static void teardown(void)
{
    definition.n_defs = 0; /* the keys have no maps */
    definition_release(&definition);
}

/* rows is 7, gone is missing, broken an error; a status is the task's name. */
static int lookup(void *context, const struct name *name, struct value *out,
                  struct cairn_error *wrong)
{
    ck_assert_ptr_eq(context, &definition);
    *out = (struct value){.type = VALUE_TEXT, .text = name->first};
    if (name->kind == NAME_RUN_ATTEMPT)
        *out = (struct value){.type = VALUE_NUMBER, .number = 2};
    else if (name->kind == NAME_RUN_ID)
        out->text = STR("run-1");
    else if (str_equal(name->second, STR("rows")))
        out->text = STR("7");
    else if (str_equal(name->second, STR("gone")))
        *out = (struct value){.type = VALUE_MISSING};
    else if (str_equal(name->second, STR("broken")))
        return error_set(wrong, CAIRN_EIO, "cannot read it");
    return 0;
}

static struct scope scope_of(uint32_t member)
{
    return (struct scope){.definition = &definition,
                          .def = task,
                          .member = member,
                          .lookup = lookup,
                          .context = &definition};
}

static void expands(uint32_t member, const char *text, const char *expected)
{
    struct buf out = BUF_INIT;
    struct scope scope = scope_of(member);
    int result = text_expand(&scope, str_of(text), &out, &error);
    ck_assert_msg(result == 0, "%s: %s", text, error.text);
    ck_assert_msg(str_equal(buf_view(&out), str_of(expected)), "%s gives %.*s", text,
                  (int)out.size, out.data);
    buf_release(&out);
}

static void fails(const struct scope *scope, const char *text, int code,
                  const char *words)
{
    struct buf out = BUF_INIT;
    ck_assert_int_eq(text_expand(scope, str_of(text), &out, &error), code);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s: %s", text, error.text);
    buf_release(&out);
}

static void expands_fixed(uint32_t member, const char *text, const char *expected)
{
    struct buf out = BUF_INIT;
    text_expand_fixed(&definition, task, member, str_of(text), &out);
    ck_assert_msg(str_equal(buf_view(&out), str_of(expected)), "%s gives %.*s", text,
                  (int)out.size, out.data);
    buf_release(&out);
}

/* ---- Values ---- */

START_TEST(test_expand)
{
    expands(0, "", "");
    expands(0, "plain", "plain");
    expands(0, "${{ day }}-${{ kind }}", "mon-a");
    expands(4, "${{ day }}-${{ kind }}|", "tue-|");
    expands(5, "<${{ kind }}>", "<x y>");
    expands(0, "${{ params.n }}${{ params.who }}", "5me");
    expands(0, "${{ env.PLAIN }}", "it");
    expands(0, "${{ env.DIR }}|${{ env.DIR }}", "d-5-7|d-5-7");
    expands(0, "${{ env.DIR == 'd-5-7' && contains(env.PLAIN, 't') }}", "true");
    expands(0, "${{ tasks.fetch.outputs.rows }}", "7");
    expands(0, "${{ tasks['a.b'].status }}", "a.b");
    expands(0, "${{ run.id }} ${{ run.attempt }}", "run-1 2");
    expands(0, "${{ default(tasks.fetch.outputs.gone, params.n) }}", "5");
    /* Built in memory, texts may hold anything: what is not known stays. */
    expands(0, "${{ who }} ${{ day }}", "${{ who }} mon");
    expands(0, "${{ params.x }}${{ env.X == 1 }}.",
            "${{ params.x }}${{ env.X == 1 }}.");
    expands(0, "${{ day }} ${{", "${{ day }} ${{");
    expands(0, "${{ day }} ${{ + }}", "${{ day }} ${{ + }}");
}
END_TEST

START_TEST(test_expand_fails)
{
    struct scope scope = scope_of(0), early = scope;
    early.lookup = NULL;
    fails(&scope, "x ${{ tasks.fetch.outputs.gone }}", CAIRN_EWORKFLOW,
          "tasks.fetch.outputs.gone was not set; give a default: "
          "default(tasks.fetch.outputs.gone, 'x')");
    fails(&scope, "${{ tasks.fetch.outputs.broken }}", CAIRN_EIO, "cannot read it");
    fails(&scope, "${{ 3 < params.who }}", CAIRN_EWORKFLOW,
          "`<` needs numbers: params.who is `me`");
    fails(&scope, "${{ env.BAD }}", CAIRN_EWORKFLOW, "cannot refer to env.DIR");
    fails(&early, "${{ tasks.fetch.status }}", CAIRN_EWORKFLOW,
          "tasks.fetch.status is only known while the workflow runs");
    fails(&early, "${{ env.DIR }}", CAIRN_EWORKFLOW, "only known while");
    fails(&early, "${{ run.id }}", CAIRN_EWORKFLOW, "run.id is only known while");
    task->own_params = true;
    task->params = own;
    task->n_params = 1;
    expands(0, "${{ params.n }}", "5");
    fails(&scope, "${{ params.who }}", CAIRN_EWORKFLOW,
          "task `t` does not get the param `who`");
}
END_TEST

START_TEST(test_fixed)
{
    expands_fixed(3, "${{ day }}/${{ params.n }}", "tue/5");
    expands_fixed(3, "${{ tasks.fetch.status }}${{ day }}",
                  "${{ tasks.fetch.status }}tue");
    expands_fixed(0, "${{ params.who < 3 }}!", "${{ params.who < 3 }}!");
    expands_fixed(0, "${{ env.PLAIN }}", "it");
    struct buf out = BUF_INIT;
    text_expand_fixed(&definition, NULL, 0, STR("${{ params.n }}${{ day }}"), &out);
    ck_assert(str_equal(buf_view(&out), STR("5${{ day }}")));
    buf_release(&out);
    static const char *const fixed[] = {
        "", "x", "${{ day }}", "${{ params.n < 3 }}x", "${{ '' }}", "${{"};
    static const char *const others[] = {"${{ run.id }}", "${{ env.DIR }}",
                                         "a${{ tasks.fetch.status }}",
                                         "${{ day }}${{ day == tasks.a.outputs.k }}"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        ck_assert_msg(text_is_fixed(&definition, str_of(fixed[i])), "%s", fixed[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!text_is_fixed(&definition, str_of(others[i])), "%s", others[i]);
}
END_TEST

static void holds(const char *condition, bool expected)
{
    struct scope scope = scope_of(1);
    bool yes = !expected;
    task->condition = str_of(condition);
    int result = condition_holds(&scope, scope.def->condition, &yes, &error);
    ck_assert_msg(result == 0, "%s: %s", condition, error.text);
    ck_assert_msg(yes == expected, "%s", condition);
}

static void condition_fails(const char *condition, const char *words)
{
    struct scope scope = scope_of(1);
    bool yes;
    task->condition = str_of(condition);
    ck_assert_int_eq(condition_holds(&scope, scope.def->condition, &yes, &error),
                     CAIRN_EWORKFLOW);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s: %s", condition, error.text);
}

START_TEST(test_conditions)
{
    for (int round = 0; round < 2; round++) {
        holds("", true);
        holds("tasks.fetch.outputs.rows > 3", true);
        holds("tasks.fetch.outputs.rows > 7", false);
        holds("day == 'mon' && kind == ''", true);
        holds("kind", false);
        holds("env.DIR == 'd-5-7'", true);
        holds("params.n < 5 || run.attempt == 2", true);
        condition_fails("tasks.fetch.outputs.gone", "gone was not set");
        condition_fails("who == 3", "there is no foreach key `who`");
        condition_fails("params.x == 3", "there is no param `x`");
        condition_fails("day = 'mon'", "byte 5: `is equal` is written ==");
        ck_assert_int_eq(definition_prepare(&definition, 0, &error), 0);
    }
    task->condition = STR("tasks.fetch.outputs.rows > 3");
    struct scope early = {.definition = &definition, .def = task};
    bool yes;
    ck_assert_int_eq(condition_holds(&early, early.def->condition, &yes, &error),
                     CAIRN_EWORKFLOW);
}
END_TEST

/* ---- What is remembered ---- */

START_TEST(test_kept)
{
    const struct text_template *first, *again, *condition;
    struct expression_error wrong = {0};
    char text[] = "${{ day }}";
    struct str given = {text, sizeof text - 1};
    ck_assert_ptr_null(definition_kept_text(&definition, given, false));
    ck_assert_int_eq(definition_text(&definition, given, false, &first, &wrong), 0);
    memset(text, 'x', given.len); /* it is a copy that is kept */
    given = STR("${{ day }}");
    ck_assert_int_eq(definition_text(&definition, given, false, &again, &wrong), 0);
    ck_assert_ptr_eq(first->pieces, again->pieces);
    expands(0, "${{ day }}", "mon");
    /* The same text as a condition is something else. */
    given = STR("'a' == 'a' || '${{ day }}'");
    ck_assert_int_eq(definition_text(&definition, given, false, &first, NULL), 0);
    ck_assert_ptr_null(definition_kept_text(&definition, given, true));
    ck_assert_int_eq(definition_text(&definition, given, true, &condition, NULL), 0);
    ck_assert_uint_eq(first->n, 3);
    ck_assert_uint_eq(condition->n, 1);
    expands(0, given.ptr, "'a' == 'a' || 'mon'");
    holds(given.ptr, true);
    /* What cannot be parsed is not kept. */
    ck_assert_int_eq(
        definition_text(&definition, STR("a ${{ ( }}"), false, &again, &wrong),
        CAIRN_EWORKFLOW);
    ck_assert_uint_eq(wrong.at, 8);
    ck_assert_ptr_null(definition_kept_text(&definition, STR("a ${{ ( }}"), false));
    ck_assert_uint_eq(definition.by_text.count, 2);
}
END_TEST

/* Pointers that were handed out stay good while more comes. */
START_TEST(test_many_kept)
{
    enum { MANY = 3000 };
    static const struct text_template *kept[MANY];
    for (int i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d ${{ day }}", i);
        ck_assert_int_eq(
            definition_text(&definition, str_of(text), false, &kept[i], NULL), 0);
    }
    for (int i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d ", i);
        ck_assert_uint_eq(kept[i]->n, 2);
        ck_assert(str_equal(kept[i]->pieces[0].text, str_of(text)));
    }
    expands(3, "2999 ${{ day }}", "2999 tue");
}
END_TEST

START_TEST(test_prepare)
{
    static const char *const texts[] = {
        "${{ tasks.fetch.outputs.rows }}",
        "${{ tasks['a.b'].status }} ${{ env.DIR }}",
        "${{ env.DIR }}",
        "d-${{ params.n }}-${{ tasks.fetch.outputs.rows }}",
        "${{ tasks.cwd-1.status == 'x' }}",
        "${{ day }}/${{ tasks.out.status }}",
        "${{ tasks.in.status }}${{ tasks.nobody.status }}",
        "${{ day }}",
        "do ${{ kind }}",
    };
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    task->external = str_of(texts[TEXTS - 1]);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(definition_prepare(&definition, 0, &error), 0);
        ck_assert_uint_eq(definition.by_text.count, TEXTS + 1);
        for (size_t i = 0; i < TEXTS; i++)
            ck_assert_msg(definition_kept_text(&definition, str_of(texts[i]), false) !=
                              NULL,
                          "%s", texts[i]);
        ck_assert_ptr_nonnull(definition_kept_text(&definition, task->condition, true));
    }
    definition.n_defs = 0;
    definition_release(&definition);
    ck_assert_ptr_null(definition_kept_text(&definition, str_of(texts[0]), false));
}
END_TEST

/* ---- Tasks whose values are asked for ---- */

static void asks_for(const char *expected)
{
    struct arena arena = ARENA_INIT;
    uint32_t *found = NULL;
    char ids[256] = "";
    int n = definition_values_of(&definition, task, &arena, &found);
    ck_assert_int_ge(n, 0);
    for (int i = 0; i < n; i++) {
        struct str id = defs[found[i]].id;
        size_t used = strlen(ids);
        snprintf(ids + used, sizeof ids - used, "%.*s ", (int)id.len, id.ptr);
    }
    ck_assert_str_eq(ids, expected);
    arena_release(&arena);
}

START_TEST(test_values_of)
{
    asks_for("fetch "); /* of the others only the status */
    ck_assert_int_eq(definition_prepare(&definition, 0, &error), 0);
    asks_for("fetch ");
    task->condition = STR("day == 'x'");
    task->n_argv = task->n_outputs = 0;
    task->cwd = STR("tasks.out.outputs.k"); /* not in ${{ }} */
    asks_for("fetch ");
    task->n_env = task->n_inputs = 0;
    asks_for("");
    task->external = STR("${{ tasks.t.outputs.k }} ${{ tasks.");
    asks_for("");
    task->external = STR("${{ tasks.t.status }} ${{ tasks.t.outputs.k }}");
    asks_for("t ");
    task->condition = STR("false && tasks.out.outputs.k == 'x'");
    asks_for("out t ");
    task->condition = STR("tasks.out.status == 'x'");
    asks_for("t ");
}
END_TEST

/* An argument that is nothing but the files of a task. */
START_TEST(texts_of_files)
{
    static const char *const files[] = {"${{ tasks.a.files }}",
                                        "${{tasks.a-1_b.files}}",
                                        "${{  tasks['a.b'].files  }}"};
    static const char *const others[] = {"",
                                         "${{ tasks.a.files",
                                         "tasks.a.files",
                                         "${{ tasks.a.files }} ",
                                         " ${{ tasks.a.files }}",
                                         "${{}}",
                                         "${{ }}",
                                         "${{}",
                                         "${{ .files }}",
                                         "${{ tasks.a.status }}",
                                         "${{ tasks.a.files == tasks.b.files }}",
                                         "${{ tasks.a.files }}${{ tasks.b.files }}",
                                         "${{ default(tasks.a.files }}",
                                         "${{ params.files }}"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        ck_assert_msg(text_is_files(str_of(files[i])), "%s", files[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!text_is_files(str_of(others[i])), "%s", others[i]);
}
END_TEST

START_TEST(test_tidy)
{
    static const struct {
        const char *path, *tidy, *without_parents;
    } cases[] = {{"", "", ""},
                 {"a", "a", "a"},
                 {"./a//b/", "a/b", "a/b"},
                 {"//a/./b", "/a/b", "/a/b"},
                 {"/", "/", "/"},
                 {"a/../b", "a/../b", "b"},
                 {"/a/b/../../c", "/a/b/../../c", "/c"},
                 {"/../a/..", "/../a/..", "/"},
                 {"a/..", "a/..", ""},
                 {"a/..b/...", "a/..b/...", "a/..b/..."}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int parents = 0; parents < 2; parents++) {
            const char *expected = parents ? cases[i].without_parents : cases[i].tidy;
            struct buf path = BUF_INIT;
            buf_text(&path, cases[i].path);
            path_tidy(&path, parents);
            ck_assert_msg(str_equal(buf_view(&path), str_of(expected)), "%s: %.*s",
                          cases[i].path, (int)path.size, path.data);
            buf_release(&path);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference");
    TCase *tests = tcase_create("reference");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_expand);
    tcase_add_test(tests, test_expand_fails);
    tcase_add_test(tests, test_fixed);
    tcase_add_test(tests, test_conditions);
    tcase_add_test(tests, test_kept);
    tcase_add_test(tests, test_many_kept);
    tcase_add_test(tests, test_prepare);
    tcase_add_test(tests, test_values_of);
    tcase_add_test(tests, texts_of_files);
    tcase_add_test(tests, test_tidy);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
