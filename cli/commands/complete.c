/* SPDX-License-Identifier: MIT */
/* cairn complete: an external task is done. */
#include "cli/commands/run_commands.h"
#include "cli/open.h"
#include "cli/tasks/task_step.h"
#include "cli/unknown_task.h"

int command_complete(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status = run_and_store(settings, &store, &run);
    if (status == 0 &&
        cairn_complete(store, run, task, settings->text[OPT_TOKEN], settings->params,
                       settings->n_params, &error) != 0)
        status = missing_task(store, run, task, &error);
    else if (status == 0)
        status = step_report(settings, store, run, "completed");
    cairn_store_close(store);
    return status;
}
