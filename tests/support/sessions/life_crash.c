/* SPDX-License-Identifier: MIT */
#include "tests/support/sessions/life.h"

#include "base/str.h"
#include "cairn/maintenance.h"
#include "tests/support/random.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum work { WORK_RESTORE, WORK_CHECKPOINT, WORK_PRUNE, WORK_IMPORT, WORK_ADD, WORKS };

static int pass_over(void *context, const struct cairn_session_info *info)
{
    (void)context;
    (void)info;
    return 0;
}

static uint64_t count_sessions(struct cairn_store *store)
{
    struct cairn_page one = {.limit = 1};
    uint64_t total = 0;
    MUST(cairn_session_list(store, &one, pass_over, NULL, &total, &life_error));
    return total;
}

/* ---- The process that is killed ---- */

static struct buf read_file(const char *path)
{
    struct buf bytes = BUF_INIT;
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    while (file && (n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(&bytes, part, n);
    if (file)
        fclose(file);
    return bytes;
}

static int do_work(struct life *life, enum work work, const char *argument)
{
    struct cairn_keep_rules rules = {.last = 1};
    struct cairn_capture capture = {.message = "by the killed one"};
    struct cairn_set set = {"text", "added by the killed one"};
    struct cairn_transfer in;
    struct buf file;
    switch (work) {
    case WORK_RESTORE:
        return cairn_session_restore(life->store, NULL, argument, NULL, NULL,
                                     &life_error);
    case WORK_CHECKPOINT:
        return cairn_session_checkpoint(life->store, NULL, &capture, NULL, &life_error);
    case WORK_PRUNE:
        return cairn_session_prune(life->store, NULL, &rules, false, NULL, &life_error);
    case WORK_IMPORT:
        file = read_file(argument);
        return life_import(life->store, &file, &in);
    case WORK_ADD:
    case WORKS:
        break;
    }
    return cairn_item_add(life->store, NULL, "note", &set, 1, NULL, &life_error);
}

/* ARGV: the word, a store, a kind of work, and what it is about. */
int life_crash_main(int argc, char **argv)
{
    struct life life = {.n = 0};
    if (argc != 5)
        return 2;
    struct cairn_store_options options = {.path = argv[2], .sync = CAIRN_SYNC_OFF};
    if (cairn_store_open(&life.store, &options, &life_error))
        return 2;
    if (write(STDOUT_FILENO, "", 1) != 1)
        return 2;
    return do_work(&life, (enum work)(argv[3][0] - '0'), argv[4]) ? 1 : 0;
}

/* It has the store open, and is about to begin. */
static pid_t start(const char *store, enum work work, const char *argument)
{
    char kind[2] = {(char)('0' + work), 0};
    char word[] = LIFE_CRASH_WORD, where[280], about[280];
    char *argv[] = {word, word, where, kind, about, NULL};
    snprintf(where, sizeof where, "%s", store);
    snprintf(about, sizeof about, "%s", argument);
    posix_spawn_file_actions_t actions;
    int ends[2];
    char up = 1;
    pid_t pid = 0;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ck_assert_int_eq(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &up, 1), 1);
    close(ends[0]);
    return pid;
}

static void work_and_die(struct life *life, enum work work, const char *argument)
{
    char second[280];
    snprintf(second, sizeof second, "%s/second", life->dir);
    pid_t pid = start(work == WORK_IMPORT ? second : life->path, work, argument);
    usleep(help_below(&life->seed, help_below(&life->seed, 2) ? 400 : 3000));
    int status = 0;
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0,
                  "work %d ended with %d", (int)work, WEXITSTATUS(status));
    if (life->killed && WIFSIGNALED(status))
        ++*life->killed;
}

/* ---- What it leaves ---- */

/* Another session in the second store, or none; and it continues from there. */
static void check_import(struct life *life, const struct buf *file, uint64_t before)
{
    struct cairn_store *second = life_open_other(life, "second");
    struct cairn_transfer in = {0};
    uint64_t after = count_sessions(second);
    ck_assert(after == before || after == before + 1);
    MUST(life_import(second, file, &in));
    ck_assert_uint_eq(in.refused, 0);
    MUST(cairn_checkpoint_verify(second, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &life_error));
    cairn_store_close(second);
}

/* What was added is one change, which can be taken back. */
static void check_addition(struct life *life, const char *before)
{
    char *now = life_tell(life, NULL);
    if (strcmp(now, before) != 0)
        MUST(cairn_session_undo(life->store, NULL, NULL, &life_error));
    free(now);
    life_expect(life, before);
}

/* Writes the session into a file; how many sessions the second store has. */
static uint64_t prepare_import(struct life *life, struct buf *bytes, const char *path)
{
    struct cairn_transfer out;
    struct cairn_store *second = life_open_other(life, "second");
    uint64_t sessions = count_sessions(second);
    cairn_store_close(second);
    *bytes = life_export(life, &out);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    ck_assert_int_eq(fclose(file), 0);
    return sessions;
}

static void check_states(struct life *life)
{
    for (int i = 0; i < life->n; i++) {
        char *then = life_tell(life, life->states[i].id);
        ck_assert_str_eq(then, life->states[i].text);
        free(then);
    }
}

void life_crash(struct life *life)
{
    enum work work = (enum work)help_below(&life->seed, WORKS);
    int at = life->n ? (int)help_below(&life->seed, (uint32_t)life->n) : 0;
    char *before = life_tell(life, NULL), *now, path[280];
    struct buf file = BUF_INIT;
    uint64_t sessions = 0;
    snprintf(path, sizeof path, "%s/file", life->dir);
    if (work == WORK_RESTORE && !life->n)
        work = WORK_CHECKPOINT;
    if (work == WORK_IMPORT)
        sessions = prepare_import(life, &file, path);
    cairn_store_close(life->store);
    work_and_die(life, work, work == WORK_RESTORE ? life->states[at].id : path);
    life_open(life);
    now = life_tell(life, NULL);
    bool restored = work == WORK_RESTORE && strcmp(now, life->states[at].text) == 0;
    if (work == WORK_IMPORT)
        check_import(life, &file, sessions);
    if (work == WORK_ADD)
        check_addition(life, before);
    else
        ck_assert_msg(restored || strcmp(now, before) == 0,
                      "work %d left something between", (int)work);
    check_states(life);
    buf_release(&file);
    free(before);
    free(now);
}
