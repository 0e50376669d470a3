/* SPDX-License-Identifier: MIT */
#include "tests/support/checkpoint.h"

uint32_t lab_below(struct lab *lab, uint32_t n)
{
    lab->seed ^= lab->seed >> 12;
    lab->seed ^= lab->seed << 25;
    lab->seed ^= lab->seed >> 27;
    return (uint32_t)((lab->seed * 2685821657736338717u) >> 33) % n;
}

void lab_store(struct lab *lab)
{
    struct cairn_store_options options = {
        .path = lab->path, .create = true, .sync = CAIRN_SYNC_OFF};
    MUST(lab, cairn_store_open(&lab->store, &options, &lab->error));
    lab->stream.chain.in.store = lab->store;
}

uint64_t lab_run(struct lab *lab, const char *workflow, uint64_t from_run,
                 uint64_t from_seq, struct digest *graph)
{
    struct run_row row = {.gen = 1,
                          .tasks = LAB_TASKS,
                          .state = CAIRN_RUN_UNFINISHED,
                          .started_ns = 1,
                          .from_run = from_run,
                          .from_seq = from_seq,
                          .file = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_workflow_id(lab->store, str_of(workflow), true, &row.workflow,
                                &lab->error));
    MUST(lab, store_put_object(lab->store, STR("a graph"), graph, &lab->error));
    row.graph = *graph;
    row.params_text = STR("");
    row.workflow_name = str_of(workflow);
    MUST(lab, store_add_run(lab->store, &row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return row.run;
}

int lab_copy_run(void *context, const struct run_row *row)
{
    *(struct run_row *)context = *row;
    return 0;
}

int lab_finish_row(void *context, const struct run_row *row)
{
    struct lab *lab = context;
    struct run_row changed = *row;
    changed.state = CAIRN_RUN_COMPLETED;
    return store_set_run(lab->store, &changed, &lab->error);
}

void lab_finish(struct lab *lab, uint64_t run)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_get_run(lab->store, run, lab_finish_row, lab, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

struct lab *lab_open(uint64_t seed)
{
    struct lab *lab = calloc(1, sizeof *lab);
    ck_assert_ptr_nonnull(lab);
    const char *base = getenv("TMPDIR");
    snprintf(lab->dir, sizeof lab->dir, "%s/cairn-check.XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(lab->dir));
    snprintf(lab->path, sizeof lab->path, "%s/.cairn", lab->dir);
    lab->seed = seed;
    lab->sha = sha256_new();
    ck_assert_ptr_nonnull(lab->sha);
    lab_store(lab);
    struct digest graph;
    uint64_t run = lab_run(lab, "nightly", 0, 0, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    MUST(lab, states_init(&lab->now, LAB_TASKS, &lab->error));
    return lab;
}

void lab_close(struct lab *lab)
{
    char command[400];
    cairn_store_close(lab->store);
    sha256_free(lab->sha);
    states_release(&lab->now);
    for (int i = 0; i < lab->n; i++)
        states_release(&lab->model[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", lab->dir);
    ck_assert_int_eq(system(command), 0);
    free(lab);
}

void lab_note(struct lab *lab, uint64_t seq, bool full)
{
    ck_assert_int_lt(lab->n, LAB_MAX);
    MUST(lab, states_copy(&lab->model[lab->n], &lab->now, &lab->error));
    lab->full[lab->n] = full;
    lab->seqs[lab->n++] = seq;
}

uint64_t lab_full(struct lab *lab)
{
    struct checkpoint_ref ref;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&lab->stream, &lab->now, 1000, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, ref.seq, true);
    return ref.seq;
}

uint64_t lab_delta(struct lab *lab)
{
    struct change changes[3];
    struct checkpoint_ref ref;
    size_t n = 1 + lab_below(lab, 3);
    for (size_t i = 0; i < n; i++) {
        uint32_t third = LAB_TASKS / 3;
        changes[i] =
            (struct change){.task = (uint32_t)i * third + lab_below(lab, third),
                            .outcome = (uint8_t)(1 + lab_below(lab, 4)),
                            .attempts = 1 + lab_below(lab, 3)};
        if (lab_below(lab, 3) == 0)
            changes[i].outputs.bytes[5] = (uint8_t)(1 + lab_below(lab, 255));
    }
    if (lab->now.n > LAB_TASKS) /* one of those that came later */
        changes[n - 1].task = LAB_TASKS + lab_below(lab, lab->now.n - LAB_TASKS);
    for (size_t i = 0; i < n; i++)
        MUST(lab, states_apply(&lab->now, &changes[i], &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, changes, n, 2000, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, ref.seq, false);
    return ref.seq;
}

uint64_t lab_grow(struct lab *lab)
{
    struct digest graph;
    struct checkpoint_ref ref;
    char text[40];
    MUST(lab,
         states_extend(&lab->now, lab->now.n + 1 + lab_below(lab, 3), &lab->error));
    snprintf(text, sizeof text, "a graph of %u", lab->now.n);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, str_of(text), &graph, &lab->error));
    run_stream_extend(&lab->stream, &graph, lab->now.n);
    MUST(lab, run_stream_delta(&lab->stream, NULL, 0, 3000, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, ref.seq, false);
    return ref.seq;
}

void lab_put(struct lab *lab, const char *kinds)
{
    for (; *kinds; kinds++) {
        if (*kinds == 'F')
            lab_full(lab);
        else if (*kinds == 'G')
            lab_grow(lab);
        else
            lab_delta(lab);
    }
}

bool lab_same(const struct states *a, const struct states *b)
{
    static const struct digest none;
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct digest *x = a->outputs ? &a->outputs[i] : &none;
        const struct digest *y = b->outputs ? &b->outputs[i] : &none;
        if (a->outcome[i] != b->outcome[i] || a->attempts[i] != b->attempts[i] ||
            !digest_equal(x, y))
            return false;
    }
    return true;
}

int lab_rebuild(struct lab *lab, int i)
{
    struct outcomes at;
    int rc = outcomes_rebuild(lab->store, lab->seqs[i], &at, NULL, &lab->error);
    if (rc == 0) {
        ck_assert_msg(lab_same(&at.states, &lab->model[i]), "checkpoint %llu differs",
                      (unsigned long long)lab->seqs[i]);
        outcomes_release(&at);
    }
    return rc;
}

void lab_sql(struct lab *lab, const char *format, uint64_t seq)
{
    char path[400], attach[400], sql[600], *text = NULL;
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    snprintf(attach, sizeof attach, "ATTACH '%s/side.db' AS side", lab->dir);
    snprintf(sql, sizeof sql, format, (unsigned long long)seq);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, &text);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, text ? text : "");
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

bool lab_flip(struct lab *lab, uint64_t seq, const char *column, int at, int bit)
{
    char path[400];
    sqlite3 *db = NULL;
    sqlite3_blob *blob = NULL;
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_blob_open(db, "main", "checkpoint", column,
                                       (sqlite3_int64)seq, 1, &blob),
                     SQLITE_OK);
    int size = sqlite3_blob_bytes(blob);
    bool there = at < size;
    if (there) {
        uint8_t byte;
        at = at < 0 ? size + at : at;
        ck_assert_int_eq(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
        byte = (uint8_t)(byte ^ (1 << bit));
        ck_assert_int_eq(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    }
    ck_assert_int_eq(sqlite3_blob_close(blob), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return there;
}

void lab_damage(struct lab *lab, int i)
{
    ck_assert(lab_flip(lab, lab->seqs[i], "record", -1, 3));
}

int lab_run_suite(const char *name, void (*add)(TCase *))
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 120);
    add(tests);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
