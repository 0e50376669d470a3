/* SPDX-License-Identifier: MIT */
#include "cli/events/event_document.h"

#include "cli/describe.h"

void log_event_document(struct doc *doc, const struct cairn_log_event *event)
{
    doc_text(doc, "type", event->kind);
    doc_count(doc, "turn", event->turn);
    doc_time(doc, "time", event->time_ns);
    doc_some(doc, "run", event->run);
    doc_text(doc, "task", event->task);
    doc_some(doc, "attempt", event->attempt);
    doc_text(doc, "outcome",
             event->outcome != CAIRN_PENDING ? cairn_outcome_name(event->outcome)
                                             : NULL);
    process_end_document(doc, event->exit_code, event->signal);
    doc_some(doc, "checkpoint", event->checkpoint);
    doc_text(doc, "reason", event->reason);
    doc_text(doc, "text", event->text);
}

void feed_event_document(struct doc *doc, const struct cairn_feed_event *event)
{
    const struct cairn_session_event *done = event->done;
    struct cairn_log_event log = {.exit_code = -1};
    if (done)
        log =
            (struct cairn_log_event){.turn = done->turn,
                                     .time_ns = done->time_ns,
                                     .kind = done->kind,
                                     .exit_code = -1,
                                     .reason = done->reason,
                                     .text = done->text[0] != '\0' ? done->text : NULL};
    doc_begin(doc);
    log_event_document(doc, done ? &log : event->log);
    doc_some(doc, "session", event->session);
    doc_text(doc, "session_name", event->session_name);
    doc_text(doc, "verb", done ? done->verb : NULL);
    doc_text(doc, "id", done && done->id[0] != '\0' ? done->id : NULL);
}
