/* SPDX-License-Identifier: MIT */
/* Where a workflow stands: which run continues, in whose numbers its states and marks
 * are, and what follows. */
#include "plan/situation.h"

#include "cairn/plan.h"
#include "cairn/runs.h"
#include "storage/object.h"
#include "storage/store.h"
#include "tests/support/recorded_run.h"

static const char text[] = "name: flow\n"
                           "tasks:\n"
                           "  a: {run: 'true'}\n"
                           "  b: {run: 'true', needs: [a], once: true}\n"
                           "  c: {run: 'true', needs: [b]}\n";
/* Other numbers: z is new, c is gone. */
static const char edited[] = "name: flow\n"
                             "tasks:\n"
                             "  z: {run: 'true'}\n"
                             "  a: {run: 'true'}\n"
                             "  b: {run: 'true', needs: [a], once: true}\n";

static struct situation s;

static int load(struct cairn_workflow *w, enum cairn_start start)
{
    struct cairn_run_options options = {.start = start, .from = "workflow:1"};
    return situation_load(&s, w, run_store, &options, &run_error);
}

static void expect_reason(const struct cairn_workflow *w, const char *id,
                          enum cairn_reason reason)
{
    enum cairn_reason found = s.decisions.reason[task_of(w, id)];
    ck_assert_msg(found == reason, "%s: %s, not %s", id, cairn_reason_name(found),
                  cairn_reason_name(reason));
}

START_TEST(test_nothing_recorded)
{
    struct cairn_workflow *w = workflow_of(text);
    must(load(w, CAIRN_START_AUTO));
    ck_assert(!s.recorded.exists && !s.recorded.recovered);
    ck_assert_uint_eq(s.recorded.row.run, 0);
    ck_assert_uint_eq(s.decisions.will, 3);
    expect_reason(w, "a", CAIRN_REASON_NEVER_RAN);
    situation_release(&s);
    ck_assert_int_eq(load(w, CAIRN_START_RESUME), CAIRN_ENOTFOUND);
    cairn_workflow_free(w);
}
END_TEST

/* Marks and last attempts are in the recorded numbers, decisions in the present ones.
 */
START_TEST(test_numbers_of_an_edited_workflow)
{
    struct cairn_workflow *w = workflow_of(text), *now = workflow_of(edited);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_PENDING, CAIRN_PENDING};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    put_attempt(&(struct attempt_row){
        .run = run, .gen = 1, .task = task_of(w, "b"), .number = 4, .intent_ns = 1});
    must(load(now, CAIRN_START_AUTO));
    ck_assert_uint_eq(s.recorded.row.run, run);
    ck_assert(s.recorded.recovered && !s.recorded.same_graph);
    ck_assert_uint_eq(situation_old(&s, now)->n_tasks, 3);
    ck_assert_int_eq(s.recorded.marks[task_of(w, "b")], MARK_INTERRUPTED);
    ck_assert_uint_eq(s.recorded.last_attempt[task_of(w, "b")], 4);
    ck_assert_int_eq(situation_mark(&s, task_of(now, "b")), MARK_INTERRUPTED);
    ck_assert_int_eq(situation_mark(&s, task_of(now, "z")), 0);
    ck_assert_uint_eq(s.present.old_task[task_of(now, "z")], NODE_NONE);
    ck_assert_uint_eq(s.present.old_task[task_of(now, "a")], task_of(w, "a"));
    ck_assert_int_eq(s.present.states.outcome[task_of(now, "a")], CAIRN_COMPLETED);
    expect_reason(now, "z", CAIRN_REASON_NEVER_RAN);
    expect_reason(now, "a", CAIRN_REASON_DONE);
    expect_reason(now, "b", CAIRN_REASON_UNKNOWN);
    ck_assert_uint_eq(s.decisions.removed, 1);
    situation_release(&s);
    struct cairn_run_options refuse = {.on_change = CAIRN_REFUSE};
    ck_assert_int_eq(situation_load(&s, now, run_store, &refuse, &run_error),
                     CAIRN_ECHANGED);
    cairn_workflow_free(w);
    cairn_workflow_free(now);
}
END_TEST

/* What counts keeps its outcome; what runs, or may, is pending; the rest is unknown. */
START_TEST(test_states_to_start_from)
{
    struct cairn_workflow *w = workflow_of(text);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_PENDING, CAIRN_SKIPPED};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    struct states states;
    put_attempt(&(struct attempt_row){
        .run = run, .gen = 1, .task = 1, .number = 1, .intent_ns = 1});
    must(load(w, CAIRN_START_AUTO));
    ck_assert(s.recorded.same_graph);
    must(situation_states(&s, w, &states, &run_error));
    ck_assert_int_eq(states.outcome[0], CAIRN_COMPLETED);
    ck_assert_int_eq(states.outcome[1], CAIRN_UNKNOWN);
    ck_assert_int_eq(states.outcome[2], CAIRN_PENDING);
    states_release(&states);
    situation_release(&s);
    must(situation_load_as_is(&s, w, run_store, run, NULL, &run_error));
    must(situation_states(&s, w, &states, &run_error));
    ck_assert_int_eq(states.outcome[1], CAIRN_UNKNOWN);
    ck_assert_int_eq(states.outcome[2], CAIRN_SKIPPED); /* as it is recorded */
    states_release(&states);
    situation_release(&s);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(test_completed_run)
{
    struct cairn_workflow *w = workflow_of(text);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_COMPLETED,
                                      CAIRN_COMPLETED};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_COMPLETED);
    must(load(w, CAIRN_START_AUTO)); /* a new one */
    ck_assert_uint_eq(s.recorded.row.run, 0);
    ck_assert_uint_eq(s.recorded.latest_run, run);
    ck_assert(!s.recorded.exists);
    ck_assert_uint_eq(s.decisions.will, 3);
    situation_release(&s);
    must(load(w, CAIRN_START_RESUME));
    ck_assert_uint_eq(s.recorded.row.run, run);
    ck_assert_uint_eq(s.decisions.will + s.decisions.may, 0);
    situation_release(&s);
    cairn_workflow_free(w);
}
END_TEST

/* A run that was recorded before version 4 of definitions continues by the rule of
 * then: what was skipped stays so, and what ran after that does not run again. So does
 * a fork of it; a new run has the rule of now. */
START_TEST(test_run_of_an_older_version)
{
    static const char groups[] = "name: flow\n"
                                 "tasks:\n"
                                 "  g: {foreach: {v: ['1', '2']}, if: \"v != '2'\",\n"
                                 "      run: 'true'}\n"
                                 "  all: {run: 'true', needs: [g]}\n"
                                 "  after: {run: 'true', needs: [all], when: always}\n"
                                 "  bad: {run: 'true'}\n";
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_EXCLUDED, CAIRN_SKIPPED,
                                      CAIRN_COMPLETED, CAIRN_FAILED};
    struct cairn_workflow *then = workflow_of(groups), *now = workflow_of(groups);
    then->definition.all_need_all = true; /* so it is stored as it was then */
    uint64_t run = record_run(&then, 1, outcome, CAIRN_RUN_UNFINISHED);
    for (int start = CAIRN_START_AUTO; start <= CAIRN_START_FROM; start++) {
        must(load(now, (enum cairn_start)start));
        bool goes_on = start != CAIRN_START_FRESH;
        ck_assert(now->definition.all_need_all == goes_on);
        ck_assert(s.recorded.same_graph == goes_on);
        expect_reason(now, "all",
                      goes_on ? CAIRN_REASON_NEED_SKIPPED : CAIRN_REASON_NEVER_RAN);
        expect_reason(now, "after",
                      goes_on ? CAIRN_REASON_DONE : CAIRN_REASON_NEVER_RAN);
        ck_assert_uint_eq(s.decisions.will, goes_on ? 1 : 4);
        situation_release(&s);
    }
    ck_assert_uint_ne(run, 0);
    cairn_workflow_free(then);
    cairn_workflow_free(now);
}
END_TEST

/* Its states are there, but no run continues, and attempts are counted anew. */
START_TEST(test_fork)
{
    struct cairn_workflow *w = workflow_of(text);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_PENDING, CAIRN_PENDING};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    put_attempt(&(struct attempt_row){
        .run = run, .gen = 1, .task = 1, .number = 1, .intent_ns = 1});
    must(load(w, CAIRN_START_FROM));
    ck_assert(s.recorded.exists && !s.recorded.recovered);
    ck_assert_uint_eq(s.recorded.row.run, 0);
    ck_assert_uint_eq(s.recorded.from_run, run);
    ck_assert_uint_eq(s.recorded.from_seq, 1);
    /* What must not run twice had begun in the run. */
    ck_assert_int_eq(situation_mark(&s, 1), MARK_INTERRUPTED);
    expect_reason(w, "a", CAIRN_REASON_DONE);
    expect_reason(w, "b", CAIRN_REASON_UNKNOWN);
    situation_release(&s);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(test_run_of_another_workflow)
{
    struct cairn_workflow *w = workflow_of(text),
                          *other = workflow_of("name: other\ntasks: {a: {run: x}}");
    static const uint8_t outcome[] = {CAIRN_PENDING, CAIRN_PENDING, CAIRN_PENDING};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    struct cairn_run_options options = {.start = CAIRN_START_RESUME, .run = run};
    ck_assert_int_eq(situation_load(&s, other, run_store, &options, &run_error),
                     CAIRN_EUSAGE);
    must(load(other, CAIRN_START_AUTO));
    ck_assert_uint_eq(s.recorded.latest_run, 0);
    situation_release(&s);
    cairn_workflow_free(w);
    cairn_workflow_free(other);
}
END_TEST

/* ---- Plan and status say the same of what is not finished ---- */

static int find_status(void *context, const struct cairn_task_info *info)
{
    struct cairn_task_info *found = context;
    if (strcmp(info->id, found->id) != 0)
        return 0;
    *found = *info;
    return 1;
}

static struct cairn_task_info status_of(uint64_t run, const char *id)
{
    struct cairn_task_info info = {.id = id};
    must(cairn_run_tasks(run_store, run, find_status, &info, &run_error));
    return info;
}

static const char repeated[] = "name: flow\n"
                               "tasks:\n"
                               "  again: {run: 'true'}\n"
                               "  once: {run: 'true', undo: 'true', once: true}\n";

static void put(uint64_t run, uint32_t task, uint32_t number, uint8_t flags,
                int64_t started_ns, int64_t ended_ns, enum cairn_outcome outcome)
{
    put_attempt(&(struct attempt_row){.run = run,
                                      .gen = 1,
                                      .task = task,
                                      .number = number,
                                      .intent_ns = 1,
                                      .started_ns = started_ns,
                                      .ended_ns = ended_ns,
                                      .outcome = (uint8_t)outcome,
                                      .flags = flags});
}

/* A retry that was withdrawn before it started is no attempt: the one before counts. */
START_TEST(test_withdrawn_retry)
{
    struct cairn_workflow *w = workflow_of(repeated);
    static const uint8_t outcome[] = {CAIRN_PENDING, CAIRN_COMPLETED};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    put(run, 0, 1, ATTEMPT_INTERRUPTED, 2, 3, CAIRN_PENDING);
    put(run, 0, 2, 0, 0, 4, CAIRN_PENDING);
    must(load(w, CAIRN_START_AUTO));
    expect_reason(w, "again", CAIRN_REASON_INTERRUPTED);
    ck_assert_uint_eq(situation_attempts(&s, 0), 2); /* the number is used up */
    struct cairn_task_info info = status_of(run, "again");
    ck_assert(info.interrupted);
    ck_assert_uint_eq(info.attempts, 1);
    situation_release(&s);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(test_interrupted_undo)
{
    struct cairn_workflow *w = workflow_of(repeated);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_COMPLETED};
    uint64_t run = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    for (uint32_t task = 0; task < 2; task++) {
        put(run, task, 1, 0, 2, 3, CAIRN_COMPLETED);
        put(run, task, 2, ATTEMPT_UNDO, 4, 0, CAIRN_PENDING);
    }
    put(run, 1, 3, ATTEMPT_UNDO, 0, 5, CAIRN_PENDING); /* withdrawn */
    must(load(w, CAIRN_START_AUTO));
    expect_reason(w, "again", CAIRN_REASON_UNDONE);
    ck_assert_int_eq(status_of(run, "again").outcome, CAIRN_COMPLETED);
    expect_reason(w, "once", CAIRN_REASON_UNKNOWN);
    ck_assert_int_eq(status_of(run, "once").outcome, CAIRN_UNKNOWN);
    situation_release(&s);
    cairn_workflow_free(w);
}
END_TEST

/* Another run wrote a file, and the clock was set back before that: the number of its
 * record tells that it was later. */
START_TEST(test_writer_by_a_clock_that_was_set_back)
{
    struct cairn_workflow *w = workflow_of(repeated);
    static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_COMPLETED};
    struct result_file file = {
        .name = STR("x"), .kind = 'f', .size = 3, .mtime_ns = 50, .inode = 7};
    struct result result = {.outputs = &file, .n_outputs = 1};
    struct buf bytes = BUF_INIT, name = BUF_INIT;
    struct digest digest;
    uint64_t own = record_run(&w, 1, outcome, CAIRN_RUN_UNFINISHED);
    uint64_t other = record_run(&w, 1, outcome, CAIRN_RUN_COMPLETED);
    memset(file.digest.bytes, 1, DIGEST_SIZE);
    must(result_encode(&result, &bytes, &run_error));
    must(store_begin(run_store, -1, &run_error));
    must(store_end(run_store,
                   store_put_object(run_store, buf_view(&bytes), &digest, &run_error),
                   &run_error));
    put_attempt(
        &(struct attempt_row){.run = other,
                              .gen = 1,
                              .task = 0,
                              .number = 1,
                              .intent_ns = 1,
                              .started_ns = 2,
                              .ended_ns = 60,
                              .outcome = CAIRN_COMPLETED,
                              .outputs = {(const char *)digest.bytes, DIGEST_SIZE},
                              .checkpoint = 9});
    for (uint64_t since = 8; since <= 9; since++) {
        struct others_search others = {
            .run = own, .after_ns = 100, .since = since, .rows_left = 100};
        buf_clear(&name);
        must(situation_find_other_writer(w, run_store, &others, &file, &name,
                                         &run_error));
        ck_assert_int_eq(name.size > 0, since < 9);
    }
    buf_release(&name);
    buf_release(&bytes);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("situation");
    TCase *c = tcase_create("situation");
    tcase_add_checked_fixture(c, setup_store, teardown_store);
    tcase_add_test(c, test_nothing_recorded);
    tcase_add_test(c, test_numbers_of_an_edited_workflow);
    tcase_add_test(c, test_states_to_start_from);
    tcase_add_test(c, test_completed_run);
    tcase_add_test(c, test_run_of_an_older_version);
    tcase_add_test(c, test_fork);
    tcase_add_test(c, test_run_of_another_workflow);
    tcase_add_test(c, test_withdrawn_retry);
    tcase_add_test(c, test_interrupted_undo);
    tcase_add_test(c, test_writer_by_a_clock_that_was_set_back);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
