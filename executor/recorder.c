/* SPDX-License-Identifier: MIT */
/* The checkpoint service for programs with their own executor: a run whose outcomes
 * come from outside. */
#include "base/clock.h"
#include "cairn/run.h"
#include "graph/definition_codec.h"
#include "plan/situation.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "secrets/declared.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

struct cairn_recorder {
    struct cairn_store *store;
    struct sha256 *sha;
    struct run_stream stream;
    struct states states;
    struct run_row row;
    struct arena arena;
    struct owner_text owner;
    int64_t lock_offset;
};

static void recorder_free(struct cairn_recorder *r)
{
    if (r->lock_offset)
        owner_release(r->store, r->lock_offset);
    sha256_free(r->sha);
    states_release(&r->states);
    arena_release(&r->arena);
    free(r);
}

static int put_run(struct cairn_recorder *r, const struct cairn_workflow *w,
                   struct str encoded, struct cairn_error *error)
{
    int rc = store_put_object(r->store, encoded, &r->row.graph, error)
             ?: store_add_run(r->store, &r->row, error)
             ?: run_put_given(r->store, &r->row, w, error)
             ?: store_put_run_graph(r->store, r->row.run, r->row.gen, &r->row.graph,
                                    error)
             ?: secrets_declare(r->store, &w->definition, error);
    if (rc)
        return rc;
    r->stream = run_stream_of(r->store, r->sha, r->row.run, &r->row.graph);
    return run_stream_full(&r->stream, &r->states, r->row.started_ns, NULL, error);
}

static int describe_run(struct cairn_recorder *r, const struct cairn_workflow *w,
                        struct cairn_error *error)
{
    struct buf params = BUF_INIT;
    uint64_t workflow = r->row.workflow;
    int rc = definition_params(&w->definition, &params, &r->row.params, error);
    r->row.workflow = workflow;
    r->row.workflow_name = w->definition.name;
    r->row.file = arena_str(&r->arena, w->definition.file);
    r->row.params_text = arena_str(&r->arena, buf_view(&params));
    r->row.gen = 1;
    r->row.tasks = w->graph.n_tasks;
    r->row.started_ns = clock_utc_ns();
    owner_describe(&r->row, &r->owner);
    buf_release(&params);
    return rc ? rc : r->arena.failed ? error_nomem(error) : 0;
}

static int store_beginning(struct cairn_recorder *r, const struct cairn_workflow *w,
                           struct cairn_error *error)
{
    struct buf encoded = BUF_INIT;
    int rc = definition_encode(&w->definition, &encoded, error)
             ?: describe_run(r, w, error)
             ?: store_begin(r->store, -1, error)
             ?: store_end(r->store, put_run(r, w, buf_view(&encoded), error), error);
    buf_release(&encoded);
    return rc;
}

int cairn_recorder_open(struct cairn_recorder **out, struct cairn_workflow *workflow,
                        struct cairn_store *store, struct cairn_error *error)
{
    int rc = cairn_workflow_compile(workflow, error);
    struct cairn_recorder *r = rc ? NULL : calloc(1, sizeof *r);
    if (!r)
        return rc ? rc : error_nomem(error);
    r->store = store;
    r->sha = sha256_new();
    rc = r->sha ? states_init(&r->states, workflow->graph.n_tasks, error)
                : error_nomem(error);
    if (!rc)
        rc = owner_acquire(store, workflow->definition.name, &r->row.workflow,
                           &r->lock_offset, error)
                 ?: store_beginning(r, workflow, error);
    if (rc) {
        recorder_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

static int check_changes(const struct cairn_recorder *r,
                         const struct cairn_change *changes, size_t n,
                         struct cairn_error *error)
{
    if (n == 0)
        return error_set(error, CAIRN_EUSAGE, "there is nothing to save");
    for (size_t i = 0; i < n; i++)
        if (changes[i].task >= r->states.n || changes[i].outcome < CAIRN_PENDING ||
            changes[i].outcome > CAIRN_CANCELLED)
            return error_set(error, CAIRN_EUSAGE,
                             "change %zu: task %u of %u, outcome %d is not possible", i,
                             changes[i].task, r->states.n, (int)changes[i].outcome);
    return 0;
}

static int by_task(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

static int put_changes(struct cairn_recorder *r, const struct change *changes, size_t n,
                       struct checkpoint_ref *ref, struct cairn_error *error)
{
    int64_t now = clock_utc_ns();
    int rc = store_begin(r->store, -1, error);
    if (rc)
        return rc;
    rc = run_stream_delta(&r->stream, changes, n, now, ref, error);
    if (!rc && chain_wants_full(&r->stream.chain))
        rc = run_stream_full(&r->stream, &r->states, now, NULL, error);
    return store_end(r->store, rc, error);
}

/* [n] the changes, sorted by task; then [n] the states that they replace. */
static int sort_changes(const struct cairn_recorder *r,
                        const struct cairn_change *changes, size_t n,
                        struct change **out, struct cairn_error *error)
{
    struct change *sorted = calloc(n, 2 * sizeof *sorted);
    if (!sorted)
        return error_nomem(error);
    for (size_t i = 0; i < n; i++)
        sorted[i] =
            (struct change){.task = changes[i].task,
                            .outcome = (uint8_t)changes[i].outcome,
                            .attempts = changes[i].attempts ? changes[i].attempts : 1};
    qsort(sorted, n, sizeof *sorted, by_task);
    for (size_t i = 0; i < n; i++) {
        uint32_t task = sorted[i].task;
        if (i && task == sorted[i - 1].task) {
            free(sorted);
            return error_set(error, CAIRN_EUSAGE, "task %u is changed twice", task);
        }
        sorted[n + i] = (struct change){.task = task,
                                        .outcome = r->states.outcome[task],
                                        .attempts = r->states.attempts[task]};
    }
    *out = sorted;
    return 0;
}

static int apply_changes(struct cairn_recorder *r, const struct change *changes,
                         size_t n, struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = states_apply(&r->states, &changes[i], error);
    return rc;
}

int cairn_recorder_save(struct cairn_recorder *r, const struct cairn_change *changes,
                        size_t n, char id[CAIRN_ID_MAX], struct cairn_error *error)
{
    struct checkpoint_ref ref = {0};
    struct change *sorted = NULL;
    struct run_stream before = r->stream;
    int rc = check_changes(r, changes, n, error)
                 ?: sort_changes(r, changes, n, &sorted, error);
    if (rc)
        return rc;
    rc = apply_changes(r, sorted, n, error) ?: put_changes(r, sorted, n, &ref, error);
    if (rc) {
        apply_changes(r, sorted + n, n, NULL);
        r->stream = before;
    } else if (id)
        checkpoint_id(NAMESPACE_WORKFLOW, ref.seq, &ref.digest, id);
    free(sorted);
    return rc;
}

int cairn_recorder_close(struct cairn_recorder *r, enum cairn_run_state state,
                         struct cairn_error *error)
{
    if (!r)
        return 0;
    int rc = store_begin(r->store, -1, error);
    if (!rc) {
        r->row.state = (uint8_t)state;
        r->row.ended_ns = state == CAIRN_RUN_UNFINISHED ? 0 : clock_utc_ns();
        rc = store_end(r->store, store_set_run(r->store, &r->row, error), error);
    }
    recorder_free(r);
    return rc;
}
