/* SPDX-License-Identifier: MIT */
/* Trees of files: making, editing, walking and comparing them. */
#include "snapshot.h"

#include "base/str.h"
#include "bench/bench.h"

#include <dirent.h>
#include <fcntl.h>

enum { PATH_BYTES = 8192 };

static void join(char out[PATH_BYTES], const char *dir, const char *name)
{
    if (snprintf(out, PATH_BYTES, "%s/%s", dir, name) >= PATH_BYTES)
        bench_fail(dir, "a path is too long");
}

/* ---- Files ---- */

static char *read_whole(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        bench_fail(path, strerror(errno));
    char *bytes = bench_memory((size_t)st.st_size + 1, 1);
    *n = 0;
    for (ssize_t got = 1; got > 0 && *n < (size_t)st.st_size; *n += (size_t)got)
        if ((got = read(fd, bytes + *n, (size_t)st.st_size - *n)) < 0)
            bench_fail(path, strerror(errno));
    close(fd);
    return bytes;
}

static void write_parts(const char *path, mode_t mode, const struct str *parts,
                        unsigned n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    for (unsigned i = 0; i < n && fd >= 0; i++)
        if (write(fd, parts[i].ptr, parts[i].len) != (ssize_t)parts[i].len)
            bench_fail(path, strerror(errno));
    if (fd < 0 || close(fd) != 0)
        bench_fail(path, strerror(errno));
}

/* ---- Going through a directory ---- */

/* One call for each entry; a directory before what is in it. */
typedef void entry_fn(void *context, const char *path, const struct stat *st);
/* The directories that wait are in a list, so that nothing calls itself. */
struct waiting {
    char **at;
    size_t n, room;
};

static void wait_for(struct waiting *waiting, const char *path)
{
    if (waiting->n == waiting->room) {
        waiting->room = waiting->room ? 2 * waiting->room : 64;
        waiting->at = realloc(waiting->at, waiting->room * sizeof *waiting->at);
    }
    if (!waiting->at || !(waiting->at[waiting->n++] = strdup(path)))
        bench_fail("memory", strerror(ENOMEM));
}

/* `skip`: names that are passed over, or NULL. */
static void each_entry(const char *root, const char *const *skip, entry_fn *each,
                       void *context)
{
    struct waiting waiting = {NULL, 0, 0};
    wait_for(&waiting, "");
    while (waiting.n) {
        char *path = waiting.at[--waiting.n], full[PATH_BYTES], entry[PATH_BYTES];
        join(full, root, path);
        DIR *dir = opendir(full);
        if (!dir)
            bench_fail(full, strerror(errno));
        for (const struct dirent *found; (found = readdir(dir));) {
            struct stat st;
            const char *const *passed = skip;
            while (passed && *passed && strcmp(*passed, found->d_name) != 0)
                passed++;
            if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
                (passed && *passed))
                continue;
            if (fstatat(dirfd(dir), found->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            snprintf(entry, sizeof entry, "%s%s%.255s", path, *path ? "/" : "",
                     found->d_name);
            each(context, entry, &st);
            if (S_ISDIR(st.st_mode))
                wait_for(&waiting, entry);
        }
        closedir(dir);
        free(path);
    }
    free(waiting.at);
}

/* ---- Making ---- */

struct copying {
    const char *from, *to;
};

static void copy_entry(void *context, const char *path, const struct stat *st)
{
    const struct copying *copying = context;
    char from[PATH_BYTES], to[PATH_BYTES], target[PATH_BYTES];
    join(from, copying->from, path);
    join(to, copying->to, path);
    if (S_ISDIR(st->st_mode) && mkdir(to, st->st_mode & 0777) != 0)
        bench_fail(to, strerror(errno));
    if (S_ISLNK(st->st_mode)) {
        ssize_t n = readlink(from, target, sizeof target - 1);
        if (n < 0)
            bench_fail(from, strerror(errno));
        target[n] = '\0';
        if (symlink(target, to) != 0)
            bench_fail(to, strerror(errno));
    }
    if (S_ISREG(st->st_mode)) {
        struct str content;
        char *bytes = read_whole(from, &content.len);
        content.ptr = bytes;
        write_parts(to, st->st_mode & 0777, &content, 1);
        free(bytes);
    }
}

void tree_copy(const char *from, const char *to)
{
    static const char *const rules[] = {".git",       ".cairn",       "build",
                                        ".gitignore", ".cairnignore", NULL};
    struct copying copying = {from, to};
    if (mkdir(to, 0700) != 0)
        bench_fail(to, strerror(errno));
    each_entry(from, rules, copy_entry, &copying);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t make_text(uint64_t *random, char *out, size_t n)
{
    static const char *const words[] = {"state",  "return", "value", "of",    "if",
                                        "buffer", "the",    "while", "error", "size",
                                        "struct", "is",     "(x)",   "=",     "+ 1;\n"};
    size_t at = 0;
    while (at + 20 < n)
        at +=
            (size_t)snprintf(out + at, n - at, "%s%s", words[next_random(random) % 15],
                             next_random(random) % 5 ? " " : "_");
    at += (size_t)snprintf(out + at, n - at, "%llx\n",
                           (unsigned long long)(next_random(random) & 0xffffffffff));
    return at;
}

void tree_make(const char *to, uint64_t n)
{
    enum { FILES = 100, DIRECTORIES = 50 };
    uint64_t random = 88172645463325252u;
    char path[PATH_BYTES], text[4096];
    if (mkdir(to, 0700) != 0)
        bench_fail(to, strerror(errno));
    for (uint64_t i = 0; i < n; i++) {
        unsigned long long dir = i / FILES, above = dir / DIRECTORIES;
        struct str content = {
            text, make_text(&random, text, 200 + next_random(&random) % 3800)};
        snprintf(path, sizeof path, "%s/d%llu", to, above);
        if (dir % DIRECTORIES == 0 && i % FILES == 0 && mkdir(path, 0700) != 0)
            bench_fail(path, strerror(errno));
        snprintf(path, sizeof path, "%s/d%llu/e%llu", to, above, dir);
        if (i % FILES == 0 && mkdir(path, 0700) != 0)
            bench_fail(path, strerror(errno));
        snprintf(path, sizeof path, "%s/d%llu/e%llu/f%llu.c", to, above, dir,
                 (unsigned long long)i);
        write_parts(path, 0600, &content, 1);
    }
}

/* ---- Editing ---- */

static void list_entry(void *context, const char *path, const struct stat *st)
{
    struct tree *tree = context;
    tree->entries++;
    if (!S_ISREG(st->st_mode))
        return;
    if ((tree->n & (tree->n - 1)) == 0)
        tree->files =
            realloc(tree->files, (tree->n ? 2 * tree->n : 1) * sizeof *tree->files);
    if (!tree->files || !(tree->files[tree->n++] = strdup(path)))
        bench_fail("memory", strerror(ENOMEM));
    tree->bytes += (uint64_t)st->st_size;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void tree_list(struct tree *tree, const char *dir)
{
    *tree = (struct tree){.random = 2463534242u};
    snprintf(tree->dir, sizeof tree->dir, "%s", dir);
    each_entry(dir, NULL, list_entry, tree);
    if (!tree->n)
        bench_fail(dir, "there are no files in it");
    qsort(tree->files, tree->n, sizeof *tree->files, by_path);
}

void tree_release(struct tree *tree)
{
    for (uint64_t i = 0; i < tree->n; i++)
        free(tree->files[i]);
    free(tree->files);
}

static void edit_file(struct tree *tree, const char *name)
{
    char path[PATH_BYTES], line[64];
    size_t n;
    struct stat st;
    join(path, tree->dir, name);
    if (stat(path, &st) != 0)
        bench_fail(path, strerror(errno));
    char *bytes = read_whole(path, &n);
    size_t at = (size_t)(next_random(&tree->random) % (n + 1));
    int length = snprintf(line, sizeof line, "/* edit %llx */\n",
                          (unsigned long long)next_random(&tree->random));
    const struct str parts[] = {
        {bytes, at}, {line, (size_t)length}, {bytes + at, n - at}};
    write_parts(path, st.st_mode & 0777, parts, 3);
    free(bytes);
    tree->bytes += (uint64_t)length;
}

void tree_edit(struct tree *tree, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        edit_file(tree, tree->files[next_random(&tree->random) % tree->n]);
}

/* The directory itself stays. */
void tree_empty(const char *dir, const char *away)
{
    DIR *list = opendir(dir);
    char path[PATH_BYTES], to[PATH_BYTES];
    if (!list || mkdir(away, 0700) != 0)
        bench_fail(dir, strerror(errno));
    for (const struct dirent *found; (found = readdir(list));) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        join(path, dir, found->d_name);
        join(to, away, found->d_name);
        if (rename(path, to) != 0)
            bench_fail(path, strerror(errno));
    }
    closedir(list);
}

/* ---- Looking ---- */

static void add_blocks(void *context, const char *path, const struct stat *st)
{
    uint64_t *bytes = context;
    (void)path;
    *bytes += (uint64_t)st->st_blocks * 512;
}

/* As little as a walk can do. */
void tree_walk(const char *root, uint64_t *entries)
{
    struct waiting waiting = {NULL, 0, 0};
    *entries = 0;
    wait_for(&waiting, root);
    while (waiting.n) {
        char *path = waiting.at[--waiting.n], below[PATH_BYTES];
        DIR *dir = opendir(path);
        struct stat st;
        if (!dir)
            bench_fail(path, strerror(errno));
        for (const struct dirent *found; (found = readdir(dir));) {
            const char *name = found->d_name;
            if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
                continue;
            if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            ++*entries;
            if (!S_ISDIR(st.st_mode))
                continue;
            join(below, path, name);
            wait_for(&waiting, below);
        }
        closedir(dir);
        free(path);
    }
    free(waiting.at);
}

uint64_t tree_disk_bytes(const char *dir)
{
    uint64_t bytes = 0;
    each_entry(dir, NULL, add_blocks, &bytes);
    return bytes;
}

bool tree_same_file(const char *a, const char *b)
{
    size_t n, m;
    char *left = read_whole(a, &n), *right = read_whole(b, &m);
    bool same = n == m && memcmp(left, right, n) == 0;
    free(left);
    free(right);
    return same;
}

struct comparing {
    const char *left, *right;
    bool equal;
};

static void compare_entry(void *context, const char *path, const struct stat *st)
{
    struct comparing *comparing = context;
    char left[PATH_BYTES], right[PATH_BYTES];
    struct stat other;
    join(left, comparing->left, path);
    join(right, comparing->right, path);
    bool there = lstat(right, &other) == 0;
    if (!there && S_ISDIR(st->st_mode)) /* an empty one, else a file is missing */
        return;
    if (!there || (st->st_mode & S_IFMT) != (other.st_mode & S_IFMT)) {
        comparing->equal = false;
        return;
    }
    if (!S_ISREG(st->st_mode))
        return;
    comparing->equal = comparing->equal && tree_same_file(left, right) &&
                       (st->st_mode & 0100) == (other.st_mode & 0100);
}

/* git keeps no other bits of modes, and no empty directories. */
bool tree_equal(const char *a, const char *b)
{
    struct comparing comparing = {a, b, true};
    each_entry(a, NULL, compare_entry, &comparing);
    return comparing.equal;
}
