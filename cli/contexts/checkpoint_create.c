/* SPDX-License-Identifier: MIT */
/* cairn checkpoint create: the whole state of a session, under a message, with what an
 * agent has to know to go on. */
#include "cli/commands/commands.h"
#include "cli/contexts/context.h"
#include "cli/contexts/given.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

/* ---- What was made ---- */

static int add_made(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct doc *doc = context;
    doc_time(doc, "time", info->checkpoint.time_ns);
    doc_text(doc, "session", info->checkpoint.session_name);
    doc_text(doc, "branch", info->checkpoint.branch_name);
    doc_text(doc, "trigger", info->trigger);
    doc_text(doc, "message", info->message);
    doc_array(doc, "tags");
    for (size_t i = 0; i < info->n_tags; i++)
        doc_text(doc, NULL, info->tags[i]);
    doc_end(doc);
    return 0;
}

/* As it is stored: without secrets. */
static int made_document(struct doc *doc, struct cairn_store *store, const char *id,
                         bool contextd)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    if (cairn_session_checkpoint_get(store, id, add_made, doc, &error) != 0 ||
        (contextd && cairn_checkpoint_get(store, id, &info, &error) != 0))
        return report_error(&error);
    int status = context_document(doc, store, id);
    return status == 0 && contextd ? contextd_members(doc, store, &info, false)
                                   : status;
}

static int report_document(struct cairn_store *store,
                           const struct cairn_captured *captured, bool contextd)
{
    struct doc doc;
    int status = 0;
    doc_begin(&doc);
    doc_bool(&doc, "made", captured->made);
    doc_text(&doc, "why", captured->made ? NULL : captured->why);
    doc_text(&doc, "id", captured->id[0] != '\0' ? captured->id : NULL);
    doc_some(&doc, "seq", captured->seq);
    doc_count(&doc, "pruned", captured->pruned);
    doc_count(&doc, "left_out", captured->left_out);
    if (captured->made)
        status = made_document(&doc, store, captured->id, contextd);
    if (status == 0)
        return doc_print(&doc);
    doc_discard(&doc);
    return status;
}

static int report_captured(struct cairn_store *store,
                           const struct cairn_captured *captured, bool contextd)
{
    if (ui_json())
        return report_document(store, captured, contextd);
    if (captured->made)
        out("%s\n", captured->id);
    out_flush();
    if (!captured->made)
        say("no checkpoint was made: %s%s%s", captured->why,
            captured->id[0] != '\0' ? "; the last one is " : "", captured->id);
    say_pruned(captured->pruned);
    if (captured->made && captured->left_out > 0)
        ui_warn("%llu file%s left out: `cairn checkpoint files %s` names %s",
                (unsigned long long)captured->left_out,
                captured->left_out == 1 ? " was" : "s were", captured->id,
                captured->left_out == 1 ? "it" : "them");
    return 0;
}

/* ---- What is given ---- */

/* With --threshold the usage decides, unless another trigger is named. */
static const char *trigger_of(const struct settings *settings)
{
    return settings->given[OPT_THRESHOLD] && !settings->given[OPT_TRIGGER]
               ? "context-threshold"
               : settings->text[OPT_TRIGGER];
}

static int take_message(const struct settings *settings, struct texts *texts,
                        const char *trigger, const char **message)
{
    bool manual = !trigger || strcmp(trigger, "manual") == 0;
    if (settings->n_operands > 0)
        return texts_take(texts, settings->operands[0], message);
    if (manual && !settings->given[OPT_SUMMARY])
        return report_usage(settings->command,
                            "say what it is for: cairn checkpoint create MESSAGE, or "
                            "--summary TEXT");
    return 0;
}

static int found_one(void *context, const struct cairn_session_info *info)
{
    (void)info;
    *(bool *)context = true;
    return 1;
}

/* The session that is meant. Where none is named, or there are none that the name could
 * have missed, it is started: an agent that saves need not know of sessions. */
static int find_session(struct cairn_store *store, const char *named,
                        struct cairn_session_info *info)
{
    struct cairn_page one = {.limit = 1};
    struct cairn_error error = {0};
    bool any = false;
    int rc = cairn_session_get(store, named, info, &error);
    if (rc == CAIRN_ENOTFOUND && named)
        (void)cairn_session_list(store, &one, found_one, &any, NULL, NULL);
    if (rc == CAIRN_ENOTFOUND && !any) {
        rc = cairn_session_start(store, named, true, info, &error);
        if (rc == 0)
            say("cairn: started session %s", info->name);
    }
    return rc == 0 ? 0 : report_error(&error);
}

static int create_checkpoint(struct settings *settings, struct cairn_capture *capture)
{
    struct cairn_session_info info = {0};
    struct cairn_captured captured = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    bool contextd;
    if (!contextd_option(settings, &contextd))
        return EXIT_USAGE;
    int status = session_store(settings, STORE_CREATE, &store);
    if (status == 0)
        status = find_session(store, session_option(settings), &info);
    if (status == 0 &&
        cairn_session_checkpoint(store, info.name, capture, &captured, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_captured(store, &captured, contextd);
    hooks_run_and_close(store);
    return status;
}

int command_checkpoint_create(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    struct given_context given = {.any = false};
    struct word_list tags;
    struct cairn_capture capture = {.trigger = trigger_of(settings)};
    if (!word_list_init(&tags, settings->text[OPT_TAG]))
        return cairn_exit_status(CAIRN_ENOMEM);
    capture.tags = tags.words;
    capture.n_tags = tags.n;
    int status = take_message(settings, &texts, capture.trigger, &capture.message);
    if (status == 0)
        status = given_take(settings, &texts, &given);
    capture.context = given.any ? &given.context : NULL;
    if (status == 0)
        status = create_checkpoint(settings, &capture);
    word_list_release(&tags);
    given_release(&given);
    texts_release(&texts);
    return status;
}
