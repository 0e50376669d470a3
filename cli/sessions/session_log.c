/* SPDX-License-Identifier: MIT */
/* cairn session log and undo: what was done in a session, and taking back the last of
 * it. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

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
    hooks_run_and_close(store);
    return status;
}

enum { TAKEN_SHOWN = 5 };
struct taken {
    struct doc *doc; /* with --json */
    char *text;      /* lines for people, heap */
    size_t length, shown;
    FILE *file;
};

/* What is told here is done only once the call has returned. */
static int note_taken(void *context, const struct cairn_session_event *event)
{
    struct taken *taken = context;
    bool changed = strcmp(event->verb, "changed") == 0;
    if (event->id[0] == '\0' || strcmp(event->verb, "checkpoint") == 0)
        return 0;
    if (taken->doc) {
        doc_object(taken->doc, NULL);
        doc_text(taken->doc, "verb", event->verb);
        doc_text(taken->doc, "id", event->id);
        doc_text(taken->doc, "text", event->text);
        doc_end(taken->doc);
    } else if (taken->shown++ < TAKEN_SHOWN) {
        fprintf(taken->file, "%s%s%s%s: %s", taken->shown > 1 ? "; " : "", event->id,
                changed ? "" : " ", changed ? "" : event->verb, event->text);
    }
    return 0;
}

static int report_undone(struct taken *taken, uint32_t changed)
{
    if (taken->doc) {
        doc_end(taken->doc);
        doc_count(taken->doc, "changed", changed);
        return doc_print(taken->doc);
    }
    if (taken->shown > TAKEN_SHOWN)
        say("taken back: %s; and %zu more", taken->text, taken->shown - TAKEN_SHOWN);
    else
        say("taken back: %s", taken->text);
    return 0;
}

static int undo(struct settings *settings, struct cairn_store *store,
                struct taken *taken)
{
    struct cairn_error error = {0};
    uint32_t changed = 0;
    int rc = cairn_session_take_back(store, session_option(settings), note_taken, taken,
                                     &changed, &error);
    bool lost = fclose(taken->file) != 0;
    if (rc != 0 && taken->doc)
        doc_discard(taken->doc);
    if (rc != 0)
        return report_error(&error);
    if (lost)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "it was taken back; out of memory to show it");
    return report_undone(taken, changed);
}

int command_session_undo(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct doc doc = {0};
    struct taken taken = {.doc = ui_json() ? &doc : NULL};
    int status = session_store(settings, STORE_WRITE, &store);
    taken.file = status == 0 ? open_memstream(&taken.text, &taken.length) : NULL;
    if (status == 0 && !taken.file)
        status =
            report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
    if (status == 0 && taken.doc) {
        doc_begin(&doc);
        doc_array(&doc, "taken_back");
    }
    if (status == 0)
        status = undo(settings, store, &taken);
    hooks_run_and_close(store);
    free(taken.text);
    return status;
}
