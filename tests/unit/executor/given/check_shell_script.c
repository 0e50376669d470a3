/* SPDX-License-Identifier: MIT */
/* The script of `cairn shell --print`: whatever stands in names and values, sh reads
 * each as the one word that it is. */
#include "executor/given/shell.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const none[] = {NULL};

static struct cairn_shell plain(void)
{
    static const char *const argv[] = {"true", NULL};
    return (struct cairn_shell){.run = 3,
                                .attempt = 2,
                                .generation = 1,
                                .workflow = "w",
                                .task = "t",
                                .directory = "",
                                .argv = argv,
                                .env = none,
                                .secrets = none,
                                .missing = none,
                                .withheld = none};
}

static struct buf written(const struct cairn_shell *shell, const char *const *command)
{
    struct buf script = BUF_INIT;
    shell_script_write(shell, command, &script);
    ck_assert_int_eq(buf_check(&script, NULL), 0);
    return script;
}

/* What the script prints, at most `size` - 1 bytes; its exit status. */
static int run_script(const struct buf *script, char *out, size_t size)
{
    char path[] = "script-XXXXXX", line[64];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, script->data, script->size), (ssize_t)script->size);
    close(fd);
    snprintf(line, sizeof line, "sh ./%s 2>&1", path);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    out[fread(out, 1, size - 1, pipe)] = 0;
    int status = pclose(pipe);
    unlink(path);
    return status >> 8;
}

START_TEST(test_words_stay_words)
{
    static const char *const words[] = {"printf", "<%s>",  "it's", "",
                                        "a b",    "$HOME", "`x`",  "new\nline",
                                        "-n",     "*",     "\\",   NULL};
    struct cairn_shell shell = plain();
    shell.argv = words;
    struct buf script = written(&shell, NULL);
    char out[200];
    ck_assert_int_eq(run_script(&script, out, sizeof out), 0);
    ck_assert_str_eq(out, "<it's><><a b><$HOME><`x`><new\nline><-n><*><\\>");
    buf_release(&script);
}
END_TEST

START_TEST(test_values_reach_the_command)
{
    static const char *const env[] = {"a=it's $x", "B=two\nCAIRN_X=lines",
                                      "PWD=/nowhere", NULL};
    static const char *const argv[] = {
        "sh", "-c",
        "printf '<%s>' \"$a\" \"$B\" \"$PWD\"; test -f \"$CAIRN_OUTPUT\" && exit 6",
        NULL};
    struct cairn_shell shell = plain();
    shell.env = env;
    shell.n_own = 3;
    shell.argv = argv;
    shell.directory = "/";
    struct buf script = written(&shell, NULL);
    char out[300];
    ck_assert_int_eq(run_script(&script, out, sizeof out), 6);
    ck_assert_str_eq(out, "<it's $x><two\nCAIRN_X=lines></>");
    buf_release(&script);
}
END_TEST

/* That no shell can set: the command gets them all the same. */
START_TEST(test_names_that_a_shell_keeps)
{
    static const char *const env[] = {"UID=7", "odd.name=1 2", "IFS=x", "c=3", NULL};
    static const char *const argv[] = {"printenv", "UID", "odd.name", "c", NULL};
    struct cairn_shell shell = plain();
    shell.env = env;
    shell.n_own = 4;
    shell.argv = argv;
    struct buf script = written(&shell, NULL);
    char out[300];
    ck_assert_int_eq(run_script(&script, out, sizeof out), 0);
    ck_assert_str_eq(out, "7\n1 2\n3\n");
    buf_release(&script);
}
END_TEST

START_TEST(test_secrets_are_asked_of_the_environment)
{
    static const char *const secrets[] = {"SECRET_ONE", NULL}, *const withheld[] = {
                                                                   "OTHER", NULL};
    static const char *const command[] = {
        "sh", "-c", "echo \"$SECRET_ONE ${OTHER-none} ${CAIRN_NOISE-none}\"", NULL};
    struct cairn_shell shell = plain();
    shell.secrets = secrets;
    shell.withheld = withheld;
    struct buf script = written(&shell, command);
    char out[200];
    setenv("OTHER", "theirs", 1);
    setenv("CAIRN_NOISE", "1", 1);
    unsetenv("SECRET_ONE");
    ck_assert_int_eq(run_script(&script, out, sizeof out), 2);
    ck_assert_ptr_nonnull(strstr(out, "SECRET_ONE"));
    setenv("SECRET_ONE", "ours", 1);
    ck_assert_int_eq(run_script(&script, out, sizeof out), 0);
    ck_assert_str_eq(out, "ours none none\n");
    buf_release(&script);
}
END_TEST

/* Names of a definition that nobody has checked. */
START_TEST(test_names_are_no_commands)
{
    static const char *const bad[] = {"x; echo injected", NULL};
    static const char *const env[] = {"y; echo injected=1", NULL};
    struct cairn_shell shell = plain();
    shell.task = "t\necho injected";
    shell.workflow = "w\necho injected";
    shell.secrets = bad;
    shell.withheld = bad;
    shell.env = env;
    shell.n_own = 1;
    struct buf script = written(&shell, NULL);
    char out[200];
    ck_assert_int_eq(run_script(&script, out, sizeof out), 0);
    ck_assert_str_eq(out, "");
    buf_release(&script);
}
END_TEST

START_TEST(test_a_directory_that_is_gone)
{
    struct cairn_shell shell = plain();
    shell.directory = "/no/such directory";
    struct buf script = written(&shell, NULL);
    char out[200];
    ck_assert_int_ne(run_script(&script, out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "no/such directory"));
    buf_release(&script);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shell_script");
    TCase *c = tcase_create("shell_script");
    tcase_add_test(c, test_words_stay_words);
    tcase_add_test(c, test_values_reach_the_command);
    tcase_add_test(c, test_names_that_a_shell_keeps);
    tcase_add_test(c, test_secrets_are_asked_of_the_environment);
    tcase_add_test(c, test_names_are_no_commands);
    tcase_add_test(c, test_a_directory_that_is_gone);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
