/* SPDX-License-Identifier: MIT */
/* cairn session log and undo: what was done in a session, and taking back the last of
 * it. */
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>

struct events {
    struct doc *doc; /* with --json */
    uint64_t shown;
};

static int each_event(void *context, const struct cairn_session_event *event)
{
    struct events *events = context;
    char when[FORMAT_MAX];
    events->shown++;
    if (events->doc) {
        doc_object(events->doc, NULL);
        doc_count(events->doc, "turn", event->turn);
        doc_count(events->doc, "n", event->n);
        doc_time(events->doc, "time", event->time_ns);
        doc_text(events->doc, "verb", event->verb);
        doc_text(events->doc, "id", event->id[0] != '\0' ? event->id : NULL);
        doc_text(events->doc, "text", event->text);
        doc_end(events->doc);
        return 0;
    }
    if (events->shown == 1)
        out("%6s  %-19s  %-13s  %-21s  %s\n", "TURN", "TIME", "WHAT", "ID", "TEXT");
    out("%6" PRIu64 "  %-19s  %-13s  %-21s  %s\n", event->turn,
        format_local(when, event->time_ns), event->verb, event->id, event->text);
    return ui_output_lost();
}

static int print_log(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct events events = {.doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    if (events.doc) {
        doc_begin(&doc);
        doc_array(&doc, "events");
    }
    if (cairn_session_events(store, session_option(settings),
                             settings->number[OPT_AFTER], each_event, &events,
                             &error) == 0)
        return events.doc ? doc_print(&doc) : 0;
    if (events.doc)
        doc_discard(&doc);
    return report_error(&error);
}

int command_session_log(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = print_log(settings, store);
    cairn_store_close(store);
    return status;
}

static int report_undone(uint32_t changed)
{
    struct doc doc;
    if (!ui_json()) {
        say("taken back: the last change, of %u item%s", changed, plural(changed));
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "changed", changed);
    return doc_print(&doc);
}

int command_session_undo(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    uint32_t changed = 0;
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 &&
        cairn_session_undo(store, session_option(settings), &changed, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_undone(changed);
    cairn_store_close(store);
    return status;
}
