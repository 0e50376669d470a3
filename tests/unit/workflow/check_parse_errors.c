/* SPDX-License-Identifier: MIT */
/* Everything that is refused in a workflow file, with its place and words. */
#include "tests/support/parse.h"
#include "tests/support/suite.h"

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
    {"2:3", "there is no anchor &x before it", "name: n\n? *x\n: 1\n"},
    {"1:14", "*x stands in what &x is", "name: &x [a, *x]\n" TASK},
    {"3:3", "a key must be text", "name: n\nx-a: &a [b]\n? *a\n: 1\n"},
    {"2:11", "`<<` takes a mapping or a list", "name: n\nx-a: {<<: a}\n" TASK},
    {"1:7", "tags (tag:yaml.org,2002:str) are not", "name: !!str n\n" TASK},
    {"2:6", "tags (!t) are not supported", "name: n\nenv: !t {A: b}\n" TASK},
    {"2:9", "`params` must be a mapping", "name: n\nparams: &a [b]\n" TASK},
    {"4:1", "a second document", "name: n\n" TASK "---\nname: m\n"},
    {"2:1", "the key `name` is here twice; the first one is at 1:1",
     "name: n\nname: m\n" TASK},
    {"4:3", "the key `a` is here twice; the first one is at 3:3",
     "name: n\ntasks:\n  a: {run: x}\n  a: {run: y}\n"},
    {"3:17", "the key `run` is here twice; the first one is at 3:9",
     "name: n\ntasks:\n  \"a\": {run: x, run: y}\n"},
    {"2:3", "a key must be text", "name: n\n? [a, b]\n: c\n" TASK},
    {"3:1", "a tab cannot be used for indentation", "name: n\ntasks:\n\ta: {run: x}\n"},
    {"3:9",
     "did not find expected key while parsing a block mapping that begins at 3:3",
     "name: n\ntasks:\n  a: {} b: c\n"},
    {"3:7", "a text with `: ` in it needs quotes", "name: n\ntasks:\n  a: b: c\n"},
    {"4:1",
     "did not find expected ',' or ']' while parsing a flow sequence that begins "
     "at 3:13",
     "name: n\ntasks:\n  a: {exec: [a, b\n"},
    {"3:1", "found unexpected end of stream", "name: \"n\ntasks: 1\n"},
    {"2:5", "could not find expected ':'", "name: n\ntask"},
    {"2:4", "must be a mapping", "\n---"},
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
    {"2:6", "unknown key `a` at the top level", "name: n\n<<: {a: b}\n" TASK},
    {"2:7", "`jobs` must lie between 1 and 4096", "name: n\njobs: 0\n" TASK},
    {"2:7", "`jobs` must lie between 1 and 4096", "name: n\njobs: 4097\n" TASK},
    {"2:7", "not text; write it without quotes", "name: n\njobs: \"8\"\n" TASK},
    {"2:7", "without leading zeros, not `010`", "name: n\njobs: 010\n" TASK},
    {"2:7", "must be a whole number such as 8", "name: n\njobs: 1.5\n" TASK},
    {"2:6", "`jobs` has no value", "name: n\njobs:\n" TASK},
    {"2:7", "`jobs` must lie", "name: n\njobs: 99999999999999999999\n" TASK},
    {"2:13", "`on_failure` must be stop, continue, undo or cancel, not `retry`",
     "name: n\non_failure: retry\n" TASK},
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
    {"2:7", "`A-B` is not a name for an environment variable",
     "name: n\nenv: {A-B: x}\n" TASK},
    {"2:7", "names beginning with CAIRN_ are set by cairn",
     "name: n\nenv: {CAIRN_X: y}\n" TASK},
    {"3:7", "`day` is the name of a param",
     "name: n\nparams: {day: x}\nenv: {day: y}\n" TASK},
    {"2:15", "unknown name `part` in the workflow's `env`",
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
    {"3:21", "`with` is only for `call`",
     "name: n\ntasks:\n  a: {run: x, with: {a: b}}\n"},
    {"3:13", "`call` is the name of a callback in the registry",
     "name: n\ntasks:\n  a: {call: \"a b\"}\n"},
    {"3:16", "`env` has no meaning for task `a`, which is a callback: it has the",
     "name: n\ntasks:\n  a: {call: f, env: {A: b}}\n"},
    {"3:22", "task `a` is a callback, so its `undo` is one, too: {call: NAME}",
     "name: n\ntasks:\n  a: {call: f, undo: b}\n"},
    {"3:23", "task `a` is a callback, so its `check` is one, too: {call: NAME}",
     "name: n\ntasks:\n  a: {call: f, check: {run: b}}\n"},
    {"3:21", "task `a` is a command, so its `undo` is one, too: callbacks are for",
     "name: n\ntasks:\n  a: {run: f, undo: {call: b}}\n"},
    {"3:22", "`check` needs `run`, as in {run: ./test, min: 0.7}, or of a callback",
     "name: n\ntasks:\n  a: {run: f, check: {run: b, call: b}}\n"},
    {"3:30", "${{ }} cannot stand in `call`",
     "name: n\ntasks:\n  a: {call: f, undo: {call: \"${{ x }}\"}}\n"},
    {"3:23", "the name of an argument, `a-b`, must be of",
     "name: n\ntasks:\n  a: {call: f, with: {a-b: c}}\n"},
    {"3:16", "task `a` has both `call` and `run`",
     "name: n\ntasks:\n  a: {call: f, run: b}\n"},
    {"3:3",
     "task `a` has nothing to do; give it `run`, `exec`, `external` or "
     "`call`",
     "name: n\ntasks:\n  a: {}\n"},
    {"5:5", "task `a` has both `run` and `exec`", IN_TASK("exec: [y]")},
    {"5:5", "unknown key `neds` in task `a`; did you mean `needs`?",
     IN_TASK("neds: [b]")},
    {"5:5", "unknown key `depends_on` in task `a`; did you mean `needs`?",
     IN_TASK("depends_on: [b]")},
    {"5:5", "unknown key `dependsOn` in task `a`; did you mean `needs`?",
     IN_TASK("dependsOn: [b]")},
    {"5:5", "unknown key `lost-claims` in task `a`; did you mean `lost_claims`?",
     IN_TASK("lost-claims: 3")},
    {"5:5", "unknown key `timeoutMinutes` in task `a`; write `timeout: 10m`",
     IN_TASK("timeoutMinutes: 10")},
    /* commands */
    {"3:12", "`run` has no value", "name: n\ntasks:\n  a: {run: }\n"},
    {"3:12", "`run` is empty", "name: n\ntasks:\n  a: {run: \"\"}\n"},
    {"3:12", "`run` is one text for the shell: for several commands",
     "name: n\ntasks:\n  a: {run: [x]}\n"},
    {"3:13", "`exec` must be a list", "name: n\ntasks:\n  a: {exec: ls -l}\n"},
    {"3:13", "`exec` is empty", "name: n\ntasks:\n  a: {exec: []}\n"},
    {"5:11", "`args` must be a list", IN_TASK("args: {a: b}")},
    {"5:17", "unknown name `k` in ${{ }}", IN_TASK("args: [\"${{ k }}\"]")},
    {"3:29", "those of `exec` stand behind its command",
     "name: n\ntasks:\n  a: {exec: [ls, -l], args: [x]}\n"},
    {"3:14", "the command is empty", "name: n\ntasks:\n  a: {exec: [\"\", b]}\n"},
    {"3:17", "an argument of `exec` has a NUL byte",
     "name: n\ntasks:\n  a: {exec: [b, \"x\\0y\"]}\n"},
    {"3:17", "must be text, not a mapping",
     "name: n\ntasks:\n  a: {exec: [b, {c: d}]}\n"},
    {"4:10", "so write \"$day\" instead",
     "name: n\ntasks:\n  a:\n    run: ${{ params.day }}\n"},
    {"6:11", "so write \"$part\" instead",
     "name: n\ntasks:\n  a:\n    run: |\n      one\n      two ${{ part }}\n"},
    {"3:18", "`shell` is only for `run`, `check`, `undo`, `fallback` and",
     "name: n\ntasks:\n  a: {exec: [b], shell: [sh]}\n"},
    {"5:12", "`shell` is empty", IN_TASK("shell: []")},
    {"5:12", "`shell` is a name such as bash, or a list", IN_TASK("shell: bash -c")},
    {"5:12", "`shell` must be sh, bash, zsh, python, node, perl or ruby, not `bsh`",
     IN_TASK("shell: bsh")},
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
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1.5ms")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 0.0001s")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1.s")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: .5s")},
    {"5:14", "must be a duration such as", IN_TASK("timeout: 1.5s.5ms")},
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
    {"5:27", "`on` is empty", IN_TASK("retries: {max: 3, on: []}")},
    {"5:28",
     "must be timeout, signal, spawn or check, not `timeot`; did you mean `time",
     IN_TASK("retries: {max: 3, on: [timeot]}")},
    {"5:38", "`spawn` is here twice",
     IN_TASK("retries: {max: 3, on: [9, spawn, spawn]}")},
    {"5:28", "an exit code must lie", IN_TASK("retries: {max: 3, on: [256]}")},
    {"5:28", "must be a whole number, not text",
     IN_TASK("retries: {max: 3, on: [\"7\"]}")},
    {"5:28", "an exit code", IN_TASK("retries: {max: 3, on: [~]}")},
    {"5:33", "an exit code must be", IN_TASK("retries: {max: 3, on_exit: [timeout]}")},
    {"5:32", "`on` takes the exit codes, too",
     IN_TASK("retries: {max: 3, on: [7], on_exit: [8]}")},
    {"5:40", "`cap` is below `delay`",
     IN_TASK("retries: {max: 3, delay: 10s, cap: 9s}")},
    {"5:28", "`cap` must be at least 1ms", IN_TASK("retries: {max: 3, cap: 0s}")},
    {"5:23", "unknown key `max_delay` in `retries`; did you mean `cap`?",
     IN_TASK("retries: {max: 3, max_delay: 9s}")},
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
    {"5:13", "unknown key `b` in `needs`", IN_TASK("needs: {b: c}")},
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
    {"9:19", "unknown name `prt` in ${{ }}; did you mean `part`?",
     GROUPS "    exec: [\"b-${{ prt }}\"]\n"},
    {"9:17", "unknown name `params.dya` in ${{ }}; did you mean `params.day`?",
     GROUPS "    exec: [\"${{ params.dya }}\"]\n"},
    {"9:17", "unknown name `day` in ${{ }}; a param is written params.day",
     GROUPS "    exec: [\"${{ day }}\"]\n"},
    {"9:13", "`${{` without `}}`", GROUPS "    exec: [\"${{ part }\"]\n"},
    {"9:29", "unknown name `two`", GROUPS "    exec: [\"${{ part }} ${{ two }}\"]\n"},
    {"10:15", "unknown name `two`", GROUPS "    exec: [x]\n    cwd: \"${{ two }}\"\n"},
    {"10:20", "unknown name `two`",
     GROUPS "    exec: [x]\n    env: {X: \"é${{ two }}\"}\n"},
    {"10:20", "unknown name `two`",
     GROUPS "    exec: [x]\n    outputs: [\"${{ two }}\"]\n"},
    {"10:25", "unknown name `two` in the brackets of `needs`",
     GROUPS "    exec: [x]\n    needs: [\"g[part=${{ two }},kind=x]\"]\n"},
    {"10:17", "`prt` is not a foreach key of task `g`; did you mean `part`?",
     GROUPS "    run: x\n    needs: [\"g[ prt=1,kind=x]\"]\n"},
    {"10:26", "`g[ part = 1 ]` is needed twice; the first one is at 10:13",
     GROUPS "    run: x\n    needs: [\"g[part=1]\", \"g[ part = 1 ]\"]\n"},
    {"10:5",
     "`needs_all` says what members of a needed group mean that their own "
     "condition left out; task `a` needs no group",
     GROUPS "    run: x\n    needs_all: true\n    needs: [\"g[part=1,kind=x]\"]\n"},
    {"12:5", "task `a` does not ask whether all completed",
     GROUPS "    run: x\n    needs: [g]\n    when: always\n    needs_all: true\n"},
    {"10:16", "`needs_all` must be true or false",
     GROUPS "    run: x\n    needs_all: 7\n    needs: [g]\n"},
    {"10:23", "the key `part` is in the brackets twice",
     GROUPS "    run: x\n    needs: [\"g[part=1,part=2]\"]\n"},
    {"10:21", "task `g` has no member with part = `4`\n",
     GROUPS "    run: x\n    needs: [\"g[part=4,kind=x]\"]\n"},
    {"10:21", "task `g` has no member with part = `01`; did you mean `1`?",
     GROUPS "    run: x\n    needs: [\"g[part=01,kind=x]\"]\n"},
    {"10:28", "no member with kind = `y20z`; did you mean `y%20z`?",
     GROUPS "    run: x\n    needs: [\"g[part=1,kind=y20z]\"]\n"},
    {"10:16", "`g[part]`: a member is written g[key=value]",
     GROUPS "    run: x\n    needs: [\"g[part]\"]\n"},
    {"10:13", "`g[]`: a member is written",
     GROUPS "    run: x\n    needs: [\"g[]\"]\n"},
    {"10:13", "`g[part=1`: the bracket is not closed",
     GROUPS "    run: x\n    needs: [\"g[part=1\"]\n"},
    {"10:13", "task `a` needs itself",
     GROUPS "    run: x\n    needs: [\"a[part=1]\"]\n"},
    {"10:35", "is needed twice; the first one is at 10:13",
     GROUPS
     "    run: x\n    needs: [\"g[part=1,kind=y z]\", \"g[kind=y%20z, part=1]\"]\n"},
    {"10:43", "is needed twice",
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

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("parse errors");
    TCase *tests = tcase_create("parse errors");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_loop_test(tests, test_yaml_refusals, 0, COUNT(yaml_refusals));
    tcase_add_loop_test(tests, test_refusals, 0, COUNT(refusals));
    tcase_add_loop_test(tests, test_reference_refusals, 0, COUNT(reference_refusals));
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
