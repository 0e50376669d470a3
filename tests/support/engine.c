/* SPDX-License-Identifier: MIT */
#include "tests/support/engine.h"

char dir[256], home[4096];
struct cairn_error error;

void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_engine.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(getcwd(home, sizeof home));
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    error = (struct cairn_error){0};
}

void teardown(void)
{
    ck_assert_int_eq(chdir(home), 0);
    remove_tree(dir);
}

void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

bool exists(const char *name)
{
    struct stat st;
    return stat(name, &st) == 0;
}

void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

int lines(const char *name)
{
    FILE *file = fopen(name, "r");
    int c, n = 0;
    while (file && (c = getc(file)) != EOF)
        n += c == '\n';
    if (file)
        fclose(file);
    return n;
}

const char *words_of(const char *name)
{
    static char text[4096];
    FILE *file = fopen(name, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    for (char *p = text; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    return text;
}

void expect_words(const char *name, const char *words)
{
    const char *found = words_of(name);
    ck_assert_msg(strcmp(found, words) == 0, "%s has `%s`, not `%s`", name, found,
                  words);
}

struct cairn_store *open_at(const char *path)
{
    struct cairn_store *store = NULL;
    good(cairn_store_open(
        &store, &(struct cairn_store_options){.path = path, .create = true}, &error));
    return store;
}

struct cairn_store *open_store(void)
{
    return open_at(".cairn");
}

struct cairn_workflow *workflow_named(const char *name)
{
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_new(&w, name, &error));
    return w;
}

void add(struct cairn_workflow *w, struct cairn_task task)
{
    good(cairn_workflow_add(w, &task, &error));
}

struct cairn_workflow *parsed(const char *text)
{
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_parse(&w, text, strlen(text), "flow.yaml", NULL, 0, &error));
    return w;
}

void observe(void *context, const struct cairn_event *event)
{
    struct seen *seen = context;
    size_t used = strlen(seen->notice);
    seen->finished += event->kind == CAIRN_EVENT_TASK_FINISHED;
    seen->retries += event->kind == CAIRN_EVENT_TASK_RETRY;
    seen->ticks += event->kind == CAIRN_EVENT_TICK;
    seen->degraded += event->kind == CAIRN_EVENT_DEGRADED;
    seen->recovered += event->kind == CAIRN_EVENT_RECOVERED;
    if (event->kind == CAIRN_EVENT_NOTICE) {
        seen->notices++;
        snprintf(seen->notice + used, sizeof seen->notice - used, "%s\n", event->text);
    }
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        snprintf(seen->finish_text, sizeof seen->finish_text, "%s",
                 event->text ? event->text : "");
    if (seen->act)
        seen->act(seen, event);
}

struct cairn_run_result run_with(struct cairn_workflow *w, struct cairn_store *store,
                                 struct cairn_run_options options, struct seen *seen)
{
    struct cairn_run_result result = {0};
    if (seen) {
        options.observe = observe;
        options.observe_context = seen;
    }
    error = (struct cairn_error){0};
    good(cairn_run(w, store, &options, &result, &error));
    return result;
}

struct cairn_run_result run_text(const char *text, struct cairn_store *store,
                                 struct cairn_run_options options, struct seen *seen)
{
    struct cairn_workflow *w = parsed(text);
    struct cairn_run_result result = run_with(w, store, options, seen);
    cairn_workflow_free(w);
    return result;
}

int note_task(void *context, const struct cairn_task_info *info)
{
    struct task_wanted *wanted = context;
    wanted->n++;
    wanted->failed += info->outcome == CAIRN_FAILED;
    if (!wanted->id || strcmp(wanted->id, info->id))
        return 0;
    wanted->found = true;
    wanted->info = *info;
    snprintf(wanted->text, sizeof wanted->text, "%s", info->text ? info->text : "");
    return 0;
}

struct task_wanted task_of(struct cairn_store *store, uint64_t run, const char *id)
{
    struct task_wanted wanted = {.id = id};
    good(cairn_run_tasks(store, run, note_task, &wanted, &error));
    ck_assert(!id || wanted.found);
    return wanted;
}

void expect_tasks(struct cairn_store *store, uint64_t run, const char *expected)
{
    char *copy = strdup(expected), *rest = copy, *word;
    while ((word = strsep(&rest, " ")) != NULL) {
        char *outcome = strrchr(word, ':');
        ck_assert_ptr_nonnull(outcome);
        *outcome++ = 0;
        struct task_wanted task = task_of(store, run, word);
        ck_assert_msg(strcmp(cairn_outcome_name(task.info.outcome), outcome) == 0,
                      "%s is %s, not %s: %s", word,
                      cairn_outcome_name(task.info.outcome), outcome, task.text);
    }
    free(copy);
}

struct cairn_run_info run_info(struct cairn_store *store, uint64_t run)
{
    struct cairn_run_info info;
    good(cairn_run_get(store, run, &info, &error));
    return info;
}

void flip(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int size = sqlite3_value_bytes(argv[0]), at = sqlite3_value_int(argv[1]);
    unsigned char copy[4096];
    (void)argc;
    ck_assert(at >= 0 && at < size && size <= (int)sizeof copy);
    memcpy(copy, sqlite3_value_blob(argv[0]), (size_t)size);
    copy[at] ^= 0xff;
    sqlite3_result_blob(context, copy, size, SQLITE_TRANSIENT);
}

int64_t sql(const char *statement)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t value = 0;
    ck_assert_int_eq(sqlite3_open(".cairn/cairn.db", &db), 0);
    sqlite3_create_function(db, "flip", 2, SQLITE_UTF8, NULL, flip, NULL, NULL);
    ck_assert_int_eq(sqlite3_prepare_v2(db, statement, -1, &st, NULL), 0);
    int rc = sqlite3_step(st);
    ck_assert_msg(rc == SQLITE_ROW || rc == SQLITE_DONE, "%s", sqlite3_errmsg(db));
    if (rc == SQLITE_ROW)
        value = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return value;
}

bool mount_small(const char *options)
{
    return mkdir("small", 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("check", "small", "tmpfs", 0, options) == 0;
}

void fill_small(void)
{
    static const char block[4096];
    int fd = open("small/filler", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    while (write(fd, block, sizeof block) > 0)
        continue;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

void free_small(void)
{
    ck_assert_int_eq(truncate("small/filler", 0), 0);
}

int run_suite(Suite *suite)
{
    return help_run(suite);
}
