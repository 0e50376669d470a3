/* SPDX-License-Identifier: MIT */
/* cairn validate: whether a workflow file would run, and how large it is. */
#include "cli/commands/run_commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

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

/* ---- --undo ---- */

/* By the tasks of the file: members of a group have the same undo. */
struct coverage {
    uint32_t with, without;
};

/* Gets the first task at or after `*i` that is not a member of the group `last` and not
 * of `finally`; moves `*i` behind it. */
static bool next_file_task(const struct cairn_workflow *workflow, uint32_t *i,
                           const char *last, struct cairn_node_info *info)
{
    while (*i < cairn_workflow_tasks(workflow)) {
        if (cairn_workflow_node(workflow, (*i)++, info) == 0 && !info->finally &&
            strcmp(info->group, last) != 0)
            return true;
    }
    return false;
}

static void count_undo(const struct cairn_workflow *workflow, struct coverage *coverage,
                       struct doc *doc, bool listed)
{
    struct cairn_node_info info = {0};
    const char *last = "";
    for (uint32_t i = 0; next_file_task(workflow, &i, last, &info);) {
        last = info.group;
        coverage->with += info.undo;
        coverage->without += !info.undo;
        if (doc && info.undo == listed)
            doc_text(doc, NULL, info.group);
    }
}

static double covered_fraction(const struct coverage *coverage)
{
    uint32_t tasks = coverage->with + coverage->without;
    return tasks == 0 ? 1.0 : (double)coverage->with / tasks;
}

static void add_coverage(struct doc *doc, const struct cairn_workflow *workflow)
{
    struct coverage coverage = {0}, unused = {0};
    doc_object(doc, "undo");
    doc_array(doc, "with");
    count_undo(workflow, &coverage, doc, true);
    doc_end(doc);
    doc_array(doc, "without");
    count_undo(workflow, &unused, doc, false);
    doc_end(doc);
    doc_real(doc, "coverage", covered_fraction(&coverage));
    doc_end(doc);
}

static void print_coverage(const struct cairn_workflow *workflow)
{
    struct cairn_node_info info = {0};
    struct coverage coverage = {0};
    const char *last = "";
    for (uint32_t i = 0; next_file_task(workflow, &i, last, &info);) {
        last = info.group;
        out("  %-7s  %s\n", info.undo ? "undo" : "no undo", info.group);
    }
    count_undo(workflow, &coverage, NULL, false);
    out("undo coverage: %u of %u, %.2f\n", coverage.with,
        coverage.with + coverage.without, covered_fraction(&coverage));
}

static int print_document(const struct cairn_workflow *workflow, const char *file,
                          bool undo)
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
    if (undo)
        add_coverage(&doc, workflow);
    doc_array(&doc, "warnings");
    for (size_t i = 0; (text = cairn_workflow_warning(workflow, i)); i++)
        doc_text(&doc, NULL, text);
    return doc_print(&doc);
}

static int print_text(const struct cairn_workflow *workflow, const char *file,
                      bool undo)
{
    uint32_t tasks = cairn_workflow_tasks(workflow), groups = count_groups(workflow);
    uint64_t edges = cairn_workflow_edges(workflow);
    print_warnings(workflow);
    out("%s: %s is valid: %u task%s, %llu edge%s, %u group%s\n", file,
        cairn_workflow_name(workflow), tasks, plural(tasks), (unsigned long long)edges,
        plural(edges), groups, plural(groups));
    if (undo)
        print_coverage(workflow);
    return 0;
}

int command_validate(struct settings *settings)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_error error = {0};
    const char *file;
    int status = workflow_operand(settings, "validate", 0, &workflow, &file);
    if (status == 0 && cairn_workflow_compile(workflow, &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = ui_json() ? print_document(workflow, file, settings->given[OPT_UNDO])
                           : print_text(workflow, file, settings->given[OPT_UNDO]);
    cairn_workflow_free(workflow);
    return status;
}
