/* SPDX-License-Identifier: MIT */
/* make: wrap=owned_run_load not-valgrind */
/* Whole runs with a runner that fails, or tells of an end only after a wish to stop has
 * come; and a wish that comes while a run begins. No processes: the fake runner,
 * between which and the engine a few calls are caught. (wrap above) */
#include "executor/engine.h"
#include "executor/state/engine.h"
#include "storage/rows_command.h"
#include "storage/store.h"
#include "tests/support/engine.h"
#include "tests/support/fake_runner.h"

static struct {
    struct fake_runner fake;
    struct runner_ops real, caught;
    uint32_t ended, fail_at; /* ends; at how many of them collect fails (0: never) */
    bool failed;
    const char *late; /* the task of whose end is told after a stop; NULL: none */
    bool held;        /* that end is to be told */
    bool cancels;     /* when the next owner has the lock, and has not begun */
    struct cairn_stop *stop;
} the;

static void put_cancel(void)
{
    struct cairn_store *store = open_store();
    struct command_row command = {
        .run = 1, .verb = COMMAND_CANCEL, .task = UINT32_MAX, .time_ns = 1};
    good(store_begin(store, -1, &error));
    good(store_end(store, store_put_command(store, &command, &error), &error));
    cairn_store_close(store);
}

int __real_owned_run_load(struct engine *e, struct cairn_error *wrong);
int __wrap_owned_run_load(struct engine *e, struct cairn_error *wrong);
int __wrap_owned_run_load(struct engine *e, struct cairn_error *wrong)
{
    if (the.cancels)
        put_cancel();
    the.cancels = false;
    return __real_owned_run_load(e, wrong);
}

static struct fake_task play(void *context, const struct spawn_request *request)
{
    (void)context;
    (void)request;
    return (struct fake_task){.run_ns = 100 * MS, .term_ns = FAKE_FOREVER};
}

static bool is_of(const struct spawn_request *request, const char *task)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "CAIRN_TASK=%s", task);
    for (char *const *at = request->envp; *at; at++)
        if (strcmp(*at, wanted) == 0)
            return true;
    return false;
}

static void watch(void *context, enum fake_event event,
                  const struct spawn_request *request)
{
    (void)context;
    if (event != FAKE_ENDED)
        return;
    the.ended++;
    if (!the.late || !is_of(request, the.late))
        return;
    the.held = true;
    cairn_stop_request(the.stop);
}

static int collect(struct runner *runner, struct spawn_request **news,
                   struct cairn_error *wrong)
{
    *news = NULL;
    if (the.held)
        return 0;
    int rc = the.real.collect(runner, news, wrong);
    if (the.failed || !the.fail_at || the.ended < the.fail_at)
        return rc;
    the.failed = true;
    return error_set(wrong, CAIRN_EIO, "the runner cannot continue");
}

/* Whoever wants to stop it asks first, unless there is a keeper. */
static bool has_ended(struct runner *runner, const struct runner_process *process)
{
    the.held = false;
    return the.real.has_ended(runner, process);
}

static void stop(struct runner *runner, const struct runner_process *process,
                 enum runner_stop how)
{
    the.held = false;
    the.real.stop(runner, process, how);
}

static void open_runner(void)
{
    fake_runner_init(&the.fake, 1);
    the.fake.script = play;
    the.fake.watch = watch;
    the.real = the.caught = *the.fake.runner.ops;
    the.caught.collect = collect;
    the.caught.has_ended = has_ended;
    the.caught.stop = stop;
    the.fake.runner.ops = &the.caught;
}

static void begin(void)
{
    setup();
    memset(&the, 0, sizeof the);
    good(cairn_stop_new(&the.stop, &error));
}

static void end(void)
{
    cairn_stop_free(the.stop);
    teardown();
}

static int run(const char *text, struct cairn_store *store, uint32_t jobs,
               struct cairn_run_result *result)
{
    struct cairn_run_options options = {.jobs = jobs, .stop = the.stop};
    struct cairn_workflow *w = parsed(text);
    open_runner();
    int rc = engine_run(w, store, &options, &the.fake.runner, result, &error);
    cairn_workflow_free(w);
    ck_assert_uint_eq(fake_runner_living(&the.fake), 0);
    fake_runner_release(&the.fake);
    return rc;
}

/* Checks that wait in the runner behind tasks are no reason to wait for ever: the seats
 * of what is ended stay taken, so they never start. */
START_TEST(given_up_while_checks_wait)
{
    the.fail_at = 3;
    ck_assert_int_eq(
        run("name: w\ntasks:\n"
            "  t: {foreach: {i: {range: [1, 40]}}, run: ':', check: ':'}\n",
            NULL, 2, NULL),
        CAIRN_EIO);
    ck_assert(the.failed);
    ck_assert_str_eq(error.text, "the runner cannot continue");
}
END_TEST

/* What had ended by itself was not cancelled, whoever was to be told of it. */
START_TEST(stopped_before_an_end_is_told)
{
    static const char *const modes[] = {"kill", "adopt"};
    struct cairn_store *store = open_store();
    struct cairn_run_result result = {0};
    char text[400];
    the.late = "a";
    snprintf(text, sizeof text,
             "name: w\non_crash: %s\ntasks:\n  a: {run: ':', once: %s}\n"
             "  b: {needs: [a], run: ':'}\n",
             modes[_i % 2], _i / 2 ? "true" : "false");
    good(run(text, store, 1, &result));
    ck_assert(!the.held);
    expect_tasks(store, 1, "a:completed b:pending");
    ck_assert_int_eq(result.state, CAIRN_RUN_CANCELLED);
    cairn_store_close(store);
}
END_TEST

/* A cancel that is stored before there is a new owner was meant for an earlier one; one
 * that comes when the lock is taken is for whoever has it. */
START_TEST(cancelled_while_it_begins)
{
    static const char text[] = "name: w\ntasks:\n  a: {run: ':'}\n"
                               "  b: {needs: [a], run: ':'}\n";
    struct cairn_store *store = open_store();
    struct cairn_run_result result = {0};
    the.late = "a";
    good(run(text, store, 1, &result));
    expect_tasks(store, 1, "a:completed b:pending");
    the.late = NULL;
    cairn_stop_free(the.stop);
    good(cairn_stop_new(&the.stop, &error));
    put_cancel();
    the.cancels = _i;
    good(run(text, store, 1, &result));
    ck_assert_uint_eq(result.run, 1);
    expect_tasks(store, 1, _i ? "a:completed b:pending" : "a:completed b:completed");
    ck_assert_int_eq(result.state, _i ? CAIRN_RUN_CANCELLED : CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_late");
    TCase *tests = tcase_create("engine_late");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, given_up_while_checks_wait);
    tcase_add_loop_test(tests, stopped_before_an_end_is_told, 0, 4);
    tcase_add_loop_test(tests, cancelled_while_it_begins, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
