/* SPDX-License-Identifier: MIT */
/* One life: the commands, each in a process of its own, and what is known after them.
 */
#include "tests/prove/files/files.h"
#include "tests/support/program.h"
#include "tests/support/random.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;
enum { ARGS = 12, PATIENCE_MS = 300000 };

uint32_t below(struct life *life, uint32_t n)
{
    return help_below(&life->seed, n);
}

/* ---- Running cairn ---- */

static void out_path(const struct life *life, const char *which, char *path)
{
    snprintf(path, PATH_SIZE, "%s/%s.cairn", life->dir, which);
}

static void show_errors(const struct life *life)
{
    char path[PATH_SIZE];
    out_path(life, "err", path);
    char *text = file_text(path);
    if (text && *text)
        printf("#   it said: %.500s\n", text);
    free(text);
}

static void trace(const struct life *life, const char *const *args, int status)
{
    if (!life->trace)
        return;
    for (; *args; args++)
        fprintf(stderr, " %s", *args);
    fprintf(stderr, " -> %d\n", status);
}

/* Kinds of system calls, as nth names them. */
static const char *const classes[] = {"all",  "all",    "attribute", "attribute",
                                      "sync", "rename", "unlink",    "change"};
enum { CLASSES = sizeof classes / sizeof *classes };

/* Killed after some microseconds (kill_us), before a system call (kill_call), or not.
 */
static int run(struct life *life, const char *const *args, uint32_t kill_us,
               uint32_t kill_call)
{
    char number[24];
    const char *argv[ARGS + 8];
    size_t n = 0;
    pid_t pid;
    bool hung;
    snprintf(number, sizeof number, "%u", kill_call / CLASSES);
    if (kill_call) {
        argv[n++] = life->nth;
        argv[n++] = "--kill";
        argv[n++] = number;
        argv[n++] = "--class";
        argv[n++] = classes[kill_call % CLASSES];
    }
    argv[n++] = life->cairn;
    for (size_t i = 0; args[i] && i < ARGS; i++)
        argv[n++] = args[i];
    argv[n] = NULL;
    if (program_start(&pid, life->dir, "cairn", (char *const *)(uintptr_t)argv,
                      environ) != 0) {
        wrong(life, &life->other, "cannot start cairn %s", args[0]);
        return -1;
    }
    if (kill_us) {
        pause_us(kill_us);
        kill(pid, SIGKILL);
    }
    int status = program_wait(pid, PATIENCE_MS, &hung);
    if (hung)
        wrong(life, &life->other, "cairn %s hung", args[0]);
    trace(life, args, status);
    return status;
}

#define RUN(life, ...) run(life, (const char *const[]){__VA_ARGS__, NULL}, 0, 0)

/* As the life wants it: killed, in some of them. */
int run_risky(struct life *life, const char *const *args, uint32_t one_in)
{
    if (!life->kills || below(life, one_in))
        return run(life, args, 0, 0);
    uint32_t size = 1u << (6 + below(life, 6)), class = below(life, CLASSES);
    uint32_t call = class < 2 ? 60 + below(life, size) : 1 + below(life, 24);
    int status = *life->nth && below(life, 2)
                     ? run(life, args, 0, call * CLASSES + class)
                     : run(life, args, 1 + below(life, 32 * size), 0);
    life->killed += status == KILLED;
    return status;
}

bool must(struct life *life, int status, const char *what)
{
    if (status == 0)
        return true;
    wrong(life, &life->other, "%s ended with %d", what, status);
    show_errors(life);
    return false;
}

static json_t *said(const struct life *life)
{
    char path[PATH_SIZE];
    out_path(life, "out", path);
    return json_load_file(path, 0, NULL);
}

static void copy_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(out, size, "%s", text ? text : "");
}

/* ---- Checkpoints that are known ---- */

struct kept *find(struct life *life, const char *id)
{
    for (size_t i = 0; i < life->n_kept; i++)
        if (strcmp(life->kept[i].id, id) == 0)
            return &life->kept[i];
    return NULL;
}

static void forget(struct life *life, struct kept *kept)
{
    tree_free(&kept->tree);
    *kept = life->kept[--life->n_kept];
}

/* The checkpoint holds the disk as it was before the command. */
static void note_checkpoint(struct life *life, const char *id, const struct tree *also)
{
    struct tree tree;
    const char *path;
    struct kept *kept = find(life, id);
    if (!tree_tracked(&life->disk, also, &tree)) {
        wrong(life, &life->other, "no memory");
        return;
    }
    life->trees++;
    if (kept) { /* nothing had changed */
        path = tree_differs(&kept->tree, &tree, false);
        if (path)
            wrong(life, &life->undetected,
                  "%s has changed since %s, and that is no new "
                  "checkpoint",
                  path, id);
        tree_free(&tree);
        return;
    }
    if (life->n_kept == KEPT)
        forget(life, &life->kept[0]);
    kept = &life->kept[life->n_kept++];
    *kept = (struct kept){.tree = tree, .notes = life->notes};
    snprintf(kept->id, sizeof kept->id, "%s", id);
}

/* ---- Branches ---- */

struct branch {
    char name[NAME_SIZE],
        state[ID_SIZE]; /* its newest checkpoint, or where it begins */
};

/* The one with the name, or the current one for NULL. */
static bool branch_get(struct life *life, const char *name, struct branch *out)
{
    size_t i;
    const json_t *one;
    bool found = false;
    if (!must(life, RUN(life, "branch", "list", "--json"), "branch list"))
        return false;
    json_t *doc = said(life);
    const json_t *list = json_object_get(doc, "branches");
    json_array_foreach(list, i, one)
    {
        copy_text(one, "name", out->name, sizeof out->name);
        if (name ? strcmp(out->name, name) != 0
                 : !json_is_true(json_object_get(one, "current")))
            continue;
        copy_text(one, "head", out->state, sizeof out->state);
        if (!*out->state)
            copy_text(one, "from", out->state, sizeof out->state);
        found = true;
        break;
    }
    json_decref(doc);
    if (!found)
        wrong(life, &life->other, "there is no branch %s", name ? name : "");
    return found;
}

/* Another one, which can be gone to. */
static bool branch_other(struct life *life, struct branch *out)
{
    size_t i;
    const json_t *one;
    bool found = false;
    if (!must(life, RUN(life, "branch", "list", "--json"), "branch list"))
        return false;
    json_t *doc = said(life);
    const json_t *list = json_object_get(doc, "branches");
    json_array_foreach(list, i, one)
    {
        const char *status = json_string_value(json_object_get(one, "status"));
        if (json_is_true(json_object_get(one, "current")) || !status ||
            strcmp(status, "active") != 0)
            continue;
        struct branch other;
        copy_text(one, "name", other.name, sizeof other.name);
        copy_text(one, "head", other.state, sizeof other.state);
        if (!*other.state)
            copy_text(one, "from", other.state, sizeof other.state);
        if (!find(life, other.state) || (found && below(life, 2)))
            continue;
        *out = other;
        found = true;
    }
    json_decref(doc);
    return found;
}

/* ---- After a kill ---- */

/* The next command that writes, which may be killed, too, and the one after it. */
bool settle(struct life *life)
{
    static const char *const note[] = {"note", "add", "next", NULL};
    char stage[PATH_SIZE];
    int status = KILLED;
    life->redo[0] = '\0';
    for (int i = 0; i < 4 && status == KILLED; i++)
        status = run_risky(life, note, 2);
    if (status == KILLED)
        status = run(life, note, 0, 0);
    life->notes = -1;
    if (!must(life, status, "a note after a kill"))
        return false;
    snprintf(stage, sizeof stage, "%s/.cairn/restore", life->dir);
    if (access(stage, F_OK) == 0)
        wrong(life, &life->other, "something is left of a restore");
    return true;
}

/* ---- Commands that take up another state ---- */

static void count_notes(struct life *life)
{
    if (life->notes < 0 || below(life, 4) ||
        !must(life, RUN(life, "note", "list", "--limit", "1", "--json"), "note list"))
        return;
    json_t *doc = said(life);
    int64_t total = json_integer_value(json_object_get(doc, "total"));
    json_decref(doc);
    if (total != life->notes)
        wrong(life, &life->lost, "%lld notes, not %lld", (long long)total,
              (long long)life->notes);
}

static void moved(struct life *life, const struct aim *aim, const char *what,
                  bool was_killed)
{
    struct branch now, before;
    const struct tree *target = aim->files ? &aim->state.tree : NULL;
    if (!branch_get(life, NULL, &now))
        return;
    bool went = strcmp(now.name, life->branch) != 0;
    if (target && (went || !was_killed))
        judge_moved(life, target, what);
    else
        judge_untouched(life, what);
    life->moves++;
    /* Where nothing differs nothing is done, but what there was may be kept. */
    if (!went && !life->hurt && *now.state && !find(life, now.state))
        note_checkpoint(life, now.state, target);
    if (!went || life->hurt || !branch_get(life, life->branch, &before))
        return;
    if (*before.state)
        note_checkpoint(life, before.state, target);
    snprintf(life->undo, sizeof life->undo, "%s", aim->new_undo ? before.state : "");
    snprintf(life->redo, sizeof life->redo, "%s", aim->new_redo ? before.state : "");
    snprintf(life->undone, sizeof life->undone, "%s", aim->state.id);
    snprintf(life->branch, sizeof life->branch, "%s", now.name);
    if (aim->board && !was_killed)
        life->notes = aim->state.notes;
    count_notes(life);
}

/* `id` "": the present state. */
void move_with(struct life *life, const char *const *args, const char *id,
               struct aim aim)
{
    char what[128];
    struct stat st;
    const struct kept *found = aim.given ? NULL : find(life, id);
    if (aim.given) {
        aim.state = (struct kept){.tree = *aim.given, .notes = -1};
    } else if (found) { /* a copy: what is known may move in the list */
        aim.state = *found;
        if (!tree_tracked(&found->tree, &found->tree, &aim.state.tree))
            return;
    } else {
        aim.files = aim.board = false;
    }
    bool locked = lstat(life->root, &st) == 0 && (st.st_mode & 0200) == 0;
    const char *barred = aim.files ? judge_barred(&life->disk, &aim.state.tree) : NULL;
    int status = run_risky(life, args, 2);
    bool was_killed = status == KILLED;
    snprintf(what, sizeof what, "%s %s %s%s", args[0], args[1], id,
             was_killed ? ", killed" : "");
    life->barred += barred && !was_killed;
    if (barred && !was_killed && !locked) {
        if (status != 2)
            wrong(life, &life->other, "%s ended with %d though %s was in the way", what,
                  status, barred);
        judge_untouched(life, what);
    } else if ((locked && !was_killed && status != 0) ||
               (aim.may_refuse && status == 2))
        judge_untouched(life, "what was refused");
    else if (was_killed ? settle(life) : must(life, status, what))
        moved(life, &aim, what, was_killed);
    if (found)
        tree_free(&aim.state.tree);
}

const char *some_id(struct life *life)
{
    return life->kept[below(life, (uint32_t)life->n_kept)].id;
}

static void do_restore(struct life *life)
{
    static const char *const parts[] = {NULL, NULL,           NULL,
                                        NULL, "--files-only", "--board-only"};
    char id[ID_SIZE];
    uint32_t part = below(life, 6);
    if (!life->n_kept)
        return;
    snprintf(id, sizeof id, "%s", some_id(life));
    const char *args[] = {"checkpoint", "restore", id, "--yes", parts[part], NULL};
    move_with(life, args, id,
              (struct aim){.files = part != 5, .board = part != 4, .new_undo = true});
}

static void do_dry_run(struct life *life)
{
    struct stat st;
    if (!life->n_kept)
        return;
    const char *id = some_id(life);
    bool barred = judge_barred(&life->disk, &find(life, id)->tree) != NULL;
    int status = RUN(life, "checkpoint", "restore", id, "--dry-run");
    if (lstat(life->root, &st) == 0 && (st.st_mode & 0200) && !(barred && status == 2))
        must(life, status, "a dry run");
    if (barred && status == 0)
        wrong(life, &life->other, "a dry run of %s says nothing of what is in the way",
              id);
    judge_untouched(life, "a dry run");
}

static void do_undo(struct life *life)
{
    static const char *const args[] = {"checkpoint", "undo-restore", NULL};
    char id[ID_SIZE];
    snprintf(id, sizeof id, "%s", life->undo);
    if (*id && find(life, id))
        move_with(life, args, id,
                  (struct aim){.files = true, .board = true, .new_redo = true});
}

static void do_start(struct life *life)
{
    char name[NAME_SIZE], id[ID_SIZE];
    bool from = below(life, 2) && life->n_kept;
    snprintf(name, sizeof name, "work%u", below(life, 1000000000));
    snprintf(id, sizeof id, "%s", from ? some_id(life) : "");
    const char *args[] = {"branch", "start", name, from ? "--from" : NULL, id, NULL};
    move_with(life, args, id, (struct aim){.files = true, .board = true});
}

static void do_switch(struct life *life)
{
    struct branch other;
    if (!branch_other(life, &other))
        return;
    const char *args[] = {"branch", "switch", other.name, NULL};
    move_with(life, args, other.state, (struct aim){.files = true, .board = true});
}

/* ---- Others ---- */

static void do_create(struct life *life)
{
    static const char *const args[] = {"checkpoint", "create", "work", "--json", NULL};
    struct branch now;
    char id[ID_SIZE];
    int status = run_risky(life, args, 3);
    if (status == KILLED) {
        if (settle(life) && branch_get(life, NULL, &now) && *now.state &&
            !find(life, now.state) && strcmp(now.name, life->branch) == 0)
            note_checkpoint(life, now.state, NULL);
    } else if (must(life, status, "checkpoint create")) {
        json_t *doc = said(life);
        copy_text(doc, "id", id, sizeof id);
        json_int_t left_out = json_integer_value(json_object_get(doc, "left_out"));
        json_decref(doc);
        for (size_t i = 0; i < life->disk.n; i++)
            left_out -= life->disk.at[i].kind == 'o' && !life->disk.at[i].never &&
                        !life->disk.at[i].ignored;
        if (left_out)
            wrong(life, &life->undetected, "%s leaves out %d files more than it should",
                  id, (int)left_out);
        note_checkpoint(life, id, NULL);
    }
    judge_untouched(life, "a checkpoint");
}

static void do_cat(struct life *life)
{
    char operand[PATH_SIZE + ID_SIZE], path[PATH_SIZE];
    if (!life->n_kept)
        return;
    const struct kept *kept = &life->kept[below(life, (uint32_t)life->n_kept)];
    const struct tree *tree = &kept->tree;
    const struct entry *entry =
        tree->n ? &tree->at[below(life, (uint32_t)tree->n)] : NULL;
    if (!entry || entry->kind != 'f')
        return;
    snprintf(operand, sizeof operand, "%s:%s", kept->id, entry->path);
    if (!must(life, RUN(life, "checkpoint", "cat", operand), "checkpoint cat"))
        return;
    out_path(life, "out", path);
    if (file_hash(path) != entry->content)
        wrong(life, &life->lost, "%s is not the content then", operand);
}

static void do_delete(struct life *life)
{
    if (life->n_kept < 3)
        return;
    struct kept *kept = &life->kept[below(life, (uint32_t)life->n_kept)];
    int status = RUN(life, "checkpoint", "delete", kept->id, "--yes");
    if (status != 2 && /* the newest of a branch is kept */
        must(life, status, "checkpoint delete"))
        forget(life, kept);
    judge_untouched(life, "a deletion");
}

static void do_note(struct life *life)
{
    if (must(life, RUN(life, "note", "add", "a note"), "note add") && life->notes >= 0)
        life->notes++;
    judge_untouched(life, "a note");
}

static void step(struct life *life)
{
    uint32_t what = below(life, 100);
    if (*life->redo && below(life, 3) == 0)
        do_redo(life);
    else if (what < 30)
        do_create(life);
    else if (what < 55)
        do_restore(life);
    else if (what < 62)
        do_paths(life);
    else if (what < 68)
        do_undo(life);
    else if (what < 70)
        do_fork(life);
    else if (what < 74)
        do_start(life);
    else if (what < 82)
        do_switch(life);
    else if (what < 86)
        do_delete(life);
    else if (what < 90)
        must(life, RUN(life, "gc"), "gc");
    else if (what < 92)
        must(life, RUN(life, "checkpoint", "verify"), "checkpoint verify");
    else if (what < 95)
        do_dry_run(life);
    else
        do_note(life);
}

/* ---- One life ---- */

static bool begin(struct life *life)
{
    char git[PATH_SIZE];
    bool good = mkdir(life->dir, 0700) == 0 && mkdir(life->root, 0755) == 0 &&
                mkdir(life->outside, 0755) == 0;
    snprintf(git, sizeof git, "%s/.git", life->root);
    good = good && mkdir(git, 0755) == 0;
    for (int i = 0; i < 4 && good; i++) {
        char path[PATH_SIZE + 16];
        snprintf(path, sizeof path, "%s/%d", i < 3 ? life->outside : git, i);
        FILE *file = fopen(path, "we");
        good = file && fprintf(file, "precious %d\n", i) > 0;
        if (file)
            fclose(file);
    }
    if (!good)
        wrong(life, &life->other, "cannot make a directory");
    snprintf(life->branch, sizeof life->branch, "main");
    life->undo[0] = life->redo[0] = life->undone[0] = '\0';
    life->notes = 0;
    return good && must(life, RUN(life, "session", "start", "life", "-q"), "start") &&
           must(life, RUN(life, "session", "config", "files", "p", "-q"), "config");
}

static void end(struct life *life)
{
    for (int i = 0; i < 3 && !life->hurt; i++)
        do_cat(life);
    if (!life->hurt)
        must(life, RUN(life, "checkpoint", "verify"), "checkpoint verify at the end");
    while (life->n_kept)
        forget(life, &life->kept[0]);
    tree_free(&life->disk);
    tree_free(&life->out);
    life->n_seen = 0;
}

void live(struct life *life)
{
    uint32_t steps = 4 + below(life, 8);
    bool good = begin(life);
    if (good)
        mutate(life, 5 + below(life, 25));
    for (uint32_t i = 0; i < steps && good && !life->hurt; i++) {
        uint32_t same = *life->redo ? 2 : 5; /* one in so many */
        if (below(life, same))
            mutate(life, 1 + below(life, 8));
        if (below(life, 40) == 0)
            (void)chmod(life->root, 0555);
        good = look(life);
        if (good && i == 0)
            do_create(life);
        else if (good)
            step(life);
        (void)chmod(life->root, 0755);
    }
    end(life);
}
