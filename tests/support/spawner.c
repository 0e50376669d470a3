/* SPDX-License-Identifier: MIT */
#include "tests/support/spawner.h"

char *const *strings(const char *const *texts)
{
    char *const *same;
    memcpy(&same, &texts, sizeof same);
    return same;
}

struct spawner *spawner;
struct slot slot;
struct cairn_error failure;

char *const no_env[1] = {NULL};

void setup(void)
{
    help_make_dir();
    memset(&slot, 0, sizeof slot);
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
}

void teardown(void)
{
    spawner_stop(spawner);
    help_remove_dir();
}

int output(const char *name)
{
    int fd =
        open(help_path(name), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    return fd;
}

struct spawn_request request_of(char *const *argv)
{
    struct spawn_request request = {.argv = argv,
                                    .envp = no_env,
                                    .path = "/usr/bin:/bin",
                                    .stdout_fd = output("out"),
                                    .stderr_fd = output("err"),
                                    .slot = &slot,
                                    .pidfd = -7};
    return request;
}

void start(struct spawn_request *request)
{
    spawner_submit(spawner, request);
    struct spawn_request *got = NULL;
    while (!got) {
        ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
        got = spawner_collect(spawner);
    }
    ck_assert_ptr_eq(got, request);
    ck_assert_ptr_null(got->next);
    close(request->stdout_fd);
    close(request->stderr_fd);
}

struct process_end finish(struct spawn_request *request)
{
    struct process_end end = {-9, -9, -9, -9, false, false};
    ck_assert_int_gt(request->pid, 1);
    ck_assert(help_readable(request->pidfd, PATIENCE_MS));
    ck_assert_int_eq(
        process_reap(request->pid, request->pidfd, request->slot, &end, &failure), 0);
    if (request->slot)
        ck_assert_int_eq(request->slot->pid, 0);
    return end;
}

struct process_end run(char *const *argv)
{
    struct spawn_request request = request_of(argv);
    start(&request);
    ck_assert_msg(!request.error, "%s: %s", request.stage, strerror(request.error));
    return finish(&request);
}

struct process_end run_shell(const char *text)
{
    return run(ARGV("sh", "-c", text));
}
