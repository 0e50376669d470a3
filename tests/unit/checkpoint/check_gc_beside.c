/* SPDX-License-Identifier: MIT */
/* make: above wrap=store_commit,store_begin,store_slice_full,store_note_event */
/* Garbage collection and pruning beside others: the store is valid at every step, and runs begin, fork and
 * resume meanwhile. */
#include "base/lock.h"
#include "cairn/maintenance.h"
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

#include <pthread.h>
#include <sched.h>

/* Thousands of records are deleted in parts; between two parts the store verifies. */
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

/* 1: a slice is full every other time, 0: none ever is, -1: as the clock says. */
static int slices_full = -1;

bool __real_store_slice_full(const struct store_slice *slice);
bool __wrap_store_slice_full(const struct store_slice *slice);
bool __wrap_store_slice_full(const struct store_slice *slice)
{
    static unsigned asked;
    if (slices_full < 0)
        return __real_store_slice_full(slice);
    return slices_full && asked++ % 2;
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
            cairn_checkpoint_verify(store, NULL, lab_print_problem, NULL, NULL,
                                    &error)) {
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
        lab_end_run(lab, run, CAIRN_RUN_COMPLETED, 5);
    }
    lab_must_verify(lab);
    over = false;
    verified = 0;
    ck_assert_int_eq(pthread_create(&reader, NULL, keep_verifying, lab), 0);
    while (verified == 0)
        sched_yield();
    slices_full = 1;
    struct cairn_gc_result did = lab_collect(lab, 1);
    slices_full = -1;
    over = true;
    pthread_join(reader, NULL);
    ck_assert_int_gt(verified, 0);
    ck_assert_uint_eq(did.runs, 2);
    ck_assert_uint_eq(did.checkpoints, 6200);
    ck_assert_uint_ge(did.slices, 2 * 3);
    lab_must_verify(lab);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 2);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT sum(count) FROM tombstone"), 6200);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT min(first) FROM tombstone"), 1);
    lab_close(lab);
}
END_TEST

/* So many commits go well, all later ones are refused; below 0: none is. */
static int commits_left = -1;
static int commits;

int __real_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error)
{
    if (commits_left == 0) {
        store_abort(store);
        return error_set(error, CAIRN_EIO, "cut off");
    }
    commits_left -= commits_left > 0;
    commits++;
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
        lab_end_run(lab, old, CAIRN_RUN_COMPLETED, 5);
        lab_ended_run(lab, "large", "FD", "out");
        lab_put_object(lab, "loose");
        struct cairn_gc_options options = {.keep_runs = 1};
        struct cairn_gc_result result;
        commits_left = stop;
        slices_full = 1;
        int rc =
            checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error);
        commits_left = slices_full = -1;
        ck_assert(rc == 0 || rc == CAIRN_EIO);
        lab_must_verify(lab);
        if (lab_has_run(lab, old)) {
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
        lab_collect(lab, 1);
        lab_must_verify(lab);
        ck_assert(!lab_has_run(lab, old));
        static const char *const left[] = {"SELECT count(*) FROM attempt WHERE run = 2",
                                           "SELECT count(*) FROM event WHERE run = 2",
                                           "SELECT count(*) FROM spared"};
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(lab_ask_closed(lab, left[i]), 0);
        lab_close(lab);
        if (rc == 0) {
            ck_assert_int_gt(stop, 6);
            break;
        }
    }
}
END_TEST

/* ---- Pruning: runs share transactions ---- */

enum { RUNS = 5 };
static uint64_t fails_at; /* the run that cannot be pruned */

int __real_store_note_event(struct cairn_store *store, uint64_t run,
                            enum event_kind kind, struct str text,
                            struct cairn_error *error);
int __wrap_store_note_event(struct cairn_store *store, uint64_t run,
                            enum event_kind kind, struct str text,
                            struct cairn_error *error);
int __wrap_store_note_event(struct cairn_store *store, uint64_t run,
                            enum event_kind kind, struct str text,
                            struct cairn_error *error)
{
    if (fails_at && run == fails_at)
        return error_set(error, CAIRN_EDAMAGED, "cannot be pruned");
    return __real_store_note_event(store, run, kind, text, error);
}

static struct lab *lab_of_runs(uint64_t runs[RUNS])
{
    struct lab *lab = lab_open(15);
    for (int i = 0; i < RUNS; i++)
        runs[i] = lab_ended_run(lab, "daily", "FDDFDD", "out");
    commits = 0;
    return lab;
}

static int prune_all(struct lab *lab, struct cairn_prune_result *result)
{
    struct cairn_prune_options options = {.keep = 2};
    return cairn_checkpoint_prune(lab->store, &options, result, &lab->error);
}

static int64_t pruned_runs(struct lab *lab)
{
    return lab_ask_closed(lab, "SELECT count(DISTINCT stream) FROM tombstone");
}

START_TEST(pruned_runs_share_a_transaction)
{
    uint64_t runs[RUNS];
    for (slices_full = 0; slices_full < 2; slices_full++) {
        struct lab *lab = lab_of_runs(runs);
        struct cairn_prune_result result;
        MUST(lab, prune_all(lab, &result));
        ck_assert(slices_full ? commits > 1 && commits < RUNS : commits == 1);
        ck_assert_uint_eq(result.deleted, RUNS * 4);
        ck_assert_int_eq(pruned_runs(lab), RUNS);
        lab_must_verify(lab);
        lab_close(lab);
    }
    slices_full = -1;
}
END_TEST

/* Those before it do not lose by it. */
START_TEST(one_run_cannot_be_pruned)
{
    uint64_t runs[RUNS];
    struct lab *lab = lab_of_runs(runs);
    struct cairn_prune_result result;
    slices_full = 0;
    fails_at = runs[3];
    ck_assert_int_eq(prune_all(lab, &result), CAIRN_EDAMAGED);
    ck_assert_str_eq(lab->error.text, "cannot be pruned");
    ck_assert_int_eq(pruned_runs(lab), 3);
    lab_must_verify(lab);
    fails_at = 0;
    MUST(lab, prune_all(lab, &result));
    ck_assert_uint_eq(result.deleted, 2 * 4);
    ck_assert_int_eq(pruned_runs(lab), RUNS);
    lab_must_verify(lab);
    slices_full = -1;
    lab_close(lab);
}
END_TEST

START_TEST(pruning_cut_off_after_each_transaction)
{
    uint64_t runs[RUNS];
    int rc = CAIRN_EIO, stop = 0;
    slices_full = 1;
    for (int64_t pruned = 0; rc; stop++) {
        struct lab *lab = lab_of_runs(runs);
        struct cairn_prune_result result;
        commits_left = stop;
        rc = prune_all(lab, &result);
        commits_left = -1;
        ck_assert(rc == 0 || rc == CAIRN_EIO);
        lab_must_verify(lab);
        ck_assert_int_ge(pruned_runs(lab), pruned);
        pruned = pruned_runs(lab);
        ck_assert((rc == 0) == (pruned == RUNS));
        MUST(lab, prune_all(lab, &result));
        ck_assert_int_eq(pruned_runs(lab), RUNS);
        lab_must_verify(lab);
        lab_close(lab);
    }
    ck_assert_int_gt(stop, 2);
    slices_full = -1;
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
    ck_assert_msg(checkpoint_gc(store, &payload_kinds, &one, &result, &error) == 0,
                  "%s", error.text);
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
        lab_must_verify(lab);
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
    lab_end_run(&other, 2, CAIRN_RUN_COMPLETED, clock_utc_ns() + 1);
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
        uint64_t old = lab_ended_run(lab, "daily", "FD", "old");
        lab_ended_run(lab, "daily", "FD", "new");
        ck_assert_uint_eq(old, 2);
        meanwhile = forks ? fork_beside : go_on_beside;
        begins = 1; /* the collection's own beginning, then the removal */
        struct cairn_gc_result result = lab_collect(lab, 1);
        ck_assert_uint_eq(result.runs, 0);
        ck_assert_uint_eq(result.checkpoints + result.attempts, 0);
        ck_assert(lab_has_run(lab, old));
        lab_close(lab);
    }
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, in_parts);
    tcase_add_test(tests, cut_off_after_each_transaction);
    tcase_add_test(tests, pruned_runs_share_a_transaction);
    tcase_add_test(tests, one_run_cannot_be_pruned);
    tcase_add_test(tests, pruning_cut_off_after_each_transaction);
    tcase_add_test(tests, what_a_run_begins_from_is_gone);
    tcase_add_test(tests, a_run_changes_meanwhile);
}

int main(void)
{
    return lab_run_suite("gc_beside", add);
}
