/* SPDX-License-Identifier: MIT */
/* What has to be on the disk after a command. */
#include "tests/prove/files/files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wrong(struct life *life, unsigned long *count, const char *format, ...)
{
    char text[1000];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            *at = '?';
    printf("# %s: %s\n", life->dir, text);
    fflush(stdout);
    life->hurt = true;
    (*count)++;
}

/* ---- Times that something had ---- */

static uint64_t what_of(const struct entry *entry)
{
    char text[PATH_SIZE + 64];
    int n = snprintf(text, sizeof text, "%c %o %llx %s", entry->kind,
                     entry->kind == 'd' ? 0 : entry->mode,
                     (unsigned long long)entry->content, entry->path);
    return bytes_hash(text, (size_t)n);
}

static bool had_time(const struct life *life, const struct entry *entry)
{
    uint64_t what = what_of(entry);
    for (size_t i = life->n_seen; i-- > 0;)
        if (life->seen[i].what == what && life->seen[i].time == entry->mtime)
            return true;
    return entry->kind == 'l';
}

static bool remember_time(struct life *life, const struct entry *entry)
{
    if (had_time(life, entry))
        return true;
    if (life->n_seen == life->room_seen) {
        size_t room = life->room_seen ? 2 * life->room_seen : 256;
        struct seen *seen = realloc(life->seen, room * sizeof *seen);
        if (!seen)
            return false;
        life->seen = seen;
        life->room_seen = room;
    }
    life->seen[life->n_seen++] = (struct seen){what_of(entry), entry->mtime};
    return true;
}

bool look(struct life *life)
{
    bool good =
        tree_scan(&life->disk, life->root) && tree_scan(&life->out, life->outside);
    for (size_t i = 0; i < life->disk.n && good; i++)
        good = remember_time(life, &life->disk.at[i]);
    if (!good)
        wrong(life, &life->other, "the prover cannot read its own files");
    return good;
}

/* ---- Nothing has changed ---- */

bool judge_outside(struct life *life, const char *what)
{
    struct tree now = {.at = NULL};
    bool good = tree_scan(&now, life->outside);
    const char *path = good ? tree_differs(&life->out, &now, true) : "";
    if (!good || path)
        wrong(life, &life->lost, "%s touched %s outside of the root", what, path);
    tree_free(&now);
    return good && !path;
}

bool judge_untouched(struct life *life, const char *what)
{
    struct tree now = {.at = NULL};
    bool good = tree_scan(&now, life->root);
    const char *path = good ? tree_differs(&life->disk, &now, true) : "";
    if (!good || path)
        wrong(life, &life->lost, "%s: %s is not as it was", what, path);
    tree_free(&now);
    return judge_outside(life, what) && good && !path;
}

/* ---- Another state was put there ---- */

static bool judge_target(struct life *life, const struct tree *target, struct tree *now,
                         const char *what)
{
    for (size_t i = 0; i < target->n; i++) {
        const struct entry *want = &target->at[i];
        struct entry *got = tree_get(now, want->path);
        if (want->kind == 'o')
            continue;
        if (!got || !entry_same(want, got, false)) {
            wrong(life, &life->lost, "%s: %s is %s (%c %o, now %c %o)", what,
                  want->path, got ? "not what was checkpointed" : "not there",
                  want->kind, want->mode, got ? got->kind : '-', got ? got->mode : 0);
            return false;
        }
        if (!had_time(life, got) && !(life->new_times && got->kind == 'd')) {
            wrong(life, &life->lost, "%s: %s (%c) has a time that it never had", what,
                  want->path, want->kind);
            return false;
        }
        got->marked = true;
    }
    return true;
}

/* A directory of the path is something else in the target. */
static bool is_displaced(const struct tree *target, const struct entry *entry)
{
    char above[PATH_SIZE];
    for (const char *slash = entry->path; (slash = strchr(slash, '/')); slash++) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - entry->path), entry->path);
        const struct entry *there = tree_get(target, above);
        if (there && there->kind != 'd')
            return there->kind != 'o'; /* of which it has the name alone */
    }
    return false;
}

/* The target has the name alone of it, or of a directory that it lies in. */
static bool is_left(const struct tree *target, const struct entry *entry)
{
    for (size_t i = 0; i < target->n; i++)
        if (target->at[i].kind == 'o' && entry_is_of(entry, target->at[i].path))
            return true;
    return false;
}

/* It has no content in a checkpoint that is made now. */
static bool is_precious(const struct tree *target, const struct entry *entry)
{
    return entry->never || entry->kind == 'o' ||
           (entry->ignored && !tree_get(target, entry->path));
}

const char *judge_barred(const struct tree *disk, const struct tree *target)
{
    for (size_t i = 0; i < disk->n; i++) {
        const struct entry *had = &disk->at[i];
        const struct entry *there = tree_get(target, had->path);
        if ((is_precious(target, had) && is_displaced(target, had)) ||
            (had->kind == 'o' && !had->never && there && there->kind != 'o'))
            return had->path;
    }
    return NULL;
}

/* As a restore keeps what comes back, which goes when that is taken back. */
static bool was_kept(const struct tree *target, const struct entry *had)
{
    char path[PATH_SIZE];
    const char *end = strstr(had->path, ".before-restore");
    for (; end; end = strstr(end + 1, ".before-restore")) {
        snprintf(path, sizeof path, "%.*s", (int)(end - had->path), had->path);
        const struct entry *there = tree_get(target, path);
        if (there && there->kind == had->kind && there->content == had->content)
            return true;
    }
    return false;
}

/* What is in no checkpoint, and what the target ignored, is where it was. */
static bool judge_others(struct life *life, const struct tree *target, struct tree *now,
                         const char *what)
{
    for (size_t i = 0; i < life->disk.n; i++) {
        const struct entry *had = &life->disk.at[i];
        bool left = had->kind == 'o' || is_left(target, had);
        if (!had->never && !left && tree_get(target, had->path))
            continue;
        bool must_be = had->never || had->ignored || left;
        if (!must_be && !tree_ignores(target, had))
            continue;
        struct entry *got = tree_get(now, had->path);
        bool same = got && entry_same(got, had, true);
        if (same)
            got->marked = true;
        if (same || was_kept(target, had) || (!must_be && is_displaced(target, had)))
            continue;
        wrong(life, &life->lost, "%s: %s, which is ignored, is not as it was", what,
              had->path);
        return false;
    }
    return true;
}

/* The rest are directories that something ignored is in, as they were. */
static bool judge_rest(struct life *life, const struct tree *now, const char *what)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct entry *entry = &now->at[i];
        size_t n = strlen(entry->path);
        bool has = entry->marked;
        for (size_t k = i + 1; k < now->n && !has && entry->kind == 'd'; k++)
            has = now->at[k].marked && strncmp(now->at[k].path, entry->path, n) == 0 &&
                  now->at[k].path[n] == '/';
        if (!has) {
            wrong(life, &life->other, "%s: %s should not be there", what, entry->path);
            return false;
        }
        const struct entry *had =
            entry->marked ? NULL : tree_get(&life->disk, entry->path);
        if (had && had->kind == 'd' && had->mode != entry->mode) {
            wrong(life, &life->lost, "%s: %s, which stays, has the mode %o, not %o",
                  what, entry->path, entry->mode, had->mode);
            return false;
        }
    }
    return true;
}

bool judge_moved(struct life *life, const struct tree *target, const char *what)
{
    struct tree now = {.at = NULL};
    bool good = tree_scan(&now, life->root);
    if (!good)
        wrong(life, &life->other, "%s: the files cannot be read", what);
    good = good && judge_target(life, target, &now, what) &&
           judge_others(life, target, &now, what) && judge_rest(life, &now, what);
    tree_free(&now);
    return judge_outside(life, what) && good;
}

bool judge_copy(struct life *life, const struct tree *target, const char *root)
{
    struct tree now = {.at = NULL};
    bool good = tree_scan(&now, root);
    if (!good)
        wrong(life, &life->other, "the files of a fork cannot be read");
    good = good && judge_target(life, target, &now, "a fork");
    for (size_t i = 0; i < now.n && good; i++) {
        good = now.at[i].marked || now.at[i].never;
        if (!good)
            wrong(life, &life->other, "%s is in a fork, and not in its checkpoint",
                  now.at[i].path);
    }
    tree_free(&now);
    return good;
}
