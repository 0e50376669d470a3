/* SPDX-License-Identifier: MIT */
/* Keyed records and rows, and what becomes of those that were made or changed without
 * the key. */
#include "cairn/run.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_int.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/checkpoint.h"
#include "tests/support/key_file.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Records ---- */

static void ready(struct hmac_key *key, char byte, struct sha256 *sha)
{
    char bytes[32];
    memset(bytes, byte, sizeof bytes);
    hmac_key_init(key, bytes, sizeof bytes, sha);
}

static struct record_header a_header(void)
{
    return (struct record_header){.namespace_id = NAMESPACE_WORKFLOW,
                                  .kind = RECORD_DELTA,
                                  .stream = 7,
                                  .seq = 42,
                                  .position = 2,
                                  .time_ns = 5};
}

/* Decodes a record whose SHA-256 is made to fit, as a forger would make it. */
static int check_forged(struct str record, const struct hmac_key *key,
                        struct sha256 *sha)
{
    struct digest digest;
    struct record_header header;
    struct str payload;
    ck_assert_int_eq(sha256_of(record.ptr, record.len, &digest, NULL), 0);
    int rc = record_decode(record, digest_view(&digest), sha, &header, &payload, NULL);
    return rc ? rc : record_authentic(record, &header, key, sha, NULL);
}

START_TEST(records_carry_it)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key key, other;
    struct record_header in = a_header(), out;
    struct buf plain = BUF_INIT, keyed = BUF_INIT;
    struct digest digest, plain_digest;
    struct str payload;
    ready(&key, 'a', sha);
    ready(&other, 'b', sha);
    ck_assert_int_eq(
        record_encode(&in, STR("payload"), sha, &plain, &plain_digest, NULL), 0);
    ck_assert_int_eq(
        record_encode_keyed(&in, STR("payload"), &key, sha, &keyed, &digest, NULL), 0);
    ck_assert_uint_eq(keyed.size, plain.size + RECORD_HMAC_BYTES);
    /* The digest is over all of it. */
    struct digest all;
    ck_assert_int_eq(sha256_of(keyed.data, keyed.size, &all, NULL), 0);
    ck_assert(digest_equal(&all, &digest));
    ck_assert_int_eq(record_decode(buf_view(&keyed), digest_view(&digest), sha, &out,
                                   &payload, NULL),
                     0);
    ck_assert_uint_eq(out.flags, RECORD_KEYED);
    ck_assert(str_equal(payload, STR("payload")));
    ck_assert_int_eq(check_forged(buf_view(&keyed), &key, sha), 0);
    ck_assert_int_eq(check_forged(buf_view(&keyed), &other, sha), CAIRN_EDAMAGED);
    ck_assert_int_eq(check_forged(buf_view(&plain), &key, sha), CAIRN_EDAMAGED);
    buf_release(&plain);
    buf_release(&keyed);
    sha256_free(sha);
}
END_TEST

/* Without the key no byte can be changed, even by who makes the SHA-256 fit. */
START_TEST(no_bit_can_be_forged)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key key;
    struct record_header in = a_header();
    struct buf keyed = BUF_INIT;
    struct digest digest;
    ready(&key, 'a', sha);
    ck_assert_int_eq(
        record_encode_keyed(&in, STR("some payload"), &key, sha, &keyed, &digest, NULL),
        0);
    for (size_t bit = 0; bit < 8 * keyed.size; bit++) {
        keyed.data[bit / 8] = (char)(keyed.data[bit / 8] ^ (1 << bit % 8));
        ck_assert_int_eq(check_forged(buf_view(&keyed), &key, sha), CAIRN_EDAMAGED);
        keyed.data[bit / 8] = (char)(keyed.data[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t n = 0; n < keyed.size; n++)
        ck_assert_int_eq(check_forged((struct str){keyed.data, n}, &key, sha),
                         CAIRN_EDAMAGED);
    /* Without its HMAC and flag it is a good record, of somebody without the key. */
    keyed.data[8] = 0;
    struct str stripped = {keyed.data, keyed.size - RECORD_HMAC_BYTES};
    ck_assert_int_eq(check_forged(stripped, &key, sha), CAIRN_EDAMAGED);
    buf_release(&keyed);
    sha256_free(sha);
}
END_TEST

/* A flag that says more than there are bytes. */
START_TEST(too_short_for_an_hmac)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key key;
    struct record_header in = a_header();
    struct buf record = BUF_INIT;
    struct digest digest;
    ready(&key, 'a', sha);
    for (size_t n = 0; n < 40; n++) {
        static const char zeros[40];
        buf_clear(&record);
        ck_assert_int_eq(
            record_encode(&in, (struct str){zeros, n}, sha, &record, &digest, NULL), 0);
        record.data[8] = RECORD_KEYED;
        ck_assert_int_eq(check_forged(buf_view(&record), &key, sha), CAIRN_EDAMAGED);
        if (n >=
            RECORD_HMAC_BYTES) { /* a length that fits: now only the HMAC can tell */
            record.data[12] = (char)(n - RECORD_HMAC_BYTES);
            ck_assert_int_eq(check_forged(buf_view(&record), &key, sha),
                             CAIRN_EDAMAGED);
        }
    }
    buf_release(&record);
    sha256_free(sha);
}
END_TEST

/* ---- Rows ---- */

static struct cairn_store *open_with(const char *path, char byte, bool create)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    char bytes[32];
    memset(bytes, byte, sizeof bytes);
    if (byte)
        put_key(bytes, sizeof bytes, 0600);
    struct cairn_store_options options = {.path = path,
                                          .create = create,
                                          .sync = CAIRN_SYNC_OFF,
                                          .key_file = byte ? key_path : NULL};
    int rc = cairn_store_open(&store, &options, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(store_key(store) != NULL, byte != 0);
    return store;
}

struct seen {
    struct run_row row;
    char params[64];
};

static int copy_row(void *context, const struct run_row *row)
{
    struct seen *seen = context;
    seen->row = *row;
    snprintf(seen->params, sizeof seen->params, "%.*s", (int)row->params_text.len,
             row->params_text.ptr);
    seen->row.workflow_name = STR("w");
    seen->row.params_text = str_of(seen->params);
    seen->row.file = seen->row.owner_host = seen->row.owner_boot = STR("");
    return 0;
}

static struct seen see_run(struct cairn_store *store)
{
    struct seen seen = {0};
    ck_assert_int_eq(store_get_run(store, 1, copy_row, &seen, NULL), 0);
    seen.row.params_text = STR("");
    return seen;
}

static void add_run(struct cairn_store *store)
{
    struct run_row row = {.gen = 1,
                          .tasks = 1,
                          .file = STR(""),
                          .params_text = STR("good"),
                          .owner_host = STR(""),
                          .owner_boot = STR(""),
                          .workflow_name = STR("w")};
    ck_assert_int_eq(store_begin(store, -1, NULL), 0);
    ck_assert_int_eq(store_workflow_id(store, STR("w"), true, &row.workflow, NULL), 0);
    ck_assert_int_eq(store_add_run(store, &row, NULL), 0);
    ck_assert_int_eq(store_commit(store, NULL), 0);
}

/* What the row is for a handle with this key. */
static void expect_row(const char *path, char byte, bool keyed, bool sum_ok)
{
    struct cairn_store *store = open_with(path, byte, false);
    struct seen seen = see_run(store);
    ck_assert_int_eq(seen.row.keyed, keyed);
    ck_assert_int_eq(seen.row.sum_ok, sum_ok);
    cairn_store_close(store);
}

static int try_set(const char *path, char byte, const char *params)
{
    struct cairn_store *store = open_with(path, byte, false);
    struct seen seen = see_run(store);
    seen.row.params_text = str_of(params);
    ck_assert_int_eq(store_begin(store, -1, NULL), 0);
    int rc = store_set_run(store, &seen.row, NULL);
    if (rc)
        store_abort(store);
    else
        ck_assert_int_eq(store_commit(store, NULL), 0);
    cairn_store_close(store);
    return rc;
}

static void sql(const char *path, const char *text)
{
    char file[400];
    sqlite3 *db;
    snprintf(file, sizeof file, "%s/cairn.db", path);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void remove_store(const char *path)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(rows_of_runs)
{
    char path[320];
    snprintf(path, sizeof path, "%s/s", key_dir);
    struct cairn_store *store = open_with(path, 'a', true);
    add_run(store);
    cairn_store_close(store);
    expect_row(path, 'a', true, true);
    expect_row(path, 0, true, true); /* who has no key reads by the checksum alone */
    expect_row(path, 'b', true, false);
    ck_assert_int_eq(try_set(path, 0, "evil"), CAIRN_EUSAGE);
    expect_row(path, 'a', true, true);
    /* Another key: it looks sound to who has none, but not to who has the right one. */
    ck_assert_int_eq(try_set(path, 'b', "evil"), 0);
    expect_row(path, 0, true, true);
    expect_row(path, 'a', true, false);
    ck_assert_int_eq(try_set(path, 'a', "good"), 0);
    expect_row(path, 'a', true, true);
    /* Its HMAC taken away: an honest row of a run without a key, which is told. */
    sql(path, "UPDATE run SET sum = substr(sum, 1, 8)");
    expect_row(path, 0, false, true);
    expect_row(path, 'a', false, true);
    ck_assert_int_eq(try_set(path, 'a', "evil"), CAIRN_EUSAGE);
    ck_assert_int_eq(try_set(path, 0, "evil"), 0);
    /* Checksums of other lengths are none. */
    sql(path, "UPDATE run SET sum = substr(sum, 1, 7)");
    expect_row(path, 0, false, false);
    sql(path, "UPDATE run SET sum = zeroblob(40)");
    expect_row(path, 0, true, false);
    expect_row(path, 'a', true, false);
    remove_store(path);
}
END_TEST

START_TEST(an_old_hmac_on_a_new_row)
{
    char path[320];
    snprintf(path, sizeof path, "%s/s", key_dir);
    struct cairn_store *store = open_with(path, 'a', true);
    add_run(store);
    cairn_store_close(store);
    sql(path, "CREATE TABLE kept(sum); INSERT INTO kept SELECT sum FROM run");
    sql(path, "UPDATE run SET sum = substr(sum, 1, 8)");
    ck_assert_int_eq(try_set(path, 0, "evil"), 0);
    sql(path, "UPDATE run SET sum = CAST(sum || (SELECT substr(sum, 9) FROM kept) AS "
              "BLOB); DROP TABLE kept");
    expect_row(path, 0, true, true);
    expect_row(path, 'a', true, false);
    remove_store(path);
}
END_TEST

static int put_command(struct cairn_store *store, uint64_t *id)
{
    struct command_row row = {.run = 1,
                              .verb = COMMAND_RESOLVE,
                              .argument = CAIRN_RESOLVED_DONE,
                              .gen = 1,
                              .time_ns = 1,
                              .data = STR("")};
    ck_assert_int_eq(store_begin(store, -1, NULL), 0);
    int rc = store_put_command(store, &row, NULL);
    if (rc)
        store_abort(store);
    else
        ck_assert_int_eq(store_commit(store, NULL), 0);
    *id = row.id;
    return rc;
}

static int next_command(struct cairn_store *store)
{
    struct buf data = BUF_INIT;
    struct command_row row;
    int rc = store_next_command(store, 1, 0, &row, &data, NULL);
    ck_assert_uint_ne(row.id, 0);
    buf_release(&data);
    return rc;
}

static int put_claim(struct cairn_store *store)
{
    struct claim_row row = {
        .run = 1, .gen = 1, .token = STR("t"), .holder = STR("h"), .boot = STR("b")};
    ck_assert_int_eq(store_begin(store, -1, NULL), 0);
    int rc = store_put_claim(store, &row, NULL);
    if (rc)
        store_abort(store);
    else
        ck_assert_int_eq(store_commit(store, NULL), 0);
    return rc;
}

static int see_claim(void *context, const struct claim_row *row)
{
    *(bool *)context = row->sum_ok;
    return 0;
}

static bool claim_holds(struct cairn_store *store)
{
    bool holds = false;
    store_each_claim(store, 1, 1, see_claim, &holds, NULL);
    return holds;
}

START_TEST(commands_and_claims)
{
    char path[320];
    uint64_t id;
    snprintf(path, sizeof path, "%s/s", key_dir);
    struct cairn_store *keyed = open_with(path, 'a', true);
    add_run(keyed);
    struct cairn_store *none = open_with(path, 0, false);
    ck_assert_int_eq(put_command(none, &id), CAIRN_EUSAGE);
    ck_assert_int_eq(put_claim(none), CAIRN_EUSAGE);
    ck_assert_int_eq(put_command(keyed, &id), 0);
    ck_assert_int_eq(put_claim(keyed), 0);
    ck_assert_int_eq(next_command(keyed), 0);
    ck_assert(claim_holds(keyed));
    ck_assert_int_eq(next_command(none), 0);
    ck_assert(claim_holds(none));
    cairn_store_close(none);
    cairn_store_close(keyed);
    struct cairn_store *other = open_with(path, 'b', false);
    ck_assert_int_eq(next_command(other), CAIRN_EDAMAGED);
    ck_assert(!claim_holds(other));
    cairn_store_close(other);
    /* Put there by somebody without the key: no HMAC. */
    sql(path, "UPDATE command SET sum = substr(sum, 1, 8);"
              "UPDATE claim SET sum = substr(sum, 1, 8)");
    none = open_with(path, 0, false);
    ck_assert_int_eq(next_command(none), 0);
    ck_assert(claim_holds(none));
    cairn_store_close(none);
    keyed = open_with(path, 'a', false);
    ck_assert_int_eq(next_command(keyed), CAIRN_EDAMAGED);
    ck_assert(!claim_holds(keyed));
    cairn_store_close(keyed);
    /* The form that version 1 stored, without any checksum. */
    sql(path, "UPDATE command SET sum = NULL, argument = NULL, gen = NULL, task = NULL,"
              " data = NULL, verb = 1");
    none = open_with(path, 0, false);
    ck_assert_int_eq(next_command(none), 0);
    cairn_store_close(none);
    keyed = open_with(path, 'a', false);
    ck_assert_int_eq(next_command(keyed), CAIRN_EDAMAGED);
    cairn_store_close(keyed);
    remove_store(path);
}
END_TEST

/* ---- Streams ---- */

static void key_lab(struct lab *lab, char byte)
{
    cairn_store_close(lab->store);
    lab->store = open_with(lab->path, byte, true);
    lab->stream.chain.in.store = lab->store;
}

struct found {
    int n;
    enum cairn_problem_kind kind; /* of the last one */
    char text[512];
};

static int note_problem(void *context, const struct cairn_problem *problem)
{
    struct found *found = context;
    found->n++;
    found->kind = problem->kind;
    snprintf(found->text, sizeof found->text, "%s", problem->text);
    return 0;
}

/* A keyed run of a few records in a store of its own. */
static struct lab *keyed_lab(void)
{
    struct lab *lab = lab_open(1);
    struct digest graph;
    key_lab(lab, 'a');
    uint64_t run = lab_run(lab, "k", 0, 0, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&lab->stream, &lab->now, 1, NULL, &lab->error));
    for (uint32_t task = 0; task < 3; task++) {
        struct change change = {
            .task = task, .outcome = CAIRN_COMPLETED, .attempts = 1};
        MUST(lab, run_stream_delta(&lab->stream, &change, 1, 2, NULL, &lab->error));
    }
    MUST(lab, store_commit(lab->store, &lab->error));
    return lab;
}

static int verify(struct lab *lab, struct found *found,
                  struct cairn_verify_result *result)
{
    *found = (struct found){0};
    *result = (struct cairn_verify_result){0};
    return cairn_checkpoint_verify(lab->store, NULL, note_problem, found, result,
                                   &lab->error);
}

START_TEST(streams)
{
    struct lab *lab = keyed_lab();
    struct cairn_verify_result result;
    struct found found;
    uint64_t keyed = lab->stream.chain.id;
    /* The lab's own run has no key: counted, checked, no problem. */
    MUST(lab, verify(lab, &found, &result));
    ck_assert_uint_eq(result.hmacs, 4);
    ck_assert_uint_eq(result.unchecked_hmacs, 0);
    ck_assert_uint_eq(result.unkeyed_runs, 1);
    key_lab(lab, 0);
    MUST(lab, verify(lab, &found, &result));
    ck_assert_uint_eq(result.hmacs, 4);
    ck_assert_uint_eq(result.unchecked_hmacs, 4);
    ck_assert_uint_eq(result.unkeyed_runs, 0);
    /* Recovered with and without the key, and not with another. */
    struct recovery recovery;
    MUST(lab, outcomes_recover(lab->store, lab->sha, keyed, &recovery, &lab->error));
    ck_assert_uint_eq(recovery.n_damaged, 0);
    recovery_release(&recovery);
    key_lab(lab, 'b');
    ck_assert_int_eq(
        outcomes_recover(lab->store, lab->sha, keyed, &recovery, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_int_eq(verify(lab, &found, &result), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 1); /* it is the key, not four records and their run */
    ck_assert_int_eq(found.kind, CAIRN_PROBLEM_KEY);
    ck_assert_uint_eq(result.damaged, 0);
    ck_assert_uint_eq(result.unchecked_hmacs, 4);
    key_lab(lab, 'a');
    MUST(lab, outcomes_recover(lab->store, lab->sha, keyed, &recovery, &lab->error));
    ck_assert_uint_eq(recovery.n_damaged, 0);
    recovery_release(&recovery);
    lab_close(lab);
}
END_TEST

/* The row of the run says "no key", its records have HMACs: somebody changed the row.
 */
START_TEST(stripped_run)
{
    struct lab *lab = keyed_lab();
    struct cairn_verify_result result;
    struct found found;
    key_lab(lab, 0);
    sql(lab->path, "UPDATE run SET sum = substr(sum, 1, 8)");
    key_lab(lab, 'a');
    ck_assert_int_eq(verify(lab, &found, &result), CAIRN_EDAMAGED);
    ck_assert_int_eq(found.n, 4);
    ck_assert(strstr(found.text, "the row of its run has none any more") != NULL);
    lab_close(lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *tests = tcase_create("key");
    tcase_add_checked_fixture(tests, make_key_dir, remove_key_dir);
    tcase_add_test(tests, records_carry_it);
    tcase_add_test(tests, no_bit_can_be_forged);
    tcase_add_test(tests, too_short_for_an_hmac);
    tcase_add_test(tests, rows_of_runs);
    tcase_add_test(tests, an_old_hmac_on_a_new_row);
    tcase_add_test(tests, commands_and_claims);
    tcase_add_test(tests, streams);
    tcase_add_test(tests, stripped_run);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
