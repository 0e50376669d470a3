/* SPDX-License-Identifier: MIT */
/* Some of the files, a restore that is done again, and files in another directory. */
#include "tests/prove/files/files.h"
#include "tests/support/remove_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Forward ---- */

/* Rules may ignore other rules, which are in no checkpoint then: what these ignore
 * looks like something that went. */
static bool has_rules(const struct tree *disk)
{
    for (size_t i = 0; i < disk->n; i++)
        if (disk->at[i].rules && !disk->at[i].never)
            return true;
    return false;
}

/* It may be refused where something was changed. */
void do_redo(struct life *life)
{
    static const char *const args[] = {"checkpoint", "redo-restore", NULL};
    char id[ID_SIZE];
    struct tree now;
    const struct kept *undone = find(life, life->undone);
    snprintf(id, sizeof id, "%s", life->redo);
    if (!*id || !undone || !find(life, id) ||
        !tree_tracked(&life->disk, &undone->tree, &now))
        return;
    bool same = !tree_differs(&undone->tree, &now, false) && life->notes >= 0 &&
                life->notes == undone->notes && !has_rules(&life->disk);
    tree_free(&now);
    move_with(life, args, id,
              (struct aim){
                  .files = true, .board = true, .new_undo = true, .may_refuse = !same});
}

/* ---- Some of the files ---- */

/* As a pattern; false: it cannot be told from others. */
static bool pattern_of(const char *path, char *out, size_t size)
{
    size_t n = 0;
    out[n++] = '/';
    for (; *path && n + 3 < size; path++) {
        if (*path == '\n')
            return false;
        if (strchr("\\*?[],! #", *path))
            out[n++] = '\\';
        out[n++] = *path;
    }
    out[n] = '\0';
    return !*path;
}

static bool same_rules(const struct tree *a, const struct tree *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct entry *other = tree_get(b, a->at[i].path);
        if (a->at[i].rules && !a->at[i].never &&
            (!other || !entry_same(&a->at[i], other, false)))
            return false;
    }
    return true;
}

/* Is something no directory that the path lies in? */
static bool is_barred(const struct tree *now, const char *path)
{
    for (size_t i = 0; i < now->n; i++) {
        size_t n = strlen(now->at[i].path);
        if (now->at[i].kind != 'd' && strncmp(now->at[i].path, path, n) == 0 &&
            path[n] == '/')
            return true;
    }
    return false;
}

static void restore_path(struct life *life, const struct kept *kept, const char *path)
{
    char pattern[2 * PATH_SIZE], id[ID_SIZE];
    struct tree now, target;
    if (!pattern_of(path, pattern, sizeof pattern) ||
        !tree_tracked(&life->disk, &kept->tree, &now))
        return;
    snprintf(id, sizeof id, "%s", kept->id);
    const char *args[] = {"checkpoint", "restore", id,  "--yes",
                          "--paths",    pattern,   NULL};
    struct aim aim = {.files = true, .new_undo = true, .given = &target};
    aim.may_refuse = is_barred(&now, path);
    if (same_rules(&kept->tree, &now) && same_rules(&now, &kept->tree) &&
        tree_mix(&now, &kept->tree, path, &target)) {
        life->new_times = true;
        move_with(life, args, id, aim);
        life->new_times = false;
        tree_free(&target);
    }
    tree_free(&now);
}

void do_paths(struct life *life)
{
    char path[PATH_SIZE];
    if (!life->n_kept)
        return;
    const struct kept *kept = find(life, some_id(life));
    const struct tree *from = below(life, 3) ? &kept->tree : &life->disk;
    if (!from->n)
        return;
    const struct entry *entry = &from->at[below(life, (uint32_t)from->n)];
    if (entry->never || (entry->ignored && from == &life->disk))
        return;
    snprintf(path, sizeof path, "%s", entry->path);
    restore_path(life, kept, path);
}

/* ---- In another directory ---- */

/* What a fork that was killed has left. */
static void judge_left(struct life *life)
{
    static const char start[] = ".cairn-restore-";
    const struct dirent *found;
    DIR *dir = opendir(life->dir);
    while (dir && (found = readdir(dir)))
        if (strncmp(found->d_name, start, sizeof start - 1) == 0)
            wrong(life, &life->other, "%s is left of a fork", found->d_name);
    if (dir)
        closedir(dir);
}

void do_fork(struct life *life)
{
    char path[PATH_SIZE], id[ID_SIZE];
    if (!life->n_kept)
        return;
    snprintf(id, sizeof id, "%s", some_id(life));
    snprintf(path, sizeof path, "%s/copy", life->dir);
    const char *args[] = {"checkpoint", "fork", id, "--to", path, NULL};
    int status = run_risky(life, args, 2);
    bool was_killed = status == KILLED;
    if (was_killed ? !settle(life) : !must(life, status, "checkpoint fork"))
        return;
    judge_left(life);
    bool there = access(path, F_OK) == 0;
    if (there)
        judge_copy(life, &find(life, id)->tree, path);
    else if (!was_killed)
        wrong(life, &life->other, "there is no directory of the fork");
    judge_untouched(life, "a fork");
    life->moves++;
    if (there && !life->hurt) {
        make_writable(path);
        remove_tree(path);
    }
}
