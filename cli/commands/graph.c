/* SPDX-License-Identifier: MIT */
/* cairn graph: tasks and barriers as nodes, an edge from what is needed to what needs
 * it. Nodes are named n0, n1, ... in dot and Mermaid; their ids are labels. */
#include "cli/commands/run_commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

enum format { FORMAT_DOT, FORMAT_MERMAID, FORMAT_JSON };

static void print_bytes(const char *text, size_t n, const char *quote,
                        const char *backslash)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            out("%s", quote);
        else if (text[i] == '\\')
            out("%s", backslash);
        else
            out_raw(text + i, 1);
    }
}

/* A label between double quotes in the language's own way, on one line. */
static void print_label(const char *text, const char *quote, const char *backslash)
{
    enum { LONGEST = 4 };
    char safe[LONGEST * ESCAPE_FACTOR];
    for (size_t n = strlen(text), length; n > 0; text += length, n -= length) {
        length = utf8_length(text, n);
        length = length ? length : 1;
        print_bytes(safe, escape_line(safe, text, length), quote, backslash);
    }
}

static void print_dot(const struct cairn_workflow *workflow)
{
    uint32_t nodes = cairn_workflow_nodes(workflow);
    struct cairn_node_info info = {0};
    out("digraph \"");
    print_label(cairn_workflow_name(workflow), "\\\"", "\\\\");
    out("\" {\n  rankdir=LR;\n  node [shape=box];\n");
    for (uint32_t i = 0; i < nodes && !ui_output_lost(); i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0)
            continue;
        out("  n%u [label=\"", i);
        print_label(info.id, "\\\"", "\\\\");
        out("\"%s];\n", info.barrier ? ", shape=diamond" : "");
        for (uint32_t k = 0; k < info.needs; k++)
            out("  n%u -> n%u;\n", cairn_workflow_need(workflow, i, k), i);
    }
    out("}\n");
}

static void print_mermaid(const struct cairn_workflow *workflow)
{
    uint32_t nodes = cairn_workflow_nodes(workflow);
    struct cairn_node_info info = {0};
    out("flowchart LR\n");
    for (uint32_t i = 0; i < nodes && !ui_output_lost(); i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0)
            continue;
        out("  n%u%s\"", i, info.barrier ? "{{" : "[");
        print_label(info.id, "#quot;", "\\");
        out("\"%s\n", info.barrier ? "}}" : "]");
        for (uint32_t k = 0; k < info.needs; k++)
            out("  n%u --> n%u\n", cairn_workflow_need(workflow, i, k), i);
    }
}

static void add_node(struct doc *doc, const struct cairn_workflow *workflow,
                     uint32_t node)
{
    struct cairn_node_info info, need;
    if (cairn_workflow_node(workflow, node, &info) != 0)
        return;
    doc_object(doc, NULL);
    doc_text(doc, "id", info.id);
    doc_text(doc, "group", info.group);
    doc_text(doc, "command", info.command);
    doc->failed |= !info.command;
    doc_bool(doc, "barrier", info.barrier);
    doc_array(doc, "needs");
    for (uint32_t k = 0; k < info.needs; k++) {
        if (cairn_workflow_node(workflow, cairn_workflow_need(workflow, node, k),
                                &need) == 0)
            doc_text(doc, NULL, need.id);
    }
    doc_end(doc);
    doc_end(doc);
}

static int print_document(const struct cairn_workflow *workflow)
{
    uint32_t nodes = cairn_workflow_nodes(workflow);
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "workflow", cairn_workflow_name(workflow));
    doc_count(&doc, "tasks", cairn_workflow_tasks(workflow));
    doc_count(&doc, "edges", cairn_workflow_edges(workflow));
    doc_array(&doc, "nodes");
    for (uint32_t i = 0; i < nodes; i++)
        add_node(&doc, workflow, i);
    return doc_print(&doc);
}

int command_graph(struct settings *settings)
{
    enum format format = (enum format)settings->number[OPT_FORMAT];
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status;
    if (ui_json() && settings->given[OPT_FORMAT] && format != FORMAT_JSON)
        return report_usage("graph", "give only one of --json and --format %s",
                            settings->text[OPT_FORMAT]);
    /* A named file needs no store, not even a healthy one. */
    status = settings->n_operands > 0 ? 0 : store_if_any(settings, 0, &store);
    if (status == 0)
        status = workflow_target(settings, "graph", 0, store, &workflow, &options);
    if (status == 0 && cairn_workflow_compile(workflow, &error) != 0)
        status = report_error(&error);
    if (status == 0) {
        if (ui_json() || format == FORMAT_JSON)
            status = print_document(workflow);
        else if (format == FORMAT_MERMAID)
            print_mermaid(workflow);
        else
            print_dot(workflow);
    }
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    return status;
}
