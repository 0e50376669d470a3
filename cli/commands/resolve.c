/* SPDX-License-Identifier: MIT */
/* cairn resolve: decides the outcome of a task that is unknown. */
#include "cli/commands/run_commands.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/task_step.h"
#include "cli/unknown_task.h"

#include <string.h>

static enum cairn_resolution resolution_of(const char *word)
{
    static const char *const words[] = {
        [CAIRN_RESOLVED_DONE] = "done",
        [CAIRN_RESOLVED_FAILED] = "failed",
        [CAIRN_RESOLVED_RERUN] = "rerun",
    };
    for (int i = CAIRN_RESOLVED_DONE; i <= CAIRN_RESOLVED_RERUN; i++) {
        if (strcmp(words[i], word) == 0)
            return (enum cairn_resolution)i;
    }
    return (enum cairn_resolution)0;
}

int command_resolve(struct settings *settings)
{
    static const char *const results[] = {
        [CAIRN_RESOLVED_DONE] = "completed",
        [CAIRN_RESOLVED_FAILED] = "failed",
        [CAIRN_RESOLVED_RERUN] = "pending",
    };
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    const char *task = settings->operands[1], *word = settings->operands[2];
    enum cairn_resolution resolution = resolution_of(word);
    uint64_t run = 0;
    int status;
    if ((int)resolution == 0)
        return report_usage("resolve",
                            "'%s' is not a decision: use done, failed or rerun", word);
    status = run_and_store(settings, &store, &run);
    if (status == 0 && cairn_resolve(store, run, task, resolution, &error) != 0)
        status = missing_task(store, run, task, &error);
    else if (status == 0)
        status = step_report(settings, store, run, results[resolution]);
    cairn_store_close(store);
    return status;
}
