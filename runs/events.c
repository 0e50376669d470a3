/* SPDX-License-Identifier: MIT */
/* Names of tasks for the audit log, from the graphs of a run's generations. */
#include "runs/events_int.h"
#include "runs/marks.h"
#include "runs/stored.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/words.h"
#include "cairn/plan.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdarg.h>
#include <stdlib.h>

static void forget_graph(struct named_graph *named)
{
    if (named->known) {
        graph_release(&named->graph);
        definition_release(&named->definition);
    }
    *named = (struct named_graph){0};
}

static void task_names_release(struct task_names *names)
{
    for (size_t i = 0; i < 2; i++)
        forget_graph(&names->graphs[i]);
}

static int load_graph(struct task_names *names, uint32_t gen, struct named_graph *named,
                      struct cairn_error *error)
{
    struct digest digest = names->graph;
    struct cairn_error local = {0};
    int rc = 0;
    if (gen != names->gen)
        rc = store_get_run_graph(names->store, names->run, gen, &digest, &local);
    if (rc == CAIRN_ENOTFOUND) {
        named->gen = gen;
        return 0;
    }
    if (!rc)
        rc = graph_load(names->store, &digest, &named->definition, &named->graph,
                        &local);
    if (rc)
        return error_set(error, rc, "%s", local.text);
    named->gen = gen;
    named->known = true;
    return 0;
}

/* The generation's graph becomes the first of the two. */
static int find_graph(struct task_names *names, uint32_t gen, struct cairn_error *error)
{
    struct named_graph *g = names->graphs;
    if (g[0].gen == gen)
        return 0;
    struct named_graph other = g[1];
    g[1] = g[0];
    g[0] = other;
    int rc = 0;
    if (g[0].gen != gen) {
        forget_graph(&g[0]);
        rc = load_graph(names, gen, &g[0], error);
    }
    /* A graph points to its definition, which has moved. */
    for (size_t i = 0; i < 2; i++)
        g[i].graph.definition = &g[i].definition;
    return rc;
}

/* *id is NULL where the generation has no such task; `limit` (may be NULL): number of
 * its tasks. */
static int task_name(struct task_names *names, uint32_t gen, uint32_t task,
                     const char **id, uint32_t *limit, struct cairn_error *error)
{
    *id = NULL;
    if (limit)
        *limit = LIMIT_TASKS;
    if (gen == 0)
        return 0;
    int rc = find_graph(names, gen, error);
    const struct named_graph *named = &names->graphs[0];
    if (rc || !named->known)
        return rc;
    if (limit)
        *limit = named->graph.n_tasks;
    if (task < named->graph.n_tasks)
        *id = named->graph.id[task];
    return 0;
}

/* One row of the audit log in words. docs/json.md lists the kinds. */

/* ---- Texts ---- */

static bool is_shown(const struct event_display *t, const char *task)
{
    return !t->only || (task && strcmp(task, t->only) == 0);
}

static int deliver_event(struct event_display *t)
{
    int rc = buf_check(&t->text, t->error);
    if (rc || !is_shown(t, t->event.task))
        return rc;
    t->event.text = t->text.data;
    t->stopped = t->each(t->context, &t->event) != 0;
    return 0;
}

/* The kind, and more of the text. */
static void set_words(struct event_display *t, const char *kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

static void set_words(struct event_display *t, const char *kind, const char *format,
                      ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    t->event.kind = kind;
    buf_text(&t->text, text);
}

static void add_data(struct event_display *t, const char *before, struct str data)
{
    if (data.len == 0)
        return;
    buf_text(&t->text, before);
    buf_str(&t->text, data);
}

/* The task's name; the text begins anew. It names a task that has none. */
static int name_task(struct event_display *t, uint32_t gen, uint32_t task)
{
    int rc = task_name(&t->names, gen, task, &t->event.task, NULL, t->error);
    buf_clear(&t->text);
    if (!rc && !t->event.task && task != NODE_NONE)
        buf_format(&t->text, "task number %u (its definition %u is damaged): ", task,
                   gen);
    return rc;
}

/* ---- Attempts ---- */

/* Shows a row as one event, or as one for each task in its list. The rows are the
 * caller's own: no query is open while the callback runs. */
static int show_start(struct event_display *t, const struct attempt_row *row)
{
    int rc = name_task(t, row->gen, row->task);
    if (rc)
        return rc;
    t->event.time_ns = row->intent_ns;
    t->event.attempt = row->number;
    if (row->flags & ATTEMPT_UNDO)
        set_words(t, "undo_intended", "its undo is to start (attempt %u)", row->number);
    else
        set_words(t, "task_intended", "attempt %u is to start", row->number);
    return deliver_event(t);
}

/* Why an attempt ended as it did, in one word. */
static const char *reason_of(const struct attempt_row *row)
{
    if (row->flags & ATTEMPT_EXTERNAL)
        return "external";
    if (row->flags & ATTEMPT_TIMED_OUT)
        return "timeout";
    if (row->flags & ATTEMPT_CHECK)
        return "check";
    if (row->flags & ATTEMPT_FALLBACK)
        return "fallback";
    if (row->outcome == CAIRN_COMPLETED || row->outcome == CAIRN_UNDONE)
        return row->flags & ATTEMPT_ADOPTED ? "adopted" : NULL;
    if (row->outcome != CAIRN_FAILED && row->outcome != CAIRN_EXCLUDED)
        return NULL;
    return row->signal ? "signal" : row->exit_code > 0 ? "exit" : "error";
}

/* " (exit 3)", " (timed out)", ... and the row's message. */
static void add_end(struct event_display *t, const struct attempt_row *row)
{
    if (row->flags & ATTEMPT_TIMED_OUT)
        buf_text(&t->text, " (timed out)");
    else if (row->signal)
        buf_format(&t->text, " (signal %d)", row->signal);
    else if (row->exit_code > 0)
        buf_format(&t->text, " (exit %d)", row->exit_code);
    if (row->flags & ATTEMPT_EXTERNAL)
        buf_text(&t->text, " by somebody outside");
    if (row->flags & ATTEMPT_CHECK)
        buf_text(&t->text, " by its check");
    if (row->flags & ATTEMPT_ADOPTED)
        buf_text(&t->text, " while no cairn watched");
    if (!str_equal(row->text, str_of(cairn_outcome_name(row->outcome))))
        add_data(t, ": ", row->text);
}

static bool was_withdrawn(const struct attempt_row *row)
{
    return row->outcome == CAIRN_PENDING && !row->started_ns;
}

static void describe_undo(struct event_display *t, const struct attempt_row *row)
{
    bool undone = row->outcome == CAIRN_COMPLETED || row->outcome == CAIRN_UNDONE;
    if (undone)
        t->event.outcome = CAIRN_UNDONE;
    if (undone)
        set_words(t, "task_undo", "undone (attempt %u)", row->number);
    else
        set_words(t, "task_undo", "its undo %s (attempt %u)",
                  cairn_outcome_name(row->outcome), row->number);
    add_end(t, row);
}

static void describe_finished(struct event_display *t, const struct attempt_row *row)
{
    set_words(t, "task_finished", "%s (attempt %u)",
              row->outcome == CAIRN_EXCLUDED ? "skipped"
                                             : cairn_outcome_name(row->outcome),
              row->number);
    add_end(t, row);
}

static void describe_not_finished(struct event_display *t,
                                  const struct attempt_row *row)
{
    if (row->flags & ATTEMPT_INTERRUPTED) {
        t->event.reason = "interrupted";
        set_words(t, "task_interrupted", "%s%u was interrupted",
                  row->flags & ATTEMPT_UNDO ? "its undo, attempt " : "attempt ",
                  row->number);
    } else {
        t->event.reason = "not-started";
        set_words(t, "task_withdrawn", "attempt %u was not started after all",
                  row->number);
    }
    if (!str_equal(row->text, STR("interrupted")))
        add_data(t, ": ", row->text);
}

/* Whether the checkpoint that recorded it is still there. */
static int find_checkpoint(struct event_display *t, uint64_t seq)
{
    struct checkpoint_range range = {.first = seq, .last = seq};
    uint64_t n = 0;
    int rc = seq ? store_count_checkpoints(t->store, &range, &n, t->error) : 0;
    if (!rc && n)
        t->event.checkpoint = seq;
    return rc;
}

static int show_end(struct event_display *t, const struct attempt_row *row)
{
    int rc = name_task(t, row->gen, row->task) ?: find_checkpoint(t, row->checkpoint);
    if (rc)
        return rc;
    t->event.time_ns = row->ended_ns;
    t->event.attempt = row->number;
    t->event.outcome = row->outcome <= CAIRN_EXCLUDED ? row->outcome : CAIRN_PENDING;
    t->event.exit_code = row->exit_code;
    t->event.signal = row->signal;
    t->event.reason = reason_of(row);
    if (row->flags & ATTEMPT_INTERRUPTED || was_withdrawn(row)) {
        describe_not_finished(t, row);
    } else if (row->flags & ATTEMPT_UNDO) {
        describe_undo(t, row);
    } else if (row->flags & ATTEMPT_RETRY && row->outcome == CAIRN_COMPLETED) {
        set_words(t, "task_round", "attempt %u completed, another round follows",
                  row->number);
        add_end(t, row);
    } else if (row->flags & ATTEMPT_RETRY) {
        set_words(t, "task_retry", "attempt %u failed, another follows", row->number);
        add_end(t, row);
    } else {
        describe_finished(t, row);
    }
    return deliver_event(t);
}

/* ---- Events about several tasks ---- */

struct list_display {
    struct event_display *t;
    const struct event_row *row;
    const char *cause;
    int result;
};

/* As the workflow was then. */
static bool has_check(const struct list_display *l, uint32_t task)
{
    const struct named_graph *named = &l->t->names.graphs[0];
    return named->known && named->gen == l->row->gen && task < named->graph.n_tasks &&
           graph_def(&named->graph, task)->check.len > 0;
}

static void describe_listed_task(struct list_display *l, uint32_t task)
{
    struct event_display *t = l->t;
    const struct event_row *row = l->row;
    if (row->kind == EVENT_RESET) {
        t->event.reason = cairn_reason_name(row->argument);
        set_words(t, "task_reset", "is to run again (%s)", t->event.reason);
    } else if (row->kind == EVENT_UNKNOWN) {
        t->event.outcome = CAIRN_UNKNOWN;
        t->event.reason = cairn_reason_name(CAIRN_REASON_INTERRUPTED);
        char word[SHELL_WORD_ROOM(256)], command[sizeof word + 64];
        snprintf(command, sizeof command, "`cairn resolve %llu %s`",
                 (unsigned long long)row->run,
                 shell_word_in(word, sizeof word, str_of(t->event.task)));
        set_words(t, "task_unknown",
                  "was interrupted, and its outcome is unknown: %s decides",
                  has_check(l, task) ? "its check" : command);
    } else if (row->argument) {
        t->event.outcome = CAIRN_EXCLUDED;
        t->event.reason = cairn_reason_name(CAIRN_REASON_EXCLUDED);
        set_words(t, "task_skipped", "skipped: %s",
                  row->argument == 2 ? "it was withdrawn"
                                     : "its condition was not met");
    } else {
        t->event.outcome = CAIRN_SKIPPED;
        t->event.reason = cairn_reason_name(CAIRN_REASON_NEED_SKIPPED);
        set_words(t, "task_skipped", "skipped%s%s", l->cause ? " because of " : "",
                  l->cause ? l->cause : "");
    }
}

static int show_listed_task(void *context, uint32_t task)
{
    struct list_display *l = context;
    l->result = name_task(l->t, l->row->gen, task);
    if (l->result)
        return 1;
    describe_listed_task(l, task);
    l->result = deliver_event(l->t);
    l->t->cut = l->t->stopped;
    return l->result || l->t->stopped;
}

static int show_task_list(struct event_display *t, const struct event_row *row)
{
    struct list_display l = {.t = t, .row = row};
    uint32_t limit;
    int rc = task_name(&t->names, row->gen, row->task, &l.cause, &limit, t->error);
    if (rc)
        return rc;
    if (tasks_unpack(row->data, limit, show_listed_task, &l))
        return l.result;
    buf_clear(&t->text);
    describe_listed_task(&l, NODE_NONE);
    buf_text(&t->text, " (the list of tasks is damaged)");
    return deliver_event(t);
}

/* ---- The other events ---- */

static void describe_begun(struct event_display *t, const struct event_row *row)
{
    struct str data = row->data;
    if (data.len > 0 && data.ptr[0] == 'n') {
        t->event.reason = "new";
        set_words(t, "run_started", "a new run begins");
    } else {
        t->event.reason = data.len > 0 && data.ptr[0] == 'f' ? "fork" : "resumed";
        set_words(t, "run_started", "the run");
        add_data(t, " ", data.len ? data : STR("goes on"));
    }
}

static void describe_command(struct event_display *t, const struct event_row *row)
{
    static const char *const verbs[] = {"unknown",  "cancel",   "complete",
                                        "fail",     "resolve",  "add",
                                        "withdraw", "withdraw", "add"};
    t->event.reason = verbs[row->argument <= COMMAND_REFUSED ? row->argument : 0];
    set_words(t, "command", "asked to %s", t->event.reason);
    if (!str_equal(row->data, str_of(t->event.reason)))
        add_data(t, ": ", row->data);
}

static void describe_phase(struct event_display *t, const struct event_row *row)
{
    t->event.reason = row->argument == 1 ? "undo" : "finally";
    set_words(t, "phase", "%s",
              row->argument == 1 ? "undoing begins" : "the `finally` tasks begin");
}

static void describe_event(struct event_display *t, const struct event_row *row)
{
    switch (row->kind) {
    case EVENT_BEGUN:
        describe_begun(t, row);
        break;
    case EVENT_CONDITION:
        t->event.reason = row->argument ? "true" : "false";
        set_words(t, "task_condition",
                  row->argument ? "its condition holds" : "its condition is not met");
        add_data(t, ": ", row->data);
        break;
    case EVENT_SPARED:
        set_words(t, "task_spared", "what it needs came out the same: it stays done");
        break;
    case EVENT_CLAIMED:
        set_words(t, "task_claimed", "claimed");
        add_data(t, " by ", row->data);
        break;
    case EVENT_COMMAND:
        describe_command(t, row);
        break;
    case EVENT_READY:
        set_words(t, "task_ready", "ready");
        add_data(t, " after ", row->data);
        break;
    case EVENT_HALTED:
        set_words(t, "run_halted", "nothing more is started");
        add_data(t, ": ", row->data);
        break;
    case EVENT_PHASE:
        describe_phase(t, row);
        break;
    case EVENT_NOTICE:
        t->event.kind = "notice";
        buf_str(&t->text, row->data);
        break;
    case EVENT_DEGRADED:
        set_words(t, "degraded", "nothing could be saved");
        add_data(t, ": ", row->data);
        break;
    case EVENT_RECOVERED:
        set_words(t, "recovered", "checkpoints can be saved again");
        break;
    case EVENT_DELETED:
        set_words(t, "checkpoint_deleted", "deleted");
        add_data(t, " ", row->data);
        break;
    case EVENT_PRUNED:
        set_words(t, "checkpoints_pruned", "pruned");
        add_data(t, " ", row->data);
        break;
    case EVENT_COLLECTED:
        set_words(t, "collected", "collected");
        add_data(t, " ", row->data);
        break;
    case EVENT_REPAIRED:
        set_words(t, "repaired", "repaired");
        add_data(t, ": ", row->data);
        break;
    case EVENT_ENDED:
        t->event.reason = cairn_run_state_name(row->argument);
        set_words(t, "run_finished", "the run ended: %s", t->event.reason);
        break;
    default:
        set_words(t, "unknown", "an event of unknown kind %d", row->kind);
    }
}

static bool has_task_list(const struct event_row *row)
{
    return row->kind == EVENT_RESET || row->kind == EVENT_UNKNOWN ||
           row->kind == EVENT_SKIPPED;
}

static int show_event(struct event_display *t, const struct event_row *row)
{
    t->event.time_ns = row->time_ns;
    if (has_task_list(row))
        return show_task_list(t, row);
    int rc = name_task(t, row->gen, row->task);
    if (rc)
        return rc;
    describe_event(t, row);
    return deliver_event(t);
}

/* The audit log: everything that was decided in a run, in one order that never changes.
 *
 * By turn first: the rows of a turn became durable in one transaction. Within a turn:
 *
 *   0  what came from outside or from before: run_started, command, task_reset,
 *      task_unknown, task_claimed, notice (as they were written)
 *   1  ends of attempts, by generation, task and number; an attempt whose intent is of
 *      this turn, too, is shown as intended just before its end
 *   2  what follows from them: task_skipped, task_condition, run_halted, phase,
 *      degraded, recovered (as they were written)
 *   3  other intents to start attempts, by generation, task and number
 *   4  run_finished
 *
 * An attempt's intent is of an earlier turn than its end, or shown just before it, so
 * no end comes before its intent. What is shown of an intent uses only what it held, so
 * that it reads the same after the attempt has ended.
 *
 * Memory is bounded: keys of at most WINDOW rows are collected and sorted, in whole
 * turns; then those that follow. Keys come from one moment of the store; the rows are
 * read again one by one when they are shown, when nothing in them can change any more.
 */

enum { WINDOW = 1 << 20 };

enum rank { RANK_CAUSE, RANK_END, RANK_EFFECT, RANK_START, RANK_LAST };

enum what { WHAT_EVENT, WHAT_START, WHAT_END };

struct key {
    uint64_t turn;
    uint32_t gen, task, number; /* of an event: number is its id */
    uint8_t rank, what;
};

struct collector {
    uint64_t after;
    uint64_t ceiling; /* later turns are for the next window */
    bool more;        /* ... and there are some */
    struct key *keys;
    size_t n, capacity;
    size_t window, limit; /* narrow at `limit`: the window, or more for a huge turn */
    struct event_display *display;
    struct cairn_error *error;
};

/* ---- Order ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int by[] = {
        compare_numbers(a->turn, b->turn),     compare_numbers(a->rank, b->rank),
        compare_numbers(a->gen, b->gen),       compare_numbers(a->task, b->task),
        compare_numbers(a->number, b->number), compare_numbers(a->what, b->what)};
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++)
        if (by[i])
            return by[i];
    return 0;
}

static uint8_t rank_of(uint8_t kind)
{
    switch (kind) {
    case EVENT_SKIPPED:
    case EVENT_CONDITION:
    case EVENT_SPARED:
    case EVENT_HALTED:
    case EVENT_PHASE:
    case EVENT_DEGRADED:
    case EVENT_RECOVERED:
        return RANK_EFFECT;
    case EVENT_ENDED:
        return RANK_LAST;
    default:
        return RANK_CAUSE;
    }
}

/* ---- Collecting ---- */

/* Leaves the later half for the next window, but at least one whole turn for this. */
static void narrow_window(struct collector *c)
{
    qsort(c->keys, c->n, sizeof *c->keys, compare_keys);
    uint64_t middle = c->keys[c->n / 2].turn, first = c->keys[0].turn;
    c->ceiling = middle > first ? middle - 1 : first;
    size_t n = c->n;
    while (n > 0 && c->keys[n - 1].turn > c->ceiling)
        n--;
    c->more |= n < c->n;
    c->n = n;
    c->limit = n + c->window;
}

static int add_key(struct collector *c, const struct key *key)
{
    if (key->turn <= c->after)
        return 0;
    if (c->n >= c->limit && key->turn <= c->ceiling)
        narrow_window(c);
    if (key->turn > c->ceiling) {
        c->more = true;
        return 0;
    }
    struct key *keys = array_room(c->keys, c->n, &c->capacity, sizeof *keys);
    if (!keys)
        return error_nomem(c->error);
    c->keys = keys;
    c->keys[c->n++] = *key;
    return 0;
}

/* A row of a task that is not shown is not read again. Negative: a code. */
static int wants_task(struct collector *c, uint32_t gen, uint32_t task)
{
    const char *name = NULL;
    if (!c->display->only)
        return 1;
    int rc = task_name(&c->display->names, gen, task, &name, NULL, c->error);
    return rc ? rc : is_shown(c->display, name);
}

static int add_event(void *context, const struct event_row *row)
{
    if (row->kind == EVENT_RUN_ACTIVE || row->kind == EVENT_SESSION_TURN)
        return 0; /* for feed/ */
    int wanted = has_task_list(row) ? 1 : wants_task(context, row->gen, row->task);
    if (wanted <= 0)
        return wanted;
    struct key key = {.turn = row->turn,
                      .number = (uint32_t)row->id,
                      .rank = rank_of(row->kind),
                      .what = WHAT_EVENT};
    return add_key(context, &key);
}

/* An external task has no start of its own unless somebody saw it: completing it is one
 * act. */
static bool shows_start(const struct attempt_row *row)
{
    bool at_once = row->start_turn == row->end_turn;
    bool spared = attempt_reused_from(row) > 0;
    return row->start_turn && !(at_once && (spared || row->flags & ATTEMPT_EXTERNAL));
}

static int add_attempt(void *context, const struct attempt_row *row)
{
    int wanted = wants_task(context, row->gen, row->task);
    if (wanted <= 0)
        return wanted;
    bool at_once = row->start_turn == row->end_turn;
    struct key key = {.turn = row->start_turn,
                      .gen = row->gen,
                      .task = row->task,
                      .number = row->number,
                      .rank = at_once ? RANK_END : RANK_START,
                      .what = WHAT_START};
    int rc = shows_start(row) ? add_key(context, &key) : 0;
    key.turn = row->end_turn;
    key.rank = RANK_END;
    key.what = WHAT_END;
    return rc || !row->end_turn ? rc : add_key(context, &key);
}

static int keep_newest(void *context, const struct run_row *row)
{
    struct task_names *names = context;
    names->run = row->run;
    names->gen = row->gen;
    names->graph = row->graph;
    return 0;
}

/* The keys of the next window, all of one moment. */
static int collect_keys(struct collector *c, struct event_display *t)
{
    c->n = 0;
    c->limit = c->window;
    c->ceiling = UINT64_MAX;
    c->more = false;
    bool of_run = t->names.run != EVENTS_OF_STORE;
    int rc = store_begin_read(t->store, c->error);
    if (rc)
        return rc;
    if (of_run)
        rc = store_get_run(t->store, t->names.run, keep_newest, &t->names, c->error);
    if (!rc)
        rc = store_each_event(t->store, t->names.run, c->after, add_event, c, c->error);
    if (!rc && of_run)
        rc = store_each_new_attempt(t->store, t->names.run, c->after, add_attempt, c,
                                    c->error);
    store_end_read(t->store);
    if (!rc && c->n)
        qsort(c->keys, c->n, sizeof *c->keys, compare_keys);
    return rc;
}

/* ---- Telling ---- */

enum { ROWS_AT_ONCE = 64 };

/* Rows of so many keys, read in one transaction, which ends before anything is told:
 * whoever is told may take long. */
struct copied {
    struct attempt_row attempt;
    struct event_row event;
    size_t text; /* bytes of it */
};
struct copies {
    struct copied at[ROWS_AT_ONCE];
    size_t n;
    struct buf bytes;
};

static int copy_attempt(void *context, const struct attempt_row *row)
{
    struct copies *copies = context;
    struct copied *copied = &copies->at[copies->n++];
    copied->attempt = *row;
    copied->text = row->text.len;
    buf_str(&copies->bytes, row->text);
    return 0;
}

static int copy_event(void *context, const struct event_row *row)
{
    struct copies *copies = context;
    struct copied *copied = &copies->at[copies->n++];
    copied->event = *row;
    copied->text = row->data.len;
    buf_str(&copies->bytes, row->data);
    return 0;
}

static int read_row(struct event_display *t, const struct key *key,
                    struct copies *copies)
{
    struct attempt_row wanted = {
        .run = t->names.run, .gen = key->gen, .task = key->task, .number = key->number};
    return key->what == WHAT_EVENT
               ? store_get_event(t->store, t->names.run, key->turn, key->number,
                                 copy_event, copies, t->error)
               : store_get_attempt(t->store, &wanted, copy_attempt, copies, t->error);
}

/* Those that were read before one that cannot be are there, too. */
static int read_rows(struct event_display *t, const struct key *keys, size_t n,
                     struct copies *copies)
{
    size_t at = 0;
    copies->n = 0;
    buf_clear(&copies->bytes);
    int rc = store_begin_read(t->store, t->error);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && i < ROWS_AT_ONCE && !rc; i++)
        rc = read_row(t, &keys[i], copies);
    store_end_read(t->store);
    if (buf_check(&copies->bytes, t->error)) {
        copies->n = 0;
        return CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < copies->n; i++) {
        struct copied *copied = &copies->at[i];
        copied->attempt.text = copied->event.data =
            (struct str){copies->bytes.data + at, copied->text};
        at += copied->text;
    }
    return rc;
}

static int tell_key(struct event_display *t, const struct key *key,
                    const struct copied *copied)
{
    t->event = (struct cairn_log_event){
        .run = t->names.run, .turn = key->turn, .exit_code = -1};
    if (key->what == WHAT_START)
        return show_start(t, &copied->attempt);
    if (key->what == WHAT_END)
        return show_end(t, &copied->attempt);
    return show_event(t, &copied->event);
}

/* `after` becomes the last turn of which everything was shown. */
static int tell_window(struct collector *c, struct event_display *t,
                       struct copies *copies)
{
    int rc = 0;
    for (size_t i = 0; i < c->n && !rc && !t->stopped;) {
        int read = read_rows(t, &c->keys[i], c->n - i, copies);
        for (size_t k = 0; k < copies->n && !rc && !t->stopped; k++, i++) {
            rc = tell_key(t, &c->keys[i], &copies->at[k]);
            bool last = i + 1 == c->n || c->keys[i + 1].turn > c->keys[i].turn;
            if (!rc && last && !t->cut)
                c->after = c->keys[i].turn;
        }
        rc = rc || t->stopped ? rc : read;
    }
    return rc;
}

static int tell_all(struct collector *c, struct event_display *t)
{
    struct copies *copies = calloc(1, sizeof *copies);
    int rc;
    if (!copies)
        return error_nomem(t->error);
    do {
        rc = collect_keys(c, t) ?: tell_window(c, t, copies);
    } while (!rc && c->more && !t->stopped);
    buf_release(&copies->bytes);
    free(copies);
    return rc;
}

static int find_run(struct cairn_store *store, uint64_t run, struct task_names *names,
                    struct cairn_error *error)
{
    uint64_t chosen = run;
    int rc = run ? 0 : run_choose(store, &chosen, error);
    if (!rc)
        rc = store_get_run(store, chosen, keep_newest, names, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    if (run)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no run %llu; `cairn runs` lists them",
                         (unsigned long long)run);
    return error_set(error, CAIRN_ENOTFOUND,
                     "the store has no runs yet; start one with `cairn run FILE`");
}

/* Of t->names.run. */
static int tell_after(uint64_t after, struct event_display *t, size_t window)
{
    struct collector c = {
        .after = after, .window = window, .display = t, .error = t->error};
    int rc = tell_all(&c, t);
    t->event.turn = c.after;
    free(c.keys);
    task_names_release(&t->names);
    buf_release(&t->text);
    return rc;
}

int events_in_windows(struct cairn_store *store, uint64_t run, uint64_t after,
                      struct event_display *t, size_t window)
{
    t->store = t->names.store = store;
    int rc = find_run(store, run, &t->names, t->error);
    return rc ? rc : tell_after(after, t, window);
}

int cairn_events(struct cairn_store *store, uint64_t run, uint64_t after,
                 int (*each)(void *, const struct cairn_log_event *), void *context,
                 uint64_t *last, struct cairn_error *error)
{
    struct event_display display = {
        .text = BUF_INIT, .each = each, .context = context, .error = error};
    int rc = events_in_windows(store, run, after, &display, WINDOW);
    if (!rc && last)
        *last = display.event.turn;
    return rc;
}

int cairn_task_events(struct cairn_store *store, uint64_t run, const char *task,
                      int (*each)(void *, const struct cairn_log_event *),
                      void *context, struct cairn_error *error)
{
    struct event_display display = {.text = BUF_INIT,
                                    .each = each,
                                    .context = context,
                                    .only = task,
                                    .error = error};
    return events_in_windows(store, run, 0, &display, WINDOW);
}

int cairn_store_note(struct cairn_store *store, const char *text,
                     struct cairn_error *error)
{
    enum { NOTE_BYTES = 4096 };
    if (strlen(text) > NOTE_BYTES)
        return error_set(error, CAIRN_ELIMIT, "a notice has at most %d bytes",
                         NOTE_BYTES);
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = store_note_event(store, EVENTS_OF_STORE, EVENT_NOTICE, str_of(text), error);
    return store_end(store, rc, error);
}

int cairn_store_events(struct cairn_store *store, uint64_t after,
                       int (*each)(void *, const struct cairn_log_event *),
                       void *context, uint64_t *last, struct cairn_error *error)
{
    struct event_display display = {
        .text = BUF_INIT, .each = each, .context = context, .error = error};
    display.store = display.names.store = store;
    int rc = tell_after(after, &display, WINDOW);
    if (!rc && last)
        *last = display.event.turn;
    return rc;
}
