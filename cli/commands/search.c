/* SPDX-License-Identifier: MIT */
/* cairn search: what fits a text best, of all that the store keeps. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/context.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REPAINT_MS 100
enum { HITS_MOST = 100 };

/* A checkpoint that was found, by itself or by what is noted of it. */
struct found_checkpoint {
    uint64_t seq;
    double score, distance;
};

struct searching {
    struct doc *doc; /* with --json */
    int64_t painted_ms;
    bool painted, has_service;
    uint32_t k;    /* hits that are shown */
    bool contextd; /* with --contextd: as many checkpoints as there are hits */
    struct found_checkpoint found[HITS_MOST];
    uint32_t n_found;
};

/* ---- How far the index is ---- */

static int show_progress(void *context, const struct cairn_search_progress *progress)
{
    struct searching *s = context;
    char line[160];
    if (!ui_live() || ui_quiet() || now_ms() - s->painted_ms < REPAINT_MS)
        return 0;
    s->painted_ms = now_ms();
    s->painted = true;
    int n = snprintf(line, sizeof line,
                     "\r\033[Kindexing: %" PRIu64 " of %" PRIu64
                     " sessions and runs, %" PRIu64 " new entries",
                     progress->done, progress->of, progress->entries);
    ui_paint(line, (size_t)n);
    return 0;
}

static void end_progress(struct searching *s)
{
    if (s->painted)
        ui_paint("\r\033[K", 4);
    s->painted = false;
}

/* ---- Hits ---- */

static void print_place(const struct cairn_search_hit *hit)
{
    out("%s %s", hit->kind, hit->id);
    if (strcmp(hit->kind, "log") == 0 || strcmp(hit->kind, "task") == 0)
        out(" of run %" PRIu64, hit->run);
    else if (strcmp(hit->kind, "file") == 0)
        out(" at checkpoint %" PRIu64, hit->checkpoint);
    if (hit->session && strcmp(hit->kind, "session") != 0)
        out(" of session %s", hit->session);
}

static int print_hit(const struct cairn_search_hit *hit)
{
    char when[FORMAT_MAX];
    out("%.3f  ", hit->score);
    print_place(hit);
    out("  %s\n", format_local(when, hit->time_ns));
    if (hit->snippet[0] != '\0')
        out("       %s\n", hit->snippet);
    return ui_output_lost();
}

static void keep_checkpoint(struct searching *s, const struct cairn_search_hit *hit)
{
    if (!s->contextd || hit->section != CAIRN_SEARCH_SESSIONS || hit->checkpoint == 0 ||
        s->n_found == s->k)
        return;
    for (uint32_t i = 0; i < s->n_found; i++)
        if (s->found[i].seq == hit->checkpoint)
            return;
    s->found[s->n_found++] =
        (struct found_checkpoint){hit->checkpoint, hit->score, hit->distance};
}

static int each_hit(void *context, const struct cairn_search_hit *hit)
{
    struct searching *s = context;
    struct doc *doc = s->doc;
    end_progress(s);
    if (!doc)
        return print_hit(hit);
    keep_checkpoint(s, hit);
    if (hit->rank > s->k)
        return 0;
    doc_object(doc, NULL);
    doc_count(doc, "rank", hit->rank);
    doc_exact(doc, "score", hit->score);
    doc_exact(doc, "distance", hit->distance);
    doc_text(doc, "section", cairn_search_section_name(hit->section));
    doc_text(doc, "kind", hit->kind);
    doc_text(doc, "id", hit->id);
    doc_text(doc, "session", hit->session);
    doc_some(doc, "run", hit->run);
    doc_text(doc, "task", hit->task);
    doc_some(doc, "checkpoint", hit->checkpoint);
    doc_time(doc, "time", hit->time_ns);
    doc_text(doc, "project", hit->project);
    doc_text(doc, "title", hit->title);
    doc_text(doc, "snippet", hit->snippet);
    doc_end(doc);
    return 0;
}

/* ---- What is asked ---- */

/* Where the store cannot be written it is only read. */
static int open_store(struct settings *settings, struct cairn_store **store)
{
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = store_path(settings),
                                          .key_file = key_path(settings)};
    int rc = store_open(store, &options, &error);
    if (rc == CAIRN_EIO && !settings->given[OPT_REBUILD]) {
        options.read_only = true;
        rc = store_open(store, &options, &error);
    }
    return rc ? report_error(&error) : 0;
}

/* The service of the environment. Not of the store: whoever wrote that would choose who
 * is sent its texts. */
static int take_service(struct cairn_search_service *service)
{
    const char *dimensions = getenv("CAIRN_EMBED_DIMENSIONS");
    const char *key = getenv("CAIRN_EMBED_KEY");
    uint64_t n;
    *service = (struct cairn_search_service){.url = getenv("CAIRN_EMBED_URL"),
                                             .model = getenv("CAIRN_EMBED_MODEL"),
                                             .key = key && *key ? key : NULL};
    if (!dimensions || !*dimensions)
        return 0;
    if (!str_to_u64(str_of(dimensions), &n) || n == 0 || n > 100000)
        return report_usage("search",
                            "CAIRN_EMBED_DIMENSIONS is not a number from 1 to 100000");
    service->dimensions = (uint32_t)n;
    return 0;
}

static void say_service(const struct cairn_search_result *result)
{
    if (result->service[0] != '\0')
        say(result->service_used
                ? "embeddings: some are missing, since the service failed: %s"
                : "embeddings: found by text similarity alone, since the service "
                  "failed: %s",
            result->service);
    if (result->sent)
        say("embeddings: %" PRIu32 " texts were sent to %s", result->sent,
            getenv("CAIRN_EMBED_URL"));
}

static void add_service(struct doc *doc, const struct cairn_search_result *result)
{
    doc_object(doc, "embeddings");
    doc_bool(doc, "used", result->service_used);
    doc_count(doc, "entries", result->embedded);
    doc_count(doc, "sent", result->sent);
    doc_text(doc, "failure", result->service[0] ? result->service : NULL);
    doc_end(doc);
}

static void say_how(const struct cairn_search_result *result, bool found)
{
    if (result->in_memory)
        say("the index was made in memory, for this search alone: %s",
            result->in_memory_reason);
    if (!result->up_to_date)
        say("the index is behind: another command holds the index, and did not release "
            "it within 5 s");
    if (found && result->hits == 0)
        say(result->up_to_date
                ? "there is nothing to be found: no entry of this project fits the "
                  "options"
                : "nothing was found in what the index has so far");
}

/* The best checkpoints whole, as contextd gives them. */
static int add_results(struct searching *s, struct cairn_store *store)
{
    int status = 0;
    doc_array(s->doc, "results");
    for (uint32_t i = 0; i < s->n_found && status == 0; i++) {
        char id[CAIRN_ID_MAX];
        struct cairn_checkpoint_info info = {0};
        struct cairn_error error = {0};
        snprintf(id, sizeof id, "debug:%" PRIu64, s->found[i].seq);
        if (cairn_checkpoint_get(store, id, &info, &error) != 0)
            continue; /* deleted since */
        doc_object(s->doc, NULL);
        doc_object(s->doc, "checkpoint");
        checkpoint_list_document(s->doc, &info);
        status = contextd_members(s->doc, store, &info, true);
        doc_end(s->doc);
        doc_exact(s->doc, "score", s->found[i].score);
        doc_exact(s->doc, "distance", s->found[i].distance);
        doc_end(s->doc);
    }
    doc_end(s->doc);
    doc_count(s->doc, "top_k", s->k);
    return status;
}

static int report_hits(struct searching *s, struct cairn_store *store,
                       const struct cairn_search_result *result)
{
    int status = 0;
    if (!s->doc) {
        out_flush();
        say_how(result, true);
        if (s->has_service)
            say_service(result);
        return 0;
    }
    doc_end(s->doc);
    doc_count(s->doc, "entries", result->entries);
    doc_count(s->doc, "dropped", result->dropped);
    doc_bool(s->doc, "up_to_date", result->up_to_date);
    doc_bool(s->doc, "in_memory", result->in_memory);
    doc_text(s->doc, "in_memory_reason",
             result->in_memory ? result->in_memory_reason : NULL);
    if (s->has_service)
        add_service(s->doc, result);
    if (s->contextd)
        status = add_results(s, store);
    return doc_close(s->doc, status);
}

static int search(struct settings *settings, struct cairn_store *store)
{
    char here[PATH_MAX];
    const char *tags[64];
    struct doc doc = {0};
    struct searching s = {.doc = ui_json() ? &doc : NULL,
                          .k = (uint32_t)settings->number[OPT_HITS]};
    struct cairn_search_result result;
    struct cairn_search_service service;
    struct cairn_error error = {0};
    struct cairn_search search = {
        .size = sizeof search,
        .text = settings->operands[0],
        .section = settings->given[OPT_IN]
                       ? (enum cairn_search_section)(settings->number[OPT_IN] + 1)
                       : CAIRN_SEARCH_ALL,
        .tags = tags,
        .since = settings->text[OPT_SINCE],
        .until = settings->text[OPT_UNTIL],
        .project = settings->text[OPT_PROJECT],
        .k = (uint32_t)settings->number[OPT_HITS],
    };
    int status =
        contextd_option(settings, &s.contextd) ? take_service(&service) : EXIT_USAGE;
    if (status != 0)
        return status;
    if (s.contextd) /* hits of other kinds are not to take the place of checkpoints */
        search.k = HITS_MOST;
    s.has_service = service.url && *service.url;
    search.service = s.has_service ? &service : NULL;
    if (settings->n_params > COUNT_OF(tags))
        return report_usage("search", "--tag can be given 64 times at most");
    for (size_t i = 0; i < settings->n_params; i++)
        tags[search.n_tags++] = settings->params[i].name;
    if (!search.project) {
        status = search_project(settings, store, here);
        if (status != 0)
            return status;
        search.project = here;
    }
    if (s.doc) {
        char *query = NULL;
        if (cairn_masked(store, search.text, &query, &error) != 0)
            return report_error(&error);
        doc_begin(&doc);
        doc_text(&doc, "query", query);
        free(query);
        doc_count(&doc, "k", s.k);
        doc_text(&doc, "project", search.project);
        doc_array(&doc, "hits");
    }
    int rc = cairn_search(store, &search, show_progress, each_hit, &s, &result, &error);
    end_progress(&s);
    if (rc == 0)
        return report_hits(&s, store, &result);
    return doc_close(s.doc, report_error(&error));
}

static int rebuild(struct cairn_store *store)
{
    struct searching s = {.doc = NULL};
    struct cairn_search_result result;
    struct cairn_error error = {0};
    struct doc doc;
    int rc = cairn_search_rebuild(store, show_progress, &s, &result, &error);
    end_progress(&s);
    if (rc != 0)
        return report_error(&error);
    if (ui_json()) {
        doc_begin(&doc);
        doc_count(&doc, "entries", result.entries);
        doc_bool(&doc, "up_to_date", result.up_to_date);
        return doc_print(&doc);
    }
    out("indexed %" PRIu64 " %s\n", result.entries,
        result.entries == 1 ? "entry" : "entries");
    return 0;
}

static int check_rebuild(const struct settings *settings)
{
    static const enum option_id of_searches[] = {OPT_IN,      OPT_ALL_TAGS, OPT_SINCE,
                                                 OPT_UNTIL,   OPT_PROJECT,  OPT_HITS,
                                                 OPT_CONTEXTD};
    for (size_t i = 0; i < COUNT_OF(of_searches); i++)
        if (settings->given[of_searches[i]])
            return report_usage("search", "--%s has no effect with --rebuild",
                                option_get(of_searches[i])->name);
    return 0;
}

int command_search(struct settings *settings)
{
    bool making = settings->given[OPT_REBUILD];
    if (making == (settings->n_operands == 1))
        return report_usage("search", making ? "give QUERY or --rebuild, not both"
                                             : "give QUERY: what to look for");
    int status = (making ? check_rebuild(settings) : 0)
                     ?: open_store(settings, &settings->store);
    if (status == 0)
        status = making ? rebuild(settings->store) : search(settings, settings->store);
    return status;
}
