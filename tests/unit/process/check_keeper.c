/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Keepers: how tasks end under them, and who may start. */
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void refuse_memfd(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        exit(21);
}
START_TEST(test_status)
{
    int64_t before = clock_utc_ns();
    struct keeper_record record = run(ARGV("true"));
    expect(record, 0, 0);
    ck_assert(before <= record.started_ns && record.started_ns <= record.ended_ns &&
              record.ended_ns <= clock_utc_ns());
    ck_assert(!record.timed_out && !record.stopped);
    expect(run_shell("exit 7"), 7, 0);
    expect(run_shell("exit 255"), 255, 0);
    expect(run_shell("kill -TERM $$"), -1, SIGTERM);
    expect(run_shell("kill -KILL $$"), -1, SIGKILL);
    expect(run_shell("kill -SEGV $$"), -1, SIGSEGV);
    expect(run_shell("kill -64 $$"), -1, 64);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* The keeper's own end says the same, for who can wait for it. */
START_TEST(test_keeper_ends_likewise)
{
    static const char *const texts[] = {"exit 0", "exit 9", "kill -KILL $$",
                                        "kill -TERM $$"};
    static const int statuses[] = {0, 9 << 8, SIGKILL, SIGTERM};
    for (size_t i = 0; i < 4; i++) {
        struct work work;
        int status = -1;
        prepare(&work, help_dir, 0, ARGV("sh", "-c", texts[i]));
        struct keeper keeper = start(&work);
        ck_assert_int_eq(waitpid(keeper.pid, &status, 0), keeper.pid);
        ck_assert_int_eq(status, statuses[i]);
        /* Reaped by somebody else: the record tells all the same. */
        reap(&keeper, work.request.slot);
        ck_assert_int_eq(keeper.fate, KEEPER_ENDED);
        keeper_forget(&work.order.id);
    }
}
END_TEST

START_TEST(test_usage)
{
    struct keeper_record record =
        run(ARGV("dd", "if=/dev/zero", "of=/dev/null", "bs=50M", "count=3"));
    expect(record, 0, 0);
    ck_assert_int_ge(record.peak_kib, 50 * 1024);
    ck_assert_int_gt(record.cpu_us, 0);
}
END_TEST

static void expect_unexecuted(struct work *work, int sys, int exit_code,
                              const char *stage)
{
    struct keeper_record record = run_work(work);
    ck_assert_int_eq(record.error, sys);
    ck_assert_int_eq(record.exit_code, exit_code);
    ck_assert_int_eq(record.signal, 0);
    ck_assert_int_eq(record.pid, 0);
    ck_assert_str_eq(record.stage, stage);
}

START_TEST(test_unexecuted)
{
    struct work work;
    help_write("plain", "#!/bin/sh\n", 0600);
    prepare(&work, help_dir, 0, ARGV("no-such-command-here"));
    expect_unexecuted(&work, ENOENT, 127, "exec");
    prepare(&work, help_dir, 0, ARGV(help_path("plain")));
    expect_unexecuted(&work, EACCES, 126, "exec");
    prepare(&work, help_dir, 0, ARGV("true"));
    work.request.cwd = "/no/such/directory";
    expect_unexecuted(&work, ENOENT, -1, "chdir");
    static char variable[128 * 1024 + 1] = "LONG=";
    memset(variable + 5, 'x', sizeof variable - 6);
    prepare(&work, help_dir, 0, ARGV("true"));
    work.env[2] = variable;
    expect_unexecuted(&work, E2BIG, 126, "exec");
    variable[sizeof variable - 2] = 0; /* one byte less is allowed */
    expect(run_work(&work), 0, 0);
}
END_TEST

/* Nothing of the keeper shows in the task, nothing of the task acts on the keeper. */
START_TEST(test_surroundings)
{
    struct capture capture;
    struct captured captured;
    struct work work;
    char expected[600];
    prepare(
        &work, help_dir, 3,
        ARGV("sh", "-c",
             "pwd; readlink /proc/self/fd/0; "
             "env | grep -E '^(CAIRN_|LD_|PATH)' | sort; ls "
             "/proc/self/fd; cat /proc/self/status | grep -E 'Sig(Blk|Ign|Cgt)'; "
             "[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo group; cat; echo e >&2"));
    work.env[2] = "LD_LIBRARY_PATH=/no/such";
    ck_assert_int_eq(capture_attempt_create(&capture, &work.order.id, false, &failure),
                     0);
    work.request.stdout_fd = capture.fd[0];
    work.request.stderr_fd = capture.fd[1];
    work.request.cwd = "/usr";
    struct keeper keeper = start(&work);
    reap(&keeper, work.request.slot);
    ck_assert_int_eq(keeper.record.exit_code, 0);
    ck_assert_int_eq(capture_read(capture.fd[0], 1 << 20, &captured, &failure), 0);
    snprintf(expected, sizeof expected,
             "/usr\n/dev/null\nCAIRN_TOKEN=%s\nLD_LIBRARY_PATH=/no/such\n"
             "PATH=/usr/bin:/bin\n0\n1\n2\n3\nSigBlk:\t0000000000000000\n"
             "SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\ngroup\n",
             work.token);
    ck_assert_str_eq(captured.content.data, expected);
    buf_release(&captured.content);
    ck_assert_int_eq(capture_read(capture.fd[1], 1 << 20, &captured, &failure), 0);
    ck_assert_str_eq(captured.content.data, "e\n");
    buf_release(&captured.content);
    capture_close(&capture);
    keeper_forget(&work.order.id);
}
END_TEST

static const char *keeper_text(pid_t pid, const char *name, ssize_t *size)
{
    static char text[4096];
    int fd = proc_open(pid, name);
    ck_assert_int_ge(fd, 0);
    memset(text, 0, sizeof text);
    *size = read(fd, text, sizeof text - 1);
    close(fd);
    return text;
}

START_TEST(test_keeper_shows_no_secrets)
{
    struct work work;
    ssize_t size;
    prepare(&work, help_dir, 0,
            ARGV("sh", "-c", "touch $1/up; sleep 100", "sh", help_dir));
    work.env[2] = "PASSWORD=planted";
    struct keeper keeper = start(&work);
    help_until(access(help_path("up"), F_OK) == 0);
    ck_assert_str_eq(keeper_text(keeper.pid, "environ", &size), work.variable);
    ck_assert_int_eq(size, (ssize_t)strlen(work.variable) + 1);
    ck_assert_str_eq(keeper_text(keeper.pid, "cmdline", &size), KEEP_PROGRAM);
    ck_assert_int_eq(size, (ssize_t)(sizeof KEEP_PROGRAM + strlen(work.token) + 1));
    ck_assert_str_eq(keeper_text(keeper.pid, "comm", &size), KEEP_PROGRAM "\n");
    ck_assert_int_eq(getsid(keeper.pid), keeper.pid);
    /* It holds neither the output nor a directory. */
    for (int fd = 0; fd < 100; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)keeper.pid, fd);
        help_until(fd > 2 || (readlink(path, target, sizeof target) == 9 &&
                              memcmp(target, "/dev/null", 9) == 0));
    }
    keeper_signal(&keeper, KEEPER_KILL);
    reap(&keeper, work.request.slot);
    ck_assert_int_eq(keeper.record.signal, SIGKILL);
    ck_assert(keeper.record.stopped);
}
END_TEST

START_TEST(test_time_limit)
{
    struct work work;
    struct keeper_record record;
    prepare(&work, help_dir, 0, ARGV("sleep", "100"));
    work.order.timeout_ms = 50;
    record = run_work(&work);
    expect(record, -1, SIGTERM);
    ck_assert(record.timed_out && !record.stopped);

    prepare(&work, help_dir, 0,
            ARGV("sh", "-c", "trap 'exit 3' TERM; sleep 100 & wait"));
    work.order.timeout_ms = 200;
    record = run_work(&work);
    expect(record, 3, 0);
    ck_assert(record.timed_out);

    prepare(&work, help_dir, 0, ARGV("sh", "-c", "trap '' TERM; sleep 100; sleep 100"));
    work.order.timeout_ms = 50;
    work.order.grace_ms = 50;
    record = run_work(&work);
    expect(record, -1, SIGKILL);
    ck_assert(record.timed_out);

    prepare(&work, help_dir, 0, ARGV("true"));
    work.order.timeout_ms = INT64_MAX;
    work.order.grace_ms = INT64_MAX;
    expect(run_work(&work), 0, 0);
}
END_TEST

/* Keepers and tasks that are stopped are continued. */
START_TEST(test_stop)
{
    struct work work;
    prepare(&work, help_dir, 0,
            ARGV("sh", "-c",
                 "trap 'exit 4' TERM; touch $1/up; kill -STOP $$; sleep 100", "sh",
                 help_dir));
    struct keeper keeper = start(&work);
    help_until(access(help_path("up"), F_OK) == 0);
    kill(keeper.pid, SIGSTOP);
    keeper_signal(&keeper, KEEPER_STOP);
    reap(&keeper, work.request.slot);
    expect(keeper.record, 4, 0);
    ck_assert(keeper.record.stopped && !keeper.record.timed_out);
    keeper_forget(&work.order.id);
    /* At once, although it was asked politely before. */
    unlink(help_path("up"));
    prepare(&work, help_dir, 1,
            ARGV("sh", "-c", "trap '' TERM; touch $1/up; sleep 100; sleep 100", "sh",
                 help_dir));
    keeper = start(&work);
    help_until(access(help_path("up"), F_OK) == 0);
    keeper_signal(&keeper, KEEPER_STOP);
    ck_assert(!help_readable(keeper.pidfd, 30));
    ck_assert_int_eq(keeper_reap(&keeper, NULL, &failure), CAIRN_EIO);
    keeper_signal(&keeper, KEEPER_KILL);
    reap(&keeper, work.request.slot);
    expect(keeper.record, -1, SIGKILL);
    ck_assert(keeper.record.stopped);
}
END_TEST

START_TEST(test_the_group_ends_with_the_task)
{
    expect(run_shell("(trap '' TERM; sleep 100) & sleep 100 & exit 5"), 5, 0);
    help_until(help_count(run_token) == 0);
}
END_TEST

START_TEST(test_requests_that_fail)
{
    struct work work;
    int fds = help_open_fds();
    prepare(&work, help_path("missing"), 0, ARGV("true"));
    submit(&work);
    ck_assert_int_eq(work.request.error, ENOENT);
    ck_assert_int_eq(work.request.exit_code, -1);
    ck_assert_str_eq(work.request.stage, "live");
    ck_assert_int_eq(work.request.pidfd, -1);
    ck_assert_int_eq(map.slots->slot[0].pid, 0);
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

/* As on a full disk: a file of this size cannot be written. */
START_TEST(test_no_room_for_the_claim)
{
    struct work work;
    struct rlimit old, small;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    expect(run(ARGV("true")), 0, 0); /* has made the program's file */
    sigaction(SIGXFSZ, &ignore, NULL);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = KEEP_BYTES - 1;
    prepare(&work, help_dir, 1, ARGV("touch", help_path("effect")));
    setrlimit(RLIMIT_FSIZE, &small); /* no assertions: they write a file, too */
    spawner_submit(spawner, &work.request);
    (void)help_readable(spawner_fd(spawner), PATIENCE_MS);
    (void)spawner_collect(spawner);
    struct keeper keeper = keeper_of(&work.request);
    (void)help_readable(keeper.pidfd, PATIENCE_MS);
    int code = keeper_reap(&keeper, work.request.slot, &failure);
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(keeper.fate, KEEPER_NEVER);
    ck_assert_int_eq(keeper.error, EFBIG);
    ck_assert_int_ne(access(help_path("effect"), F_OK), 0);
}
END_TEST

/* Its file is removed under it: then it is believed by how it exits. */
START_TEST(test_file_removed)
{
    struct work work;
    for (int way = 0; way < 2; way++) {
        prepare(&work, help_dir, 0,
                ARGV("sh", "-c",
                     way ? "rm $1/run-7.*; kill -KILL $PPID; sleep 100"
                         : "rm $1/run-7.*; exit 2",
                     "sh", help_dir));
        struct keeper keeper = start(&work);
        reap(&keeper, work.request.slot);
        ck_assert_int_eq(keeper.fate, way ? KEEPER_LOST : KEEPER_ENDED);
        ck_assert_int_eq(keeper.record.exit_code, way ? 0 : 2);
        slots_close(&map, false);
        ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, TASKS, &failure),
                         0);
    }
}
END_TEST

START_TEST(test_keeper_killed)
{
    struct work work;
    int bare = 0;
    prepare(&work, help_dir, 0, ARGV("sh", "-c", go_text, "sh", "0", help_dir));
    struct keeper keeper = start(&work), seen;
    help_until(access(help_path("up.0"), F_OK) == 0);
    ck_assert_int_eq(sscanf(help_read("up.0"), "%*d %d", &bare), 1);
    ck_assert(help_alive(bare));
    kill(keeper.pid, SIGKILL);
    reap(&keeper, work.request.slot);
    ck_assert_int_eq(keeper.fate, KEEPER_LOST);
    ck_assert(!keeper.damaged);
    ck_assert(!help_alive(bare)); /* without a token: by its session */
    ck_assert_int_eq(help_count(run_token), 0);
    ck_assert_int_eq(keeper_look(&seen, &work.order.id, store_id, &failure), 0);
    ck_assert_int_eq(seen.fate, KEEPER_LOST);
}
END_TEST

/* ---- Contests ---- */

/* Both orders, and at the same time: 200 attempts, each starts once or not at all. */
START_TEST(test_contest)
{
    enum { ROUNDS = 200 };
    unsigned seed = (unsigned)random_u64();
    int barred = 0, started = 0;
    printf("# seed %u\n", seed);
    for (int i = 0; i < ROUNDS; i++) {
        struct work work;
        struct keeper keeper, again;
        int way = i % 4;
        prepare(&work, help_dir, 0,
                ARGV("sh", "-c", "echo x >>$1/effects; exit 9", "sh", help_dir));
        number_attempt(&work, (uint32_t)i + 1);
        int bar = -1;
        if (way == 0)
            bar = keeper_revoke(&work.order.id, &failure);
        keeper = start(&work);
        if (way == 1)
            ck_assert(help_readable(keeper.pidfd, PATIENCE_MS));
        if (way >= 2) {
            struct timespec pause = {0, way == 2 ? 0 : rand_r(&seed) % 4000000};
            nanosleep(&pause, NULL);
        }
        if (way != 0)
            bar = keeper_revoke(&work.order.id, &failure);
        ck_assert_msg(bar >= 0, "%s", failure.text);
        reap(&keeper, work.request.slot);
        bool ran = access(help_path("effects"), F_OK) == 0;
        ck_assert_int_eq(bar, !ran);
        ck_assert_int_eq(keeper.fate, ran ? KEEPER_ENDED : KEEPER_NEVER);
        if (ran) {
            ck_assert_str_eq(help_read("effects"), "x\n");
            ck_assert_int_eq(keeper.record.exit_code, 9);
            unlink(help_path("effects"));
        } else
            ck_assert_int_eq(keeper.error, EEXIST);
        ck_assert(way > 1 || ran == (way == 1));
        /* Whoever asks again hears the same. */
        ck_assert_int_eq(keeper_revoke(&work.order.id, &failure), bar);
        ck_assert_int_eq(keeper_look(&again, &work.order.id, store_id, &failure), 0);
        ck_assert_int_eq(again.fate, keeper.fate);
        barred += bar;
        started += ran;
    }
    printf("# %d barred, %d started\n", barred, started);
    ck_assert_int_eq(barred + started, ROUNDS);
    /* No half-made claim is left. */
    DIR *dir = opendir(help_dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        ck_assert_msg(!strstr(entry->d_name, ".keep."), "%s", entry->d_name);
    closedir(dir);
}
END_TEST

/* The bar of an attempt is forgotten as soon as that was recorded. A keeper that comes
 * to its claim only then must not start it all the same. */
START_TEST(test_late_for_its_room)
{
    enum { ROUNDS = 200 };
    int barred = 0;
    unsigned seed = 5;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct work work;
        struct timespec pause = {0, i % 2 ? rand_r(&seed) % 2000000 : 0};
        prepare(&work, help_dir, 0, ARGV("touch", help_path("effects")));
        number_attempt(&work, i + 1);
        struct keeper keeper = start(&work);
        nanosleep(&pause, NULL);
        ck_assert_int_eq(keepers_close_epochs(help_dir, RUN, &failure), 0);
        int bar = keeper_revoke(&work.order.id, &failure);
        ck_assert_msg(bar >= 0, "%s", failure.text);
        if (bar)
            keeper_forget(&work.order.id);
        reap(&keeper, work.request.slot);
        bool ran = access(help_path("effects"), F_OK) == 0;
        ck_assert_int_eq(bar, !ran);
        ck_assert_int_eq(keeper.fate, ran ? KEEPER_ENDED : KEEPER_NEVER);
        if (ran)
            unlink(help_path("effects"));
        barred += bar;
    }
    printf("# %d of %d were late\n", barred, ROUNDS);
    ck_assert_int_gt(barred, 0);
    forget_all();
    DIR *dir = opendir(help_dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        ck_assert_msg(strncmp(entry->d_name, "run-", 4) != 0 ||
                          strstr(entry->d_name, ".slots"),
                      "%s is left", entry->d_name);
    closedir(dir);
}
END_TEST

START_TEST(test_a_second_keeper_does_not_start)
{
    struct work first, second;
    prepare(&first, help_dir, 0,
            ARGV("sh", "-c", "touch $1/up; sleep 100", "sh", help_dir));
    struct keeper one = start(&first);
    help_until(access(help_path("up"), F_OK) == 0);
    prepare(&second, help_dir, 0, ARGV("touch", help_path("twice")));
    second.request.slot = &map.slots->slot[1];
    struct keeper two = start(&second);
    reap(&two, second.request.slot);
    ck_assert_int_eq(two.fate, KEEPER_NEVER);
    ck_assert_int_eq(two.error, EEXIST);
    ck_assert_int_ne(access(help_path("twice"), F_OK), 0);
    ck_assert(help_alive(one.pid));
    keeper_signal(&one, KEEPER_KILL);
    reap(&one, first.request.slot);
}
END_TEST

/* A keeper outlives the spawner, which does not wait for it. */
START_TEST(test_spawner_stops)
{
    struct keeper keeper = start_up();
    spawner_stop(spawner);
    ck_assert(!help_readable(keeper.pidfd, 30));
    stop_up(&keeper);
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
}
END_TEST

START_TEST(test_slot_without_a_keeper_again)
{
    struct work work;
    struct process_end end;
    expect(run(ARGV("true")), 0, 0);
    prepare(&work, help_dir, 0, ARGV("sh", "-c", "exit 6"));
    work.request.keep = NULL;
    submit(&work);
    ck_assert_uint_eq(map.slots->slot[0].flags, 0);
    ck_assert(help_readable(work.request.pidfd, PATIENCE_MS));
    ck_assert_int_eq(process_reap(work.request.pid, work.request.pidfd,
                                  work.request.slot, &end, &failure),
                     0);
    ck_assert_int_eq(end.exit_code, 6);
}
END_TEST

/* Last in its process: it cannot be undone. */
START_TEST(test_without_memory_files)
{
    struct work work;
    static char variable[100 * 1024] = "LONG=";
    memset(variable + 5, 'x', sizeof variable - 6);
    refuse_memfd();
    int fds = help_open_fds();
    for (int i = 0; i < 3; i++) {
        prepare(&work, help_dir, 0, ARGV("sh", "-c", "exit ${#LONG}; exit 3"));
        work.request.argv = ARGV("sh", "-c", "[ ${#LONG} = 102394 ] && exit 3");
        work.env[2] = variable;
        expect(run_work(&work), 3, 0);
    }
    ck_assert_int_eq(help_open_fds(), fds + 1); /* the spawner's, for the program */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keeper");
    TCase *tests = tcase_create("keeper");
    tcase_add_checked_fixture(tests, setup_own, teardown_own);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_status);
    tcase_add_test(tests, test_keeper_ends_likewise);
    tcase_add_test(tests, test_usage);
    tcase_add_test(tests, test_unexecuted);
    tcase_add_test(tests, test_surroundings);
    tcase_add_test(tests, test_keeper_shows_no_secrets);
    tcase_add_test(tests, test_time_limit);
    tcase_add_test(tests, test_stop);
    tcase_add_test(tests, test_the_group_ends_with_the_task);
    tcase_add_test(tests, test_requests_that_fail);
    tcase_add_test(tests, test_no_room_for_the_claim);
    tcase_add_test(tests, test_file_removed);
    tcase_add_test(tests, test_keeper_killed);
    tcase_add_test(tests, test_contest);
    tcase_add_test(tests, test_late_for_its_room);
    tcase_add_test(tests, test_a_second_keeper_does_not_start);
    tcase_add_test(tests, test_spawner_stops);
    tcase_add_test(tests, test_slot_without_a_keeper_again);
    tcase_add_test(tests, test_without_memory_files);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
