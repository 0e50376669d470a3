/* SPDX-License-Identifier: MIT */
/* Repairing a store: what is saved and lost after damage of many kinds, that the chains
 * verify afterwards, and that a repair can be interrupted. */
#include "tests/support/checkpoint.h"
#include "tests/support/random.h"

#include "base/lock.h"
#include "base/os.h"
#include "checkpoint/chain.h"
#include "storage/object.h"
#include "storage/rescue/salvage.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/remove_tree.h"

#include <sys/stat.h>
#include <unistd.h>

static struct cairn_repair_result result;
static struct seq_set lost;

static int note_loss(void *context, const struct cairn_loss *loss)
{
    (void)context;
    ck_assert_ptr_nonnull(loss->text);
    if (loss->kind == CAIRN_LOSS_CHECKPOINT)
        ck_assert_int_eq(seqs_add(&lost, loss->seq), 0);
    return 0;
}

static int try_repair(struct lab *lab)
{
    seqs_release(&lost);
    memset(&result, 0, sizeof result);
    cairn_store_close(lab->store);
    lab->store = NULL;
    int rc = cairn_store_repair(lab->path, note_loss, NULL, &result, &lab->error);
    seqs_sort(&lost);
    return rc;
}

static int stop_at_first(void *context, const struct cairn_problem *problem)
{
    snprintf(context, 300, "%s %.200s", problem->id, problem->text);
    return 1;
}

static void expect_sound(struct lab *lab)
{
    char text[300] = "";
    int rc = cairn_checkpoint_verify(lab->store, NULL, stop_at_first, text, NULL,
                                     &lab->error);
    ck_assert_msg(rc == 0, "%s: %s", lab->error.text, text);
}

static void repair(struct lab *lab)
{
    MUST(lab, try_repair(lab));
    lab_store(lab);
    expect_sound(lab);
}

static int is_there(void *context, const struct checkpoint_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

static bool has(struct lab *lab, uint64_t seq)
{
    return store_get_checkpoint(lab->store, seq, is_there, NULL, NULL) == 0;
}

/* Fork of the i-th checkpoint, with a full record of its own. */
static uint64_t fork_at(struct lab *lab, int i)
{
    struct digest graph;
    struct checkpoint_ref first;
    struct outcomes outcomes;
    struct rebuilt at;
    MUST(lab, outcomes_rebuild(lab->store, lab->seqs[i], &outcomes, &at, &lab->error));
    uint64_t run = lab_run(lab, "nightly", lab->stream.chain.id, at.ref.seq, &graph);
    struct run_stream branch = run_stream_of(lab->store, lab->sha, run, &graph);
    branch.chain.parent = at.ref.seq;
    branch.chain.parent_digest = at.ref.digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&branch, &outcomes.states, 5, &first, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    outcomes_release(&outcomes);
    return first.seq;
}

START_TEST(nothing_to_do)
{
    struct lab *lab = lab_open(1);
    struct stat before, after;
    char path[400];
    lab_put(lab, "FDDFD");
    cairn_store_close(lab->store);
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(stat(path, &before), 0);
    lab->store = NULL;
    repair(lab);
    ck_assert(!result.repaired && result.lost == 0);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    lab_close(lab);
}
END_TEST

/* Any set of records damaged or removed, and any columns that name another parent: the
 * other records are all there, everything verifies, and the next number is none that
 * was used. */
START_TEST(any_records)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct lab *lab = lab_open(seed * 77);
        bool gone[LAB_MAX] = {false};
        uint64_t next = 0;
        int damaged = 0;
        for (int i = 0; i < 24; i++)
            lab_put(lab, i == 0 || lab_below(lab, 5) == 0 ? "F"
                         : lab_below(lab, 5)              ? "D"
                                                          : "G");
        uint64_t branch = lab_below(lab, 2) ? fork_at(lab, 5) : 0;
        lab_put(lab, "DDF");
        for (int i = 0; i < lab->n; i++) {
            if (lab_below(lab, 3) > 0) {
                if (i == 0 || lab_below(lab, 4) > 0)
                    continue;
                lab_sql(lab,
                        "UPDATE checkpoint SET parent = 1 + seq * 7 %% (seq - 1) "
                        "WHERE seq = %llu",
                        lab->seqs[i]);
                damaged++;
                continue;
            }
            gone[i] = true;
            damaged++;
            if (lab_below(lab, 4) == 0 && i + 1 < lab->n)
                lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", lab->seqs[i]);
            else
                lab_damage(lab, i);
        }
        repair(lab);
        ck_assert(result.repaired == (damaged > 0));
        for (int i = 0; i < lab->n; i++)
            ck_assert_msg(has(lab, lab->seqs[i]) == !gone[i], "seed %d: %llu",
                          (int)seed, (unsigned long long)lab->seqs[i]);
        ck_assert(!branch || has(lab, branch));
        MUST(lab, store_seq_after(lab->store, &next, &lab->error));
        ck_assert_uint_ge(next, lab->seqs[lab->n - 1] + 1);
        lab_close(lab);
    }
}
END_TEST

/* Rows that changed places, columns that are wrong: nothing is lost. */
START_TEST(wrong_columns)
{
    static const char *const damages[] = {
        "UPDATE checkpoint SET stream = 9, time_ns = 4 WHERE seq = %llu",
        "UPDATE checkpoint SET kind = 3 - kind WHERE seq = %llu",
        "UPDATE checkpoint SET parent = seq + 5 WHERE seq = %llu",
        "UPDATE checkpoint SET parent = NULL WHERE seq = %llu",
        "UPDATE checkpoint SET parent = parent - 1 WHERE seq = %llu",
        "UPDATE checkpoint SET seq = 1000 WHERE seq = %llu",
        ("INSERT INTO checkpoint SELECT seq + 500, namespace, stream, parent, time_ns, "
         "kind, record, digest FROM checkpoint WHERE seq = %llu")};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct lab *lab = lab_open(50 + i);
        lab_put(lab, "FDDFDD");
        lab_sql(lab, damages[i], lab->seqs[4]);
        repair(lab);
        ck_assert(result.repaired);
        for (int k = 0; k < lab->n; k++)
            MUST(lab, lab_rebuild(lab, k));
        ck_assert(!has(lab, 1000));
        lab_close(lab);
    }
}
END_TEST

/* The row around a record is destroyed, up to its first byte; also where the record
 * continues on other pages: it is found by its own bytes. */
START_TEST(rows_destroyed)
{
    for (int i = 1; i < 6; i++) {
        struct lab *lab = lab_open(150 + (uint64_t)i);
        struct buf file = BUF_INIT;
        char path[400];
        lab_put(lab, "FDD");
        struct states big = lab->now;
        MUST(lab, states_init(&lab->now, LAB_TASKS, &lab->error));
        for (uint32_t task = 0; task < LAB_TASKS; task++) {
            struct change change = {.task = task, .outcome = 1, .attempts = 2 + task};
            for (size_t k = 0; k < DIGEST_SIZE; k++)
                change.outputs.bytes[k] = (uint8_t)(1 + task * k);
            MUST(lab, states_apply(&lab->now, &change, &lab->error));
        }
        states_release(&big);
        lab_put(lab, "FDD");
        MUST(lab,
             store_begin(lab->store, -1, &lab->error)); /* transferred at the end */
        MUST(lab, store_commit(lab->store, &lab->error));
        cairn_store_close(lab->store);
        snprintf(path, sizeof path, "%s/cairn.db", lab->path);
        MUST(lab, os_read_file(path, 1 << 24, &file, &lab->error));
        bool found = false;
        for (size_t at = 16; at + 100 < file.size; at++) {
            uint64_t seq;
            memcpy(&seq, file.data + at + 24, sizeof seq);
            if (memcmp(file.data + at, "CRN\1", 4) != 0 || seq != lab->seqs[i])
                continue;
            memset(file.data + at - 14, 0xff, 14);
            found = true;
        }
        ck_assert(found);
        MUST(lab, os_write_file(path, 0600, buf_view(&file), &lab->error));
        buf_release(&file);
        lab->store = NULL;
        repair(lab);
        ck_assert(result.repaired);
        ck_assert_uint_eq(lost.n, 0);
        for (int k = 0; k < lab->n; k++)
            MUST(lab, lab_rebuild(lab, k));
        lab_close(lab);
    }
}
END_TEST

/* A row that has lost its checksum is damaged, if none was ever written without one.
 * Those of an older release get one at a repair. */
START_TEST(rows_without_sums)
{
    struct lab *lab = lab_open(170);
    char text[300] = "";
    uint8_t key[32], again[32];
    lab_put(lab, "FDD");
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_secret_key(lab->store, true, key, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_sql(lab, "UPDATE meta SET sum = NULL WHERE key = 'id' AND %llu", 1);
    ck_assert_int_eq(cairn_checkpoint_verify(lab->store, NULL, stop_at_first, text,
                                             NULL, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_msg(strstr(text, "a setting of the store") != NULL, "%s", text);
    lab_sql(lab, "DELETE FROM meta WHERE key = 'sums' AND %llu", 1);
    expect_sound(lab); /* as if an older release had made it */
    lab_sql(lab, "UPDATE meta SET sum = NULL WHERE %llu", 1);
    lab_damage(lab, 1);
    repair(lab);
    ck_assert(result.repaired && result.lost == 1);
    MUST(lab, store_secret_key(lab->store, false, again, &lab->error));
    ck_assert_mem_eq(key, again, sizeof key);
    lab_close(lab);
}
END_TEST

static int take_row(void *context, const struct run_row *row)
{
    struct run_row *out = context;
    *out = *row;
    out->workflow_name = out->params_text = out->file = STR("");
    out->owner_host = out->owner_boot = STR("");
    return 0;
}

/* The checksum fits, and no other row has that generation. */
START_TEST(generation_beyond_all)
{
    struct lab *lab = lab_open(61);
    struct run_row row = {.run = 0};
    lab_put(lab, "FDD");
    MUST(lab, store_get_run(lab->store, 1, take_row, &row, &lab->error));
    row.gen = 2000000000;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_set_run(lab->store, &row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_damage(lab, 1);
    repair(lab);
    ck_assert(result.repaired);
    MUST(lab, store_get_run(lab->store, 1, take_row, &row, &lab->error));
    ck_assert_uint_eq(row.gen, 1);
    lab_close(lab);
}
END_TEST

/* What was deleted on purpose does not come back from pages that are out of use. */
START_TEST(deleted_stay_deleted)
{
    struct lab *lab = lab_open(60);
    struct cairn_prune_options options = {.keep = 4};
    struct cairn_prune_result pruned;
    for (int i = 0; i < 10; i++)
        lab_put(lab, "FDDD");
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
    ck_assert_uint_ge(pruned.deleted, 30);
    lab_damage(lab, 37);
    repair(lab);
    for (int i = 0; i < 36; i++)
        ck_assert(!has(lab, lab->seqs[i]));
    ck_assert(has(lab, lab->seqs[36]) && !has(lab, lab->seqs[37]));
    ck_assert_uint_eq(lost.n, 1);
    lab_close(lab);
}
END_TEST

/* A record whose parent's number is that of another one, out of a copy of the store
 * that went on by itself, has no place in the chain. */
/* So does what they added up to; where that is damaged, it is as it was lost. */
START_TEST(changes_are_kept)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        struct lab *lab = lab_open(31);
        struct recovery r;
        lab_put(lab, "FDDDDDD");
        MUST(lab, cairn_checkpoint_delete(lab->store, "1", &lab->error));
        MUST(lab, cairn_checkpoint_delete(lab->store, "4", &lab->error));
        lab_damage(lab, 6);
        if (damaged)
            lab_sql(lab,
                    "UPDATE tombstone SET change = zeroblob(30) WHERE first = %llu", 4);
        repair(lab);
        for (int i = 1; i < 6; i++)
            if (i != 3 && !(damaged && i > 3))
                MUST(lab, lab_rebuild(lab, i));
            else
                ck_assert_int_eq(lab_rebuild(lab, i), CAIRN_ENOTFOUND);
        MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
        ck_assert_uint_eq(r.newest.seq, 6);
        ck_assert(damaged ? r.gap : lab_same(&r.states, &lab->model[5]));
        recovery_release(&r);
        expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(record_of_another_store)
{
    struct lab *lab = lab_open(75), *other = lab_open(76);
    char sql[600];
    lab_put(lab, "FDDFDD");
    lab_put(other, "FDDFDD");
    cairn_store_close(other->store);
    other->store = NULL;
    snprintf(sql, sizeof sql,
             "ATTACH '%s/cairn.db' AS other; UPDATE main.checkpoint SET (record, "
             "digest, time_ns) = (SELECT record, digest, time_ns FROM other.checkpoint "
             "WHERE seq = 3) WHERE seq = %%llu",
             other->path);
    lab_sql(lab, sql, 3);
    repair(lab);
    for (int i = 0; i < lab->n; i++)
        ck_assert(has(lab, lab->seqs[i]) == (lab->seqs[i] != 3));
    ck_assert_uint_eq(result.checkpoints, 5);
    ck_assert_uint_eq(lost.n, 1);
    ck_assert_uint_eq(lost.at[0], 3);
    lab_close(other);
    lab_close(lab);
}
END_TEST

static uint32_t big_endian(const char *at)
{
    const uint8_t *b = (const uint8_t *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Is it on the list of free pages? SQLite's file format, section 1.5. */
static bool is_free(const struct buf *file, size_t page_size, uint32_t page)
{
    for (uint32_t trunk = big_endian(file->data + 32); trunk;) {
        const char *at = file->data + (trunk - 1) * page_size;
        if (trunk == page)
            return true;
        for (uint32_t i = 0; i < big_endian(at + 4); i++)
            if (big_endian(at + 8 + 4 * i) == page)
                return true;
        trunk = big_endian(at);
    }
    return false;
}

/* A disk wrote two pages of the database in each other's places: it can be repaired. If
 * neither was free, nothing is lost, and what was deleted does not come back. */
START_TEST(pages_change_places)
{
    enum { PAGE = 2048 };
    struct lab *lab = lab_open(65);
    struct cairn_prune_options options = {.keep = 20};
    struct cairn_prune_result pruned;
    struct buf file = BUF_INIT, other = BUF_INIT;
    char path[400], kept[500];
    bool complete;
    for (int i = 0; i < 20; i++)
        lab_put(lab, "FDDDD");
    fork_at(lab, 90);
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
    ck_assert_uint_eq(pruned.deleted, 80);
    MUST(lab, db_transfer(lab->store->db, &complete, &lab->error));
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    for (int k = 0; k < help_rounds(60, 60); k++) {
        cairn_store_close(lab->store);
        lab->store = NULL;
        if (k == 0)
            MUST(lab, os_read_file(path, 1 << 24, &file, &lab->error));
        buf_clear(&other);
        buf_str(&other, buf_view(&file));
        uint32_t pages = (uint32_t)(file.size / PAGE);
        uint32_t a = 2 + (uint32_t)lab_below(lab, pages - 1),
                 b = 2 + (uint32_t)lab_below(lab, pages - 1);
        memcpy(other.data + (a - 1) * PAGE, file.data + (b - 1) * PAGE, PAGE);
        memcpy(other.data + (b - 1) * PAGE, file.data + (a - 1) * PAGE, PAGE);
        MUST(lab, os_write_file(path, 0600, buf_view(&other), &lab->error));
        repair(lab);
        for (int i = 0; i < lab->n; i++)
            ck_assert_msg(has(lab, lab->seqs[i]) == (i >= 80) ||
                              is_free(&file, PAGE, a) || is_free(&file, PAGE, b),
                          "pages %u and %u: %llu", a, b,
                          (unsigned long long)lab->seqs[i]);
        snprintf(kept, sizeof kept, "%s/%s", lab->path, result.kept);
        if (result.repaired)
            remove_tree(kept);
    }
    buf_release(&file);
    buf_release(&other);
    lab_close(lab);
}
END_TEST

/* Cut off at each step of the change of files: the next repair finishes it, or does it
 * again, and nobody can open the store in between. */
START_TEST(cut_off)
{
    char path[400], into[400];
    for (int step = 0; step < 3; step++) {
        struct lab *lab = lab_open(70);
        struct cairn_store *store = NULL;
        struct cairn_store_options options = {.path = lab->path, .read_only = true};
        lab_put(lab, "FDDFD");
        cairn_store_close(lab->store);
        lab->store = NULL;
        snprintf(path, sizeof path, "%s/repair.new", lab->path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/cairn.db", lab->path);
        snprintf(into, sizeof into, "%s/repair.new/cairn.db", lab->path);
        if (step < 2) /* the new database is not in place yet */
            ck_assert_int_eq(rename(path, into), 0);
        snprintf(path, sizeof path, "%s/repair", lab->path);
        MUST(lab, os_write_file(path, 0600, STR("damaged-x\n"), &lab->error));
        if (step == 1) { /* something of the old one still is */
            snprintf(path, sizeof path, "%s/cairn.db", lab->path);
            MUST(lab, os_write_file(path, 0600, STR("garbage"), &lab->error));
        }
        ck_assert_int_eq(cairn_store_open(&store, &options, &lab->error),
                         CAIRN_EDAMAGED);
        ck_assert(strstr(lab->error.text, "--repair") != NULL);
        repair(lab);
        ck_assert(result.repaired);
        ck_assert_str_eq(result.kept, "damaged-x");
        for (int i = 0; i < lab->n; i++)
            MUST(lab, lab_rebuild(lab, i));
        lab_close(lab);
    }
}
END_TEST

/* A live owner and a writer are left alone. */
START_TEST(in_use)
{
    struct lab *lab = lab_open(80);
    struct lock_file lock = {-1};
    char path[400];
    lab_put(lab, "FD");
    lab_damage(lab, 1);
    cairn_store_close(lab->store);
    lab->store = NULL;
    snprintf(path, sizeof path, "%s/lock", lab->path);
    MUST(lab, lock_open(&lock, path, &lab->error));
    ck_assert_int_eq(lock_try(&lock, LOCK_WORKFLOW + 1, LOCK_EXCLUSIVE, &lab->error),
                     1);
    ck_assert_int_eq(try_repair(lab), CAIRN_EOWNED);
    ck_assert(strstr(lab->error.text, "run 1") != NULL);
    lock_close(&lock);
    repair(lab);
    ck_assert_uint_eq(lost.n, 1);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, nothing_to_do);
    tcase_add_test(tests, any_records);
    tcase_add_test(tests, wrong_columns);
    tcase_add_test(tests, rows_destroyed);
    tcase_add_test(tests, rows_without_sums);
    tcase_add_test(tests, generation_beyond_all);
    tcase_add_test(tests, deleted_stay_deleted);
    tcase_add_test(tests, changes_are_kept);
    tcase_add_test(tests, record_of_another_store);
    tcase_add_test(tests, pages_change_places);
    tcase_add_test(tests, cut_off);
    tcase_add_test(tests, in_use);
}

int main(void)
{
    return lab_run_suite("repair", add);
}
