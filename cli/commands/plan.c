/* SPDX-License-Identifier: MIT */
/* cairn plan: what would run, and why. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/execute.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/secrets.h"
#include "cli/tasks/choose.h"
#include "cli/tasks/task_rows.h"
#include "cli/ui.h"

#include <string.h>

static const char *will_name(enum cairn_will will)
{
    return will == CAIRN_WILL ? "will" : will == CAIRN_MAY ? "may" : "will_not";
}

/* What is shown of the decisions. */
struct plan_shown {
    bool all;      /* also of tasks that will not run */
    bool commands; /* and the command of each */
};

static int print_document(const struct cairn_plan *plan, const char *workflow,
                          const struct plan_shown *shown)
{
    struct cairn_decision decision = {0};
    struct doc doc;
    const char *text;
    doc_begin(&doc);
    doc_text(&doc, "workflow", workflow);
    doc_some(&doc, "run", cairn_plan_run(plan));
    doc_count(&doc, "tasks", cairn_plan_tasks(plan));
    doc_count(&doc, "will", cairn_plan_will(plan));
    doc_count(&doc, "may", cairn_plan_may(plan));
    doc_array(&doc, "notices");
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        doc_text(&doc, NULL, text);
    doc_end(&doc);
    doc_array(&doc, "decisions");
    for (uint32_t i = 0; i < cairn_plan_tasks(plan); i++) {
        cairn_plan_get(plan, i, &decision);
        if (decision.will == CAIRN_WILL_NOT && !shown->all)
            continue;
        doc_object(&doc, NULL);
        doc_text(&doc, "task", decision.task);
        doc_text(&doc, "will", will_name(decision.will));
        doc_text(&doc, "reason", cairn_reason_name(decision.reason));
        doc_text(&doc, "cause", decision.cause);
        doc_text(&doc, "detail", decision.detail);
        if (shown->commands) {
            doc_text(&doc, "condition", cairn_plan_condition(plan, i));
            doc_text(&doc, "command", cairn_plan_command(plan, i));
        }
        doc_end(&doc);
    }
    return doc_print(&doc);
}

static void print_command(const struct cairn_plan *plan, uint32_t node)
{
    const char *condition = cairn_plan_condition(plan, node);
    const char *command = cairn_plan_command(plan, node);
    if (condition)
        out("        if %s\n", condition);
    if (command)
        print_lines("        ", command);
}

static const char *const will_words[] = {"keep", "run ", "may "};

/* How many members of one group, from this one on, are decided alike. */
static uint32_t count_alike(const struct cairn_plan *plan, uint32_t first,
                            const struct cairn_decision *decision)
{
    size_t n = strcspn(decision->task, "[");
    uint32_t i = first + 1;
    struct cairn_decision next = {0};
    for (; decision->task[n] == '[' && i < cairn_plan_tasks(plan); i++) {
        cairn_plan_get(plan, i, &next);
        if (strncmp(next.task, decision->task, n + 1) != 0 ||
            next.will != decision->will || next.reason != decision->reason)
            break;
    }
    return i - first;
}

/* Many of a group are one row. Returns how many tasks that were. */
static uint32_t print_row(const struct cairn_plan *plan, uint32_t i,
                          const struct plan_shown *shown)
{
    struct cairn_decision decision = {0};
    cairn_plan_get(plan, i, &decision);
    if (decision.will == CAIRN_WILL_NOT && !shown->all)
        return 1;
    uint32_t n = shown->all || shown->commands ? 1 : count_alike(plan, i, &decision);
    if (n > FOLDED_MEMBERS) {
        out("%s  %.*s  %u tasks, the first: %s\n", will_words[decision.will],
            (int)strcspn(decision.task, "["), decision.task, n, decision.detail);
        return n;
    }
    out("%s  %s  %s\n", will_words[decision.will], decision.task, decision.detail);
    if (shown->commands)
        print_command(plan, i);
    return 1;
}

static int print_text(const struct cairn_plan *plan, const char *workflow,
                      const struct plan_shown *shown)
{
    uint32_t will = cairn_plan_will(plan), may = cairn_plan_may(plan);
    uint32_t tasks = cairn_plan_tasks(plan);
    const char *text;
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        say("cairn: %s", text);
    for (uint32_t i = 0; i < tasks && !ui_output_lost();)
        i += print_row(plan, i, shown);
    out_flush();
    if (cairn_plan_run(plan) != 0)
        say("%s, run %llu: %u of %u task%s will run", workflow,
            (unsigned long long)cairn_plan_run(plan), will, tasks, plural(tasks));
    else
        say("%s, a new run: %u of %u task%s will run", workflow, will, tasks,
            plural(tasks));
    if (may > 0)
        say("%u more may run, depending on what happens", may);
    return 0;
}

static int check_rerun(const struct settings *settings,
                       struct cairn_run_options *options)
{
    options->again = settings->given[OPT_RERUN];
    options->only = settings->given[OPT_ONLY];
    if (options->again && options->n_tasks == 0)
        return report_usage("plan", "--rerun needs a TASK");
    if (options->again && settings->n_operands > 0)
        return report_usage("plan", "--rerun is about a run: the newest, or --run N");
    if (options->only && !options->again)
        return report_usage("plan", "--only needs --rerun");
    return 0;
}

int command_plan(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_plan *plan = NULL;
    struct cairn_error error = {0};
    struct secrets_given secrets;
    struct plan_shown shown = {settings->given[OPT_ALL], settings->given[OPT_COMMANDS]};
    int status = secrets_given_read(settings, &secrets, &options);
    if (status == 0)
        status = store_if_any(settings, 0, &store);
    tuning_options(settings, &options);
    choose_after_file(settings, false, &options);
    if (status == 0)
        status = choose_check_options(settings);
    if (status == 0)
        status = check_rerun(settings, &options);
    if (status == 0)
        status = workflow_target(settings, "plan", 0, store, &workflow, &options);
    if (status == 0)
        status = choose_check(workflow, &options);
    if (status == 0 && cairn_plan(&plan, workflow, store, &options, &error) != 0)
        status = report_error(&error);
    if (status == 0) {
        print_warnings(workflow);
        status = ui_json() ? print_document(plan, cairn_workflow_name(workflow), &shown)
                           : print_text(plan, cairn_workflow_name(workflow), &shown);
    }
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    secrets_given_release(&secrets);
    return status;
}
