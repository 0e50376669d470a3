/* SPDX-License-Identifier: MIT */
/* A run seen by somebody who does not own it: what it offers, the commands that wait
 * for its owner, and claims. */
#include "plan/run_view.h"

#include "base/clock.h"
#include "base/os.h"
#include "cairn/runs.h"
#include "runs/owner.h"
#include "runs/places.h"
#include "storage/rows_command.h"
#include "storage/store.h"
#include "tests/support/recorded_run.h"

static const char text[] = "name: flow\n"
                           "tasks:\n"
                           "  first: {run: 'true'}\n"
                           "  approve: {external: approve it, needs: [first]}\n"
                           "  later: {external: then this, needs: [approve]}\n"
                           "  mail: {run: 'true', once: true}\n";
/* The same external tasks with other numbers. */
static const char before[] = "name: flow\n"
                             "tasks:\n"
                             "  later: {external: then this}\n"
                             "  gone: {external: no more}\n"
                             "  approve: {external: approve it}\n";
static const uint8_t outcome[] = {CAIRN_COMPLETED, CAIRN_PENDING, CAIRN_PENDING,
                                  CAIRN_PENDING};

static struct cairn_workflow *generations[2];
static struct run_view view;
static uint64_t run;

static void setup_run(void)
{
    setup_store();
    generations[0] = workflow_of(before);
    generations[1] = workflow_of(text);
    run = record_run(generations, 2, outcome, CAIRN_RUN_UNFINISHED);
}

static void teardown_run(void)
{
    cairn_workflow_free(generations[0]);
    cairn_workflow_free(generations[1]);
    teardown_store();
}

static uint32_t find(const char *id)
{
    uint32_t task = NODE_NONE;
    must(run_view_find(&view, id, &task, &run_error));
    return task;
}

static bool offers(const char *id)
{
    bool offered = false;
    must(run_view_offers(&view, find(id), &offered, &run_error));
    return offered;
}

static bool has_command(const char *id, uint8_t verb)
{
    bool pending = false;
    must(run_view_has_command(&view, find(id), verb, &pending, &run_error));
    return pending;
}

START_TEST(test_offers)
{
    uint32_t task = NODE_NONE;
    put_attempt(&(struct attempt_row){
        .run = run, .gen = 2, .task = 3, .number = 2, .intent_ns = 1});
    must(store_begin_read(run_store, &run_error));
    must(run_view_open(&view, run_store, 0, &run_error));
    ck_assert_uint_eq(view.row.run, run);
    ck_assert(!view.live);
    ck_assert(offers("approve") && !offers("later") && !offers("first"));
    ck_assert_int_eq(view.states.outcome[find("mail")], CAIRN_UNKNOWN);
    ck_assert_uint_eq(situation_attempts(&view.situation, find("mail")), 2);
    ck_assert_uint_eq(situation_attempts(&view.situation, find("approve")), 0);
    ck_assert_int_eq(run_view_find(&view, "gone", &task, &run_error), CAIRN_ENOTFOUND);
    ck_assert_int_eq(run_view_find(&view, NULL, &task, &run_error), CAIRN_ENOTFOUND);
    ck_assert_uint_eq(task, NODE_NONE);
    run_view_release(&view);
    store_end_read(run_store);
    ck_assert_int_eq(run_view_open(&view, run_store, run + 1, &run_error),
                     CAIRN_ENOTFOUND);
}
END_TEST

/* One stored command counts for its task and its verb alone. */
START_TEST(test_commands)
{
    struct queued_command queued = {.task = "approve"};
    must(store_begin(run_store, -1, &run_error));
    must(run_view_open(&view, run_store, run, &run_error));
    ck_assert(!has_command("approve", 0));
    struct command_row row = {
        .task = find("approve"), .verb = COMMAND_COMPLETE, .time_ns = 1};
    must(run_view_put_command(&view, &row, &queued, &run_error));
    ck_assert_uint_eq(queued.run, run);
    ck_assert_uint_ne(queued.id, 0);
    ck_assert_int_eq(queued.verb, COMMAND_COMPLETE);
    ck_assert(has_command("approve", 0) && has_command("approve", COMMAND_COMPLETE));
    ck_assert(!has_command("approve", COMMAND_RESOLVE));
    ck_assert(!has_command("later", 0));
    run_view_release(&view);
    store_abort(run_store);
}
END_TEST

static void claim(uint32_t gen, const char *id, const char *holder, int64_t lease_ns,
                  const char *boot)
{
    struct claim_row row = {.run = run,
                            .gen = gen,
                            .task = task_of(generations[gen - 1], id),
                            .token = STR("token"),
                            .holder = str_of(holder),
                            .boot = str_of(boot),
                            .until_boot_ns = clock_boot_ns() + lease_ns,
                            .time_ns = 1};
    must(store_put_claim(run_store, &row, &run_error));
}

/* The newest claim of the task of the same id holds, whatever its number was. */
START_TEST(test_claims)
{
    enum { MINUTE_MS = 60000 };
    const int64_t minute_ns = (int64_t)MINUTE_MS * 1000000;
    struct claims claims;
    char boot[37];
    os_boot_id(boot);
    must(store_begin(run_store, -1, &run_error));
    claim(1, "approve", "ann", minute_ns, boot);
    claim(1, "later", "bob", minute_ns, boot);
    claim(1, "gone", "cid", minute_ns, boot);
    claim(2, "later", "dan", minute_ns, "another boot");
    must(run_view_open(&view, run_store, run, &run_error));
    must(claims_load(&claims, &view, &run_error));
    const struct claim *approve = &claims.at[find("approve")],
                       *later = &claims.at[find("later")];
    ck_assert(approve->exists && str_equal(approve->holder, STR("ann")));
    ck_assert_int_gt(approve->left_ms, MINUTE_MS / 2);
    ck_assert_int_le(approve->left_ms, MINUTE_MS);
    ck_assert(later->exists && str_equal(later->holder, STR("dan")));
    ck_assert_int_eq(later->left_ms, 0); /* a lease ends with its boot */
    ck_assert(!claims.at[find("first")].exists && !claims.at[find("mail")].exists);
    claims_release(&claims);
    run_view_release(&view);
    store_abort(run_store);
}
END_TEST

/* ---- Pools that runs share ---- */

static struct cairn_waiting_info waits[2]; /* of tasks a and b */
static char held_by[2][64];

static int note_waiting(void *context, const struct cairn_waiting_info *info)
{
    (void)context;
    uint32_t i = info->task[0] == 'b';
    ck_assert(str_equal(str_of(info->task), i ? STR("b") : STR("a")));
    waits[i] = *info;
    snprintf(held_by[i], sizeof held_by[i], "%s", info->held_by ? info->held_by : "");
    return 0;
}

/* Between the moment in which a task gets its places and that in which its start is
 * recorded, it is not among those that wait for them. */
START_TEST(test_places_of_its_own)
{
    static const uint8_t pending[] = {CAIRN_PENDING, CAIRN_PENDING};
    struct cairn_workflow *w = workflow_of("name: shares\n"
                                           "pools: {gpu: {slots: 1, scope: store}}\n"
                                           "tasks:\n"
                                           "  a: {run: 'true', pool: gpu}\n"
                                           "  b: {run: 'true', pool: gpu}\n");
    const struct places_wish wish = {STR("gpu"), 1, 1};
    struct places places = {0};
    struct places_entry other;
    struct lock_file held;
    uint64_t workflow = 0;
    int64_t lock = 0;
    char by[64];
    uint64_t shares = record_run(&w, 1, pending, CAIRN_RUN_UNFINISHED);
    must(owner_acquire(run_store, STR("shares"), &workflow, &lock, &run_error));
    must(places_open(&places, store_live_dir(run_store), shares, &run_error));
    ck_assert_int_eq(
        places_take(&places, &wish, 1, STR("a"), &held, &other, &run_error), 1);
    must(cairn_waiting(run_store, shares, note_waiting, NULL, &run_error));
    snprintf(by, sizeof by, "run %llu (a)", (unsigned long long)shares);
    ck_assert_int_eq(waits[0].waits_for, CAIRN_WAITS_SLOT);
    ck_assert_str_eq(held_by[0], "");
    ck_assert_int_eq(waits[1].waits_for, CAIRN_WAITS_POOL);
    ck_assert_str_eq(held_by[1], by);
    places_give_back(&places, &held);
    places_close(&places);
    owner_release(run_store, lock);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_view");
    TCase *c = tcase_create("run_view");
    tcase_add_checked_fixture(c, setup_run, teardown_run);
    tcase_add_test(c, test_offers);
    tcase_add_test(c, test_commands);
    tcase_add_test(c, test_claims);
    tcase_add_test(c, test_places_of_its_own);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
