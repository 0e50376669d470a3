/* SPDX-License-Identifier: MIT */
/* Patches, byte for byte. check_text_apply.c has git and patch read them. */
#include "snapshot/diff.h"

#include "tests/support/suite.h"

#include <sys/stat.h>

static const struct text_patch_options usual = {.around = 3};

static struct text_file file_of(const char *path, mode_t mode, const char *content)
{
    return (struct text_file){
        .path = str_of(path), .mode = mode, .content = str_of(content)};
}

static struct text_file plain(const char *path, const char *content)
{
    return file_of(path, S_IFREG | 0644, content);
}

static void expect(const struct text_file *old, const struct text_file *new,
                   const struct text_patch_options *options, const char *patch,
                   struct text_stat stat)
{
    struct buf out = BUF_INIT;
    struct text_stat got;
    ck_assert_int_eq(text_patch(old, new, options, &out, &got, NULL), 0);
    ck_assert_str_eq(out.data ? out.data : "", patch);
    ck_assert_uint_eq(got.added, stat.added);
    ck_assert_uint_eq(got.removed, stat.removed);
    ck_assert(got.is_binary == stat.is_binary);
    buf_clear(&out);
    ck_assert_int_eq(text_patch(old, new, options, &out, NULL, NULL), 0);
    buf_release(&out);
}

START_TEST(test_changed)
{
    struct text_file old = plain("d/x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
                     new = plain("d/x", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
    const struct text_patch_options none = {.around = 0};
    expect(&old, &new, &usual,
           "diff --git a/d/x b/d/x\n--- a/d/x\n+++ b/d/x\n@@ -2,8 +2,9 @@\n"
           " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+10\n",
           (struct text_stat){2, 1, false});
    expect(&old, &new, &none,
           "diff --git a/d/x b/d/x\n--- a/d/x\n+++ b/d/x\n@@ -5 +5 @@\n-5\n+five\n"
           "@@ -9,0 +10 @@\n+10\n",
           (struct text_stat){2, 1, false});
    expect(&old, &old, &usual, "", (struct text_stat){0, 0, false});
}
END_TEST

START_TEST(test_ends_without_a_newline)
{
    struct text_file old = plain("x", "a\nb"), new = plain("x", "a\nb\n"),
                     other = plain("x", "c\nb");
    expect(&old, &new, &usual,
           "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n"
           "\\ No newline at end of file\n+b\n",
           (struct text_stat){1, 1, false});
    expect(&old, &other, &usual,
           "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n"
           "\\ No newline at end of file\n",
           (struct text_stat){1, 1, false});
}
END_TEST

START_TEST(test_new_and_deleted)
{
    struct text_file file = plain("x", "a\r\n"), empty = plain("x", ""),
                     program = file_of("x", S_IFREG | 0700, "a\r\n");
    expect(NULL, &file, &usual,
           "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n"
           "@@ -0,0 +1 @@\n+a\r\n",
           (struct text_stat){1, 0, false});
    expect(&program, NULL, &usual,
           "diff --git a/x b/x\ndeleted file mode 100755\n--- a/x\n+++ /dev/null\n"
           "@@ -1 +0,0 @@\n-a\r\n",
           (struct text_stat){0, 1, false});
    expect(NULL, &empty, &usual, "diff --git a/x b/x\nnew file mode 100644\n",
           (struct text_stat){0, 0, false});
    expect(&empty, NULL, &usual, "diff --git a/x b/x\ndeleted file mode 100644\n",
           (struct text_stat){0, 0, false});
}
END_TEST

START_TEST(test_modes)
{
    struct text_file file = plain("x", "a\n"),
                     program = file_of("x", S_IFREG | 0755, "a\n"),
                     private = file_of("x", S_IFREG | 0600, "a\n"),
                     other = file_of("x", S_IFREG | 0755, "b\n");
    expect(&file, &program, &usual,
           "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
           (struct text_stat){0, 0, false});
    expect(&file, &other, &usual,
           "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n"
           "@@ -1 +1 @@\n-a\n+b\n",
           (struct text_stat){1, 1, false});
    expect(&file, &private, &usual, "", (struct text_stat){0, 0, false});
}
END_TEST

START_TEST(test_renames_and_copies)
{
    struct text_file old = plain("old name", "a\nb\n"), same = plain("new", "a\nb\n"),
                     other = file_of("new", S_IFREG | 0755, "a\nc\n");
    const struct text_patch_options copy = {.around = 3, .is_copy = true};
    expect(&old, &same, &usual,
           "diff --git \"a/old name\" b/new\nsimilarity index 100%\n"
           "rename from \"old name\"\nrename to new\n",
           (struct text_stat){0, 0, false});
    expect(&old, &same, &copy,
           "diff --git \"a/old name\" b/new\nsimilarity index 100%\n"
           "copy from \"old name\"\ncopy to new\n",
           (struct text_stat){0, 0, false});
    expect(&old, &other, &usual,
           "diff --git \"a/old name\" b/new\nold mode 100644\nnew mode 100755\n"
           "rename from \"old name\"\nrename to new\n--- \"a/old name\"\n+++ b/new\n"
           "@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
           (struct text_stat){1, 1, false});
}
END_TEST

START_TEST(test_links_are_made_anew)
{
    struct text_file file = plain("x", "a\n"), link = file_of("x", S_IFLNK | 0777, "y"),
                     moved = file_of("x", S_IFLNK | 0777, "z");
    const struct text_patch_options copy = {.around = 3, .is_copy = true};
    expect(&file, &link, &usual,
           "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n"
           "@@ -1 +0,0 @@\n-a\n"
           "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n"
           "@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n",
           (struct text_stat){1, 1, false});
    expect(&link, &moved, &usual,
           "diff --git a/x b/x\ndeleted file mode 120000\n--- a/x\n+++ /dev/null\n"
           "@@ -1 +0,0 @@\n-y\n\\ No newline at end of file\n"
           "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n"
           "@@ -0,0 +1 @@\n+z\n\\ No newline at end of file\n",
           (struct text_stat){1, 1, false});
    expect(&link, &link, &usual, "", (struct text_stat){0, 0, false});
    moved.path = STR("w");
    expect(&link, &moved, &copy,
           "diff --git a/w b/w\nnew file mode 120000\n--- /dev/null\n+++ b/w\n"
           "@@ -0,0 +1 @@\n+z\n\\ No newline at end of file\n",
           (struct text_stat){1, 0, false});
}
END_TEST

START_TEST(test_binary)
{
    struct text_file text = plain("x y", "a\n"), bytes = text, same = plain("z", "");
    bytes.content = STR("\0");
    same.content = bytes.content;
    expect(&text, &bytes, &usual, "\nBinary files \"a/x y\" and \"b/x y\" differ\n",
           (struct text_stat){0, 0, true});
    expect(NULL, &bytes, &usual, "\nBinary files /dev/null and \"b/x y\" differ\n",
           (struct text_stat){0, 0, true});
    expect(&bytes, NULL, &usual, "\nBinary files \"a/x y\" and /dev/null differ\n",
           (struct text_stat){0, 0, true});
    expect(&bytes, &same, &usual,
           "diff --git \"a/x y\" b/z\nsimilarity index 100%\nrename from \"x y\"\n"
           "rename to z\n",
           (struct text_stat){0, 0, false});
    same = file_of("x y", S_IFLNK | 0777, "to");
    expect(&bytes, &same, &usual, "\nBinary files \"a/x y\" and \"b/x y\" differ\n",
           (struct text_stat){0, 0, true});
    expect(&same, &bytes, &usual, "\nBinary files \"a/x y\" and \"b/x y\" differ\n",
           (struct text_stat){0, 0, true});
    bytes.is_large = true;
    expect(
        &text, &bytes, &usual,
        "\nFiles \"a/x y\" and \"b/x y\" differ: too large to compare lines (4 MiB)\n",
        (struct text_stat){0, 0, true});
}
END_TEST

START_TEST(test_odd_names)
{
    static const struct {
        const char *name, *quoted;
    } names[] = {
        {"xy'z", "a/xy'z"},
        {"x y", "\"a/x y\""},
        {"\a\b\t\n\v\f\r", "\"a/\\a\\b\\t\\n\\v\\f\\r\""},
        {"\"\\", "\"a/\\\"\\\\\""},
        {"\x01\x1f\x7f\x80\xff", "\"a/\\001\\037\\177\\200\\377\""},
        {"\xc3\xa9", "\"a/\\303\\251\""},
        {"~", "a/~"},
        {"", "a/"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct buf out = BUF_INIT;
        text_quote(&out, "a/", str_of(names[i].name));
        ck_assert_str_eq(out.data, names[i].quoted);
        buf_release(&out);
    }
    struct text_file old = plain("a b\n", "1\n"), new = plain("a b\n", "2\n"),
                     moved = plain("\"", "1\n");
    expect(&old, &new, &usual,
           "diff --git \"a/a b\\n\" \"b/a b\\n\"\n--- \"a/a b\\n\"\n"
           "+++ \"b/a b\\n\"\n@@ -1 +1 @@\n-1\n+2\n",
           (struct text_stat){1, 1, false});
    expect(&old, &moved, &usual,
           "diff --git \"a/a b\\n\" \"b/\\\"\"\nsimilarity index 100%\n"
           "rename from \"a b\\n\"\nrename to \"\\\"\"\n",
           (struct text_stat){0, 0, false});
}
END_TEST

START_TEST(test_no_file_at_all)
{
    struct buf out = BUF_INIT;
    struct cairn_error error = {0};
    int rc = text_patch(NULL, NULL, &usual, &out, NULL, &error);
    ck_assert_int_eq(rc, CAIRN_EUSAGE);
    ck_assert_str_eq(error.text, "a patch needs a file");
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_patch");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_changed);
    tcase_add_test(c, test_ends_without_a_newline);
    tcase_add_test(c, test_new_and_deleted);
    tcase_add_test(c, test_modes);
    tcase_add_test(c, test_renames_and_copies);
    tcase_add_test(c, test_links_are_made_anew);
    tcase_add_test(c, test_binary);
    tcase_add_test(c, test_odd_names);
    tcase_add_test(c, test_no_file_at_all);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
