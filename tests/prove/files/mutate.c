/* SPDX-License-Identifier: MIT */
/* What somebody does to the files: everything by its path, whatever comes of it. */
#include "tests/prove/files/files.h"
#include "tests/support/random.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 4 << 20, DEPTH = 4 };

/* ---- Where ---- */

static int allow(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)where;
    if (type == FTW_D && (st->st_mode & 0700) != 0700)
        (void)chmod(path, 0700);
    return 0;
}

void make_writable(const char *root)
{
    (void)nftw(root, allow, 16, FTW_PHYS);
}

static const struct entry *some(struct life *life, char kind)
{
    for (int i = 0; i < 20 && life->disk.n; i++) {
        const struct entry *entry = &life->disk.at[below(life, (uint32_t)life->disk.n)];
        if (!kind || entry->kind == kind)
            return entry;
    }
    return NULL;
}

static void full_path(const struct life *life, const char *path, char *out)
{
    snprintf(out, PATH_SIZE, "%s/%s", life->root, path);
}

static const char *some_name(struct life *life)
{
    static char longest[256];
    static const char *const names[] = {
        "a",          "b",         "c",        "dir",     "sub",
        "with space", "new\nline", "\xff\xfe", "-rf",     "--help",
        "x.ign",      "keep.ign",  "build",    ".hidden", "a.before-restore",
        ".git"};
    enum { N = sizeof names / sizeof *names };
    uint32_t i = below(life, N + 1);
    if (i < N)
        return names[i];
    memset(longest, 'n', 255);
    return longest;
}

static unsigned depth_of(const char *path)
{
    unsigned n = 0;
    for (; *path; path++)
        n += *path == '/';
    return n;
}

/* A place for something, in a directory that there is. */
static void some_place(struct life *life, char *out)
{
    char path[PATH_SIZE / 2];
    const struct entry *dir = below(life, 3) ? some(life, 'd') : NULL;
    snprintf(path, sizeof path, "%s%s%s",
             dir && depth_of(dir->path) < DEPTH ? dir->path : "",
             dir && depth_of(dir->path) < DEPTH ? "/" : "", some_name(life));
    full_path(life, path, out);
}

/* The directory of it, in which something is changed. */
static mode_t unlock_parent(const char *path, char *parent)
{
    struct stat st;
    snprintf(parent, PATH_SIZE, "%s", path);
    *strrchr(parent, '/') = '\0';
    if (lstat(parent, &st) != 0 || !S_ISDIR(st.st_mode) || (st.st_mode & 0300) == 0300)
        return 0;
    (void)chmod(parent, (st.st_mode & 07777) | 0700);
    return st.st_mode & 07777;
}

/* ---- What ---- */

static void some_time(struct life *life, const char *path)
{
    static const long seconds[] = {1000000000, -100000000, 1500000000, 4102444800, 0};
    struct timespec times[2] = {{0, UTIME_OMIT},
                                {seconds[below(life, 5)], below(life, 1000000000)}};
    (void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static void some_mode(struct life *life, const char *path)
{
    static const mode_t files[] = {0644, 0600, 0755, 0444, 0400, 0640, 0777, 04755};
    static const mode_t dirs[] = {0755, 0700, 0500, 0555, 0750, 01777, 0500, 02755};
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISLNK(st.st_mode))
        return;
    (void)chmod(path, (S_ISDIR(st.st_mode) ? dirs : files)[below(life, 8)]);
}

static size_t some_bytes(struct life *life, char *bytes)
{
    uint32_t kind = below(life, 100);
    size_t n = kind < 10   ? 0
               : kind < 60 ? 2
               : kind < 99 ? below(life, 5000)
                           : LARGE + 1 + below(life, LARGE);
    uint64_t at = below(life, 6); /* so that contents come again */
    if (kind < 60)
        memset(bytes, 'a' + (int)at, n);
    else
        for (size_t i = 0; i < n; i += 8) {
            uint64_t word = help_next(&at);
            memcpy(bytes + i, &word, 8);
        }
    if (n > 1 && kind < 60)
        bytes[1] = '\n';
    if (n > LARGE && below(life, 2))
        memset(bytes + 100000, 0, 2000000); /* a hole */
    return n;
}

static void put_bytes(const char *path, const char *bytes, size_t n)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    int fd = open(path, FLAGS, 0644);
    if (fd < 0 && errno == EACCES && unlink(path) == 0)
        fd = open(path, FLAGS, 0644);
    for (size_t done = 0; fd >= 0 && done < n;) {
        ssize_t got = write(fd, bytes + done, n - done);
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
}

/* Rules of more than 1 MiB are refused. */
static bool is_too_large(const char *path, size_t n)
{
    const char *name = strrchr(path, '/') + 1;
    return n > 1 << 20 &&
           (strcmp(name, ".gitignore") == 0 || strcmp(name, ".cairnignore") == 0);
}

static void put_file(struct life *life, const char *path)
{
    static char bytes[2 * LARGE + 16];
    size_t n = some_bytes(life, bytes);
    put_bytes(path, bytes, is_too_large(path, n) ? 100 : n);
    if (below(life, 3) == 0)
        some_mode(life, path);
    if (below(life, 4) == 0)
        some_time(life, path);
}

/* As long as before, and at once. */
static void put_byte(struct life *life, const char *path)
{
    char byte = (char)('a' + below(life, 26));
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) > 0)
        (void)!pwrite(fd, &byte, 1, 0);
    close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    (void)remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    make_writable(path);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_link(struct life *life, const char *path)
{
    static const char *const targets[] = {"a",   "nowhere", "../out", "..",
                                          "dir", ".",       "/etc",   "b"};
    (void)unlink(path);
    (void)!symlink(targets[below(life, 8)], path);
}

static void put_hard_link(struct life *life, const char *path)
{
    char from[PATH_SIZE];
    const struct entry *file = some(life, 'f');
    if (file && !file->rules && below(life, 3))
        full_path(life, file->path, from);
    else
        snprintf(from, sizeof from, "%s/%u", life->outside, below(life, 3));
    (void)unlink(path);
    (void)!link(from, path);
}

static void put_rules(struct life *life, const char *path)
{
    static const char *const lines[] = {"*.ign\n", "!keep.ign\n", "build/\n", "build\n",
                                        "/a\n",    "sub/\n",      "!x.ign\n", "*\n!a\n",
                                        "*n\n",    "!*.ign\n"};
    char text[128] = "", rules[PATH_SIZE];
    for (uint32_t n = below(life, 4); n > 0; n--)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                 lines[below(life, 10)]);
    snprintf(rules, sizeof rules, "%.*s%s", (int)(strrchr(path, '/') + 1 - path), path,
             below(life, 3) ? ".gitignore" : ".cairnignore");
    if (below(life, 4) == 0)
        (void)unlink(rules);
    else
        put_bytes(rules, text, strlen(text));
}

static void turn(struct life *life, const char *path)
{
    char inner[PATH_SIZE + 300];
    struct stat st;
    bool was_dir = lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
    remove_all(path);
    if (was_dir) {
        put_file(life, path);
        return;
    }
    (void)mkdir(path, 0755);
    snprintf(inner, sizeof inner, "%s/%s", path, some_name(life));
    if (strlen(inner) < PATH_SIZE / 2)
        put_file(life, inner);
}

/* A directory comes there, with something in it that no checkpoint has. */
static void bar(struct life *life, const char *path)
{
    char inner[PATH_SIZE + 32];
    uint32_t what = below(life, 4);
    static const char *const names[] = {".git", "a.before-restore-2", "pipe", "x.ign"};
    remove_all(path);
    (void)mkdir(path, 0755);
    if (below(life, 2))
        put_rules(life, path);
    snprintf(inner, sizeof inner, "%s/%s", path, names[what]);
    if (what == 0 && mkdir(inner, 0755) == 0)
        snprintf(inner, sizeof inner, "%s/.git/HEAD", path);
    if (what == 2)
        (void)mkfifo(inner, 0644);
    else
        put_bytes(inner, "ref\n", 4);
    snprintf(inner, sizeof inner, "%s/.gitignore", path);
    if (what == 3)
        put_bytes(inner, "*.ign\n", 6);
}

static void move(struct life *life, const char *path)
{
    char from[PATH_SIZE], above[PATH_SIZE];
    struct stat st;
    const struct entry *entry = some(life, 0);
    if (!entry || entry->never)
        return;
    full_path(life, entry->path, from);
    if (lstat(from, &st) == 0 && is_too_large(path, (size_t)st.st_size))
        return;
    mode_t mode = unlock_parent(from, above);
    (void)rename(from, path);
    if (mode)
        (void)chmod(above, mode);
}

/* ---- One change ---- */

static void change(struct life *life, uint32_t what, const char *place)
{
    char path[PATH_SIZE];
    const struct entry *entry = some(life, what < 16 ? 'f' : 0);
    full_path(life, entry ? entry->path : "a", path);
    bool git = entry && strcmp(entry->path, ".git") == 0;
    if (what < 10)
        put_file(life, place);
    else if (what < 14)
        put_byte(life, path);
    else if (what < 16 && !(entry && entry->rules))
        put_file(life, path);
    else if (what < 19 && !git)
        remove_all(path);
    else if (what < 21)
        (void)mkdir(place, 0755);
    else if (what < 23)
        put_link(life, place);
    else if (what < 25)
        put_hard_link(life, place);
    else if (what < 28)
        some_mode(life, path);
    else if (what < 30)
        move(life, place);
    else if (what < 32)
        turn(life, git ? place : path);
    else if (what < 34)
        put_rules(life, place);
    else if (what < 35)
        (void)mkfifo(place, 0644);
    else if (what < 38 && !git)
        bar(life, path);
    else
        some_time(life, path);
}

void mutate(struct life *life, unsigned n)
{
    char place[PATH_SIZE], parent[PATH_SIZE];
    for (; n > 0; n--) {
        if (!tree_scan(&life->disk, life->root)) {
            wrong(life, &life->other, "the prover cannot read its own files");
            return;
        }
        some_place(life, place);
        mode_t mode = unlock_parent(place, parent);
        change(life, below(life, 39), place);
        if (mode && below(life, 2))
            (void)chmod(parent, mode);
    }
}
