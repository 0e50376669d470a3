/* SPDX-License-Identifier: MIT */
/* A store for targets that need one: made once, left as it was after each input. */
#ifndef TESTS_FUZZ_STORE_H
#define TESTS_FUZZ_STORE_H

#include "checkpoint/chain.h"
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "storage/object.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/fuzz/fuzz.h"

static struct cairn_store *fuzz_store;
static struct sha256 *fuzz_sha;
static struct digest fuzz_graph;
static uint64_t fuzz_run;

static inline void fuzz_store_close(void)
{
    cairn_store_close(fuzz_store);
    sha256_free(fuzz_sha);
}

static inline void fuzz_add_run(uint32_t tasks)
{
    struct cairn_error error = {0};
    struct run_row row = {.gen = 1,
                          .tasks = tasks,
                          .state = CAIRN_RUN_UNFINISHED,
                          .started_ns = 1,
                          .file = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR(""),
                          .params_text = STR(""),
                          .workflow_name = STR("w")};
    HOLDS(store_begin(fuzz_store, -1, &error) == 0);
    HOLDS(store_workflow_id(fuzz_store, STR("w"), true, &row.workflow, &error) == 0);
    HOLDS(store_put_object(fuzz_store, STR("a graph"), &row.graph, &error) == 0);
    HOLDS(store_add_run(fuzz_store, &row, &error) == 0);
    HOLDS(store_commit(fuzz_store, &error) == 0);
    fuzz_graph = row.graph;
    fuzz_run = row.run;
}

/* With one run of so many tasks. */
static inline void fuzz_store_make(uint32_t tasks)
{
    char path[300];
    struct cairn_error error = {0};
    fuzz_dir_make();
    HOLDS(atexit(fuzz_store_close) == 0);
    snprintf(path, sizeof path, "%s/.cairn", fuzz_dir);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    HOLDS(cairn_store_open(&fuzz_store, &options, &error) == 0);
    fuzz_sha = sha256_new();
    HOLDS(fuzz_sha);
    fuzz_add_run(tasks);
}

#endif
