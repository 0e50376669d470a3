/* SPDX-License-Identifier: MIT */
/* The key of HMACs: RFC 4231, the file it comes from, keyed records and rows, and what
 * becomes of those that somebody without the key has made or changed. */
#include "cairn/run.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/checkpoint.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- HMAC ---- */

static void unhex(const char *hex, struct buf *out)
{
    for (; *hex; hex += 2) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
        buf_byte(out, (uint8_t)byte);
    }
}

static void repeat(uint8_t byte, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_byte(out, byte);
}

static void check_hmac(struct buf *key, struct buf *text, const char *wanted, size_t n)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key ready;
    struct digest got, other;
    char hex[DIGEST_HEX_SIZE];
    hmac_key_init(&ready, key->data, key->size, sha);
    /* In parts, and twice: nothing of a round is left for the next. */
    for (size_t cut = 0; cut <= text->size; cut += text->size) {
        struct str parts[] = {{text->data, cut}, {text->data + cut, text->size - cut}};
        hmac_of(&ready, sha, parts, 2, &got);
        digest_hex(&got, hex);
        ck_assert_msg(strncmp(hex, wanted, n) == 0, "%s, not %s", hex, wanted);
    }
    ck_assert_int_eq(
        hmac_sha256(key->data, key->size, text->data, text->size, &other, NULL), 0);
    ck_assert(digest_equal(&got, &other));
    hmac_key_wipe(&ready);
    for (size_t i = 0; i < sizeof ready; i++)
        ck_assert_uint_eq(((const uint8_t *)&ready)[i], 0);
    buf_release(key);
    buf_release(text);
    sha256_free(sha);
}

START_TEST(rfc_4231)
{
    struct buf key = BUF_INIT, text = BUF_INIT;
    repeat(0x0b, 20, &key);
    buf_text(&text, "Hi There");
    check_hmac(&key, &text,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", 64);
    buf_text(&key, "Jefe");
    buf_text(&text, "what do ya want for nothing?");
    check_hmac(&key, &text,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 64);
    repeat(0xaa, 20, &key);
    repeat(0xdd, 50, &text);
    check_hmac(&key, &text,
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", 64);
    unhex("0102030405060708090a0b0c0d0e0f10111213141516171819", &key);
    repeat(0xcd, 50, &text);
    check_hmac(&key, &text,
               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b", 64);
    repeat(0x0c, 20, &key);
    buf_text(&text, "Test With Truncation");
    check_hmac(&key, &text, "a3b6167473100ee06e0c796c2955552b", 32);
    repeat(0xaa, 131, &key);
    buf_text(&text, "Test Using Larger Than Block-Size Key - Hash Key First");
    check_hmac(&key, &text,
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 64);
    repeat(0xaa, 131, &key);
    buf_text(&text, "This is a test using a larger than block-size key and a larger "
                    "than block-size data. The key needs to be hashed before being "
                    "used by the HMAC algorithm.");
    check_hmac(&key, &text,
               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2", 64);
}
END_TEST

/* ---- The file ---- */

static char key_dir[256], key_path[300];

static void make_dir(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(key_dir, sizeof key_dir, "%s/check_key.XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(key_dir));
    snprintf(key_path, sizeof key_path, "%s/key", key_dir);
}

static void remove_dir(void)
{
    unlink(key_path);
    rmdir(key_path);
    rmdir(key_dir);
}

static void put_key(const char *bytes, size_t n, mode_t mode)
{
    unlink(key_path);
    int fd = open(key_path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static int read_key(struct hmac_key *out, struct cairn_error *error)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key *key = NULL;
    int rc = store_key_read(key_path, sha, &key, error);
    ck_assert_int_eq(rc == 0, key != NULL);
    if (rc == 0)
        *out = *key;
    store_key_free(key);
    sha256_free(sha);
    return rc;
}

START_TEST(sizes_of_keys)
{
    static char bytes[4098];
    struct hmac_key key, other;
    struct cairn_error error;
    memset(bytes, 'k', sizeof bytes);
    const struct {
        size_t n;
        int code;
    } tries[] = {{0, CAIRN_EUSAGE}, {31, CAIRN_EUSAGE},   {32, 0},
                 {4096, 0},         {4097, CAIRN_EUSAGE}, {4098, CAIRN_EUSAGE}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        put_key(bytes, tries[i].n, 0600);
        ck_assert_int_eq(read_key(&key, &error), tries[i].code);
        if (tries[i].code)
            ck_assert(strstr(error.text, key_path) != NULL);
    }
    /* Every byte counts, a newline at the end as well. */
    put_key(bytes, 32, 0600);
    ck_assert_int_eq(read_key(&key, &error), 0);
    bytes[32] = '\n';
    put_key(bytes, 33, 0400);
    ck_assert_int_eq(read_key(&other, &error), 0);
    ck_assert(memcmp(&key, &other, sizeof key) != 0);
}
END_TEST

START_TEST(what_is_no_key_file)
{
    static const mode_t open_modes[] = {0640, 0604, 0620, 0610, 0644, 0777};
    char bytes[40] = {0};
    struct hmac_key key;
    struct cairn_error error;
    ck_assert_int_eq(read_key(&key, &error), CAIRN_ENOTFOUND);
    for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; i++) {
        put_key(bytes, sizeof bytes, open_modes[i]);
        ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
        ck_assert(strstr(error.text, "chmod 0600") != NULL);
    }
    if (geteuid() != 0) {
        put_key(bytes, sizeof bytes, 0);
        ck_assert_int_eq(read_key(&key, &error), CAIRN_EIO);
    }
    unlink(key_path);
    ck_assert_int_eq(mkfifo(key_path, 0600), 0);
    ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
    unlink(key_path);
    ck_assert_int_eq(mkdir(key_path, 0700), 0);
    ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
    ck_assert(strstr(error.text, "is not a file") != NULL);
}
END_TEST

/* A file of somebody else is his to guard, as with ssh: only root can make one here. */
START_TEST(file_of_somebody_else)
{
    char bytes[40] = {0};
    struct hmac_key key;
    struct cairn_error error;
    put_key(bytes, sizeof bytes, 0640);
    if (geteuid() == 0 && chown(key_path, 65534, 65534) == 0)
        ck_assert_int_eq(read_key(&key, &error), 0);
}
END_TEST

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
    tcase_add_checked_fixture(tests, make_dir, remove_dir);
    tcase_add_test(tests, rfc_4231);
    tcase_add_test(tests, sizes_of_keys);
    tcase_add_test(tests, what_is_no_key_file);
    tcase_add_test(tests, file_of_somebody_else);
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
