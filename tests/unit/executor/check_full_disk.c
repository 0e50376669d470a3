/* SPDX-License-Identifier: MIT */
/* make: not-quick tsan not-valgrind */
/* Whole runs on a disk that is full for a while: what continues, what waits for space,
 * and that both can be stopped. */
#include "executor/state/engine.h"
#include "tests/support/engine.h"

enum { MANY = 400, FULL_AT = 50, AT_ONCE = 2 };

static enum cairn_outcome fill_at(void *context, struct cairn_attempt *attempt)
{
    uint32_t *calls = context;
    (void)attempt;
    if (++*calls == FULL_AT)
        fill_small();
    return CAIRN_COMPLETED;
}

static void add_many(struct cairn_workflow *w, cairn_task_fn *call, void *context)
{
    char id[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "t%d", i);
        add(w, (struct cairn_task){.id = id, .call = call, .context = context});
    }
}

/* More go on than there are slots and intents made ahead; afterwards only what is not
 * stored runs again. */
START_TEST(best_effort_goes_on_while_the_disk_is_full)
{
    if (!mount_small("size=2m"))
        return; /* not allowed here */
    struct cairn_store *store = open_at("small/.cairn");
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {0};
    uint32_t calls = 0;
    add_many(w, fill_at, &calls);
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.jobs = AT_ONCE}, &seen);
    ck_assert_uint_eq(calls, MANY);
    ck_assert_uint_eq(result.completed, MANY);
    ck_assert_int_eq(result.exit_status, 9);
    ck_assert(result.unsaved > 0 && result.end_unsaved);
    ck_assert_uint_gt(seen.degraded, 0);
    cairn_store_close(store);
    free_small();
    store = open_at("small/.cairn");
    uint32_t unsaved = result.unsaved;
    ck_assert_uint_gt(unsaved, 2 * (AT_ONCE + AHEAD_MOST));
    result = run_with(w, store, (struct cairn_run_options){.jobs = AT_ONCE}, NULL);
    ck_assert_uint_eq(result.run, 1);
    ck_assert_uint_eq(result.attempts, unsaved);
    ck_assert_int_eq(result.exit_status, 0);
    cairn_store_close(store);
    cairn_workflow_free(w);
    umount("small");
}
END_TEST

/* Much text, so that all that is unsaved together needs much more room than a cancel.
 */
static enum cairn_outcome fill_and_talk(void *context, struct cairn_attempt *attempt)
{
    static char text[16000];
    enum cairn_outcome outcome = fill_at(context, attempt);
    memset(text, 'x', sizeof text - 1);
    cairn_attempt_finish(attempt, outcome, text);
    return CAIRN_LATER;
}

static uint32_t calls_made;

/* Once only the process is left. */
static void cancel_when_degraded(struct seen *seen, const struct cairn_event *event)
{
    struct stat st;
    if (event->kind != CAIRN_EVENT_TICK || !seen->degraded || event->running == 0 ||
        calls_made < MANY || seen->rc == 0)
        return;
    ck_assert_int_eq(stat("small/filler", &st), 0);
    ck_assert_int_eq(truncate("small/filler", st.st_size - 49152), 0);
    seen->rc = cairn_cancel(seen->store, 1, NULL, &error);
}

START_TEST(cancel_is_heeded_while_the_disk_is_full)
{
    if (!mount_small("size=4m"))
        return;
    struct cairn_store *store = open_at("small/.cairn");
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = cancel_when_degraded, .rc = -1};
    const char *const argv[] = {"sleep", "40", NULL};
    calls_made = 0;
    seen.store = open_at("small/.cairn");
    add_many(w, fill_and_talk, &calls_made);
    add(w, (struct cairn_task){.id = "z", .argv = argv, .priority = -1});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){.jobs = 2}, &seen);
    ck_assert_msg(seen.rc == 0, "%s", error.text); /* there was room for it */
    ck_assert_uint_eq(seen.recovered, 0);          /* but not for what is unsaved */
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_int_eq(result.exit_status, 9);
    ck_assert_uint_eq(result.completed, MANY);
    free_small();
    cairn_store_close(seen.store);
    cairn_store_close(store);
    cairn_workflow_free(w);
    umount("small");
}
END_TEST

/* Counts what starts between the first failure and the recovery. */
struct strict {
    uint32_t calls, ticks, at_degraded, at_relief;
};

static enum cairn_outcome count_call(void *context, struct cairn_attempt *attempt)
{
    struct strict *strict = context;
    (void)attempt;
    if (++strict->calls == FULL_AT)
        fill_small();
    return CAIRN_COMPLETED;
}

static struct strict *strict_now; /* the observer has another context */

enum { TICKS_FULL = 13 }; /* saving is tried again every fifth */

static void relieve(struct seen *seen, const struct cairn_event *event)
{
    struct strict *strict = strict_now;
    if (event->kind == CAIRN_EVENT_DEGRADED)
        strict->at_degraded = strict->calls;
    if (event->kind != CAIRN_EVENT_TICK || !seen->degraded || strict->at_relief)
        return;
    if (++strict->ticks == TICKS_FULL) {
        strict->at_relief = strict->calls;
        free_small();
    }
}

START_TEST(required_saving_waits_for_space)
{
    if (!mount_small("size=2m"))
        return;
    struct cairn_store *store = open_at("small/.cairn");
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = relieve};
    struct strict strict = {0};
    strict_now = &strict;
    add_many(w, count_call, &strict);
    struct cairn_run_result result = run_with(
        w, store, (struct cairn_run_options){.jobs = 2, .saving = CAIRN_REQUIRED},
        &seen);
    ck_assert_uint_gt(seen.degraded, 0);
    ck_assert_uint_gt(seen.recovered, 0);
    ck_assert_uint_lt(strict.at_degraded, MANY);
    ck_assert_uint_gt(strict.at_relief, 0);
    /* not even those whose intents were stored before */
    ck_assert_uint_eq(strict.at_relief, strict.at_degraded);
    ck_assert_uint_lt(strict.at_relief, MANY);
    ck_assert_uint_eq(result.completed, MANY);
    ck_assert_int_eq(result.exit_status, 0);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
    umount("small");
}
END_TEST

static struct cairn_stop *stop_now;

static void stop_when_degraded(struct seen *seen, const struct cairn_event *event)
{
    (void)seen;
    if (event->kind == CAIRN_EVENT_DEGRADED)
        cairn_stop_request(stop_now);
}

/* Once is enough, and does not wait for somebody to free some space. */
START_TEST(required_saving_can_be_stopped)
{
    if (!mount_small("size=2m"))
        return;
    struct cairn_store *store = open_at("small/.cairn");
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = stop_when_degraded};
    struct strict strict = {0};
    good(cairn_stop_new(&stop_now, &error));
    add_many(w, count_call, &strict);
    struct cairn_run_options options = {
        .jobs = 2, .saving = CAIRN_REQUIRED, .stop = stop_now};
    struct cairn_run_result result = run_with(w, store, options, &seen);
    ck_assert_uint_lt(strict.calls, MANY);
    ck_assert_uint_gt(result.unsaved, 0);
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    ck_assert_int_eq(result.exit_status, 9);
    cairn_stop_free(stop_now);
    cairn_store_close(store);
    cairn_workflow_free(w);
    umount("small");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full_disk");
    TCase *tests = tcase_create("full_disk");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, best_effort_goes_on_while_the_disk_is_full);
    tcase_add_test(tests, cancel_is_heeded_while_the_disk_is_full);
    tcase_add_test(tests, required_saving_waits_for_space);
    tcase_add_test(tests, required_saving_can_be_stopped);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
