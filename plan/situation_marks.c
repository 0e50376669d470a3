/* SPDX-License-Identifier: MIT */
/* What is known of tasks beyond their recorded outcomes, and the notices that say so.
 */
#include "plan/ended_files.h"

#include "plan/situation_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "graph/match.h"
#include "process/keeper.h"
#include "process/live.h"
#include "process/slot_map.h"
#include "runs/artifacts.h"
#include "runs/outputs.h"
#include "runs/run_tasks.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Notices: lines about a situation for people. They stand NUL-terminated, one after the
 * other, in situation.notices. */

void situation_add_notice(struct situation *s, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_add(&s->notices, text, strlen(text) + 1);
}

const char *situation_notice(const struct situation *s, size_t i)
{
    const char *at = s->notices.data, *end = at;
    if (at)
        end += s->notices.size;
    while (at < end && i-- > 0)
        at += strlen(at) + 1;
    return at < end ? at : NULL;
}

/* `once` tasks that were taken out of the workflow, or skipped by an edit, and put
 * back: what earlier generations of the run know of them, and the runs that it forks
 * from. */

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
    return row->outcome == CAIRN_COMPLETED && !(row->flags & ATTEMPT_RETRY)
               ? MARK_DAMAGED
               : 0;
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
    int rc = store_get_run(l->store, from, copy_run, &past->row, l->error)
                 ?: mark_unknown_at(l, past->up_to, wanted);
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

/* Within that: the marks of `once` tasks that an edit had taken out or skipped. */
static int situation_load_put_back(struct loader *l)
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

/* Marks (runs/marks.h): what attempts say about tasks beyond their recorded outcomes.
 * Attempts are numbered by the graph of their generation, so there are three sources:
 * the generation of the recovered states, later generations all of whose records are
 * gone, and keepers that outlived their owner. */

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
    kept->fallback = row->flags & ATTEMPT_FALLBACK;
    kept->moved = kept->newest && row->flags & ATTEMPT_ADOPTED;
    kept->completed = row->outcome == CAIRN_COMPLETED && row->ended_ns &&
                      !(row->flags & (ATTEMPT_UNDO | ATTEMPT_RETRY));
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

/* ---- Attempts of other generations ---- */

/* Its tasks in the recovered graph, and in the workflow as it is now. */
struct other_generation {
    struct situation *s;
    uint32_t n, *old, *now;
    bool *wanted;     /* for note_number: [tasks now] */
    uint32_t present; /* the same: the generation that is recorded; 0: not known, or
                         complete */
    struct past_attempts *past;
    struct graph graph;
};

/* 1: how it was defined is lost. */
static int each_other_attempt(struct loader *l, uint32_t gen, attempt_row_fn *each,
                              struct other_generation *of)
{
    struct definition definition;
    const struct run_row *row = &l->s->recorded.row;
    int rc = generation_load(l->store, row, gen, &definition, &of->graph, l->error);
    if (rc)
        return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ? 1 : rc;
    size_t size = ((size_t)of->graph.n_tasks + 1) * sizeof *of->old;
    of->n = of->graph.n_tasks;
    of->old = malloc(size);
    of->now = malloc(size);
    if (of->old && of->now) {
        map_tasks(&of->graph, situation_old(l->s, l->w), of->old);
        map_tasks(&of->graph, &l->w->graph, of->now);
        rc = store_each_run_attempt(l->store, row->run, gen, false, each, of, l->error);
    } else
        rc = error_nomem(l->error);
    free(of->old);
    free(of->now);
    graph_release(&of->graph);
    definition_release(&definition);
    return rc;
}

/* ---- ... whose records are lost ---- */

static int mark_lost(void *context, const struct attempt_row *row)
{
    struct other_generation *lost = context;
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
    *mark = attempt_is_open(row) ? MARK_INTERRUPTED
            : row->outcome == CAIRN_COMPLETED && !(row->flags & ATTEMPT_RETRY)
                ? MARK_DAMAGED
                : 0;
    return 0;
}

/* ---- Numbers of attempts of earlier generations ---- */

static uint32_t *number_of(struct situation *s, uint32_t task)
{
    uint32_t old = s->present.old_task[task];
    return old == NODE_NONE ? &s->present.new_attempts[task]
                            : &s->recorded.last_attempt[old];
}

static void note_past(struct other_generation *earlier, uint32_t task,
                      const struct past_attempt *past)
{
    struct situation *s = earlier->s;
    if (task == NODE_NONE || !(earlier->wanted[task] || is_pending(s, task)))
        return;
    uint32_t *number = number_of(s, task);
    uint8_t *mark = mark_of(s, task);
    if (*number < past->number)
        *number = past->number;
    if (past->gen < earlier->present && is_pending(s, task) && !*mark && past->began)
        *mark = MARK_RESET;
}

static int note_number(void *context, const struct attempt_row *row)
{
    struct other_generation *earlier = context;
    struct past_attempts *all = earlier->past;
    const struct graph *g = &earlier->graph;
    const struct past_attempt past = {.gen = row->gen,
                                      .number = row->number,
                                      .began = !attempt_never_started(row) &&
                                               !(row->flags & ATTEMPT_UNDO)};
    if (row->task >= earlier->n)
        return 0;
    note_past(earlier, earlier->now[row->task], &past);
    if (!all)
        return 0;
    struct past_attempt *at = array_room(all->at, all->n, &all->room, sizeof *at);
    struct str id = arena_str(&all->arena, str_of(g->id[row->task]));
    if (at)
        all->at = at;
    if (!at || !id.ptr)
        return CAIRN_ENOMEM;
    at[all->n] = past;
    at[all->n++].id = id;
    return 0;
}

void past_attempts_release(struct past_attempts *past)
{
    free(past->at);
    arena_release(&past->arena);
    *past = (struct past_attempts){0};
}

/* Those that are kept. */
static void note_kept(struct loader *l, struct other_generation *earlier)
{
    for (size_t i = 0; i < l->attempts->n; i++)
        note_past(earlier, graph_find(&l->w->graph, l->attempts->at[i].id),
                  &l->attempts->at[i]);
}

/* Only where what is recorded is whole: else a generation may be looked at otherwise. */
static bool keeps_attempts(const struct loader *l, uint32_t present)
{
    const struct run_row *row = &l->s->recorded.row;
    if (!l->attempts || present != row->gen)
        return false;
    if (l->attempts->run != row->run)
        past_attempts_release(l->attempts);
    l->attempts->run = row->run;
    return true;
}

/* A number is used once in a run. The records of the present generation say nothing of
 * the attempts of a task that is pending or was skipped, or that an edit had taken out:
 * those that ended before an edit (or before a list was made) belong to an earlier
 * generation. `present`: the attempts of this one have been looked at; 0: of none. */
static int load_earlier_numbers(struct loader *l, uint32_t present)
{
    struct recorded *r = &l->s->recorded;
    uint32_t n = l->w->graph.n_tasks, n_wanted = 0;
    struct other_generation earlier = {.s = l->s, .present = present};
    int rc = 0;
    if (!r->recovered)
        return 0;
    earlier.wanted = calloc((size_t)n + 1, sizeof *earlier.wanted);
    if (!earlier.wanted)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < n; task++) {
        bool had = r->row.gen > 1 || l->s->present.old_task[task] != NODE_NONE;
        earlier.wanted[task] = had && !*number_of(l->s, task);
        n_wanted += earlier.wanted[task];
    }
    uint32_t kept = 0;
    if (n_wanted && keeps_attempts(l, present)) {
        note_kept(l, &earlier);
        earlier.past = l->attempts;
        kept = l->attempts->up_to;
    }
    for (uint32_t gen = r->row.gen; n_wanted && gen > kept && rc >= 0; gen--)
        if (gen != present)
            rc = each_other_attempt(l, gen, note_number, &earlier);
    if (earlier.past && rc >= 0)
        earlier.past->up_to = present - 1;
    free(earlier.wanted);
    return rc == CAIRN_ENOMEM ? error_nomem(l->error) : rc < 0 ? rc : 0;
}

static int load_lost_marks(struct loader *l, uint32_t gen)
{
    struct other_generation lost = {.s = l->s};
    int rc = each_other_attempt(l, gen, mark_lost, &lost);
    if (rc == 1)
        situation_add_notice(
            l->s,
            "how run %llu was defined for a while is lost: tasks that must "
            "not run twice may have run then, and none of them counts",
            (unsigned long long)l->s->recorded.row.run);
    return rc < 0 ? rc : 0;
}

/* ---- Keepers ---- */

/* *task: the recorded task whose newest attempt this is, if that is open; an owner may
 * have taken it over after an edit. Else NODE_NONE. */
static int situation_find_open(struct loader *l, const struct attempt_numbers *of,
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

/* By its present definition. */
static uint8_t mark_of_end(const struct loader *l, uint32_t task,
                           const struct failure *end)
{
    uint32_t now = map_task(situation_old(l->s, l->w), task, &l->w->graph);
    const struct task_def *def = now == NODE_NONE ? NULL : graph_def(&l->w->graph, now);
    if (!end->exit_code && !end->signal && !end->timed_out)
        return MARK_ENDED;
    bool over = !def || l->s->recorded.kept[task].fallback ||
                (def->skip_exit && end->exit_code == def->skip_exit);
    bool again = !over && (def->fallback.len ||
                           (def->retry.max && retry_is_for(&def->retry, end)));
    return again ? MARK_ENDED_BADLY : MARK_ENDED | MARK_ENDED_BADLY;
}

/* It was not interrupted. `end` NULL: it still runs. */
static void situation_note_outlived(struct loader *l, uint32_t task,
                                    const struct attempt_numbers *of,
                                    const struct failure *end)
{
    struct recorded *r = &l->s->recorded;
    r->marks[task] = MARK_OUTLIVED | (end ? mark_of_end(l, task, end) : 0);
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
    const struct failure end = {.exit_code = keeper->record.exit_code,
                                .signal = keeper->record.signal,
                                .timed_out = keeper->record.timed_out};
    uint32_t task = NODE_NONE;
    bool outlived = keeper->fate == KEEPER_LIVE ||
                    (keeper->fate == KEEPER_ENDED && !keeper->record.stopped);
    int rc = outlived ? situation_find_open(l, &of, &task) : 0;
    if (!rc && task != NODE_NONE && r->marks[task] & MARK_INTERRUPTED)
        situation_note_outlived(l, task, &of,
                                keeper->fate == KEEPER_ENDED ? &end : NULL);
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
    l->s->present.new_attempts = calloc(now, sizeof *l->s->present.new_attempts);
    return r->marks && r->last_attempt && r->kept && l->s->present.new_marks &&
                   l->s->present.new_attempts
               ? 0
               : error_nomem(l->error);
}

static int load_marks(struct loader *l)
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
        return rc ? rc : load_earlier_numbers(l, 0);
    if (completed)
        mark_pending(r);
    if (!gen)
        return load_earlier_numbers(l, 0);
    rc = store_each_run_attempt(l->store, r->row.run, gen, false, mark_attempt, l->s,
                                l->error)
             ?: load_earlier_numbers(l, gen);
    for (uint32_t lost = gen + 1; lost <= r->row.gen && !rc; lost++)
        rc = load_lost_marks(l, lost);
    if (completed)
        mark_pending(r);
    if (!rc && l->s->arena.failed)
        rc = error_nomem(l->error);
    return rc ? rc : look_at_keepers(l);
}

int situation_load_marks(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    int rc = load_marks(l);
    /* It failed in this very call, before a list was made. */
    bool again = !rc && l->w->going_on && !l->options->n_tasks;
    for (uint32_t i = 0; again && i < r->states.n; i++)
        if (r->states.outcome[i] == CAIRN_FAILED)
            r->marks[i] |= MARK_REPORTED;
    return rc;
}

struct end_note ended_note_of(const struct keeper *keeper, uint32_t task)
{
    const struct keeper_record *end = &keeper->record;
    return (struct end_note){.task = task,
                             .attempt = keeper->id.attempt,
                             .exit_code = end->exit_code,
                             .inputs = keeper->inputs,
                             .started_ns = end->started_ns,
                             .ended_ns = end->ended_ns};
}

/* Names the first file that has changed since, if one has; an output that was there
 * before its task started was moved there since, or the clock was set back.
 * CAIRN_ENOTFOUND: one is gone. */
static int find_touched(const struct asker *asker, const struct end_note *end,
                        bool inputs, struct buf *which, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct files f;
    int64_t changed_ns;
    int rc = files_begin(&f, &scope, inputs, error), more = 0;
    while (!rc && !which->size && (more = files_step(&f, error)) > 0) {
        rc = file_changed(f.path.data, &changed_ns, error);
        bool later =
            inputs ? changed_ns >= end->started_ns : changed_ns > end->ended_ns;
        if (rc || later || (!inputs && file_is_older(changed_ns, end->started_ns)))
            buf_str(which, buf_view(&f.name));
    }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* Times tell nothing of what was moved there, or of a clock that was set. */
static int compare_inputs(const struct asker *asker, const struct end_note *end,
                          struct buf *which, struct cairn_error *error)
{
    uint64_t now;
    int rc = inputs_sign_now(asker, &now, error);
    if (!rc && now != end->inputs)
        buf_text(which, "what it read");
    return rc;
}

/* The same of the artifacts, which are stored when its end is taken over. */
static int find_touched_artifact(const struct asker *asker, const struct end_note *end,
                                 struct buf *which, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct artifact_names names;
    struct buf path = BUF_INIT;
    int64_t changed_ns;
    int rc = artifacts_find(&scope, &names, error);
    for (size_t i = 0; i < names.n && !rc && !which->size; i++) {
        buf_clear(&path);
        buf_str(&path, names.directory);
        buf_path(&path, names.names[i]);
        rc = buf_check(&path, error) ?: file_changed(path.data, &changed_ns, error);
        if (rc || changed_ns > end->ended_ns)
            buf_str(which, names.names[i]);
    }
    artifact_names_release(&names);
    buf_release(&path);
    return rc;
}

int ended_files_check(const struct asker *asker, const struct end_note *end,
                      struct buf *why, struct cairn_error *error)
{
    struct cairn_error local = {0};
    struct buf which = BUF_INIT;
    const struct task_def *def = lookup_scope(asker).def;
    int rc = def->n_inputs ? find_touched(asker, end, true, &which, &local) : 0;
    if (!rc && !which.size && def->n_inputs)
        rc = compare_inputs(asker, end, &which, &local);
    if (!rc && !which.size && def->n_outputs && !end->exit_code)
        rc = find_touched(asker, end, false, &which, &local);
    if (!rc && !which.size && def->n_artifacts && !end->exit_code)
        rc = find_touched_artifact(asker, end, &which, &local);
    if (rc && !which.size)
        buf_text(&which, "what it read or made");
    if (which.size)
        buf_format(why, "%.*s %s", (int)which.size, which.data,
                   rc == CAIRN_ENOTFOUND ? "is gone" : "has changed since");
    bool nomem = rc == CAIRN_ENOMEM || which.failed || why->failed;
    buf_release(&which);
    return nomem ? error_nomem(error) : 0;
}

/* Attempts whose end was noted before its owner was killed (process/end_notes.h): they
 * were not interrupted. What their task is started for is there already; only the
 * outcome is not stored yet. */

struct collecting {
    struct loader *l;
    size_t capacity;
    uint32_t n_touched; /* notes that do not count, since files have changed */
};

/* Are the secrets of the workflow as they were? What it wrote cannot be searched for
 * others. Who only looks may not have them all. */
static bool had_these_secrets(const struct loader *l, const struct end_note *note)
{
    const struct definition *d = &l->w->definition;
    uint64_t basis = 0;
    return l->as_is || secrets_missing(&l->s->secrets).len ||
           (!secrets_basis(&l->s->secrets, d->secrets, d->n_secrets, &basis) &&
            basis == note->basis);
}

/* Of a recorded task. One that is not in the workflow any more has no files, and its
 * end counts for nothing either way. */
static int check_files(struct collecting *c, uint32_t task, const struct end_note *note,
                       bool *count)
{
    enum { SHOWN = 3 };
    struct loader *l = c->l;
    struct buf why = BUF_INIT;
    uint32_t now = map_task(situation_old(l->s, l->w), task, &l->w->graph);
    struct asker asker = {
        .lookup = &l->s->present.lookup, .task = now, .attempt = note->attempt};
    *count = true;
    if (now == NODE_NONE)
        return 0;
    int rc = ended_files_check(&asker, note, &why, l->error);
    *count = !why.size;
    if (!rc && why.size && c->n_touched++ < SHOWN)
        situation_add_notice(
            l->s,
            "%s had ended when the run was killed, but %.*s: that end does not count",
            l->w->graph.id[now], (int)why.size, why.data);
    buf_release(&why);
    return rc;
}

/* Of the newest attempt of a task, whose end nobody has stored? */
static bool is_wanted(const struct collecting *c, uint32_t task,
                      const struct end_note *note)
{
    const struct recorded *r = &c->l->s->recorded;
    return task != NODE_NONE && r->marks[task] == MARK_INTERRUPTED &&
           had_these_secrets(c->l, note) &&
           noted_end_counts(c->l->store, r->row.run, note);
}

static int take_note(void *context, const struct end_note *note)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    const struct attempt_numbers of = {note->gen, note->task, note->attempt};
    uint32_t task;
    int rc = situation_find_open(c->l, &of, &task);
    bool counts = !rc && is_wanted(c, task, note);
    if (counts)
        rc = check_files(c, task, note, &counts);
    if (rc || !counts)
        return rc;
    struct end_note *at = array_room(r->noted, r->n_noted, &c->capacity, sizeof *at);
    if (!at)
        return error_nomem(c->l->error);
    r->noted = at;
    at += r->n_noted++;
    *at = *note;
    at->task = task;
    const struct failure end = {.exit_code = note->exit_code,
                                .signal = note->signal,
                                .timed_out = note->flags & NOTE_TIMED_OUT};
    situation_note_outlived(c->l, task, &of, &end);
    return 0;
}

/* The same of one whose end its keeper has recorded. */
static int check_keeper(void *context, struct keeper *keeper)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    uint32_t task = situation_kept_task(c->l->s, &keeper->id);
    if (keeper->fate != KEEPER_ENDED || task == NODE_NONE ||
        !(r->marks[task] & MARK_OUTLIVED))
        return 0;
    struct end_note note = ended_note_of(keeper, task);
    bool counts;
    int rc = check_files(c, task, &note, &counts);
    if (!rc && !counts) {
        r->marks[task] = MARK_INTERRUPTED;
        r->n_outlived--;
    }
    return rc;
}

static int by_task(const void *a, const void *b)
{
    const struct end_note *x = a, *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

static bool any_interrupted(const struct recorded *r)
{
    for (uint32_t task = 0; task < r->states.n; task++)
        if (r->marks[task] == MARK_INTERRUPTED)
            return true;
    return false;
}

int situation_find_end_notes(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    struct end_notes_damage damage = {0};
    struct collecting c = {.l = l};
    if (!r->recovered)
        return 0;
    int rc = r->n_outlived ? keepers_each(store_live_dir(l->store), store_id(l->store),
                                          r->row.run, check_keeper, &c, l->error)
                           : 0;
    if (rc || !any_interrupted(r))
        return rc;
    rc = end_notes_each(store_live_dir(l->store), store_id(l->store), r->row.run,
                        take_note, &c, &damage, l->error);
    if (!rc && r->n_noted)
        qsort(r->noted, r->n_noted, sizeof *r->noted, by_task);
    if (!rc && (damage.files || damage.notes))
        situation_add_notice(
            l->s,
            "%u note%s of ended processes of run %llu cannot be read: what was "
            "noted there runs again",
            damage.files + damage.notes, damage.files + damage.notes == 1 ? "" : "s",
            (unsigned long long)r->row.run);
    return rc;
}

const struct end_note *situation_noted_end(const struct situation *s, uint32_t old_task)
{
    struct end_note key = {.task = old_task};
    const struct recorded *r = &s->recorded;
    return r->n_noted ? bsearch(&key, r->noted, r->n_noted, sizeof key, by_task) : NULL;
}
