/* SPDX-License-Identifier: MIT */
/* cairn checkpoint at: what was known in a session at some time. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/checkpoint_state.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <strings.h>

static int take_moment(const struct settings *settings, struct cairn_moment *moment)
{
    const char *text = settings->operands[0];
    bool seq = settings->given[OPT_SEQ];
    if ((text != NULL) + seq != 1)
        return report_usage(settings->command,
                            "give exactly one of TIME, CHECKPOINT and --seq N");
    moment->seq = seq ? settings->number[OPT_SEQ] : 0;
    moment->tag = settings->text[OPT_TAGGED];
    if (text && looks_like_checkpoint(text))
        moment->id = text;
    else
        moment->time = text;
    return 0;
}

static int section_of(const struct settings *settings)
{
    return settings->given[OPT_SECTION] ? (int)settings->number[OPT_SECTION] : -1;
}

/* The present is the board as it is, whatever the newest checkpoint holds. */
static bool is_present(const struct settings *settings)
{
    const char *text = settings->operands[0];
    return text && strcasecmp(text, "now") == 0 && !settings->text[OPT_TAGGED];
}

static int put_items(const struct settings *settings, struct cairn_store *store,
                     const struct cairn_checkpoint_info *info, struct doc *doc)
{
    bool present = is_present(settings);
    return checkpoint_items(store, present ? session_option(settings) : NULL,
                            present ? NULL : info->id, section_of(settings), doc);
}

static int print_state(const struct settings *settings, struct cairn_store *store,
                       const struct cairn_checkpoint_info *info)
{
    char when[FORMAT_MAX];
    int status;
    out("%s\ntime      %s\n", info->id, format_local(when, info->time_ns));
    status = checkpoint_state_print(store, info->id);
    if (status == 0 && is_present(settings))
        out("present   this is the newest checkpoint; the items are the board as it is "
            "now\n");
    return status == 0 ? put_items(settings, store, info, NULL) : status;
}

static int print_state_document(const struct settings *settings,
                                struct cairn_store *store,
                                const struct cairn_checkpoint_info *info)
{
    struct doc doc;
    int status;
    doc_begin(&doc);
    doc_object(&doc, "checkpoint");
    doc_text(&doc, "id", info->id);
    doc_count(&doc, "seq", info->seq);
    doc_time(&doc, "time", info->time_ns);
    status = checkpoint_state_document(&doc, store, info->id);
    doc_end(&doc);
    doc_bool(&doc, "present", is_present(settings));
    doc_array(&doc, "items");
    if (status == 0)
        status = put_items(settings, store, info, &doc);
    if (status == 0)
        return doc_print(&doc);
    doc_discard(&doc);
    return status;
}

int command_checkpoint_at(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_moment moment = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = take_moment(settings, &moment);
    if (status == 0)
        status = session_store(settings, STORE_READ, &store);
    const char *session = session_option(settings);
    int rc = status == 0 ? cairn_session_at(store, session, &moment, &info, &error) : 0;
    if (rc == CAIRN_EUSAGE && moment.time &&
        moment.time[0] != '\0') { /* not a time: another name */
        moment.name = moment.time;
        moment.time = NULL;
        rc = cairn_session_at(store, session, &moment, &info, &error);
    }
    if (rc != 0)
        status = report_error(&error);
    else if (status == 0)
        status = ui_json() ? print_state_document(settings, store, &info)
                           : print_state(settings, store, &info);
    hooks_run_and_close(store);
    return status;
}
