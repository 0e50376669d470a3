/* SPDX-License-Identifier: MIT */
/* cairn run: runs a workflow file, or resumes its unfinished run. */
#include "cli/commands/run_commands.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/tasks/choose.h"
#include "cli/ui.h"

static int check_no_checkpoint(const struct settings *settings)
{
    static const enum option_id without_effect[] = {
        OPT_STORE,         OPT_FRESH,      OPT_ON_CHANGE,
        OPT_CHECK_OUTPUTS, OPT_CHECKPOINT, OPT_SYNC,
        OPT_OUTPUT_LIMIT,  OPT_KEEP,       OPT_KEY};
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

/* What a run has recorded is not looked for again: where the file cannot be used for a
 * new run, it may do for one that has begun. */
static void offer_unfinished(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_workflow *workflow = NULL;
    struct cairn_run_info run = {0};
    uint64_t number = 0;
    if (!settings->workflow_file || store_if_any(settings, 0, &store) != 0 || !store)
        return;
    if (newest_run_of(store, settings->workflow_file, &number) == 0 && number != 0 &&
        cairn_run_get(store, number, &run, NULL) == 0 && !run.live &&
        run.state != CAIRN_RUN_COMPLETED &&
        cairn_workflow_of_run(&workflow, store, number, NULL, NULL) == 0)
        say("run %llu of this file is not finished, and goes on with the members that "
            "it recorded: cairn resume %llu%s",
            (unsigned long long)number, (unsigned long long)number,
            store_hint(settings));
    cairn_workflow_free(workflow);
    cairn_store_close(store);
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
    if (status == EXIT_WORKFLOW && keep && !settings->given[OPT_FRESH])
        offer_unfinished(settings);
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
