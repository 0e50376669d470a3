/* SPDX-License-Identifier: MIT */
/* cairn run and resume, and the options that choose tasks. */
#include "cli/commands/run.h"

#include "cli/commands/commands.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *word, const char *end)
{
    size_t n = strlen(word), m = strlen(end);
    return n > m && strcmp(word + n - m, end) == 0;
}

/* A directory may well have the name of a task. */
static bool is_file(const char *word)
{
    struct stat st;
    /* The value of a member may be a path. */
    bool member = strchr(word, '[') && ends_with(word, "]");
    /* lint/test may be a task of an included file. */
    bool path = word[0] == '/' || word[0] == '.';
    if (!member && ((path && strchr(word, '/')) || ends_with(word, ".yaml") ||
                    ends_with(word, ".yml") || ends_with(word, ".json")))
        return true;
    return stat(word, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool is_number(const char *word)
{
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
}

static void take_tasks(struct settings *settings, int first,
                       struct cairn_run_options *options)
{
    options->tasks = settings->operands + first;
    options->n_tasks = (size_t)(settings->n_operands - first);
    settings->n_operands = first;
}

void choose_after_file(struct settings *settings, bool needed,
                       struct cairn_run_options *options)
{
    bool file = settings->n_operands > 0 && (is_file(settings->operands[0]) ||
                                             (needed && !default_workflow_exists()));
    take_tasks(settings, file ? 1 : 0, options);
}

/* Of [RUN] TASK...: RUN is a number, or the file of its workflow. */
static void choose_after_run(struct settings *settings,
                             struct cairn_run_options *options)
{
    /* A file stands for the newest run of its workflow. */
    bool run = settings->n_operands > 0 &&
               (is_number(settings->operands[0]) || is_file(settings->operands[0]));
    take_tasks(settings, run ? 1 : 0, options);
}

int choose_check_options(const struct settings *settings)
{
    if (settings->given[OPT_KEEP_GOING] && settings->given[OPT_STOP])
        return report_usage(settings->command, "give only one of --keep-going and "
                                               "--stop");
    bool output = settings->given[OPT_SHOW_OUTPUT] || settings->given[OPT_VERBOSE];
    if (output && (settings->given[OPT_JSON] || settings->given[OPT_QUIET]))
        return report_usage(settings->command,
                            "--%s shows what tasks write: not with --json or --quiet",
                            settings->given[OPT_VERBOSE] ? "verbose" : "output");
    return 0;
}

bool choose_is_pattern(const char *word)
{
    return word[strcspn(word, "*?")] != '\0';
}

bool choose_has_tasks(const struct cairn_workflow *workflow, const char *name)
{
    struct cairn_node_info info = {0};
    for (uint32_t i = 0; i < cairn_workflow_tasks(workflow); i++)
        if (cairn_workflow_node(workflow, i, &info) == 0 &&
            cairn_name_matches(name, info.id))
            return true;
    return false;
}

int choose_check(struct cairn_workflow *workflow,
                 const struct cairn_run_options *options)
{
    struct cairn_error error = {0};
    if (options->n_tasks == 0)
        return 0;
    if (cairn_workflow_compile(workflow, &error) != 0)
        return report_error(&error);
    for (size_t i = 0; i < options->n_tasks; i++) {
        const char *name = options->tasks[i];
        if (!choose_is_pattern(name) &&
            cairn_workflow_find(workflow, name) == UINT32_MAX &&
            !choose_has_tasks(workflow, name))
            return is_number(name) && options->start == CAIRN_START_RESUME
                       ? report_failure(EXIT_NOT_FOUND,
                                        cairn_code_name(CAIRN_ENOTFOUND),
                                        "there is no task %s in %s; the number of a "
                                        "run is given with --run %s",
                                        name, cairn_workflow_name(workflow), name)
                       : unknown_task(workflow, name);
    }
    return 0;
}

/* cairn run: runs a workflow file, or resumes its unfinished run. */

static int check_no_checkpoint(const struct settings *settings)
{
    static const enum option_id without_effect[] = {
        OPT_STORE,         OPT_FRESH,      OPT_ON_CHANGE,
        OPT_CHECK_OUTPUTS, OPT_CHECKPOINT, OPT_SYNC,
        OPT_OUTPUT_LIMIT,  OPT_KEEP,       OPT_KEY};
    for (size_t i = 0; i < COUNT_OF(without_effect); i++) {
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
        say("run %llu of this file is not finished, and continues with the members "
            "that "
            "it recorded: cairn resume %llu%s",
            (unsigned long long)number, (unsigned long long)number,
            store_hint(settings));
    cairn_workflow_free(workflow);
    store_close(store);
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

/* cairn resume: continues a run, or starts a new one from a checkpoint. */

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
