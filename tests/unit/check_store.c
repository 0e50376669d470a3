/* The life of a store (storage/store*.c): opening, the write lock, the marker, what a
 * crash leaves, and failing disks. The rows are in check_rows.c. Other processes are
 * this program again, started with the name of a part to play. */
#include "base/clock.h"
#include "storage/store_int.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[256], path[300], name_buffer[600];
static struct cairn_error error;

static int remove_entry(const char *name, const struct stat *st, int type,
                        struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(name);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_store.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
}

static void teardown(void)
{
    nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

static const char *in_store(const char *name)
{
    snprintf(name_buffer, sizeof name_buffer, "%s/%s", path, name);
    return name_buffer;
}

static bool exists(const char *name)
{
    struct stat st;
    return stat(in_store(name), &st) == 0;
}

static int try_open(struct cairn_store **store, bool read_only)
{
    struct cairn_store_options options = {
        .path = path, .create = !read_only, .read_only = read_only};
    return cairn_store_open(store, &options, &error);
}

static struct cairn_store *open_store(void)
{
    struct cairn_store *store = NULL;
    good(try_open(&store, false));
    return store;
}

static struct cairn_store *open_reader(void)
{
    struct cairn_store *store = NULL;
    good(try_open(&store, true));
    return store;
}

static void expect_refused(int code, const char *part)
{
    struct cairn_store *store = NULL;
    for (int read_only = 0; read_only < 2; read_only++) {
        ck_assert_int_eq(try_open(&store, read_only), code);
        ck_assert_int_eq(error.code, code);
        ck_assert_ptr_null(store);
        ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    }
}

/* Puts the next checkpoint; the transaction is open. */
static int put(struct cairn_store *store, size_t size, uint64_t *seq)
{
    static char record[100000];
    struct digest digest = {{1}};
    int rc = store_next_seq(store, seq, &error);
    if (rc)
        return rc;
    memcpy(digest.bytes, seq, sizeof *seq);
    struct checkpoint_row row = {.seq = *seq,
                                 .namespace_id = NAMESPACE_WORKFLOW,
                                 .kind = 2,
                                 .stream = 1,
                                 .parent = *seq - 1,
                                 .record = {record, size},
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    return store_put_checkpoint(store, &row, &error);
}

static uint64_t commit_one(struct cairn_store *store)
{
    uint64_t seq = 0;
    good(store_begin(store, -1, &error));
    good(put(store, 150, &seq));
    good(store_commit(store, &error));
    return seq;
}

static uint64_t count(struct cairn_store *store)
{
    uint64_t n = 0;
    good(store_count_checkpoints(store, &(struct checkpoint_range){0}, &n, &error));
    return n;
}

/* ---- Other processes ---- */

static pid_t start(const char *part, int *out)
{
    char self[] = "/proc/self/exe", word[32], value[300];
    char *argv[] = {self, word, value, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    char byte;
    snprintf(word, sizeof word, "%s", part);
    snprintf(value, sizeof value, "%s", path);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ck_assert_int_eq(posix_spawn(&pid, self, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1); /* it has done its part */
    *out = ends[0];
    return pid;
}

static void murder(pid_t pid, int out)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(out);
}

static int play(const char *part)
{
    struct cairn_store *store = NULL;
    uint64_t seq;
    int rc = try_open(&store, false);
    if (!rc && strcmp(part, "open") != 0) {
        for (int i = 0; !rc && i < 5; i++) {
            rc = store_begin(store, -1, &error);
            if (!rc)
                rc = put(store, 150, &seq);
            if (!rc)
                rc = store_commit(store, &error);
        }
        if (!rc && strcmp(part, "hold") == 0)
            rc = store_begin(store, -1, &error);
        if (!rc && strcmp(part, "hold") == 0)
            rc = put(store, 150, &seq);
    }
    if (rc || write(1, "x", 1) != 1) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    pause();
    return 0;
}

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
    ck_assert_uint_eq(strlen(store_id(store)), 32);
    memcpy(id, store_id(store), 33);
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
    again = open_reader();
    ck_assert_str_eq(store_id(again), id);
    ck_assert(store_read_only(again));
    ck_assert_int_eq(store_begin(again, 0, &error), CAIRN_EUSAGE);
    cairn_store_close(again);
    cairn_store_close(store);
    cairn_store_close(NULL);
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), 0);
    ck_assert_str_eq(store_id(store), id);
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
    struct checkpoint_row row = {.seq = 1, .namespace_id = 1, .stream = 1};
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

static int note_line(void *context, const char *line)
{
    snprintf(context, 100, "%.99s", line);
    return 0;
}

START_TEST(quick_check)
{
    char line[100] = "";
    struct cairn_store *store = open_store();
    commit_one(store);
    good(store_quick_check(store, note_line, line, &error));
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
    ck_assert_int_eq(close(open(in_store("cairn.db"), O_CREAT | O_WRONLY, 0600)), 0);
    struct cairn_store *store = NULL;
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    store = open_store();
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
}
END_TEST

/* ---- Stores that are not for us ---- */

static void overwrite(const char *name, off_t at, const void *bytes, size_t n)
{
    int fd = open(in_store(name), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
    ck_assert_int_eq(close(fd), 0);
}

/* Every file of the store, name and content. */
static void take_picture(struct buf *out)
{
    static const char *const names[] = {
        "cairn.db", "cairn.db-wal", "cairn.db-shm", "cairn.db-journal", "lock", "open"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        buf_text(out, names[i]);
        buf_text(out, exists(names[i]) ? " is " : " is not ");
        if (exists(names[i]))
            good(os_read_file(in_store(names[i]), 1 << 24, out, &error));
    }
}

static void expect_untouched(int code, const char *part)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    take_picture(&before);
    expect_refused(code, part);
    take_picture(&after);
    ck_assert(str_equal(buf_view(&before), buf_view(&after)));
    buf_release(&before);
    buf_release(&after);
}

START_TEST(newer_store_is_left_alone)
{
    cairn_store_close(open_store());
    overwrite("cairn.db", 60, "\0\0\0\2", 4);
    expect_untouched(CAIRN_ENEWER, "newer cairn");
    ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
    ck_assert_int_eq(unlink(in_store("cairn.db-shm")), 0);
    expect_untouched(CAIRN_ENEWER, "newer cairn");
}
END_TEST

START_TEST(foreign_database_is_left_alone)
{
    cairn_store_close(open_store());
    overwrite("cairn.db", 68, "\1\2\3\4", 4);
    expect_untouched(CAIRN_EDAMAGED, "not a cairn store");
}
END_TEST

START_TEST(garbage_is_left_alone)
{
    cairn_store_close(open_store());
    overwrite("cairn.db", 0, "garbage!", 8);
    expect_untouched(CAIRN_EDAMAGED, "cairn doctor");
}
END_TEST

START_TEST(torn_page)
{
    struct cairn_store *store = open_store();
    char noise[2048], line[100] = "";
    uint64_t n, seq;
    good(store_begin(store, 0, &error));
    for (int i = 0; i < 400; i++)
        good(put(store, 150, &seq));
    good(store_commit(store, &error));
    cairn_store_close(store);
    struct stat st;
    ck_assert_int_eq(stat(in_store("cairn.db"), &st), 0);
    memset(noise, 0x5a, sizeof noise);
    /* The tables' first pages stay. */
    for (off_t at = st.st_size / 4096 * 2048; at < st.st_size; at += 2048)
        overwrite("cairn.db", at, noise, sizeof noise);
    store = open_reader();
    struct checkpoint_range all = {.stream = 1};
    ck_assert_int_eq(store_count_checkpoints(store, &all, &n, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "cairn doctor"));
    store_quick_check(store, note_line, line, &error);
    ck_assert_str_ne(line, "");
    cairn_store_close(store);
}
END_TEST

/* ---- Failing disks ---- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The commit fails in the middle of writing; nothing of it is kept, and the same number
 * is used again when the disk works. _i: how many times it fails. */
START_TEST(commit_fails)
{
    struct cairn_store *store = open_store();
    uint64_t seq;
    signal(SIGXFSZ, SIG_IGN);
    commit_one(store);
    commit_one(store);
    for (int i = 0; i < _i; i++) {
        good(store_begin(store, 0, &error));
        good(put(store, 100000, &seq));
        limit_files(40000);
        ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
        limit_files(RLIM_INFINITY);
        ck_assert_int_eq(error.code, CAIRN_EIO);
        ck_assert_int_eq(error.sys, EFBIG);
        ck_assert(store->poisoned);
        ck_assert_uint_eq(count(store), 2);
    }
    ck_assert_uint_eq(commit_one(store), 3);
    ck_assert(!store->poisoned);
    struct cairn_store *reader = open_reader();
    ck_assert_uint_eq(count(reader), 3);
    cairn_store_close(reader);
    cairn_store_close(store);
    ck_assert(!exists("open"));
}
END_TEST

/* The failure shows before the commit: pages spill when the cache is full. */
START_TEST(put_fails)
{
    struct cairn_store *store = open_store();
    uint64_t seq;
    int rc = 0;
    signal(SIGXFSZ, SIG_IGN);
    commit_one(store);
    good(store_begin(store, 0, &error));
    limit_files(40000);
    for (int i = 0; !rc && i < 1000; i++)
        rc = put(store, 100000, &seq);
    ck_assert_int_eq(rc, CAIRN_EIO);
    ck_assert_int_eq(put(store, 10, &seq), CAIRN_EIO);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
    ck_assert_uint_eq(commit_one(store), 2);
    ck_assert_uint_eq(count(store), 2);
    cairn_store_close(store);
}
END_TEST

/* After a failure the newest commit of ours must still be there. */
START_TEST(tail_is_checked)
{
    struct cairn_store *store = open_store();
    commit_one(store);
    commit_one(store);
    store->poisoned = true;
    ck_assert_uint_eq(commit_one(store), 3);
    store->poisoned = true;
    store->committed.digest.bytes[9] ^= 1;
    ck_assert_int_eq(store_begin(store, 0, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "last committed"));
    store->committed.digest.bytes[9] ^= 1;
    store->committed.seq = 4;
    ck_assert_int_eq(store_begin(store, 0, &error), CAIRN_EDAMAGED);
    store->committed.seq = 3;
    ck_assert_uint_eq(commit_one(store), 4);
    cairn_store_close(store);
}
END_TEST

/* A mount that only this test's process sees; false without the right to make it. */
static bool mount_small(unsigned long flags, const char *options)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("check", dir, "tmpfs", flags, options) == 0;
}

START_TEST(disk_full)
{
    if (!mount_small(0, "size=600k"))
        return; /* commit_fails has done what can be done without a mount */
    struct cairn_store *store = open_store();
    char name[300], block[4096] = {0};
    uint64_t seq;
    commit_one(store);
    snprintf(name, sizeof name, "%s/filler", dir);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block)
        continue;
    ck_assert_int_eq(errno, ENOSPC);
    good(store_begin(store, 0, &error));
    good(put(store, 100000, &seq));
    ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
    ck_assert_int_eq(error.sys, ENOSPC);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, "free some space"),
                  "%s", error.text);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    close(fd);
    good(store_begin(store, 0, &error));
    good(put(store, 100000, &seq));
    ck_assert_uint_eq(seq, 2);
    good(store_commit(store, &error));
    cairn_store_close(store);
    store = open_reader();
    ck_assert_uint_eq(count(store), 2);
    cairn_store_close(store);
    umount(dir);
}
END_TEST

START_TEST(read_only_disk)
{
    if (!mount_small(0, "size=2m"))
        return;
    struct cairn_store *store = open_store();
    commit_one(store);
    cairn_store_close(store);
    for (int i = 0; i < 3; i++) {
        if (i == 2) { /* left behind by a killed writer */
            int out;
            pid_t pid = start("write", &out);
            murder(pid, out);
        }
        ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        ck_assert_int_eq(try_open(&store, false), CAIRN_EIO);
        ck_assert_int_eq(error.sys, EROFS);
        ck_assert_msg(strstr(error.text, path) != NULL, "%s", error.text);
        store = open_reader();
        ck_assert_uint_eq(count(store), i == 2 ? 6 : 1);
        cairn_store_close(store);
        ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT, NULL), 0);
        if (i == 0) { /* as copied without the files that SQLite makes */
            ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
            ck_assert_int_eq(unlink(in_store("cairn.db-shm")), 0);
        }
    }
    umount(dir);
}
END_TEST

START_TEST(read_only_directory)
{
    struct cairn_store *store;
    if (getuid() == 0) { /* root may write anywhere */
        ck_assert_int_eq(chown(dir, 65534, 65534), 0);
        ck_assert_int_eq(setegid(65534), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    store = open_store();
    commit_one(store);
    cairn_store_close(store);
    ck_assert_int_eq(chmod(in_store("lock"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db-wal"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db-shm"), 0400), 0);
    ck_assert_int_eq(chmod(path, 0500), 0);
    ck_assert_int_eq(try_open(&store, false), CAIRN_EIO);
    ck_assert_int_eq(error.sys, EACCES);
    store = open_reader();
    ck_assert_uint_eq(count(store), 1);
    cairn_store_close(store);
    ck_assert_int_eq(chmod(path, 0700), 0);
    if (getuid() == 0) {
        ck_assert_int_eq(seteuid(0), 0);
        ck_assert_int_eq(setegid(0), 0);
    }
}
END_TEST

/* ---- Network file systems ---- */

START_TEST(network_file_system)
{
    struct cairn_store *a = NULL, *b = NULL, *reader;
    struct cairn_store_options options = {.path = path, .create = true};
    good(store_open_at(&a, &options, STORE_NETWORK, &error));
    ck_assert_ptr_nonnull(store_network_fs(a));
    good(store_open_at(&b, &options, STORE_NETWORK, &error));
    commit_one(a);
    ck_assert_uint_eq(commit_one(b), 2);
    ck_assert(!exists("cairn.db-wal"));
    ck_assert(!exists("cairn.db-shm"));
    ck_assert(!exists("open"));
    reader = open_reader();
    ck_assert_uint_eq(count(reader), 2);
    cairn_store_close(reader);
    cairn_store_close(a);
    cairn_store_close(b);
    /* The store comes home, and goes out again. */
    a = open_store();
    ck_assert_uint_eq(commit_one(a), 3);
    ck_assert(exists("cairn.db-wal"));
    cairn_store_close(a);
    good(store_open_at(&a, &options, STORE_NETWORK, &error));
    ck_assert_uint_eq(commit_one(a), 4);
    ck_assert(!exists("cairn.db-wal"));
    cairn_store_close(a);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *const *tests, size_t n)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        snprintf(path, sizeof path, "%s", argv[2]);
        return play(argv[1]);
    }
    Suite *suite = suite_create("store");
    const TTest *const tests[] = {files_of_a_store,
                                  found_upward,
                                  odd_names,
                                  reader_beside_writer,
                                  two_handles_take_turns,
                                  failed_write_spoils_the_transaction,
                                  wal_stays_bounded,
                                  quick_check,
                                  other_process_holds_the_lock,
                                  opening_waits_for_the_lock,
                                  marker_stands_while_writers_live,
                                  killed_writer_loses_nothing,
                                  wal_gone_after_a_kill,
                                  wal_gone_after_a_clean_end,
                                  wal_gone_under_a_live_writer,
                                  database_gone,
                                  creation_cut_off,
                                  newer_store_is_left_alone,
                                  foreign_database_is_left_alone,
                                  garbage_is_left_alone,
                                  torn_page,
                                  put_fails,
                                  tail_is_checked,
                                  disk_full,
                                  read_only_disk,
                                  read_only_directory,
                                  network_file_system};
    add(suite, "store", tests, sizeof tests / sizeof tests[0]);
    TCase *failing = tcase_create("failing");
    tcase_add_checked_fixture(failing, setup, teardown);
    tcase_add_loop_test(failing, commit_fails, 1, 4);
    suite_add_tcase(suite, failing);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
