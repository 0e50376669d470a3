/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* The making of a store: cut off before every single step of it, and where there is no
 * room for one. */
#include "base/lock.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/old_store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/store.h"

#include <pthread.h>
#include <sqlite3.h>

/* ---- A process that kills itself before its n-th step ---- */

static long steps_left; /* 0: it lives on */

static void step(void)
{
    if (steps_left && --steps_left == 0)
        kill(getpid(), SIGKILL);
}

/* What changes files, SQLite's own calls included. These names must be seen from other
 * libraries. Nothing is really synced: what a killed process wrote stays. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    step();
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

EXPORTED int ftruncate64(int fd, off64_t size)
{
    step();
    return (int)syscall(SYS_ftruncate, fd, size);
}

EXPORTED int fdatasync(int fd)
{
    step();
    (void)fd;
    return 0;
}

/* Whether the directory was synced with the WAL in it, and whether that was so when the
 * marker got its name. */
static bool wal_named, marker_came_after;

EXPORTED int fsync(int fd)
{
    struct stat st;
    step();
    wal_named |= fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && exists("cairn.db-wal");
    return 0;
}

EXPORTED int unlink(const char *name)
{
    step();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

EXPORTED int rename(const char *from, const char *to)
{
    const char *slash = strrchr(to, '/');
    step();
    if (slash && strcmp(slash, "/open") == 0)
        marker_came_after = wal_named;
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

EXPORTED int mkdir(const char *name, mode_t mode)
{
    step();
    return (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
}

static int open_on(struct cairn_store **store, enum store_place place)
{
    struct cairn_store_options options = {.path = path, .create = true};
    return store_open_at(store, &options, place, &error);
}

static int add_run(struct cairn_store *store)
{
    struct run_row row = {.gen = 1,
                          .file = STR(""),
                          .params_text = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    int rc = store_begin(store, -1, &error);
    if (!rc)
        rc = store_workflow_id(store, STR("w"), true, &row.workflow, &error);
    if (!rc)
        rc = store_add_run(store, &row, &error);
    return rc ? rc : store_commit(store, &error);
}

/* "make": makes a store, or migrates an old one. "commit": commits a checkpoint where a
 * rollback journal is used. */
static int play_steps(const char *part, long n)
{
    struct cairn_store *store = NULL;
    uint64_t seq;
    bool make = strcmp(part, "make") == 0;
    steps_left = make ? n : 0;
    int rc = open_on(&store, make ? STORE_LOCAL : STORE_NETWORK);
    if (!rc && !make)
        rc = store_begin(store, -1, &error);
    if (!rc && !make)
        rc = put(store, 20000, &seq);
    if (!make)
        steps_left = n;
    if (!rc && !make)
        rc = store_commit(store, &error);
    if (rc)
        fprintf(stderr, "%s\n", error.text);
    cairn_store_close(store);
    return rc != 0;
}

/* True if it was killed before it was done. */
static bool cut_off(const char *part, long n)
{
    char self[] = "/proc/self/exe", word[16], number[24], value[300];
    char *argv[] = {self, word, value, number, NULL};
    pid_t pid;
    int status;
    snprintf(word, sizeof word, "%s", part);
    snprintf(number, sizeof number, "%ld", n);
    snprintf(value, sizeof value, "%s", path);
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    else
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static bool journal_left(void)
{
    struct stat st;
    return stat(in_store("cairn.db-journal"), &st) == 0 && st.st_size > 0;
}

/* ---- Cut off ---- */

/* Readers say what happened; they change nothing. */
static bool look_at_ruin(long n)
{
    struct cairn_store *store = NULL;
    bool database = exists("cairn.db"), journal = journal_left();
    int rc = try_open(&store, true);
    if (rc == 0) {
        ck_assert_uint_eq(count(store), 0);
        cairn_store_close(store);
        return true;
    }
    ck_assert_msg(rc == CAIRN_ENOTFOUND, "step %ld: %d %s", n, rc, error.text);
    ck_assert_msg(!database || strstr(error.text, "was interrupted; `cairn run FILE`"),
                  "step %ld: %s", n, error.text);
    ck_assert_msg(strstr(error.text, path), "step %ld: %s", n, error.text);
    ck_assert_int_eq(journal_left(), journal);
    return false;
}

/* What an older cairn begins with: it fills the database in place, and so does whoever
 * ends its work. */
static void begin_as_before(void)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(close(open(in_store("making"), O_CREAT | O_WRONLY, 0600)), 0);
    ck_assert_int_eq(close(open(in_store("cairn.db"), O_CREAT | O_WRONLY, 0600)), 0);
}

/* How often a journal was left. */
static long cut_off_making(void (*begin)(void), long steps)
{
    bool made = false;
    long n = 0, journals = 0;
    for (begin(); cut_off("make", ++n); begin()) {
        struct cairn_store *store = NULL;
        struct cairn_store_options options = {.path = path};
        journals += journal_left();
        made = look_at_ruin(n);
        if (n % 2 == 0) { /* without leave to make one */
            int rc = cairn_store_open(&store, &options, &error);
            ck_assert_msg(rc == 0 || rc == CAIRN_ENOTFOUND, "%ld: %s", n, error.text);
            cairn_store_close(rc ? NULL : store);
        }
        store = open_store();
        ck_assert_uint_eq(commit_one(store), 1);
        cairn_store_close(store);
        store = open_reader();
        ck_assert_uint_eq(count(store), 1);
        cairn_store_close(store);
        ck_assert(exists(".gitignore") || begin == begin_as_before);
        ck_assert(!exists("open"));
        ck_assert(!exists("making"));
        ck_assert(!exists("cairn.db-journal"));
        remove_tree(path);
    }
    /* The steps were seen, those of SQLite, too. */
    ck_assert_int_gt(n, steps);
    ck_assert(made);
    return journals;
}

static void begin_with_nothing(void)
{
}

START_TEST(making_is_cut_off)
{
    ck_assert_int_eq(cut_off_making(begin_with_nothing, 40), 0);
}
END_TEST

START_TEST(making_as_before_is_cut_off)
{
    ck_assert_int_gt(cut_off_making(begin_as_before, 40), 20);
}
END_TEST

/* A journal beside a store that holds something is another matter. */
START_TEST(commit_is_cut_off)
{
    struct cairn_store *store = NULL;
    long n = 0, refused = 0;
    uint64_t saved = 0;
    good(open_on(&store, STORE_NETWORK));
    good(add_run(store));
    cairn_store_close(store);
    while (cut_off("commit", ++n)) {
        int rc = try_open(&store, true);
        if (rc == 0) {
            cairn_store_close(store);
        } else {
            refused++;
            ck_assert_int_eq(rc, CAIRN_EIO);
            ck_assert_msg(strstr(error.text, "interrupted while it wrote"), "%s",
                          error.text);
        }
        good(open_on(&store, STORE_NETWORK));
        uint64_t now = count(store);
        ck_assert(now == saved || now == saved + 1);
        saved = now;
        cairn_store_close(store);
    }
    ck_assert_int_gt(refused, 5);
}
END_TEST

/* Before it is done, the store is an old one. */
START_TEST(migration_is_cut_off)
{
    long n = 0, old = 0;
    put_old_store(path);
    while (cut_off("make", ++n)) {
        struct cairn_store *store = open_reader();
        uint64_t runs;
        good(store_count_runs(store, &(struct run_filter){0}, &runs, &error));
        ck_assert_uint_eq(runs, 3);
        ck_assert_uint_eq(count(store), 13);
        old += store->stands_in;
        cairn_store_close(store);
        if (n % 4 == 0) {
            store = open_store();
            ck_assert_uint_eq(count(store), 13);
            good(store_begin(store, -1, &error));
            good(store_put_event(
                store, &(struct event_row){.run = 1, .turn = 1, .kind = 1}, &error));
            good(store_commit(store, &error));
            cairn_store_close(store);
        }
        remove_tree(path);
        put_old_store(path);
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_gt(old, 5);
    ck_assert_int_lt(old, n - 1); /* some steps come after the commit */
}
END_TEST

/* The power went while an older cairn's SQLite wrote the first transaction: any part
 * of it may be there, and its journal takes all of it back. */
START_TEST(making_is_torn)
{
    static const char noise[100] = "what a disk makes of half a sector";
    long n = 0, torn = 0;
    for (begin_as_before(); cut_off("make", ++n); begin_as_before()) {
        struct store_paths paths = {.journal = NULL};
        struct store_journal journal;
        struct cairn_store *store = NULL;
        char name[400];
        snprintf(name, sizeof name, "%s/cairn.db-journal", path);
        paths.journal = name;
        struct stat st;
        if (store_journal_read(&paths, &journal) && journal.before == 0 &&
            stat(in_store("cairn.db"), &st) == 0 && st.st_size > 0) {
            int fd = open(in_store("cairn.db"), O_WRONLY);
            ck_assert_int_eq(pwrite(fd, noise, sizeof noise, 0), sizeof noise);
            ck_assert_int_eq(close(fd), 0);
            ck_assert(!look_at_ruin(n));
            torn++;
            store = open_store();
            ck_assert_uint_eq(commit_one(store), 1);
            cairn_store_close(store);
        }
        remove_tree(path);
    }
    ck_assert_int_gt(torn, 5);
}
END_TEST

/* Where a commit is half written, the database says nothing about itself, not even that
 * there are no runs. */
START_TEST(commit_is_torn)
{
    static const char empty_leaf[8] = {0x0d};
    struct cairn_store *store = NULL;
    long n = 0, refused = 0;
    char page[2048];
    good(open_on(&store, STORE_NETWORK));
    good(add_run(store));
    cairn_store_close(store);
    while (refused == 0 && cut_off("commit", ++n)) {
        if (try_open(&store, true) == 0) {
            cairn_store_close(store);
            good(open_on(&store, STORE_NETWORK));
            cairn_store_close(store);
            continue;
        }
        refused++;
        int fd = open(in_store("cairn.db"), O_RDWR);
        for (off_t at = 2048; pread(fd, page, sizeof page, at) > 0; at += 2048)
            if (page[0] == 0x0d && !memmem(page, sizeof page, "CREATE", 6))
                ck_assert_int_eq(pwrite(fd, empty_leaf, sizeof empty_leaf, at), 8);
        ck_assert_int_eq(close(fd), 0);
        ck_assert_int_eq(try_open(&store, true), CAIRN_EIO);
        ck_assert_msg(strstr(error.text, "interrupted while it wrote"), "%s",
                      error.text);
    }
    ck_assert_int_eq(refused, 1);
}
END_TEST

/* Directories keep no order: the names of WAL and marker must not get to the disk
 * together, or a power cut can leave the marker alone, which means lost commits. */
START_TEST(marker_comes_after_wal)
{
    struct cairn_store *store = open_store();
    wal_named = marker_came_after = false;
    commit_one(store);
    ck_assert(marker_came_after);
    cairn_store_close(store);
    /* Nor does it help that the WAL was there before: it may be new all the same. */
    store = open_store();
    wal_named = marker_came_after = false;
    commit_one(store);
    ck_assert(marker_came_after);
    cairn_store_close(store);
}
END_TEST

/* An empty database is what is left when the machine went down early. */
START_TEST(database_is_empty)
{
    struct cairn_store *store = NULL;
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "there is no store"));
    ck_assert_int_eq(rmdir(path), 0);
    begin_as_before();
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "was interrupted"));
    /* Unless somebody is at it. */
    struct lock_file lock;
    good(lock_open(&lock, in_store("lock"), &error));
    ck_assert_int_eq(lock_try(&lock, LOCK_COMMIT, LOCK_EXCLUSIVE, &error), 1);
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "is being made"));
    lock_close(&lock);
    store = open_store();
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
}
END_TEST

/* ---- In the middle of it ---- */

struct occupier {
    sqlite3 *handle;
    pthread_t thread;
};

static void *leave_late(void *context)
{
    struct occupier *o = context;
    usleep(700000);
    ck_assert_int_eq(sqlite3_exec(o->handle, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(o->handle), SQLITE_OK);
    return NULL;
}

/* The store as its maker has it before it switches to the WAL, and somebody in it who
 * takes longer than anything should: a slow disk, a stopped process. */
static void occupy(struct occupier *o, const char *begin)
{
    cairn_store_close(open_store());
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &o->handle), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(o->handle, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(o->handle, begin, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(pthread_create(&o->thread, NULL, leave_late, o), 0);
}

START_TEST(reader_awaits_the_maker)
{
    struct occupier o;
    occupy(&o, "BEGIN EXCLUSIVE");
    cairn_store_close(open_reader());
    ck_assert_int_eq(pthread_join(o.thread, NULL), 0);
}
END_TEST

START_TEST(maker_awaits_readers)
{
    struct occupier o;
    occupy(&o, "BEGIN; SELECT count(*) FROM sqlite_schema");
    struct cairn_store *store = open_store();
    ck_assert_uint_eq(commit_one(store), 1);
    ck_assert_int_eq(pthread_join(o.thread, NULL), 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Somebody else's directory ---- */

static void touch(const char *name)
{
    ck_assert_int_eq(close(open(in_store(name), O_CREAT | O_WRONLY, 0600)), 0);
}

START_TEST(directory_in_use)
{
    struct cairn_store *store = NULL;
    ck_assert_int_eq(mkdir(path, 0700), 0);
    touch("notes.txt");
    ck_assert_int_eq(try_open(&store, false), CAIRN_EUSAGE);
    ck_assert_msg(strstr(error.text, "notes.txt") && strstr(error.text, path) &&
                      strstr(error.text, "--store .cairn"),
                  "%s", error.text);
    static const char *const names[] = {"lock", "live", ".gitignore", "cairn.db"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(!exists(names[i]));
    ck_assert_int_eq(try_open(&store, true), CAIRN_ENOTFOUND);
    /* A store that is there already is used, but nothing is hidden from git. */
    ck_assert_int_eq(unlink(in_store("notes.txt")), 0);
    store = open_store();
    commit_one(store);
    cairn_store_close(store);
    ck_assert(exists(".gitignore"));
    ck_assert_int_eq(unlink(in_store(".gitignore")), 0);
    touch("notes.txt");
    store = open_store();
    ck_assert_uint_eq(commit_one(store), 2);
    cairn_store_close(store);
    ck_assert(!exists(".gitignore"));
}
END_TEST

START_TEST(directory_with_names_of_ours)
{
    static const char *const names[] = {"lock", ".gitignore.tmp.a1B2c3", "open.tmp.xxx",
                                        "cairn.db-shm"};
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        touch(names[i]);
    struct cairn_store *store = open_store();
    ck_assert_uint_eq(commit_one(store), 1);
    cairn_store_close(store);
    ck_assert(exists(".gitignore"));
}
END_TEST

/* A directory whose path has that many bytes, and in it one for the store. */
static void make_deep(char *deep, size_t bytes)
{
    enum { PART = 100 };
    size_t at = strlen(dir);
    memcpy(deep, dir, at + 1);
    while (at < bytes) {
        size_t left = bytes - at - 1, n = left > PART + 1 ? PART : left;
        deep[at++] = '/';
        memset(deep + at, 'd', n);
        deep[at += n] = 0;
        ck_assert(mkdir(deep, 0700) == 0 || errno == EEXIST);
    }
}

/* SQLite adds "-journal" to the path of the database, and has a limit for both. */
START_TEST(path_too_long_for_sqlite)
{
    size_t most = (size_t)sqlite3_vfs_find(NULL)->mxPathname - strlen("-journal") -
                  strlen("/.cairn/cairn.db");
    for (size_t over = 0; over <= 1; over++) {
        char deep[4096];
        struct cairn_store *store = NULL;
        make_deep(deep, most + over);
        snprintf(deep + strlen(deep), 16, "/.cairn");
        struct cairn_store_options options = {.path = deep, .create = true};
        if (!over) {
            good(cairn_store_open(&store, &options, &error));
            ck_assert_uint_eq(commit_one(store), 1);
            cairn_store_close(store);
            continue;
        }
        ck_assert_int_eq(cairn_store_open(&store, &options, &error), CAIRN_ELIMIT);
        ck_assert_msg(strstr(error.text, "too long") != NULL, "%s", error.text);
        ck_assert_int_ne(access(deep, F_OK), 0);
        ck_assert_int_eq(mkdir(deep, 0700), 0);
        options.create = false;
        ck_assert_int_eq(cairn_store_open(&store, &options, &error), CAIRN_ELIMIT);
        ck_assert_int_eq(access(deep, F_OK), 0);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4) {
        snprintf(path, sizeof path, "%s", argv[2]);
        return play_steps(argv[1], strtol(argv[3], NULL, 10));
    }
    const TTest *const tests[] = {
        making_is_cut_off,        making_as_before_is_cut_off,
        commit_is_cut_off,        migration_is_cut_off,
        making_is_torn,           commit_is_torn,
        marker_comes_after_wal,   database_is_empty,
        directory_in_use,         directory_with_names_of_ours,
        path_too_long_for_sqlite, reader_awaits_the_maker,
        maker_awaits_readers};
    return run_tests("store_making", tests, sizeof tests / sizeof tests[0]);
}
