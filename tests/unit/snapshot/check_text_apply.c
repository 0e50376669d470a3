/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Random trees, and patches from one to the next: `git apply` and `patch -p1` must make
 * exactly the next of them, and no file may take more lines than GNU diff --minimal
 * finds. One tree has many files, so that few programs are started. */
#include "snapshot/diff.h"

#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 150, NAME = 40 };

struct side {
    char name[NAME]; /* empty: there is none */
    mode_t mode;
    struct buf content;
};

struct file {
    struct side old, new;
    bool is_copy;
    struct text_stat stat;
};

static struct file files[FILES];
static uint64_t seed, first_seed; /* of the round */
static bool with_binary;

static const char *const lines[] = {"a\n",
                                    "b\n",
                                    "\n",
                                    "c\r\n",
                                    "}\n",
                                    " d\n",
                                    "\xff\xfe\n",
                                    "-- x\n",
                                    "++ y\n",
                                    "@@ -1 +1 @@\n",
                                    "\\ No newline at end of file\n",
                                    "\t\n",
                                    "e\n",
                                    "f\n",
                                    "g\n",
                                    "diff --git a/x b/y\n"};
static const char *const parts[] = {"a",        "b c", "\"", "\\", "\t",
                                    "\xff",     "'",   "-x", "$h", "\x01",
                                    "\xc3\xa9", "\n",  "\r", "*",  " "};

static bool one_in(uint32_t many)
{
    return help_below(&seed, many) == 0;
}

static void add_lines(struct buf *text, uint32_t many, uint32_t kinds)
{
    while (many-- > 0)
        buf_text(text, lines[help_below(&seed, kinds)]);
}

static void random_content(struct buf *content)
{
    add_lines(content, help_below(&seed, one_in(4) ? 300 : 30),
              1 + help_below(&seed, 16));
    if (one_in(4))
        buf_text(content, one_in(2) ? "end" : "\r");
}

static void changed_content(struct str from, struct buf *to)
{
    uint32_t rare = 2 + help_below(&seed, 30), kinds = 1 + help_below(&seed, 16);
    while (from.len) {
        const char *end = memchr(from.ptr, '\n', from.len);
        size_t len = end ? (size_t)(end - from.ptr) + 1 : from.len;
        if (one_in(rare))
            add_lines(to, help_below(&seed, 5), kinds);
        if (!one_in(rare))
            buf_add(to, from.ptr, len);
        from.ptr += len;
        from.len -= len;
    }
    if (to->size && to->data[to->size - 1] == '\n' && one_in(6))
        to->size--;
}

static void random_name(char *name, unsigned number, bool is_odd)
{
    int at = snprintf(name, NAME, "%sf%u", one_in(3) ? "d/" : "", number);
    for (uint32_t i = is_odd ? help_below(&seed, 4) : 0; i > 0; i--)
        at += snprintf(name + at, NAME - (size_t)at, "%s",
                       parts[help_below(&seed, sizeof parts / sizeof parts[0])]);
}

static mode_t random_mode(void)
{
    return one_in(10) ? S_IFLNK | 0777 : one_in(4) ? S_IFREG | 0755 : S_IFREG | 0644;
}

static void link_content(struct side *side, unsigned number)
{
    buf_clear(&side->content);
    buf_format(&side->content, "to/%u", number);
}

/* Both, or the second: with a byte that no text has. */
static void make_binary(struct side *a, struct side *b)
{
    struct side *both[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (both[i] && !S_ISLNK(both[i]->mode))
            buf_byte(&both[i]->content, 0);
    if (a && b && a != b && one_in(2) && !S_ISLNK(a->mode) && !S_ISLNK(b->mode)) {
        buf_clear(&b->content);
        buf_str(&b->content, buf_view(&a->content));
    }
}

static void random_file(struct file *file, unsigned number, bool is_odd)
{
    struct side *old = &file->old, *new = &file->new;
    random_name(old->name, number, is_odd);
    old->mode = random_mode();
    new->mode = one_in(4) ? random_mode() : old->mode;
    random_content(&old->content);
    if (S_ISLNK(old->mode))
        link_content(old, number);
    memcpy(new->name, old->name, NAME);
    if (one_in(8))
        random_name(new->name, number + FILES, is_odd);
    bool is_moved = strcmp(old->name, new->name) != 0;
    if (is_moved) /* nothing else moves to another type */
        new->mode = S_ISLNK(old->mode) || S_ISLNK(new->mode) ? old->mode : new->mode;
    file->is_copy = is_moved && one_in(2);
    if (S_ISLNK(new->mode))
        link_content(new, number + help_below(&seed, 2));
    else if (one_in(4))
        buf_str(&new->content, S_ISLNK(old->mode) ? STR("") : buf_view(&old->content));
    else if (one_in(8))
        random_content(&new->content);
    else
        changed_content(buf_view(&old->content), &new->content);
    if (one_in(10) && !is_moved)
        (one_in(2) ? old : new)->name[0] = 0;
    if (with_binary && one_in(6)) /* binary: what is moved has the same content */
        make_binary(is_moved || one_in(3) ? old : NULL, is_moved || one_in(3) ? new
                                                        : one_in(2)           ? old
                                                                              : new);
}

static void write_side(const char *dir, const struct side *side)
{
    char path[200];
    if (!side->name[0])
        return;
    snprintf(path, sizeof path, "%s/%s", dir, side->name);
    if (S_ISLNK(side->mode)) {
        ck_assert_int_eq(symlink(side->content.data, path), 0);
        return;
    }
    FILE *out = fopen(path, "w");
    ck_assert_msg(out != NULL, "`%s`", path);
    if (side->content.size)
        ck_assert_uint_eq(fwrite(side->content.data, 1, side->content.size, out),
                          side->content.size);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(path, side->mode & 0777), 0);
}

static void expect_side(const char *dir, const struct side *side)
{
    char path[200], target[100];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, side->name);
    ck_assert_msg(lstat(path, &info) == 0, "seed %llu: no `%s`",
                  (unsigned long long)first_seed, path);
    ck_assert_msg((info.st_mode & (S_IFMT | S_IXUSR)) ==
                      (side->mode & (S_IFMT | S_IXUSR)),
                  "seed %llu: `%s` has mode %o", (unsigned long long)first_seed, path,
                  info.st_mode);
    if (S_ISLNK(side->mode)) {
        ssize_t n = readlink(path, target, sizeof target);
        ck_assert(n > 0 &&
                  str_equal((struct str){target, (size_t)n}, buf_view(&side->content)));
        return;
    }
    char *text = file_text(path);
    ck_assert_msg(text && str_equal((struct str){text, (size_t)info.st_size},
                                    buf_view(&side->content)),
                  "seed %llu: `%s` is not what it should be",
                  (unsigned long long)first_seed, path);
    free(text);
}

static bool is_absent(const char *dir, const char *name)
{
    char path[200];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &info) != 0;
}

static void expect_new_tree(const char *dir)
{
    for (size_t i = 0; i < FILES; i++) {
        const struct file *file = &files[i];
        bool is_moved = strcmp(file->old.name, file->new.name) != 0;
        if (file->stat.is_binary) { /* only named: it stays, or is not made */
            if (file->old.name[0])
                expect_side(dir, &file->old);
            else
                ck_assert(is_absent(dir, file->new.name));
            continue;
        }
        if (file->new.name[0])
            expect_side(dir, &file->new);
        if (file->is_copy)
            expect_side(dir, &file->old);
        else if (is_moved && file->old.name[0])
            ck_assert_msg(is_absent(dir, file->old.name), "seed %llu: `%s` stays",
                          (unsigned long long)first_seed, file->old.name);
    }
}

static void write_patch(size_t around)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        struct text_file old = {.path = str_of(file->old.name),
                                .mode = file->old.mode,
                                .content = buf_view(&file->old.content)},
                         new = {.path = str_of(file->new.name),
                                .mode = file->new.mode,
                                .content = buf_view(&file->new.content)};
        const struct text_patch_options options = {.around = around,
                                                   .is_copy = file->is_copy};
        int rc = text_patch(old.path.len ? &old : NULL, new.path.len ? &new : NULL,
                            &options, &out, &file->stat, NULL);
        ck_assert_int_eq(rc, 0);
    }
    FILE *patch = fopen("patch", "w");
    ck_assert(patch && fwrite(out.data, 1, out.size, patch) == out.size);
    ck_assert_int_eq(fclose(patch), 0);
    buf_release(&out);
}

static void make_tree(const char *dir, bool is_new)
{
    char path[100];
    snprintf(path, sizeof path, "%s/d", dir);
    ck_assert(mkdir(dir, 0777) == 0 && mkdir(path, 0777) == 0);
    for (size_t i = 0; i < FILES; i++)
        write_side(dir, is_new ? &files[i].new : &files[i].old);
}

static void command(const char *text)
{
    int status = system(text);
    ck_assert_msg(status == 0 || (status == 1 << 8 && text[0] == 'd'),
                  "seed %llu: %s: status %d", (unsigned long long)first_seed, text,
                  status);
}

static void make_files(bool is_odd)
{
    for (unsigned i = 0; i < FILES; i++) {
        buf_release(&files[i].old.content);
        buf_release(&files[i].new.content);
        files[i] = (struct file){0};
        random_file(&files[i], i, is_odd);
    }
}

START_TEST(test_patches_apply)
{
    static const size_t arounds[] = {0, 1, 3, 10, 1000};
    for (int round = 0; round < help_rounds(20, 200); round++) {
        size_t around = arounds[round % 5];
        seed = first_seed = (uint64_t)round + 1;
        with_binary = round % 4 != 0;
        make_files(round % 2);
        write_patch(around);
        make_tree("by_git", false);
        make_tree("by_patch", false);
        command(
            "cd by_git && HOME=$PWD GIT_CONFIG_NOSYSTEM=1 git init -q --template= . "
            "&& HOME=$PWD GIT_CONFIG_NOSYSTEM=1 git apply --whitespace=nowarn "
            "--unidiff-zero ../patch");
        expect_new_tree("by_git");
        command("cd by_patch && patch -p1 -s -f <../patch");
        expect_new_tree("by_patch");
        command("rm -r by_git by_patch patch");
    }
}
END_TEST

/* Lines in the hunks of one file in what diff -U0 says; *at is behind its header. */
static size_t lines_of_hunks(const char **at)
{
    size_t sum = 0;
    while (strncmp(*at, "@@", 2) == 0) {
        unsigned a = 1, b = 1;
        sscanf(*at, "@@ -%*u,%u", &a);
        sscanf(strchr(*at, '+'), "+%*u,%u", &b);
        sum += a + b;
        for (unsigned i = 0; i <= a + b; i++) {
            *at = strchr(*at, '\n') + 1;
            if (**at == '\\')
                *at = strchr(*at, '\n') + 1;
        }
    }
    return sum;
}

/* Whether diff finds as few lines as we did, for every file of both trees. */
static void compare_with_diff(void)
{
    size_t lines_by_diff[FILES] = {0};
    command("diff -r --minimal --text -U0 old new >by_diff");
    char *said = file_text("by_diff");
    ck_assert_ptr_nonnull(said);
    for (const char *at = said; *at;) {
        unsigned number;
        const char *name = strstr(at, " old/");
        ck_assert_msg(strncmp(at, "diff ", 5) == 0 && name, "%.100s", at);
        name += strlen(" old/");
        name += strncmp(name, "d/", 2) == 0 ? 2 : 0;
        ck_assert_int_eq(sscanf(name, "f%u", &number), 1);
        for (int i = 0; i < 3; i++)
            at = strchr(at, '\n') + 1;
        lines_by_diff[number] = lines_of_hunks(&at);
    }
    for (size_t i = 0; i < FILES; i++) {
        size_t ours = files[i].stat.added + files[i].stat.removed;
        ck_assert_msg(ours <= lines_by_diff[i], "seed %llu: f%zu: %zu, not %zu",
                      (unsigned long long)first_seed, i, ours, lines_by_diff[i]);
    }
    free(said);
}

START_TEST(test_no_more_lines_than_diff)
{
    for (int round = 0; round < help_rounds(20, 200); round++) {
        seed = first_seed = (uint64_t)round + 1000000;
        with_binary = false;
        make_files(false);
        for (size_t i = 0; i < FILES; i++) { /* only contents differ */
            struct file *file = &files[i];
            if (S_ISLNK(file->old.mode) || S_ISLNK(file->new.mode)) {
                buf_clear(&file->old.content);
                buf_clear(&file->new.content);
            }
            file->old.mode = file->new.mode = S_IFREG | 0644;
            snprintf(file->old.name, NAME, "f%zu", i);
            memcpy(file->new.name, file->old.name, NAME);
        }
        make_tree("old", false);
        make_tree("new", true);
        write_patch(3);
        compare_with_diff();
        command("rm -r old new patch");
    }
}
END_TEST

START_TEST(test_without_them)
{
    ck_assert_int_ne(system("{ git --version && patch --version; } >/dev/null 2>&1"),
                     0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_apply");
    bool is_there =
        system("{ git --version && patch --version; } >/dev/null 2>&1") == 0;
    TCase *c = tcase_create(is_there ? "all" : "# skip there is no git, or no patch");
    tcase_set_timeout(c, 1200);
    if (is_there)
        tcase_add_test(c, test_patches_apply);
    else
        tcase_add_test(c, test_without_them);
    suite_add_tcase(suite, c);
    c = tcase_create("diff");
    tcase_set_timeout(c, 1200);
    tcase_add_test(c, test_no_more_lines_than_diff);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
