/* SPDX-License-Identifier: MIT */
/* cairn explain: why one task would run or not, and how its attempts ended. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/told_values.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <string.h>

static int print_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    (void)context;
    attempt_print(attempt);
    return 0;
}

static int add_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    attempt_document(doc, attempt);
    doc_end(doc);
    return 0;
}

/* A task that was never started has no attempts: no error here. */
static int list_attempts(struct cairn_store *store, uint64_t run, const char *task,
                         int (*each)(void *, const struct cairn_attempt_info *),
                         void *context)
{
    struct cairn_error error = {0};
    int rc;
    if (!store || run == 0)
        return 0;
    rc = cairn_attempts(store, run, task, each, context, &error);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* Values may have many lines: all but the first are indented. */
static void print_value(const char *label, const char *value)
{
    out("    %s ", label);
    while (value) {
        const char *newline = strchr(value, '\n');
        int n = newline ? (int)(newline - value) : (int)strlen(value);
        out("%.*s\n", n, value);
        value = newline && newline[1] != '\0' ? newline + 1 : NULL;
        if (value)
            out("          ");
    }
}

static int print_change(void *context, const char *field, const char *old,
                        const char *now)
{
    uint32_t *n = context;
    if ((*n)++ == 0)
        out("  changed:\n");
    out("   %s\n", field);
    print_value("old:", old ? old : "(none)");
    print_value("new:", now ? now : "(none)");
    return ui_output_lost();
}

static int add_change(void *context, const char *field, const char *old,
                      const char *now)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_text(doc, "field", field);
    doc_text(doc, "old", old);
    doc_text(doc, "new", now);
    doc_end(doc);
    return 0;
}

static int list_changes(const struct cairn_plan *plan, uint32_t node,
                        int (*each)(void *, const char *, const char *, const char *),
                        void *context)
{
    struct cairn_error error = {0};
    return cairn_plan_changes(plan, node, each, context, &error) == 0
               ? 0
               : report_error(&error);
}

static int read_values(struct told_values *values, struct cairn_store *store,
                       uint64_t run, const char *task)
{
    *values = (struct told_values){.at = NULL};
    return store && run != 0 ? told_values_read(values, store, run, task) : 0;
}

/* What the id stands for: of a long value it has a part only. */
static void add_values_of_member(struct doc *doc, const struct cairn_workflow *workflow,
                                 uint32_t node)
{
    const char *key, *value;
    doc_object(doc, "foreach");
    for (uint32_t i = 0; cairn_workflow_value(workflow, node, i, &key, &value) == 0;
         i++)
        doc_text(doc, key, value);
    doc_end(doc);
}

static void print_values_of_member(const struct cairn_workflow *workflow,
                                   const struct cairn_decision *decision)
{
    const char *key, *value;
    for (uint32_t i = 0;
         cairn_workflow_value(workflow, decision->node, i, &key, &value) == 0; i++)
        if (!strstr(decision->task, value))
            out("  %s: %s\n", key, value);
}

static int print_document(const struct cairn_workflow *workflow,
                          const struct cairn_plan *plan, struct cairn_store *store,
                          const struct cairn_decision *decision, const char *cause)
{
    uint64_t run = cairn_plan_run(plan);
    struct told_values values = {.at = NULL};
    const char *text;
    struct doc doc;
    int status;
    doc_begin(&doc);
    doc_text(&doc, "task", decision->task);
    add_values_of_member(&doc, workflow, decision->node);
    doc_some(&doc, "run", run);
    doc_bool(&doc, "will_run", decision->will == CAIRN_WILL);
    doc_bool(&doc, "may_run", decision->will == CAIRN_MAY);
    doc_text(&doc, "reason", cairn_reason_name(decision->reason));
    doc_text(&doc, "cause", cause);
    doc_text(&doc, "detail", decision->detail);
    doc_text(&doc, "condition", cairn_plan_condition(plan, decision->node));
    doc_text(&doc, "command", cairn_plan_command(plan, decision->node));
    doc_array(&doc, "notices");
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        doc_text(&doc, NULL, text);
    doc_end(&doc);
    doc_array(&doc, "changes");
    status = list_changes(plan, decision->node, add_change, &doc);
    doc_end(&doc);
    if (status == 0)
        status = read_values(&values, store, run, decision->task);
    if (status == 0)
        told_values_document(&values, &doc, decision->task);
    doc_array(&doc, "attempts");
    if (status == 0)
        status = list_attempts(store, run, decision->task, add_attempt, &doc);
    told_values_release(&values);
    if (status == 0)
        status = report_plan_check(plan);
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    return doc_print(&doc);
}

static int print_text(const struct cairn_workflow *workflow,
                      const struct cairn_plan *plan, struct cairn_store *store,
                      const struct cairn_decision *decision, const char *cause)
{
    static const char *const verdicts[] = {"will not run", "will run", "may run"};
    uint64_t run = cairn_plan_run(plan);
    struct told_values values = {.at = NULL};
    uint32_t changes = 0;
    const char *text;
    int status;
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        say("cairn: %s", text);
    out("%s %s%s\n", decision->task, verdicts[decision->will],
        run == 0 ? " (a new run)" : "");
    print_values_of_member(workflow, decision);
    out("  reason: %s\n", decision->detail);
    if (cause)
        out("  cause: %s%s\n", cause, !decision->cause ? ", which failed" : "");
    if ((text = cairn_plan_condition(plan, decision->node)))
        out("  condition: %s\n", text);
    if ((text = cairn_plan_command(plan, decision->node)))
        print_lines("  command: ", text);
    status = list_changes(plan, decision->node, print_change, &changes);
    if (status == 0)
        status = list_attempts(store, run, decision->task, print_attempt, NULL);
    if (status == 0)
        status = read_values(&values, store, run, decision->task);
    if (status == 0 && values.n > 0)
        out("  values:\n");
    if (status == 0)
        told_values_print(&values, decision->task);
    told_values_release(&values);
    return status == 0 ? report_plan_check(plan) : status;
}

/* Which tasks failed, and the nodes that were visited or are on the stack. */
struct search {
    const struct cairn_workflow *workflow;
    bool *failed, *seen; /* by node */
    uint32_t *stack;
    size_t used;
};

static int note_failed(void *context, const struct cairn_task_info *task)
{
    struct search *search = context;
    uint32_t node = cairn_workflow_find(search->workflow, task->id);
    if (node != UINT32_MAX)
        search->failed[node] = task->outcome == CAIRN_FAILED;
    return 0;
}

/* Upwards from the node, every node once. UINT32_MAX: nothing above it failed. */
static uint32_t search_up(struct search *search, uint32_t node)
{
    struct cairn_node_info info = {0};
    search->stack[search->used++] = node;
    search->seen[node] = true;
    while (search->used > 0) {
        node = search->stack[--search->used];
        if (search->failed[node])
            return node;
        if (cairn_workflow_node(search->workflow, node, &info) != 0)
            continue;
        for (uint32_t i = info.needs; i-- > 0;) {
            uint32_t need = cairn_workflow_need(search->workflow, node, i);
            if (!search->seen[need])
                search->stack[search->used++] = need;
            search->seen[need] = true;
        }
    }
    return UINT32_MAX;
}

/* The task whose failure made the run skip this one; NULL if it is not known. */
static int find_failed_need(const struct cairn_workflow *workflow,
                            struct cairn_store *store, uint64_t run, uint32_t node,
                            const char **cause)
{
    size_t nodes = cairn_workflow_nodes(workflow);
    struct search search = {.workflow = workflow,
                            .failed = calloc(nodes, sizeof *search.failed),
                            .seen = calloc(nodes, sizeof *search.seen),
                            .stack = calloc(nodes, sizeof *search.stack)};
    struct cairn_node_info info = {.id = NULL};
    uint32_t need = UINT32_MAX;
    int rc = search.failed && search.seen && search.stack
                 ? cairn_run_tasks(store, run, note_failed, &search, NULL)
                 : CAIRN_ENOMEM;
    if (rc == 0)
        need = search_up(&search, node);
    if (need != UINT32_MAX)
        (void)cairn_workflow_node(workflow, need, &info);
    free(search.failed);
    free(search.seen);
    free(search.stack);
    *cause = info.id;
    return rc == CAIRN_ENOMEM
               ? report_failure(EXIT_SYSTEM, cairn_code_name(rc), "out of memory")
               : 0;
}

static int explain_task(struct settings *settings, struct cairn_store *store,
                        struct cairn_workflow *workflow,
                        struct cairn_run_options *options)
{
    const char *task = settings->operands[0];
    struct cairn_decision decision = {0};
    struct cairn_error error = {0};
    struct cairn_plan *plan;
    const char *cause;
    uint32_t node;
    int status = 0;
    /* Only now does the workflow have the members that the run goes on with. */
    if (cairn_plan(&plan, workflow, store, options, &error) != 0)
        return report_error(&error);
    node = cairn_workflow_find(workflow, task);
    if (node == UINT32_MAX) {
        cairn_plan_free(plan);
        return unknown_task(workflow, task);
    }
    cairn_plan_get(plan, node, &decision);
    cause = decision.cause;
    if (decision.reason == CAIRN_REASON_SKIPPED)
        status = find_failed_need(workflow, store, cairn_plan_run(plan), node, &cause);
    if (status == 0 && ui_json())
        status = print_document(workflow, plan, store, &decision, cause);
    else if (status == 0)
        status = print_text(workflow, plan, store, &decision, cause);
    cairn_plan_free(plan);
    return status;
}

int command_explain(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct secrets_given secrets;
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = store_if_any(settings, 1, &store);
    tuning_options(settings, &options);
    if (status == 0)
        status = workflow_target(settings, "explain", 1, store, &workflow, &options);
    if (status == 0)
        status = explain_task(settings, store, workflow, &options);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    secrets_given_release(&secrets);
    return status;
}
