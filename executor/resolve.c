/* SPDX-License-Identifier: MIT */
/* cairn_resolve: deciding an unknown task. cairn_undo: undoing completed ones. */
#include "base/clock.h"
#include "executor/command_wait.h"
#include "executor/engine.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <stdlib.h>

/* ---- Unknown tasks ---- */

static int check_unknown(struct run_view *v, uint32_t task, struct cairn_error *error)
{
    const char *id = v->workflow->graph.id[task];
    bool pending = false;
    if (v->states.outcome[task] != CAIRN_UNKNOWN)
        return error_set(error, CAIRN_EUSAGE,
                         "the outcome of task %s is not unknown: it is %s", id,
                         cairn_outcome_name(v->states.outcome[task]));
    int rc = run_view_has_command(v, task, COMMAND_RESOLVE, &pending, error);
    if (!rc && pending)
        rc = error_set(error, CAIRN_EUSAGE,
                       "somebody has just decided what became of task %s", id);
    return rc;
}

static int put_resolution(struct run_view *v, enum cairn_resolution resolution,
                          struct queued_command *command, struct cairn_error *error)
{
    uint32_t task;
    int rc = run_view_find(v, command->task, &task, error);
    if (!rc)
        rc = check_unknown(v, task, error);
    if (!rc && resolution == CAIRN_RESOLVED_DONE)
        rc = run_view_check_outputs(v, task, error);
    if (rc)
        return rc;
    struct command_row row = {.verb = COMMAND_RESOLVE,
                              .argument = (uint8_t)resolution,
                              .task = task,
                              .time_ns = clock_utc_ns()};
    return run_view_put_command(v, &row, command, error);
}

int cairn_resolve(struct cairn_store *store, uint64_t run, const char *task,
                  enum cairn_resolution resolution, struct cairn_error *error)
{
    struct run_view v;
    struct queued_command command = {.task = task,
                                     .done = resolution == CAIRN_RESOLVED_DONE};
    if (resolution < CAIRN_RESOLVED_DONE || resolution > CAIRN_RESOLVED_RERUN)
        return error_set(error, CAIRN_EUSAGE,
                         "a task is resolved as done, failed, or to be run again");
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = run_view_open(&v, store, run, error);
    if (!rc) {
        rc = put_resolution(&v, resolution, &command, error);
        run_view_release(&v);
    }
    rc = store_end(store, rc, error);
    return rc ? rc : command_wait(store, &command, error);
}

/* ---- Undoing ---- */

struct undo_request {
    struct run_view view;
    bool *wanted; /* [n_tasks] */
    uint32_t *tasks, n;
};

/* 1: it has completed, and its undo is stored. */
static int can_undo(struct undo_request *r, uint32_t task, struct cairn_error *error)
{
    const struct result *result;
    if (r->view.states.outcome[task] != CAIRN_COMPLETED)
        return 0;
    int rc = lookup_result(&r->view.lookup, task, &result, error);
    return rc ? rc : result->undo.text.len > 0;
}

static int choose_named(struct undo_request *r, const char *name,
                        struct cairn_error *error)
{
    uint32_t task = NODE_NONE;
    struct cairn_error why = {0};
    int rc = run_view_find(&r->view, name, &task, error);
    if (rc)
        return rc;
    int can = can_undo(r, task, &why);
    if (can < 0)
        return error_set(error, can, "task %s: %s", name, why.text);
    r->wanted[task] = true;
    if (can)
        return 0;
    uint8_t outcome = r->view.states.outcome[task];
    if (outcome == CAIRN_COMPLETED)
        return error_set(error, CAIRN_EUSAGE, "task %s completed without an `undo`",
                         name);
    return error_set(error, CAIRN_EUSAGE,
                     "task %s cannot be undone: it has not completed, it is %s", name,
                     cairn_outcome_name(outcome));
}

/* All tasks were undone, but the undoing died before it stored the end of the run. */
static bool lacks_end(const struct undo_request *r)
{
    return r->view.row.state == CAIRN_RUN_UNFINISHED &&
           states_tally(&r->view.states).undone > 0;
}

/* A task whose result cannot be read is chosen, too: the engine reports why. */
static int choose_all(struct undo_request *r, struct cairn_error *error)
{
    const struct graph *g = &r->view.workflow->graph;
    uint32_t n = 0;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        struct cairn_error why = {0};
        int can = graph_def(g, task)->finally ? 0 : can_undo(r, task, &why);
        if (can < 0 && can != CAIRN_EDAMAGED)
            return error_set(error, can, "task %s: %s", g->id[task], why.text);
        r->wanted[task] = can != 0;
        n += can != 0;
    }
    if (n || lacks_end(r))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "there is nothing to undo in run %llu: no task has completed with "
                     "an `undo`",
                     (unsigned long long)r->view.row.run);
}

/* Reverse topological order. */
static void order_for_undo(struct undo_request *r)
{
    const struct graph *g = &r->view.workflow->graph;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        if (!graph_is_barrier(g, node) && r->wanted[node])
            r->tasks[r->n++] = node;
    }
}

static int choose_tasks(struct undo_request *r, const char *const *tasks, size_t n,
                        struct cairn_error *error)
{
    size_t size = (size_t)r->view.workflow->graph.n_tasks + 1;
    int rc = 0;
    r->wanted = calloc(size, sizeof *r->wanted);
    r->tasks = calloc(size, sizeof *r->tasks);
    if (!r->wanted || !r->tasks)
        return error_nomem(error);
    for (size_t i = 0; i < n && !rc; i++)
        rc = choose_named(r, tasks[i], error);
    if (!n)
        rc = choose_all(r, error);
    if (!rc)
        order_for_undo(r);
    return rc;
}

int cairn_undo(struct cairn_store *store, uint64_t run, const char *const *tasks,
               size_t n, const struct cairn_run_options *options,
               struct cairn_run_result *result, struct cairn_error *error)
{
    struct undo_request r = {.n = 0};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = run_view_open(&r.view, store, run, error);
    bool opened = !rc;
    if (!rc)
        rc = choose_tasks(&r, tasks, n, error);
    store_end_read(store);
    if (!rc)
        rc = engine_undo(r.view.workflow, store, r.view.row.run, options, r.tasks, r.n,
                         result, error);
    free(r.wanted);
    free(r.tasks);
    if (opened)
        run_view_release(&r.view);
    return rc;
}
