/* Keepers. "Engines" are this very program, started with the argument `engine`; they
 * are killed, and their tasks must go on, once each, and be found with the truth. */
#include "executor/keeper_int.h"

#include "executor/keeper_file.h"
#include "executor/spawn_int.h"

#include "process_help.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { RUN = 7, GEN = 2, TASKS = 6 };

#define ARGV(...) strings((const char *const[]){__VA_ARGS__, NULL})

static char store_id[40];
static char run_token[80]; /* "<store id>.7" */
static struct slot_map map;
static struct spawner *spawner;
static struct cairn_error failure;

static char *const *strings(const char *const *texts)
{
    char *const *same;
    memcpy(&same, &texts, sizeof same);
    return same;
}

static struct attempt_place place_of(const char *dir, uint32_t task)
{
    return (struct attempt_place){
        .live_dir = dir, .run = RUN, .gen = GEN, .task = task, .attempt = 1};
}

/* One task under a keeper, as an engine would hand it in. */
struct work {
    struct spawn_request request;
    struct keeper_order order;
    char token[KEEP_TOKEN], variable[KEEP_TOKEN + 16];
    const char *env[4];
};

static void prepare(struct work *work, const char *dir, uint32_t task,
                    char *const *argv)
{
    memset(work, 0, sizeof *work);
    snprintf(work->token, sizeof work->token, "%s.%u.1", map.slots->token, task);
    snprintf(work->variable, sizeof work->variable, "CAIRN_TOKEN=%s", work->token);
    work->env[0] = "PATH=/usr/bin:/bin";
    work->env[1] = work->variable;
    /* The time limit is for a test that fails: keepers outlive it. */
    work->order = (struct keeper_order){.place = place_of(dir, task),
                                        .token = work->token,
                                        .timeout_ms = 90000,
                                        .grace_ms = 10000};
    work->request = (struct spawn_request){.argv = argv,
                                           .envp = strings(work->env),
                                           .path = "/usr/bin:/bin",
                                           .stdout_fd = -1,
                                           .stderr_fd = -1,
                                           .slot = &map.slots->slot[task],
                                           .slots = &map,
                                           .keep = &work->order};
    map.slots->slot[task].used = 1;
}

/* Another attempt of task 0. */
static void number_attempt(struct work *work, uint32_t attempt)
{
    work->order.place.attempt = attempt;
    snprintf(work->token, sizeof work->token, "%s.0.%u", map.slots->token, attempt);
    snprintf(work->variable, sizeof work->variable, "CAIRN_TOKEN=%s", work->token);
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

/* ---- The engine's side ---- */

/* Says "GUARD KEEPER...\n" on stdout when it is up; never ends. In the mode "go" each
 * task leaves its mark, starts others that ignore TERM, one of them without an
 * environment, and goes on when there is a file "go", and there is one more task that
 * has no keeper; in the mode "short" it only
 * leaves its mark. The end is exit 10 and more, but 12 is a death by SIGTERM. */
static const char go_text[] = "exec 2>/dev/null; echo $1 >>$2/effects; "
                              "(trap '' TERM HUP; exec sleep 100) & "
                              "env -i sh -c 'trap \"\" TERM; exec sleep 100' & "
                              "echo $$ $! >$2/up.$1.new; mv $2/up.$1.new $2/up.$1; "
                              "until [ -e $2/go ]; do sleep 0.02; done; "
                              "[ $1 = 2 ] && kill -TERM $$; exit $((10 + $1))";
static const char plain_text[] =
    "exec 2>/dev/null; (trap '' TERM HUP; exec sleep 100) & "
    "echo $! >$1/up.new; mv $1/up.new $1/up; wait";
static const char short_text[] = "echo $1 >>$2/effects; exit $((10 + $1))";

static int engine(char **argv)
{
    static struct work works[TASKS], plain;
    static char number[TASKS][8];
    struct guard guard;
    bool quick = strcmp(argv[2], "short") == 0;
    if (slots_create(&map, argv[0], argv[1], RUN, TASKS + 1, NULL) ||
        guard_start(&guard, &map, NULL) || spawner_start(&spawner, NULL))
        return 20;
    printf("%d", (int)guard.pid);
    for (uint32_t i = 0; i < TASKS; i++) {
        snprintf(number[i], sizeof number[i], "%u", i);
        const char *args[] = {
            "sh", "-c", quick ? short_text : go_text, "sh", number[i], argv[0], NULL};
        const char **kept = malloc(sizeof args);
        memcpy(kept, args, sizeof args);
        prepare(&works[i], argv[0], i, strings(kept));
    }
    if (quick) {
        printf("\n");
        fflush(stdout);
    }
    for (uint32_t i = 0; i < TASKS; i++)
        spawner_submit(spawner, &works[i].request);
    for (int done = 0; done < TASKS && !quick;) {
        (void)help_readable(spawner_fd(spawner), -1);
        for (struct spawn_request *got = spawner_collect(spawner); got; done++) {
            printf(" %d", (int)got->pid);
            got = got->next;
        }
    }
    prepare(&plain, argv[0], TASKS, ARGV("sh", "-c", plain_text, "sh", argv[0]));
    plain.request.keep = NULL;
    if (!quick)
        spawner_submit(spawner, &plain.request);
    if (!quick)
        printf("\n");
    fflush(stdout);
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
    help_until(help_count(run_token) == 0); /* killed with its group a moment ago */
    keepers_forget(help_dir, RUN);
    help_remove_dir();
}

static void setup_own(void)
{
    setup();
    ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, TASKS, &failure), 0);
    ck_assert_int_eq(spawner_start(&spawner, &failure), 0);
}

static void teardown_own(void)
{
    spawner_stop(spawner);
    slots_close(&map, true);
    teardown();
}

static void submit(struct work *work)
{
    struct spawn_request *got = NULL;
    spawner_submit(spawner, &work->request);
    while (!got) {
        ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
        got = spawner_collect(spawner);
    }
    ck_assert_ptr_eq(got, &work->request);
}

static struct keeper start(struct work *work)
{
    submit(work);
    ck_assert_msg(!work->request.error, "%s: %s", work->request.stage,
                  strerror(work->request.error));
    ck_assert_int_eq(work->request.slot->pid, work->request.pid);
    ck_assert_uint_eq(work->request.slot->flags, SLOT_KEPT);
    struct keeper keeper = keeper_of(&work->request);
    ck_assert_int_eq(keeper.fate, KEEPER_LIVE);
    return keeper;
}

static void reap(struct keeper *keeper, struct slot *slot)
{
    ck_assert(help_readable(keeper->pidfd, PATIENCE_MS));
    ck_assert_msg(!keeper_reap(keeper, slot, &failure), "%s", failure.text);
    ck_assert_int_eq(keeper->pidfd, -1);
    if (slot)
        ck_assert_int_eq(slot->pid, 0);
}

static void expect_same(const struct keeper_record *a, const struct keeper_record *b)
{
    ck_assert_int_eq(a->exit_code, b->exit_code);
    ck_assert_int_eq(a->signal, b->signal);
    ck_assert_int_eq(a->timed_out, b->timed_out);
    ck_assert_int_eq(a->stopped, b->stopped);
    ck_assert_int_eq(a->error, b->error);
    ck_assert_str_eq(a->stage, b->stage);
    ck_assert_int_eq(a->pid, b->pid);
    ck_assert_int_eq(a->started_ns, b->started_ns);
    ck_assert_int_eq(a->ended_ns, b->ended_ns);
    ck_assert_int_eq(a->cpu_us, b->cpu_us);
    ck_assert_int_eq(a->peak_kib, b->peak_kib);
}

/* Runs it to its end under a keeper of ours. */
static struct keeper_record run_work(struct work *work)
{
    struct keeper keeper = start(work), seen;
    reap(&keeper, work->request.slot);
    ck_assert_int_eq(keeper.fate, KEEPER_ENDED);
    /* The same is in the file. */
    ck_assert_int_eq(keeper_look(&seen, &work->order.place, store_id, &failure), 0);
    ck_assert_int_eq(seen.fate, KEEPER_ENDED);
    expect_same(&seen.record, &keeper.record);
    keeper_forget(&work->order.place);
    return keeper.record;
}

static struct keeper_record run(char *const *argv)
{
    struct work work;
    prepare(&work, help_dir, 0, argv);
    return run_work(&work);
}

static struct keeper_record run_shell(const char *text)
{
    return run(ARGV("sh", "-c", text, "sh", help_dir));
}

static void expect(struct keeper_record record, int exit_code, int signal)
{
    ck_assert_int_eq(record.exit_code, exit_code);
    ck_assert_int_eq(record.signal, signal);
    ck_assert_int_eq(record.error, 0);
    ck_assert_str_eq(record.stage, "");
    ck_assert_int_gt(record.pid, 1);
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
        keeper_forget(&work.order.place);
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
    ck_assert_int_eq(capture_attempt_create(&capture, &work.order.place, &failure), 0);
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
    keeper_forget(&work.order.place);
}
END_TEST

static const char *keeper_text(pid_t pid, const char *name, ssize_t *size)
{
    static char text[4096];
    int fd = sweep_open(pid, name);
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
    keeper_forget(&work.order.place);
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
    ck_assert_int_eq(keeper_look(&seen, &work.order.place, store_id, &failure), 0);
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
            bar = keeper_bar(&work.order.place, &failure);
        keeper = start(&work);
        if (way == 1)
            ck_assert(help_readable(keeper.pidfd, PATIENCE_MS));
        if (way >= 2) {
            struct timespec pause = {0, way == 2 ? 0 : rand_r(&seed) % 4000000};
            nanosleep(&pause, NULL);
        }
        if (way != 0)
            bar = keeper_bar(&work.order.place, &failure);
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
        ck_assert_int_eq(keeper_bar(&work.order.place, &failure), bar);
        ck_assert_int_eq(keeper_look(&again, &work.order.place, store_id, &failure), 0);
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
        ck_assert_int_eq(keepers_close(help_dir, RUN, &failure), 0);
        int bar = keeper_bar(&work.order.place, &failure);
        ck_assert_msg(bar >= 0, "%s", failure.text);
        if (bar)
            keeper_forget(&work.order.place);
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
    keepers_forget(help_dir, RUN);
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

/* ---- Files that lie ---- */

static void write_file(const char *name, const struct keep_start *start,
                       const struct keep_end *end)
{
    char bytes[KEEP_BYTES] = {0};
    memcpy(bytes, start, sizeof *start);
    if (end)
        memcpy(bytes + KEEP_HALF, end, sizeof *end);
    int fd = open(help_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, sizeof bytes), KEEP_BYTES);
    close(fd);
}

static const char keep_name[] = "run-7.2.0.1.keep";

static struct keep_start read_start(struct keep_end *end)
{
    struct keep_start start;
    int fd = open(help_path(keep_name), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, &start, sizeof start, 0), sizeof start);
    if (end)
        ck_assert_int_eq(pread(fd, end, sizeof *end, KEEP_HALF), sizeof *end);
    close(fd);
    return start;
}

static int note_fate(void *context, struct keeper *keeper)
{
    *(struct keeper *)context = *keeper;
    return 0;
}

/* What the only file says; nobody is ended for it. */
static enum keeper_fate fate_of_file(void)
{
    struct keeper seen = {.fate = 77};
    ck_assert_int_eq(keepers_each(help_dir, store_id, RUN, note_fate, &seen, &failure),
                     0);
    return seen.fate;
}

static struct work up_work;

static struct keeper start_up(void)
{
    prepare(&up_work, help_dir, 0,
            ARGV("sh", "-c", "touch $1/up; sleep 100", "sh", help_dir));
    struct keeper keeper = start(&up_work);
    help_until(access(help_path("up"), F_OK) == 0);
    return keeper;
}

static void stop_up(struct keeper *keeper)
{
    keeper_signal(keeper, KEEPER_KILL);
    reap(keeper, up_work.request.slot);
    ck_assert_int_eq(keeper->record.signal, SIGKILL);
}

/* A file that names the right process, but not as it is: then it is not that one. */
START_TEST(test_identity)
{
    struct keeper keeper = start_up();
    struct keep_start good = read_start(NULL), bad;
    ck_assert_int_eq(fate_of_file(), KEEPER_LIVE);
    for (int way = 0; way < 4; way++) {
        bad = good;
        if (way == 0)
            bad.start++;
        if (way == 1)
            bad.start--;
        if (way == 2)
            bad.boot_id[0] = bad.boot_id[0] == '0' ? '1' : '0';
        if (way == 3)
            bad.token[strlen(run_token) + 4] ^= 1; /* in its random part */
        bad.crc = keep_start_crc(&bad);
        write_file(keep_name, &bad, NULL);
        ck_assert_msg(fate_of_file() == KEEPER_LOST, "way %d", way);
        ck_assert(help_alive(keeper.pid));
    }
    write_file(keep_name, &good, NULL);
    ck_assert_int_eq(fate_of_file(), KEEPER_LIVE);
    stop_up(&keeper);
}
END_TEST

static pid_t spawn_session(const char *token)
{
    static const char *const argv[] = {"/bin/sleep", "100", NULL};
    const char *const env[] = {token, NULL};
    posix_spawnattr_t attr;
    pid_t pid;
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    ck_assert_int_eq(
        posix_spawn(&pid, argv[0], NULL, &attr, strings(argv), strings(env)), 0);
    posix_spawnattr_destroy(&attr);
    return pid;
}

/* The number was given out again, to a process of other people. Nobody waits for it,
 * and nobody signals it: neither for the file nor for the slot. */
START_TEST(test_recycled_number)
{
    struct keeper keeper = start_up(), seen;
    struct leftovers left;
    struct keep_start start = read_start(NULL);
    struct sweep_process process;
    kill(keeper.pid, SIGKILL);
    reap(&keeper, NULL);
    pid_t innocent = spawn_session("CAIRN_TOKEN=another.7.0123456789abcdef.0.1");
    ck_assert(sweep_stat(innocent, &process));
    for (int way = 0; way < 2; way++) {
        start.pid = innocent;
        start.start = process.start - (uint64_t)way * 10000;
        start.crc = keep_start_crc(&start);
        write_file(keep_name, &start, NULL);
        ck_assert_int_eq(keeper_look(&seen, &up_work.order.place, store_id, &failure),
                         0);
        ck_assert_int_eq(seen.fate, KEEPER_LOST);
        ck_assert_int_eq(seen.pidfd, -1);
        ck_assert(help_alive(innocent));
    }
    for (int way = -1; way <= 1; way += 2) {
        keeper_to_slot(&seen, &map.slots->slot[0]);
        ck_assert_int_eq(map.slots->slot[0].pid, innocent);
        map.slots->slot[0].spawn_boot_ns =
            clock_boot_ns() + way * 60 * (int64_t)1000000000;
        ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 0, &left, &failure), 0);
        ck_assert_uint_eq(left.found, 0);
        struct guard guard;
        ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
        shutdown(guard.life_fd, SHUT_WR); /* as if the engine had died */
        ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
        guard_stop(&guard);
        ck_assert(help_alive(innocent));
    }
    help_end(innocent);
}
END_TEST

/* Every byte, flipped one bit: refused, or the very same outcome (padding). */
START_TEST(test_flipped)
{
    struct work work;
    struct keeper seen;
    prepare(&work, help_dir, 0, ARGV("sh", "-c", "exit 7"));
    struct keeper keeper = start(&work);
    reap(&keeper, work.request.slot);
    int refused = 0, fd = open(help_path(keep_name), O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < KEEP_BYTES; at++) {
        char byte;
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= (char)(1 << (at % 8));
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        memset(&seen, 0, sizeof seen);
        ck_assert_int_eq(
            keepers_each(help_dir, store_id, RUN, note_fate, &seen, &failure), 0);
        byte ^= (char)(1 << (at % 8));
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        if (seen.fate == KEEPER_LOST) {
            ck_assert(seen.damaged);
            refused++;
        } else {
            ck_assert_int_eq(seen.fate, KEEPER_ENDED);
            expect_same(&seen.record, &keeper.record);
        }
    }
    close(fd);
    ck_assert_int_ge(refused,
                     (int)(sizeof(struct keep_start) + sizeof(struct keep_end)));
    ck_assert_int_eq(fate_of_file(), KEEPER_ENDED);
}
END_TEST

/* Cut anywhere; or a record under the start of another attempt. */
START_TEST(test_cut_and_mixed)
{
    struct work work;
    struct keep_end first_end, end;
    struct keeper seen;
    for (int i = 0; i < 2; i++) {
        prepare(&work, help_dir, 0, ARGV("true"));
        struct keeper keeper = start(&work);
        reap(&keeper, work.request.slot);
        ck_assert_int_eq(fate_of_file(), KEEPER_ENDED);
        if (i == 0) {
            (void)read_start(&first_end);
            keeper_forget(&work.order.place);
        }
    }
    struct keep_start start = read_start(&end);
    write_file(keep_name, &start, &first_end);
    ck_assert_int_eq(fate_of_file(), KEEPER_LOST);
    start.gen++; /* the file of another attempt, renamed */
    start.crc = keep_start_crc(&start);
    end.start_crc = start.crc;
    end.crc = keep_end_crc(&end);
    write_file(keep_name, &start, &end);
    ck_assert_int_eq(fate_of_file(), KEEPER_LOST);
    for (off_t size = KEEP_BYTES - 1; size >= 0; size -= 73) {
        ck_assert_int_eq(truncate(help_path(keep_name), size), 0);
        ck_assert_int_eq(keeper_look(&seen, &work.order.place, store_id, &failure), 0);
        ck_assert_int_eq(seen.fate, KEEPER_LOST);
        ck_assert(seen.damaged);
    }
}
END_TEST

/* With a file that cannot be believed a keeper that lives is ended with its task. */
START_TEST(test_damaged_while_it_lives)
{
    struct keeper keeper = start_up(), seen;
    ck_assert_int_eq(truncate(help_path(keep_name), 100), 0);
    ck_assert_int_eq(keeper_look(&seen, &up_work.order.place, store_id, &failure), 0);
    ck_assert_int_eq(seen.fate, KEEPER_LOST);
    ck_assert(seen.damaged);
    ck_assert_int_eq(help_count(run_token), 0);
    reap(&keeper, up_work.request.slot);
    ck_assert_int_eq(keeper.fate, KEEPER_LOST);
}
END_TEST

START_TEST(test_forget)
{
    struct work work;
    struct attempt_place place = place_of(help_dir, 4);
    struct capture capture;
    ck_assert_int_eq(capture_attempt_create(&capture, &place, &failure), 0);
    capture_close(&capture);
    prepare(&work, help_dir, 4, ARGV("true"));
    struct keeper keeper = start(&work);
    reap(&keeper, work.request.slot);
    keeper_forget(&place);
    ck_assert_int_eq(access(help_path("run-7.2.4.1.keep"), F_OK), -1);
    ck_assert_int_eq(access(help_path("run-7.2.4.1.out"), F_OK), -1);
    static const char *const ours[] = {"run-7.2.4.1.keep", "run-7.1.4.1.out",
                                       "run-7.2.4.9.err", "run-7.2.4.1.keep.0abc"};
    static const char *const others[] = {"run-71.2.4.1.keep", "run-7.4.out",
                                         "run-7.slots"};
    for (size_t i = 0; i < 4; i++)
        help_write(ours[i], "", 0600);
    for (size_t i = 0; i < 2; i++)
        help_write(others[i], "", 0600);
    keepers_forget(help_dir, RUN);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(access(help_path(ours[i]), F_OK) != 0, "%s", ours[i]);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(access(help_path(others[i]), F_OK) == 0, "%s", others[i]);
}
END_TEST

/* A keeper outlives the spawner, which does not wait for it. */
START_TEST(test_spawner_stops)
{
    struct keeper keeper = start_up();
    spawner_stop(spawner);
    ck_assert(!help_readable(keeper.pidfd, 30));
    stop_up(&keeper);
    ck_assert_int_eq(spawner_start(&spawner, &failure), 0);
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

/* ---- Engines that die ---- */

static pid_t keepers[TASKS];
static int plain; /* a process of the task without a keeper */

static pid_t start_engine(const char *mode, pid_t *guard_pid)
{
    const char *argv[] = {"/proc/self/exe", "engine", help_dir, store_id, mode, NULL};
    static const char *const env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
    int up[2], number = 0;
    pid_t pid;
    ck_assert_int_eq(pipe2(up, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, up[1], 1);
    ck_assert_int_eq(
        posix_spawn(&pid, argv[0], &actions, NULL, strings(argv), strings(env)), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(up[1]);
    FILE *in = fdopen(up[0], "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_msg(fscanf(in, "%d", &number) == 1, "the engine did not come up");
    *guard_pid = number;
    for (int i = 0; i < TASKS && strcmp(mode, "go") == 0; i++) {
        ck_assert_int_eq(fscanf(in, "%d", &number), 1);
        keepers[i] = number;
    }
    fclose(in);
    return pid;
}

/* An engine with its six tasks up, killed with its guard or before it. */
static void lose_engine(bool guard_too)
{
    pid_t guard_pid, pid = start_engine("go", &guard_pid);
    for (int i = 0; i < TASKS; i++) {
        char name[16];
        snprintf(name, sizeof name, "up.%d", i);
        help_until(access(help_path(name), F_OK) == 0);
    }
    help_until(access(help_path("up"), F_OK) == 0);
    ck_assert_int_eq(sscanf(help_read("up"), "%d", &plain), 1);
    ck_assert(help_alive(plain));
    if (guard_too)
        kill(guard_pid, SIGKILL);
    help_end(pid);
    help_until(!help_alive(guard_pid));
    ck_assert_int_eq(help_alive(plain), guard_too);
}

/* The process of a task, from its own report. */
static pid_t task_pid(int task)
{
    char name[16];
    int pid = 0;
    snprintf(name, sizeof name, "up.%d", task);
    ck_assert_int_eq(sscanf(help_read(name), "%d", &pid), 1);
    return pid;
}

static int effects_of(uint32_t task)
{
    int n = 0;
    if (access(help_path("effects"), F_OK))
        return 0;
    for (const char *at = help_read("effects"); at && *at; at = strchr(at, '\n') + 1)
        n += (uint32_t)(*at - '0') == task;
    return n;
}

static void adopt(struct keeper *keeper, uint32_t task)
{
    struct attempt_place place = place_of(help_dir, task);
    ck_assert_msg(!keeper_look(keeper, &place, store_id, &failure), "%s", failure.text);
}

static void expect_end(const struct keeper *keeper, uint32_t task, bool with_signal)
{
    ck_assert_int_eq(keeper->fate, KEEPER_ENDED);
    bool killed = with_signal && task == 2;
    expect(keeper->record, killed ? -1 : 10 + (int)task, killed ? SIGTERM : 0);
    ck_assert(!keeper->record.timed_out && !keeper->record.stopped);
}

static void expect_adopted(bool guard_too)
{
    struct keeper keeper[TASKS];
    struct leftovers left;
    lose_engine(guard_too);
    for (int i = 0; i < TASKS; i++)
        ck_assert(help_alive(keepers[i]));
    ck_assert_int_eq(leftovers_end_unkept(help_dir, store_id, RUN, 50, &left, &failure),
                     0);
    /* The shell of the plain task may be just dying. */
    ck_assert(guard_too ? left.found >= 1 : left.found == 0);
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(plain));
    for (uint32_t i = 0; i < TASKS; i++) {
        ck_assert(help_alive(task_pid((int)i)));
        adopt(&keeper[i], i);
        ck_assert_int_eq(keeper[i].fate, KEEPER_LIVE);
        ck_assert_int_eq(keeper[i].pid, keepers[i]);
        ck_assert(!help_readable(keeper[i].pidfd, 0));
        ck_assert_int_eq(keeper_reap(&keeper[i], NULL, &failure), CAIRN_EIO);
    }
    help_write("go", "", 0600);
    for (uint32_t i = 0; i < TASKS; i++) {
        reap(&keeper[i], NULL);
        expect_end(&keeper[i], i, true);
        ck_assert_int_eq(effects_of(i), 1);
    }
    help_until(help_count(run_token) == 0);
}

START_TEST(test_engine_killed)
{
    expect_adopted(false);
}
END_TEST

START_TEST(test_engine_and_guard_killed)
{
    expect_adopted(true);
}
END_TEST

/* All ends while nobody is there. */
START_TEST(test_ended_unseen)
{
    lose_engine(false);
    help_write("go", "", 0600);
    for (int i = 0; i < TASKS; i++)
        help_until(!help_alive(keepers[i]));
    for (uint32_t i = 0; i < TASKS; i++) {
        struct keeper keeper;
        adopt(&keeper, i);
        expect_end(&keeper, i, true);
    }
}
END_TEST

/* The second engine takes over, and dies as well: the guard of the second one leaves
 * them alone, the third finds them. Then some keepers are killed. */
START_TEST(test_adopted_twice)
{
    struct leftovers left;
    struct guard guard;
    lose_engine(false);
    ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, TASKS, &failure), 0);
    for (uint32_t i = 0; i < TASKS; i++) {
        struct keeper keeper;
        adopt(&keeper, i);
        keeper_to_slot(&keeper, &map.slots->slot[i]);
        slots_tell(&map, &map.slots->slot[i]);
        close(keeper.pidfd);
    }
    ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
    shutdown(guard.life_fd, SHUT_WR); /* as if the engine had died */
    ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
    guard_stop(&guard);
    int bare[2] = {0, 0};
    ck_assert_int_eq(sscanf(help_read("up.0"), "%*d %d", &bare[0]), 1);
    ck_assert_int_eq(sscanf(help_read("up.5"), "%*d %d", &bare[1]), 1);
    kill(keepers[0], SIGKILL);
    help_until(!help_alive(keepers[0]));
    for (uint32_t i = 1; i < TASKS; i++)
        ck_assert(help_alive(keepers[i]));
    ck_assert(help_alive(bare[0])); /* else this tests nothing */
    ck_assert_int_eq(leftovers_end_unkept(help_dir, store_id, RUN, 50, &left, &failure),
                     0);
    ck_assert_uint_ge(left.found, 2);
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(bare[0]));
    for (uint32_t i = 0; i < TASKS; i++) {
        struct keeper keeper;
        adopt(&keeper, i);
        ck_assert_int_eq(keeper.fate, i ? KEEPER_LIVE : KEEPER_LOST);
        if (i)
            close(keeper.pidfd);
    }
    /* --fresh: all of it is to end. */
    ck_assert(help_alive(bare[1]));
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 50, &left, &failure), 0);
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(bare[1]));
    slots_close(&map, true);
}
END_TEST

/* Nobody can hear of a keeper whose file is damaged, so nothing of it lives on. */
START_TEST(test_keeper_without_a_claim)
{
    struct leftovers left;
    struct keeper keeper;
    char name[KEEP_NAME], byte = 'X';
    struct attempt_place place = place_of(help_dir, 1);
    lose_engine(false);
    keeper_name(name, &place);
    int fd = open(help_path(name), O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, &byte, 1, offsetof(struct keep_start, token)), 1);
    close(fd);
    ck_assert_int_eq(leftovers_end_unkept(help_dir, store_id, RUN, 50, &left, &failure),
                     0);
    ck_assert_uint_ge(left.found, 2);
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(keepers[1]) && !help_alive(task_pid(1)));
    for (uint32_t i = 0; i < TASKS; i++) {
        adopt(&keeper, i);
        ck_assert_int_eq(keeper.fate, i == 1 ? KEEPER_LOST : KEEPER_LIVE);
        if (i != 1)
            close(keeper.pidfd);
    }
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 0, &left, &failure), 0);
}
END_TEST

/* A keeper killed unseen: nothing of its task is left when it has been looked at. */
START_TEST(test_keepers_killed_with_the_engine)
{
    lose_engine(true);
    kill(plain, SIGKILL);
    for (int i = 0; i < TASKS; i++)
        kill(keepers[i], SIGKILL);
    ck_assert_int_gt(help_count(run_token), 0); /* what ignored TERM is not reached */
    for (uint32_t i = 0; i < TASKS; i++) {
        struct keeper keeper;
        help_until(!help_alive(keepers[i]));
        help_until(!help_alive(task_pid((int)i))); /* by its parent-death signal */
        adopt(&keeper, i);
        ck_assert_int_eq(keeper.fate, KEEPER_LOST);
        ck_assert_int_eq(effects_of(i), 1);
    }
    ck_assert_int_eq(help_count(run_token), 0);
    struct slot_map dead;
    static struct sweep sweep;
    ck_assert_int_eq(slots_open(&dead, help_dir, RUN, &failure), 0);
    sweep_init(&sweep, dead.slots, run_token, 0);
    ck_assert_int_eq(sweep_round(&sweep, 0), 0);
    sweep_release(&sweep);
    slots_close(&dead, true);
}
END_TEST

/* At any moment: an attempt has had its effect and is known with its true end, or has
 * had none and never will. Every third time the guard dies, too. */
START_TEST(test_engine_killed_at_any_moment)
{
    enum { ROUNDS = 60 };
    unsigned seed = (unsigned)random_u64();
    int fates[4] = {0};
    printf("# seed %u\n", seed);
    for (int round = 0; round < ROUNDS; round++) {
        struct leftovers left;
        pid_t guard_pid, pid = start_engine("short", &guard_pid);
        struct timespec pause = {0, rand_r(&seed) % 12000000};
        nanosleep(&pause, NULL);
        if (round % 3 == 0)
            kill(guard_pid, SIGKILL);
        help_end(pid);
        ck_assert_int_eq(
            leftovers_end_unkept(help_dir, store_id, RUN, 0, &left, &failure), 0);
        for (uint32_t i = 0; i < TASKS; i++) {
            struct keeper keeper;
            adopt(&keeper, i);
            fates[keeper.fate]++;
            if (keeper.fate == KEEPER_LIVE)
                reap(&keeper, NULL);
            if (keeper.fate == KEEPER_ENDED)
                expect_end(&keeper, i, false);
            else
                ck_assert_int_eq(keeper.fate, KEEPER_NEVER);
            ck_assert_int_eq(effects_of(i), keeper.fate == KEEPER_ENDED);
        }
        help_until(help_count(run_token) == 0);
        help_until(!help_alive(guard_pid));
        for (uint32_t i = 0; i < TASKS; i++)
            ck_assert_int_le(effects_of(i), 1);
        keepers_forget(help_dir, RUN);
        unlink(help_path("effects"));
        unlink(help_path("run-7.slots"));
    }
    printf("# found live %d, ended %d, barred %d\n", fates[KEEPER_LIVE],
           fates[KEEPER_ENDED], fates[KEEPER_NEVER]);
}
END_TEST

/* Only names that we write are read: a number that is too large is nobody's. */
START_TEST(test_names)
{
    static const char *const strange[] = {"run-7.4294967297.0.1.keep",
                                          "run-7.1.4294967296.1.keep",
                                          "run-7.1.0.18446744073709551617.keep",
                                          "run-7.1.0.+1.keep",
                                          "run- 7.1.0.1.keep",
                                          "run-7.1.00.1.keep",
                                          "run-8.1.0.1.keep",
                                          "run-7.1.0.keep"};
    struct attempt_place place = {.run = 7};
    const char *rest = NULL;
    ck_assert(keeper_parse_name("run-7.1.0.3.keep", &place, &rest));
    ck_assert_uint_eq(place.gen, 1);
    ck_assert_uint_eq(place.task, 0);
    ck_assert_uint_eq(place.attempt, 3);
    ck_assert_str_eq(rest, "keep");
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        ck_assert_msg(!keeper_parse_name(strange[i], &place, &rest), "%s", strange[i]);
        ck_assert_uint_eq(place.attempt, 3);
    }
}
END_TEST

static void add_own(TCase *tests)
{
    tcase_add_test(tests, test_names);
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
    tcase_add_test(tests, test_identity);
    tcase_add_test(tests, test_recycled_number);
    tcase_add_test(tests, test_flipped);
    tcase_add_test(tests, test_cut_and_mixed);
    tcase_add_test(tests, test_damaged_while_it_lives);
    tcase_add_test(tests, test_forget);
    tcase_add_test(tests, test_spawner_stops);
    tcase_add_test(tests, test_slot_without_a_keeper_again);
    tcase_add_test(tests, test_without_memory_files);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "engine") == 0)
        return engine(argv + 2);
    Suite *suite = suite_create("keeper");
    TCase *own = tcase_create("own"), *engines = tcase_create("engines");
    add_own(own);
    tcase_add_checked_fixture(engines, setup, teardown);
    tcase_set_timeout(engines, 120);
    tcase_add_test(engines, test_engine_killed);
    tcase_add_test(engines, test_engine_and_guard_killed);
    tcase_add_test(engines, test_ended_unseen);
    tcase_add_test(engines, test_adopted_twice);
    tcase_add_test(engines, test_keeper_without_a_claim);
    tcase_add_test(engines, test_keepers_killed_with_the_engine);
    tcase_add_test(engines, test_engine_killed_at_any_moment);
    suite_add_tcase(suite, own);
    suite_add_tcase(suite, engines);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
