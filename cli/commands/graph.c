/* SPDX-License-Identifier: MIT */
/* cairn graph: a workflow as a picture. */
#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/picture.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <cairn.h>
#include <stdlib.h>
#include <string.h>

/* cairn graph: tasks and barriers as nodes, an edge from what is needed to what needs
 * it; with --fold a node for each group. Nodes are named n0, n1, ... in dot and
 * Mermaid; their ids are labels. */

enum format { FORMAT_DOT, FORMAT_MERMAID, FORMAT_JSON };

static const char *const picture_colours[PICTURE_STATES] = {
    [PICTURE_EXCLUDED] = "#eeeeee", [PICTURE_COMPLETED] = "#b7e4c7",
    [PICTURE_PENDING] = "#ffffff",  [PICTURE_SKIPPED] = "#d9d9d9",
    [PICTURE_UNDONE] = "#e5d4f0",   [PICTURE_CANCELLED] = "#f4d8b0",
    [PICTURE_RUNNING] = "#bfdbfe",  [PICTURE_INTERRUPTED] = "#fde68a",
    [PICTURE_UNKNOWN] = "#fbbf24",  [PICTURE_FAILED] = "#f8b4b4"};

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

/* "test (6: 4 completed, 2 failed)" of a folded group, else the id. */
static void print_name(const struct picture *p, const struct picture_node *node,
                       const char *quote, const char *backslash)
{
    const char *between = ": ";
    print_label(node->name, quote, backslash);
    if (node->tasks <= 1)
        return;
    out(" (%u", node->tasks);
    for (uint32_t i = PICTURE_STATES; p->states && i-- > 0;)
        if (node->counts[i]) {
            out("%s%u %s", between, node->counts[i], picture_states[i]);
            between = ", ";
        }
    out(")");
}

static int print_dot_edge(void *context, uint32_t from, uint32_t to)
{
    (void)context;
    out("  n%u -> n%u;\n", from, to);
    return ui_output_lost();
}

static void print_dot(struct picture *p)
{
    out("digraph \"");
    print_label(cairn_workflow_name(p->workflow), "\\\"", "\\\\");
    out("\" {\n  rankdir=LR;\n  node [shape=box];\n");
    for (uint32_t i = 0; i < p->n && !ui_output_lost(); i++) {
        const struct picture_node *node = &p->at[i];
        out("  n%u [label=\"", i);
        print_name(p, node, "\\\"", "\\\\");
        out("\"%s", node->barrier ? ", shape=diamond" : "");
        if (p->states && !node->barrier)
            out(", style=filled, fillcolor=\"%s\"", picture_colours[node->state]);
        const char *description = cairn_workflow_description(p->workflow, node->node);
        if (description && !node->barrier) {
            out(", tooltip=\"");
            print_label(description, "\\\"", "\\\\");
            out("\"");
        }
        out("];\n");
    }
    picture_each_edge(p, print_dot_edge, NULL);
    out("}\n");
}

static int print_mermaid_edge(void *context, uint32_t from, uint32_t to)
{
    (void)context;
    out("  n%u --> n%u\n", from, to);
    return ui_output_lost();
}

static void print_mermaid(struct picture *p)
{
    bool used[PICTURE_STATES] = {false};
    out("flowchart LR\n");
    for (uint32_t i = 0; i < p->n && !ui_output_lost(); i++) {
        const struct picture_node *node = &p->at[i];
        out("  n%u%s\"", i, node->barrier ? "{{" : "[");
        print_name(p, node, "#quot;", "\\");
        out("\"%s", node->barrier ? "}}" : "]");
        if (p->states && !node->barrier) {
            used[node->state] = true;
            out(":::%s", picture_states[node->state]);
        }
        out("\n");
    }
    picture_each_edge(p, print_mermaid_edge, NULL);
    for (uint32_t i = 0; i < PICTURE_STATES; i++)
        if (used[i])
            out("  classDef %s fill:%s\n", picture_states[i], picture_colours[i]);
}

/* What each node needs: pairs of nodes, by the second one. */
struct edges {
    struct edge {
        uint32_t from, to;
    } * at;
    size_t n, capacity;
    bool failed; /* out of memory */
};

static int note_edge(void *context, uint32_t from, uint32_t to)
{
    struct edges *edges = context;
    struct edge *at = array_room(edges->at, edges->n, &edges->capacity, sizeof *at);
    edges->failed = !at;
    if (!at)
        return 1;
    edges->at = at;
    at[edges->n++] = (struct edge){from, to};
    return 0;
}

static void add_counts(struct doc *doc, const struct picture_node *at)
{
    doc_object(doc, "counts");
    for (uint32_t i = 0; i < PICTURE_STATES; i++)
        if (at->counts[i] > 0)
            doc_count(doc, picture_states[i], at->counts[i]);
    doc_end(doc);
}

static void add_node(struct doc *doc, const struct picture *p, bool fold,
                     const struct picture_node *at)
{
    const struct cairn_workflow *workflow = p->workflow;
    struct cairn_node_info info = {0};
    (void)cairn_workflow_node(workflow, at->node, &info);
    doc_object(doc, NULL);
    doc_text(doc, "id", at->name);
    doc_text(doc, "group", info.group);
    doc_text(doc, "description", cairn_workflow_description(workflow, at->node));
    doc_text(doc, "command", at->tasks > 1 ? NULL : info.command);
    doc->failed |= !info.command;
    doc_bool(doc, "barrier", info.barrier);
    if (fold)
        doc_count(doc, "tasks", at->tasks);
    if (p->states)
        doc_text(doc, "state", info.barrier ? NULL : picture_states[at->state]);
    if (p->states && fold)
        add_counts(doc, at);
    doc_array(doc, "needs");
}

static int print_document(struct picture *p, bool fold, uint64_t run)
{
    const struct cairn_workflow *workflow = p->workflow;
    struct edges edges = {0};
    struct doc doc;
    size_t next = 0;
    picture_each_edge(p, note_edge, &edges);
    doc_begin(&doc);
    doc_text(&doc, "workflow", cairn_workflow_name(workflow));
    if (p->states)
        doc_count(&doc, "run", run);
    doc_text(&doc, "description", cairn_workflow_description(workflow, UINT32_MAX));
    doc_count(&doc, "tasks", cairn_workflow_tasks(workflow));
    doc_count(&doc, "edges", fold ? edges.n : cairn_workflow_edges(workflow));
    doc_array(&doc, "nodes");
    for (uint32_t i = 0; i < p->n; i++) {
        add_node(&doc, p, fold, &p->at[i]);
        for (; next < edges.n && edges.at[next].to == i; next++)
            doc_text(&doc, NULL, p->at[edges.at[next].from].name);
        doc_end(&doc);
        doc_end(&doc);
    }
    doc.failed |= edges.failed;
    free(edges.at);
    return doc_print(&doc);
}

static int note_state(void *picture, const struct cairn_task_info *task)
{
    struct picture *p = picture;
    uint32_t node = cairn_workflow_find(p->workflow, task->id);
    if (node != UINT32_MAX) /* else an edit has taken it out */
        picture_note(p, node, picture_state(task_state_word(task)));
    return 0;
}

static int print_picture(const struct settings *settings, enum format format,
                         const struct cairn_workflow *workflow,
                         struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    struct picture picture;
    bool states = settings->given[OPT_STATES];
    int status = 0, rc = picture_make(&picture, workflow, settings->given[OPT_FOLD],
                                      NULL, states, &error);
    if (rc == 0 && states)
        rc = cairn_run_tasks(store, run, note_state, &picture, &error);
    if (rc != 0)
        status = report_error(&error);
    else if (format == FORMAT_JSON)
        status = print_document(&picture, settings->given[OPT_FOLD], run);
    else if (format == FORMAT_MERMAID)
        print_mermaid(&picture);
    else
        print_dot(&picture);
    picture_release(&picture);
    return status;
}

static int check_options(const struct settings *settings, enum format format)
{
    if (ui_json() && settings->given[OPT_FORMAT] && format != FORMAT_JSON)
        return report_usage("graph", "give only one of --json and --format %s",
                            settings->text[OPT_FORMAT]);
    if (settings->given[OPT_STATES] && settings->n_operands > 0)
        return report_usage("graph", "--states shows a run: give no FILE, or --run N");
    return 0;
}

int command_graph(struct settings *settings)
{
    enum format format = (enum format)settings->number[OPT_FORMAT];
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_error error = {0};
    int status = check_options(settings, format);
    if (status != 0)
        return status;
    /* A named file needs no store, not even a healthy one. */
    status = settings->n_operands > 0 ? 0 : store_if_any(settings, 0, &settings->store);
    if (status == 0)
        status =
            workflow_target(settings, "graph", 0, settings->store, &workflow, &options);
    if (status == 0 && settings->given[OPT_STATES] && options.run == 0)
        status = report_usage("graph", "--states shows a run, and there is none: give "
                                       "--run N, and no --param");
    if (status == 0 && cairn_workflow_compile(workflow, &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = print_picture(settings, ui_json() ? FORMAT_JSON : format, workflow,
                               settings->store, options.run);
    cairn_workflow_free(workflow);
    return status;
}
