/* SPDX-License-Identifier: MIT */
/* cairn cancel: asks the owner of a run to stop. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <string.h>

/* A stop lets the undoing and `finally` go on to their end: whether it is at them. */
static int note_phase(void *context, const struct cairn_log_event *event)
{
    const char **goes_on = context;
    if (strcmp(event->kind, "run_started") == 0)
        *goes_on = NULL;
    else if (strcmp(event->kind, "phase") == 0)
        *goes_on = strcmp(event->reason, "undo") == 0
                       ? "undo commands and `finally` tasks"
                       : "`finally` tasks";
    else if (strcmp(event->kind, "undo_intended") == 0 && !*goes_on)
        *goes_on = "undo commands";
    return 0;
}

static void say_requested(const struct settings *settings, struct cairn_store *store,
                          const struct cairn_run_info *run)
{
    const char *goes_on = NULL;
    unsigned long long number = run->run;
    if (!run->live) { /* it has not said who it is */
        say("asked the process that is just going on with run %llu to stop it; see: "
            "cairn watch %llu%s",
            number, number, store_hint(settings));
        return;
    }
    if (cairn_events(store, run->run, 0, note_phase, &goes_on, NULL, NULL) != 0)
        goes_on = NULL; /* only the message depends on it */
    say("asked process %lld to stop run %llu%s%s%s; see: cairn watch %llu%s",
        (long long)run->owner_pid, number, goes_on ? " when its " : "",
        goes_on ? goes_on : "", goes_on ? " have run" : "", number,
        store_hint(settings));
}

static int report_cancelled(const struct settings *settings, struct cairn_store *store,
                            const struct cairn_run_info *run, const char *action)
{
    unsigned long long number = run->run;
    struct doc doc;
    if (ui_json()) {
        doc_begin(&doc);
        doc_count(&doc, "run", run->run);
        doc_text(&doc, "action", action);
        return doc_print(&doc);
    }
    if (action[0] == 'r')
        say_requested(settings, store, run);
    else if (action[0] == 'm')
        say("run %llu is cancelled; resume with: %s", number,
            resume_words(store, run, store_hint(settings)));
    else
        say("run %llu %s %s already: nothing to cancel", number,
            run->state == CAIRN_RUN_FAILED ? "has" : "is",
            cairn_run_state_name(run->state));
    return 0;
}

int command_cancel(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    enum cairn_cancelling how = CAIRN_CANCEL_MARKED;
    int status = store_for_writing(settings, &store, false);
    if (status == 0)
        status = run_operand(settings, 0, store, &run);
    if (status == 0 && !run.live && run.state != CAIRN_RUN_UNFINISHED)
        status = report_cancelled(settings, store, &run, "none");
    else if (status == 0 && cairn_cancel(store, run.run, &how, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_cancelled(settings, store, &run,
                                  how == CAIRN_CANCEL_ASKED ? "requested" : "marked");
    cairn_store_close(store);
    return status;
}
