/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* The life of a store (storage/store*.c): opening, the write lock, the marker, and what
 * a killed process leaves. Its rows are in check_rows.c, faults in
 * check_store_faults.c. */
#include "base/os.h"
#include "storage/health.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/store.h"

/* ---- Life ---- */

START_TEST(files_of_a_store)
{
    struct cairn_store *store = NULL, *again;
    struct buf text = BUF_INIT;
    struct stat st;
    char id[33];
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    struct cairn_store_options options = {.path = path};
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), CAIRN_ENOTFOUND);
    ck_assert_int_ne(stat(path, &st), 0);
    store = open_store();
    ck_assert_str_eq(strrchr(cairn_store_path(store), '/'), "/.cairn");
    ck_assert_uint_eq(strlen(store_lineage(store)), 32);
    memcpy(id, store_lineage(store), 33);
    ck_assert(!store_read_only(store));
    ck_assert_ptr_null(store_network_fs(store));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(store_live_dir(store), &st), 0);
    ck_assert(S_ISDIR(st.st_mode));
    static const char *const names[] = {"cairn.db", "cairn.db-wal", "lock"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(stat(in_store(names[i]), &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0600);
    }
    good(os_read_file(in_store(".gitignore"), 10, &text, &error));
    ck_assert_str_eq(text.data, "*\n");
    buf_release(&text);
    /* Its tables are those that the migrations make of an old one. */
    char line[100] = "";
    good(store_check_schema(store, note_line, line, &error));
    ck_assert_str_eq(line, "");
    good(store_check_pages(store, note_line, line, &error));
    ck_assert_str_eq(line, "");
    again = open_reader();
    ck_assert_str_eq(store_lineage(again), id);
    ck_assert(store_read_only(again));
    ck_assert_int_eq(store_begin(again, 0, &error), CAIRN_EUSAGE);
    cairn_store_close(again);
    cairn_store_close(store);
    cairn_store_close(NULL);
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), 0);
    ck_assert_str_eq(store_lineage(store), id);
    cairn_store_close(store);
}
END_TEST

START_TEST(found_upward)
{
    struct cairn_store *store = NULL;
    struct cairn_store_options options = {.create = false};
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(mkdir("a", 0700), 0);
    ck_assert_int_eq(mkdir("a/b", 0700), 0);
    ck_assert_int_eq(mkdir("a/.cairn", 0700), 0); /* nothing in it: not a store */
    ck_assert_int_eq(chdir("a/b"), 0);
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), CAIRN_ENOTFOUND);
    cairn_store_close(open_store());
    options.create = true;
    good(cairn_store_open(&store, &options, &error));
    char *real = realpath(path, NULL);
    ck_assert_str_eq(cairn_store_path(store), real);
    free(real);
    cairn_store_close(store);
    ck_assert_int_ne(access(".cairn", F_OK), 0);
}
END_TEST

START_TEST(odd_names)
{
    struct cairn_store *store = NULL;
    snprintf(path, sizeof path, "%s/a b%%20?x#y'", dir);
    store = open_store();
    commit_one(store);
    cairn_store_close(store);
    store = open_reader();
    ck_assert_uint_eq(count(store), 1);
    cairn_store_close(store);
    ck_assert(exists("cairn.db"));
}
END_TEST

START_TEST(reader_beside_writer)
{
    struct cairn_store *writer = open_store(), *reader = open_reader();
    uint32_t version = store_data_version(reader);
    ck_assert_uint_eq(count(reader), 0);
    ck_assert_uint_eq(store_data_version(reader), version);
    commit_one(writer);
    ck_assert_uint_eq(count(reader), 1);
    ck_assert_uint_ne(store_data_version(reader), version);
    good(store_begin_read(reader, &error));
    ck_assert_uint_eq(count(reader), 1);
    commit_one(writer);
    good(store_begin_read(reader, &error)); /* nested */
    ck_assert_uint_eq(count(reader), 1);
    store_end_read(reader);
    ck_assert_uint_eq(count(reader), 1);
    store_end_read(reader);
    ck_assert_uint_eq(count(reader), 2);
    good(store_begin_read(reader, &error));
    ck_assert_uint_eq(count(reader), 2);
    cairn_store_close(writer);
    cairn_store_close(reader);
    reader = open_reader();
    ck_assert_uint_eq(count(reader), 2);
    cairn_store_close(reader);
}
END_TEST

START_TEST(reader_that_is_kept)
{
    struct cairn_store *writer = open_store(), *reader = open_reader();
    struct cairn_store_options options = {.path = path, .read_only = true};
    struct cairn_store_options writing = {.path = path}, above = {.read_only = true};
    ck_assert(cairn_store_is_unchanged(reader, &options));
    ck_assert(!cairn_store_is_unchanged(reader, &writing));
    ck_assert(!cairn_store_is_unchanged(writer, &writing));
    commit_one(writer);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    good(store_begin_read(reader, &error));
    ck_assert(!cairn_store_is_unchanged(reader, &options));
    store_end_read(reader);
    cairn_store_close(writer);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    ck_assert_uint_eq(count(reader), 1);

    /* Found upward, and then another one nearer by. */
    ck_assert_int_eq(chdir(dir), 0);
    cairn_store_close(reader);
    good(cairn_store_open(&reader, &above, &error));
    ck_assert(cairn_store_is_unchanged(reader, &above));
    ck_assert_int_eq(mkdir("below", 0700), 0);
    ck_assert_int_eq(chdir("below"), 0);
    ck_assert(cairn_store_is_unchanged(reader, &above));
    writing.path = ".cairn";
    writing.create = true;
    good(cairn_store_open(&writer, &writing, &error));
    cairn_store_close(writer);
    ck_assert(!cairn_store_is_unchanged(reader, &above));
    cairn_store_close(reader);

    /* Each of the files. */
    static const char *const names[] = {"lock", "cairn.db-wal", "cairn.db", "."};
    for (size_t i = 0; i < 4; i++) {
        reader = open_reader();
        ck_assert(cairn_store_is_unchanged(reader, &options));
        ck_assert_int_eq(chmod(in_store(names[i]), 0710), 0);
        ck_assert(!cairn_store_is_unchanged(reader, &options));
        ck_assert_int_eq(chmod(in_store(names[i]), i == 3 ? 0700 : 0600), 0);
        ck_assert(cairn_store_is_unchanged(reader, &options));
        if (i < 2)
            ck_assert_int_eq(unlink(in_store(names[i])), 0);
        ck_assert(cairn_store_is_unchanged(reader, &options) == (i >= 2));
        cairn_store_close(reader);
        cairn_store_close(open_store());
    }
}
END_TEST

START_TEST(two_handles_take_turns)
{
    struct cairn_store *a = open_store(), *b = open_store();
    uint64_t seq;
    good(store_begin(a, 0, &error));
    good(put(a, 150, &seq));
    ck_assert_int_eq(store_begin(b, 0, &error), CAIRN_EBUSY);
    ck_assert_ptr_nonnull(strstr(error.text, "another cairn process"));
    good(store_begin_read(a, &error)); /* inside a write transaction: sees it */
    ck_assert_uint_eq(count(a), 1);
    store_end_read(a);
    ck_assert_uint_eq(count(b), 0);
    good(store_commit(a, &error));
    /* Each sees the numbers that the other one has used. */
    for (uint64_t i = 2; i < 10; i++)
        ck_assert_uint_eq(commit_one(i % 3 ? a : b), i);
    good(store_begin(b, 0, &error));
    good(put(b, 150, &seq));
    good(put(b, 150, &seq));
    ck_assert_uint_eq(seq, 11);
    store_abort(b);
    store_abort(b);
    ck_assert_uint_eq(commit_one(b), 10);
    ck_assert_uint_eq(commit_one(a), 11);
    cairn_store_close(b);
    cairn_store_close(a);
}
END_TEST

/* What failed once is not committed in part. */
START_TEST(failed_write_spoils_the_transaction)
{
    struct cairn_store *store = open_store();
    static const struct digest digest;
    struct checkpoint_row row = {.seq = 1,
                                 .namespace_id = 1,
                                 .stream = 1,
                                 .record = STR("a record"),
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    uint64_t seq;
    good(store_begin(store, 0, &error));
    good(put(store, 150, &seq));
    ck_assert_int_eq(store_put_checkpoint(store, &row, &error), CAIRN_EDAMAGED);
    row.seq = 2;
    ck_assert_int_eq(store_put_checkpoint(store, &row, &error), CAIRN_EIO);
    ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
    store_abort(store);
    ck_assert_uint_eq(count(store), 0);
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(wal_stays_bounded)
{
    struct cairn_store *store = NULL, *reader;
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct stat st;
    good(cairn_store_open(&store, &options, &error));
    reader = open_reader();
    for (int i = 0; i < 6000; i++) {
        commit_one(store);
        if (i % 500 == 0)
            ck_assert_uint_eq(count(reader), (uint64_t)i + 1);
    }
    ck_assert_int_eq(stat(in_store("cairn.db-wal"), &st), 0);
    ck_assert_int_lt(st.st_size, (STORE_TRANSFER_PAGES + 100) * 2072);
    cairn_store_close(store);
    ck_assert_uint_eq(count(reader), 6000);
    ck_assert_int_eq(stat(in_store("cairn.db-wal"), &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    cairn_store_close(reader);
}
END_TEST

START_TEST(check_pages)
{
    char line[100] = "";
    struct cairn_store *store = open_store();
    commit_one(store);
    good(store_check_pages(store, note_line, line, &error));
    ck_assert_str_eq(line, "");
    cairn_store_close(store);
}
END_TEST

/* ---- Locks between processes ---- */

START_TEST(other_process_holds_the_lock)
{
    int out;
    struct cairn_store *store = open_store();
    pid_t pid = start("hold", &out);
    ck_assert_int_eq(store_begin(store, 0, &error), CAIRN_EBUSY);
    ck_assert_int_eq(store_begin(store, 5, &error), CAIRN_EBUSY);
    ck_assert_uint_eq(count(store), 5);
    murder(pid, out);
    good(store_begin(store, 0, &error));
    store_abort(store);
    /* Its open transaction is gone, and its numbers are free. */
    ck_assert_uint_eq(commit_one(store), 6);
    cairn_store_close(store);
    ck_assert(!exists("open"));
}
END_TEST

START_TEST(opening_waits_for_the_lock)
{
    int out;
    struct cairn_store *store = NULL;
    pid_t pid = start("hold", &out);
    struct cairn_store_options options = {.path = path, .lock_wait_ms = 5};
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), CAIRN_EBUSY);
    options.read_only = true;
    good(cairn_store_open(&store, &options, &error));
    ck_assert_uint_eq(count(store), 5);
    cairn_store_close(store);
    murder(pid, out);
}
END_TEST

/* ---- The marker ---- */

START_TEST(marker_stands_while_writers_live)
{
    struct cairn_store *a = open_store(), *b = open_store(), *reader = open_reader();
    ck_assert(!exists("open"));
    commit_one(a);
    ck_assert(exists("open"));
    commit_one(b);
    cairn_store_close(a);
    ck_assert(exists("open"));
    cairn_store_close(b);
    ck_assert(!exists("open"));
    ck_assert(exists("cairn.db-wal"));
    ck_assert_uint_eq(count(reader), 2);
    cairn_store_close(reader);
}
END_TEST

START_TEST(killed_writer_loses_nothing)
{
    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    ck_assert(exists("open"));
    struct cairn_store *store = open_reader();
    ck_assert_uint_eq(count(store), 5);
    cairn_store_close(store);
    ck_assert(exists("open"));
    store = open_store();
    ck_assert_uint_eq(count(store), 5);
    cairn_store_close(store);
    ck_assert(!exists("open"));
    store = open_reader();
    ck_assert_uint_eq(count(store), 5);
    cairn_store_close(store);
}
END_TEST

START_TEST(wal_gone_after_a_kill)
{
    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
    expect_refused(CAIRN_EDAMAGED, "commits were lost: the write-ahead log is gone");
    ck_assert(!exists("cairn.db-wal")); /* looking did not destroy the evidence */
    ck_assert_int_eq(unlink(in_store("open")), 0);
    struct cairn_store *store = open_store();
    ck_assert_uint_eq(count(store), 0);
    cairn_store_close(store);
}
END_TEST

START_TEST(wal_gone_after_a_clean_end)
{
    struct cairn_store *store = open_store();
    commit_one(store);
    cairn_store_close(store);
    ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
    store = open_reader();
    ck_assert_uint_eq(count(store), 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(wal_gone_under_a_live_writer)
{
    struct cairn_store *store = open_store();
    commit_one(store);
    ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
    ck_assert_int_eq(store_begin(store, 0, &error), CAIRN_EDAMAGED);
    expect_refused(CAIRN_EDAMAGED, "commits were lost");
    cairn_store_close(store);
    expect_refused(CAIRN_EDAMAGED, "commits were lost");
}
END_TEST

START_TEST(database_gone)
{
    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    ck_assert_int_eq(truncate(in_store("cairn.db"), 0), 0);
    expect_refused(CAIRN_EDAMAGED, "the database cairn.db is gone");
    ck_assert_int_eq(unlink(in_store("cairn.db")), 0);
    expect_refused(CAIRN_EDAMAGED, "the database cairn.db is gone");
}
END_TEST

/* A creation that was cut off before its first commit is simply done again. */
START_TEST(creation_cut_off)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(close(open(in_store("making"), O_CREAT | O_WRONLY, 0600)), 0);
    ck_assert_int_eq(close(open(in_store("cairn.db"), O_CREAT | O_WRONLY, 0600)), 0);
    struct cairn_store *store = NULL;
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    store = open_store();
    ck_assert(!exists("making"));
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
}
END_TEST

/* An emptied database is not taken for the beginning of one, nor is anything begun anew
 * over it. */
START_TEST(database_emptied)
{
    struct cairn_store *store = open_store();
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
    ck_assert(!exists("making"));
    ck_assert_int_eq(truncate(in_store("cairn.db"), 0), 0);
    expect_refused(CAIRN_EDAMAGED, "is empty");
}
END_TEST

/* Wherever a log is cut off so that a commit is lost, the next one to look is told;
 * also in the middle of a transaction that is larger than the room kept behind the
 * last. */
START_TEST(log_cut_off)
{
    int out;
    pid_t pid = start("much", &out);
    struct stat st;
    int whole = 0, lost = 0;
    murder(pid, out);
    ck_assert_int_eq(stat(in_store("cairn.db-wal"), &st), 0);
    for (off_t size = st.st_size; size > 32; size -= 97) {
        struct cairn_store *store = NULL;
        ck_assert_int_eq(truncate(in_store("cairn.db-wal"), size), 0);
        if (try_open(&store, true)) {
            expect_refused(CAIRN_EDAMAGED, "cut off");
            lost++;
            continue;
        }
        ck_assert_msg(count(store) == 5 && !lost, "%lld of %lld bytes", (long long)size,
                      (long long)st.st_size);
        whole++;
        cairn_store_close(store);
    }
    ck_assert(whole && lost);
}
END_TEST

/* So is an emptied log; but one that is empty since nothing was committed is not. */
START_TEST(log_emptied)
{
    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    ck_assert_int_eq(truncate(in_store("cairn.db-wal"), 0), 0);
    expect_refused(CAIRN_EDAMAGED, "the write-ahead log is damaged, cut off or empty");
    ck_assert_int_eq(truncate(in_store("cairn.db-wal"), 60000), 0);
    expect_refused(CAIRN_EDAMAGED, "the write-ahead log is damaged, cut off or empty");
    ck_assert_int_eq(truncate(in_store("cairn.db-wal"), 0), 0);
    good(os_write_file(in_store("open"), 0600,
                       STR("pid 1 on x\nlog empty\nsync full\n"), &error));
    struct cairn_store *store = open_store();
    cairn_store_close(store);
}
END_TEST

/* The first `torn` bytes of the next header of the log, as a power cut may leave it
 * when the log is begun anew; 0: `header` as it was. */
static void tear_header(const uint8_t header[32], size_t torn)
{
    uint8_t next[32];
    int fd = open(in_store("cairn.db-wal"), O_WRONLY | O_CLOEXEC);
    memcpy(next, header, sizeof next);
    for (size_t i = 15; i < torn; i++)
        next[i] ^= (uint8_t)(i < 20 ? 1 : 0xa5);
    ck_assert_int_eq(pwrite(fd, next, sizeof next, 0), sizeof next);
    ck_assert_int_eq(close(fd), 0);
}

static void read_header(uint8_t header[32])
{
    int fd = open(in_store("cairn.db-wal"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, header, 32, 0), 32);
    ck_assert_int_eq(close(fd), 0);
}

/* It is begun anew once all of it is in the database: nothing is lost with it then. */
/* What a new reader is refused, one that is kept is to find out, too. */
START_TEST(reader_that_is_kept_judges)
{
    struct cairn_store_options options = {.path = path, .read_only = true};
    cairn_store_close(open_store());
    struct cairn_store *reader = open_reader();
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    ck_assert_int_eq(link(in_store("cairn.db"), "other"), 0);
    ck_assert(!cairn_store_is_unchanged(reader, &options));
    ck_assert_int_eq(unlink("other"), 0);
    good(os_write_file(in_store(STORE_NOTE), 0600, STR(""), &error));
    ck_assert(!cairn_store_is_unchanged(reader, &options));
    ck_assert_int_eq(unlink(in_store(STORE_NOTE)), 0);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    cairn_store_close(reader);

    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    reader = open_reader();
    ck_assert_uint_eq(count(reader), 5);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    ck_assert_int_eq(truncate(in_store("cairn.db-wal"), 0), 0);
    ck_assert(!cairn_store_is_unchanged(reader, &options));
    cairn_store_close(reader);
}
END_TEST

START_TEST(log_begun_anew)
{
    uint8_t header[32];
    int out;
    pid_t pid = start("transfer", &out);
    murder(pid, out);
    read_header(header);
    for (size_t torn = 0; torn < 32; torn++) {
        tear_header(header, torn);
        struct cairn_store *store = open_reader();
        ck_assert_uint_eq(count(store), 5);
        cairn_store_close(store);
    }
    struct cairn_store *store = open_store();
    ck_assert_uint_eq(count(store), 5);
    ck_assert_uint_eq(commit_one(store), 6);
    cairn_store_close(store);
    store = open_reader();
    ck_assert_uint_eq(count(store), 6);
    cairn_store_close(store);
}
END_TEST

/* The page that the first frame of the log is of. */
static uint32_t first_page(void)
{
    uint8_t number[4];
    int fd = open(in_store("cairn.db-wal"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, number, sizeof number, 32), sizeof number);
    ck_assert_int_eq(close(fd), 0);
    return (uint32_t)number[0] << 24 | (uint32_t)number[1] << 16 |
           (uint32_t)number[2] << 8 | number[3];
}

static void spoil_page(uint32_t page)
{
    uint8_t byte;
    off_t at = (off_t)(page - 1) * 2048 + 2047;
    int fd = open(in_store("cairn.db"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(log_header_damaged)
{
    uint8_t header[32];
    int out;
    pid_t pid = start("write", &out);
    murder(pid, out);
    read_header(header);
    tear_header(header, 20);
    expect_refused(CAIRN_EDAMAGED, "the write-ahead log is damaged, cut off or empty");
    teardown();
    setup();
    pid = start("transfer", &out);
    murder(pid, out);
    read_header(header);
    tear_header(header, 20);
    struct cairn_store *store = open_reader();
    cairn_store_close(store);
    /* A page of the database that the log has, too. */
    spoil_page(first_page());
    expect_refused(CAIRN_EDAMAGED, "the write-ahead log is damaged, cut off or empty");
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    const TTest *const tests[] = {files_of_a_store,
                                  found_upward,
                                  odd_names,
                                  reader_beside_writer,
                                  reader_that_is_kept,
                                  two_handles_take_turns,
                                  failed_write_spoils_the_transaction,
                                  wal_stays_bounded,
                                  check_pages,
                                  database_emptied,
                                  log_cut_off,
                                  log_emptied,
                                  reader_that_is_kept_judges,
                                  log_begun_anew,
                                  log_header_damaged,
                                  other_process_holds_the_lock,
                                  opening_waits_for_the_lock,
                                  marker_stands_while_writers_live,
                                  killed_writer_loses_nothing,
                                  wal_gone_after_a_kill,
                                  wal_gone_after_a_clean_end,
                                  wal_gone_under_a_live_writer,
                                  database_gone,
                                  creation_cut_off};
    return run_tests("store", tests, sizeof tests / sizeof tests[0]);
}
