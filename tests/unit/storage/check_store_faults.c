/* SPDX-License-Identifier: MIT */
/* make: wrap=pread tsan not-valgrind */
/* Stores that are not for us, damaged ones, failing disks, and network file systems. */
#include "base/os.h"
#include "cairn/maintenance.h"
#include "storage/health.h"
#include "storage/rows_checkpoint.h"
#include "storage/schema.h"
#include "storage/store.h"
#include "tests/support/store.h"

#include <sqlite3.h>

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
    overwrite("cairn.db", 60, (const char[]){0, 0, 0, SCHEMA_VERSION + 1}, 4);
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
    store_check_pages(store, note_line, line, &error);
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
 * is used again when the disk works. */
START_TEST(commit_fails)
{
    struct cairn_store *store = open_store();
    uint64_t seq;
    signal(SIGXFSZ, SIG_IGN);
    commit_one(store);
    commit_one(store);
    for (int i = 0; i < 3; i++) {
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

static int sync_to_fail;  /* the so-manieth from now; 0: none */
static bool syncs_broken; /* that one, and all after it */
static int syncs;         /* so far */

static int sync_either(long call, int fd)
{
    syncs++;
    if (sync_to_fail && --sync_to_fail == 0) {
        sync_to_fail = syncs_broken;
        errno = EIO;
        return -1;
    }
    return (int)syscall(call, fd);
}

/* SQLite's own calls end up here, too: but only if the names can be seen from other
 * libraries, for which being compiled with -fvisibility=hidden would be enough not to.
 */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return sync_either(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    return sync_either(SYS_fsync, fd);
}

/* With full durability every commit has been synced when it is reported; the others
 * promise less, and pay less. */
START_TEST(every_commit_is_synced)
{
    static const enum cairn_sync levels[] = {CAIRN_SYNC_FULL, CAIRN_SYNC_NORMAL,
                                             CAIRN_SYNC_OFF};
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        struct cairn_store_options options = {
            .path = path, .create = true, .sync = levels[l]};
        struct cairn_store *store = NULL;
        good(cairn_store_open(&store, &options, &error));
        commit_one(store); /* with the marker, and the head of the WAL */
        for (int i = 0; i < 20; i++) {
            int before = syncs;
            commit_one(store);
            ck_assert_int_eq(syncs - before, levels[l] == CAIRN_SYNC_FULL);
        }
        cairn_store_close(store);
    }
}
END_TEST

/* A file of ours, its directory, and the one above a new directory. */
START_TEST(files_are_synced)
{
    struct cairn_error why = {0};
    ck_assert_int_eq(os_make_dir(path, 0700, &why), 1);
    int before = syncs;
    ck_assert_int_eq(os_sync_parent(path, &why), 0);
    ck_assert_int_eq(syncs - before, 1);
    before = syncs;
    ck_assert_int_eq(os_write_file(in_store("some"), 0600, STR("text"), &why), 0);
    ck_assert_int_eq(syncs - before, 2);
}
END_TEST

/* All of the transaction is in the file when its sync fails, but it was reported as
 * failed: it must not come back under the caller's second try. */
START_TEST(sync_fails)
{
    struct cairn_store *store = open_store();
    for (uint64_t seq = 1; seq < 10; seq++) {
        uint64_t failed;
        commit_one(store);
        good(store_begin(store, 0, &error));
        good(put(store, 150, &failed));
        sync_to_fail = 1;
        ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
        ck_assert_int_eq(sync_to_fail, 0);
        ck_assert_int_eq(error.sys, EIO);
        ck_assert_uint_eq(count(store), seq);
    }
    ck_assert_uint_eq(commit_one(store), 10);
    cairn_store_close(store);
}
END_TEST

/* Opening, committing and closing with every single sync failing in turn: an error is
 * reported or no harm was done, and the store is whole afterwards. */
START_TEST(every_sync_fails_once)
{
    for (int n = 1;; n++) {
        struct cairn_store *store = NULL;
        uint64_t seq, saved = 0;
        snprintf(path, sizeof path, "%s/%d", dir, n);
        sync_to_fail = n;
        if (try_open(&store, false) == 0)
            for (int i = 0; i < 3; i++) {
                int rc = store_begin(store, 0, &error);
                if (!rc)
                    rc = put(store, 150, &seq);
                if (!rc)
                    rc = store_commit(store, &error);
                saved += rc == 0;
            }
        cairn_store_close(store);
        bool fired = sync_to_fail == 0;
        sync_to_fail = 0;
        store = open_store();
        ck_assert_uint_eq(count(store), saved);
        cairn_store_close(store);
        ck_assert(!exists("open"));
        if (!fired) {
            ck_assert_int_gt(n, 10);
            break;
        }
        ck_assert_int_lt(n, 1000);
    }
}
END_TEST

static int read_fails;   /* reads from now on */
static int read_to_fail; /* only the so-manieth from now; 0: none */

static ssize_t no_read(int fd, void *bytes, size_t n, off64_t at)
{
    bool this_one = read_to_fail && --read_to_fail == 0;
    if (!read_fails && !this_one)
        return pread64(fd, bytes, n, at);
    errno = EIO;
    return -1;
}

static int log_reads_fail; /* our own reads of files (wrap above) */

ssize_t __real_pread(int fd, void *bytes, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t n, off_t at)
{
    if (!log_reads_fail)
        return __real_pread(fd, bytes, n, at);
    errno = EIO;
    return -1;
}

/* As if its writer were killed now. */
static void kill_writer(struct cairn_store *store)
{
    char copy[600];
    snprintf(copy, sizeof copy, "cp -r '%s' '%s/killed'", path, dir);
    ck_assert_int_eq(system(copy), 0);
    cairn_store_close(store);
    snprintf(path, sizeof path, "%s/killed", dir);
    ck_assert(exists("open"));
}

/* A commit that changes nothing writes nothing: then an empty log has lost nothing. */
START_TEST(nothing_committed)
{
    struct cairn_store *store = open_store();
    cairn_store_close(store);
    store = open_store();
    good(store_begin(store, 0, &error));
    good(store_commit(store, &error));
    kill_writer(store);
    store = open_store();
    ck_assert_uint_eq(count(store), 0);
    cairn_store_close(store);
}
END_TEST

/* What the disk does not give is not lost: another try may read it. */
START_TEST(log_that_cannot_be_read)
{
    struct cairn_store *store = open_store();
    commit_one(store);
    commit_one(store);
    kill_writer(store);
    log_reads_fail = 1;
    int rc = try_open(&store, true);
    log_reads_fail = 0;
    ck_assert_msg(rc != CAIRN_EDAMAGED, "%s", error.text);
    if (rc == 0)
        cairn_store_close(store);
    store = open_reader();
    ck_assert_uint_eq(count(store), 2);
    cairn_store_close(store);
}
END_TEST

static int note_bad(void *context, const struct cairn_finding *finding)
{
    *(int *)context += finding->health == CAIRN_HEALTH_BAD;
    return 0;
}

/* SQLite tells of a page that the disk does not give that the database is malformed. To
 * the user it is not damaged: the disk is to be looked at. */
START_TEST(every_read_fails)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    cairn_store_close(open_store());
    for (int at_open = 0; at_open <= 1; at_open++) {
        struct cairn_store *store = NULL;
        struct cairn_store_options options = {.path = path, .read_only = true};
        uint64_t n;
        struct checkpoint_range all = {.stream = 1};
        ck_assert_int_eq(
            vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)no_read), 0);
        read_fails = at_open;
        int rc = cairn_store_open(&store, &options, &error);
        ck_assert_int_eq(rc, at_open ? CAIRN_EIO : 0);
        read_fails = 1;
        if (!rc)
            rc = store_count_checkpoints(store, &all, &n, &error);
        ck_assert_msg(rc == CAIRN_EIO && error.sys == EIO, "%d: %s", rc, error.text);
        ck_assert_ptr_null(strstr(error.text, "malformed"));
        int bad = 0; /* the doctor tells of it, but not as damage */
        ck_assert_int_eq(cairn_doctor(path, NULL, note_bad, &bad, &error), CAIRN_EIO);
        ck_assert_int_gt(bad, 0);
        read_fails = 0;
        cairn_store_close(store);
        vfs->xSetSystemCall(vfs, "pread64", NULL);
    }
    cairn_store_close(open_reader());
}
END_TEST

/* SQLite's check of the pages continues where one cannot be read, and lists it. */
START_TEST(check_of_pages_that_cannot_be_read)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    int failed = 0, rc = CAIRN_EIO;
    cairn_store_close(open_store());
    vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)no_read);
    for (int nth = 1; rc; nth++) {
        char line[100] = "";
        struct cairn_store *store = open_reader();
        read_to_fail = nth;
        rc = store_check_pages(store, note_line, line, &error);
        failed += rc != 0;
        ck_assert_msg((rc != 0) == (read_to_fail == 0), "read %d: %d", nth, rc);
        ck_assert(rc == 0 || rc == CAIRN_EIO);
        ck_assert_str_eq(line, "");
        read_to_fail = 0;
        cairn_store_close(store);
    }
    ck_assert_int_gt(failed, 3);
    vfs->xSetSystemCall(vfs, "pread64", NULL);
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

/* With a rollback journal a commit stands as soon as the journal is gone; what can
 * still fail is the sync of its directory. Such a commit must not be made again. */
START_TEST(every_sync_fails_on_a_network)
{
    struct cairn_store_options options = {.path = path, .create = true};
    for (int broken = 0; broken <= 1; broken++)
        for (int n = 1, fired = 1; fired; n++) {
            struct cairn_store *store = NULL;
            uint64_t seq, saved = 0, failed = 0;
            snprintf(path, sizeof path, "%s/%d-%d", dir, broken, n);
            good(store_open_at(&store, &options, STORE_NETWORK, &error));
            commit_one(store);
            syncs_broken = broken;
            sync_to_fail = n;
            for (int i = 0; i < 3; i++) {
                int rc = store_begin(store, 0, &error);
                if (!rc)
                    rc = put(store, 150, &seq);
                if (!rc)
                    rc = store_commit(store, &error);
                saved += rc == 0;
                failed += rc != 0;
            }
            fired = broken ? failed > 0 : sync_to_fail == 0;
            sync_to_fail = 0;
            uint64_t n_there = count(store);
            cairn_store_close(store);
            /* The last try of a broken disk may stand, although nobody can say so. */
            ck_assert_uint_ge(n_there, 1 + saved);
            ck_assert_uint_le(n_there, 1 + saved + (uint64_t)(broken && failed));
            ck_assert_int_lt(n, 100);
        }
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    const TTest *const tests[] = {newer_store_is_left_alone,
                                  foreign_database_is_left_alone,
                                  garbage_is_left_alone,
                                  torn_page,
                                  commit_fails,
                                  every_commit_is_synced,
                                  files_are_synced,
                                  sync_fails,
                                  every_sync_fails_once,
                                  every_read_fails,
                                  nothing_committed,
                                  log_that_cannot_be_read,
                                  check_of_pages_that_cannot_be_read,
                                  put_fails,
                                  tail_is_checked,
                                  network_file_system,
                                  every_sync_fails_on_a_network};
    return run_tests("store_faults", tests, sizeof tests / sizeof tests[0]);
}
