/* SPDX-License-Identifier: MIT */
/* cairn undo: undoes completed tasks of a run. */
#include "cli/commands/run_commands.h"
#include "cli/execute.h"
#include "cli/open.h"
#include "cli/tasks/task_step.h"

int command_undo(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_store *store = NULL;
    struct secrets_given secrets;
    uint64_t run = 0;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = run_and_store(settings, &store, &run);
    if (status == 0)
        status = execute_undo(settings, store, run, &options);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}
