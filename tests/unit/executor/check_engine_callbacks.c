/* SPDX-License-Identifier: MIT */
/* Whole runs of tasks that are functions of the program: outcomes that they report at
 * once or later, retries, and a stop between or during calls. */
#include "tests/support/engine.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

static void *finish_it(void *attempt)
{
    cairn_attempt_finish(attempt, CAIRN_COMPLETED, "told later");
    return NULL;
}

static enum cairn_outcome later(void *context, struct cairn_attempt *attempt)
{
    pthread_t thread;
    (void)context;
    ck_assert_int_eq(pthread_create(&thread, NULL, finish_it, attempt), 0);
    pthread_detach(thread);
    return CAIRN_LATER;
}

static enum cairn_outcome later_but_now(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    cairn_attempt_finish(attempt, CAIRN_FAILED, "told at once");
    return CAIRN_LATER;
}

static enum cairn_outcome fail_until(void *context, struct cairn_attempt *attempt)
{
    uint32_t good_at = *(const uint32_t *)context;
    ck_assert_str_eq(cairn_attempt_task(attempt), "r");
    return cairn_attempt_number(attempt) < good_at ? CAIRN_FAILED : CAIRN_COMPLETED;
}

START_TEST(outcomes_of_callbacks)
{
    enum { LATER = 40 };
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const f[] = {"f", NULL};
    const char *all[LATER + 1] = {NULL};
    char ids[LATER][16];
    for (int i = 0; i < LATER; i++) {
        snprintf(ids[i], sizeof ids[i], "l%d", i);
        add(w, (struct cairn_task){.id = ids[i], .call = later});
        all[i] = ids[i];
    }
    add(w, (struct cairn_task){.id = "f", .call = later_but_now, .needs = all});
    add(w, (struct cairn_task){.id = "s", .call = complete, .needs = f});
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        struct cairn_run_result result =
            run_with(w, store, (struct cairn_run_options){.jobs = 4}, NULL);
        ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
        ck_assert_uint_eq(result.completed, LATER);
        ck_assert_uint_eq(result.failed, 1);
        ck_assert_uint_eq(result.skipped, 1);
        ck_assert_uint_eq(task_of(store, 1, "f").info.attempts, attempt);
    }
    ck_assert_str_eq(task_of(store, 1, "f").text, "told at once");
    ck_assert_str_eq(task_of(store, 1, "l39").text, "told later");
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static enum cairn_outcome make_large(void *context, struct cairn_attempt *attempt)
{
    const char *path = context;
    (void)attempt;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 8 << 20), 0);
    ck_assert_int_eq(close(fd), 0);
    return CAIRN_COMPLETED;
}

/* An output that is read on another thread; once it is missing. */
START_TEST(outputs_of_callbacks)
{
    struct cairn_store *store = open_store();
    char path[4200];
    snprintf(path, sizeof path, "%s/large", dir);
    const char *const outputs[] = {path, NULL};
    const char *const needs[] = {"large", NULL};
    struct cairn_workflow *w = workflow_named("w");
    add(w, (struct cairn_task){
               .id = "large", .call = make_large, .context = path, .outputs = outputs});
    add(w, (struct cairn_task){.id = "next", .call = complete, .needs = needs});
    add(w, (struct cairn_task){.id = "none", .call = complete, .outputs = outputs});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.jobs = 1}, NULL);
    ck_assert_uint_eq(result.completed, 3);
    ck_assert_int_eq(unlink(path), 0);
    result = run_with(w, store, (struct cairn_run_options){.jobs = 1}, NULL);
    ck_assert_uint_eq(result.completed, 3);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(retries_of_callbacks)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {0};
    uint32_t good_at = 3;
    add(w, (struct cairn_task){
               .id = "r", .call = fail_until, .context = &good_at, .retries = 2});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(result.attempts, 3);
    ck_assert_uint_eq(seen.retries, 2);
    ck_assert_uint_eq(task_of(store, 1, "r").info.attempts, 3);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

struct stopping {
    struct cairn_stop *stop;
    bool stopped;
};

static enum cairn_outcome stop_run(void *context, struct cairn_attempt *attempt)
{
    struct stopping *s = context;
    (void)attempt;
    if (!s->stopped)
        cairn_stop_request(s->stop);
    s->stopped = true;
    return CAIRN_COMPLETED;
}

START_TEST(stopped_between_callbacks)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const needs[] = {"a", NULL};
    struct stopping s = {0};
    good(cairn_stop_new(&s.stop, &error));
    add(w, (struct cairn_task){.id = "a", .call = stop_run, .context = &s});
    add(w, (struct cairn_task){.id = "b", .call = complete, .needs = needs});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.stop = s.stop}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_int_eq(result.exit_status, 7);
    ck_assert_uint_eq(result.completed, 1);
    result = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(result.attempts, 1);
    cairn_stop_free(s.stop);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* What a callback may tell later, and what becomes of what needs it. */
static void *cancel_it(void *attempt)
{
    cairn_attempt_finish(attempt, CAIRN_CANCELLED, "not now");
    return NULL;
}

static enum cairn_outcome cancelled_once(void *context, struct cairn_attempt *attempt)
{
    bool *told = context;
    pthread_t thread;
    if (*told)
        return CAIRN_COMPLETED;
    *told = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_it, attempt), 0);
    pthread_detach(thread);
    return CAIRN_LATER;
}

START_TEST(cancelled_callbacks)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const needs[] = {"a", NULL};
    bool once = false;
    add(w, (struct cairn_task){.id = "a", .call = cancelled_once, .context = &once});
    add(w, (struct cairn_task){.id = "b", .call = complete, .needs = needs});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.cancelled, 1);
    ck_assert_uint_eq(result.completed, 0);
    ck_assert_int_ne(result.exit_status, 0);
    ck_assert_int_eq(task_of(store, 1, "a").info.outcome, CAIRN_CANCELLED);
    ck_assert_str_eq(task_of(store, 1, "a").text, "not now");
    result = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.run, 1);
    ck_assert_uint_eq(result.completed, 2);
    ck_assert_uint_eq(task_of(store, 1, "a").info.attempts, 2);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* A call that will finish later is waited for, also by a run that stops. */
static enum cairn_outcome stop_then_later(void *context, struct cairn_attempt *attempt)
{
    cairn_stop_request(context);
    return later(NULL, attempt);
}

START_TEST(stop_waits_for_calls)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const needs[] = {"a", NULL};
    struct cairn_stop *stop = NULL;
    good(cairn_stop_new(&stop, &error));
    add(w, (struct cairn_task){.id = "a", .call = stop_then_later, .context = stop});
    add(w, (struct cairn_task){.id = "b", .call = complete, .needs = needs});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.stop = stop}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_uint_eq(result.completed, 1);
    ck_assert_str_eq(task_of(store, 1, "a").text, "told later");
    cairn_stop_free(stop);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* A chain gives the engine one thing to do at a time: it must never wait for the tick
 * while there is one. Waits are counted, not time. */
START_TEST(chain_does_not_wait_for_ticks)
{
    enum { LINKS = 300 };
    struct cairn_store *store = NULL;
    struct cairn_store_options options = {
        .path = ".cairn", .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {0};
    char id[16], need[16] = "";
    const char *const needs[] = {need, NULL};
    good(cairn_store_open(&store, &options, &error));
    for (int i = 0; i < LINKS; i++) {
        snprintf(id, sizeof id, "t%d", i);
        add(w, (struct cairn_task){.id = id,
                                   .call = i % 2 ? later : complete,
                                   .needs = i ? needs : NULL});
        snprintf(need, sizeof need, "%s", id);
    }
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert_uint_eq(result.completed, LINKS);
    ck_assert_uint_lt(seen.ticks, 50);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_callbacks");
    TCase *tests = tcase_create("engine_callbacks");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, outcomes_of_callbacks);
    tcase_add_test(tests, outputs_of_callbacks);
    tcase_add_test(tests, retries_of_callbacks);
    tcase_add_test(tests, stopped_between_callbacks);
    tcase_add_test(tests, cancelled_callbacks);
    tcase_add_test(tests, stop_waits_for_calls);
    tcase_add_test(tests, chain_does_not_wait_for_ticks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
