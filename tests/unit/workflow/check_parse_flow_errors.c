/* SPDX-License-Identifier: MIT */
/* What is refused of params, secrets, conditions, checks, undo, external tasks and
 * `finally`, with the place and the words. */
#include "tests/support/parse.h"
#include "tests/support/suite.h"

struct refusal {
    const char *at, *words, *text;
};

#define TASK "tasks:\n  a: {run: x}\n"
#define TOP(text) "name: n\n" text "\n" TASK
#define IN_TASK(text) "name: n\ntasks:\n  a:\n    run: x\n    " text "\n"
#define EXTERNAL(text) "name: n\ntasks:\n  a:\n    external: x\n    " text "\n"
#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct refusal refusals[] = {
    /* params */
    {"2:16", "unknown key `typ` in param `day`; did you mean `type`?",
     TOP("params: {day: {typ: int}}")},
    {"2:22", "`type` must be string, int, number or bool, not `integer`",
     TOP("params: {day: {type: integer}}")},
    {"2:22",
     "`type` must be string, int, number or bool, not `nuber`; did you mean "
     "`number`?",
     TOP("params: {day: {type: nuber}}")},
    {"2:36", "the default of the param `day` must be an int such as 8 or -5, not `x`",
     TOP("params: {day: {type: int, default: x}}")},
    {"2:36", "must be an int such as 8 or -5, not `1.5`",
     TOP("params: {day: {type: int, default: 1.5}}")},
    {"2:36", "must be an int such as 8 or -5, not ``",
     TOP("params: {day: {type: int, default: \"\"}}")},
    {"2:36", "must be an int such as 8 or -5, not `-`",
     TOP("params: {day: {type: int, default: \"-\"}}")},
    {"2:36", "`010` without quotes is an octal number",
     TOP("params: {day: {type: int, default: 010}}")},
    {"2:39", "must be a number such as 8 or -1.5, not `1.`",
     TOP("params: {day: {type: number, default: \"1.\"}}")},
    {"2:39", "must be a number such as 8 or -1.5, not `.5`",
     TOP("params: {day: {type: number, default: \".5\"}}")},
    {"2:37", "must be true or false, not `8`",
     TOP("params: {day: {type: bool, default: 8}}")},
    {"2:37", "`yes` without quotes is a boolean",
     TOP("params: {day: {type: bool, default: yes}}")},
    {"2:39", "`true` without quotes is a boolean",
     TOP("params: {day: {type: string, default: true}}")},
    {"2:39", "is not among its `choices`: `mo`; did you mean `mon`?",
     TOP("params: {d: {choices: [mon], default: mo}}") "#"},
    {"2:25", "`choices` must be a list", TOP("params: {day: {choices: mon}}")},
    {"2:25", "`choices` is empty", TOP("params: {day: {choices: []}}") "#"},
    {"2:29", "the choice `a` is here twice", TOP("params: {day: {choices: [a, a]}}")},
    {"2:37", "a choice of the param `day` must be an int",
     TOP("params: {day: {type: int, choices: [x]}}")},
    {"2:28", "${{ }} cannot stand in the default of the param `day`",
     TOP("params: {day: {default: \"a ${{ run.id }}\"}}")},
    /* secrets */
    {"2:10", "`secrets` must be a list [a, b], not text", TOP("secrets: TOKEN")},
    {"2:11", "`A-B` is not a name for a secret", TOP("secrets: [A-B]")},
    {"2:11", "names beginning with CAIRN_", TOP("secrets: [CAIRN_X]")},
    {"2:11", "`PATH` decides how programs are found", TOP("secrets: [PATH]")},
    {"2:11", "`LD_PRELOAD` decides how", TOP("secrets: [LD_PRELOAD]")},
    {"2:18", "`AB` is here twice; the first one is at 2:11",
     TOP("secrets: [AB, C, AB]")},
    {"2:11", "a name in `secrets` must be text", TOP("secrets: [[AB]]")},
    {"3:11", "`day` is the name of a param already",
     TOP("params: {day: x}\nsecrets: [day]")},
    {"3:7", "`TOKEN` is a secret; a task that lists it",
     TOP("secrets: [TOKEN]\nenv: {TOKEN: x}")},
    {"3:27", "`TOKEN` is a secret; a task that lists it",
     "name: n\nsecrets: [TOKEN]\n"
     "tasks: {a: {run: x, env: {TOKEN: y}}}\n"},
    {"3:31", "`part` is the name of a secret already",
     "name: n\nsecrets: [part]\n"
     "tasks: {a: {run: x, foreach: {part: [y]}}}\n"},
    {"5:15", "the workflow has no secret `AB`; declare it under `secrets`",
     IN_TASK("secrets: [AB]")},
    {"3:31", "the workflow has no secret `TOKN`; did you mean `TOKEN`?",
     "name: n\nsecrets: [TOKEN]\ntasks: {a: {run: x, secrets: [TOKN]}}\n"},
    {"3:38", "`TOKEN` is here twice",
     "name: n\nsecrets: [TOKEN]\ntasks: {a: {run: x, secrets: [TOKEN, TOKEN]}}\n"},
    /* params of a task */
    {"5:14", "the workflow has no param `day`", IN_TASK("params: [day]")},
    {"5:13", "`params` must be a list", IN_TASK("params: {day: x}")},
    {"3:30", "the workflow has no param `daz`; did you mean `day`?",
     "name: n\nparams: {day: x}\ntasks: {a: {run: x, params: [daz]}}\n"},
    {"7:16", "task `a` lists the params that it takes, and `b` is not among them",
     "name: n\nparams: {a: x, b: y}\ntasks:\n  a:\n    run: x\n    params: [a]\n"
     "    cwd: d/${{ params.b }}\n"},
    {"4:21",
     "the workflow's `env` or `defaults` refers to params.b, which task `a` does not "
     "take",
     "name: n\nparams: {a: x, b: y}\nenv: {B: \"${{ params.b }}\"}\n"
     "tasks: {a: {run: x, params: [a]}}\n"},
    /* the run */
    {"2:11", "needs a unit; write 6s", TOP("deadline: 6")},
    {"2:11", "`deadline` must be at least 1ms", TOP("deadline: 0s")},
    {"2:11", "`on_crash` must be kill or adopt, not `adobt`; did you mean `adopt`?",
     TOP("on_crash: adobt")},
    {"2:13", "`on_failure` needs `undo` here", TOP("on_failure: {}")},
    {"2:14", "unknown key `und` in `on_failure`; did you mean `undo`?",
     TOP("on_failure: {und: all}")},
    {"2:20", "`undo` must be failed, ancestors or all, not `none`",
     TOP("on_failure: {undo: none}")},
    {"2:20", "unknown key `mn` in `check` of `defaults`",
     TOP("defaults: {check: {mn: 0.5}}")},
    {"2:19", "`check` must be a mapping", TOP("defaults: {check: ./x}")},
    {"2:25", "`min` must be a number between 0 and 1 with at most three decimals",
     TOP("defaults: {check: {min: 1.5}}")},
    /* finally */
    {"4:10", "`finally` must be a mapping", "name: n\n" TASK "finally: [b]\n"},
    {"5:3", "there is a task `a` already, at 3:3; `tasks` and `finally` share",
     "name: n\n" TASK "finally:\n  a: {run: x}\n"},
    {"5:22", "task `b` of `finally` runs after all of `tasks` anyway",
     "name: n\n" TASK "finally:\n  b: {run: x, needs: a}\n"},
    {"3:22", "task `a` cannot need `b`, which is under `finally`",
     "name: n\ntasks:\n  a: {run: x, needs: b}\nfinally:\n  b: {run: x}\n"},
    /* if */
    {"5:8", "`if` has no value", IN_TASK("if:")},
    {"5:9", "`if` is empty", IN_TASK("if: \"\"")},
    {"5:9", "`yes` without quotes is a boolean", IN_TASK("if: yes")},
    {"5:9", "`if` must be text, not a mapping", IN_TASK("if: {a: b}")},
    {"5:9", "unknown name `x` in `if`", IN_TASK("if: x == 1")},
    {"5:17", "unknown name `x` in `if`", IN_TASK("if: ${{ 1 < x }}")},
    {"5:9", "the expression ends too early", IN_TASK("if: 1 ==")},
    {"5:11", "`is equal` is written ==", IN_TASK("if: 1 = 1")},
    {"5:9", "`if` is one expression: write it without ${{ }}, or wholly inside",
     IN_TASK("if: ${{ true }} && ${{ true }}")},
    {"5:9", "`${{` without `}}`", IN_TASK("if: ${{ true")},
    {"5:9", "the expression is empty", IN_TASK("if: ${{ }}")},
    {"5:9", "`run.attempt` has no value in `if`", IN_TASK("if: run.attempt == 1")},
    {"5:9", "`run.status` is only known to the tasks of `finally`",
     IN_TASK("if: run.status == 'failed'")},
    /* when, once */
    {"5:11", "`when` must be success, failed or always, not `never`",
     IN_TASK("when: never")},
    {"5:11", "did you mean `failed`?", IN_TASK("when: faild")},
    {"5:11", "`once` must be true or false", IN_TASK("once: yes")},
    /* check */
    {"5:12", "`check` is empty", IN_TASK("check: \"\"")},
    {"5:12", "`check` must be text, not a list", IN_TASK("check: [x]")},
    {"5:12", "`check` needs `run`, as in", IN_TASK("check: {min: 0.5}")},
    {"5:13", "unknown key `rn` in `check`; did you mean `run`?",
     IN_TASK("check: {rn: x}")},
    {"5:17", "the text of `check` is never rewritten", IN_TASK("check: test ${{ k }}")},
    {"5:19", "the text of `run` is never rewritten",
     IN_TASK("check: {run: \"${{ k }}\"}")},
    {"5:26", "`min` must be a number between 0 and 1",
     IN_TASK("check: {run: x, min: 2}")},
    {"5:26", "`min` must be a number between 0 and 1",
     IN_TASK("check: {run: x, min: -0.1}")},
    {"5:26", "`min` must be a number", IN_TASK("check: {run: x, min: 0.1234}")},
    {"5:26", "`min` must be a number", IN_TASK("check: {run: x, min: \"0.5\"}")},
    {"5:27", "`warn` must be a number", IN_TASK("check: {run: x, warn: 1.1}")},
    {"5:37", "`warn` is below `min`, which is 0.800;",
     IN_TASK("check: {run: x, min: 0.8, warn: 0.799}")},
    {"5:27", "`warn` is below `min`, which is 0.700 if it is not given",
     IN_TASK("check: {run: x, warn: 0.6}")},
    /* undo, shell */
    {"5:11", "`undo` is empty", IN_TASK("undo: \"\"")},
    {"5:14", "so write \"$PART\" instead", IN_TASK("undo: rm ${{ env.PART }}")},
    {"3:18", "`shell` is only for `run`, `check`, `undo`, `fallback` and",
     "name: n\ntasks:\n  a: {exec: [x], shell: [bash]}\n"},
    /* inputs */
    {"5:13", "an input is empty", IN_TASK("inputs: \"\"")},
    {"5:14", "unknown key `a` in `inputs`", IN_TASK("inputs: {a: b}")},
    {"5:19", "unknown name `k` in ${{ }}", IN_TASK("inputs: [\"${{ k }}\"]")},
    /* external */
    {"4:15", "`external` is empty", "name: n\ntasks:\n  a:\n    external: \"\"\n"},
    {"5:5", "task `a` has both `external` and `run`",
     "name: n\ntasks:\n  a:\n    external: x\n    run: y\n"},
    {"5:5", "task `a` has both `run` and `external`", IN_TASK("external: x")},
    {"5:5", "`env` has no meaning for task `a`, which is `external`",
     EXTERNAL("env: {A: b}")},
    {"5:5", "`shell` has no meaning", EXTERNAL("shell: [sh]")},
    {"5:5", "`timeout` has no meaning", EXTERNAL("timeout: 1s")},
    {"5:5", "`retries` has no meaning", EXTERNAL("retries: 1")},
    {"5:5", "`pool` has no meaning", EXTERNAL("pool: p")},
    {"5:5", "`check` has no meaning", EXTERNAL("check: x")},
    {"5:5", "`secrets` has no meaning", EXTERNAL("secrets: []")},
    {"5:5", "`once` has no meaning", EXTERNAL("once: true")},
    {"5:5", "`inputs` has no meaning", EXTERNAL("inputs: x")},
    {"4:19", "unknown name `k`", "name: n\ntasks:\n  a:\n    external: ${{ k }}\n"},
};

START_TEST(test_refusals)
{
    const struct refusal *r = &refusals[_i];
    help_refused(str_of(r->text), CAIRN_EWORKFLOW, r->at, r->words);
}
END_TEST

/* ---- Names in ${{ }} ---- */

/* `u` needs `m`, `m` needs all of `g`, `s` and one member of `h`; `o` is elsewhere. */
#define TASKS                                                            \
    "name: n\nsecrets: [TOKEN, token]\nparams: {day: x}\nenv: {LC: C}\n" \
    "tasks:\n"                                                           \
    "  g: {foreach: {part: [1, 2]}, run: x}\n"                           \
    "  h: {foreach: {part: [1, 2]}, run: x}\n"                           \
    "  s: {run: x}\n"                                                    \
    "  o: {run: x}\n"                                                    \
    "  m: {run: x, needs: [g, s, \"h[part=1]\"]}\n"                      \
    "  u:\n    run: x\n    needs: m\n"
#define LINE(text) TASKS "    " text "\n"

static const struct refusal name_refusals[] = {
    {"14:16", "there is no task `mm`", LINE("cwd: d/${{ tasks.mm.status }}")},
    {"14:14", "there is no task `mee`", LINE("if: 1 == tasks.mee.status")},
    {"14:9", "task `u` refers to itself", LINE("if: tasks.u.status == 'completed'")},
    {"14:9", "task `u` does not need `o`, so its outcome is not known yet; add it",
     LINE("if: tasks.o.status == 'completed'")},
    {"14:9", "task `u` does not need all of `h`",
     LINE("if: tasks.h.status == 'completed'")},
    {"14:9", "`end` is under `finally` and only runs after task `u`",
     LINE("if: tasks.end.status == 'completed'") "finally: {end: {run: x}}\n"},
    {"14:44", "task `end` does not need `fin`",
     TASKS
     "finally: {fin: {run: x}, end: {run: x, if: tasks.fin.status == 'failed'}}\n"},
    {"15:9", "task `v` needs 2 members of `g`, so it cannot be told which",
     TASKS "  v: {needs: [\"g[part=1]\", \"g[part=2]\"], run: x,\n"
           "    if: tasks.g.outputs.x == 'a'}\n"},
    /* what may stand where */
    {"2:15",
     "`tasks.a.status` has no value yet in the workflow's `env` or `defaults`; only "
     "params",
     "name: n\nenv: {A: \"${{ tasks.a.status }}\"}\n" TASK},
    {"2:15", "`run.id` has no value yet in the workflow's `env`",
     "name: n\nenv: {A: \"${{ run.id }}\"}\n" TASK},
    {"2:15", "`env.B` has no value yet in the workflow's `env`",
     "name: n\nenv: {A: \"${{ env.B }}\"}\n" TASK},
    {"14:29", "`run.id` has no value yet in `foreach`; only params can be referred to",
     LINE("foreach: {k: [\"a\", \"${{ run.id }}\"]}")},
    {"14:24", "unknown name `k` in `foreach`", LINE("foreach: {k: [\"${{ k }}\"]}")},
    {"14:27", "`run.id` has no value yet in the brackets of `needs`; only params and",
     TASKS "  v: {needs: [\"g[part=${{ run.id }}]\"], run: x}\n"},
    {"14:19", "`env.LC`: the value of one `env` entry cannot refer to another",
     LINE("env: {A: \"${{ env.LC }}\"}")},
    {"14:14", "unknown name `env.LD` in ${{ }}; did you mean `env.LC`?",
     LINE("cwd: ${{ env.LD }}")},
    {"14:14", "unknown name `LC` in ${{ }}; it is written env.LC",
     LINE("cwd: ${{ LC }}")},
    {"14:14", "`run.status` is only known to the tasks of `finally`",
     LINE("cwd: ${{ run.status }}")},
    {"14:14", "`run.name` is not known: there are run.id",
     LINE("cwd: ${{ run.name }}")},
    {"14:10", "`${{` without `}}`", LINE("cwd: ${{ params.day }")},
    {"14:10", "the expression is empty", LINE("cwd: ${{}}")},
    /* secrets */
    {"14:14",
     "a secret cannot be referred to in ${{ }}; a task that lists it under "
     "`secrets` has it as an environment variable, $TOKEN",
     LINE("cwd: ${{ TOKEN }}")},
    {"14:14", "environment variable, $token", LINE("cwd: ${{ token }}")},
    {"14:14", "environment variable, $TOKEN", LINE("cwd: ${{ env.TOKEN }}")},
    {"14:14", "a secret cannot be referred to", LINE("cwd: ${{ secrets.TOKEN }}")},
    {"14:9", "a secret cannot be referred to in `if`", LINE("if: TOKEN == 'x'")},
    /* what can be told of params alone is told */
    {"14:10", "`<` needs numbers", LINE("cwd: ${{ params.day < 3 }}")},
};

START_TEST(test_name_refusals)
{
    const struct refusal *r = &name_refusals[_i];
    help_refused(str_of(r->text), CAIRN_EWORKFLOW, r->at, r->words);
}
END_TEST

/* ---- What is given for a run, and limits ---- */

static void given(const char *name, const char *value)
{
    static struct cairn_param param;
    param = (struct cairn_param){name, value};
    help_options.params = &param;
    help_options.n_params = 1;
}

START_TEST(test_given_params)
{
    static const char text[] = "name: n\n"
                               "params:\n"
                               "  day: {choices: [mon, tue]}\n"
                               "  n: {type: int, default: 3}\n" TASK;
    help_refused(str_of(text), CAIRN_EUSAGE, NULL,
                 "the param `day` has no default and needs a value; give it with "
                 "--param day=...");
    given("day", "mo");
    help_refused(str_of(text), CAIRN_EUSAGE, NULL,
                 "the param `day` must be mon or tue, not `mo`; did you mean `mon`?");
    given("day", "tue");
    ck_text(help_parse(text)->params[0].value, "tue");
    given("n", "x");
    help_refused(str_of(text), CAIRN_EUSAGE, NULL,
                 "the value given for the param `n` must be an int such as 8 or -5 "
                 "(its type is int), not `x`");
    given("n", "-0012"); /* fine: but `day` is still needed */
    help_refused(str_of(text), CAIRN_EUSAGE, NULL, "the param `day` has no default");
    given("m", "x");
    help_refused(str_of(text), CAIRN_EUSAGE, NULL, "the workflow has no param `m`");
    help_options.n_params = 0;
    help_refused(STR("name: n\n"
                     "params:\n"
                     "  b: {type: int}\n"
                     "  c: 1\n"
                     "  a: {type: string}\n" TASK),
                 CAIRN_EUSAGE, NULL,
                 "2 params have no default and need values, each given with --param "
                 "a=...: `a`, `b`");
}
END_TEST

/* `before`, n times the letter, `after`. */
static void repeated(struct buf *out, const char *before, size_t n, const char *after)
{
    buf_clear(out);
    buf_text(out, before);
    memset(buf_grow(out, n), 'x', n);
    buf_text(out, after);
}

START_TEST(test_limits)
{
    static const struct {
        const char *before, *after, *at, *words;
        size_t most;
    } limits[] = {
        {"name: n\ntasks:\n  a:\n    external: ", "\n", "4:15",
         "the text of `external` is longer than", LIMIT_TEXT_BYTES},
        {"name: n\ntasks:\n  a:\n    run: x\n    check: ", "\n", "5:12",
         "the text of `check` is longer than", LIMIT_ENV_STRING},
        {"name: n\ntasks:\n  a:\n    run: x\n    undo: ", "\n", "5:11",
         "the text of `undo` is longer than", LIMIT_ENV_STRING},
        {"name: n\nparams: {p: {default: ", "}}\n" TASK, "2:23",
         "the default of the param `p` is longer than", LIMIT_ENV_STRING - 2},
        {"name: n\nsecrets: [", "]\n" TASK, "2:11",
         "a name in `secrets` is longer than", LIMIT_NAME_BYTES},
        {"name: n\ntasks:\n  a:\n    run: x\n    if: ", "'\n", "5:9",
         "the expression is longer than", LIMIT_EXPRESSION_BYTES},
    };
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < 5; i++) {
        repeated(&text, limits[i].before, limits[i].most, limits[i].after);
        help_parse(text.data);
        repeated(&text, limits[i].before, limits[i].most + 1, limits[i].after);
        help_refused(buf_view(&text), CAIRN_ELIMIT, limits[i].at, limits[i].words);
    }
    repeated(&text, limits[5].before, limits[5].most + 1, "\n");
    help_refused(buf_view(&text), CAIRN_EWORKFLOW, limits[5].at, limits[5].words);
    buf_release(&text);
}
END_TEST

static void many(struct buf *out, const char *before, int n, const char *after)
{
    buf_clear(out);
    buf_text(out, before);
    for (int i = 0; i < n; i++)
        buf_format(out, "%sS%d", i ? ", " : "", i);
    buf_text(out, after);
}

START_TEST(test_counts)
{
    struct buf text = BUF_INIT;
    many(&text, "name: n\nsecrets: [", LIMIT_SECRETS, "]\n" TASK);
    ck_assert_uint_eq(help_parse(text.data)->n_secrets, LIMIT_SECRETS);
    many(&text, "name: n\nsecrets: [", LIMIT_SECRETS + 1, "]\n" TASK);
    help_refused(buf_view(&text), CAIRN_ELIMIT, "2:10", "more than 1000 secrets");
    many(&text, "name: n\nparams: {p: {default: S1, choices: [", LIMIT_CHOICES,
         "]}}\n" TASK);
    help_parse(text.data);
    many(&text, "name: n\nparams: {p: {default: S1, choices: [", LIMIT_CHOICES + 1,
         "]}}\n" TASK);
    help_refused(buf_view(&text), CAIRN_ELIMIT, "2:36", "more than 1000 choices");
    buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parse flow errors");
    TCase *tests = tcase_create("parse flow errors");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_loop_test(tests, test_refusals, 0, COUNT(refusals));
    tcase_add_loop_test(tests, test_name_refusals, 0, COUNT(name_refusals));
    tcase_add_test(tests, test_given_params);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_counts);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
