/* SPDX-License-Identifier: MIT */
/* cairn checkpoint list: checkpoints as a table. */
#include "cli/commands/store_commands.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/ui.h"

#include <string.h>

struct checkpoint_listing {
    struct cairn_store *store;
    struct doc *doc;         /* with --json */
    const char *tag, *label; /* only those with it; NULL: any */
    struct cairn_page page;  /* of these */
    uint64_t shown, matched;
};

/* Of the tags as they are listed, or of all of them where those are cut. */
struct tag_search {
    const char *tag;
    bool found;
};

static int see_tags(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct tag_search *search = context;
    for (size_t i = 0; i < info->n_tags; i++)
        search->found |= strcmp(info->tags[i], search->tag) == 0;
    return 0;
}

static bool has_tag(struct cairn_store *store, const struct cairn_checkpoint_info *info,
                    const char *tag)
{
    struct tag_search search = {.tag = tag};
    struct cairn_error error = {0};
    if (info->namespace_id == CAIRN_NAMESPACE_DEBUG && !info->damaged &&
        strstr(info->tags[0] != '\0' ? info->tags : "-", "\xe2\x80\xa6"))
        (void)cairn_session_checkpoint_get(store, info->id, see_tags, &search, &error);
    size_t n;
    for (const char *at = info->tags; *at != '\0'; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        search.found |= strlen(tag) == n && strncmp(at, tag, n) == 0;
    }
    return search.found;
}

/* Is it one of those that are wanted, and of this page? */
static bool is_wanted(struct checkpoint_listing *listing,
                      const struct cairn_checkpoint_info *info)
{
    if (!listing->tag && !listing->label)
        return true;
    if ((listing->tag && !has_tag(listing->store, info, listing->tag)) ||
        (listing->label &&
         !checkpoint_is_labelled(listing->store, info, listing->label)))
        return false;
    uint64_t n = listing->matched++;
    return n >= listing->page.offset && n - listing->page.offset < listing->page.limit;
}

static void print_row(struct cairn_store *store,
                      const struct cairn_checkpoint_info *info, bool first)
{
    char when[FORMAT_MAX], run[32] = "-", done[32] = "-", line[CHECKPOINT_LINE_MAX];
    if (info->run != 0)
        snprintf(run, sizeof run, "%llu", (unsigned long long)info->run);
    if (info->counted)
        snprintf(done, sizeof done, "%u/%u", info->completed, info->total);
    if (first)
        out("%-30s  %5s  %8s  %-5s  %9s  %-19s  %s\n", "ID", "RUN", "POSITION", "KIND",
            "COMPLETED", "TIME", "WORKFLOW OR SESSION");
    out("%-30s  %5s  %8llu  %-5s  %9s  %-19s  %s%s%s", info->id, run,
        (unsigned long long)info->position, info->full ? "full" : "delta", done,
        format_local(when, info->time_ns), checkpoint_line(line, info),
        info->head ? "  head" : "", info->damaged ? "  DAMAGED" : "");
    labels_print(store, info);
    out("\n");
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    if (!is_wanted(listing, info))
        return 0;
    listing->shown++;
    if (!listing->doc) {
        print_row(listing->store, info, listing->shown == 1);
        return ui_output_lost();
    }
    doc_object(listing->doc, NULL);
    checkpoint_list_document(listing->doc, info);
    labels_document(listing->doc, listing->store, info);
    doc_end(listing->doc);
    return 0;
}

static int list_checkpoints(struct settings *settings, struct cairn_store *store,
                            uint64_t session)
{
    struct doc doc = {0};
    struct checkpoint_listing listing = {.store = store,
                                         .doc = ui_json() ? &doc : NULL,
                                         .tag = settings->text[OPT_TAGGED],
                                         .label = settings->text[OPT_ONLY_LABEL]};
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
    listing.page = filter.page;
    if (listing.tag || listing.label)
        filter.page =
            (struct cairn_page){.all = true, .oldest_first = listing.page.oldest_first};
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
    if (listing.tag || listing.label)
        total = listing.matched;
    return page_end(listing.doc, &listing.page, "checkpoint", listing.shown, total);
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
