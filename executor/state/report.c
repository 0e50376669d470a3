/* SPDX-License-Identifier: MIT */
/* Events for the observer. Everything is reported after it is durable (or, while saving
 * fails, with checkpoint 0). */
#include "executor/state/report.h"

#include "base/memory.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"

#include <stdlib.h>

static struct cairn_event event_of(const struct engine *e, enum cairn_event_kind kind)
{
    return (struct cairn_event){.kind = kind,
                                .run = e->run.row.run,
                                .time_ns = loop_utc_ns(e),
                                .node = NODE_NONE,
                                .exit_code = -1,
                                .done = tally_done(&e->reported),
                                .total = e->request.graph->n_tasks,
                                .running = e->jobs.running - e->jobs.waiting};
}

/* No secret leaves here, whatever a text was made of. */
static void notify_observer(const struct engine *e, struct cairn_event *event)
{
    const struct redactor *redactor = e->run.situation.secrets.redactor;
    struct buf clean = BUF_INIT;
    if (!e->request.options->observe)
        return;
    if (event->text && redactor && redactor_finds(redactor, str_of(event->text))) {
        redact_text(redactor, str_of(event->text), &clean);
        event->text = clean.failed ? REDACTED : clean.data;
    }
    e->request.options->observe(e->request.options->observe_context, event);
    buf_release(&clean);
}

/* What runs, and what still comes: tasks of `finally`, undo commands. */
static uint32_t count_left(const struct engine *e)
{
    uint32_t n = e->phase == PHASE_FINALLY ? 0 : e->jobs.running;
    if (e->phase == PHASE_UNDO)
        n += e->undoing.n - e->undoing.next;
    if (e->halting.level >= HALT_KILL || e->request.mode != MODE_RUN)
        return n;
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        n += graph_def(e->request.graph, task)->finally &&
             e->progress.sched.state[task] != ENDED;
    return n;
}

void report(struct engine *e, enum cairn_event_kind kind, const char *text)
{
    struct cairn_event event = event_of(e, kind);
    event.text = text;
    event.stopping = kind == CAIRN_EVENT_TICK && e->halting.level;
    event.left = event.stopping ? count_left(e) : 0;
    notify_observer(e, &event);
}

static struct cairn_event job_event(const struct engine *e, enum cairn_event_kind kind,
                                    const struct job *job)
{
    struct cairn_event event = event_of(e, kind);
    event.task = e->request.graph->id[job->intent.task];
    event.node = job->intent.task;
    event.attempt = job->intent.attempt;
    return event;
}

void report_start(struct engine *e, const struct job *job)
{
    struct cairn_event event = job_event(e, CAIRN_EVENT_TASK_STARTED, job);
    event.time_ns = job->started_ns;
    notify_observer(e, &event);
}

void report_reading(struct engine *e, const struct job *job, const char *name)
{
    struct cairn_event event = job_event(e, CAIRN_EVENT_TASK_READING, job);
    event.text = name;
    notify_observer(e, &event);
}

static void report_bytes(struct engine *e, enum cairn_event_kind kind,
                         const struct job *job, int stream,
                         const struct cairn_event_output *output)
{
    struct cairn_event event = job_event(e, kind, job);
    event.output[stream] = *output;
    notify_observer(e, &event);
}

void report_output(struct engine *e, const struct job *job, int stream,
                   const struct cairn_event_output *output)
{
    report_bytes(e, CAIRN_EVENT_TASK_OUTPUT, job, stream, output);
}

void report_line(struct engine *e, const struct job *job, int stream,
                 const struct cairn_event_output *output)
{
    report_bytes(e, CAIRN_EVENT_TASK_LINE, job, stream, output);
}

/* What has not been told yet. */
static struct cairn_event_output untold_output(const struct captured *c, uint64_t told)
{
    size_t tail = c->head ? c->content.size - c->head : c->content.size;
    uint64_t left = c->bytes > told ? c->bytes - told : 0;
    struct cairn_event_output output = {.bytes = c->content.data, .n = c->content.size};
    if (told == 0 && c->head) {
        output.gap = c->bytes - c->content.size;
        output.gap_at = c->head;
    } else if (told > 0) {
        output.n = left < tail ? (size_t)left : tail;
        output.gap = left - output.n;
        output.bytes = output.n ? c->content.data + (c->content.size - output.n) : NULL;
    }
    return output;
}

/* The last lines of what a failed attempt wrote: of its log; or, where they are apart,
 * of stderr, or stdout if that is empty. */
static struct str output_tail(const struct ending *ending)
{
    enum { TAIL_LINES = 20, TAIL_BYTES = 4096 };
    const struct buf *content = &ending->captured[1].content;
    if (content->size == 0)
        content = &ending->captured[0].content;
    size_t start = content->size, lines = 0;
    while (start > 0 && content->size - start < TAIL_BYTES) {
        if (content->data[start - 1] == '\n' && start < content->size &&
            ++lines == TAIL_LINES)
            break;
        start--;
    }
    return (struct str){content->data ? content->data + start : NULL,
                        content->size - start};
}

static void count_outcome(struct engine *e, uint8_t outcome, uint32_t n)
{
    if (outcome == CAIRN_COMPLETED)
        e->reported.completed += n;
    else if (outcome == CAIRN_FAILED)
        e->reported.failed += n;
    else if (outcome == CAIRN_CANCELLED)
        e->reported.cancelled += n;
    else if (outcome == CAIRN_SKIPPED || outcome == CAIRN_EXCLUDED)
        e->reported.skipped += n;
}

static bool needs_directly(const struct graph *g, uint32_t task, uint32_t need)
{
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++)
        if (g->needs[e] == need)
            return true;
    return false;
}

/* Why a member that its condition left out of a group keeps a task from running. */
static const char *why_excluded_counts(const struct engine *e, const struct skip *skip)
{
    const struct graph *g = e->request.graph;
    if (needs_directly(g, skip->task, skip->cause))
        return "";
    if (graph_def(g, skip->task)->needs_all)
        return ", and it has `needs_all`";
    return g->definition->all_need_all
               ? ", and this run began when that counted as a skip"
               : ", nor that of any other member";
}

/* Because of which task, and of a group how it could be otherwise. */
static void explain_skip(const struct engine *e, const struct skip *skip, char *out,
                         size_t size)
{
    const struct graph *g = e->request.graph;
    out[0] = 0;
    if (skip->outcome == CAIRN_EXCLUDED &&
        task_def_is_service(graph_def(g, skip->task)))
        snprintf(out, size, "nothing that needs it runs");
    if (skip->cause == NODE_NONE || graph_is_barrier(g, skip->cause))
        return;
    uint8_t outcome = e->progress.states.outcome[skip->cause];
    if (state_skipped_itself(&e->progress.states, skip->cause))
        snprintf(out, size, "%.200s had nothing to do", g->id[skip->cause]);
    else if (outcome == CAIRN_EXCLUDED)
        snprintf(out, size, "the condition of %.200s was not met%s", g->id[skip->cause],
                 why_excluded_counts(e, skip));
    else
        snprintf(out, size, "%.200s %s", g->id[skip->cause],
                 outcome == CAIRN_FAILED    ? "failed"
                 : outcome == CAIRN_SKIPPED ? "was skipped"
                                            : "did not complete");
}

static void report_skips(struct engine *e, const struct ending *ending)
{
    char why[400];
    for (uint32_t i = 0; i < ending->skipped.n; i++) {
        count_outcome(e, ending->skipped.at[i].outcome, 1);
        struct cairn_event event = event_of(e, CAIRN_EVENT_TASK_FINISHED);
        event.node = ending->skipped.at[i].task;
        event.task = e->request.graph->id[event.node];
        event.outcome = ending->skipped.at[i].outcome;
        event.checkpoint = ending->seq ? ending->seq + 1 : 0;
        explain_skip(e, &ending->skipped.at[i], why, sizeof why);
        if (ending->skipped.withdrawn)
            snprintf(why, sizeof why, "it was withdrawn");
        event.text = why[0] ? why : NULL;
        notify_observer(e, &event);
    }
}

/* How an attempt ended, but for its kind. */
static struct cairn_event ending_event(const struct engine *e,
                                       const struct ending *ending,
                                       enum cairn_event_kind kind)
{
    const struct attempt_row *row = &ending->row;
    struct cairn_event event = event_of(e, kind);
    event.task = e->request.graph->id[row->task];
    event.node = row->task;
    event.attempt = row->number;
    event.outcome = row->outcome;
    event.exit_code = row->exit_code;
    event.signal = row->signal;
    event.timed_out = row->flags & ATTEMPT_TIMED_OUT;
    event.duration_ms = ending->duration_ms;
    event.reading_ms = ending->reading_ms;
    event.next_ms = ending->next_ms;
    event.checkpoint = ending->seq;
    event.text = ending->text.size ? ending->text.data : NULL;
    for (int i = 0; i < 2; i++)
        event.output[i] = untold_output(&ending->captured[i], ending->told[i]);
    if (row->outcome == CAIRN_FAILED) {
        struct str tail = output_tail(ending);
        event.tail = tail.len ? tail.ptr : NULL;
        event.tail_bytes = tail.len;
    }
    return event;
}

static void report_undo(struct engine *e, const struct ending *ending)
{
    if (ending->final)
        e->reported.completed--;
    struct cairn_event event = ending_event(e, ending, CAIRN_EVENT_TASK_UNDO);
    if (event.outcome == CAIRN_COMPLETED)
        event.outcome = CAIRN_UNDONE;
    notify_observer(e, &event);
}

/* An attempt that decided nothing is a notice. */
static void report_undecided(struct engine *e, const struct ending *ending)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "%s: %s", e->request.graph->id[ending->row.task],
               ending->text.size ? ending->text.data : "no outcome");
    report(e, CAIRN_EVENT_NOTICE, text.failed ? "out of memory" : text.data);
    buf_release(&text);
}

void report_ending(struct engine *e, const struct ending *ending)
{
    if (ending->row.flags & ATTEMPT_UNDO) {
        report_undo(e, ending);
        return;
    }
    bool decided = ending->change.outcome != CAIRN_PENDING &&
                   ending->change.outcome != CAIRN_UNKNOWN;
    if (ending->final ? !decided : !(ending->row.flags & ATTEMPT_RETRY)) {
        report_undecided(e, ending);
        return;
    }
    if (ending->final)
        count_outcome(e, ending->change.outcome, 1);
    enum cairn_event_kind kind = ending->final ? CAIRN_EVENT_TASK_FINISHED
                                 : ending->row.outcome == CAIRN_COMPLETED
                                     ? CAIRN_EVENT_TASK_ROUND
                                     : CAIRN_EVENT_TASK_RETRY;
    struct cairn_event event = ending_event(e, ending, kind);
    if (ending->final)
        event.outcome = ending->change.outcome;
    notify_observer(e, &event);
    report_skips(e, ending);
}

void report_waiting(struct engine *e, uint32_t task, const char *text)
{
    struct cairn_event event = event_of(e, CAIRN_EVENT_TASK_WAITING);
    event.task = e->request.graph->id[task];
    event.node = task;
    event.text = text;
    notify_observer(e, &event);
}

void redact_buf(const struct engine *e, struct buf *text)
{
    const struct redactor *redactor = e->run.situation.secrets.redactor;
    struct buf clean = BUF_INIT;
    if (!redactor || !text->size || !redactor_finds(redactor, buf_view(text)))
        return;
    redact_text(redactor, buf_view(text), &clean);
    clean.failed |= text->failed;
    buf_release(text);
    *text = clean;
}

void redact_captured(const struct engine *e, struct captured *captured)
{
    struct buf head = BUF_INIT, tail = BUF_INIT;
    size_t split = captured->head < captured->content.size ? (size_t)captured->head : 0;
    if (!e->run.situation.secrets.redactor || !captured->content.size)
        return;
    buf_add(&head, captured->content.data, split);
    buf_add(&tail, captured->content.data + split, captured->content.size - split);
    redact_buf(e, &head);
    redact_buf(e, &tail);
    captured->head = head.size;
    buf_str(&head, buf_view(&tail));
    head.failed |= tail.failed;
    buf_release(&tail);
    buf_release(&captured->content);
    captured->content = head;
}

void report_open(struct engine *e)
{
    e->reported = states_tally(&e->progress.states);
}

/* Events of the audit log that no other row records: gathered while a turn is decided,
 * stored with it. */

void audit_event(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t task, struct str data)
{
    struct event_list *list = &e->events;
    if (!e->request.store)
        return;
    struct pending_event *at =
        array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at) {
        engine_break(e);
        return;
    }
    list->at = at;
    struct pending_event *event = &list->at[list->n++];
    *event = (struct pending_event){.row = {.time_ns = loop_utc_ns(e),
                                            .kind = (uint8_t)kind,
                                            .argument = argument,
                                            .task = task},
                                    .at = list->data.size,
                                    .length = data.len};
    struct buf clean = BUF_INIT;
    buf_str(&clean, data);
    redact_buf(e, &clean);
    event->length = clean.size;
    buf_str(&list->data, buf_view(&clean));
    if (clean.failed || list->data.failed) {
        list->n--; /* its text is not there */
        engine_break(e);
    }
    buf_release(&clean);
}

void audit_tasks(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t cause, const uint32_t *tasks, uint32_t n)
{
    struct event_list *list = &e->events;
    struct buf packed = BUF_INIT;
    if (!e->request.store || !n)
        return;
    tasks_pack(tasks, n, &packed);
    audit_event(e, kind, argument, cause, STR(""));
    if (list->n && !e->broken) {
        struct pending_event *event = &list->at[list->n - 1];
        event->length = packed.size;
        buf_str(&list->data, buf_view(&packed));
        if (packed.failed || list->data.failed)
            list->n--;
    }
    if (packed.failed || list->data.failed)
        engine_break(e);
    buf_release(&packed);
}

static int by_cause(const void *a, const void *b)
{
    const struct skip *x = a, *y = b;
    if (x->outcome != y->outcome)
        return x->outcome < y->outcome ? -1 : 1;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

void audit_skips(struct engine *e, struct skip_list *skipped)
{
    struct skip *skips = skipped->at;
    uint32_t n = skipped->n;
    uint32_t *tasks = n ? malloc(n * sizeof *tasks) : NULL;
    if (!tasks) {
        if (n)
            engine_break(e);
        return;
    }
    qsort(skips, n, sizeof *skips, by_cause);
    for (uint32_t i = 0, from = 0; i < n; i++) {
        if (skips[i].outcome == CAIRN_COMPLETED) { /* a service: they come first */
            from = i + 1;
            continue;
        }
        tasks[i - from] = skips[i].task;
        bool last = i + 1 == n || skips[i + 1].cause != skips[i].cause ||
                    skips[i + 1].outcome != skips[i].outcome;
        if (!last)
            continue;
        audit_tasks(e, EVENT_SKIPPED,
                    skipped->withdrawn ? 2 : skips[i].outcome == CAIRN_EXCLUDED,
                    skips[i].cause, tasks, i + 1 - from);
        from = i + 1;
    }
    free(tasks);
}

static int put_row(struct engine *e, uint64_t turn, struct event_row row,
                   struct cairn_error *error)
{
    row.run = e->run.row.run;
    row.gen = e->run.row.gen;
    row.turn = turn;
    return store_put_event(e->request.store, &row, error);
}

int audit_put(struct engine *e, uint64_t turn, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < e->events.n && !rc; i++) {
        const struct pending_event *event = &e->events.at[i];
        struct event_row row = event->row;
        row.data = (struct str){e->events.data.data + event->at, event->length};
        rc = put_row(e, turn, row, error);
    }
    return rc;
}

int audit_put_now(struct engine *e, uint64_t turn, enum event_kind kind,
                  struct cairn_error *error)
{
    return put_row(e, turn,
                   (struct event_row){.time_ns = loop_utc_ns(e),
                                      .kind = (uint8_t)kind,
                                      .task = UINT32_MAX},
                   error);
}

void audit_forget(struct engine *e)
{
    e->events.n = 0;
    buf_clear(&e->events.data);
}

void audit_release(struct engine *e)
{
    free(e->events.at);
    buf_release(&e->events.data);
}
