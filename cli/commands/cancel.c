/* SPDX-License-Identifier: MIT */
/* cairn cancel: asks the owner of a run to stop. */
#include "cli/commands/run_commands.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

static int report_cancelled(const struct settings *settings,
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
        say("asked process %lld to stop run %llu; see: cairn watch %llu%s",
            (long long)run->owner_pid, number, number, store_hint(settings));
    else if (action[0] == 'm')
        say("run %llu is cancelled; resume with: cairn resume %llu%s", number, number,
            store_hint(settings));
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
    int status = store_for_writing(settings, &store, false);
    if (status == 0)
        status = run_operand(settings, 0, store, &run);
    if (status == 0 && !run.live && run.state != CAIRN_RUN_UNFINISHED)
        status = report_cancelled(settings, &run, "none");
    else if (status == 0 && cairn_cancel(store, run.run, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_cancelled(settings, &run, run.live ? "requested" : "marked");
    cairn_store_close(store);
    return status;
}
