/* SPDX-License-Identifier: MIT */
/* cairn next: the external tasks that can be done now. */
#include "cli/commands/run_commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/open_steps.h"
#include "cli/tasks/task_step.h"
#include "cli/ui.h"

struct next_listing {
    struct doc *doc; /* with --json */
    bool every;      /* also those that are claimed */
    uint32_t free, claimed;
    char *only; /* the first that is free; heap */
};

static int add_step(void *context, const struct cairn_next_info *info)
{
    struct next_listing *listing = context;
    struct doc *doc = listing->doc;
    doc_object(doc, NULL);
    doc_count(doc, "run", info->run);
    doc_text(doc, "task", info->task);
    doc_text(doc, "text", info->text);
    doc_bool(doc, "claimed", info->claimed);
    doc_text(doc, "holder", info->holder);
    doc_some(doc, "lease_left_ms", (uint64_t)info->lease_left_ms);
    doc_time(doc, "since", info->claimed_ns);
    doc_count(doc, "leases_lost", info->leases_lost);
    doc_end(doc);
    return 0;
}

/* Instructions may have many lines: all but the first are indented. */
static void print_instructions(const char *text)
{
    size_t n = strcspn(text, "\n");
    out("%.*s", (int)n, text);
    for (text += n; *text == '\n'; text += n) {
        text += strspn(text, "\n");
        n = strcspn(text, "\n");
        if (n > 0)
            out("\n    %.*s", (int)n, text);
    }
}

static int print_step(void *context, const struct cairn_next_info *info)
{
    struct next_listing *listing = context;
    char words[LEASE_WORDS_MAX];
    if (!info->claimed && listing->free++ == 0)
        listing->only = shell_word(info->task);
    listing->claimed += info->claimed;
    if (info->claimed && !listing->every)
        return 0;
    out("%s  ", info->task);
    print_instructions(info->text);
    lease_words(words, info->holder, info->lease_left_ms, info->claimed_ns,
                info->leases_lost);
    if (words[0])
        out("  (%s%s)", info->claimed ? "claimed " : "", words);
    out("\n");
    return ui_output_lost();
}

static int print_document(struct cairn_store *store, const struct cairn_run_info *run,
                          bool claimed)
{
    struct doc doc;
    struct next_listing listing = {.doc = &doc};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    doc_begin(&doc);
    doc_count(&doc, "run", run->run);
    doc_bool(&doc, "resume", resume);
    doc_array(&doc, "next");
    if (cairn_next(store, run->run, claimed, add_step, &listing, &error) != 0) {
        doc_discard(&doc);
        return report_error(&error);
    }
    return doc_print(&doc);
}

/* What to do if nothing can be claimed. */
static void print_advice(const struct settings *settings,
                         const struct cairn_run_info *run,
                         const struct next_listing *listing, bool resume)
{
    unsigned long long number = run->run;
    const char *hint = run_hint(settings, run);
    if (run->state == CAIRN_RUN_COMPLETED)
        say("run %llu is completed: there is nothing to do in it", number);
    else if (run->state != CAIRN_RUN_UNFINISHED)
        say("run %llu is %s; continue it first: cairn resume %llu --no-wait%s", number,
            cairn_run_state_name(run->state), number, hint);
    else if (resume)
        say("run %llu waits for no external task; continue with: cairn resume %llu%s",
            number, number, hint);
    else if (listing->claimed > 0 && !listing->every)
        say("all that can be done in run %llu now is claimed: cairn next %llu "
            "--claimed%s",
            number, number, hint);
    else if (listing->claimed == 0)
        say("there is nothing to do in run %llu now", number);
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      const struct cairn_run_info *run)
{
    struct next_listing listing = {.every = settings->given[OPT_CLAIMED]};
    struct cairn_error error = {0};
    bool resume;
    int status = resume_needed(store, run, &resume);
    if (status != 0)
        return status;
    if (cairn_next(store, run->run, true, print_step, &listing, &error) != 0) {
        free(listing.only);
        return report_error(&error);
    }
    out_flush();
    if (listing.free > 0)
        say("claim %s with: cairn claim %llu %s%s", listing.free == 1 ? "it" : "one",
            (unsigned long long)run->run,
            listing.free == 1 && listing.only ? listing.only : "TASK",
            run_hint(settings, run));
    else
        print_advice(settings, run, &listing, resume);
    free(listing.only);
    return 0;
}

int command_next(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status = open_run(settings, &store, &run);
    if (status == 0)
        status = ui_json() ? print_document(store, &run, settings->given[OPT_CLAIMED])
                           : print_text(settings, store, &run);
    cairn_store_close(store);
    return status;
}
