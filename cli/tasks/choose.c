/* SPDX-License-Identifier: MIT */
#include "cli/tasks/choose.h"

#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
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
    if (!member && (strchr(word, '/') || ends_with(word, ".yaml") ||
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

void choose_after_run(struct settings *settings, struct cairn_run_options *options)
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
