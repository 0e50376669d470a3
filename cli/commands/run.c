/* SPDX-License-Identifier: MIT */
/* cairn run: runs a workflow file, or resumes its unfinished run. */
#include "cli/commands/run_commands.h"
#include "cli/events/hooks.h"
#include "cli/execute.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/secrets.h"
#include "cli/tasks/choose.h"

static int check_no_checkpoint(const struct settings *settings)
{
    static const enum option_id without_effect[] = {
        OPT_STORE,      OPT_FRESH, OPT_ON_CHANGE,    OPT_CHECK_OUTPUTS,
        OPT_CHECKPOINT, OPT_SYNC,  OPT_OUTPUT_LIMIT, OPT_KEEP};
    for (size_t i = 0; i < sizeof without_effect / sizeof without_effect[0]; i++) {
        if (settings->given[without_effect[i]])
            return report_usage("run", "--%s has no effect with --no-checkpoint",
                                option_get(without_effect[i])->name);
    }
    return 0;
}

/* The run that will be resumed, if any, is the newest of the workflow. */
static int keep_newest(void *context, const struct cairn_run_info *info)
{
    *(struct cairn_run_info *)context = *info;
    return 1;
}

static void announce_start(struct settings *settings, struct cairn_workflow *workflow,
                           struct cairn_store *store, struct cairn_run_options *options)
{
    struct cairn_page page = {.limit = 1};
    struct cairn_run_info newest = {0};
    if (options->start != CAIRN_START_AUTO ||
        cairn_runs(store, cairn_workflow_name(workflow), &page, keep_newest, &newest,
                   NULL, NULL) != 0)
        return;
    if (newest.run != 0 && !newest.live && newest.state != CAIRN_RUN_COMPLETED)
        announce_changes(settings, workflow, store, options, &newest);
}

int command_run(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct secrets_given secrets;
    const char *file;
    bool keep = !settings->given[OPT_NO_CHECKPOINT];
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0 && !keep)
        status = check_no_checkpoint(settings);
    tuning_options(settings, &options);
    if (settings->given[OPT_FRESH])
        options.start = CAIRN_START_FRESH;
    if (status == 0)
        status = choose_check_options(settings);
    choose_after_file(settings, true, &options);
    if (status == 0)
        status = workflow_operand(settings, "run", 0, &workflow, &file);
    if (status == 0)
        status = choose_check(workflow, &options);
    if (status == 0 && keep)
        status = store_for_writing(settings, &store, true);
    if (status == 0) {
        print_warnings(workflow);
        if (keep)
            announce_start(settings, workflow, store, &options);
        status = execute(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    hooks_run_and_close(store);
    secrets_given_release(&secrets);
    return status;
}
