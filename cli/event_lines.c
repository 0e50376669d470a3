/* SPDX-License-Identifier: MIT */
/* Events as NDJSON: one object a line, flushed line by line, so that a reader sees each
 * event when it happens. Field names are stable: docs/json.md. */
#include "cli/describe.h"
#include "cli/display.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/ui.h"

static const char *type_name(enum cairn_event_kind kind)
{
    switch (kind) {
    case CAIRN_EVENT_RUN_STARTED:
        return "run_started";
    case CAIRN_EVENT_NOTICE:
        return "notice";
    case CAIRN_EVENT_TASK_STARTED:
        return "task_started";
    case CAIRN_EVENT_TASK_READING:
        return "task_reading";
    case CAIRN_EVENT_TASK_RETRY:
        return "task_retry";
    case CAIRN_EVENT_TASK_FINISHED:
        return "task_finished";
    case CAIRN_EVENT_DEGRADED:
        return "degraded";
    case CAIRN_EVENT_RECOVERED:
        return "recovered";
    case CAIRN_EVENT_STOPPING:
        return "stopping";
    case CAIRN_EVENT_TASK_WAITING:
        return "task_waiting";
    case CAIRN_EVENT_TASK_UNDO:
        return "task_undo";
    case CAIRN_EVENT_DISK_FULL:
        return "disk_full";
    case CAIRN_EVENT_TASK_LINE:
    case CAIRN_EVENT_TASK_OUTPUT: /* text for people: `cairn log` has it */
    case CAIRN_EVENT_TICK:
    case CAIRN_EVENT_RUN_FINISHED: /* the result says more */
        break;
    }
    return NULL;
}

static void begin_event(struct doc *doc, const char *type, uint64_t sequence,
                        int64_t time_ns)
{
    doc_begin(doc);
    doc_text(doc, "type", type);
    doc_count(doc, "sequence", sequence);
    doc_time(doc, "time", time_ns);
}

static void put_end(struct doc *doc, const struct cairn_event *event)
{
    process_end_document(doc, event->exit_code, event->signal);
    doc_bool(doc, "timed_out", event->timed_out);
    doc_number(doc, "duration_ms", event->duration_ms);
    doc_number(doc, "reading_ms", event->reading_ms);
}

static void put_task(struct doc *doc, const struct cairn_event *event)
{
    doc_text(doc, "task", event->task);
    doc_count(doc, "attempt", event->attempt);
    if (event->kind == CAIRN_EVENT_TASK_STARTED ||
        event->kind == CAIRN_EVENT_TASK_READING ||
        event->kind == CAIRN_EVENT_TASK_WAITING)
        return;
    put_end(doc, event);
    if (event->kind == CAIRN_EVENT_TASK_RETRY) {
        doc_number(doc, "next_ms", event->next_ms);
    } else {
        doc_text(doc, "outcome", cairn_outcome_name(event->outcome));
        doc_some(doc, "checkpoint", event->checkpoint);
    }
    if (event->tail)
        doc_bytes(doc, "tail", event->tail, event->tail_bytes);
}

void event_print(uint64_t sequence, const struct cairn_event *event)
{
    const char *type = type_name(event->kind);
    struct doc doc;
    if (!type || ui_output_lost())
        return;
    begin_event(&doc, type, sequence, event->time_ns);
    doc_some(&doc, "run", event->run);
    if (event->task)
        put_task(&doc, event);
    doc_text(&doc, "text", event->text);
    doc_count(&doc, "done", event->done);
    doc_count(&doc, "total", event->total);
    doc_count(&doc, "running", event->running);
    doc_print(&doc);
}

void dropped_print(uint64_t sequence, uint64_t lines)
{
    struct doc doc;
    begin_event(&doc, "lines_dropped", sequence, wall_ns());
    doc_count(&doc, "lines", lines);
    doc_print(&doc);
}

void result_print(uint64_t sequence, const struct cairn_run_result *result)
{
    struct doc doc;
    begin_event(&doc, "run_finished", sequence, wall_ns());
    doc_some(&doc, "run", result->run);
    doc_text(&doc, "state", cairn_run_state_name(result->state));
    doc_bool(&doc, "nothing_to_do", result->nothing_to_do);
    doc_count(&doc, "total", result->total);
    doc_count(&doc, "completed", result->completed);
    doc_count(&doc, "failed", result->failed);
    doc_count(&doc, "skipped", result->skipped);
    doc_count(&doc, "cancelled", result->cancelled);
    doc_count(&doc, "pending", result->pending);
    doc_count(&doc, "excluded", result->excluded);
    doc_count(&doc, "undone", result->undone);
    doc_count(&doc, "unknown", result->unknown);
    doc_count(&doc, "waiting", result->waiting);
    doc_count(&doc, "failed_undos", result->failed_undos);
    doc_count(&doc, "attempts", result->attempts);
    doc_count(&doc, "unsaved", result->unsaved);
    doc_count(&doc, "lost_outputs", result->lost_outputs);
    doc_count(&doc, "not_chosen", result->not_chosen);
    doc_count(&doc, "gone", result->gone);
    doc_bool(&doc, "damaged", result->damaged);
    doc_number(&doc, "exit_status", result->exit_status);
    doc_print(&doc);
}
