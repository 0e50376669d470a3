/* SPDX-License-Identifier: MIT */
/* How many rounds of tasks with `repeat` are done: the number of a round stands in the
 * result of its attempt (runs/result.h), so the newest attempt that ended says where to
 * go on. One that was cut off says nothing; the end of the task says that the next one
 * is the first. The newest generation of the run that knows the task decides. */
#include "plan/situation_int.h"

#include "base/memory.h"
#include "graph/fingerprint.h"
#include "graph/match.h"
#include "storage/rows_attempt.h"

#include <stdlib.h>

struct ended_attempt { /* the newest one of a task in a generation */
    uint32_t gen, task;
    bool over; /* the task has ended with it: no round */
    struct digest result;
};

struct round_search {
    struct ended_attempt *at; /* by generation and task; from the first round on */
    uint32_t n;
    size_t capacity;
    struct cairn_error *error;
};

static bool is_round(const struct attempt_row *row)
{
    return row->flags & ATTEMPT_RETRY && row->outcome == CAIRN_COMPLETED;
}

/* Neither a round nor the end of the task. */
static bool says_nothing(const struct attempt_row *row)
{
    return attempt_is_open(row) || attempt_never_started(row) ||
           row->outcome == CAIRN_CANCELLED || row->outcome == CAIRN_PENDING ||
           (row->flags & ATTEMPT_RETRY && !is_round(row));
}

static int note_ended(void *context, const struct attempt_row *row)
{
    struct round_search *r = context;
    struct ended_attempt *last = r->n ? &r->at[r->n - 1] : NULL;
    if (says_nothing(row) || (!r->n && !is_round(row)))
        return 0;
    if (!last || last->gen != row->gen || last->task != row->task) {
        last = array_room(r->at, r->n, &r->capacity, sizeof *last);
        if (!last)
            return error_nomem(r->error);
        r->at = last;
        last += r->n++;
    }
    *last = (struct ended_attempt){.gen = row->gen, .task = row->task, .over = true};
    if (is_round(row) && row->outputs.len == DIGEST_SIZE) {
        last->over = false;
        memcpy(last->result.bytes, row->outputs.ptr, DIGEST_SIZE);
    }
    return 0;
}

/* Rounds of what the task was before an edit are none of it now. One that cannot be
 * read counts as none. */
static int take_round(struct loader *l, const struct ended_attempt *ended, uint32_t now)
{
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    bool changed = false;
    int rc = 0;
    if (ended->over)
        return 0;
    if (l->past.gen == ended->gen)
        rc = task_is_changed(&l->past.graph, ended->task, &l->w->graph, now, &changed,
                             l->error);
    if (rc || changed)
        return rc;
    rc = result_load(l->store, &ended->result, &arena, &result, NULL);
    if (!rc)
        l->s->present.rounds[now] = result.round;
    arena_release(&arena);
    return rc == CAIRN_ENOMEM ? error_nomem(l->error) : 0;
}

static int take_rounds(struct loader *l, const struct round_search *r, uint8_t *wanted)
{
    int rc = 0;
    for (uint32_t i = r->n; i-- > 0 && !rc;) {
        uint32_t old, now = NODE_NONE;
        rc = past_task(&l->past, l->store, &l->s->recorded.row, r->at[i].gen,
                       r->at[i].task, situation_old(l->s, l->w), &old, l->error);
        if (!rc && old != NODE_NONE)
            now = map_task(situation_old(l->s, l->w), old, &l->w->graph);
        if (now == NODE_NONE || !wanted[now])
            continue;
        wanted[now] = 0;
        rc = take_round(l, &r->at[i], now);
    }
    return rc;
}

int situation_load_rounds(struct loader *l)
{
    const struct graph *g = &l->w->graph;
    const struct recorded *r = &l->s->recorded;
    struct round_search search = {.error = l->error};
    uint8_t *wanted = NULL;
    int rc = 0;
    for (uint32_t task = 0; r->recovered && task < g->n_tasks && !rc; task++) {
        uint32_t old = l->s->present.old_task[task];
        if (!graph_def(g, task)->repeat.until.len || old == NODE_NONE ||
            (r->states.outcome[old] != CAIRN_PENDING &&
             r->states.outcome[old] != CAIRN_CANCELLED &&
             r->states.outcome[old] != CAIRN_UNKNOWN))
            continue;
        if (!wanted) {
            wanted = calloc(g->n_tasks, 1);
            l->s->present.rounds = calloc(g->n_tasks, sizeof *l->s->present.rounds);
        }
        if (!wanted || !l->s->present.rounds)
            rc = error_nomem(l->error);
        else
            wanted[task] = 1;
    }
    if (!rc && wanted)
        rc = store_each_new_attempt(l->store, r->row.run, 0, note_ended, &search,
                                    l->error);
    if (!rc && wanted)
        rc = take_rounds(l, &search, wanted);
    free(search.at);
    free(wanted);
    return rc;
}
