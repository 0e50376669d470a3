/* SPDX-License-Identifier: MIT */
/* A record of a newer format in a store of our own: nobody should ever write such a
 * thing, since every change of a format raises the store's version. It is named, not
 * guessed at, and looking at it changes nothing. (The codecs' own tests have results
 * and definitions of unknown versions: check_result, check_definition. Whole newer
 * stores: check_store_faults, t-golden.sh.) */
#include "tests/support/engine.h"

#include "base/os.h"
#include "base/sha256.h"

/* Gives checkpoint `seq` the format version `version`, and the digest that fits. */
static void make_newer(uint64_t seq, uint8_t version)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    uint8_t record[4096];
    struct digest digest;
    ck_assert_int_eq(sqlite3_open(".cairn/cairn.db", &db), 0);
    sqlite3_prepare_v2(db, "SELECT record FROM checkpoint WHERE seq = ?", -1, &st,
                       NULL);
    sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
    ck_assert_int_eq(sqlite3_step(st), SQLITE_ROW);
    size_t size = (size_t)sqlite3_column_bytes(st, 0);
    ck_assert_uint_lt(size, sizeof record);
    memcpy(record, sqlite3_column_blob(st, 0), size);
    sqlite3_finalize(st);
    record[4] = version;
    good(sha256_of(record, size, &digest, &error));
    sqlite3_prepare_v2(db, "UPDATE checkpoint SET record = ?, digest = ? WHERE seq = ?",
                       -1, &st, NULL);
    sqlite3_bind_blob(st, 1, record, (int)size, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, digest.bytes, DIGEST_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, (sqlite3_int64)seq);
    ck_assert_int_eq(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static int note_problem(void *context, const struct cairn_problem *problem)
{
    snprintf(context, 400, "%s: %s", problem->id, problem->text);
    return 0;
}

static void read_db(struct buf *out)
{
    good(os_read_file(".cairn/cairn.db", 1 << 24, out, &error));
}

START_TEST(newer_record)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    struct cairn_checkpoint_info info;
    struct cairn_plan *plan = NULL;
    char problem[400] = "";
    struct cairn_store *store = open_store();
    run_text("name: w\ntasks: {a: {run: 'true'}, b: {needs: [a], run: exit 1}}", store,
             (struct cairn_run_options){0}, NULL);
    good(cairn_checkpoint_newest(store,
                                 &(struct cairn_checkpoint_filter){.workflow = "w"},
                                 &info, NULL, &error));
    uint64_t seq = info.seq;
    cairn_store_close(store);
    make_newer(seq, 2);
    read_db(&before);
    good(cairn_store_open(
        &store, &(struct cairn_store_options){.path = ".cairn", .read_only = true},
        &error));
    ck_assert_int_eq(
        cairn_checkpoint_verify(store, NULL, note_problem, problem, NULL, &error),
        CAIRN_EDAMAGED);
    ck_assert_msg(strstr(problem, "its format version 2 is not known") != NULL, "%s",
                  problem);
    ck_assert_int_ne(cairn_checkpoint_get(store, info.id, &info, &error), 0);
    good(cairn_checkpoint_newest(store,
                                 &(struct cairn_checkpoint_filter){.workflow = "w"},
                                 &info, NULL, &error));
    ck_assert_uint_lt(info.seq, seq);
    struct cairn_workflow *w =
        parsed("name: w\ntasks: {a: {run: 'true'}, b: {needs: [a], run: exit 1}}");
    good(cairn_plan(&plan, w, store, NULL, &error));
    cairn_plan_free(plan);
    cairn_workflow_free(w);
    cairn_store_close(store);
    read_db(&after);
    ck_assert(str_equal(buf_view(&before), buf_view(&after)));
    buf_release(&before);
    buf_release(&after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("newer record");
    TCase *tests = tcase_create("newer record");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, newer_record);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
