/* SPDX-License-Identifier: MIT */
/* cairn checkpoint fork: going on from a checkpoint, beside what there is. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <stdlib.h>

struct branch_fork {
    const struct settings *settings;
    const char *id;
};

static int start_branch(void *context, struct cairn_store *store,
                        const struct cairn_restore_options *options,
                        struct cairn_branch_info *info, struct cairn_error *error)
{
    const struct branch_fork *begun = context;
    const struct settings *settings = begun->settings;
    int rc = cairn_branch_start(store, session_option(settings),
                                settings->text[OPT_FORK_NAME], begun->id, options, info,
                                error);
    if (rc == 0 && !ui_json())
        out("%s\n", info->name);
    return rc;
}

static int fork_branch(const struct settings *settings, struct cairn_store *store,
                       const char *id)
{
    struct branch_fork begun = {settings, id};
    return branch_go_on(settings, store, start_branch, &begun);
}

static void say_forked(const struct cairn_forked *forked, const char *directory)
{
    char *word = shell_word(directory);
    say("session %s begins at %s; its files are in %s: %llu, of which %llu share their "
        "blocks with others",
        forked->session, forked->from, directory, (unsigned long long)forked->files,
        (unsigned long long)forked->cloned);
    if (forked->left > 0)
        ui_warn("%llu are not there: the checkpoint has their names alone",
                (unsigned long long)forked->left);
    if (word)
        say("to work there: cd %s", word);
    free(word);
}

static int fork_to(const struct settings *settings, struct cairn_store *store,
                   const char *id)
{
    const char *directory = settings->text[OPT_FORK_TO];
    struct cairn_forked forked = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_session_fork(store, session_option(settings), id, directory,
                           settings->text[OPT_FORK_NAME], &forked, &error) != 0)
        return report_error(&error);
    if (!ui_json()) {
        out("%s\n", forked.session);
        out_flush();
        say_forked(&forked, directory);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "session_name", forked.session);
    doc_count(&doc, "session", forked.number);
    doc_text(&doc, "branch", forked.branch);
    doc_text(&doc, "from", forked.from);
    doc_text(&doc, "checkpoint", forked.checkpoint);
    doc_text(&doc, "directory", directory);
    doc_count(&doc, "files", forked.files);
    doc_count(&doc, "cloned", forked.cloned);
    doc_count(&doc, "left", forked.left);
    return doc_print(&doc);
}

int command_checkpoint_fork(struct settings *settings)
{
    struct cairn_store *store = NULL;
    char id[CAIRN_ID_MAX];
    const char *wanted;
    int status = 0;
    if (settings->n_operands > 1 && settings->given[OPT_FORK_TO])
        return report_usage(settings->command, "give only one of DIR and --to");
    if (settings->n_operands > 1) {
        settings->given[OPT_FORK_TO] = true;
        settings->text[OPT_FORK_TO] = settings->operands[1];
    }
    if (settings->given[OPT_FORK_TO] &&
        (settings->given[OPT_DRY_RUN] || settings->given[OPT_RESTORE_ALL]))
        return report_usage(settings->command,
                            "--dry-run and --all are for a branch: a new directory "
                            "takes nothing back");
    status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = session_checkpoint_of(store, session_option(settings),
                                       settings->operands[0], id, &wanted);
    if (status == 0)
        status = settings->given[OPT_FORK_TO] ? fork_to(settings, store, wanted)
                                              : fork_branch(settings, store, wanted);
    hooks_run_and_close(store);
    return status;
}
