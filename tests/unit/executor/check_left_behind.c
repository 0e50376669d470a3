/* SPDX-License-Identifier: MIT */
/* Callbacks that take long: time limits, stops, what is left behind, calls beside each
 * other and beside processes, and what a callback must not do. */
#include "tests/support/engine.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void wait_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* What a callback and the test share. A callback that was left behind continues it
 * after the run: so it is global. */
static struct {
    sem_t go, done;
    _Atomic uint32_t begun, at_once, most;
    _Atomic bool stopped;
    struct cairn_attempt *_Atomic attempt;
    struct cairn_stop *stop;
} shared;

static void reset(void)
{
    sem_init(&shared.go, 0, 0);
    sem_init(&shared.done, 0, 0);
    shared.begun = shared.at_once = shared.most = 0;
    shared.stopped = false;
    shared.attempt = NULL;
}

static void enter(void)
{
    uint32_t n = ++shared.at_once, most = shared.most;
    while (n > most && !atomic_compare_exchange_weak(&shared.most, &most, n))
        ;
}

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    enter();
    shared.at_once--;
    return CAIRN_COMPLETED;
}

/* Hears no stop. */
static enum cairn_outcome block(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    shared.begun++;
    while (sem_wait(&shared.go))
        ;
    shared.stopped = cairn_attempt_stopped(attempt);
    ck_assert_str_eq(cairn_attempt_task(attempt), "a");
    sem_post(&shared.done);
    return CAIRN_COMPLETED;
}

static enum cairn_outcome until_stopped(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    shared.begun++;
    while (!cairn_attempt_stopped(attempt))
        wait_ms(2);
    return CAIRN_CANCELLED;
}

static enum cairn_outcome never_finished(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    shared.attempt = attempt;
    shared.begun++;
    return CAIRN_LATER;
}

static struct cairn_run_result run_one(struct cairn_store *store,
                                       struct cairn_task task,
                                       struct cairn_run_options options,
                                       struct seen *seen)
{
    struct cairn_workflow *w = workflow_named("w");
    task.id = "a";
    add(w, task);
    struct cairn_run_result result = run_with(w, store, options, seen);
    cairn_workflow_free(w);
    return result;
}

/* ---- Time limits ---- */

START_TEST(a_time_limit_ends_the_wait)
{
    struct cairn_store *store = open_store();
    reset();
    int64_t start = now_ms();
    struct cairn_run_result result = run_one(
        store, (struct cairn_task){.call = block, .timeout_ms = 100, .grace_ms = 50},
        (struct cairn_run_options){0}, NULL);
    ck_assert_int_lt(now_ms() - start, 20000);
    ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
    ck_assert_uint_eq(result.left_behind, 1);
    struct task_wanted a = task_of(store, 1, "a");
    ck_assert_ptr_nonnull(strstr(a.text, "timed out after 0.1 s"));
    ck_assert_ptr_nonnull(strstr(a.text, "left behind"));
    cairn_store_close(store);
    sem_post(&shared.go); /* nothing of the run is there any more */
    sem_wait(&shared.done);
    ck_assert(shared.stopped);
}
END_TEST

START_TEST(a_callback_hears_of_its_time_limit)
{
    struct cairn_store *store = open_store();
    reset();
    struct cairn_run_result result =
        run_one(store, (struct cairn_task){.call = until_stopped, .timeout_ms = 50},
                (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
    ck_assert_uint_eq(result.left_behind, 0);
    ck_assert_str_eq(task_of(store, 1, "a").text, "timed out after 0.05 s");
    cairn_store_close(store);
}
END_TEST

START_TEST(a_late_finish_is_ignored)
{
    struct cairn_store *store = open_store();
    reset();
    struct cairn_run_result result = run_one(
        store,
        (struct cairn_task){.call = never_finished, .timeout_ms = 50, .grace_ms = 1},
        (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.left_behind, 1);
    ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
    ck_assert(cairn_attempt_stopped(shared.attempt));
    cairn_attempt_finish(shared.attempt, CAIRN_COMPLETED, "too late");
    ck_assert_int_eq(task_of(store, 1, "a").info.outcome, CAIRN_FAILED);
    cairn_store_close(store);
}
END_TEST

/* ---- Stops ---- */

static void *stop_twice(void *unused)
{
    (void)unused;
    while (!shared.begun)
        wait_ms(1);
    cairn_stop_request(shared.stop);
    wait_ms(20);
    cairn_stop_request(shared.stop);
    return NULL;
}

static void second_stop_ends(cairn_task_fn *call, const char *text)
{
    struct cairn_store *store = open_store();
    pthread_t thread;
    reset();
    good(cairn_stop_new(&shared.stop, &error));
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_twice, NULL), 0);
    struct cairn_run_result result =
        run_one(store, (struct cairn_task){.call = call, .grace_ms = 100},
                (struct cairn_run_options){.stop = shared.stop}, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_uint_eq(result.left_behind, text ? 1 : 0);
    ck_assert_uint_eq(result.cancelled, 1);
    if (text)
        ck_assert_str_eq(task_of(store, 1, "a").text, text);
    cairn_stop_free(shared.stop);
    cairn_store_close(store);
}

static const char left[] = "cancelled; its callback has not ended and was left behind";

START_TEST(a_second_stop_leaves_a_callback_behind)
{
    second_stop_ends(block, left);
    sem_post(&shared.go);
    sem_wait(&shared.done);
    ck_assert(shared.stopped);
}
END_TEST

START_TEST(a_second_stop_leaves_an_attempt_behind)
{
    second_stop_ends(never_finished, left);
    cairn_attempt_finish(shared.attempt, CAIRN_COMPLETED, NULL);
}
END_TEST

START_TEST(a_callback_hears_of_a_stop)
{
    second_stop_ends(until_stopped, NULL);
}
END_TEST

/* ---- Beside each other, beside processes ---- */

static enum cairn_outcome count_at_once(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    enter();
    wait_ms(10);
    shared.at_once--;
    return CAIRN_COMPLETED;
}

static uint32_t most_at_once(bool parallel, uint32_t jobs)
{
    enum { TASKS = 12 };
    struct cairn_workflow *w = workflow_named("w");
    char id[16];
    reset();
    for (int i = 0; i < TASKS; i++) {
        snprintf(id, sizeof id, "t%d", i);
        add(w,
            (struct cairn_task){.id = id, .call = count_at_once, .parallel = parallel});
    }
    struct cairn_run_result result =
        run_with(w, NULL, (struct cairn_run_options){.jobs = jobs}, NULL);
    ck_assert_uint_eq(result.completed, TASKS);
    cairn_workflow_free(w);
    return shared.most;
}

START_TEST(one_at_a_time_unless_parallel)
{
    ck_assert_uint_eq(most_at_once(false, 4), 1);
    ck_assert_uint_eq(most_at_once(true, 1), 1);
    uint32_t most = most_at_once(true, 4);
    ck_assert_uint_gt(most, 1);
    ck_assert_uint_le(most, 4);
}
END_TEST

/* Two callbacks that each wait for the other to have begun. */
static enum cairn_outcome meet(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    shared.begun++;
    while (shared.begun < 2)
        if (cairn_attempt_stopped(attempt))
            return CAIRN_FAILED;
    return CAIRN_COMPLETED;
}

START_TEST(parallel_callbacks_meet)
{
    struct cairn_workflow *w = workflow_named("w");
    reset();
    add(w, (struct cairn_task){
               .id = "a", .call = meet, .parallel = true, .timeout_ms = 20000});
    add(w, (struct cairn_task){
               .id = "b", .call = meet, .parallel = true, .timeout_ms = 20000});
    struct cairn_run_result result =
        run_with(w, NULL, (struct cairn_run_options){.jobs = 2}, NULL);
    ck_assert_uint_eq(result.completed, 2);
    cairn_workflow_free(w);
}
END_TEST

/* Until the process beside it has been ended by its time limit. */
static enum cairn_outcome until_process_ended(void *context,
                                              struct cairn_attempt *attempt)
{
    (void)context;
    while (!exists("ended"))
        if (cairn_attempt_stopped(attempt))
            return CAIRN_FAILED;
        else
            wait_ms(2);
    return CAIRN_COMPLETED;
}

START_TEST(a_callback_does_not_delay_time_limits)
{
    struct cairn_workflow *w = workflow_named("w");
    add(w, (struct cairn_task){.id = "p",
                               .run = "trap '>ended; exit 1' TERM; "
                                      "while :; do sleep 0.01; done",
                               .timeout_ms = 100,
                               .priority = 1});
    add(w, (struct cairn_task){
               .id = "c", .call = until_process_ended, .timeout_ms = 20000});
    struct cairn_run_result result =
        run_with(w, NULL, (struct cairn_run_options){.jobs = 2}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    ck_assert_uint_eq(result.completed, 1);
    cairn_workflow_free(w);
}
END_TEST

/* Many that return at once, and then one that does not: a stop still ends the run. */
START_TEST(a_slow_callback_after_quick_ones)
{
    enum { QUICK = 100 };
    struct cairn_workflow *w = workflow_named("w");
    pthread_t thread;
    char id[16], need[16] = "";
    const char *const needs[] = {need, NULL};
    reset();
    good(cairn_stop_new(&shared.stop, &error));
    for (int i = 0; i < QUICK; i++) {
        snprintf(id, sizeof id, "t%d", i);
        add(w,
            (struct cairn_task){.id = id, .call = complete, .needs = i ? needs : NULL});
        snprintf(need, sizeof need, "%s", id);
    }
    add(w, (struct cairn_task){.id = "a", .call = until_stopped, .needs = needs});
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_twice, NULL), 0);
    struct cairn_run_result result =
        run_with(w, NULL, (struct cairn_run_options){.stop = shared.stop}, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_uint_eq(result.completed, QUICK);
    ck_assert_uint_eq(shared.most, 1);
    cairn_stop_free(shared.stop);
    cairn_workflow_free(w);
}
END_TEST

/* ---- What is refused ---- */

static enum cairn_outcome answer_skipped(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_SKIPPED;
}

START_TEST(skipped_is_no_answer)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result =
        run_one(store, (struct cairn_task){.call = answer_skipped},
                (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    ck_assert_ptr_nonnull(strstr(task_of(store, 1, "a").text, "skipped"));
    cairn_store_close(store);
}
END_TEST

static void refuse(struct cairn_task task, const char *what)
{
    struct cairn_workflow *w = workflow_named("w");
    task.id = "a";
    ck_assert_int_eq(cairn_workflow_add(w, &task, &error), CAIRN_EWORKFLOW);
    ck_assert_ptr_nonnull(strstr(error.text, what));
    cairn_workflow_free(w);
}

START_TEST(options_without_meaning)
{
    const char *const env[] = {"A=b", NULL}, *const none[] = {NULL};
    struct cairn_workflow *w = workflow_named("w");
    refuse((struct cairn_task){.call = complete, .env = env}, "`env`");
    refuse((struct cairn_task){.call = complete, .cwd = "."}, "`cwd`");
    refuse((struct cairn_task){.run = "true", .parallel = true}, "`parallel`");
    add(w, (struct cairn_task){.id = "a", .call = complete, .env = none});
    cairn_workflow_free(w);
}
END_TEST

/* A child that comes back from the callback must not continue the run. */
static enum cairn_outcome fork_and_return(void *context, struct cairn_attempt *attempt)
{
    int status;
    (void)context;
    (void)attempt;
    pid_t pid = _Fork();
    if (pid == 0)
        return CAIRN_COMPLETED;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 126);
    return CAIRN_COMPLETED;
}

START_TEST(a_forked_child_ends)
{
    enum { TASKS = 40 }; /* the later ones run on the engine's thread */
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    char id[16], need[16] = "";
    const char *const needs[] = {need, NULL};
    for (int i = 0; i < TASKS; i++) {
        snprintf(id, sizeof id, "t%d", i);
        add(w, (struct cairn_task){.id = id,
                                   .call = i < TASKS - 1 ? complete : fork_and_return,
                                   .needs = i ? needs : NULL});
        snprintf(need, sizeof need, "%s", id);
    }
    add(w, (struct cairn_task){.id = "first", .call = fork_and_return, .priority = 1});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.completed, TASKS + 1);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("left_behind");
    TCase *tests = tcase_create("left_behind");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_time_limit_ends_the_wait);
    tcase_add_test(tests, a_callback_hears_of_its_time_limit);
    tcase_add_test(tests, a_late_finish_is_ignored);
    tcase_add_test(tests, a_second_stop_leaves_a_callback_behind);
    tcase_add_test(tests, a_second_stop_leaves_an_attempt_behind);
    tcase_add_test(tests, a_callback_hears_of_a_stop);
    tcase_add_test(tests, one_at_a_time_unless_parallel);
    tcase_add_test(tests, parallel_callbacks_meet);
    tcase_add_test(tests, a_callback_does_not_delay_time_limits);
    tcase_add_test(tests, a_slow_callback_after_quick_ones);
    tcase_add_test(tests, skipped_is_no_answer);
    tcase_add_test(tests, options_without_meaning);
    tcase_add_test(tests, a_forked_child_ends);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
