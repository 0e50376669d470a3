/* SPDX-License-Identifier: MIT */
/* cairn checkpoint create: the whole state of a session, under a message. */
#include "cli/events/hooks.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

static int report_captured(const struct cairn_captured *captured)
{
    struct doc doc;
    if (!ui_json()) {
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
    doc_begin(&doc);
    doc_bool(&doc, "made", captured->made);
    doc_text(&doc, "why", captured->made ? NULL : captured->why);
    doc_text(&doc, "id", captured->id[0] != '\0' ? captured->id : NULL);
    doc_some(&doc, "seq", captured->seq);
    doc_count(&doc, "pruned", captured->pruned);
    doc_count(&doc, "left_out", captured->left_out);
    return doc_print(&doc);
}

static int create_checkpoint(struct settings *settings, struct texts *texts,
                             const struct word_list *tags)
{
    struct cairn_capture capture = {
        .tags = tags->words, .n_tags = tags->n, .trigger = settings->text[OPT_TRIGGER]};
    struct cairn_captured captured = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = 0;
    if (settings->n_operands > 0)
        status = texts_take(texts, settings->operands[0], &capture.message);
    else if (settings->number[OPT_TRIGGER] == 0)
        return report_usage(settings->command,
                            "say what it is for: cairn checkpoint create MESSAGE");
    if (status == 0)
        status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 && cairn_session_checkpoint(store, session_option(settings),
                                                &capture, &captured, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_captured(&captured);
    hooks_run_and_close(store);
    return status;
}

int command_checkpoint_create(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    struct word_list tags;
    int status;
    if (!word_list_init(&tags, settings->text[OPT_TAG]))
        return cairn_exit_status(CAIRN_ENOMEM);
    status = create_checkpoint(settings, &texts, &tags);
    word_list_release(&tags);
    texts_release(&texts);
    return status;
}
