/* SPDX-License-Identifier: MIT */
/* cairn rerun: finished tasks of a run again, with what comes after them. */
#include "cli/commands/run_commands.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/choose.h"
#include "cli/ui.h"

static int load_workflow(struct cairn_store *store, const struct cairn_run_info *run,
                         struct cairn_workflow **workflow)
{
    struct cairn_error error = {0};
    bool from_file = true;
    if (cairn_workflow_of_run(workflow, store, run->run, &from_file, &error) != 0)
        return report_error(&error);
    print_warnings(*workflow);
    say_elsewhere(store, run);
    if (!from_file && run->file[0])
        say("cairn: %s is gone; using the definition stored with run %llu", run->file,
            (unsigned long long)run->run);
    return 0;
}

/* The live run may do next what is wanted. */
static int refuse_live(const struct cairn_run_info *run)
{
    unsigned long long number = run->run;
    return report_failure(EXIT_OWNED, cairn_code_name(CAIRN_EOWNED),
                          "run %llu is running (process %lld on %s): its tasks can run "
                          "again when it has ended; watch it with `cairn watch %llu`, "
                          "or end it with `cairn cancel %llu`",
                          number, (long long)run->owner_pid, run->owner_host, number,
                          number);
}

int command_rerun(struct settings *settings)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME,
                                        .again = true,
                                        .only = settings->given[OPT_ONLY],
                                        .tasks = settings->operands,
                                        .n_tasks = (size_t)settings->n_operands};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    struct secrets_given secrets;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = choose_check_options(settings);
    if (status == 0)
        status = store_for_writing(settings, &store, false);
    tuning_options(settings, &options);
    if (status == 0 && settings->n_operands > 1)
        run_among_tasks(settings, store);
    options.n_tasks = (size_t)settings->n_operands;
    if (status == 0)
        status = run_option(settings, store, &run);
    if (status == 0 && run.live)
        status = refuse_live(&run);
    options.run = run.run;
    if (status == 0)
        status = load_workflow(store, &run, &workflow);
    if (status == 0)
        status = choose_check(workflow, &options);
    if (status == 0) {
        announce_plan(settings, workflow, store, &options);
        status = execute(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}
