/* SPDX-License-Identifier: MIT */
/* cairn checkpoint export: the files of a checkpoint as an archive. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/files/files.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/target_file.h"
#include "cli/ui.h"

#include <string.h>

struct export
{
    const char *file; /* NULL: stdout */
    struct target_file target;
    uint64_t bytes;
};

static int write_bytes(void *context, const char *bytes, size_t n)
{
    struct export *e = context;
    e->bytes += n;
    if (e->target.fd >= 0)
        return target_write(&e->target, bytes, n);
    out_raw(bytes, n);
    return ui_output_lost();
}

static int open_export(struct export *e, const char *command)
{
    if (e->file)
        return target_open(&e->target, e->file, command);
    if (ui_terminal(STDOUT_FILENO))
        return report_usage(command,
                            "an archive is not for a terminal: give a FILE, or send "
                            "stdout somewhere else");
    return 0;
}

static int report_export(const struct export *e, const char *id,
                         const struct cairn_files_summary *summary)
{
    struct doc doc;
    if (summary->left_out > 0)
        ui_warn("%llu of the files are not in the archive, since %s has only their "
                "names: `cairn checkpoint files` shows which",
                (unsigned long long)summary->left_out, id);
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_text(&doc, "file", e->file);
    doc_count(&doc, "bytes", e->bytes);
    files_summary_document(&doc, summary);
    return doc_print(&doc);
}

static int export_files(const struct settings *settings, struct cairn_store *store,
                        struct export *e)
{
    char found[CAIRN_ID_MAX];
    const char *id;
    struct cairn_files_summary summary = {0};
    struct cairn_error error = {0};
    int status = session_checkpoint_of(store, session_option(settings),
                                       settings->operands[0], found, &id);
    if (status == 0)
        status = open_export(e, settings->command);
    if (status != 0)
        return status;
    int rc = cairn_files_tar(store, id, write_bytes, e, &summary, &error);
    status = target_close(&e->target, rc == 0);
    if (status != 0 || (rc != 0 && !e->file && ui_output_lost()))
        return status; /* ui_end knows what a lost output means */
    return rc == 0 ? report_export(e, id, &summary) : report_error(&error);
}

int command_checkpoint_export(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct export e = {.target = TARGET_NONE};
    int status;
    if (settings->n_operands > 1 && strcmp(settings->operands[1], "-") != 0)
        e.file = settings->operands[1];
    if (!settings->given[OPT_TAR])
        return report_usage(settings->command, "say in which form: --tar");
    if (ui_json() && !e.file)
        return report_usage(settings->command,
                            "stdout has the archive: with --json give a FILE");
    status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = export_files(settings, store, &e);
    hooks_run_and_close(store);
    target_release(&e.target);
    return status;
}
