/* SPDX-License-Identifier: MIT */
/* The rows of checkpoints and runs. Attempts are in check_rows_attempts.c; commands,
 * claims and events in check_rows_events.c. */
#include "base/os.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256], path[512];
static struct cairn_error error;
static struct cairn_store *store;

static void open_store(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    ck_assert_msg(cairn_store_open(&store, &options, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_rows.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    open_store();
}

static void teardown(void)
{
    cairn_store_close(store);
    store = NULL;
    remove_tree(dir);
}

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* ---- Checkpoints ---- */

static void put(uint64_t seq, uint8_t namespace_id, uint64_t stream)
{
    char record[32];
    struct digest digest = {{(uint8_t)(seq * 16), (uint8_t)seq}};
    snprintf(record, sizeof record, "record %d", (int)seq);
    struct checkpoint_row row = {.seq = seq,
                                 .namespace_id = namespace_id,
                                 .kind = seq == 1 ? 1 : 2,
                                 .stream = stream,
                                 .parent = seq - 1,
                                 .time_ns = 1000 + (int64_t)seq,
                                 .record = str_of(record),
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    good(store_put_checkpoint(store, &row, &error));
}

static int add_seq(void *context, const struct checkpoint_row *row)
{
    buf_format(context, "%d ", (int)row->seq);
    return 0;
}

static void expect(struct checkpoint_range range, const char *seqs, uint64_t total)
{
    struct buf found = BUF_INIT;
    uint64_t count;
    buf_text(&found, "");
    good(store_each_checkpoint(store, &range, add_seq, &found, &error));
    ck_assert_str_eq(found.data ? found.data : "", seqs);
    good(store_count_checkpoints(store, &range, &count, &error));
    ck_assert_uint_eq(count, total);
    buf_release(&found);
}

static int check_third(void *context, const struct checkpoint_row *row)
{
    ck_assert_uint_eq(row->seq, 3);
    ck_assert_uint_eq(row->namespace_id, 1);
    ck_assert_uint_eq(row->kind, 2);
    ck_assert_uint_eq(row->stream, 7);
    ck_assert_uint_eq(row->parent, 2);
    ck_assert_int_eq(row->time_ns, 1003);
    ck_assert(str_equal(row->record, STR("record 3")));
    ck_assert_uint_eq(row->digest.len, DIGEST_SIZE);
    ck_assert_uint_eq((uint8_t)row->digest.ptr[0], 48);
    ++*(int *)context;
    return CAIRN_EUSAGE;
}

static int check_first(void *context, const struct checkpoint_row *row)
{
    (void)context;
    ck_assert_uint_eq(row->parent, 0);
    return 1;
}

static struct run_row new_run(uint64_t workflow)
{
    return (struct run_row){.workflow = workflow,
                            .params = {{9}},
                            .params_text = STR("\3day\1x"),
                            .file = STR("/home/somebody/unique-name.yaml"),
                            .gen = 1,
                            .graph = {{5}},
                            .tasks = 12,
                            .started_ns = 77,
                            .owner_pid = 4321,
                            .owner_start = 1234567,
                            .owner_host = STR("host"),
                            .owner_boot = STR("boot-id"),
                            .owner_since_ns = 78};
}

START_TEST(checkpoints)
{
    uint64_t seq, workflow;
    int calls = 0;
    good(store_begin(store, 0, &error));
    good(store_next_seq(store, &seq, &error));
    ck_assert_uint_eq(seq, 1);
    /* Runs 1 to 9; 7 and 9 are of the second workflow. */
    good(store_workflow_id(store, STR("other"), true, &workflow, &error));
    for (uint64_t run = 1; run <= 9; run++) {
        struct run_row row = new_run(workflow);
        if (run == 7 || run == 9)
            good(store_workflow_id(store, STR("wanted"), true, &row.workflow, &error));
        good(store_add_run(store, &row, &error));
        ck_assert_uint_eq(row.run, run);
    }
    put(1, 1, 7);
    good(store_next_seq(store, &seq, &error));
    ck_assert_uint_eq(seq, 2);
    put(2, 1, 8);
    put(3, 1, 7);
    put(4, 2, 7);
    put(5, 1, 9);
    put(6, 1, 7);
    good(store_commit(store, &error));

    expect((struct checkpoint_range){0}, "1 2 3 4 5 6 ", 6);
    expect((struct checkpoint_range){.descending = true, .limit = 2, .offset = 1},
           "5 4 ", 6);
    expect((struct checkpoint_range){.namespace_id = 1, .stream = 7}, "1 3 6 ", 3);
    expect(
        (struct checkpoint_range){
            .namespace_id = 1, .stream = 7, .descending = true, .first = 2, .last = 6},
        "6 3 ", 2);
    expect(
        (struct checkpoint_range){
            .namespace_id = 1, .stream = 7, .limit = 1, .offset = 2},
        "6 ", 3);
    expect((struct checkpoint_range){.namespace_id = 2}, "4 ", 1);
    expect((struct checkpoint_range){.stream = 7, .last = 4}, "1 3 4 ", 3);
    good(store_workflow_id(store, STR("wanted"), false, &workflow, &error));
    expect((struct checkpoint_range){.workflow = workflow}, "1 3 5 6 ", 4);
    expect(
        (struct checkpoint_range){
            .workflow = workflow, .descending = true, .limit = 2, .offset = 1},
        "5 3 ", 4);
    expect((struct checkpoint_range){.workflow = workflow, .first = 3, .last = 5},
           "3 5 ", 2);
    expect((struct checkpoint_range){.workflow = 99}, "", 0);

    ck_assert_int_eq(store_get_checkpoint(store, 3, check_third, &calls, &error),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(calls, 1);
    good(store_get_checkpoint(store, 1, check_first, NULL, &error));
    ck_assert_int_eq(store_get_checkpoint(store, 7, check_first, NULL, &error),
                     CAIRN_ENOTFOUND);
    struct checkpoint_range third = {.first = 3};
    ck_assert_int_eq(store_each_checkpoint(store, &third, check_third, &calls, &error),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(calls, 2);
    good(store_each_checkpoint(store, &(struct checkpoint_range){0}, check_first, NULL,
                               &error));
    good(store_last_seq(store, 1, 7, &seq, &error));
    ck_assert_uint_eq(seq, 6);
    good(store_last_seq(store, 1, 99, &seq, &error));
    ck_assert_uint_eq(seq, 0);
}
END_TEST

START_TEST(digests_are_found)
{
    uint64_t seqs[4];
    size_t found;
    good(store_begin(store, 0, &error));
    for (uint64_t seq = 1; seq <= 20; seq++)
        put(seq, 1, 1);
    good(store_commit(store, &error));
    /* 16 seq, seq, 0, ...: seqs 1 and 17 begin with 10, then 01 and 11. */
    good(store_find_digest(store, STR("10"), seqs, 4, &found, &error));
    ck_assert_uint_eq(found, 2);
    ck_assert_uint_eq(seqs[0], 1);
    ck_assert_uint_eq(seqs[1], 17);
    good(store_find_digest(store, STR("101"), seqs, 4, &found, &error));
    ck_assert_uint_eq(found, 1);
    ck_assert_uint_eq(seqs[0], 17);
    good(store_find_digest(store, STR("A00a0"), seqs, 4, &found, &error));
    ck_assert_uint_eq(found, 1);
    ck_assert_uint_eq(seqs[0], 10);
    good(store_find_digest(store, STR("f"), seqs, 4, &found, &error));
    ck_assert_uint_eq(found, 1);
    good(store_find_digest(store, STR("0"), seqs, 1, &found, &error));
    ck_assert_uint_eq(found, 1);
    good(store_find_digest(store, STR("ff"), seqs, 4, &found, &error));
    ck_assert_uint_eq(found, 0);
    ck_assert_int_eq(store_find_digest(store, STR("0x"), seqs, 4, &found, &error),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(store_find_digest(store, STR(""), seqs, 4, &found, &error),
                     CAIRN_EUSAGE);
    char long_hex[66] = {0};
    memset(long_hex, '0', 65);
    ck_assert_int_eq(
        store_find_digest(store, str_of(long_hex), seqs, 4, &found, &error),
        CAIRN_EUSAGE);
}
END_TEST

static int add_tombstone(void *context, const struct tombstone_row *row)
{
    static const struct digest zero;
    buf_format(context, "%d-%d/%d%s ", (int)row->first, (int)row->last, (int)row->count,
               digest_equal(&row->before, &zero) ? "" : "b");
    ck_assert_uint_eq(row->after.bytes[0], 3);
    return 0;
}

/* Numbers of deleted checkpoints are not given out again, not by a later process and
 * not when the newest ones were deleted. */
START_TEST(seq_is_never_reused)
{
    uint64_t seq, count, bytes;
    struct buf text = BUF_INIT;
    good(store_begin(store, 0, &error));
    for (seq = 1; seq <= 6; seq++)
        put(seq, 1, 7);
    good(store_commit(store, &error));
    good(store_begin(store, 0, &error));
    good(store_delete_checkpoints(store, 1, 7, 5, 6, &count, &bytes, &error));
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(bytes, 16);
    good(store_delete_checkpoints(store, 1, 8, 1, 4, &count, &bytes, &error));
    ck_assert_uint_eq(count, 0);
    good(store_delete_checkpoints(store, 1, 7, 2, 2, &count, &bytes, &error));
    struct tombstone_row late = {.namespace_id = 1,
                                 .stream = 7,
                                 .first = 5,
                                 .last = 6,
                                 .count = 2,
                                 .before = {{1}},
                                 .after = {{3}}};
    struct tombstone_row early = {.namespace_id = 1,
                                  .stream = 7,
                                  .first = 2,
                                  .last = 2,
                                  .count = 1,
                                  .after = {{3}}};
    good(store_put_tombstone(store, &late, &error));
    good(store_put_tombstone(store, &early, &error));
    good(store_next_seq(store, &seq, &error));
    ck_assert_uint_eq(seq, 7);
    good(store_commit(store, &error));
    cairn_store_close(store);
    open_store();
    expect((struct checkpoint_range){0}, "1 3 4 ", 3);
    good(store_begin(store, 0, &error));
    good(store_next_seq(store, &seq, &error));
    ck_assert_uint_eq(seq, 7);
    good(store_each_tombstone(store, 1, 7, add_tombstone, &text, &error));
    ck_assert_str_eq(text.data, "2-2/1 5-6/2b ");
    buf_clear(&text);
    good(store_delete_tombstone(store, 2, &error));
    good(store_each_tombstone(store, 0, 0, add_tombstone, &text, &error));
    ck_assert_str_eq(text.data, "5-6/2b ");
    buf_clear(&text);
    good(store_each_tombstone(store, 1, 8, add_tombstone, &text, &error));
    ck_assert_uint_eq(text.size, 0);
    good(store_put_quarantine(store, 3, 1, "bad", &error));
    good(store_put_quarantine(store, 3, 2, "bad again", &error));
    good(store_commit(store, &error));
    buf_release(&text);
}
END_TEST

/* ---- Runs ---- */

static int check_run(void *context, const struct run_row *row)
{
    const struct run_row *want = context;
    ck_assert(row->sum_ok);
    ck_assert_uint_eq(row->run, want->run);
    ck_assert_uint_eq(row->workflow, want->workflow);
    ck_assert(str_equal(row->workflow_name, STR("nightly")));
    ck_assert(digest_equal(&row->params, &want->params));
    ck_assert(str_equal(row->params_text, want->params_text));
    ck_assert(str_equal(row->file, want->file));
    ck_assert_uint_eq(row->gen, want->gen);
    ck_assert(digest_equal(&row->graph, &want->graph));
    ck_assert_uint_eq(row->tasks, want->tasks);
    ck_assert_uint_eq(row->state, want->state);
    ck_assert_int_eq(row->started_ns, want->started_ns);
    ck_assert_int_eq(row->ended_ns, want->ended_ns);
    ck_assert_uint_eq(row->from_run, want->from_run);
    ck_assert_uint_eq(row->from_seq, want->from_seq);
    ck_assert_int_eq(row->owner_pid, want->owner_pid);
    ck_assert_uint_eq(row->owner_start, want->owner_start);
    ck_assert(str_equal(row->owner_host, want->owner_host));
    ck_assert(str_equal(row->owner_boot, want->owner_boot));
    ck_assert_int_eq(row->owner_since_ns, want->owner_since_ns);
    ck_assert_uint_eq(row->unsaved, want->unsaved);
    return 0;
}

START_TEST(run_round_trip)
{
    uint64_t workflow;
    struct digest graph;
    ck_assert_int_eq(store_get_run(store, 0, check_run, NULL, &error), CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_workflow_id(store, STR("nightly"), false, &workflow, &error),
                     CAIRN_ENOTFOUND);
    good(store_begin(store, 0, &error));
    good(store_workflow_id(store, STR("nightly"), true, &workflow, &error));
    struct run_row row = new_run(workflow);
    good(store_add_run(store, &row, &error));
    good(store_get_run(store, 1, check_run, &row, &error));
    row.state = 2;
    row.gen = 2;
    row.ended_ns = 99;
    row.from_run = 3;
    row.from_seq = 4;
    row.owner_start = UINT64_MAX;
    row.unsaved = UINT32_MAX;
    row.file = STR("");
    row.graph.bytes[31] = 1;
    good(store_set_run(store, &row, &error));
    good(store_put_run_graph(store, 1, 1, &row.params, &error));
    good(store_commit(store, &error));
    good(store_get_run(store, 0, check_run, &row, &error));
    good(store_get_run_graph(store, 1, 1, &graph, &error));
    ck_assert(digest_equal(&graph, &row.params));
    ck_assert_int_eq(store_get_run_graph(store, 1, 2, &graph, &error), CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_get_run(store, 2, check_run, &row, &error), CAIRN_ENOTFOUND);
    good(store_begin(store, 0, &error));
    row.run = 2;
    ck_assert_int_eq(store_set_run(store, &row, &error), CAIRN_ENOTFOUND);
    store_abort(store);
}
END_TEST

static int add_run(void *context, const struct run_row *row)
{
    buf_format(context, "%d ", (int)row->run);
    return 0;
}

static void expect_runs(struct run_filter filter, const char *runs, uint64_t total)
{
    struct buf found = BUF_INIT;
    uint64_t count;
    good(store_each_run(store, &filter, add_run, &found, &error));
    ck_assert_str_eq(found.data ? found.data : "", runs);
    good(store_count_runs(store, &filter, &count, &error));
    ck_assert_uint_eq(count, total);
    buf_release(&found);
}

START_TEST(run_filters)
{
    uint64_t ids[2];
    struct digest params[2] = {{{1}}, {{2}}};
    good(store_begin(store, 0, &error));
    good(store_workflow_id(store, STR("a"), true, &ids[0], &error));
    good(store_workflow_id(store, STR("b"), true, &ids[1], &error));
    for (size_t i = 0; i < 6; i++) {
        struct run_row row = new_run(ids[i / 3]);
        row.params = params[i % 2];
        good(store_add_run(store, &row, &error));
    }
    good(store_commit(store, &error));
    expect_runs((struct run_filter){0}, "6 5 4 3 2 1 ", 6);
    expect_runs((struct run_filter){.ascending = true, .limit = 2, .offset = 3}, "4 5 ",
                6);
    expect_runs((struct run_filter){.params = &params[0]}, "5 3 1 ", 3);
    expect_runs((struct run_filter){.workflow = ids[0]}, "3 2 1 ", 3);
    expect_runs((struct run_filter){.workflow = ids[1], .params = &params[0]}, "5 ", 1);
    expect_runs(
        (struct run_filter){
            .workflow = ids[0], .params = &params[0], .ascending = true, .offset = 1},
        "3 ", 2);
    expect_runs((struct run_filter){.workflow = 9}, "", 0);
}
END_TEST

static int expect_bad_sum(void *context, const struct run_row *row)
{
    ck_assert(!row->sum_ok);
    ++*(int *)context;
    return 0;
}

/* A damaged run row, or workflow name, is read and marked. */
START_TEST(run_sum_shows_damage)
{
    static const char *const patterns[] = {"unique-name.yaml", "damaged-workflow"};
    uint64_t workflow;
    int calls = 0;
    char db[600];
    struct buf file = BUF_INIT;
    good(store_begin(store, 0, &error));
    good(store_workflow_id(store, STR("damaged-workflow"), true, &workflow, &error));
    struct run_row row = new_run(workflow);
    good(store_add_run(store, &row, &error));
    good(store_commit(store, &error));
    cairn_store_close(store);
    snprintf(db, sizeof db, "%s/cairn.db", path);
    good(os_read_file(db, SIZE_MAX / 2, &file, &error));
    /* The name stands in the index of names, too: take the last place, the row. */
    struct str pattern = str_of(patterns[_i]);
    char *at = NULL, *next = file.data;
    while ((next = memmem(next, file.size - (size_t)(next - file.data), pattern.ptr,
                          pattern.len))) {
        next[3] ^= 1;
        at = next++;
    }
    ck_assert_ptr_nonnull(at);
    good(os_write_file(db, 0600, buf_view(&file), &error));
    buf_release(&file);
    open_store();
    good(store_get_run(store, 1, expect_bad_sum, &calls, &error));
    good(
        store_each_run(store, &(struct run_filter){0}, expect_bad_sum, &calls, &error));
    ck_assert_int_eq(calls, 2);
}
END_TEST

static int nested(void *context, const struct run_row *row)
{
    struct run_row again = new_run(row->workflow);
    again.run = row->run;
    if (++*(int *)context == 1)
        good(store_each_run(store, &(struct run_filter){0}, nested, context, &error));
    good(store_get_run(store, row->run, check_run, &again, &error));
    return 0;
}

/* A callback may read the store, with the very call it was called from. */
START_TEST(callbacks_may_read)
{
    uint64_t workflow;
    int calls = 0;
    good(store_begin(store, 0, &error));
    good(store_workflow_id(store, STR("nightly"), true, &workflow, &error));
    for (int i = 0; i < 3; i++) {
        struct run_row row = new_run(workflow);
        good(store_add_run(store, &row, &error));
    }
    good(store_commit(store, &error));
    good(store_each_run(store, &(struct run_filter){0}, nested, &calls, &error));
    ck_assert_int_eq(calls, 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tests = tcase_create("rows");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, checkpoints);
    tcase_add_test(tests, digests_are_found);
    tcase_add_test(tests, seq_is_never_reused);
    tcase_add_test(tests, run_round_trip);
    tcase_add_test(tests, run_filters);
    tcase_add_loop_test(tests, run_sum_shows_damage, 0, 2);
    tcase_add_test(tests, callbacks_may_read);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
