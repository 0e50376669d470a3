/* SPDX-License-Identifier: MIT */
/* Events as JSON: docs/json.md. */
#ifndef CLI_EVENTS_EVENT_DOCUMENT_H
#define CLI_EVENTS_EVENT_DOCUMENT_H

#include "cairn.h"
#include "cli/json.h"

/* Adds the members of an event of a run, or of the store. */
void log_event_document(struct doc *doc, const struct cairn_log_event *event);
/* Begins a document and adds those of any event. */
void feed_event_document(struct doc *doc, const struct cairn_feed_event *event);

#endif
