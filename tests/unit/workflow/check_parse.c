/* SPDX-License-Identifier: MIT */
/* Workflow files: what they mean, typing traps, JSON, limits, and how errors look.
 * check_parse_errors.c has what is refused, check_foreach.c the values of groups. */
#include "tests/support/parse.h"

#include "graph/definition_codec.h"
#include "tests/support/suite.h"
#include "workflow/yaml.h"

/* A task that is fine, to stand after what is tested. */
#define TASK "tasks:\n  a: {run: x}\n"

START_TEST(test_references)
{
    static const struct {
        uint32_t task, need;
        const char *key, *value;
    } expected[] = {{1, 0, "part", "${{ part }}"},
                    {1, 0, "kind", "y z"},
                    {1, 1, "part", "3"},
                    {1, 1, "kind", "${{params.k}},"}};
    const struct definition *d =
        help_parse("name: n\nparams: {k: x, l: \"\"}\ntasks:\n"
                   "  g: {foreach: {part: {range: [1, 3]}, kind: [x, y z]}, run: x}\n"
                   "  a:\n"
                   "    foreach: {part: [1, 2]}\n"
                   "    needs: [\"g[ kind = y z , part=${{ part }}]\",\n"
                   "            \"g[part=3,kind=${{params.k}}${{ params.l }}]\", h]\n"
                   "    exec: [b, \"${{part}} ${{ params.k }}\"]\n"
                   "  h: {run: x}\n");
    for (size_t i = 0; i < 3; i++) {
        const struct need *need = &d->defs[expected[i].task].needs[expected[i].need];
        uint32_t k = i % 2;
        ck_assert_uint_eq(need->target, 0);
        ck_assert_uint_eq(need->n_bindings, 2);
        ck_text(need->bindings[k].key, expected[i].key);
        ck_text(need->bindings[k].value, expected[i].value);
    }
    const struct need *plain = &d->defs[1].needs[2];
    ck_assert_ptr_null(plain->bindings);
    ck_assert_uint_eq(plain->target, 2);
    ck_assert_uint_eq(plain->at.line, 8);
    ck_assert_uint_eq(plain->at.column, 60);
    ck_text(d->defs[1].argv[1], "${{part}} ${{ params.k }}");
}
END_TEST

/* ---- Typing traps ---- */

static const struct {
    const char *text, *reads_as; /* NULL: taken as text */
} traps[] = {
    {"yes", "a boolean"},
    {"Yes", "a boolean"},
    {"NO", "a boolean"},
    {"no", "a boolean"},
    {"on", "a boolean"},
    {"Off", "a boolean"},
    {"true", "a boolean"},
    {"False", "a boolean"},
    {"null", "null"},
    {"~", "null"},
    {"010", "an octal number"},
    {"0o17", "an octal number"},
    {"-012", "an octal number"},
    {"08", "an octal number"},
    {"00", "an octal number"},
    {"007.5", "an octal number"},
    {"0x1f", "a hexadecimal"},
    {"0b11", "a binary"},
    {"1_000", "a number"},
    {"1_0.5", "a number"},
    {"+5", "a number"},
    {".5", "a number"},
    {"5.", "a number"},
    {"1e3", "a number with an exponent"},
    {"1.5e-3", "an exponent"},
    {"1E+3", "an exponent"},
    {".5e1", "an exponent"},
    {"12:30", "base 60"},
    {"1:02:03", "base 60"},
    {"-1:30", "base 60"},
    {"1:30.5", "base 60"},
    {"8022:22", "base 60"},
    {".inf", "infinity"},
    {"-.INF", "infinity"},
    {".nan", "not-a-number"},
    {"2026-01-31", "a date"},
    {"2026-1-3", "a date"},
    {"2026-01-31T10:00:00Z", "a date"},
    {"2026-01-31 10:00:00", "a date"},
    {"8", NULL},
    {"0", NULL},
    {"-5", NULL},
    {"1.5", NULL},
    {"1.10", NULL},
    {"0.0", NULL},
    {"-0.25", NULL},
    {"123456789012345678901234567890", NULL},
    {"1.2.3", NULL},
    {"10.0.0.1", NULL},
    {"8080:80", NULL},
    {"y", NULL},
    {"n", NULL},
    {"nope", NULL},
    {"1e", NULL},
    {"e3", NULL},
    {"1e3x", NULL},
    {"0x", NULL},
    {"0xfg", NULL},
    {"12:60", NULL},
    {"2026-01", NULL},
    {"2026-01-31x", NULL},
    {"_1", NULL},
    {"--day", NULL},
    {"..", NULL},
    {"...x", NULL},
    {"+", NULL},
    {"true1", NULL},
    {"=", NULL},
    {"<<", NULL},
    {"1 2", NULL},
};

START_TEST(test_traps)
{
    const char *text = traps[_i].text;
    char file[512], words[128];
    static const char *const forms[] = {
        "name: n\ntasks:\n  a:\n    exec: [b,\n  %s]\n",
        "name: n\ntasks:\n  a:\n    exec:\n    - b\n    - %s\n",
        "name: n\ntasks:\n  a:\n    exec: [b]\n    env: {A: %s}\n",
        "name: n\ntasks:\n  a:\n    exec: [b]\n    foreach: {k: [%s]}\n",
        "name: n\nparams: {p: %s}\ntasks:\n  a:\n    exec: [b]\n",
        "name: n\ntasks:\n  a:\n    exec: [b]\n    outputs: %s\n",
    };
    static const char *const places[] = {"5:3", "6:7", "5:14", "5:19", "2:13", "5:14"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(file, sizeof file, forms[i], text);
        if (traps[_i].reads_as) {
            snprintf(words, sizeof words, "`%s` without quotes is ", text);
            help_refused(str_of(file), CAIRN_EWORKFLOW, places[i], words);
            ck_assert_ptr_nonnull(strstr(help_error.text, traps[_i].reads_as));
            char quoted[64];
            snprintf(quoted, sizeof quoted, "'%s'", text);
            snprintf(file, sizeof file, forms[i], quoted);
        }
        const struct definition *d = help_parse(file);
        struct str got = i < 2    ? d->defs[0].argv[1]
                         : i == 2 ? d->defs[0].env[0].value
                         : i == 3 ? d->defs[0].foreach[0].values[0]
                         : i == 4 ? d->params[0].value
                                  : d->defs[0].outputs[0];
        ck_text(got, text);
    }
}
END_TEST

START_TEST(test_trapped_keys)
{
    help_refused(STR("name: n\ntasks:\n  no: {run: x}\n"), CAIRN_EWORKFLOW, "3:3",
                 "the id of a task: `no` without quotes is a boolean");
    help_refused(STR("name: n\nenv: {ON: x}\n" TASK), CAIRN_EWORKFLOW, "2:7",
                 "`ON` without quotes is a boolean");
    help_refused(STR("name: n\nparams: {null: x}\n" TASK), CAIRN_EWORKFLOW, "2:10",
                 "is null");
    help_refused(STR("name: 1e3\n" TASK), CAIRN_EWORKFLOW, "1:7", "with an exponent");
    const struct definition *d = help_parse(
        "name: 7\ntasks:\n  \"no\": {run: x}\n  8: {run: x, needs: \"no\"}\n");
    ck_text(d->name, "7");
    ck_text(d->defs[0].id, "no");
    ck_text(d->defs[1].id, "8");
}
END_TEST

/* ---- What files mean ---- */

START_TEST(test_everything)
{
    const struct definition *d = help_parse(
        "name: nightly report\n"
        "params: {day: mon, n: 3}\n"
        "env: {LC_ALL: C, Z: \"${{ params.day }}\"}\n"
        "defaults: {timeout: {after: 10m, grace: 3s}, retries: 2, shell: [bash, -c]}\n"
        "jobs: 8\n"
        "pools: {db: 2, net: 5}\n"
        "on_failure: continue\n"
        "tasks:\n"
        "  fetch:\n"
        "    run: |\n      curl \"$day\"\n      echo\n"
        "    retries: {max: 3, delay: 1.5m0.5s, factor: 1.25, jitter: true,\n"
        "              on_exit: [6, 255]}\n"
        "    outputs: raw.csv\n"
        "    env: {LC_ALL: de, A: \"\"}\n"
        "  send:\n"
        "    needs: fetch\n"
        "    exec: [./send, --n, 3]\n"
        "    timeout: 1d2.0h\n"
        "    retries: 0\n"
        "    pool: net\n"
        "    priority: -7\n"
        "    cwd: sub\n"
        "    outputs: [a, b]\n");
    ck_text(d->name, "nightly report");
    ck_text(d->file, "/w/w.yaml");
    ck_text(d->root, help_root);
    ck_assert_uint_eq(d->n_params, 2);
    ck_text(d->params[1].value, "3");
    ck_assert_uint_eq(d->jobs, 8);
    ck_assert_int_eq(d->on_failure, ON_FAILURE_CONTINUE);
    ck_assert_uint_eq(d->n_pools, 2);
    ck_assert_uint_eq(d->n_defs, 2);
    const struct task_def *fetch = &d->defs[0], *send = &d->defs[1];
    ck_assert_int_eq(fetch->kind, TASK_RUN);
    ck_text(fetch->run, "curl \"$day\"\necho\n");
    ck_assert_uint_eq(fetch->n_shell, 2);
    ck_text(fetch->shell[0], "bash");
    ck_assert_int_eq(fetch->timeout_ms, 600000);
    ck_assert_int_eq(fetch->grace_ms, 3000);
    ck_assert_uint_eq(fetch->retry.max, 3);
    ck_assert_int_eq(fetch->retry.delay_ms, 90500);
    ck_assert_uint_eq(fetch->retry.factor_permille, 1250);
    ck_assert(fetch->retry.jitter);
    ck_assert_uint_eq(fetch->retry.n_on_exit, 2);
    ck_assert_uint_eq(fetch->retry.on_exit[1], 255);
    ck_assert_uint_eq(fetch->n_outputs, 1);
    ck_assert_uint_eq(fetch->n_env, 3);
    ck_text(fetch->env[0].key, "A");
    ck_text(fetch->env[0].value, "");
    ck_text(fetch->env[1].value, "de");
    ck_text(fetch->env[2].value, "${{ params.day }}");
    ck_assert_uint_eq(fetch->n_pools, 0);
    ck_assert_uint_eq(fetch->members, 1);
    ck_assert_uint_eq(fetch->at.line, 9);
    ck_assert_int_eq(send->kind, TASK_EXEC);
    ck_assert_uint_eq(send->n_shell, 0);
    ck_assert_uint_eq(send->n_argv, 3);
    ck_assert_int_eq(send->timeout_ms, 93600000);
    ck_assert_int_eq(send->grace_ms, 3000);
    ck_assert_uint_eq(send->retry.max, 0);
    ck_assert_uint_eq(send->pools[0].pool, 1);
    ck_assert_int_eq(send->priority, -7);
    ck_text(send->cwd, "sub");
    ck_assert_uint_eq(send->n_env, 2);
    ck_assert_uint_eq(send->needs[0].target, 0);
    ck_assert_uint_eq(d->n_warnings, 1);
    ck_text(d->warnings[0], "w.yaml:6:9: no task uses the pool `db`");
}
END_TEST

START_TEST(test_defaults)
{
    const struct definition *d = help_parse("name: n\n" TASK);
    const struct task_def *a = &d->defs[0];
    ck_assert_uint_eq(d->jobs, 0);
    ck_assert_int_eq(d->on_failure, ON_FAILURE_STOP);
    ck_assert_uint_eq(a->n_shell, 3);
    ck_text(a->shell[0], "sh");
    ck_text(a->shell[1], "-eu");
    ck_text(a->shell[2], "-c");
    ck_assert_int_eq(a->timeout_ms, 0);
    ck_assert_int_eq(a->grace_ms, 10000);
    ck_assert_uint_eq(a->retry.max, 0);
    ck_assert_uint_eq(a->retry.factor_permille, 1000);
    ck_text(a->cwd, "");
    ck_assert_uint_eq(d->n_warnings, 0);
    help_parse("\xef\xbb\xbfname: n\r\ntasks:\r\n  a: {run: x, needs: []}\r\n");
    help_parse("--- \nname: n\ntasks:\n  a: {run: x, env: {}}\n...\n");
}
END_TEST

START_TEST(test_overrides)
{
    static const char text[] = "name: n\nparams: {day: mon, n: 3}\n" TASK;
    static const struct cairn_param good[] = {{"day", "a"}, {"day", "yes ${{ x }}"}};
    static const struct cairn_param bad[] = {{"dya", "a"}};
    help_options.params = good;
    help_options.n_params = 2;
    const struct definition *d = help_parse(text);
    ck_text(d->params[0].value, "yes ${{ x }}");
    ck_text(d->params[1].value, "3");
    help_options.params = bad;
    help_options.n_params = 1;
    help_refused(str_of(text), CAIRN_EUSAGE, NULL,
                 "the workflow has no param `dya`; did you mean `day`?");
    help_refused(STR("name: n\n" TASK), CAIRN_EUSAGE, NULL, "no param `dya`");
}
END_TEST

/* ---- JSON ---- */

static void same_bytes(const char *yaml, const char *json)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    ck_assert_int_eq(definition_encode(help_parse(yaml), &a, NULL), 0);
    ck_assert_int_eq(definition_encode(help_parse(json), &b, NULL), 0);
    ck_assert(str_equal(buf_view(&a), buf_view(&b)));
    buf_release(&a);
    buf_release(&b);
}

START_TEST(test_json)
{
    same_bytes(
        "name: n\nparams: {p: \"/é\U0001F600\U0001F600x\"}\njobs: 3\n"
        "tasks:\n  a:\n    run: \"echo \\\"hi\\\"\\n\\t\\u0001\"\n"
        "    retries: {max: 2, jitter: true, factor: 1.5, on_exit: [1, 2]}\n"
        "  b: {exec: [x, \"1\"], needs: [\"a\"], foreach: {k: [1, -2.5]}}\n",
        "\t{\"name\":\"n\",\"params\":{\"p\":\"\\/\\u00e9\\ud83d\\ude00"
        "\\uD83D\\uDE00x\"},\r\n\t\"jobs\":3,\n"
        "\t\"tasks\":{\"a\":{\"run\":\"echo \\\"hi\\\"\\n\\t\\u0001\",\t\"retries\":"
        "{\"max\":2,\"jitter\":true,\"factor\":1.5,\"on_exit\":[1,2]}},\n"
        "\t\"b\":{\"exec\":[\"x\",\"1\"],\"needs\":[\"a\"],\"foreach\":"
        "{\"k\":[1,-2.5]}}}\n}\t\n\t");
}
END_TEST

START_TEST(test_json_places)
{
    /* The two escapes are shortened before libyaml counts columns. */
    help_refused(STR("{\"name\": \"\\ud83d\\ude00\\ud83d\\ude00\", \"nam\": 1,\n"
                     "\"x\": \"\\ud83d\\ude00\"}"),
                 CAIRN_EWORKFLOW, "1:38", "unknown key `nam`");
    help_refused(
        STR("{\"name\": \"n\",\n \"tasks\": \"\\ud83d\\ude00\", \"jobs\": \"2\"}"),
        CAIRN_EWORKFLOW, "2:35", "`jobs` must be a whole number");
    help_refused(STR("{\"name\": \"\\ud83d\"}"), CAIRN_EWORKFLOW, "1:13",
                 "surrogates come in pairs");
    help_refused(STR("{\"name\": \"n\", \"name\": \"m\"}"), CAIRN_EWORKFLOW, "1:15",
                 "the key `name` is here twice; the first one is at 1:2");
    help_refused(STR("{\"name\": \"n\", \"tasks\": {\"a\": {\"run\": true}}}"),
                 CAIRN_EWORKFLOW, "1:38", "`true` without quotes is a boolean");
    help_refused(STR("{\"name\": null, \"tasks\": {\"a\": {\"run\": \"x\"}}}"),
                 CAIRN_EWORKFLOW, "1:10", "is null");
    /* Not JSON: block text that looks like an escape stays as it is. */
    const struct definition *d = help_parse(
        "name: n\ntasks:\n  a:\n    run: |\n      printf \"\\ud83d\\ude00\"\n");
    ck_text(d->defs[0].run, "printf \"\\ud83d\\ude00\"\n");
}
END_TEST

/* ---- Error text ---- */

START_TEST(test_text)
{
    help_refused(STR("name: n\ntasks:\n  compile: {run: x}\n  link:\n    run: x\n"
                     "    neds: [compile]\n"),
                 CAIRN_EWORKFLOW, "6:5", "");
    ck_assert_str_eq(help_error.text,
                     "w.yaml:6:5: unknown key `neds` in task `link`; did you mean "
                     "`needs`?\n"
                     "   6 |     neds: [compile]\n"
                     "     |     ^");
    help_refused(STR("name: n\ntasks:\n  \t  a: x\n"), CAIRN_EWORKFLOW, "3:3", "");
    ck_assert_ptr_nonnull(strstr(help_error.text, "\n   3 |      a: x\n     |   ^"));
}
END_TEST

static char *repeat(const char *before, const char *text, size_t n, const char *after)
{
    struct buf out = BUF_INIT;
    buf_text(&out, before);
    for (size_t i = 0; i < n; i++)
        buf_text(&out, text);
    buf_text(&out, after);
    ck_assert(!out.failed);
    return out.data;
}

START_TEST(test_long_lines)
{
    char *text =
        repeat("name: n\ntasks: {a: {exec: [b, \"", "äöü ", 300, "\", 1e3, \"b\"]}}\n");
    help_refused(str_of(text), CAIRN_EWORKFLOW, "2:1227", "`1e3`");
    const char *caret = strrchr(help_error.text, '^');
    const char *line = strchr(help_error.text, '\n') + 1;
    const char *pointed = strstr(line, "1e3");
    size_t columns = 0;
    for (const char *at = line; at < pointed; at++)
        columns += ((unsigned char)*at & 0xc0) != 0x80;
    ck_assert_uint_eq(columns, (size_t)(caret - strrchr(help_error.text, '\n') - 1));
    ck_assert_uint_lt(columns, 90);
    ck_assert_ptr_nonnull(strstr(line, "| ..."));
    free(text);
    /* Whatever is quoted, the text fits and is cut between characters. */
    text = repeat("name: n\n", "\U0001F600", 5000, ": x\n");
    char *long_name = repeat("/", "directory/", 100, "w.yaml");
    ck_assert_int_eq(help_try(str_of(text)), CAIRN_EWORKFLOW);
    help_options.name = long_name;
    ck_assert_int_eq(help_try(str_of(text)), CAIRN_EWORKFLOW);
    ck_assert_uint_lt(strlen(help_error.text), sizeof help_error.text - 1);
    ck_assert_ptr_nonnull(strchr(help_error.text, '^'));
    free(text);
    free(long_name);
}
END_TEST

/* ---- Limits ---- */

static void at_limit(const char *before, size_t n, const char *after, const char *place,
                     const char *words)
{
    char *good = repeat(before, "x", n, after);
    char *bad = repeat(before, "x", n + 1, after);
    help_parse(good);
    help_refused(str_of(bad), CAIRN_ELIMIT, place, words);
    free(good);
    free(bad);
}

START_TEST(test_limits)
{
    at_limit("name: n\ntasks:\n  ", LIMIT_ID_BYTES, ": {run: x}\n", "3:3",
             "the task id is longer than 200 bytes");
    at_limit("name: ", LIMIT_NAME_BYTES, "\n" TASK, "1:7", "`name` is longer than 200");
    at_limit("name: n\nparams: {", LIMIT_NAME_BYTES, ": v}\n" TASK, "2:10",
             "longer than 200 bytes");
    at_limit("name: n\npools: {", LIMIT_NAME_BYTES, ": 1}\n" TASK, "2:9",
             "longer than 200 bytes");
    at_limit("name: n\nenv: {A: ", LIMIT_ENV_STRING - 2, "}\n" TASK, "2:10",
             "`A` is longer than 131071 bytes");
    at_limit("name: n\nparams: {p: ", LIMIT_ENV_STRING - 2, "}\n" TASK, "2:13",
             "`p` is longer than 131071 bytes");
    at_limit("name: n\nparams: {p: 12345678}\ntasks: {a: {exec: [\"${{ params.p }}",
             LIMIT_ENV_STRING - 8, "\"]}}\n", "3:20", "this argument is longer");
    at_limit("name: n\ntasks:\n  a:\n    run: ", LIMIT_ENV_STRING, "\n", "4:10",
             "the text of `run` is longer than 131071 bytes");
    at_limit("name: n\ntasks:\n  a: {run: x, foreach: {k: [", LIMIT_ENV_STRING - 2,
             "]}}\n", "3:29", "a value of the foreach key `k` is longer");
    char *text = repeat("name: n\njobs: 4096\ntasks:\n  a: {run: x, retries: 1000000, ",
                        "", 0, "priority: -2147483648, timeout: 36500d}\n");
    help_parse(text);
    free(text);
    struct str huge = {"name: n", (size_t)LIMIT_FILE_BYTES + 1};
    ck_assert_int_eq(help_try(huge), CAIRN_ELIMIT);
}
END_TEST

START_TEST(test_pool_limit)
{
    for (int over = 0; over < 2; over++) {
        struct buf text = BUF_INIT;
        buf_text(&text, "name: n\npools:\n");
        for (int i = 0; i < LIMIT_POOLS + over; i++)
            buf_format(&text, "  p%d: 1\n", i);
        buf_text(&text, TASK);
        if (over)
            help_refused(buf_view(&text), CAIRN_ELIMIT, "3:3", "more than 1000 pools");
        else
            ck_assert_uint_eq(help_parse(text.data)->n_warnings, LIMIT_POOLS);
        buf_release(&text);
    }
}
END_TEST

START_TEST(test_depth)
{
    for (int over = 0; over < 2; over++) {
        char *text = repeat("", "[", (size_t)LIMIT_DEPTH + (size_t)over, "");
        char *whole = repeat(text, "]", (size_t)LIMIT_DEPTH + (size_t)over, "");
        struct source source = {.name = "w.yaml", .text = str_of(whole)};
        struct diagnostic diagnostic = {&source, &help_error, NULL};
        struct arena arena = ARENA_INIT;
        const struct node *root;
        int result = yaml_read(&diagnostic, &arena, &root);
        ck_assert_int_eq(result, over ? CAIRN_ELIMIT : 0);
        arena_release(&arena);
        free(text);
        free(whole);
    }
    ck_assert_ptr_nonnull(
        strstr(help_error.text, "w.yaml:1:33: nested more than 32 levels deep"));
    char *deep = repeat("", "- ", 200000, "x");
    help_refused(str_of(deep), CAIRN_ELIMIT, "1:65", "32 levels");
    free(deep);
}
END_TEST

/* Many keys go through the hashed check. */
START_TEST(test_many_tasks)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "name: n\ntasks:\n");
    for (int i = 0; i < 20000; i++)
        buf_format(&text, "  t%d: {run: x, needs: [t%d]}\n", i, (i + 19999) % 20000);
    ck_assert_uint_eq(help_parse(text.data)->n_defs, 20000);
    ck_assert_uint_eq(help_definition.defs[0].needs[0].target, 19999);
    ck_assert_uint_eq(map_get(&help_definition.by_id, STR("t777")), 777);
    buf_text(&text, "  t777: {run: x}\n");
    help_refused(buf_view(&text), CAIRN_EWORKFLOW, "20003:3", "first one is at 780:3");
    buf_release(&text);
}
END_TEST

/* Any cut of a good file is refused or fine, never a crash. */
START_TEST(test_cuts)
{
    static const char text[] =
        "name: n\nparams: {day: \"\\u00e9\"}\nenv: {A: '${{ params.day }}'}\n"
        "defaults: {timeout: {after: 1m, grace: 1s}}\npools: {p: 1}\ntasks:\n"
        "  a:\n    foreach: {k: {range: [1, 3]}}\n    run: |\n      x\n    pool: p\n"
        "  b:\n    foreach: {k: {range: [1, 3]}}\n    exec: [x, \"${{ k }}\"]\n"
        "    needs: [\"a[k=${{ k }}]\"]\n    retries: {max: 1, on_exit: [1]}\n";
    help_parse(text);
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *cut = malloc(n + 1); /* exact, so that ASan sees a byte too many */
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, text, n);
        help_try((struct str){cut, n});
        for (size_t i = 0; n && i < 4; i++) {
            memcpy(cut, text, n);
            cut[(n * 7 + i * 13) % n] = "{\"\n\xff"[i];
            help_try((struct str){cut, n});
        }
        free(cut);
    }
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("parse");
    TCase *tests = tcase_create("parse");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_loop_test(tests, test_traps, 0, COUNT(traps));
    tcase_add_test(tests, test_references);
    tcase_add_test(tests, test_trapped_keys);
    tcase_add_test(tests, test_everything);
    tcase_add_test(tests, test_defaults);
    tcase_add_test(tests, test_overrides);
    tcase_add_test(tests, test_json);
    tcase_add_test(tests, test_json_places);
    tcase_add_test(tests, test_text);
    tcase_add_test(tests, test_long_lines);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_pool_limit);
    tcase_add_test(tests, test_depth);
    tcase_add_test(tests, test_many_tasks);
    tcase_add_test(tests, test_cuts);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
