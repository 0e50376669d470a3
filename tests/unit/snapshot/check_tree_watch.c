/* SPDX-License-Identifier: MIT */
/* Random lives of a tree of directories beside one that watches it: whatever was done,
 * and however much of it was told at once, a change in any directory is noticed then,
 * and none in what is ignored, and exactly the directories that are there are watched.
 */
#include "snapshot/watch.h"

#include "tests/support/random.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[4096], root[4200], outside[4200];
static struct tree_watch tree;
static unsigned told[8];
static struct cairn_error failure;

static void note(void *context, enum tree_watch_note what, const char *path, int sys)
{
    (void)context;
    (void)path;
    (void)sys;
    told[what]++;
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[8300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void begin(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/tree-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(root, sizeof root, "%s/root", top);
    snprintf(outside, sizeof outside, "%s/outside", top);
    ck_assert_int_eq(mkdir(root, 0755) | mkdir(outside, 0755), 0);
    write_file(root, ".gitignore", "ign*\n");
    memset(told, 0, sizeof told);
    tree = (struct tree_watch){.root = root, .told = note};
    ck_assert_int_eq(tree_watch_begin(&tree, &failure), 0);
}

static void end(void)
{
    tree_watch_close(&tree);
    ck_assert(remove_tree(top));
}

static void step(void)
{
    ck_assert_int_eq(tree_watch_step(&tree, &failure), 0);
    tree.again_ns = 0; /* not after a while */
    if (tree.stale)
        ck_assert_int_eq(tree_watch_step(&tree, &failure), 0);
}

/* ---- What is there ---- */

enum { DIRS_MOST = 4000 };
static char *dirs[DIRS_MOST];
static int n_dirs;

static void add_dir(const char *path)
{
    ck_assert_int_lt(n_dirs, DIRS_MOST);
    dirs[n_dirs++] = strdup(path);
}

static void list_dirs(const char *from)
{
    while (n_dirs)
        free(dirs[--n_dirs]);
    add_dir(from);
    for (int i = 0; i < n_dirs; i++) {
        DIR *dir = opendir(dirs[i]);
        const struct dirent *entry;
        char path[8300];
        ck_assert_ptr_nonnull(dir);
        while ((entry = readdir(dir)))
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
                snprintf(path, sizeof path, "%s/%s", dirs[i], entry->d_name);
                add_dir(path);
            }
        closedir(dir);
    }
}

static bool is_ignored(const char *path)
{
    return strstr(path + strlen(root), "/ign") != NULL;
}

static void touch_and_check(const char *path)
{
    static unsigned n;
    char text[32];
    tree.changed = false;
    step();
    ck_assert(!tree.changed);
    snprintf(text, sizeof text, "%u", n++);
    write_file(path, "file", text);
    step();
    ck_assert_msg(tree.changed == !is_ignored(path), "%s: a change in it is %s", path,
                  tree.changed ? "told" : "missed");
}

static void check_all(void)
{
    size_t wanted = 0;
    step();
    step();
    list_dirs(root);
    for (int i = 0; i < n_dirs; i++) {
        wanted += !is_ignored(dirs[i]);
        touch_and_check(dirs[i]);
    }
    ck_assert_uint_eq(tree.dirs.n, wanted);
    ck_assert_uint_eq(tree.dirs.n_watched, wanted);
    ck_assert_ptr_null(tree.dirs.queue_first);
}

/* ---- What is done ---- */

static const char *any_dir(uint64_t *seed)
{
    list_dirs(root);
    return dirs[help_below(seed, (uint32_t)n_dirs)];
}

static void name_below(uint64_t *seed, const char *dir, char path[8300])
{
    static const char *const names[] = {"a", "b", "c", "d", "ign", "ign2"};
    snprintf(path, 8300, "%s/%s", dir, names[help_below(seed, 6)]);
}

static void live(uint64_t *seed)
{
    char from[8300], to[8300], aside[8300];
    name_below(seed, any_dir(seed), from);
    name_below(seed, any_dir(seed), to);
    name_below(seed, outside, aside);
    switch (help_below(seed, 10)) {
    case 0:
    case 1:
    case 2:
        (void)mkdir(from, 0755);
        break;
    case 3:
        (void)rmdir(from);
        break;
    case 4:
    case 5:
        (void)rename(from, to);
        break;
    case 6:
        (void)renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
        break;
    case 7:
        (void)rename(from, aside);
        break;
    case 8:
        (void)rename(aside, to);
        break;
    default:
        (void)!symlink(outside, from);
    }
}

START_TEST(test_random_lives)
{
    uint64_t seed = (uint64_t)_i + 1;
    begin();
    uint32_t often = 1 + help_below(&seed, 8);
    for (int i = 0; i < 60; i++) {
        live(&seed);
        if (help_below(&seed, often) == 0)
            step();
    }
    check_all();
    ck_assert_uint_eq(told[TREE_WATCH_OVERFLOW], 0);
    end();
}
END_TEST

/* ---- One by one ---- */

START_TEST(test_rules_change)
{
    char path[8300];
    begin();
    snprintf(path, sizeof path, "%s/build", root);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    write_file(path, "file", "1");
    step();
    ck_assert_uint_eq(tree.dirs.n, 2);
    write_file(root, ".gitignore", "ign*\nbuild\n");
    tree.changed = false;
    step();
    ck_assert(tree.changed);
    ck_assert_uint_eq(tree.dirs.n, 1);
    tree.changed = false;
    write_file(path, "file", "2");
    step();
    ck_assert(!tree.changed);
    write_file(root, ".cairnignore", "!build\n");
    step();
    ck_assert_uint_eq(tree.dirs.n, 2);
    touch_and_check(path);
    end();
}
END_TEST

/* An edit of the rules does not begin it anew at once, again and again. */
START_TEST(test_not_too_often)
{
    begin();
    for (int i = 0; i < 3; i++) {
        write_file(root, ".gitignore", "ign*\n");
        ck_assert_int_eq(tree_watch_step(&tree, &failure), 0);
    }
    ck_assert(tree.stale);
    ck_assert_int_gt(tree.again_ns, tree.began_ns);
    step();
    ck_assert(!tree.stale);
    end();
}
END_TEST

static void read_system_limit(const char *name, unsigned *most)
{
    char path[200];
    snprintf(path, sizeof path, "/proc/sys/fs/inotify/%s", name);
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%u", most), 1);
    fclose(file);
}

START_TEST(test_overflow)
{
    unsigned most;
    char name[32], path[8300];
    read_system_limit("max_queued_events", &most);
    if (most > 100000)
        return;
    begin();
    for (unsigned i = 0; i < most; i++) {
        snprintf(name, sizeof name, "f%u", i % 100);
        write_file(root, name, "x");
    }
    snprintf(path, sizeof path, "%s/late", root);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    for (int i = 0; i < 10; i++)
        step();
    ck_assert_uint_eq(told[TREE_WATCH_OVERFLOW], 1);
    check_all();
    end();
}
END_TEST

START_TEST(test_root_goes)
{
    char path[8300];
    begin();
    snprintf(path, sizeof path, "%s/moved", top);
    ck_assert_int_eq(rename(root, path), 0);
    step();
    ck_assert(tree.root_lost);
    step();
    tree_watch_close(&tree);
    tree = (struct tree_watch){.root = root, .told = note};
    ck_assert_int_eq(tree_watch_begin(&tree, &failure), 0);
    ck_assert(tree.root_lost); /* nothing is there */
    tree_watch_close(&tree);
    ck_assert_int_eq(symlink(path, root), 0);
    tree = (struct tree_watch){.root = root, .told = note};
    ck_assert_int_eq(tree_watch_begin(&tree, &failure), 0);
    ck_assert(tree.root_lost); /* a link */
    ck_assert_int_eq(unlink(root), 0);
    end();
}
END_TEST

START_TEST(test_too_deep)
{
    char name[] = "d";
    begin();
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 450; i++) {
        ck_assert_int_eq(mkdirat(fd, name, 0755), 0);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
    step();
    ck_assert_uint_eq(tree.dirs.n_watched, 400); /* SNAPSHOT_DEPTH_MOST */
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree_watch");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, test_random_lives, 0, help_rounds(100, 3000));
    tcase_add_test(c, test_rules_change);
    tcase_add_test(c, test_not_too_often);
    tcase_add_test(c, test_overflow);
    tcase_add_test(c, test_root_goes);
    tcase_add_test(c, test_too_deep);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
