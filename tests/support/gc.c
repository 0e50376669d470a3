/* SPDX-License-Identifier: MIT */
#include "checkpoint/gc/gc.h"
#include "tests/support/gc.h"

#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

struct digest lab_put_object(struct lab *lab, const char *text)
{
    struct digest digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, str_of(text), &digest, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return digest;
}

bool lab_has_object(struct lab *lab, const struct digest *digest)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(lab->store, digest, &content, &lab->error);
    buf_release(&content);
    ck_assert_msg(rc == 0 || rc == CAIRN_ENOTFOUND, "%s", lab->error.text);
    return rc == 0;
}

struct cairn_gc_result lab_collect(struct lab *lab, uint32_t keep_runs)
{
    struct cairn_gc_options options = {.keep_runs = keep_runs};
    struct cairn_gc_result result;
    MUST(lab,
         checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error));
    return result;
}

int lab_print_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    printf("%s %s\n", problem->id, problem->text);
    return 0;
}

void lab_must_verify(struct lab *lab)
{
    MUST(lab, cairn_checkpoint_verify(lab->store, NULL, lab_print_problem, NULL, NULL,
                                      &lab->error));
}

struct ending {
    struct lab *lab;
    int64_t ended_ns;
    uint8_t state;
};

static int end_row(void *context, const struct run_row *row)
{
    const struct ending *ending = context;
    struct run_row changed = *row;
    changed.state = ending->state;
    changed.ended_ns = ending->ended_ns;
    return store_set_run(ending->lab->store, &changed, &ending->lab->error);
}

void lab_end_run(struct lab *lab, uint64_t run, uint8_t state, int64_t ended_ns)
{
    struct ending ending = {lab, ended_ns, state};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_get_run(lab->store, run, end_row, &ending, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

/* A run that has ended, with some records and one attempt that wrote something. */
uint64_t lab_ended_run(struct lab *lab, const char *workflow, const char *kinds,
                       const char *output)
{
    struct digest graph, out = lab_put_object(lab, output);
    uint64_t run = lab_run(lab, workflow, 0, 0, &graph);
    struct attempt_row attempt = {.run = run,
                                  .gen = 1,
                                  .number = 1,
                                  .intent_ns = 5,
                                  .ended_ns = 6,
                                  .outcome = CAIRN_COMPLETED,
                                  .exit_code = 0,
                                  .out = {(const char *)out.bytes, DIGEST_SIZE}};
    struct event_row event = {.run = run, .turn = 1, .time_ns = 5, .task = UINT32_MAX};
    event.kind = EVENT_BEGUN;
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
    MUST(lab, store_put_event(lab->store, &event, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_put(lab, kinds);
    lab_end_run(lab, run, CAIRN_RUN_COMPLETED, clock_utc_ns());
    return run;
}

static int no_row(void *context, const struct run_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

bool lab_has_run(struct lab *lab, uint64_t run)
{
    int rc = store_get_run(lab->store, run, no_row, NULL, &lab->error);
    ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
    return rc == 0;
}

int64_t lab_ask(struct lab *lab, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char file[400];
    snprintf(file, sizeof file, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    int64_t n =
        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return n;
}

/* With the store closed: nothing but SQLite may open its files beside it. */
int64_t lab_ask_closed(struct lab *lab, const char *sql)
{
    cairn_store_close(lab->store);
    int64_t n = lab_ask(lab, sql);
    lab_store(lab);
    return n;
}
