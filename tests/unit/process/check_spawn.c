/* SPDX-License-Identifier: MIT */
/* Starting processes and collecting their end. */
#include "process/reap.h"
#include "process/spawner.h"

#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Lives as long as the block that it stands in. */
#define ARGV(...) strings((const char *const[]){__VA_ARGS__, NULL})

/* exec and its like take strings that they promise not to change. */
static char *const *strings(const char *const *texts)
{
    char *const *same;
    memcpy(&same, &texts, sizeof same);
    return same;
}

static struct spawner *spawner;
static struct slot slot;
static struct cairn_error failure;

static char *const no_env[] = {NULL};

static void setup(void)
{
    help_make_dir();
    memset(&slot, 0, sizeof slot);
    ck_assert_int_eq(spawner_start(&spawner, 0, &failure), 0);
}

static void teardown(void)
{
    spawner_stop(spawner);
    help_remove_dir();
}

static int output(const char *name)
{
    int fd =
        open(help_path(name), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* A request with outputs "out" and "err" in the test's directory. */
static struct spawn_request request_of(char *const *argv)
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

static void start(struct spawn_request *request)
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

static struct process_end finish(struct spawn_request *request)
{
    struct process_end end = {-9, -9, -9, -9};
    ck_assert_int_gt(request->pid, 1);
    ck_assert(help_readable(request->pidfd, PATIENCE_MS));
    ck_assert_int_eq(
        process_reap(request->pid, request->pidfd, request->slot, &end, &failure), 0);
    if (request->slot)
        ck_assert_int_eq(request->slot->pid, 0);
    return end;
}

static struct process_end run(char *const *argv)
{
    struct spawn_request request = request_of(argv);
    start(&request);
    ck_assert_msg(!request.error, "%s: %s", request.stage, strerror(request.error));
    return finish(&request);
}

static struct process_end run_shell(const char *text)
{
    return run(ARGV("sh", "-c", text));
}

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
    int code = spawner_start(&spawner, 0, &failure); /* has files on 2 and above */
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
    ck_assert_int_eq(spawner_start(&spawner, 0, &failure), 0);
}
END_TEST

/* What came back since limit_to, in order: first as started or failed, then as ended.
 */
static struct spawn_request *started[200], *ended[200];
static int n_started, n_ended;

static void limit_to(uint32_t n)
{
    spawner_stop(spawner);
    ck_assert_int_eq(spawner_start(&spawner, n, &failure), 0);
    n_started = n_ended = 0;
}

static void note_news(void)
{
    for (struct spawn_request *at = spawner_collect(spawner); at; at = at->next) {
        ck_assert(at->ended || !at->context); /* nothing twice */
        if (!at->context)
            started[n_started++] = at;
        at->context = at;
        if (at->ended)
            ended[n_ended++] = at;
    }
}

static void expect_news(int all_started, int all_ended)
{
    while (n_started < all_started || n_ended < all_ended) {
        ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
        note_news();
    }
    ck_assert_int_eq(n_started, all_started);
    ck_assert_int_eq(n_ended, all_ended);
}

/* Only so many live at once; the place of one that ended is filled before the caller
 * has reaped it; what waits can be had back. */
START_TEST(test_limit_and_recall)
{
    enum { N = 6, LIMIT = 2 };
    static struct spawn_request requests[N];
    char *const *argv = ARGV("/bin/sleep", "1000");
    int fds = help_open_fds();
    limit_to(LIMIT);
    for (int i = 0; i < N; i++) {
        requests[i] = (struct spawn_request){.argv = argv,
                                             .envp = no_env,
                                             .stdout_fd = -1,
                                             .stderr_fd = -1,
                                             .ahead = SPAWN_AHEAD,
                                             .may_recall = true};
        spawner_submit(spawner, &requests[i]);
    }
    expect_news(LIMIT, 0);
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    process_signal(started[0]->pid, SIGKILL);
    expect_news(LIMIT + 1, 1);
    ck_assert_ptr_eq(started[LIMIT], &requests[LIMIT]);
    ck_assert_ptr_eq(ended[0], started[0]);
    ck_assert_int_ge(ended[0]->ended_ns, ended[0]->started_ns);
    /* The unreaped one is not counted down again and again. */
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    spawner_recall(spawner);
    expect_news(N, 1);
    for (int i = LIMIT + 1; i < N; i++) {
        ck_assert_ptr_eq(started[i], &requests[i]);
        ck_assert_int_eq(started[i]->error, ECANCELED);
        ck_assert_int_eq(started[i]->pidfd, -1);
    }
    for (int i = 0; i <= LIMIT; i++) {
        process_signal(started[i]->pid, SIGKILL);
        ck_assert_int_eq(finish(started[i]).signal, SIGKILL);
    }
    spawner_stop(spawner);
    ck_assert_int_eq(spawner_start(&spawner, 0, &failure), 0);
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

static struct spawn_request many[200];

static void submit_many(int n, char *const *argv, enum spawn_ahead ahead)
{
    for (int i = 0; i < n; i++) {
        many[i] = (struct spawn_request){.argv = argv,
                                         .envp = no_env,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .ahead = ahead,
                                         .ticket = (uint64_t)i};
        spawner_submit(spawner, &many[i]);
    }
}

/* The threads share a limit that is no multiple of their number: all of it is used, and
 * a place that the caller must free is filled whichever thread it belongs to. */
START_TEST(test_shared_limit)
{
    enum { N = 10, LIMIT = 5 };
    limit_to(LIMIT);
    submit_many(N, ARGV("/bin/sleep", "1000"), SPAWN_AFTER_CALLER);
    expect_news(LIMIT, 0);
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    for (int i = 0; i < LIMIT; i++)
        process_signal(started[i]->pid, SIGKILL);
    expect_news(LIMIT, LIMIT);
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    for (int i = LIMIT - 1; i >= 0; i--) {
        spawner_go_on(spawner, started[i]->ticket);
        expect_news(N - i, LIMIT);
    }
    for (int i = 0; i < N; i++) {
        process_signal(started[i]->pid, SIGKILL);
        finish(started[i]);
    }
}
END_TEST

/* Never more than the limit, and nothing that waits is forgotten. */
START_TEST(test_many_behind_a_limit)
{
    for (uint32_t limit = 1; limit <= 7; limit += 3) {
        limit_to(limit);
        submit_many(200, ARGV("/bin/true"), SPAWN_AHEAD_IF_GOOD);
        while (n_ended < 200) {
            ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
            note_news();
            ck_assert_int_le(n_started - n_ended, (int)limit);
        }
        for (int i = 0; i < 200; i++)
            finish(ended[i]);
    }
}
END_TEST

/* Descriptors for one thread of several: that one does everything. */
START_TEST(test_few_descriptors)
{
    enum { ONE_NEEDS = 4 };
    struct rlimit before, few;
    spawner_stop(spawner);
    spawner = NULL;
    int next = dup(0);
    ck_assert_int_ge(next, 0);
    ck_assert_int_eq(close(next), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + ONE_NEEDS;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    limit_to(8);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    submit_many(20, ARGV("/bin/true"), SPAWN_AHEAD);
    expect_news(20, 20);
    for (int i = 0; i < 20; i++)
        finish(ended[i]);
    spawner_stop(spawner);
    few.rlim_cur = (rlim_t)next + ONE_NEEDS - 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_int_eq(spawner_start(&spawner, 8, &failure), CAIRN_EIO);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(spawner_start(&spawner, 0, &failure), 0);
}
END_TEST

/* What waits with a limit of one, behind a shell that ends as `script` says. */
static struct spawn_request behind[2];
static const char *outputs; /* of the first one */

static void start_behind(const char *script, enum spawn_ahead ahead, const char *quiet)
{
    static char shell[] = "/bin/sh", flag[] = "-c", true_path[] = "/bin/true";
    static char *argv[] = {shell, flag, NULL, NULL}, *quick[] = {true_path, NULL};
    limit_to(1);
    argv[2] = (char *)(uintptr_t)script;
    for (uint64_t i = 0; i < 2; i++) {
        behind[i] = (struct spawn_request){.argv = i ? quick : argv,
                                           .envp = no_env,
                                           .stdout_fd = -1,
                                           .stderr_fd = -1,
                                           .ahead = ahead,
                                           .quiet_file = quiet,
                                           .outputs = i ? NULL : outputs,
                                           .ticket = i + 1};
        spawner_submit(spawner, &behind[i]);
    }
}

static void expect_behind(bool at_once)
{
    if (!at_once) {
        expect_news(1, 1);
        ck_assert(!help_readable(spawner_fd(spawner), 50));
        spawner_recall(spawner); /* nothing that may be recalled is there */
        ck_assert_ptr_null(spawner_collect(spawner));
        spawner_go_on(spawner, 99);
        ck_assert(!help_readable(spawner_fd(spawner), 20));
        spawner_go_on(spawner, 1);
    }
    expect_news(2, 2);
    ck_assert_ptr_eq(started[1], &behind[1]);
    for (int i = 0; i < 2; i++)
        finish(started[i]);
    spawner_go_on(spawner, 2);
}

/* Whether the next one may start before the caller has looked at the end. */
START_TEST(test_ahead)
{
    help_write("quiet", "", 0600);
    start_behind("exit 0", SPAWN_AFTER_CALLER, NULL);
    expect_behind(false);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(true);
    start_behind("exit 3", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(false);
    start_behind("kill -9 $$", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(false);
    start_behind("exit 3", SPAWN_AHEAD, NULL);
    expect_behind(true);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, help_path("quiet"));
    expect_behind(true);
}
END_TEST

START_TEST(test_ahead_said_something)
{
    help_write("loud", "x", 0600);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, help_path("loud"));
    expect_behind(false);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, help_path("missing"));
    expect_behind(false);
}
END_TEST

START_TEST(test_ahead_with_outputs)
{
    static char paths[600];
    size_t one = (size_t)snprintf(paths, 300, "%s", help_path("first")) + 1;
    snprintf(paths + one, 300 - 1, "%s", help_path("second"));
    outputs = paths;
    help_write("first", "", 0600);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(false); /* the second is missing */
    help_write("second", "x", 0600);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(true);
    start_behind("exit 1", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(false);
    ck_assert_int_eq(unlink(help_path("second")), 0);
    ck_assert_int_eq(symlink("/", help_path("second")), 0);
    start_behind("exit 0", SPAWN_AHEAD_IF_GOOD, NULL);
    expect_behind(false); /* a directory: the caller looks into it */
    outputs = NULL;
}
END_TEST

/* One that could not start is a failure that the caller looks at, too. */
static void expect_none(enum spawn_ahead ahead)
{
    struct spawn_request missing = {.argv = ARGV("/nowhere/nothing"),
                                    .envp = no_env,
                                    .stdout_fd = -1,
                                    .stderr_fd = -1,
                                    .ahead = ahead,
                                    .ticket = 1};
    struct spawn_request next = missing;
    next.argv = ARGV("/bin/true");
    next.ticket = 2;
    limit_to(1);
    spawner_submit(spawner, &missing);
    expect_news(1, 0);
    ck_assert_int_eq(missing.error, ENOENT);
    spawner_submit(spawner, &next);
    if (ahead != SPAWN_AHEAD) {
        ck_assert(!help_readable(spawner_fd(spawner), 30));
        spawner_go_on(spawner, 1);
    }
    expect_news(2, 1);
    finish(&next);
}

START_TEST(test_ahead_of_none)
{
    expect_none(SPAWN_AFTER_CALLER);
    expect_none(SPAWN_AHEAD_IF_GOOD);
    expect_none(SPAWN_AHEAD);
}
END_TEST

/* The slot tells of a start whoever rests. */
static void wait_until_started(void)
{
    help_until(atomic_load(&slot.pid));
}

static void submit_three(enum spawner_rest rest, uint32_t low)
{
    static struct spawn_request three[3];
    limit_to(1);
    spawner_rest(spawner, rest, low);
    for (uint64_t i = 0; i < 3; i++) {
        three[i] = (struct spawn_request){.argv = ARGV("/bin/true"),
                                          .envp = no_env,
                                          .stdout_fd = -1,
                                          .stderr_fd = -1,
                                          .slot = i == 2 ? &slot : NULL,
                                          .ahead = SPAWN_AHEAD_IF_GOOD,
                                          .ticket = i + 1};
        spawner_submit(spawner, &three[i]);
    }
    wait_until_started();
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)slot.pid, &info, WEXITED | WNOWAIT), 0);
}

/* A caller that rests hears of all at once, when it looks or must be woken. */
START_TEST(test_rest)
{
    submit_three(REST_ENDS, 0);
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    note_news();
    ck_assert_int_ge(n_ended, 2); /* the third has started since, and may be late */
    expect_news(3, 3);
    for (int i = 0; i < 3; i++)
        finish(started[i]);
    submit_three(REST_ENDS, 1); /* fewer are left at last */
    expect_news(3, 3);
    for (int i = 0; i < 3; i++)
        finish(started[i]);
    submit_three(REST_STARTS, 0); /* an end wakes it */
    expect_news(3, 3);
    for (int i = 0; i < 3; i++)
        finish(started[i]);
}
END_TEST

START_TEST(test_rest_is_broken)
{
    static struct spawn_request sleeper;
    sleeper = (struct spawn_request){.argv = ARGV("/bin/sleep", "1000"),
                                     .envp = no_env,
                                     .stdout_fd = -1,
                                     .stderr_fd = -1,
                                     .slot = &slot,
                                     .ahead = SPAWN_AHEAD_IF_GOOD,
                                     .ticket = 1};
    limit_to(1);
    spawner_rest(spawner, REST_ENDS, 0);
    spawner_submit(spawner, &sleeper);
    wait_until_started();
    ck_assert(!help_readable(spawner_fd(spawner), 30));
    process_signal(slot.pid, SIGKILL); /* its place stays taken */
    expect_news(1, 1);
    ck_assert_int_eq(finish(&sleeper).signal, SIGKILL);
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
    ck_assert_int_eq(spawner_start(&spawner, 0, &failure), 0);
    struct spawn_request request = request_of(ARGV("true"));
    expect_failure(&request, EAGAIN, -1, "clone");
}
END_TEST

static void add_tests(TCase *tests)
{
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
    tcase_add_test(tests, test_limit_and_recall);
    tcase_add_test(tests, test_shared_limit);
    tcase_add_test(tests, test_many_behind_a_limit);
    tcase_add_test(tests, test_few_descriptors);
    tcase_add_test(tests, test_ahead);
    tcase_add_test(tests, test_ahead_said_something);
    tcase_add_test(tests, test_ahead_with_outputs);
    tcase_add_test(tests, test_ahead_of_none);
    tcase_add_test(tests, test_rest);
    tcase_add_test(tests, test_rest_is_broken);
    tcase_add_test(tests, test_host_ignores_children);
    tcase_add_test(tests, test_clone_fails); /* last: it cannot be undone */
}

int main(void)
{
    Suite *suite = suite_create("spawn");
    TCase *tests = tcase_create("spawn");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    add_tests(tests);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
