/* SPDX-License-Identifier: MIT */
/* cairn renew: the lease of a claim begins again. */
#include "cli/commands/run_commands.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/task_step.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

static int report_renewed(const struct settings *settings, uint64_t run)
{
    struct doc doc;
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", settings->operands[1]);
    doc_count(&doc, "lease_ms", settings->number[OPT_LEASE]);
    return doc_print(&doc);
}

int command_renew(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status;
    if (!settings->given[OPT_TOKEN])
        return report_usage("renew",
                            "give the --token that `cairn claim %s %s` printed",
                            settings->operands[0], task);
    status = run_and_store(settings, &store, &run);
    if (status == 0 && cairn_renew(store, run, task, settings->text[OPT_TOKEN],
                                   (int64_t)settings->number[OPT_LEASE], &error) != 0)
        status = missing_task(store, run, task, &error);
    else if (status == 0)
        status = report_renewed(settings, run);
    cairn_store_close(store);
    return status;
}
