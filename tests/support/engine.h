/* SPDX-License-Identifier: MIT */
/* What the tests of whole runs share: a directory of their own, which is also the
 * current one, short ways to build and run a workflow, and what was seen of a run. */
#ifndef ENGINE_HELP_H
#define ENGINE_HELP_H

#include "cairn.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256], home[4096];
static struct cairn_error error;

static inline void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_engine.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(getcwd(home, sizeof home));
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    error = (struct cairn_error){0};
}

static inline void teardown(void)
{
    ck_assert_int_eq(chdir(home), 0);
    remove_tree(dir);
}

static inline void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

static inline bool exists(const char *name)
{
    struct stat st;
    return stat(name, &st) == 0;
}

static inline void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* How many lines a task has appended to a file. */
static inline int lines(const char *name)
{
    FILE *file = fopen(name, "r");
    int c, n = 0;
    while (file && (c = getc(file)) != EOF)
        n += c == '\n';
    if (file)
        fclose(file);
    return n;
}

/* The lines of a file, with spaces between them; "" without it. */
static inline const char *words_of(const char *name)
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

static inline void expect_words(const char *name, const char *words)
{
    const char *found = words_of(name);
    ck_assert_msg(strcmp(found, words) == 0, "%s has `%s`, not `%s`", name, found,
                  words);
}

/* ---- Stores and workflows ---- */

static inline struct cairn_store *open_at(const char *path)
{
    struct cairn_store *store = NULL;
    good(cairn_store_open(
        &store, &(struct cairn_store_options){.path = path, .create = true}, &error));
    return store;
}

static inline struct cairn_store *open_store(void)
{
    return open_at(".cairn");
}

static inline struct cairn_workflow *workflow_named(const char *name)
{
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_new(&w, name, &error));
    return w;
}

static inline void add(struct cairn_workflow *w, struct cairn_task task)
{
    good(cairn_workflow_add(w, &task, &error));
}

static inline struct cairn_workflow *parsed(const char *text)
{
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_parse(&w, text, strlen(text), "flow.yaml", NULL, 0, &error));
    return w;
}

/* ---- What was seen of a run ---- */

struct seen {
    uint32_t finished, retries, ticks, degraded, recovered, notices;
    char notice[4096]; /* all of them */
    char finish_text[1024];
    void (*act)(struct seen *, const struct cairn_event *);
    struct cairn_store *store;
    sqlite3 *db;
    int rc;
};

static inline void observe(void *context, const struct cairn_event *event)
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

/* What runs has the rest of the options. */
static inline struct cairn_run_result run_with(struct cairn_workflow *w,
                                               struct cairn_store *store,
                                               struct cairn_run_options options,
                                               struct seen *seen)
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

/* Parses, runs to the end and frees. */
static inline struct cairn_run_result run_text(const char *text,
                                               struct cairn_store *store,
                                               struct cairn_run_options options,
                                               struct seen *seen)
{
    struct cairn_workflow *w = parsed(text);
    struct cairn_run_result result = run_with(w, store, options, seen);
    cairn_workflow_free(w);
    return result;
}

struct task_wanted {
    const char *id;
    bool found;
    struct cairn_task_info info; /* without its strings */
    char text[512];
    uint32_t failed, n;
};

static inline int note_task(void *context, const struct cairn_task_info *info)
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

static inline struct task_wanted task_of(struct cairn_store *store, uint64_t run,
                                         const char *id)
{
    struct task_wanted wanted = {.id = id};
    good(cairn_run_tasks(store, run, note_task, &wanted, &error));
    ck_assert(!id || wanted.found);
    return wanted;
}

/* "a:completed b:skipped": exactly these of the tasks of a run. */
static inline void expect_tasks(struct cairn_store *store, uint64_t run,
                                const char *expected)
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

static inline struct cairn_run_info run_info(struct cairn_store *store, uint64_t run)
{
    struct cairn_run_info info;
    good(cairn_run_get(store, run, &info, &error));
    return info;
}

/* ---- Trouble ---- */

/* Runs SQL on a store that nobody has open. flip(blob, n): its byte n inverted. */
static inline void flip(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int size = sqlite3_value_bytes(argv[0]), at = sqlite3_value_int(argv[1]);
    unsigned char copy[4096];
    (void)argc;
    ck_assert(at >= 0 && at < size && size <= (int)sizeof copy);
    memcpy(copy, sqlite3_value_blob(argv[0]), (size_t)size);
    copy[at] ^= 0xff;
    sqlite3_result_blob(context, copy, size, SQLITE_TRANSIENT);
}

static inline int64_t sql(const char *statement)
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

/* A small file system at ./small that only this test's process sees; false without the
 * right to make it. */
static inline bool mount_small(const char *options)
{
    return mkdir("small", 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("check", "small", "tmpfs", 0, options) == 0;
}

static inline void fill_small(void)
{
    static const char block[4096];
    int fd = open("small/filler", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    while (write(fd, block, sizeof block) > 0)
        continue;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

static inline void free_small(void)
{
    ck_assert_int_eq(truncate("small/filler", 0), 0);
}

/* ---- Running a suite ---- */

static inline int run_suite(Suite *suite)
{
    return help_run(suite);
}

#endif
