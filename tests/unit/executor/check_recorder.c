/* SPDX-License-Identifier: MIT */
/* make: tsan */
/* The recorder: checkpoints of work that the program carries out itself. */
#include "tests/support/engine.h"

static enum cairn_outcome complete(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

struct record_tally {
    int n;
    uint64_t seq[8];
    enum cairn_outcome outcome[4];
    uint32_t attempts[4];
};

static int note_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct record_tally *r = context;
    ck_assert_int_lt(r->n, 8);
    ck_assert(!info->damaged);
    r->seq[r->n++] = info->seq;
    return 0;
}

static int note_outcome(void *context, const char *task, enum cairn_outcome outcome,
                        uint32_t attempts)
{
    struct record_tally *r = context;
    int i = task[0] - 'a';
    ck_assert(i >= 0 && i < 3);
    r->n++;
    r->outcome[i] = outcome;
    r->attempts[i] = attempts;
    return 0;
}

static struct cairn_workflow *three_tasks(void)
{
    struct cairn_workflow *w = workflow_named("rec");
    add(w, (struct cairn_task){.id = "a", .call = complete});
    add(w, (struct cairn_task){.id = "b", .call = complete});
    add(w, (struct cairn_task){.id = "c", .call = complete});
    return w;
}

START_TEST(recorder_refusals)
{
    struct cairn_store *store = open_store(), *other = open_store();
    struct cairn_workflow *w = three_tasks(), *same = three_tasks();
    struct cairn_recorder *recorder = NULL, *second = NULL;
    struct cairn_change twice[] = {{1, CAIRN_COMPLETED, 1}, {1, CAIRN_FAILED, 2}};
    struct cairn_change bad = {.task = 3, .outcome = CAIRN_COMPLETED};
    good(cairn_recorder_open(&recorder, w, store, &error));
    ck_assert_int_eq(cairn_recorder_open(&second, same, store, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_recorder_open(&second, same, other, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_can_resume(other, 1, NULL), CAIRN_EOWNED);
    ck_assert_int_eq(cairn_recorder_save(recorder, NULL, 0, NULL, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_recorder_save(recorder, &bad, 1, NULL, NULL), CAIRN_EUSAGE);
    bad = (struct cairn_change){.task = 0, .outcome = CAIRN_LATER};
    ck_assert_int_eq(cairn_recorder_save(recorder, &bad, 1, NULL, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_recorder_save(recorder, twice, 2, NULL, NULL), CAIRN_EUSAGE);
    good(cairn_recorder_close(recorder, CAIRN_RUN_UNFINISHED, &error));
    good(cairn_recorder_close(NULL, CAIRN_RUN_UNFINISHED, &error));
    good(cairn_recorder_open(&second, same, other, &error));
    good(cairn_recorder_close(second, CAIRN_RUN_COMPLETED, &error));
    cairn_store_close(other);
    cairn_store_close(store);
    cairn_workflow_free(same);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(recorder_saves)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = three_tasks();
    struct cairn_recorder *recorder = NULL;
    struct cairn_change first = {.task = 1, .outcome = CAIRN_COMPLETED};
    struct cairn_change rest[] = {{2, CAIRN_FAILED, 3}, {0, CAIRN_COMPLETED, 2}};
    struct cairn_checkpoint_info info, latest;
    struct cairn_checkpoint_filter filter = {.workflow = "rec"};
    struct record_tally r = {0};
    char id[2][CAIRN_ID_MAX];
    uint64_t total = 0;
    uint32_t skipped = 9;
    good(cairn_recorder_open(&recorder, w, store, &error));
    good(cairn_recorder_save(recorder, &first, 1, id[0], &error));
    good(cairn_recorder_save(recorder, rest, 2, id[1], &error));
    good(cairn_checkpoint_newest(store,
                                 &(struct cairn_checkpoint_filter){.workflow = "rec"},
                                 &latest, &skipped, &error));
    ck_assert_str_eq(latest.id, id[1]);
    ck_assert_uint_eq(skipped, 0);
    good(cairn_checkpoint_list(store, &filter, note_checkpoint, &r, &total, &error));
    ck_assert_uint_eq(total, 3);
    ck_assert_int_eq(r.n, 3);
    ck_assert_uint_eq(r.seq[0], latest.seq);
    good(cairn_checkpoint_get(store, id[0], &info, &error));
    ck_assert(!info.head && !info.full);
    ck_assert_uint_eq(info.completed, 1);
    r = (struct record_tally){0};
    good(cairn_checkpoint_tasks(store, id[1], note_outcome, &r, &error));
    ck_assert_int_eq(r.n, 3);
    ck_assert_int_eq(r.outcome[0], CAIRN_COMPLETED);
    ck_assert_int_eq(r.outcome[2], CAIRN_FAILED);
    ck_assert_uint_eq(r.attempts[0], 2);
    ck_assert_uint_eq(r.attempts[1], 1);
    ck_assert_uint_eq(r.attempts[2], 3);
    good(cairn_recorder_close(recorder, CAIRN_RUN_FAILED, &error));
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_FAILED);
    good(cairn_can_resume(store, 1, &error));
    ck_assert_int_eq(cairn_can_resume(store, 5, NULL), CAIRN_ENOTFOUND);
    struct cairn_run_result result = run_with(
        w, store, (struct cairn_run_options){.start = CAIRN_START_RESUME}, NULL);
    ck_assert_uint_eq(result.attempts, 1);
    ck_assert_int_eq(result.state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorder");
    TCase *tests = tcase_create("recorder");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, recorder_refusals);
    tcase_add_test(tests, recorder_saves);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
