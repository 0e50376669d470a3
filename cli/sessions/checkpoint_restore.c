/* SPDX-License-Identifier: MIT */
/* cairn checkpoint restore and undo-restore: going back, and taking that back. */
#include "cli/events/hooks.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>

static void print_report(const struct cairn_restored *report)
{
    char when[FORMAT_MAX];
    out("restored  %s, of %s: %s\n", report->id, format_local(when, report->time_ns),
        report->message);
    out("items     %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed\n",
        report->added, report->changed, report->removed);
    out("branch    %s (it was %s)\n", report->branch, report->old_branch);
    out("before    %s\n", report->before[0] != '\0' ? report->before : "-");
}

static int report_restored(const struct cairn_restored *report)
{
    struct doc doc;
    if (!ui_json()) {
        print_report(report);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "restored", report->id);
    doc_time(&doc, "time", report->time_ns);
    doc_text(&doc, "message", report->message);
    doc_text(&doc, "before", report->before[0] != '\0' ? report->before : NULL);
    doc_text(&doc, "branch", report->branch);
    doc_text(&doc, "old_branch", report->old_branch);
    doc_count(&doc, "added", report->added);
    doc_count(&doc, "changed", report->changed);
    doc_count(&doc, "removed", report->removed);
    return doc_print(&doc);
}

static int pass_change(void *context, const struct cairn_board_change *change)
{
    (void)context;
    (void)change;
    return 0;
}

/* Says what would change, and asks. */
static int ask_to_restore(const struct settings *settings, struct cairn_store *store,
                          bool *agreed)
{
    struct cairn_board_summary summary = {0};
    struct cairn_error error = {0};
    if (cairn_session_diff(store, session_option(settings), NULL, settings->operands[0],
                           pass_change, NULL, &summary, &error) != 0)
        return report_error(&error);
    say_always("checkpoint %s; from now to then: %s", summary.to, summary.text);
    *agreed = ui_ask("Restore it?");
    if (!*agreed)
        say_always("nothing was restored");
    return 0;
}

static int restore(const struct settings *settings, struct cairn_store *store)
{
    struct cairn_restored report = {0};
    struct cairn_error error = {0};
    bool agreed = settings->given[OPT_YES];
    int status = agreed ? 0 : ask_to_restore(settings, store, &agreed);
    if (status != 0 || !agreed)
        return status;
    if (cairn_session_restore(store, session_option(settings), settings->operands[0],
                              settings->given[OPT_FORCE], &report, &error) != 0)
        return report_error(&error);
    status = report_restored(&report);
    out_flush();
    if (!ui_json())
        say("to take it back: cairn checkpoint undo-restore");
    return status;
}

int command_checkpoint_restore(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status;
    if (!settings->given[OPT_YES] && !ui_can_ask())
        return report_usage(settings->command,
                            "restoring without a terminal needs --yes");
    status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = restore(settings, store);
    hooks_run_and_close(store);
    return status;
}

int command_checkpoint_undo_restore(struct settings *settings)
{
    struct cairn_restored report = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 && cairn_session_undo_restore(store, session_option(settings),
                                                  &report, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_restored(&report);
    hooks_run_and_close(store);
    return status;
}
