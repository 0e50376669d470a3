/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* What is durable before something else happens: an intent before its task starts, an
 * outcome before it is reported and before a task that needs it starts. Each test looks
 * through another handle from inside a run, at the very moment at which the order could
 * be broken, and fails if one mechanism is removed (tests/prove/p-mutants.sh). */
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

/* ---- Nothing can be committed for a while ---- */

struct blocker {
    struct cairn_store *other;
    bool holds;
    int started; /* of what must wait */
};

static struct blocker *the_blocker;

/* From now on nobody can commit. */
static void hold_commits(struct blocker *blocker)
{
    good(store_begin(blocker->other, 0, &error));
    blocker->holds = true;
}

static void release_at_second_tick(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind != CAIRN_EVENT_TICK || seen->ticks != 2)
        return;
    ck_assert(the_blocker->holds);
    ck_assert_uint_eq(seen->finished, 0);
    store_abort(the_blocker->other);
    the_blocker->holds = false;
}

/* ---- Intent before effect (G3) ---- */

static enum cairn_outcome look_for_intent(void *context, struct cairn_attempt *attempt)
{
    char query[200];
    struct blocker *blocker = context;
    const char *id = cairn_attempt_task(attempt);
    snprintf(query, sizeof query,
             "SELECT count(*) FROM attempt WHERE task = %d AND n = %u"
             " AND duration_ns IS NULL",
             *id - 'a', cairn_attempt_number(attempt));
    ck_assert_msg(!blocker->holds && stored(query) == 1,
                  "%s was called before its intent was durable", id);
    blocker->started++;
    return CAIRN_COMPLETED;
}

/* A commit is quick: a look from a thread that starts late would find the intent though
 * it was called too early. The first one waits, therefore. */
static void hold_from_the_start(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind == CAIRN_EVENT_RUN_STARTED)
        hold_commits(the_blocker);
    release_at_second_tick(seen, event);
}

START_TEST(intent_before_effect)
{
    struct cairn_store *store = open_store();
    struct blocker blocker = {.other = open_store()};
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = hold_from_the_start};
    the_blocker = &blocker;
    add(w,
        (struct cairn_task){.id = "a", .call = look_for_intent, .context = &blocker});
    add(w, (struct cairn_task){
               .id = "b", .call = look_for_intent, .context = &blocker, .needs = of_a});
    add(w, (struct cairn_task){
               .id = "c", .call = look_for_intent, .context = &blocker, .needs = of_b});
    run_with(w, store, (struct cairn_run_options){0}, &seen);
    ck_assert_int_eq(blocker.started, 3);
    ck_assert_uint_ge(seen.ticks, 2);
    cairn_store_close(blocker.other);
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

static enum cairn_outcome block(void *context, struct cairn_attempt *attempt)
{
    struct blocker *blocker = context;
    (void)attempt;
    hold_commits(blocker);
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

START_TEST(dependent_after_commit)
{
    struct cairn_store *store = open_store();
    struct blocker blocker = {.other = open_store()};
    struct cairn_workflow *w = workflow_named("w");
    struct seen seen = {.act = release_at_second_tick};
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

struct words {
    char text[100];
    size_t n;
};

/* Those about saving. */
static int add_kind(void *context, const struct cairn_log_event *event)
{
    struct words *words = context;
    bool degraded = strcmp(event->kind, "degraded") == 0;
    if (!degraded && strcmp(event->kind, "recovered") != 0)
        return 0;
    int text = degraded ? (int)strcspn(event->text, ":") : 0;
    words->n += (size_t)snprintf(words->text + words->n, sizeof words->text - words->n,
                                 "%s%s%s%.*s", words->n ? ", " : "", event->kind,
                                 degraded ? ": " : "", text, event->text);
    ck_assert_uint_lt(words->n, sizeof words->text);
    return 0;
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
    struct words words = {.n = 0};
    good(cairn_events(store, 1, 0, add_kind, &words, NULL, &error));
    ck_assert_str_eq(words.text, "degraded: nothing could be saved, recovered");
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("commit_order");
    TCase *tests = tcase_create("commit_order");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, intent_before_effect);
    tcase_add_test(tests, durable_before_report);
    tcase_add_test(tests, dependent_after_commit);
    tcase_add_test(tests, once_waits_for_its_intent);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
