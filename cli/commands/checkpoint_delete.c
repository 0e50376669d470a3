/* SPDX-License-Identifier: MIT */
/* cairn checkpoint delete: deletes one, after asking on a terminal. */
#include "cli/commands/store_commands.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

static bool ask_to_delete(const char *id)
{
    say_always("checkpoint %s", id);
    return ui_ask("Delete it permanently?");
}

static int delete_checkpoint(const struct settings *settings, struct cairn_store *store)
{
    struct cairn_checkpoint_info info = {0};
    const char *id = settings->operands[0];
    struct cairn_error error = {0};
    struct doc doc;
    /* One that is damaged, or cannot be rebuilt because one before it was deleted,
     * cannot be got, but it can be deleted. */
    if (cairn_checkpoint_get(store, id, &info, &error) == 0)
        id = info.id;
    else if (error.code != CAIRN_EDAMAGED && error.code != CAIRN_ENOTFOUND)
        return report_error(&error);
    if (!settings->given[OPT_YES] && !ask_to_delete(id)) {
        say_always("nothing was deleted");
        return 0;
    }
    if (cairn_checkpoint_delete(store, id, &error) != 0)
        return report_error(&error);
    store_forget(store);
    if (!ui_json()) {
        say("deleted %s", id);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "deleted", id);
    return doc_print(&doc);
}

int command_checkpoint_delete(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status;
    if (!settings->given[OPT_YES] && !ui_can_ask())
        return report_usage("checkpoint delete",
                            "deleting without a terminal needs --yes");
    status = store_for_writing(settings, &store, false);
    if (status == 0)
        status = checkpoint_operand(settings, store, 0);
    if (status == 0)
        status = delete_checkpoint(settings, store);
    cairn_store_close(store);
    return status;
}
