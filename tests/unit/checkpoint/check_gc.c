/* SPDX-License-Identifier: MIT */
/* cairn_gc: which runs go, what stays, and that the store is whole at every step. */
#include "base/lock.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "cairn/workflow.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_gc.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/checkpoint.h"
#include "tests/support/old_store.h"

#include <pthread.h>
#include <sched.h>

static struct digest put(struct lab *lab, const char *text)
{
    struct digest digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, str_of(text), &digest, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return digest;
}

static bool there(struct lab *lab, const struct digest *digest)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(lab->store, digest, &content, &lab->error);
    buf_release(&content);
    ck_assert_msg(rc == 0 || rc == CAIRN_ENOTFOUND, "%s", lab->error.text);
    return rc == 0;
}

static struct cairn_gc_result collect(struct lab *lab, uint32_t keep_runs)
{
    struct cairn_gc_options options = {.keep_runs = keep_runs};
    struct cairn_gc_result result;
    MUST(lab, cairn_gc(lab->store, &options, &result, &lab->error));
    return result;
}

static int say(void *context, const struct cairn_problem *problem)
{
    (void)context;
    printf("%s %s\n", problem->id, problem->text);
    return 0;
}

static void verify(struct lab *lab)
{
    MUST(lab, cairn_checkpoint_verify(lab->store, NULL, say, NULL, NULL, &lab->error));
}

struct ending {
    struct lab *lab;
    int64_t ended_ns;
    uint8_t state;
};

static int end_row(void *context, const struct run_row *row)
{
    const struct ending *ending = context;
    struct run_row changed = *row;
    changed.state = ending->state;
    changed.ended_ns = ending->ended_ns;
    return store_set_run(ending->lab->store, &changed, &ending->lab->error);
}

static void end_run(struct lab *lab, uint64_t run, uint8_t state, int64_t ended_ns)
{
    struct ending ending = {lab, ended_ns, state};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_get_run(lab->store, run, end_row, &ending, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

/* A run that has ended, with some records and one attempt that wrote something. */
static uint64_t add_run(struct lab *lab, const char *workflow, const char *kinds,
                        const char *output)
{
    struct digest graph, out = put(lab, output);
    uint64_t run = lab_run(lab, workflow, 0, 0, &graph);
    struct attempt_row attempt = {.run = run,
                                  .gen = 1,
                                  .number = 1,
                                  .intent_ns = 5,
                                  .ended_ns = 6,
                                  .outcome = CAIRN_COMPLETED,
                                  .exit_code = 0,
                                  .out = {(const char *)out.bytes, DIGEST_SIZE}};
    struct event_row event = {.run = run, .turn = 1, .time_ns = 5, .task = UINT32_MAX};
    event.kind = EVENT_BEGUN;
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
    MUST(lab, store_put_event(lab->store, &event, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_put(lab, kinds);
    end_run(lab, run, CAIRN_RUN_COMPLETED, clock_utc_ns());
    return run;
}

static int no_row(void *context, const struct run_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

static bool has_run(struct lab *lab, uint64_t run)
{
    int rc = store_get_run(lab->store, run, no_row, NULL, &lab->error);
    ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
    return rc == 0;
}

static int64_t ask(struct lab *lab, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char file[400];
    snprintf(file, sizeof file, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    int64_t n =
        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return n;
}

/* With the store closed: nothing but SQLite may open its files beside it. */
static int64_t ask_closed(struct lab *lab, const char *sql)
{
    cairn_store_close(lab->store);
    int64_t n = ask(lab, sql);
    lab_store(lab);
    return n;
}

START_TEST(only_what_nobody_refers_to)
{
    struct lab *lab = lab_open(1);
    struct digest loose = put(lab, "nobody wants this"), result, graph2;
    struct change change = {.task = 3, .outcome = CAIRN_COMPLETED, .attempts = 1};
    struct digest out = put(lab, "output of one");
    uint64_t run = add_run(lab, "other", "FDD", "output of one");
    result = put(lab, "a result that only a delta names");
    change.outputs = result;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, &change, 1, 7, NULL, &lab->error));
    graph2 = lab->stream.graph;
    MUST(lab, store_put_object(lab->store, STR("generation 2"), &graph2, &lab->error));
    MUST(lab, store_put_run_graph(lab->store, run, 2, &graph2, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));

    struct cairn_gc_options dry = {.dry_run = true};
    struct cairn_gc_result would;
    MUST(lab, cairn_gc(lab->store, &dry, &would, &lab->error));
    ck_assert(there(lab, &loose));
    struct cairn_gc_result did = collect(lab, 0);
    ck_assert_uint_eq(did.objects, 1);
    ck_assert_uint_eq(would.objects, 1);
    ck_assert_uint_eq(would.freed_bytes, did.freed_bytes);
    ck_assert_uint_eq(would.kept_objects, did.kept_objects);
    ck_assert_uint_eq(did.runs, 0);
    ck_assert_uint_eq(did.kept_runs, 2);
    ck_assert(!there(lab, &loose));
    ck_assert(there(lab, &result) && there(lab, &graph2) && there(lab, &out));
    verify(lab);
    ck_assert_uint_eq(collect(lab, 0).objects, 0);
    lab_close(lab);
}
END_TEST

START_TEST(results_in_full_records)
{
    struct lab *lab = lab_open(2);
    struct digest result = put(lab, "a result that only a full record names");
    struct change change = {.task = 3, .outcome = CAIRN_COMPLETED, .outputs = result};
    MUST(lab, states_apply(&lab->now, &change, &lab->error));
    lab->stream.graph = put(lab, "a graph that only it names");
    lab_put(lab, "F");
    ck_assert_uint_eq(collect(lab, 0).objects, 0);
    ck_assert(there(lab, &result) && there(lab, &lab->stream.graph));
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
        runs[i] = add_run(lab, i % 2 ? "odd" : "even", "FDDFDD", text);
    }
    struct digest first = put(lab, "output of 0"), last = put(lab, "output of 5");
    struct cairn_gc_options dry = {.keep_runs = 2, .dry_run = true};
    struct cairn_gc_result would;
    int64_t next = ask_closed(lab, "SELECT max(seq) FROM checkpoint");
    MUST(lab, cairn_gc(lab->store, &dry, &would, &lab->error));
    struct cairn_gc_result did = collect(lab, 2);
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
    ck_assert(!has_run(lab, runs[0]) && !has_run(lab, runs[1]));
    ck_assert(has_run(lab, 1) && has_run(lab, runs[2]) && has_run(lab, runs[5]));
    ck_assert(!there(lab, &first) && there(lab, &last));
    verify(lab);
    ck_assert_int_eq(
        ask_closed(lab, "SELECT count(*) FROM attempt WHERE run IN (2, 3)"), 0);
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM event WHERE run IN (2, 3)"),
                     0);
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM tombstone"), 2);
    ck_assert_int_eq(ask_closed(lab, "SELECT max(seq) FROM checkpoint"), next);
    /* The newest of all is never removed, so no number is used again. */
    collect(lab, 1);
    uint64_t again = add_run(lab, "even", "F", "x");
    ck_assert_uint_eq(again, runs[5] + 1);
    verify(lab);
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
    uint64_t parent = add_run(lab, "forks", "FDD", "a");
    uint64_t from = lab->seqs[lab->n - 1];
    struct run_stream at = lab->stream;
    uint64_t branch = lab_run(lab, "forks", parent, from, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, branch, &at.graph);
    lab->stream.chain.parent = at.chain.parent;
    lab->stream.chain.parent_digest = at.chain.parent_digest;
    lab_put(lab, "FD");
    end_run(lab, branch, CAIRN_RUN_FAILED, clock_utc_ns());
    uint64_t hour = add_run(lab, "ages", "F", "b"),
             day = add_run(lab, "ages", "F", "c");
    uint64_t now = add_run(lab, "ages", "F", "d");
    int64_t hour_ns = 3600000000000;
    end_run(lab, day, CAIRN_RUN_CANCELLED, clock_utc_ns() - 24 * hour_ns);
    end_run(lab, hour, CAIRN_RUN_UNDONE, clock_utc_ns() - hour_ns);
    (void)now;

    /* The parent is beyond the newest one, but the branch stays. */
    struct cairn_gc_options options = {.keep_runs = 1, .older_than_ms = 7200000};
    struct cairn_gc_result result;
    MUST(lab, cairn_gc(lab->store, &options, &result, &lab->error));
    ck_assert(has_run(lab, parent) && has_run(lab, branch) && has_run(lab, hour));
    ck_assert(!has_run(lab, day));
    options = (struct cairn_gc_options){.older_than_ms = 1};
    MUST(lab, cairn_gc(lab->store, &options, &result, &lab->error));
    ck_assert(has_run(lab, parent) && has_run(lab, branch) && has_run(lab, now));
    ck_assert(!has_run(lab, hour));
    ck_assert(has_run(lab, 1) && has_run(lab, unfinished));
    /* With the next run the branch goes, and then what it forked from. */
    add_run(lab, "forks", "F", "e");
    ck_assert_uint_eq(collect(lab, 1).runs, 2);
    ck_assert(!has_run(lab, parent) && !has_run(lab, branch));
    verify(lab);
    lab_close(lab);
}
END_TEST

START_TEST(params_have_their_own_newest)
{
    struct lab *lab = lab_open(5);
    lab_put(lab, "F");
    end_run(lab, 1, CAIRN_RUN_COMPLETED, 5);
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
    ck_assert_uint_eq(collect(lab, 1).runs, 2);
    ck_assert(has_run(lab, 3) && has_run(lab, 4));
    ck_assert(!has_run(lab, 1) && !has_run(lab, 2));
    verify(lab);
    lab_close(lab);
}
END_TEST

/* Between two transactions of a collection, as somebody else sees it. */
START_TEST(used_again_meanwhile)
{
    struct lab *lab = lab_open(6), other = *lab;
    struct digest loose = put(lab, "used again"), garbage = put(lab, "never again");
    uint64_t up_to, last;
    bool deleted;
    struct object_size object = {.digest = loose};
    object.id = (uint64_t)ask_closed(lab, "SELECT max(id) - 1 FROM object");
    lab_store(&other);
    put(&other, "used again"); /* it has looked, and nothing was being collected */
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_begin(lab->store, &up_to, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    put(&other, "used again");
    put(&other, "new");
    MUST(lab, store_last_object(lab->store, &last, &lab->error));
    ck_assert_uint_eq(last, up_to + 1);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_delete_object(lab->store, &object, &deleted, &lab->error));
    ck_assert(!deleted);
    object = (struct object_size){.id = up_to, .digest = garbage};
    MUST(lab, store_delete_object(lab->store, &object, &deleted, &lab->error));
    ck_assert(deleted);
    MUST(lab, store_commit(lab->store, &lab->error));
    ck_assert(there(lab, &loose) && !there(lab, &garbage));
    /* What was put back after it was deleted is new. */
    put(&other, "never again");
    ck_assert(there(lab, &garbage));
    /* A collection that was cut off costs nothing: the next one begins anew. */
    ck_assert_uint_eq(collect(lab, 0).objects, 3);
    put(&other, "used again");
    cairn_store_close(other.store);
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM spared"), 0);
    lab_close(lab);
}
END_TEST

/* The writer's own handle collects, too: what it remembers must not be stale. */
START_TEST(one_handle)
{
    struct lab *lab = lab_open(7);
    uint64_t up_to;
    put(lab, "again");
    put(lab, "again");
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_begin(lab->store, &up_to, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    put(lab, "again");
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM spared"), 1);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_end(lab->store, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    put(lab, "again");
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM spared"), 0);
    lab_close(lab);
}
END_TEST

START_TEST(one_collector_at_a_time)
{
    struct lab *lab = lab_open(8), other = *lab;
    lab_store(&other);
    MUST(lab, store_gc_lock(other.store, &lab->error));
    ck_assert_int_eq(cairn_gc(lab->store, NULL, NULL, &lab->error), CAIRN_EBUSY);
    cairn_store_close(other.store);
    collect(lab, 0);
    lab_close(lab);
}
END_TEST

/* A store that was migrated while an older cairn had it open. */
START_TEST(not_beside_an_older_cairn)
{
    struct lab *lab = lab_open(9), other = *lab;
    put(lab, "loose");
    ask_closed(lab, "DELETE FROM meta WHERE key = 'gc'");
    lab_store(&other);
    ck_assert_int_eq(cairn_gc(lab->store, NULL, NULL, &lab->error), CAIRN_EBUSY);
    ck_assert_ptr_nonnull(strstr(lab->error.text, "older cairn"));
    cairn_store_close(other.store);
    ck_assert_uint_eq(collect(lab, 0).objects, 1);
    lab_store(&other); /* it asks no more */
    put(&other, "loose");
    ck_assert_uint_eq(collect(lab, 0).objects, 1);
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
        ck_assert_int_eq(cairn_gc(lab->store, NULL, NULL, &lab->error),
                         alone ? 0 : CAIRN_EBUSY);
        ck_assert_int_eq(lock_try(&older, LOCK_WRITERS, LOCK_SHARED, NULL), 1);
        ck_assert_int_eq(cairn_gc(lab->store, NULL, NULL, &lab->error),
                         alone ? 0 : CAIRN_EBUSY);
        lock_close(&older);
        MUST(lab, cairn_gc(lab->store, NULL, NULL, &lab->error));
        lab_close(lab);
    }
}
END_TEST

START_TEST(in_doubt_nothing_goes)
{
    struct lab *lab = lab_open(10);
    uint64_t old = add_run(lab, "daily", "FDD", "old");
    struct digest loose = put(lab, "loose");
    add_run(lab, "daily", "FDD", "new");
    char sql[200];
    snprintf(sql, sizeof sql,
             "UPDATE checkpoint SET record = zeroblob(200) WHERE stream = %llu AND "
             "kind = 2",
             (unsigned long long)old);
    ask_closed(lab, sql);
    struct cairn_gc_options options = {.keep_runs = 1};
    struct cairn_gc_result result;
    for (int dry = 1; dry >= 0; dry--) {
        options.dry_run = dry;
        ck_assert_int_eq(cairn_gc(lab->store, &options, &result, &lab->error),
                         CAIRN_EDAMAGED);
        ck_assert_uint_eq(result.runs + result.objects, 0);
        ck_assert_uint_eq(result.damaged_runs, 1);
    }
    ck_assert(has_run(lab, old) && there(lab, &loose));
    ask_closed(lab, "UPDATE run SET file = 'x'");
    ck_assert_int_eq(cairn_gc(lab->store, &options, &result, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(lab->error.text, "the row of run"));
    lab_close(lab);
}
END_TEST

/* Thousands of records go in parts; between two parts the store verifies. */
static void put_many(struct lab *lab, uint64_t run, const struct digest *graph, int n)
{
    struct change change = {.outcome = CAIRN_COMPLETED};
    lab->stream = run_stream_of(lab->store, lab->sha, run, graph);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (int i = 0; i < n; i++) {
        change.task = (uint32_t)i % LAB_TASKS;
        change.attempts = (uint32_t)i + 2;
        MUST(lab, states_apply(&lab->now, &change, &lab->error));
        if (i % 700 == 0)
            MUST(lab, run_stream_full(&lab->stream, &lab->now, 1, NULL, &lab->error));
        else
            MUST(lab, run_stream_delta(&lab->stream, &change, 1, 1, NULL, &lab->error));
    }
    MUST(lab, store_commit(lab->store, &lab->error));
}

static volatile bool over;
static volatile int verified;

/* A reader of its own, all the while. */
static void *keep_verifying(void *context)
{
    const struct lab *lab = context;
    struct cairn_store_options options = {.path = lab->path, .read_only = true};
    struct cairn_error error;
    while (!over) {
        struct cairn_store *store;
        if (cairn_store_open(&store, &options, &error) ||
            cairn_checkpoint_verify(store, NULL, say, NULL, NULL, &error)) {
            printf("%s\n", error.text);
            verified = -1000000;
        }
        cairn_store_close(store);
        verified++;
    }
    return NULL;
}

START_TEST(in_parts)
{
    struct lab *lab = lab_open(11);
    struct digest graph;
    pthread_t reader;
    for (int i = 0; i < 3; i++) {
        uint64_t run = lab_run(lab, "large", 0, 0, &graph);
        put_many(lab, run, &graph, 3100);
        end_run(lab, run, CAIRN_RUN_COMPLETED, 5);
    }
    verify(lab);
    over = false;
    verified = 0;
    ck_assert_int_eq(pthread_create(&reader, NULL, keep_verifying, lab), 0);
    while (verified == 0)
        sched_yield();
    struct cairn_gc_result did = collect(lab, 1);
    over = true;
    pthread_join(reader, NULL);
    ck_assert_int_gt(verified, 0);
    ck_assert_uint_eq(did.runs, 2);
    ck_assert_uint_eq(did.checkpoints, 6200);
    ck_assert_uint_ge(did.slices, 2 * 3);
    verify(lab);
    ck_assert_int_eq(ask_closed(lab, "SELECT count(*) FROM tombstone"), 2);
    ck_assert_int_eq(ask_closed(lab, "SELECT sum(count) FROM tombstone"), 6200);
    ck_assert_int_eq(ask_closed(lab, "SELECT min(first) FROM tombstone"), 1);
    lab_close(lab);
}
END_TEST

/* So many commits go well, all later ones are refused; below 0: none is. */
static int commits_left = -1;

int __real_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error)
{
    if (commits_left == 0) {
        store_abort(store);
        return error_set(error, CAIRN_EIO, "cut off");
    }
    commits_left -= commits_left > 0;
    return __real_store_commit(store, error);
}

/* A collection that ends after any of its transactions, as if it had been killed: the
 * store verifies, and the next one finishes. */
START_TEST(cut_off_after_each_transaction)
{
    for (int stop = 0;; stop++) {
        struct lab *lab = lab_open(12);
        struct digest graph;
        uint64_t old = lab_run(lab, "large", 0, 0, &graph);
        struct attempt_row attempt = {
            .run = old, .gen = 1, .number = 1, .intent_ns = 5};
        struct event_row event = {
            .run = old, .turn = 1, .time_ns = 5, .kind = EVENT_BEGUN};
        MUST(lab, store_begin(lab->store, -1, &lab->error));
        MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
        MUST(lab, store_put_event(lab->store, &event, &lab->error));
        MUST(lab, store_commit(lab->store, &lab->error));
        put_many(lab, old, &graph, 3100);
        end_run(lab, old, CAIRN_RUN_COMPLETED, 5);
        add_run(lab, "large", "FD", "out");
        put(lab, "loose");
        struct cairn_gc_options options = {.keep_runs = 1};
        struct cairn_gc_result result;
        commits_left = stop;
        int rc = cairn_gc(lab->store, &options, &result, &lab->error);
        commits_left = -1;
        ck_assert(rc == 0 || rc == CAIRN_EIO);
        verify(lab);
        if (has_run(lab, old)) {
            /* With fewer checkpoints, but it could still be gone on with. */
            struct recovery recovery;
            MUST(lab,
                 outcomes_recover(lab->store, lab->sha, old, &recovery, &lab->error));
            ck_assert(!recovery.gap && recovery.n_damaged == 0);
            ck_assert_uint_eq(recovery.states.attempts[19], 3100 - 1 + 2);
            recovery_release(&recovery);
        }
        cairn_store_close(lab->store);
        lab_store(lab);
        collect(lab, 1);
        verify(lab);
        ck_assert(!has_run(lab, old));
        static const char *const left[] = {"SELECT count(*) FROM attempt WHERE run = 2",
                                           "SELECT count(*) FROM event WHERE run = 2",
                                           "SELECT count(*) FROM spared"};
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(ask_closed(lab, left[i]), 0);
        lab_close(lab);
        if (rc == 0) {
            ck_assert_int_gt(stop, 6);
            break;
        }
    }
}
END_TEST

/* ---- Runs that begin while what they begin from is removed ---- */

/* Called at the next begin of a transaction, which is that of a run's first commit. */
static void (*meanwhile)(const char *path);
static int begins; /* that many go by before */

int __real_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *error);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *error);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *error)
{
    void (*now)(const char *) = begins == 0 ? meanwhile : NULL;
    begins -= begins > 0;
    if (now)
        meanwhile = NULL;
    if (now)
        now(cairn_store_path(store));
    return __real_store_begin(store, wait_ms, error);
}

static void collect_beside(const char *path)
{
    struct cairn_store_options options = {.path = path};
    struct cairn_gc_options one = {.keep_runs = 1};
    struct cairn_gc_result result;
    struct cairn_store *store;
    struct cairn_error error;
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), 0);
    ck_assert_msg(cairn_gc(store, &one, &result, &error) == 0, "%s", error.text);
    ck_assert_uint_eq(result.runs, 1);
    cairn_store_close(store);
}

static bool fails;

static enum cairn_outcome call(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    ++*(int *)context;
    return fails ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static struct cairn_workflow *small(int *calls)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    const struct cairn_task a = {.id = "a", .call = call, .context = calls};
    ck_assert_int_eq(cairn_workflow_new(&w, "small", &error), 0);
    ck_assert_int_eq(cairn_workflow_add(w, &a, &error), 0);
    return w;
}

START_TEST(what_a_run_begins_from_is_gone)
{
    for (int resume = 0; resume < 2; resume++) {
        struct lab *lab = lab_open(13);
        struct cairn_run_options options = {.start = CAIRN_START_FRESH};
        struct cairn_run_result result;
        struct cairn_run_info first;
        int calls = 0;
        struct cairn_workflow *w = small(&calls);
        fails = true; /* so that resuming it has something to do */
        MUST(lab, cairn_run(w, lab->store, &options, &result, &lab->error));
        MUST(lab, cairn_run_get(lab->store, 0, &first, &lab->error));
        MUST(lab, cairn_run(w, lab->store, &options, &result, &lab->error));
        char id[32];
        snprintf(id, sizeof id, "%llu", (unsigned long long)first.checkpoint - 1);
        options = (struct cairn_run_options){.start = CAIRN_START_FROM, .from = id};
        if (resume)
            options = (struct cairn_run_options){.start = CAIRN_START_RESUME,
                                                 .run = first.run};
        calls = 0;
        meanwhile = collect_beside;
        int rc = cairn_run(w, lab->store, &options, &result, &lab->error);
        ck_assert_ptr_null((void *)(uintptr_t)meanwhile);
        ck_assert_msg(rc == CAIRN_ENOTFOUND, "%d %s", rc, lab->error.text);
        ck_assert_int_eq(calls, 0);
        verify(lab);
        MUST(lab, cairn_run_get(lab->store, 0, &first, &lab->error));
        ck_assert_uint_eq(first.run, 3);
        cairn_workflow_free(w);
        lab_close(lab);
    }
}
END_TEST

/* Run 2 is resumed, and has ended again; or another one forks from it. */
static void go_on_beside(const char *path)
{
    struct lab other = {.sha = NULL};
    snprintf(other.path, sizeof other.path, "%s", path);
    lab_store(&other);
    end_run(&other, 2, CAIRN_RUN_COMPLETED, clock_utc_ns() + 1);
    cairn_store_close(other.store);
}

static void fork_beside(const char *path)
{
    struct lab other = {.sha = NULL};
    struct digest graph;
    snprintf(other.path, sizeof other.path, "%s", path);
    lab_store(&other);
    lab_run(&other, "daily", 2, 1, &graph);
    cairn_store_close(other.store);
}

START_TEST(a_run_changes_meanwhile)
{
    for (int forks = 0; forks < 2; forks++) {
        struct lab *lab = lab_open(14);
        uint64_t old = add_run(lab, "daily", "FD", "old");
        add_run(lab, "daily", "FD", "new");
        ck_assert_uint_eq(old, 2);
        meanwhile = forks ? fork_beside : go_on_beside;
        begins = 1; /* the collection's own beginning, then the removal */
        struct cairn_gc_result result = collect(lab, 1);
        ck_assert_uint_eq(result.runs, 0);
        ck_assert_uint_eq(result.checkpoints + result.attempts, 0);
        ck_assert(has_run(lab, old));
        lab_close(lab);
    }
}
END_TEST

static void add(TCase *tests)
{
    tcase_set_timeout(tests, 120);
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
    tcase_add_test(tests, in_parts);
    tcase_add_test(tests, cut_off_after_each_transaction);
    tcase_add_test(tests, what_a_run_begins_from_is_gone);
    tcase_add_test(tests, a_run_changes_meanwhile);
}

int main(void)
{
    return lab_run_suite("gc", add);
}
