/* SPDX-License-Identifier: MIT */
/* cairn events: every decision of a run, in order, or what happens in the store. (The
 * events of a run that this process carries out are in cli/describe.c.) */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
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
    log_event_document(&doc, event);
    doc_print(&doc);
}

static void print_text(const char *text)
{
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

/* One line, even if the message has several. */
static void print_line(const struct cairn_log_event *event)
{
    char when[FORMAT_MAX];
    out("%s  %5llu  %s%s", format_local(when, event->time_ns),
        (unsigned long long)event->turn, event->task ? event->task : "",
        event->task ? ": " : "");
    print_text(event->text ? event->text : "");
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

/* ---- Of everything ---- */

static void print_feed_line(const struct cairn_feed_event *event)
{
    const struct cairn_session_event *done = event->done;
    char when[FORMAT_MAX];
    if (done) {
        out("%s  %s %5llu  %s%s%s: ", format_local(when, done->time_ns),
            event->session_name, (unsigned long long)done->turn, done->verb,
            done->id[0] != '\0' ? " " : "", done->id);
        print_text(done->text);
        return;
    }
    out("%s  ", format_local(when, event->log->time_ns));
    if (event->log->run != 0)
        out("run %llu", (unsigned long long)event->log->run);
    else
        out("store");
    out(" %5llu  %s%s", (unsigned long long)event->log->turn,
        event->log->task ? event->log->task : "", event->log->task ? ": " : "");
    print_text(event->log->text ? event->log->text : "");
}

static int print_feed_event(void *context, const struct cairn_feed_event *event)
{
    (void)context;
    struct doc doc;
    if (ui_json()) {
        feed_event_document(&doc, event);
        doc_print(&doc);
    } else {
        print_feed_line(event);
    }
    return ui_output_lost();
}

/* Behind what was printed, for those who go on from there. */
static int print_position(struct cairn_feed *feed)
{
    const char *position = cairn_feed_position(feed);
    struct doc doc;
    if (!position)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_text(&doc, "type", "position");
    doc_text(&doc, "position", position);
    return doc_print(&doc);
}

static int follow_feed(struct cairn_feed *feed, const struct settings *settings)
{
    struct cairn_error error = {0};
    uint64_t told = 0, all = 0;
    for (bool first = true;; first = false) {
        int rc = cairn_feed_next(feed, print_feed_event, NULL, &told, &error);
        all += told;
        int status = told > 0 || (first && !rc) ? print_position(feed) : 0;
        out_flush();
        if (rc)
            return report_error(&error);
        if (status != 0 || !settings->given[OPT_FOLLOW_RUN] || ui_output_lost())
            break;
        do
            sleep_ms(POLL_MS);
        while (!cairn_feed_changed(feed));
    }
    if (all == 0)
        say(settings->given[OPT_POSITION] ? "nothing has happened since that position"
                                          : "no events are recorded");
    return 0;
}

static int print_feed(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_feed *feed = NULL;
    struct cairn_error error = {0};
    int status = store_for_reading(settings, &store);
    if (status == 0 && cairn_feed_open(&feed, store, settings->text[OPT_POSITION],
                                       settings->text[OPT_SESSION], &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = follow_feed(feed, settings);
    cairn_feed_close(feed);
    cairn_store_close(store);
    return status;
}

/* ---- Of the store ---- */

static int print_maintenance(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    bool any = false;
    if (settings->n_operands || settings->given[OPT_FOLLOW_RUN] ||
        settings->given[OPT_SESSION] || settings->given[OPT_POSITION])
        return report_usage("events", "--maintenance is about the whole store: give no "
                                      "RUN and no other option with it");
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
    if (settings->n_operands == 0)
        return print_feed(settings);
    if (settings->given[OPT_SESSION] || settings->given[OPT_POSITION])
        return report_usage("events", "give RUN or --session and --position, not both");
    int status = open_run(settings, &store, &run);
    if (status == 0)
        status = print_events(store, &run, settings->given[OPT_FOLLOW_RUN]);
    cairn_store_close(store);
    return status;
}
