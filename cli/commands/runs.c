/* SPDX-License-Identifier: MIT */
/* cairn runs: the runs in the store, a page at a time. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/state_list.h"
#include "cli/ui.h"

struct run_listing {
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    uint64_t shown;
    const char *states; /* only these, or NULL */
    const struct cairn_page *page;
    uint64_t matching; /* in these states, so far */
};

static int each_run(void *context, const struct cairn_run_info *run)
{
    struct run_listing *listing = context;
    char started[FORMAT_MAX], ended[FORMAT_MAX], done[32], inside[48] = "", *params;
    listing->shown++;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        run_document(listing->doc, listing->store, run);
        doc_end(listing->doc);
        return 0;
    }
    if (run->checkpoint == 0)
        snprintf(done, sizeof done, "-/%u", run->total);
    else
        snprintf(done, sizeof done, "%u/%u", run->completed, run->total);
    if (listing->shown == 1)
        out("%5s  %-11s  %-19s  %-19s  %9s  %6s  %s\n", "RUN", "STATE", "STARTED",
            "ENDED", "COMPLETED", "FAILED", "WORKFLOW");
    params = params_text(listing->store, run->run);
    if (run->parent_run != 0)
        snprintf(inside, sizeof inside, "  in run %llu",
                 (unsigned long long)run->parent_run);
    out("%5llu  %-11s  %-19s  %-19s  %9s  %6u  %s%s%s%s%s\n",
        (unsigned long long)run->run, run_state_text(run),
        format_local(started, run->started_ns), format_local(ended, run->ended_ns),
        done, run->failed, run->workflow, params ? "  " : "", params ? params : "",
        inside, run->checkpoint == 0 ? "  no valid checkpoint" : "");
    free(params);
    return ui_output_lost();
}

/* The page counts what is in the states, so it is taken here, out of all runs. */
static int each_in_states(void *context, const struct cairn_run_info *run)
{
    struct run_listing *listing = context;
    const struct cairn_page *page = listing->page;
    if (!state_list_has(listing->states, run_state_text(run)))
        return 0;
    listing->matching++;
    if (listing->matching <= page->offset ||
        listing->matching - page->offset > page->limit)
        return 0;
    return each_run(listing, run);
}

static int find_runs(struct settings *settings, struct run_listing *listing,
                     uint64_t *total, struct cairn_error *error)
{
    const char *workflow = settings->text[OPT_WORKFLOW];
    struct cairn_page all = {.all = true, .oldest_first = listing->page->oldest_first};
    if (!listing->states)
        return cairn_runs(listing->store, workflow, listing->page, each_run, listing,
                          total, error);
    int rc = cairn_runs(listing->store, workflow, &all, each_in_states, listing, NULL,
                        error);
    *total = listing->matching;
    return rc;
}

static int list_runs(struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct run_listing listing = {.store = store, .doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    struct cairn_page page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                              .offset = settings->number[OPT_OFFSET],
                              .oldest_first = settings->number[OPT_SORT_RUNS] == 1};
    uint64_t total = 0;
    listing.page = &page;
    listing.states =
        settings->given[OPT_ONLY_STATES] ? settings->text[OPT_ONLY_STATES] : NULL;
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "runs");
    }
    if (find_runs(settings, &listing, &total, &error) != 0) {
        if (listing.doc)
            doc_discard(&doc);
        return report_error(&error);
    }
    return page_end(listing.doc, &page, "run", listing.shown, total);
}

int command_runs(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = settings->given[OPT_ONLY_STATES]
                     ? state_list_check(settings->text[OPT_ONLY_STATES], RUN_STATES)
                     : 0;
    if (status == 0)
        status = store_for_reading(settings, &store);
    if (status == 0)
        status = list_runs(settings, store);
    cairn_store_close(store);
    return status;
}
