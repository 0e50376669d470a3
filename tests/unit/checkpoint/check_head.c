/* SPDX-License-Identifier: MIT */
/* Exported heads, through the library. (The command: t-checkpoint-head.sh.) */
#include "tests/support/checkpoint.h"

struct heads {
    struct cairn_head at[8];
    size_t n;
    struct cairn_head_store of;
};

static int note_head(void *context, const struct cairn_head *head)
{
    struct heads *heads = context;
    ck_assert_uint_lt(heads->n, 8);
    heads->at[heads->n++] = *head;
    return 0;
}

static struct heads export(struct lab *lab)
{
    struct heads heads = {.n = 0};
    MUST(lab, cairn_checkpoint_head(lab->store, 0, note_head, &heads, &heads.of,
                                    &lab->error));
    return heads;
}

static char told[600];

static int note_problem(void *context, const struct cairn_problem *problem)
{
    size_t n = strlen(told);
    (void)context;
    snprintf(told + n, sizeof told - n, "%s: %.200s|", problem->id, problem->text);
    return 0;
}

static int compare(struct lab *lab, const struct heads *heads)
{
    told[0] = 0;
    return cairn_checkpoint_compare(lab->store, &heads->of, heads->at, heads->n,
                                    note_problem, NULL, &lab->error);
}

static void expect(struct lab *lab, const struct heads *heads, const char *text)
{
    ck_assert_int_eq(compare(lab, heads), CAIRN_EDAMAGED);
    ck_assert_msg(strstr(told, text) != NULL, "%s: %s", text, told);
}

START_TEST(newest_of_each)
{
    struct lab *lab = lab_open(1);
    struct digest graph;
    lab_put(lab, "FDD");
    uint64_t run = lab_run(lab, "other", 0, 0, &graph); /* without a record */
    struct heads heads = export(lab);
    ck_assert_uint_eq(heads.n, 1);
    ck_assert_uint_eq(heads.at[0].seq, lab->seqs[2]);
    ck_assert_uint_eq(heads.at[0].position, 3);
    ck_assert_uint_eq(heads.at[0].records, 3);
    ck_assert_uint_eq(heads.of.next_seq, lab->seqs[2] + 1);
    ck_assert_uint_eq(strlen(heads.of.store), 32);
    heads.n = 0;
    MUST(lab, cairn_checkpoint_head(lab->store, run, note_head, &heads, &heads.of,
                                    &lab->error));
    ck_assert_uint_eq(heads.n, 0);
    ck_assert_int_eq(cairn_checkpoint_head(lab->store, 99, note_head, &heads, &heads.of,
                                           &lab->error),
                     CAIRN_ENOTFOUND);
    lab_damage(lab, 2);
    ck_assert_int_eq(
        cairn_checkpoint_head(lab->store, 0, note_head, &heads, &heads.of, &lab->error),
        CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

START_TEST(what_is_told)
{
    struct lab *lab = lab_open(2);
    struct cairn_prune_options options = {.keep = 1};
    struct cairn_prune_result pruned;
    lab_put(lab, "FDDFDD");
    struct heads heads = export(lab), other = heads;
    MUST(lab, compare(lab, &heads));
    lab_put(lab, "F"); /* went on */
    MUST(lab, compare(lab, &heads));
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
    ck_assert_uint_eq(pruned.deleted, 6);
    MUST(lab, compare(lab, &heads)); /* deleted on purpose */
    other.at[0].digest[3] ^= 1;
    expect(lab, &other, "deleted, but another one");
    other = heads;
    other.of.store[0] ^= 1;
    expect(lab, &other, "another store");
    lab_put(lab, "DD");
    heads = export(lab);
    other = heads;
    other.at[0].digest[3] ^= 1;
    expect(lab, &other, "was replaced");
    other = heads;
    other.at[0].run = 2;
    expect(lab, &other, "was replaced");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", lab->seqs[8]);
    expect(lab, &heads, "is older than");
    expect(lab, &heads, "run 1 now ends with checkpoint 8");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq > 0 AND %llu", 1);
    expect(lab, &heads, "nothing is left of its run");
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, newest_of_each);
    tcase_add_test(tests, what_is_told);
}

int main(void)
{
    return lab_run_suite("head", add);
}
