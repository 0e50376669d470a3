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

/* What completed before it was recorded as waiting to be asked about. */
static bool is_asked_about(const struct recorded *r, const struct attempt_row *row)
{
    return state_is_put_back(&r->states, row->task) &&
           row->number <= r->states.attempts[row->task] && !attempt_is_open(row);
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
    if (!is_asked_about(r, row))
        r->marks[row->task] = recorded_mark(r, row);
    struct kept_as *kept = &r->kept[row->task];
    kept->newest =
        row->gen == r->row.gen && !row->ended_ns && !(row->flags & ATTEMPT_UNDO);
    kept->moved = kept->newest && row->flags & ATTEMPT_ADOPTED;
    kept->completed = row->outcome == CAIRN_COMPLETED && row->ended_ns &&
                      !(row->flags & ATTEMPT_UNDO);
    return 0;
}

/* The generation of the run's graph that has this digest; 0: none. It is not the newest
 * when the record that began the newest is damaged. An edit that was taken back makes
 * several of it: where records are lost, the states may be those of the first one, and
 * what was tried since is looked at. */
static int find_generation(struct loader *l, const struct digest *graph, uint32_t *gen)
{
    const struct recorded *r = &l->s->recorded;
    bool lost = r->recovery.gap || r->recovery.n_damaged;
    int rc = 0;
    *gen = digest_equal(graph, &r->row.graph) ? r->row.gen : 0;
    for (uint32_t g = r->row.gen; (lost || !*gen) && g > 1 && !rc; g--) {
        struct digest earlier;
        rc = store_get_run_graph(l->store, r->row.run, g - 1, &earlier, l->error);
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

/* ---- Keepers ---- */

int situation_find_open(struct loader *l, const struct attempt_numbers *of,
                        uint32_t *task)
{
    const struct recorded *r = &l->s->recorded;
    int rc = past_task(&l->past, l->store, &r->row, of->gen, of->task,
                       situation_old(l->s, l->w), task, l->error);
    if (rc || *task == NODE_NONE)
        return rc;
    bool is_open = *task < r->states.n && r->kept[*task].newest &&
                   of->attempt == r->last_attempt[*task] &&
                   (of->gen == r->row.gen || r->kept[*task].moved);
    *task = is_open ? *task : NODE_NONE;
    return 0;
}

void situation_note_outlived(struct loader *l, uint32_t task,
                             const struct attempt_numbers *of)
{
    struct recorded *r = &l->s->recorded;
    r->marks[task] = MARK_OUTLIVED;
    r->kept[task].gen = of->gen;
    r->kept[task].task = of->task;
    r->n_outlived++;
}

/* Attempts whose keeper lives, or has recorded their end, were not interrupted. */
static int note_keeper(void *context, struct keeper *keeper)
{
    struct loader *l = context;
    const struct recorded *r = &l->s->recorded;
    const struct attempt_numbers of = {keeper->id.gen, keeper->id.task,
                                       keeper->id.attempt};
    uint32_t task = NODE_NONE;
    bool outlived = keeper->fate == KEEPER_LIVE ||
                    (keeper->fate == KEEPER_ENDED && !keeper->record.stopped);
    int rc = outlived ? situation_find_open(l, &of, &task) : 0;
    if (!rc && task != NODE_NONE && r->marks[task] & MARK_INTERRUPTED)
        situation_note_outlived(l, task, &of);
    return rc;
}

uint32_t situation_kept_task(const struct situation *s, const struct attempt_id *id)
{
    const struct recorded *r = &s->recorded;
    uint32_t task = id->gen == r->row.gen ? id->task : 0;
    while (id->gen != r->row.gen && task < r->states.n &&
           (r->kept[task].gen != id->gen || r->kept[task].task != id->task))
        task++;
    return task < r->states.n && id->attempt == r->last_attempt[task] ? task
                                                                      : NODE_NONE;
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
 * Of an attempt of another generation there is no claim of these numbers, and of one
 * that was closed there may be none any more: that says nothing. */
static void note_untaken(struct loader *l, const struct graph *old)
{
    struct recorded *r = &l->s->recorded;
    if (!has_slots(l))
        return;
    for (uint32_t task = 0; task < r->states.n; task++)
        if (r->marks[task] == MARK_INTERRUPTED && r->kept[task].newest &&
            !r->kept[task].moved && !graph_def(old, task)->n_secrets &&
            !has_claim(l, task))
            r->marks[task] = MARK_RESET;
}

/* Attempts that were taken over outlive an owner that would have kept none of its own,
 * so what `on_crash` is by now does not matter. */
static int look_at_keepers(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    const struct graph *old = situation_old(l->s, l->w);
    if (!r->recovered)
        return 0;
    int rc = keepers_each(store_live_dir(l->store), store_id(l->store), r->row.run,
                          note_keeper, l, l->error);
    if (!rc && old->definition->on_crash == ON_CRASH_ADOPT)
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

int situation_allocate_marks(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    size_t old = (size_t)r->states.n + 1, now = (size_t)l->w->graph.n_tasks + 1;
    r->marks = calloc(old, 1);
    r->last_attempt = calloc(old, sizeof *r->last_attempt);
    r->kept = calloc(old, sizeof *r->kept);
    l->s->present.new_marks = calloc(now, 1);
    return r->marks && r->last_attempt && r->kept && l->s->present.new_marks
               ? 0
               : error_nomem(l->error);
}

int situation_load_marks(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    int rc = situation_allocate_marks(l);
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
        rc = situation_load_put_back(l);
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
