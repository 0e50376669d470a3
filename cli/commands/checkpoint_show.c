/* SPDX-License-Identifier: MIT */
/* cairn checkpoint show: one checkpoint, and with --tasks its outcomes. */
#include "cli/commands/store_commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/sessions/checkpoint_state.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/tasks/task_rows.h"
#include "cli/tasks/told_values.h"
#include "cli/ui.h"

#include <string.h>

/* Tasks, with what they had told by then. */
struct task_values {
    struct told_values values;
    struct doc *doc;       /* with --json */
    struct task_rows rows; /* without */
};

static int keep_task(void *context, const char *task, enum cairn_outcome outcome,
                     uint32_t attempts)
{
    struct task_values *with = context;
    struct cairn_task_info info = {
        .id = task, .outcome = outcome, .attempts = attempts, .attempts_ms = -1};
    return !task_rows_add(&with->rows, &info);
}

static void print_task(struct task_values *with, const struct cairn_task_info *task,
                       int width)
{
    out("  %-11s  %s", cairn_outcome_name(task->outcome), task->id);
    if (task->attempts > 1)
        out("%*s  attempt %u", name_gap(width, task->id, strlen(task->id)), "",
            task->attempts);
    out("\n");
    told_values_print(&with->values, task->id);
}

/* As in `cairn status --tasks`. */
static void print_tasks(const struct settings *settings, struct task_values *with,
                        const char *id)
{
    bool folded = false;
    int width = task_rows_width(&with->rows, !settings->given[OPT_ALL_TASKS]);
    for (size_t i = 0, n; i < with->rows.n && !ui_output_lost(); i += n) {
        n = settings->given[OPT_ALL_TASKS] ? 1 : task_rows_group(&with->rows, i);
        if (n > FOLDED_MEMBERS) {
            folded = true;
            task_rows_print_group(&with->rows, i, n);
            continue;
        }
        n = 1;
        print_task(with, &with->rows.at[i].task, width);
    }
    if (folded)
        out("  every task: cairn checkpoint show %s --tasks --all%s\n", id,
            store_hint(settings));
}

static int add_task(void *context, const char *task, enum cairn_outcome outcome,
                    uint32_t attempts)
{
    struct task_values *with = context;
    struct doc *doc = with->doc;
    doc_object(doc, NULL);
    doc_text(doc, "task", task);
    doc_text(doc, "outcome", cairn_outcome_name(outcome));
    doc_count(doc, "attempts", attempts);
    told_values_document(&with->values, doc, task);
    doc_end(doc);
    return 0;
}

static int list_tasks(const struct settings *settings, struct cairn_store *store,
                      const char *id, struct doc *doc)
{
    struct task_values with = {.doc = doc};
    struct cairn_error error = {0};
    int rc = cairn_checkpoint_values(store, id, told_values_add, &with.values, &error);
    if (rc == CAIRN_EDAMAGED) {
        ui_error(error.text);
        out_incomplete();
        rc = 0;
    }
    if (rc == 0)
        rc = cairn_checkpoint_tasks(store, id, doc ? add_task : keep_task, &with,
                                    &error);
    bool failed = with.values.failed || with.rows.failed;
    if (rc == 0 && !failed && !doc)
        print_tasks(settings, &with, id);
    told_values_release(&with.values);
    task_rows_release(&with.rows);
    if (rc == 0 && failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    return rc == 0 ? 0 : report_error(&error);
}

static void print_checkpoint(const struct cairn_checkpoint_info *info)
{
    char text[FORMAT_MAX];
    bool debug = info->namespace_id == CAIRN_NAMESPACE_DEBUG;
    out("%s  %s%s%s\n", info->id, info->full ? "full" : "delta",
        !info->head ? ""
        : debug     ? ", newest of its branch"
                    : ", newest of its run",
        checkpoint_flaw(info));
    if (!debug)
        out("workflow  %s, run %llu\n", info->workflow, (unsigned long long)info->run);
    else if (info->session != 0)
        out("session   %s, branch %s\n", info->session_name, info->branch_name);
    else
        out("session   unknown, branch number %llu\n",
            (unsigned long long)info->branch);
    out("time      %s\n", format_local(text, info->time_ns));
    out("position  %llu\n", (unsigned long long)info->position);
    if (info->parent != 0)
        out("parent    %s:%llu\n", debug ? "debug" : "workflow",
            (unsigned long long)info->parent);
    out("record    %s", format_bytes(text, info->bytes));
    if (!info->full)
        out(", %u change%s", info->changes, info->changes == 1 ? "" : "s");
    out("\nsha256    %s\n", info->digest);
    if (info->counted)
        out("tasks     %u: %u completed, %u failed, %u skipped, %u cancelled\n",
            info->total, info->completed, info->failed, info->skipped, info->cancelled);
}

/* What a checkpoint of a session adds. */
static int print_state(struct cairn_store *store,
                       const struct cairn_checkpoint_info *info)
{
    return is_session_checkpoint(info->id) ? checkpoint_state_print(store, info->id)
                                           : 0;
}

static int show_document(struct settings *settings, struct cairn_store *store,
                         const struct cairn_checkpoint_info *info)
{
    struct doc doc = {0};
    doc_begin(&doc);
    checkpoint_document(&doc, info);
    int status = annotations_document(&doc, store, info->id);
    if (status == 0 && is_session_checkpoint(info->id))
        status = checkpoint_state_document(&doc, store, info->id);
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    if (settings->given[OPT_TASKS] || settings->given[OPT_ALL_TASKS]) {
        doc_array(&doc, "tasks");
        status = list_tasks(settings, store, info->id, &doc);
        if (status != 0) {
            doc_discard(&doc);
            return status;
        }
    }
    return doc_print(&doc);
}

int command_checkpoint_show(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = store_for_reading(settings, &store);
    if (status == 0)
        status = checkpoint_operand(settings, store, 0);
    if (status == 0 &&
        cairn_checkpoint_get(store, settings->operands[0], &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = show_document(settings, store, &info);
    else if (status == 0) {
        print_checkpoint(&info);
        status = annotations_print(store, info.id);
        if (status == 0)
            status = print_state(store, &info);
        if (status == 0 &&
            (settings->given[OPT_TASKS] || settings->given[OPT_ALL_TASKS]))
            status = list_tasks(settings, store, info.id, NULL);
    }
    cairn_store_close(store);
    return status;
}
