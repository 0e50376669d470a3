/* SPDX-License-Identifier: MIT */
/* Pruning: exactly the newest stay, and the store still verifies. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/verify.h"

static int delete_one(struct lab *lab, const char *id)
{
    return cairn_checkpoint_delete(lab->store, id, &lab->error);
}

/* Damaged records are deleted like others. */
START_TEST(pruning_damaged_ones)
{
    for (int bad = 1; bad <= 3; bad++) {
        struct lab *lab = lab_open(10);
        struct recovery r;
        lab_put(lab, "FDDFDDDD");
        for (int i = 0; i < bad; i++)
            lab_damage(lab, 7 - i);
        MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
        lab->stream = r.head;
        recovery_release(&r);
        lab_put(lab, "FDDFD");
        struct cairn_prune_options options = {.keep = 4};
        struct cairn_prune_result pruned;
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        ck_assert_uint_eq(pruned.deleted, 9);
        lab_expect_sound(lab);
        ck_assert_uint_eq(lab_found.result.pruned, 9);
        options.keep = 1;
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        lab_expect_sound(lab);
        ck_assert_uint_eq(lab_found.result.pruned, 12);
        lab_close(lab);
    }
}
END_TEST

static struct cairn_prune_result prune(struct lab *lab, uint32_t keep, bool dry_run)
{
    struct cairn_prune_options options = {.keep = keep, .dry_run = dry_run};
    struct cairn_prune_result result;
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &result, &lab->error));
    ck_assert_uint_eq(result.total, result.kept + result.deleted);
    ck_assert((result.deleted == 0) == (result.freed_bytes == 0));
    return result;
}

static int exists(void *context, const struct checkpoint_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

static bool has(struct lab *lab, int i)
{
    return store_get_checkpoint(lab->store, lab->seqs[i], exists, NULL, NULL) == 0;
}

START_TEST(prune_random_streams)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct lab *lab = lab_open(100 + seed);
        lab_full(lab);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 20; i++)
                lab_put(lab, lab_below(lab, 5) ? lab_below(lab, 5) ? "D" : "G" : "F");
            uint32_t keep = 1 + lab_below(lab, 15);
            struct cairn_prune_result dry = prune(lab, keep, true);
            struct cairn_prune_result real = prune(lab, keep, false);
            ck_assert_int_eq(memcmp(&dry, &real, sizeof dry), 0);
            ck_assert_uint_eq(real.kept, keep < dry.total ? keep : dry.total);
            ck_assert_uint_eq(prune(lab, keep, false).deleted, 0);
            uint64_t left = 0;
            for (int i = 0; i < lab->n; i++) {
                bool there = has(lab, i);
                if (i >= lab->n - (int)keep)
                    ck_assert(there == (i >= lab->n - (int)real.kept));
                left += there;
                if (there)
                    MUST(lab, lab_rebuild(lab, i));
            }
            ck_assert_uint_eq(left, real.kept);
            lab_expect_sound(lab);
            ck_assert_uint_eq(lab_found.result.pruned, (uint64_t)lab->n - left);
        }
        lab_close(lab);
    }
}
END_TEST

static int count_one(void *context, const struct tombstone_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

static int tombstones_in(struct lab *lab)
{
    int n = 0;
    MUST(lab, store_each_tombstone(lab->store, NAMESPACE_WORKFLOW, 0, count_one, &n,
                                   &lab->error));
    return n;
}

START_TEST(prune_merges_tombstones)
{
    struct lab *lab = lab_open(40);
    lab_put(lab, "FDDFDDFDDFDD");
    prune(lab, 9, false);
    ck_assert_int_eq(tombstones_in(lab), 1);
    prune(lab, 6, false);
    ck_assert_int_eq(tombstones_in(lab), 1);
    MUST(lab, delete_one(lab, "9"));
    lab_expect_sound(lab);
    ck_assert_int_eq(tombstones_in(lab), 2);
    prune(lab, 3, false);
    ck_assert_int_eq(tombstones_in(lab), 1);
    lab_expect_sound(lab);
    ck_assert_uint_eq(lab_found.result.pruned, 9);
    /* The boundary is checked. */
    lab_sql(lab,
            "UPDATE tombstone SET after = zeroblob(32), sum = NULL WHERE %llu;"
            "DELETE FROM meta WHERE key = 'sums'",
            1);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_found.n, 1);
    ck_assert_uint_eq(lab_found.at[0].seq, 10);
    lab_sql(lab, "DELETE FROM tombstone WHERE %llu", 1);
    lab_expect_named(lab, 9, "no tombstone");
    lab_close(lab);
}
END_TEST

START_TEST(prune_keeps_fork_points)
{
    struct lab *lab = lab_open(41);
    lab_put(lab, "FDDFDDFDDFDD");
    struct run_stream branch =
        lab_fork_at(lab, 4, &lab->stream); /* in the second segment */
    struct cairn_prune_result result = prune(lab, 1, false);
    ck_assert_uint_eq(result.total, 13);
    ck_assert_uint_eq(result.deleted, 10);
    ck_assert_uint_eq(result.surplus, 1);
    for (int i = 0; i < lab->n; i++)
        ck_assert(has(lab, i) == (i == 4 || i == 11));
    MUST(lab, lab_rebuild(lab, 4));
    MUST(lab, lab_rebuild(lab, 11));
    lab_expect_sound(lab);
    ck_assert_int_eq(tombstones_in(lab), 2);
    ck_assert_uint_eq(prune(lab, 1, false).deleted, 0);
    /* The fork's own first record goes; its link to the other run is kept in mind. */
    struct states states;
    MUST(lab, states_init(&states, LAB_TASKS, &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&branch, &states, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    states_release(&states);
    ck_assert_uint_eq(prune(lab, 1, false).deleted, 1);
    lab_expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(prune_with_damage)
{
    struct lab *lab = lab_open(42);
    lab_put(lab, "FDDFDDFDDFDD");
    lab_damage(lab, 6); /* full: those behind it cannot be rebuilt */
    ck_assert_uint_eq(prune(lab, 6, true).deleted, 6);
    prune(lab, 6, false);
    lab_expect_named(lab, 7, "kept");
    prune(lab, 5, false);
    lab_expect_sound(lab);
    ck_assert_int_eq(lab_rebuild(lab, 7), CAIRN_ENOTFOUND);
    MUST(lab, lab_rebuild(lab, 9));
    prune(lab, 1, false);
    lab_expect_sound(lab);
    ck_assert_uint_eq(lab_found.result.pruned, 11);
    MUST(lab, lab_rebuild(lab, 11));
    lab_close(lab);
}
END_TEST

START_TEST(prune_arguments)
{
    struct lab *lab = lab_open(43);
    struct cairn_prune_options options = {.keep = 0};
    struct cairn_prune_result result;
    lab_put(lab, "FDD");
    ck_assert_int_eq(cairn_checkpoint_prune(lab->store, &options, &result, &lab->error),
                     CAIRN_EUSAGE);
    options = (struct cairn_prune_options){.keep = 1, .run = 77};
    ck_assert_int_eq(cairn_checkpoint_prune(lab->store, &options, &result, &lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_uint_eq(prune(lab, UINT32_MAX, false).deleted, 0);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, pruning_damaged_ones);
    tcase_add_test(tests, prune_random_streams);
    tcase_add_test(tests, prune_merges_tombstones);
    tcase_add_test(tests, prune_keeps_fork_points);
    tcase_add_test(tests, prune_with_damage);
    tcase_add_test(tests, prune_arguments);
}

int main(void)
{
    return lab_run_suite("prune", add);
}
