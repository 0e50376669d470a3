/* SPDX-License-Identifier: MIT */
/* cairn session start, list, show, switch, end, config, log, undo, size. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/context.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cairn session start, list, show, switch, end. */

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

static void print_session(const struct cairn_session_info *info)
{
    char text[FORMAT_MAX];
    out("session      %" PRIu64 ", %s\n", info->session, session_state_text(info));
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
    u64_text(info->session, name);
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
    struct cairn_error error = {0};
    bool current = !settings->given[OPT_NO_SWITCH];
    int status = session_store(settings, STORE_CREATE);
    if (status == 0 && cairn_session_start(settings->store, settings->operands[0],
                                           current, &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        keep_files(settings->store, &info);
    if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0) {
        out("%s\n", info.name);
        out_flush();
        if (current)
            session_say_variable();
    }
    return status;
}

int command_session_switch(struct settings *settings)
{
    struct cairn_session_info info = {0};
    struct cairn_error error = {0};
    int status = session_store(settings, STORE_WRITE);
    if (status == 0 && cairn_session_switch(settings->store, settings->operands[0],
                                            &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0) {
        say("session %" PRIu64 " (%s) is the current one, on branch %s", info.session,
            info.name, info.branch);
        session_say_variable();
    }
    return status;
}

int command_session_end(struct settings *settings)
{
    struct cairn_session_info info = {0};
    struct cairn_error error = {0};
    const char *session = NULL;
    int status =
        session_operand(settings, &session) ?: session_store(settings, STORE_WRITE);
    if (status == 0 && cairn_session_end(settings->store, session, &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = print_document(&info);
    else if (status == 0)
        say("session %" PRIu64 " (%s) has ended", info.session, info.name);
    return status;
}

static bool ask_to_delete(const struct cairn_session_info *info)
{
    say_always("session %" PRIu64 " (%s): %" PRIu64 " item%s, %" PRIu64
               " checkpoint%s made, %" PRIu64 " message%s",
               info->session, info->name, info->items, plural(info->items),
               info->checkpoints, plural(info->checkpoints), info->messages_stored,
               plural(info->messages_stored));
    return ui_ask("Delete it permanently?");
}

static int delete_session(const struct settings *settings)
{
    struct cairn_session_deleted deleted = {0};
    struct cairn_session_info info = {0};
    struct cairn_error error = {0};
    const char *session = settings->operands[0];
    struct doc doc;
    if (cairn_session_get(settings->store, session, &info, &error) != 0)
        return report_error(&error);
    if (!settings->given[OPT_YES] && !ask_to_delete(&info)) {
        say_always("nothing was deleted");
        return 0;
    }
    if (cairn_session_delete(settings->store, session, &deleted, &error) != 0)
        return report_error(&error);
    store_forget(settings->store);
    if (!ui_json()) {
        say("deleted session %" PRIu64 " (%s) with %" PRIu64
            " checkpoint%s: `cairn gc` removes content that only it had",
            info.session, info.name, deleted.checkpoints, plural(deleted.checkpoints));
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
    if (!settings->given[OPT_YES] && !ui_can_ask())
        return report_usage("session delete",
                            "deleting without a terminal needs --yes");
    int status = session_store(settings, STORE_WRITE);
    return status == 0 ? delete_session(settings) : status;
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
    u64_text(info.session, number);
    if (!ui_json()) {
        print_session(&info);
        status = context_offer(NULL, store, number);
        return status != 0 ? status : board_page(store, number, NULL);
    }
    doc_begin(&doc);
    session_document(&doc, &info);
    status = context_offer(&doc, store, number)
                 ?: unfinished_restores_document(&doc, store, number);
    doc_object(&doc, "board");
    if (status == 0)
        status = board_page(store, number, &doc);
    doc_end(&doc);
    return doc_close(&doc, status);
}

int command_session_show(struct settings *settings)
{
    const char *session = NULL;
    int status =
        session_operand(settings, &session) ?: session_store(settings, STORE_READ);
    return status == 0 ? show_session(settings->store, session) : status;
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
        info->session, session_state_text(info),
        format_local(started, info->started_ns), format_local(ended, info->ended_ns),
        info->checkpoints, info->items, info->name);
    return ui_output_lost();
}

int command_session_list(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc;
    struct session_listing listing = {.doc = doc_open(&doc, "sessions")};
    struct cairn_error error = {0};
    struct cairn_page page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                              .offset = settings->number[OPT_OFFSET]};
    uint64_t total = 0;
    int rc = cairn_session_list(settings->store, &page, each_session, &listing, &total,
                                &error);
    if (rc != 0 && rc != CAIRN_EDAMAGED)
        return doc_close(listing.doc, report_error(&error));
    if (listing.doc) {
        doc_end(listing.doc);
        doc_text(listing.doc, "damaged", rc != 0 ? error.text : NULL);
        doc_page(listing.doc, &page, total);
        status = doc_print(listing.doc);
    } else {
        status = page_end(NULL, &page, "session", listing.shown, total);
    }
    if (rc != 0)
        ui_error(error.text);
    return status == 0 ? cairn_exit_status(rc) : status;
}

/* cairn session config: shows the settings of a session, or changes one. */

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

static int show_settings(const struct settings *settings)
{
    struct doc doc;
    struct looking looking = {.only = settings->operands[0],
                              .doc = doc_open(&doc, "settings")};
    struct cairn_error error = {0};
    int status = 0;
    if (cairn_session_config(settings->store, session_option(settings), each_setting,
                             &looking, &error) != 0)
        status = report_error(&error);
    else if (!looking.found)
        status = report_usage(settings->command,
                              "there is no setting '%s': `cairn session config` lists "
                              "all of them",
                              looking.only ? looking.only : "");
    return doc_close(looking.doc, status);
}

static int change_setting(const struct settings *settings)
{
    const char *name = settings->operands[0], *value = settings->operands[1];
    char project[PATH_MAX];
    struct cairn_error error = {0};
    struct doc doc;
    if (strcmp(name, "files") == 0 && strcmp(value, "on") == 0 &&
        access(value, F_OK) != 0) {
        if (!project_of(settings->store, project))
            return report_usage(settings->command,
                                "`files` takes a directory, or off: `cairn session "
                                "config files .` is the current one");
        value = project;
    }
    if (cairn_session_configure(settings->store, session_option(settings), name, value,
                                &error) != 0)
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
    int status = session_store(settings, change ? STORE_WRITE : STORE_READ);
    if (status == 0)
        status = change ? change_setting(settings) : show_settings(settings);
    return status;
}

/* cairn session log and undo: what was done in a session, and taking back the last of
 * it. */

struct events {
    struct doc *doc; /* with --json */
    uint64_t shown;
};

static int each_event(void *context, const struct cairn_session_event *event)
{
    struct events *events = context;
    char when[FORMAT_MAX];
    events->shown++;
    if (events->doc) {
        doc_object(events->doc, NULL);
        doc_count(events->doc, "turn", event->turn);
        doc_count(events->doc, "n", event->n);
        doc_time(events->doc, "time", event->time_ns);
        doc_text(events->doc, "verb", event->verb);
        doc_text(events->doc, "id", event->id[0] != '\0' ? event->id : NULL);
        doc_text(events->doc, "text", event->text);
        doc_end(events->doc);
        return 0;
    }
    if (events->shown == 1)
        out("%6s  %-19s  %-13s  %-21s  %s\n", "TURN", "TIME", "WHAT", "ID", "TEXT");
    out("%6" PRIu64 "  %-19s  %-13s  %-21s  %s\n", event->turn,
        format_local(when, event->time_ns), event->verb, event->id, event->text);
    return ui_output_lost();
}

int command_session_log(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc;
    struct events events = {.doc = doc_open(&doc, "events")};
    struct cairn_error error = {0};
    return doc_close(
        events.doc,
        report_code(cairn_session_events(settings->store, session_option(settings),
                                         settings->number[OPT_AFTER], each_event,
                                         &events, &error),
                    &error));
}

enum { TAKEN_SHOWN = 5 };

struct taken {
    struct doc *doc; /* with --json */
    char *text;      /* lines for people, heap */
    size_t length, shown;
    FILE *file;
};

/* What is listed here is done only once the call has returned. */
static int note_taken(void *context, const struct cairn_session_event *event)
{
    struct taken *taken = context;
    bool changed = strcmp(event->verb, "changed") == 0;
    if (event->id[0] == '\0' || strcmp(event->verb, "checkpoint") == 0)
        return 0;
    if (taken->doc) {
        doc_object(taken->doc, NULL);
        doc_text(taken->doc, "verb", event->verb);
        doc_text(taken->doc, "id", event->id);
        doc_text(taken->doc, "text", event->text);
        doc_end(taken->doc);
    } else if (taken->shown++ < TAKEN_SHOWN) {
        fprintf(taken->file, "%s%s%s%s: %s", taken->shown > 1 ? "; " : "", event->id,
                changed ? "" : " ", changed ? "" : event->verb, event->text);
    }
    return 0;
}

static int report_undone(struct taken *taken, uint32_t changed)
{
    if (taken->doc) {
        doc_end(taken->doc);
        doc_count(taken->doc, "changed", changed);
        return doc_print(taken->doc);
    }
    if (taken->shown > TAKEN_SHOWN)
        say("taken back: %s; and %zu more", taken->text, taken->shown - TAKEN_SHOWN);
    else
        say("taken back: %s", taken->text);
    return 0;
}

static int undo(struct settings *settings, struct taken *taken)
{
    struct cairn_error error = {0};
    uint32_t changed = 0;
    int rc = cairn_session_take_back(settings->store, session_option(settings),
                                     note_taken, taken, &changed, &error);
    bool lost = fclose(taken->file) != 0;
    if (rc != 0)
        return doc_close(taken->doc, report_error(&error));
    if (lost)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "it was taken back; out of memory to show it");
    return report_undone(taken, changed);
}

int command_session_undo(struct settings *settings)
{
    struct doc doc;
    struct taken taken = {0};
    int status = session_store(settings, STORE_WRITE);
    taken.file = status == 0 ? open_memstream(&taken.text, &taken.length) : NULL;
    if (status == 0 && !taken.file)
        status = report_nomem();
    if (status == 0) {
        taken.doc = doc_open(&doc, "taken_back");
        status = undo(settings, &taken);
    }
    free(taken.text);
    return status;
}

/* cairn session size: what takes room in the store. */

enum { MESSAGE_SHOWN = 60 };

struct size_page {
    struct doc *doc; /* with --json */
    const struct cairn_session_expired *old;
    uint64_t checkpoints, paths, damaged;
};

/* ---- As JSON ---- */

static void add_parts(struct doc *doc, const struct cairn_session_size *size)
{
    const struct cairn_size *part;
    const char *name;
    doc_count(doc, "session", size->session);
    for (size_t i = 0; (part = size_part(size, i, &name)); i++) {
        doc_object(doc, name);
        doc_count(doc, "logical", part->logical);
        doc_count(doc, "stored", part->stored);
        doc_count(doc, "shared", part->shared);
        doc_count(doc, "parts", part->parts);
        doc_end(doc);
    }
    doc_object(doc, "store");
    doc_count(doc, "bytes", size->store_bytes);
    doc_count(doc, "free", size->free_bytes);
    doc_end(doc);
    doc_some(doc, "budget", size->budget);
    doc_count(doc, "damaged", size->damaged);
    doc_count(doc, "total", size->checkpoints);
    doc_count(doc, "paths", size->paths);
}

static void add_checkpoint(struct doc *doc, const struct cairn_checkpoint_size *size)
{
    doc_object(doc, NULL);
    doc_text(doc, "id", size->id);
    doc_count(doc, "seq", size->seq);
    doc_time(doc, "time", size->time_ns);
    doc_text(doc, "message", size->message);
    doc_count(doc, "logical", size->logical);
    doc_count(doc, "added", size->added);
    doc_count(doc, "alone", size->alone);
    doc_end(doc);
}

static void add_file(struct doc *doc, const struct cairn_file_size *size)
{
    doc_object(doc, NULL);
    doc_text(doc, "path", size->path);
    doc_count(doc, "contents", size->contents);
    doc_count(doc, "logical", size->logical);
    doc_count(doc, "stored", size->stored);
    doc_end(doc);
}

/* ---- For people ---- */

static void print_parts(const struct cairn_session_size *size)
{
    char logical[FORMAT_MAX], stored[FORMAT_MAX], shared[FORMAT_MAX];
    const struct cairn_size *part;
    const char *name;
    out("%-10s %11s %11s %11s\n", "PART", "HOLDS", "STORED", "SHARED");
    for (size_t i = 0; (part = size_part(size, i, &name)); i++)
        out("%-10s %11s %11s %11s\n", name, format_bytes(logical, part->logical),
            format_bytes(stored, part->stored), format_bytes(shared, part->shared));
    if (size->budget)
        out("%-10s %11s %11s\n", "budget", "", format_bytes(stored, size->budget));
    out("the database has %s, of which %s are free\n",
        format_bytes(stored, size->store_bytes),
        format_bytes(shared, size->free_bytes));
}

static void print_old(const struct cairn_session_expired *old)
{
    if (old->days)
        out("keep-sessions is %" PRIu32 "d: %" PRIu64 " of %" PRIu64
            " session%s of agents %s older, and `cairn gc` deletes %s\n",
            old->days, old->due, old->agents, plural(old->agents),
            old->due == 1 ? "is" : "are", old->due == 1 ? "it" : "them");
}

static void print_checkpoint(const struct cairn_checkpoint_size *size, bool first)
{
    char when[FORMAT_MAX], logical[FORMAT_MAX], added[FORMAT_MAX], alone[FORMAT_MAX];
    size_t n = strcspn(size->message, "\n"), fits = 0;
    while (fits < n && fits < MESSAGE_SHOWN)
        fits += utf8_length(size->message + fits, n - fits);
    if (first)
        out("\n%-20s  %-19s  %11s %11s %11s  %s\n", "CHECKPOINT", "TIME", "HOLDS",
            "ADDED", "ALONE", "MESSAGE");
    out("%-20s  %-19s  %11s %11s %11s  %.*s\n", size->id,
        format_local(when, size->time_ns), format_bytes(logical, size->logical),
        format_bytes(added, size->added), format_bytes(alone, size->alone), (int)fits,
        size->message);
}

static void print_file(const struct cairn_file_size *size, bool first)
{
    char logical[FORMAT_MAX], stored[FORMAT_MAX];
    if (first)
        out("\n%11s %11s %8s  %s\n", "STORED", "HOLDS", "CONTENTS", "FILE");
    out("%11s %11s %8" PRIu64 "  %s\n", format_bytes(stored, size->stored),
        format_bytes(logical, size->logical), size->contents, size->path);
}

/* ---- The command ---- */

static int each_part(void *context, const struct cairn_session_size *size)
{
    struct size_page *page = context;
    page->damaged = size->damaged;
    if (!page->doc) {
        print_parts(size);
        print_old(page->old);
        return 0;
    }
    add_parts(page->doc, size);
    doc_some(page->doc, "keep_sessions", page->old->days);
    doc_count(page->doc, "old_sessions", page->old->due);
    doc_array(page->doc, "checkpoints");
    return 0;
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_size *size)
{
    struct size_page *page = context;
    bool first = page->checkpoints++ == 0;
    if (page->doc)
        add_checkpoint(page->doc, size);
    else
        print_checkpoint(size, first);
    return ui_output_lost();
}

/* Behind the checkpoints. */
static int each_file(void *context, const struct cairn_file_size *size)
{
    struct size_page *page = context;
    bool first = page->paths++ == 0;
    if (first && page->doc) {
        doc_end(page->doc);
        doc_array(page->doc, "largest");
    }
    if (page->doc)
        add_file(page->doc, size);
    else
        print_file(size, first);
    return ui_output_lost();
}

/* The document has both arrays, also where they are empty. */
static int end_document(struct size_page *page)
{
    if (!page->paths) {
        doc_end(page->doc);
        doc_array(page->doc, "largest");
    }
    return doc_print(page->doc);
}

static int print_size(const struct settings *settings, const char *session)
{
    struct doc doc;
    struct cairn_session_expired old = {0};
    struct size_page page = {.doc = doc_open(&doc, NULL), .old = &old};
    struct cairn_error error = {0};
    uint32_t most = (uint32_t)settings->number[OPT_LIMIT];
    const struct cairn_size_request request = {.checkpoints = most,
                                               .files = most,
                                               .total = each_part,
                                               .checkpoint = each_checkpoint,
                                               .file = each_file,
                                               .context = &page};
    int rc = cairn_session_expire(settings->store, 0, true, &old, &error)
                 ?: cairn_session_size(settings->store, session, &request, &error);
    int status = report_code(rc, &error);
    if (page.doc && status == 0)
        status = end_document(&page);
    else if (page.doc)
        doc_discard(&doc);
    if (status != 0 || page.damaged == 0)
        return status;
    out_flush();
    say_always("%" PRIu64
               " part%s of the session cannot be read, and what they refer to is not "
               "counted: run `cairn doctor`",
               page.damaged, plural(page.damaged));
    return EXIT_DAMAGED;
}

int command_session_size(struct settings *settings)
{
    const char *session = NULL;
    int status =
        session_operand(settings, &session) ?: session_store(settings, STORE_READ);
    return status == 0 ? print_size(settings, session) : status;
}
