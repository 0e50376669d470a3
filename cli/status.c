/* SPDX-License-Identifier: MIT
 *
 * cairn status: how a run stands; --waiting: what it waits for; --can-resume: whether
 * it could go on. */
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
    uint32_t failed, unknown;
    enum cairn_outcome only; /* with --json, unless `every` */
    bool every;
};
/* Tasks that only the list of all tasks tells of. */
struct open_ends {
    uint32_t interrupted, unknown;
    uint32_t steps; /* external tasks that can be done */
};

/* For people: why a task was skipped stands beside it. */
static const char *task_word(const struct cairn_task_info *task)
{
    return task->outcome == CAIRN_EXCLUDED ? "skipped" : NULL;
}

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
    /* What somebody outside reported has written nothing. */
    bool has_log = task->exit_code >= 0 || task->signal != 0 || task->timed_out;

    if (listing->failed++ == 0)
        out("failed:\n");
    format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    task_time(took, task);
    if (listing->failed <= FAILED_SHOWN) {
        out("  %s%s%s%s%s%s%s\n", task->id, how[0] ? "  " : "", how,
            took[0] ? "  " : "", took, text[0] ? "  " : "", text);
        if (word != NULL && has_log)
            out("    see: cairn log %s --run %llu%s\n", word,
                (unsigned long long)listing->run, store_hint(listing->settings));
    }
    free(word);
}

static void print_task(const struct cairn_task_info *task)
{
    char how[FORMAT_MAX] = "", took[FORMAT_MAX], attempts[32] = "";
    const char *word = task_word(task), *text = task->text;

    if (task->outcome == CAIRN_FAILED)
        format_end(how, task->exit_code, task->signal, task->timed_out, task->text);
    if (task->attempts > 1)
        snprintf(attempts, sizeof attempts, "  %u attempts", task->attempts);
    task_time(took, task);
    if (text == NULL && task->outcome == CAIRN_EXCLUDED)
        text = "(its condition was not met)";
    out("  %-11s  %s%s%s%s%s%s%s%s\n", word != NULL ? word : task_state(task), task->id,
        took[0] ? "  " : "", took, how[0] ? "  " : "", how, attempts,
        text != NULL ? "  " : "", text != NULL ? text : "");
}

static void print_unknown(struct listing *listing, const struct cairn_task_info *task)
{
    char *word = shell_word(task->id);

    if (listing->unknown++ == 0)
        out("unknown (interrupted, and must not run twice):\n");
    if (listing->unknown <= FAILED_SHOWN && word != NULL)
        out("  %s\n    decide: cairn resolve %llu %s done|failed|rerun%s\n", task->id,
            (unsigned long long)listing->run, word, store_hint(listing->settings));
    free(word);
}

static int each_task_text(void *context, const struct cairn_task_info *task)
{
    struct listing *listing = context;

    if (listing->every)
        print_task(task);
    else if (task->outcome == CAIRN_FAILED)
        print_failed(listing, task);
    else if (task->outcome == CAIRN_UNKNOWN)
        print_unknown(listing, task);
    return ui_output_lost();
}

static int each_task_document(void *context, const struct cairn_task_info *task)
{
    struct listing *listing = context;
    struct doc *doc = listing->doc;

    if (!listing->every && task->outcome != listing->only)
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

/* Recorded as unknown or not: those are counted apart. */
static uint32_t not_run(const struct cairn_run_info *run, uint32_t unknown)
{
    uint32_t others =
        run_done(run) + run->cancelled + run->running + run->undone + unknown;

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
static int count_open_end(void *context, const struct cairn_task_info *task)
{
    struct open_ends *ends = context;

    ends->interrupted += task->interrupted;
    ends->unknown += task->outcome == CAIRN_UNKNOWN;
    return 0;
}

static int count_step(void *context, const struct cairn_next_info *info)
{
    uint32_t *steps = context;

    (void)info;
    (*steps)++;
    return 0;
}

static int find_open_ends(struct cairn_store *store, const struct cairn_run_info *run,
                          struct open_ends *ends)
{
    struct cairn_error error = {0};

    *ends = (struct open_ends){.unknown = run->unknown};
    if (run->live || not_run(run, 0) == 0)
        return 0;
    ends->unknown = 0;
    if (cairn_run_tasks(store, run->run, count_open_end, ends, &error) != 0)
        return ui_fail(&error);
    if (run->state == CAIRN_RUN_UNFINISHED &&
        cairn_next(store, run->run, true, count_step, &ends->steps, &error) != 0)
        return ui_fail(&error);
    return 0;
}

static void print_run(const struct cairn_run_info *run, const char *params,
                      const struct open_ends *ends)
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
    if (run->excluded > 0)
        out(" (%u because of a condition)", run->excluded);
    print_count(run->cancelled, "cancelled");
    print_count(run->undone, "undone");
    print_count(ends->unknown, "unknown");
    print_count(run->running, "running");
    print_count(not_run(run, ends->unknown), "not run");
    if (ends->interrupted > 0)
        out(" (%u interrupted)", ends->interrupted);
    out("\n");
    if (run->unsaved > 0)
        out("DEGRADED    %u outcome%s could not be stored yet\n", run->unsaved,
            plural(run->unsaved));
}

/* What to type next. */
static void print_advice(const struct settings *settings,
                         const struct cairn_run_info *run, const struct open_ends *ends)
{
    unsigned long long number = run->run;
    const char *hint = store_hint(settings);

    if (ends->steps > 0)
        out("%u external task%s can be done: cairn next %llu%s\n", ends->steps,
            plural(ends->steps), number, hint);
    if (!run->live && run->state != CAIRN_RUN_COMPLETED)
        out("resume with: cairn resume %llu%s\n", number, hint);
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      const struct cairn_run_info *run)
{
    struct listing listing = {.settings = settings, .run = run->run};
    struct cairn_error error = {0};
    struct open_ends ends;
    char *params;
    int status;

    listing.every = settings->given[OPT_TASKS];
    status = find_open_ends(store, run, &ends);
    if (status != 0)
        return status;
    params = params_text(store, run->run);
    print_run(run, params, &ends);
    free(params);
    if ((listing.every || run->failed > 0 || ends.unknown > 0) &&
        cairn_run_tasks(store, run->run, each_task_text, &listing, &error) != 0)
        return ui_fail(&error);
    if (listing.failed > FAILED_SHOWN)
        out("  ... and %u more: cairn status %llu --tasks%s\n",
            listing.failed - FAILED_SHOWN, (unsigned long long)run->run,
            store_hint(settings));
    print_advice(settings, run, &ends);
    return 0;
}

static int add_tasks(struct listing *listing, struct cairn_store *store,
                     const char *key, bool any)
{
    struct cairn_error error = {0};

    doc_array(listing->doc, key);
    if (any &&
        cairn_run_tasks(store, listing->run, each_task_document, listing, &error) != 0)
        return ui_fail(&error);
    doc_end(listing->doc);
    return 0;
}

static int print_document(struct settings *settings, struct cairn_store *store,
                          const struct cairn_run_info *run)
{
    struct doc doc;
    struct listing listing = {.settings = settings, .doc = &doc, .run = run->run};
    struct cairn_run_info told = *run;
    struct open_ends ends;
    int status;

    listing.every = settings->given[OPT_TASKS];
    status = find_open_ends(store, run, &ends);
    if (status != 0)
        return status;
    told.unknown = ends.unknown;
    doc_begin(&doc);
    run_document(&doc, store, &told);
    doc_count(&doc, "interrupted", ends.interrupted);
    if (listing.every) {
        status = add_tasks(&listing, store, "tasks", true);
    } else {
        listing.only = CAIRN_FAILED;
        status = add_tasks(&listing, store, "failed_tasks", run->failed > 0);
        listing.only = CAIRN_UNKNOWN;
        if (status == 0)
            status = add_tasks(&listing, store, "unknown_tasks", ends.unknown > 0);
    }
    if (status == 0)
        return doc_print(&doc);
    doc_discard(&doc);
    return status;
}

/* ---- --waiting ---- */

static const char *const waits[] = {
    [CAIRN_WAITS_RUNNING] = "running",   [CAIRN_WAITS_SLOT] = "slot",
    [CAIRN_WAITS_POOL] = "pool",         [CAIRN_WAITS_EXTERNAL] = "external",
    [CAIRN_WAITS_DECISION] = "decision",
};

static int add_waiting(void *context, const struct cairn_waiting_info *info)
{
    struct listing *listing = context;
    struct doc *doc = listing->doc;

    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_text(doc, "waits_for", waits[info->waits_for]);
    doc_text(doc, "text", info->text);
    doc_time(doc, "since", info->since_ns);
    doc_count(doc, "behind", info->behind);
    doc_end(doc);
    return 0;
}

static int print_waiting(void *context, const struct cairn_waiting_info *info)
{
    static const char *const words[] = {
        [CAIRN_WAITS_RUNNING] = "runs",
        [CAIRN_WAITS_SLOT] = "is ready",
        [CAIRN_WAITS_POOL] = "waits for room in pool",
        [CAIRN_WAITS_EXTERNAL] = "waits for somebody",
        [CAIRN_WAITS_DECISION] = "is unknown: decide with cairn resolve",
    };
    char since[FORMAT_MAX] = "", behind[48] = "";
    const char *text = info->text;

    (void)context;
    if (info->since_ns != 0)
        format_duration(since, (wall_ns() - info->since_ns) / 1000000);
    if (info->behind > 0)
        snprintf(behind, sizeof behind, "  (%u behind it)", info->behind);
    out("  %s  %s%s%s%s%s%s\n", info->task, words[info->waits_for],
        text == NULL                              ? ""
        : info->waits_for == CAIRN_WAITS_EXTERNAL ? ": "
                                                  : " ",
        text != NULL ? text : "", since[0] ? "  " : "", since, behind);
    return ui_output_lost();
}

static int show_waiting(struct cairn_store *store, const struct cairn_run_info *run)
{
    struct doc doc;
    struct listing listing = {.doc = &doc};
    struct cairn_error error = {0};
    int result;

    if (!ui_json()) {
        out("run %llu  %s  %s\n", (unsigned long long)run->run, run->workflow,
            run_state_text(run));
        result = cairn_waiting(store, run->run, print_waiting, &listing, &error);
        return result == 0 ? 0 : ui_fail(&error);
    }
    doc_begin(&doc);
    doc_count(&doc, "run", run->run);
    doc_text(&doc, "state", run_state_text(run));
    doc_array(&doc, "waiting");
    if (cairn_waiting(store, run->run, add_waiting, &listing, &error) != 0) {
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

    if (settings->given[OPT_TASKS] + settings->given[OPT_WAITING] +
            settings->given[OPT_CAN_RESUME] >
        1)
        return ui_usage("status", "give one of --tasks, --waiting and --can-resume");
    if (settings->given[OPT_CAN_RESUME]) {
        status = store_if_any(settings, &store);
        if (status == 0)
            status = can_resume(settings, store);
    } else {
        status = store_for_reading(settings, &store);
        if (status == 0)
            status = run_operand(settings, 0, store, &run);
        if (status == 0 && settings->given[OPT_WAITING])
            status = show_waiting(store, &run);
        else if (status == 0)
            status = ui_json() ? print_document(settings, store, &run)
                               : print_text(settings, store, &run);
    }
    cairn_store_close(store);
    return status;
}
