/* SPDX-License-Identifier: MIT */
/* Values of foreach: lists, ranges, globs, files of lines, and recorded ones. */
#include "tests/support/parse.h"
#include "tests/support/suite.h"

#define TASK_WITH(values) "name: n\ntasks:\n  a:\n    run: x\n    foreach: " values "\n"

static const struct foreach_key *key_of(const char *text)
{
    const struct definition *d = help_parse(text);
    ck_assert_uint_eq(d->defs[0].n_foreach, 1);
    return &d->defs[0].foreach[0];
}

/* The values, each followed by a bar. */
static void expect_values(const struct foreach_key *key, const char *expected)
{
    struct buf got = BUF_INIT;
    for (uint32_t i = 0; i < key->n; i++) {
        buf_str(&got, key->values[i]);
        buf_byte(&got, '|');
    }
    ck_text(buf_view(&got), expected);
    buf_release(&got);
}

static void refused(const char *text, const char *at, const char *words)
{
    help_refused(str_of(text), CAIRN_EWORKFLOW, at, words);
}

START_TEST(test_structure)
{
    refused(TASK_WITH("{}"), "5:14", "`foreach` is empty");
    refused(TASK_WITH("[a]"), "5:14", "`foreach` must be a mapping");
    refused(TASK_WITH("{Part: [a]}"), "5:15", "the foreach key `Part` must be named");
    refused(TASK_WITH("{k: a}"), "5:18", "`k` must be a list of values, {range:");
    refused(TASK_WITH("{k: []}"), "5:18", "the list of `k` is empty");
    refused(TASK_WITH("{k: {}}"), "5:18", "needs exactly one of `range`");
    refused(TASK_WITH("{k: {range: [1, 2], glob: x}}"), "5:18", "exactly one of");
    refused(TASK_WITH("{k: {rang: [1, 2]}}"), "5:19",
            "unknown key `rang` in foreach key `k`; did you mean `range`?");
    refused(TASK_WITH("{k: {range: [1, 2], allow_empty: yes}}"), "5:47",
            "`allow_empty` must be true or false");
    refused("name: n\nparams: {k: v}\n"
            "tasks:\n  a:\n    run: x\n    foreach: {k: [a]}\n",
            "6:15", "`k` is the name of a param already");
    refused(TASK_WITH("{k: [\"${{ params.x }}\"]}"), "5:24",
            "unknown name `params.x` in `foreach`");
    refused(TASK_WITH("{k: [a, \"x\\0\"]}"), "5:22", "NUL byte");
    help_refused(STR(TASK_WITH("{a: [x], b: [x], c: [x], d: [x], e: [x], f: [x], "
                               "g: [x], h: [x], i: [x]}")),
                 CAIRN_ELIMIT, "5:14", "more than 8 keys");
    const struct definition *d = help_parse(TASK_WITH(
        "{a: [x], b: [x], c: [x], d: [x], e: [x], f: [x], g: [x], h: [x, y]}"));
    ck_assert_uint_eq(d->defs[0].members, 2);
}
END_TEST

START_TEST(test_list)
{
    expect_values(key_of(TASK_WITH("{k: [b, a, 1.10, \"\", x y]}")), "b|a|1.10||x y|");
    refused(TASK_WITH("{k: [a, b, a]}"), "5:25",
            "the value `a` is here twice; the first one is at 5:19");
    refused(TASK_WITH("{k: [a b, a%20b]}"), "5:19",
            "the values `a%20b` and `a b` would have the same task id");
    refused(TASK_WITH("{k: [[a]]}"), "5:19", "a value of `k` must be text, not a list");
}
END_TEST

START_TEST(test_range)
{
    const struct foreach_key *key = key_of(TASK_WITH("{k: {range: [-2, 1]}}"));
    expect_values(key, "-2|-1|0|1|");
    ck_text(key->spec, "-2..1");
    expect_values(key_of(TASK_WITH("{k: {range: [5, 5]}}")), "5|");
    refused(TASK_WITH("{k: {range: [5, 4]}}"), "5:26",
            "the range from 5 to 4 is empty; write allow_empty");
    refused(TASK_WITH("{k: {range: [1]}}"), "5:26", "the first and the last number");
    refused(TASK_WITH("{k: {range: [1, 2, 3, 4]}}"), "5:26", "the first and the last");
    expect_values(key_of(TASK_WITH("{k: {range: [1, 8, 3]}}")), "1|4|7|");
    expect_values(key_of(TASK_WITH("{k: {range: [3, -1, -2]}}")), "3|1|-1|");
    expect_values(key_of(TASK_WITH("{k: {range: [-9223372036854775807, "
                                   "9223372036854775807, 9223372036854775807]}}")),
                  "-9223372036854775807|0|9223372036854775807|");
    refused(TASK_WITH("{k: {range: [1, 8, 0]}}"), "5:33", "the step of `range` is 0");
    refused(TASK_WITH("{k: {range: [1, 8, -1]}}"), "5:26", "the range from 1 to 8 is");
    refused(TASK_WITH("{k: {range: 3}}"), "5:26", "`range` must be a list");
    refused(TASK_WITH("{k: {range: [1, b]}}"), "5:30", "the last of `range` must be");
    refused(TASK_WITH("{k: {range: [01, 2]}}"), "5:27", "without leading zeros");
    const struct definition *d =
        help_parse(TASK_WITH("{k: {range: [5, 4], allow_empty: true}}"));
    ck_assert_uint_eq(d->defs[0].members, 0);
    ck_text(d->warnings[0], "w.yaml:5:14: task `a` has no members");
    help_refused(STR(TASK_WITH("{k: {range: [1, 10000001]}}")), CAIRN_ELIMIT, "5:18",
                 "more than 10000000 values");
    help_refused(STR(TASK_WITH("{k: {range: [-9223372036854775807, "
                               "9223372036854775807]}}")),
                 CAIRN_ELIMIT, "5:18", "more than 10000000 values");
}
END_TEST

/* A product costs its values, not its members. */
START_TEST(test_product)
{
    const struct definition *d =
        help_parse(TASK_WITH("{i: {range: [1, 10000]}, j: {range: [1, 1000]}}"));
    ck_assert_uint_eq(d->defs[0].members, LIMIT_TASKS);
    ck_assert_uint_lt(d->arena.total, 2 << 20);
    help_refused(STR(TASK_WITH("{i: {range: [1, 10001]}, j: {range: [1, 1000]}}")),
                 CAIRN_ELIMIT, "5:14", "more than 10000000 members");
}
END_TEST

START_TEST(test_glob)
{
    static const char *const names[] = {"b.csv",  "a.csv",   "B.csv",
                                        ".h.csv", "c d.csv", "[x].txt"};
    for (size_t i = 0; i < 6; i++)
        help_file(names[i], "");
    help_dir("sub");
    help_file("sub/1.csv", "");
    help_file("sub/.2.csv", "");
    expect_values(key_of(TASK_WITH("{k: {glob: \"*.csv\"}}")),
                  "B.csv|a.csv|b.csv|c d.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \".*.csv\"}}")), ".h.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"[ab].csv\"}}")), "a.csv|b.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"*/*.csv\"}}")), "sub/1.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"s?b//1*\"}}")), "sub/1.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"*/1.csv\"}}")), "sub/1.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: a.csv}}")), "a.csv|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"\\\\[x*\"}}")), "[x].txt|");
    expect_values(key_of(TASK_WITH("{k: {glob: \"no/*\", allow_empty: true}}")), "");
    expect_values(key_of(TASK_WITH("{k: {glob: \"a.csv/*\", allow_empty: true}}")), "");
    char text[600], expected[300];
    snprintf(text, sizeof text, TASK_WITH("{k: {glob: \"%s/sub/?.csv\"}}"), help_root);
    snprintf(expected, sizeof expected, "%s/sub/1.csv|", help_root);
    expect_values(key_of(text), expected);
    refused(TASK_WITH("{k: {glob: \"*.tsv\"}}"), "5:25", "no file matches (in ");
    refused(TASK_WITH("{k: {glob: \"missing\"}}"), "5:25", "write allow_empty: true");
    refused(TASK_WITH("{k: {glob: \"**/*.csv\"}}"), "5:25", "`**` is not supported");
    refused(TASK_WITH("{k: {glob: \"sub/\"}}"), "5:25", "must end with a name");
    refused(TASK_WITH("{k: {glob: \"\"}}"), "5:25", "must end with a name");
    refused(TASK_WITH("{k: {glob: [a]}}"), "5:25", "`glob` must be text");
}
END_TEST

/* Each `*` is every directory again: 3^n of them. */
START_TEST(test_glob_that_goes_up_again)
{
    char text[1000] = "name: n\ntasks: {a: {run: x, foreach: {k: {glob: \"",
         up[] = "*/../";
    help_dir("one");
    help_dir("two");
    help_dir("three");
    size_t n = strlen(text);
    for (int i = 0; i < 100; i++, n += sizeof up - 1)
        memcpy(text + n, up, sizeof up);
    snprintf(text + n, sizeof text - n, "*\"}}}}\n");
    help_refused(str_of(text), CAIRN_ELIMIT, "2:41", "finds too much on the way");
}
END_TEST

/* Those of all tasks count, before there is room for them. */
START_TEST(test_all_values_have_a_limit)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "name: n\ntasks:\n");
    for (int i = 0; i < 11; i++)
        buf_format(&text, "  t%d: {run: x, foreach: {k: {range: [1, 1000000]}}}\n", i);
    help_refused(buf_view(&text), CAIRN_ELIMIT, "13:30",
                 "more than 10000000 values, with those of the `foreach` before it");
    buf_clear(&text);
    buf_text(&text, "name: n\ntasks:\n");
    for (int i = 0; i < 11; i++)
        buf_format(&text,
                   "  t%d: {run: x, foreach: {k: {range: [1, 1000]}, "
                   "j: {range: [1, 1000]}}}\n",
                   i);
    help_refused(buf_view(&text), CAIRN_ELIMIT, "13:26",
                 "more than 10000000 tasks, with those of the `foreach` before it");
    buf_release(&text);
}
END_TEST

START_TEST(test_lines)
{
    help_file("parts.txt", "one\r\n\n  two \nthree");
    const struct foreach_key *key = key_of(TASK_WITH("{k: {lines: parts.txt}}"));
    expect_values(key, "one|  two |three|");
    ck_text(key->spec, "parts.txt");
    ck_assert_int_eq(key->source, FOREACH_LINES);
    refused(TASK_WITH("{k: {lines: part.txt}}"), "5:26", "there is no file ");
    refused(TASK_WITH("{k: {lines: \"\"}}"), "5:26", "`lines` is empty");
    help_file("twice.txt", "a\n\nb\n\na\n");
    refused(TASK_WITH("{k: {lines: twice.txt}}"), "5:18",
            "lines 1 and 5 of twice.txt are the same: `a`");
    help_file("empty.txt", "\n\r\n");
    refused(TASK_WITH("{k: {lines: empty.txt}}"), "5:26",
            "the file has no line that is not empty");
    expect_values(key_of(TASK_WITH("{k: {lines: empty.txt, allow_empty: true}}")), "");
    char path[512];
    snprintf(path, sizeof path, "%s/nul.txt", help_root);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("a\nb\0c\n", 1, 6, file), 6);
    ck_assert_int_eq(fclose(file), 0);
    refused(TASK_WITH("{k: {lines: nul.txt}}"), "5:26",
            "nul.txt:2: the line has a NUL");
    char *line = malloc(LIMIT_ENV_STRING + 1);
    ck_assert_ptr_nonnull(line);
    memset(line, 'x', LIMIT_ENV_STRING);
    line[LIMIT_ENV_STRING - 1] = line[LIMIT_ENV_STRING] = 0;
    help_file("long.txt", line);
    help_refused(STR(TASK_WITH("{k: {lines: long.txt}}")), CAIRN_ELIMIT, "5:26",
                 "a value of the foreach key `k` is longer");
    line[LIMIT_ENV_STRING - 2] = 0;
    help_file("long.txt", line);
    ck_assert_uint_eq(key_of(TASK_WITH("{k: {lines: long.txt}}"))->n, 1);
    free(line);
}
END_TEST

/* What the resumed run has recorded stands, unless the file asks for something else. */
START_TEST(test_recorded)
{
    static const char both[] =
        "name: n\ntasks:\n  a:\n    run: x\n"
        "    foreach: {g: {glob: \"*.csv\"}, l: {lines: l.txt}, r: [p, q]}\n";
    struct definition recorded;
    help_file("a.csv", "");
    help_file("l.txt", "1\n2\n");
    help_parse(both);
    recorded = help_definition;
    definition_init(&help_definition);
    help_file("b.csv", "");
    help_remove("l.txt");
    help_options.recorded = &recorded;
    const struct task_def *a = &help_parse(both)->defs[0];
    expect_values(&a->foreach[0], "a.csv|");
    expect_values(&a->foreach[1], "1|2|");
    ck_assert_uint_eq(a->members, 4);
    /* Another pattern, key name, source or task: looked up now. */
    expect_values(key_of(TASK_WITH("{g: {glob: \"?.csv\"}}")), "a.csv|b.csv|");
    expect_values(key_of(TASK_WITH("{h: {glob: \"*.csv\"}}")), "a.csv|b.csv|");
    expect_values(key_of(TASK_WITH("{g: {glob: \"*.csv\"}}")), "a.csv|");
    expect_values(key_of(TASK_WITH("{r: [p]}")), "p|");
    expect_values(key_of("name: n\ntasks:\n  b:\n    run: x\n"
                         "    foreach: {g: {glob: \"*.csv\"}}\n"),
                  "a.csv|b.csv|");
    refused(TASK_WITH("{g: {lines: \"*.csv\"}}"), "5:26", "there is no file");
    help_options.recorded = NULL;
    definition_release(&recorded);
    expect_values(key_of(TASK_WITH("{g: {glob: \"*.csv\"}}")), "a.csv|b.csv|");
}
END_TEST

/* A recorded empty match does not outlive its allow_empty. */
START_TEST(test_recorded_empty)
{
    struct definition recorded;
    help_parse(TASK_WITH("{g: {glob: \"*.csv\", allow_empty: true}}"));
    recorded = help_definition;
    definition_init(&help_definition);
    help_file("a.csv", "");
    help_options.recorded = &recorded;
    expect_values(key_of(TASK_WITH("{g: {glob: \"*.csv\", allow_empty: true}}")), "");
    expect_values(key_of(TASK_WITH("{g: {glob: \"*.csv\"}}")), "a.csv|");
    help_options.recorded = NULL;
    definition_release(&recorded);
}
END_TEST

/* The notes, each followed by a line break. */
static void expect_notes(const char *expected)
{
    struct buf got = BUF_INIT;
    for (uint32_t i = 0; i < help_definition.n_notes; i++) {
        buf_str(&got, help_definition.notes[i]);
        buf_byte(&got, '\n');
    }
    ck_assert_str_eq(got.size ? got.data : "", expected);
    buf_release(&got);
}

/* A run that continues keeps its members; what it does not see is told. */
START_TEST(test_notes)
{
    static const char both[] =
        "name: n\ntasks:\n  a:\n    run: x\n"
        "    foreach: {g: {glob: \"*.csv\"}, l: {lines: l.txt}}\n";
    struct definition recorded;
    help_file("m.csv", "");
    help_file("z.csv", "");
    help_file("l.txt", "1\n2\n");
    help_parse(both);
    expect_notes("");
    recorded = help_definition;
    definition_init(&help_definition);
    help_options.recorded = &recorded;
    help_parse(both);
    expect_notes("");
    help_file("b.csv", "");
    help_file("l.txt", "2\n\n1\n3\r\n");
    help_parse(both);
    expect_notes(
        "a: 1 new file matches `*.csv` and is no part of this run: b.csv; a new run "
        "has it: cairn run /w/w.yaml --fresh\n"
        "a: 1 new line of `l.txt` is no part of this run: 3; a new run has "
        "it: cairn run /w/w.yaml --fresh\n");
    ck_assert_uint_eq(help_definition.defs[0].members, 4);
    help_file("a.csv", "");
    help_remove("m.csv");
    help_file("l.txt", "3\n4\n5\n6\n");
    help_parse(both);
    expect_notes(
        "a: 2 new files match `*.csv` and are no part of this run: a.csv, "
        "b.csv; a new run has them: cairn run /w/w.yaml --fresh\n"
        "a: 1 recorded member is gone: m.csv; this run keeps it: put back what it "
        "needs, or begin a new run: cairn run /w/w.yaml --fresh\n"
        "a: 4 new lines of `l.txt` are no part of this run: 3, 4, 5, ...; a new "
        "run has them: cairn run /w/w.yaml --fresh\n"
        "a: 2 recorded members are gone: 1, 2; this run keeps them: put back what it "
        "needs, or begin a new run: cairn run /w/w.yaml --fresh\n");
    help_remove("l.txt");
    help_parse(both);
    ck_assert_uint_eq(help_definition.n_notes, 3);
    ck_assert_ptr_nonnull(
        strstr(help_definition.notes[2].ptr,
               "a: whether there are new members is not known (there is no file "));
    help_options.recorded = NULL;
    definition_release(&recorded);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("foreach");
    TCase *tests = tcase_create("foreach");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_test(tests, test_structure);
    tcase_add_test(tests, test_list);
    tcase_add_test(tests, test_range);
    tcase_add_test(tests, test_product);
    tcase_add_test(tests, test_glob);
    tcase_add_test(tests, test_glob_that_goes_up_again);
    tcase_add_test(tests, test_all_values_have_a_limit);
    tcase_add_test(tests, test_lines);
    tcase_add_test(tests, test_recorded);
    tcase_add_test(tests, test_recorded_empty);
    tcase_add_test(tests, test_notes);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
