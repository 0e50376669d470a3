/* SPDX-License-Identifier: MIT */
/* cairn checkpoint grep: searching in all versions of all files. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/files/patterns.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>

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
    if (rc != 0 && rc != CAIRN_EDAMAGED) {
        if (s->doc)
            doc_discard(s->doc);
        return report_error(error);
    }
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

static int search(const struct settings *settings, struct cairn_store *store,
                  const struct patterns *patterns)
{
    char id[CAIRN_ID_MAX];
    struct doc doc = {0};
    struct searching s = {.doc = ui_json() ? &doc : NULL,
                          .one = settings->n_operands > 1};
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
        status = session_checkpoint_of(store, session_option(settings),
                                       settings->operands[1], id, &options.checkpoint);
    if (status != 0)
        return status;
    if (s.doc) {
        doc_begin(&doc);
        doc_array(&doc, "matches");
    }
    int rc = cairn_files_search(store, session_option(settings), &options, each_match,
                                &s, &result, &error);
    return report_search(&s, rc, &result, &error);
}

int command_checkpoint_grep(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct patterns patterns;
    int status = patterns_take(&patterns, settings->text[OPT_PATHS]);
    if (status == 0)
        status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = search(settings, store, &patterns);
    hooks_run_and_close(store);
    patterns_release(&patterns);
    return status;
}
