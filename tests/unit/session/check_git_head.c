/* SPDX-License-Identifier: MIT */
/* Where git is, by its files: those that git writes, and such as it never would. */
#include "session/outside.h"

#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char root[64];

/* Makes the directories above, too. */
static void put_bytes(const char *name, const char *bytes, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static void must_be(const char *directory, const char *branch, const char *commit)
{
    char path[256];
    struct git_head head;
    struct cairn_error error = {0};
    snprintf(path, sizeof path, "%s%s%s", root, directory[0] ? "/" : "", directory);
    ck_assert_int_eq(git_head_read(path, &head, &error), 0);
    ck_assert_str_eq(head.branch, branch);
    ck_assert_str_eq(head.commit, commit);
}

static void set_up(void)
{
    snprintf(root, sizeof root, "/tmp/check_git_head.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(test_branches)
{
    must_be("", "", "");
    put(".git/HEAD", "ref: refs/heads/main\n");
    must_be("", "main", "");
    put(".git/refs/heads/main", A "\n");
    must_be("", "main", A);
    put("deep/er/file", "");
    must_be("deep/er", "main", A);
    put(".git/HEAD", "ref: refs/heads/feature/x\n");
    put(".git/packed-refs",
        "# pack-refs with: peeled fully-peeled sorted \n" B " refs/heads/feature/xx\n" A
        " refs/heads/feature/x\n^" B "\n");
    must_be("", "feature/x", A);
    put(".git/refs/heads/feature/x", B "\n"); /* newer than the packed one */
    must_be("", "feature/x", B);
    put(".git/HEAD", A "\n");
    must_be("", "", A);
    put(".git/HEAD", A A "\n");
    must_be("", "", "");
    put(".git/HEAD",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    must_be("", "", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}
END_TEST

START_TEST(test_references)
{
    put(".git/HEAD", "ref: refs/heads/a\n");
    put(".git/refs/heads/a", "ref: refs/heads/b\n");
    put(".git/refs/heads/b", A "\n");
    must_be("", "a", A);
    put(".git/refs/heads/b", "ref: refs/heads/a\n");
    must_be("", "a", "");
    put(".git/HEAD", "ref: refs/notes/x\n");
    must_be("", "refs/notes/x", "");
}
END_TEST

START_TEST(test_work_tree)
{
    char text[128];
    put("main/.git/HEAD", "ref: refs/heads/main\n");
    put("main/.git/refs/heads/main", A "\n");
    put("main/.git/refs/heads/side", B "\n");
    put("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n");
    put("main/.git/worktrees/tree/commondir", "../..\n");
    snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/tree\n", root);
    put("tree/.git", text);
    must_be("tree", "side", B);
    must_be("main", "main", A);
    put("main/sub/.git", "gitdir: ../.git/modules/sub\n");
    must_be("main/sub", "main", A); /* there is no such module */
    put("main/.git/modules/sub/HEAD", B "\n");
    must_be("main/sub", "", B);
}
END_TEST

/* Nothing of it leads out of git, hangs, or is told. */
START_TEST(test_hostile)
{
    static const char *const heads[] = {"",
                                        "\n",
                                        "ref: ",
                                        "ref: refs/heads/",
                                        "ref: refs/heads/../../../outside",
                                        "ref: /etc/passwd",
                                        "ref: refs/heads/.invalid",
                                        "ref: refs/heads/a//b",
                                        "ref: refs/heads/a b",
                                        "ref: refs/heads/\x1b[31m",
                                        "ref: refs/heads/\xff",
                                        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                        "aaaa"};
    char path[128], *large = malloc(100000);
    ck_assert_ptr_nonnull(large);
    put("outside", A "\n");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        put(".git/HEAD", heads[i]);
        must_be("", "", "");
    }
    put_bytes(".git/HEAD", "ref: refs/heads/a\0b", 19);
    must_be("", "", "");
    memset(large, 'a', 100000);
    memcpy(large, "ref: refs/heads/", 16);
    put_bytes(".git/HEAD", large, 100000);
    must_be("", "", "");
    put_bytes(".git/HEAD", large, 5 + 1025);
    must_be("", "", "");
    free(large);
    snprintf(path, sizeof path, "%s/.git/HEAD", root);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    must_be("", "", "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("git_head");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_branches);
    tcase_add_test(tests, test_references);
    tcase_add_test(tests, test_work_tree);
    tcase_add_test(tests, test_hostile);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
