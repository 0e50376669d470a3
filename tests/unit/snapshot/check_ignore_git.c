/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Random rules and trees, by what `git check-ignore` and `git ls-files` say of them.
 * The trees of a repository lie side by side in its root, each with rules of its own in
 * some of its directories; the root has rules for all of them. */
#include "base/memory.h"
#include "snapshot/ignore.h"

#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREES = 50, ENTRIES = 14, MOST_LEVELS = 1000 };

struct entry {
    struct str path;
    uint32_t parent; /* index + 1; 0: the root */
    bool is_dir, is_ignored;
    const struct ignore_level *level; /* of a directory: for what is in it */
};

static struct arena arena;
static struct entry *entries;
static size_t n, capacity;
static struct ignore_level levels[MOST_LEVELS];
static size_t n_levels;
static struct map paths;
static uint64_t seed, first_seed; /* of the round */

static const char *const names[] = {
    "a",   "b",     "ab",       "abc", "a.o", "b.o", ".o", "c",
    "foo", "foo.c", "A",        "-",   "[",   "]",   "a]", "!a",
    "#a",  " ",     "a ",       "a  ", "\\",  "a\\", "\r", "a\r",
    "a\n", "\xff",  "\xc3\xa9", "*",   "?",   "a*b", "^",  "\xef\xbb\xbf\x61",
    "a-b", "--",    "\t",       "a b"};
static const char *const pieces[] = {
    "a",           "b",        "c",    "ab",   ".o",      "*",       "*",
    "*",           "**",       "?",    "[ab]", "[!a]",    "[a-c]",   "[^b-]",
    "[[:alpha:]]", "[[:",      "\\",   "\\a",  "/",       "/",       "/",
    "!",           "#",        " ",    "\r",   "\xff",    "]",       "[",
    "-",           "\xc3\xa9", "foo",  "[]a]", "[!]a]",   "[\\]]",   "[",
    "***",         "\\*",      "\\/",  "[/]",  "[a-",     "[[:x:]]", "[[:space:]]",
    "**/",         "/**",      "/**/", "*/",   "[a-b-c]", "[--a]"};
static const char *const fronts[] = {"!", "/", "**/", "!/", "\\!", "#", "\\#", "*/"};
static const char *const ends[] = {"/", "/*", "/**", " ", "\\ ", "\r", "\\", "  ", "*"};

#define ANY_OF(list) list[help_below(&seed, sizeof list / sizeof list[0])]

static bool one_in(uint32_t many)
{
    return help_below(&seed, many) == 0;
}

static void write_file(const char *path, struct str content)
{
    FILE *file = fopen(path, "w");
    ck_assert(file && fwrite(content.ptr, 1, content.len, file) == content.len);
    ck_assert_int_eq(fclose(file), 0);
}

/* An entry that is on the disk; NULL if there is one of that name. */
static struct entry *add_entry(uint32_t parent, const char *name, bool is_dir)
{
    struct buf path = BUF_INIT;
    uint32_t known;
    if (parent) {
        buf_str(&path, entries[parent - 1].path);
        buf_byte(&path, '/');
    }
    buf_text(&path, name);
    struct str kept = arena_str(&arena, buf_view(&path));
    buf_release(&path);
    if (map_add(&paths, kept, (uint32_t)n, &known) != 1)
        return NULL;
    entries = array_room(entries, n, &capacity, sizeof *entries);
    ck_assert_ptr_nonnull(entries);
    entries[n] = (struct entry){.path = kept, .parent = parent, .is_dir = is_dir};
    if (is_dir)
        ck_assert_int_eq(mkdir(kept.ptr, 0777), 0);
    else
        write_file(kept.ptr, STR(""));
    return &entries[n++];
}

static void random_rule(struct buf *rules)
{
    if (one_in(3))
        buf_text(rules, ANY_OF(fronts));
    if (one_in(4))
        buf_text(rules, ANY_OF(names));
    else
        for (uint32_t i = help_below(&seed, 4) + 1; i > 0; i--)
            buf_text(rules, ANY_OF(pieces));
    if (one_in(3))
        buf_text(rules, ANY_OF(ends));
}

static struct buf random_rules(uint32_t most)
{
    struct buf rules = BUF_INIT;
    if (one_in(20))
        buf_text(&rules, "\xef\xbb\xbf");
    for (uint32_t i = help_below(&seed, most) + 1; i > 0; i--) {
        random_rule(&rules);
        if (i > 1 || one_in(3))
            buf_text(&rules, one_in(10) ? "\r\n" : one_in(10) ? "\n\n" : "\n");
    }
    if (one_in(20))
        buf_add(&rules, "\0z\n", 3);
    return rules;
}

/* A .gitignore in a directory (0: the root), which its entries are judged by. */
static void add_rules(uint32_t dir, struct str text)
{
    struct ignore_level *level = &levels[n_levels++];
    const struct ignore_level *above = dir ? entries[dir - 1].level : NULL;
    ck_assert_uint_le(n_levels, MOST_LEVELS);
    *level =
        (struct ignore_level){above, dir ? entries[dir - 1].path : STR(""), {NULL, 0}};
    ck_assert_int_eq(ignore_parse(&arena, text, &level->rules, NULL), 0);
    struct entry *file = add_entry(dir, ".gitignore", false);
    ck_assert_ptr_nonnull(file);
    write_file(file->path.ptr, text);
    if (dir)
        entries[dir - 1].level = level;
}

static void add_random_rules(uint32_t dir, uint32_t most)
{
    struct buf rules = random_rules(most);
    add_rules(dir, buf_view(&rules));
    buf_release(&rules);
}

/* The level of what is in a directory, where it has no rules of its own. */
static const struct ignore_level *level_of(uint32_t dir)
{
    return dir ? entries[dir - 1].level : &levels[0];
}

static void add_tree(unsigned number)
{
    char name[20];
    uint32_t dirs[ENTRIES + 1], n_dirs = 1;
    snprintf(name, sizeof name, "t%u", number);
    add_entry(0, name, true)->level = &levels[0];
    dirs[0] = (uint32_t)n;
    add_random_rules(dirs[0], 6);
    for (int i = 0; i < ENTRIES; i++) {
        uint32_t parent = dirs[help_below(&seed, n_dirs)];
        bool is_dir = one_in(3);
        struct entry *made = add_entry(parent, ANY_OF(names), is_dir);
        if (!made || !is_dir)
            continue;
        made->level = level_of(parent);
        dirs[n_dirs++] = (uint32_t)n;
        if (one_in(3))
            add_random_rules(dirs[n_dirs - 1], 3);
    }
}

static void git(const char *arguments)
{
    char command[300];
    snprintf(command, sizeof command,
             "HOME=$PWD XDG_CONFIG_HOME=$PWD GIT_CONFIG_NOSYSTEM=1 git -c "
             "core.ignorecase=false %s",
             arguments);
    int status = system(command);
    ck_assert_msg(status == 0 || status == 1 << 8, "%s: %d", command, status);
}

/* Cuts a text that ends with a NUL off the front. */
static struct str next_text(struct str *from)
{
    struct str text = {from->ptr, strnlen(from->ptr, from->len)};
    ck_assert_uint_lt(text.len, from->len);
    from->ptr += text.len + 1;
    from->len -= text.len + 1;
    return text;
}

static struct str output_of(const char *name, FILE **file, char **held)
{
    struct stat info;
    *file = fopen(name, "r");
    ck_assert(*file && fstat(fileno(*file), &info) == 0);
    *held = malloc((size_t)info.st_size + 1);
    size_t size = fread(*held, 1, (size_t)info.st_size, *file);
    ck_assert_uint_eq(size, (size_t)info.st_size);
    return (struct str){*held, size};
}

/* One answer of git: source, line, pattern and path. The source and the line are those
 * of the directory that is ignored above, if one is. */
static void compare_answer(struct entry *entry, struct str *answers)
{
    struct str source = next_text(answers), line = next_text(answers),
               pattern = next_text(answers), path = next_text(answers);
    bool by_git = pattern.len && pattern.ptr[0] != '!', wanted = false;
    const struct ignore_level *level = level_of(entry->parent);
    bool above = entry->parent && entries[entry->parent - 1].is_ignored;
    ck_assert(str_equal(path, entry->path));
    entry->is_ignored = above || ignore_matches(level, entry->path, entry->is_dir);
    ck_assert_msg(entry->is_ignored == by_git, "seed %llu: `%s`: git %s (%s:%s:%s)",
                  (unsigned long long)first_seed, path.ptr,
                  by_git ? "ignores" : "takes", source.ptr, line.ptr, pattern.ptr);
    if (above)
        return;
    size_t at = ignore_reason(&level, entry->path, entry->is_dir, &wanted);
    ck_assert_msg(at == strtoul(line.ptr, NULL, 10), "seed %llu: `%s`: %zu, git %s",
                  (unsigned long long)first_seed, path.ptr, at, line.ptr);
    ck_assert(wanted == (pattern.len && pattern.ptr[0] == '!'));
    if (level)
        ck_assert_uint_eq(source.len, level->dir.len + (level->dir.len ? 1 : 0) +
                                          strlen(".gitignore"));
}

static void compare_with_check_ignore(void)
{
    FILE *asked = fopen(".git/asked", "w"), *file;
    char *held;
    ck_assert_ptr_nonnull(asked);
    for (size_t i = 0; i < n; i++)
        fwrite(entries[i].path.ptr, 1, entries[i].path.len + 1, asked);
    ck_assert_int_eq(fclose(asked), 0);
    git("check-ignore --no-index -v -n -z --stdin <.git/asked >.git/answers");
    struct str answers = output_of(".git/answers", &file, &held);
    for (size_t i = 0; i < n; i++)
        compare_answer(&entries[i], &answers);
    ck_assert_uint_eq(answers.len, 0);
    fclose(file);
    free(held);
}

/* The files that git would add are those that are not ignored. */
static void compare_with_ls_files(void)
{
    FILE *file;
    char *held;
    size_t expected = 0, got = 0;
    git("ls-files -o --exclude-standard -z >.git/files");
    struct str files = output_of(".git/files", &file, &held);
    for (size_t i = 0; i < n; i++)
        expected += !entries[i].is_dir && !entries[i].is_ignored;
    for (; files.len; got++) {
        struct str path = next_text(&files);
        uint32_t at = map_get(&paths, path);
        ck_assert_msg(at != MAP_NONE && !entries[at].is_ignored, "`%s`", path.ptr);
    }
    ck_assert_uint_eq(got, expected);
    fclose(file);
    free(held);
}

static void enter_repository(const char *name)
{
    ck_assert_int_eq(mkdir(name, 0777), 0);
    ck_assert_int_eq(chdir(name), 0);
    git("init -q --template= .");
}

static void leave_repository(void)
{
    compare_with_check_ignore();
    compare_with_ls_files();
    ck_assert_int_eq(chdir(".."), 0);
    n = n_levels = 0;
    map_release(&paths);
    arena_release(&arena);
}

START_TEST(test_random_rules_and_trees)
{
    int rounds = help_rounds(40, 400);
    for (int round = 0; round < rounds; round++) {
        char name[20];
        seed = first_seed = (uint64_t)round + 1;
        snprintf(name, sizeof name, "r%d", round);
        enter_repository(name);
        add_random_rules(0, 2);
        for (unsigned i = 0; i < TREES; i++)
            add_tree(i);
        leave_repository();
    }
}
END_TEST

/* Every byte against every class, and against sets that are hard to read. */
START_TEST(test_every_byte)
{
    static const char *const sets[] = {"[[:alnum:]]",
                                       "[[:alpha:]]",
                                       "[[:blank:]]",
                                       "[[:cntrl:]]",
                                       "[[:digit:]]",
                                       "[[:graph:]]",
                                       "[[:lower:]]",
                                       "[[:print:]]",
                                       "[[:punct:]]",
                                       "[[:space:]]",
                                       "[[:upper:]]",
                                       "[[:xdigit:]]",
                                       "[![:punct:]a]",
                                       "[^[:space:]-a]",
                                       "[a-]",
                                       "[]-a]",
                                       "[!]a-]",
                                       "[[:]",
                                       "[[.]",
                                       "[[:]a]",
                                       "[+--]",
                                       "[--0]",
                                       "[a-c-z]",
                                       "[\\]-a]",
                                       "[!-\\]]",
                                       "[]",
                                       "[!]",
                                       "[^!]",
                                       "[!^]",
                                       "[\\",
                                       "[\x80-\xff]",
                                       "[[:alpha:]-z]",
                                       "[+[:alpha:]-~]",
                                       "[a-[:digit:]]",
                                       "[[a-z]",
                                       "[[-[:digit:]]",
                                       "?",
                                       "*",
                                       "[!a"};
    enter_repository("bytes");
    add_rules(0, STR(""));
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        char name[20], rule[40];
        snprintf(name, sizeof name, "t%zu", i);
        snprintf(rule, sizeof rule, "x%s\n", sets[i]);
        add_entry(0, name, true)->level = &levels[0];
        uint32_t dir = (uint32_t)n;
        add_rules(dir, str_of(rule));
        for (unsigned byte = 1; byte < 256; byte++) {
            char file[] = {'x', (char)byte, 0};
            if (byte != '/')
                ck_assert_ptr_nonnull(add_entry(dir, file, false));
        }
    }
    leave_repository();
}
END_TEST

START_TEST(test_without_git)
{
    ck_assert_int_ne(system("git --version >/dev/null 2>&1"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ignore_git");
    bool is_there = system("git --version >/dev/null 2>&1") == 0;
    TCase *c = tcase_create(is_there ? "all" : "# skip there is no git here");
    tcase_set_timeout(c, 1200);
    if (is_there) {
        tcase_add_test(c, test_random_rules_and_trees);
        tcase_add_test(c, test_every_byte);
    } else {
        tcase_add_test(c, test_without_git);
    }
    suite_add_tcase(suite, c);
    return help_run(suite);
}
