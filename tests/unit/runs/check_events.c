/* SPDX-License-Identifier: MIT */
/* make: tsan */
/* The audit log (runs/events.c), from rows made by hand. */
#include "tests/support/old_store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/runs/events.h"

/* ---- Order ---- */

static void expect_task_log(const char *task, const char *wanted)
{
    struct buf text = BUF_INIT;
    good(cairn_task_events(store, 1, task, add_short, &text, &error));
    buf_byte(&text, 0);
    ck_assert_str_eq(text.data, wanted);
    buf_release(&text);
}

START_TEST(order_within_a_turn)
{
    put_run();
    good(store_begin(store, 0, &error));
    put_event(2, EVENT_ENDED, 1, NODE_NONE, STR(""));
    put_event(2, EVENT_CONDITION, 1, 2, STR(""));
    put_event(2, EVENT_COMMAND, COMMAND_CANCEL, NODE_NONE, STR(""));
    put_list(2, EVENT_SKIPPED, 0, 0);
    put_event(2, EVENT_NOTICE, 0, NODE_NONE, STR("x"));
    put_attempt((struct attempt_row){.task = 2, .start_turn = 2});
    put_attempt((struct attempt_row){
        .task = 1, .number = 2, .start_turn = 2, .end_turn = 3, .outcome = 1});
    put_attempt(
        (struct attempt_row){.task = 1, .start_turn = 1, .end_turn = 2, .outcome = 2});
    put_attempt((struct attempt_row){
        .task = 0, .number = 9, .start_turn = 2, .end_turn = 2, .outcome = 1});
    put_attempt((struct attempt_row){
        .task = 0, .number = 8, .start_turn = 2, .end_turn = 2, .outcome = 2});
    put_attempt((struct attempt_row){.task = 0,
                                     .number = 10,
                                     .start_turn = 2,
                                     .end_turn = 2,
                                     .outcome = 1,
                                     .flags = ATTEMPT_EXTERNAL});
    put_attempt((struct attempt_row){
        .gen = 2, .task = 0, .start_turn = 1, .end_turn = 2, .outcome = 1});
    put_event(1, EVENT_BEGUN, 0, NODE_NONE, STR("new"));
    good(store_commit(store, &error));
    expect_log(0, add_short,
               "1 run_started\n"
               "1 task_intended b.1\n"
               "1 task_intended new.1\n"
               "2 command\n"
               "2 notice\n"
               "2 task_intended a.8\n"
               "2 task_finished a.8\n"
               "2 task_intended a.9\n"
               "2 task_finished a.9\n"
               "2 task_finished a.10\n"
               "2 task_finished b.1\n"
               "2 task_finished new.1\n"
               "2 task_condition c\n"
               "2 task_skipped b\n"
               "2 task_skipped c\n"
               "2 task_intended b.2\n"
               "2 task_intended c.1\n"
               "2 run_finished\n"
               "3 task_finished b.2\n");
    expect_log(2, add_short, "3 task_finished b.2\n");
    expect_log(3, add_short, "");
    expect_task_log("b", "1 task_intended b.1\n"
                         "2 task_finished b.1\n"
                         "2 task_skipped b\n"
                         "2 task_intended b.2\n"
                         "3 task_finished b.2\n");
    expect_task_log("new", "1 task_intended new.1\n"
                           "2 task_finished new.1\n");
    expect_task_log("c", "2 task_condition c\n"
                         "2 task_skipped c\n"
                         "2 task_intended c.1\n");
    expect_task_log("none", "");
}
END_TEST

/* ---- Words ---- */

static void put_ends(void)
{
    static const struct attempt_row rows[] = {
        {.task = 0, .end_turn = 1, .ended_ns = 5, .outcome = 1, .checkpoint = 3},
        {.task = 1, .end_turn = 2, .ended_ns = 5, .outcome = 2, .exit_code = 3},
        {.task = 1, .end_turn = 3, .ended_ns = 5, .outcome = 2, .signal = 9},
        {.task = 1,
         .end_turn = 4,
         .ended_ns = 5,
         .outcome = 2,
         .signal = 15,
         .flags = ATTEMPT_TIMED_OUT | ATTEMPT_RETRY,
         .text = {"longer than 1s", 14}},
        {.task = 1,
         .end_turn = 5,
         .ended_ns = 5,
         .outcome = 2,
         .flags = ATTEMPT_CHECK,
         .text = {"0.6 < 0.7", 9}},
        {.task = 1, .end_turn = 6, .ended_ns = 5, .outcome = 2, .text = {"no x", 4}},
        {.task = 1,
         .end_turn = 7,
         .ended_ns = 5,
         .outcome = 4,
         .signal = 15,
         .text = {"cancelled", 9}},
        {.task = 1,
         .end_turn = 8,
         .ended_ns = 5,
         .started_ns = 2,
         .flags = ATTEMPT_INTERRUPTED},
        {.task = 1, .end_turn = 9, .ended_ns = 5},
        {.task = 1, .end_turn = 10, .ended_ns = 5, .outcome = 1, .flags = ATTEMPT_UNDO},
        {.task = 1,
         .end_turn = 11,
         .ended_ns = 5,
         .outcome = 2,
         .exit_code = 1,
         .flags = ATTEMPT_UNDO},
        {.task = 1,
         .end_turn = 12,
         .ended_ns = 5,
         .outcome = 1,
         .flags = ATTEMPT_EXTERNAL},
        {.task = 1,
         .end_turn = 13,
         .ended_ns = 5,
         .outcome = 1,
         .flags = ATTEMPT_ADOPTED},
        {.task = 1,
         .end_turn = 14,
         .ended_ns = 5,
         .flags = ATTEMPT_UNDO | ATTEMPT_INTERRUPTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct attempt_row row = rows[i];
        row.number = (uint32_t)i + 1;
        put_attempt(row);
    }
    put_attempt((struct attempt_row){.task = 2, .start_turn = 15, .intent_ns = 8});
    put_attempt((struct attempt_row){
        .task = 2, .number = 2, .start_turn = 16, .flags = ATTEMPT_UNDO});
}

START_TEST(words_for_attempts)
{
    put_run();
    good(store_begin(store, 0, &error));
    put_ends();
    good(store_commit(store, &error));
    expect_log(
        0, add_long,
        "1 5 task_finished a 1 completed -1 0 0 -: completed (attempt 1)\n"
        "2 5 task_finished b 2 failed 3 0 0 exit: failed (attempt 2) (exit 3)\n"
        "3 5 task_finished b 3 failed -1 9 0 signal: failed (attempt 3) (signal 9)\n"
        "4 5 task_retry b 4 failed -1 15 0 timeout: attempt 4 failed, another follows "
        "(timed out): longer than 1s\n"
        "5 5 task_finished b 5 failed -1 0 0 check: failed (attempt 5) by its check: "
        "0.6 < 0.7\n"
        "6 5 task_finished b 6 failed -1 0 0 error: failed (attempt 6): no x\n"
        "7 5 task_finished b 7 cancelled -1 15 0 -: cancelled (attempt 7) (signal 15)\n"
        "8 5 task_interrupted b 8 pending -1 0 0 interrupted: attempt 8 was "
        "interrupted\n"
        "9 5 task_withdrawn b 9 pending -1 0 0 not-started: attempt 9 was not started "
        "after all\n"
        "10 5 task_undo b 10 undone -1 0 0 -: undone (attempt 10)\n"
        "11 5 task_undo b 11 failed 1 0 0 exit: its undo failed (attempt 11) (exit 1)\n"
        "12 5 task_finished b 12 completed -1 0 0 external: completed (attempt 12) by "
        "somebody outside\n"
        "13 5 task_finished b 13 completed -1 0 0 adopted: completed (attempt 13) "
        "while no cairn watched\n"
        "14 5 task_interrupted b 14 pending -1 0 0 interrupted: its undo, attempt 14 "
        "was interrupted\n"
        "15 8 task_intended c 1 pending -1 0 0 -: attempt 1 is to start\n"
        "16 1000 undo_intended c 2 pending -1 0 0 -: its undo is to start (attempt "
        "2)\n");
    /* The checkpoint that it names is there. */
    for (uint64_t seq = 1; seq <= 3; seq++)
        put_checkpoint(seq);
    struct buf text = BUF_INIT;
    good(cairn_events(store, 1, 0, add_long, &text, NULL, &error));
    ck_assert_ptr_nonnull(
        strstr(text.data, "1 5 task_finished a 1 completed -1 0 3 -:"));
    buf_release(&text);
}
END_TEST

START_TEST(words_for_events)
{
    put_run();
    good(store_begin(store, 0, &error));
    put_event(1, EVENT_BEGUN, 0, NODE_NONE, STR("new"));
    put_event(2, EVENT_BEGUN, 0, NODE_NONE, STR("continues"));
    put_event(3, EVENT_BEGUN, 0, NODE_NONE, STR("forks from 42"));
    put_list(4, EVENT_RESET, CAIRN_REASON_CHANGED, NODE_NONE);
    put_list(5, EVENT_UNKNOWN, 0, NODE_NONE);
    put_list(6, EVENT_SKIPPED, 0, 0);
    put_list(7, EVENT_SKIPPED, 1, NODE_NONE);
    put_event(8, EVENT_CONDITION, 1, 0, STR(""));
    put_event(9, EVENT_CONDITION, 0, 0, STR("1 == 2"));
    put_event(10, EVENT_CLAIMED, 0, 0, STR("me@here"));
    put_event(11, EVENT_COMMAND, COMMAND_CANCEL, NODE_NONE, STR("cancel"));
    put_event(12, EVENT_COMMAND, COMMAND_RESOLVE, 0, STR("rerun"));
    put_event(13, EVENT_HALTED, 0, NODE_NONE, STR("b failed"));
    put_event(14, EVENT_PHASE, 1, NODE_NONE, STR(""));
    put_event(15, EVENT_PHASE, 2, NODE_NONE, STR(""));
    put_event(16, EVENT_NOTICE, 0, NODE_NONE, STR("look"));
    put_event(17, EVENT_ENDED, CAIRN_RUN_FAILED, NODE_NONE, STR(""));
    good(store_commit(store, &error));
    expect_log(
        0, add_long,
        "1 77 run_started - 0 pending -1 0 0 new: a new run begins\n"
        "2 77 run_started - 0 pending -1 0 0 resumed: the run continues\n"
        "3 77 run_started - 0 pending -1 0 0 fork: the run forks from 42\n"
        "4 77 task_reset b 0 pending -1 0 0 changed: is to run again (changed)\n"
        "4 77 task_reset c 0 pending -1 0 0 changed: is to run again (changed)\n"
        "5 77 task_unknown b 0 unknown -1 0 0 interrupted: was interrupted, and its "
        "outcome is unknown: `cairn resolve 1 b` decides\n"
        "5 77 task_unknown c 0 unknown -1 0 0 interrupted: was interrupted, and its "
        "outcome is unknown: `cairn resolve 1 c` decides\n"
        "6 77 task_skipped b 0 skipped -1 0 0 need-skipped: skipped because of a\n"
        "6 77 task_skipped c 0 skipped -1 0 0 need-skipped: skipped because of a\n"
        "7 77 task_skipped b 0 excluded -1 0 0 excluded: skipped: its condition was "
        "not "
        "met\n"
        "7 77 task_skipped c 0 excluded -1 0 0 excluded: skipped: its condition was "
        "not "
        "met\n"
        "8 77 task_condition a 0 pending -1 0 0 true: its condition holds\n"
        "9 77 task_condition a 0 pending -1 0 0 false: its condition is not met: 1 == "
        "2\n"
        "10 77 task_claimed a 0 pending -1 0 0 -: claimed by me@here\n"
        "11 77 command - 0 pending -1 0 0 cancel: asked to cancel\n"
        "12 77 command a 0 pending -1 0 0 resolve: asked to resolve: rerun\n"
        "13 77 run_halted - 0 pending -1 0 0 -: nothing more is started: b failed\n"
        "14 77 phase - 0 pending -1 0 0 undo: undoing begins\n"
        "15 77 phase - 0 pending -1 0 0 finally: the `finally` tasks begin\n"
        "16 77 notice - 0 pending -1 0 0 -: look\n"
        "17 77 run_finished - 0 pending -1 0 0 failed: the run ended: failed\n");
}
END_TEST

/* ---- Damage ---- */

START_TEST(damaged_rows)
{
    put_run();
    good(store_begin(store, 0, &error));
    put_attempt((struct attempt_row){.task = 3, .start_turn = 1});
    put_attempt((struct attempt_row){.task = UINT32_MAX - 1, .start_turn = 2});
    put_attempt((struct attempt_row){.gen = 7, .task = 0, .start_turn = 3});
    put_attempt((struct attempt_row){.task = 0,
                                     .number = 3,
                                     .start_turn = 9,
                                     .end_turn = 4,
                                     .started_ns = 1,
                                     .ended_ns = 5,
                                     .outcome = 99});
    put_event(5, EVENT_RESET, 200, NODE_NONE, STR("\3\4"));
    put_event(6, EVENT_SKIPPED, 0, 9, STR("\377\377"));
    put_event(7, 99, 200, 3, STR("?"));
    put_event(8, EVENT_COMMAND, 200, NODE_NONE, STR(""));
    good(store_commit(store, &error));
    expect_log(
        0, add_long,
        "1 1000 task_intended - 1 pending -1 0 0 -: task number 3 (its definition 1 is "
        "damaged): attempt 1 is to start\n"
        "2 1000 task_intended - 1 pending -1 0 0 -: task number 4294967294 (its "
        "definition 1 is damaged): attempt 1 is to start\n"
        "3 1000 task_intended - 1 pending -1 0 0 -: task number 0 (its definition 7 is "
        "damaged): attempt 1 is to start\n"
        "4 5 task_finished a 3 pending -1 0 0 -: unknown (attempt 3)\n"
        "5 77 task_reset - 0 pending -1 0 0 unknown: is to run again (unknown) (the "
        "list of tasks is damaged)\n"
        "6 77 task_skipped - 0 skipped -1 0 0 need-skipped: skipped (the list of tasks "
        "is damaged)\n"
        "7 77 unknown - 0 pending -1 0 0 -: task number 3 (its definition 1 is "
        "damaged): an event of unknown kind 99\n"
        "8 77 command - 0 pending -1 0 0 unknown: asked to unknown\n"
        "9 1000 task_intended a 3 pending -1 0 0 -: attempt 3 is to start\n");
}
END_TEST

START_TEST(no_run)
{
    ck_assert_int_eq(cairn_events(store, 0, 0, add_short, NULL, NULL, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "no runs yet"));
    put_run();
    ck_assert_int_eq(cairn_events(store, 2, 0, add_short, NULL, NULL, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "no run 2; `cairn runs`"));
    uint64_t last = 5;
    good(cairn_events(store, 1, 3, add_short, NULL, &last, &error));
    ck_assert_uint_eq(last, 3);
}
END_TEST

/* A run of an older release has told nothing. */
START_TEST(old_store)
{
    struct buf text = BUF_INIT;
    cairn_store_close(store);
    remove_tree(store_path);
    put_old_store(store_path);
    for (int writer = 0; writer < 2; writer++) {
        open_store(!writer);
        for (uint64_t run = 0; run <= 3; run++)
            good(cairn_events(store, run, 0, add_short, &text, NULL, &error));
        ck_assert_uint_eq(text.size, 0);
        if (!writer)
            cairn_store_close(store);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {order_within_a_turn,
                                  words_for_attempts,
                                  words_for_events,
                                  damaged_rows,
                                  no_run,
                                  old_store};
    return run_events("events", tests, sizeof tests / sizeof tests[0]);
}
