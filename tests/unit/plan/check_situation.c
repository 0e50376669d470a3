/* SPDX-License-Identifier: MIT */
/* Where a workflow stands: which run goes on, in whose numbers its states and marks
 * are, and what follows. */
#include "plan/situation.h"

#include "cairn/plan.h"
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

/* Its states are there, but no run goes on, and attempts are counted anew. */
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
    ck_assert_int_eq(situation_mark(&s, 1), 0); /* attempts of the run, not of this */
    expect_reason(w, "a", CAIRN_REASON_DONE);
    expect_reason(w, "b", CAIRN_REASON_NEVER_RAN);
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

int main(void)
{
    Suite *suite = suite_create("situation");
    TCase *c = tcase_create("situation");
    tcase_add_checked_fixture(c, setup_store, teardown_store);
    tcase_add_test(c, test_nothing_recorded);
    tcase_add_test(c, test_numbers_of_an_edited_workflow);
    tcase_add_test(c, test_states_to_start_from);
    tcase_add_test(c, test_completed_run);
    tcase_add_test(c, test_fork);
    tcase_add_test(c, test_run_of_another_workflow);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
