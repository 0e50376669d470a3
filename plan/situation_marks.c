/* SPDX-License-Identifier: MIT */
/* Marks (runs/marks.h): what attempts say about tasks beyond their recorded outcomes.
 * Attempts are numbered by the graph of their generation, so there are three sources:
 * the generation of the recovered states, later generations all of whose records are
 * gone, and keepers that outlived their owner. */
#include "plan/situation_int.h"

#include "base/clock.h"
#include "graph/match.h"
#include "process/keeper.h"
#include "process/live.h"
#include "process/slot_map.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Attempts of the recovered generation ---- */

/* The task was tried again later, and the records of that are lost. */
static bool is_later(const struct recorded *r, const struct attempt_row *row)
{
    uint8_t outcome = r->states.outcome[row->task];
    bool again = outcome == CAIRN_FAILED || outcome == CAIRN_CANCELLED ||
                 outcome == CAIRN_SKIPPED || outcome == CAIRN_EXCLUDED;
    return again && row->number > r->states.attempts[row->task] &&
           recovery_may_lack(&r->recovery, row->checkpoint);
}

static uint8_t recorded_mark(const struct recorded *r, const struct attempt_row *row)
{
    uint8_t outcome = r->states.outcome[row->task];
    if (row->flags & ATTEMPT_UNDO)
        return attempt_is_open(row) && outcome != CAIRN_UNDONE ? MARK_UNDOING : 0;
    if (outcome == CAIRN_FAILED && row->flags & ATTEMPT_EXTERNAL &&
        r->row.state == CAIRN_RUN_UNFINISHED)
        return MARK_REPORTED;
    if (outcome != CAIRN_PENDING && !is_later(r, row))
        return 0;
    return attempt_mark(row, &r->recovery);
}

static int mark_attempt(void *context, const struct attempt_row *row)
{
    struct situation *s = context;
    struct recorded *r = &s->recorded;
    if (row->task >= r->states.n)
        return 0; /* not of this graph: a damaged row; it decides nothing */
    if (row->number > r->last_attempt[row->task])
        r->last_attempt[row->task] = row->number;
    if (row->checkpoint > r->last_named)
        r->last_named = row->checkpoint;
    if (attempt_never_started(row))
        return 0;
    r->marks[row->task] = recorded_mark(r, row);
    return 0;
}

/* The generation of the run's graph that has this digest; 0: none. It is not the newest
 * when the record that began the newest is damaged. */
static int find_generation(struct loader *l, const struct digest *graph, uint32_t *gen)
{
    const struct run_row *row = &l->s->recorded.row;
    int rc = 0;
    *gen = digest_equal(graph, &row->graph) ? row->gen : 0;
    for (uint32_t g = row->gen; !*gen && g > 1 && !rc; g--) {
        struct digest earlier;
        rc = store_get_run_graph(l->store, row->run, g - 1, &earlier, l->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0;
        else if (!rc && digest_equal(graph, &earlier))
            *gen = g - 1;
    }
    return rc;
}

/* ---- Attempts of generations whose records are lost ---- */

/* The tasks of such a generation in the recovered graph, and in the workflow as it is
 * now. */
struct lost_generation {
    struct situation *s;
    uint32_t n, *old, *now;
};

static int mark_lost(void *context, const struct attempt_row *row)
{
    struct lost_generation *lost = context;
    struct recorded *r = &lost->s->recorded;
    if (row->task >= lost->n || attempt_never_started(row))
        return 0;
    struct attempt_row as_old = *row;
    as_old.task = lost->old[row->task];
    if (as_old.task != NODE_NONE) {
        uint8_t mark = recorded_mark(r, &as_old);
        r->marks[as_old.task] = mark ? mark : r->marks[as_old.task];
        return 0;
    }
    uint32_t now = lost->now[row->task];
    if (now == NODE_NONE || row->flags & ATTEMPT_UNDO)
        return 0;
    uint8_t *mark = &lost->s->present.new_marks[now];
    *mark = attempt_is_open(row)              ? MARK_INTERRUPTED
            : row->outcome == CAIRN_COMPLETED ? MARK_DAMAGED
                                              : 0;
    return 0;
}

static int mark_by(struct loader *l, uint32_t gen, const struct graph *graph)
{
    struct lost_generation lost = {l->s, graph->n_tasks, NULL, NULL};
    size_t size = ((size_t)graph->n_tasks + 1) * sizeof *lost.old;
    lost.old = malloc(size);
    lost.now = malloc(size);
    int rc = lost.old && lost.now ? 0 : error_nomem(l->error);
    if (!rc) {
        map_tasks(graph, situation_old(l->s, l->w), lost.old);
        map_tasks(graph, &l->w->graph, lost.now);
        rc = store_each_run_attempt(l->store, l->s->recorded.row.run, gen, false,
                                    mark_lost, &lost, l->error);
    }
    free(lost.old);
    free(lost.now);
    return rc;
}

static int load_lost_marks(struct loader *l, uint32_t gen)
{
    struct definition definition;
    struct graph graph;
    const struct run_row *row = &l->s->recorded.row;
    int rc = generation_load(l->store, row, gen, &definition, &graph, l->error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED) {
        situation_add_notice(
            l->s,
            "how run %llu was defined for a while is lost: tasks that must "
            "not run twice may have run then, and none of them counts",
            (unsigned long long)row->run);
        return 0;
    }
    if (rc)
        return rc;
    rc = mark_by(l, gen, &graph);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

/* ---- Tasks that were taken out of the workflow and put back ---- */

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

static int mark_put_back(void *context, const struct attempt_row *row)
{
    const struct put_back_search *p = context;
    uint32_t task = row->task < p->n ? p->now[row->task] : NODE_NONE;
    if (task == NODE_NONE || !p->wanted[task] || attempt_never_started(row) ||
        (p->up_to && (!row->checkpoint || row->checkpoint > p->up_to)))
        return 0;
    uint32_t old = p->s->present.old_task[task];
    uint8_t *mark =
        old == NODE_NONE ? &p->s->present.new_marks[task] : &p->s->recorded.marks[old];
    *mark = put_back_mark(row, *mark);
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
        return 0; /* load_lost_marks says what that means */
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

static bool was_put_back(const struct loader *l, uint32_t task)
{
    const struct situation *s = l->s;
    uint32_t old = s->present.old_task[task];
    if (!graph_def(&l->w->graph, task)->once)
        return false;
    return old == NODE_NONE ? !s->present.new_marks[task]
                            : outcome_is_skipped(s->recorded.states.outcome[old]);
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

/* To the run that this one forks from. 1: there is none. */
static int step_to_source(struct loader *l, struct past_run *past)
{
    uint64_t from = past->row.from_run;
    if (!from || (past->row.run && from >= past->row.run))
        return 1;
    past->up_to = past->row.from_seq;
    int rc = store_get_run(l->store, from, copy_run, &past->row, l->error);
    return rc == CAIRN_ENOTFOUND ? 1 : rc;
}

static int search_past(struct loader *l, uint8_t *wanted)
{
    const struct recorded *r = &l->s->recorded;
    struct past_run past = {.row = r->row};
    int rc = 0;
    if (!r->recovered) { /* a fork that begins now */
        past.row.from_run = r->from_run;
        past.row.from_seq = r->from_seq;
        rc = step_to_source(l, &past);
    }
    while (!rc) {
        for (uint32_t gen = past.row.gen; gen > 0 && !rc; gen--)
            rc = mark_put_back_by(l, &past, gen, wanted);
        if (!rc)
            rc = step_to_source(l, &past);
    }
    return rc > 0 ? 0 : rc;
}

static int load_put_back(struct loader *l)
{
    const struct recorded *r = &l->s->recorded;
    uint32_t n = l->w->graph.n_tasks, n_wanted = 0;
    bool has_past = !r->recovered || r->row.gen > 1 || r->row.from_run;
    uint8_t *wanted = calloc((size_t)n + 1, 1);
    int rc = wanted ? 0 : error_nomem(l->error);
    for (uint32_t task = 0; task < n && !rc; task++) {
        rc = mark_recorded_put_back(l, task);
        wanted[task] = has_past && was_put_back(l, task);
        n_wanted += wanted[task];
    }
    if (!rc && n_wanted)
        rc = search_past(l, wanted);
    free(wanted);
    return rc;
}

/* ---- Keepers ---- */

/* Attempts whose keeper lives, or has recorded their end, were not interrupted. */
static int note_keeper(void *context, struct keeper *keeper)
{
    struct recorded *r = context;
    uint32_t task = keeper->id.task;
    bool outlived = keeper->fate == KEEPER_LIVE ||
                    (keeper->fate == KEEPER_ENDED && !keeper->record.stopped);
    if (!outlived || keeper->id.gen != r->row.gen || task >= r->states.n ||
        keeper->id.attempt != r->last_attempt[task] ||
        !(r->marks[task] & MARK_INTERRUPTED))
        return 0;
    r->marks[task] = MARK_OUTLIVED;
    r->n_outlived++;
    return 0;
}

static bool path_exists(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* Its own, not one that was copied with the store. */
static bool has_slots(const struct loader *l)
{
    struct slot_map map;
    int rc = slots_open(&map, store_live_dir(l->store), l->s->recorded.row.run, NULL);
    if (rc)
        return rc != CAIRN_ENOTFOUND;
    bool own = slots_token_is_of(map.slots->token, store_id(l->store));
    slots_close(&map, false);
    return own;
}

static bool has_claim(const struct loader *l, uint32_t task)
{
    char path[LIVE_PATH];
    const struct recorded *r = &l->s->recorded;
    struct attempt_id id = {store_live_dir(l->store),
                            r->row.run,
                            r->row.gen,
                            task,
                            r->last_attempt[task],
                            live_store(store_id(l->store))};
    live_path(path, sizeof path, id.live_dir, live_of_attempt(LIVE_CLAIM, &id));
    return path_exists(path);
}

/* One that a keeper never took has not started, whatever its intent says. That holds as
 * long as nobody has emptied the live directory: the dead owner's slot file is there.
 */
static void note_untaken(struct loader *l, const struct graph *old)
{
    struct recorded *r = &l->s->recorded;
    if (!has_slots(l))
        return;
    for (uint32_t task = 0; task < r->states.n; task++)
        if (r->marks[task] == MARK_INTERRUPTED && !graph_def(old, task)->n_secrets &&
            !has_claim(l, task))
            r->marks[task] = MARK_RESET;
}

static int look_at_keepers(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    const struct graph *old = situation_old(l->s, l->w);
    if (!r->recovered || old->definition->on_crash != ON_CRASH_ADOPT)
        return 0;
    int rc = keepers_each(store_live_dir(l->store), store_id(l->store), r->row.run,
                          note_keeper, r, l->error);
    if (!rc)
        note_untaken(l, old);
    return rc;
}

/* ---- All of them ---- */

static bool any_pending(const struct states *states)
{
    for (uint32_t task = 0; task < states->n; task++)
        if (states->outcome[task] == CAIRN_PENDING)
            return true;
    return false;
}

/* Nothing is pending when a run completes: where something is, a record is lost. */
static void mark_pending(struct recorded *r)
{
    for (uint32_t task = 0; task < r->states.n; task++)
        if (r->states.outcome[task] == CAIRN_PENDING &&
            !(r->marks[task] & ~(uint8_t)MARK_RESET))
            r->marks[task] = MARK_DAMAGED;
}

static int allocate_marks(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    size_t old = (size_t)r->states.n + 1, now = (size_t)l->w->graph.n_tasks + 1;
    r->marks = calloc(old, 1);
    r->last_attempt = calloc(old, sizeof *r->last_attempt);
    l->s->present.new_marks = calloc(now, 1);
    return r->marks && r->last_attempt && l->s->present.new_marks
               ? 0
               : error_nomem(l->error);
}

int situation_load_marks(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    int rc = allocate_marks(l);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < r->states.n; i++)
        if (r->states.outcome[i] != CAIRN_PENDING)
            r->last_attempt[i] = r->states.attempts[i];
    uint32_t gen = 0;
    rc = r->recovered ? find_generation(l, &r->recovery.graph, &gen) : 0;
    /* A completed run has nothing unfinished, unless records of it are lost. */
    bool completed = r->recovered && r->row.state == CAIRN_RUN_COMPLETED;
    bool whole = completed && !r->recovery.gap && !l->as_is && !any_pending(&r->states);
    if (!rc)
        rc = load_put_back(l);
    if (rc || whole)
        return rc;
    if (completed)
        mark_pending(r);
    if (!gen)
        return 0;
    rc = store_each_run_attempt(l->store, r->row.run, gen, false, mark_attempt, l->s,
                                l->error);
    for (uint32_t lost = gen + 1; lost <= r->row.gen && !rc; lost++)
        rc = load_lost_marks(l, lost);
    if (completed)
        mark_pending(r);
    if (!rc && l->s->arena.failed)
        rc = error_nomem(l->error);
    return rc ? rc : look_at_keepers(l);
}
