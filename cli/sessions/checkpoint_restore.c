/* SPDX-License-Identifier: MIT */
/* cairn checkpoint restore, undo-restore, redo-restore, recover, fork. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/files.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* cairn checkpoint restore, undo-restore and redo-restore: going back, taking that
 * back, and forward again. */

static void print_report(const struct cairn_restored *report)
{
    char when[FORMAT_MAX];
    out("restored  %s, of %s: %s\n", report->id, format_local(when, report->time_ns),
        report->message);
    out("items     %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed\n",
        report->added, report->changed, report->removed);
    if (report->files_added + report->files_changed + report->files_removed > 0)
        out("files     %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed\n",
            report->files_added, report->files_changed, report->files_removed);
    if (report->messages_before != report->messages)
        out("messages  %" PRIu64 ", before %" PRIu64 "\n", report->messages,
            report->messages_before);
    out("branch    %s (it was %s)\n", report->branch, report->old_branch);
    out("before    %s\n", report->before[0] != '\0' ? report->before : "-");
}

static int report_restored(const struct cairn_restored *report,
                           const struct others_changed *others, bool dry_run)
{
    struct doc doc;
    if (!ui_json()) {
        print_report(report);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "restored", report->id);
    doc_time(&doc, "time", report->time_ns);
    doc_text(&doc, "message", report->message);
    doc_text(&doc, "before", report->before[0] != '\0' ? report->before : NULL);
    doc_text(&doc, "branch", report->branch);
    doc_text(&doc, "old_branch", report->old_branch);
    doc_count(&doc, "added", report->added);
    doc_count(&doc, "changed", report->changed);
    doc_count(&doc, "removed", report->removed);
    doc_object(&doc, "files");
    doc_count(&doc, "added", report->files_added);
    doc_count(&doc, "changed", report->files_changed);
    doc_count(&doc, "removed", report->files_removed);
    doc_count(&doc, "kept", report->files_kept);
    doc_count(&doc, "left", report->files_left);
    others_document(&doc, others);
    doc_end(&doc);
    warnings_document(&doc, others);
    doc_bool(&doc, "dry_run", dry_run);
    doc_bool(&doc, "files_skipped", report->files_skipped);
    doc_count(&doc, "messages_before", report->messages_before);
    doc_count(&doc, "messages", report->messages);
    return doc_print(&doc);
}

static struct cairn_restore_options options_of(const struct settings *settings,
                                               const struct patterns *patterns,
                                               struct others_changed *others)
{
    return (struct cairn_restore_options){.force = settings->given[OPT_FORCE],
                                          .board_only = settings->given[OPT_BOARD_ONLY],
                                          .files_only = settings->given[OPT_FILES_ONLY],
                                          .messages_only =
                                              settings->given[OPT_MESSAGES_ONLY],
                                          .paths = patterns->list,
                                          .n_paths = patterns->n,
                                          .dry_run = settings->given[OPT_DRY_RUN],
                                          .kept = others_kept,
                                          .context = others,
                                          .all = settings->given[OPT_RESTORE_ALL],
                                          .others = others_note};
}

static int pass_change(void *context, const struct cairn_board_change *change)
{
    (void)context;
    (void)change;
    return 0;
}

/* What would become of the board. */
static int say_board(const struct settings *settings,
                     const struct cairn_restore_options *options, const char *id)
{
    struct cairn_board_summary summary = {0};
    struct cairn_error error = {0};
    if (options->files_only || options->messages_only || options->n_paths > 0) {
        say_always("checkpoint %s; the board stays", id);
        return 0;
    }
    if (cairn_session_diff(settings->store, session_option(settings), NULL,
                           settings->operands[0], pass_change, NULL, &summary,
                           &error) != 0)
        return report_error(&error);
    say_always("checkpoint %s; from now to then: %s", id, summary.text);
    return 0;
}

/* Says what would change, and asks. What cannot be restored is said before that. */
static int ask_to_restore(const struct settings *settings,
                          const struct cairn_restore_options *given,
                          struct others_changed *others, bool *agreed)
{
    struct cairn_restore_options options = *given;
    struct cairn_restored report = {0};
    struct cairn_error error = {0};
    int status;
    options.dry_run = true;
    if (cairn_session_restore(settings->store, session_option(settings),
                              settings->operands[0], &options, &report, &error) != 0)
        return report_error(&error);
    if (!ui_can_ask())
        return report_usage(settings->command,
                            "restoring without a terminal needs --yes");
    status = say_board(settings, &options, report.id);
    if (status != 0)
        return status;
    if (report.files_added + report.files_changed + report.files_removed > 0)
        say_always("files: %" PRIu64 " to add, %" PRIu64 " to change, %" PRIu64
                   " to remove",
                   report.files_added, report.files_changed, report.files_removed);
    others_say(others);
    others_release(others); /* they come again */
    *agreed = ui_ask("Restore it?");
    if (!*agreed)
        say_always("nothing was restored");
    return 0;
}

/* Nothing differed, so no branch was begun. */
static bool was_there(const struct cairn_restored *report)
{
    return strcmp(report->branch, report->old_branch) == 0;
}

static int restore(const struct settings *settings,
                   const struct cairn_restore_options *options,
                   struct others_changed *others)
{
    struct cairn_restored report = {0};
    struct cairn_error error = {0};
    bool agreed = settings->given[OPT_YES] || options->dry_run;
    int status = agreed ? 0 : ask_to_restore(settings, options, others, &agreed);
    if (status != 0 || !agreed)
        return status;
    if (cairn_session_restore(settings->store, session_option(settings),
                              settings->operands[0], options, &report, &error) != 0)
        return report_error(&error);
    status = report_restored(&report, others, options->dry_run);
    out_flush();
    others_say(others);
    if (report.files_skipped)
        ui_warn(
            "the checkpoint holds files, which were not restored: the setting `files` "
            "of the session is off (`cairn session config files DIR`)");
    if (options->dry_run)
        say("nothing was restored: that is what would be");
    else if (was_there(&report))
        say("nothing to restore: the session already matches the checkpoint");
    else if (!ui_json())
        say("to take it back: cairn checkpoint undo-restore%s", session_hint());
    return status;
}

static int finish(struct settings *settings)
{
    int status = session_store(settings, STORE_WRITE);
    return status == 0 ? finish_restores(settings->store, session_option(settings))
                       : status;
}

int command_checkpoint_restore(struct settings *settings)
{
    struct cairn_restore_options options;
    struct others_changed others = {.at = NULL};
    struct patterns patterns;
    int status;
    if (settings->given[OPT_FINISH] == (settings->n_operands > 0))
        return report_usage(
            settings->command,
            settings->n_operands > 0
                ? "--finish continues the checkpoint that was being "
                  "restored: give no other one"
                : "name a checkpoint to restore; `cairn checkpoint list` "
                  "shows those that there are");
    if (settings->given[OPT_FINISH])
        return finish(settings);
    status = patterns_take(&patterns, settings->text[OPT_RESTORED_PATHS])
             ?: session_store(settings, STORE_WRITE)
             ?: patterns_add_files(&patterns, settings, 1)
             ?: checkpoint_operand(settings, 0);
    options = options_of(settings, &patterns, &others);
    if (status == 0)
        status = restore(settings, &options, &others);
    patterns_release(&patterns);
    others_release(&others);
    return status;
}

typedef int move_fn(struct cairn_store *store, const char *session,
                    const struct cairn_restore_options *options,
                    struct cairn_restored *report, struct cairn_error *error);

static int move_along(struct settings *settings, move_fn *move, const char *opposite)
{
    static const struct patterns none;
    struct cairn_restored report = {0};
    struct cairn_error error = {0};
    struct others_changed others = {.at = NULL};
    struct cairn_restore_options options = options_of(settings, &none, &others);
    int status = session_store(settings, STORE_WRITE);
    bool done = status == 0;
    if (done && move(settings->store, session_option(settings), &options, &report,
                     &error) != 0) {
        status = report_error(&error);
        done = false;
    }
    if (done)
        status = report_restored(&report, &others, options.dry_run);
    out_flush();
    if (done)
        others_say(&others);
    others_release(&others);
    if (done && options.dry_run)
        say("nothing was restored: that is what would be");
    else if (done && !ui_json())
        say("to take it back: cairn checkpoint %s%s", opposite, session_hint());
    return status;
}

int command_checkpoint_undo_restore(struct settings *settings)
{
    return move_along(settings, cairn_session_undo_restore, "redo-restore");
}

int command_checkpoint_redo_restore(struct settings *settings)
{
    return move_along(settings, cairn_session_redo_restore, "undo-restore");
}

/* cairn checkpoint recover: the newest valid checkpoint of a session, and what it takes
 * to go on from it. */

struct recovery {
    struct doc *doc; /* NULL: text */
    unsigned number; /* of the step that was printed last */
};

static int tell_damaged(void *context, const char *id, const char *text)
{
    struct recovery *recovery = context;
    ui_warn("%s", text);
    if (!recovery->doc)
        return 0;
    doc_object(recovery->doc, NULL);
    doc_text(recovery->doc, "checkpoint", id[0] != '\0' ? id : NULL);
    doc_text(recovery->doc, "text", text);
    doc_end(recovery->doc);
    return 0;
}

static int tell_step(void *context, const struct cairn_step *step)
{
    static const char *const names[] = {[CAIRN_STEP_ENVIRONMENT] = "environment",
                                        [CAIRN_STEP_REPLAY] = "replay",
                                        [CAIRN_STEP_MANUAL] = "manual"};
    struct recovery *recovery = context;
    if (!recovery->doc) {
        out("%2u  %-11s  %s\n", ++recovery->number, names[step->kind], step->text);
        return ui_output_lost();
    }
    doc_object(recovery->doc, NULL);
    doc_text(recovery->doc, "kind", names[step->kind]);
    doc_text(recovery->doc, "text", step->text);
    doc_end(recovery->doc);
    return 0;
}

static void begin_steps(struct recovery *recovery, const struct cairn_recovery *found)
{
    char when[FORMAT_MAX];
    struct doc *doc = recovery->doc;
    if (!doc) {
        out("%s of %s: %s\n", found->id, format_local(when, found->time_ns),
            found->message);
        return;
    }
    doc_end(doc);
    doc_text(doc, "checkpoint", found->id);
    doc_count(doc, "seq", found->seq);
    doc_time(doc, "time", found->time_ns);
    doc_text(doc, "session", found->session);
    doc_text(doc, "message", found->message);
    doc_array(doc, "steps");
}

int command_checkpoint_recover(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc;
    struct recovery recovery = {.doc = doc_open(&doc, "damaged")};
    struct cairn_recovery found = {0};
    struct cairn_error error = {0};
    int rc = cairn_session_newest(settings->store, session_option(settings),
                                  tell_damaged, &recovery, &found, &error);
    if (rc == 0) {
        begin_steps(&recovery, &found);
        rc = cairn_session_steps(settings->store, found.id, tell_step, &recovery,
                                 &error);
    }
    return doc_close(recovery.doc, report_code(rc, &error));
}

/* cairn checkpoint fork: going on from a checkpoint, beside what there is. */

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

static int fork_branch(const struct settings *settings, const char *id)
{
    struct branch_fork begun = {settings, id};
    return branch_go_on(settings, start_branch, &begun);
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

static int fork_to(const struct settings *settings, const char *id)
{
    const char *directory = settings->text[OPT_FORK_TO];
    struct cairn_forked forked = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_session_fork(settings->store, session_option(settings), id, directory,
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
    status = session_store(settings, STORE_WRITE)
                 ?: checkpoint_named(settings, settings->operands[0], id, &wanted);
    if (status == 0)
        status = settings->given[OPT_FORK_TO] ? fork_to(settings, wanted)
                                              : fork_branch(settings, wanted);
    return status;
}
