/* Workflow files: everything that is refused, with its place and words; and what files
 * mean that are accepted. check_foreach.c has the values of groups. */
#include "tests/unit/parse_help.h"

#include "executor/yaml.h"

/* A task that is fine, to stand after what is tested. */
#define TASK "tasks:\n  a: {run: x}\n"

struct refusal {
    const char *at, *words, *text;
};

/* ---- YAML itself ---- */

static const struct refusal yaml_refusals[] = {
    {NULL, "the file is empty", ""},
    {NULL, "the file is empty", "# only a comment\n"},
    {"1:1", "must be a mapping (key: value), not text", "hello\n"},
    {"1:1", "must be a mapping (key: value), not a list", "[1, 2]\n"},
    {"1:7", "anchors (&x) are not supported", "name: &x n\n" TASK},
    {"2:3", "aliases (*x) are not supported", "name: n\n? *x\n: 1\n"},
    {"1:7", "tags (tag:yaml.org,2002:str) are not", "name: !!str n\n" TASK},
    {"2:6", "tags (!t) are not supported", "name: n\nenv: !t {A: b}\n" TASK},
    {"2:9", "anchors (&a) are not", "name: n\nparams: &a [b]\n" TASK},
    {"4:1", "a second document", "name: n\n" TASK "---\nname: m\n"},
    {"2:1", "the key `name` is here twice; the first one is at 1:1",
     "name: n\nname: m\n" TASK},
    {"4:3", "the key `a` is here twice; the first one is at 3:3",
     "name: n\ntasks:\n  a: {run: x}\n  a: {run: y}\n"},
    {"3:17", "the key `run` is here twice; the first one is at 3:9",
     "name: n\ntasks:\n  \"a\": {run: x, run: y}\n"},
    {"2:3", "a key must be text", "name: n\n? [a, b]\n: c\n" TASK},
    {"3:1", "a tab cannot be used for indentation", "name: n\ntasks:\n\ta: {run: x}\n"},
    {"3:9", "did not find expected key while parsing a block mapping that begins at 3:3",
     "name: n\ntasks:\n  a: {} b: c\n"},
    {"3:9", "a text with `: ` in it needs quotes", "name: n\ntasks:\n  a: b: c\n"},
    {"4:1",
     "did not find expected ',' or ']' while parsing a flow sequence that begins "
     "at 3:13",
     "name: n\ntasks:\n  a: {exec: [a, b\n"},
    {"3:1", "found unexpected end of stream", "name: \"n\ntasks: 1\n"},
    {"2:7", "not UTF-8 text (byte 0xff)", "name: n\n# h\xc3\xa4h \xff\n"},
    {"1:7", "not UTF-8 text (byte 0xc0)", "name: \xc0\x80\n"},
    {"1:7", "not UTF-8 text (byte 0xed)", "name: \xed\xa0\x80\n"},
    {"1:8", "U+0007 cannot stand", "name: x\x07\n"},
    {"1:8", "U+2028 cannot stand", "name: x\xe2\x80\xa8\n"},
    {"1:10", "found invalid Unicode character escape code", "name: \"\\ud83d\"\n" TASK},
};

START_TEST(test_yaml_refusals)
{
    const struct refusal *r = &yaml_refusals[_i];
    help_refused(str_of(r->text), CAIRN_EWORKFLOW, r->at, r->words);
}
END_TEST

/* ---- Structure ---- */

#define IN_TASK(text) "name: n\ntasks:\n  a:\n    run: x\n    " text "\n"

static const struct refusal refusals[] = {
    /* top level */
    {"1:1", "the workflow has no `name`", TASK},
    {"1:1", "the workflow has no tasks", "name: n\n"},
    {"2:7", "no tasks", "name: n\ntasks:\n"},
    {"2:8", "no tasks", "name: n\ntasks: {}\n"},
    {"2:8", "`tasks` must be a mapping (key: value), not a list",
     "name: n\ntasks: [a]\n"},
    {"1:6", "`name` has no value", "name:\n" TASK},
    {"1:7", "`name` is empty", "name: \"\"\n" TASK},
    {"1:7", "control character", "name: \"a\\nb\"\n" TASK},
    {"1:7", "`name` has a NUL byte", "name: \"a\\0b\"\n" TASK},
    {"1:7", "`name` must be text, not a list", "name: [a]\n" TASK},
    {"2:1", "unknown key `task` at the top level; did you mean `tasks`?",
     "name: n\ntask:\n  a: {run: x}\n"},
    {"2:1", "unknown key `finally` at the top level", "name: n\nfinally: {}\n" TASK},
    {"2:1", "unknown key `secrets`", "name: n\nsecrets: [A]\n" TASK},
    {"2:1", "unknown key `deadline`", "name: n\ndeadline: 6h\n" TASK},
    {"2:1", "unknown key `on_crash`", "name: n\non_crash: kill\n" TASK},
    {"2:1", "unknown key `<<`", "name: n\n<<: {a: b}\n" TASK},
    {"2:7", "`jobs` must lie between 1 and 4096", "name: n\njobs: 0\n" TASK},
    {"2:7", "`jobs` must lie between 1 and 4096", "name: n\njobs: 4097\n" TASK},
    {"2:7", "not text; write it without quotes", "name: n\njobs: \"8\"\n" TASK},
    {"2:7", "without leading zeros, not `010`", "name: n\njobs: 010\n" TASK},
    {"2:7", "must be a whole number such as 8", "name: n\njobs: 1.5\n" TASK},
    {"2:6", "`jobs` has no value", "name: n\njobs:\n" TASK},
    {"2:7", "`jobs` must lie", "name: n\njobs: 99999999999999999999\n" TASK},
    {"2:13", "`on_failure` must be stop or continue, not `undo`",
     "name: n\non_failure: undo\n" TASK},
    {"2:13", "did you mean `stop`?", "name: n\non_failure: stopp\n" TASK},
    {"2:12", "the limit of pool `p` must lie between 1",
     "name: n\npools: {p: 0}\n" TASK},
    {"2:9", "the pool name `a b` must", "name: n\npools: {a b: 1}\n" TASK},
    /* params */
    {"2:10", "the param `Day` must be named", "name: n\nparams: {Day: x}\n" TASK},
    {"2:10", "the param `1d` must be named", "name: n\nparams: {1d: x}\n" TASK},
    {"2:15", "the param `day` has no value", "name: n\nparams: {day: }\n" TASK},
    {"2:15", "the param `day` must be text, not a list",
     "name: n\nparams: {day: [a]}\n" TASK},
    {"2:17", "${{ }} cannot stand in the param `day`",
     "name: n\nparams: {day: \"a${{ x }}\"}\n" TASK},
    {"2:9", "`params` must be a mapping", "name: n\nparams: [a]\n" TASK},
    /* env */
    {"2:7", "`A-B` is no name for an environment variable",
     "name: n\nenv: {A-B: x}\n" TASK},
    {"2:7", "names beginning with CAIRN_ are set by cairn",
     "name: n\nenv: {CAIRN_X: y}\n" TASK},
    {"3:7", "`day` is the name of a param",
     "name: n\nparams: {day: x}\nenv: {day: y}\n" TASK},
    {"2:11", "unknown name `part` in ${{ }}",
     "name: n\nenv: {A: \"${{ part }}\"}\n" TASK},
    {"5:11", "`k` is a foreach key",
     "name: n\ntasks:\n  a:\n    run: x\n    env: {k: v}\n    foreach: {k: [a]}\n"},
    {"5:15", "`k` is set in the workflow's `env` already",
     "name: n\nenv: {k: v}\ntasks:\n  a:\n    foreach: {k: [a]}\n    run: x\n"},
    /* defaults */
    {"2:12", "unknown key `grace` in `defaults`",
     "name: n\ndefaults: {grace: 5s}\n" TASK},
    {"2:11", "`defaults` must be a mapping", "name: n\ndefaults: 5s\n" TASK},
    /* tasks */
    {"3:3", "the task id `a b` must be made of", "name: n\ntasks:\n  a b: {run: x}\n"},
    {"3:3", "the task id `-a` must", "name: n\ntasks:\n  -a: {run: x}\n"},
    {"3:3", "the task id `.a` must", "name: n\ntasks:\n  .a: {run: x}\n"},
    {"3:3", "the task id `a[b=c]` must", "name: n\ntasks:\n  \"a[b=c]\": {run: x}\n"},
    {"3:3", "the id of a task is empty", "name: n\ntasks:\n  \"\": {run: x}\n"},
    {"3:5", "task `a` has no value", "name: n\ntasks:\n  a:\n"},
    {"3:6", "task `a` must be a mapping (key: value), not text",
     "name: n\ntasks:\n  a: x\n"},
    {"3:3", "task `a` has nothing to do; give it `run` or `exec`",
     "name: n\ntasks:\n  a: {}\n"},
    {"5:5", "task `a` has both `run` and `exec`", IN_TASK("exec: [y]")},
    {"5:5", "unknown key `neds` in task `a`; did you mean `needs`?",
     IN_TASK("neds: [b]")},
    {"5:5", "unknown key `if` in task `a`", IN_TASK("if: x")},
    {"5:5", "unknown key `when` in task `a`", IN_TASK("when: always")},
    {"5:5", "unknown key `once` in task `a`", IN_TASK("once: true")},
    {"5:5", "unknown key `undo` in task `a`", IN_TASK("undo: x")},
    {"5:5", "unknown key `check` in task `a`", IN_TASK("check: x")},
    {"5:5", "unknown key `external` in task `a`", IN_TASK("external: x")},
    {"5:5", "unknown key `inputs` in task `a`", IN_TASK("inputs: x")},
    {"5:5", "unknown key `secrets` in task `a`", IN_TASK("secrets: x")},
    /* commands */
    {"3:12", "`run` has no value", "name: n\ntasks:\n  a: {run: }\n"},
    {"3:12", "`run` is empty", "name: n\ntasks:\n  a: {run: \"\"}\n"},
    {"3:12", "`run` must be text, not a list", "name: n\ntasks:\n  a: {run: [x]}\n"},
    {"3:13", "`exec` must be a list", "name: n\ntasks:\n  a: {exec: ls -l}\n"},
    {"3:13", "`exec` is empty", "name: n\ntasks:\n  a: {exec: []}\n"},
    {"3:14", "the command is empty", "name: n\ntasks:\n  a: {exec: [\"\", b]}\n"},
    {"3:17", "an argument of `exec` has a NUL byte",
     "name: n\ntasks:\n  a: {exec: [b, \"x\\0y\"]}\n"},
    {"3:17", "must be text, not a mapping",
     "name: n\ntasks:\n  a: {exec: [b, {c: d}]}\n"},
    {"4:10", "so write \"$day\" instead",
     "name: n\ntasks:\n  a:\n    run: ${{ params.day }}\n"},
    {"6:11", "so write \"$part\" instead",
     "name: n\ntasks:\n  a:\n    run: |\n      one\n      two ${{ part }}\n"},
    {"3:18", "`shell` is only for `run`",
     "name: n\ntasks:\n  a: {exec: [b], shell: [sh]}\n"},
    {"5:12", "`shell` is empty", IN_TASK("shell: []")},
    {"5:12", "`shell` must be a list", IN_TASK("shell: bash -c")},
    {"5:14", "${{ }} cannot stand in `shell`", IN_TASK("shell: [\"${{ params.x }}\"]")},
    /* surroundings */
    {"5:10", "`cwd` is empty", IN_TASK("cwd: \"\"")},
    {"5:15", "an output is empty", IN_TASK("outputs: [\"\"]")},
    {"5:14", "`outputs` must be a list", IN_TASK("outputs: {a: b}")},
    {"5:11", "there is no pool `db`; declare it under `pools`", IN_TASK("pool: db")},
    {"6:11", "there is no pool `dbb`; did you mean `db`?",
     "name: n\npools: {db: 1}\ntasks:\n  a:\n    run: x\n    pool: dbb\n"},
    {"5:15", "`priority` must lie between -2147483648 and 2147483647",
     IN_TASK("priority: 2147483648")},
    /* durations */
    {"5:14", "needs a unit; write 10s for seconds", IN_TASK("timeout: 10")},
    {"5:14", "needs a unit; write 10s for seconds", IN_TASK("timeout: \"10\"")},
    {"5:14", "must be a duration such as 500ms", IN_TASK("timeout: 10x")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1.5s")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 30s1m")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1m1m")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1 m")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: -1s")},
    {"5:14", "at most 36500d", IN_TASK("timeout: 36501d")},
    {"5:14", "`timeout` must be at least 1ms", IN_TASK("timeout: 0s")},
    {"5:13", "`timeout` has no value", IN_TASK("timeout:")},
    {"5:14", "`timeout` needs `after`", IN_TASK("timeout: {grace: 1s}")},
    {"5:15", "unknown key `aftr` in `timeout`; did you mean `after`?",
     IN_TASK("timeout: {aftr: 1s}")},
    /* retries */
    {"5:14", "`retries` must lie between 0 and 1000000", IN_TASK("retries: -1")},
    {"5:14", "`retries` must lie", IN_TASK("retries: 1000001")},
    {"5:14", "`retries` needs `max`", IN_TASK("retries: {delay: 1s}")},
    {"5:23", "unknown key `dely` in `retries`; did you mean `delay`?",
     IN_TASK("retries: {max: 3, dely: 1s}")},
    {"5:31", "`jitter` must be true or false",
     IN_TASK("retries: {max: 3, jitter: yes}")},
    {"5:31", "`jitter` must be true or false",
     IN_TASK("retries: {max: 3, jitter: \"true\"}")},
    {"5:31", "`factor` must be a number between 1 and 1000",
     IN_TASK("retries: {max: 3, factor: 0.5}")},
    {"5:31", "`factor` must be", IN_TASK("retries: {max: 3, factor: 1.2345}")},
    {"5:32", "`on_exit` is empty", IN_TASK("retries: {max: 3, on_exit: []}")},
    {"5:33", "an exit code must lie between 1 and 255",
     IN_TASK("retries: {max: 3, on_exit: [0]}")},
    {"5:36", "the exit code is here twice",
     IN_TASK("retries: {max: 3, on_exit: [6, 6]}")},
    /* needs */
    {"5:12", "task `a` needs itself", IN_TASK("needs: a")},
    {"5:13", "task `a` needs itself", IN_TASK("needs: [a]")},
    {"5:13", "task `a` needs `bb`, which does not exist; did you mean `b`?",
     IN_TASK("needs: [bb]") "  b: {run: x}\n"},
    {"5:12", "a need is empty", IN_TASK("needs: \"\"")},
    {"5:16", "`b` is needed twice; the first one is at 5:13",
     IN_TASK("needs: [b, b]") "  b: {run: x}\n"},
    {"5:13", "task `b` has no foreach, so it has no members",
     IN_TASK("needs: [\"b[k=v]\"]") "  b: {run: x}\n"},
    {"5:12", "`needs` must be a list", IN_TASK("needs: {b: c}")},
};

START_TEST(test_refusals)
{
    const struct refusal *r = &refusals[_i];
    help_refused(str_of(r->text), CAIRN_EWORKFLOW, r->at, r->words);
}
END_TEST

/* ---- ${{ }} and members ---- */

#define GROUPS                                                                 \
    "name: n\nparams: {day: mon}\ntasks:\n"                                    \
    "  g:\n    foreach: {part: {range: [1, 3]}, kind: [x, y z]}\n    run: x\n" \
    "  a:\n    foreach: {part: [1, 2]}\n"

static const struct refusal reference_refusals[] = {
    {"9:14", "unknown name `prt` in ${{ }}; did you mean `part`?",
     GROUPS "    exec: [\"b-${{ prt }}\"]\n"},
    {"9:13", "unknown name `params.dya` in ${{ }}; did you mean `params.day`?",
     GROUPS "    exec: [\"${{ params.dya }}\"]\n"},
    {"9:13", "unknown name `day` in ${{ }}; a param is written params.day",
     GROUPS "    exec: [\"${{ day }}\"]\n"},
    {"9:13", "`${{` without `}}`", GROUPS "    exec: [\"${{ part }\"]\n"},
    {"9:13",
     "only params.NAME and foreach keys can stand in ${{ }} in this release, "
     "not `tasks.fetch.outputs.rows != 0`",
     GROUPS "    exec: [\"${{ tasks.fetch.outputs.rows != 0 }}\"]\n"},
    {"9:13", "only params.NAME", GROUPS "    exec: [\"${{}}\"]\n"},
    {"9:25", "unknown name `two`", GROUPS "    exec: [\"${{ part }} ${{ two }}\"]\n"},
    {"10:11", "unknown name `two`", GROUPS "    exec: [x]\n    cwd: \"${{ two }}\"\n"},
    {"10:20", "unknown name `two`",
     GROUPS "    exec: [x]\n    env: {X: \"é${{ two }}\"}\n"},
    {"10:16", "unknown name `two`",
     GROUPS "    exec: [x]\n    outputs: [\"${{ two }}\"]\n"},
    {"10:20", "unknown name `two`",
     GROUPS "    exec: [x]\n    needs: [\"g[part=${{ two }},kind=x]\"]\n"},
    {"10:16", "`prt` is no foreach key of task `g`; did you mean `part`?",
     GROUPS "    run: x\n    needs: [\"g[ prt=1,kind=x]\"]\n"},
    {"10:13", "leaves the foreach key `kind` of task `g` open",
     GROUPS "    run: x\n    needs: [\"g[part=1]\"]\n"},
    {"10:22", "the key `part` is in the brackets twice",
     GROUPS "    run: x\n    needs: [\"g[part=1,part=2]\"]\n"},
    {"10:20", "task `g` has no member with part = `4`",
     GROUPS "    run: x\n    needs: [\"g[part=4,kind=x]\"]\n"},
    {"10:20", "task `g` has no member with part = `01`",
     GROUPS "    run: x\n    needs: [\"g[part=01,kind=x]\"]\n"},
    {"10:27", "no member with kind = `y_z`; did you mean `y%20z`?",
     GROUPS "    run: x\n    needs: [\"g[part=1,kind=y_z]\"]\n"},
    {"10:15", "`part`: a member is written g[key=value]",
     GROUPS "    run: x\n    needs: [\"g[part]\"]\n"},
    {"10:13", "`g[]`: a member is written",
     GROUPS "    run: x\n    needs: [\"g[]\"]\n"},
    {"10:13", "`g[part=1`: the bracket is not closed",
     GROUPS "    run: x\n    needs: [\"g[part=1\"]\n"},
    {"10:13", "task `a` needs itself",
     GROUPS "    run: x\n    needs: [\"a[part=1]\"]\n"},
    {"10:33", "is needed twice; the first one is at 10:13",
     GROUPS
     "    run: x\n    needs: [\"g[part=1,kind=y z]\", \"g[kind=y%20z, part=1]\"]\n"},
    {"10:45", "is needed twice",
     GROUPS
     "    run: x\n"
     "    needs: [\"g[part=${{ part }},kind=x]\", \"g[kind=x,part=${{ part }}]\"]\n"},
};

START_TEST(test_reference_refusals)
{
    const struct refusal *r = &reference_refusals[_i];
    help_refused(str_of(r->text), CAIRN_EWORKFLOW, r->at, r->words);
}
END_TEST

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
    {"12:", NULL},
    {"12:60", NULL},
    {"2026-01", NULL},
    {"2026-01-31x", NULL},
    {"_1", NULL},
    {"-", NULL},
    {"--day", NULL},
    {"..", NULL},
    {"...x", NULL},
    {"+", NULL},
    {"true1", NULL},
    {"=", NULL},
    {"<<", NULL},
    {"1 2", NULL},
    {"1:2:3:", NULL},
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
        "    retries: {max: 3, delay: 1m30s500ms, factor: 1.25, jitter: true,\n"
        "              on_exit: [6, 255]}\n"
        "    outputs: raw.csv\n"
        "    env: {LC_ALL: de, A: \"\"}\n"
        "  send:\n"
        "    needs: fetch\n"
        "    exec: [./send, --n, 3]\n"
        "    timeout: 1d2h\n"
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
    ck_assert_uint_eq(fetch->pool, UINT32_MAX);
    ck_assert_uint_eq(fetch->members, 1);
    ck_assert_uint_eq(fetch->at.line, 9);
    ck_assert_int_eq(send->kind, TASK_EXEC);
    ck_assert_uint_eq(send->n_shell, 0);
    ck_assert_uint_eq(send->n_argv, 3);
    ck_assert_int_eq(send->timeout_ms, 93600000);
    ck_assert_int_eq(send->grace_ms, 3000);
    ck_assert_uint_eq(send->retry.max, 0);
    ck_assert_uint_eq(send->pool, 1);
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
        CAIRN_EWORKFLOW, "2:33", "`jobs` must be a whole number");
    help_refused(STR("{\"name\": \"\\ud83d\"}"), CAIRN_EWORKFLOW, "1:11",
                 "surrogates come in pairs");
    help_refused(STR("{\"name\": \"n\", \"name\": \"m\"}"), CAIRN_EWORKFLOW, "1:15",
                 "the key `name` is here twice; the first one is at 1:2");
    help_refused(STR("{\"name\": \"n\", \"tasks\": {\"a\": {\"run\": true}}}"),
                 CAIRN_EWORKFLOW, "1:39", "`true` without quotes is a boolean");
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
    help_refused(str_of(text), CAIRN_EWORKFLOW, "2:1233", "`1e3`");
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
        struct source source = {"w.yaml", str_of(whole)};
        struct diagnostic diagnostic = {&source, &help_error};
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
    tcase_add_loop_test(tests, test_yaml_refusals, 0, COUNT(yaml_refusals));
    tcase_add_loop_test(tests, test_refusals, 0, COUNT(refusals));
    tcase_add_loop_test(tests, test_reference_refusals, 0, COUNT(reference_refusals));
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
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
