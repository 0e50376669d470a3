/* SPDX-License-Identifier: MIT */
/* cairn checkpoint log: the versions of one file. */
#include "cli/commands/commands.h"
#include "cli/files/files.h"
#include "cli/files/patterns.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

struct listing {
    struct cairn_store *store;
    const struct settings *settings;
    struct doc *doc; /* with --json */
    bool branches;   /* these are told, too */
    uint64_t n;
};

static void print_version(const struct cairn_file_version *version, bool branches)
{
    char when[FORMAT_MAX], size[FORMAT_MAX] = "-";
    const struct cairn_file *file = version->file;
    if (file && file->kind[0] == 'f')
        format_bytes(size, file->size);
    else if (file)
        snprintf(size, sizeof size, "%s", file->kind);
    out("%-30s  %-19s  %-8s  %9s", version->id, format_local(when, version->time_ns),
        version->change, size);
    if (file && !file->target && !file->why)
        out("  %04o", file->mode);
    else
        out("  %4s", "");
    if (branches)
        out("  %s", version->branch);
    out("  %.*s\n", length_trimmed(version->message), version->message);
}

static int each_version(void *context, const struct cairn_file_version *version)
{
    struct listing *listing = context;
    struct doc *doc = listing->doc;
    if (listing->n++ == 0 && !doc && !ui_quiet())
        out("%-30s  %-19s  %-8s  %9s  %4s%s  %s\n", "ID", "TIME", "CHANGE", "SIZE",
            "MODE", listing->branches ? "  BRANCH" : "", "MESSAGE");
    if (!doc) {
        print_version(version, listing->branches);
        return ui_output_lost();
    }
    doc_object(doc, NULL);
    doc_text(doc, "checkpoint", version->id);
    doc_count(doc, "seq", version->seq);
    doc_time(doc, "time", version->time_ns);
    doc_text(doc, "change", version->change);
    doc_text(doc, "message", version->message);
    doc_text(doc, "branch", version->branch);
    if (version->file)
        file_document(doc, "file", version->file);
    else
        doc_null(doc, "file");
    doc_end(doc);
    return 0;
}

static int log_path(void *context, const char *path, struct cairn_error *error)
{
    struct listing *listing = context;
    if (listing->doc) {
        doc_discard(listing->doc);
        doc_begin(listing->doc);
        doc_text(listing->doc, "path", path);
        doc_array(listing->doc, "versions");
    }
    return cairn_files_log(listing->store, session_option(listing->settings), path,
                           listing->branches, listing->settings->number[OPT_NEWEST],
                           each_version, listing, error);
}

static int log_file(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct listing listing = {.store = store,
                              .settings = settings,
                              .doc = ui_json() ? &doc : NULL,
                              .branches = settings->given[OPT_ALL_BRANCHES]};
    struct cairn_error error = {0};
    int rc = file_by_name(settings, store, settings->operands[0], log_path, &listing,
                          &error);
    if (!listing.doc)
        return rc == 0 ? 0 : report_error(&error);
    if (rc != 0 && rc != CAIRN_EDAMAGED) {
        doc_discard(&doc);
        return report_error(&error);
    }
    doc_end(&doc);
    doc_bool(&doc, "damaged", rc != 0);
    int status = doc_print(&doc);
    if (rc != 0)
        ui_error(error.text);
    return status == 0 ? cairn_exit_status(rc) : status;
}

int command_checkpoint_log(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = log_file(settings, store);
    hooks_run_and_close(store);
    return status;
}
