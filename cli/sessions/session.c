/* SPDX-License-Identifier: MIT */
/* cairn session start, list, show, switch, end. */
#include "cli/commands/commands.h"
#include "cli/contexts/context.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/board_page.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

void session_document(struct doc *doc, const struct cairn_session_info *info)
{
    doc_count(doc, "session", info->session);
    doc_text(doc, "name", info->name);
    doc_text(doc, "branch", info->branch);
    doc_bool(doc, "current", info->current);
    doc_time(doc, "started", info->started_ns);
    doc_time(doc, "ended", info->ended_ns);
    doc_number(doc, "spent_ms", info->spent_ms);
    doc_count(doc, "items", info->items);
    doc_count(doc, "branches", info->branches);
    doc_count(doc, "checkpoints", info->checkpoints);
    doc_count(doc, "hypotheses_tested", info->hypotheses_tested);
    doc_count(doc, "gaps_filled", info->gaps_filled);
    doc_count(doc, "commands", info->commands);
    doc_count(doc, "verifications", info->verifications);
    doc_count(doc, "messages", info->messages);
    doc_count(doc, "messages_stored", info->messages_stored);
    doc_count(doc, "tokens_in", info->tokens_in);
    doc_count(doc, "tokens_out", info->tokens_out);
}

static int print_document(const struct cairn_session_info *info)
{
    struct doc doc;
    doc_begin(&doc);
    session_document(&doc, info);
    return doc_print(&doc);
}

static const char *state_text(const struct cairn_session_info *info)
{
    return info->ended_ns != 0 ? "ended" : info->current ? "current" : "open";
}

static void print_session(const struct cairn_session_info *info)
{
    char text[FORMAT_MAX];
    out("session      %" PRIu64 ", %s\n", info->session, state_text(info));
    out("name         %s\n", info->name);
    out("branch       %s, of %" PRIu64 "\n", info->branch, info->branches);
    out("started      %s\n", format_local(text, info->started_ns));
    if (info->ended_ns != 0)
        out("ended        %s\n", format_local(text, info->ended_ns));
    out("time spent   %s\n", format_duration(text, info->spent_ms));
    out("items        %" PRIu64 "\n", info->items);
    out("checkpoints  %" PRIu64 "\n", info->checkpoints);
    out("hypotheses confirmed or rejected  %" PRIu64 "\n", info->hypotheses_tested);
    out("gaps filled  %" PRIu64 "\n", info->gaps_filled);
    out("commands run  %" PRIu64 "\n", info->commands);
    out("checks run   %" PRIu64 "\n", info->verifications);
    out("messages     %" PRIu64 ", tokens in %" PRIu64 ", out %" PRIu64 "\n",
        info->messages, info->tokens_in, info->tokens_out);
}

/* ---- The files of a new session ---- */

/* Whether a checkpoint of all that is below it stays within bounds that nobody has to
 * think about: the usual size-budget, and a walk of a second. What is ignored counts
 * here, so that a large directory is never begun without being asked for. */
static bool is_small(char *directory)
{
    enum { MOST_FILES = 100000 };
    const off_t most = 2ll << 30;
    char *roots[] = {directory, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    unsigned files = 0;
    off_t bytes = 0;
    FTSENT *entry;
    while (walk && files <= MOST_FILES && bytes <= most && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_D && (strcmp(entry->fts_name, ".git") == 0 ||
                                         strcmp(entry->fts_name, ".cairn") == 0))
            (void)fts_set(walk, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F)
            bytes += entry->fts_statp->st_size;
        files++;
    }
    if (walk)
        fts_close(walk);
    return walk && files <= MOST_FILES && bytes <= most;
}

/* A session without files cannot take an edit back, which is what most are for. */
static void keep_files(struct cairn_store *store, const struct cairn_session_info *info)
{
    char directory[PATH_MAX], name[24];
    struct cairn_error error = {0};
    if (!project_of(store, directory))
        return;
    if (!is_small(directory)) {
        say("cairn: %s holds more than 2 GiB or 100,000 files, so this session keeps "
            "none of them: `cairn session config files on` keeps them",
            directory);
        return;
    }
    snprintf(name, sizeof name, "%" PRIu64, info->session);
    if (cairn_session_configure(store, name, "files", directory, &error) != 0)
        ui_warn("the session keeps no files: %s", error.text);
    else
        say("cairn: checkpoints of this session hold the files of %s, without what git "
            "ignores (`cairn session config files off` ends that)",
            directory);
}

/* ---- Starting, switching, ending ---- */

int command_session_start(struct settings *settings)
{
    struct cairn_session_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    bool current = !settings->given[OPT_NO_SWITCH];
    int status = session_store(settings, STORE_CREATE, &store);
    if (status == 0 &&
        cairn_session_start(store, settings->operands[0], current, &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        keep_files(store, &info);
    if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0) {
        out("%s\n", info.name);
        out_flush();
        if (current)
            session_say_variable();
    }
    hooks_run_and_close(store);
    return status;
}

int command_session_switch(struct settings *settings)
{
    struct cairn_session_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 &&
        cairn_session_switch(store, settings->operands[0], &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0) {
        say("session %" PRIu64 " (%s) is the current one, on branch %s", info.session,
            info.name, info.branch);
        session_say_variable();
    }
    hooks_run_and_close(store);
    return status;
}

int command_session_end(struct settings *settings)
{
    struct cairn_session_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    const char *session = NULL;
    int status = session_operand(settings, &session);
    if (status == 0)
        status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 && cairn_session_end(store, session, &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0)
        say("session %" PRIu64 " (%s) has ended", info.session, info.name);
    hooks_run_and_close(store);
    return status;
}

static bool ask_to_delete(const struct cairn_session_info *info)
{
    say_always("session %" PRIu64 " (%s): %" PRIu64 " item%s, %" PRIu64
               " checkpoint%s made, %" PRIu64 " message%s",
               info->session, info->name, info->items, info->items == 1 ? "" : "s",
               info->checkpoints, info->checkpoints == 1 ? "" : "s",
               info->messages_stored, info->messages_stored == 1 ? "" : "s");
    return ui_ask("Delete it permanently?");
}

static int delete_session(const struct settings *settings, struct cairn_store *store)
{
    struct cairn_session_deleted deleted = {0};
    struct cairn_session_info info = {0};
    struct cairn_error error = {0};
    const char *session = settings->operands[0];
    struct doc doc;
    if (cairn_session_get(store, session, &info, &error) != 0)
        return report_error(&error);
    if (!settings->given[OPT_YES] && !ask_to_delete(&info)) {
        say_always("nothing was deleted");
        return 0;
    }
    if (cairn_session_delete(store, session, &deleted, &error) != 0)
        return report_error(&error);
    store_forget(store);
    if (!ui_json()) {
        say("deleted session %" PRIu64 " (%s) with %" PRIu64
            " checkpoint%s: `cairn gc` removes content that only it had",
            info.session, info.name, deleted.checkpoints,
            deleted.checkpoints == 1 ? "" : "s");
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "deleted", deleted.session);
    doc_text(&doc, "name", info.name);
    doc_count(&doc, "checkpoints", deleted.checkpoints);
    return doc_print(&doc);
}

int command_session_delete(struct settings *settings)
{
    struct cairn_store *store = NULL;
    if (!settings->given[OPT_YES] && !ui_can_ask())
        return report_usage("session delete",
                            "deleting without a terminal needs --yes");
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0)
        status = delete_session(settings, store);
    hooks_run_and_close(store);
    return status;
}

/* ---- Looking ---- */

static int show_session(struct cairn_store *store, const char *session)
{
    struct cairn_session_info info = {0};
    struct cairn_error error = {0};
    struct doc doc = {0};
    char number[24];
    int status;
    if (cairn_session_get(store, session, &info, &error) != 0)
        return report_error(&error);
    snprintf(number, sizeof number, "%" PRIu64, info.session);
    if (!ui_json()) {
        print_session(&info);
        status = context_offer(NULL, store, number);
        return status != 0 ? status : board_page(store, number, NULL);
    }
    doc_begin(&doc);
    session_document(&doc, &info);
    status = context_offer(&doc, store, number);
    if (status == 0)
        status = unfinished_restores_document(&doc, store, number);
    doc_object(&doc, "board");
    if (status == 0)
        status = board_page(store, number, &doc);
    doc_end(&doc);
    if (status == 0)
        return doc_print(&doc);
    doc_discard(&doc);
    return status;
}

int command_session_show(struct settings *settings)
{
    struct cairn_store *store = NULL;
    const char *session = NULL;
    int status = session_operand(settings, &session);
    if (status == 0)
        status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = show_session(store, session);
    hooks_run_and_close(store);
    return status;
}

struct session_listing {
    struct doc *doc; /* with --json */
    uint64_t shown;
};

static int each_session(void *context, const struct cairn_session_info *info)
{
    struct session_listing *listing = context;
    char started[FORMAT_MAX], ended[FORMAT_MAX];
    listing->shown++;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        session_document(listing->doc, info);
        doc_end(listing->doc);
        return 0;
    }
    if (listing->shown == 1)
        out("%7s  %-7s  %-19s  %-19s  %11s  %5s  %s\n", "SESSION", "STATE", "STARTED",
            "ENDED", "CHECKPOINTS", "ITEMS", "NAME");
    out("%7" PRIu64 "  %-7s  %-19s  %-19s  %11" PRIu64 "  %5" PRIu64 "  %s\n",
        info->session, state_text(info), format_local(started, info->started_ns),
        format_local(ended, info->ended_ns), info->checkpoints, info->items,
        info->name);
    return ui_output_lost();
}

static int list_sessions(struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct session_listing listing = {.doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    struct cairn_page page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                              .offset = settings->number[OPT_OFFSET]};
    uint64_t total = 0;
    if (listing.doc) {
        doc_begin(&doc);
        doc_array(&doc, "sessions");
    }
    if (cairn_session_list(store, &page, each_session, &listing, &total, &error) == 0)
        return page_end(listing.doc, &page, "session", listing.shown, total);
    if (listing.doc)
        doc_discard(&doc);
    return report_error(&error);
}

int command_session_list(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = list_sessions(settings, store);
    hooks_run_and_close(store);
    return status;
}
