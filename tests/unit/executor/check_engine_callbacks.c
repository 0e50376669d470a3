/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs of tasks that are functions of the program: outcomes that they report at
 * once or later, retries, and a stop between or during calls. */
#include "tests/support/engine.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
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

/* ---- Values and messages ---- */

struct summing {
    struct cairn_stop *stop;
    int calls, stop_after; /* 0: never */
    long parts, total;
    bool later;
};

static void *finish_with_value(void *context)
{
    struct cairn_attempt *attempt = context;
    good(cairn_attempt_set(attempt, "n", "7", &error));
    cairn_attempt_finish(attempt, CAIRN_COMPLETED, NULL);
    return NULL;
}

static enum cairn_outcome set_number(void *context, struct cairn_attempt *attempt)
{
    struct summing *s = context;
    char text[16];
    pthread_t thread;
    snprintf(text, sizeof text, "%ld",
             strtol(cairn_attempt_task(attempt) + 1, NULL, 10));
    good(cairn_attempt_set(attempt, "n", "0", &error)); /* the last one counts */
    good(cairn_attempt_set(attempt, "n", text, &error));
    good(cairn_attempt_set(attempt, "also", "", &error));
    if (++s->calls == s->stop_after)
        cairn_stop_request(s->stop);
    if (!s->later)
        return CAIRN_COMPLETED;
    ck_assert_int_eq(pthread_create(&thread, NULL, finish_with_value, attempt), 0);
    pthread_detach(thread);
    return CAIRN_LATER;
}

static enum cairn_outcome sum_numbers(void *context, struct cairn_attempt *attempt)
{
    struct summing *s = context;
    const char *value = NULL;
    char id[32];
    for (long i = 0; i < s->parts; i++) {
        snprintf(id, sizeof id, "n%ld", i);
        good(cairn_attempt_get(attempt, id, "n", &value, &error));
        s->total += strtol(value, NULL, 10);
        good(cairn_attempt_get(attempt, id, "also", &value, &error));
        ck_assert_str_eq(value, "");
    }
    ck_assert_int_eq(cairn_attempt_get(attempt, "n0", "m", &value, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(cairn_attempt_get(attempt, "other", "n", &value, &error),
                     CAIRN_ENOTFOUND);
    return CAIRN_COMPLETED;
}

/* n0 to nN-1, their sum, and one task that the sum does not need. */
static struct cairn_workflow *sum_workflow(struct summing *s)
{
    struct cairn_workflow *w = workflow_named("w");
    char(*ids)[32] = calloc((size_t)s->parts, sizeof *ids);
    const char **needs = calloc((size_t)s->parts + 1, sizeof *needs);
    ck_assert_ptr_nonnull(ids);
    ck_assert_ptr_nonnull(needs);
    add(w, (struct cairn_task){.id = "other", .call = set_number, .context = s});
    for (long i = 0; i < s->parts; i++) {
        snprintf(ids[i], sizeof ids[i], "n%ld", i);
        add(w, (struct cairn_task){.id = ids[i], .call = set_number, .context = s});
        needs[i] = ids[i];
    }
    add(w, (struct cairn_task){
               .id = "sum", .call = sum_numbers, .context = s, .needs = needs});
    free(needs);
    free(ids);
    return w;
}

static long sum_in_two_parts(struct cairn_store *store, long parts, int stop_after)
{
    struct summing first = {.parts = parts, .stop_after = stop_after};
    good(cairn_stop_new(&first.stop, &error));
    struct cairn_workflow *w = sum_workflow(&first);
    struct cairn_run_result result = run_with(
        w, store, (struct cairn_run_options){.stop = stop_after ? first.stop : NULL},
        NULL);
    cairn_stop_free(first.stop);
    cairn_workflow_free(w);
    if (!stop_after) {
        ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
        return first.total;
    }
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    struct summing second = {.parts = parts}; /* memory is as after a kill */
    w = sum_workflow(&second);
    result = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(first.calls + second.calls, parts + 1);
    cairn_workflow_free(w);
    return second.total;
}

/* Of few callbacks each runs on a thread, of many most on that of the run. */
START_TEST(values_of_callbacks)
{
    struct cairn_store *store = open_store();
    ck_assert_int_eq(sum_in_two_parts(store, 6, 3), 15);
    ck_assert_int_eq(sum_in_two_parts(store, 200, 150), 19900);
    ck_assert_int_eq(sum_in_two_parts(store, 200, 0), 19900);
    ck_assert_int_eq(sum_in_two_parts(NULL, 50, 0), 1225);
    cairn_store_close(store);
}
END_TEST

START_TEST(values_told_later)
{
    struct cairn_store *store = open_store();
    struct summing s = {.parts = 4, .later = true};
    struct cairn_workflow *w = sum_workflow(&s);
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.jobs = 4}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(s.total, 28);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static enum cairn_outcome fail_with_value(void *context, struct cairn_attempt *attempt)
{
    char text[32];
    (void)context;
    snprintf(text, sizeof text, "try %u", cairn_attempt_number(attempt));
    good(cairn_attempt_message(attempt, "replaced", &error));
    good(cairn_attempt_message(attempt, text, &error));
    good(cairn_attempt_set(attempt, cairn_attempt_number(attempt) == 1 ? "old" : "new",
                           text, &error));
    return cairn_attempt_number(attempt) == 1 ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static enum cairn_outcome see_value(void *context, struct cairn_attempt *attempt)
{
    const char *value = NULL;
    (void)context;
    good(cairn_attempt_get(attempt, "a", "new", &value, &error));
    ck_assert_str_eq(value, "try 2");
    ck_assert_int_eq(cairn_attempt_get(attempt, "a", "old", &value, &error),
                     CAIRN_ENOTFOUND);
    good(cairn_attempt_message(attempt, "gone", &error));
    good(cairn_attempt_message(attempt, NULL, &error));
    return CAIRN_COMPLETED;
}

START_TEST(values_of_failed_attempts)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const needs[] = {"a", NULL};
    add(w, (struct cairn_task){.id = "a", .call = fail_with_value, .retries = 1});
    add(w, (struct cairn_task){.id = "b", .call = see_value, .needs = needs});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_str_eq(task_of(store, 1, "a").text, "try 2");
    ck_assert_str_eq(task_of(store, 1, "b").text, "");
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static void set_many(struct cairn_attempt *attempt)
{
    char name[16];
    int rc = 0;
    for (int i = 0; i < 1001 && !rc; i++) {
        snprintf(name, sizeof name, "n%d", i);
        rc = cairn_attempt_set(attempt, name, "x", &error);
        ck_assert_int_eq(rc, i < 1000 ? 0 : CAIRN_ELIMIT);
    }
    good(cairn_attempt_set(attempt, "n7", "another", &error));
}

static enum cairn_outcome set_wrong(void *context, struct cairn_attempt *attempt)
{
    static const char *const names[] = {"", "1a", "a-b", "a b", "a=b", NULL};
    char *large = malloc((1 << 20) + 2);
    struct cairn_attempt **kept = context;
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', (1 << 20) + 1);
    large[(1 << 20) + 1] = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_int_eq(cairn_attempt_set(attempt, names[i], "x", &error),
                         CAIRN_EUSAGE);
    large[300] = 0;
    ck_assert_int_eq(cairn_attempt_set(attempt, large, "x", &error), CAIRN_EUSAGE);
    large[300] = 'x';
    ck_assert_int_eq(cairn_attempt_set(attempt, "a", NULL, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_attempt_set(attempt, "a", large, &error), CAIRN_ELIMIT);
    large[1 << 19] = 0;
    good(cairn_attempt_set(attempt, "a", large, &error));
    good(cairn_attempt_set(attempt, "a", large, &error)); /* in its place */
    ck_assert_int_eq(cairn_attempt_set(attempt, "b", large, &error), CAIRN_ELIMIT);
    good(cairn_attempt_set(attempt, "a", "", &error));
    free(large);
    *kept = attempt;
    return CAIRN_LATER;
}

static enum cairn_outcome set_full(void *context, struct cairn_attempt *attempt)
{
    struct cairn_attempt *other = *(struct cairn_attempt **)context;
    set_many(attempt);
    cairn_attempt_finish(attempt, CAIRN_COMPLETED, NULL);
    /* It has returned already: its handle is good until it is finished. */
    good(cairn_attempt_set(other, "b", "late", &error));
    cairn_attempt_finish(other, CAIRN_COMPLETED, NULL);
    return CAIRN_LATER;
}

START_TEST(limits_of_values)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_attempt *kept = NULL;
    add(w, (struct cairn_task){.id = "a", .call = set_wrong, .context = &kept});
    add(w, (struct cairn_task){.id = "b", .call = set_full, .context = &kept});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.jobs = 2}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* What the store has of it cannot run it: nothing changes. */
START_TEST(functions_are_missing)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w"), *stored = NULL;
    struct cairn_run_options resume = {.start = CAIRN_START_RESUME, .run = 1};
    uint32_t good_at = 2;
    add(w, (struct cairn_task){.id = "r", .call = fail_until, .context = &good_at});
    ck_assert_int_eq(run_with(w, store, (struct cairn_run_options){0}, NULL).failed, 1);
    ck_assert(!cairn_workflow_lacks_functions(w));
    good(cairn_workflow_of_run(&stored, store, 1, NULL, &error));
    ck_assert(cairn_workflow_lacks_functions(stored));
    ck_assert_int_eq(cairn_run(stored, store, &resume, NULL, &error), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "run 1 has functions of a program"));
    expect_tasks(store, 1, "r:failed");
    ck_assert_uint_eq(task_of(store, 1, "r").info.attempts, 1);
    cairn_workflow_free(stored);
    ck_assert_int_eq(run_with(w, store, resume, NULL).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* A function makes the list of a group, which leaves lines and names for others. */
static enum cairn_outcome make_list(void *context, struct cairn_attempt *attempt)
{
    const char *list = *(const char *const *)context;
    return cairn_attempt_set(attempt, "parts", list, NULL) ? CAIRN_FAILED
                                                           : CAIRN_COMPLETED;
}

static struct cairn_workflow *with_lists(const char **list)
{
    static const struct cairn_foreach parts = {
        .key = "part", .from = "split", .value = "parts"};
    static const struct cairn_foreach found = {
        .key = "n", .from = "all", .glob = "*.o"};
    static const struct cairn_foreach named = {
        .key = "n", .from = "all", .lines = "names"};
    static const char *const part[] = {"part", NULL}, *const names[] = {"n", "v", NULL};
    static const struct cairn_foreach rows = {.key = "row",
                                              .from = "all",
                                              .csv = "sheet",
                                              .column = "n",
                                              .columns = names,
                                              .where = "row != 'a.o'"};
    static const char *const text[] = {"w=<${{ v }}>", NULL};
    struct cairn_workflow *w = workflow_named("lists");
    add(w, (struct cairn_task){
               .id = "split", .call = make_list, .context = list, .version = *list});
    add(w, (struct cairn_task){.id = "part",
                               .run = "echo $part >>ran; echo $part >$part.o",
                               .foreach = &parts});
    add(w, (struct cairn_task){
               .id = "all",
               .run = "ls *.o >names; sed 's/.*/&,v&/' names >sheet; echo all >>ran",
               .needs = part});
    add(w,
        (struct cairn_task){.id = "found", .run = "echo f$n >>ran", .foreach = &found});
    add(w,
        (struct cairn_task){.id = "named", .run = "echo n$n >>ran", .foreach = &named});
    add(w, (struct cairn_task){.id = "rows",
                               .run = "echo r$row:$v:$w >>ran",
                               .env = text,
                               .foreach = &rows});
    return w;
}

START_TEST(lists_of_callbacks)
{
    struct cairn_store *store = open_store();
    const char *list = "[\"a\", \"b\"]";
    struct cairn_run_options one = {.jobs = 1};
    struct cairn_workflow *w = with_lists(&list);
    struct cairn_run_result r = run_with(w, store, one, NULL);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(r.completed, 9);
    ck_assert_int_eq(lines("ran"), 8);
    cairn_workflow_free(w);
    list = "[\"b\", \"c\"]";
    w = with_lists(&list);
    one.start = CAIRN_START_RESUME;
    put_file("ran", "");
    r = run_with(w, store, one, NULL);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    expect_words("ran", "c all fc.o nc.o rc.o:vc.o:<vc.o>");
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* ---- By name ---- */

static enum cairn_outcome note_argument(void *context, struct cairn_attempt *attempt)
{
    const char *n = cairn_attempt_argument(attempt, "n");
    ck_assert_ptr_null(cairn_attempt_argument(attempt, "other"));
    ck_assert_ptr_nonnull(n);
    FILE *ran = fopen(context, "a");
    ck_assert_ptr_nonnull(ran);
    fprintf(ran, "%s\n", n);
    ck_assert_int_eq(fclose(ran), 0);
    return cairn_attempt_set(attempt, "n", n, NULL) ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static struct cairn_registry *registry_of(const char *version)
{
    static char ran[] = "ran";
    struct cairn_registry *registry;
    struct cairn_callback got;
    good(cairn_registry_new(&registry, &error));
    good(cairn_registry_add(registry,
                            &(struct cairn_callback){.name = "note",
                                                     .call = note_argument,
                                                     .context = ran,
                                                     .version = version,
                                                     .description = "writes"},
                            &error));
    good(cairn_registry_get(registry, 0, &got));
    ck_assert_str_eq(got.name, "note");
    ck_assert_str_eq(got.description, "writes");
    ck_assert_int_eq(cairn_registry_get(registry, 1, &got), CAIRN_ENOTFOUND);
    ck_assert_int_eq(
        cairn_registry_add(registry,
                           &(struct cairn_callback){.name = "note", .call = complete},
                           &error),
        CAIRN_EUSAGE);
    ck_assert_int_eq(
        cairn_registry_add(registry,
                           &(struct cairn_callback){.name = "a b", .call = complete},
                           &error),
        CAIRN_EUSAGE);
    ck_assert_int_eq(
        cairn_registry_add(registry, &(struct cairn_callback){.name = "none"}, &error),
        CAIRN_EUSAGE);
    return registry;
}

static int count_change(void *context, const char *field, const char *old,
                        const char *now)
{
    ck_assert_str_eq(field, "version");
    ck_assert(strcmp(old, "1") == 0 && strcmp(now, "2") == 0);
    ++*(int *)context;
    return 0;
}

/* From a text, then from the store alone; by another version, which the plan names; and
 * the same built in memory. */
START_TEST(callbacks_by_name)
{
    static const char text[] =
        "name: w\nparams: {p: x}\ntasks:\n"
        "  a: {call: note, with: {n: \"${{ params.p }}1\"}}\n"
        "  b: {call: note, needs: a, foreach: {k: [y, z]},\n"
        "      with: {n: \"${{ k }}${{ tasks.a.outputs.n }}\"}}\n";
    struct cairn_store *store = open_store();
    struct cairn_registry *one = registry_of("1"), *two = registry_of("2");
    struct cairn_registry *none;
    struct cairn_workflow *w, *built;
    struct cairn_source source = {
        .text = text, .length = strlen(text), .registry = one};
    struct cairn_run_options resume = {.start = CAIRN_START_RESUME, .run = 1};
    struct cairn_plan *plan;
    char digest[65], same[65];
    int changes = 0;
    good(cairn_workflow_open(&w, &source, &error));
    ck_assert(!cairn_workflow_lacks_functions(w));
    good(cairn_workflow_digest(w, digest, &error));
    ck_assert_int_eq(run_with(w, store, (struct cairn_run_options){0}, NULL).completed,
                     3);
    expect_words("ran", "x1 yx1 zx1");
    cairn_workflow_free(w);

    good(cairn_workflow_of_run_with(&w, store, 1, one, NULL, &error));
    good(cairn_workflow_digest(w, same, &error));
    ck_assert_str_eq(digest, same);
    ck_assert(run_with(w, store, resume, NULL).nothing_to_do);
    cairn_workflow_free(w);

    good(cairn_workflow_of_run_with(&w, store, 1, two, NULL, &error));
    good(cairn_plan(&plan, w, store, &resume, &error));
    ck_assert_uint_eq(cairn_plan_will(plan) + cairn_plan_may(plan), 3);
    good(cairn_plan_changes(plan, 0, count_change, &changes, &error));
    ck_assert_int_eq(changes, 1);
    cairn_plan_free(plan);
    put_file("ran", "");
    ck_assert_int_eq(run_with(w, store, resume, NULL).attempts, 3);
    expect_words("ran", "x1 yx1 zx1");
    cairn_workflow_free(w);

    good(cairn_registry_new(&none, &error));
    ck_assert_int_eq(cairn_workflow_of_run_with(&w, store, 1, none, NULL, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "task `a` calls `note`"));
    source.registry = none;
    ck_assert_int_eq(cairn_workflow_open(&w, &source, &error), CAIRN_ENOTFOUND);
    source.path = "both";
    ck_assert_int_eq(cairn_workflow_open(&w, &source, &error), CAIRN_EUSAGE);

    static char ran[] = "ran";
    const char *const with[] = {"n=m", NULL};
    built = workflow_named("built");
    add(built, (struct cairn_task){.id = "a",
                                   .call = note_argument,
                                   .context = ran,
                                   .version = "1",
                                   .callback = "note",
                                   .with = with});
    ck_assert_int_eq(
        run_with(built, store, (struct cairn_run_options){0}, NULL).completed, 1);
    cairn_workflow_free(built);
    good(cairn_workflow_of_run_with(&w, store, 2, one, NULL, &error));
    resume.run = 2;
    ck_assert(run_with(w, store, resume, NULL).nothing_to_do);
    cairn_workflow_free(w);
    cairn_registry_free(none);
    cairn_registry_free(two);
    cairn_registry_free(one);
    cairn_store_close(store);
}
END_TEST

/* ---- Checks and undos ---- */

enum { LOG_BYTES = 2048 };
static char said[LOG_BYTES];
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *word, const char *more)
{
    pthread_mutex_lock(&said_lock);
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s%s%s", n ? " " : "", word, more);
    pthread_mutex_unlock(&said_lock);
}

static enum cairn_outcome order_it(void *context, struct cairn_attempt *attempt)
{
    char number[32];
    (void)context;
    say("+", cairn_attempt_task(attempt));
    snprintf(number, sizeof number, "%s-%u", cairn_attempt_task(attempt),
             cairn_attempt_number(attempt));
    return cairn_attempt_set(attempt, "order", number, NULL) ? CAIRN_FAILED
                                                             : CAIRN_COMPLETED;
}

/* It has what the task has set, and its arguments. */
static enum cairn_outcome take_it_back(void *context, struct cairn_attempt *attempt)
{
    const char *order = "nothing", *task = cairn_attempt_task(attempt);
    const char *how = cairn_attempt_argument(attempt, "how");
    (void)context;
    (void)cairn_attempt_get(attempt, task, "order", &order, NULL);
    say("-", order);
    if (!how || strcmp(how, "badly") != 0)
        return CAIRN_COMPLETED;
    good(cairn_attempt_message(attempt, "they do not answer", NULL));
    return CAIRN_FAILED;
}

static enum cairn_outcome fail_it(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    say("!", cairn_attempt_task(attempt));
    return CAIRN_FAILED;
}

/* Passes for the second attempt, whose confidence is 0.8. */
static enum cairn_outcome inspect_it(void *context, struct cairn_attempt *attempt)
{
    const char *order = "nothing", *task = cairn_attempt_task(attempt);
    (void)context;
    good(cairn_attempt_get(attempt, task, "order", &order, NULL));
    say("?", order);
    bool second = cairn_attempt_number(attempt) == 2;
    good(cairn_attempt_message(
        attempt, second ? "{\"confidence\": 0.8}" : "the order is incomplete", NULL));
    return second ? CAIRN_COMPLETED : CAIRN_FAILED;
}

static struct cairn_registry *shop(bool with_undo)
{
    static const struct cairn_callback all[] = {
        {.name = "order", .call = order_it},
        {.name = "fail", .call = fail_it},
        {.name = "inspect", .call = inspect_it},
        {.name = "cancel", .call = take_it_back}};
    struct cairn_registry *registry;
    good(cairn_registry_new(&registry, &error));
    for (size_t i = 0; i < (with_undo ? 4 : 3); i++)
        good(cairn_registry_add(registry, &all[i], &error));
    said[0] = 0;
    return registry;
}

static struct cairn_workflow *shop_workflow(const char *text,
                                            const struct cairn_registry *registry)
{
    struct cairn_workflow *w;
    struct cairn_source source = {
        .text = text, .length = strlen(text), .registry = registry};
    good(cairn_workflow_open(&w, &source, &error));
    return w;
}

START_TEST(checks_by_callbacks)
{
    struct cairn_store *store = open_store();
    struct cairn_registry *registry = shop(true);
    struct cairn_workflow *w = shop_workflow(
        "name: w\ntasks:\n"
        "  a: {call: order, retries: 2, check: {call: inspect, min: 0.7, warn: 0.9}}\n"
        "  b: {call: order, needs: a, check: {call: cancel}}\n"
        "  c: {call: order, needs: b, check: {call: fail}}\n",
        registry);
    struct cairn_run_result r = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_str_eq(said, "+a ?a-1 +a ?a-2 +b -b-1 +c !c");
    ck_assert_uint_eq(r.completed, 2);
    ck_assert_uint_eq(r.attempts, 4);
    ck_assert_str_eq(task_of(store, 1, "a").text,
                     "its check warns: the confidence of its check is 80 %, which "
                     "passes, but is below 90 %");
    ck_assert_str_eq(task_of(store, 1, "c").text,
                     "its check failed: it gave no reason");
    cairn_workflow_free(w);
    cairn_registry_free(registry);
    cairn_store_close(store);
}
END_TEST

#define SHOP                                                        \
    "tasks:\n"                                                      \
    "  a: {call: order, undo: {call: cancel}, with: {how: well}}\n" \
    "  b: {call: order, needs: a, undo: {call: cancel},\n"          \
    "      with: {how: \"${{ tasks.a.outputs.order }}\"}}\n"        \
    "  c: {call: fail, needs: b, undo: {call: cancel}, with: {how: badly}}\n"

START_TEST(undos_by_callbacks)
{
    struct cairn_store *store = open_store();
    struct cairn_registry *registry = shop(true);
    struct cairn_workflow *w =
        shop_workflow("name: w\non_failure: {undo: ancestors}\n" SHOP, registry);
    struct cairn_run_result r = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_str_eq(said, "+a +b !c -nothing -b-1 -a-1");
    ck_assert_uint_eq(r.undone, 2);
    ck_assert_uint_eq(r.failed_undos, 1);
    expect_tasks(store, 1, "a:undone b:undone c:failed");
    cairn_workflow_free(w);
    cairn_registry_free(registry);
    cairn_store_close(store);
}
END_TEST

/* By a program that has the store and its registry only. */
START_TEST(undone_later)
{
    struct cairn_store *store = open_store();
    struct cairn_registry *registry = shop(true), *none = shop(false);
    struct cairn_workflow *w = shop_workflow("name: w\n" SHOP, registry);
    struct cairn_run_options options = {0};
    struct cairn_run_result r = {0};
    (void)run_with(w, store, options, NULL);
    cairn_workflow_free(w);
    said[0] = 0;
    ck_assert_int_eq(cairn_undo(store, 1, NULL, 0, &options, &r, &error), CAIRN_EUSAGE);
    ck_assert_str_eq(error.text,
                     "task b is undone by `cancel`, a function that this program does "
                     "not have: the program that has it in its registry can undo the "
                     "run");
    options.registry = none;
    ck_assert_int_eq(cairn_undo(store, 1, NULL, 0, &options, &r, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_str_eq(said, "");
    expect_tasks(store, 1, "a:completed b:completed c:failed");
    options.registry = registry;
    good(cairn_undo(store, 1, NULL, 0, &options, &r, &error));
    ck_assert_str_eq(said, "-b-1 -a-1");
    ck_assert_uint_eq(r.undone, 2);
    expect_tasks(store, 1, "a:undone b:undone c:failed");
    cairn_registry_free(none);
    cairn_registry_free(registry);
    cairn_store_close(store);
}
END_TEST

/* By functions of a workflow that is built, without any registry. */
START_TEST(sides_without_names)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    said[0] = 0;
    add(w, (struct cairn_task){.id = "a",
                               .call = order_it,
                               .retries = 1,
                               .check_call = inspect_it,
                               .undo_call = take_it_back});
    ck_assert(!cairn_workflow_lacks_functions(w));
    struct cairn_run_result r = run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_str_eq(said, "+a ?a-1 +a ?a-2");
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    cairn_workflow_free(w);
    w = workflow_named("v");
    add(w, (struct cairn_task){.id = "a", .run = "true"});
    struct cairn_task wrong = {.id = "b", .run = "true", .undo_call = take_it_back};
    ck_assert_int_eq(cairn_workflow_add(w, &wrong, &error), CAIRN_EWORKFLOW);
    ck_assert_ptr_nonnull(strstr(error.text, "undo_call"));
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* An attempt that was left behind is unknown, as it must not run twice: its check says
 * what became of it. One that does not end is left behind, too. */
static enum cairn_outcome hang(void *context, struct cairn_attempt *attempt)
{
    say("~", cairn_attempt_task(attempt));
    while (!atomic_load((_Atomic bool *)context))
        usleep(1000);
    return CAIRN_COMPLETED;
}

START_TEST(decided_by_callbacks)
{
    static _Atomic bool over;
    struct cairn_store *store = open_store();
    for (int passes = 0; passes < 2; passes++) {
        struct cairn_workflow *w = workflow_named(passes ? "passes" : "hangs");
        said[0] = 0;
        add(w, (struct cairn_task){.id = "a",
                                   .call = hang,
                                   .context = &over,
                                   .once = true,
                                   .timeout_ms = 20,
                                   .grace_ms = 1,
                                   .check_call = passes ? complete : hang});
        struct cairn_run_result r =
            run_with(w, store, (struct cairn_run_options){0}, NULL);
        ck_assert_uint_eq(r.unknown, 1);
        r = run_with(w, store, (struct cairn_run_options){0}, NULL);
        ck_assert_str_eq(said, passes ? "~a" : "~a ~a");
        ck_assert_uint_eq(r.completed, passes ? 1 : 0);
        ck_assert_uint_eq(r.unknown, passes ? 0 : 1);
        ck_assert_uint_eq(r.left_behind, passes ? 0 : 1);
        cairn_workflow_free(w);
    }
    over = true;
    cairn_store_close(store);
}
END_TEST

/* The check of an attempt that ended later runs beside no other callback. */
static _Atomic int inside, most;

static enum cairn_outcome busy(void *context, struct cairn_attempt *attempt)
{
    int now = atomic_fetch_add(&inside, 1) + 1;
    (void)context;
    (void)attempt;
    most = now > most ? now : most;
    usleep(3000);
    atomic_fetch_sub(&inside, 1);
    return CAIRN_COMPLETED;
}

START_TEST(checks_run_alone)
{
    enum { N = 12 };
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    char ids[N][16];
    for (int i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "t%d", i);
        add(w, (struct cairn_task){
                   .id = ids[i], .call = i % 2 ? later : busy, .check_call = busy});
    }
    struct cairn_run_result r =
        run_with(w, store, (struct cairn_run_options){.jobs = 4}, NULL);
    ck_assert_uint_eq(r.completed, N);
    ck_assert_int_eq(most, 1);
    cairn_workflow_free(w);
    cairn_store_close(store);
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
    tcase_add_test(tests, values_of_callbacks);
    tcase_add_test(tests, values_told_later);
    tcase_add_test(tests, values_of_failed_attempts);
    tcase_add_test(tests, limits_of_values);
    tcase_add_test(tests, functions_are_missing);
    tcase_add_test(tests, lists_of_callbacks);
    tcase_add_test(tests, callbacks_by_name);
    tcase_add_test(tests, checks_by_callbacks);
    tcase_add_test(tests, undos_by_callbacks);
    tcase_add_test(tests, undone_later);
    tcase_add_test(tests, sides_without_names);
    tcase_add_test(tests, decided_by_callbacks);
    tcase_add_test(tests, checks_run_alone);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
