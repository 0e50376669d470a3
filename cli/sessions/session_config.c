/* SPDX-License-Identifier: MIT */
/* cairn session config: shows the settings of a session, or changes one. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <string.h>
#include <unistd.h>

struct looking {
    const char *only; /* NULL: all settings */
    struct doc *doc;  /* with --json */
    bool found;
};

static int each_setting(void *context, const char *name, const char *value,
                        bool is_default)
{
    struct looking *looking = context;
    if (looking->only && strcmp(looking->only, name) != 0)
        return 0;
    looking->found = true;
    if (looking->doc) {
        doc_object(looking->doc, NULL);
        doc_text(looking->doc, "name", name);
        doc_text(looking->doc, "value", value);
        doc_bool(looking->doc, "default", is_default);
        doc_end(looking->doc);
    } else if (looking->only) {
        out("%s\n", value);
    } else {
        out("%-20s  %-5s%s\n", name, value, is_default ? "  (default)" : "");
    }
    return 0;
}

static int show_settings(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct looking looking = {.only = settings->operands[0],
                              .doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    int status = 0;
    if (looking.doc) {
        doc_begin(&doc);
        doc_array(&doc, "settings");
    }
    if (cairn_session_config(store, session_option(settings), each_setting, &looking,
                             &error) != 0)
        status = report_error(&error);
    else if (!looking.found)
        status = report_usage(settings->command,
                              "there is no setting '%s': `cairn session config` lists "
                              "all of them",
                              looking.only ? looking.only : "");
    if (looking.doc && status != 0)
        doc_discard(&doc);
    return status == 0 && looking.doc ? doc_print(&doc) : status;
}

static int change_setting(const struct settings *settings, struct cairn_store *store)
{
    const char *name = settings->operands[0], *value = settings->operands[1];
    char project[PATH_MAX];
    struct cairn_error error = {0};
    struct doc doc;
    if (strcmp(name, "files") == 0 && strcmp(value, "on") == 0 &&
        access(value, F_OK) != 0) {
        if (!project_of(store, project))
            return report_usage(settings->command,
                                "`files` takes a directory, or off: `cairn session "
                                "config files .` is the current one");
        value = project;
    }
    if (cairn_session_configure(store, session_option(settings), name, value, &error) !=
        0)
        return report_error(&error);
    if (!ui_json()) {
        say("%s is now %s", name, value);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "name", name);
    doc_text(&doc, "value", value);
    return doc_print(&doc);
}

int command_session_config(struct settings *settings)
{
    bool change = settings->n_operands == 2;
    struct cairn_store *store = NULL;
    int status = session_store(settings, change ? STORE_WRITE : STORE_READ, &store);
    if (status == 0)
        status =
            change ? change_setting(settings, store) : show_settings(settings, store);
    hooks_run_and_close(store);
    return status;
}
