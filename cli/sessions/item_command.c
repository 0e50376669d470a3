/* SPDX-License-Identifier: MIT */
/* Every command about items, from its row in the table of verbs; cairn belief cascade.
 */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include "cairn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum item_action {
    ITEM_ADD,
    ITEM_SET,    /* the first operand is the id */
    ITEM_REMOVE, /* likewise */
    ITEM_SHOW,   /* likewise */
    ITEM_LIST
};

enum { VERB_OPTIONS = 6 };

/* The option of a command that becomes a field; of a list, the field it must have. */
struct verb_option {
    enum option_id option;
    const char *field;
};

struct item_verb {
    const char *command; /* "hypothesis confirm" */
    const char *kind;
    enum item_action action;
    const char *operands[2];                  /* the fields that the operands set */
    struct verb_option options[VERB_OPTIONS]; /* ended by a NULL field */
    struct cairn_set fixed;                   /* a field that is set as well, or NULL */
    const char *done;                         /* "confirmed", for people */
    bool by_score;                            /* a list of open gaps, unless --all */
};

/* NULL: it is not a command about items. */
static const struct item_verb *item_verb(const char *command);

/* The commands that are the same for every kind. */
#define SHOW(group, of)                                              \
    {                                                                \
        .command = group " show", .kind = (of), .action = ITEM_SHOW, \
    }

#define REMOVE(name, of)                                                          \
    {                                                                             \
        .command = (name), .kind = (of), .action = ITEM_REMOVE, .done = "removed" \
    }

static const struct item_verb verbs[] = {
    {.command = "hypothesis add",
     .kind = "hypothesis",
     .action = ITEM_ADD,
     .operands = {"statement"},
     .options = {{OPT_PRIOR, "prior"}, {OPT_TAG, "tags"}}},
    {.command = "hypothesis list",
     .kind = "hypothesis",
     .action = ITEM_LIST,
     .options = {{OPT_ONLY_STATUS, "status"}, {OPT_ONLY_TAG, "tags"}}},
    SHOW("hypothesis", "hypothesis"),
    {.command = "hypothesis test",
     .kind = "hypothesis",
     .action = ITEM_SET,
     .fixed = {"status", "testing"},
     .done = "is being tested"},
    {.command = "hypothesis confirm",
     .kind = "hypothesis",
     .action = ITEM_SET,
     .options = {{OPT_REASON, "reason"}},
     .fixed = {"status", "confirmed"},
     .done = "confirmed"},
    {.command = "hypothesis reject",
     .kind = "hypothesis",
     .action = ITEM_SET,
     .options = {{OPT_REASON, "reason"}},
     .fixed = {"status", "rejected"},
     .done = "rejected"},
    {.command = "hypothesis update",
     .kind = "hypothesis",
     .action = ITEM_SET,
     .options = {{OPT_STATEMENT, "statement"}, {OPT_PRIOR, "prior"}, {OPT_TAG, "tags"}},
     .done = "updated"},
    REMOVE("hypothesis remove", "hypothesis"),

    {.command = "evidence add",
     .kind = "evidence",
     .action = ITEM_ADD,
     .operands = {"hypothesis", "text"},
     .options = {{OPT_STRENGTH, "strength"},
                 {OPT_EVIDENCE_KIND, "kind"},
                 {OPT_SOURCE, "source"}}},
    {.command = "evidence list",
     .kind = "evidence",
     .action = ITEM_LIST,
     .options = {{OPT_ONLY_HYPOTHESIS, "hypothesis"}}},
    SHOW("evidence", "evidence"),
    {.command = "evidence update",
     .kind = "evidence",
     .action = ITEM_SET,
     .options = {{OPT_TEXT, "text"},
                 {OPT_STRENGTH, "strength"},
                 {OPT_EVIDENCE_KIND, "kind"},
                 {OPT_SOURCE, "source"}},
     .done = "updated"},
    REMOVE("evidence remove", "evidence"),

    {.command = "belief add",
     .kind = "belief",
     .action = ITEM_ADD,
     .operands = {"statement"},
     .options = {{OPT_CONFIDENCE, "confidence"},
                 {OPT_SUBJECT, "subject"},
                 {OPT_CLAIM, "claim"},
                 {OPT_DENIED, "denied"},
                 {OPT_TAG, "tags"}}},
    {.command = "belief list",
     .kind = "belief",
     .action = ITEM_LIST,
     .options = {{OPT_ONLY_TAG, "tags"}}},
    SHOW("belief", "belief"),
    {.command = "belief update",
     .kind = "belief",
     .action = ITEM_SET,
     .options = {{OPT_STATEMENT, "statement"},
                 {OPT_CONFIDENCE, "confidence"},
                 {OPT_SUBJECT, "subject"},
                 {OPT_CLAIM, "claim"},
                 {OPT_SET_DENIED, "denied"},
                 {OPT_TAG, "tags"}},
     .done = "updated"},
    REMOVE("belief remove", "belief"),
    {.command = "belief depend",
     .kind = "dependency",
     .action = ITEM_ADD,
     .operands = {"from", "to"},
     .options = {{OPT_DEPENDENCY_KIND, "kind"}}},
    {.command = "belief dependencies", .kind = "dependency", .action = ITEM_LIST},
    REMOVE("belief undepend", "dependency"),

    {.command = "gap add",
     .kind = "gap",
     .action = ITEM_ADD,
     .operands = {"text"},
     .options = {{OPT_GAP_KIND, "kind"},
                 {OPT_CRITICALITY, "criticality"},
                 {OPT_HYPOTHESIS, "hypothesis"}}},
    {.command = "gap list", .kind = "gap", .action = ITEM_LIST, .by_score = true},
    SHOW("gap", "gap"),
    {.command = "gap fill",
     .kind = "gap",
     .action = ITEM_SET,
     .operands = {"resolution"},
     .fixed = {"status", "filled"},
     .done = "filled"},
    {.command = "gap update",
     .kind = "gap",
     .action = ITEM_SET,
     .options = {{OPT_TEXT, "text"},
                 {OPT_GAP_KIND, "kind"},
                 {OPT_CRITICALITY, "criticality"},
                 {OPT_HYPOTHESIS, "hypothesis"}},
     .done = "updated"},
    REMOVE("gap remove", "gap"),

    {.command = "note add",
     .kind = "note",
     .action = ITEM_ADD,
     .operands = {"text"},
     .options = {{OPT_SEVERITY, "severity"}, {OPT_TAG, "tags"}, {OPT_ABOUT, "about"}}},
    {.command = "note list",
     .kind = "note",
     .action = ITEM_LIST,
     .options = {{OPT_ONLY_TAG, "tags"}, {OPT_ONLY_ABOUT, "about"}}},
    SHOW("note", "note"),
    {.command = "note update",
     .kind = "note",
     .action = ITEM_SET,
     .options = {{OPT_TEXT, "text"},
                 {OPT_SEVERITY, "severity"},
                 {OPT_TAG, "tags"},
                 {OPT_ABOUT, "about"}},
     .done = "updated"},
    REMOVE("note remove", "note"),

    {.command = "command list", .kind = "command", .action = ITEM_LIST},
    SHOW("command", "command"),
    REMOVE("command remove", "command"),

    {.command = "check add",
     .kind = "check",
     .action = ITEM_ADD,
     .operands = {"text"},
     .options = {{OPT_CHECK_COMMAND, "command"},
                 {OPT_HYPOTHESIS, "hypothesis"},
                 {OPT_CHECK_TIMEOUT, "timeout_ms"},
                 {OPT_RETRIES, "retries"}}},
    {.command = "check list",
     .kind = "check",
     .action = ITEM_LIST,
     .options = {{OPT_CHECK_STATUS, "status"}, {OPT_ONLY_HYPOTHESIS, "hypothesis"}}},
    SHOW("check", "check"),
    {.command = "check update",
     .kind = "check",
     .action = ITEM_SET,
     .options = {{OPT_TEXT, "text"},
                 {OPT_CHECK_COMMAND, "command"},
                 {OPT_HYPOTHESIS, "hypothesis"},
                 {OPT_CHECK_TIMEOUT, "timeout_ms"},
                 {OPT_RETRIES, "retries"}},
     .done = "updated"},
    REMOVE("check remove", "check"),
};

static const struct item_verb *item_verb(const char *command)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(verbs[i].command, command) == 0)
            return &verbs[i];
    }
    return NULL;
}

/* ---- Every command about items ---- */

enum { SETS_MOST = VERB_OPTIONS + 3 };

struct work {
    struct settings *settings;
    const struct item_verb *verb;
    const struct item_kind *kind;
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
    for (size_t i = 0; i < COUNT_OF(prose); i++) {
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
        u64_text(work->settings->number[option->option], work->milliseconds);
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
                        "'%s' is not an id of kind %s: those are %s1, %s2 and so on",
                        id, work->kind->name, work->kind->prefix, work->kind->prefix);
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
        say("%u more item%s changed as a result: `cairn session log`",
            result->changed - 1, result->changed == 2 ? "" : "s");
    if (result->contradicts[0] != '\0')
        ui_warn("%s contradicts %s: at most one of them is true", result->id,
                result->contradicts);
    if (result->checkpoint[0] != '\0')
        say("checkpoint %s was created by this", result->checkpoint);
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
        status = session_store(work->settings, STORE_WRITE);
    if (status != 0)
        return status;
    if (verb->action == ITEM_ADD)
        rc = cairn_item_add(work->settings->store, work->session, verb->kind, sets, n,
                            &result, &error);
    else if (verb->action == ITEM_SET)
        rc = cairn_item_set(work->settings->store, work->session, id, sets, n, &result,
                            &error);
    else
        rc = cairn_item_remove(work->settings->store, work->session, id, &result,
                               &error);
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
        cairn_session_get(work->settings->store, NULL, &info, NULL) == 0) {
        u64_text(info.session, work->current);
        work->session = work->current;
    }
    return session_checkpoint_of(work->settings->store, work->session,
                                 work->settings->text[OPT_AT], work->at_id, &work->at);
}

static int show_item(struct work *work)
{
    const struct settings *settings = work->settings;
    struct doc doc, *used;
    struct cairn_error error = {0};
    int status = session_store(work->settings, STORE_READ) ?: find_state(work);
    if (status != 0)
        return status;
    used = doc_open(&doc, NULL);
    if (cairn_item_get(work->settings->store, work->session, settings->operands[0],
                       work->at, show_one, used, &error) == 0)
        status = item_belongings(work->settings->store, work->session, work->verb->kind,
                                 settings->operands[0], work->at, used);
    else
        status = report_error(&error);
    return doc_close(used, status);
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
    struct doc doc;
    struct listing listing = {.kind = work->kind};
    struct cairn_item_filter filter;
    struct cairn_error error = {0};
    uint64_t total = 0;
    int status = take_filter(work, &filter)
                 ?: session_store(work->settings, STORE_READ)
                 ?: find_state(work);
    if (status != 0)
        return status;
    filter.checkpoint = work->at;
    listing.doc = doc_open(&doc, "items");
    if (cairn_item_list(work->settings->store, work->session, &filter, list_one,
                        &listing, &total, &error) == 0)
        return end_list(&listing, &filter.page, total);
    return doc_close(listing.doc, report_error(&error));
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
    texts_release(&work.texts);
    return status;
}

/* cairn belief cascade. */

struct steps {
    struct doc *doc; /* with --json */
    bool any;
};

static int print_step(void *context, const struct cairn_cascade_step *step)
{
    struct steps *steps = context;
    if (steps->doc) {
        doc_object(steps->doc, NULL);
        doc_text(steps->doc, "id", step->id);
        doc_count(steps->doc, "depth", step->depth);
        doc_real(steps->doc, "before", step->before);
        doc_real(steps->doc, "after", step->after);
        doc_end(steps->doc);
        return 0;
    }
    if (!steps->any)
        out("%-6s  %5s  %6s  %6s\n", "ID", "DEPTH", "BEFORE", "AFTER");
    steps->any = true;
    out("%-6s  %5u  %6.2f  %6.2f\n", step->id, step->depth, step->before, step->after);
    return 0;
}

static int preview(const struct settings *settings, double confidence)
{
    struct doc doc;
    struct steps steps = {.doc = doc_open(&doc, "steps")};
    struct cairn_cascade cascade;
    struct cairn_error error = {0};
    if (cairn_belief_preview(settings->store, session_option(settings),
                             settings->operands[0], confidence,
                             (uint32_t)settings->number[OPT_PAGE], print_step, &steps,
                             &cascade, &error) != 0)
        return doc_close(steps.doc, report_error(&error));
    if (!steps.doc) {
        out_flush();
        say("page %u of %u; to do this: `cairn belief cascade %s %s --token %s`",
            cascade.page, cascade.pages, settings->operands[0], settings->operands[1],
            cascade.token);
        return 0;
    }
    doc_end(&doc);
    doc_count(&doc, "total", cascade.steps);
    doc_count(&doc, "page", cascade.page);
    doc_count(&doc, "pages", cascade.pages);
    doc_text(&doc, "token", cascade.token);
    return doc_print(&doc);
}

static int carry_on(const struct settings *settings, double confidence)
{
    struct cairn_board_result result = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_belief_cascade(settings->store, session_option(settings),
                             settings->operands[0], confidence,
                             settings->text[OPT_PREVIEWED], &result, &error) != 0)
        return report_error(&error);
    if (!ui_json()) {
        say("%u belief%s changed; `cairn session undo` takes it back", result.changed,
            plural(result.changed));
        say_pruned(result.pruned);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "id", result.id);
    doc_count(&doc, "changed", result.changed);
    doc_count(&doc, "pruned", result.pruned);
    return doc_print(&doc);
}

int command_belief_cascade(struct settings *settings)
{
    const char *text = settings->operands[1];
    bool look = settings->given[OPT_PREVIEW];
    char *end;
    double confidence = strtod(text, &end);
    if (end == text || *end)
        return report_usage("belief cascade", "CONFIDENCE is a number from 0 to 1");
    if (settings->given[OPT_PAGE] && !look)
        return report_usage("belief cascade", "--page needs --preview");
    if (settings->given[OPT_PREVIEWED] && look)
        return report_usage("belief cascade", "give --preview or --token, not both");
    int status = session_store(settings, look ? STORE_READ : STORE_WRITE);
    if (status == 0)
        status = look ? preview(settings, confidence) : carry_on(settings, confidence);
    return status;
}
