/* SPDX-License-Identifier: MIT */
/* Deleting single checkpoints: which may be deleted, and that the store still verifies.
 */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/verify.h"

static int delete_one(struct lab *lab, const char *id)
{
    return cairn_checkpoint_delete(lab->store, id, &lab->error);
}

START_TEST(delete_rules)
{
    struct lab *lab = lab_open(20);
    lab_put(lab, "FDDFDD");
    ck_assert_int_eq(delete_one(lab, "6"), CAIRN_EUSAGE); /* newest, unfinished */
    ck_assert(strstr(lab->error.text, "unfinished") != NULL);
    ck_assert_int_eq(delete_one(lab, "7"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(delete_one(lab, "3-000000000000"), CAIRN_ENOTFOUND);
    MUST(lab, delete_one(lab, "1")); /* full, with deltas */
    lab_expect_sound(lab);
    MUST(lab, lab_rebuild(lab, 2));
    MUST(lab, delete_one(lab, "2"));
    MUST(lab, lab_rebuild(lab, 2));
    MUST(lab, delete_one(lab, "3"));
    lab_expect_sound(lab);
    ck_assert_uint_eq(lab_found.result.pruned, 3);
    lab_finish(lab, 1);
    MUST(lab, delete_one(lab, "workflow:6"));
    lab_expect_sound(lab);
    ck_assert_int_eq(delete_one(lab, "6"), CAIRN_ENOTFOUND);
    MUST(lab, lab_rebuild(lab, 4));
    lab_put(lab, "D");
    ck_assert_uint_eq(lab->seqs[6], 7); /* a number is never used twice */
    lab_close(lab);
}
END_TEST

START_TEST(delete_fork_point)
{
    struct lab *lab = lab_open(21);
    lab_put(lab, "FDDFDD");
    lab_fork_at(lab, 2, &lab->stream);
    lab_expect_sound(lab);
    ck_assert_int_eq(delete_one(lab, "3"), CAIRN_EUSAGE);
    ck_assert(strstr(lab->error.text, "run 2") != NULL);
    lab_damage(lab, 2);
    lab_expect_named(lab, 3, "a fork point");
    lab_close(lab);
}
END_TEST

START_TEST(delete_damaged)
{
    static const int order[] = {1, 3, 2}; /* delta, full, the one between */
    struct lab *lab = lab_open(22);
    lab_put(lab, "FDDFDD");
    for (size_t i = 0; i < 3; i++) {
        char id[CAIRN_ID_MAX];
        lab_damage(lab, order[i]);
        lab_expect_named(lab, lab->seqs[order[i]], "damaged");
        snprintf(id, sizeof id, "%s", lab_found.at[0].id);
        MUST(lab, delete_one(lab, id));
        lab_expect_sound(lab);
    }
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_ENOTFOUND);
    ck_assert(strstr(lab->error.text, "workflow:5 cannot be rebuilt: checkpoint "
                                      "workflow:4 before it was deleted"));
    lab_close(lab);
    /* Its digest column is what is damaged. */
    lab = lab_open(22);
    lab_put(lab, "FDD");
    ck_assert(lab_flip(lab, 2, "digest", 0, 1));
    MUST(lab, delete_one(lab, "2"));
    lab_expect_sound(lab);
    lab_close(lab);
}
END_TEST

/* Records after a deleted delta are not damaged, but cannot be rebuilt; resume still
 * applies them. */
START_TEST(stranded_by_deletion)
{
    struct cairn_checkpoint_info info = {0};
    struct lab *lab = lab_open(23);
    struct recovery r;
    uint32_t skipped = 0;
    lab_put(lab, "FDDDD");
    lab_damage(lab, 2);
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_EDAMAGED);
    ck_assert(strstr(lab->error.text, "workflow:3") != NULL);
    MUST(lab, delete_one(lab, "3"));
    lab_expect_sound(lab);
    for (int seq = 4; seq <= 5; seq++) {
        char id[24], text[100];
        snprintf(id, sizeof id, "%d", seq);
        snprintf(text, sizeof text,
                 "workflow:%d cannot be rebuilt: checkpoint workflow:3 before it was "
                 "deleted",
                 seq);
        ck_assert_int_eq(lab_verify(lab, id), CAIRN_ENOTFOUND);
        ck_assert_int_eq(lab_found.n, 0);
        ck_assert_msg(strstr(lab->error.text, text), "%s", lab->error.text);
        ck_assert_int_eq(cairn_checkpoint_get(lab->store, id, &info, &lab->error),
                         CAIRN_ENOTFOUND);
        ck_assert_msg(strstr(lab->error.text, text), "%s", lab->error.text);
    }
    MUST(lab, lab_rebuild(lab, 1));
    MUST(lab, cairn_checkpoint_newest(
                  lab->store, &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                  &info, &skipped, &lab->error));
    ck_assert_uint_eq(info.seq, 2);
    ck_assert_uint_eq(skipped, 2);
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
    ck_assert_uint_eq(r.newest.seq, 5);
    ck_assert_uint_eq(r.n_damaged, 0);
    recovery_release(&r);
    /* Real damage is still told as such. */
    lab_damage(lab, 3);
    ck_assert_int_eq(lab_verify(lab, "5"), CAIRN_EDAMAGED);
    ck_assert_uint_eq(lab_found.at[0].seq, 4);
    /* One that nobody deleted is missing. */
    MUST(lab, delete_one(lab, "4"));
    lab_sql(lab, "DELETE FROM tombstone WHERE %llu", 1);
    ck_assert_int_eq(lab_verify(lab, "5"), CAIRN_EDAMAGED);
    lab_close(lab);
    /* And so it is where another one was deleted. */
    lab = lab_open(25);
    lab_put(lab, "FDDDFDDD");
    lab_damage(lab, 2);
    MUST(lab, delete_one(lab, "3"));
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 6);
    ck_assert_int_eq(lab_verify(lab, "4"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(lab_verify(lab, "8"), CAIRN_EDAMAGED);
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 5);
    ck_assert_int_eq(lab_verify(lab, "8"), CAIRN_EDAMAGED);
    lab_close(lab);
    lab = lab_open(24);
    lab_put(lab, "FD");
    lab_damage(lab, 0);
    MUST(lab, delete_one(lab, "1"));
    ck_assert_int_eq(cairn_checkpoint_newest(
                         lab->store,
                         &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                         &info, NULL, &lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_msg(strstr(lab->error.text, "deleted"), "%s", lab->error.text);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, delete_rules);
    tcase_add_test(tests, delete_fork_point);
    tcase_add_test(tests, delete_damaged);
    tcase_add_test(tests, stranded_by_deletion);
}

int main(void)
{
    return lab_run_suite("delete", add);
}
