/* SPDX-License-Identifier: MIT */
#include "base/words.h"
#include "cli/open.h"
/* cairn report: what happened in a session, from its start or between two checkpoints,
 * as Markdown. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/markdown.h"
#include "cli/report.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { TEXT_LINES = 20, CHECKPOINTS_SHOWN = 100, SHORT_TEXT = 40 };

struct ends {
    /* from.seq 0: the start of the session, to.seq 0: now */
    struct cairn_checkpoint_info from, to;
    char session[24]; /* its number */
    char name[256];
};
/* Checkpoints in a row that were made for failures in one run, of one state. */
struct series {
    char first[CAIRN_ID_MAX], last[CAIRN_ID_MAX];
    int64_t time_ns; /* of the last one */
    uint64_t run, n;
    char message[256]; /* of the first one */
};
struct page {
    struct cairn_store *store;
    struct ends ends;
    FILE *file;
    char *text; /* heap, once the file is closed */
    size_t length;
    char kind[40];        /* of the items that are being listed, "": none yet */
    uint64_t checkpoints; /* rows of them */
    struct series series; /* that is not written yet; n 0: none */
    struct failures failures;
    int rc; /* of what was looked up in a callback */
    struct cairn_error error;
};

/* ---- Items ---- */

/* Fields that are said in another way, or that say only when. */
static bool is_told(const struct cairn_field *field)
{
    static const char *const names[] = {"text", "statement", "status", "from", "to"};
    if (field->type == CAIRN_FIELD_TIME)
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

static bool is_whole(double number)
{
    return number > -1e15 && number < 1e15 && (double)(int64_t)number == number;
}

static bool is_long(const struct cairn_field *field)
{
    if (field->type != CAIRN_FIELD_TEXT)
        return false;
    return strcmp(field->name, "reason") == 0 ||
           strcmp(field->name, "resolution") == 0 || strlen(field->text) > SHORT_TEXT ||
           strchr(field->text, '\n');
}

static void put_value(FILE *file, const struct cairn_field *field)
{
    char *text = NULL;
    if (!field)
        fputs("none", file);
    else if (field->type == CAIRN_FIELD_NUMBER)
        fprintf(file, "%.*f", is_whole(field->number) ? 0 : 2, field->number);
    else if ((text = field_text(field)))
        markdown_words(file, text);
    else
        fputs("(out of memory)", file);
    free(text);
}

static const char *status_of(const struct cairn_item *item)
{
    const struct cairn_field *field = item ? item_field(item, "status") : NULL;
    return field && field->type == CAIRN_FIELD_TEXT ? field->text : "";
}

/* "confirmed", "added", "added, filled", "removed", "changed" */
static void put_verb(FILE *file, const struct cairn_board_change *change)
{
    const char *was = status_of(change->before), *is = status_of(change->after);
    bool initial = is[0] == '\0' || strcmp(is, "proposed") == 0 ||
                   strcmp(is, "open") == 0 || strcmp(is, "pending") == 0;
    if (!change->after)
        fputs("removed", file);
    else if (!change->before)
        fprintf(file, "added%s%s", initial ? "" : ", ", initial ? "" : is);
    else
        fputs(strcmp(was, is) != 0 ? is : "changed", file);
}

/* "(kind observation, strength 0.50)" */
static void put_short_fields(FILE *file, const struct cairn_item *item)
{
    const char *separator = " (";
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        if (is_told(field) || is_long(field))
            continue;
        fprintf(file, "%s%s ", separator, field->name);
        put_value(file, field);
        separator = ", ";
    }
    if (item->has_confidence) {
        fprintf(file, "%sconfidence %.2f", separator, item->confidence);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc(')', file);
}

static void put_long_fields(FILE *file, const struct cairn_item *item)
{
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        if (is_told(field) || !is_long(field))
            continue;
        fprintf(file, "  - %s: ", field->name);
        markdown_lines(file, field->text, "    ", TEXT_LINES);
        fputc('\n', file);
    }
}

static bool is_statement(const struct cairn_field *field)
{
    return strcmp(field->name, "text") == 0 || strcmp(field->name, "statement") == 0;
}

static void put_changed_field(FILE *file, const struct cairn_field *before,
                              const struct cairn_field *after)
{
    const struct cairn_field *field = after ? after : before;
    if (!field || (is_told(field) && !is_statement(field)))
        return;
    fprintf(file, "  - %s: ", is_statement(field) ? "before" : field->name);
    if (is_statement(field)) {
        markdown_lines(file, before ? before->text : "", "    ", TEXT_LINES);
    } else if (is_long(field) && !before) {
        markdown_lines(file, field->text, "    ", TEXT_LINES);
    } else {
        put_value(file, before);
        fputs(" → ", file);
        put_value(file, after);
    }
    fputc('\n', file);
}

static void put_item(FILE *file, const struct cairn_board_change *change)
{
    const struct cairn_item *item = change->after ? change->after : change->before;
    const struct cairn_field *text = item_field(item, "statement");
    char *title = NULL;
    if (!text)
        text = item_field(item, "text");
    if (!text)
        title = item_title(item);
    fprintf(file, "- **%s ", change->id);
    put_verb(file, change);
    fputs("**", file);
    if (!change->before || !change->after)
        put_short_fields(file, item);
    fputs(": ", file);
    markdown_lines(file, text ? text->text : title ? title : "", "  ", TEXT_LINES);
    fputc('\n', file);
    free(title);
    if (!change->before)
        put_long_fields(file, item);
    for (size_t i = 0; i < change->n; i++)
        put_changed_field(file, change->fields_before[i], change->fields_after[i]);
}

static int add_change(void *context, const struct cairn_board_change *change)
{
    struct page *page = context;
    const struct item_kind *kind = item_kind_named(change->kind);
    const char *heading = kind ? kind->plural : change->kind;
    if (strcmp(page->kind, change->kind) != 0)
        fprintf(page->file, "\n## %c%s\n\n", toupper((unsigned char)heading[0]),
                heading + 1);
    snprintf(page->kind, sizeof page->kind, "%s", change->kind);
    put_item(page->file, change);
    return 0;
}

/* ---- Checkpoints ---- */

/* Is there room for one more row? It counts in any case. */
static bool begin_row(struct page *page)
{
    if (page->checkpoints++ >= CHECKPOINTS_SHOWN)
        return false;
    if (page->checkpoints == 1)
        fputs("\n## Checkpoints\n\n| checkpoint | time | made by | message |\n"
              "|---|---|---|---|\n",
              page->file);
    return true;
}

static void put_row(struct page *page, const char *id, int64_t time_ns,
                    const char *trigger, const char *message)
{
    fprintf(page->file, "%s | ", id);
    put_time(page->file, time_ns);
    fprintf(page->file, " | %s | ", trigger);
    markdown_words(page->file, message);
    fputs(" |\n", page->file);
}

static void end_series(struct page *page)
{
    struct series *series = &page->series;
    char many[80];
    if (series->n > 0 && begin_row(page)) {
        snprintf(many, sizeof many, "Auto: %" PRIu64 " tasks of run %" PRIu64 " failed",
                 series->n, series->run);
        fputs("| ", page->file);
        if (series->n > 1)
            fprintf(page->file, "%s to ", series->first);
        put_row(page, series->last, series->time_ns, "task-failed",
                series->n > 1 ? many : series->message);
    }
    series->n = 0;
}

static void add_to_series(struct page *page, const struct cairn_line_entry *entry)
{
    struct series *series = &page->series;
    if (series->n > 0 && (!entry->same_state || series->run != entry->failure->run))
        end_series(page);
    if (series->n++ == 0) {
        series->run = entry->failure->run;
        snprintf(series->first, sizeof series->first, "%s", entry->id);
        snprintf(series->message, sizeof series->message, "%s", entry->message);
    }
    snprintf(series->last, sizeof series->last, "%s", entry->id);
    series->time_ns = entry->time_ns;
}

static int list_checkpoint(void *context, const struct cairn_line_entry *entry)
{
    struct page *page = context;
    if (entry->seq == page->ends.from.seq)
        return 0;
    if (entry->failure) {
        add_to_series(page, entry);
        return failures_add(&page->failures, entry->id, entry->failure)
                   ? 0
                   : (page->rc = CAIRN_ENOMEM);
    }
    end_series(page);
    if (!begin_row(page))
        return 0;
    fputs("| ", page->file);
    if (entry->damaged)
        fprintf(page->file, "%s | | | damaged |\n", entry->id);
    else
        put_row(page, entry->id, entry->time_ns, entry->trigger, entry->message);
    return 0;
}

/* Where one did not lead to the other there is none in between; where there is none at
 * all, neither. */
static int put_line(struct page *page)
{
    const struct ends *ends = &page->ends;
    const char *from = ends->from.seq > 0 ? ends->from.id : NULL,
               *to = ends->to.seq > 0 ? ends->to.id : NULL;
    int rc = cairn_session_line(page->store, ends->session, from, to, list_checkpoint,
                                page, &page->error);
    if (rc == CAIRN_EUSAGE) {
        fputs("\nThe two are on different branches.\n", page->file);
        return 0;
    }
    if (rc == CAIRN_ENOTFOUND && !from && !to)
        return 0;
    if (rc != 0 || page->rc != 0)
        return rc != 0 ? rc : page->rc;
    end_series(page);
    if (page->checkpoints > CHECKPOINTS_SHOWN)
        fprintf(page->file, "\nand %" PRIu64 " more\n",
                page->checkpoints - CHECKPOINTS_SHOWN);
    return failures_put(&page->failures, page->store, page->file, &page->error);
}

/* ---- The page ---- */

static void put_end(FILE *file, const char *which,
                    const struct cairn_checkpoint_info *info)
{
    fprintf(file, "| %s | %s | ", which, info->seq > 0 ? info->id : info->message);
    put_time(file, info->time_ns);
    fputs(" | ", file);
    if (info->seq > 0)
        markdown_words(file, info->message);
    fputs(" |\n", file);
}

static int ignore_change(void *context, const struct cairn_board_change *change)
{
    (void)context;
    (void)change;
    return 1;
}

static int write_page(struct page *page)
{
    struct ends *ends = &page->ends;
    const char *from = ends->from.seq > 0 ? ends->from.id : "",
               *to = ends->to.seq > 0 ? ends->to.id : NULL;
    struct cairn_board_summary summary;
    int rc = cairn_session_diff(page->store, ends->session, from, to, ignore_change,
                                NULL, &summary, &page->error);
    if (rc != 0)
        return rc;
    ends->from.time_ns = summary.from_ns;
    ends->to.time_ns = summary.to_ns;
    fputs("# Debugging session ", page->file);
    markdown_words(page->file, ends->name);
    fputs("\n\n| | checkpoint | time | message |\n|---|---|---|---|\n", page->file);
    put_end(page->file, "from", &ends->from);
    put_end(page->file, "to", &ends->to);
    fprintf(page->file, "\n**%s**\n", summary.text);
    rc = cairn_session_diff(page->store, ends->session, from, to, add_change, page,
                            NULL, &page->error);
    return rc != 0 ? rc : put_line(page);
}

/* ---- The command ---- */

static int note_checkpoint(void *context,
                           const struct cairn_session_checkpoint_info *info)
{
    *(struct cairn_checkpoint_info *)context = info->checkpoint;
    return 0;
}

static int find_session(const struct settings *settings, struct page *page)
{
    struct ends *ends = &page->ends;
    struct cairn_session_info info;
    if (cairn_session_get(page->store, session_option(settings), &info, &page->error) !=
        0)
        return report_error(&page->error);
    u64_text(info.session, ends->session);
    snprintf(ends->name, sizeof ends->name, "%s", info.name);
    return 0;
}

/* Checkpoints say themselves of which session they are; --session must say the same. */
static int check_session(const struct settings *settings, struct page *page)
{
    struct ends *ends = &page->ends;
    char session[sizeof ends->session], name[sizeof ends->name];
    int status;
    u64_text(ends->from.session, ends->session);
    snprintf(ends->name, sizeof ends->name, "%s", ends->from.session_name);
    if (!settings->given[OPT_SESSION])
        return 0;
    memcpy(session, ends->session, sizeof session);
    memcpy(name, ends->name, sizeof name);
    status = find_session(settings, page);
    if (status == 0 && strcmp(session, ends->session) != 0)
        return report_usage(settings->command,
                            "checkpoint %s is one of session %s, not of %s",
                            ends->from.id, name, ends->name);
    return status;
}

static int find_ends(const struct settings *settings, struct page *page)
{
    struct ends *ends = &page->ends;
    const char *from = settings->operands[0], *to = settings->operands[1];
    int status;
    snprintf(ends->from.message, sizeof ends->from.message, "the start");
    snprintf(ends->to.message, sizeof ends->to.message, "now");
    if (!from)
        return find_session(settings, page);
    if (cairn_session_checkpoint_get(page->store, from, note_checkpoint, &ends->from,
                                     &page->error) != 0)
        return report_error(&page->error);
    if (to && cairn_session_checkpoint_get(page->store, to, note_checkpoint, &ends->to,
                                           &page->error) != 0)
        return report_error(&page->error);
    status = check_session(settings, page);
    if (status != 0 || !to)
        return status;
    if (ends->to.session != ends->from.session)
        return report_usage(settings->command,
                            "the two checkpoints are of different sessions");
    if (ends->to.seq < ends->from.seq)
        return report_usage(settings->command,
                            "%s is the later one: `cairn report %s %s`", ends->from.id,
                            ends->to.id, ends->from.id);
    return 0;
}

static int print_page(const struct page *page)
{
    const struct ends *ends = &page->ends;
    struct doc doc;
    if (!ui_json()) {
        out_raw(page->text, page->length);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "from", ends->from.seq > 0 ? ends->from.id : NULL);
    doc_text(&doc, "to", ends->to.seq > 0 ? ends->to.id : NULL);
    doc_text(&doc, "markdown", page->text);
    return doc_print(&doc);
}

static int make_page(struct page *page)
{
    int rc, lost;
    page->file = open_memstream(&page->text, &page->length);
    if (!page->file)
        return cairn_exit_status(CAIRN_ENOMEM);
    rc = write_page(page);
    lost = ferror(page->file);
    if (fclose(page->file) != 0 || lost)
        return report_nomem();
    return rc == 0 ? print_page(page) : report_error(&page->error);
}

int command_report(struct settings *settings)
{
    struct page page = {0};
    if (settings->given[OPT_HTML])
        return report_page(settings);
    if (settings->given[OPT_PAGE_FILE])
        return report_usage(settings->command,
                            "-o is for --html: `cairn report >FILE` writes Markdown");
    int status = session_store(settings, STORE_READ);
    page.store = settings->store;
    for (int i = 0; status == 0 && i < settings->n_operands; i++)
        status = checkpoint_operand(settings, i);
    if (status == 0)
        status = find_ends(settings, &page) ?: make_page(&page);
    failures_release(&page.failures);
    free(page.text);
    return status;
}
