/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* The guard. "Engines" are this very program, started with the argument `engine`; they
 * are killed, and nothing that they started may live on. */
#include "process/guard.h"
#include "process/leftovers.h"
#include "process/spawner.h"

#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { RUN = 7, SLOTS = 6 };

static char store_id[40];
static char run_token[80]; /* "<store id>.7" */
static struct slot_map map;
static struct guard guard;
static struct cairn_error failure;

static char *const *strings(const char *const *texts)
{
    char *const *same;
    memcpy(&same, &texts, sizeof same);
    return same;
}

/* ---- The engine's side ---- */

/* A task's shell: one child that obeys, one that ignores TERM, one without environment,
 * and one in a session of its own. They report before the shell does. */
static const char task_text[] = "echo up >&2; "
                                "sleep 1000 & "
                                "(trap '' TERM INT HUP; echo up >&2; sleep 1000) & "
                                "env -i sh -c 'echo up >&2; sleep 1000' & "
                                "setsid sh -c 'echo up >&2; sleep 1000; :' & "
                                "trap '' TERM; wait; sleep 1000";
enum { TASK_UPS = 4 };

struct task {
    struct spawn_request request;
    char token[160];
    const char *env[3];
};

static void submit_task(struct spawner *spawner, struct task *task, const char *text,
                        uint32_t number, int fd)
{
    static const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    argv[2] = text;
    snprintf(task->token, sizeof task->token, "CAIRN_TOKEN=%s.%u.1", map.slots->token,
             number);
    task->env[0] = "PATH=/usr/bin:/bin";
    task->env[1] = task->token;
    task->env[2] = NULL;
    task->request = (struct spawn_request){.argv = strings(argv),
                                           .envp = strings(task->env),
                                           .stdout_fd = fd,
                                           .stderr_fd = fd,
                                           .slot = &map.slots->slot[number],
                                           .slots = &map};
    spawner_submit(spawner, &task->request);
}

static int count_lines(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC), lines = 0;
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    for (ssize_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    if (fd >= 0)
        close(fd);
    return lines;
}

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

/* Spawns one task after the other, each with a child that survives it. */
static void storm(struct spawner *spawner, int fd)
{
    static struct task tasks[SLOTS];
    for (uint32_t i = 0; i < SLOTS; i++)
        submit_task(spawner, &tasks[i], "sleep 1000 & setsid sleep 1000 &", i, fd);
    for (;;) {
        if (!help_readable(spawner_fd(spawner), 10))
            continue;
        struct spawn_request *got = spawner_collect(spawner);
        while (got) {
            struct spawn_request *next = got->next;
            struct process_end end;
            (void)help_readable(got->pidfd, -1);
            if (process_reap(got->pid, got->pidfd, got->slot, &end, NULL))
                exit(22);
            spawner_submit(spawner, got);
            got = next;
        }
    }
}

/* engine DIR STORE MODE: says "PID-OF-GUARD\n" on stdout when it is up; never ends. */
static int engine(char **argv)
{
    const char *dir = argv[0], *mode = argv[2];
    char path[512];
    struct spawner *spawner;
    static struct task tasks[SLOTS];
    if (strcmp(mode, "no-memfd") == 0)
        refuse_memfd();
    if (slots_create(&map, dir, argv[1], RUN, SLOTS, NULL) ||
        guard_start(&guard, &map, NULL) || spawner_start(&spawner, 0, NULL, NULL))
        return 20;
    if (strcmp(mode, "copy") == 0) {
        /* A process of the host program that holds our end of the guard's socket. */
        int copy = dup(guard.life_fd);
        static const char *const args[] = {"/bin/sleep", "1000", NULL};
        pid_t pid;
        if (copy < 0 || posix_spawn(&pid, args[0], NULL, NULL, strings(args), NULL))
            return 23;
        dprintf(STDERR_FILENO, "%d\n", (int)pid);
    }
    snprintf(path, sizeof path, "%s/up", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool storming = strcmp(mode, "storm") == 0;
    for (uint32_t i = 0; !storming && i < 3; i++)
        submit_task(spawner, &tasks[i], task_text, i, fd);
    while (!storming && count_lines(path) < 3 * TASK_UPS)
        help_pause();
    printf("%d\n", (int)guard.pid);
    fflush(stdout);
    if (storming)
        storm(spawner, fd);
    for (;;)
        pause();
}

/* ---- The tests' side ---- */

static void setup(void)
{
    help_make_dir();
    snprintf(store_id, sizeof store_id, "%016llx%016llx",
             (unsigned long long)random_u64(), (unsigned long long)random_u64());
    snprintf(run_token, sizeof run_token, "%s.%d", store_id, RUN);
}

static void teardown(void)
{
    help_remove_dir();
}

static void setup_guard(void)
{
    setup();
    ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, SLOTS, &failure), 0);
    ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
}

static void teardown_guard(void)
{
    guard_stop(&guard);
    slots_close(&map, true);
    teardown();
}

/* Starts an engine and waits until it is up. Its stderr is the file "engine". */
static pid_t start_engine(const char *mode, pid_t *guard_pid)
{
    int number = 0;
    FILE *in;
    pid_t pid = help_start_engine(store_id, mode, &in);
    ck_assert_msg(fscanf(in, "%d", &number) == 1, "the engine did not come up");
    fclose(in);
    *guard_pid = number;
    return pid;
}

START_TEST(test_engine_killed)
{
    pid_t guard_pid, pid = start_engine("tasks", &guard_pid);
    /* Per task: shell, two sleeps and a subshell, the session's shell and sleep; the
     * one without an environment is not counted. */
    help_until(help_count(run_token) >= 3 * 5);
    help_end(pid);
    help_until(help_count(run_token) == 0);
    help_until(!help_alive(guard_pid));
    /* The ones without an environment are gone with their groups. */
    struct slot_map dead;
    ck_assert_int_eq(slots_open(&dead, help_dir, RUN, &failure), 0);
    static struct proc_scan scan;
    proc_scan_init(&scan, dead.slots, run_token, 0);
    help_until(proc_scan_round(&scan, 0) == 0);
    proc_scan_release(&scan);
    slots_close(&dead, false);
}
END_TEST

START_TEST(test_engine_and_guard_killed)
{
    struct leftovers left = {0, 0, 0};
    pid_t guard_pid, pid = start_engine("tasks", &guard_pid);
    help_until(help_count(run_token) >= 3 * 5);
    kill(guard_pid, SIGKILL);
    help_end(pid);
    help_until(!help_alive(guard_pid));
    ck_assert_int_gt(help_count(run_token), 0); /* else this tests nothing */
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 50, &left, &failure), 0);
    ck_assert_int_ge(left.found, 3 * 4);
    ck_assert_int_eq(left.survived, 0);
    ck_assert_int_eq(left.ended, left.found);
    ck_assert_int_eq(help_count(run_token), 0);
}
END_TEST

/* Nobody looks for left-overs yet: the first process of each task dies by itself. */
START_TEST(test_first_processes_die_with_the_engine)
{
    struct leftovers left = {0, 0, 0};
    struct slot_map dead;
    pid_t guard_pid, pid = start_engine("tasks", &guard_pid);
    ck_assert_int_eq(kill(guard_pid, SIGKILL), 0);
    help_until(!help_alive(guard_pid));
    ck_assert_int_eq(slots_open(&dead, help_dir, RUN, &failure), 0);
    for (int i = 0; i < 3; i++)
        ck_assert(help_alive(atomic_load(&dead.slots->slot[i].pid)));
    help_end(pid);
    for (int i = 0; i < 3; i++)
        help_until(!help_alive(atomic_load(&dead.slots->slot[i].pid)));
    slots_close(&dead, false);
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 0, &left, &failure), 0);
}
END_TEST

START_TEST(test_engine_killed_while_spawning)
{
    unsigned seed = (unsigned)random_u64();
    printf("# seed %u\n", seed);
    for (int i = 0; i < 12; i++) {
        pid_t guard_pid, pid = start_engine("storm", &guard_pid);
        struct timespec pause = {0, rand_r(&seed) % 20000000};
        nanosleep(&pause, NULL);
        help_end(pid);
        help_until(!help_alive(guard_pid));
        ck_assert_int_eq(help_count(run_token), 0);
    }
}
END_TEST

START_TEST(test_guard_from_a_file)
{
    pid_t guard_pid, pid = start_engine("no-memfd", &guard_pid);
    ck_assert(help_alive(guard_pid));
    help_end(pid);
    help_until(help_count(run_token) == 0);
    help_until(!help_alive(guard_pid));
    ck_assert_int_ne(access(help_path("run-7.slots.guard"), F_OK), 0);
}
END_TEST

/* The socket stays open in another process, but the engine itself is watched, too. */
START_TEST(test_engine_killed_with_a_copy_of_the_socket)
{
    pid_t guard_pid, pid = start_engine("copy", &guard_pid);
    int holder = 0;
    ck_assert_int_eq(sscanf(help_read("engine"), "%d", &holder), 1);
    help_end(pid);
    help_until(help_count(run_token) == 0);
    help_until(!help_alive(guard_pid));
    ck_assert(help_alive(holder));
    kill(holder, SIGKILL);
}
END_TEST

START_TEST(test_stop)
{
    int fds = help_open_fds();
    for (int i = 0; i < 20; i++) {
        struct guard other;
        ck_assert_int_eq(guard_start(&other, &map, &failure), 0);
        ck_assert_int_eq(map.slots->guard_pid, other.pid);
        ck_assert(!help_readable(other.pidfd, 0));
        pid_t pid = other.pid;
        guard_stop(&other);
        ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), -1);
        guard_stop(&other); /* a second time does nothing */
    }
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

/* A copy of our end must not make guard_stop wait. */
START_TEST(test_stop_with_a_copy_of_the_socket)
{
    int copy = dup(guard.life_fd);
    int64_t begin = clock_mono_ns();
    guard_stop(&guard);
    ck_assert_int_lt(clock_mono_ns() - begin, 9000000000);
    close(copy);
    ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
}
END_TEST

START_TEST(test_guard_dies)
{
    ck_assert(!help_readable(guard.pidfd, 0));
    kill(guard.pid, SIGKILL);
    ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
    guard_stop(&guard);
    ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
    ck_assert(!help_readable(guard.pidfd, 0));
}
END_TEST

static const char *guard_file(const char *name)
{
    static char text[4096];
    int fd = proc_open(guard.pid, name);
    ck_assert_int_ge(fd, 0);
    memset(text, 0, sizeof text);
    ck_assert_int_ge(read(fd, text, sizeof text - 1), 0);
    close(fd);
    return text;
}

START_TEST(test_surroundings)
{
    char path[64], target[64];
    /* The kernel lets us go on a moment before the new program is in place. */
    help_until(strcmp(guard_file("cmdline"), "cairn-guard") == 0);
    ck_assert_str_eq(guard_file("environ"), "");
    help_until(strcmp(guard_file("comm"), "cairn-guard\n") == 0);
    ck_assert_int_eq(getsid(guard.pid), guard.pid);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)guard.pid);
    ck_assert_int_eq(readlink(path, target, sizeof target), 1);
    for (int fd = 0; fd < 300; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)guard.pid, fd);
        bool there = access(path, F_OK) == 0 || readlink(path, target, 1) > 0;
        /* 4 is its watch of the engine, or not there yet. */
        ck_assert_msg(there == (fd < 4) || fd == 4, "descriptor %d", fd);
    }
}
END_TEST

START_TEST(test_ignores_polite_signals)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        kill(guard.pid, signals[i]);
    ck_assert(!help_readable(guard.pidfd, 50));
}
END_TEST

/* A slot that names a process of other people (its number was given out again). */
static void expect_fate(int64_t began_ns_ago, bool ended)
{
    static const char *const argv[] = {"/bin/sleep", "1000", NULL};
    static const char *const env[] = {"CAIRN_TOKEN=another.7.1", NULL};
    map.slots->slot[3].spawn_boot_ns = clock_boot_ns() - began_ns_ago;
    pid_t pid = help_spawn(argv, env);
    atomic_store(&map.slots->slot[3].pid, pid);
    shutdown(guard.life_fd, SHUT_WR); /* as if the engine had died */
    ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
    ck_assert_int_eq(help_alive(pid), !ended);
    help_end(pid);
    atomic_store(&map.slots->slot[3].pid, 0);
}

START_TEST(test_given_out_again_later)
{
    expect_fate(60 * (int64_t)1000000000, false);
}
END_TEST

START_TEST(test_given_out_again_earlier)
{
    expect_fate(-60 * (int64_t)1000000000, false);
}
END_TEST

START_TEST(test_right_start_time)
{
    expect_fate(0, true);
}
END_TEST

START_TEST(test_strange_slot_values)
{
    map.slots->slot[0].pid = 1;
    map.slots->slot[1].pid = -1;
    map.slots->slot[2].pid = getpid();
    map.slots->slot[2].spawn_boot_ns = clock_boot_ns() - 3600 * (int64_t)1000000000;
    shutdown(guard.life_fd, SHUT_WR);
    ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "engine") == 0)
        return engine(argv + 2);
    Suite *suite = suite_create("guard");
    TCase *engines = tcase_create("engines"), *guards = tcase_create("guards");
    tcase_add_checked_fixture(engines, setup, teardown);
    tcase_set_timeout(engines, 120);
    tcase_add_test(engines, test_engine_killed);
    tcase_add_test(engines, test_engine_and_guard_killed);
    tcase_add_test(engines, test_first_processes_die_with_the_engine);
    tcase_add_test(engines, test_engine_killed_while_spawning);
    tcase_add_test(engines, test_guard_from_a_file);
    tcase_add_test(engines, test_engine_killed_with_a_copy_of_the_socket);
    tcase_add_checked_fixture(guards, setup_guard, teardown_guard);
    tcase_set_timeout(guards, 60);
    tcase_add_test(guards, test_stop);
    tcase_add_test(guards, test_stop_with_a_copy_of_the_socket);
    tcase_add_test(guards, test_guard_dies);
    tcase_add_test(guards, test_surroundings);
    tcase_add_test(guards, test_ignores_polite_signals);
    tcase_add_test(guards, test_given_out_again_later);
    tcase_add_test(guards, test_given_out_again_earlier);
    tcase_add_test(guards, test_right_start_time);
    tcase_add_test(guards, test_strange_slot_values);
    suite_add_tcase(suite, engines);
    suite_add_tcase(suite, guards);
    return help_run(suite);
}
