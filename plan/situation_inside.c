/* SPDX-License-Identifier: MIT */
/* A workflow that is run by a task of another run in the same store. */
#include "plan/situation_int.h"

#include "cairn/outcome.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "runs/marks.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

/* ---- Is one attempt the repetition of another? ---- */

/* The run whose task began another: its definitions at the time of two attempts of that
 * task. */
struct outer_run {
    struct arena arena; /* texts of the row */
    struct run_row row;
    const struct run_parent *was, *here;
    struct past_definition then, now;
    uint64_t since; /* turn */
    bool again;
    struct cairn_store *store;
    struct cairn_error *error;
};

static bool is_task(const void *context, uint32_t dependent)
{
    return dependent == *(const uint32_t *)context;
}

/* Of whichever generation, in the numbers of which the attempt is. */
static int look_at_needed(void *context, const struct attempt_row *row)
{
    struct outer_run *o = context;
    if (row->gen < o->was->gen || row->start_turn <= o->since)
        return 0;
    int rc = past_definition_load(&o->now, o->store, &o->row, row->gen, o->error);
    if (rc)
        return rc;
    uint32_t task = graph_find(&o->now.graph, str_of(o->here->id));
    o->again = row->task < o->now.graph.n_tasks && task != NODE_NONE &&
               graph_any_dependent(&o->now.graph, row->task, is_task, &task);
    return o->again;
}

static int note_change(void *context, const char *field, const char *old,
                       const char *now)
{
    (void)field;
    (void)old;
    (void)now;
    *(bool *)context = true;
    return 1;
}

/* Is the task another one by now? What else was edited, and where the file is, does not
 * matter. */
static int was_edited(struct outer_run *o, bool *edited)
{
    const struct run_parent *was = o->was, *here = o->here;
    *edited = false;
    if (was->gen == here->gen)
        return 0;
    int rc = past_definition_load(&o->then, o->store, &o->row, was->gen, o->error);
    if (!rc)
        rc = past_definition_load(&o->now, o->store, &o->row, here->gen, o->error);
    if (rc)
        return rc;
    *edited = true;
    if (was->task >= o->then.graph.n_tasks || here->task >= o->now.graph.n_tasks)
        return 0;
    *edited = false;
    rc = fingerprint_changes(&o->then.definition, graph_def(&o->then.graph, was->task),
                             &o->now.definition, graph_def(&o->now.graph, here->task),
                             note_change, edited, o->error);
    return rc < 0 ? rc : 0;
}

/* Has the task been edited, or something that it needs run since? A definition that is
 * lost tells nothing. */
static int is_given_something_else(struct outer_run *o, bool *otherwise)
{
    int rc = run_row_get(&o->row, o->store, o->was->run, &o->arena, o->error);
    if (!rc)
        rc = was_edited(o, otherwise);
    if (!rc && !*otherwise) {
        rc = store_each_new_attempt(o->store, o->was->run, o->since, look_at_needed, o,
                                    o->error);
        *otherwise = o->again;
    }
    return rc < 0 ? rc : 0;
}

static int is_given_the_same(struct cairn_store *store, const struct run_parent *was,
                             const struct run_parent *here, uint64_t since,
                             struct cairn_error *error)
{
    struct cairn_error local = {0};
    struct outer_run o = {.arena = ARENA_INIT,
                          .was = was,
                          .here = here,
                          .since = since,
                          .store = store,
                          .error = &local};
    bool otherwise = true;
    int rc = is_given_something_else(&o, &otherwise);
    past_definition_release(&o.then);
    past_definition_release(&o.now);
    arena_release(&o.arena);
    if (rc == CAIRN_ENOTFOUND || (rc == CAIRN_EDAMAGED && was->gen != here->gen))
        return 0;
    return rc ? error_set(error, rc, "%s", local.text) : !otherwise;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    *(struct attempt_row *)context = *row; /* its texts are not used */
    return 0;
}

/* CAIRN_ENOTFOUND. */
static int get_attempt(struct cairn_store *store, const struct run_parent *of,
                       struct attempt_row *row, struct cairn_error *error)
{
    const struct attempt_row key = {
        .run = of->run, .gen = of->gen, .task = of->task, .number = of->attempt};
    struct cairn_error local = {0};
    int rc = store_get_attempt(store, &key, note_attempt, row, &local);
    return rc && rc != CAIRN_ENOTFOUND ? error_set(error, rc, "%s", local.text) : rc;
}

/* Are they one attempt, perhaps taken over after an edit? */
static int is_one_attempt(struct cairn_store *store, const struct run_parent *was,
                          const struct run_parent *here, struct cairn_error *error)
{
    struct attempt_row row = {0};
    if (was->gen == here->gen || was->attempt != here->attempt)
        return same_attempt(was, here);
    int rc = get_attempt(store, here, &row, error);
    return rc ? rc : (row.flags & ATTEMPT_ADOPTED) != 0;
}

/* ---- Which run goes on ---- */

static bool is_cut_off(const struct attempt_row *row)
{
    return attempt_is_open(row) || row->flags & ATTEMPT_INTERRUPTED ||
           row->outcome == CAIRN_CANCELLED;
}

/* Has the run completed behind the end of the attempt that had begun it: resumed or
 * decided by hand? Its task has not seen that end yet. */
static int completed_since(struct loader *l, const struct attempt_row *row, bool *since)
{
    uint64_t seq = 0;
    int rc = store_last_seq(l->store, NAMESPACE_WORKFLOW, l->s->recorded.row.run, &seq,
                            l->error);
    *since = row->outcome == CAIRN_FAILED && row->checkpoint && seq > row->checkpoint;
    return rc;
}

/* Begun in the attempt `row` of the task: does the run go on in the attempt of now? If
 * what its tasks were given is what they would be given now; and if it is not at its
 * end, or the task has not seen that end. 1 yes, 0 no, <0 error. */
static int goes_on_after(struct loader *l, const struct run_parent *was,
                         const struct attempt_row *row)
{
    bool completed = l->s->recorded.row.state == CAIRN_RUN_COMPLETED, since = false;
    if (!is_cut_off(row)) {
        int rc = completed ? completed_since(l, row, &since) : 0;
        if (rc || (completed && !since) || row->outcome == CAIRN_COMPLETED)
            return rc;
    }
    return is_given_the_same(l->store, was, &l->s->inside, row->start_turn, l->error);
}

/* The same for the run in recorded.row. A second call of one attempt begins another if
 * it has completed. */
static int goes_on_inside(struct loader *l, const struct run_parent *was)
{
    bool completed = l->s->recorded.row.state == CAIRN_RUN_COMPLETED;
    struct attempt_row row = {0};
    int rc = is_one_attempt(l->store, was, &l->s->inside, l->error);
    if (rc > 0 || rc == CAIRN_ENOTFOUND)
        return !completed;
    if (!rc)
        rc = get_attempt(l->store, was, &row, l->error);
    if (rc == CAIRN_ENOTFOUND)
        return !completed;
    return rc ? rc : goes_on_after(l, was, &row);
}

static int note_row(void *context, const struct run_row *row)
{
    *(struct run_row *)context = *row; /* its texts are not used */
    return 0;
}

/* Had the attempt ended when the record `seq` was made? */
static int had_ended(struct loader *l, const struct run_parent *was, uint64_t seq,
                     bool *ended)
{
    struct attempt_row row = {0};
    int rc = get_attempt(l->store, was, &row, l->error);
    *ended = !rc && row.checkpoint && row.checkpoint <= seq;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

/* In a fork: the run that the task has begun in what it forks from. If the task had not
 * ended there, what must not run twice is asked about. */
static int find_in_source(struct loader *l, const struct inside_query *here)
{
    struct run_parent parent = l->s->inside, was;
    const struct inside_query query = {here->workflow, here->params, &parent};
    struct begun_earlier *earlier = &l->s->earlier;
    struct cairn_error local = {0};
    int rc = 0;
    while (!rc && !earlier->run) {
        struct run_row row = {0};
        bool ended = false;
        rc = store_get_run(l->store, parent.run, note_row, &row, &local);
        if (rc || !row.from_run || row.from_run >= parent.run)
            break;
        parent.run = row.from_run;
        rc = store_find_inside(l->store, &query, &earlier->run, &was, &local);
        if (!rc && earlier->run)
            rc = had_ended(l, &was, row.from_seq, &ended);
        earlier->ask = earlier->run && !ended;
    }
    return !rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED
               ? 0
               : error_set(l->error, rc, "%s", local.text);
}

/* The newest run of the workflow and params that the task which this process runs in
 * has begun goes on inside it, or another begins, which is told of the earlier one. */
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
    if (!rc && !run)
        return find_in_source(l, &query);
    if (!rc)
        rc = run_row_get(&l->s->recorded.row, l->store, run, &l->s->arena, l->error);
    if (!rc)
        rc = goes_on_inside(l, &was);
    l->s->begun_before = rc > 0;
    if (rc <= 0) {
        l->s->earlier.run = run;
        l->s->recorded.row = (struct run_row){0};
    }
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
