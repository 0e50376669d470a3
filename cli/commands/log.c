/* SPDX-License-Identifier: MIT */
/* cairn log: what tasks wrote, or the attempts of those that failed. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/log_many.h"
#include "cli/tasks/log_one.h"
#include "cli/ui.h"

static int print_log_document(struct log *log)
{
    struct doc doc = {0};
    doc_begin(&doc);
    doc_count(&doc, "run", log->run.run);
    int status = log_document(log, &doc);
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    return doc_print(&doc);
}

struct failures {
    struct log *log;
    struct doc *doc; /* with --json */
    struct cairn_error error;
    uint32_t tasks;
};

static int print_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct failures *failures = context;
    if (!failures->doc) {
        attempt_print(attempt);
        return 0;
    }
    doc_object(failures->doc, NULL);
    attempt_document(failures->doc, attempt);
    doc_end(failures->doc);
    return 0;
}

static int each_task(void *context, const struct cairn_task_info *task)
{
    struct failures *failures = context;
    if (task->outcome != CAIRN_FAILED && task->failed_undo == 0)
        return 0;
    failures->tasks++;
    if (failures->doc) {
        doc_object(failures->doc, NULL);
        doc_text(failures->doc, "task", task->id);
        doc_array(failures->doc, "attempts");
    } else {
        out("%s\n", task->id);
    }
    if (cairn_attempts(failures->log->store, failures->log->run.run, task->id,
                       print_attempt, failures, &failures->error) != 0)
        return 1;
    if (failures->doc) {
        doc_end(failures->doc);
        doc_end(failures->doc);
    }
    return 0;
}

static int list_failures(struct log *log)
{
    struct doc doc = {0};
    struct failures failures = {.log = log, .doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    if (failures.doc) {
        doc_begin(&doc);
        doc_count(&doc, "run", log->run.run);
        doc_array(&doc, "failed_tasks");
    }
    if (cairn_run_tasks(log->store, log->run.run, each_task, &failures, &error) != 0 ||
        failures.error.code != 0) {
        if (failures.doc)
            doc_discard(&doc);
        return report_error(error.code != 0 ? &error : &failures.error);
    }
    if (failures.doc)
        return doc_print(&doc);
    if (failures.tasks == 0)
        say("no task of run %llu has failed; `cairn log TASK` prints the output of any",
            (unsigned long long)log->run.run);
    return 0;
}

static int check_options(const struct settings *settings)
{
    static const enum option_id with_task[] = {OPT_ATTEMPT, OPT_STDOUT, OPT_STDERR,
                                               OPT_FOLLOW, OPT_TIMESTAMPS};
    bool some = settings->n_operands > 0 || settings->given[OPT_ALL_LOGS] ||
                settings->given[OPT_FAILED];
    for (size_t i = 0; !some && i < sizeof with_task / sizeof with_task[0]; i++) {
        if (settings->given[with_task[i]])
            return report_usage("log", "--%s needs a TASK",
                                option_get(with_task[i])->name);
    }
    if (settings->given[OPT_FOLLOW] && ui_json())
        return report_usage("log", "give only one of --follow and --json");
    if (settings->given[OPT_ALL_LOGS] &&
        (settings->n_operands > 0 || settings->given[OPT_FAILED]))
        return report_usage("log", "--all is every task: give no TASK and no --failed");
    return 0;
}

static int print_some(struct log *log)
{
    const struct settings *settings = log->settings;
    bool follow = settings->given[OPT_FOLLOW];
    if (!log_is_many(log))
        return !log->task  ? list_failures(log)
               : ui_json() ? print_log_document(log)
                           : log_print(log, follow);
    if (settings->given[OPT_ATTEMPT])
        return report_usage("log", "--attempt is about one TASK");
    return log_many(log);
}

/* Trouble before it is told on the terminal itself. */
static int print_paged(struct log *log)
{
    if (!log->one_place)
        return print_some(log);
    pager_start();
    return pager_end(print_some(log));
}

int command_log(struct settings *settings)
{
    bool *given = settings->given;
    struct log log = {.settings = settings, .task = settings->operands[0]};
    int status = check_options(settings);
    log.attempt = (uint32_t)settings->number[OPT_ATTEMPT];
    log.wanted[1] = given[OPT_STDOUT] || !given[OPT_STDERR];
    log.wanted[2] = given[OPT_STDERR] || !given[OPT_STDOUT];
    log.timestamps = given[OPT_TIMESTAMPS];
    log.terminal = ui_terminal(1);
    log.color = ui_color_stdout(COLOR_AUTO);
    log.one_place =
        ui_out_for_people() && ui_terminal(2) && !given[OPT_FOLLOW] && !ui_json();
    if (status == 0)
        status = store_for_reading(settings, &log.store);
    if (status == 0) {
        run_among_tasks(settings, log.store);
        log.task = settings->operands[0];
    }
    if (status == 0)
        status = run_option(settings, log.store, &log.run);
    if (status == 0)
        status = print_paged(&log);
    cairn_store_close(log.store);
    return status;
}
