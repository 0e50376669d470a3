/* SPDX-License-Identifier: MIT
 *
 * cairn next: the external tasks that can be done now. */
#include "command.h"
#include "format.h"
#include "json.h"
#include "open.h"
#include "ui.h"

struct listing {
    struct doc *doc; /* with --json */
    uint32_t n;
};

static int add_step(void *context, const struct cairn_next_info *info)
{
    struct listing *listing = context;
    struct doc *doc = listing->doc;

    doc_object(doc, NULL);
    doc_count(doc, "run", info->run);
    doc_text(doc, "task", info->task);
    doc_text(doc, "text", info->text);
    doc_bool(doc, "claimed", info->claimed);
    doc_text(doc, "holder", info->holder);
    doc_some(doc, "lease_left_ms", (uint64_t)info->lease_left_ms);
    doc_end(doc);
    return 0;
}

static int print_step(void *context, const struct cairn_next_info *info)
{
    struct listing *listing = context;
    char left[FORMAT_MAX];

    listing->n++;
    out("%s  %s", info->task, info->text);
    if (info->claimed)
        out("  (%s has it for another %s)", info->holder,
            format_duration(left, info->lease_left_ms));
    out("\n");
    return ui_output_lost();
}

static int print_document(struct cairn_store *store, uint64_t run, bool claimed)
{
    struct doc doc;
    struct listing listing = {.doc = &doc};
    struct cairn_error error = {0};

    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_array(&doc, "next");
    if (cairn_next(store, run, claimed, add_step, &listing, &error) != 0) {
        doc_discard(&doc);
        return ui_fail(&error);
    }
    return doc_print(&doc);
}

static int print_text(struct settings *settings, struct cairn_store *store,
                      const struct cairn_run_info *run)
{
    struct listing listing = {.n = 0};
    struct cairn_error error = {0};

    if (cairn_next(store, run->run, settings->given[OPT_CLAIMED], print_step, &listing,
                   &error) != 0)
        return ui_fail(&error);
    out_flush();
    if (listing.n > 0)
        say("take one with: cairn claim %llu TASK%s", (unsigned long long)run->run,
            store_hint(settings));
    else if (run->state != CAIRN_RUN_UNFINISHED)
        say("run %llu is %s: there is nothing to do in it",
            (unsigned long long)run->run, cairn_run_state_name(run->state));
    else
        say("there is nothing to do in run %llu now%s", (unsigned long long)run->run,
            settings->given[OPT_CLAIMED] ? "" : ", or others have it (--claimed)");
    return 0;
}

int command_next(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status = store_for_reading(settings, &store);

    if (status == 0)
        status = run_operand(settings, 0, store, &run);
    if (status == 0)
        status = ui_json()
                     ? print_document(store, run.run, settings->given[OPT_CLAIMED])
                     : print_text(settings, store, &run);
    cairn_store_close(store);
    return status;
}
