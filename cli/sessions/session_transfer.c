/* SPDX-License-Identifier: MIT */
/* cairn session export and import: sessions in a file. */
#include "cli/events/hooks.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

struct transfer {
    struct cairn_store *store;
    const char *file; /* "-": stdin or stdout */
    char *part;       /* heap: what is written until it is whole, or NULL */
    int fd;           /* -1: none */
    int sys;          /* errno of what failed, or 0 */
    bool import;
    struct doc *doc; /* with --json; its array of sessions is open */
    char **refused;  /* heap, and so are they */
    size_t n_refused;
    struct cairn_transfer result;
};

static int system_failure(const char *what, const char *name, int sys)
{
    return report_failure(
        sys == ENOENT || sys == ENOTDIR ? EXIT_NOT_FOUND : EXIT_SYSTEM,
        cairn_code_name(sys == ENOENT || sys == ENOTDIR ? CAIRN_ENOTFOUND : CAIRN_EIO),
        "cannot %s %s: %s", what, name, strerror(sys));
}

/* ---- What is said meanwhile ---- */

static void note_refused(void *context, const char *text)
{
    struct transfer *t = context;
    char **refused = realloc(t->refused, (t->n_refused + 1) * sizeof *refused);
    ui_warn("%s", text);
    if (!refused)
        return;
    t->refused = refused;
    refused[t->n_refused] = strdup(text);
    t->n_refused += refused[t->n_refused] != NULL;
}

static void note_session(void *context, uint64_t number, const char *from,
                         const char *name)
{
    struct transfer *t = context;
    if (t->doc) {
        doc_object(t->doc, NULL);
        doc_count(t->doc, "session", number);
        doc_text(t->doc, "name", name);
        if (t->import)
            doc_text(t->doc, "was", from[0] != '\0' ? from : NULL);
        doc_end(t->doc);
    } else if (t->import) {
        out("%s\n", name);
    }
}

static int end_document(struct transfer *t)
{
    doc_end(t->doc);
    doc_count(t->doc, "checkpoints", t->result.checkpoints);
    if (t->import)
        doc_count(t->doc, "skipped", t->result.skipped);
    doc_array(t->doc, "refused");
    for (size_t i = 0; i < t->n_refused; i++)
        doc_text(t->doc, NULL, t->refused[i]);
    doc_end(t->doc);
    return doc_print(t->doc);
}

/* CAIRN_EDAMAGED is no error if something was left out and named: the rest was done. */
static int report_end(struct transfer *t, int rc, const struct cairn_error *error)
{
    int status = 0;
    if (rc != 0 && (rc != CAIRN_EDAMAGED || t->result.refused == 0)) {
        if (t->doc)
            doc_discard(t->doc);
        return t->sys != 0
                   ? system_failure(t->import ? "read" : "write", t->file, t->sys)
                   : report_error(error);
    }
    if (t->doc)
        status = end_document(t);
    out_flush();
    say("%" PRIu64 " session%s and %" PRIu64 " checkpoint%s were %s",
        t->result.sessions, t->result.sessions == 1 ? "" : "s", t->result.checkpoints,
        t->result.checkpoints == 1 ? "" : "s", t->import ? "imported" : "written");
    if (t->result.skipped > 0)
        say("skipped: %" PRIu64 " that are here already", t->result.skipped);
    if (rc == 0)
        return status;
    ui_warn("%s", error->text);
    return EXIT_DAMAGED;
}

/* ---- Exporting ---- */

static int write_bytes(void *context, const char *bytes, size_t n)
{
    struct transfer *t = context;
    if (t->fd < 0) {
        out_raw(bytes, n);
        return ui_output_lost();
    }
    while (n > 0) {
        ssize_t written = write(t->fd, bytes, n);
        if (written < 0 && errno != EINTR) {
            t->sys = errno;
            return 1;
        }
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Beside the file, whose place it takes when it is whole. */
static int open_part(struct transfer *t)
{
    if (strcmp(t->file, "-") == 0)
        return 0;
    if (asprintf(&t->part, "%s.XXXXXX", t->file) < 0) {
        t->part = NULL;
        return cairn_exit_status(CAIRN_ENOMEM);
    }
    t->fd = mkostemp(t->part, O_CLOEXEC);
    if (t->fd >= 0)
        return 0;
    free(t->part);
    t->part = NULL;
    return system_failure("write", t->file, errno);
}

static int close_part(struct transfer *t, bool whole)
{
    int sys = 0;
    if (!t->part)
        return 0;
    if (whole && (fsync(t->fd) != 0 || rename(t->part, t->file) != 0))
        sys = errno;
    if (!whole || sys != 0)
        unlink(t->part);
    close(t->fd);
    return sys == 0 ? 0 : system_failure("write", t->file, sys);
}

static int export_sessions(struct transfer *t, const struct settings *settings)
{
    struct cairn_transfer_calls calls = {note_refused, note_session, t};
    struct cairn_error error = {0};
    int status = open_part(t);
    if (status != 0)
        return status;
    int rc = cairn_session_export(t->store, session_option(settings),
                                  settings->given[OPT_ALL_SESSIONS], write_bytes, t,
                                  &calls, &t->result, &error);
    status = close_part(t, rc == 0 || (rc == CAIRN_EDAMAGED && t->result.refused > 0));
    if (status == 0 || rc != 0)
        return report_end(t, rc, &error);
    if (t->doc)
        doc_discard(t->doc);
    return status;
}

/* ---- Importing ---- */

static int64_t read_bytes(void *context, char *bytes, size_t n)
{
    struct transfer *t = context;
    for (;;) {
        ssize_t got = read(t->fd >= 0 ? t->fd : 0, bytes, n);
        if (got >= 0)
            return got;
        if (errno != EINTR) {
            t->sys = errno;
            return -1;
        }
    }
}

static int import_sessions(struct transfer *t)
{
    struct cairn_transfer_calls calls = {note_refused, note_session, t};
    struct cairn_error error = {0};
    if (strcmp(t->file, "-") != 0) {
        t->fd = open(t->file, O_RDONLY | O_CLOEXEC);
        if (t->fd < 0)
            return system_failure("read", t->file, errno);
    }
    int rc = cairn_session_import(t->store, read_bytes, t, &calls, &t->result, &error);
    if (t->fd >= 0)
        close(t->fd);
    return report_end(t, rc, &error);
}

/* ---- The commands ---- */

static int transfer(struct settings *settings, bool import)
{
    struct doc doc = {0};
    struct transfer t = {.file = settings->operands[0], .fd = -1, .import = import};
    int status = session_store(settings, import ? STORE_CREATE : STORE_READ, &t.store);
    bool is_export = !import && strcmp(t.file, "-") == 0; /* stdout has that */
    if (status == 0 && ui_json() && !is_export) {
        t.doc = &doc;
        doc_begin(&doc);
        doc_array(&doc, "sessions");
    }
    if (status == 0)
        status = import ? import_sessions(&t) : export_sessions(&t, settings);
    hooks_run_and_close(t.store);
    for (size_t i = 0; i < t.n_refused; i++)
        free(t.refused[i]);
    free(t.refused);
    free(t.part);
    return status;
}

int command_session_export(struct settings *settings)
{
    return transfer(settings, false);
}

int command_session_import(struct settings *settings)
{
    return transfer(settings, true);
}
