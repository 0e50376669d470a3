/* SPDX-License-Identifier: MIT */
/* Waits until a stored command is taken, by the run's owner or by us, and reports what
 * it led to. */
#include "executor/command_wait.h"

#include "executor/engine.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/struct_take.h"
#include "cairn/run.h"
#include "process/keeper.h"
#include "process/leftovers.h"
#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "workflow/registry.h"

#include <stdlib.h>

/* ---- Until it is taken ---- */

struct command_wait {
    struct cairn_store *store;
    const struct queued_command *command;
    struct arena arena;
    struct run_row row;
    int64_t until_ns;
    int64_t pause_ns;
    bool taken;
    bool live; /* the run has an owner */
    bool kept; /* nobody takes it now: it counts when the run goes on */
};

/* The definition is read again each time: meanwhile another owner may have stored a
 * different one. */
static int settle_ourselves(struct command_wait *w, struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    int rc = workflow_stored(&workflow, w->store, &w->row, error)
                 ?: engine_settle(workflow, w->store, w->row.run, NULL, error);
    cairn_workflow_free(workflow);
    return rc;
}

static void pause_longer(struct command_wait *w)
{
    enum { LONGEST_NS = 100000000 };
    backoff_sleep(&w->pause_ns, LONGEST_NS);
}

/* Wakes the run's owner; where there is none, settles the command in this process. */
static int wait_or_settle(struct command_wait *w, struct cairn_error *error)
{
    arena_release(&w->arena);
    int rc = run_row_get(&w->row, w->store, w->command->run, &w->arena, error);
    int live = rc ? rc : run_live(w->store, &w->row, error);
    if (live < 0)
        return live;
    w->live = live;
    if (live) {
        live_wake(store_live_dir(w->store), w->row.run);
        pause_longer(w);
        return 0;
    }
    bool ended =
        w->row.state == CAIRN_RUN_FAILED || w->row.state == CAIRN_RUN_CANCELLED;
    w->kept = w->command->verb == COMMAND_ADD ||
              w->command->verb == COMMAND_TAKE_BACK ||
              (w->command->verb == COMMAND_COMPLETE && ended);
    if (w->kept)
        return 0;
    rc = settle_ourselves(w, error);
    if (rc != CAIRN_EOWNED)
        return rc;
    pause_longer(w);
    return 0;
}

static int wait_until_taken(struct command_wait *w, struct cairn_error *error)
{
    enum { FIRST_NS = 2000000 };
    const int64_t patience_ns = 10000000000;
    w->pause_ns = FIRST_NS;
    w->until_ns = clock_mono_ns() + patience_ns;
    int rc = store_command_taken(w->store, w->command->id, &w->taken, error);
    while (!rc && !w->taken && !w->kept && clock_mono_ns() < w->until_ns) {
        rc = wait_or_settle(w, error)
                 ?: store_command_taken(w->store, w->command->id, &w->taken, error);
    }
    if (rc)
        error_context(error, "it is stored and counts when the run continues, but");
    return rc;
}

static int refuse_to_wait(const struct command_wait *w, struct cairn_error *error)
{
    return error_set(
        error, CAIRN_EBUSY,
        "it is stored, but the process that owns the workflow (%lld on "
        "%.*s) has not taken it yet; it counts as soon as run %llu continues",
        (long long)w->row.owner_pid, (int)w->row.owner_host.len,
        w->row.owner_host.ptr ? w->row.owner_host.ptr : "",
        (unsigned long long)w->command->run);
}

/* ---- What it led to ---- */

struct command_answer {
    const struct queued_command *command;
    const struct run_view *view;
    uint32_t task;
    bool refused;
    struct buf text;
};

static int read_command_event(void *context, const struct event_row *row)
{
    static const char refused[] = "refused";
    struct command_answer *a = context;
    bool meant = row->task == UINT32_MAX ||
                 (row->gen == a->view->row.gen && row->task == a->task);
    if (row->kind != EVENT_COMMAND || row->argument != a->command->verb || !meant)
        return 0;
    a->refused = row->data.len >= sizeof refused - 1 &&
                 memcmp(row->data.ptr, refused, sizeof refused - 1) == 0;
    buf_clear(&a->text);
    buf_str(&a->text, row->data);
    return 0;
}

static int keep_text(void *context, const struct attempt_row *row)
{
    struct buf *text = context;
    buf_clear(text);
    buf_str(text, row->text);
    return 0;
}

/* Reported as done, but failed, because what it declares is not there. */
static int refuse_failed(struct command_answer *a, struct cairn_error *error)
{
    const struct run_view *v = a->view;
    if (v->states.outcome[a->task] != CAIRN_FAILED)
        return 0;
    int rc = store_each_attempt(v->store, v->row.run, v->row.gen, a->task, keep_text,
                                &a->text, error);
    if (rc)
        return rc;
    const char *text = a->text.size ? a->text.data : "";
    if (v->live)
        return error_set(error, CAIRN_EUSAGE, "task %s has failed: %s",
                         a->command->task, text);
    char words[RESUME_WORDS];
    return error_set(
        error, CAIRN_EUSAGE, "task %s has failed: %s; try again with: %s",
        a->command->task, text,
        definition_resume_words(words, &v->workflow->definition, a->command->run, ""));
}

static int check_answer(struct command_answer *a, struct cairn_error *error)
{
    const struct run_view *v = a->view;
    int rc = store_each_event(v->store, v->row.run, a->command->turn - 1,
                              read_command_event, a, error);
    if (!rc && a->refused)
        return error_set(error, CAIRN_EUSAGE, "task %s: %s", a->command->task,
                         a->text.data);
    return rc || !a->command->done ? rc : refuse_failed(a, error);
}

static int command_outcome(struct cairn_store *store,
                           const struct queued_command *command,
                           struct cairn_error *error)
{
    struct run_view v;
    struct command_answer a = {.command = command, .view = &v};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = run_view_open(&v, store, command->run, error);
    if (!rc) {
        rc =
            run_view_find(&v, command->task, &a.task, error) ?: check_answer(&a, error);
        run_view_release(&v);
    }
    store_end_read(store);
    buf_release(&a.text);
    return rc;
}

int command_wait(struct cairn_store *store, const struct queued_command *command,
                 struct cairn_error *error)
{
    struct command_wait w = {.store = store, .command = command};
    int rc = wait_until_taken(&w, error);
    if (!rc && !w.taken && !w.kept)
        rc = refuse_to_wait(&w, error);
    arena_release(&w.arena);
    return rc || !w.taken ? rc : command_outcome(store, command, error);
}

int command_offer(struct cairn_store *store, const struct command_row *command,
                  bool *live, bool *taken, struct cairn_error *error)
{
    const struct queued_command queued = {
        .run = command->run, .id = command->id, .verb = command->verb};
    struct command_wait w = {.store = store, .command = &queued};
    int rc = wait_until_taken(&w, error);
    arena_release(&w.arena);
    *live = w.live || w.taken;
    *taken = w.taken;
    return rc;
}

/* Cancelling a run: its owner is asked, or it is marked where there is none. */

static int ask_owner(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    struct command_row command = {.run = run,
                                  .verb = COMMAND_CANCEL,
                                  .task = UINT32_MAX,
                                  .time_ns = clock_utc_ns()};
    rc = store_end(store, store_put_command(store, &command, error), error);
    if (!rc)
        live_wake(store_live_dir(store), run);
    return rc;
}

/* The owner of the workflow, which may be at another of its runs; or it does not say
 * yet, as it has just begun. */
static int ask_or_refuse(struct cairn_store *store, const struct run_row *row,
                         struct cairn_error *error)
{
    unsigned long long other = owner_run(store, row->workflow);
    if (!other || other == row->run)
        return ask_owner(store, row->run, error);
    return error_set(
        error, CAIRN_EOWNED,
        "run %llu has no owner, and cannot be marked cancelled while run "
        "%llu of its workflow is live\nwait for that one with `cairn watch "
        "%llu`, or end it with `cairn cancel %llu`",
        (unsigned long long)row->run, other, other, other);
}

/* As an owner records it. */
static int put_events(struct cairn_store *store, const struct run_row *row,
                      struct cairn_error *error)
{
    struct event_row event = {.run = row->run,
                              .time_ns = row->ended_ns,
                              .gen = row->gen,
                              .task = UINT32_MAX,
                              .kind = EVENT_COMMAND,
                              .argument = COMMAND_CANCEL,
                              .data = STR("no cairn carried it out")};
    int rc = store_next_turn(store, row->run, &event.turn, error)
                 ?: store_put_event(store, &event, error);
    event.kind = EVENT_ENDED;
    event.argument = row->state;
    event.data = STR("");
    return rc ? rc : store_put_event(store, &event, error);
}

static int mark_cancelled(struct cairn_store *store, struct run_row *row,
                          struct cairn_error *error)
{
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    row->state = CAIRN_RUN_CANCELLED;
    row->ended_ns = clock_utc_ns();
    rc = store_set_run(store, row, error) ?: put_events(store, row, error);
    return store_end(store, rc, error);
}

static int refuse_ended(const struct run_row *row, struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE, "run %llu has %s already",
                     (unsigned long long)row->run, cairn_run_state_name(row->state));
}

/* The row is read again now that nobody else can change it: the run may have ended, or
 * gone on with another definition, in the meantime. */
static int cancel_owned(struct cairn_store *store, uint64_t run,
                        struct cairn_error *error)
{
    struct stored_run stored;
    int rc = stored_run_open(&stored, store, run, false, error);
    if (rc)
        return rc;
    rc = stored.row.state == CAIRN_RUN_UNFINISHED
             ? mark_cancelled(store, &stored.row, error)
             : refuse_ended(&stored.row, error);
    stored_run_release(&stored);
    return rc;
}

/* Also tasks under keepers, which outlived their cairn. */
static int end_processes(struct cairn_store *store, uint64_t run,
                         struct cairn_error *error)
{
    enum { GRACE_MS = 10000 };
    struct leftovers left = {0};
    int rc =
        keepers_stop(store_live_dir(store), store_id(store), run, NULL, NULL, error)
            ?: leftovers_end(store_live_dir(store), store_id(store), run, GRACE_MS,
                             &left, error);
    if (!rc && left.survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u process%s of run %llu did not end: end what is left and "
                         "cancel again",
                         left.survived, left.survived == 1 ? "" : "es",
                         (unsigned long long)run);
    return rc;
}

static int cancel_unowned(struct cairn_store *store, const struct run_row *row,
                          struct cairn_error *error)
{
    int rc =
        end_processes(store, row->run, error) ?: cancel_owned(store, row->run, error);
    if (!rc)
        live_values_remove(store, row);
    return rc;
}

int cairn_cancel(struct cairn_store *store, uint64_t run, enum cairn_cancelling *how,
                 struct cairn_error *error)
{
    struct stored_run stored;
    uint64_t workflow;
    int64_t offset;
    enum cairn_cancelling done = CAIRN_CANCEL_ASKED;
    int rc = stored_run_open(&stored, store, run, false, error);
    if (rc)
        return rc;
    if (stored.row.state != CAIRN_RUN_UNFINISHED)
        rc = refuse_ended(&stored.row, error);
    if (!rc)
        rc = store_check_keyed(store, stored.row.run, stored.row.keyed, error);
    if (!rc) {
        rc = owner_acquire(store, stored.row.workflow_name, &workflow, &offset, error);
        if (!rc) {
            done = CAIRN_CANCEL_MARKED;
            rc = cancel_unowned(store, &stored.row, error);
            owner_release(store, offset);
        } else if (rc == CAIRN_EOWNED)
            rc = ask_or_refuse(store, &stored.row, error);
    }
    stored_run_release(&stored);
    if (!rc && how)
        *how = done;
    return rc;
}

/* cairn_resolve: deciding an unknown task. cairn_undo: undoing completed ones. */

/* ---- Unknown tasks ---- */

static int check_unknown(struct run_view *v, uint32_t task, struct cairn_error *error)
{
    const char *id = v->workflow->graph.id[task];
    bool pending = false;
    if (v->states.outcome[task] != CAIRN_UNKNOWN)
        return error_set(error, CAIRN_EUSAGE,
                         "the outcome of task %s is not unknown: it is %s", id,
                         cairn_outcome_name(v->states.outcome[task]));
    int rc = run_view_has_command(v, task, COMMAND_RESOLVE, &pending, error);
    if (!rc && pending)
        rc = error_set(error, CAIRN_EUSAGE,
                       "somebody has just decided what became of task %s", id);
    return rc;
}

static int put_resolution(struct run_view *v, enum cairn_resolution resolution,
                          struct queued_command *command, struct cairn_error *error)
{
    uint32_t task;
    int rc =
        run_view_find(v, command->task, &task, error) ?: check_unknown(v, task, error);
    if (!rc && resolution == CAIRN_RESOLVED_DONE)
        rc = run_view_check_outputs(v, task, error);
    if (rc)
        return rc;
    struct command_row row = {.verb = COMMAND_RESOLVE,
                              .argument = (uint8_t)resolution,
                              .task = task,
                              .time_ns = clock_utc_ns()};
    return run_view_put_command(v, &row, command, error);
}

int cairn_resolve(struct cairn_store *store, uint64_t run, const char *task,
                  enum cairn_resolution resolution, struct cairn_error *error)
{
    struct run_view v;
    struct queued_command command = {.task = task,
                                     .done = resolution == CAIRN_RESOLVED_DONE};
    if (resolution < CAIRN_RESOLVED_DONE || resolution > CAIRN_RESOLVED_RERUN)
        return error_set(error, CAIRN_EUSAGE,
                         "a task is resolved as done, failed, or to be run again");
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = run_view_open(&v, store, run, error);
    if (!rc) {
        rc = put_resolution(&v, resolution, &command, error);
        run_view_release(&v);
    }
    rc = store_end(store, rc, error);
    return rc ? rc : command_wait(store, &command, error);
}

/* ---- Undoing ---- */

struct undo_request {
    struct run_view view;
    bool *wanted; /* [n_tasks] */
    uint32_t *tasks, n;
};

/* 1: it has completed, and its undo is stored. */
static int can_undo(struct undo_request *r, uint32_t task, struct cairn_error *error)
{
    const struct result *result;
    if (r->view.states.outcome[task] != CAIRN_COMPLETED)
        return 0;
    int rc = lookup_result(&r->view.lookup, task, &result, error);
    return rc ? rc : result->undo.text.len > 0;
}

/* Before anything is undone: the callbacks that undo the chosen tasks are there. */
static int need_callbacks(struct undo_request *r,
                          const struct cairn_run_options *options,
                          struct cairn_error *error)
{
    struct definition *d = &r->view.workflow->definition;
    const struct graph *g = &r->view.workflow->graph;
    const struct cairn_registry *registry = options ? options->registry : NULL;
    int rc = 0;
    for (uint32_t i = 0; i < r->n && !rc; i++) {
        struct task_def *def = &d->defs[graph_def(g, r->tasks[i]) - d->defs];
        if (def->kind != TASK_CALL || !def->undo.len)
            continue;
        rc = registry ? registry_bind_undo(registry, d, def, error)
                      : error_set(error, CAIRN_EUSAGE,
                                  "task %s is undone by `%s`, a function that this "
                                  "program does not have: the program that has it in "
                                  "its registry can undo the run",
                                  g->id[r->tasks[i]], def->undo.ptr);
    }
    return rc;
}

static int choose_named(struct undo_request *r, const char *name,
                        struct cairn_error *error)
{
    uint32_t task = NODE_NONE;
    struct cairn_error why = {0};
    int rc = run_view_find(&r->view, name, &task, error);
    if (rc)
        return rc;
    int can = can_undo(r, task, &why);
    if (can < 0)
        return error_set(error, can, "task %s: %s", name, why.text);
    r->wanted[task] = true;
    if (can)
        return 0;
    uint8_t outcome = r->view.states.outcome[task];
    if (outcome == CAIRN_COMPLETED)
        return error_set(error, CAIRN_EUSAGE, "task %s completed without an `undo`",
                         name);
    return error_set(error, CAIRN_EUSAGE,
                     "task %s cannot be undone: it has not completed, it is %s", name,
                     cairn_outcome_name(outcome));
}

/* All tasks were undone, but the undoing died before it stored the end of the run. */
static bool lacks_end(const struct undo_request *r)
{
    return r->view.row.state == CAIRN_RUN_UNFINISHED &&
           states_tally(&r->view.states).undone > 0;
}

/* A task whose result cannot be read is chosen, too: the engine reports why. */
static int choose_all(struct undo_request *r, struct cairn_error *error)
{
    const struct graph *g = &r->view.workflow->graph;
    uint32_t n = 0;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        struct cairn_error why = {0};
        int can = graph_def(g, task)->finally ? 0 : can_undo(r, task, &why);
        if (can < 0 && can != CAIRN_EDAMAGED)
            return error_set(error, can, "task %s: %s", g->id[task], why.text);
        r->wanted[task] = can != 0;
        n += can != 0;
    }
    if (n || lacks_end(r))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "there is nothing to undo in run %llu: no task has completed with "
                     "an `undo`",
                     (unsigned long long)r->view.row.run);
}

/* Reverse topological order. */
static void order_for_undo(struct undo_request *r)
{
    const struct graph *g = &r->view.workflow->graph;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        if (!graph_is_barrier(g, node) && r->wanted[node])
            r->tasks[r->n++] = node;
    }
}

static int choose_tasks(struct undo_request *r, const char *const *tasks, size_t n,
                        struct cairn_error *error)
{
    size_t size = (size_t)r->view.workflow->graph.n_tasks + 1;
    int rc = 0;
    r->wanted = calloc(size, sizeof *r->wanted);
    r->tasks = calloc(size, sizeof *r->tasks);
    if (!r->wanted || !r->tasks)
        return error_nomem(error);
    for (size_t i = 0; i < n && !rc; i++)
        rc = choose_named(r, tasks[i], error);
    if (!n)
        rc = choose_all(r, error);
    if (!rc)
        order_for_undo(r);
    return rc;
}

int cairn_undo(struct cairn_store *store, uint64_t run, const char *const *tasks,
               size_t n, const struct cairn_run_options *options,
               struct cairn_run_result *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_run_options, options, error);
    struct undo_request r = {.n = 0};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = run_view_open(&r.view, store, run, error);
    bool opened = !rc;
    if (!rc)
        rc = choose_tasks(&r, tasks, n, error) ?: need_callbacks(&r, options, error);
    store_end_read(store);
    if (!rc)
        rc = engine_undo(r.view.workflow, store, r.view.row.run, options, r.tasks, r.n,
                         result, error);
    free(r.wanted);
    free(r.tasks);
    if (opened)
        run_view_release(&r.view);
    return rc;
}
