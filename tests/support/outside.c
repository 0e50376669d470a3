/* SPDX-License-Identifier: MIT */
#include "tests/support/outside.h"

int other_result(int rc)
{
    return rc == 0 ? 0 : rc == CAIRN_EOWNED ? 6 : 1;
}

int other_run(struct cairn_store *store, const char *file)
{
    struct cairn_workflow *w = NULL;
    struct cairn_run_result result = {0};
    if (cairn_workflow_load(&w, file, NULL, 0, &error) ||
        cairn_run(w, store, NULL, &result, &error))
        return 99;
    cairn_workflow_free(w);
    return result.exit_status;
}

int help_other(int argc, char **argv)
{
    struct cairn_store *store = NULL;
    char token[CAIRN_CLAIM_MAX];
    int result = 98;
    if (argc != 4 || strcmp(argv[1], "other") != 0)
        return -1;
    if (cairn_store_open(&store, &(struct cairn_store_options){.path = ".cairn"},
                         &error))
        return 97;
    if (strcmp(argv[2], "run") == 0)
        result = other_run(store, argv[3]);
    else if (strcmp(argv[2], "claim") == 0) {
        while (!exists("go"))
            poll(NULL, 0, 1);
        result =
            other_result(cairn_claim(store, 1, argv[3], 60000, NULL, token, &error));
    } else if (strcmp(argv[2], "complete") == 0)
        result = other_result(cairn_complete(store, 1, argv[3], NULL, NULL, 0, &error));
    if (result == 1)
        fprintf(stderr, "other: %s\n", error.text);
    cairn_store_close(store);
    return result;
}

pid_t start_other(const char *what, const char *argument)
{
    extern char **environ;
    char self[] = "/proc/self/exe", other[] = "other", verb[32], last[64];
    char *argv[] = {self, other, verb, last, NULL};
    pid_t pid = 0;
    snprintf(verb, sizeof verb, "%s", what);
    snprintf(last, sizeof last, "%s", argument);
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    return pid;
}

int end_of(pid_t pid)
{
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void kill_other(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(end_of(pid), 128 + SIGKILL);
}

struct cairn_workflow *from_file(const char *text)
{
    struct cairn_workflow *w = NULL;
    put_file("flow.yaml", text);
    good(cairn_workflow_load(&w, "flow.yaml", NULL, 0, &error));
    return w;
}

struct cairn_run_result go(const char *text, struct cairn_store *store)
{
    struct cairn_workflow *w = from_file(text);
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.no_wait = true}, NULL);
    cairn_workflow_free(w);
    return result;
}

struct cairn_run_result go_on(struct cairn_store *store)
{
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_of_run(&w, store, 1, NULL, &error));
    struct cairn_run_options options = {
        .start = CAIRN_START_RESUME, .run = 1, .no_wait = true};
    struct cairn_run_result result = run_with(w, store, options, NULL);
    cairn_workflow_free(w);
    return result;
}

int note_step(void *context, const struct cairn_next_info *info)
{
    struct steps *steps = context;
    size_t used = strlen(steps->names);
    steps->n++;
    steps->claimed += info->claimed;
    ck_assert_int_eq(info->claimed, info->lease_left_ms > 0);
    snprintf(steps->names + used, sizeof steps->names - used, "%s ", info->task);
    snprintf(steps->text, sizeof steps->text, "%s", info->text);
    return 0;
}

struct steps next_of(struct cairn_store *store, bool claimed)
{
    struct steps steps = {0};
    good(cairn_next(store, 1, claimed, note_step, &steps, &error));
    return steps;
}

enum cairn_outcome outcome_of(struct cairn_store *store, const char *task)
{
    return task_of(store, 1, task).info.outcome;
}
