/* SPDX-License-Identifier: MIT */
/* Rows of commands, claims and events, turns, and lists of tasks. */
#include "base/lock.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

#include <sqlite3.h>

static struct cairn_store *open_fast(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_store *store = NULL;
    good(cairn_store_open(&store, &options, &error));
    return store;
}

/* Changes the database behind the store's back. */
static void meddle(const char *sql)
{
    sqlite3 *handle = NULL;
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s",
                  sql, sqlite3_errmsg(handle));
    ck_assert_int_gt(sqlite3_total_changes(handle), 0);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}

static void expect_error(const char *part)
{
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
}

/* ---- Commands ---- */

static uint64_t give(struct cairn_store *store, uint64_t run, uint8_t verb,
                     struct str data)
{
    struct command_row row = {.run = run,
                              .verb = verb,
                              .argument = 2,
                              .gen = 3,
                              .task = verb == COMMAND_CANCEL ? UINT32_MAX : 4,
                              .time_ns = 55,
                              .data = data};
    good(store_begin(store, 0, &error));
    good(store_put_command(store, &row, &error));
    good(store_commit(store, &error));
    return row.id;
}

START_TEST(commands)
{
    struct cairn_store *store = open_fast();
    struct command_row row = {.verb = 9};
    struct buf data = BUF_INIT;
    bool has = true, taken = true;
    uint8_t verb = 9;
    good(store_has_command(store, 1, &has, &verb, &error));
    ck_assert(!has);
    ck_assert_uint_eq(verb, 0);
    ck_assert_uint_eq(give(store, 1, COMMAND_RESOLVE, STR("resolve\0this")), 1);
    ck_assert_uint_eq(give(store, 2, COMMAND_CANCEL, STR("")), 2);
    ck_assert_uint_eq(give(store, 1, COMMAND_CANCEL, STR("")), 3);
    good(store_has_command(store, 1, &has, &verb, &error));
    ck_assert(has);
    ck_assert_uint_eq(verb, COMMAND_RESOLVE);
    good(store_has_command(store, 2, &has, NULL, &error));
    ck_assert(has);
    buf_text(&data, "before");
    good(store_next_command(store, 1, 0, &row, &data, &error));
    ck_assert_uint_eq(row.id, 1);
    ck_assert_uint_eq(row.run, 1);
    ck_assert_uint_eq(row.verb, COMMAND_RESOLVE);
    ck_assert_uint_eq(row.argument, 2);
    ck_assert_uint_eq(row.gen, 3);
    ck_assert_uint_eq(row.task, 4);
    ck_assert_int_eq(row.time_ns, 55);
    ck_assert(str_equal(row.data, STR("resolve\0this")));
    ck_assert_ptr_eq(row.data.ptr, data.data + 6);
    good(store_next_command(store, 1, row.id, &row, &data, &error));
    ck_assert_uint_eq(row.id, 3);
    ck_assert_uint_eq(row.verb, COMMAND_CANCEL);
    ck_assert_uint_eq(row.task, UINT32_MAX);
    ck_assert_uint_eq(row.data.len, 0);
    good(store_next_command(store, 1, row.id, &row, &data, &error));
    ck_assert_uint_eq(row.verb, 0);
    ck_assert_uint_eq(data.size, 6 + 12);
    ck_assert_int_eq(store_command_taken(store, 9, &taken, &error), CAIRN_ENOTFOUND);
    cairn_store_close(store);
    buf_release(&data);
}
END_TEST

static bool is_taken(struct cairn_store *store, uint64_t id)
{
    bool taken = false;
    good(store_command_taken(store, id, &taken, &error));
    return taken;
}

START_TEST(commands_are_marked)
{
    struct cairn_store *store = open_fast();
    bool has;
    for (int i = 0; i < 3; i++) {
        give(store, 1, COMMAND_CANCEL, STR(""));
        give(store, 1, COMMAND_FAIL, STR("x"));
        give(store, 2, COMMAND_CANCEL, STR(""));
    }
    good(store_begin(store, 0, &error));
    good(store_mark_commands(store, 1, 4, &error));
    store_abort(store);
    ck_assert(!is_taken(store, 1));
    good(store_begin(store, 0, &error));
    good(store_mark_commands(store, 1, 4, &error));
    good(store_mark_commands(store, 1, 4, &error));
    good(store_commit(store, &error));
    for (uint64_t id = 1; id <= 9; id++)
        ck_assert_msg(is_taken(store, id) == (id == 1 || id == 2 || id == 4), "%d",
                      (int)id);
    good(store_begin(store, 0, &error));
    good(store_drop_commands(store, 1, COMMAND_CANCEL, UINT64_MAX, &error));
    good(store_drop_commands(store, 3, COMMAND_CANCEL, UINT64_MAX, &error));
    good(store_commit(store, &error));
    ck_assert(!is_taken(store, 5) && !is_taken(store, 8) && !is_taken(store, 3));
    ck_assert(is_taken(store, 7));
    good(store_begin(store, 0, &error));
    good(store_mark_commands(store, 1, UINT64_MAX, &error));
    good(store_commit(store, &error));
    good(store_has_command(store, 1, &has, NULL, &error));
    ck_assert(!has);
    good(store_has_command(store, 2, &has, NULL, &error));
    ck_assert(has);
    cairn_store_close(store);
}
END_TEST

/* Each column that decides something is guarded; other commands are carried out all the
 * same, and what is damaged is marked with them, but not dropped unseen. */
START_TEST(damaged_command)
{
    static const char *const damage[] = {
        "UPDATE command SET run = 2 WHERE id = 1",
        "UPDATE command SET verb = 3 WHERE id = 1",
        "UPDATE command SET argument = 3 WHERE id = 1",
        "UPDATE command SET gen = 9 WHERE id = 1",
        "UPDATE command SET task = 5 WHERE id = 1",
        "UPDATE command SET data = x'00' WHERE id = 1",
        "UPDATE command SET sum = x'0000000000000000' WHERE id = 1",
        "UPDATE command SET sum = NULL WHERE id = 1",
        "UPDATE command SET sum = NULL, verb = 1 WHERE id = 1",
        "UPDATE command SET id = 9 WHERE id = 1"};
    struct cairn_store *store = open_fast();
    struct command_row row = {.verb = 7};
    struct buf data = BUF_INIT;
    bool has = true;
    uint64_t run = _i == 0 ? 2 : 1, id = _i == 9 ? 9 : 1;
    give(store, 1, COMMAND_COMPLETE, STR("value"));
    meddle(damage[_i]);
    ck_assert_int_eq(store_next_command(store, run, 0, &row, &data, &error),
                     CAIRN_EDAMAGED);
    expect_error(_i == 9 ? "command 9 to run 1 is damaged" : "command 1 to run ");
    expect_error("give it again");
    ck_assert_uint_eq(row.id, id);
    uint64_t next = give(store, run, COMMAND_COMPLETE, STR("again"));
    buf_clear(&data);
    good(store_next_command(store, run, id, &row, &data, &error));
    ck_assert_uint_eq(row.id, next);
    ck_assert(str_equal(row.data, STR("again")));
    good(store_begin(store, 0, &error));
    good(store_mark_commands(store, run, id - 1, &error));
    for (uint8_t verb = 1; verb <= COMMAND_RESOLVE; verb++)
        good(store_drop_commands(store, run, verb, UINT64_MAX, &error));
    ck_assert(!is_taken(store, id));
    ck_assert(is_taken(store, next));
    good(store_mark_commands(store, run, id, &error));
    good(store_commit(store, &error));
    good(store_has_command(store, run, &has, NULL, &error));
    ck_assert(!has);
    cairn_store_close(store);
    buf_release(&data);
}
END_TEST

/* ---- Claims ---- */

static struct claim_row claim_of(uint32_t task)
{
    return (struct claim_row){.run = 1,
                              .gen = 2,
                              .task = task,
                              .token = STR("token"),
                              .holder = STR("me@here"),
                              .boot = STR("boot"),
                              .until_boot_ns = 1000,
                              .time_ns = 2000};
}

static void put_claim(struct cairn_store *store, struct claim_row row)
{
    good(store_begin(store, 0, &error));
    good(store_put_claim(store, &row, &error));
    good(store_commit(store, &error));
}

static int add_claim(void *context, const struct claim_row *row)
{
    buf_format(context, "%u %.*s%s%s; ", row->task, (int)row->token.len, row->token.ptr,
               row->spent ? " spent" : "", row->sum_ok ? "" : " damaged");
    return 0;
}

static int check_claim(void *context, const struct claim_row *row)
{
    struct claim_row want = claim_of(7);
    ck_assert_uint_eq(row->run, 1);
    ck_assert_uint_eq(row->gen, 2);
    ck_assert_uint_eq(row->task, 7);
    ck_assert(str_equal(row->token, want.token));
    ck_assert(str_equal(row->holder, want.holder));
    ck_assert(str_equal(row->boot, want.boot));
    ck_assert_int_eq(row->until_boot_ns, 1000);
    ck_assert_int_eq(row->time_ns, 2000);
    ck_assert(!row->spent);
    ck_assert(row->sum_ok);
    ++*(int *)context;
    return 1;
}

START_TEST(claims)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    int n = 0;
    put_claim(store, claim_of(9));
    put_claim(store, claim_of(7));
    good(store_each_claim(store, 1, 2, check_claim, &n, &error));
    ck_assert_int_eq(n, 1);
    struct claim_row other = claim_of(7);
    other.token = STR("newer");
    other.spent = true;
    put_claim(store, other);
    other.gen = 3;
    put_claim(store, other);
    good(store_each_claim(store, 1, 2, add_claim, &text, &error));
    ck_assert_str_eq(text.data, "7 newer spent; 9 token; ");
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

START_TEST(damaged_claim)
{
    static const char *const damage[] = {
        "UPDATE claim SET token = 'mine' WHERE task = 7",
        "UPDATE claim SET holder = 'you' WHERE task = 7",
        "UPDATE claim SET boot = '' WHERE task = 7",
        "UPDATE claim SET until_boot_ns = 1001 WHERE task = 7",
        "UPDATE claim SET spent = 1 WHERE task = 7",
        "UPDATE claim SET sum = x'' WHERE task = 7"};
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    put_claim(store, claim_of(5));
    put_claim(store, claim_of(7));
    put_claim(store, claim_of(9));
    meddle(damage[_i]);
    ck_assert_int_eq(store_each_claim(store, 1, 2, add_claim, &text, &error),
                     CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(text.data, " damaged; 9 token; "));
    expect_error("task 7 (generation 2) of run 1 is damaged");
    expect_error("`cairn claim RUN TASK`");
    buf_clear(&text);
    put_claim(store, claim_of(7));
    good(store_each_claim(store, 1, 2, add_claim, &text, &error));
    ck_assert_str_eq(text.data, "5 token; 7 token; 9 token; ");
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

/* ---- Events ---- */

static void put_event(struct cairn_store *store, uint64_t run, uint64_t turn,
                      const char *data)
{
    struct event_row row = {.run = run,
                            .turn = turn,
                            .time_ns = 12,
                            .kind = EVENT_COMMAND,
                            .argument = 3,
                            .gen = 1,
                            .task = 6,
                            .data = str_of(data)};
    good(store_put_event(store, &row, &error));
}

static int add_event(void *context, const struct event_row *row)
{
    buf_format(context, "%d.%d %.*s; ", (int)row->turn, (int)row->id,
               (int)row->data.len, row->data.ptr);
    return 0;
}

static int check_event(void *context, const struct event_row *row)
{
    ck_assert_uint_eq(row->run, 1);
    ck_assert_uint_eq(row->turn, 300);
    ck_assert_uint_eq(row->id, 2);
    ck_assert_int_eq(row->time_ns, 12);
    ck_assert_uint_eq(row->kind, EVENT_COMMAND);
    ck_assert_uint_eq(row->argument, 3);
    ck_assert_uint_eq(row->gen, 1);
    ck_assert_uint_eq(row->task, 6);
    ck_assert(str_equal(row->data, STR("d")));
    ++*(int *)context;
    return 0;
}

static int check_bare(void *context, const struct event_row *row)
{
    ck_assert_uint_eq(row->argument, 0);
    ck_assert_uint_eq(row->gen, 0);
    ck_assert_uint_eq(row->task, UINT32_MAX);
    ck_assert_uint_eq(row->data.len, 0);
    ++*(int *)context;
    return 0;
}

START_TEST(events)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    struct event_row bare = {
        .run = 3, .turn = 1, .kind = EVENT_BEGUN, .task = UINT32_MAX};
    int n = 0;
    good(store_begin(store, 0, &error));
    put_event(store, 1, 1, "a");
    put_event(store, 1, 1, "b");
    put_event(store, 2, 1, "x");
    put_event(store, 1, 300, "c");
    good(store_commit(store, &error));
    good(store_begin(store, 0, &error));
    put_event(store, 1, 300, "d");
    put_event(store, 1, 9, "e");
    good(store_put_event(store, &bare, &error));
    good(store_commit(store, &error));
    good(store_each_event(store, 1, 0, add_event, &text, &error));
    ck_assert_str_eq(text.data, "1.1 a; 1.2 b; 9.1 e; 300.1 c; 300.2 d; ");
    buf_clear(&text);
    good(store_each_event(store, 1, 9, add_event, &text, &error));
    ck_assert_str_eq(text.data, "300.1 c; 300.2 d; ");
    good(store_get_event(store, 1, 300, 2, check_event, &n, &error));
    ck_assert_int_eq(
        store_get_event(store, 1, 300, UINT64_MAX, check_event, &n, &error),
        CAIRN_ENOTFOUND);
    good(store_each_event(store, 3, 0, check_bare, &n, &error));
    ck_assert_int_eq(n, 2);
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

/* ---- Turns ---- */

static uint64_t next_turn(struct cairn_store *store, uint64_t run)
{
    uint64_t turn = 0, again = 0;
    good(store_next_turn(store, run, &turn, &error));
    good(store_next_turn(store, run, &again, &error));
    ck_assert_uint_eq(turn, again);
    return turn;
}

static void put_attempt(struct cairn_store *store, uint64_t run, uint64_t start,
                        uint64_t end)
{
    static uint32_t number;
    struct attempt_row row = {.run = run,
                              .gen = 1,
                              .number = ++number,
                              .intent_ns = 1,
                              .ended_ns = end ? 2 : 0,
                              .start_turn = start,
                              .end_turn = end};
    if (end)
        good(store_put_attempt(store, &row, &error));
    else
        good(store_put_intent(store, &row, &error));
}

/* One turn a transaction, whatever is put in it. */
START_TEST(turns_of_one_handle)
{
    struct cairn_store *store = open_fast();
    for (uint64_t turn = 1; turn <= 9; turn++) {
        good(store_begin(store, 0, &error));
        ck_assert_uint_eq(next_turn(store, 1), turn);
        if (turn % 3 == 0)
            put_event(store, 1, turn, "");
        else
            put_attempt(store, 1, turn % 3 == 1 ? turn : 1, turn % 3 == 1 ? 0 : turn);
        ck_assert_uint_eq(next_turn(store, 1), turn);
        put_event(store, 2, 77, "");
        ck_assert_uint_eq(next_turn(store, 1), turn);
        good(store_commit(store, &error));
        good(store_begin(store, 0, &error)); /* one that says nothing */
        ck_assert_uint_eq(next_turn(store, 1), turn + 1);
        good(store_commit(store, &error));
        good(store_begin(store, 0, &error)); /* one that is taken back */
        ck_assert_uint_eq(next_turn(store, 1), turn + 1);
        put_event(store, 1, turn + 1, "");
        store_abort(store);
    }
    good(store_begin(store, 0, &error));
    ck_assert_uint_eq(next_turn(store, 2), 78);
    ck_assert_uint_eq(next_turn(store, 1), 10);
    ck_assert_uint_eq(next_turn(store, 3), 1);
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

/* Two handles, of which one owns the workflow for a while: none ever takes a turn that
 * the other has used. Attempts are put by the owner only. */
START_TEST(turns_of_two_handles)
{
    struct cairn_store *store[2] = {open_fast(), open_fast()};
    struct run_row row = {.gen = 1,
                          .file = STR(""),
                          .params_text = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    uint64_t turn = 1;
    unsigned seed = 4711, owner = 0;
    good(store_begin(store[0], 0, &error));
    good(store_workflow_id(store[0], STR("w"), true, &row.workflow, &error));
    good(store_add_run(store[0], &row, &error));
    good(store_commit(store[0], &error));
    int64_t lock = LOCK_WORKFLOW + (int64_t)row.workflow;
    good(store_hold(store[0], lock, &error));
    for (int i = 0; i < 300; i++) {
        unsigned who = (unsigned)rand_r(&seed) % 2;
        bool attempt = rand_r(&seed) % 2;
        if (rand_r(&seed) % 50 == 0) {
            store_unhold(store[owner], lock);
            owner = 1 - owner;
            good(store_hold(store[owner], lock, &error));
        }
        who = attempt ? owner : who;
        good(store_begin(store[who], 0, &error));
        ck_assert_msg(next_turn(store[who], row.run) == turn, "round %d", i);
        if (attempt)
            put_attempt(store[who], row.run, turn, rand_r(&seed) % 2 ? turn : 0);
        else
            put_event(store[who], row.run, turn, "");
        if (rand_r(&seed) % 9 == 0) {
            store_abort(store[who]);
        } else {
            good(store_commit(store[who], &error));
            turn++;
        }
    }
    cairn_store_close(store[0]);
    cairn_store_close(store[1]);
}
END_TEST

/* The owner does not look at all attempts again because of a foreign commit. */
START_TEST(owner_looks_at_events_alone)
{
    struct cairn_store *store = open_fast();
    struct run_row row = {.gen = 1,
                          .file = STR(""),
                          .params_text = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    good(store_begin(store, 0, &error));
    good(store_workflow_id(store, STR("w"), true, &row.workflow, &error));
    good(store_add_run(store, &row, &error));
    good(store_hold(store, LOCK_WORKFLOW + (int64_t)row.workflow, &error));
    ck_assert_uint_eq(next_turn(store, row.run), 1);
    put_attempt(store, row.run, 1, 0);
    good(store_commit(store, &error));
    meddle("UPDATE attempt SET start_turn = 500");
    meddle("INSERT INTO event(run, turn, n, time_ns, kind) VALUES(1, 30, 1, 0, 1)");
    good(store_begin(store, 0, &error));
    ck_assert_uint_eq(next_turn(store, row.run), 31);
    store_abort(store);
    good(store_begin(store, 0, &error));
    ck_assert_uint_eq(next_turn(store, row.run), 501);
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

/* ---- Lists of tasks ---- */

static int add_task(void *context, uint32_t task)
{
    buf_format(context, "%u ", task);
    return 0;
}

static int add_first(void *context, uint32_t task)
{
    buf_format(context, "%u ", task);
    return 1;
}

START_TEST(lists_of_tasks)
{
    static const uint32_t tasks[] = {0, 1, 127, 128, 300, 9999999};
    struct buf packed = BUF_INIT, text = BUF_INIT;
    tasks_pack(tasks, 6, &packed);
    ck_assert_uint_eq(packed.size, 1 + 1 + 1 + 1 + 2 + 4);
    ck_assert(tasks_unpack(buf_view(&packed), 10000000, add_task, &text));
    ck_assert_str_eq(text.data, "0 1 127 128 300 9999999 ");
    buf_clear(&text);
    ck_assert(tasks_unpack(buf_view(&packed), 10000000, add_first, &text));
    ck_assert_str_eq(text.data, "0 ");
    buf_clear(&text);
    ck_assert(!tasks_unpack(buf_view(&packed), 9999999, add_task, &text));
    for (size_t n = 1; n <= packed.size; n++) {
        bool whole = n < 6 || n > 6 ? !(packed.data[n - 1] & 0x80) : true;
        bool good_list =
            tasks_unpack((struct str){packed.data, n}, 10000000, add_first, &text);
        ck_assert_msg(good_list == whole, "%zu bytes", n);
    }
    buf_clear(&text);
    static const struct str bad[] = {
        {"\1\0", 2},                                              /* twice the same */
        {"\377\377\377\377\377\377\377\377\377\1", 10},           /* huge */
        {"\2\376\377\377\377\377\377\377\377\377\1", 11},         /* around 2^64 */
        {"\200", 1},                                              /* cut */
        {"\377\377\377\377\377\377\377\377\377\377\377\377", 12}, /* too long */
        {"\144", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!tasks_unpack(bad[i], 100, add_task, &text));
    ck_assert_uint_eq(text.size, 0);
    ck_assert(tasks_unpack(STR(""), 100, add_task, &text));
    ck_assert(tasks_unpack((struct str){NULL, 0}, 0, add_task, &text));
    ck_assert_uint_eq(text.size, 0);
    tasks_pack(NULL, 0, &packed);
    buf_release(&packed);
    buf_release(&text);
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    Suite *suite = suite_create("rows_events");
    TCase *tests = tcase_create("rows_events");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, commands);
    tcase_add_test(tests, commands_are_marked);
    tcase_add_loop_test(tests, damaged_command, 0, 10);
    tcase_add_test(tests, claims);
    tcase_add_loop_test(tests, damaged_claim, 0, 6);
    tcase_add_test(tests, events);
    tcase_add_test(tests, turns_of_one_handle);
    tcase_add_test(tests, turns_of_two_handles);
    tcase_add_test(tests, owner_looks_at_events_alone);
    tcase_add_test(tests, lists_of_tasks);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
