/* SPDX-License-Identifier: MIT */
/* Whole runs through the public interface: what is decided when something changed, what
 * is told of it afterwards, callbacks, runs without a store, and the recorder. */
#include "tests/support/engine.h"

#include <pthread.h>
#include <time.h>

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

/* ---- What a plan tells ---- */

static struct cairn_decision decision_of(const struct cairn_plan *plan,
                                         struct cairn_workflow *w, const char *id)
{
    struct cairn_decision decision = {0};
    cairn_plan_get(plan, cairn_workflow_find(w, id), &decision);
    return decision;
}

START_TEST(kept_tasks)
{
    static const char first[] =
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 1}}";
    static const char second[] =
        "name: w\ntasks: {a: {run: 'echo A >>ran'}, b: {needs: [a], run: exit 1}}";
    struct cairn_store *store = open_store();
    struct cairn_run_options keep = {.on_change = CAIRN_KEEP};
    struct cairn_plan *plan = NULL;
    struct seen seen = {0};
    run_text(first, store, (struct cairn_run_options){0}, NULL);
    struct cairn_workflow *w = parsed(second);
    good(cairn_plan(&plan, w, store, &keep, &error));
    struct cairn_decision decision = decision_of(plan, w, "a");
    ck_assert_int_eq(decision.will, CAIRN_WILL_NOT);
    ck_assert_int_eq(decision.reason, CAIRN_REASON_KEPT);
    ck_assert_str_eq(cairn_reason_name(decision.reason), "kept");
    ck_assert_ptr_nonnull(strstr(decision.detail, "kept as it is"));
    ck_assert_ptr_nonnull(
        strstr(cairn_plan_notice(plan, 0), "kept; the new definition counts"));
    cairn_plan_free(plan);
    run_with(w, store, keep, &seen);
    ck_assert_msg(strstr(seen.notice, "kept; the new definition counts") != NULL, "%s",
                  seen.notice);
    good(cairn_plan(&plan, w, store, NULL, &error));
    decision = decision_of(plan, w, "a");
    ck_assert_int_eq(decision.reason, CAIRN_REASON_DONE);
    ck_assert_ptr_null(cairn_plan_notice(plan, 0));
    cairn_plan_free(plan);
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

START_TEST(edits_are_told)
{
    struct cairn_store *store = open_store();
    struct seen seen = {0};
    run_text("name: w\ntasks: {a: {run: exit 1}, b: {run: exit 0}, c: {run: exit 0}}",
             store, (struct cairn_run_options){0}, NULL);
    run_text("name: w\ntasks: {a: {run: 'exit 0'}, b: {run: ': b'}, d: {run: exit 0}}",
             store, (struct cairn_run_options){0}, &seen);
    ck_assert_msg(strstr(seen.notice, "1 task is new") != NULL, "%s", seen.notice);
    ck_assert_ptr_nonnull(
        strstr(seen.notice, "1 recorded task is not in the workflow"));
    ck_assert_ptr_nonnull(strstr(seen.notice, "changed since the last record"));
    cairn_store_close(store);
}
END_TEST

/* The tasks that an edit did not touch ran in an earlier generation, where they have
 * other numbers. */
START_TEST(tasks_of_an_edited_run)
{
    struct cairn_store *store = open_store();
    run_text("name: w\ntasks: {x: {run: ':'}, a: {run: 'sleep 0.05'},"
             "b: {needs: [a], run: exit 1}}",
             store, (struct cairn_run_options){0}, NULL);
    run_text("name: w\ntasks: {a: {run: 'sleep 0.05'}, n: {run: ':'},"
             "b: {needs: [a], run: exit 0}}",
             store, (struct cairn_run_options){0}, NULL);
    struct task_wanted a = task_of(store, 1, "a"), b = task_of(store, 1, "b");
    ck_assert_uint_eq(a.n, 3);
    ck_assert_uint_eq(a.info.attempts, 1);
    ck_assert_int_eq(a.info.exit_code, 0);
    ck_assert_int_ge(a.info.ended_ns - a.info.started_ns, 50000000);
    ck_assert_int_eq(b.info.outcome, CAIRN_COMPLETED);
    ck_assert_uint_eq(b.info.attempts, 2);
    ck_assert_int_eq(task_of(store, 1, "n").info.attempts, 1);
    cairn_store_close(store);
}
END_TEST

/* ---- Outputs that are directories ---- */

static const char tree[] =
    "name: w\ntasks: {a: {run: 'echo a >>ran; mkdir -p o/s; echo 1 >o/s/f; ln -sf s "
    "o/l', outputs: [o]}}";

static void expect_runs(struct cairn_store *store, int runs, const char *change)
{
    struct cairn_run_options content = {.start = CAIRN_START_RESUME,
                                        .check_outputs = CAIRN_OUTPUTS_CONTENT};
    if (change)
        ck_assert_int_eq(system(change), 0);
    run_text(tree, store, content, NULL);
    ck_assert_msg(lines("ran") == runs, "%d runs after: %s", lines("ran"), change);
}

START_TEST(directories_count_with_their_content)
{
    struct cairn_store *store = open_store();
    run_text(tree, store, (struct cairn_run_options){0}, NULL);
    expect_runs(store, 1, NULL);
    expect_runs(store, 1, "touch o/s/f");
    expect_runs(store, 2, "echo 2 >o/s/f");
    expect_runs(store, 3, "rm o/s/f");
    expect_runs(store, 4, "echo new >o/s/g");
    ck_assert_int_eq(system("rm o/s/g"), 0); /* what a does not make it does not mend */
    expect_runs(store, 5, NULL);
    expect_runs(store, 6, "ln -sfn elsewhere o/l");
    expect_runs(store, 6, NULL);
    cairn_store_close(store);
}
END_TEST

/* ---- Messages of attempts ---- */

START_TEST(timeout_message)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result =
        run_text("name: w\ntasks: {a: {run: 'exec sleep 60', timeout: 250ms}}", store,
                 (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    struct task_wanted a = task_of(store, 1, "a");
    ck_assert(a.info.timed_out);
    ck_assert_str_eq(a.text, "timed out after 0.25 s");
    cairn_store_close(store);
}
END_TEST

START_TEST(too_many_arguments)
{
    enum { ARGUMENTS = 80, BYTES = 100000 };
    static char big[BYTES];
    const char *argv[ARGUMENTS + 2] = {"true"};
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    memset(big, 'x', sizeof big - 1);
    for (int i = 0; i < ARGUMENTS; i++)
        argv[i + 1] = big;
    add(w, (struct cairn_task){.id = "a", .argv = argv});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    struct task_wanted a = task_of(store, 1, "a");
    ck_assert_msg(strstr(a.text, "ARG_MAX") != NULL, "%s", a.text);
    ck_assert_ptr_null(strstr(a.text, "chmod"));
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* ---- Callbacks ---- */

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

/* ---- Without a store ---- */

START_TEST(run_without_a_store)
{
    struct cairn_workflow *w = parsed(
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 3},"
        "c: {needs: [b], run: 'echo c >>ran'}}");
    struct cairn_plan *plan = NULL;
    for (int i = 1; i <= 2; i++) {
        struct cairn_run_result result =
            run_with(w, NULL, (struct cairn_run_options){0}, NULL);
        ck_assert_uint_eq(result.run, 0);
        ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
        ck_assert_int_eq(result.exit_status, 1);
        ck_assert_uint_eq(result.completed + result.failed + result.skipped, 3);
        ck_assert_int_eq(lines("ran"), i);
    }
    good(cairn_plan(&plan, w, NULL, NULL, &error));
    ck_assert_uint_eq(cairn_plan_will(plan), 3);
    ck_assert_uint_eq(cairn_plan_run(plan), 0);
    cairn_plan_free(plan);
    ck_assert(!exists(".cairn"));
    cairn_workflow_free(w);
}
END_TEST

/* ---- Params ---- */

struct params {
    int n;
    char text[256];
};

static int note_param(void *context, const char *name, const char *value)
{
    struct params *params = context;
    size_t used = strlen(params->text);
    params->n++;
    snprintf(params->text + used, sizeof params->text - used, "%s=%s;", name, value);
    return 0;
}

static int stop_at_once(void *context, const char *name, const char *value)
{
    note_param(context, name, value);
    return 1;
}

START_TEST(params_of_a_run)
{
    static const char text[] =
        "name: w\nparams: {b: two, a: one}\ntasks: {t: {run: 'echo $a $b'}}";
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = NULL;
    struct cairn_param override = {"b", "an other = value"};
    struct params params = {0};
    good(cairn_workflow_parse(&w, text, strlen(text), "w.yaml", &override, 1, &error));
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    good(cairn_run_params(store, 0, note_param, &params, &error));
    ck_assert_str_eq(params.text, "a=one;b=an other = value;");
    params = (struct params){0};
    good(cairn_run_params(store, 1, stop_at_once, &params, &error));
    ck_assert_int_eq(params.n, 1);
    ck_assert_int_eq(cairn_run_params(store, 7, note_param, &params, &error),
                     CAIRN_ENOTFOUND);
    cairn_workflow_free(w);
    run_text("name: none\ntasks: {a: {run: ':'}}", store, (struct cairn_run_options){0},
             NULL);
    params = (struct params){0};
    good(cairn_run_params(store, 2, note_param, &params, &error));
    ck_assert_int_eq(params.n, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- The recorder ---- */

struct record_tally {
    int n;
    uint64_t seq[8];
    enum cairn_outcome outcome[4];
    uint32_t attempts[4];
};

static int note_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct record_tally *r = context;
    ck_assert_int_lt(r->n, 8);
    ck_assert(!info->damaged);
    r->seq[r->n++] = info->seq;
    return 0;
}

static int note_outcome(void *context, const char *task, enum cairn_outcome outcome,
                        uint32_t attempts)
{
    struct record_tally *r = context;
    int i = task[0] - 'a';
    ck_assert(i >= 0 && i < 3);
    r->n++;
    r->outcome[i] = outcome;
    r->attempts[i] = attempts;
    return 0;
}

static struct cairn_workflow *three_tasks(void)
{
    struct cairn_workflow *w = workflow_named("rec");
    add(w, (struct cairn_task){.id = "a", .call = complete});
    add(w, (struct cairn_task){.id = "b", .call = complete});
    add(w, (struct cairn_task){.id = "c", .call = complete});
    return w;
}

START_TEST(recorder_refusals)
{
    struct cairn_store *store = open_store(), *other = open_store();
    struct cairn_workflow *w = three_tasks(), *same = three_tasks();
    struct cairn_recorder *recorder = NULL, *second = NULL;
    struct cairn_change twice[] = {{1, CAIRN_COMPLETED, 1}, {1, CAIRN_FAILED, 2}};
    struct cairn_change bad = {.task = 3, .outcome = CAIRN_COMPLETED};
    good(cairn_recorder_open(&recorder, w, store, &error));
    ck_assert_int_eq(cairn_recorder_open(&second, same, store, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_recorder_open(&second, same, other, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_can_resume(other, 1, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_recorder_save(recorder, NULL, 0, NULL, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_recorder_save(recorder, &bad, 1, NULL, NULL), CAIRN_EUSAGE);
    bad = (struct cairn_change){.task = 0, .outcome = CAIRN_LATER};
    ck_assert_int_eq(cairn_recorder_save(recorder, &bad, 1, NULL, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_recorder_save(recorder, twice, 2, NULL, NULL), CAIRN_EUSAGE);
    good(cairn_recorder_close(recorder, CAIRN_RUN_UNFINISHED, &error));
    good(cairn_recorder_close(NULL, CAIRN_RUN_UNFINISHED, &error));
    good(cairn_recorder_open(&second, same, other, &error));
    good(cairn_recorder_close(second, CAIRN_RUN_COMPLETED, &error));
    cairn_store_close(other);
    cairn_store_close(store);
    cairn_workflow_free(same);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(recorder_saves)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = three_tasks();
    struct cairn_recorder *recorder = NULL;
    struct cairn_change first = {.task = 1, .outcome = CAIRN_COMPLETED};
    struct cairn_change rest[] = {{2, CAIRN_FAILED, 3}, {0, CAIRN_COMPLETED, 2}};
    struct cairn_checkpoint_info info, latest;
    struct cairn_checkpoint_filter filter = {.workflow = "rec"};
    struct record_tally r = {0};
    char id[2][CAIRN_ID_MAX];
    uint64_t total = 0;
    uint32_t skipped = 9;
    good(cairn_recorder_open(&recorder, w, store, &error));
    good(cairn_recorder_save(recorder, &first, 1, id[0], &error));
    good(cairn_recorder_save(recorder, rest, 2, id[1], &error));
    good(cairn_checkpoint_latest(store, "rec", &latest, &skipped, &error));
    ck_assert_str_eq(latest.id, id[1]);
    ck_assert_uint_eq(skipped, 0);
    good(cairn_checkpoint_list(store, &filter, note_checkpoint, &r, &total, &error));
    ck_assert_uint_eq(total, 3);
    ck_assert_int_eq(r.n, 3);
    ck_assert_uint_eq(r.seq[0], latest.seq);
    good(cairn_checkpoint_get(store, id[0], &info, &error));
    ck_assert(!info.head && !info.full);
    ck_assert_uint_eq(info.completed, 1);
    r = (struct record_tally){0};
    good(cairn_checkpoint_tasks(store, id[1], note_outcome, &r, &error));
    ck_assert_int_eq(r.n, 3);
    ck_assert_int_eq(r.outcome[0], CAIRN_COMPLETED);
    ck_assert_int_eq(r.outcome[2], CAIRN_FAILED);
    ck_assert_uint_eq(r.attempts[0], 2);
    ck_assert_uint_eq(r.attempts[1], 1);
    ck_assert_uint_eq(r.attempts[2], 3);
    good(cairn_recorder_close(recorder, CAIRN_RUN_FAILED, &error));
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_FAILED);
    good(cairn_can_resume(store, 1, &error));
    ck_assert_int_eq(cairn_can_resume(store, 5, NULL), CAIRN_ENOTFOUND);
    struct cairn_run_result result = run_with(
        w, store, (struct cairn_run_options){.start = CAIRN_START_RESUME}, NULL);
    ck_assert_uint_eq(result.attempts, 1);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine-more");
    TCase *tests = tcase_create("engine-more");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, kept_tasks);
    tcase_add_test(tests, edits_are_told);
    tcase_add_test(tests, tasks_of_an_edited_run);
    tcase_add_test(tests, directories_count_with_their_content);
    tcase_add_test(tests, timeout_message);
    tcase_add_test(tests, too_many_arguments);
    tcase_add_test(tests, outcomes_of_callbacks);
    tcase_add_test(tests, retries_of_callbacks);
    tcase_add_test(tests, stopped_between_callbacks);
    tcase_add_test(tests, cancelled_callbacks);
    tcase_add_test(tests, stop_waits_for_calls);
    tcase_add_test(tests, chain_does_not_wait_for_ticks);
    tcase_add_test(tests, run_without_a_store);
    tcase_add_test(tests, params_of_a_run);
    tcase_add_test(tests, recorder_refusals);
    tcase_add_test(tests, recorder_saves);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
