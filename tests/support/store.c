/* SPDX-License-Identifier: MIT */
#include "tests/support/store.h"

char dir[256], path[300], name_buffer[600];
struct cairn_error error;

void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_store.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
}

void teardown(void)
{
    remove_tree(dir);
}

void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

const char *in_store(const char *name)
{
    snprintf(name_buffer, sizeof name_buffer, "%s/%s", path, name);
    return name_buffer;
}

bool exists(const char *name)
{
    struct stat st;
    return stat(in_store(name), &st) == 0;
}

int try_open(struct cairn_store **store, bool read_only)
{
    struct cairn_store_options options = {
        .path = path, .create = !read_only, .read_only = read_only};
    return cairn_store_open(store, &options, &error);
}

struct cairn_store *open_store(void)
{
    struct cairn_store *store = NULL;
    good(try_open(&store, false));
    return store;
}

struct cairn_store *open_reader(void)
{
    struct cairn_store *store = NULL;
    good(try_open(&store, true));
    return store;
}

void expect_refused(int code, const char *part)
{
    struct cairn_store *store = NULL;
    for (int read_only = 0; read_only < 2; read_only++) {
        ck_assert_int_eq(try_open(&store, read_only), code);
        ck_assert_int_eq(error.code, code);
        ck_assert_ptr_null(store);
        ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    }
}

int put(struct cairn_store *store, size_t size, uint64_t *seq)
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

uint64_t commit_one(struct cairn_store *store)
{
    uint64_t seq = 0;
    good(store_begin(store, -1, &error));
    good(put(store, 150, &seq));
    good(store_commit(store, &error));
    return seq;
}

uint64_t count(struct cairn_store *store)
{
    uint64_t n = 0;
    good(store_count_checkpoints(store, &(struct checkpoint_range){0}, &n, &error));
    return n;
}

int note_line(void *context, const char *line)
{
    snprintf(context, 100, "%.99s", line);
    return 0;
}

pid_t start(const char *part, int *out)
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

void murder(pid_t pid, int out)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(out);
}

int play(const char *part)
{
    struct cairn_store *store = NULL;
    uint64_t seq;
    int rc = try_open(&store, false);
    if (!rc && strcmp(part, "open") != 0) {
        for (int i = 0; !rc && i < 5; i++) {
            rc = store_begin(store, -1, &error);
            if (!rc)
                rc = put(store, strcmp(part, "much") == 0 ? 20000 : 150, &seq);
            if (!rc)
                rc = store_commit(store, &error);
        }
        if (!rc && strcmp(part, "hold") == 0)
            rc = store_begin(store, -1, &error);
        if (!rc && strcmp(part, "hold") == 0)
            rc = put(store, 150, &seq);
        bool complete = false;
        if (!rc && strcmp(part, "transfer") == 0)
            rc = db_transfer(store->db, &complete, &error);
    }
    if (rc || write(1, "x", 1) != 1) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    pause();
    return 0;
}

bool played(int argc, char **argv, int *status)
{
    if (argc != 3)
        return false;
    snprintf(path, sizeof path, "%s", argv[2]);
    *status = play(argv[1]);
    return true;
}

int run_tests(const char *name, const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return help_run(suite);
}
