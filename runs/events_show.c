/* SPDX-License-Identifier: MIT */
/* One row of the audit log in words. docs/json.md lists the kinds. */
#include "runs/events_int.h"

#include "cairn/plan.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"

#include <stdarg.h>

/* ---- Texts ---- */

static int deliver_event(struct event_display *t)
{
    int rc = buf_check(&t->text, t->error);
    if (rc)
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

int show_start(struct event_display *t, const struct attempt_row *row)
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
    if (row->outcome == CAIRN_COMPLETED || row->outcome == CAIRN_UNDONE)
        return row->flags & ATTEMPT_ADOPTED ? "adopted" : NULL;
    if (row->outcome != CAIRN_FAILED)
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
    set_words(t, "task_finished", "%s (attempt %u)", cairn_outcome_name(row->outcome),
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

int show_end(struct event_display *t, const struct attempt_row *row)
{
    int rc = name_task(t, row->gen, row->task);
    if (!rc)
        rc = find_checkpoint(t, row->checkpoint);
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
        set_words(t, "task_unknown",
                  "was interrupted, and nobody knows how far it came: %s decides",
                  has_check(l, task) ? "its check" : "`cairn resolve RUN TASK`");
    } else if (row->argument) {
        t->event.outcome = CAIRN_EXCLUDED;
        t->event.reason = cairn_reason_name(CAIRN_REASON_EXCLUDED);
        set_words(t, "task_skipped", "skipped: its condition was not met");
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
    static const char *const verbs[] = {"unknown", "cancel", "complete", "fail",
                                        "resolve"};
    t->event.reason = verbs[row->argument <= COMMAND_RESOLVE ? row->argument : 0];
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
    case EVENT_CLAIMED:
        set_words(t, "task_claimed", "claimed");
        add_data(t, " by ", row->data);
        break;
    case EVENT_COMMAND:
        describe_command(t, row);
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

int show_event(struct event_display *t, const struct event_row *row)
{
    t->event.time_ns = row->time_ns;
    if (row->kind == EVENT_RESET || row->kind == EVENT_UNKNOWN ||
        row->kind == EVENT_SKIPPED)
        return show_task_list(t, row);
    int rc = name_task(t, row->gen, row->task);
    if (rc)
        return rc;
    describe_event(t, row);
    return deliver_event(t);
}
