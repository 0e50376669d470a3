/* SPDX-License-Identifier: MIT */
/* Every command about items, from its row in item_verbs.c. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/board_page.h"
#include "cli/sessions/item.h"
#include "cli/sessions/item_verbs.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

enum { SETS_MOST = VERB_OPTIONS + 3 };
struct work {
    struct settings *settings;
    const struct item_verb *verb;
    const struct item_kind *kind;
    struct cairn_store *store;
    const char *session; /* or NULL: the current one */
    char current[24];    /* its number, where an earlier state of it is meant */
    const char *at;      /* the checkpoint of an earlier state, or NULL: now */
    char at_id[CAIRN_ID_MAX];
    struct texts texts;
    char milliseconds[24]; /* of an option that is a time */
};

/* ---- What is asked for ---- */

/* Is the field free text, which may come from stdin? */
static bool is_prose(const char *field)
{
    static const char *const prose[] = {"statement", "text", "reason", "source",
                                        "resolution"};
    for (size_t i = 0; i < sizeof prose / sizeof prose[0]; i++) {
        if (strcmp(prose[i], field) == 0)
            return true;
    }
    return false;
}

static int take_set(struct work *work, const char *field, const char *given,
                    struct cairn_set *sets, size_t *n)
{
    const char *text = given;
    int status = is_prose(field) ? texts_take(&work->texts, given, &text) : 0;
    if (status != 0)
        return status;
    sets[(*n)++] = (struct cairn_set){field, text};
    return 0;
}

/* An option that is empty takes its field away; of a new item it sets nothing. */
static int take_option(struct work *work, const struct verb_option *option,
                       struct cairn_set *sets, size_t *n)
{
    const char *text = work->settings->text[option->option];
    enum option_kind kind = option_get(option->option)->kind;
    if (kind == OPTION_FLAG)
        text = "yes";
    if (kind == OPTION_TIME) {
        snprintf(work->milliseconds, sizeof work->milliseconds, "%" PRIu64,
                 work->settings->number[option->option]);
        text = work->milliseconds;
    }
    if (text[0] != '\0')
        return take_set(work, option->field, text, sets, n);
    if (work->verb->action == ITEM_SET)
        sets[(*n)++] = (struct cairn_set){option->field, NULL};
    return 0;
}

/* The fields that operands and options set, and those that the command itself sets. */
static int take_sets(struct work *work, struct cairn_set sets[SETS_MOST], size_t *n)
{
    const struct item_verb *verb = work->verb;
    int at = verb->action == ITEM_SET, status = 0;
    *n = 0;
    if (verb->fixed.field)
        sets[(*n)++] = verb->fixed;
    for (size_t i = 0; i < 2 && verb->operands[i] && status == 0; i++)
        status =
            take_set(work, verb->operands[i], work->settings->operands[at++], sets, n);
    for (size_t i = 0; i < VERB_OPTIONS && verb->options[i].field && status == 0; i++) {
        if (work->settings->given[verb->options[i].option])
            status = take_option(work, &verb->options[i], sets, n);
    }
    if (status == 0 && *n == 0)
        return report_usage(verb->command, "nothing is to be changed: give an option");
    return status;
}

/* The id of the item that is meant must be of the kind of the command. */
static int check_id(const struct work *work)
{
    const char *id = work->settings->operands[0];
    if (item_kind_has(work->kind, id))
        return 0;
    return report_usage(work->verb->command,
                        "'%s' is no %s id: those are %s1, %s2 and so on", id,
                        work->kind->name, work->kind->prefix, work->kind->prefix);
}

/* ---- Changing ---- */

static bool of_evidence(const struct work *work)
{
    return strcmp(work->verb->kind, "evidence") == 0;
}

static void confidence_document(struct doc *doc, const struct work *work,
                                const struct cairn_board_result *result)
{
    if (of_evidence(work) && work->verb->action != ITEM_REMOVE)
        doc_exact(doc, "strength", result->strength);
    else
        doc_null(doc, "strength");
    if (result->hypothesis[0] == '\0') {
        doc_null(doc, "confidence");
        doc_null(doc, "confidence_before");
    } else {
        doc_exact(doc, "confidence", result->confidence);
        doc_exact(doc, "confidence_before", result->confidence_before);
    }
    doc_bool(doc, "doubtful", result->doubtful);
}

static int print_result_document(const struct work *work,
                                 const struct cairn_board_result *result)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "id", result->id);
    doc_count(&doc, "changed", result->changed);
    doc_text(&doc, "checkpoint", result->checkpoint[0] ? result->checkpoint : NULL);
    doc_text(&doc, "contradicts", result->contradicts[0] ? result->contradicts : NULL);
    confidence_document(&doc, work, result);
    doc_count(&doc, "pruned", result->pruned);
    return doc_print(&doc);
}

/* Evidence of which less counts than was given. */
static void say_strength(const struct work *work,
                         const struct cairn_board_result *result)
{
    bool less = result->strength < result->strength_given ||
                result->strength > result->strength_given;
    if (of_evidence(work) && work->verb->action != ITEM_REMOVE && less)
        ui_warn("strength %g counts as %g, the most that evidence of this kind has "
                "(--kind experiment: up to 1)",
                result->strength_given, result->strength);
}

static void say_confidence(const struct work *work,
                           const struct cairn_board_result *result)
{
    bool same = !(result->confidence < result->confidence_before) &&
                !(result->confidence > result->confidence_before);
    if (result->hypothesis[0] == '\0' || (same && !of_evidence(work)))
        return;
    say("%s is now at %.2f (it was at %.2f)", result->hypothesis, result->confidence,
        result->confidence_before);
    if (result->doubtful)
        ui_warn("%s is confirmed, but now at %.2f", result->hypothesis,
                result->confidence);
}

/* What followed from the change by itself. */
static void say_consequences(const struct work *work,
                             const struct cairn_board_result *result)
{
    say_strength(work, result);
    say_confidence(work, result);
    if (result->changed > 1)
        say("%u more item%s changed because of it: `cairn session log`",
            result->changed - 1, result->changed == 2 ? "" : "s");
    if (result->contradicts[0] != '\0')
        ui_warn("%s contradicts %s: at most one of them is true", result->id,
                result->contradicts);
    if (result->checkpoint[0] != '\0')
        say("checkpoint %s was made because of it", result->checkpoint);
    say_pruned(result->pruned);
}

static int report_result(const struct work *work,
                         const struct cairn_board_result *result)
{
    if (ui_json())
        return print_result_document(work, result);
    if (work->verb->action == ITEM_ADD)
        out("%s\n", result->id);
    out_flush();
    if (result->changed == 0)
        say("%s is as it was: nothing has changed", work->settings->operands[0]);
    else if (work->verb->done)
        say("%s %s", result->id, work->verb->done);
    say_consequences(work, result);
    return 0;
}

static int change_item(struct work *work)
{
    const struct item_verb *verb = work->verb;
    const char *id = work->settings->operands[0];
    struct cairn_board_result result = {0};
    struct cairn_set sets[SETS_MOST];
    struct cairn_error error = {0};
    size_t n = 0;
    int rc, status = verb->action == ITEM_REMOVE ? 0 : take_sets(work, sets, &n);
    if (status == 0)
        status = session_store(work->settings, STORE_WRITE, &work->store);
    if (status != 0)
        return status;
    if (verb->action == ITEM_ADD)
        rc = cairn_item_add(work->store, work->session, verb->kind, sets, n, &result,
                            &error);
    else if (verb->action == ITEM_SET)
        rc = cairn_item_set(work->store, work->session, id, sets, n, &result, &error);
    else
        rc = cairn_item_remove(work->store, work->session, id, &result, &error);
    return rc != 0 ? report_error(&error) : report_result(work, &result);
}

/* ---- Looking ---- */

static int show_one(void *context, const struct cairn_item *item)
{
    struct doc *doc = context;
    if (doc)
        item_document(doc, item);
    else
        item_page(item);
    return 0;
}

/* An earlier state is one of the current session, too, where no other is named. */
static int find_state(struct work *work)
{
    struct cairn_session_info info;
    if (!work->session && work->settings->given[OPT_AT] &&
        cairn_session_get(work->store, NULL, &info, NULL) == 0) {
        snprintf(work->current, sizeof work->current, "%llu",
                 (unsigned long long)info.session);
        work->session = work->current;
    }
    return session_checkpoint_of(work->store, work->session,
                                 work->settings->text[OPT_AT], work->at_id, &work->at);
}

static int show_item(struct work *work)
{
    const struct settings *settings = work->settings;
    struct doc doc = {0}, *used = ui_json() ? &doc : NULL;
    struct cairn_error error = {0};
    int status = session_store(work->settings, STORE_READ, &work->store);
    if (status == 0)
        status = find_state(work);
    if (status != 0)
        return status;
    if (used)
        doc_begin(used);
    if (cairn_item_get(work->store, work->session, settings->operands[0], work->at,
                       show_one, used, &error) == 0)
        status = item_belongings(work->store, work->session, work->verb->kind,
                                 settings->operands[0], work->at, used);
    else
        status = report_error(&error);
    if (used && status == 0)
        return doc_print(used);
    if (used)
        doc_discard(used);
    return status;
}

struct listing {
    const struct item_kind *kind;
    struct doc *doc; /* with --json */
    uint64_t shown;
};

static int list_one(void *context, const struct cairn_item *item)
{
    struct listing *listing = context;
    listing->shown++;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        item_document(listing->doc, item);
        doc_end(listing->doc);
        return 0;
    }
    if (listing->shown == 1)
        item_headings(listing->kind);
    item_line(listing->kind, item);
    return ui_output_lost();
}

/* Which items are wanted: at most one option restricts them. */
static int take_filter(const struct work *work, struct cairn_item_filter *filter)
{
    const struct settings *settings = work->settings;
    const struct verb_option *options = work->verb->options;
    *filter = (struct cairn_item_filter){
        .kind = work->verb->kind,
        .by_score = work->verb->by_score && !settings->given[OPT_ALL_GAPS],
        .page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                 .offset = settings->number[OPT_OFFSET],
                 .oldest_first = settings->number[OPT_SORT_ITEMS] == 1}};
    for (size_t i = 0; i < VERB_OPTIONS && options[i].field; i++) {
        if (!settings->given[options[i].option])
            continue;
        if (filter->field)
            return report_usage(work->verb->command, "give only one of --%s and --%s",
                                option_get(options[0].option)->name,
                                option_get(options[i].option)->name);
        filter->field = options[i].field;
        filter->value = settings->text[options[i].option];
    }
    return 0;
}

static int end_list(const struct listing *listing, const struct cairn_page *page,
                    uint64_t total)
{
    if (!listing->doc) {
        out_flush();
        say("%" PRIu64 " of %" PRIu64 " %s", listing->shown, total,
            total == 1 ? listing->kind->name : listing->kind->plural);
        return 0;
    }
    doc_end(listing->doc);
    doc_count(listing->doc, "total", total);
    doc_count(listing->doc, "limit", page->limit);
    doc_count(listing->doc, "offset", page->offset);
    return doc_print(listing->doc);
}

static int list_items(struct work *work)
{
    struct doc doc = {0};
    struct listing listing = {.kind = work->kind, .doc = ui_json() ? &doc : NULL};
    struct cairn_item_filter filter;
    struct cairn_error error = {0};
    uint64_t total = 0;
    int status = take_filter(work, &filter);
    if (status == 0)
        status = session_store(work->settings, STORE_READ, &work->store);
    if (status == 0)
        status = find_state(work);
    if (status != 0)
        return status;
    filter.checkpoint = work->at;
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "items");
    }
    if (cairn_item_list(work->store, work->session, &filter, list_one, &listing, &total,
                        &error) == 0)
        return end_list(&listing, &filter.page, total);
    if (listing.doc)
        doc_discard(&doc);
    return report_error(&error);
}

int command_item(struct settings *settings)
{
    const struct item_verb *verb = item_verb(settings->command);
    struct work work = {.settings = settings,
                        .verb = verb,
                        .kind = item_kind_named(verb->kind),
                        .session = session_option(settings),
                        .texts = {.command = settings->command}};
    bool has_id = verb->action != ITEM_ADD && verb->action != ITEM_LIST;
    int status = has_id ? check_id(&work) : 0;
    if (status == 0)
        status = verb->action == ITEM_LIST   ? list_items(&work)
                 : verb->action == ITEM_SHOW ? show_item(&work)
                                             : change_item(&work);
    hooks_run_and_close(work.store);
    texts_release(&work.texts);
    return status;
}
