/* SPDX-License-Identifier: MIT */
/* cairn status --waiting: what a run waits for. */
#include "cli/commands/status.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/open_steps.h"
#include "cli/tasks/task_step.h"
#include "cli/ui.h"

static const char *const waits_for_names[] = {
    [CAIRN_WAITS_RUNNING] = "running",   [CAIRN_WAITS_SLOT] = "slot",
    [CAIRN_WAITS_POOL] = "pool",         [CAIRN_WAITS_EXTERNAL] = "external",
    [CAIRN_WAITS_DECISION] = "decision",
};

struct waiting_list {
    struct doc *doc; /* with --json */
    uint64_t run;
    bool live;
    const char *hint; /* " --store DIR" or "" */
};

static int add_waiting(void *context, const struct cairn_waiting_info *info)
{
    struct doc *doc = ((struct waiting_list *)context)->doc;
    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_text(doc, "waits_for", waits_for_names[info->waits_for]);
    doc_text(doc, "text", info->text);
    doc_time(doc, "since", info->since_ns);
    doc_count(doc, "behind", info->behind);
    doc_text(doc, "holder", info->holder);
    doc_some(doc, "lease_left_ms", (uint64_t)info->lease_left_ms);
    doc_count(doc, "leases_lost", info->leases_lost);
    doc_bool(doc, "check", info->check);
    doc_end(doc);
    return 0;
}

static const char *waiting_words(const struct cairn_waiting_info *info, bool live)
{
    switch (info->waits_for) {
    case CAIRN_WAITS_RUNNING:
        return live ? "runs" : "was running when cairn died; it will be adopted";
    case CAIRN_WAITS_SLOT:
        return "is ready";
    case CAIRN_WAITS_POOL:
        return "waits for a place in pool";
    case CAIRN_WAITS_EXTERNAL:
        return "waits for somebody to do it";
    case CAIRN_WAITS_DECISION:
        return info->check ? "is unknown: its check decides" : "is unknown: decide";
    }
    return "";
}

static int print_waiting(void *context, const struct cairn_waiting_info *info)
{
    const struct waiting_list *waiting = context;
    char since[FORMAT_MAX] = "", words[LEASE_WORDS_MAX], behind[48] = "";
    const char *text = info->text ? info->text : "";
    bool step = info->waits_for == CAIRN_WAITS_EXTERNAL;
    if (info->since_ns != 0 && !info->holder)
        format_duration(since, (wall_ns() - info->since_ns) / 1000000);
    if (info->behind > 0)
        snprintf(behind, sizeof behind, "  (%u behind it)", info->behind);
    lease_words(words, info->holder, info->lease_left_ms, info->since_ns,
                info->leases_lost);
    if (info->holder)
        out("  %s  is claimed %s", info->task, words);
    else
        out("  %s  %s%s%s", info->task, waiting_words(info, waiting->live),
            words[0] ? "; " : "", words);
    if (info->waits_for == CAIRN_WAITS_DECISION && !info->check) {
        char *word = shell_word(info->task);
        out(": cairn resolve %llu %s done|failed|rerun%s",
            (unsigned long long)waiting->run, word ? word : "TASK", waiting->hint);
        free(word);
    }
    out("%s%.*s%s%s%s\n",
        !info->text ? ""
        : step      ? ": "
                    : " ",
        length_trimmed(text), text, since[0] ? "  " : "", since, behind);
    return ui_output_lost();
}

static int print_all(struct settings *settings, struct cairn_store *store,
                     const struct cairn_run_info *run)
{
    struct waiting_list waiting = {
        .run = run->run, .live = run->live, .hint = run_hint(settings, run)};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    out("run %llu  %s  %s\n", (unsigned long long)run->run, run->workflow,
        run_state_text(run));
    if (cairn_waiting(store, run->run, print_waiting, &waiting, &error) != 0)
        return report_error(&error);
    if (resume)
        out("continue with: cairn resume %llu%s\n", (unsigned long long)run->run,
            run_hint(settings, run));
    return 0;
}

int show_waiting(struct settings *settings, struct cairn_store *store,
                 const struct cairn_run_info *run)
{
    struct doc doc;
    struct waiting_list waiting = {.doc = &doc};
    struct cairn_error error = {0};
    bool resume;
    int status;
    if (!ui_json())
        return print_all(settings, store, run);
    status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    doc_begin(&doc);
    doc_count(&doc, "run", run->run);
    doc_text(&doc, "state", run_state_text(run));
    doc_bool(&doc, "resume", resume);
    doc_array(&doc, "waiting");
    if (cairn_waiting(store, run->run, add_waiting, &waiting, &error) != 0) {
        doc_discard(&doc);
        return report_error(&error);
    }
    return doc_print(&doc);
}
