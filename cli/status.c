/* SPDX-License-Identifier: MIT
 *
 * cairn status: how a run stands; --can-resume: whether it could go on. */
#include "command.h"
#include "describe.h"
#include "format.h"
#include "open.h"
#include "ui.h"

#include <string.h>

#define FAILED_SHOWN 20

struct listing {
    const struct settings *settings;
    struct doc *doc; /* with --json */
    uint64_t run;
    uint32_t failed;
    bool every;
};

static const char *task_state(const struct cairn_task_info *task)
{
    return task->running       ? "running"
           : task->interrupted ? "interrupted"
                               : cairn_outcome_name(task->outcome);
}

static const char *task_time(char text[FORMAT_MAX], const struct cairn_task_info *task)
{
    int64_t end = task->running ? wall_ns() : task->ended_ns;

    text[0] = '\0';
    if (task->started_ns != 0 && end != 0)
        format_duration(text, (end - task->started_ns) / 1000000);
    return text;
}

static void print_failed(struct listing *listing, const struct cairn_task_info *task)
{
    char how[FORMAT_MAX], took[FORMAT_MAX];
    char *word = shell_word(task->id);
    const char *text = task->text != NULL ? task->text : "";

    if (listing->failed++ == 0)
        out("failed:\n");
    format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    task_time(took, task);
    if (listing->failed <= FAILED_SHOWN && word != NULL)
        out("  %s%s%s%s%s%s%s\n    see: cairn log %s --run %llu%s\n", task->id,
            how[0] ? "  " : "", how, took[0] ? "  " : "", took, text[0] ? "  " : "",
            text, word, (unsigned long long)listing->run,
            store_hint(listing->settings));
    free(word);
}

static void print_task(const struct cairn_task_info *task)
{
    char how[FORMAT_MAX] = "", took[FORMAT_MAX], attempts[32] = "";

    if (task->outcome == CAIRN_FAILED)
        format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    if (task->attempts > 1)
        snprintf(attempts, sizeof attempts, "  %u attempts", task->attempts);
    task_time(took, task);
    out("  %-11s  %s%s%s%s%s%s%s%s\n", task_state(task), task->id, took[0] ? "  " : "",
        took, how[0] ? "  " : "", how, attempts, task->text != NULL ? "  " : "",
        task->text != NULL ? task->text : "");
}

static int each_task_text(void *context, const struct cairn_task_info *task)
{
    struct listing *listing = context;

    if (listing->every)
        print_task(task);
    else if (task->outcome == CAIRN_FAILED)
        print_failed(listing, task);
    return ui_output_lost();
}

static int each_task_document(void *context, const struct cairn_task_info *task)
{
    struct listing *listing = context;
    struct doc *doc = listing->doc;

    if (!listing->every && task->outcome != CAIRN_FAILED)
        return 0;
    doc_object(doc, NULL);
    doc_text(doc, "task", task->id);
    doc_text(doc, "state", task_state(task));
    doc_count(doc, "attempts", task->attempts);
    doc_time(doc, "started", task->started_ns);
    doc_time(doc, "ended", task->ended_ns);
    if (task->exit_code >= 0)
        doc_number(doc, "exit_code", task->exit_code);
    else
        doc_null(doc, "exit_code");
    doc_some(doc, "signal", (uint64_t)task->signal);
    doc_bool(doc, "timed_out", task->timed_out);
    doc_number(doc, "cpu_ms", task->cpu_ms);
    doc_some(doc, "peak_kib", (uint64_t)task->peak_kib);
    doc_text(doc, "text", task->text);
    doc_end(doc);
    return 0;
}

static void print_count(uint32_t count, const char *name)
{
    if (count > 0)
        out(", %u %s", count, name);
}

static uint32_t not_run(const struct cairn_run_info *run)
{
    uint32_t others = run_done(run) + run->cancelled + run->running;

    return run->total > others ? run->total - others : 0;
}

static void print_times(const struct cairn_run_info *run)
{
    char when[FORMAT_MAX];

    out("started     %s\n", format_local(when, run->started_ns));
    if (!run->live && run->ended_ns != 0)
        out("ended       %s\n", format_local(when, run->ended_ns));
}

/* Tasks that were running when the run's owner died. */
static int count_interrupted(void *context, const struct cairn_task_info *task)
{
    uint32_t *count = context;

    *count += task->interrupted;
    return 0;
}

static int find_interrupted(struct cairn_store *store, const struct cairn_run_info *run,
                            uint32_t *count)
{
    struct cairn_error error = {0};

    *count = 0;
    if (run->live || not_run(run) == 0)
        return 0;
    if (cairn_run_tasks(store, run->run, count_interrupted, count, &error) != 0)
        return ui_fail(&error);
    return 0;
}

static void print_run(const struct cairn_run_info *run, const char *params,
                      uint32_t interrupted)
{
    out("run %llu  %s  %s\n", (unsigned long long)run->run, run->workflow,
        run_state_text(run));
    if (run->file[0] != '\0')
        out("file        %s\n", run->file);
    if (params != NULL)
        out("params      %s\n", params);
    print_times(run);
    if (run->live)
        out("owner       process %lld on %s\n", (long long)run->owner_pid,
            run->owner_host);
    if (run->from_run != 0)
        out("from        workflow:%llu of run %llu\n",
            (unsigned long long)run->from_seq, (unsigned long long)run->from_run);
    if (run->checkpoint != 0)
        out("checkpoint  workflow:%llu\n", (unsigned long long)run->checkpoint);
    out("tasks       %u: %u completed", run->total, run->completed);
    print_count(run->failed, "failed");
    print_count(run->skipped, "skipped");
    print_count(run->cancelled, "cancelled");
    print_count(run->running, "running");
    print_count(not_run(run), "not run");
    if (interrupted > 0)
        out(" (%u interrupted)", interrupted);
    out("\n");
    if (run->unsaved > 0)
        out("DEGRADED    %u outcome%s could not be stored yet\n", run->unsaved,
            plural(run->unsaved));
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      const struct cairn_run_info *run)
{
    struct listing listing = {.settings = settings, .run = run->run};
    struct cairn_error error = {0};
    uint32_t interrupted;
    char *params;
    int status;

    listing.every = settings->given[OPT_TASKS];
    status = find_interrupted(store, run, &interrupted);
    if (status != 0)
        return status;
    params = params_text(store, run->run);
    print_run(run, params, interrupted);
    free(params);
    if ((listing.every || run->failed > 0) &&
        cairn_run_tasks(store, run->run, each_task_text, &listing, &error) != 0)
        return ui_fail(&error);
    if (listing.failed > FAILED_SHOWN)
        out("  ... and %u more: cairn status %llu --tasks%s\n",
            listing.failed - FAILED_SHOWN, (unsigned long long)run->run,
            store_hint(settings));
    if (!run->live && run->state != CAIRN_RUN_COMPLETED)
        out("resume with: cairn resume %llu%s\n", (unsigned long long)run->run,
            store_hint(settings));
    return 0;
}

static int print_document(struct settings *settings, struct cairn_store *store,
                          const struct cairn_run_info *run)
{
    struct doc doc;
    struct listing listing = {.settings = settings, .doc = &doc, .run = run->run};
    struct cairn_error error = {0};
    uint32_t interrupted;
    int status;

    listing.every = settings->given[OPT_TASKS];
    status = find_interrupted(store, run, &interrupted);
    if (status != 0)
        return status;
    doc_begin(&doc);
    run_document(&doc, store, run);
    doc_count(&doc, "interrupted", interrupted);
    doc_array(&doc, listing.every ? "tasks" : "failed_tasks");
    if ((listing.every || run->failed > 0) &&
        cairn_run_tasks(store, run->run, each_task_document, &listing, &error) != 0) {
        doc_discard(&doc);
        return ui_fail(&error);
    }
    return doc_print(&doc);
}

/* The answer is data, whatever it is; only the exit status differs. */
static int answer(uint64_t run, int code, const char *text)
{
    struct doc doc;

    if (!ui_json()) {
        out("%s\n", text);
        return code == 0 ? 0 : cairn_exit_status(code);
    }
    doc_begin(&doc);
    doc_some(&doc, "run", run);
    doc_bool(&doc, "can_resume", code == 0);
    doc_text(&doc, "code", cairn_code_name(code));
    doc_text(&doc, "text", text);
    doc_print(&doc);
    return code == 0 ? 0 : cairn_exit_status(code);
}

static int can_resume(struct settings *settings, struct cairn_store *store)
{
    struct cairn_run_info run = {0};
    struct cairn_error error = {0};
    char text[128];
    uint64_t number = 0;
    int code;

    if (settings->given[OPT_TASKS])
        return ui_usage("status", "give one of --tasks and --can-resume");
    if (settings->n_operands > 0 && !number_operand(settings, 0, "run", &number))
        return EXIT_USAGE;
    if (store == NULL)
        return answer(number, CAIRN_ENOTFOUND, "no: there is no store here or above");
    if ((code = cairn_run_get(store, number, &run, &error)) != 0 ||
        (code = cairn_can_resume(store, run.run, &error)) != 0)
        return answer(run.run != 0 ? run.run : number, code, error.text);
    snprintf(
        text, sizeof text, "run %llu can be resumed%s", (unsigned long long)run.run,
        run.state == CAIRN_RUN_COMPLETED ? "; it is completed: nothing to do" : "");
    return answer(run.run, 0, text);
}

int command_status(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status;

    if (settings->given[OPT_CAN_RESUME]) {
        status = store_if_any(settings, &store);
        if (status == 0)
            status = can_resume(settings, store);
    } else {
        status = store_for_reading(settings, &store);
        if (status == 0)
            status = run_operand(settings, 0, store, &run);
        if (status == 0)
            status = ui_json() ? print_document(settings, store, &run)
                               : print_text(settings, store, &run);
    }
    cairn_store_close(store);
    return status;
}
