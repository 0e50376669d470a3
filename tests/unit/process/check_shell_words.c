/* SPDX-License-Identifier: MIT */
/* Commands that need no shell. The oracle is dash itself: what is taken apart without
 * it must come out as it does with it. */
#include "process/shell_words.h"

#include "tests/support/process.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#define PRINT "/usr/bin/printf %s@ "

static const char *const env[] = {"N=7",     "SP=a  b",  "EMPTY=", "GLOB=*",
                                  "PLAIN=x", "IFS=x",    "_u=v",   "BACK=\\",
                                  "PS1=p",   "TILDE=~r", NULL};

static struct str value(void *context, struct str name)
{
    (void)context;
    for (size_t i = 0; env[i]; i++)
        if (strncmp(env[i], name.ptr, name.len) == 0 && env[i][name.len] == '=')
            return str_of(env[i] + name.len + 1);
    return (struct str){NULL, 0};
}

static const struct direct_values values = {value, NULL};

static uint32_t words_of(const char *text, struct buf *words)
{
    buf_clear(words);
    return direct_words(str_of(text), &values, words);
}

/* Words are written with a bar behind each; NULL: it needs a shell. */
static void expect_words(const char *text, const char *expected)
{
    struct buf words = BUF_INIT;
    uint32_t n = words_of(text, &words), bars = 0;
    ck_assert_msg((n > 0) == (expected != NULL), "%s", text);
    for (size_t i = 0; n && i < words.size; i++)
        if (!words.data[i]) {
            words.data[i] = '|';
            bars++;
        }
    if (n) {
        ck_assert_str_eq(words.data, expected);
        ck_assert_uint_eq(bars, n);
    }
    buf_release(&words);
}

START_TEST(test_plain)
{
    expect_words("touch x", "touch|x|");
    expect_words("  ./a.out \t-x --y=1,2 a:b+c@d%e\n\n",
                 "./a.out|-x|--y=1,2|a:b+c@d%e|");
    expect_words("true", "true|");
    expect_words("false ", "false|");
    expect_words("sh -c x", "sh|-c|x|");
    expect_words("a 'b c' \"d e\" '' \"\" f'g'\"h\"", "a|b c|d e|||fgh|");
    expect_words("a $N ${N}b \"$SP\" \"$EMPTY\" \"<$GLOB>\" $_u",
                 "a|7|7b|a  b||<*>|v|");
    expect_words("a '$N' \"#\" '`' '\\'", "a|$N|#|`|\\|");
    expect_words("a \"$BACK\" \"$TILDE\"", "a|\\|~r|");
}
END_TEST

START_TEST(test_shell_is_needed)
{
    static const char *const texts[] = {
        "",          " \n",        "a;b",      "a b;",     "a && b",       "a | b",
        "a &",       "a >x",       "a <x",     "a `b`",    "a $(b)",       "a $((1))",
        "a *",       "a ?",        "a [b]",    "a ~",      "a #b",         "a {b,c}",
        "a \\b",     "a\nb",       "(a)",      "! a",      "{ a",          "A=1 a",
        "a $",       "a $1",       "a $?",     "a $$",     "a ${N",        "a ${N:-x}",
        "a ${#N}",   "a $UNSET",   "a $EMPTY", "a $SP",    "a $GLOB",      "a $TILDE",
        "a $IFS",    "a \"$PS1\"", "a 'b",     "a \"b",    "a \"$UNSET\"", "a \"\\n\"",
        "a \"`b`\"", "a \"$(b)\"", "a \"$\"",  "a 'b\nc'", "a '\t'",       "a \xc3\xa4",
        "a 'b\xc3'", "true x",     "false x",  "echo x",   "'echo' x",     "cd /",
        "exit 3",    ". x",        ": x",      "exec a",   "time a",       "if a",
        "$EMPTY",    "'' a",       "\"$SP\"",  "setsid a", "test x",       "kill 1",
        "'A=1' a",   "[ x",        "wait"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_words(texts[i], NULL);
}
END_TEST

static void expect_many(size_t bytes, bool good)
{
    char *text = malloc(bytes + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'a', bytes);
    text[bytes] = 0;
    struct buf words = BUF_INIT;
    ck_assert_uint_eq(words_of(text, &words), good);
    for (size_t i = 1; i < bytes; i += 2)
        text[i] = ' ';
    ck_assert_uint_eq(words_of(text, &words), good ? bytes / 2 : 0);
    buf_release(&words);
    free(text);
}

START_TEST(test_limits)
{
    expect_many(DIRECT_BYTES, true);
    expect_many(DIRECT_BYTES + 1, false);
}
END_TEST

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (uint32_t)(seed >> 33) % n;
}

static void random_text(char *out, size_t size)
{
    static const char *const parts[] = {
        "a",      "b1", " ",     "  ",     "$N",    "${N}", "\"",      "'", "\"$SP\"",
        "$PLAIN", "=",  "-x",    "/",      "''",    ".",    "\"a b\"", "%", "$",
        "'$N c'", "*",  "\\",    "#",      "~",     "@",    ",",       "+", ":",
        "{",      "}",  "${_u}", "$EMPTY", "\"!\"", ";"};
    size_t used = (size_t)snprintf(out, size, "%s", PRINT);
    for (uint32_t n = 1 + below(7); n; n--)
        used += (size_t)snprintf(out + used, size - used, "%s",
                                 parts[below(sizeof parts / sizeof parts[0])]);
}

/* What the program prints, and its wait status. */
static int output_of(const char *const *argv, struct buf *out)
{
    int ends[2], status;
    char bytes[512], **args, **vars;
    const char *const *given = env;
    ssize_t n;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    memcpy(&args, &argv, sizeof args);
    memcpy(&vars, &given, sizeof vars);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ck_assert_int_eq(posix_spawn(&pid, argv[0], &actions, NULL, args, vars), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    buf_clear(out);
    while ((n = read(ends[0], bytes, sizeof bytes)) > 0)
        buf_add(out, bytes, (size_t)n);
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* True if it was taken apart. */
static bool compare_with_dash(const char *text)
{
    struct buf words = BUF_INIT, direct = BUF_INIT, dash = BUF_INIT;
    const char *const shell[] = {"/bin/dash", "-eu", "-c", text, NULL};
    const char *argv[64] = {NULL}; /* the parts of random_text make far fewer */
    uint32_t n = words_of(text, &words);
    const char *at = words.data;
    for (uint32_t i = 0; i < n; i++, at += strlen(at) + 1)
        argv[i] = at;
    if (n) {
        int status = output_of(shell, &dash);
        ck_assert_msg(output_of(argv, &direct) == status, "%s", text);
        ck_assert_msg(str_equal(buf_view(&direct), buf_view(&dash)), "%s: %s, not %s",
                      text, direct.data, dash.data);
    }
    buf_release(&words);
    buf_release(&direct);
    buf_release(&dash);
    return n > 0;
}

START_TEST(test_same_as_dash)
{
    enum { CASES = 600, LEAST = 40 };
    char text[256];
    int taken = 0;
    if (access("/bin/dash", X_OK)) {
        printf("# skipped: no dash here\n");
        return;
    }
    seed = (uint64_t)clock_utc_ns();
    uint64_t first = seed;
    for (int i = 0; i < CASES; i++) {
        random_text(text, sizeof text);
        taken += compare_with_dash(text);
    }
    ck_assert_msg(taken >= LEAST, "only %d were taken apart (seed %llu)", taken,
                  (unsigned long long)first);
}
END_TEST

static void make_shell(const char *dir, const char *target)
{
    char path[512];
    ck_assert_int_eq(mkdir(help_path(dir), 0700), 0);
    snprintf(path, sizeof path, "%s/sh", help_path(dir));
    ck_assert_int_eq(symlink(target, path), 0);
}

static bool path_leads_to_dash(const char *first, const char *second)
{
    char path[1024];
    size_t used = (size_t)snprintf(path, sizeof path, "%s:", help_path(first));
    snprintf(path + used, sizeof path - used, "%s", help_path(second));
    return direct_shell(path);
}

START_TEST(test_shell)
{
    help_write("dash", "#!/bin/true\n", 0700);
    help_write("bash", "#!/bin/true\n", 0700);
    help_write("text", "", 0600);
    make_shell("d", help_path("dash"));
    make_shell("b", help_path("bash"));
    make_shell("n", help_path("text"));
    ck_assert(path_leads_to_dash("d", "b"));
    ck_assert(!path_leads_to_dash("b", "d"));
    ck_assert(path_leads_to_dash("n", "d")); /* cannot be executed */
    ck_assert(path_leads_to_dash("nowhere", "d"));
    ck_assert(!path_leads_to_dash("nowhere", "n"));
    ck_assert(!direct_shell(""));
    ck_assert_int_eq(rename(help_path("d"), help_path("d%func")), 0);
    ck_assert(!path_leads_to_dash("nowhere", "d%func"));
}
END_TEST

START_TEST(test_split)
{
    static const char *const split[] = {"cat $f",
                                        "cat ${f}",
                                        "cat ${f%x}",
                                        "for x in $f; do",
                                        "x=\"$(cat $f)\"",
                                        "a \"b\" $f",
                                        "make F=$f",
                                        "echo \"$(a \"b\" $f)\"",
                                        "# it's\ncat $f",
                                        "echo \\\\$f\\\"",
                                        "(cd x; cat $f)",
                                        "a=1; b $f",
                                        "$f",
                                        "echo 'a' $f 'b'",
                                        "echo \"it's\"; $f",
                                        "case a in b) cat $f"};
    static const char *const whole[] = {"cat \"$f\"",
                                        "cat '$f'",
                                        "x=$f",
                                        "x=1\ny=$f; z=$f",
                                        "# $f",
                                        "cat $ff ${ff} $fa",
                                        "cat \\$f",
                                        "case $f in",
                                        "cat <<E\n$f\nE",
                                        "IFS=x; cat $f",
                                        "echo \"a $f b\"",
                                        "echo \"$(cat \"$f\")\"",
                                        "echo \"$((1)) $f\"",
                                        "",
                                        "f",
                                        "cat 'it $f",
                                        "$",
                                        "${"};
    for (size_t i = 0; i < sizeof split / sizeof split[0]; i++)
        ck_assert_msg(shell_splits(str_of(split[i]), STR("f")), "%s", split[i]);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        ck_assert_msg(!shell_splits(str_of(whole[i]), STR("f")), "%s", whole[i]);
}
END_TEST

static void remove_dir(void)
{
    remove_tree(help_dir);
}

int main(void)
{
    Suite *suite = suite_create("direct");
    TCase *tests = tcase_create("direct");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, help_make_dir, remove_dir);
    tcase_add_test(tests, test_plain);
    tcase_add_test(tests, test_shell_is_needed);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_same_as_dash);
    tcase_add_test(tests, test_shell);
    tcase_add_test(tests, test_split);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
