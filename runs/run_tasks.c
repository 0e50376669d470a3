/* SPDX-License-Identifier: MIT */
/* The names of reasons, as every text and JSON shows them. */
#include "runs/run_tasks.h"

#include "runs/marks.h"
#include "runs/owner.h"
#include "runs/stored.h"

#include "base/error.h"
#include "cairn/checkpoint.h"
#include "cairn/plan.h"
#include "cairn/runs.h"
#include "checkpoint/find.h"
#include "graph/fingerprint.h"
#include "graph/match.h"
#include "graph/members.h"
#include "graph/skip_cause.h"
#include "process/keeper.h"
#include "process/live.h"
#include "process/slot_map.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>
#include <sys/stat.h>

const char *cairn_reason_name(enum cairn_reason reason)
{
    static const char *const names[] = {
        "done",        "never-ran",    "failed",  "cancelled", "skipped",
        "interrupted", "damaged",      "changed", "output",    "upstream",
        "kept",        "input",        "secret",  "undone",    "unknown",
        "excluded",    "need-skipped", "handled", "adopted",   "asked",
        "not-chosen",  "reused",       "service"};
    return (unsigned)reason < sizeof names / sizeof names[0] ? names[reason]
                                                             : "unknown";
}

static bool has_size(const char *path, uint64_t bytes)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == bytes;
}

/* In the file of its slot, or moved to one of its own. */
static bool has_values(struct cairn_store *store, uint64_t run,
                       const struct end_note *note)
{
    char path[LIVE_PATH];
    struct attempt_id id = {
        store_live_dir(store),      run, note->gen, note->task, note->attempt,
        live_store(store_id(store))};
    live_path(path, sizeof path, id.live_dir, live_of_attempt(LIVE_VALUES, &id));
    if (has_size(path, note->values_bytes))
        return true;
    live_path(path, sizeof path, id.live_dir,
              live_of_values(run, note->slot, id.store));
    return has_size(path, note->values_bytes);
}

bool noted_end_counts(struct cairn_store *store, uint64_t run,
                      const struct end_note *note)
{
    return !(note->flags & NOTE_STOPPED) &&
           (!note->values_bytes || has_values(store, run, note));
}

/* Attempts of a task. */

/* ---- Finding a task in every definition that its run has had ---- */

/* Calls `each` for every generation of the run that has the task, oldest first. */
int attempts_each_generation(struct cairn_store *store, const struct stored_run *v,
                             const char *task,
                             int (*each)(void *, const struct task_place *),
                             void *context, struct cairn_error *error)
{
    int rc = 0;
    uint32_t found = 0;
    for (uint32_t gen = 1; gen <= v->row.gen && !rc; gen++) {
        struct task_place place = {.gen = gen};
        rc = generation_find_task(store, &v->row, gen, task, &place.task, error);
        if (rc == CAIRN_ENOTFOUND && gen < v->row.gen)
            rc = 0; /* an earlier definition that is lost has nothing to say */
        else if (!rc && place.task != NODE_NONE) {
            found++;
            rc = each(context, &place);
        }
    }
    if (!rc && !found)
        return run_no_task(v->row.run, task, error);
    return rc;
}

int cairn_run_has_task(struct cairn_store *store, uint64_t run, const char *task,
                       struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    uint32_t found = NODE_NONE;
    int rc = run_row_get(&row, store, run, &arena, error)
                 ?: generation_find_task(store, &row, row.gen, task, &found, error);
    arena_release(&arena);
    return rc ? rc : found != NODE_NONE;
}

/* ---- Attempts ---- */

struct attempt_lister {
    struct cairn_store *store;
    uint64_t run;
    const char *task;            /* NULL: all ... */
    struct past_definition past; /* ... of this one */
    int (*each)(void *, const struct cairn_attempt_info *);
    void *context;
    bool stopped;
    struct cairn_error *error;
};

static int show_attempt(void *context, const struct attempt_row *row)
{
    struct attempt_lister *l = context;
    struct buf text = BUF_INIT;
    if (attempt_never_started(row) || (!l->task && row->task >= l->past.graph.n_tasks))
        return 0;
    buf_str(&text, row->text);
    struct cairn_attempt_info info = {
        .task = l->task ? l->task : l->past.graph.id[row->task],
        .attempt = row->number,
        .open = attempt_is_open(row),
        .outcome = row->outcome,
        .exit_code = row->exit_code,
        .signal = row->signal,
        .timed_out = row->flags & ATTEMPT_TIMED_OUT,
        .started_ns = row->started_ns ? row->started_ns : row->intent_ns,
        .ended_ns = attempt_end_ns(row),
        .cpu_ms = row->cpu_us / 1000,
        .peak_kib = row->peak_kib,
        .stdout_bytes = row->out_bytes,
        .stderr_bytes = row->err_bytes,
        .text = text.size ? text.data : NULL,
        .merged = row->flags & ATTEMPT_MERGED,
        .undo = row->flags & ATTEMPT_UNDO,
        .check = row->flags & ATTEMPT_CHECK,
        .external = row->flags & ATTEMPT_EXTERNAL,
        .fallback = row->flags & ATTEMPT_FALLBACK};
    l->stopped = l->each(l->context, &info) != 0;
    buf_release(&text);
    return l->stopped;
}

static int show_generation(void *context, const struct task_place *place)
{
    struct attempt_lister *l = context;
    if (l->stopped)
        return 0;
    return store_each_attempt(l->store, l->run, place->gen, place->task, show_attempt,
                              l, l->error);
}

static int show_all(struct attempt_lister *l, const struct run_row *row)
{
    int rc = 0;
    for (uint32_t gen = 1; gen <= row->gen && !rc && !l->stopped; gen++) {
        rc = past_definition_load(&l->past, l->store, row, gen, l->error);
        if (!rc)
            rc = store_each_run_attempt(l->store, l->run, gen, false, show_attempt, l,
                                        l->error);
        else if (rc == CAIRN_ENOTFOUND && gen < row->gen)
            rc = 0; /* an earlier definition that is lost has nothing to say */
    }
    past_definition_release(&l->past);
    return rc;
}

int cairn_attempts(struct cairn_store *store, uint64_t run, const char *task,
                   int (*each)(void *, const struct cairn_attempt_info *),
                   void *context, struct cairn_error *error)
{
    struct stored_run v;
    int rc = stored_run_open(&v, store, run, false, error);
    if (rc)
        return rc;
    struct attempt_lister l = {.store = store,
                               .run = v.row.run,
                               .task = task,
                               .each = each,
                               .context = context,
                               .error = error};
    rc = task ? attempts_each_generation(store, &v, task, show_generation, &l, error)
              : show_all(&l, &v.row);
    stored_run_release(&v);
    return rc < 0 ? rc : 0;
}

/* ---- How long they took ---- */

void attempt_times_add(struct attempt_times *t, const struct attempt_row *row)
{
    bool undo = row->flags & ATTEMPT_UNDO;
    int64_t started_ns = row->started_ns ? row->started_ns : row->intent_ns;
    if (t->over) {
        t->latest = 0;
        t->latest_ns = 0;
        t->parted = true;
    }
    t->over = undo || (!attempt_is_open(row) && row->outcome == CAIRN_COMPLETED);
    t->rows++;
    t->started += !undo;
    int64_t ended_ns = attempt_end_ns(row);
    if (undo || !started_ns || !ended_ns)
        return;
    t->ended++;
    t->all_ns += ended_ns - started_ns;
    if (t->latest++ == 0)
        t->latest_started_ns = started_ns;
    t->latest_ns += ended_ns - started_ns;
}

void attempt_times_prepend(struct attempt_times *t, const struct attempt_times *before)
{
    if (!before->rows)
        return;
    if (!t->rows) {
        *t = *before;
        return;
    }
    t->rows += before->rows;
    t->started += before->started;
    t->ended += before->ended;
    t->all_ns += before->all_ns;
    if (!t->parted && !before->over && before->latest) {
        t->latest += before->latest;
        t->latest_ns += before->latest_ns;
        t->latest_started_ns = before->latest_started_ns;
    }
    t->parted |= before->over || before->parted;
}

struct newest {
    uint32_t number;
    uint8_t mark; /* enum mark: what it leaves on a task that is pending */
    bool timed_out, taken_over;
    bool closed; /* no owner runs it */
    bool kept;   /* its keeper lives, though its cairn does not */
    bool lost;   /* its keeper was ended, or has ended it */
    int64_t started_ns, ended_ns, cpu_us, peak_kib;
    int32_t exit_code, signal;
    const char *text; /* in the view's arena */
    struct newest_undo {
        uint32_t number; /* 0: none */
        bool failed;
        uint8_t mark; /* on a task that is not recorded as undone */
    } undo;
    struct attempt_times times; /* of all attempts */
};

struct task_lister {
    uint32_t n;
    struct newest *newest; /* [n] */
    const struct recovery *recovery;
    struct arena *arena;
};

static void note_undo(struct newest *newest, const struct newest_undo *undo)
{
    if (undo->number > newest->undo.number)
        newest->undo = *undo;
}

static void note_task(struct newest *newest, const struct newest *attempt)
{
    struct newest_undo undo = newest->undo;
    struct attempt_times times = newest->times;
    if (attempt->number < newest->number)
        return;
    *newest = *attempt;
    newest->undo = undo;
    newest->times = times;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    struct task_lister *l = context;
    if (row->task >= l->n || attempt_never_started(row))
        return 0;
    attempt_times_add(&l->newest[row->task].times, row);
    if (row->flags & ATTEMPT_UNDO) {
        struct newest_undo undo = {.number = row->number,
                                   .failed =
                                       row->ended_ns && row->outcome == CAIRN_FAILED,
                                   .mark = attempt_is_open(row) ? MARK_UNDOING : 0};
        note_undo(&l->newest[row->task], &undo);
        return 0;
    }
    if (row->number < l->newest[row->task].number)
        return 0;
    struct newest attempt = {
        .number = row->number,
        .mark = attempt_mark(row, l->recovery),
        .timed_out = row->flags & ATTEMPT_TIMED_OUT,
        .taken_over = row->flags & ATTEMPT_ADOPTED,
        .started_ns = row->started_ns ? row->started_ns : row->intent_ns,
        .closed = row->ended_ns != 0,
        .ended_ns = attempt_end_ns(row),
        .cpu_us = row->cpu_us,
        .peak_kib = row->peak_kib,
        .exit_code = row->exit_code,
        .signal = row->signal,
        .text = row->text.len ? arena_text(l->arena, row->text) : NULL};
    note_task(&l->newest[row->task], &attempt);
    return 0;
}

/* What a generation knows of a task of which no later one has an attempt. Attempts are
 * numbered anew in some generations, so their numbers do not tell which came last. */
static void note_generation(struct newest *newest, const struct newest *then)
{
    attempt_times_prepend(&newest->times, &then->times);
    if (newest->number)
        return;
    struct newest_undo undo = newest->undo.number ? newest->undo : then->undo;
    struct attempt_times times = newest->times;
    *newest = *then;
    newest->undo = undo;
    newest->times = times;
}

/* It has its own numbers of tasks. */
static int note_other_graph(struct cairn_store *store, struct stored_run *v,
                            uint32_t gen, const struct digest *digest,
                            struct task_lister *l, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    int rc = graph_load(store, digest, &definition, &graph, error);
    if (rc)
        return rc;
    struct task_lister old = {graph.n_tasks,
                              calloc((size_t)graph.n_tasks + 1, sizeof *old.newest),
                              l->recovery, l->arena};
    uint32_t *number = malloc(((size_t)l->n + 1) * sizeof *number);
    rc = old.newest && number ? store_each_run_attempt(store, v->row.run, gen, false,
                                                       note_attempt, &old, error)
                              : error_nomem(error);
    if (!rc)
        map_tasks(&v->graph, &graph, number);
    for (uint32_t task = 0; task < l->n && !rc; task++)
        if (number[task] != NODE_NONE)
            note_generation(&l->newest[task], &old.newest[number[task]]);
    free(old.newest);
    free(number);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

static int note_same_graph(struct cairn_store *store, struct stored_run *v,
                           uint32_t gen, struct task_lister *l,
                           struct cairn_error *error)
{
    if (gen == v->row.gen) /* nothing is noted yet */
        return store_each_run_attempt(store, v->row.run, gen, false, note_attempt, l,
                                      error);
    struct task_lister one = {l->n, calloc((size_t)l->n + 1, sizeof *one.newest),
                              l->recovery, l->arena};
    int rc = one.newest ? store_each_run_attempt(store, v->row.run, gen, false,
                                                 note_attempt, &one, error)
                        : error_nomem(error);
    for (uint32_t task = 0; task < l->n && !rc; task++)
        note_generation(&l->newest[task], &one.newest[task]);
    free(one.newest);
    return rc;
}

/* The newest generation first. */
static int note_attempts(struct cairn_store *store, struct stored_run *v,
                         struct task_lister *l, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t gen = v->row.gen; gen > 0 && !rc; gen--) {
        struct digest graph;
        rc = run_graph(store, &v->row, gen, &graph, error);
        if (!rc && digest_equal(&graph, &v->recovery.graph))
            rc = note_same_graph(store, v, gen, l, error);
        else if (!rc)
            rc = note_other_graph(store, v, gen, &graph, l, error);
        if (rc == CAIRN_ENOTFOUND && gen < v->row.gen)
            rc = 0; /* its definition is lost, so its numbers mean nothing */
    }
    return rc || !l->arena->failed ? rc : error_nomem(error);
}

/* An intent is not yet a running task: the slots show which attempts have started. */
uint8_t *running_tasks(struct cairn_store *store, const struct run_row *row, uint32_t n,
                       int64_t *since_ns)
{
    struct slot_map map;
    uint8_t *running = calloc((size_t)n + 1, 1);
    if (!running || slots_open(&map, store_live_dir(store), row->run, NULL))
        return running;
    for (uint32_t i = 0; i < map.slots->n; i++) {
        const struct slot *slot = &map.slots->slot[i];
        if (!slot->used || slot->gen != row->gen || slot->task >= n)
            continue;
        running[slot->task] = 1;
        if (since_ns)
            since_ns[slot->task] = slot->started_ns;
    }
    slots_close(&map, false);
    return running;
}

struct noted_tasks {
    struct task_lister *l;
    const struct stored_run *v;
    struct cairn_store *store;
    struct past_definition past;
    struct cairn_error *error;
};

/* Tasks that outlive their cairn run, and are adopted by the next one. */
static int note_keeper(void *context, struct keeper *keeper)
{
    struct noted_tasks *n = context;
    const struct attempt_id *id = &keeper->id;
    uint32_t task;
    int rc = past_task(&n->past, n->store, &n->v->row, id->gen, id->task, &n->v->graph,
                       &task, n->error);
    struct newest *a = !rc && task != NODE_NONE ? &n->l->newest[task] : NULL;
    if (a && id->attempt == a->number && a->mark == MARK_INTERRUPTED &&
        (id->gen == n->v->row.gen || a->taken_over)) {
        a->kept = keeper->fate == KEEPER_LIVE;
        a->lost = keeper->fate == KEEPER_LOST ||
                  (keeper->fate == KEEPER_ENDED && keeper->record.stopped);
    }
    return rc;
}

static int mark_kept(struct cairn_store *store, const struct stored_run *v,
                     struct task_lister *l, struct cairn_error *error)
{
    struct noted_tasks n = {.l = l, .v = v, .store = store, .error = error};
    int rc = keepers_each(store_live_dir(store), store_id(store), v->row.run,
                          note_keeper, &n, error);
    past_definition_release(&n.past);
    return rc;
}

/* It is recorded as pending. What a live owner runs has no end, either. */
static bool was_interrupted(const struct newest *a, uint8_t mark, bool live)
{
    return mark & MARK_DAMAGED || (mark & MARK_INTERRUPTED && (!live || a->closed));
}

/* As situation_marks.c has it; the newest attempt decides. */
static uint8_t recorded_mark(const struct newest *a, enum cairn_outcome outcome)
{
    if (a->undo.number > a->number)
        return outcome == CAIRN_UNDONE ? 0 : a->undo.mark;
    return outcome == CAIRN_PENDING ? a->mark : 0;
}

/* Whether the next owner will find it unknown. Whether a keeper has taken an attempt
 * that is open is not known here if the keeper has left nothing. */
static bool is_unknown(const struct stored_run *v, const struct newest *a,
                       uint32_t task, uint8_t mark)
{
    bool kept = v->definition.on_crash == ON_CRASH_ADOPT || a->taken_over;
    if (kept && !a->lost && !a->closed)
        mark &= (uint8_t)~MARK_INTERRUPTED;
    return task_is_unknown(graph_def(&v->graph, task), CAIRN_PENDING, mark);
}

/* What it should take back still stands: it has not run since. */
static bool undo_has_failed(const struct newest *a, enum cairn_outcome outcome)
{
    return a->undo.failed && a->undo.number > a->number &&
           (outcome == CAIRN_COMPLETED || outcome == CAIRN_FAILED);
}

static const char *cause_of(struct skip_causes *causes, uint32_t task)
{
    uint32_t cause =
        causes->outcome[task] == CAIRN_SKIPPED ? skip_cause(causes, task) : NODE_NONE;
    return cause == NODE_NONE ? NULL : causes->graph->id[cause];
}

/* Without it a service was left out because nothing needed it, not by its condition. */
static bool would_have_used(struct skip_causes *causes, uint32_t user, uint32_t service)
{
    uint8_t outcome = causes->outcome[user];
    return outcome == CAIRN_SKIPPED ? skip_cause(causes, user) == service
                                    : outcome != CAIRN_EXCLUDED;
}

static bool left_out_unneeded(struct skip_causes *causes, uint32_t task)
{
    const struct graph *g = causes->graph;
    const struct task_def *def = graph_def(g, task);
    bool used = false;
    if (!task_def_is_service(def) || !def->condition.len)
        return task_def_is_service(def);
    for (uint32_t e = g->dependent_start[task];
         e < g->dependent_start[task + 1] && !used; e++) {
        uint32_t user = g->dependents[e];
        bool group = graph_is_barrier(g, user);
        uint32_t from = group ? g->dependent_start[user] : e;
        uint32_t end = group ? g->dependent_start[user + 1] : e + 1;
        for (uint32_t i = from; i < end && !used; i++)
            used = would_have_used(causes, g->dependents[i], task);
    }
    return !used;
}

/* False: out of memory. */
static bool member_values(const struct graph *g, uint32_t task, struct buf *values)
{
    const struct task_def *def = graph_def(g, task);
    uint32_t n = task_def_names(def);
    buf_clear(values);
    for (uint32_t i = 0; i < n; i++) {
        /* Texts of a definition end with 0. */
        struct key_value named = member_named(def, graph_member(g, task), i);
        struct cairn_param value = {named.key.ptr, named.value.ptr};
        buf_add(values, &value, sizeof value);
    }
    return !values->failed;
}

static int list_tasks(const struct stored_run *v, struct skip_causes *causes,
                      const struct newest *newest, const uint8_t *running, bool live,
                      int (*each)(void *, const struct cairn_task_info *),
                      void *context, struct cairn_error *error)
{
    struct buf values = BUF_INIT;
    int rc = 0;
    for (uint32_t task = 0; task < v->graph.n_tasks && !rc; task++) {
        const struct newest *a = &newest[task];
        enum cairn_outcome outcome = v->recovery.states.outcome[task];
        bool pending = outcome == CAIRN_PENDING;
        uint8_t mark = recorded_mark(a, outcome);
        bool interrupted = pending && was_interrupted(a, mark, live);
        bool unknown = !live && !a->kept && is_unknown(v, a, task, mark);
        struct cairn_task_info info = {
            .id = v->graph.id[task],
            .node = task,
            .outcome = unknown ? CAIRN_UNKNOWN : outcome,
            .running = pending && (live ? running[task] : a->kept),
            .interrupted = interrupted && !unknown && !(a->kept && !live),
            .attempts = a->times.started,
            .attempt = a->number,
            .started_ns = a->started_ns,
            .ended_ns = a->ended_ns,
            .attempts_ms = a->times.ended ? a->times.all_ns / 1000000 : -1,
            .latest = a->times.latest,
            .latest_ms = a->times.latest_ns / 1000000,
            .latest_started_ns = a->times.latest ? a->times.latest_started_ns : 0,
            .exit_code = a->number ? a->exit_code : -1,
            .signal = a->signal,
            .timed_out = a->timed_out,
            .cpu_ms = a->cpu_us / 1000,
            .peak_kib = a->peak_kib,
            .text = a->text,
            .check = graph_def(&v->graph, task)->check.len > 0,
            .failed_undo = undo_has_failed(a, outcome) ? a->undo.number : 0,
            .cause = cause_of(causes, task),
            .skipped_itself = state_skipped_itself(&v->recovery.states, task),
            .service = outcome == CAIRN_EXCLUDED
                           ? left_out_unneeded(causes, task)
                           : task_def_is_service(graph_def(&v->graph, task))};
        if (!member_values(&v->graph, task, &values))
            rc = error_nomem(error);
        info.n_foreach = values.size / sizeof *info.foreach;
        info.foreach = info.n_foreach ? (const void *)values.data : NULL;
        if (!rc && each(context, &info))
            break;
    }
    buf_release(&values);
    return rc;
}

static int note_end(void *context, const struct end_note *note)
{
    struct noted_tasks *n = context;
    const struct run_row *row = &n->v->row;
    uint32_t task;
    int rc = past_task(&n->past, n->store, row, note->gen, note->task, &n->v->graph,
                       &task, n->error);
    struct newest *a = !rc && task != NODE_NONE ? &n->l->newest[task] : NULL;
    if (a && (note->gen == row->gen || a->taken_over) && note->attempt == a->number &&
        a->mark == MARK_INTERRUPTED && noted_end_counts(n->store, row->run, note))
        a->mark = MARK_OUTLIVED;
    return rc;
}

/* What had ended before its owner was killed is neither interrupted nor unknown. */
static int mark_noted(struct cairn_store *store, const struct stored_run *v,
                      struct task_lister *l, struct cairn_error *error)
{
    struct end_notes_damage damage = {0};
    struct noted_tasks n = {.l = l, .v = v, .store = store, .error = error};
    int rc = v->row.state == CAIRN_RUN_COMPLETED
                 ? 0
                 : end_notes_each(store_live_dir(store), store_id(store), v->row.run,
                                  note_end, &n, &damage, error);
    past_definition_release(&n.past);
    return rc;
}

int cairn_run_tasks(struct cairn_store *store, uint64_t run,
                    int (*each)(void *, const struct cairn_task_info *), void *context,
                    struct cairn_error *error)
{
    struct stored_run v;
    int rc = stored_run_open(&v, store, run, true, error);
    if (rc)
        return rc;
    struct task_lister l = {v.graph.n_tasks,
                            calloc((size_t)v.graph.n_tasks + 1, sizeof *l.newest),
                            &v.recovery, &v.arena};
    uint8_t *running = running_tasks(store, &v.row, v.graph.n_tasks, NULL);
    int live = run_live(store, &v.row, error);
    rc = live < 0 ? live : l.newest && running ? 0 : error_nomem(error);
    if (!rc)
        rc = note_attempts(store, &v, &l, error);
    if (!rc && !live)
        rc = mark_noted(store, &v, &l, error);
    if (!rc && !live && v.row.state != CAIRN_RUN_COMPLETED)
        rc = mark_kept(store, &v, &l, error);
    struct skip_causes causes = {0};
    if (!rc && skip_causes_open(&causes, &v.graph, v.recovery.states.outcome))
        rc = error_nomem(error);
    if (!rc)
        rc = list_tasks(&v, &causes, l.newest, running, live, each, context, error);
    skip_causes_release(&causes);
    free(l.newest);
    free(running);
    stored_run_release(&v);
    return rc;
}

/* What a checkpoint says of tasks: how each ended, and what it has told. The values of
 * a run are those of its newest checkpoints. */

/* A checkpoint of a run, and the graph that its states are of. */
struct past {
    struct outcomes at;
    struct definition definition;
    struct graph graph;
};

static void past_close(struct past *past)
{
    graph_release(&past->graph);
    definition_release(&past->definition);
    outcomes_release(&past->at);
}

static int past_open(struct past *past, struct cairn_store *store, const char *id,
                     struct cairn_error *error)
{
    uint64_t seq;
    int rc = checkpoint_find(store, id, &seq, error)
                 ?: outcomes_rebuild(store, seq, &past->at, NULL, error);
    if (rc)
        return rc;
    rc = graph_load(store, &past->at.graph, &past->definition, &past->graph, error);
    if (rc) {
        outcomes_release(&past->at);
        return rc;
    }
    if (past->graph.n_tasks == past->at.states.n)
        return 0;
    error_set(error, CAIRN_EDAMAGED,
              "checkpoint %s is of %u tasks, its definition of %u", id,
              past->at.states.n, past->graph.n_tasks);
    past_close(past);
    return CAIRN_EDAMAGED;
}

/* ---- Outcomes ---- */

int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                           int (*each)(void *, const char *task,
                                       enum cairn_outcome outcome, uint32_t attempts),
                           void *context, struct cairn_error *error)
{
    struct past past;
    int rc = past_open(&past, store, id, error);
    if (rc)
        return rc;
    for (uint32_t task = 0; task < past.graph.n_tasks; task++)
        if (each(context, past.graph.id[task], past.at.states.outcome[task],
                 past.at.states.attempts[task]))
            break;
    past_close(&past);
    return 0;
}

/* ---- Values ---- */

struct value_lister {
    struct cairn_store *store;
    const struct graph *graph;
    const struct states *states;
    /* One of the two. */
    int (*each)(void *, const struct cairn_value_info *);
    int (*each_file)(void *, const struct cairn_task_file *);
    void *context;
    bool ended; /* the caller wants no more */
    struct cairn_error damaged;
};

/* One that cannot be read is told at the end, and the others are listed. */
static int note_damage(struct value_lister *l, uint32_t task, int rc,
                       const struct cairn_error *why, struct cairn_error *error)
{
    const char *id = l->graph->id[task];
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
        return error_set(error, rc, "task %s: %s", id, why->text);
    if (!l->damaged.code)
        error_set(&l->damaged, CAIRN_EDAMAGED, "the %s of task %s: %s",
                  l->each ? "values" : "files", id, why->text);
    return 0;
}

static int list_results(struct value_lister *l, uint32_t task, struct arena *arena,
                        const struct result *result, struct cairn_error *error)
{
    for (uint32_t i = result_lists(result); i < result->n_values && !l->ended; i++) {
        struct cairn_value_info info = {
            .task = l->graph->id[task],
            .node = task,
            .name = arena_text(arena, result->values[i].key),
            .value = arena_text(arena, result->values[i].value)};
        if (arena->failed)
            return error_nomem(error);
        l->ended = l->each(l->context, &info) != 0;
    }
    return 0;
}

static int list_files(struct value_lister *l, uint32_t task, struct arena *arena,
                      const struct result *result, struct cairn_error *error)
{
    uint32_t n = result->n_outputs + result->n_inputs;
    char hex[DIGEST_HEX_SIZE];
    for (uint32_t i = 0; i < n && !l->ended; i++) {
        bool input = i >= result->n_outputs;
        const struct result_file *file =
            input ? &result->inputs[i - result->n_outputs] : &result->outputs[i];
        struct cairn_task_file info = {.task = l->graph->id[task],
                                       .node = task,
                                       .name = arena_text(arena, file->name),
                                       .input = input,
                                       .directory = file->kind == 'd',
                                       .size = file->size};
        if (arena->failed)
            return error_nomem(error);
        if (!digest_is_none(&file->digest)) {
            digest_hex(&file->digest, hex);
            info.sha256 = hex;
        }
        l->ended = l->each_file(l->context, &info) != 0;
    }
    return 0;
}

static int list_task(struct value_lister *l, uint32_t task, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct result result;
    if (l->states->outcome[task] != CAIRN_COMPLETED || !l->states->outputs ||
        digest_is_none(&l->states->outputs[task]))
        return 0;
    int rc = result_load(l->store, &l->states->outputs[task], &arena, &result, &why);
    if (rc)
        rc = note_damage(l, task, rc, &why, error);
    else
        rc = l->each ? list_results(l, task, &arena, &result, error)
                     : list_files(l, task, &arena, &result, error);
    arena_release(&arena);
    return rc;
}

/* Of `only`, or of all with NODE_NONE. */
static int list_values(struct value_lister *l, uint32_t only, struct cairn_error *error)
{
    int rc = 0;
    if (only != NODE_NONE)
        rc = list_task(l, only, error);
    for (uint32_t task = 0;
         only == NODE_NONE && task < l->graph->n_tasks && !l->ended && !rc; task++)
        rc = list_task(l, task, error);
    if (!rc && l->damaged.code)
        rc = error_set(error, CAIRN_EDAMAGED, "%s", l->damaged.text);
    return rc;
}

static int list_stored(struct value_lister *l, const struct stored_run *run,
                       const char *task, struct cairn_error *error)
{
    uint32_t only = NODE_NONE;
    l->graph = &run->graph;
    l->states = &run->recovery.states;
    if (task)
        only = graph_find(l->graph, str_of(task));
    if (task && (only == NODE_NONE || only >= l->graph->n_tasks))
        return run_no_task(run->row.run, task, error);
    return list_values(l, only, error);
}

static bool has_results(const struct states *states)
{
    for (uint32_t task = 0; states->outputs && task < states->n; task++)
        if (!digest_is_none(&states->outputs[task]))
            return true;
    return false;
}

static int list_run(struct value_lister *l, uint64_t run, const char *task,
                    struct cairn_error *error)
{
    struct stored_run stored;
    int rc = stored_run_open(&stored, l->store, run, false, error);
    if (rc)
        return rc;
    if (task || has_results(&stored.recovery.states))
        rc = stored_run_load_graph(&stored, l->store, error)
                 ?: list_stored(l, &stored, task, error);
    stored_run_release(&stored);
    return rc;
}

int cairn_values(struct cairn_store *store, uint64_t run, const char *task,
                 int (*each)(void *, const struct cairn_value_info *), void *context,
                 struct cairn_error *error)
{
    struct value_lister l = {.store = store, .each = each, .context = context};
    return list_run(&l, run, task, error);
}

int cairn_task_files(struct cairn_store *store, uint64_t run, const char *task,
                     int (*each)(void *, const struct cairn_task_file *), void *context,
                     struct cairn_error *error)
{
    struct value_lister l = {.store = store, .each_file = each, .context = context};
    return list_run(&l, run, task, error);
}

struct value_teller { /* for a caller that gets no number of the task */
    int (*each)(void *, const char *task, const char *name, const char *value);
    void *context;
};

static int tell_value(void *context, const struct cairn_value_info *info)
{
    const struct value_teller *t = context;
    return t->each(t->context, info->task, info->name, info->value);
}

int cairn_checkpoint_values(struct cairn_store *store, const char *id,
                            int (*each)(void *, const char *task, const char *name,
                                        const char *value),
                            void *context, struct cairn_error *error)
{
    struct value_teller teller = {each, context};
    struct value_lister l = {.store = store, .each = tell_value, .context = &teller};
    struct past past;
    int rc = past_open(&past, store, id, error);
    if (rc)
        return rc;
    l.graph = &past.graph;
    l.states = &past.at.states;
    rc = list_values(&l, NODE_NONE, error);
    past_close(&past);
    return rc;
}

/* ---- What differs from another run ---- */

struct changes_of {
    int (*each)(void *, const char *, const char *, const char *, const char *);
    void *context;
    const char *task;
    bool stopped;
};

static int report_change(void *context, const char *field, const char *old,
                         const char *now)
{
    struct changes_of *c = context;
    c->stopped = c->each(c->context, c->task, field, old, now) != 0;
    return c->stopped;
}

static int compare_graphs(const struct graph *from, const struct graph *to,
                          struct changes_of *c, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t task = 0; task < to->n_tasks && rc >= 0 && !c->stopped; task++) {
        uint32_t before = graph_find(from, str_of(to->id[task]));
        c->task = to->id[task];
        if (before < from->n_tasks)
            rc = task_changes(from, before, to, task, report_change, c, error);
    }
    return rc < 0 ? rc : 0;
}

int cairn_run_changes(struct cairn_store *store, uint64_t from, uint64_t to,
                      int (*each)(void *, const char *task, const char *field,
                                  const char *old, const char *now),
                      void *context, struct cairn_error *error)
{
    struct changes_of changes = {.each = each, .context = context};
    struct stored_run a, b;
    int rc = stored_run_open(&a, store, from, true, error);
    if (rc)
        return rc;
    rc = stored_run_open(&b, store, to, true, error);
    if (!rc) {
        rc = compare_graphs(&a.graph, &b.graph, &changes, error);
        stored_run_release(&b);
    }
    stored_run_release(&a);
    return rc;
}
