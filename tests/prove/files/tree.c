/* SPDX-License-Identifier: MIT */
/* A directory as it is on the disk, and what of it a checkpoint is to hold. */
#include "tests/prove/files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Contents ---- */

static uint64_t hash_on(uint64_t hash, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

uint64_t bytes_hash(const void *bytes, size_t n)
{
    return hash_on(0xcbf29ce484222325u, bytes, n);
}

uint64_t file_hash(const char *path)
{
    static unsigned char part[1 << 16];
    uint64_t hash = bytes_hash("", 0);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n;
    if (fd < 0)
        return 0;
    while ((n = read(fd, part, sizeof part)) > 0)
        hash = hash_on(hash, part, (size_t)n);
    close(fd);
    return n < 0 ? 0 : hash;
}

static char *small_text(const char *path)
{
    char text[512];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strdup(text);
}

/* ---- Reading ---- */

static struct entry *add(struct tree *tree, const char *path)
{
    if (tree->n == tree->room) {
        size_t room = tree->room ? 2 * tree->room : 64;
        struct entry *at = realloc(tree->at, room * sizeof *at);
        if (!at)
            return NULL;
        tree->at = at;
        tree->room = room;
    }
    struct entry *entry = &tree->at[tree->n];
    *entry = (struct entry){.path = strdup(path)};
    tree->n += entry->path != NULL;
    return entry->path ? entry : NULL;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_rules(const char *name)
{
    return strcmp(name, ".gitignore") == 0 || strcmp(name, ".cairnignore") == 0;
}

static bool describe(struct entry *entry, const char *full)
{
    struct stat st;
    char target[PATH_SIZE];
    ssize_t n;
    if (lstat(full, &st) != 0)
        return false;
    /* Bits of files that let others act as the owner are not kept. */
    entry->mode = st.st_mode & (S_ISREG(st.st_mode) ? 01777 : 07777);
    entry->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    switch (st.st_mode & S_IFMT) {
    case S_IFDIR:
        entry->kind = 'd';
        return true;
    case S_IFREG:
        entry->kind = 'f';
        entry->content = file_hash(full);
        if (is_rules(last_name(full)))
            entry->rules = small_text(full);
        return entry->content != 0;
    case S_IFLNK:
        entry->kind = 'l';
        n = readlink(full, target, sizeof target);
        entry->content = n > 0 ? bytes_hash(target, (size_t)n) : 0;
        return n > 0;
    default:
        entry->kind = 'o';
        return true;
    }
}

static bool read_directory(struct tree *tree, const char *root, const char *path)
{
    char full[2 * PATH_SIZE], below[PATH_SIZE];
    const struct dirent *found;
    bool good = true;
    snprintf(full, sizeof full, "%s/%s", root, path);
    DIR *dir = opendir(full);
    if (!dir)
        return false;
    while (good && (found = readdir(dir))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        int n = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "",
                         found->d_name);
        snprintf(full, sizeof full, "%s/%s", root, below);
        struct entry *entry = (size_t)n < sizeof below ? add(tree, below) : NULL;
        good = entry && describe(entry, full);
    }
    closedir(dir);
    return good;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

struct entry *tree_get(const struct tree *tree, const char *path)
{
    struct entry key = {.path = (char *)(uintptr_t)path};
    return tree->n ? bsearch(&key, tree->at, tree->n, sizeof key, by_path) : NULL;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        free(tree->at[i].path);
        free(tree->at[i].rules);
    }
    free(tree->at);
    *tree = (struct tree){.at = NULL};
}

/* ---- Rules ---- */

static struct entry *parent_of(const struct tree *tree, const char *path)
{
    char above[PATH_SIZE];
    const char *name = last_name(path);
    if (name == path)
        return NULL;
    snprintf(above, sizeof above, "%.*s", (int)(name - path - 1), path);
    return tree_get(tree, above);
}

/* One line: a name, `*` or `*.end`, with `!` or `/` in front and `/` behind. */
static bool line_matches(const char *line, size_t n, const char *below, bool is_dir)
{
    const char *name = last_name(below);
    if (n && line[n - 1] == '/') {
        if (!is_dir)
            return false;
        n--;
    }
    if (n && *line == '/') {
        if (name != below)
            return false;
        line++;
        n--;
    }
    size_t length = strlen(name);
    if (n && *line == '*')
        return length >= n - 1 && memcmp(name + length - (n - 1), line + 1, n - 1) == 0;
    return length == n && memcmp(name, line, n) == 0;
}

static void apply_rules(const char *text, const char *below, bool is_dir, bool *ignored)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t n = strcspn(text, "\n");
        bool negated = *text == '!';
        if (n && line_matches(text + negated, n - negated, below, is_dir))
            *ignored = !negated;
    }
}

static bool matches_rules(const struct tree *tree, const struct entry *entry)
{
    static const char *const names[] = {".gitignore", ".cairnignore"};
    char rules[2 * PATH_SIZE];
    bool ignored = false;
    const char *below = entry->path;
    while (below) {
        for (int i = 0; i < 2; i++) {
            snprintf(rules, sizeof rules, "%.*s%s", (int)(below - entry->path),
                     entry->path, names[i]);
            const struct entry *file = tree_get(tree, rules);
            if (file && file->rules)
                apply_rules(file->rules, below, entry->kind == 'd', &ignored);
        }
        const char *slash = strchr(below, '/');
        below = slash ? slash + 1 : NULL;
    }
    return ignored;
}

bool tree_ignores(const struct tree *rules, const struct entry *entry)
{
    char above[PATH_SIZE];
    struct entry part = {.path = above, .kind = 'd'};
    for (const char *slash = entry->path; (slash = strchr(slash, '/')); slash++) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - entry->path), entry->path);
        if (matches_rules(rules, &part))
            return true;
    }
    return matches_rules(rules, entry);
}

/* "x.before-restore", "x.before-restore-2" */
static bool is_kept_beside(const char *name)
{
    static const char end[] = ".before-restore";
    const char *at = strstr(name, end);
    for (const char *next; at && (next = strstr(at + 1, end)); at = next)
        ;
    if (!at)
        return false;
    at += sizeof end - 1;
    return !*at || (at[0] == '-' && at[1] && !at[1 + strspn(at + 1, "0123456789")]);
}

static void apply_all_rules(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        struct entry *entry = &tree->at[i];
        const struct entry *above = parent_of(tree, entry->path);
        const char *name = last_name(entry->path);
        entry->never = (above && above->never) || strcmp(name, ".git") == 0 ||
                       strcmp(name, ".cairn") == 0 || is_kept_beside(name);
        entry->ignored = (above && above->ignored) || matches_rules(tree, entry);
    }
}

bool tree_scan(struct tree *tree, const char *root)
{
    tree_free(tree);
    bool good = read_directory(tree, root, "");
    for (size_t i = 0; i < tree->n && good; i++)
        if (tree->at[i].kind == 'd')
            good = read_directory(tree, root, tree->at[i].path);
    if (tree->n)
        qsort(tree->at, tree->n, sizeof *tree->at, by_path);
    apply_all_rules(tree);
    return good;
}

/* ---- What is kept ---- */

static bool add_copy(struct tree *out, const struct entry *entry)
{
    struct entry *copy = add(out, entry->path);
    if (!copy)
        return false;
    char *path = copy->path;
    *copy = *entry;
    copy->path = path;
    copy->rules = entry->rules ? strdup(entry->rules) : NULL;
    copy->marked = false;
    return true;
}

bool tree_tracked(const struct tree *disk, const struct tree *also, struct tree *out)
{
    *out = (struct tree){.at = NULL};
    for (size_t i = 0; i < disk->n; i++) {
        const struct entry *entry = &disk->at[i];
        bool kept = also && tree_get(also, entry->path);
        if (!entry->never && (!entry->ignored || kept) && !add_copy(out, entry))
            return false;
    }
    return true;
}

bool entry_is_of(const struct entry *entry, const char *path)
{
    size_t n = strlen(path);
    return strncmp(entry->path, path, n) == 0 &&
           (entry->path[n] == '\0' || entry->path[n] == '/');
}

static bool leads_to(const struct entry *entry, const char *path)
{
    size_t n = strlen(entry->path);
    return strncmp(entry->path, path, n) == 0 && path[n] == '/';
}

bool tree_mix(const struct tree *now, const struct tree *state, const char *path,
              struct tree *out)
{
    bool good = true, known = true;
    *out = (struct tree){.at = NULL};
    for (size_t i = 0; i < state->n; i++)
        known = known && !(state->at[i].kind == 'o' && leads_to(&state->at[i], path));
    for (size_t i = 0; i < now->n && good; i++)
        if (!known || !entry_is_of(&now->at[i], path))
            good = add_copy(out, &now->at[i]);
    for (size_t i = 0; i < state->n && good; i++) {
        const struct entry *entry = &state->at[i];
        if (entry_is_of(entry, path) ||
            (leads_to(entry, path) && !tree_get(now, entry->path)))
            good = add_copy(out, entry);
    }
    if (good && out->n)
        qsort(out->at, out->n, sizeof *out->at, by_path);
    return good;
}

bool entry_same(const struct entry *a, const struct entry *b, bool times)
{
    if (a->kind != b->kind || a->content != b->content)
        return false;
    if (a->kind == 'o' && !times) /* a checkpoint has its name alone */
        return true;
    return a->kind == 'l' || (a->mode == b->mode && (!times || a->mtime == b->mtime));
}

const char *tree_differs(const struct tree *a, const struct tree *b, bool times)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct entry *other = tree_get(b, a->at[i].path);
        if (!other || !entry_same(&a->at[i], other, times))
            return a->at[i].path;
    }
    for (size_t i = 0; i < b->n; i++)
        if (!tree_get(a, b->at[i].path))
            return b->at[i].path;
    return NULL;
}
