/* SPDX-License-Identifier: MIT */
/* make: above */
/* cairn_gc: which runs are removed and what is kept. */
#include "base/lock.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "cairn/workflow.h"
#include "checkpoint/gc/gc.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_gc.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/gc.h"
#include "tests/support/old_store.h"

START_TEST(only_what_nobody_refers_to)
{
    struct lab *lab = lab_open(1);
    struct digest loose = lab_put_object(lab, "nobody wants this"), result, graph2;
    struct change change = {.task = 3, .outcome = CAIRN_COMPLETED, .attempts = 1};
    struct digest out = lab_put_object(lab, "output of one");
    uint64_t run = lab_ended_run(lab, "other", "FDD", "output of one");
    result = lab_put_object(lab, "a result that only a delta names");
    change.outputs = result;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, &change, 1, 7, NULL, &lab->error));
    graph2 = lab->stream.graph;
    MUST(lab, store_put_object(lab->store, STR("generation 2"), &graph2, &lab->error));
    MUST(lab, store_put_run_graph(lab->store, run, 2, &graph2, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));

    struct cairn_gc_options dry = {.dry_run = true};
    struct cairn_gc_result would;
    MUST(lab, checkpoint_gc(lab->store, &payload_kinds, &dry, &would, &lab->error));
    ck_assert(lab_has_object(lab, &loose));
    struct cairn_gc_result did = lab_collect(lab, 0);
    ck_assert_uint_eq(did.objects, 1);
    ck_assert_uint_eq(would.objects, 1);
    ck_assert_uint_eq(would.freed_bytes, did.freed_bytes);
    ck_assert_uint_eq(would.kept_objects, did.kept_objects);
    ck_assert_uint_eq(did.runs, 0);
    ck_assert_uint_eq(did.kept_runs, 2);
    ck_assert(!lab_has_object(lab, &loose));
    ck_assert(lab_has_object(lab, &result) && lab_has_object(lab, &graph2) &&
              lab_has_object(lab, &out));
    lab_must_verify(lab);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    lab_close(lab);
}
END_TEST

START_TEST(results_in_full_records)
{
    struct lab *lab = lab_open(2);
    struct digest result =
        lab_put_object(lab, "a result that only a full record names");
    struct change change = {.task = 3, .outcome = CAIRN_COMPLETED, .outputs = result};
    MUST(lab, states_apply(&lab->now, &change, &lab->error));
    lab->stream.graph = lab_put_object(lab, "a graph that only it names");
    lab_put(lab, "F");
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    ck_assert(lab_has_object(lab, &result) && lab_has_object(lab, &lab->stream.graph));
    lab_close(lab);
}
END_TEST

START_TEST(old_runs_go)
{
    struct lab *lab = lab_open(3);
    lab_put(lab, "FD"); /* run 1, of nightly: unfinished */
    uint64_t runs[6];
    for (int i = 0; i < 6; i++) {
        char text[32];
        snprintf(text, sizeof text, "output of %d", i);
        runs[i] = lab_ended_run(lab, i % 2 ? "odd" : "even", "FDDFDD", text);
    }
    struct digest first = lab_put_object(lab, "output of 0"),
                  last = lab_put_object(lab, "output of 5");
    struct cairn_gc_options dry = {.keep_runs = 2, .dry_run = true};
    struct cairn_gc_result would;
    int64_t next = lab_ask_closed(lab, "SELECT max(seq) FROM checkpoint");
    MUST(lab, checkpoint_gc(lab->store, &payload_kinds, &dry, &would, &lab->error));
    struct cairn_gc_result did = lab_collect(lab, 2);
    ck_assert_uint_eq(did.runs, 2);
    ck_assert_uint_eq(did.kept_runs, 5);
    ck_assert_uint_eq(did.checkpoints, 12);
    ck_assert_uint_eq(did.attempts, 2);
    ck_assert_uint_eq(did.objects, 2);
    ck_assert_uint_eq(would.runs, 2);
    ck_assert_uint_eq(would.checkpoints, 12);
    ck_assert_uint_eq(would.attempts, 2);
    ck_assert_uint_eq(would.objects, 2);
    ck_assert_uint_eq(would.freed_bytes, did.freed_bytes);
    ck_assert(!lab_has_run(lab, runs[0]) && !lab_has_run(lab, runs[1]));
    ck_assert(lab_has_run(lab, 1) && lab_has_run(lab, runs[2]) &&
              lab_has_run(lab, runs[5]));
    ck_assert(!lab_has_object(lab, &first) && lab_has_object(lab, &last));
    lab_must_verify(lab);
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM attempt WHERE run IN (2, 3)"), 0);
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM event WHERE run IN (2, 3)"), 0);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 2);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT max(seq) FROM checkpoint"), next);
    /* The newest of all is never removed, so no number is used again. */
    lab_collect(lab, 1);
    uint64_t again = lab_ended_run(lab, "even", "F", "x");
    ck_assert_uint_eq(again, runs[5] + 1);
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

START_TEST(who_stays)
{
    struct lab *lab = lab_open(4);
    struct digest graph;
    lab_finish(lab, 1); /* without an end: in doubt */
    uint64_t unfinished = lab_run(lab, "ages", 0, 0, &graph); /* interrupted, or live */
    lab->stream.chain.id = unfinished;
    lab_put(lab, "F");
    uint64_t parent = lab_ended_run(lab, "forks", "FDD", "a");
    uint64_t from = lab->seqs[lab->n - 1];
    struct run_stream at = lab->stream;
    uint64_t branch = lab_run(lab, "forks", parent, from, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, branch, &at.graph);
    lab->stream.chain.parent = at.chain.parent;
    lab->stream.chain.parent_digest = at.chain.parent_digest;
    lab_put(lab, "FD");
    lab_end_run(lab, branch, CAIRN_RUN_FAILED, clock_utc_ns());
    uint64_t hour = lab_ended_run(lab, "ages", "F", "b"),
             day = lab_ended_run(lab, "ages", "F", "c");
    uint64_t now = lab_ended_run(lab, "ages", "F", "d");
    int64_t hour_ns = 3600000000000;
    lab_end_run(lab, day, CAIRN_RUN_CANCELLED, clock_utc_ns() - 24 * hour_ns);
    lab_end_run(lab, hour, CAIRN_RUN_UNDONE, clock_utc_ns() - hour_ns);
    (void)now;

    /* The parent is beyond the newest one, but the branch stays. */
    struct cairn_gc_options options = {.keep_runs = 1, .older_than_ms = 7200000};
    struct cairn_gc_result result;
    MUST(lab,
         checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error));
    ck_assert(lab_has_run(lab, parent) && lab_has_run(lab, branch) &&
              lab_has_run(lab, hour));
    ck_assert(!lab_has_run(lab, day));
    options = (struct cairn_gc_options){.older_than_ms = 1};
    MUST(lab,
         checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error));
    ck_assert(lab_has_run(lab, parent) && lab_has_run(lab, branch) &&
              lab_has_run(lab, now));
    ck_assert(!lab_has_run(lab, hour));
    ck_assert(lab_has_run(lab, 1) && lab_has_run(lab, unfinished));
    /* With the next run the branch goes, and then what it forked from. */
    lab_ended_run(lab, "forks", "F", "e");
    ck_assert_uint_eq(lab_collect(lab, 1).runs, 2);
    ck_assert(!lab_has_run(lab, parent) && !lab_has_run(lab, branch));
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

START_TEST(params_have_their_own_newest)
{
    struct lab *lab = lab_open(5);
    lab_put(lab, "F");
    lab_end_run(lab, 1, CAIRN_RUN_COMPLETED, 5);
    for (int i = 0; i < 3; i++) {
        struct digest graph;
        uint64_t run = lab_run(lab, "nightly", 0, 0, &graph);
        struct run_row row;
        MUST(lab, store_begin(lab->store, -1, &lab->error));
        MUST(lab, store_get_run(lab->store, run, lab_copy_run, &row, &lab->error));
        row.params.bytes[0] = i < 2;
        row.params_text = row.file = row.owner_host = row.owner_boot = STR("");
        row.state = CAIRN_RUN_COMPLETED;
        row.ended_ns = 5;
        MUST(lab, store_set_run(lab->store, &row, &lab->error));
        MUST(lab, store_commit(lab->store, &lab->error));
        lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
        lab_put(lab, "F");
    }
    /* 1: the same params as 4; 2: as 3, which is the newest of its own. */
    ck_assert_uint_eq(lab_collect(lab, 1).runs, 2);
    ck_assert(lab_has_run(lab, 3) && lab_has_run(lab, 4));
    ck_assert(!lab_has_run(lab, 1) && !lab_has_run(lab, 2));
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

/* Between two transactions of a collection, as somebody else sees it. */
START_TEST(used_again_meanwhile)
{
    struct lab *lab = lab_open(6), other = *lab;
    struct digest loose = lab_put_object(lab, "used again"),
                  garbage = lab_put_object(lab, "never again");
    uint64_t up_to, last;
    bool deleted;
    struct object_size object = {.digest = loose};
    object.id = (uint64_t)lab_ask_closed(lab, "SELECT max(id) - 1 FROM object");
    lab_store(&other);
    lab_put_object(&other,
                   "used again"); /* it has looked, and nothing was being collected */
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_begin(lab->store, &up_to, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_put_object(&other, "used again");
    lab_put_object(&other, "new");
    MUST(lab, store_last_object(lab->store, &last, &lab->error));
    ck_assert_uint_eq(last, up_to + 1);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_delete_object(lab->store, &object, &deleted, &lab->error));
    ck_assert(!deleted);
    object = (struct object_size){.id = up_to, .digest = garbage};
    MUST(lab, store_delete_object(lab->store, &object, &deleted, &lab->error));
    ck_assert(deleted);
    MUST(lab, store_commit(lab->store, &lab->error));
    ck_assert(lab_has_object(lab, &loose) && !lab_has_object(lab, &garbage));
    /* What was put back after it was deleted is new. */
    lab_put_object(&other, "never again");
    ck_assert(lab_has_object(lab, &garbage));
    /* A collection that was cut off costs nothing: the next one begins anew. */
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 3);
    lab_put_object(&other, "used again");
    cairn_store_close(other.store);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM spared"), 0);
    lab_close(lab);
}
END_TEST

/* The writer's own handle collects, too: what it remembers must not be stale. */
START_TEST(one_handle)
{
    struct lab *lab = lab_open(7);
    uint64_t up_to;
    lab_put_object(lab, "again");
    lab_put_object(lab, "again");
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_begin(lab->store, &up_to, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_put_object(lab, "again");
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM spared"), 1);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_end(lab->store, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_put_object(lab, "again");
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM spared"), 0);
    lab_close(lab);
}
END_TEST

START_TEST(one_collector_at_a_time)
{
    struct lab *lab = lab_open(8), other = *lab;
    lab_store(&other);
    MUST(lab, store_gc_lock(other.store, &lab->error));
    ck_assert_int_eq(checkpoint_gc(lab->store, &payload_kinds, NULL, NULL, &lab->error),
                     CAIRN_EBUSY);
    cairn_store_close(other.store);
    lab_collect(lab, 0);
    lab_close(lab);
}
END_TEST

/* A store that was migrated while an older cairn had it open. */
START_TEST(not_beside_an_older_cairn)
{
    struct lab *lab = lab_open(9), other = *lab;
    lab_put_object(lab, "loose");
    lab_ask_closed(lab, "DELETE FROM meta WHERE key = 'gc'");
    lab_store(&other);
    ck_assert_int_eq(checkpoint_gc(lab->store, &payload_kinds, NULL, NULL, &lab->error),
                     CAIRN_EBUSY);
    ck_assert_ptr_nonnull(strstr(lab->error.text, "older cairn"));
    cairn_store_close(other.store);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 1);
    lab_store(&other); /* it asks no more */
    lab_put_object(&other, "loose");
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 1);
    cairn_store_close(other.store);
    lab_close(lab);
}
END_TEST

/* A migration with nobody else about settles that once and for all. */
START_TEST(migrated_alone)
{
    for (int alone = 0; alone < 2; alone++) {
        struct lab *lab = lab_open(15);
        struct lock_file older;
        char lock[400];
        cairn_store_close(lab->store);
        snprintf(lab->path, sizeof lab->path, "%s/old", lab->dir);
        snprintf(lock, sizeof lock, "%s/lock", lab->path);
        put_old_store(lab->path);
        MUST(lab, lock_open(&older, lock, &lab->error));
        if (!alone)
            ck_assert_int_eq(lock_try(&older, LOCK_WRITERS, LOCK_SHARED, NULL), 1);
        lab_store(lab);
        ck_assert_int_eq(
            checkpoint_gc(lab->store, &payload_kinds, NULL, NULL, &lab->error),
            alone ? 0 : CAIRN_EBUSY);
        ck_assert_int_eq(lock_try(&older, LOCK_WRITERS, LOCK_SHARED, NULL), 1);
        ck_assert_int_eq(
            checkpoint_gc(lab->store, &payload_kinds, NULL, NULL, &lab->error),
            alone ? 0 : CAIRN_EBUSY);
        lock_close(&older);
        MUST(lab, checkpoint_gc(lab->store, &payload_kinds, NULL, NULL, &lab->error));
        lab_close(lab);
    }
}
END_TEST

START_TEST(in_doubt_nothing_goes)
{
    struct lab *lab = lab_open(10);
    uint64_t old = lab_ended_run(lab, "daily", "FDD", "old");
    struct digest loose = lab_put_object(lab, "loose");
    lab_ended_run(lab, "daily", "FDD", "new");
    char sql[200];
    snprintf(sql, sizeof sql,
             "UPDATE checkpoint SET record = zeroblob(200) WHERE stream = %llu AND "
             "kind = 2",
             (unsigned long long)old);
    lab_ask_closed(lab, sql);
    struct cairn_gc_options options = {.keep_runs = 1};
    struct cairn_gc_result result;
    for (int dry = 1; dry >= 0; dry--) {
        options.dry_run = dry;
        ck_assert_int_eq(
            checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error),
            CAIRN_EDAMAGED);
        ck_assert_uint_eq(result.runs + result.objects, 0);
        ck_assert_uint_eq(result.damaged_runs, 1);
    }
    ck_assert(lab_has_run(lab, old) && lab_has_object(lab, &loose));
    lab_ask_closed(lab, "UPDATE run SET file = 'x'");
    ck_assert_int_eq(
        checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(lab->error.text, "the row of run"));
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, only_what_nobody_refers_to);
    tcase_add_test(tests, results_in_full_records);
    tcase_add_test(tests, old_runs_go);
    tcase_add_test(tests, who_stays);
    tcase_add_test(tests, params_have_their_own_newest);
    tcase_add_test(tests, used_again_meanwhile);
    tcase_add_test(tests, one_handle);
    tcase_add_test(tests, one_collector_at_a_time);
    tcase_add_test(tests, not_beside_an_older_cairn);
    tcase_add_test(tests, migrated_alone);
    tcase_add_test(tests, in_doubt_nothing_goes);
}

int main(void)
{
    return lab_run_suite("gc", add);
}
