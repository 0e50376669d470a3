/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs and their store: files that are removed under a live run, who owns a
 * workflow, cancelling, damaged records. (check_full_disk.c has full disks.) */
#include "tests/support/engine.h"

#include "base/os.h"
#include "process/slots.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

/* ---- The store goes away under a live run ---- */

static void remove_wal_at_end(struct seen *seen, const struct cairn_event *event)
{
    (void)seen;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED && event->done == event->total)
        ck_assert_int_eq(unlink(".cairn/cairn.db-wal"), 0);
}

START_TEST(wal_removed_at_the_last_event)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = remove_wal_at_end};
    struct cairn_run_options options = {.observe = observe, .observe_context = &seen};
    struct cairn_run_result result;
    add(w, (struct cairn_task){.id = "a", .call = complete});
    add(w, (struct cairn_task){.id = "b", .call = complete});
    ck_assert_int_eq(cairn_run(w, store, &options, &result, &error), CAIRN_EDAMAGED);
    ck_assert_int_eq(error.code, CAIRN_EDAMAGED);
    ck_assert_uint_eq(seen.finished, 2);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static void remove_wal_at_once(struct seen *seen, const struct cairn_event *event)
{
    (void)seen;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        unlink(".cairn/cairn.db-wal");
}

/* Giving up must end and reap what still runs: nothing of it is ours afterwards. */
START_TEST(nothing_lives_after_giving_up)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w =
        parsed("name: w\ntasks: {a: {run: 'until [ -e up ]; do sleep 0.02; done'}, "
               "b: {run: 'touch up; exec sleep 300'}, c: {run: 'exec sleep 300'},"
               "d: {run: 'sleep 0.1', needs: [a]}, e: {needs: [d], run: 'exit 0'}}");
    struct seen seen = {.act = remove_wal_at_once};
    struct cairn_run_options options = {
        .jobs = 4, .observe = observe, .observe_context = &seen};
    struct cairn_run_result result;
    ck_assert_int_eq(cairn_run(w, store, &options, &result, &error), CAIRN_EDAMAGED);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(task_removes_the_live_directory)
{
    struct cairn_store *store = open_store();
    struct seen seen = {0};
    struct cairn_run_result result = run_text(
        "name: w\ntasks: {a: {run: 'rm -rf .cairn/live'}, b: {needs: [a], run: 'echo b "
        ">>ran; rm -rf .cairn/live; touch .cairn/live'},"
        "c: {foreach: {i: [1, 2, 3]}, needs: [b], run: 'echo c >>ran'}}",
        store, (struct cairn_run_options){.jobs = 4}, &seen);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(result.completed, 5);
    ck_assert_int_eq(lines("ran"), 4);
    /* Output is kept in memory then; values are not. */
    ck_assert_msg(strstr(seen.notice, "cannot pass on values") != NULL, "%s",
                  seen.notice);
    ck_assert_uint_eq(result.lost_outputs, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Cancelling what has ended ---- */

START_TEST(a_completed_run_is_not_cancelled)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    add(w, (struct cairn_task){.id = "a", .call = complete});
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(cairn_cancel(store, 1, NULL, &error), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "completed"));
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

struct canceller {
    pthread_t thread;
    _Atomic pid_t tid;
    int rc;
};

static void *cancel_from_outside(void *context)
{
    struct canceller *c = context;
    struct cairn_store *store = NULL;
    struct cairn_store_options options = {.path = ".cairn"};
    c->rc = cairn_store_open(&store, &options, NULL);
    c->tid = (pid_t)syscall(SYS_gettid);
    if (!c->rc)
        c->rc = cairn_cancel(store, 1, NULL, NULL);
    cairn_store_close(store);
    return NULL;
}

/* Sleeping in the wait for the lock, which comes after the look at the run? */
static bool sleeps(pid_t tid)
{
    char name[64];
    int number = -1;
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = fopen(name, "r");
    if (file && fscanf(file, "%d", &number) != 1)
        number = -1;
    if (file)
        fclose(file);
    return number == SYS_clock_nanosleep || number == SYS_nanosleep;
}

/* Lets the run complete as soon as cancel waits for the lock. */
static enum cairn_outcome cancel_meanwhile(void *context, struct cairn_attempt *attempt)
{
    struct canceller *c = context;
    (void)attempt;
    ck_assert_int_eq(pthread_create(&c->thread, NULL, cancel_from_outside, c), 0);
    for (int i = 0; i < 200 && !(c->tid && sleeps(c->tid)); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return CAIRN_COMPLETED;
}

START_TEST(cancel_looks_again_under_the_lock)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct canceller c = {0};
    add(w, (struct cairn_task){.id = "a", .call = cancel_meanwhile, .context = &c});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    pthread_join(c.thread, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    /* 0 when the wait was over first: then the wish was stored, and came too late. */
    ck_assert(c.rc == CAIRN_EUSAGE || c.rc == 0);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* ---- One owner ---- */

static int run_elsewhere(struct cairn_store *store)
{
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_run_result result;
    add(w, (struct cairn_task){.id = "a", .call = complete});
    int rc = cairn_run(w, store, NULL, &result, NULL);
    cairn_workflow_free(w);
    return rc;
}

static int run_with_other_handle(void)
{
    struct cairn_store *other = open_store();
    int rc = run_elsewhere(other);
    cairn_store_close(other);
    return rc;
}

static enum cairn_outcome use_handles(void *context, struct cairn_attempt *attempt)
{
    struct cairn_store *busy = context, *store = open_store();
    struct cairn_recorder *recorder = NULL;
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_run_info info;
    (void)attempt;
    add(w, (struct cairn_task){.id = "a", .call = complete});
    ck_assert_int_eq(run_elsewhere(busy), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_cancel(busy, 1, NULL, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_run_get(busy, 1, &info, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_recorder_open(&recorder, w, busy, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(run_elsewhere(store), CAIRN_EOWNED);
    ck_assert_int_eq(run_with_other_handle(), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_recorder_open(&recorder, w, store, &error), CAIRN_EOWNED);
    ck_assert_int_eq(run_with_other_handle(), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_can_resume(store, 1, NULL), CAIRN_EOWNED);
    ck_assert(run_info(store, 1).live);
    good(cairn_cancel(store, 1, NULL,
                      &error)); /* stored, for the next look at commands */
    ck_assert_int_eq(run_with_other_handle(), CAIRN_EOWNED);
    cairn_store_close(store);
    cairn_workflow_free(w);
    return CAIRN_COMPLETED;
}

START_TEST(a_live_run_keeps_its_workflow)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    add(w, (struct cairn_task){.id = "a", .call = use_handles, .context = store});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.completed, 1);
    cairn_workflow_free(w);
    good(run_elsewhere(store));
    cairn_store_close(store);
}
END_TEST

static enum cairn_outcome remove_lock(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    ck_assert_int_eq(unlink(".cairn/lock"), 0);
    ck_assert_int_eq(run_with_other_handle(), CAIRN_EOWNED);
    return CAIRN_COMPLETED;
}

START_TEST(lock_file_removed)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    const char *const needs[] = {"a", NULL};
    const char *const argv[] = {"true", NULL};
    struct cairn_run_result result;
    add(w, (struct cairn_task){.id = "a", .call = remove_lock});
    add(w, (struct cairn_task){.id = "b", .argv = argv, .needs = needs});
    ck_assert_int_eq(cairn_run(w, store, NULL, &result, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "lock file"));
    cairn_store_close(store);
    store = open_store();
    ck_assert_uint_eq(task_of(store, 1, NULL).failed, 0);
    ck_assert_uint_eq(task_of(store, 1, NULL).n, 2);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static enum cairn_outcome give_up(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_FAILED;
}

static void write_slots(const char *name)
{
    struct slots slots = {.magic = SLOTS_MAGIC, .version = SLOTS_VERSION, .run = 1};
    os_boot_id(slots.boot_id);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, &slots, sizeof slots), sizeof slots);
    ck_assert_int_eq(close(fd), 0);
}

/* The file of slots is not synced. Where its end was not written it names no owner, and
 * nobody is not alive. */
START_TEST(slots_half_written)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_run_options resume = {.start = CAIRN_START_RESUME};
    struct cairn_run_result result;
    add(w, (struct cairn_task){.id = "a", .call = give_up});
    good(cairn_run(w, store, NULL, &result, &error));
    ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
    write_slots(".cairn/live/run-1.slots");
    good(cairn_run(w, store, &resume, &result, &error));
    ck_assert_uint_eq(result.attempts, 1);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static void plan_beside(struct seen *seen, const struct cairn_event *event)
{
    struct cairn_workflow *w;
    struct cairn_store *reader = NULL;
    struct cairn_plan *plan = NULL;
    if (event->kind != CAIRN_EVENT_TASK_STARTED)
        return;
    struct cairn_store_options options = {.path = ".cairn", .read_only = true};
    w = workflow_named("w");
    add(w, (struct cairn_task){.id = "a", .call = complete});
    good(cairn_store_open(&reader, &options, &error));
    good(cairn_plan(&plan, w, reader, NULL, &error));
    const char *notice = cairn_plan_notice(plan, 0);
    seen->rc = notice && strstr(notice, "run 1 is running now") != NULL;
    ck_assert_uint_eq(cairn_plan_run(plan), 1);
    cairn_plan_free(plan);
    cairn_store_close(reader);
    cairn_workflow_free(w);
}

START_TEST(plan_beside_a_live_run)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = plan_beside};
    struct cairn_plan *plan = NULL;
    add(w, (struct cairn_task){.id = "a", .call = complete});
    run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert(seen.rc);
    good(cairn_plan(&plan, w, store, NULL, &error));
    ck_assert_ptr_null(cairn_plan_notice(plan, 0));
    cairn_plan_free(plan);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static enum cairn_outcome run_it_too(void *context, struct cairn_attempt *attempt)
{
    struct cairn_run_result result;
    struct cairn_error why = {0};
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    int *asked = context;
    (void)attempt;
    add(w, (struct cairn_task){.id = "a", .call = complete});
    ck_assert_int_eq(cairn_run(w, store, NULL, &result, &why), CAIRN_EOWNED);
    ck_assert_msg(strstr(why.text, "is owned by process") != NULL, "%s", why.text);
    ++*asked;
    cairn_workflow_free(w);
    cairn_store_close(store);
    return CAIRN_COMPLETED;
}

START_TEST(one_owner)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    int asked = 0;
    add(w, (struct cairn_task){.id = "a", .call = run_it_too, .context = &asked});
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(asked, 1);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* ---- Damaged records ---- */

START_TEST(fall_back_to_an_older_definition)
{
    static const char first[] =
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 2}}";
    static const char second[] =
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 3}}";
    struct cairn_run_options options = {.keep_all = true};
    struct cairn_store *store = open_store();
    char statement[200];
    run_text(first, store, options, NULL);
    uint64_t newest = run_info(store, 1).checkpoint;
    run_text(second, store, options, NULL);
    run_text(second, store, options, NULL);
    cairn_store_close(store);
    snprintf(statement, sizeof statement,
             "UPDATE checkpoint SET record = flip(record, 40) WHERE seq > %llu",
             (unsigned long long)newest);
    sql(statement);
    store = open_store();
    for (int i = 0; i < 2; i++) {
        struct cairn_run_result result = run_text(second, store, options, NULL);
        ck_assert_uint_eq(result.run, 1);
        ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
        ck_assert_uint_eq(result.attempts, 1);
    }
    ck_assert_int_eq(lines("ran"), 1);
    cairn_store_close(store);
}
END_TEST

static const char chain[] =
    "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: 'echo b >>ran'},"
    "c: {needs: [b], run: 'echo c >>ran'}, d: {needs: [c], run: 'echo d >>ran'}}";

/* A run of `chain` of which all but d is saved, each in a delta of its own. */
static void record_chain(struct cairn_store *store)
{
    struct cairn_workflow *w = parsed(chain);
    struct cairn_recorder *recorder = NULL;
    good(cairn_recorder_open(&recorder, w, store, &error));
    for (uint32_t task = 0; task < 3; task++) {
        struct cairn_change change = {.task = task, .outcome = CAIRN_COMPLETED};
        good(cairn_recorder_save(recorder, &change, 1, NULL, &error));
    }
    good(cairn_recorder_close(recorder, CAIRN_RUN_UNFINISHED, &error));
    cairn_workflow_free(w);
}

/* The first record of a run says no more than that nothing has run; the deltas after it
 * say all. */
START_TEST(first_full_record_damaged)
{
    struct cairn_store *store = open_store();
    record_chain(store);
    cairn_store_close(store);
    ck_assert_int_eq(sql("SELECT count(*) FROM checkpoint"), 4);
    sql("UPDATE checkpoint SET record = flip(record, 40) WHERE seq = 1");
    store = open_store();
    struct cairn_run_result result =
        run_text(chain, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.run, 1);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert(result.damaged);
    ck_assert_uint_eq(result.attempts, 1);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_store_close(store);
}
END_TEST

/* Somebody else keeps the write lock from the last event on. */
static void lock_at_end(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind != CAIRN_EVENT_TASK_FINISHED || event->done < event->total)
        return;
    ck_assert_int_eq(sqlite3_open(".cairn/cairn.db", &seen->db), 0);
    ck_assert_int_eq(sqlite3_exec(seen->db, "BEGIN IMMEDIATE", NULL, NULL, NULL), 0);
}

START_TEST(end_that_cannot_be_saved)
{
    struct cairn_store *store = NULL;
    struct cairn_store_options options = {
        .path = ".cairn", .create = true, .lock_wait_ms = 50};
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = lock_at_end};
    good(cairn_store_open(&store, &options, &error));
    add(w, (struct cairn_task){.id = "a", .call = complete});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert(result.end_unsaved);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(result.exit_status, 9);
    ck_assert_uint_eq(result.unsaved, 0);
    ck_assert_uint_eq(seen.degraded, 1);
    sqlite3_close(seen.db);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_UNFINISHED);
    result = run_with(w, store, (struct cairn_run_options){.start = CAIRN_START_RESUME},
                      NULL);
    ck_assert_uint_eq(result.run, 1);
    ck_assert_uint_eq(result.attempts, 0);
    ck_assert_int_eq(result.exit_status, 0);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

static bool no_look; /* at the file for values */

__attribute__((visibility("default"))) int lstat(const char *name, struct stat *st)
{
    if (no_look && strstr(name, ".values")) {
        errno = EIO;
        return -1;
    }
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

/* Values that cannot be read are not taken for none: the task has not completed. */
START_TEST(values_that_cannot_be_read)
{
    struct cairn_store *store = open_store();
    const char *text = "name: v\ntasks:\n"
                       "  a: {run: 'echo n=3 >>\"$CAIRN_OUTPUT\"'}\n"
                       "  b: {needs: a, run: 'test \"$N\" = 3',"
                       " env: {N: '${{ tasks.a.outputs.n }}'}}\n";
    no_look = true;
    struct cairn_run_result result =
        run_text(text, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
    ck_assert_uint_eq(result.attempts, 1);
    no_look = false;
    result = run_text(text, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(result.attempts, 2);
    cairn_store_close(store);
}
END_TEST

/* Rows beside the records do not decide: neither the outcome of an attempt nor which
 * result is its own. */
START_TEST(only_records_decide)
{
    static const char text[] =
        "name: w\non_failure: continue\n"
        "tasks:\n"
        "  a: {run: 'echo v=1 >>\"$CAIRN_OUTPUT\"; echo a >>ran'}\n"
        "  other: {run: 'echo v=2 >>\"$CAIRN_OUTPUT\"'}\n"
        "  b: {needs: [a], env: {V: '${{ tasks.a.outputs.v }}'},"
        " run: 'test -e go; echo \"$V\" >>values'}\n"
        "  c: {run: 'echo c >>ran; test -e go'}\n";
    struct cairn_store *store = open_store();
    run_text(text, store, (struct cairn_run_options){0}, NULL);
    cairn_store_close(store);
    ck_assert_int_eq(lines("ran"), 2);
    sql("UPDATE attempt SET outputs = (SELECT outputs FROM attempt WHERE task = 1)"
        " WHERE task = 0");
    sql("UPDATE attempt SET outcome = 1 WHERE task = 3"); /* completed, it says */
    put_file("go", "");
    store = open_store();
    struct cairn_run_result result =
        run_text(text, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(lines("ran"), 3); /* c again */
    expect_words("values", "1");
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_store");
    TCase *tests = tcase_create("engine_store");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, wal_removed_at_the_last_event);
    tcase_add_test(tests, nothing_lives_after_giving_up);
    tcase_add_test(tests, task_removes_the_live_directory);
    tcase_add_test(tests, a_completed_run_is_not_cancelled);
    tcase_add_test(tests, cancel_looks_again_under_the_lock);
    tcase_add_test(tests, a_live_run_keeps_its_workflow);
    tcase_add_test(tests, lock_file_removed);
    tcase_add_test(tests, slots_half_written);
    tcase_add_test(tests, plan_beside_a_live_run);
    tcase_add_test(tests, one_owner);
    tcase_add_test(tests, fall_back_to_an_older_definition);
    tcase_add_test(tests, first_full_record_damaged);
    tcase_add_test(tests, end_that_cannot_be_saved);
    tcase_add_test(tests, values_that_cannot_be_read);
    tcase_add_test(tests, only_records_decide);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
