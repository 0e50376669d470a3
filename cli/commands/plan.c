/* SPDX-License-Identifier: MIT */
/* cairn validate, plan, explain: what would run, and why. */
#include "cli/commands/commands.h"
#include "cli/commands/run.h"
#include "cli/commands/tasks.h"
#include "cli/describe.h"
#include "cli/execute.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cairn validate: whether a workflow file would run, and how large it is. */

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

static int print_workflow_document(const struct cairn_workflow *workflow,
                                   const char *file, bool undo)
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

static int print_workflow(const struct cairn_workflow *workflow, const char *file,
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
        status = ui_json() ? print_workflow_document(workflow, file,
                                                     settings->given[OPT_UNDO])
                           : print_workflow(workflow, file, settings->given[OPT_UNDO]);
    cairn_workflow_free(workflow);
    return status;
}

/* cairn plan: what would run, and why. */

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

static int print_plan_document(const struct cairn_plan *plan,
                               const struct plan_shown *shown)
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
            doc_text(&doc, "description",
                     cairn_workflow_description(shown->workflow, i));
        }
        doc_end(&doc);
    }
    return doc_close(&doc, report_plan_check(plan));
}

static void print_command(const struct cairn_plan *plan, uint32_t node,
                          const struct cairn_workflow *workflow)
{
    const char *description = cairn_workflow_description(workflow, node);
    const char *condition = cairn_plan_condition(plan, node);
    const char *command = cairn_plan_command(plan, node);
    if (description)
        print_lines("        # ", description);
    if (condition)
        out("        if %s\n", condition);
    if (command)
        print_lines("        ", command);
}

static const char *word_of(const struct cairn_decision *decision)
{
    static const char *const words[] = {"keep", "run ", "may "};
    return is_taken_over(decision)                    ? "take"
           : decision->reason == CAIRN_REASON_UNKNOWN ? "ask "
                                                      : words[decision->will];
}

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
    bool decided = d->will == CAIRN_WILL_NOT && d->reason != CAIRN_REASON_UNKNOWN;
    if (decided && !shown->all)
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
    out("%s  %.*s%*s  ", word_of(&row->decision), row->name, row->decision.task, gap,
        "");
    if (row->n > 1 && row->n < row->of)
        out("%u of %u tasks, the first (%s): ", row->n, row->of,
            row->decision.task + row->name);
    else if (row->n > 1)
        out("%u tasks, the first: ", row->n);
    out("%s\n", row->decision.detail);
    if (shown->commands)
        print_command(plan, i, shown->workflow);
}

static int print_plan(const struct cairn_plan *plan, struct plan_shown *shown)
{
    uint32_t will = cairn_plan_will(plan), may = cairn_plan_may(plan);
    uint32_t tasks = cairn_plan_tasks(plan);
    const char *text, *workflow = cairn_workflow_name(shown->workflow);
    uint32_t taken = 0;
    char *notice, more[48] = "";
    struct plan_group group = {.end = 0};
    struct plan_row row;
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        say("cairn: %s", text);
    shown->width = name_columns(plan, shown);
    for (uint32_t i = 0; i < tasks && !ui_output_lost(); i++) {
        if (row_at(plan, i, shown, &group, &row))
            print_row(plan, i, &row, shown);
        taken += is_taken_over(&row.decision);
    }
    out_flush();
    if (taken > 0)
        snprintf(more, sizeof more, ", %u %s taken over", taken,
                 taken == 1 ? "is" : "are");
    if (cairn_plan_run(plan) != 0)
        say("%s, run %llu: %u of %u task%s will run%s", workflow,
            (unsigned long long)cairn_plan_run(plan), will - taken, tasks,
            plural(tasks), more);
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
    say("run %llu is completed: %s`cairn run%s --fresh` begins a new run",
        (unsigned long long)run.run, some ? "`cairn resume` runs these, " : "",
        file ? file : "");
    free(file);
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
        return report_usage("plan", "--rerun continues a run: leave out --%s",
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
        status =
            ui_json() ? print_plan_document(plan, &shown) : print_plan(plan, &shown);
        say_what_begins(settings, store, plan);
    }
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    store_close(store);
    secrets_given_release(&secrets);
    return status;
}

/* cairn explain: why one task would run or not, and how its attempts ended. */

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
    return report_code(cairn_plan_changes(plan, node, each, context, &error), &error);
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

/* What a task of a live run waits for, if others have it. */
struct waits_shown {
    const char *task;
    struct doc *doc; /* NULL: as text */
};

static int show_waits(void *context, const struct cairn_waiting_info *info)
{
    const struct waits_shown *shown = context;
    if (strcmp(info->task, shown->task) != 0)
        return 0;
    bool pool = info->waits_for == CAIRN_WAITS_POOL;
    const char *holder = info->held_by ? info->held_by : "other tasks of this run";
    if (shown->doc && (pool || info->waits_for == CAIRN_WAITS_MEMORY)) {
        doc_object(shown->doc, "waits");
        doc_text(shown->doc, "pool", pool ? info->text : NULL);
        doc_text(shown->doc, "held_by", info->held_by);
        doc_end(shown->doc);
    } else if (!shown->doc && pool) {
        out("  it waits for a place in pool %s: held by %s\n", info->text, holder);
    } else if (!shown->doc && info->waits_for == CAIRN_WAITS_MEMORY) {
        out("  it waits for memory that other tasks of this run have\n");
    }
    return 1;
}

static int list_waits(struct cairn_store *store, uint64_t run, const char *task,
                      struct doc *doc)
{
    struct waits_shown shown = {task, doc};
    struct cairn_error error = {0};
    if (!store || !run || cairn_waiting(store, run, show_waits, &shown, &error) == 0)
        return 0;
    return report_error(&error);
}

static int print_explanation_document(const struct cairn_workflow *workflow,
                                      const struct cairn_plan *plan,
                                      struct cairn_store *store,
                                      const struct cairn_decision *decision,
                                      const char *cause)
{
    uint64_t run = cairn_plan_run(plan);
    struct told_values values = {.at = NULL};
    const char *text;
    struct doc doc;
    int status;
    doc_begin(&doc);
    doc_text(&doc, "task", decision->task);
    doc_text(&doc, "description", cairn_workflow_description(workflow, decision->node));
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
        status = list_waits(store, run, decision->task, &doc);
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
    return doc_close(&doc, status);
}

static int print_explanation(const struct cairn_workflow *workflow,
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
    out("%s %s%s\n", decision->task,
        is_taken_over(decision) ? "is taken over" : verdicts[decision->will],
        run == 0 ? " (a new run)" : "");
    if ((text = cairn_workflow_description(workflow, decision->node)))
        print_lines("  description: ", text);
    print_values_of_member(workflow, decision);
    out("  reason: %s\n", decision->detail);
    if (cause)
        out("  cause: %s%s\n", cause, !decision->cause ? ", which failed" : "");
    status = list_waits(store, run, decision->task, NULL);
    if (status != 0)
        return status;
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
    return rc == CAIRN_ENOMEM ? report_nomem() : 0;
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
        status = print_explanation_document(workflow, plan, store, &decision, cause);
    else if (status == 0)
        status = print_explanation(workflow, plan, store, &decision, cause);
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
    store_close(store);
    secrets_given_release(&secrets);
    return status;
}
