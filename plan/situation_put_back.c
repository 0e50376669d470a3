/* SPDX-License-Identifier: MIT */
/* `once` tasks that were taken out of the workflow, or skipped by an edit, and put
 * back: what earlier generations of the run know of them, and the runs that it forks
 * from. */
#include "plan/situation_int.h"

#include "graph/match.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

/* Those that must not run twice; also those that an edit had skipped meanwhile. What an
 * earlier generation of the run knows of one is no record of the present states, so if
 * it may have run, it is unknown. */
struct put_back_search {
    struct situation *s;
    uint32_t n, *now; /* the tasks of the generation, in the workflow as it is now */
    uint32_t n_now;
    uint64_t up_to;  /* attempts recorded by this checkpoint count; 0: all do */
    uint8_t *wanted; /* [tasks now] WANTED, SEEN in this generation */
};
enum { WANTED = 1, SEEN = 2 };

static uint8_t *mark_of(struct situation *s, uint32_t task)
{
    uint32_t old = s->present.old_task[task];
    return old == NODE_NONE ? &s->present.new_marks[task] : &s->recorded.marks[old];
}

static bool is_pending(const struct situation *s, uint32_t task)
{
    uint32_t old = s->present.old_task[task];
    return old != NODE_NONE && s->recorded.states.outcome[old] == CAIRN_PENDING;
}

static uint8_t put_back_mark(const struct attempt_row *row, uint8_t before)
{
    if (attempt_is_open(row) || row->outcome == CAIRN_UNKNOWN)
        return MARK_INTERRUPTED;
    if (row->flags & ATTEMPT_UNDO)
        return row->outcome == CAIRN_COMPLETED ? 0 : before;
    return row->outcome == CAIRN_COMPLETED ? MARK_DAMAGED : 0;
}

/* What it had passed on is for whoever decides that this counts. */
static int note_put_back(struct situation *s, uint32_t task, uint32_t n,
                         uint32_t number, struct str outputs)
{
    struct present *p = &s->present;
    if (!p->put_back)
        p->put_back = calloc((size_t)n + 1, sizeof *p->put_back);
    if (!p->put_back)
        return CAIRN_ENOMEM;
    p->put_back[task].number = number;
    if (outputs.len == DIGEST_SIZE)
        memcpy(p->put_back[task].outputs.bytes, outputs.ptr, DIGEST_SIZE);
    return 0;
}

/* Was it there when the record of a fork was made? The end of an attempt says so. One
 * without an end in any record may have begun before: somebody is asked rather than
 * that it runs twice. */
static bool may_be_past(const struct put_back_search *p, const struct attempt_row *row)
{
    bool no_end = attempt_is_open(row) || row->outcome == CAIRN_UNKNOWN;
    return !p->up_to || (row->checkpoint ? row->checkpoint <= p->up_to : no_end);
}

static int mark_put_back(void *context, const struct attempt_row *row)
{
    const struct put_back_search *p = context;
    uint32_t task = row->task < p->n ? p->now[row->task] : NODE_NONE;
    if (task == NODE_NONE || !p->wanted[task] || attempt_never_started(row) ||
        !may_be_past(p, row))
        return 0;
    uint8_t *mark = mark_of(p->s, task);
    *mark = put_back_mark(row, *mark);
    if (*mark & MARK_DAMAGED && is_pending(p->s, task))
        *mark = 0; /* it was to run again */
    p->wanted[task] |= SEEN;
    return *mark ? note_put_back(p->s, task, p->n_now, row->number,
                                 *mark & MARK_DAMAGED ? row->outputs : STR(""))
                 : 0;
}

/* The run itself, or one that it forks from: as far as that checkpoint. */
struct past_run {
    struct run_row row; /* its texts are not ours */
    uint64_t up_to;     /* 0: all of it */
};

static int copy_run(void *context, const struct run_row *row)
{
    *(struct run_row *)context = *row;
    return 0;
}

/* The newest generation that has attempts of a task decides. */
static int mark_put_back_by(struct loader *l, const struct past_run *past, uint32_t gen,
                            uint8_t *wanted)
{
    struct definition definition;
    struct graph graph;
    const struct run_row *row = &past->row;
    int rc = generation_load(l->store, row, gen, &definition, &graph, l->error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0; /* situation_marks.c says what that means */
    if (rc)
        return rc;
    struct put_back_search p = {l->s,        graph.n_tasks, NULL, l->w->graph.n_tasks,
                                past->up_to, wanted};
    p.now = malloc(((size_t)graph.n_tasks + 1) * sizeof *p.now);
    if (p.now) {
        map_tasks(&graph, &l->w->graph, p.now);
        rc = store_each_run_attempt(l->store, row->run, gen, false, mark_put_back, &p,
                                    l->error);
        if (rc == CAIRN_ENOMEM)
            rc = error_nomem(l->error);
    } else
        rc = error_nomem(l->error);
    for (uint32_t task = 0; task < l->w->graph.n_tasks; task++)
        if (wanted[task] & SEEN)
            wanted[task] = 0;
    free(p.now);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

/* A run knows its own attempts of what is pending; a fork that begins now has none. */
static bool was_put_back(const struct loader *l, uint32_t task)
{
    const struct situation *s = l->s;
    uint32_t old = s->present.old_task[task];
    if (!graph_def(&l->w->graph, task)->once)
        return false;
    if (old == NODE_NONE)
        return !s->present.new_marks[task];
    return outcome_is_skipped(s->recorded.states.outcome[old]) ||
           (is_pending(s, task) && !s->recorded.recovered);
}

/* It waited to be asked about when the record was made, and does again. */
static int mark_recorded_put_back(struct loader *l, uint32_t task)
{
    struct recorded *r = &l->s->recorded;
    const struct states *states = &r->states;
    uint32_t old = l->s->present.old_task[task];
    struct str outputs = STR("");
    if (old == NODE_NONE || !state_is_put_back(states, old))
        return 0;
    if (states->outputs)
        outputs = (struct str){(const char *)states->outputs[old].bytes, DIGEST_SIZE};
    r->marks[old] = MARK_DAMAGED;
    return note_put_back(l->s, task, l->w->graph.n_tasks, states->attempts[old],
                         outputs)
               ? error_nomem(l->error)
               : 0;
}

/* Those that were unknown in the record that a run forks from. Their attempts have no
 * checkpoint. */
static int mark_unknown_at(struct loader *l, uint64_t seq, uint8_t *wanted)
{
    struct outcomes outcomes;
    struct definition definition;
    struct graph graph;
    int rc = outcomes_rebuild(l->store, seq, &outcomes, NULL, l->error);
    if (rc)
        return rc;
    rc = graph_load(l->store, &outcomes.graph, &definition, &graph, l->error);
    for (uint32_t then = 0; !rc && then < graph.n_tasks; then++) {
        bool unknown = outcomes.states.outcome[then] == CAIRN_UNKNOWN;
        uint32_t task = unknown ? map_task(&graph, then, &l->w->graph) : NODE_NONE;
        if (task == NODE_NONE || !wanted[task])
            continue;
        *mark_of(l->s, task) = MARK_INTERRUPTED;
        wanted[task] = 0;
    }
    if (!rc) {
        graph_release(&graph);
        definition_release(&definition);
    }
    outcomes_release(&outcomes);
    return rc;
}

/* To the run that this one forks from. 1: there is none. */
static int step_to_source(struct loader *l, struct past_run *past, uint8_t *wanted)
{
    uint64_t from = past->row.from_run;
    if (!from || (past->row.run && from >= past->row.run))
        return 1;
    past->up_to = past->row.from_seq;
    int rc = store_get_run(l->store, from, copy_run, &past->row, l->error);
    if (!rc)
        rc = mark_unknown_at(l, past->up_to, wanted);
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ? 1 : rc;
}

static int search_past(struct loader *l, uint8_t *wanted)
{
    const struct recorded *r = &l->s->recorded;
    struct past_run past = {.row = r->row};
    int rc = 0;
    if (!r->recovered) { /* a fork that begins now */
        past.row.from_run = r->from_run;
        past.row.from_seq = r->from_seq;
        rc = step_to_source(l, &past, wanted);
    }
    while (!rc) {
        for (uint32_t gen = past.row.gen; gen > 0 && !rc; gen--)
            rc = mark_put_back_by(l, &past, gen, wanted);
        if (!rc)
            rc = step_to_source(l, &past, wanted);
    }
    return rc > 0 ? 0 : rc;
}

int situation_load_put_back(struct loader *l)
{
    const struct recorded *r = &l->s->recorded;
    uint32_t n = l->w->graph.n_tasks, n_wanted = 0;
    bool has_past = !r->recovered || r->row.gen > 1 || r->row.from_run;
    uint8_t *wanted = calloc((size_t)n + 1, 1);
    int rc = wanted ? 0 : error_nomem(l->error);
    for (uint32_t task = 0; task < n && !rc; task++) {
        rc = mark_recorded_put_back(l, task);
        wanted[task] = was_put_back(l, task) &&
                       (has_past || l->s->present.old_task[task] != NODE_NONE);
        n_wanted += wanted[task];
    }
    if (!rc && n_wanted)
        rc = search_past(l, wanted);
    free(wanted);
    return rc;
}

/* ---- Inside a task ---- */

/* What has completed there runs again as it does where something that it needs has run
 * again: with a word, unless it is asked about. */
static void tell_of_earlier(struct loader *l)
{
    const struct begun_earlier *earlier = &l->s->earlier;
    struct present *p = &l->s->present;
    for (uint32_t task = 0; task < l->w->graph.n_tasks; task++) {
        if (!(p->new_marks[task] & MARK_DAMAGED))
            continue;
        situation_add_notice(
            l->s,
            "%s must not run twice if interrupted; it has completed in run %llu, %s",
            l->w->graph.id[task], (unsigned long long)earlier->run,
            earlier->ask ? "and runs again only if that is decided"
                         : "and runs again now");
        if (earlier->ask)
            continue;
        p->new_marks[task] = 0;
        p->put_back[task] = (struct put_back){0};
    }
}

int situation_load_earlier(struct loader *l)
{
    uint32_t n = l->w->graph.n_tasks;
    struct past_run past = {0};
    uint8_t *wanted = calloc((size_t)n + 1, 1);
    if (!wanted)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < n; task++)
        wanted[task] = graph_def(&l->w->graph, task)->once;
    int rc = store_get_run(l->store, l->s->earlier.run, copy_run, &past.row, l->error);
    for (uint32_t gen = past.row.gen; gen > 0 && !rc; gen--)
        rc = mark_put_back_by(l, &past, gen, wanted);
    free(wanted);
    if (!rc)
        tell_of_earlier(l);
    return rc;
}
