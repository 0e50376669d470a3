/* SPDX-License-Identifier: MIT */
/* Verifying, deleting and pruning, on a real store. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/checkpoint.h"

struct problems {
    struct cairn_problem at[LAB_MAX];
    char text[LAB_MAX][200];
    int n;
    struct cairn_verify_result result;
};

static int note_problem(void *context, const struct cairn_problem *problem)
{
    struct problems *problems = context;
    ck_assert_int_lt(problems->n, LAB_MAX);
    snprintf(problems->text[problems->n], 200, "%s: %s", problem->id, problem->text);
    problems->at[problems->n++] = *problem;
    return 0;
}

static struct problems found;

static int verify(struct lab *lab, const char *id)
{
    memset(&found, 0, sizeof found);
    return cairn_checkpoint_verify(lab->store, id, note_problem, &found, &found.result,
                                   &lab->error);
}

static void expect_sound(struct lab *lab)
{
    int rc = verify(lab, NULL);
    ck_assert_msg(rc == 0, "%d %s %s", rc, lab->error.text, found.text[0]);
    ck_assert_int_eq(found.n, 0);
}

/* Exactly one problem, and it names `seq`. */
static void expect_named(struct lab *lab, uint64_t seq, const char *what)
{
    char id[CAIRN_ID_MAX];
    int rc = verify(lab, NULL);
    ck_assert_msg(rc == CAIRN_EDAMAGED, "%s: %d", what, rc);
    ck_assert_msg(found.n == 1, "%s: %d problems: %s; %s", what, found.n, found.text[0],
                  found.text[1]);
    ck_assert_msg(found.at[0].seq == seq, "%s: %s", what, found.text[0]);
    snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)seq);
    ck_assert_msg(strncmp(found.at[0].id, id, strlen(id)) == 0, "%s: %s", what,
                  found.text[0]);
    ck_assert_uint_eq(found.result.damaged, 1);
}

/* ---- Verifying ---- */

START_TEST(verify_undamaged)
{
    struct lab *lab = lab_open(1);
    lab_put(lab, "FDDDFDDF");
    expect_sound(lab);
    ck_assert_uint_eq(found.result.checked, 8);
    ck_assert_uint_ge(found.result.objects, 1);
    MUST(lab, verify(lab, "3"));
    ck_assert_uint_eq(found.result.checked, 1);
    ck_assert_int_eq(verify(lab, "30"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(verify(lab, "?"), CAIRN_EUSAGE);
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
            for (int at = 0;; at++) {
                char what[80], id[24];
                int bit = (int)lab_below(lab, 8);
                if (!lab_flip(lab, seq, columns[c], at, bit))
                    break;
                snprintf(what, sizeof what, "%s of %d, byte %d", columns[c], (int)seq,
                         at);
                expect_named(lab, seq, what);
                snprintf(id, sizeof id, "%d", (int)seq);
                ck_assert_int_eq(verify(lab, id), CAIRN_EDAMAGED);
                ck_assert_int_eq(found.n, 1);
                ck_assert(lab_flip(lab, seq, columns[c], at, bit));
            }
    expect_sound(lab);
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
                expect_named(lab, seq, sql);
                lab_sql(lab, back, seq);
            }
        expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(verify_names_wrong_seq)
{
    struct lab *lab = lab_open(4);
    lab_put(lab, "FDDFD");
    lab_sql(lab, "UPDATE checkpoint SET seq = 100 WHERE seq = %llu", 3);
    expect_named(lab, 100, "seq 3 to 100");
    lab_sql(lab, "UPDATE checkpoint SET seq = 3 WHERE seq = %llu", 100);
    lab_sql(lab, "UPDATE checkpoint SET seq = 100 WHERE seq = %llu", 4);
    expect_named(lab, 100, "seq 4 to 100");
    lab_close(lab);
}
END_TEST

START_TEST(verify_names_missing)
{
    struct lab *lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 2);
    expect_named(lab, 2, "a delta");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 4);
    expect_named(lab, 4, "a full one");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq IN (2, 3) AND %llu", 1);
    expect_named(lab, 3, "two");
    lab_close(lab);
    lab = lab_open(5);
    lab_put(lab, "FDDFDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 1);
    expect_named(lab, 1, "the first");
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
    expect_sound(lab);
    lab_sql(lab,
            "DELETE FROM checkpoint WHERE seq = %llu; INSERT INTO checkpoint SELECT * "
            "FROM side.kept",
            4);
    expect_named(lab, 5, "replaced");
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
    expect_named(lab, 5, "an old base");
    ck_assert(strstr(found.text[0], "belongs to full record 1, but 3 is a newer one"));
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

START_TEST(verify_names_objects_and_runs)
{
    struct lab *lab = lab_open(7);
    lab_put(lab, "FD");
    lab_sql(lab, "UPDATE object SET data = x'00' WHERE %llu", 1);
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 1);
    ck_assert_uint_eq(found.result.bad_objects, 1);
    lab_sql(lab, "DELETE FROM object WHERE %llu", 1);
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_uint_eq(found.result.bad_objects, 1);
    lab_close(lab);
    lab = lab_open(7);
    lab_put(lab, "FD");
    lab_sql(lab, "UPDATE run SET state = 2 WHERE %llu", 1);
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 1);
    ck_assert(strstr(found.text[0], "run 1") != NULL);
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
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 3);
    ck_assert_uint_eq(found.result.damaged, 3);
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
        ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
        ck_assert_int_eq(found.n, bad);
        for (int i = 0; i < bad; i++) {
            char id[24];
            snprintf(id, sizeof id, "%d", 8 - (bad % 2 ? i : bad - 1 - i));
            MUST(lab, cairn_checkpoint_delete(lab->store, id, &lab->error));
        }
        expect_sound(lab);
        ck_assert_uint_eq(found.result.pruned, (uint64_t)bad);
        /* Pruning on top of that: everything left still verifies and rebuilds. */
        struct cairn_prune_options options = {.run = 1, .keep = 4};
        struct cairn_prune_result pruned;
        lab_finish(lab, 1);
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        ck_assert_uint_eq(pruned.deleted, (uint64_t)(8 - bad));
        expect_sound(lab);
        ck_assert_uint_eq(found.result.pruned, 8);
        for (int i = 8; i < lab->n; i++)
            MUST(lab, lab_rebuild(lab, i));
        options.keep = 1;
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        ck_assert_uint_eq(pruned.kept, 2);
        expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

/* The same, but the damaged ones go with their segment. */
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
        ck_assert_uint_eq(pruned.deleted, 8);
        expect_sound(lab);
        ck_assert_uint_eq(found.result.pruned, 8);
        options.keep = 1;
        MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
        expect_sound(lab);
        ck_assert_uint_eq(found.result.pruned, 11);
        lab_close(lab);
    }
}
END_TEST

/* ---- Deleting ---- */

static int delete_one(struct lab *lab, const char *id)
{
    return cairn_checkpoint_delete(lab->store, id, &lab->error);
}

START_TEST(delete_rules)
{
    struct lab *lab = lab_open(20);
    lab_put(lab, "FDDFDD");
    ck_assert_int_eq(delete_one(lab, "1"), CAIRN_EUSAGE); /* full, with deltas */
    ck_assert(strstr(lab->error.text, "prune") != NULL);
    ck_assert_int_eq(delete_one(lab, "2"), CAIRN_EUSAGE); /* not the last one */
    ck_assert_int_eq(delete_one(lab, "6"), CAIRN_EUSAGE); /* newest, unfinished */
    ck_assert(strstr(lab->error.text, "unfinished") != NULL);
    ck_assert_int_eq(delete_one(lab, "7"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(delete_one(lab, "3-000000000000"), CAIRN_ENOTFOUND);
    MUST(lab, delete_one(lab, "3"));
    expect_sound(lab);
    MUST(lab, delete_one(lab, "2"));
    MUST(lab, delete_one(lab, "1"));
    expect_sound(lab);
    ck_assert_uint_eq(found.result.pruned, 3);
    lab_finish(lab, 1);
    MUST(lab, delete_one(lab, "workflow:6"));
    expect_sound(lab);
    ck_assert_int_eq(delete_one(lab, "6"), CAIRN_ENOTFOUND);
    MUST(lab, lab_rebuild(lab, 4));
    lab_put(lab, "D");
    ck_assert_uint_eq(lab->seqs[6], 7); /* a number is never used twice */
    lab_close(lab);
}
END_TEST

static struct run_stream fork_at(struct lab *lab, int i, struct run_stream *main_stream)
{
    struct digest graph;
    struct outcomes outcomes;
    struct rebuilt at;
    MUST(lab, outcomes_rebuild(lab->store, lab->seqs[i], &outcomes, &at, &lab->error));
    uint64_t run = lab_run(lab, "nightly", main_stream->chain.id, at.ref.seq, &graph);
    struct run_stream branch = run_stream_of(lab->store, lab->sha, run, &graph);
    branch.chain.parent = at.ref.seq;
    branch.chain.parent_digest = at.ref.digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&branch, &outcomes.states, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    outcomes_release(&outcomes);
    return branch;
}

START_TEST(delete_fork_point)
{
    struct lab *lab = lab_open(21);
    lab_put(lab, "FDDFDD");
    fork_at(lab, 2, &lab->stream);
    expect_sound(lab);
    ck_assert_int_eq(delete_one(lab, "3"), CAIRN_EUSAGE);
    ck_assert(strstr(lab->error.text, "run 2") != NULL);
    lab_damage(lab, 2);
    expect_named(lab, 3, "a fork point");
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
        expect_named(lab, lab->seqs[order[i]], "damaged");
        snprintf(id, sizeof id, "%s", found.at[0].id);
        MUST(lab, delete_one(lab, id));
        expect_sound(lab);
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
    expect_sound(lab);
    lab_close(lab);
}
END_TEST

/* What follows a deleted delta is not damaged, only out of reach; resume still has it.
 */
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
    expect_sound(lab);
    for (int seq = 4; seq <= 5; seq++) {
        char id[24], text[100];
        snprintf(id, sizeof id, "%d", seq);
        snprintf(text, sizeof text,
                 "workflow:%d cannot be rebuilt: checkpoint workflow:3 before it was "
                 "deleted",
                 seq);
        ck_assert_int_eq(verify(lab, id), CAIRN_ENOTFOUND);
        ck_assert_int_eq(found.n, 0);
        ck_assert_msg(strstr(lab->error.text, text), "%s", lab->error.text);
        ck_assert_int_eq(cairn_checkpoint_get(lab->store, id, &info, &lab->error),
                         CAIRN_ENOTFOUND);
        ck_assert_msg(strstr(lab->error.text, text), "%s", lab->error.text);
    }
    MUST(lab, lab_rebuild(lab, 1));
    MUST(lab,
         cairn_checkpoint_latest(lab->store, "nightly", &info, &skipped, &lab->error));
    ck_assert_uint_eq(info.seq, 2);
    ck_assert_uint_eq(skipped, 2);
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
    ck_assert_uint_eq(r.newest.seq, 5);
    ck_assert_uint_eq(r.n_damaged, 0);
    recovery_release(&r);
    /* Real damage is still told as such. */
    lab_damage(lab, 3);
    ck_assert_int_eq(verify(lab, "5"), CAIRN_EDAMAGED);
    ck_assert_uint_eq(found.at[0].seq, 4);
    /* One that nobody deleted is missing. */
    MUST(lab, delete_one(lab, "4"));
    lab_sql(lab, "DELETE FROM tombstone WHERE %llu", 1);
    ck_assert_int_eq(verify(lab, "5"), CAIRN_EDAMAGED);
    lab_close(lab);
    /* And so it is where another one was deleted. */
    lab = lab_open(25);
    lab_put(lab, "FDDDFDDD");
    lab_damage(lab, 2);
    MUST(lab, delete_one(lab, "3"));
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 6);
    ck_assert_int_eq(verify(lab, "4"), CAIRN_ENOTFOUND);
    ck_assert_int_eq(verify(lab, "8"), CAIRN_EDAMAGED);
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 5);
    ck_assert_int_eq(verify(lab, "8"), CAIRN_EDAMAGED);
    lab_close(lab);
    lab = lab_open(24);
    lab_put(lab, "FD");
    lab_damage(lab, 0);
    MUST(lab, delete_one(lab, "1"));
    ck_assert_int_eq(
        cairn_checkpoint_latest(lab->store, "nightly", &info, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    ck_assert_msg(strstr(lab->error.text, "deleted"), "%s", lab->error.text);
    lab_close(lab);
}
END_TEST

/* ---- The doctor ---- */

struct findings {
    int bad;
    char text[600], remedy[400]; /* of the first bad one */
};

static int note_finding(void *context, const struct cairn_finding *finding)
{
    struct findings *findings = context;
    ck_assert_msg(!strchr(finding->text, '\n'), "%s", finding->text);
    if (finding->health != CAIRN_HEALTH_BAD || findings->bad++)
        return 0;
    snprintf(findings->text, sizeof findings->text, "%s", finding->text);
    snprintf(findings->remedy, sizeof findings->remedy, "%s",
             finding->remedy ? finding->remedy : "");
    return 0;
}

static void expect_finding(struct lab *lab, const char *text, const char *remedy)
{
    struct findings findings = {0};
    ck_assert_int_eq(cairn_doctor(lab->path, note_finding, &findings, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_ge(findings.bad,
                     1); /* pages are told of by the check of records, too */
    ck_assert_int_le(findings.bad, 2);
    ck_assert_msg(strstr(findings.text, text), "%s", findings.text);
    ck_assert_msg(strstr(findings.remedy, remedy), "%s", findings.remedy);
    ck_assert_msg(!strstr(findings.text, "cairn doctor"), "%s", findings.text);
}

static void overwrite(struct lab *lab, const char *name, off_t at, const char *bytes)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", lab->path, name);
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(doctor_in_one_line)
{
    static const char again[] =
        "`cairn doctor --repair` saves what is valid into a new store";
    struct findings findings = {0};
    char path[400];
    struct lab *lab = lab_open(60);
    lab_put(lab, "FDDFDD");
    cairn_store_close(lab->store); /* nothing is left in the WAL */
    MUST(lab, cairn_doctor(lab->path, note_finding, &findings, &lab->error));
    overwrite(lab, "cairn.db", 52, "\xff"); /* several findings of SQLite */
    expect_finding(lab, "pages of the database are damaged: ", again);
    overwrite(lab, "cairn.db", 0, "garbage!");
    expect_finding(lab, "is damaged (file is not a database)", again);
    /* The error that brings its own advice. */
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(remove(path), 0);
    snprintf(path, sizeof path, "%s/open", lab->path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
    expect_finding(lab, "commits were lost", "Put the file back");
    lab->store = NULL;
    lab_close(lab);
}
END_TEST

START_TEST(doctor_misses_a_table)
{
    struct lab *lab = lab_open(61);
    lab_put(lab, "FD");
    lab_sql(lab, "DROP TABLE tombstone; SELECT %llu", 1);
    expect_finding(lab, "no such table", "cairn doctor --repair");
    lab_close(lab);
}
END_TEST

/* ---- Pruning ---- */

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
                lab_put(lab, lab_below(lab, 5) ? "D" : "F");
            uint32_t keep = 1 + lab_below(lab, 15);
            struct cairn_prune_result dry = prune(lab, keep, true);
            struct cairn_prune_result real = prune(lab, keep, false);
            ck_assert_int_eq(memcmp(&dry, &real, sizeof dry), 0);
            ck_assert_uint_ge(real.kept, keep < 21 ? keep : 21);
            ck_assert_uint_eq(prune(lab, keep, false).deleted, 0);
            bool kept = false;
            uint64_t left = 0;
            for (int i = 0; i < lab->n; i++) {
                bool there = has(lab, i);
                ck_assert(there || !kept); /* only old ones go */
                ck_assert(there || i < lab->n - (int)keep);
                if (there && !kept)
                    ck_assert(lab->full[i]); /* whole segments */
                kept = kept || there;
                left += there;
                if (there)
                    MUST(lab, lab_rebuild(lab, i));
            }
            ck_assert_uint_eq(left, real.kept);
            expect_sound(lab);
            ck_assert_uint_eq(found.result.pruned, (uint64_t)lab->n - left);
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
    expect_sound(lab);
    ck_assert_int_eq(tombstones_in(lab), 2);
    prune(lab, 1, false);
    ck_assert_int_eq(tombstones_in(lab), 1);
    expect_sound(lab);
    ck_assert_uint_eq(found.result.pruned, 9);
    /* The boundary is checked. */
    lab_sql(lab,
            "UPDATE tombstone SET after = zeroblob(32), sum = NULL WHERE %llu;"
            "DELETE FROM meta WHERE key = 'sums'",
            1);
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 1);
    ck_assert_uint_eq(found.at[0].seq, 10);
    lab_sql(lab, "DELETE FROM tombstone WHERE %llu", 1);
    expect_named(lab, 9, "no tombstone");
    lab_close(lab);
}
END_TEST

/* Nothing but its position tells that records before it are gone. */
START_TEST(positions_must_follow)
{
    struct lab *lab = lab_open(45);
    lab_put(lab, "FDD");
    lab->stream.chain.position += 2;
    lab_put(lab, "DD");
    expect_named(lab, 4, "two records are missing before it");
    ck_assert_msg(strstr(found.text[0], "2 checkpoints before it are missing") != NULL,
                  "%s", found.text[0]);
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
    expect_sound(lab);
    lab->stream = fork_of(lab, &first, &at.ref);
    lab->stream.chain.parent_digest.bytes[7] ^= 4;
    lab_put(lab, "F");
    expect_named(lab, 7, "another record was in that place when it forked");
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
    MUST(lab, delete_one(lab, "6"));
    expect_sound(lab);
    MUST(lab, store_each_tombstone(lab->store, NAMESPACE_WORKFLOW, 0, copy_tombstone,
                                   &sound, &lab->error));
    ck_assert_uint_eq(sound.first, 6);
    ck_assert_uint_eq(sound.last, 6);
    struct tombstone_row wrong = sound;
    wrong.before.bytes[3] ^= 1;
    replace_tombstone(lab, &wrong);
    expect_named(lab, 6, "another record before it");
    wrong = sound;
    wrong.after.bytes[3] ^= 1;
    replace_tombstone(lab, &wrong);
    expect_named(lab, 7, "another record after it");
    wrong = sound;
    wrong.stream++;
    replace_tombstone(lab, &wrong);
    ck_assert_int_eq(verify(lab, NULL), CAIRN_EDAMAGED);
    replace_tombstone(lab, &sound);
    expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(prune_keeps_fork_points)
{
    struct lab *lab = lab_open(41);
    lab_put(lab, "FDDFDDFDDFDD");
    struct run_stream branch =
        fork_at(lab, 4, &lab->stream); /* in the second segment */
    struct cairn_prune_result result = prune(lab, 1, false);
    ck_assert_uint_eq(result.total, 13);
    ck_assert_uint_eq(result.deleted, 6);
    for (int i = 0; i < lab->n; i++)
        ck_assert(has(lab, i) == ((i >= 3 && i < 6) || i >= 9));
    for (int i = 3; i < 6; i++)
        MUST(lab, lab_rebuild(lab, i));
    expect_sound(lab);
    ck_assert_int_eq(tombstones_in(lab), 2);
    ck_assert_uint_eq(prune(lab, 1, false).deleted, 0);
    /* The fork's own first segment goes; its link to the other run is kept in mind. */
    struct states states;
    MUST(lab, states_init(&states, LAB_TASKS, &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&branch, &states, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    states_release(&states);
    ck_assert_uint_eq(prune(lab, 1, false).deleted, 1);
    expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(prune_with_damage)
{
    struct lab *lab = lab_open(42);
    lab_put(lab, "FDDFDDFDDFDD");
    lab_damage(lab, 6); /* full: its segment counts to the one before */
    ck_assert_uint_eq(prune(lab, 5, true).deleted, 3);
    prune(lab, 5, false);
    expect_named(lab, 7, "kept");
    prune(lab, 1, false);
    expect_sound(lab);
    ck_assert_uint_eq(found.result.pruned, 9);
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
    tcase_add_test(tests, verify_undamaged);
    tcase_add_test(tests, verify_names_every_flip);
    tcase_add_test(tests, verify_names_every_column);
    tcase_add_test(tests, verify_names_wrong_seq);
    tcase_add_test(tests, verify_names_missing);
    tcase_add_test(tests, verify_names_replaced);
    tcase_add_test(tests, verify_names_old_base);
    tcase_add_test(tests, verify_names_objects_and_runs);
    tcase_add_test(tests, verify_reports_all_or_stops);
    tcase_add_test(tests, healing);
    tcase_add_test(tests, pruning_damaged_ones);
    tcase_add_test(tests, delete_rules);
    tcase_add_test(tests, delete_fork_point);
    tcase_add_test(tests, delete_damaged);
    tcase_add_test(tests, stranded_by_deletion);
    tcase_add_test(tests, doctor_in_one_line);
    tcase_add_test(tests, doctor_misses_a_table);
    tcase_add_test(tests, prune_random_streams);
    tcase_add_test(tests, prune_merges_tombstones);
    tcase_add_test(tests, positions_must_follow);
    tcase_add_test(tests, forks_must_fit);
    tcase_add_test(tests, tombstones_must_fit);
    tcase_add_test(tests, prune_keeps_fork_points);
    tcase_add_test(tests, prune_with_damage);
    tcase_add_test(tests, prune_arguments);
}

int main(void)
{
    return lab_run_suite("verify", add);
}
