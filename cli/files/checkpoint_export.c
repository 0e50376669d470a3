/* SPDX-License-Identifier: MIT */
/* cairn checkpoint export: the files of a checkpoint as an archive. */
#include "cli/events/hooks.h"
#include "cli/exit_status.h"
#include "cli/files/commands.h"
#include "cli/files/files.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct export
{
    const char *file; /* NULL: stdout */
    char *part;       /* heap: what is written until it is whole, or NULL */
    int fd;           /* -1: none */
    int sys;          /* errno of what failed, or 0 */
    uint64_t bytes;
};

static int write_failure(const char *file, int sys)
{
    bool missing = sys == ENOENT || sys == ENOTDIR;
    return report_failure(missing ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                          cairn_code_name(missing ? CAIRN_ENOTFOUND : CAIRN_EIO),
                          "cannot write %s: %s", file, strerror(sys));
}

static int write_bytes(void *context, const char *bytes, size_t n)
{
    struct export *e = context;
    e->bytes += n;
    if (e->fd < 0) {
        out_raw(bytes, n);
        return ui_output_lost();
    }
    while (n > 0) {
        ssize_t written = write(e->fd, bytes, n);
        if (written < 0 && errno != EINTR) {
            e->sys = errno;
            return 1;
        }
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* A file is written beside the one whose place it takes when it is whole. */
static int open_target(struct export *e, const char *command)
{
    struct stat st;
    if (!e->file && ui_terminal(STDOUT_FILENO))
        return report_usage(command,
                            "an archive is not for a terminal: give a FILE, or send "
                            "stdout somewhere else");
    if (!e->file)
        return 0;
    if (stat(e->file, &st) == 0 && !S_ISREG(st.st_mode))
        return report_usage(command, "%s is no file: - is stdout", e->file);
    if (asprintf(&e->part, "%s.XXXXXX", e->file) < 0) {
        e->part = NULL;
        return cairn_exit_status(CAIRN_ENOMEM);
    }
    e->fd = mkostemp(e->part, O_CLOEXEC);
    return e->fd >= 0 ? 0 : write_failure(e->file, errno);
}

static int close_target(struct export *e, bool whole)
{
    if (e->fd < 0)
        return 0;
    if (whole && (fsync(e->fd) != 0 || rename(e->part, e->file) != 0)) {
        e->sys = errno;
        whole = false;
    }
    if (!whole)
        unlink(e->part);
    close(e->fd);
    return e->sys == 0 ? 0 : write_failure(e->file, e->sys);
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
        status = open_target(e, settings->command);
    if (status != 0)
        return status;
    int rc = cairn_files_tar(store, id, write_bytes, e, &summary, &error);
    status = close_target(e, rc == 0 && e->sys == 0);
    if (rc != 0)
        return report_error(&error);
    return status == 0 ? report_export(e, id, &summary) : status;
}

int command_checkpoint_export(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct export e = {.fd = -1};
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
    free(e.part);
    return status;
}
