/* SPDX-License-Identifier: MIT
 *
 * cairn validate: whether a workflow file would run, and how large it is. */
#include "command.h"
#include "format.h"
#include "json.h"
#include "open.h"
#include "ui.h"

#include <string.h>

/* Members of a group follow one another in the file's order. */
static uint32_t count_groups(const struct cairn_workflow *workflow)
{
    uint32_t tasks = cairn_workflow_tasks(workflow), groups = 0;
    struct cairn_node_info info = {0};
    const char *last = "";

    for (uint32_t i = 0; i < tasks; i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0 ||
            strcmp(info.id, info.group) == 0)
            continue;
        if (strcmp(info.group, last) != 0)
            groups++;
        last = info.group;
    }
    return groups;
}

static int print_document(const struct cairn_workflow *workflow, const char *file)
{
    const char *text;
    struct doc doc;

    doc_begin(&doc);
    doc_text(&doc, "file", file);
    doc_text(&doc, "workflow", cairn_workflow_name(workflow));
    doc_bool(&doc, "valid", true);
    doc_count(&doc, "tasks", cairn_workflow_tasks(workflow));
    doc_count(&doc, "edges", cairn_workflow_edges(workflow));
    doc_count(&doc, "groups", count_groups(workflow));
    doc_array(&doc, "warnings");
    for (size_t i = 0; (text = cairn_workflow_warning(workflow, i)) != NULL; i++)
        doc_text(&doc, NULL, text);
    return doc_print(&doc);
}

static int print_text(const struct cairn_workflow *workflow, const char *file)
{
    uint32_t tasks = cairn_workflow_tasks(workflow), groups = count_groups(workflow);
    uint64_t edges = cairn_workflow_edges(workflow);

    tell_warnings(workflow);
    out("%s: %s is valid: %u task%s, %llu edge%s, %u group%s\n", file,
        cairn_workflow_name(workflow), tasks, plural(tasks), (unsigned long long)edges,
        plural(edges), groups, plural(groups));
    return 0;
}

int command_validate(struct settings *settings)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_error error = {0};
    const char *file;
    int status = workflow_operand(settings, "validate", 0, &workflow, &file);

    if (status == 0 && cairn_workflow_compile(workflow, &error) != 0)
        status = ui_fail(&error);
    if (status == 0)
        status =
            ui_json() ? print_document(workflow, file) : print_text(workflow, file);
    cairn_workflow_free(workflow);
    return status;
}
