/* SPDX-License-Identifier: MIT */
/* A signal for the whole process group of a host (Ctrl-C, a shell's `kill %1`, the stop
 * of an outer run) that comes while a child is still in that group. */
#include "tests/support/spawner.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <sys/syscall.h>

static int group_signal; /* 0: none */
static sigset_t for_host;

/* In the place of the C library's, called in the child right after its birth. */
__attribute__((visibility("default"))) int setpgid(pid_t pid, pid_t group)
{
    if (group_signal)
        syscall(SYS_kill, 0, group_signal);
    return (int)syscall(SYS_setpgid, pid, group);
}

static void setup_group(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGTSTP};
    syscall(SYS_setpgid, 0, 0);
    sigemptyset(&for_host);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&for_host, signals[i]);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &for_host, NULL), 0);
    setup();
}

static void expect_unharmed(int number)
{
    struct timespec now = {0};
    struct spawn_request request = request_of(ARGV("sh", "-c", "exit 7"));
    group_signal = number;
    start(&request);
    group_signal = 0;
    struct process_end end = finish(&request);
    ck_assert_int_eq(end.signal, 0);
    ck_assert_int_eq(end.exit_code, 7);
    ck_assert_int_eq(sigtimedwait(&for_host, NULL, &now), number); /* it did come */
}

START_TEST(test_not_for_the_task)
{
    expect_unharmed(SIGINT);
    expect_unharmed(SIGTERM);
    expect_unharmed(SIGHUP);
    expect_unharmed(SIGQUIT);
    expect_unharmed(SIGUSR1);
    expect_unharmed(SIGTSTP);
}
END_TEST

/* What is sent to the task's own group is its own. */
START_TEST(test_own_signal)
{
    struct process_end end = run_shell("kill -TERM 0; sleep 10");
    ck_assert_int_eq(end.signal, SIGTERM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group_signal");
    TCase *tests = tcase_create("group_signal");
    tcase_add_checked_fixture(tests, setup_group, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_not_for_the_task);
    tcase_add_test(tests, test_own_signal);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
