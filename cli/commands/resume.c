/* SPDX-License-Identifier: MIT */
/* cairn resume: continues a run, or starts a new one from a checkpoint. */
#include "cli/commands/run_commands.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/choose.h"
#include "cli/ui.h"

/* Sets the start; `run` gets the run whose workflow is meant. */
static int choose_start(struct settings *settings, struct cairn_store *store,
                        struct cairn_run_options *options, struct cairn_run_info *run)
{
    struct cairn_checkpoint_info checkpoint = {0};
    struct cairn_error error = {0};
    uint64_t number = 0;
    if (!settings->given[OPT_FROM]) {
        int status = run_operand(settings, 0, store, run);
        options->start = CAIRN_START_RESUME;
        options->run = run->run;
        return status;
    }
    options->start = CAIRN_START_FROM;
    options->from = settings->text[OPT_FROM];
    int status = run_number(settings, 0, store, &number);
    if (status != 0)
        return status;
    if (cairn_checkpoint_get(store, options->from, &checkpoint, &error) != 0)
        return report_error(&error);
    if (number != 0 && number != checkpoint.run)
        return report_usage("resume",
                            "checkpoint %s belongs to run %llu, not to run %llu",
                            checkpoint.id, (unsigned long long)checkpoint.run,
                            (unsigned long long)number);
    if (cairn_run_get(store, checkpoint.run, run, &error) != 0)
        return report_error(&error);
    return 0;
}

int command_resume(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    struct cairn_error error = {0};
    struct secrets_given secrets;
    bool from_file = true;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = choose_check_options(settings);
    choose_after_run(settings, &options);
    if (status == 0)
        status = store_for_writing(settings, &store, false);
    tuning_options(settings, &options);
    if (status == 0)
        status = choose_start(settings, store, &options, &run);
    if (status == 0 &&
        cairn_workflow_of_run(&workflow, store, run.run, &from_file, &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = choose_check(workflow, &options);
    if (status == 0) {
        print_warnings(workflow);
        say_elsewhere(store, &run);
        if (from_file)
            announce_changes(settings, workflow, store, &options, &run);
        else if (run.file[0])
            say("cairn: %s is gone; using the definition stored with run %llu",
                run.file, (unsigned long long)run.run);
        status = execute(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}
