/* SPDX-License-Identifier: MIT */
/* The rules about attempts that plan, status and run share: which are open, which never
 * started, what each leaves on a pending task, and when a task is unknown. */
#include "runs/marks.h"

#include "tests/support/suite.h"

enum { INTENDED = 1, STARTED = 2, ENDED_AT = 3 };

static const struct attempt_row intended = {.intent_ns = INTENDED},
                                started = {.intent_ns = INTENDED,
                                           .started_ns = STARTED},
                                interrupted = {.intent_ns = INTENDED,
                                               .ended_ns = ENDED_AT,
                                               .flags = ATTEMPT_INTERRUPTED},
                                withdrawn = {.intent_ns = INTENDED,
                                             .ended_ns = ENDED_AT},
                                failed = {.intent_ns = INTENDED,
                                          .started_ns = STARTED,
                                          .ended_ns = ENDED_AT,
                                          .outcome = CAIRN_FAILED},
                                completed = {.intent_ns = INTENDED,
                                             .started_ns = STARTED,
                                             .ended_ns = ENDED_AT,
                                             .outcome = CAIRN_COMPLETED,
                                             .checkpoint = 7};

START_TEST(test_open_and_started)
{
    static const struct {
        const struct attempt_row *row;
        bool open, never_started;
    } cases[] = {{&intended, true, false},    {&started, true, false},
                 {&interrupted, true, false}, {&withdrawn, false, true},
                 {&failed, false, false},     {&completed, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(attempt_is_open(cases[i].row), cases[i].open);
        ck_assert_int_eq(attempt_never_started(cases[i].row), cases[i].never_started);
    }
}
END_TEST

START_TEST(test_marks_of_whole_records)
{
    struct recovery whole = {.head = {.chain = {.base = 5}}};
    ck_assert_int_eq(attempt_mark(&intended, &whole), MARK_INTERRUPTED);
    ck_assert_int_eq(attempt_mark(&started, &whole), MARK_INTERRUPTED);
    ck_assert_int_eq(attempt_mark(&interrupted, &whole), MARK_INTERRUPTED);
    ck_assert_int_eq(attempt_mark(&withdrawn, &whole), 0);
    ck_assert_int_eq(attempt_mark(&failed, &whole), MARK_RESET);
    ck_assert_int_eq(attempt_mark(&completed, &whole), MARK_RESET);
}
END_TEST

/* Only an end that may have stood in a lost record makes a task damaged. */
START_TEST(test_marks_with_a_gap)
{
    struct recovery gap = {.head = {.chain = {.base = 5}}, .gap = true};
    struct attempt_row row = completed;
    ck_assert_int_eq(attempt_mark(&row, &gap), MARK_DAMAGED);
    row.checkpoint = 0; /* its record was never written */
    ck_assert_int_eq(attempt_mark(&row, &gap), MARK_DAMAGED);
    row.checkpoint = 5; /* the full record that the states begin with has it */
    ck_assert_int_eq(attempt_mark(&row, &gap), MARK_RESET);
    ck_assert_int_eq(attempt_mark(&failed, &gap), MARK_RESET);
    ck_assert_int_eq(attempt_mark(&started, &gap), MARK_INTERRUPTED);
}
END_TEST

START_TEST(test_unknown)
{
    struct task_def once = {.once = true}, often = {.once = false};
    ck_assert(task_is_unknown(&often, CAIRN_UNKNOWN, 0)); /* as it was recorded */
    for (unsigned mark = MARK_INTERRUPTED; mark <= MARK_REPORTED; mark <<= 1) {
        bool uncertain =
            mark == MARK_INTERRUPTED || mark == MARK_DAMAGED || mark == MARK_UNDOING;
        ck_assert_int_eq(task_is_unknown(&once, CAIRN_PENDING, (uint8_t)mark),
                         uncertain);
        ck_assert(!task_is_unknown(&often, CAIRN_PENDING, (uint8_t)mark));
    }
    ck_assert(!task_is_unknown(&once, CAIRN_PENDING, 0));
    ck_assert(task_is_unknown(&once, CAIRN_COMPLETED, MARK_UNDOING));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("marks");
    TCase *c = tcase_create("marks");
    tcase_add_test(c, test_open_and_started);
    tcase_add_test(c, test_marks_of_whole_records);
    tcase_add_test(c, test_marks_with_a_gap);
    tcase_add_test(c, test_unknown);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
