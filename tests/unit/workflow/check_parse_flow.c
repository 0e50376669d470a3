/* SPDX-License-Identifier: MIT */
/* Workflow files: params with types, secrets, conditions, checks, undo, external tasks
 * and `finally`: what they mean, and what holds without them. check_parse_flow_errors.c
 * has what is refused. */
#include "tests/support/parse.h"
#include "tests/support/suite.h"

#define TASK "tasks:\n  a: {run: x}\n"
#define TOP(text) "name: n\n" text "\n" TASK
#define IN_TASK(text) "name: n\ntasks:\n  a:\n    run: x\n    " text "\n"

static const struct task_def *first(const char *text)
{
    return &help_parse(text)->defs[0];
}

START_TEST(test_defaults)
{
    const struct definition *d = help_parse("name: n\n" TASK);
    const struct task_def *a = &d->defs[0];
    ck_assert_int_eq(d->on_crash, ON_CRASH_KILL);
    ck_assert_int_eq(d->undo_scope, UNDO_FAILED);
    ck_assert_int_eq(d->deadline_ms, 0);
    ck_assert_uint_eq(d->n_secrets, 0);
    ck_assert_uint_eq(d->n_notes, 0);
    ck_assert_int_eq(a->when, WHEN_SUCCESS);
    ck_assert(!a->once && !a->finally && !a->own_params);
    ck_text(a->condition, "");
    ck_text(a->check, "");
    ck_text(a->undo, "");
    ck_text(a->external, "");
    ck_assert_uint_eq(a->check_min_permille, 0);
    ck_assert_uint_eq(a->check_warn_permille, 0);
    ck_assert_uint_eq(a->n_side_shell, 0);
    ck_assert_uint_eq(a->n_inputs + a->n_secrets + a->n_params, 0);
}
END_TEST

/* ---- The run ---- */

START_TEST(test_run)
{
    static const struct {
        const char *text;
        uint8_t on_failure, scope;
    } forms[] = {
        {TOP("on_failure: stop"), ON_FAILURE_STOP, 0},
        {TOP("on_failure: undo"), ON_FAILURE_UNDO, UNDO_FAILED},
        {TOP("on_failure: {undo: failed}"), ON_FAILURE_UNDO, UNDO_FAILED},
        {TOP("on_failure: {undo: ancestors}"), ON_FAILURE_UNDO, UNDO_ANCESTORS},
        {TOP("on_failure: {undo: all}"), ON_FAILURE_UNDO, UNDO_ALL}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct definition *d = help_parse(forms[i].text);
        ck_assert_int_eq(d->on_failure, forms[i].on_failure);
        ck_assert_int_eq(d->undo_scope, forms[i].scope);
    }
    ck_assert_int_eq(help_parse(TOP("on_crash: adopt"))->on_crash, ON_CRASH_ADOPT);
    ck_assert_int_eq(help_parse(TOP("on_crash: kill"))->on_crash, ON_CRASH_KILL);
    ck_assert_int_eq(help_parse(TOP("deadline: 1h30m"))->deadline_ms, 5400000);
}
END_TEST

static struct cairn_param also = {"also", "some"};

START_TEST(test_typed_params)
{
    static const char *const expected[][2] = {
        {"also", "some"},   {"flag", "true"},  {"int", "-3"},
        {"number", "1.50"}, {"pick", "1"},     {"plain", "x"},
        {"text", ""},       {"word", "false"}, {"zero", "007"}};
    help_options.params = &also;
    help_options.n_params = 1;
    const struct definition *d = help_parse("name: n\n"
                                            "params:\n"
                                            "  text: {default: \"\"}\n"
                                            "  also: {}\n"
                                            "  int: {type: int, default: -3}\n"
                                            "  zero: {type: int, default: \"007\"}\n"
                                            "  number: {type: number, default: 1.50}\n"
                                            "  flag: {type: bool, default: true}\n"
                                            "  word: {type: bool, default: \"false\"}\n"
                                            "  pick: {type: int, choices: [2, 1],\n"
                                            "         default: 1}\n"
                                            "  plain: x\n" TASK);
    ck_assert_uint_eq(d->n_params, 9);
    for (uint32_t i = 0; i < 9; i++) {
        ck_text(d->params[i].key, expected[i][0]);
        ck_text(d->params[i].value, expected[i][1]);
    }
}
END_TEST

/* ---- Names that a task takes ---- */

START_TEST(test_secrets)
{
    const struct definition *d = help_parse(
        "name: n\nsecrets: [TOKEN, KEY, lower_1]\n"
        "tasks:\n  a: {run: x, secrets: [TOKEN, KEY]}\n  b: {run: x, secrets: []}\n");
    ck_assert_uint_eq(d->n_secrets, 3);
    ck_text(d->secrets[0], "KEY");
    ck_text(d->secrets[2], "lower_1");
    ck_assert_uint_eq(d->defs[0].n_secrets, 2);
    ck_text(d->defs[0].secrets[1], "TOKEN");
    ck_assert_uint_eq(d->defs[1].n_secrets, 0);
    help_parse(TOP("secrets: []"));
}
END_TEST

START_TEST(test_own_params)
{
    const struct definition *d =
        help_parse("name: n\nparams: {a: x, b: y}\n"
                   "env: {E: \"${{ params.b }}\", F: \"${{ params.a }}\"}\n"
                   "tasks:\n"
                   "  t: {run: x, params: [b, a], cwd: \"${{ params.b }}\"}\n"
                   "  u: {run: x, params: [b], env: {F: own}}\n"
                   "  v: {run: x, params: [], env: {E: \"\", F: \"\"}}\n");
    ck_assert(d->defs[0].own_params && d->defs[1].own_params && d->defs[2].own_params);
    ck_assert_uint_eq(d->defs[0].n_params, 2);
    ck_text(d->defs[0].params[0], "a");
    ck_assert_uint_eq(d->defs[2].n_params, 0);
}
END_TEST

/* ---- Conditions ---- */

START_TEST(test_conditions)
{
    static const char *const forms[][2] = {
        {"if: params.p == 'x'", "params.p == 'x'"},
        {"if: \"${{ params.p == 'x' }}\"", "params.p == 'x'"},
        {"if: ${{ contains(params.p, '}}') }}", "contains(params.p, '}}')"},
        {"if: true", "true"},
        {"if: \"false\"", "false"},
        {"if: \"  1 < 2  \"", "1 < 2"},
        {"if: >\n      1 < 2 &&\n      env.E == 'x'", "1 < 2 && env.E == 'x'"},
        {"if: default(run.id, 1) == env.E", "default(run.id, 1) == env.E"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "name: n\nparams: {p: x}\nenv: {E: e}\ntasks:\n  a:\n    run: x\n    "
                 "%s\n",
                 forms[i][0]);
        ck_text(first(text)->condition, forms[i][1]);
    }
}
END_TEST

/* What another tool would replace, and what has no such name. */
START_TEST(test_other_forms)
{
    static const char *const lines[][2] = {
        {"run: x\n    env: {A: '${params.day}'}",
         "w.yaml:6:15: `${` begins no expression here and stays in the text: an "
         "expression is written ${{ }}"},
        {"exec: [x, 'a {{ tasks.b.outputs.c }}']",
         "w.yaml:5:18: `{{` begins no expression here and stays in the text: an "
         "expression is written ${{ }}"},
        {"run: echo {{params.day}}",
         "w.yaml:5:15: `{{` begins no expression here and stays in the text: values "
         "come as environment variables, as \"$name\""},
        {"run: x\n    check: test {{ params.day }}",
         "w.yaml:6:17: `{{` begins no expression here and stays in the text: values "
         "come as environment variables, as \"$name\""},
        {"exec: [x, '${{ params.day }} {{ .Names }} {params.day} params.day ${day}']",
         NULL},
        {"run: echo {{ day }} ${day} $params.day {{{params.day}}}", NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "name: n\nparams: {day: mon}\ntasks:\n  a:\n    %s\n", lines[i][0]);
        const struct definition *d = help_parse(text);
        ck_assert_uint_eq(d->n_warnings, lines[i][1] ? 1 : 0);
        if (lines[i][1])
            ck_text(d->warnings[0], lines[i][1]);
    }
    struct buf text = BUF_INIT; /* no more than one can look at */
    buf_text(&text, "name: n\nparams: {day: mon}\ntasks:\n");
    for (int i = 0; i < 30; i++)
        buf_format(&text, "  t%d: {run: 'echo {{ params.day }}'}\n", i);
    const struct definition *d = help_parse(text.data);
    ck_assert_uint_eq(d->n_warnings, 20);
    ck_text(d->warnings[19],
            "w.yaml:23:20: `{{` begins no expression here and stays in the text: "
            "values come as environment variables, as \"$name\"");
    buf_release(&text);
}
END_TEST

START_TEST(test_when)
{
    ck_assert_int_eq(first(IN_TASK("when: success"))->when, WHEN_SUCCESS);
    ck_assert_int_eq(first(IN_TASK("when: always"))->when, WHEN_ALWAYS);
    ck_assert_uint_eq(help_definition.n_warnings, 0);
    ck_assert_int_eq(first(IN_TASK("when: failed"))->when, WHEN_FAILED);
    ck_assert_uint_eq(help_definition.n_warnings, 1);
    ck_text(help_definition.warnings[0],
            "w.yaml:5:11: task `a` never runs: it waits for a failure, but needs "
            "nothing that could fail");
    first(IN_TASK("when: failed\n    needs: []"));
    ck_assert_uint_eq(help_definition.n_warnings, 1);
    first(IN_TASK("when: failed\n    needs: b") "  b: {run: x}\n");
    ck_assert_uint_eq(help_definition.n_warnings, 0);
    ck_assert(first(IN_TASK("once: true"))->once);
    ck_assert(!first(IN_TASK("once: false"))->once);
}
END_TEST

/* ---- Checks and undo ---- */

static void expect_check(const char *text, uint32_t min, uint32_t warn)
{
    const struct task_def *a = first(text);
    ck_text(a->check, "./ok");
    ck_assert_uint_eq(a->check_min_permille, min);
    ck_assert_uint_eq(a->check_warn_permille, warn);
    ck_assert_uint_eq(a->n_side_shell, 3);
}

START_TEST(test_checks)
{
    expect_check(IN_TASK("check: ./ok"), 700, 850);
    expect_check(IN_TASK("check: {run: ./ok}"), 700, 850);
    expect_check(IN_TASK("check: {run: ./ok, min: 0, warn: 1}"), 0, 1000);
    expect_check(IN_TASK("check: {run: ./ok, min: 0.125}"), 125, 850);
    expect_check(IN_TASK("check: {run: ./ok, min: 0.9}"), 900, 900);
    expect_check(IN_TASK("check: {run: ./ok, warn: 0.7}"), 700, 700);
    static const char defaults[] = "name: n\ndefaults: {check: {min: 0.2, warn: 0.3}}\n"
                                   "tasks:\n  a:\n    run: x\n    check: ";
    static const struct {
        const char *check;
        uint32_t min, warn;
    } forms[] = {{"./ok", 200, 300},
                 {"{run: ./ok, min: 0.25}", 250, 300},
                 {"{run: ./ok, min: 1}", 1000, 1000},
                 {"{run: ./ok, warn: 0.2}", 200, 200}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s\n", defaults, forms[i].check);
        expect_check(text, forms[i].min, forms[i].warn);
    }
    ck_assert_uint_eq(first(TOP("defaults: {check: {min: 0.9}}"))->check_min_permille,
                      0);
}
END_TEST

static void expect_shells(const char *text, const char *shell, const char *side)
{
    const struct task_def *a = first(text);
    ck_assert_uint_eq(a->n_shell > 0, shell != NULL);
    ck_assert_uint_eq(a->n_side_shell > 0, side != NULL);
    if (shell)
        ck_text(a->shell[0], shell);
    if (side)
        ck_text(a->side_shell[0], side);
}

START_TEST(test_side_shell)
{
    expect_shells(IN_TASK("undo: y"), "sh", "sh");
    expect_shells(IN_TASK("undo: y\n    shell: [bash]"), "bash", "bash");
    expect_shells(IN_TASK("shell: [bash]"), "bash", NULL);
#define EXEC "tasks:\n  a:\n    exec: [x]\n    "
    expect_shells("name: n\n" EXEC "undo: y\n", NULL, "sh");
    expect_shells("name: n\n" EXEC "check: y\n    shell: [bash]\n", NULL, "bash");
    expect_shells("name: n\ndefaults: {shell: [zsh]}\n" EXEC "check: y\n", NULL, "zsh");
    expect_shells("name: n\n" EXEC "cwd: d\n", NULL, NULL);
    expect_shells("name: n\ntasks:\n  a: {external: x, undo: y}\n", NULL, "sh");
    ck_text(help_definition.defs[0].undo, "y");
}
END_TEST

/* ---- Files, external tasks, finally ---- */

START_TEST(test_inputs)
{
    const struct task_def *a = first(IN_TASK("inputs: one\n    outputs: [two, three]"));
    ck_assert_uint_eq(a->n_inputs, 1);
    ck_text(a->inputs[0], "one");
    ck_assert_uint_eq(a->n_outputs, 2);
    a = first(IN_TASK("foreach: {k: [1]}\n    inputs: [a, \"b${{ k }}\"]"));
    ck_assert_uint_eq(a->n_inputs, 2);
    ck_text(a->inputs[1], "b${{ k }}");
}
END_TEST

START_TEST(test_external)
{
    const struct definition *d = help_parse(
        "name: n\nenv: {E: e}\ndefaults: {timeout: 5s, retries: 3}\n"
        "tasks:\n"
        "  a: {external: \"Read ${{ k }}, ${{ env.E }}\", foreach: {k: [1]}, cwd: d,\n"
        "      outputs: o, if: true, when: always, priority: 3, params: []}\n");
    const struct task_def *a = &d->defs[0];
    ck_assert_int_eq(a->kind, TASK_EXTERNAL);
    ck_text(a->external, "Read ${{ k }}, ${{ env.E }}");
    ck_text(a->cwd, "d");
    ck_assert_int_eq(a->timeout_ms, 0);
    ck_assert_uint_eq(a->retry.max, 0);
    ck_assert_uint_eq(a->n_shell + a->n_argv, 0);
    ck_assert_uint_eq(a->n_env, 1);
}
END_TEST

START_TEST(test_finally)
{
    const struct definition *d = help_parse(
        "name: n\n"
        "finally:\n"
        "  tell: {exec: [x, \"${{ run.status }}\", \"${{ tasks.a.status }}\"],"
        " needs: all}\n"
        "  all: {run: y, foreach: {k: [1, 2]}, env: {S: \"${{ run.status }}\","
        " O: \"${{ tasks.a.outputs.rows }}\"}}\n" TASK);
    ck_assert_uint_eq(d->n_defs, 3);
    ck_text(d->defs[0].id, "a");
    ck_text(d->defs[1].id, "tell");
    ck_assert(!d->defs[0].finally && d->defs[1].finally && d->defs[2].finally);
    ck_assert_uint_eq(d->defs[1].needs[0].target, 2);
    ck_assert_uint_eq(map_get(&d->by_id, STR("all")), 2);
    ck_assert_uint_eq(help_parse("name: n\n" TASK "finally: {}\n")->n_defs, 1);
}
END_TEST

/* ---- Names of other tasks ---- */

#define GRAPH                                                                       \
    "name: n\ntasks:\n"                                                             \
    "  g: {foreach: {part: [1, 2]}, run: x}\n"                                      \
    "  h: {foreach: {part: [1, 2]}, run: x, needs: [\"g[part=${{ part }}]\", s]}\n" \
    "  s: {run: x}\n"                                                               \
    "  t: {run: x, needs: g}\n"

START_TEST(test_names)
{
    static const char *const fine[] = {
        "  u: {run: x, needs: s, if: tasks.s.outputs.k == 'x'}\n",
        "  u: {run: x, needs: h, if: tasks.s.status == 'completed'}\n",
        "  u: {run: x, needs: h, if: tasks.h.status == 'completed'}\n",
        "  u: {run: x, needs: t, if: tasks.g.status == 'completed'}\n",
        "  u: {run: x, needs: \"g[part=1]\", if: tasks.g.outputs.k == 'x'}\n",
        "  u: {run: x, needs: \"g[part=1]\", if: tasks.g.status == 'failed'}\n",
        "  u: {run: x, needs: [\"g[part=1]\", g], if: tasks.g.outputs.k == 'x'}\n",
        "  u: {run: x, needs: [\"g[part=1]\", \"g[part=2]\", g],"
        " if: tasks.g.status == 'failed'}\n",
        "  u: {run: x, needs: \"h[part=1]\", if: tasks.s.status == 'failed'}\n",
        "  u: {exec: [x, \"${{ tasks['a.b'].status }}\"], needs: a.b}\n"
        "  a.b: {run: x}\n",
        "  u: {run: x, needs: s, cwd: \"${{ tasks.s.outputs.dir }}/d\"}\n",
        "  u: {run: x, needs: s, env: {A: \"${{ tasks.s.outputs.dir }}\"}}\n",
        "finally: {u: {run: x, if: tasks.h.status == 'failed'}}\n",
        "finally: {u: {run: x, if: tasks.s.outputs.x == tasks.t.status}}\n",
        "finally: {u: {run: x, needs: v, if: tasks.v.status == 'failed'}, v: {run: "
        "x}}\n",
    };
    /* Only some members of g are over before u. */
    static const char *const wrong[] = {
        "  u: {run: x, needs: \"h[part=1]\", if: tasks.g.status == 'failed'}\n",
        "  u: {run: x, needs: h, if: tasks.g.status == 'failed'}\n",
    };
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        buf_clear(&text);
        buf_format(&text, "%s%s", GRAPH, fine[i]);
        help_parse(text.data);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        buf_clear(&text);
        buf_format(&text, "%s%s", GRAPH, wrong[i]);
        ck_assert_int_eq(help_try(buf_view(&text)), CAIRN_EWORKFLOW);
        ck_assert_ptr_nonnull(strstr(help_error.text, "does not need all of `g`"));
    }
    buf_release(&text);
}
END_TEST

/* A cycle is found later, when the graph is built; the search must end. */
START_TEST(test_names_in_a_cycle)
{
    help_refused(
        STR("name: n\ntasks:\n  a: {run: x, needs: b}\n  b: {run: x, needs: a}\n"
            "  c: {run: x, needs: a, if: tasks.d.status == 'failed'}\n"
            "  d: {run: x}\n"),
        CAIRN_EWORKFLOW, "5:29", "task `c` does not need `d`");
}
END_TEST

/* Params are put into what foreach looks at; their values are not read again. */
START_TEST(test_params_in_foreach)
{
    static struct cairn_param given = {"p", "${{ x }}*"};
    static const char text[] = "name: n\nparams: {p: a, dir: d}\ntasks:\n"
                               "  a:\n    run: x\n    foreach:\n"
                               "      v: [\"${{ params.p }}1\", z]\n"
                               "      g: {glob: \"${{ params.dir }}/*\"}\n"
                               "      l: {lines: \"${{ params.dir }}/l\"}\n";
    help_dir("d");
    help_file("d/l", "one\n");
    const struct task_def *a = first(text);
    ck_text(a->foreach[0].values[0], "a1");
    ck_text(a->foreach[1].spec, "d/*");
    ck_text(a->foreach[1].values[0], "d/l");
    ck_text(a->foreach[2].values[0], "one");
    help_options.params = &given;
    help_options.n_params = 1;
    ck_text(first(text)->foreach[0].values[0], "${{ x }}*1");
}
END_TEST

/* Lengths with what is known put in. */
START_TEST(test_lengths)
{
    struct buf value = BUF_INIT;
    memset(buf_grow(&value, LIMIT_ENV_STRING - 5), 'x', LIMIT_ENV_STRING - 5);
    struct cairn_param given = {"p", value.data};
    help_options.params = &given;
    help_options.n_params = 1;
    help_parse("name: n\nparams: {p: x}\ntasks:\n"
               "  a: {exec: [x, \"12345${{ params.p }}\"]}\n");
    help_refused(STR("name: n\nparams: {p: x}\ntasks:\n"
                     "  a: {exec: [x, \"123456${{ params.p }}\"]}\n"),
                 CAIRN_ELIMIT, "4:17", "this argument is longer than");
    help_refused(
        STR("name: n\nparams: {p: x}\nenv: {ABCD: \"x${{ params.p }}\"}\n" TASK),
        CAIRN_ELIMIT, "3:13", "`ABCD` is longer than");
    help_parse("name: n\nparams: {p: x}\nenv: {ABCD: \"${{ params.p }}\"}\n" TASK);
    buf_release(&value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parse flow");
    TCase *tests = tcase_create("parse flow");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_test(tests, test_defaults);
    tcase_add_test(tests, test_run);
    tcase_add_test(tests, test_typed_params);
    tcase_add_test(tests, test_secrets);
    tcase_add_test(tests, test_own_params);
    tcase_add_test(tests, test_conditions);
    tcase_add_test(tests, test_other_forms);
    tcase_add_test(tests, test_when);
    tcase_add_test(tests, test_checks);
    tcase_add_test(tests, test_side_shell);
    tcase_add_test(tests, test_inputs);
    tcase_add_test(tests, test_external);
    tcase_add_test(tests, test_finally);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_names_in_a_cycle);
    tcase_add_test(tests, test_params_in_foreach);
    tcase_add_test(tests, test_lengths);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
