/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* The spawner with a limit: how many processes live at once, which of those that wait
 * start before the caller has looked at an end, and a caller that rests. */
#include "tests/support/spawner.h"
#include "tests/support/suite.h"

#include <sys/resource.h>

/* What came back since limit_to, in order: first as started or failed, then as ended.
 */
static struct spawn_request *started[200], *ended[200];
static int n_started, n_ended;

static void limit_to(uint32_t n)
{
    spawner_stop(spawner);
    ck_assert_int_eq(spawner_start(&spawner, n, NULL, &failure), 0);
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
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
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
    ck_assert_int_eq(spawner_start(&spawner, 8, NULL, &failure), CAIRN_EIO);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
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

int main(void)
{
    Suite *suite = suite_create("spawn_limit");
    TCase *tests = tcase_create("spawn_limit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
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
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
