/* SPDX-License-Identifier: MIT */
/* cairn session size: what takes room in the store. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

enum { MESSAGE_SHOWN = 60 };

struct size_page {
    struct doc *doc; /* with --json */
    const struct cairn_session_expired *old;
    uint64_t checkpoints, paths, damaged;
};

struct part {
    const char *name;
    const struct cairn_size *size;
};
enum { PARTS = 6 };
static void list_parts(const struct cairn_session_size *size, struct part parts[PARTS])
{
    parts[0] = (struct part){"files", &size->files};
    parts[1] = (struct part){"board", &size->board};
    parts[2] = (struct part){"messages", &size->messages};
    parts[3] = (struct part){"log", &size->log};
    parts[4] = (struct part){"records", &size->records};
    parts[5] = (struct part){"all", &size->all};
}

/* ---- As JSON ---- */

static void add_parts(struct doc *doc, const struct cairn_session_size *size)
{
    struct part parts[PARTS];
    list_parts(size, parts);
    doc_count(doc, "session", size->session);
    for (int i = 0; i < PARTS; i++) {
        doc_object(doc, parts[i].name);
        doc_count(doc, "logical", parts[i].size->logical);
        doc_count(doc, "stored", parts[i].size->stored);
        doc_count(doc, "shared", parts[i].size->shared);
        doc_count(doc, "parts", parts[i].size->parts);
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
    struct part parts[PARTS];
    list_parts(size, parts);
    out("%-10s %11s %11s %11s\n", "PART", "HOLDS", "STORED", "SHARED");
    for (int i = 0; i < PARTS; i++)
        out("%-10s %11s %11s %11s\n", parts[i].name,
            format_bytes(logical, parts[i].size->logical),
            format_bytes(stored, parts[i].size->stored),
            format_bytes(shared, parts[i].size->shared));
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

static int print_size(const struct settings *settings, struct cairn_store *store,
                      const char *session)
{
    struct doc doc = {0};
    struct cairn_session_expired old = {0};
    struct size_page page = {.doc = ui_json() ? &doc : NULL, .old = &old};
    struct cairn_error error = {0};
    uint32_t most = (uint32_t)settings->number[OPT_LIMIT];
    const struct cairn_size_request request = {.checkpoints = most,
                                               .files = most,
                                               .total = each_part,
                                               .checkpoint = each_checkpoint,
                                               .file = each_file,
                                               .context = &page};
    if (page.doc)
        doc_begin(&doc);
    int rc = cairn_session_expire(store, 0, true, &old, &error);
    if (rc == 0)
        rc = cairn_session_size(store, session, &request, &error);
    int status = rc == 0 ? 0 : report_error(&error);
    if (page.doc && status == 0)
        status = end_document(&page);
    else if (page.doc)
        doc_discard(&doc);
    if (status != 0 || page.damaged == 0)
        return status;
    out_flush();
    say_always("%" PRIu64 " part%s of it cannot be read, and what they refer to is not "
               "counted: run `cairn doctor`",
               page.damaged, plural(page.damaged));
    return EXIT_DAMAGED;
}

int command_session_size(struct settings *settings)
{
    struct cairn_store *store = NULL;
    const char *session = NULL;
    int status = session_operand(settings, &session);
    if (status == 0)
        status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = print_size(settings, store, session);
    hooks_run_and_close(store);
    return status;
}
