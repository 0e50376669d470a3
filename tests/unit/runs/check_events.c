/* SPDX-License-Identifier: MIT */
/* The audit log (runs/events.c), from rows made by hand. */
#include "runs/events_int.h"
#include "workflow/workflow.h"

#include "base/clock.h"
#include "cairn/plan.h"
#include "graph/definition_codec.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/old_store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <unistd.h>

static char dir[256], path[300];
static struct cairn_error error;
static struct cairn_store *store;

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

static void open_store(bool read_only)
{
    struct cairn_store_options options = {.path = path,
                                          .create = !read_only,
                                          .read_only = read_only,
                                          .sync = CAIRN_SYNC_OFF};
    good(cairn_store_open(&store, &options, &error));
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_events.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    open_store(false);
}

static void teardown(void)
{
    cairn_store_close(store);
    remove_tree(dir);
}

/* ---- Making rows ---- */

static const char first_graph[] = "name: w\n"
                                  "tasks:\n"
                                  "  a: {run: 'true'}\n"
                                  "  b: {run: 'true'}\n"
                                  "  c: {run: 'true', needs: [a]}\n";
static const char second_graph[] = "name: w\n"
                                   "tasks:\n"
                                   "  new: {run: 'true'}\n"
                                   "  a: {run: 'true'}\n";

static void put_graph(const char *text, struct digest *digest)
{
    struct cairn_workflow *w = NULL;
    struct buf encoded = BUF_INIT;
    good(cairn_workflow_parse(&w, text, strlen(text), "w.yaml", NULL, 0, &error));
    good(cairn_workflow_compile(w, &error));
    good(definition_encode(&w->definition, &encoded, &error));
    good(store_put_object(store, buf_view(&encoded), digest, &error));
    buf_release(&encoded);
    cairn_workflow_free(w);
}

/* Run 1 has the first graph, then as generation 2 the second one. */
static void put_run(void)
{
    struct run_row row = {.gen = 2,
                          .tasks = 2,
                          .file = STR(""),
                          .params_text = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    struct digest first;
    good(store_begin(store, 0, &error));
    put_graph(first_graph, &first);
    put_graph(second_graph, &row.graph);
    good(store_workflow_id(store, STR("w"), true, &row.workflow, &error));
    good(store_add_run(store, &row, &error));
    good(store_put_run_graph(store, row.run, 1, &first, &error));
    good(store_commit(store, &error));
}

static void put_attempt(struct attempt_row row)
{
    row.run = 1;
    row.gen = row.gen ? row.gen : 1;
    row.number = row.number ? row.number : 1;
    row.intent_ns = row.intent_ns ? row.intent_ns : 1000;
    row.exit_code = row.exit_code ? row.exit_code : -1;
    good(store_put_attempt(store, &row, &error));
}

static void put_event(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t task,
                      struct str data)
{
    struct event_row row = {.run = 1,
                            .turn = turn,
                            .time_ns = 77,
                            .kind = kind,
                            .argument = argument,
                            .gen = 1,
                            .task = task,
                            .data = data};
    good(store_put_event(store, &row, &error));
}

static void put_list(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t cause)
{
    static const uint32_t tasks[] = {1, 2};
    struct buf packed = BUF_INIT;
    tasks_pack(tasks, 2, &packed);
    put_event(turn, kind, argument, cause, buf_view(&packed));
    buf_release(&packed);
}

static void put_checkpoint(uint64_t seq)
{
    struct digest digest = {{(uint8_t)seq}};
    struct checkpoint_row row = {.seq = seq,
                                 .namespace_id = NAMESPACE_WORKFLOW,
                                 .kind = 2,
                                 .stream = 1,
                                 .record = STR("x"),
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    good(store_begin(store, 0, &error));
    good(store_put_checkpoint(store, &row, &error));
    good(store_commit(store, &error));
}

/* ---- Seeing them ---- */

static int add_short(void *context, const struct cairn_log_event *event)
{
    buf_format(context, "%d %s", (int)event->turn, event->kind);
    if (event->task)
        buf_format(context, " %s", event->task);
    if (event->attempt)
        buf_format(context, ".%u", event->attempt);
    buf_text(context, "\n");
    return 0;
}

/* Everything that there is to see. */
static int add_long(void *context, const struct cairn_log_event *event)
{
    buf_format(context, "%d %d %s %s %u %s %d %d %d %s: %s\n", (int)event->turn,
               (int)event->time_ns, event->kind, event->task ? event->task : "-",
               event->attempt, cairn_outcome_name(event->outcome), event->exit_code,
               event->signal, (int)event->checkpoint,
               event->reason ? event->reason : "-", event->text ? event->text : "-");
    ck_assert_uint_eq(event->run, 1);
    return 0;
}

static void expect_log(uint64_t after,
                       int (*each)(void *, const struct cairn_log_event *),
                       const char *want)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "");
    good(cairn_events(store, 0, after, each, &text, NULL, &error));
    ck_assert_str_eq(text.data ? text.data : "", want);
    buf_release(&text);
}

/* ---- Order ---- */

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
    put_event(2, EVENT_BEGUN, 0, NODE_NONE, STR("goes on"));
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
        "2 77 run_started - 0 pending -1 0 0 resumed: the run goes on\n"
        "3 77 run_started - 0 pending -1 0 0 fork: the run forks from 42\n"
        "4 77 task_reset b 0 pending -1 0 0 changed: is to run again (changed)\n"
        "4 77 task_reset c 0 pending -1 0 0 changed: is to run again (changed)\n"
        "5 77 task_unknown b 0 unknown -1 0 0 interrupted: was interrupted, and nobody "
        "knows how far it came: `cairn resolve` decides\n"
        "5 77 task_unknown c 0 unknown -1 0 0 interrupted: was interrupted, and nobody "
        "knows how far it came: `cairn resolve` decides\n"
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
    remove_tree(path);
    put_old_store(path);
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

/* ---- Going on ---- */

/* Adds a random turn to the run: some open attempts end, others start. */
struct history {
    unsigned seed;
    uint64_t turn;
    struct attempt_row open[64];
    size_t n_open;
    uint32_t numbers[3][3];
};

static unsigned pick(struct history *h, unsigned n)
{
    return (unsigned)rand_r(&h->seed) % n;
}

static void end_one(struct history *h)
{
    if (h->n_open == 0)
        return;
    size_t i = pick(h, (unsigned)h->n_open);
    struct attempt_row row = h->open[i];
    h->open[i] = h->open[--h->n_open];
    row.started_ns = 1500;
    row.ended_ns = 2000;
    row.end_turn = h->turn;
    row.outcome = (uint8_t)(1 + pick(h, 2));
    if (pick(h, 4) == 0)
        row.flags |= ATTEMPT_RETRY;
    put_attempt(row);
}

static void start_one(struct history *h)
{
    uint32_t gen = 1 + pick(h, 2), task = pick(h, gen == 1 ? 3 : 2);
    struct attempt_row row = {.run = 1,
                              .gen = gen,
                              .task = task,
                              .number = ++h->numbers[gen][task],
                              .intent_ns = 1000 + (int64_t)h->turn,
                              .exit_code = -1,
                              .flags = pick(h, 3) ? 0 : ATTEMPT_UNDO,
                              .start_turn = h->turn};
    if (h->n_open == 64)
        return;
    good(store_put_intent(store, &row, &error));
    h->open[h->n_open++] = row;
}

static void add_turn(struct history *h)
{
    good(store_begin(store, 0, &error));
    h->turn++;
    for (unsigned n = 1 + pick(h, 6); n > 0; n--) {
        switch (pick(h, 4)) {
        case 0:
            end_one(h);
            break;
        case 1:
            put_event(h->turn, (uint8_t)(1 + pick(h, 11)), 1, pick(h, 3), STR("\1\1"));
            break;
        default:
            start_one(h);
        }
    }
    good(store_commit(store, &error));
}

static void read_in_windows(struct buf *text, size_t window)
{
    struct event_display display = {.each = add_long, .context = text, .error = &error};
    buf_clear(text);
    good(events_in_windows(store, 1, 0, &display, window));
    if (!text->size)
        buf_text(text, "");
}

/* Whoever follows a live run has been told what the whole log tells afterwards, and in
 * the same order and words; whatever fits into memory at a time. */
START_TEST(following_is_the_same)
{
    struct history h = {.seed = (unsigned)random_u64()};
    struct buf told = BUF_INIT, whole = BUF_INIT;
    uint64_t last = 0;
    printf("seed %u\n", h.seed);
    put_run();
    for (int i = 0; i < 150; i++) {
        add_turn(&h);
        if (pick(&h, 3))
            continue;
        good(cairn_events(store, 1, last, add_long, &told, &last, &error));
        ck_assert_uint_le(last, h.turn);
    }
    good(cairn_events(store, 1, last, add_long, &told, &last, &error));
    ck_assert_uint_gt(told.size, 3000);
    static const size_t windows[] = {1, 2, 7, 50, 400, 100000};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        read_in_windows(&whole, windows[i]);
        ck_assert_msg(str_equal(buf_view(&told), buf_view(&whole)),
                      "seed and window %zu: not the same", windows[i]);
    }
    buf_release(&told);
    buf_release(&whole);
}
END_TEST

struct limited {
    struct buf *text;
    unsigned left;
};

static int add_limited(void *context, const struct cairn_log_event *event)
{
    struct limited *l = context;
    add_long(l->text, event);
    return --l->left == 0;
}

/* What was left out when the window was narrowed is told, even if nothing came later.
 */
START_TEST(narrowing_loses_nothing)
{
    struct buf text = BUF_INIT;
    put_run();
    good(store_begin(store, 0, &error));
    put_attempt((struct attempt_row){.task = 0, .start_turn = 5});
    put_attempt((struct attempt_row){.task = 1, .start_turn = 6});
    put_attempt((struct attempt_row){.task = 2, .start_turn = 1});
    good(store_commit(store, &error));
    struct event_display display = {
        .each = add_short, .context = &text, .error = &error};
    good(events_in_windows(store, 1, 0, &display, 2));
    ck_assert_str_eq(text.data,
                     "1 task_intended c.1\n5 task_intended a.1\n6 task_intended b.1\n");
    buf_release(&text);
}
END_TEST

/* Who stops early and goes on after the last whole turn loses nothing. */
START_TEST(stopping_loses_nothing)
{
    struct history h = {.seed = 11};
    struct buf whole = BUF_INIT, part = BUF_INIT;
    put_run();
    for (int i = 0; i < 30; i++) {
        add_turn(&h);
        good(store_begin(store, 0, &error)); /* one that ends with a list */
        put_list(++h.turn, EVENT_SKIPPED, 0, 0);
        good(store_commit(store, &error));
    }
    good(cairn_events(store, 1, 0, add_long, &whole, NULL, &error));
    for (unsigned n = 1; n < 60; n++) {
        struct limited limited = {.text = &part, .left = n};
        struct buf before = BUF_INIT;
        uint64_t last = 0;
        buf_clear(&part);
        good(cairn_events(store, 1, 0, add_limited, &limited, &last, &error));
        ck_assert(part.size <= whole.size);
        ck_assert_mem_eq(part.data, whole.data, part.size);
        /* What was told up to `last`, and what comes after it, is everything. */
        good(cairn_events(store, 1, last, add_long, &before, NULL, &error));
        ck_assert_uint_le(whole.size - before.size, part.size);
        ck_assert_mem_eq(whole.data + whole.size - before.size, before.data,
                         before.size);
        buf_release(&before);
    }
    buf_release(&whole);
    buf_release(&part);
}
END_TEST

/* A callback may read the store and follow its own log. */
static int count_all(void *context, const struct cairn_log_event *event)
{
    (void)event;
    ++*(int *)context;
    return 0;
}

static int read_again(void *context, const struct cairn_log_event *event)
{
    int n = 0;
    (void)event;
    good(cairn_events(store, 1, 0, count_all, &n, NULL, &error));
    ck_assert_int_gt(n, 0);
    ++*(int *)context;
    return 0;
}

START_TEST(callbacks_may_read)
{
    struct history h = {.seed = 5};
    int n = 0, all = 0;
    put_run();
    for (int i = 0; i < 10; i++)
        add_turn(&h);
    good(cairn_events(store, 1, 0, count_all, &all, NULL, &error));
    good(cairn_events(store, 1, 0, read_again, &n, NULL, &error));
    ck_assert_int_eq(n, all);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {order_within_a_turn,
                                  words_for_attempts,
                                  words_for_events,
                                  damaged_rows,
                                  no_run,
                                  old_store,
                                  narrowing_loses_nothing,
                                  following_is_the_same,
                                  stopping_loses_nothing,
                                  callbacks_may_read};
    Suite *suite = suite_create("events");
    TCase *tcase = tcase_create("events");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return help_run(suite);
}
