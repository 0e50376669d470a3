/* SPDX-License-Identifier: MIT
 *
 * cairn explain: why one task would run or not, and how its attempts ended. */
#include "attempts.h"
#include "command.h"
#include "execute.h"
#include "open.h"
#include "ui.h"

#include <string.h>

static int unknown_task(const struct cairn_workflow *workflow, const char *task)
{
    uint32_t tasks = cairn_workflow_tasks(workflow);
    struct cairn_node_info info = {0};
    struct nearest nearest;

    nearest_init(&nearest, task);
    for (uint32_t i = 0; i < tasks; i++) {
        if (cairn_workflow_node(workflow, i, &info) != 0)
            continue;
        if (strcmp(info.group, task) == 0)
            return ui_error(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                            "%s is a group of tasks: name one, such as %s", task,
                            info.id);
        nearest_try(&nearest, info.id);
    }
    return ui_error(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                    "there is no task %s in %s%s%s%s", task,
                    cairn_workflow_name(workflow),
                    nearest.best ? ": did you mean " : "",
                    nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

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
    int result;

    if (store == NULL || run == 0)
        return 0;
    result = cairn_attempts(store, run, task, each, context, &error);
    return result == 0 || result == CAIRN_ENOTFOUND ? 0 : ui_fail(&error);
}

static int print_document(struct cairn_store *store, uint64_t run,
                          const struct cairn_decision *decision)
{
    struct doc doc;
    int status;

    doc_begin(&doc);
    doc_text(&doc, "task", decision->task);
    doc_some(&doc, "run", run);
    doc_bool(&doc, "will_run", decision->will == CAIRN_WILL);
    doc_bool(&doc, "may_run", decision->will == CAIRN_MAY);
    doc_text(&doc, "reason", cairn_reason_name(decision->reason));
    doc_text(&doc, "cause", decision->cause);
    doc_text(&doc, "detail", decision->detail);
    doc_array(&doc, "attempts");
    status = list_attempts(store, run, decision->task, add_attempt, &doc);
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    return doc_print(&doc);
}

static int print_text(struct cairn_store *store, uint64_t run,
                      const struct cairn_decision *decision)
{
    static const char *const verdicts[] = {"will not run", "will run", "may run"};

    out("%s %s%s\n", decision->task, verdicts[decision->will],
        run == 0 ? " (a new run)" : "");
    out("  reason: %s: %s\n", cairn_reason_name(decision->reason), decision->detail);
    if (decision->cause != NULL)
        out("  cause: %s\n", decision->cause);
    return list_attempts(store, run, decision->task, print_attempt, NULL);
}

static int explain(struct settings *settings, struct cairn_store *store,
                   struct cairn_workflow *workflow, struct cairn_run_options *options)
{
    const char *task = settings->operands[0];
    struct cairn_decision decision = {0};
    struct cairn_error error = {0};
    struct cairn_plan *plan;
    uint32_t node;
    int status;

    if (cairn_workflow_compile(workflow, &error) != 0)
        return ui_fail(&error);
    node = cairn_workflow_find(workflow, task);
    if (node == UINT32_MAX)
        return unknown_task(workflow, task);
    if (cairn_plan(&plan, workflow, store, options, &error) != 0)
        return ui_fail(&error);
    cairn_plan_get(plan, node, &decision);
    if (ui_json())
        status = print_document(store, cairn_plan_run(plan), &decision);
    else
        status = print_text(store, cairn_plan_run(plan), &decision);
    cairn_plan_free(plan);
    return status;
}

int command_explain(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    int status = store_if_any(settings, &store);

    tuning_options(settings, &options);
    if (status == 0)
        status = workflow_target(settings, "explain", 1, store, &workflow, &options);
    if (status == 0)
        status = explain(settings, store, workflow, &options);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    return status;
}
