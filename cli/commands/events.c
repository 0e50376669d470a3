/* SPDX-License-Identifier: MIT */
/* cairn events: every decision of a run, in order, from the store. (The
 * events of a run that this process carries out are in cli/event_lines.c.) */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

#define POLL_MS 200

static void print_document(const struct cairn_log_event *event)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "type", event->kind);
    doc_count(&doc, "turn", event->turn);
    doc_time(&doc, "time", event->time_ns);
    doc_some(&doc, "run", event->run);
    doc_text(&doc, "task", event->task);
    doc_some(&doc, "attempt", event->attempt);
    doc_text(&doc, "outcome",
             event->outcome != CAIRN_PENDING ? cairn_outcome_name(event->outcome)
                                             : NULL);
    process_end_document(&doc, event->exit_code, event->signal);
    doc_some(&doc, "checkpoint", event->checkpoint);
    doc_text(&doc, "reason", event->reason);
    doc_text(&doc, "text", event->text);
    doc_print(&doc);
}

/* One line, even if the message has several. */
static void print_line(const struct cairn_log_event *event)
{
    char when[FORMAT_MAX];
    const char *text = event->text ? event->text : "";
    out("%s  %5llu  %s%s", format_local(when, event->time_ns),
        (unsigned long long)event->turn, event->task ? event->task : "",
        event->task ? ": " : "");
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        out("%.*s", (int)n, text);
        text += n;
        if (*text == '\n') {
            text++;
            out(" ");
        }
    }
    out("\n");
}

static int print_event(void *context, const struct cairn_log_event *event)
{
    bool *any = context;
    *any = true;
    if (ui_json())
        print_document(event);
    else
        print_line(event);
    return ui_output_lost();
}

/* Whether the run is live is read before its events: once it has ended, all of them are
 * printed. */
static int print_events(struct cairn_store *store, struct cairn_run_info *run,
                        bool follow)
{
    struct cairn_error error = {0};
    uint64_t last = 0;
    bool any = false;
    for (;;) {
        bool live = run->live;
        if (cairn_events(store, run->run, last, print_event, &any, &last, &error) != 0)
            return report_error(&error);
        out_flush();
        if (!follow || !live || ui_output_lost())
            break;
        sleep_ms(POLL_MS);
        if (cairn_run_get(store, run->run, run, &error) != 0)
            return report_error(&error);
    }
    if (!any)
        say("no events of run %llu are recorded", (unsigned long long)run->run);
    return 0;
}

static int print_maintenance(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    bool any = false;
    if (settings->n_operands || settings->given[OPT_FOLLOW_RUN])
        return report_usage("events", "--maintenance is about the whole store: give no "
                                      "RUN and no --follow with it");
    int status = store_for_reading(settings, &store);
    if (status)
        return status;
    if (cairn_store_events(store, 0, print_event, &any, NULL, &error) != 0)
        status = report_error(&error);
    else if (!any)
        say("nothing was collected or repaired in this store yet");
    cairn_store_close(store);
    return status;
}

int command_events(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    if (settings->given[OPT_MAINTENANCE])
        return print_maintenance(settings);
    int status = open_run(settings, &store, &run);
    if (status == 0)
        status = print_events(store, &run, settings->given[OPT_FOLLOW_RUN]);
    cairn_store_close(store);
    return status;
}
