/* SPDX-License-Identifier: MIT */
/* Verifying everything that is stored, and one checkpoint. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/random.h"
#include "tests/support/verify.h"

START_TEST(verify_undamaged)
{
    struct lab *lab = lab_open(1);
    lab_put(lab, "FDDDFDDF");
    lab_expect_sound(lab);
    ck_assert_uint_eq(lab_found.result.checked, 8);
    ck_assert_uint_ge(lab_found.result.objects, 1);
    MUST(lab, lab_verify(lab, "3"));
    ck_assert_uint_eq(lab_found.result.checked, 1);
    ck_assert_int_eq(lab_verify(lab, "30"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(lab_verify(lab, "?"), CAIRN_EUSAGE);
    lab_close(lab);
}
END_TEST

/* Every byte of record and digest of a full, a delta and the last checkpoint. */
START_TEST(verify_names_every_flip)
{
    static const char *const columns[] = {"record", "digest"};
    struct lab *lab = lab_open(2);
    lab_put(lab, "FDDFD");
    for (int c = 0; c < 2; c++)
        for (uint64_t seq = 2; seq <= 5; seq += seq == 2 ? 2 : 1)
            for (int at = 0;; at += help_stride()) {
                char what[80], id[24];
                int bit = (int)lab_below(lab, 8);
                if (!lab_flip(lab, seq, columns[c], at, bit))
                    break;
                snprintf(what, sizeof what, "%s of %d, byte %d", columns[c], (int)seq,
                         at);
                lab_expect_named(lab, seq, what);
                snprintf(id, sizeof id, "%d", (int)seq);
                ck_assert_int_eq(lab_verify(lab, id), CAIRN_EDAMAGED);
                ck_assert_int_eq(lab_found.n, 1);
                ck_assert(lab_flip(lab, seq, columns[c], at, bit));
            }
    lab_expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(verify_names_every_column)
{
    static const char *const columns[] = {"namespace", "stream", "kind", "time_ns",
                                          "parent"};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        struct lab *lab = lab_open(3);
        lab_put(lab, "FDDFD");
        for (uint64_t seq = 1; seq <= 5; seq++)
            for (int bit = 0; bit < (c == 0 || c == 2 ? 8 : 62);
                 bit += bit < 4 ? 1 : 13) {
                char sql[200], back[200];
                snprintf(back, sizeof back,
                         "UPDATE checkpoint SET %s = old FROM"
                         " (SELECT old FROM side.before) WHERE seq = "
                         "%%llu; DROP TABLE side.before",
                         columns[c]);
                snprintf(sql, sizeof sql,
                         "CREATE TABLE side.before AS SELECT %s AS old FROM checkpoint"
                         " WHERE seq = %%llu",
                         columns[c]);
                lab_sql(lab, sql, seq);
                long long mask = 1LL << bit;
                snprintf(sql, sizeof sql,
                         "UPDATE checkpoint SET %s = (ifnull(%s, 0) | %lld) -"
                         " (ifnull(%s, 0) & %lld) WHERE seq = %%llu",
                         columns[c], columns[c], mask, columns[c], mask);
                lab_sql(lab, sql, seq);
                lab_expect_named(lab, seq, sql);
                lab_sql(lab, back, seq);
            }
        lab_expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(verify_names_wrong_seq)
{
    struct lab *lab = lab_open(4);
    lab_put(lab, "FDDFD");
    lab_sql(lab, "UPDATE checkpoint SET seq = 100 WHERE seq = %llu", 3);
    lab_expect_named(lab, 100, "seq 3 to 100");
    lab_sql(lab, "UPDATE checkpoint SET seq = 3 WHERE seq = %llu", 100);
    lab_sql(lab, "UPDATE checkpoint SET seq = 100 WHERE seq = %llu", 4);
    lab_expect_named(lab, 100, "seq 4 to 100");
    lab_close(lab);
}
END_TEST

START_TEST(verify_names_missing)
{
    struct lab *lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 2);
    lab_expect_named(lab, 2, "a delta");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 4);
    lab_expect_named(lab, 4, "a full one");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq IN (2, 3) AND %llu", 1);
    lab_expect_named(lab, 3, "two");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 1);
    lab_expect_named(lab, 1, "the first");
    lab_close(lab);
}
END_TEST

/* A record that was replaced by an older, sound one with all columns to match. */
START_TEST(verify_names_replaced)
{
    struct lab *lab = lab_open(6);
    lab_put(lab, "FDD");
    struct run_stream before = lab->stream;
    lab_put(lab, "D");
    lab_sql(lab,
            "CREATE TABLE side.kept AS SELECT * FROM checkpoint WHERE seq = %llu; "
            "DELETE FROM checkpoint WHERE seq = 4",
            4);
    lab->stream = before;
    lab->stream.chain.in.store = lab->store;
    lab_put(lab, "DD");
    lab_expect_sound(lab);
    lab_sql(lab,
            "DELETE FROM checkpoint WHERE seq = %llu; INSERT INTO checkpoint SELECT * "
            "FROM side.kept",
            4);
    lab_expect_named(lab, 5, "replaced");
    lab_close(lab);
}
END_TEST

/* A forged delta that counts from another full record than the newest one: it could not
 * be rebuilt. */
START_TEST(verify_names_old_base)
{
    struct lab *lab = lab_open(8);
    lab_put(lab, "FDFD");
    lab->stream.chain.base = lab->seqs[0];
    lab_put(lab, "D");
    lab_expect_named(lab, 5, "an old base");
    ck_assert(
        strstr(lab_found.text[0], "belongs to full record 1, but 3 is a newer one"));
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

/* A forged delta after which there are fewer tasks than before it. */
START_TEST(verify_names_fewer_tasks)
{
    struct lab *lab = lab_open(9);
    struct checkpoint_ref ref;
    lab_put(lab, "FGDG");
    lab_expect_sound(lab);
    lab->stream.tasks = LAB_TASKS + 1;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, NULL, 0, 3000, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, ref.seq, false);
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_EDAMAGED);
    lab_expect_named(lab, 5, "fewer tasks");
    ck_assert_ptr_nonnull(
        strstr(lab_found.text[0], "it has 41 tasks, fewer than the "));
    lab_close(lab);
}
END_TEST

START_TEST(verify_names_objects_and_runs)
{
    struct lab *lab = lab_open(7);
    lab_put(lab, "FD");
    lab_sql(lab, "UPDATE object SET data = x'00' WHERE %llu", 1);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_found.n, 1);
    ck_assert_uint_eq(lab_found.result.bad_objects, 1);
    lab_sql(lab, "DELETE FROM object WHERE %llu", 1);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_uint_eq(lab_found.result.bad_objects, 1);
    lab_close(lab);
    lab = lab_open(7);
    lab_put(lab, "FD");
    lab_sql(lab, "UPDATE run SET state = 2 WHERE %llu", 1);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_found.n, 1);
    ck_assert(strstr(lab_found.text[0], "run 1") != NULL);
    lab_close(lab);
}
END_TEST

static int stop_at_once(void *context, const struct cairn_problem *problem)
{
    (void)problem;
    ++*(int *)context;
    return 1;
}

START_TEST(verify_reports_all_or_stops)
{
    struct lab *lab = lab_open(8);
    int calls = 0;
    lab_put(lab, "FDDFDD");
    lab_damage(lab, 1);
    lab_damage(lab, 3);
    lab_damage(lab, 5);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_found.n, 3);
    ck_assert_uint_eq(lab_found.result.damaged, 3);
    ck_assert_int_eq(cairn_checkpoint_verify(lab->store, NULL, stop_at_once, &calls,
                                             NULL, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, NULL, NULL),
                     CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

/* Recovering after damage leaves a chain that verifies but for the damaged ones, and
 * is whole when they were deleted. */
START_TEST(healing)
{
    for (int bad = 1; bad <= 3; bad++) {
        struct lab *lab = lab_open(9);
        struct recovery r;
        lab_put(lab, "FDDFDDDD");
        for (int i = 0; i < bad; i++)
            lab_damage(lab, 7 - i);
        MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
        lab->stream = r.head;
        recovery_release(&r);
        lab_put(lab, "FDDFD");
        ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
        ck_assert_int_eq(lab_found.n, bad);
        for (int i = 0; i < bad; i++) {
            char id[24];
            snprintf(id, sizeof id, "%d", 8 - (bad % 2 ? i : bad - 1 - i));
            MUST(lab, cairn_checkpoint_delete(lab->store, id, &lab->error));
        }
        lab_expect_sound(lab);
        ck_assert_uint_eq(lab_found.result.pruned, (uint64_t)bad);
        /* Pruning on top of that: everything left still verifies and rebuilds. */
        struct cairn_prune_options options = {.run = 1, .keep = 4};
        struct cairn_prune_result pruned;
        lab_finish(lab, 1);
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        ck_assert_uint_eq(pruned.deleted, (uint64_t)(9 - bad));
        lab_expect_sound(lab);
        ck_assert_uint_eq(lab_found.result.pruned, 9);
        for (int i = 9; i < lab->n; i++)
            MUST(lab, lab_rebuild(lab, i));
        options.keep = 1;
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        ck_assert_uint_eq(pruned.kept, 1);
        lab_expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

/* Only its position shows that records before it are gone. */
START_TEST(positions_must_follow)
{
    struct lab *lab = lab_open(45);
    lab_put(lab, "FDD");
    lab->stream.chain.position += 2;
    lab_put(lab, "DD");
    lab_expect_named(lab, 4, "two records are missing before it");
    ck_assert_msg(strstr(lab_found.text[0], "2 checkpoints before it are missing") !=
                      NULL,
                  "%s", lab_found.text[0]);
    lab_close(lab);
}
END_TEST

/* The stream of a new run that forks from a record of another. */
static struct run_stream fork_of(struct lab *lab, const struct run_stream *from,
                                 const struct checkpoint_ref *at)
{
    struct digest graph;
    uint64_t run = lab_run(lab, "nightly", from->chain.id, at->seq, &graph);
    struct run_stream branch = run_stream_of(lab->store, lab->sha, run, &graph);
    branch.chain.parent = at->seq;
    branch.chain.parent_digest = at->digest;
    return branch;
}

/* The parent of a fork's first record is in another stream. */
START_TEST(forks_must_fit)
{
    struct lab *lab = lab_open(46);
    lab_put(lab, "FDDD");
    struct rebuilt at;
    struct run_stream first = lab->stream;
    MUST(lab, outcomes_rebuild(lab->store, 3, NULL, &at, &lab->error));
    lab->stream = fork_of(lab, &first, &at.ref);
    lab_put(lab, "FD");
    lab_expect_sound(lab);
    lab->stream = fork_of(lab, &first, &at.ref);
    lab->stream.chain.parent_digest.bytes[7] ^= 4;
    lab_put(lab, "F");
    lab_expect_named(lab, 7, "another record was in that place when it forked");
    lab_close(lab);
}
END_TEST

static int copy_tombstone(void *context, const struct tombstone_row *row)
{
    struct tombstone_row *copy = context;
    if (copy->id == 0)
        *copy = *row;
    return 0;
}

/* Puts another note in the place of the only one, as the store itself would. */
static void replace_tombstone(struct lab *lab, const struct tombstone_row *row)
{
    struct tombstone_row old = {0};
    MUST(lab, store_each_tombstone(lab->store, NAMESPACE_WORKFLOW, 0, copy_tombstone,
                                   &old, &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_delete_tombstone(lab->store, old.id, &lab->error));
    MUST(lab, store_put_tombstone(lab->store, row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

/* The note about a deleted range must name the records on both sides of it. */
START_TEST(tombstones_must_fit)
{
    struct lab *lab = lab_open(44);
    struct tombstone_row sound = {0};
    lab_put(lab, "FDDFDDFDDFDD");
    MUST(lab, cairn_checkpoint_delete(lab->store, "6", &lab->error));
    lab_expect_sound(lab);
    MUST(lab, store_each_tombstone(lab->store, NAMESPACE_WORKFLOW, 0, copy_tombstone,
                                   &sound, &lab->error));
    ck_assert_uint_eq(sound.first, 6);
    ck_assert_uint_eq(sound.last, 6);
    struct tombstone_row wrong = sound;
    wrong.before.bytes[3] ^= 1;
    replace_tombstone(lab, &wrong);
    lab_expect_named(lab, 6, "another record before it");
    wrong = sound;
    wrong.after.bytes[3] ^= 1;
    replace_tombstone(lab, &wrong);
    lab_expect_named(lab, 7, "another record after it");
    wrong = sound;
    wrong.stream++;
    replace_tombstone(lab, &wrong);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    replace_tombstone(lab, &sound);
    lab_expect_sound(lab);
    lab_close(lab);
}
END_TEST

static int count_info(void *context, const struct cairn_checkpoint_info *info)
{
    uint32_t *n = context;
    (void)info;
    ck_assert_uint_lt(++*n, LAB_MAX);
    return 0;
}

/* Numbers that cairn never gives: a listing that goes down to them ends, and they are
 * told as damage. */
START_TEST(verify_names_impossible_seqs)
{
    static const char *const copies[] = {
        "INSERT INTO checkpoint SELECT 0, namespace, stream, parent, time_ns, kind, "
        "record, digest FROM checkpoint WHERE seq = %llu",
        "INSERT INTO checkpoint SELECT -3, namespace, stream, parent, time_ns, kind, "
        "record, digest FROM checkpoint WHERE seq = %llu",
        "INSERT INTO checkpoint SELECT 9223372036854775807, namespace, stream, parent, "
        "time_ns, kind, record, digest FROM checkpoint WHERE seq = %llu"};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        struct lab *lab = lab_open(70 + i);
        struct cairn_checkpoint_info info;
        for (int n = 0; n < 100; n++) /* two pages, the second of which ends with it */
            lab_put(lab, n % 20 ? "D" : "F");
        for (int n = 0; n < 99; n++)
            lab_put(lab, "D");
        lab_expect_sound(lab);
        lab_sql(lab, copies[i], 2);
        ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
        ck_assert_int_eq(lab_found.n, 1);
        ck_assert_msg(strstr(lab_found.text[0], "differs from the record's header"),
                      "%s", lab_found.text[0]);
        for (int oldest = 0; oldest < 2; oldest++) {
            uint32_t n = 0;
            struct cairn_checkpoint_filter every = {
                .page = {.all = true, .oldest_first = oldest}};
            MUST(lab, cairn_checkpoint_list(lab->store, &every, count_info, &n, NULL,
                                            &lab->error));
            ck_assert_uint_ge(n, 199);
            ck_assert_uint_le(n, 200);
        }
        for (int n = 0; n < lab->n; n++)
            lab_damage(lab, n);
        ck_assert_int_eq(cairn_checkpoint_newest(
                             lab->store,
                             &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                             &info, NULL, &lab->error),
                         CAIRN_EDAMAGED);
        lab_close(lab);
    }
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, verify_undamaged);
    tcase_add_test(tests, verify_names_every_flip);
    tcase_add_test(tests, verify_names_every_column);
    tcase_add_test(tests, verify_names_wrong_seq);
    tcase_add_test(tests, verify_names_missing);
    tcase_add_test(tests, verify_names_replaced);
    tcase_add_test(tests, verify_names_old_base);
    tcase_add_test(tests, verify_names_fewer_tasks);
    tcase_add_test(tests, verify_names_objects_and_runs);
    tcase_add_test(tests, verify_reports_all_or_stops);
    tcase_add_test(tests, healing);
    tcase_add_test(tests, positions_must_follow);
    tcase_add_test(tests, forks_must_fit);
    tcase_add_test(tests, tombstones_must_fit);
    tcase_add_test(tests, verify_names_impossible_seqs);
}

int main(void)
{
    return lab_run_suite("verify", add);
}
