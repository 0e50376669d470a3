/* SPDX-License-Identifier: MIT */
/* cairn session export and import: sessions in a file. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/target_file.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct transfer {
    struct cairn_store *store;
    const char *file;          /* "-": stdin or stdout */
    struct target_file target; /* of an export */
    int fd;                    /* of an import */
    int sys;                   /* errno of reading it, or 0 */
    bool import;
    struct doc *doc; /* with --json; its array of sessions is open */
    char **refused;  /* heap, and so are they */
    size_t n_refused;
    struct renumbered {
        char was[CAIRN_ID_MAX], id[CAIRN_ID_MAX];
    } * renumbered; /* checkpoints of the session that is being imported; heap */
    size_t n_renumbered;
    char last[CAIRN_SESSION_NAME_MAX]; /* name of the last session of an import */
    struct cairn_transfer result;
};

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

static void note_checkpoint(void *context, const char *was, const char *id)
{
    struct transfer *t = context;
    struct renumbered *at =
        realloc(t->renumbered, (t->n_renumbered + 1) * sizeof *t->renumbered);
    if (!at) {
        out_incomplete();
        return;
    }
    t->renumbered = at;
    at += t->n_renumbered++;
    snprintf(at->was, sizeof at->was, "%s", was);
    snprintf(at->id, sizeof at->id, "%s", id);
}

static uint64_t number_of(const char *id)
{
    return strtoull(id + strlen("debug:"), NULL, 10);
}

/* Whoever has noted a number would go back to another checkpoint with it. One line for
 * those that have moved by as much. */
static void say_numbers(const struct transfer *t, const char *name)
{
    const struct renumbered *at = t->renumbered;
    for (size_t i = 0, n = 1; i < t->n_renumbered; i += n, n = 1) {
        uint64_t was = number_of(at[i].was), is = number_of(at[i].id);
        while (i + n < t->n_renumbered && number_of(at[i + n].was) == was + n &&
               number_of(at[i + n].id) == is + n)
            n++;
        if (was == is)
            continue;
        if (n == 1)
            say("%s: debug:%" PRIu64 " is debug:%" PRIu64 " here", name, was, is);
        else
            say("%s: debug:%" PRIu64 " to debug:%" PRIu64 " are debug:%" PRIu64
                " to debug:%" PRIu64 " here",
                name, was, was + n - 1, is, is + n - 1);
    }
}

static void add_numbers(struct transfer *t)
{
    doc_array(t->doc, "made");
    for (size_t i = 0; i < t->n_renumbered; i++) {
        doc_object(t->doc, NULL);
        doc_text(t->doc, "was", t->renumbered[i].was);
        doc_text(t->doc, "checkpoint", t->renumbered[i].id);
        doc_end(t->doc);
    }
    doc_end(t->doc);
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
        if (t->import)
            add_numbers(t);
        doc_end(t->doc);
    } else if (t->import) {
        snprintf(t->last, sizeof t->last, "%s", name);
        out("%s\n", name);
        out_flush();
        say_numbers(t, name);
    }
    t->n_renumbered = 0;
}

static void note_changed(void *context, const char *here, const char *name)
{
    (void)context;
    ui_warn(
        "%s was changed here since it was imported, or is damaged, and stays as it is: "
        "what is new is in %s, which continues from it",
        here, name);
}

/* An import does not choose a session, so that nobody writes in that of another by
 * accident; the first one leaves none that commands without --session could mean. */
static void say_none_is_current(const struct transfer *t)
{
    struct cairn_session_info info;
    char *name = t->last[0] ? shell_word(t->last) : NULL;
    if (name && cairn_session_get(t->store, NULL, &info, NULL) == CAIRN_ENOTFOUND)
        say("no session is current; to continue in one: `cairn session switch %s`",
            name);
    free(name);
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

static int read_failure(const struct transfer *t)
{
    bool missing = t->sys == ENOENT || t->sys == ENOTDIR;
    return report_failure(missing ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                          cairn_code_name(missing ? CAIRN_ENOTFOUND : CAIRN_EIO),
                          "cannot read %s: %s", t->file, strerror(t->sys));
}

/* CAIRN_EDAMAGED is not an error if something was left out and named: the rest was
 * done. */
static int report_end(struct transfer *t, int rc, const struct cairn_error *error)
{
    int status = 0;
    if (rc != 0 && (rc != CAIRN_EDAMAGED || t->result.refused == 0)) {
        if (t->doc)
            doc_discard(t->doc);
        if (!t->import && ui_output_lost())
            return 0; /* ui_end knows what that means */
        return t->sys != 0 ? read_failure(t) : report_error(error);
    }
    if (t->doc)
        status = end_document(t);
    out_flush();
    say("%" PRIu64 " session%s and %" PRIu64 " checkpoint%s were %s",
        t->result.sessions, plural(t->result.sessions), t->result.checkpoints,
        plural(t->result.checkpoints), t->import ? "imported" : "written");
    if (t->result.skipped > 0)
        say("skipped: %" PRIu64 " that are here already, or were deleted here",
            t->result.skipped);
    say_none_is_current(t);
    if (rc == 0)
        return status;
    ui_error(error->text);
    return EXIT_DAMAGED;
}

/* ---- Exporting ---- */

static int write_bytes(void *context, const char *bytes, size_t n)
{
    struct transfer *t = context;
    if (t->target.fd >= 0)
        return target_write(&t->target, bytes, n);
    out_raw(bytes, n);
    return ui_output_lost();
}

static int export_sessions(struct transfer *t, const struct settings *settings)
{
    struct cairn_transfer_calls calls = {
        .refused = note_refused, .session = note_session, .context = t};
    struct cairn_error error = {0};
    int status = 0;
    if (strcmp(t->file, "-") != 0)
        status = target_open(&t->target, t->file, settings->command);
    if (status != 0)
        return status;
    int rc = cairn_session_export(t->store, session_option(settings),
                                  settings->given[OPT_ALL_SESSIONS], write_bytes, t,
                                  &calls, &t->result, &error);
    status = target_close(&t->target,
                          rc == 0 || (rc == CAIRN_EDAMAGED && t->result.refused > 0));
    if (status == 0)
        return report_end(t, rc, &error);
    return doc_close(t->doc, status);
}

/* ---- Importing ---- */

static int64_t read_input(void *context, char *bytes, size_t n)
{
    struct transfer *t = context;
    for (;;) {
        ssize_t got = read(t->fd, bytes, n);
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
    struct cairn_transfer_calls calls = {.refused = note_refused,
                                         .session = note_session,
                                         .context = t,
                                         .checkpoint = note_checkpoint,
                                         .changed = note_changed};
    struct cairn_error error = {0};
    int rc = cairn_session_import(t->store, read_input, t, &calls, &t->result, &error);
    return report_end(t, rc, &error);
}

/* Before a store is made for what is in it. */
static int open_source(struct transfer *t)
{
    struct stat st;
    if (strcmp(t->file, "-") == 0)
        return 0;
    t->fd = open(t->file, O_RDONLY | O_CLOEXEC);
    if (t->fd >= 0 && (fstat(t->fd, &st) != 0 || !S_ISDIR(st.st_mode)))
        return 0;
    t->sys = t->fd < 0 ? errno : EISDIR;
    return read_failure(t);
}

/* ---- The commands ---- */

static void release(struct transfer *t)
{
    for (size_t i = 0; i < t->n_refused; i++)
        free(t->refused[i]);
    free(t->refused);
    free(t->renumbered);
    target_release(&t->target);
    if (t->fd > STDIN_FILENO)
        close(t->fd);
}

static int transfer(struct settings *settings, bool import)
{
    struct doc doc = {0};
    struct transfer t = {.file = settings->operands[0],
                         .target = TARGET_NONE,
                         .fd = STDIN_FILENO,
                         .import = import};
    bool is_export = !import && strcmp(t.file, "-") == 0; /* stdout has that */
    int status = import ? open_source(&t) : 0;
    if (status == 0)
        status = session_store(settings, import ? STORE_CREATE : STORE_READ);
    t.store = settings->store;
    if (status == 0 && ui_json() && !is_export) {
        t.doc = &doc;
        doc_begin(&doc);
        doc_array(&doc, "sessions");
    }
    if (status == 0)
        status = import ? import_sessions(&t) : export_sessions(&t, settings);
    release(&t);
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
