/* SPDX-License-Identifier: MIT */
/* cairn plan: what would run, and why. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/execute.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/choose.h"
#include "cli/tasks/task_rows.h"
#include "cli/ui.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *will_name(enum cairn_will will)
{
    return will == CAIRN_WILL ? "will" : will == CAIRN_MAY ? "may" : "will_not";
}

/* What is shown of the decisions. */
struct plan_shown {
    bool all;      /* also of tasks that will not run */
    bool commands; /* and the command of each */
    int width;     /* columns of the names */
    const struct cairn_workflow *workflow;
    const struct cairn_run_options *options;
};

/* What `cairn run` would refuse the run for; heap or NULL. */
static char *secret_notice(const struct cairn_plan *plan,
                           const struct plan_shown *shown, size_t i)
{
    const char *name = secrets_not_given(shown->workflow, shown->options, i);
    char *text = NULL;
    bool runs = cairn_plan_will(plan) + cairn_plan_may(plan) > 0;
    if (!name || !runs ||
        asprintf(&text,
                 "the secret %s is not given, and without it nothing starts: set it in "
                 "the environment, or pass it with --secrets-fd",
                 name) < 0)
        return NULL;
    return text;
}

static int print_document(const struct cairn_plan *plan, const struct plan_shown *shown)
{
    struct cairn_decision decision = {0};
    struct doc doc;
    const char *text;
    char *notice;
    doc_begin(&doc);
    doc_text(&doc, "workflow", cairn_workflow_name(shown->workflow));
    doc_some(&doc, "run", cairn_plan_run(plan));
    doc_count(&doc, "tasks", cairn_plan_tasks(plan));
    doc_count(&doc, "will", cairn_plan_will(plan));
    doc_count(&doc, "may", cairn_plan_may(plan));
    doc_array(&doc, "notices");
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        doc_text(&doc, NULL, text);
    for (size_t i = 0; (notice = secret_notice(plan, shown, i)); i++) {
        doc_text(&doc, NULL, notice);
        free(notice);
    }
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
    int status = report_plan_check(plan);
    if (status != 0)
        doc_discard(&doc);
    return status == 0 ? doc_print(&doc) : status;
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

/* The group that is looked at: how many of its members are decided alike. */
struct plan_group {
    uint32_t first, end; /* end 0: none yet */
    uint32_t n[CAIRN_MAY + 1][CAIRN_REASON_LAST + 1];
    bool shown[CAIRN_MAY + 1][CAIRN_REASON_LAST + 1];
};

static void count_group(const struct cairn_plan *plan, uint32_t first,
                        struct plan_group *group)
{
    struct cairn_decision decision = {0}, next = {0};
    cairn_plan_get(plan, first, &decision);
    size_t n = strcspn(decision.task, "[");
    *group = (struct plan_group){.first = first, .end = first + 1};
    group->n[decision.will][decision.reason] = 1;
    for (; decision.task[n] == '[' && group->end < cairn_plan_tasks(plan);
         group->end++) {
        cairn_plan_get(plan, group->end, &next);
        if (strncmp(next.task, decision.task, n + 1) != 0)
            break;
        group->n[next.will][next.reason]++;
    }
}

/* One row: many of a group are one. */
struct plan_row {
    struct cairn_decision decision;
    uint32_t n;  /* tasks */
    uint32_t of; /* in their group */
    int name;    /* bytes of the task's id that are shown */
};

/* The row that begins with the i-th task; false: it is not shown, or is a part of an
 * earlier one. Called for one task after the other. */
static bool row_at(const struct cairn_plan *plan, uint32_t i,
                   const struct plan_shown *shown, struct plan_group *group,
                   struct plan_row *row)
{
    *row = (struct plan_row){.n = 1, .of = 1};
    cairn_plan_get(plan, i, &row->decision);
    const struct cairn_decision *d = &row->decision;
    if (i >= group->end)
        count_group(plan, i, group);
    if (d->will == CAIRN_WILL_NOT && !shown->all)
        return false;
    row->name = (int)strlen(d->task);
    if (shown->all || shown->commands)
        return true;
    uint32_t n = group->n[d->will][d->reason];
    if (n <= FOLDED_MEMBERS)
        return true;
    row->n = n;
    row->of = group->end - group->first;
    row->name = (int)strcspn(d->task, "[");
    bool again = group->shown[d->will][d->reason];
    group->shown[d->will][d->reason] = true;
    return !again;
}

static int name_columns(const struct cairn_plan *plan, const struct plan_shown *shown)
{
    struct plan_group group = {.end = 0};
    struct plan_row row;
    int most = 0;
    for (uint32_t i = 0; i < cairn_plan_tasks(plan); i++)
        if (row_at(plan, i, shown, &group, &row))
            most = name_column(most, row.decision.task, (size_t)row.name);
    return most;
}

static void print_row(const struct cairn_plan *plan, uint32_t i,
                      const struct plan_row *row, const struct plan_shown *shown)
{
    int gap = name_gap(shown->width, row->decision.task, (size_t)row->name);
    out("%s  %.*s%*s  ", will_words[row->decision.will], row->name, row->decision.task,
        gap, "");
    if (row->n > 1 && row->n < row->of)
        out("%u of %u tasks, the first (%s): ", row->n, row->of,
            row->decision.task + row->name);
    else if (row->n > 1)
        out("%u tasks, the first: ", row->n);
    out("%s\n", row->decision.detail);
    if (shown->commands)
        print_command(plan, i);
}

static int print_text(const struct cairn_plan *plan, struct plan_shown *shown)
{
    uint32_t will = cairn_plan_will(plan), may = cairn_plan_may(plan);
    uint32_t tasks = cairn_plan_tasks(plan);
    const char *text, *workflow = cairn_workflow_name(shown->workflow);
    char *notice;
    struct plan_group group = {.end = 0};
    struct plan_row row;
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        say("cairn: %s", text);
    shown->width = name_columns(plan, shown);
    for (uint32_t i = 0; i < tasks && !ui_output_lost(); i++)
        if (row_at(plan, i, shown, &group, &row))
            print_row(plan, i, &row, shown);
    out_flush();
    if (cairn_plan_run(plan) != 0)
        say("%s, run %llu: %u of %u task%s will run", workflow,
            (unsigned long long)cairn_plan_run(plan), will, tasks, plural(tasks));
    else
        say("%s, a new run: %u of %u task%s will run", workflow, will, tasks,
            plural(tasks));
    if (may > 0)
        say("%u more may run, depending on what happens", may);
    for (size_t i = 0; (notice = secret_notice(plan, shown, i)); i++) {
        ui_warn("%s", notice);
        free(notice);
    }
    return report_plan_check(plan);
}

/* Who gave no FILE may have thought of a new run. */
static void say_what_begins(const struct settings *settings, struct cairn_store *store,
                            const struct cairn_plan *plan)
{
    struct cairn_run_info run = {0};
    if (ui_json() || settings->given[OPT_RUN] || settings->given[OPT_FROM] ||
        settings->n_operands > 0 || cairn_plan_run(plan) == 0 ||
        cairn_run_get(store, cairn_plan_run(plan), &run, NULL) != 0)
        return;
    say_elsewhere(store, &run);
    if (settings->given[OPT_RERUN] || run.state != CAIRN_RUN_COMPLETED || run.live ||
        access(run.file, F_OK) != 0)
        return;
    char *file = file_operand(run.file);
    bool some = cairn_plan_will(plan) + cairn_plan_may(plan) > 0;
    say("run %llu is completed: %s`cairn run%s` begins a new run",
        (unsigned long long)run.run, some ? "`cairn resume` runs these, " : "",
        file ? file : "");
    free(file);
}

/* Who gave FILE may have thought of what has changed since its last run. */
static void say_what_resumes(const struct settings *settings, struct cairn_store *store,
                             const struct cairn_plan *plan)
{
    struct cairn_run_info run = {0};
    uint64_t number = cairn_plan_completed(plan);
    if (ui_json() || number == 0 || !settings->workflow_file ||
        settings->n_operands != 1 || cairn_run_get(store, number, &run, NULL) != 0 ||
        run.live)
        return;
    char *file = realpath(settings->workflow_file, NULL);
    bool same = file && strcmp(file, run.file) == 0; /* not one of the same name */
    free(file);
    if (!same)
        return;
    say("run %llu of this file is completed: `cairn resume %llu` runs only what has "
        "changed (`cairn plan --run %llu`)",
        (unsigned long long)number, (unsigned long long)number,
        (unsigned long long)number);
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
    if (options->again && (settings->given[OPT_FRESH] || settings->given[OPT_FROM]))
        return report_usage("plan", "--rerun goes on with a run: leave out --%s",
                            settings->given[OPT_FRESH] ? "fresh" : "from");
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
    struct plan_shown shown = {.all = settings->given[OPT_ALL],
                               .commands = settings->given[OPT_COMMANDS]};
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
        shown.workflow = workflow;
        shown.options = &options;
        print_warnings(workflow);
        status = ui_json() ? print_document(plan, &shown) : print_text(plan, &shown);
        say_what_begins(settings, store, plan);
        say_what_resumes(settings, store, plan);
    }
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    secrets_given_release(&secrets);
    return status;
}
