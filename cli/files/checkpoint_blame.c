/* SPDX-License-Identifier: MIT */
/* cairn checkpoint blame-file: in which checkpoint each line of a file came to be. */
#include "cli/commands/commands.h"
#include "cli/files/patterns.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct blaming {
    struct doc *doc; /* with --json */
    struct cairn_store *store;
    const struct settings *settings;
    const char *at; /* a checkpoint, or NULL */
    char *path;     /* as it was given; heap */
    uint64_t line;  /* 0: all */
};

/* ---- Text ---- */

static void print_bytes(const char *bytes, size_t n)
{
    char *safe = malloc(n * ESCAPE_FACTOR + 1);
    if (!safe) {
        out_incomplete();
        return;
    }
    size_t length = escape_line(safe, bytes, n);
    safe[length] = '\n';
    out_raw(safe, length + 1);
    free(safe);
}

static void print_texts(const char *label, const char *text)
{
    for (;;) {
        int n = (int)strcspn(text, "\n");
        out("%-10s %.*s\n", label, n, text);
        text += n;
        if (text[0] == '\0' || text[1] == '\0')
            return;
        text++;
        label = "";
    }
}

/* One line by itself, with all that is known of it. */
static void print_alone(const struct blaming *b, const struct cairn_file_line *line)
{
    char when[FORMAT_MAX];
    out("line       %" PRIu64 ": ", line->line);
    print_bytes(line->text, line->bytes);
    out("checkpoint %s\n", line->id);
    out("time       %s\n", format_local(when, line->time_ns));
    if (line->message[0] != '\0')
        print_texts("message", line->message);
    if (line->prompt)
        print_texts("prompt", line->prompt);
    if (line->line_then != line->line || strcmp(line->path, b->path) != 0)
        out("then       %s:%" PRIu64 "\n", line->path, line->line_then);
}

static int each_line(void *context, const struct cairn_file_line *line)
{
    const struct blaming *b = context;
    char when[FORMAT_MAX];
    struct doc *doc = b->doc;
    if (!doc && b->line > 0)
        print_alone(b, line);
    if (!doc && b->line == 0) {
        out("%-20s  %-19s  %5" PRIu64 "  ", line->id, format_local(when, line->time_ns),
            line->line);
        print_bytes(line->text, line->bytes);
    }
    if (!doc)
        return ui_output_lost();
    doc_object(doc, NULL);
    doc_count(doc, "line", line->line);
    doc_bytes(doc, "text", line->text, line->bytes);
    doc_text(doc, "checkpoint", line->id);
    doc_count(doc, "seq", line->seq);
    doc_time(doc, "time", line->time_ns);
    doc_text(doc, "message", line->message);
    doc_text(doc, "prompt", line->prompt);
    doc_text(doc, "path_then", line->path);
    doc_count(doc, "line_then", line->line_then);
    doc_end(doc);
    return 0;
}

/* ---- The command ---- */

/* "src/a.c:12", or a path alone. False: out of memory. */
static bool split_operand(struct blaming *b, const char *operand)
{
    b->path = strdup(operand);
    char *colon = b->path ? strrchr(b->path, ':') : NULL;
    if (!colon || colon == b->path || colon[1] == '\0' ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return b->path != NULL;
    errno = 0;
    b->line = strtoull(colon + 1, NULL, 10);
    b->line = errno != 0 || b->line == 0 ? UINT64_MAX : b->line;
    *colon = '\0';
    return true;
}

static int blame_path(void *context, const char *path, struct cairn_error *error)
{
    struct blaming *b = context;
    if (b->doc) {
        doc_discard(b->doc);
        doc_begin(b->doc);
        doc_text(b->doc, "path", path);
        doc_array(b->doc, "lines");
    }
    return cairn_files_blame(b->store, session_option(b->settings), b->at, path,
                             b->line, each_line, b, error);
}

static int blame(const struct settings *settings, struct cairn_store *store,
                 struct blaming *b)
{
    char id[CAIRN_ID_MAX];
    struct doc doc = {0};
    struct cairn_error error = {0};
    int status = 0;
    if (settings->given[OPT_AT])
        status = session_checkpoint_of(store, session_option(settings),
                                       settings->text[OPT_AT], id, &b->at);
    if (status != 0)
        return status;
    b->doc = ui_json() ? &doc : NULL;
    b->store = store;
    b->settings = settings;
    int rc = file_by_name(settings, store, b->path, blame_path, b, &error);
    if (!b->doc)
        return rc == 0 ? 0 : report_error(&error);
    if (rc != 0 && rc != CAIRN_EDAMAGED) {
        doc_discard(&doc);
        return report_error(&error);
    }
    doc_end(&doc);
    doc_bool(&doc, "damaged", rc != 0);
    status = doc_print(&doc);
    if (rc != 0)
        ui_error(error.text);
    return status == 0 ? cairn_exit_status(rc) : status;
}

int command_checkpoint_blame(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct blaming b = {.line = 0};
    int status;
    if (!split_operand(&b, settings->operands[0]))
        return cairn_exit_status(CAIRN_ENOMEM);
    status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = blame(settings, store, &b);
    hooks_run_and_close(store);
    free(b.path);
    return status;
}
