/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc,strdup,strndup,ZSTD_createCCtx */
/* make: wrap=ZSTD_createDCtx,EVP_MD_CTX_new,sqlite3_prepare_v3,sqlite3_step */
/* make: wrap=sqlite3_exec,sqlite3_bind_int64,sqlite3_bind_blob64 */
/* make: wrap=sqlite3_wal_checkpoint_v2,open,stat,fstat,mkdir,fsync,rename */
/* make: wrap=unlink,write,read long not-quick not-valgrind */
/* Every call that the library makes to the allocator, to SQLite and to the system fails
 * in turn, once or from then on, while a store is written and looked at. Never a crash;
 * an error is told; and afterwards the store is whole and holds all that was
 * acknowledged.
 *
 * The linker puts the __wrap_ functions of this file between the library and the rest
 * (wrap above), so what SQLite does by itself is not touched. */
#include "executor/engine.h"
#include "tests/support/engine.h"
#include "tests/support/fake_runner.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"

#include <stdarg.h>
#include <sys/stat.h>

/* ---- What fails ---- */

enum kind { FAIL_MEMORY, FAIL_SQL_IO, FAIL_SQL_MEMORY, FAIL_SQL_DAMAGE, FAIL_FILE };

static struct {
    bool on, forever;
    enum kind kind;
    int left; /* calls until it fails */
    int failed;
} plan;

static bool fails(bool concerned)
{
    if (!plan.on || !concerned)
        return false;
    if (plan.left > 0)
        plan.left--;
    if (plan.left > 0 || (plan.failed && !plan.forever))
        return false;
    plan.failed++;
    return true;
}

static bool fails_memory(void)
{
    if (!fails(plan.kind == FAIL_MEMORY))
        return false;
    errno = ENOMEM;
    return true;
}

static bool fails_file(void)
{
    if (!fails(plan.kind == FAIL_FILE))
        return false;
    errno = EIO;
    return true;
}

/* 0, or a result of SQLite. */
static int fails_sql(void)
{
    static const int results[] = {[FAIL_SQL_IO] = SQLITE_IOERR,
                                  [FAIL_SQL_MEMORY] = SQLITE_NOMEM,
                                  [FAIL_SQL_DAMAGE] = SQLITE_CORRUPT};
    bool concerned = plan.kind >= FAIL_SQL_IO && plan.kind <= FAIL_SQL_DAMAGE;
    return fails(concerned) ? results[plan.kind] : 0;
}

/* ---- The calls ---- */

#define WRAP(type, name, params, args, trouble, value) \
    type __real_##name params;                         \
    type __wrap_##name params;                         \
    type __wrap_##name params                          \
    {                                                  \
        return trouble ? value : __real_##name args;   \
    }
#define WRAP_SQL(name, params, args)           \
    int __real_##name params;                  \
    int __wrap_##name params;                  \
    int __wrap_##name params                   \
    {                                          \
        int rc_ = fails_sql();                 \
        return rc_ ? rc_ : __real_##name args; \
    }

WRAP(void *, malloc, (size_t n), (n), fails_memory(), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), fails_memory(), NULL)
WRAP(void *, realloc, (void *at, size_t n), (at, n), fails_memory(), NULL)
WRAP(char *, strdup, (const char *text), (text), fails_memory(), NULL)
WRAP(char *, strndup, (const char *text, size_t n), (text, n), fails_memory(), NULL)
WRAP(void *, ZSTD_createCCtx, (void), (), fails_memory(), NULL)
WRAP(void *, ZSTD_createDCtx, (void), (), fails_memory(), NULL)
WRAP(void *, EVP_MD_CTX_new, (void), (), fails_memory(), NULL)

WRAP_SQL(sqlite3_prepare_v3,
         (sqlite3 * db, const char *sql, int n, unsigned flags, sqlite3_stmt **out,
          const char **tail),
         (db, sql, n, flags, out, tail))
WRAP_SQL(sqlite3_step, (sqlite3_stmt * st), (st))
WRAP_SQL(sqlite3_exec,
         (sqlite3 * db, const char *sql, int (*each)(void *, int, char **, char **),
          void *context, char **text),
         (db, sql, each, context, text))
WRAP_SQL(sqlite3_bind_int64, (sqlite3_stmt * st, int i, sqlite3_int64 n), (st, i, n))
WRAP_SQL(sqlite3_bind_blob64,
         (sqlite3_stmt * st, int i, const void *blob, sqlite3_uint64 n,
          void (*destroy)(void *)),
         (st, i, blob, n, destroy))
WRAP_SQL(sqlite3_wal_checkpoint_v2,
         (sqlite3 * db, const char *name, int mode, int *pages, int *copied),
         (db, name, mode, pages, copied))

WRAP(int, stat, (const char *name, struct stat *st), (name, st), fails_file(), -1)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), fails_file(), -1)
WRAP(int, mkdir, (const char *name, mode_t mode), (name, mode), fails_file(), -1)
WRAP(int, fsync, (int fd), (fd), fails_file(), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), fails_file(), -1)
WRAP(int, unlink, (const char *name), (name), fails_file(), -1)
WRAP(ssize_t, write, (int fd, const void *at, size_t n), (fd, at, n), fails_file(), -1)
WRAP(ssize_t, read, (int fd, void *at, size_t n), (fd, at, n), fails_file(), -1)

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails_file() ? -1 : __real_open(name, flags, mode);
}

/* ---- What is done meanwhile ---- */

enum { TASKS = 6, IDS = 64 };

struct done {
    char ids[IDS][CAIRN_ID_MAX]; /* of what was acknowledged */
    int n, rc;
};

/* The recorder saves what it is told; nothing is called. */
static enum cairn_outcome never(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    abort();
}

static struct cairn_workflow *the_workflow(void)
{
    struct cairn_workflow *w = workflow_named("w");
    char name[8];
    for (int i = 0; i < TASKS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        add(w, (struct cairn_task){.id = name, .call = never});
    }
    return w;
}

static int try_store(struct cairn_store **store, bool read_only)
{
    struct cairn_store_options options = {.path = ".cairn",
                                          .create = !read_only,
                                          .read_only = read_only,
                                          .lock_wait_ms = 100,
                                          .sync = CAIRN_SYNC_OFF};
    return cairn_store_open(store, &options, &error);
}

/* A new store and a run in it. */
static void write_store(struct done *done, struct cairn_workflow *w)
{
    struct cairn_store *store = NULL;
    struct cairn_recorder *recorder = NULL;
    int rc = try_store(&store, false);
    if (!rc)
        rc = cairn_recorder_open(&recorder, w, store, &error);
    for (uint32_t i = 0; !rc && i < TASKS; i++) {
        struct cairn_change change = {i, CAIRN_COMPLETED, 1};
        rc = cairn_recorder_save(recorder, &change, 1, done->ids[done->n], &error);
        done->n += rc == 0;
    }
    if (recorder) {
        int last = cairn_recorder_close(recorder, CAIRN_RUN_COMPLETED, &error);
        rc = rc ? rc : last;
    }
    cairn_store_close(store);
    done->rc = rc;
}

static int note_info(void *context, const struct cairn_checkpoint_info *info)
{
    struct done *done = context;
    if (done && done->n < IDS)
        snprintf(done->ids[done->n++], CAIRN_ID_MAX, "%s", info->id);
    return 0;
}

static int ignore_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    (void)problem;
    return 0;
}

static int ignore_finding(void *context, const struct cairn_finding *finding)
{
    (void)context;
    (void)finding;
    return 0;
}

static int ignore_task(void *context, const char *task, enum cairn_outcome outcome,
                       uint32_t attempts)
{
    (void)context;
    (void)task;
    (void)outcome;
    (void)attempts;
    return 0;
}

static void look_at(struct cairn_store *store, struct done *done)
{
    struct cairn_checkpoint_filter all = {.page = {.limit = 50}};
    struct cairn_checkpoint_info info;
    struct cairn_verify_result result;
    uint64_t total = 0;
    uint32_t skipped;
    int rcs[] = {
        cairn_checkpoint_list(store, &all, note_info, NULL, &total, &error),
        cairn_checkpoint_get(store, "3", &info, &error),
        cairn_checkpoint_newest(store,
                                &(struct cairn_checkpoint_filter){.workflow = "w"},
                                &info, &skipped, &error),
        cairn_checkpoint_tasks(store, "4", ignore_task, NULL, &error),
        cairn_checkpoint_verify(store, "4", ignore_problem, NULL, &result, &error),
        cairn_checkpoint_verify(store, NULL, ignore_problem, NULL, &result, &error),
        cairn_doctor(".cairn", NULL, ignore_finding, NULL, &error),
    };
    for (size_t i = 0; i < sizeof rcs / sizeof rcs[0] && !done->rc; i++)
        done->rc = rcs[i];
}

static void read_store(struct done *done, struct cairn_workflow *w)
{
    struct cairn_store *store = NULL;
    (void)w;
    done->rc = try_store(&store, true);
    if (store)
        look_at(store, done);
    cairn_store_close(store);
}

/* Another run, and the deletion of most of what is there. */
static void thin_out(struct done *done, struct cairn_workflow *w)
{
    struct cairn_store *store = NULL;
    struct cairn_prune_options options = {.keep = 2};
    struct cairn_prune_result result;
    write_store(done, w);
    done->n = 0;
    int rc = try_store(&store, false);
    int deleted = rc ? rc : cairn_checkpoint_delete(store, "7", &error);
    int pruned = rc ? rc : cairn_checkpoint_prune(store, &options, &result, &error);
    cairn_store_close(store);
    if (!done->rc)
        done->rc = rc ? rc : deleted && deleted != CAIRN_EUSAGE ? deleted : pruned;
}

/* ---- Afterwards ---- */

/* All is as it was acknowledged. `new`: perhaps there is no store yet. */
static void expect_whole(const struct done *done, bool new)
{
    struct cairn_store *store = NULL;
    struct cairn_checkpoint_info info;
    struct cairn_verify_result result;
    int rc = try_store(&store, false);
    ck_assert_msg(rc == 0, "call %d: it cannot be opened any more: %s", plan.left,
                  error.text);
    rc = cairn_checkpoint_verify(store, NULL, ignore_problem, NULL, &result, &error);
    ck_assert_msg(rc == 0, "it is damaged: %s", error.text);
    ck_assert(new || result.checked > 0);
    for (int i = 0; i < done->n; i++) {
        rc = cairn_checkpoint_get(store, done->ids[i], &info, &error);
        ck_assert_msg(rc == 0, "%s was acknowledged and is lost: %s", done->ids[i],
                      error.text);
    }
    cairn_store_close(store);
}

static void clear(void)
{
    remove_tree(".cairn");
}

/* Calls from one failure to the next. */
static int step_of(bool forever)
{
    return help_in_full() ? 1 : (forever ? 11 : 5) * help_stride();
}

/* Fails call after call until none is left to fail. */
static int sweep(void (*act)(struct done *, struct cairn_workflow *), bool anew,
                 enum kind kind, bool forever)
{
    struct cairn_workflow *w = the_workflow();
    int step = step_of(forever);
    int n = 1 + (int)kind % step;
    for (;; n += step) {
        struct done done = {.rc = 0};
        struct done nothing = {.rc = 0};
        clear();
        if (!anew) {
            write_store(&nothing, w);
            ck_assert_int_eq(nothing.rc, 0);
        }
        error = (struct cairn_error){0};
        plan.forever = forever;
        plan.kind = kind;
        plan.left = n;
        plan.failed = 0;
        plan.on = true;
        act(&done, w);
        plan.on = false;
        ck_assert_msg(done.rc <= 0, "%d", done.rc);
        ck_assert_msg(!done.rc || error.text[0], "an error without a text");
        if (!plan.failed) {
            ck_assert_msg(done.rc == 0, "without a failure: %d %s", done.rc,
                          error.text);
            break;
        }
        expect_whole(&done, anew);
        ck_assert_int_lt(n, 20000);
    }
    cairn_workflow_free(w);
    return n;
}

/* ---- A whole run ---- */

static struct fake_task play(void *context, const struct spawn_request *request)
{
    uint64_t n = ++*(uint64_t *)context;
    (void)request;
    if (n % 3 == 1)
        return (struct fake_task){.start_error = ENOENT, .exit_code = 127};
    return (struct fake_task){.run_ns = (int64_t)n * MS, .exit_code = n % 3 == 2};
}

static enum cairn_outcome fail_at_once(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_FAILED;
}

static struct cairn_workflow *mixed_workflow(void)
{
    static const char *const argv[] = {"task", NULL};
    struct cairn_workflow *w = workflow_named("w");
    char name[8];
    for (int i = 0; i < TASKS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        add(w, (struct cairn_task){.id = name, .argv = argv});
        snprintf(name, sizeof name, "c%d", i);
        add(w, (struct cairn_task){.id = name, .call = fail_at_once});
    }
    w->definition.on_failure = ON_FAILURE_CONTINUE;
    return w;
}

static int run_failing(struct cairn_workflow *w, uint32_t jobs)
{
    struct fake_runner fake;
    struct cairn_run_options options = {.jobs = jobs};
    uint64_t started = 0;
    fake_runner_init(&fake, 1);
    fake.script = play;
    fake.context = &started;
    plan.on = true;
    int rc = engine_run(w, NULL, &options, &fake.runner, NULL, &error);
    plan.on = false;
    ck_assert_uint_eq(fake_runner_living(&fake), 0);
    fake_runner_release(&fake);
    return rc;
}

/* It ends, whatever memory is refused: a job whose ending cannot be written down is not
 * waited for. */
START_TEST(while_it_runs)
{
    int n = 0, refused = 0;
    for (plan.failed = 1; plan.failed; n++) {
        struct cairn_workflow *w = mixed_workflow();
        plan.kind = FAIL_MEMORY;
        plan.forever = _i % 2;
        plan.left = n + 1;
        plan.failed = 0;
        int rc = run_failing(w, 1 + (uint32_t)_i);
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%d: %s", rc, error.text);
        refused += rc != 0;
        cairn_workflow_free(w);
    }
    ck_assert_int_gt(refused, 20);
}
END_TEST

static const enum kind kinds[] = {FAIL_MEMORY, FAIL_SQL_IO, FAIL_SQL_MEMORY,
                                  FAIL_SQL_DAMAGE, FAIL_FILE};

START_TEST(while_a_store_is_written)
{
    ck_assert_int_gt(sweep(write_store, true, kinds[_i / 2], _i % 2), 20);
}
END_TEST

START_TEST(while_it_is_read)
{
    ck_assert_int_gt(sweep(read_store, false, kinds[_i / 2], _i % 2), 2);
}
END_TEST

START_TEST(while_it_is_thinned_out)
{
    ck_assert_int_gt(sweep(thin_out, false, kinds[_i / 2], _i % 2), 20);
}
END_TEST

/* ---- What an attempt was given ---- */

static const char shell_text[] = "name: s\n"
                                 "secrets: [TOKEN_A]\n"
                                 "tasks:\n"
                                 "  make: {run: 'echo n=7 >>\"$CAIRN_OUTPUT\"'}\n"
                                 "  use:\n"
                                 "    needs: [make]\n"
                                 "    secrets: [TOKEN_A]\n"
                                 "    env: {N: '${{ tasks.make.outputs.n }}'}\n"
                                 "    run: exit 1\n";

/* All of it or an error. */
static int try_shell(bool shown)
{
    struct cairn_shell_options options = {.output = "/x", .shown = shown};
    struct cairn_shell *shell = NULL;
    struct cairn_store *store = NULL;
    bool found = false;
    int rc = try_store(&store, true);
    if (!rc)
        rc = cairn_shell(&shell, store, 0, "use", &options, &error);
    plan.on = false;
    for (size_t i = 0; !rc && shell->env[i]; i++)
        found |= strcmp(shell->env[i], "N=7") == 0;
    ck_assert(rc || (found && shell->argv[0] && shell->secrets[0]));
    ck_assert(rc || !shown || strstr(shell->script, "N=7"));
    cairn_shell_free(shell);
    cairn_store_close(store);
    return rc;
}

START_TEST(while_a_shell_is_made)
{
    struct cairn_store *store = NULL;
    int n = 0;
    setenv("TOKEN_A", "token-a-value", 1);
    good(try_store(&store, false));
    run_text(shell_text, store, (struct cairn_run_options){0}, NULL);
    cairn_store_close(store);
    for (plan.failed = 1; plan.failed; n += step_of(_i % 2)) {
        error = (struct cairn_error){0};
        plan.kind = kinds[_i / 2];
        plan.forever = _i % 2;
        plan.left = n + 1;
        plan.failed = 0;
        plan.on = true;
        int rc = try_shell(n % 2);
        ck_assert_msg(rc <= 0 && (!rc || error.text[0]), "%d", rc);
        ck_assert_msg(!rc || plan.failed, "without a failure: %s", error.text);
    }
    ck_assert_int_gt(n, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failing calls");
    TCase *tests = tcase_create("failing calls");
    int n = 2 * (int)(sizeof kinds / sizeof kinds[0]);
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, while_a_store_is_written, 0, n);
    tcase_add_loop_test(tests, while_it_is_read, 0, n);
    tcase_add_loop_test(tests, while_it_is_thinned_out, 0, n);
    tcase_add_loop_test(tests, while_a_shell_is_made, 0, n);
    suite_add_tcase(suite, tests);
    TCase *runs = tcase_create("runs");
    tcase_add_checked_fixture(runs, setup, teardown);
    tcase_set_timeout(runs, 120);
    tcase_add_loop_test(runs, while_it_runs, 0, 4);
    suite_add_tcase(suite, runs);
    return run_suite(suite);
}
