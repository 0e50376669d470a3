/* SPDX-License-Identifier: MIT */
/* Promises of the engine, each seen from inside a run at the very moment at which it
 * could be broken: another handle then reads what is durable. Each test fails if one
 * mechanism is taken away (tests/prove/p-mutants.sh). */
#include "tests/support/engine.h"

#include "storage/store.h"

#include <signal.h>
#include <sys/resource.h>

/* What another process would find at this moment. */
static int64_t stored(const char *query)
{
    return sql(query);
}

static const char *const of_a[] = {"a", NULL}, *const of_b[] = {"b", NULL};

/* ---- Intent before effect (G3) ---- */

static enum cairn_outcome look_for_intent(void *context, struct cairn_attempt *attempt)
{
    char query[200];
    int *asked = context;
    snprintf(query, sizeof query,
             "SELECT count(*) FROM attempt WHERE task = %d AND n = %u"
             " AND duration_ns IS NULL",
             *cairn_attempt_task(attempt) - 'a', cairn_attempt_number(attempt));
    ck_assert_msg(stored(query) == 1, "%s was called before its intent was durable",
                  cairn_attempt_task(attempt));
    ++*asked;
    return CAIRN_COMPLETED;
}

START_TEST(intent_before_effect)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    int asked = 0;
    add(w, (struct cairn_task){.id = "a", .call = look_for_intent, .context = &asked});
    add(w, (struct cairn_task){
               .id = "b", .call = look_for_intent, .context = &asked, .needs = of_a});
    add(w, (struct cairn_task){
               .id = "c", .call = look_for_intent, .context = &asked, .needs = of_b});
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(asked, 3);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* ---- Acknowledged is durable (G1) ---- */

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

static void look_for_end(struct seen *seen, const struct cairn_event *event)
{
    char query[200];
    (void)seen;
    if (event->kind != CAIRN_EVENT_TASK_FINISHED)
        return;
    ck_assert_uint_ne(event->checkpoint, 0);
    snprintf(query, sizeof query,
             "SELECT count(*) FROM checkpoint JOIN attempt ON seq = checkpoint"
             " WHERE seq = %llu AND outcome = %d",
             (unsigned long long)event->checkpoint, CAIRN_COMPLETED);
    ck_assert_msg(stored(query) == 1, "the end of %s was told before it was durable",
                  event->task);
}

START_TEST(durable_before_report)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = look_for_end};
    add(w, (struct cairn_task){.id = "a", .call = complete});
    add(w, (struct cairn_task){.id = "b", .call = complete, .needs = of_a});
    run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert_uint_eq(seen.finished, 2);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* ---- Nothing dependent starts early (G4) ---- */

struct blocker {
    struct cairn_store *other;
    bool holds;
    int started; /* of what depends on the one that blocks */
};

/* From now on nobody can commit. */
static enum cairn_outcome block(void *context, struct cairn_attempt *attempt)
{
    struct blocker *blocker = context;
    (void)attempt;
    good(store_begin(blocker->other, 0, &error));
    blocker->holds = true;
    return CAIRN_COMPLETED;
}

static enum cairn_outcome be_counted(void *context, struct cairn_attempt *attempt)
{
    struct blocker *blocker = context;
    (void)attempt;
    ck_assert_msg(!blocker->holds, "it started before what it needs was recorded");
    ck_assert_int_eq(stored("SELECT count(*) FROM attempt WHERE task = 0"
                            " AND outcome IS NOT NULL"),
                     1);
    blocker->started++;
    return CAIRN_COMPLETED;
}

static struct blocker *the_blocker;

static void unblock_at_second_tick(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind != CAIRN_EVENT_TICK || seen->ticks != 2)
        return;
    ck_assert(the_blocker->holds);
    ck_assert_uint_eq(seen->finished, 0);
    store_abort(the_blocker->other);
    the_blocker->holds = false;
}

START_TEST(dependent_after_commit)
{
    struct cairn_store *store = open_store();
    struct blocker blocker = {.other = open_store()};
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = unblock_at_second_tick};
    the_blocker = &blocker;
    add(w, (struct cairn_task){.id = "a", .call = block, .context = &blocker});
    add(w, (struct cairn_task){
               .id = "b", .call = be_counted, .context = &blocker, .needs = of_a});
    run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert_int_eq(blocker.started, 1);
    ck_assert_uint_eq(seen.finished, 2);
    cairn_store_close(blocker.other);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

/* ---- What must not run twice waits until its intent is saved (G3) ---- */

static bool disk_is_full;

static void fill_disk(bool full)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = full ? 1 : RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    disk_is_full = full;
}

/* From the start of `a` to the third tick nothing can be saved. */
static void watch_starts(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind == CAIRN_EVENT_TASK_STARTED && strcmp(event->task, "a") == 0)
        fill_disk(true);
    if (event->kind == CAIRN_EVENT_TASK_STARTED && strcmp(event->task, "b") == 0)
        ck_assert_msg(disk_is_full, "it did not go on unsaved: this tests nothing");
    if (event->kind == CAIRN_EVENT_TASK_STARTED && strcmp(event->task, "o") == 0)
        ck_assert_msg(!disk_is_full, "it started before its intent was saved");
    if (event->kind == CAIRN_EVENT_TICK && seen->ticks == 3)
        fill_disk(false);
}

START_TEST(once_waits_for_its_intent)
{
    struct cairn_store *store = open_store();
    struct seen seen = {.act = watch_starts};
    signal(SIGXFSZ, SIG_IGN);
    struct cairn_run_result result =
        run_text("name: w\ntasks: {a: {run: 'true'}, b: {needs: [a], run: 'true'},"
                 " o: {needs: [a], once: true, run: 'true'}}",
                 store, (struct cairn_run_options){0}, &seen);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(result.unsaved, 0);
    ck_assert_uint_eq(seen.finished, 3);
    ck_assert_uint_eq(seen.degraded, 1);
    ck_assert_uint_eq(seen.recovered, 1);
    cairn_store_close(store);
}
END_TEST

/* ---- One owner (G12) ---- */

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

/* ---- What is believed of a completed task (G2, G6) ---- */

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
    Suite *suite = suite_create("promises");
    TCase *tests = tcase_create("promises");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, intent_before_effect);
    tcase_add_test(tests, durable_before_report);
    tcase_add_test(tests, dependent_after_commit);
    tcase_add_test(tests, once_waits_for_its_intent);
    tcase_add_test(tests, one_owner);
    tcase_add_test(tests, only_records_decide);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
