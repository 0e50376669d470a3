/* SPDX-License-Identifier: MIT */
/* cairn checkpoint list: checkpoints as a table. */
#include "cli/commands/store_commands.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

struct checkpoint_listing {
    struct doc *doc; /* with --json */
    uint64_t shown;
};

static void print_row(const struct cairn_checkpoint_info *info, bool first)
{
    char when[FORMAT_MAX], run[32] = "-", done[32] = "-", line[CHECKPOINT_LINE_MAX];
    if (info->run != 0)
        snprintf(run, sizeof run, "%llu", (unsigned long long)info->run);
    if (info->counted)
        snprintf(done, sizeof done, "%u/%u", info->completed, info->total);
    if (first)
        out("%-30s  %5s  %8s  %-5s  %9s  %-19s  %s\n", "ID", "RUN", "POSITION", "KIND",
            "COMPLETED", "TIME", "WORKFLOW OR SESSION");
    out("%-30s  %5s  %8llu  %-5s  %9s  %-19s  %s%s%s\n", info->id, run,
        (unsigned long long)info->position, info->full ? "full" : "delta", done,
        format_local(when, info->time_ns), checkpoint_line(line, info),
        info->head ? "  head" : "", info->damaged ? "  DAMAGED" : "");
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    listing->shown++;
    if (!listing->doc) {
        print_row(info, listing->shown == 1);
        return ui_output_lost();
    }
    doc_object(listing->doc, NULL);
    checkpoint_list_document(listing->doc, info);
    doc_end(listing->doc);
    return 0;
}

static int list_checkpoints(struct settings *settings, struct cairn_store *store,
                            uint64_t session)
{
    struct doc doc = {0};
    struct checkpoint_listing listing = {.doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    struct cairn_checkpoint_filter filter = {
        .workflow = settings->text[OPT_WORKFLOW],
        .run = settings->number[OPT_ONLY_RUN],
        .session = session,
        .page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                 .offset = settings->number[OPT_OFFSET],
                 .oldest_first = settings->number[OPT_SORT_CHECKPOINTS] == 1},
    };
    uint64_t total = 0;
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "checkpoints");
    }
    if (cairn_checkpoint_list(store, &filter, each_checkpoint, &listing, &total,
                              &error) != 0) {
        if (listing.doc)
            doc_discard(&doc);
        return report_error(&error);
    }
    return page_end(listing.doc, &filter.page, "checkpoint", listing.shown, total);
}

int command_checkpoint_list(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    struct cairn_session_info session = {0};
    int status = store_for_reading(settings, &store);
    /* A run or session that does not exist is an error, not an empty list. */
    if (status == 0 && settings->given[OPT_ONLY_RUN] &&
        cairn_run_look(store, settings->number[OPT_ONLY_RUN], &run, &error) != 0)
        status = report_error(&error);
    if (status == 0 && settings->given[OPT_ONLY_SESSION] &&
        cairn_session_get(store, settings->text[OPT_ONLY_SESSION], &session, &error) !=
            0)
        status = report_error(&error);
    if (status == 0)
        status = list_checkpoints(settings, store, session.session);
    cairn_store_close(store);
    return status;
}
