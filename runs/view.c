/* SPDX-License-Identifier: MIT */
/* Runs and their tasks, attempts and output, read from the store (and, for what is
 * running right now, from the slot file of the live run). */
#include "runs/view.h"

#include "base/array.h"
#include "checkpoint/verify.h"
#include "process/capture.h"
#include "process/spawn.h"
#include "runs/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- A view of one run ---- */

struct row_reader {
    struct run_row *row;
    struct arena *arena;
    struct cairn_error *error;
};

static int keep_row(void *context, const struct run_row *row)
{
    struct row_reader *r = context;
    return run_row_copy(r->row, row, r->arena, r->error);
}

int run_row_get(struct run_row *row, struct cairn_store *store, uint64_t run,
                struct arena *arena, struct cairn_error *error)
{
    struct row_reader reader = {row, arena, error};
    int rc = store_get_run(store, run, keep_row, &reader, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    return run ? error_set(error, CAIRN_ENOTFOUND,
                           "there is no run %llu; `cairn runs` lists them",
                           (unsigned long long)run)
               : error_set(
                     error, CAIRN_ENOTFOUND,
                     "the store has no runs yet; start one with `cairn run FILE`");
}

int view_open(struct view *view, struct cairn_store *store, uint64_t run, bool graph,
              struct cairn_error *error)
{
    struct view v = {.arena = ARENA_INIT};
    struct sha256 *sha = sha256_new();
    int rc = sha ? store_begin_read(store, error) : error_nomem(error);
    if (rc) {
        sha256_free(sha);
        return rc;
    }
    rc = run_row_get(&v.row, store, run, &v.arena, error);
    if (!rc)
        rc = run_trust(store, &v.row, error);
    if (!rc) {
        rc = checkpoint_recover(store, sha, v.row.run, &v.recovery, error);
        v.recovered = !rc;
    }
    if (rc == CAIRN_ENOTFOUND && v.row.run)
        rc = run_no_checkpoint(v.row.run, error);
    if (!rc && graph) {
        rc = graph_load(store, &v.recovery.graph, &v.definition, &v.graph, error);
        v.loaded = !rc;
        v.graph.definition = &view->definition;
    }
    store_end_read(store);
    sha256_free(sha);
    if (rc)
        view_release(&v);
    else
        *view = v;
    return rc;
}

void view_release(struct view *view)
{
    if (view->recovered)
        recovery_release(&view->recovery);
    if (view->loaded) {
        graph_release(&view->graph);
        definition_release(&view->definition);
    }
    arena_release(&view->arena);
}

/* ---- Runs ---- */

static void copy_text(char *out, size_t size, struct str text)
{
    snprintf(out, size, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
}

static void show_params(char *out, size_t size, struct str canonical)
{
    struct reader r = reader_of(canonical.ptr, canonical.len);
    size_t used = 0;
    out[0] = 0;
    while (reader_left(&r) && !r.failed && used < size - 1) {
        struct str name = read_lstr(&r), value = read_lstr(&r);
        int n = snprintf(out + used, size - used, "%s%.*s=%.*s", used ? " " : "",
                         (int)name.len, name.ptr, (int)value.len, value.ptr);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* What the slot file of a live run tells: running tasks, unsaved outcomes. */
static void look_at_slots(struct cairn_store *store, struct cairn_run_info *info)
{
    struct slot_map map;
    if (!info->live || slots_open(&map, store_live_dir(store), info->run, NULL))
        return;
    for (uint32_t i = 0; i < map.slots->n; i++)
        info->running += map.slots->slot[i].used != 0;
    info->unsaved = map.slots->unsaved;
    slots_close(&map, false);
}

static int fill_info(struct cairn_store *store, const struct run_row *row,
                     const struct recovery *recovery, struct cairn_run_info *info,
                     struct cairn_error *error)
{
    *info = (struct cairn_run_info){.run = row->run,
                                    .state = row->state,
                                    .owner_pid = row->owner_pid,
                                    .started_ns = row->started_ns,
                                    .ended_ns = row->ended_ns,
                                    .from_run = row->from_run,
                                    .from_seq = row->from_seq,
                                    .total = row->tasks,
                                    .unsaved = row->unsaved,
                                    .keyed = row->keyed};
    copy_text(info->workflow, sizeof info->workflow, row->workflow_name);
    copy_text(info->file, sizeof info->file, row->file);
    copy_text(info->owner_host, sizeof info->owner_host, row->owner_host);
    show_params(info->params, sizeof info->params, row->params_text);
    if (recovery) {
        struct tally tally = states_tally(&recovery->states);
        info->checkpoint = recovery->newest.seq;
        info->damaged = (uint32_t)recovery->n_damaged;
        info->completed = tally.completed;
        info->failed = tally.failed;
        info->skipped = tally.skipped;
        info->cancelled = tally.cancelled;
        info->undone = tally.undone;
        info->unknown = tally.unknown;
        info->excluded = tally.excluded;
    }
    int live = run_live(store, row, error);
    if (live < 0)
        return live;
    info->live = live;
    look_at_slots(store, info);
    return 0;
}

struct lister {
    struct cairn_store *store;
    uint64_t *runs;
    size_t n, capacity;
    struct cairn_error *error;
};

static int collect_run(void *context, const struct run_row *row)
{
    struct lister *l = context;
    uint64_t *runs = array_room(l->runs, l->n, &l->capacity, sizeof *runs);
    if (!runs)
        return error_nomem(l->error);
    l->runs = runs;
    l->runs[l->n++] = row->run;
    return 0;
}

static int get_run(struct cairn_store *store, uint64_t run, struct cairn_run_info *out,
                   struct cairn_error *error)
{
    struct view view;
    int rc = view_open(&view, store, run, false, error);
    if (rc)
        return rc;
    rc = fill_info(store, &view.row, &view.recovery, out, error);
    view_release(&view);
    return rc;
}

/* Its owner may have ended it between the look at its row and that at the lock. */
static bool ended_meanwhile(struct cairn_store *store,
                            const struct cairn_run_info *info)
{
    struct run_row row;
    struct arena arena = ARENA_INIT;
    bool ended = !info->live && info->state == CAIRN_RUN_UNFINISHED &&
                 run_row_get(&row, store, info->run, &arena, NULL) == 0 &&
                 row.state != CAIRN_RUN_UNFINISHED;
    arena_release(&arena);
    return ended;
}

int cairn_run_get(struct cairn_store *store, uint64_t run, struct cairn_run_info *out,
                  struct cairn_error *error)
{
    int rc = get_run(store, run, out, error);
    if (!rc && ended_meanwhile(store, out))
        rc = get_run(store, run, out, error);
    return rc;
}

/* A run whose checkpoints are all damaged or gone is listed all the same, without
 * counts; so is one without a key, if there is one now. */
int cairn_run_look(struct cairn_store *store, uint64_t run, struct cairn_run_info *info,
                   struct cairn_error *error)
{
    struct view view = {.arena = ARENA_INIT};
    int rc = cairn_run_get(store, run, info, error);
    if ((rc != CAIRN_EDAMAGED && rc != CAIRN_EUSAGE) || store_malformed(store))
        return rc;
    rc = run_row_get(&view.row, store, run, &view.arena, error);
    if (!rc)
        rc = fill_info(store, &view.row, NULL, info, error);
    arena_release(&view.arena);
    return rc;
}

static int find_workflow(struct cairn_store *store, const char *workflow,
                         struct run_filter *filter, struct cairn_error *error)
{
    if (!workflow)
        return 0;
    int rc =
        store_workflow_id(store, str_of(workflow), false, &filter->workflow, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(
            error, CAIRN_ENOTFOUND,
            "no run of a workflow `%s` is in this store; `cairn runs` lists "
            "what there is",
            workflow);
    return rc;
}

int cairn_runs(struct cairn_store *store, const char *workflow,
               const struct cairn_page *page,
               int (*each)(void *, const struct cairn_run_info *), void *context,
               uint64_t *total, struct cairn_error *error)
{
    enum { DEFAULT_LIMIT = 10, LARGEST_LIMIT = 100 };
    struct lister lister = {.store = store, .error = error};
    struct run_filter filter = {.ascending = page && page->oldest_first,
                                .offset = page ? page->offset : 0,
                                .limit =
                                    page && page->limit ? page->limit : DEFAULT_LIMIT};
    struct cairn_run_info info;
    if (filter.limit > LARGEST_LIMIT)
        filter.limit = LARGEST_LIMIT;
    if (page && page->all)
        filter.limit = 0;
    int rc = find_workflow(store, workflow, &filter, error);
    if (!rc)
        rc = store_each_run(store, &filter, collect_run, &lister, error);
    if (!rc && total)
        rc = store_count_runs(store, &filter, total, error);
    for (size_t i = 0; i < lister.n && !rc; i++) {
        rc = cairn_run_look(store, lister.runs[i], &info, error);
        if (!rc && each(context, &info))
            break;
    }
    free(lister.runs);
    return rc;
}

int cairn_can_resume(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    struct cairn_run_info info;
    int rc = cairn_run_get(store, run, &info, error);
    if (!rc && info.live)
        return error_set(
            error, CAIRN_EOWNED, "run %llu is running: process %lld on %s owns it",
            (unsigned long long)info.run, (long long)info.owner_pid, info.owner_host);
    return rc ? rc : store_check_keyed(store, info.run, info.keyed, error);
}

/* ---- Tasks ---- */

struct newest {
    uint32_t number;
    bool open, completed, timed_out;
    uint64_t checkpoint; /* that has its outcome, or 0 */
    int64_t started_ns, ended_ns, cpu_us, peak_kib;
    int32_t exit_code, signal;
    const char *text; /* in the view's arena */
    uint32_t undo;    /* its newest undo */
    bool undo_failed;
};

struct task_lister {
    uint32_t n;
    struct newest *newest; /* [n] */
    struct arena *arena;
};

static void note_undo(struct newest *newest, uint32_t number, bool failed)
{
    if (number <= newest->undo)
        return;
    newest->undo = number;
    newest->undo_failed = failed;
}

static void note_task(struct newest *newest, const struct newest *attempt)
{
    uint32_t undo = newest->undo;
    bool failed = newest->undo_failed;
    if (attempt->number < newest->number)
        return;
    *newest = *attempt;
    newest->undo = undo;
    newest->undo_failed = failed;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    struct task_lister *l = context;
    bool never_started =
        row->ended_ns && !row->started_ns && !(row->flags & ATTEMPT_INTERRUPTED);
    if (row->task >= l->n)
        return 0;
    if (row->flags & ATTEMPT_UNDO)
        note_undo(&l->newest[row->task], row->number,
                  row->ended_ns && row->outcome == CAIRN_FAILED);
    if (never_started || row->flags & ATTEMPT_UNDO ||
        row->number < l->newest[row->task].number)
        return 0;
    struct newest attempt = {
        .number = row->number,
        .open = !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED,
        .completed = row->outcome == CAIRN_COMPLETED,
        .checkpoint = row->checkpoint,
        .timed_out = row->flags & ATTEMPT_TIMED_OUT,
        .started_ns = row->started_ns ? row->started_ns : row->intent_ns,
        .ended_ns = row->ended_ns,
        .cpu_us = row->cpu_us,
        .peak_kib = row->peak_kib,
        .exit_code = row->exit_code,
        .signal = row->signal,
        .text = row->text.len ? arena_text(l->arena, row->text) : NULL};
    note_task(&l->newest[row->task], &attempt);
    return 0;
}

/* An earlier generation has its own numbers: its attempts are found by task. */
static int note_earlier(struct cairn_store *store, struct view *v, uint32_t gen,
                        const struct digest *digest, struct task_lister *l,
                        struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    int rc = graph_load(store, digest, &definition, &graph, error);
    if (rc)
        return rc;
    struct task_lister old = {
        graph.n_tasks, calloc((size_t)graph.n_tasks + 1, sizeof *old.newest), l->arena};
    uint32_t *place = malloc(((size_t)l->n + 1) * sizeof *place);
    rc = old.newest && place ? store_each_run_attempt(store, v->row.run, gen, false,
                                                      note_attempt, &old, error)
                             : error_nomem(error);
    if (!rc)
        map_tasks(&v->graph, &graph, place);
    for (uint32_t task = 0; task < l->n && !rc; task++)
        if (place[task] != NODE_NONE) {
            const struct newest *then = &old.newest[place[task]];
            note_undo(&l->newest[task], then->undo, then->undo_failed);
            if (then->number > l->newest[task].number)
                note_task(&l->newest[task], then);
        }
    free(old.newest);
    free(place);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

static int note_attempts(struct cairn_store *store, struct view *v,
                         struct task_lister *l, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t gen = v->row.gen; gen > 0 && !rc; gen--) {
        struct digest graph;
        rc = run_graph(store, &v->row, gen, &graph, error);
        if (!rc && digest_equal(&graph, &v->recovery.graph))
            rc = store_each_run_attempt(store, v->row.run, gen, false, note_attempt, l,
                                        error);
        else if (!rc)
            rc = note_earlier(store, v, gen, &graph, l, error);
        if (rc == CAIRN_ENOTFOUND && gen < v->row.gen)
            rc = 0; /* an earlier definition that is lost tells nothing */
    }
    return rc || !l->arena->failed ? rc : error_nomem(error);
}

/* An intent is not yet a running task: the slots tell which attempts have started. */
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

/* What must not run twice, and was interrupted, is unknown before an owner says so. Of
 * one whose keeper may have lived on nothing can be told here. */
static bool is_unknown(const struct view *v, uint32_t task, bool interrupted)
{
    return interrupted && graph_def(&v->graph, task)->once &&
           v->definition.on_crash != ON_CRASH_ADOPT;
}

/* Its end stood in a record that is damaged or gone. */
static bool is_lost(const struct view *v, const struct newest *a)
{
    return a->completed && recovery_may_lack(&v->recovery, a->checkpoint);
}

/* What it should take back still stands: it has not run since. */
static bool undo_has_failed(const struct newest *a, enum cairn_outcome outcome)
{
    return a->undo_failed && a->undo > a->number &&
           (outcome == CAIRN_COMPLETED || outcome == CAIRN_FAILED);
}

static int list_tasks(const struct view *v, const struct newest *newest,
                      const uint8_t *running, bool live,
                      int (*each)(void *, const struct cairn_task_info *),
                      void *context)
{
    for (uint32_t task = 0; task < v->graph.n_tasks; task++) {
        const struct newest *a = &newest[task];
        enum cairn_outcome outcome = v->recovery.states.outcome[task];
        bool pending = outcome == CAIRN_PENDING;
        bool interrupted =
            pending && ((a->open && (!live || a->ended_ns)) || is_lost(v, a));
        bool unknown = is_unknown(v, task, interrupted && !live);
        struct cairn_task_info info = {
            .id = v->graph.id[task],
            .node = task,
            .outcome = unknown ? CAIRN_UNKNOWN : outcome,
            .running = pending && live && running[task],
            .interrupted = interrupted && !unknown,
            .attempts = a->number,
            .started_ns = a->started_ns,
            .ended_ns = a->ended_ns,
            .exit_code = a->number ? a->exit_code : -1,
            .signal = a->signal,
            .timed_out = a->timed_out,
            .cpu_ms = a->cpu_us / 1000,
            .peak_kib = a->peak_kib,
            .text = a->text,
            .check = graph_def(&v->graph, task)->check.len > 0,
            .failed_undo = undo_has_failed(a, outcome) ? a->undo : 0};
        if (each(context, &info))
            break;
    }
    return 0;
}

int cairn_run_tasks(struct cairn_store *store, uint64_t run,
                    int (*each)(void *, const struct cairn_task_info *), void *context,
                    struct cairn_error *error)
{
    struct view v;
    int rc = view_open(&v, store, run, true, error);
    if (rc)
        return rc;
    struct task_lister l = {v.graph.n_tasks,
                            calloc((size_t)v.graph.n_tasks + 1, sizeof *l.newest),
                            &v.arena};
    uint8_t *running = running_tasks(store, &v.row, v.graph.n_tasks, NULL);
    int live = run_live(store, &v.row, error);
    rc = live < 0 ? live : l.newest && running ? 0 : error_nomem(error);
    if (!rc)
        rc = note_attempts(store, &v, &l, error);
    if (!rc)
        rc = list_tasks(&v, l.newest, running, live, each, context);
    free(l.newest);
    free(running);
    view_release(&v);
    return rc;
}

int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                           int (*each)(void *, const char *task,
                                       enum cairn_outcome outcome, uint32_t attempts),
                           void *context, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    struct states states;
    struct digest digest;
    uint64_t seq;
    int rc = checkpoint_find(store, id, &seq, error);
    if (!rc)
        rc = checkpoint_rebuild(store, seq, &states, &digest, NULL, NULL, error);
    if (rc)
        return rc;
    rc = graph_load(store, &digest, &definition, &graph, error);
    if (rc) {
        states_release(&states);
        return rc;
    }
    if (graph.n_tasks != states.n)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "checkpoint %s is of %u tasks, its definition of %u", id,
                       states.n, graph.n_tasks);
    for (uint32_t task = 0; task < graph.n_tasks && !rc; task++)
        if (each(context, graph.id[task], states.outcome[task], states.attempts[task]))
            break;
    graph_release(&graph);
    definition_release(&definition);
    states_release(&states);
    return rc;
}
