/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Starting processes and collecting their end. check_spawn_limit.c has how many live at
 * once, and what starts ahead of the caller. */
#include "tests/support/spawner.h"
#include "tests/support/suite.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* A request that must not become a process. */
static void expect_failure(struct spawn_request *request, int sys, int exit_code,
                           const char *stage)
{
    start(request);
    ck_assert_int_eq(request->error, sys);
    ck_assert_int_eq(request->exit_code, exit_code);
    ck_assert_str_eq(request->stage, stage);
    ck_assert_int_eq(request->pidfd, -1);
    ck_assert_int_eq(request->pid, 0);
    ck_assert_int_eq(slot.pid, 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no zombie is left */
    ck_assert_int_eq(errno, ECHILD);
}

static void expect_exec_failure(const char *file, int sys, int exit_code)
{
    struct spawn_request request = request_of(ARGV(file));
    expect_failure(&request, sys, exit_code, "exec");
}

START_TEST(test_exit_codes)
{
    struct process_end end = run(ARGV("true"));
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_int_eq(end.signal, 0);
    ck_assert_int_ge(end.cpu_us, 0);
    ck_assert_int_eq(run(ARGV("/bin/false")).exit_code, 1);
    ck_assert_int_eq(run_shell("exit 7").exit_code, 7);
    ck_assert_int_eq(run_shell("exit 255").exit_code, 255);
}
END_TEST

START_TEST(test_death_by_signal)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGUSR1, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char text[32];
        snprintf(text, sizeof text, "kill -%d $$", signals[i]);
        struct process_end end = run_shell(text);
        ck_assert_int_eq(end.exit_code, -1);
        ck_assert_int_eq(end.signal, signals[i]);
    }
}
END_TEST

START_TEST(test_not_found)
{
    expect_exec_failure("no-such-command-here", ENOENT, 127);
    expect_exec_failure("/no/such/file", ENOENT, 127);
    expect_exec_failure("/bin/sh/x", ENOTDIR, 127);
    expect_exec_failure("", ENOENT, 127);
    struct spawn_request request = request_of(no_env);
    expect_failure(&request, ENOENT, 127, "exec");
}
END_TEST

START_TEST(test_not_executable)
{
    help_write("plain", "#!/bin/sh\n", 0600);
    help_write("unmarked", "echo no interpreter is named\n", 0700);
    help_write("orphaned", "#!/no/such/interpreter\n", 0700);
    expect_exec_failure(help_path("plain"), EACCES, 126);
    expect_exec_failure(help_dir, EACCES, 126);
    expect_exec_failure(help_path("unmarked"), ENOEXEC, 126);
    expect_exec_failure(help_path("orphaned"), ENOENT, 127);
}
END_TEST

START_TEST(test_path_search)
{
    char path[2 * PATH_MAX];
    help_write("tool", "#!/bin/sh\necho found\n", 0600);
    struct spawn_request request = request_of(ARGV("tool"));
    snprintf(path, sizeof path, "/nowhere:/bin/sh:%s:/usr/bin", help_dir);
    request.path = path;
    expect_failure(&request, EACCES, 126, "exec"); /* remembered past a miss */

    ck_assert_int_eq(chmod(help_path("tool"), 0700), 0);
    request = request_of(ARGV("tool"));
    request.path = path;
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);
    ck_assert_str_eq(help_read("out"), "found\n");

    /* An empty element is the working directory; an endless one is passed over. */
    request = request_of(ARGV("tool"));
    memset(path, 'x', sizeof path);
    path[sizeof path - 2] = ':';
    path[sizeof path - 1] = 0;
    request.path = path;
    request.cwd = help_dir;
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);

    request = request_of(ARGV("true"));
    request.path = NULL;
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);
}
END_TEST

START_TEST(test_working_directory)
{
    struct spawn_request request = request_of(ARGV("pwd"));
    request.cwd = "/usr";
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);
    ck_assert_str_eq(help_read("out"), "/usr\n");
    request = request_of(ARGV("pwd"));
    request.cwd = "/no/such/directory";
    expect_failure(&request, ENOENT, -1, "chdir");
}
END_TEST

START_TEST(test_arguments_too_long)
{
    static char variable[128 * 1024 + 1] = "LONG=";
    memset(variable + 5, 'x', sizeof variable - 6);
    struct spawn_request request = request_of(ARGV("true"));
    request.envp = ARGV(variable);
    expect_failure(&request, E2BIG, 126, "exec");
    variable[sizeof variable - 2] = 0; /* one byte less is allowed */
    request = request_of(ARGV("true"));
    request.envp = ARGV(variable);
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);
}
END_TEST

START_TEST(test_streams)
{
    ck_assert_int_eq(run_shell("readlink /proc/self/fd/0; cat; echo e >&2").exit_code,
                     0);
    ck_assert_str_eq(help_read("out"), "/dev/null\n");
    ck_assert_str_eq(help_read("err"), "e\n");
}
END_TEST

/* A program may run with 0, 1, 2 closed; our files then get these very numbers. */
START_TEST(test_host_without_streams)
{
    int saved[3];
    for (int i = 0; i < 3; i++) {
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 50);
        close(i);
    }
    struct spawner *kept = spawner;
    struct spawn_request request = request_of(ARGV("sh", "-c", "echo o; echo e >&2"));
    int numbers[2] = {request.stdout_fd, request.stderr_fd};
    int code =
        spawner_start(&spawner, 0, NULL, &failure); /* has files on 2 and above */
    start(&request);
    struct process_end end = finish(&request);
    spawner_stop(spawner);
    spawner = kept;
    for (int i = 0; i < 3; i++)
        if (saved[i] >= 0) {
            dup2(saved[i], i);
            close(saved[i]);
        }
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(numbers[0], 0);
    ck_assert_int_eq(numbers[1], 1);
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_str_eq(help_read("out"), "o\n");
    ck_assert_str_eq(help_read("err"), "e\n");
}
END_TEST

/* The same with the two outputs crossed on 2 and 1. */
START_TEST(test_crossed_streams)
{
    struct spawn_request request = request_of(ARGV("sh", "-c", "echo o; echo e >&2"));
    int saved[2] = {fcntl(1, F_DUPFD_CLOEXEC, 50), fcntl(2, F_DUPFD_CLOEXEC, 50)};
    fflush(stdout);
    dup2(request.stdout_fd, 2);
    dup2(request.stderr_fd, 1);
    struct spawn_request crossed = request;
    crossed.stdout_fd = 2;
    crossed.stderr_fd = 1;
    start(&crossed);
    struct process_end end = finish(&crossed);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    close(request.stdout_fd);
    close(request.stderr_fd);
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_str_eq(help_read("out"), "o\n");
    ck_assert_str_eq(help_read("err"), "e\n");
}
END_TEST

START_TEST(test_environment_is_exact)
{
    struct spawn_request request = request_of(ARGV("env"));
    request.envp = ARGV("A=1", "B=two words", "EMPTY=");
    start(&request);
    ck_assert_int_eq(finish(&request).exit_code, 0);
    ck_assert_str_eq(help_read("out"), "A=1\nB=two words\nEMPTY=\n");
}
END_TEST

START_TEST(test_no_files_leak)
{
    int leaky = open("/dev/zero", O_RDONLY);
    int high = fcntl(leaky, F_DUPFD, 200);
    ck_assert_int_ge(high, 200);
    ck_assert_int_eq(run(ARGV("ls", "/proc/self/fd")).exit_code, 0);
    ck_assert_str_eq(help_read("out"), "0\n1\n2\n3\n"); /* 3 is the directory */
    close(leaky);
    close(high);
}
END_TEST

static void on_signal(int number)
{
    (void)number;
}

START_TEST(test_default_signals)
{
    sigset_t all, old;
    struct sigaction ignore = {.sa_handler = SIG_IGN},
                     handle = {.sa_handler = on_signal};
    sigfillset(&all);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGRTMAX, &ignore, NULL);
    sigaction(SIGTERM, &handle, NULL);
    sigprocmask(SIG_SETMASK, &all, &old);
    struct process_end end = run(ARGV("cat", "/proc/self/status"));
    sigprocmask(SIG_SETMASK, &old, NULL);
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_ptr_nonnull(strstr(help_read("out"), "SigBlk:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(help_read("out"), "SigIgn:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(help_read("out"), "SigCgt:\t0000000000000000\n"));
}
END_TEST

/* The caller's own signal handling is as it was. */
START_TEST(test_host_is_left_alone)
{
    struct sigaction handle = {.sa_handler = on_signal}, now;
    sigset_t mask;
    sigaction(SIGTERM, &handle, NULL);
    ck_assert_int_eq(run(ARGV("true")).exit_code, 0);
    sigaction(SIGTERM, NULL, &now);
    ck_assert(now.sa_handler == on_signal);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
}
END_TEST

START_TEST(test_running_process)
{
    int64_t boot = clock_boot_ns(), utc = clock_utc_ns();
    struct spawn_request request = request_of(ARGV("sleep", "1000"));
    start(&request);
    ck_assert_int_eq(request.error, 0);
    ck_assert_int_eq(slot.pid, request.pid);
    ck_assert_int_ge(slot.spawn_boot_ns, boot);
    ck_assert_int_ge(request.started_ns, utc);
    ck_assert_int_eq(getpgid(request.pid), request.pid);
    ck_assert_int_eq(fcntl(request.pidfd, F_GETFD), FD_CLOEXEC);
    struct process_end end;
    ck_assert_int_eq(process_reap(request.pid, request.pidfd, &slot, &end, &failure),
                     CAIRN_EIO);
    ck_assert_int_eq(slot.pid, request.pid); /* too early: nothing has changed */
    process_signal(request.pid, SIGTERM);
    end = finish(&request);
    ck_assert_int_eq(end.signal, SIGTERM);
}
END_TEST

/* kill(0) and kill(-1) would reach the tests themselves, and everybody. */
START_TEST(test_never_signals_everybody)
{
    process_signal(0, SIGKILL);
    process_signal(1, SIGKILL);
    process_signal(-1, SIGKILL);
}
END_TEST

START_TEST(test_reap_ends_the_group)
{
    ck_assert_int_eq(
        run_shell("trap '' TERM HUP; sleep 1000 & echo $!; (trap '' TERM; sleep 1000) "
                  "& echo $!")
            .exit_code,
        0);
    int first = 0, second = 0;
    ck_assert_int_eq(sscanf(help_read("out"), "%d %d", &first, &second), 2);
    help_until(!help_alive(first));
    help_until(!help_alive(second));
}
END_TEST

START_TEST(test_usage)
{
    struct process_end end = run(ARGV("true"));
    /* Less than this program itself uses cannot be told, so it is not claimed. */
    ck_assert_int_eq(end.peak_kib, 0);
    end = run(ARGV("dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"));
    ck_assert_int_eq(end.exit_code, 0);
    ck_assert_int_ge(end.peak_kib, 200 * 1024);
    ck_assert_int_lt(end.peak_kib, 300 * 1024);
    end = run_shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    ck_assert_int_gt(end.cpu_us, 0);
}
END_TEST

/* Two at a time, some of which fail: every descriptor and every zombie is gone. */
START_TEST(test_a_thousand)
{
    enum { TOTAL = 1000, WIDTH = 2 };
    struct spawn_request requests[WIDTH];
    struct slot slots[WIDTH];
    memset(slots, 0, sizeof slots);
    char *const *good = ARGV("/bin/true"), *const *bad = ARGV("/no/such");
    int fds = help_open_fds(), out = output("out");
    for (int i = 0; i < TOTAL; i += WIDTH) {
        for (int k = 0; k < WIDTH; k++) {
            requests[k] = (struct spawn_request){.argv = (i + k) % 10 == 0 ? bad : good,
                                                 .envp = no_env,
                                                 .stdout_fd = out,
                                                 .stderr_fd = -1,
                                                 .slot = &slots[k]};
            spawner_submit(spawner, &requests[k]);
        }
        for (int done = 0; done < WIDTH;) {
            ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
            for (struct spawn_request *got = spawner_collect(spawner); got; done++) {
                struct spawn_request *next = got->next;
                if (got->error)
                    ck_assert_int_eq(got->exit_code, 127);
                else
                    ck_assert_int_eq(finish(got).exit_code, 0);
                got = next;
            }
        }
    }
    close(out);
    ck_assert_int_eq(help_open_fds(), fds);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Requests come back in the order in which they were handed in. */
START_TEST(test_order)
{
    enum { N = 20 };
    static struct spawn_request requests[N];
    int next = 0;
    char *const *argv = ARGV("/bin/true");
    for (int i = 0; i < N; i++) {
        requests[i] = (struct spawn_request){
            .argv = argv, .envp = no_env, .stdout_fd = -1, .stderr_fd = -1};
        spawner_submit(spawner, &requests[i]);
    }
    while (next < N) {
        ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
        struct spawn_request *got = spawner_collect(spawner);
        while (got) {
            ck_assert_ptr_eq(got, &requests[next++]);
            struct spawn_request *after = got->next;
            ck_assert_int_eq(finish(got).exit_code, 0);
            got = after;
        }
    }
    ck_assert_ptr_null(spawner_collect(spawner));
    ck_assert(!help_readable(spawner_fd(spawner), 0));
}
END_TEST

/* The parent-death signal is tied to the spawner's thread. What is queued at the stop
 * is not started, and all requests are the caller's again. */
START_TEST(test_stop)
{
    struct spawn_request running = request_of(ARGV("sleep", "1000"));
    start(&running);
    static struct spawn_request queued[50];
    char *const *argv = ARGV("sleep", "1000");
    for (int i = 0; i < 50; i++) {
        queued[i] = (struct spawn_request){.argv = argv,
                                           .envp = no_env,
                                           .path = "/bin",
                                           .stdout_fd = -1,
                                           .stderr_fd = -1,
                                           .pidfd = -1};
        spawner_submit(spawner, &queued[i]);
    }
    spawner_stop(spawner);
    ck_assert_int_eq(finish(&running).signal, SIGKILL);
    int started = 0;
    for (int i = 0; i < 50; i++)
        if (queued[i].pidfd >= 0) {
            ck_assert_int_eq(finish(&queued[i]).signal, SIGKILL);
            started++;
        }
    ck_assert_int_lt(started, 50);
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
}
END_TEST

START_TEST(test_host_ignores_children)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGCHLD, &ignore, &old);
    struct spawn_request request = request_of(ARGV("true"));
    start(&request);
    ck_assert(help_readable(request.pidfd, PATIENCE_MS));
    struct process_end end = {.exit_code = 42};
    int pidfd = request.pidfd;
    ck_assert_int_eq(process_reap(request.pid, pidfd, &slot, &end, &failure),
                     CAIRN_EIO);
    sigaction(SIGCHLD, &old, NULL);
    ck_assert_int_eq(end.exit_code, 42);
    ck_assert_int_eq(slot.pid, 0);
    ck_assert_int_eq(fcntl(pidfd, F_GETFD), -1);
}
END_TEST

/* Makes every clone(CLONE_VFORK) of this process and its threads fail. */
static void refuse_vfork(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x4000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

START_TEST(test_clone_fails)
{
    spawner_stop(spawner);
    refuse_vfork();
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
    struct spawn_request request = request_of(ARGV("true"));
    expect_failure(&request, EAGAIN, -1, "clone");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spawn");
    TCase *tests = tcase_create("spawn");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_exit_codes);
    tcase_add_test(tests, test_death_by_signal);
    tcase_add_test(tests, test_not_found);
    tcase_add_test(tests, test_not_executable);
    tcase_add_test(tests, test_path_search);
    tcase_add_test(tests, test_working_directory);
    tcase_add_test(tests, test_arguments_too_long);
    tcase_add_test(tests, test_streams);
    tcase_add_test(tests, test_host_without_streams);
    tcase_add_test(tests, test_crossed_streams);
    tcase_add_test(tests, test_environment_is_exact);
    tcase_add_test(tests, test_no_files_leak);
    tcase_add_test(tests, test_default_signals);
    tcase_add_test(tests, test_host_is_left_alone);
    tcase_add_test(tests, test_running_process);
    tcase_add_test(tests, test_never_signals_everybody);
    tcase_add_test(tests, test_reap_ends_the_group);
    tcase_add_test(tests, test_usage);
    tcase_add_test(tests, test_a_thousand);
    tcase_add_test(tests, test_order);
    tcase_add_test(tests, test_stop);
    tcase_add_test(tests, test_host_ignores_children);
    tcase_add_test(tests, test_clone_fails); /* last: it cannot be undone */
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
