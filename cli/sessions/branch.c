/* SPDX-License-Identifier: MIT */
/* cairn branch start, list, switch, abandon. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/others_changed.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void branch_document(struct doc *doc, const struct cairn_branch_info *info)
{
    doc_text(doc, "name", info->name);
    doc_count(doc, "branch", info->branch);
    doc_bool(doc, "current", info->current);
    doc_text(doc, "status", info->status);
    doc_text(doc, "from", or_null(info->from));
    doc_text(doc, "head", or_null(info->head));
    doc_time(doc, "started", info->started_ns);
    doc_text(doc, "reason", or_null(info->reason));
}

static int moved_document(const struct cairn_branch_info *info,
                          const struct others_changed *others, bool dry_run)
{
    struct doc doc;
    doc_begin(&doc);
    branch_document(&doc, info);
    doc_text(&doc, "before", info->before);
    doc_count(&doc, "files_changed", info->files_changed);
    doc_count(&doc, "files_kept", info->files_kept);
    doc_object(&doc, "files");
    others_document(&doc, others);
    doc_end(&doc);
    doc_bool(&doc, "dry_run", dry_run);
    return doc_print(&doc);
}

static void say_moved(const struct cairn_branch_info *info, bool dry_run)
{
    char *word = shell_word(info->before);
    say("work %s on branch %s%s%s", dry_run ? "would go on" : "goes on", info->name,
        info->from[0] != '\0' ? ", which begins at " : "", info->from);
    if (info->files_changed > 0)
        say("%llu files, links and directories %s replaced",
            (unsigned long long)info->files_changed, dry_run ? "would be" : "were");
    if (strcmp(info->status, "merged") == 0)
        ui_warn("branch %s was merged: what is done on it from now on is not, and "
                "cannot be merged",
                info->name);
    if (dry_run)
        say("nothing was changed: that is what would be");
    else
        say("to go back: cairn branch switch %s%s", word ? word : "NAME",
            session_hint());
    free(word);
}

static void warn_kept(void *context, const char *path, const char *what)
{
    (void)context;
    ui_warn("%s %s", path, what);
}

int branch_go_on(const struct settings *settings, struct cairn_store *store,
                 branch_move_fn *move, void *context)
{
    struct others_changed others = {.at = NULL};
    struct cairn_restore_options options = {.dry_run = settings->given[OPT_DRY_RUN],
                                            .all = settings->given[OPT_RESTORE_ALL],
                                            .kept = warn_kept,
                                            .others = others_note,
                                            .context = &others};
    struct cairn_branch_info info = {0};
    struct cairn_error error = {0};
    int status = 0;
    if (move(context, store, &options, &info, &error) != 0)
        status = report_error(&error);
    else if (ui_json())
        status = moved_document(&info, &others, options.dry_run);
    if (status == 0 && !ui_json()) {
        others_say(&others);
        say_moved(&info, options.dry_run);
    }
    others_release(&others);
    return status;
}

static int start(void *context, struct cairn_store *store,
                 const struct cairn_restore_options *options,
                 struct cairn_branch_info *info, struct cairn_error *error)
{
    const struct settings *settings = context;
    return cairn_branch_start(store, session_option(settings), settings->operands[0],
                              settings->text[OPT_BRANCH_FROM], options, info, error);
}

int command_branch_start(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = checkpoint_option(settings, store, OPT_BRANCH_FROM);
    if (status == 0)
        status = branch_go_on(settings, store, start, settings);
    hooks_run_and_close(store);
    return status;
}

static int switch_to(void *context, struct cairn_store *store,
                     const struct cairn_restore_options *options,
                     struct cairn_branch_info *info, struct cairn_error *error)
{
    const struct settings *settings = context;
    return cairn_branch_switch(store, session_option(settings), settings->operands[0],
                               options, info, error);
}

int command_branch_switch(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = branch_go_on(settings, store, switch_to, settings);
    hooks_run_and_close(store);
    return status;
}

static int take_branch(void *context, const struct cairn_branch_info *info)
{
    struct cairn_branch_info *branch = context;
    if (strcmp(info->name, branch->name) == 0)
        *branch = *info;
    return 0;
}

static int abandon_branch(const struct settings *settings, struct cairn_store *store,
                          const char *reason)
{
    const char *name = settings->operands[0];
    struct cairn_branch_info branch = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_branch_abandon(store, session_option(settings), name, reason, &error) !=
        0)
        return report_error(&error);
    if (!ui_json()) {
        say("branch %s is abandoned; its checkpoints stay", name);
        return 0;
    }
    /* As it was stored: without the values of secrets. */
    snprintf(branch.name, sizeof branch.name, "%s", name);
    if (cairn_branch_list(store, session_option(settings), take_branch, &branch,
                          &error) != 0)
        return report_error(&error);
    doc_begin(&doc);
    doc_text(&doc, "name", branch.name);
    doc_text(&doc, "status", "abandoned");
    doc_text(&doc, "reason", branch.reason);
    return doc_print(&doc);
}

int command_branch_abandon(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    struct cairn_store *store = NULL;
    const char *reason = NULL;
    int status;
    if (!settings->given[OPT_REASON])
        return report_usage(settings->command,
                            "say why, for those who read it later: --reason TEXT");
    status = texts_take(&texts, settings->text[OPT_REASON], &reason);
    if (status == 0)
        status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = abandon_branch(settings, store, reason);
    hooks_run_and_close(store);
    texts_release(&texts);
    return status;
}

struct branch_listing {
    struct doc *doc; /* with --json */
    bool any;
};

static int each_branch(void *context, const struct cairn_branch_info *info)
{
    struct branch_listing *listing = context;
    char when[FORMAT_MAX];
    bool first = !listing->any;
    listing->any = true;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        branch_document(listing->doc, info);
        doc_end(listing->doc);
        return 0;
    }
    if (first)
        out("%-9s  %-19s  %-21s  %-21s  %s\n", "STATUS", "STARTED", "FROM", "HEAD",
            "NAME");
    out("%-9s  %-19s  %-21s  %-21s  %s%s%s%s\n",
        info->current ? "current" : info->status, format_local(when, info->started_ns),
        info->from[0] != '\0' ? info->from : "-",
        info->head[0] != '\0' ? info->head : "-", info->name,
        info->reason[0] != '\0' ? "  (" : "", info->reason,
        info->reason[0] != '\0' ? ")" : "");
    return ui_output_lost();
}

static int list_branches(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct branch_listing listing = {.doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "branches");
    }
    if (cairn_branch_list(store, session_option(settings), each_branch, &listing,
                          &error) == 0)
        return listing.doc ? doc_print(&doc) : 0;
    if (listing.doc)
        doc_discard(&doc);
    return report_error(&error);
}

int command_branch_list(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = list_branches(settings, store);
    hooks_run_and_close(store);
    return status;
}
