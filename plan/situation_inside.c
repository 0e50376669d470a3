/* SPDX-License-Identifier: MIT */
/* A workflow that is run by a task of another run in the same store. */
#include "plan/situation_int.h"

#include "cairn/outcome.h"
#include "runs/marks.h"
#include "storage/rows_run.h"
#include "storage/store.h"

/* ---- Is one attempt the repetition of another? ---- */

struct needed { /* has something that the task needs run since? */
    const struct run_parent *was;
    const struct graph *graph;
    uint64_t since; /* turn */
    bool again;
};

static bool is_task(const void *context, uint32_t dependent)
{
    return dependent == *(const uint32_t *)context;
}

static int look_at_needed(void *context, const struct attempt_row *row)
{
    struct needed *n = context;
    if (row->gen != n->was->gen || row->task >= n->graph->n_tasks ||
        row->start_turn <= n->since)
        return 0;
    n->again = graph_any_dependent(n->graph, row->task, is_task, &n->was->task);
    return n->again;
}

static int needs_ran_again(struct cairn_store *store, const struct run_parent *was,
                           uint64_t since, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    struct definition definition;
    struct graph graph;
    int rc = run_row_get(&row, store, was->run, &arena, error);
    if (!rc)
        rc = generation_load(store, &row, was->gen, &definition, &graph, error);
    if (!rc) {
        struct needed needed = {.was = was, .graph = &graph, .since = since};
        rc = store_each_new_attempt(store, was->run, since, look_at_needed, &needed,
                                    error);
        rc = rc < 0 ? rc : needed.again;
        graph_release(&graph);
        definition_release(&definition);
    }
    arena_release(&arena);
    return rc;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    *(struct attempt_row *)context = *row; /* its texts are not used */
    return 0;
}

/* Does the attempt `here` repeat `was`, which did not end by itself, with nothing
 * edited and nothing that their task needs run again since? 1 yes, 0 no, <0 error. */
static int repeats_attempt(struct cairn_store *store, const struct run_parent *was,
                           const struct run_parent *here, struct cairn_error *error)
{
    const struct attempt_row key = {
        .run = was->run, .gen = was->gen, .task = was->task, .number = was->attempt};
    struct attempt_row row = {0};
    struct cairn_error local = {0};
    if (same_attempt(was, here) || was->gen != here->gen)
        return 0; /* after an edit nobody knows what it was given */
    int rc = store_get_attempt(store, &key, note_attempt, &row, &local);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : error_set(error, rc, "%s", local.text);
    if (!attempt_is_open(&row) && !(row.flags & ATTEMPT_INTERRUPTED) &&
        row.outcome != CAIRN_CANCELLED)
        return 0;
    rc = needs_ran_again(store, was, row.start_turn, error);
    return rc < 0 ? rc : !rc;
}

/* ---- Which run goes on ---- */

/* The newest run of the workflow and params that the task which this process runs in
 * has begun goes on inside it: if it is unfinished, and if it has completed in an
 * attempt that was cut off, since that attempt is repeated now, but not what was done
 * in it. */
int situation_find_begun_before(struct loader *l, const struct digest *params)
{
    struct inside_query query = {.params = params, .parent = &l->s->inside};
    struct cairn_error local = {0};
    struct run_parent was;
    uint64_t run = 0;
    int rc = store_workflow_id(l->store, l->w->definition.name, false, &query.workflow,
                               &local);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : error_set(l->error, rc, "%s", local.text);
    rc = store_find_inside(l->store, &query, &run, &was, l->error);
    if (!rc && run)
        rc = run_row_get(&l->s->recorded.row, l->store, run, &l->s->arena, l->error);
    if (rc || !run)
        return rc;
    bool goes_on = l->s->recorded.row.state != CAIRN_RUN_COMPLETED;
    if (!goes_on) {
        rc = repeats_attempt(l->store, &was, &l->s->inside, l->error);
        goes_on = rc > 0;
    }
    l->s->begun_before = goes_on;
    if (!goes_on)
        l->s->recorded.row = (struct run_row){0};
    return rc < 0 ? rc : 0;
}

int situation_leave_to_other_task(struct loader *l)
{
    struct run_parent parent;
    uint64_t run = l->s->recorded.row.run;
    int rc = run && l->s->inside.run
                 ? store_get_parent(l->store, run, &parent, l->error)
                 : 0;
    if (!rc && run && l->s->inside.run && parent.run)
        l->s->recorded.row = (struct run_row){0};
    return rc;
}

static int note_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

int situation_notice_parent(struct loader *l)
{
    struct run_parent parent;
    uint8_t state = CAIRN_RUN_COMPLETED;
    unsigned long long run = l->s->recorded.row.run;
    int rc = store_get_parent(l->store, run, &parent, l->error);
    if (rc || !parent.run)
        return rc;
    if (l->s->inside.run) {
        situation_add_notice(l->s, "task %s of run %llu began run %llu, which goes on",
                             parent.id, (unsigned long long)parent.run, run);
        return 0;
    }
    rc = store_get_run(l->store, parent.run, note_state, &state, NULL);
    situation_add_notice(
        l->s, "run %llu was begun by task %s of run %llu%s", run, parent.id,
        (unsigned long long)parent.run,
        !rc && state != CAIRN_RUN_COMPLETED ? ", which has not completed itself" : "");
    return 0;
}
