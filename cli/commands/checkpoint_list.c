/* SPDX-License-Identifier: MIT */
/* cairn checkpoint list: checkpoints as a table. */
#include "cli/commands/store_commands.h"
#include "cli/contexts/context.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/ui.h"

#include <string.h>

enum { PAGE_MOST = 100 };

/* What is known of a checkpoint while all are put in the order of their times. */
struct place {
    int64_t time_ns;
    uint64_t seq;
};
struct checkpoint_listing {
    struct cairn_store *store;
    struct doc *doc;         /* with --json */
    const char *tag, *label; /* only those with it; NULL: any */
    bool automatic;          /* only those of sessions that nobody made by hand */
    bool contextd;           /* with what contextd answers */
    int status;
    struct cairn_page page; /* of these */
    uint64_t shown, matched;
    bool by_time;
    struct place *places; /* of all that match */
    size_t n_places, capacity;
    struct cairn_checkpoint_info *infos; /* [PAGE_MOST], of the page, in order */
    bool failed;                         /* out of memory */
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

static bool is_automatic(const struct cairn_checkpoint_info *info)
{
    const char *trigger = cairn_trigger_name(info->trigger);
    return !info->damaged && (!trigger || strcmp(trigger, "manual") != 0);
}

/* Whether some are left out here, not by the library. */
static bool has_own_filter(const struct checkpoint_listing *listing)
{
    return listing->tag || listing->label || listing->automatic;
}

static bool matches(const struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_info *info)
{
    return (!listing->automatic || is_automatic(info)) &&
           (!listing->tag || has_tag(listing->store, info, listing->tag)) &&
           (!listing->label ||
            checkpoint_is_labelled(listing->store, info, listing->label));
}

/* Is it one of those that are wanted, and of this page? */
static bool is_wanted(struct checkpoint_listing *listing,
                      const struct cairn_checkpoint_info *info)
{
    if (!has_own_filter(listing))
        return true;
    if (!matches(listing, info))
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
        info->head ? "  head" : "", checkpoint_flaw(info));
    labels_print(store, info);
    out("\n");
}

static int show_one(struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_info *info)
{
    listing->shown++;
    if (!listing->doc) {
        print_row(listing->store, info, listing->shown == 1);
        return ui_output_lost();
    }
    doc_object(listing->doc, NULL);
    checkpoint_list_document(listing->doc, info);
    labels_document(listing->doc, listing->store, info);
    if (listing->contextd)
        listing->status = contextd_members(listing->doc, listing->store, info, true);
    doc_end(listing->doc);
    return listing->status;
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    return is_wanted(listing, info) ? show_one(listing, info) : 0;
}

/* ---- By time, which is not always the order of the numbers ---- */

static int add_place(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    if (!matches(listing, info))
        return 0;
    if (listing->n_places == listing->capacity) {
        size_t more = listing->capacity > 0 ? 2 * listing->capacity : 256;
        struct place *places = realloc(listing->places, more * sizeof *places);
        listing->failed = !places;
        if (!places)
            return 1;
        listing->places = places;
        listing->capacity = more;
    }
    listing->places[listing->n_places++] = (struct place){info->time_ns, info->seq};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void turn_round(struct place *places, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct place place = places[i];
        places[i] = places[n - 1 - i];
        places[n - 1 - i] = place;
    }
}

/* Those of the page; another process may have deleted one since. */
static size_t page_places(const struct checkpoint_listing *listing,
                          const struct place **first)
{
    uint64_t offset = listing->page.offset;
    size_t left = offset < listing->n_places ? listing->n_places - (size_t)offset : 0;
    *first = left > 0 ? listing->places + offset : NULL;
    return left < listing->page.limit ? left : listing->page.limit;
}

static int take_info(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    const struct place *first;
    size_t n = page_places(listing, &first);
    for (size_t i = 0; i < n; i++)
        if (first[i].seq == info->seq)
            listing->infos[i] = *info;
    return 0;
}

static int list_by_time(struct checkpoint_listing *listing,
                        const struct cairn_checkpoint_filter *filter,
                        struct cairn_error *error)
{
    const struct place *first;
    int rc =
        cairn_checkpoint_list(listing->store, filter, add_place, listing, NULL, error);
    listing->infos = calloc(PAGE_MOST, sizeof *listing->infos);
    listing->failed = listing->failed || !listing->infos;
    if (rc != 0 || listing->failed)
        return rc;
    if (listing->n_places > 0)
        qsort(listing->places, listing->n_places, sizeof *listing->places, by_time);
    if (!listing->page.oldest_first)
        turn_round(listing->places, listing->n_places);
    listing->matched = listing->n_places;
    size_t n = page_places(listing, &first);
    if (n > 0)
        rc = cairn_checkpoint_list(listing->store, filter, take_info, listing, NULL,
                                   error);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (listing->infos[i].seq != 0 && show_one(listing, &listing->infos[i]) != 0)
            break;
    return rc;
}

static int list_all(struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_filter *filter, uint64_t *total)
{
    struct cairn_error error = {0};
    int rc = listing->by_time
                 ? list_by_time(listing, filter, &error)
                 : cairn_checkpoint_list(listing->store, filter, each_checkpoint,
                                         listing, total, &error);
    if (listing->failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (listing->by_time || has_own_filter(listing))
        *total = listing->matched;
    return rc != 0 ? report_error(&error) : listing->status;
}

static int list_checkpoints(struct settings *settings, struct cairn_store *store,
                            uint64_t session)
{
    uint64_t sort = settings->number[OPT_SORT_CHECKPOINTS];
    struct doc doc = {0};
    struct checkpoint_listing listing = {.store = store,
                                         .doc = ui_json() ? &doc : NULL,
                                         .tag = settings->text[OPT_TAGGED],
                                         .label = settings->text[OPT_ONLY_LABEL],
                                         .automatic = settings->given[OPT_ONLY_AUTO],
                                         .by_time = sort >= 2};
    struct cairn_checkpoint_filter filter = {
        .workflow = settings->text[OPT_WORKFLOW],
        .run = settings->number[OPT_ONLY_RUN],
        .session = session,
        .namespace_id = listing.automatic ? CAIRN_NAMESPACE_DEBUG : CAIRN_NAMESPACE_ANY,
        .page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                 .offset = settings->number[OPT_OFFSET],
                 .oldest_first = sort % 2 == 1},
    };
    uint64_t total = 0;
    if (!contextd_option(settings, &listing.contextd))
        return EXIT_USAGE;
    listing.page = filter.page;
    if (has_own_filter(&listing) || listing.by_time)
        filter.page =
            (struct cairn_page){.all = true, .oldest_first = listing.page.oldest_first};
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "checkpoints");
    }
    int status = list_all(&listing, &filter, &total);
    free(listing.places);
    free(listing.infos);
    if (status != 0) {
        if (listing.doc)
            doc_discard(&doc);
        return status;
    }
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
    if (status == 0) {
        out_flush();
        say_unfinished_restores(store, settings->text[OPT_ONLY_SESSION],
                                !settings->given[OPT_ONLY_SESSION]);
    }
    cairn_store_close(store);
    return status;
}
