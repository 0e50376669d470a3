/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Keepers of engines that die. "Engines" are this very program, started with the
 * argument `engine`; they are killed, and their tasks must continue, once each, and be
 * found with the truth. */
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

/* ---- The engine's side ---- */

/* Says "GUARD KEEPER...\n" on stdout when it is up; never ends. In the mode "go" the
 * tasks do go_text, and there is one more that has no keeper; in the mode "short" they
 * only leave their marks. The end is exit 10 and more, but 12 is a death by SIGTERM. */
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
        guard_start(&guard, &map, NULL) || spawner_start(&spawner, 0, NULL, NULL))
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

static pid_t keepers[TASKS];
static int plain; /* a process of the task without a keeper */

static pid_t start_engine(const char *mode, pid_t *guard_pid)
{
    int number = 0;
    FILE *in;
    pid_t pid = help_start_engine(store_id, mode, &in);
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
    struct attempt_id id = id_of(help_dir, task);
    ck_assert_msg(!keeper_look(keeper, &id, store_id, &failure), "%s", failure.text);
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
    struct attempt_id id = id_of(help_dir, 1);
    lose_engine(false);
    struct live_name claim = live_of_attempt(LIVE_CLAIM, &id);
    live_format(name, &claim);
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
    static struct proc_scan scan;
    ck_assert_int_eq(slots_open(&dead, help_dir, RUN, &failure), 0);
    proc_scan_init(&scan, dead.slots, run_token, 0);
    ck_assert_int_eq(proc_scan_round(&scan, 0), 0);
    proc_scan_release(&scan);
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
        forget_all();
        unlink(help_path("effects"));
        unlink(help_path("run-7.slots"));
    }
    printf("# found live %d, ended %d, barred %d\n", fates[KEEPER_LIVE],
           fates[KEEPER_ENDED], fates[KEEPER_NEVER]);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "engine") == 0)
        return engine(argv + 2);
    Suite *suite = suite_create("keepers of engines");
    TCase *tests = tcase_create("keepers of engines");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_engine_killed);
    tcase_add_test(tests, test_engine_and_guard_killed);
    tcase_add_test(tests, test_ended_unseen);
    tcase_add_test(tests, test_adopted_twice);
    tcase_add_test(tests, test_keeper_without_a_claim);
    tcase_add_test(tests, test_keepers_killed_with_the_engine);
    tcase_add_test(tests, test_engine_killed_at_any_moment);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
