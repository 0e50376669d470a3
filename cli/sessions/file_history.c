/* SPDX-License-Identifier: MIT */
/* The history of files: cairn checkpoint log, grep, blame-file. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/files.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* cairn checkpoint log: the versions of one file. */

struct listing {
    const struct settings *settings;
    struct doc *doc; /* with --json */
    bool branches;   /* show these, too */
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

/* Anew for each meaning of a name that is tried. */
static void begin_path(struct doc *doc, const char *path, const char *array)
{
    if (!doc)
        return;
    doc_discard(doc);
    doc_begin(doc);
    doc_text(doc, "path", path);
    doc_array(doc, array);
}

static int log_path(void *context, const char *path, struct cairn_error *error)
{
    struct listing *listing = context;
    begin_path(listing->doc, path, "versions");
    return cairn_files_log(listing->settings->store, session_option(listing->settings),
                           path, listing->branches,
                           listing->settings->number[OPT_NEWEST], NULL, each_version,
                           listing, error);
}

/* A document says itself that damage made it incomplete. */
static int close_history(struct doc *doc, int rc, const struct cairn_error *error)
{
    if (!doc || (rc != 0 && rc != CAIRN_EDAMAGED))
        return doc_close(doc, report_code(rc, error));
    doc_end(doc);
    doc_bool(doc, "damaged", rc != 0);
    int status = doc_print(doc);
    if (rc != 0)
        ui_error(error->text);
    return status == 0 ? cairn_exit_status(rc) : status;
}

int command_checkpoint_log(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc;
    struct listing listing = {.settings = settings,
                              .doc = doc_open(&doc, NULL),
                              .branches = settings->given[OPT_ALL_BRANCHES]};
    struct cairn_error error = {0};
    int rc = file_by_name(settings, settings->operands[0], log_path, &listing, &error);
    return close_history(listing.doc, rc, &error);
}

/* cairn checkpoint grep: searching in all versions of all files. */

struct searching {
    struct doc *doc; /* with --json */
    bool one;        /* checkpoint alone */
};

/* "3", "3..7", or "3..", where the newest checkpoint has it still. */
static void print_range(const struct searching *s, const struct cairn_file_match *match)
{
    if (s->one || (match->last_seq == match->seq && !match->present))
        out("%" PRIu64, match->seq);
    else if (match->present)
        out("%" PRIu64 "..", match->seq);
    else
        out("%" PRIu64 "..%" PRIu64, match->seq, match->last_seq);
}

static int print_text(const struct cairn_file_match *match)
{
    char *safe = malloc(match->bytes * ESCAPE_FACTOR + 1);
    if (!safe) {
        out_incomplete();
        return 1;
    }
    size_t n = escape_line(safe, match->text, match->bytes);
    safe[n] = '\n';
    out_raw(safe, n + 1);
    free(safe);
    return ui_output_lost();
}

static int print_match(const struct searching *s, const struct cairn_file_match *match)
{
    if (match->binary)
        out("Binary file ");
    print_range(s, match);
    if (match->binary) {
        out(":%s matches\n", match->path);
        return ui_output_lost();
    }
    out(":%s:%" PRIu64 ":", match->path, match->line);
    return print_text(match);
}

static int each_match(void *context, const struct cairn_file_match *match)
{
    const struct searching *s = context;
    struct doc *doc = s->doc;
    if (!doc)
        return print_match(s, match);
    doc_object(doc, NULL);
    doc_text(doc, "checkpoint", match->id);
    doc_count(doc, "seq", match->seq);
    doc_time(doc, "time", match->time_ns);
    doc_text(doc, "last", match->last);
    doc_bool(doc, "present", match->present);
    doc_text(doc, "path", match->path);
    doc_bool(doc, "binary", match->binary);
    doc_some(doc, "line", match->line);
    if (match->binary)
        doc_null(doc, "text");
    else
        doc_bytes(doc, "text", match->text, match->bytes);
    doc_bool(doc, "cut", match->cut);
    doc_end(doc);
    return 0;
}

static void note_damaged(void *context, const char *id, const char *path,
                         const char *text)
{
    (void)context;
    ui_warn("%s%s%s: %s", id, path ? ":" : "", path ? path : "", text);
}

static int report_search(struct searching *s, int rc,
                         const struct cairn_files_searched *result,
                         const struct cairn_error *error)
{
    int found = result->matches > 0 ? 0 : EXIT_TASK_FAILED;
    if (rc != 0 && rc != CAIRN_EDAMAGED)
        return doc_close(s->doc, report_error(error));
    if (rc != 0)
        ui_error(error->text);
    if (s->doc) {
        doc_end(s->doc);
        doc_count(s->doc, "checkpoints", result->checkpoints);
        doc_count(s->doc, "contents", result->contents);
        doc_count(s->doc, "bytes", result->bytes);
        doc_count(s->doc, "damaged", result->damaged);
        int status = doc_print(s->doc);
        if (status != 0)
            return status;
    }
    return rc != 0 ? EXIT_DAMAGED : found;
}

static int search(const struct settings *settings, const struct patterns *patterns)
{
    char id[CAIRN_ID_MAX];
    struct doc doc;
    struct searching s = {.one = settings->n_operands > 1};
    struct cairn_files_search options = {.pattern = settings->operands[0],
                                         .fixed = settings->given[OPT_FIXED],
                                         .ignore_case =
                                             settings->given[OPT_IGNORE_CASE],
                                         .paths = patterns->list,
                                         .n_paths = patterns->n,
                                         .damaged = note_damaged};
    struct cairn_files_searched result;
    struct cairn_error error = {0};
    int status = 0;
    if (s.one)
        status =
            checkpoint_named(settings, settings->operands[1], id, &options.checkpoint);
    if (status != 0)
        return status;
    s.doc = doc_open(&doc, "matches");
    int rc = cairn_files_search(settings->store, session_option(settings), &options,
                                each_match, &s, &result, &error);
    return report_search(&s, rc, &result, &error);
}

int command_checkpoint_grep(struct settings *settings)
{
    struct patterns patterns;
    int status = patterns_take(&patterns, settings->text[OPT_PATHS])
                 ?: session_store(settings, STORE_READ)
                 ?: search(settings, &patterns);
    patterns_release(&patterns);
    return status;
}

/* cairn checkpoint blame-file: in which checkpoint each line of a file came to be. */

struct blaming {
    struct doc *doc; /* with --json */
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
    begin_path(b->doc, path, "lines");
    return cairn_files_blame(b->settings->store, session_option(b->settings), b->at,
                             path, b->line, NULL, each_line, b, error);
}

static int blame(const struct settings *settings, struct blaming *b)
{
    char id[CAIRN_ID_MAX];
    struct doc doc;
    struct cairn_error error = {0};
    int status = 0;
    if (settings->given[OPT_AT])
        status = checkpoint_named(settings, settings->text[OPT_AT], id, &b->at);
    if (status != 0)
        return status;
    b->doc = doc_open(&doc, NULL);
    b->settings = settings;
    int rc = file_by_name(settings, b->path, blame_path, b, &error);
    return close_history(b->doc, rc, &error);
}

int command_checkpoint_blame(struct settings *settings)
{
    struct blaming b = {.line = 0};
    int status;
    if (!split_operand(&b, settings->operands[0]))
        return cairn_exit_status(CAIRN_ENOMEM);
    status = session_store(settings, STORE_READ) ?: blame(settings, &b);
    free(b.path);
    return status;
}
