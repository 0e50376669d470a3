/* SPDX-License-Identifier: MIT */
#include "tests/support/recorded_run.h"

#include "checkpoint/outcomes.h"
#include "graph/definition_codec.h"
#include "storage/object.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "tests/support/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>

struct cairn_store *run_store;
struct cairn_error run_error;
static char dir[256];

void must(int rc)
{
    ck_assert_msg(rc == 0, "%s", run_error.text);
}

void setup_store(void)
{
    char path[300];
    const char *tmp = getenv("TMPDIR");
    struct cairn_store_options options = {.path = path, .create = true};
    snprintf(dir, sizeof dir, "%s/check_run.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    must(cairn_store_open(&run_store, &options, &run_error));
}

void teardown_store(void)
{
    cairn_store_close(run_store);
    remove_tree(dir);
}

struct cairn_workflow *workflow_of(const char *text)
{
    struct cairn_workflow *w = NULL;
    must(cairn_workflow_parse(&w, text, strlen(text), "w.yaml", NULL, 0, &run_error));
    must(cairn_workflow_compile(w, &run_error));
    return w;
}

uint32_t task_of(const struct cairn_workflow *w, const char *id)
{
    uint32_t task = graph_find(&w->graph, str_of(id));
    ck_assert_msg(task != NODE_NONE, "no %s", id);
    return task;
}

/* Inside a write transaction. */
static struct digest put_definition(const struct cairn_workflow *w)
{
    struct buf encoded = BUF_INIT;
    struct digest digest;
    must(definition_encode(&w->definition, &encoded, &run_error));
    must(store_put_object(run_store, buf_view(&encoded), &digest, &run_error));
    buf_release(&encoded);
    return digest;
}

uint64_t record_run(struct cairn_workflow *const *generations, uint32_t n,
                    const uint8_t *outcome, enum cairn_run_state state)
{
    const struct cairn_workflow *w = generations[n - 1];
    struct run_row row = {.gen = n,
                          .tasks = w->graph.n_tasks,
                          .state = (uint8_t)state,
                          .started_ns = 1,
                          .file = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR(""),
                          .workflow_name = w->definition.name};
    struct buf params = BUF_INIT;
    struct states states;
    struct sha256 *sha = sha256_new();
    must(definition_params(&w->definition, &params, &row.params, &run_error));
    row.params_text = buf_view(&params);
    must(store_begin(run_store, -1, &run_error));
    must(store_workflow_id(run_store, row.workflow_name, true, &row.workflow,
                           &run_error));
    row.graph = put_definition(w);
    must(store_add_run(run_store, &row, &run_error));
    for (uint32_t gen = 1; gen <= n; gen++) {
        struct digest graph = put_definition(generations[gen - 1]);
        must(store_put_run_graph(run_store, row.run, gen, &graph, &run_error));
    }
    must(states_init(&states, w->graph.n_tasks, &run_error));
    for (uint32_t task = 0; task < states.n; task++) {
        struct change change = {.task = task, .outcome = outcome[task], .attempts = 1};
        if (outcome[task] != CAIRN_PENDING)
            must(states_apply(&states, &change, &run_error));
    }
    struct run_stream stream = run_stream_of(run_store, sha, row.run, &row.graph);
    must(run_stream_full(&stream, &states, 1, NULL, &run_error));
    must(store_commit(run_store, &run_error));
    states_release(&states);
    sha256_free(sha);
    buf_release(&params);
    return row.run;
}

void put_attempt(const struct attempt_row *attempt)
{
    must(store_begin(run_store, -1, &run_error));
    must(store_put_attempt(run_store, attempt, &run_error));
    must(store_commit(run_store, &run_error));
}
