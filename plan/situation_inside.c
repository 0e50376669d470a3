/* SPDX-License-Identifier: MIT */
/* A workflow that is run by a task of another run in the same store. */
#include "plan/situation_int.h"

#include "cairn/outcome.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "runs/marks.h"
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

/* Does the attempt `here` repeat `was`, which did not end by itself, with its task not
 * edited and nothing that it needs run again since? 1 yes, 0 no, <0 error. */
static int repeats_attempt(struct cairn_store *store, const struct run_parent *was,
                           const struct run_parent *here, struct cairn_error *error)
{
    struct attempt_row row = {0};
    int rc = is_one_attempt(store, was, here, error);
    if (!rc)
        rc = get_attempt(store, was, &row, error);
    if (rc)
        return rc > 0 || rc == CAIRN_ENOTFOUND ? 0 : rc;
    if (!attempt_is_open(&row) && !(row.flags & ATTEMPT_INTERRUPTED) &&
        row.outcome != CAIRN_CANCELLED)
        return 0;
    return is_given_the_same(store, was, here, row.start_turn, error);
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
