/* SPDX-License-Identifier: MIT */
/* Messages about a task that does not exist: it is a group, or a mistyped name. */
#include "cli/unknown_task.h"

#include "cli/exit_status.h"
#include "cli/nearest.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

enum { FEW = 12 }; /* tasks that are all named */

static const char *name_all(const struct cairn_workflow *workflow, char *out,
                            size_t size)
{
    struct cairn_node_info info = {0};
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < cairn_workflow_tasks(workflow) && used < size; i++)
        if (cairn_workflow_node(workflow, i, &info) == 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     info.id);
    return out;
}

int unknown_task(const struct cairn_workflow *workflow, const char *task)
{
    uint32_t tasks = cairn_workflow_tasks(workflow);
    struct cairn_node_info info = {0};
    struct nearest nearest;
    char names[FEW * 64];
    nearest_init(&nearest, task);
    for (uint32_t i = 0; i < tasks; i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0)
            continue;
        if (strcmp(info.group, task) == 0)
            return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                                  "%s is a group of tasks: name one, such as %s", task,
                                  info.id);
        nearest_try(&nearest, info.id);
        nearest_try(&nearest, info.group);
    }
    if (!nearest.best && tasks <= FEW)
        return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                              "there is no task %s in %s; its tasks: %s", task,
                              cairn_workflow_name(workflow),
                              name_all(workflow, names, sizeof names));
    return report_failure(
        EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
        "there is no task %s in %s%s%s%s", task, cairn_workflow_name(workflow),
        nearest.best ? ": did you mean " : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : ": `cairn plan --fresh` lists them");
}

int missing_task(struct cairn_store *store, uint64_t run, const char *task,
                 const struct cairn_error *error)
{
    struct cairn_workflow *workflow = NULL;
    bool from_file;
    int status;
    if (error->code == CAIRN_ENOTFOUND &&
        cairn_workflow_of_run(&workflow, store, run, &from_file, NULL) == 0 &&
        cairn_workflow_compile(workflow, NULL) == 0 &&
        cairn_workflow_find(workflow, task) == UINT32_MAX)
        status = unknown_task(workflow, task);
    else
        status = report_error(error);
    cairn_workflow_free(workflow);
    return status;
}
