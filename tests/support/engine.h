/* SPDX-License-Identifier: MIT */
/* What the tests of whole runs share: a directory of their own, which is also the
 * current one, short ways to build and run a workflow, and what was seen of a run. */
#ifndef TESTS_SUPPORT_ENGINE_H
#define TESTS_SUPPORT_ENGINE_H

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

extern char dir[256], home[4096];
extern struct cairn_error error;

void setup(void);
void teardown(void);
void good(int rc);
bool exists(const char *name);
void put_file(const char *name, const char *text);
/* How many lines a task has appended to a file. */
int lines(const char *name);
/* The lines of a file, with spaces between them; "" without it. */
const char *words_of(const char *name);
void expect_words(const char *name, const char *words);
/* ---- Stores and workflows ---- */

struct cairn_store *open_at(const char *path);
struct cairn_store *open_store(void);
struct cairn_workflow *workflow_named(const char *name);
void add(struct cairn_workflow *w, struct cairn_task task);
struct cairn_workflow *parsed(const char *text);
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

void observe(void *context, const struct cairn_event *event);
/* What runs has the rest of the options. */
struct cairn_run_result run_with(struct cairn_workflow *w, struct cairn_store *store,
                                 struct cairn_run_options options, struct seen *seen);
/* Parses, runs to the end and frees. */
struct cairn_run_result run_text(const char *text, struct cairn_store *store,
                                 struct cairn_run_options options, struct seen *seen);
struct task_wanted {
    const char *id;
    bool found;
    struct cairn_task_info info; /* without its strings */
    char text[512];
    uint32_t failed, n;
};

int note_task(void *context, const struct cairn_task_info *info);
struct task_wanted task_of(struct cairn_store *store, uint64_t run, const char *id);
/* "a:completed b:skipped": exactly these of the tasks of a run. */
void expect_tasks(struct cairn_store *store, uint64_t run, const char *expected);
struct cairn_run_info run_info(struct cairn_store *store, uint64_t run);
/* ---- Trouble ---- */

/* Runs SQL on a store that nobody has open. flip(blob, n): its byte n inverted. */
void flip(sqlite3_context *context, int argc, sqlite3_value **argv);
int64_t sql(const char *statement);
/* A small file system at ./small that only this test's process sees; false without the
 * right to make it. */
bool mount_small(const char *options);
void fill_small(void);
void free_small(void);
/* ---- Running a suite ---- */

int run_suite(Suite *suite);
#endif
